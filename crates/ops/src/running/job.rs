//! A job, as the command sees it: its keeper, and what that is told.
//!
//! The command sees to it that the keeper does its work. One that is killed, or stopped, or starved
//! until it is late, is killed with all that the job has started, and nothing is given back before
//! that is dead (J4 of [`super::keeper`]).

use super::alarm::Alarm;
use super::cgroup::Cgroup;
use super::keeper::{KILLED, MARGIN};
use super::processes::{AGAIN, Processes, adopt_orphans};
use super::wire::{Ended, Frames, Order, send_first};
use bellwether::{ErrorKind, Session};
use bellwether_core::Time;
use bellwether_net::Clock;
use bellwether_shell::{Failure, complain};
use rustix::process::Pid;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdStream;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout_at};

/// The command waits this long for a keeper that is to end: beyond the grace period while the job lives.
const PATIENCE: Duration = Duration::from_secs(1);

/// Prepares jobs, one after the other.
pub(super) struct Launcher<'a> {
    words: &'a [OsString],
    grace: Duration,
    /// How the keeper ends the session of this process if this dies, where no member on this host does.
    on_etcd: Option<Vec<String>>,
    /// The children that this process had before.
    strangers: Vec<Pid>,
}

/// The keeper of a job that does not run yet.
pub(super) struct Standby {
    keeper: Child,
    control: StdStream,
    processes: Processes,
    grace: Duration,
}

/// A job that runs.
pub(super) struct Job {
    keeper: Child,
    control: Frames,
    processes: Processes,
    grace: Duration,
    alarm: Alarm,
    /// The keeper should have killed the job before.
    dead_by: Time,
    /// The same for a job that was asked to end.
    stopped_by: Option<Time>,
    /// How it ended, and by when the keeper should be gone.
    ended: Option<(Ended, Instant)>,
    /// Whether this process has to do the keeper's work.
    keeper_failed: bool,
}

impl<'a> Launcher<'a> {
    /// For jobs of these words, with this time to end when they are asked to.
    pub(super) fn new(
        words: &'a [OsString],
        grace: Duration,
        on_etcd: Option<Vec<String>>,
    ) -> Result<Self, Failure> {
        let strangers = adopt_orphans().map_err(unable)?;
        Ok(Launcher { words, grace, on_etcd, strangers })
    }

    /// Prepares a job, so that nothing more takes time when it may run.
    pub(super) fn prepare(&self, environment: &[(&str, String)]) -> Result<Standby, Failure> {
        self.spawn(environment).map_err(unable)
    }

    fn spawn(&self, environment: &[(&str, String)]) -> io::Result<Standby> {
        let (control, theirs) = StdStream::pair()?;
        let cgroup = Cgroup::create();
        let mut keeper = Command::new("/proc/self/exe");
        keeper.arg0("bellwether").args(["keep", "--grace-ms", &self.grace.as_millis().to_string()]);
        if let Some(cgroup) = &cgroup {
            keeper.arg("--cgroup").arg(cgroup.folder());
        }
        let session = environment.iter().find(|(name, _)| *name == "BELLWETHER_SESSION");
        if let (Some(words), Some((_, session))) = (&self.on_etcd, session) {
            keeper.args(words).args(["--session", session]);
        }
        let keeper = keeper
            .arg("--")
            .args(self.words)
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            // What the terminal says is for the command, which sees to the job.
            .process_group(0)
            .spawn()?;
        let processes = Processes::except(self.strangers.clone(), cgroup);
        Ok(Standby { keeper, control, processes, grace: self.grace })
    }
}

impl Standby {
    /// What the session holds is not given to others before this process and the keeper are dead,
    /// however they end; and the last of them outlives all of the job.
    pub(super) async fn watched_by(&self, session: &Session) -> Result<(), Failure> {
        let Some(pid) = self.keeper.id() else {
            return Err(unable(io::ErrorKind::NotFound.into()));
        };
        match session.watch_process(pid).await {
            // Over the network no member sees a death, and others wait for the TTL.
            Ok(()) => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotWatched => Ok(()),
            Err(error) => Err(super::failed(error)),
        }
    }

    /// Starts the job under this token, which must be dead by then.
    pub(super) fn start(self, token: u64, deadline: Time) -> Result<Job, Failure> {
        self.run(token, deadline).map_err(unable)
    }

