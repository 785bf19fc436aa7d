//! The keeper of a job: a process between a command and its job that sees to the job's end.
//!
//! ```text
//!   bellwether lock ---- control ---- bellwether keep ---- the job, in a process group of its own
//!   (holds the session)               (this)                  \---- what the job starts
//! ```
//!
//! # Rules
//! * J1 The job has a deadline, which the command moves on as often as it hears that its session
//!   lives. The keeper and the command look at it, each by its own alarm: one that is stopped or starved
//!   cannot let the job live too long.
//! * J2 So long before the deadline that there is time for the grace period, the job is asked to end
//!   (SIGTERM, to its whole group); when the grace period is over it is killed. Nothing that is heard
//!   afterwards changes that.
//! * J3 The command's end is the end of the job, at once: the control connection says so, however the
//!   command ended.
//! * J4 The keeper's end is the job's end: the system kills the job, and the command kills the rest
//!   before it gives anything back ([`super::job`]).
//! * J5 What the job leaves behind when it ends is ended as the job is. The keeper is the parent of
//!   all that has lost its own, so what has left the process group does not get away.
//! * J6 The keeper ends when all of that is dead, and not before. So the death of keeper and command is
//!   proof of theirs, unless both were killed.
//! * J7 Members see these deaths by themselves. etcd sees none: there the keeper of a command that was killed ends its
//!   session when all are dead, so that others need not wait for the TTL.

use super::alarm::Alarm;
use super::cgroup::{self, Cgroup};
use super::processes::{AGAIN, Processes, adopt_orphans};
use super::wire::{Ended, FRAME, Frames, Order, receive_first, send_first};
use crate::up::member::end_with_parent;
use bellwether::Endpoints;
use bellwether_core::Time;
use bellwether_net::Clock;
use bellwether_shell::{Failure, Verdict};
use clap::Args;
use rustix::process::{
    Pid, Signal, WaitStatus, getpid, kill_process_group, test_kill_process_group,
};
use std::ffi::OsString;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::signal::unix::{Signal as Incoming, SignalKind, signal};

/// The job is dead this long before its deadline: a kill takes effect within this time.
pub(super) const MARGIN: Duration = Duration::from_millis(50);
/// What a job ends with that is killed.
pub(super) const KILLED: u8 = 137;

#[derive(Debug, Args)]
pub(crate) struct KeepArgs {
    /// How long a job has to end when it is asked to, in milliseconds
    #[arg(long)]
    grace_ms: u64,
    /// The cgroup that was made for the job
    #[arg(long)]
    cgroup: Option<PathBuf>,
    /// The etcd cluster that keeps the command's session
    #[arg(long, requires = "session")]
    address: Option<String>,
    /// The directory of the certificates for it
    #[arg(long)]
    certs: Option<String>,
    /// The client whose certificate is used
    #[arg(long)]
    client: Option<String>,
    /// The command's session there
    #[arg(long)]
    session: Option<String>,
    /// The job
    #[arg(last = true, required = true)]
    job: Vec<OsString>,
}

