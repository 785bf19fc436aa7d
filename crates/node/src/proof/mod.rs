//! Proof of death: a member runs as the child of a small parent that only waits for it.
//!
//! [`split`] is called while the process has one thread and little memory. It forks: the caller goes on in
//! the child, as the member, and the parent never returns. The two share the program's code and what was in
//! memory then, so the parent costs some page tables. When the child is dead, however it died, `waitpid`
//! says so to the parent and to no other process. Then the parent shows a [proof](bellwether_net::proof) to
//! all peers that the child has reached, and ends as the child did: with its exit code, or by its signal.
//!
//! * Signals to the parent go on to the child. The child has a process group of its own, so that a signal
//!   from a terminal does not reach it twice.
//! * If the parent dies the child is killed, by the system (the parent-death signal); and it ends when the
//!   connection between them does.
//! * A supervisor knows the parent only: the child's messages to it go through the parent.
//! * As the first process of a container the parent waits for every process that was left to it.

#[cfg(target_os = "linux")]
mod parent;
#[cfg(target_os = "linux")]
mod system;

use bellwether_core::NodeId;
use bellwether_net::proof::{Digest, Secret};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;
use std::time::Duration;
use tokio::sync::mpsc;

/// The parent of this process, if it has one: there is at most one, and it is there from the start on.
static PARENT: OnceLock<Parent> = OnceLock::new();

/// What the child keeps of its parent.
#[derive(Debug)]
pub(crate) struct Parent {
    line: UnixStream,
    /// The number of this start: the proof names it.
    pub(crate) instance: u64,
    /// The digest of the parent's secret.
    pub(crate) digest: Digest,
    /// How often the supervisor wants to hear of this member.
    pub(crate) watchdog: Option<Duration>,
}

/// The kinds of what the child says: a byte each, followed by the length in two bytes.
const REACHED: u8 = b'A';
const NOTIFY: u8 = b'N';

/// The parent of this process.
pub(crate) fn parent() -> Option<&'static Parent> {
    PARENT.get()
}

impl Parent {
    /// A peer is here: the parent will show its proof there.
    fn reached(&self, peer: NodeId, address: SocketAddr) {
        self.say(REACHED, format!("{} {address}", peer.number()).as_bytes());
    }

    /// Tells the supervisor.
    pub(crate) fn notify(&self, text: &str) {
        self.say(NOTIFY, text.as_bytes());
    }

    /// A parent that is stopped does not read: what does not fit is lost, and the member goes on.
    fn say(&self, kind: u8, text: &[u8]) {
        let Ok(length) = u16::try_from(text.len()) else { return };
        let mut message = vec![kind];
        message.extend(length.to_be_bytes());
        message.extend(text);
        let _ = (&self.line).write(&message);
    }

    /// Takes where peers are, and passes it on.
    pub(crate) fn tell_of_peers(&'static self) -> mpsc::UnboundedSender<(NodeId, SocketAddr)> {
        let (reached, mut all) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some((peer, address)) = all.recv().await {
                self.reached(peer, address);
            }
        });
        reached
    }

    /// Comes when the parent is gone.
    async fn gone(&self) -> io::Result<()> {
        let line = tokio::net::UnixStream::from_std(self.line.try_clone()?)?;
        loop {
            line.readable().await?;
            match line.try_read(&mut [0; 16]) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Ends this process when its parent is gone, if the system has not killed it.
pub(crate) async fn end_with_parent() {
    if let Some(parent) = parent() {
        let _ = parent.gone().await;
        tracing::error!("the parent process has ended, so this member ends, too");
        std::process::exit(128 + 9);
    }
}

/// What the child has said, in the order in which it said it.
#[derive(Debug, PartialEq, Eq)]
enum Message {
    Reached(u32, SocketAddr),
    Notify(String),
}

/// Takes the first message from what has been read; `None` while it is not complete.
fn take(read: &mut Vec<u8>) -> Option<Message> {
    loop {
        let (kind, length) = match read[..] {
            [kind, high, low, ..] => (kind, usize::from(u16::from_be_bytes([high, low]))),
            _ => return None,
        };
        let text = String::from_utf8_lossy(read.get(3..3 + length)?).into_owned();
        read.drain(..3 + length);
        let reached = || {
            let (peer, address) = text.split_once(' ')?;
            Some(Message::Reached(peer.parse().ok()?, address.parse().ok()?))
        };
        match kind {
            REACHED => match reached() {
                None => {}
                reached => return reached,
            },
            _ => return Some(Message::Notify(text)),
        }
    }
}

/// Reads what is there; whether the other end is still open.
fn read_more(line: &mut UnixStream, read: &mut Vec<u8>) -> bool {
    let mut bytes = [0; 512];
    loop {
        match line.read(&mut bytes) {
            Ok(0) => return false,
            Ok(length) => read.extend(&bytes[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
        }
    }
}

/// From here on the caller runs in a child, and its parent waits for it. The process must have one thread.
#[cfg(target_os = "linux")]
pub fn split(member: NodeId) -> io::Result<()> {
    let mut secret = Secret::default();
    secret[..16].copy_from_slice(&bellwether_net::draw().to_ne_bytes());
    secret[16..].copy_from_slice(&bellwether_net::draw().to_ne_bytes());
    let (instance, digest) =
        (bellwether_net::draw() as u64, bellwether_net::proof::digest(&secret));
    let watchdog = sd_notify::watchdog_enabled();
    let (theirs, line) = UnixStream::pair()?;
    theirs.set_nonblocking(true)?;
    line.set_nonblocking(true)?;
    let before = rustix::process::getpid();
    match system::fork()? {
        system::Side::Parent { child, signals } => {
            drop(line);
            let proof = bellwether_net::proof::bytes(member, instance, &secret);
            parent::Waiting { child, signals, line: theirs, proof }.wait()
        }
        system::Side::Child => {
            // The child must not know what proves its death.
            secret.fill(0);
            std::hint::black_box(&secret);
            drop(theirs);
            system::end_with(before)?;
            let parent = Parent { line, instance, digest, watchdog };
            PARENT.set(parent).map_err(|_| io::Error::other("this process has a parent already"))
        }
    }
}

/// Elsewhere a member has no such parent: a crash waits for the lease.
#[cfg(not(target_os = "linux"))]
pub fn split(_member: NodeId) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_in_pieces_and_several_at_once() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.set_nonblocking(true).unwrap();
        let parent = Parent { line: ours, instance: 1, digest: [0; 32], watchdog: None };
        let address: SocketAddr = "[::1]:7400".parse().unwrap();
        parent.reached(NodeId::new(3), address);
        parent.notify("READY=1\nSTATUS=leads");
        let mut all = Vec::new();
        assert!(read_more(&mut theirs, &mut all), "open, and nothing more to read");
        let mut read = Vec::new();
        let mut messages = Vec::new();
        for byte in all {
            read.push(byte);
            messages.extend(take(&mut read));
        }
        let status = "READY=1\nSTATUS=leads".to_owned();
        assert_eq!(messages, [Message::Reached(3, address), Message::Notify(status)]);
        drop(parent);
        assert!(!read_more(&mut theirs, &mut read) && read.is_empty());
    }
}
