//! Watching the processes of local clients.
//!
//! A client that comes through the Unix socket is a process of this host, and the system says when
//! it is dead. That is proof: a dead process believes in nothing. So a session that waits for what its
//! sessions hold need not wait for their TTL.
//!
//! # Rules
//! * V1 A session belongs to every process that opened it, kept it alive or asked for something in it
//!   through this member, and to those that its client named besides. Closing one makes no process its
//!   owner: another than its client may close it.
//! * V2 When all of them are dead, the coordinator is told so, again and again until it says that the
//!   session has ended. It does not matter whether their connections were closed before.
//! * V3 Whether a process has used the right key, only the coordinator knows. So what belongs to a process
//!   is a session together with the key that it used: the death of a process that has guessed touches
//!   nothing that belongs to others, and is denied.
//! * V4 A process that has neither a connection nor a session here is not watched any longer.

use super::requests::{Note, RequestQueue};
use bellwether_coordination::{Reply, Request, Secret, SessionId};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, timeout_at};

/// A death that has no answer is told again after this time.
const AGAIN: Duration = Duration::from_millis(50);

/// The most deaths that are reported at once.
const TOLD_MAX: usize = 512;

/// Numbers are given to processes twice, serials never.
type Serial = u64;

/// A session, and the key that was used for it (V3).
type Used = (SessionId, Secret);

/// Keeps watch over processes.
pub(crate) struct ProcessWatcher {
    state: Mutex<State>,
    /// There is a session whose processes are dead.
    died: Notify,
    /// A death that has no answer is told again after this time (V2).
    again: Duration,
}

#[derive(Default)]
struct State {
    next: Serial,
    by_pid: BTreeMap<u32, Serial>,
    processes: BTreeMap<Serial, Process>,
    /// The processes, of those that live, that each session belongs to.
    sessions: BTreeMap<Used, Vec<Serial>>,
    /// Those whose processes are all dead, until the coordinator knows.
    orphans: BTreeSet<Used>,
}

/// A process that lived when it was looked at last.
struct Process {
    pid: u32,
    pidfd: Arc<AsyncFd<OwnedFd>>,
    connections: usize,
    sessions: BTreeSet<Used>,
    watch: AbortHandle,
}

impl ProcessWatcher {
    /// One that tells the deaths at this requests, as long as the tasks run.
    pub(super) fn start(
        requests: &Arc<RequestQueue>,
        tasks: &mut JoinSet<()>,
    ) -> Arc<ProcessWatcher> {
        ProcessWatcher::start_with(requests, AGAIN, tasks)
    }

    fn start_with(
        requests: &Arc<RequestQueue>,
        again: Duration,
        tasks: &mut JoinSet<()>,
    ) -> Arc<ProcessWatcher> {
        let process_watcher =
            Arc::new(ProcessWatcher { state: Mutex::default(), died: Notify::new(), again });
        tasks.spawn(process_watcher.clone().tell(requests.clone()));
        process_watcher
    }

    /// Stops watching.
    pub(crate) fn end(&self) {
        for process in std::mem::take(&mut *self.state()).processes.into_values() {
            process.watch.abort();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A process has a connection. It is watched until the owner is dropped, and beyond that as long
    /// as it has sessions.
    pub(crate) fn meet(self: &Arc<Self>, pid: u32) -> io::Result<Owner> {
        let mut state = self.state();
        let serial = self.watch(&mut state, pid)?;
        if let Some(process) = state.processes.get_mut(&serial) {
            process.connections += 1;
        }
        drop(state);
        Ok(Owner { process_watcher: self.clone(), serial })
    }

    /// Watches the process that has this number now.
    fn watch(self: &Arc<Self>, state: &mut State, pid: u32) -> io::Result<Serial> {
        if let Some(serial) = state.by_pid.get(&pid)
            && let Some(process) = state.processes.get(serial)
            && lives(&process.pidfd)
        {
            // Its number is its own as long as it lives.
            return Ok(*serial);
        }
        let raw = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let raw = raw.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        let pidfd = pidfd_open(raw, PidfdFlags::NONBLOCK)?;
        #[allow(
            deprecated,
            reason = "only for what may close its descriptor is it unsound; an OwnedFd does not, and \
                      the new form is unsafe"
        )]
        let pidfd = Arc::new(AsyncFd::with_interest(pidfd, Interest::READABLE)?);
        state.next += 1;
        let serial = state.next;
        let watch = tokio::spawn({
            let (process_watcher, pidfd) = (self.clone(), pidfd.clone());
            async move {
                // A pidfd becomes readable when all threads of its process have ended.
                if pidfd.readable().await.is_ok() {
                    process_watcher.is_dead(serial);
                }
            }
        });
        let (watch, sessions) = (watch.abort_handle(), BTreeSet::new());
        let process = Process { pid, pidfd, connections: 0, sessions, watch };
        state.processes.insert(serial, process);
        state.by_pid.insert(pid, serial);
        Ok(serial)
    }

    fn is_dead(&self, serial: Serial) {
        let mut state = self.state();
        let Some(process) = state.remove(serial) else { return };
        for session in process.sessions {
            let Some(owners) = state.sessions.get_mut(&session) else { continue };
            owners.retain(|owner| *owner != serial);
            if owners.is_empty() {
                state.sessions.remove(&session);
                state.orphans.insert(session);
            }
        }
        if !state.orphans.is_empty() {
            self.died.notify_one();
        }
    }