impl KeepArgs {
    /// J7: the command is dead, and so is all of its job. Where no member on this host sees that, the session is ended here.
    async fn end_session(&self) {
        let (Some(address), Some(session)) = (&self.address, &self.session) else { return };
        let endpoints = Endpoints::parse(address, self.certs.as_deref(), self.client.as_deref());
        if let (Ok(endpoints), Ok(session)) = (endpoints, session.parse()) {
            // Without it others wait for the session's TTL.
            let _ = bellwether::end_session(endpoints, session).await;
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct BecomeArgs {
    /// The keeper, whose death is the job's
    #[arg(long)]
    parent: i32,
    /// The cgroup that was made for the job
    #[arg(long)]
    cgroup: Option<PathBuf>,
    /// The job
    #[arg(last = true, required = true)]
    job: Vec<OsString>,
}

/// Waits until the keeper has a token and a standard input for the job, and becomes the job.
pub(crate) fn become_job(args: &BecomeArgs) -> Result<Verdict, Failure> {
    let [program, words @ ..] = args.job.as_slice() else { return Ok(Verdict::Well) };
    // J4.
    if !end_with_parent(args.parent) {
        return Err(Failure::Silent(126));
    }
    if let Some(folder) = &args.cgroup {
        // Where it may not, it is as if there were no cgroup.
        let _ = cgroup::enter(folder);
    }
    let failed = |error: io::Error| Failure::Exit(71, format!("cannot start the command: {error}"));
    let Some((first, stdin)) = receive_first(io::stdin().as_fd()).map_err(failed)? else {
        return Err(Failure::Silent(126));
    };
    let Some(Order::Run(token)) = Order::read(&first) else {
        return Err(failed(ErrorKind::InvalidData.into()));
    };
    let mut job = Command::new(program);
    let error =
        job.args(words).env("BELLWETHER_TOKEN", token.to_string()).stdin(Stdio::from(stdin)).exec();
    let (code, why) = super::program::explain(&error);
    Err(Failure::Exit(code, format!("cannot run {}: {why}", program.display())))
}

/// Keeps a job until it is dead.
pub(crate) fn keep(args: &KeepArgs) -> Result<Verdict, Failure> {
    let failed = |error: io::Error| Failure::Exit(71, format!("cannot keep a job: {error}"));
    let runtime = crate::watching::runtime()?;
    let code = runtime.block_on(run(args)).map_err(failed)?;
    if code == 0 { Ok(Verdict::Well) } else { Err(Failure::Silent(code)) }
}

async fn run(args: &KeepArgs) -> io::Result<u8> {
    let strangers = adopt_orphans()?;
    let cgroup = args.cgroup.clone().map(Cgroup::at);
    let control: OwnedFd = io::stdin().as_fd().try_clone_to_owned()?;
    let mut control = StdStream::from(control);
    let (to_job, stdin) = StdStream::pair()?;
    // To enter a cgroup takes the system some milliseconds, and to start a program, too. That is done
    // before the job may run.
    let mut job = Command::new("/proc/self/exe");
    job.arg0("bellwether").args(["become", "--parent", &getpid().as_raw_nonzero().to_string()]);
    if let Some(cgroup) = &cgroup {
        job.arg("--cgroup").arg(cgroup.folder());
    }
    job.arg("--").args(&args.job).stdin(Stdio::from(OwnedFd::from(stdin))).process_group(0);
    let mut child = job.spawn()?;
    drop(job);
    let Some((first, stdin)) = receive_first(&control)? else {
        // A job that is never to run needs no keeper.
        child.kill()?;
        child.wait()?;
        args.end_session().await;
        return Ok(0);
    };
    let mut second = [0; FRAME];
    control.read_exact(&mut second)?;
    let Some(Order::Deadline(deadline)) = Order::read(&second) else {
        return Err(ErrorKind::InvalidData.into());
    };
    let mut signals = Signals::new()?;
    let alarm = Alarm::new()?;
    // A process that was killed before it became the job has ended like any other job.
    let _ = send_first(&to_job, first, stdin.as_fd());
    drop((to_job, stdin));
    let mut keeper = Keeper {
        job: Pid::from_child(&child),
        status: None,
        group_gone: false,
        plan: Plan { grace: Duration::from_millis(args.grace_ms), deadline, phase: Phase::Runs },
        control: Some(Frames::new(control)?),
        alarm,
        processes: Processes::except(strangers, cgroup),
    };
    keeper.run(&mut signals).await;
    let (code, late) = (keeper.status.map_or(KILLED, code), keeper.plan.phase.is_late());
    if keeper.control.is_none() {
        args.end_session().await;
    }
    if let Some(control) = &mut keeper.control {
        // A command that is gone need not know.
        let _ = control.stream.write_all(&Ended { code, late }.frame()).await;
    }
    Ok(code)
}

/// What a process ended with, as a shell says it.
fn code(status: WaitStatus) -> u8 {
    let code = match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => code,
        (_, Some(signal)) => 128 + signal,
        _ => 255,
    };
    u8::try_from(code).unwrap_or(u8::MAX)
}

/// How far it has come with a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Runs,
    /// It was asked to end, then; perhaps because the deadline came near.
    Asked {
        at: Time,
        late: bool,
    },
    /// It was killed, and is killed again.
    Killed {
        again: Time,
        late: bool,
    },
}

impl Phase {
    fn is_late(self) -> bool {
        match self {
            Phase::Runs => false,
            Phase::Asked { late, .. } | Phase::Killed { late, .. } => late,
        }
    }
}

/// When to do what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Plan {
    grace: Duration,
    deadline: Time,
    phase: Phase,
}

