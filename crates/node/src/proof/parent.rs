//! The parent: it waits, and shows the proof.

use super::system::{Idle, die_by};
use super::{Message, read_more, take};
use bellwether_net::proof;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, wait};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

/// How long to wait for the next peer to answer. One that does not answer by then is bound until its lease
/// runs out.
const ANSWERS_WITHIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 300_000_000 };

/// The size of what a signal descriptor gives, which begins with the number.
const SIGNAL: usize = 128;

/// All that the parent knows.
pub(super) struct Waiting {
    pub(super) child: Pid,
    pub(super) signals: OwnedFd,
    pub(super) line: UnixStream,
    pub(super) proof: [u8; proof::LENGTH],
}

impl Waiting {
    /// Waits for the child, shows the proof, and ends as the child did.
    pub(super) fn wait(mut self) -> ! {
        let idle = Idle::find();
        let (mut read, mut is_open) = (Vec::with_capacity(512), true);
        let mut peers = Vec::with_capacity(8);
        let status = loop {
            // All threads of the child are gone when it can be waited for.
            if let Some(status) = self.reap() {
                break status;
            }
            idle.release();
            self.sleep(is_open);
            if is_open {
                is_open = read_more(&mut self.line, &mut read);
                heed(&mut read, &mut peers);
            }
        };
        read_more(&mut self.line, &mut read);
        heed(&mut read, &mut peers);
        show(&self.proof, &peers);
        end_as(status)
    }

    /// How the child has ended, if it has. What else was left to the first process of a container ends here, too.
    fn reap(&self) -> Option<WaitStatus> {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if pid == self.child {
                return Some(status);
            }
        }
        None
    }

    /// Until a signal comes or the child says something. Signals go on to the child.
    fn sleep(&self, is_open: bool) {
        let mut sources =
            [PollFd::new(&self.signals, PollFlags::IN), PollFd::new(&self.line, PollFlags::IN)];
        let sources = if is_open { &mut sources[..] } else { &mut sources[..1] };
        if poll(sources, None).is_err() || sources[0].revents().is_empty() {
            return;
        }
        let mut bytes = [0; SIGNAL];
        let Ok(SIGNAL) = rustix::io::read(&self.signals, &mut bytes) else { return };
        let number = bytes.first_chunk().map_or(0, |number| i32::from_ne_bytes(*number));
        match Signal::from_named_raw(number) {
            None | Some(Signal::CHILD) => {}
            // A terminal stops its programs: both then stop, and go on together.
            Some(Signal::TSTP) => {
                self.pass_on(Signal::STOP);
                let _ = kill_process(getpid(), Signal::STOP);
            }
            Some(signal) => self.pass_on(signal),
        }
    }

    fn pass_on(&self, signal: Signal) {
        // Its number is its own until it has been waited for.
        let _ = kill_process(self.child, signal);
    }
}

/// Does what the child has asked for so far.
fn heed(read: &mut Vec<u8>, peers: &mut Vec<(u32, SocketAddr)>) {
    while let Some(message) = take(read) {
        match message {
            Message::Notify(text) => {
                let _ = sd_notify::notify(&[sd_notify::NotifyState::Custom(&text)]);
            }
            Message::Reached(peer, address) => {
                match peers.iter_mut().find(|(known, _)| *known == peer) {
                    Some(known) => known.1 = address,
                    None => peers.push((peer, address)),
                }
            }
        }
    }
}

/// Shows the proof to all peers at once.
fn show(proof: &[u8], peers: &[(u32, SocketAddr)]) {
    let mut calls: Vec<OwnedFd> = peers.iter().filter_map(|(_, at)| call(at)).collect();
    while !calls.is_empty() {
        let mut ready: Vec<_> = calls.iter().map(|c| PollFd::new(c, PollFlags::OUT)).collect();
        if !matches!(poll(&mut ready, Some(&ANSWERS_WITHIN)), Ok(1..)) {
            return;
        }
        let ready: Vec<bool> = ready.iter().map(|source| !source.revents().is_empty()).collect();
        let mut ready = ready.into_iter();
        // Connected, or refused: then writing fails. What was written leaves also after closing.
        calls.retain(|call| match ready.next() {
            Some(true) => {
                let _ = rustix::io::write(call, proof);
                false
            }
            _ => true,
        });
    }
}

/// Begins to connect.
fn call(at: &SocketAddr) -> Option<OwnedFd> {
    let family = if at.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, None).ok()?;
    match connect(&socket, at) {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Some(socket),
        Err(_) => None,
    }
}

/// With its exit code, or by its signal.
fn end_as(status: WaitStatus) -> ! {
    if let Some(signal) = status.terminating_signal() {
        die_by(signal);
        std::process::exit(128 + signal);
    }
    std::process::exit(status.exit_status().unwrap_or(1))
}
