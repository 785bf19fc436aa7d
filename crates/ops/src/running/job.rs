//! A job, as the command sees it: its keeper, and what that is told.

use super::wire::{Frames, News, Order, send_first};
use bellwether::{Error, Session};
use bellwether_core::Time;
use bellwether_shell::Failure;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdStream;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::{Child, Command};
use tokio::time::sleep;

/// How often and how long to look whether a group is gone whose keeper was killed.
const LOOKS: (u32, Duration) = (1_000, Duration::from_millis(1));

/// The keeper of a job that does not run yet.
pub(super) struct Standby {
    keeper: Child,
    control: StdStream,
}

/// A job that runs.
pub(super) struct Job {
    keeper: Child,
    control: Frames,
    group: Option<Pid>,
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    /// Its exit code, or 128 and the number of the signal.
    pub(super) code: u8,
    /// Whether it was ended because its deadline came near.
    pub(super) late: bool,
}

impl Standby {
    /// Prepares a job, so that nothing more takes time when it may run.
    pub(super) fn new(
        words: &[OsString],
        environment: &[(&str, String)],
        grace: Duration,
    ) -> Result<Standby, Failure> {
        Standby::spawn(words, environment, grace).map_err(unable)
    }

    fn spawn(
        words: &[OsString],
        environment: &[(&str, String)],
        grace: Duration,
    ) -> io::Result<Standby> {
        let (control, theirs) = StdStream::pair()?;
        let keeper = Command::new("/proc/self/exe")
            .arg0("bellwether")
            .args(["keep", "--grace-ms", &grace.as_millis().to_string(), "--"])
            .args(words)
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            // What the terminal says is for the command, which sees to the job.
            .process_group(0)
            .spawn()?;
        Ok(Standby { keeper, control })
    }

    /// What the session holds is not given to others before the keeper is dead, however this
    /// process ends; and the keeper outlives all of the job.
    pub(super) async fn watched_by(&self, session: &Session) -> Result<(), Failure> {
        let Some(pid) = self.keeper.id() else {
            return Err(unable(io::ErrorKind::NotFound.into()));
        };
        match session.watch_process(pid).await {
            // Over the network nobody sees deaths, and others wait for the TTL.
            Ok(()) | Err(Error::NotWatched { .. }) => Ok(()),
            Err(error) => Err(super::failed(error)),
        }
    }

    /// Starts the job under this token, which must be dead by then.
    pub(super) fn start(self, token: u64, deadline: Time) -> Result<Job, Failure> {
        self.run(token, deadline).map_err(unable)
    }

    fn run(mut self, token: u64, deadline: Time) -> io::Result<Job> {
        let (first, stdin) = (Order::Run(token).frame(), io::stdin());
        if stdin.is_terminal() {
            // In the background nobody may read from a terminal.
            send_first(&self.control, first, File::open("/dev/null")?.as_fd())?;
        } else {
            send_first(&self.control, first, stdin.as_fd())?;
        }
        self.control.write_all(&Order::Deadline(deadline).frame())?;
        Ok(Job { keeper: self.keeper, control: Frames::new(self.control)?, group: None })
    }
}

fn unable(error: io::Error) -> Failure {
    Failure::Exit(super::OS_FAILED, format!("cannot start the command: {error}"))
}

impl Job {
    /// The job may live until then.
    pub(super) fn may_live_until(&self, deadline: Time) {
        self.say(Order::Deadline(deadline));
    }

    /// The job is to end, politely at first.
    pub(super) fn stop(&self) {
        self.say(Order::Stop);
    }

    fn say(&self, order: Order) {
        // A keeper that takes no more orders is on its way out.
        let _ = self.control.stream.try_write(&order.frame());
    }

    /// Waits until the job and all that it left behind are dead. May be cancelled.
    pub(super) async fn ended(&mut self) -> Ended {
        let ended = loop {
            match self.control.next().await.and_then(|frame| News::read(&frame)) {
                Some(News::Runs(group)) => self.group = Pid::from_raw(group),
                Some(News::Ended { code, late }) => break Ended { code, late },
                None => {
                    self.bury().await;
                    break Ended { code: 137, late: false };
                }
            }
        };
        let _ = self.keeper.wait().await;
        ended
    }

    /// Somebody killed the keeper. The job itself dies with it; the rest of its group is killed
    /// here.
    async fn bury(&mut self) {
        let _ = self.keeper.start_kill();
        let _ = self.keeper.wait().await;
        let Some(group) = self.group else { return };
        for _ in 0..LOOKS.0 {
            let _ = kill_process_group(group, Signal::KILL);
            if test_kill_process_group(group).is_err() {
                return;
            }
            sleep(LOOKS.1).await;
        }
    }
}