/// What is to be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    Nothing,
    Ask,
    Kill,
}

impl Plan {
    /// When something is to be done if nothing is heard.
    fn next(&self) -> Time {
        let dead = before(self.deadline, MARGIN);
        match self.phase {
            Phase::Runs => before(dead, self.grace),
            Phase::Asked { at, .. } => (at + self.grace).min(dead),
            Phase::Killed { again, .. } => again,
        }
    }

    /// J1 and J2: time has passed.
    fn look(&mut self, now: Time) -> Deed {
        if now < self.next() {
            return Deed::Nothing;
        }
        match self.phase {
            Phase::Runs => {
                self.phase = Phase::Asked { at: now, late: true };
                // There may be no time left for the grace period.
                match self.look(now) {
                    Deed::Kill => Deed::Kill,
                    _ => Deed::Ask,
                }
            }
            Phase::Asked { .. } | Phase::Killed { .. } => self.kill(now),
        }
    }

    /// It is to end.
    fn stop(&mut self, now: Time) -> Deed {
        if self.phase != Phase::Runs {
            return Deed::Nothing;
        }
        self.phase = Phase::Asked { at: now, late: false };
        Deed::Ask
    }

    fn kill(&mut self, now: Time) -> Deed {
        self.phase = Phase::Killed { again: now + AGAIN, late: self.phase.is_late() };
        Deed::Kill
    }
}

fn before(at: Time, span: Duration) -> Time {
    let span = u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
    Time::from_micros(at.as_micros().saturating_sub(span))
}

struct Keeper {
    job: Pid,
    /// What the job ended with.
    status: Option<WaitStatus>,
    /// Whether no process is left in its process group.
    group_gone: bool,
    plan: Plan,
    control: Option<Frames>,
    alarm: Alarm,
    processes: Processes,
}

impl Keeper {
    /// Until all are dead.
    async fn run(&mut self, signals: &mut Signals) {
        while !self.all_dead() {
            let next = self.plan.next();
            let deed = tokio::select! {
                biased;
                order = heard(&mut self.control) => match order {
                    Some(Order::Deadline(at)) => {
                        self.plan.deadline = at;
                        // A keeper that was stopped has several orders waiting. The last one counts.
                        continue;
                    }
                    Some(Order::Run(_)) => Deed::Nothing,
                    Some(Order::Stop) => self.plan.stop(Clock::shared()),
                    None => {
                        // J3.
                        self.control = None;
                        self.plan.kill(Clock::shared())
                    }
                },
                end = signals.next() => match end {
                    true => self.plan.stop(Clock::shared()),
                    false => Deed::Nothing,
                },
                () = self.alarm.ring(Some(next)) => Deed::Nothing,
            };
            self.act(deed);
            let deed = self.plan.look(Clock::shared());
            self.act(deed);
        }
    }

    fn act(&mut self, deed: Deed) {
        let signals: &[Signal] = match deed {
            Deed::Nothing => return,
            // One that is stopped hears it only when it goes on.
            Deed::Ask => &[Signal::TERM, Signal::CONT],
            Deed::Kill => &[Signal::KILL],
        };
        // Those that are gone meanwhile need no signal.
        if self.group_lives() {
            for signal in signals {
                let _ = kill_process_group(self.job, *signal);
            }
        }
        // As long as the job itself lives, what it has sent away is its own affair, unless it must
        // die.
        if deed == Deed::Kill {
            self.processes.kill();
        } else if self.status.is_some() {
            signals.iter().for_each(|signal| self.processes.signal(*signal));
        }
    }