    fn run(mut self, token: u64, deadline: Time) -> io::Result<Job> {
        let alarm = Alarm::new()?;
        let (first, stdin) = (Order::Run(token).frame(), io::stdin());
        if stdin.is_terminal() {
            // A process in the background may not read from a terminal.
            send_first(&self.control, first, File::open("/dev/null")?.as_fd())?;
        } else {
            send_first(&self.control, first, stdin.as_fd())?;
        }
        self.control.write_all(&Order::Deadline(deadline).frame())?;
        Ok(Job {
            keeper: self.keeper,
            control: Frames::new(self.control)?,
            processes: self.processes,
            grace: self.grace,
            alarm,
            dead_by: dead_by(deadline),
            stopped_by: None,
            ended: None,
            keeper_failed: false,
        })
    }
}

fn unable(error: io::Error) -> Failure {
    let what = match error.kind() {
        io::ErrorKind::BrokenPipe => {
            "its keeper, a process of bellwether, was killed before; try again".to_owned()
        }
        _ => error.to_string(),
    };
    Failure::Exit(super::OS_FAILED, format!("cannot start the command: {what}"))
}

/// When the keeper is too late with a job that must be dead at its deadline: half-way between the moment
/// at which it kills the job and the deadline, or as long after now.
fn dead_by(deadline: Time) -> Time {
    let micros = |span: Duration| u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
    let before = deadline.as_micros().saturating_sub(micros(MARGIN / 2));
    Time::from_micros(before).max(Clock::shared() + MARGIN / 2)
}

impl Job {
    /// The job may live until then.
    pub(super) fn may_live_until(&mut self, deadline: Time) {
        self.dead_by = dead_by(deadline);
        self.say(Order::Deadline(deadline));
    }

    /// The job is to end, politely at first.
    pub(super) fn stop(&mut self) {
        self.stopped_by.get_or_insert(Clock::shared() + self.grace + PATIENCE);
        self.say(Order::Stop);
    }

    fn say(&self, order: Order) {
        // A keeper that takes no more orders is on its way out, or is too late soon.
        let _ = self.control.stream.try_write(&order.frame());
    }

    /// Waits until the job and all that it left behind are dead. May be cancelled.
    pub(super) async fn ended(&mut self) -> Ended {
        let (ended, gone_by) = match self.ended {
            Some(ended) => ended,
            None => (self.keeper_ended().await, Instant::now() + PATIENCE),
        };
        self.ended = Some((ended, gone_by));
        if !self.keeper_failed {
            // It has nothing left to do but to remove the cgroup.
            let _ = timeout_at(gone_by, self.keeper.wait()).await;
        }
        let _ = self.keeper.kill().await;
        while self.keeper_failed && !self.processes.reap(|_, _| {}) {
            self.processes.kill();
            sleep(AGAIN).await;
        }
        ended
    }

    /// Waits until the keeper has ended the job, or is dead, or too late. May be cancelled.
    async fn keeper_ended(&mut self) -> Ended {
        loop {
            let late_at = self.stopped_by.map_or(self.dead_by, |by| by.min(self.dead_by));
            let (why, late) = tokio::select! {
                biased;
                frame = self.control.next() => match frame.and_then(|frame| Ended::read(&frame)) {
                    Some(ended) => return ended,
                    None => ("was killed; end bellwether instead, with SIGTERM", false),
                },
                () = self.alarm.ring(Some(late_at)) => {
                    let now = Clock::shared();
                    if now < late_at {
                        continue;
                    }
                    let why = "did not end them in time; it may be stopped, or not be allowed to";
                    (why, now >= self.dead_by)
                }
            };
            let keeper = self.keeper.id().unwrap_or_default();
            complain(&format!(
                "bellwether: kills the command and all that it started: the keeper (process \
                 {keeper}) {why}"
            ));
            self.keeper_failed = true;
            return Ended { code: KILLED, late };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn j1_the_command_acts_after_the_keeper_and_before_the_deadline() {
        let deadline = Clock::shared() + Duration::from_secs(3_600);
        let late = dead_by(deadline);
        assert!(late < deadline && late + MARGIN > deadline);
        // A keeper that is told of a deadline in the past has a moment.
        let now = Clock::shared();
        assert!(dead_by(Time::ZERO) > now);
    }
}
