//! All processes of a job: finding them, ending them, and knowing that none is left.
//!
//! The system gives a process that has lost its parent to the nearest ancestor that has asked for such
//! orphans. The keeper has asked, and so has the command above it. While one of the two lives, every
//! process of the job descends from it, and if any process of the job is left, it has a child.
//!
//! Where the job has a cgroup, the system knows its processes by that, too. It kills all of them in
//! one step: those of other users, and those that start others faster than they are found.

use super::cgroup::Cgroup;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, set_child_subreaper, wait,
};
use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

/// What does not die at once is killed again after this time, for it may have made children.
pub(super) const AGAIN: Duration = Duration::from_millis(5);
/// How often `kill` looks for children of the processes that it has just killed.
const ROUNDS: usize = 100;

/// All processes of a job, as an ancestor sees them.
pub(super) struct Processes {
    /// Children of this process that are not of the job. Their numbers are not given to others
    /// before this process has waited for them.
    strangers: Vec<Pid>,
    pub(super) cgroup: Option<Cgroup>,
}

/// From now on orphans become children of this process. Returns the children that it has already: a
/// shell that runs something in the background and then becomes this program leaves them behind.
pub(super) fn adopt_orphans() -> io::Result<Vec<Pid>> {
    set_child_subreaper(Some(getpid()))?;
    Ok(children())
}

impl Processes {
    /// All children of this process but these.
    pub(super) fn except(strangers: Vec<Pid>, cgroup: Option<Cgroup>) -> Self {
        Processes { strangers, cgroup }
    }

    fn children(&self) -> Vec<Pid> {
        let mut children = children();
        children.retain(|child| !self.strangers.contains(child));
        children
    }

    /// Sends a signal to those that are children of this process.
    pub(super) fn signal(&self, signal: Signal) {
        for child in self.children() {
            let _ = kill_process(child, signal);
        }
    }

    /// Kills as many as it can find. What they leave behind at their death is found later.
    pub(super) fn kill(&self) {
        if let Some(cgroup) = &self.cgroup {
            cgroup.kill();
        }
        let mut killed = BTreeSet::new();
        for _ in 0..ROUNDS {
            let mut found = self.children();
            found.retain(|child| killed.insert(child.as_raw_nonzero()));
            if found.is_empty() {
                return;
            }
            for child in found {
                let _ = kill_process(child, Signal::KILL);
            }
        }
    }

    /// Waits for those that are dead, and tells of each. Whether none is left.
    pub(super) fn reap(&mut self, mut tell: impl FnMut(Pid, WaitStatus)) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    self.strangers.retain(|stranger| *stranger != pid);
                    tell(pid, status);
                }
                Err(rustix::io::Errno::INTR) => {}
                Ok(None) if self.strangers.is_empty() => return false,
                // The order matters: a process that is left is a child, or descends from one, and stays
                // so until this process waits for it.
                Ok(None) if !self.children().is_empty() => return false,
                // There are no children.
                _ => return self.cgroup.as_ref().is_none_or(Cgroup::is_empty),
            }
        }
    }
}

/// This process's own children: also those that have lost their parents.
///
/// The system lists them. Looking through all processes of the host took tens of milliseconds where hundreds of
/// commands wait, at the end of every job.
fn children() -> Vec<Pid> {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let listed: Option<Vec<String>> =
        tasks.map(|task| std::fs::read_to_string(task.path().join("children")).ok()).collect();
    match listed {
        Some(lists) => {
            let words = lists.iter().flat_map(|list| list.split_whitespace());
            words.filter_map(|word| Pid::from_raw(word.parse().ok()?)).collect()
        }
        // Not every kernel lists them.
        None => children_of(getpid()),
    }
}

/// The children of a process, looked for among all processes.
fn children_of(parent: Pid) -> Vec<Pid> {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let child = all.filter_map(|entry| {
        let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        // The name of the program is in parentheses and may contain anything.
        let (_, after) = stat.rsplit_once(") ")?;
        let of = Pid::from_raw(after.split(' ').nth(1)?.parse().ok()?)?;
        (of == parent).then_some(pid)
    });
    child.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn j5_children_are_listed_without_looking_at_all_processes() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let pid = Pid::from_child(&child);
        assert!(children().contains(&pid));
        assert!(children_of(getpid()).contains(&pid));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!children().contains(&pid));
    }
}
