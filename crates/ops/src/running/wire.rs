//! What a command and the keeper of its job say to each other, over a pair of sockets.
//!
//! Frames of nine bytes: what it is, and a number. The first one carries the job's standard input
//! besides.

use bellwether_core::Time;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream as StdStream;
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;

/// The length of a frame.
pub(super) const FRAME: usize = 9;
pub(super) type Frame = [u8; FRAME];

/// What a keeper is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The job may run, under this token: the first order, with its standard input. A deadline
    /// follows.
    Run(u64),
    /// The job must be dead by then, on the clock that all processes of the host share.
    Deadline(Time),
    /// The job is to end, politely at first.
    Stop,
}

/// What a keeper tells: how a job ended. It and all that it left behind are dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    /// Its exit code, or 128 and the number of the signal.
    pub(super) code: u8,
    /// Whether it was ended because its deadline came near.
    pub(super) late: bool,
}

/// The frames that come over a connection.
pub(super) struct Frames {
    pub(super) stream: UnixStream,
    frame: Frame,
    got: usize,
}

impl Frames {
    pub(super) fn new(stream: StdStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Frames { stream: UnixStream::from_std(stream)?, frame: [0; FRAME], got: 0 })
    }

    /// The next frame; `None` if the other end is gone. May be cancelled.
    pub(super) async fn next(&mut self) -> Option<Frame> {
        while self.got < FRAME {
            match self.stream.read(&mut self.frame[self.got..]).await {
                Ok(0) | Err(_) => return None,
                Ok(more) => self.got += more,
            }
        }
        self.got = 0;
        Some(self.frame)
    }
}

fn frame(tag: u8, number: u64) -> Frame {
    let mut frame = [tag; FRAME];
    frame[1..].copy_from_slice(&number.to_le_bytes());
    frame
}

fn parts(frame: &Frame) -> (u8, u64) {
    let mut number = [0; 8];
    number.copy_from_slice(&frame[1..]);
    (frame[0], u64::from_le_bytes(number))
}

impl Order {
    pub(super) fn frame(self) -> Frame {
        match self {
            Order::Deadline(at) => frame(1, at.as_micros()),
            Order::Stop => frame(2, 0),
            Order::Run(token) => frame(3, token),
        }
    }

    pub(super) fn read(frame: &Frame) -> Option<Order> {
        match parts(frame) {
            (1, at) => Some(Order::Deadline(Time::from_micros(at))),
            (2, _) => Some(Order::Stop),
            (3, token) => Some(Order::Run(token)),
            _ => None,
        }
    }
}

impl Ended {
    pub(super) fn frame(self) -> Frame {
        frame(if self.late { 2 } else { 1 }, u64::from(self.code))
    }

    pub(super) fn read(frame: &Frame) -> Option<Ended> {
        match parts(frame) {
            (tag @ 1..=2, code) => Some(Ended { code: u8::try_from(code).ok()?, late: tag == 2 }),
            _ => None,
        }
    }
}

/// Sends the first frame with the job's standard input.
pub(super) fn send_first(socket: impl AsFd, frame: Frame, stdin: BorrowedFd<'_>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fds = [stdin];
    if !control.push(SendAncillaryMessage::ScmRights(&fds)) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    let sent = sendmsg(socket, &[IoSlice::new(&frame)], &mut control, SendFlags::NOSIGNAL)?;
    if sent == FRAME { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

/// Receives it; nothing if the command has ended without one.
pub(super) fn receive_first(socket: impl AsFd) -> io::Result<Option<(Frame, OwnedFd)>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut frame = [0; FRAME];
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::WAITALL;
    let got = recvmsg(socket, &mut [IoSliceMut::new(&mut frame)], &mut control, flags)?;
    let mut fds = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(fds) => Some(fds),
        _ => None,
    });
    let stdin = fds.next().and_then(|mut fds| fds.next());
    match stdin {
        Some(stdin) if got.bytes == FRAME => Ok(Some((frame, stdin))),
        _ if got.bytes == 0 => Ok(None),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    #[test]
    fn frames_say_what_was_meant() {
        for order in [Order::Run(7), Order::Deadline(Time::from_micros(u64::MAX)), Order::Stop] {
            assert_eq!(Order::read(&order.frame()), Some(order));
        }
        for ended in [Ended { code: 143, late: true }, Ended { code: 0, late: false }] {
            assert_eq!(Ended::read(&ended.frame()), Some(ended));
        }
        assert_eq!((Order::read(&[9; FRAME]), Ended::read(&[9; FRAME])), (None, None));
    }

    #[test]
    fn standard_input_comes_with_the_first_frame() {
        let (here, there) = UnixStream::pair().unwrap();
        let (reader, mut writer) = io::pipe().unwrap();
        send_first(&here, Order::Stop.frame(), reader.as_fd()).unwrap();
        drop(reader);
        let (frame, stdin) = receive_first(&there).unwrap().unwrap();
        assert_eq!(Order::read(&frame), Some(Order::Stop));
        writer.write_all(b"hello").unwrap();
        drop(writer);
        let text = io::read_to_string(std::fs::File::from(stdin)).unwrap();
        assert_eq!(text, "hello");
        drop(here);
        assert!(receive_first(&there).unwrap().is_none());
    }
}
