//! What a parent needs of the system and no safe interface offers: to fork, to keep signals back, to read
//! them from a descriptor, and to die of one.

#![allow(
    unsafe_code,
    reason = "fork, signal masks and signalfd have no safe interface: a second program would cost a second \
              copy of everything, and a signal handler may do next to nothing"
)]

use rustix::process::{
    DumpableBehavior, Pid, Signal, getpid, getppid, kill_process, set_dumpable_behavior,
    set_parent_process_death_signal,
};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd, OwnedFd};

/// On which side of a fork the caller goes on.
pub(super) enum Side {
    /// Signals are kept back, and come out of this descriptor.
    Parent {
        child: Pid,
        signals: OwnedFd,
    },
    Child,
}

fn check(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Makes a child. None of the parent's signals is lost, not even one that comes at this moment.
pub(super) fn fork() -> io::Result<Side> {
    // Another thread may hold a lock, and would not be there in the child to give it back.
    if std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() > 1) {
        return Err(io::Error::other("the process has more than one thread already"));
    }
    let mut all = MaybeUninit::uninit();
    let mut before = MaybeUninit::uninit();
    // SAFETY: the sets are filled by these calls before anything reads them; the descriptor is new, and nothing
    // else owns it; the process has one thread, so the child may go on as any program does.
    unsafe {
        check(libc::sigfillset(all.as_mut_ptr()))?;
        check(libc::sigprocmask(libc::SIG_BLOCK, all.as_ptr(), before.as_mut_ptr()))?;
        let forked = check(libc::fork());
        if !matches!(forked, Ok(child) if child > 0) {
            check(libc::sigprocmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()))?;
        }
        match Pid::from_raw(forked?) {
            None => Ok(Side::Child),
            Some(child) => {
                let signals = check(libc::signalfd(-1, all.as_ptr(), libc::SFD_CLOEXEC))?;
                Ok(Side::Parent { child, signals: OwnedFd::from_raw_fd(signals) })
            }
        }
    }
}

/// Memory that comes back by itself when it is used: pages of files that are mapped and were never changed, which
/// is nearly all of the program, and what the stack has grown to before.
#[derive(Debug, Default)]
pub(super) struct Idle(Vec<(usize, usize)>);

/// How much of the stack below the caller stays: more than a page and all that is called from here.
const STACK_KEPT: usize = 64 << 10;

impl Idle {
    /// Of a process that maps nothing more.
    pub(super) fn find() -> Idle {
        let Ok(maps) = std::fs::read_to_string("/proc/self/smaps") else { return Idle::default() };
        let (mut idle, mut mapping) = (Vec::new(), None);
        for line in maps.lines() {
            if let Some((span, kind)) = mapping_of(line) {
                let here = (&raw const idle).addr();
                match kind {
                    Kind::ReadOnlyFile => mapping = Some(span),
                    Kind::Stack => {
                        let end = here.saturating_sub(STACK_KEPT) & !0xffff;
                        mapping = None;
                        let is_ours = span.0 < end && here < span.1;
                        idle.extend(is_ours.then(|| (span.0, end - span.0)));
                    }
                    Kind::Other => mapping = None,
                }
            } else if let Some(changed) = line.strip_prefix("Anonymous:")
                && let Some((start, end)) = mapping.take()
                && changed.trim() == "0 kB"
            {
                idle.push((start, end - start));
            }
        }
        Idle(idle)
    }

    /// Lets go of it.
    pub(super) fn release(&self) {
        for (start, length) in &self.0 {
            // SAFETY: the first kind is a mapping of a file that cannot be written to and of which no page was
            // changed, so the next access reads the same bytes again. The second is the stack below all frames
            // that are in use, where nothing is.
            unsafe { libc::madvise(*start as *mut libc::c_void, *length, libc::MADV_DONTNEED) };
        }
    }
}

/// What a mapping is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    ReadOnlyFile,
    Stack,
    Other,
}

/// Where a mapping is, and of what, if the line begins one.
fn mapping_of(line: &str) -> Option<((usize, usize), Kind)> {
    let mut words = line.split_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let parse = |text| usize::from_str_radix(text, 16).ok();
    let span = (parse(start)?, parse(end)?);
    let permissions = words.next()?;
    let (inode, name) = (words.nth(2)?, words.next());
    let kind = match name {
        Some("[stack]") => Kind::Stack,
        _ if inode != "0" && !permissions.contains('w') => Kind::ReadOnlyFile,
        _ => Kind::Other,
    };
    Some((span, kind))
}

/// In the child: the end of its parent is its own.
pub(super) fn end_with(parent: Pid) -> io::Result<()> {
    // A signal from a terminal goes to a whole group, and the parent passes it on.
    rustix::process::setpgid(None, None)?;
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The order matters: a parent that ends between the two is noticed by the second.
    if getppid() != Some(parent) {
        return Err(io::Error::other("the parent has ended"));
    }
    Ok(())
}

/// Ends this process by the signal that has ended its child, so that a supervisor sees the same. It comes back
/// where that is not possible: as the first process of a container.
pub(super) fn die_by(signal: i32) {
    // The child's core is the one that is worth something.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let mut none = MaybeUninit::uninit();
    // SAFETY: the set is emptied before it is read, and the default action is no handler of ours.
    unsafe {
        libc::sigemptyset(none.as_mut_ptr());
        libc::signal(signal, libc::SIG_DFL);
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
    }
    if let Some(signal) = Signal::from_named_raw(signal) {
        let _ = kill_process(getpid(), signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_cannot_be_written_to_and_the_stack_are_let_go_of() {
        let of = |rest: &str| mapping_of(&format!("1000-3000 {rest}"));
        let is = |kind| Some(((0x1000, 0x3000), kind));
        assert_eq!(of("r-xp 00001000 08:01 42     /usr/bin/bellwether"), is(Kind::ReadOnlyFile));
        assert_eq!(of("rw-p 00001000 08:01 42     /usr/bin/bellwether"), is(Kind::Other));
        assert_eq!(of("r--p 00000000 00:00 0      [vvar]"), is(Kind::Other));
        assert_eq!(of("rw-p 00000000 00:00 0      [stack]"), is(Kind::Stack));
        assert_eq!(mapping_of("Anonymous:             0 kB"), None);
    }

    #[test]
    fn what_was_let_go_of_comes_back() {
        let name = String::from("bellwether");
        Idle::find().release();
        assert_eq!(name, "bellwether");
        assert!(Idle::find().0.iter().any(|(_, length)| *length > 0), "the program itself");
    }
}