    /// The coordinator has no such session any more.
    fn has_ended(&self, session: SessionId) {
        let mut state = self.state();
        let of_it = (session, Secret(0))..=(session, Secret(u128::MAX));
        let owned = state.sessions.range(of_it.clone()).map(|(used, _)| *used);
        let used: Vec<Used> = owned.chain(state.orphans.range(of_it).copied()).collect();
        used.into_iter().for_each(|used| state.forget(used));
    }

    /// The session has another key (V3).
    fn is_denied(&self, used: Used) {
        self.state().forget(used);
    }

    /// Reports dead processes to the coordinator (V2).
    async fn tell(self: Arc<Self>, requests: Arc<RequestQueue>) {
        let mut visitor = requests.open_passing();
        loop {
            let orphans: Vec<_> = self.state().orphans.iter().take(TOLD_MAX).copied().collect();
            if orphans.is_empty() {
                // Replies and announcements that come meanwhile are of no use.
                tokio::select! {
                    () = self.died.notified() => {}
                    note = visitor.next() => {
                        if note.is_none() {
                            visitor = requests.open_passing();
                        }
                    }
                }
                continue;
            }
            visitor.submit_all(
                &mut orphans.iter().map(|&(session, key)| Request::Died { session, key }).collect(),
            );
            let again = Instant::now() + self.again;
            let mut told: BTreeSet<_> = orphans.into_iter().collect();
            while !told.is_empty() {
                let Ok(note) = timeout_at(again, visitor.next()).await else { break };
                match note {
                    Some(Note::Reply(Reply::Ended { session, .. })) => {
                        told.retain(|(told, _)| *told != session);
                        self.has_ended(session);
                    }
                    Some(Note::Reply(Reply::Denied { session, key })) => {
                        told.remove(&(session, key));
                        self.is_denied((session, key));
                    }
                    Some(Note::Reply(_)) => {}
                    // A new coordinator can be told at once.
                    Some(Note::Coordinator(news)) if news.id.is_some() => break,
                    Some(Note::Coordinator(_) | Note::Members(..)) => {}
                    // Its mailbox has overflowed. What is not answered is told again through another.
                    None => {
                        visitor = requests.open_passing();
                        break;
                    }
                }
            }
        }
    }
}

impl State {
    /// V1: the session belongs to the process.
    fn belongs(&mut self, used: Used, serial: Serial) {
        let Some(process) = self.processes.get_mut(&serial) else { return };
        if process.sessions.insert(used) {
            self.sessions.entry(used).or_default().push(serial);
            // A process that asks is not dead.
            self.orphans.remove(&used);
        }
    }

    /// It belongs to no process any more.
    fn forget(&mut self, used: Used) {
        self.orphans.remove(&used);
        for serial in self.sessions.remove(&used).unwrap_or_default() {
            if let Some(process) = self.processes.get_mut(&serial) {
                process.sessions.remove(&used);
            }
            self.let_go(serial);
        }
    }

    fn remove(&mut self, serial: Serial) -> Option<Process> {
        let process = self.processes.remove(&serial)?;
        if self.by_pid.get(&process.pid) == Some(&serial) {
            self.by_pid.remove(&process.pid);
        }
        Some(process)
    }

    /// V4: watches a process no longer, unless there is a reason to.
    fn let_go(&mut self, serial: Serial) {
        let idle = |process: &Process| process.connections == 0 && process.sessions.is_empty();
        if self.processes.get(&serial).is_some_and(idle)
            && let Some(process) = self.remove(serial)
        {
            process.watch.abort();
        }
    }
}

/// Whether a process has not ended yet.
fn lives(pidfd: &AsyncFd<OwnedFd>) -> bool {
    let mut fds = [PollFd::new(pidfd.get_ref(), PollFlags::IN)];
    matches!(poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })), Ok(0))
}

/// The process at the other end of a connection.
pub(crate) struct Owner {
    process_watcher: Arc<ProcessWatcher>,
    serial: Serial,
}

impl Owner {
    /// It opened this session, or goes on with it.
    pub(crate) fn uses(&self, session: SessionId, key: Secret) {
        self.process_watcher.state().belongs((session, key), self.serial);
    }

    /// The session belongs to that process, too.
    pub(crate) fn shares(&self, session: SessionId, key: Secret, pid: u32) -> Result<(), String> {
        let mut state = self.process_watcher.state();
        let serial =
            self.process_watcher.watch(&mut state, pid).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => {
                    format!("there is no process {pid} on the member's host")
                }
                _ if error.raw_os_error() == Some(3) => {
                    format!("there is no process {pid} on the member's host")
                }
                _ => format!("process {pid} cannot be watched: {error}"),
            })?;
        state.belongs((session, key), self.serial);
        state.belongs((session, key), serial);
        Ok(())
    }

    /// It heard that the session has ended.
    pub(crate) fn lost(&self, session: SessionId) {
        self.process_watcher.has_ended(session);
    }

    /// It heard that the session has another key.
    pub(crate) fn denied(&self, session: SessionId, key: Secret) {
        self.process_watcher.is_denied((session, key));
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let mut state = self.process_watcher.state();
        if let Some(process) = state.processes.get_mut(&self.serial) {
            process.connections = process.connections.saturating_sub(1);
        }
        state.let_go(self.serial);
    }
}

#[cfg(test)]
#[path = "process_watcher_tests.rs"]
mod tests;