    /// Whether the number of the job's group is still its own: as long as the job is not buried, or
    /// another process is in it. Afterwards the number may be given to others.
    fn group_lives(&mut self) -> bool {
        if self.status.is_some() && !self.group_gone {
            self.group_gone = test_kill_process_group(self.job) == Err(rustix::io::Errno::SRCH);
        }
        !self.group_gone
    }

    /// Waits for those that are dead. Whether none is left.
    fn all_dead(&mut self) -> bool {
        let (job, status) = (self.job, &mut self.status);
        let none_left = self.processes.reap(|pid, ended| {
            if pid == job {
                *status = Some(ended);
            }
        });
        if !none_left && self.status.is_some() {
            // J5.
            let deed = self.plan.stop(Clock::shared());
            self.act(deed);
        }
        none_left
    }
}

/// The next order, if `bellwether` can still give one.
async fn heard(control: &mut Option<Frames>) -> Option<Order> {
    let Some(control) = control else { return std::future::pending().await };
    loop {
        if let Some(order) = Order::read(&control.next().await?) {
            return Some(order);
        }
    }
}

struct Signals {
    child: Incoming,
    ends: [Incoming; 4],
}

impl Signals {
    fn new() -> io::Result<Self> {
        let kinds = [
            SignalKind::terminate(),
            SignalKind::interrupt(),
            SignalKind::hangup(),
            SignalKind::quit(),
        ];
        let [a, b, c, d] = kinds.map(signal);
        Ok(Signals { child: signal(SignalKind::child())?, ends: [a?, b?, c?, d?] })
    }

    /// The next signal: whether it asks this process to end, and with it the job. If not, a
    /// child has died.
    async fn next(&mut self) -> bool {
        let [a, b, c, d] = &mut self.ends;
        tokio::select! {
            _ = self.child.recv() => false,
            _ = a.recv() => true,
            _ = b.recv() => true,
            _ = c.recv() => true,
            _ = d.recv() => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::from_micros(millis * 1_000)
    }

    fn plan(deadline: u64, grace: u64) -> Plan {
        let (grace, deadline) = (Duration::from_millis(grace), at(deadline));
        Plan { grace, deadline, phase: Phase::Runs }
    }

    #[test]
    fn j2_a_job_is_asked_then_killed_before_its_deadline() {
        let mut plan = plan(1_000, 300);
        assert_eq!(plan.next(), at(650));
        assert_eq!(plan.look(at(649)), Deed::Nothing);
        assert_eq!(plan.look(at(651)), Deed::Ask);
        assert_eq!(plan.next(), at(950));
        // Too late: it is on its way out.
        plan.deadline = at(5_000);
        assert_eq!(plan.look(at(951)), Deed::Kill);
        assert!(plan.phase.is_late());
        assert_eq!(plan.look(at(953)), Deed::Nothing);
        assert_eq!(plan.look(at(956)), Deed::Kill);
    }

    #[test]
    fn j2_without_time_for_a_grace_period_there_is_none() {
        let mut plan = plan(1_000, 300);
        assert_eq!(plan.look(at(1_200)), Deed::Kill);
    }

    #[test]
    fn j1_a_deadline_that_is_moved_on_is_the_one_that_counts() {
        let mut plan = plan(1_000, 300);
        plan.deadline = at(2_000);
        assert_eq!(plan.look(at(999)), Deed::Nothing);
        assert_eq!(plan.stop(at(1_000)), Deed::Ask);
        assert_eq!(plan.stop(at(1_001)), Deed::Nothing);
        assert_eq!(plan.next(), at(1_300));
        // The deadline cuts the grace period short.
        plan.deadline = at(1_100);
        assert_eq!(plan.next(), at(1_050));
        assert!(!plan.phase.is_late());
    }
}
