//! Processes that are measured: started here, watched here, and ended here by their ids.

use crate::Outcome;
use crate::bellwether::Usage;
use rustix::process::{Pid, Signal, kill_process};
use rustix::time::{ClockId, clock_gettime};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// One that was told to end and has not by then is killed.
const ENDS_WITHIN: Duration = Duration::from_secs(5);
/// Below the range from which systems take ports for outgoing connections.
const FREE_PORTS: std::ops::Range<u32> = 20_000..32_000;

/// The clock of all processes of this machine, in microseconds.
pub(crate) fn now_us() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000 + time.tv_nsec as u64 / 1_000
}

/// A process that was started here. It is killed when it is dropped.
pub(crate) struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts a program; what it says goes to a file in this folder.
    pub(crate) fn start<A: AsRef<OsStr>>(
        name: &str,
        program: &Path,
        args: impl IntoIterator<Item = A>,
        folder: &Path,
    ) -> Outcome<Self> {
        let log = folder.join(format!("{name}.log"));
        let failed = |error| format!("cannot start {name} ({}): {error}", program.display());
        let file = File::options().create(true).append(true).open(&log).map_err(failed)?;
        let child = Command::new(program)
            .args(args)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(file.try_clone().map_err(failed)?)
            .stderr(file)
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        Ok(Process { name: name.to_owned(), child, log })
    }

    /// An error if it does not run any more.
    pub(crate) fn check(&mut self) -> Outcome<()> {
        let Ok(Some(status)) = self.child.try_wait() else { return Ok(()) };
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let last: Vec<&str> = text.lines().rev().take(3).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        Err(format!("{} ended by itself, {status}:\n{}", self.name, last.join("\n")))
    }

    /// Its memory at the moment, in KiB.
    pub(crate) fn memory_kib(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()?)).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.split_whitespace().next()?.parse().ok()
    }

    /// Its number, while it runs.
    pub(crate) fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// What it has used so far.
    pub(crate) fn usage(&self) -> Option<Usage> {
        let id = self.child.id()?;
        let read = |name: &str| fs::read_to_string(format!("/proc/{id}/{name}")).ok();
        let schedule = read("schedstat")?;
        let processor_ns = schedule.split_whitespace().next()?.parse().ok()?;
        let status = read("status")?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().parse().ok()
        };
        let sleeps = field("voluntary_ctxt_switches:")?;
        let preempted = field("nonvoluntary_ctxt_switches:")?;
        Some(Usage { processor_ns, sleeps, preempted })
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, what: Signal) -> Outcome<()> {
        let pid = self.id().ok_or_else(|| format!("{} has ended by itself", self.name))?;
        send(pid, what).map_err(|error| format!("cannot signal {}: {error}", self.name))
    }

    /// The one child that it waits for.
    pub(crate) fn child(&self) -> Outcome<u32> {
        let pid = self.id().ok_or_else(|| format!("{} has ended by itself", self.name))?;
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        let child = children.ok().and_then(|children| children.trim().parse().ok());
        child.ok_or_else(|| format!("{} has no child, or several", self.name))
    }

    /// Kills it, as a crash does.
    pub(crate) async fn kill(mut self) {
        let _ = self.child.kill().await;
    }

    /// Ends it: politely, and not politely if it does not listen.
    pub(crate) async fn end(mut self) {
        signal(&self.child, Signal::TERM);
        if timeout(ENDS_WITHIN, self.child.wait()).await.is_err() {
            let _ = self.child.kill().await;
        }
    }
}

/// Sends a signal to the process with this number.
pub(crate) fn send(pid: u32, signal: Signal) -> rustix::io::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(rustix::io::Errno::SRCH)?;
    kill_process(pid, signal)
}

/// Sends a signal. A process's number is its own until it has been waited for.
pub(crate) fn signal(child: &Child, signal: Signal) {
    if let Some(pid) = child.id() {
        // It may be gone already, which is as good.
        let _ = send(pid, signal);
    }
}

/// This many ports of loopback that are free now.
pub(crate) fn ports(count: usize) -> Outcome<Vec<u16>> {
    let span = FREE_PORTS.end - FREE_PORTS.start;
    let first = std::process::id().wrapping_mul(97) % span;
    let free = (0..span)
        .map(|step| (FREE_PORTS.start + (first + step) % span) as u16)
        .filter_map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok().map(|l| (l, port)));
    // All are held until the last one is found, so that they differ.
    let held: Vec<(TcpListener, u16)> = free.take(count).collect();
    let ports: Vec<u16> = held.iter().map(|(_, port)| *port).collect();
    if ports.len() < count { Err("no free ports on 127.0.0.1".to_owned()) } else { Ok(ports) }
}
