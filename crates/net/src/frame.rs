//! Frames: a length of four bytes, big-endian, and one protobuf message.
//!
//! Everything travels in them, between members and between a member and a client. To a writer it is
//! cheapest to [put] many into one buffer and to [write](write()) that at once; to a reader, to take
//! [each](Frames::each) that has come before it waits again.

use crate::decode::{self, Malformed};
use bellwether_api::envelope::{Envelope, Message};
use bytes::{Buf, BufMut, BytesMut};
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, timeout, timeout_at};

/// The bytes of a frame's length.
pub const PREFIX: usize = 4;

/// A connection on which little comes has a small buffer; it grows to this as more comes at once.
const READ: std::ops::RangeInclusive<usize> = 2 * 1024..=64 * 1024;

/// Appends a message as a frame; `false`, and nothing is appended, if it is larger than allowed.
#[must_use]
pub fn put(message: &impl Message, largest: usize, out: &mut BytesMut) -> bool {
    let length = message.encoded_len();
    let Some(prefix) = u32::try_from(length).ok().filter(|_| length <= largest) else {
        return false;
    };
    out.reserve(PREFIX + length);
    out.put_u32(prefix);
    // It cannot fail: the buffer grows as needed.
    let _ = message.encode(out);
    true
}

/// Writes all of it; fails if nothing can be written for this long.
pub async fn write(
    io: &mut (impl AsyncWrite + Unpin),
    mut bytes: &[u8],
    stalled_after: Duration,
) -> io::Result<()> {
    while !bytes.is_empty() {
        match in_time(stalled_after, io.write(bytes)).await? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => bytes = &bytes[written..],
        }
    }
    in_time(stalled_after, io.flush()).await
}

/// A part of a write. Most are done at once, and then there is no need for a timer.
async fn in_time<T>(
    stalled_after: Duration,
    part: impl Future<Output = io::Result<T>>,
) -> io::Result<T> {
    let mut part = pin!(part);
    if let Poll::Ready(done) = poll_fn(|cx| Poll::Ready(part.as_mut().poll(cx))).await {
        return done;
    }
    let stalled = |_| io::Error::new(io::ErrorKind::TimedOut, "the peer no longer reads");
    timeout(stalled_after, part).await.map_err(stalled)?
}

/// Why no further frame comes.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// One was announced that is larger than allowed.
    #[error("a frame larger than allowed")]
    TooLarge,
    /// It means nothing, or ended in the middle.
    #[error("{0}")]
    Malformed(Malformed),
    /// One was begun and not finished in time.
    #[error("a frame was begun and not finished in time")]
    Slow,
    /// The connection failed.
    #[error("{0}")]
    Io(io::Error),
}

/// The frames that come in on a connection.
#[derive(Debug)]
pub struct Frames<R> {
    io: R,
    /// What has come of the next frame, its length included; a frame leaves it whole. So the frame
    /// has begun if and only if this is not empty.
    buffer: BytesMut,
    largest: usize,
    stalled_after: Duration,
    /// By when the frame that has begun must be complete; of a patient reader, by when more of it must
    /// have come.
    complete_by: Option<Instant>,
    patient: bool,
    /// How much room the next read gets.
    room: usize,
}

impl<R: AsyncRead + Unpin> Frames<R> {
    /// Those that come from here, if they are no larger than this, and complete within this time
    /// once they have begun.
    pub fn new(io: R, largest: usize, stalled_after: Duration) -> Self {
        let (buffer, complete_by, room) = (BytesMut::new(), None, *READ.start());
        Frames { io, buffer, largest, stalled_after, complete_by, patient: false, room }
    }

    /// From now on a frame may take as long as it likes, if more of it keeps coming within the time
    /// that a whole frame had before: for a peer that is trusted, over a link that may be slow.
    pub fn be_patient(&mut self) {
        self.patient = true;
    }

    /// From now on they may be of this size.
    pub fn allow(&mut self, largest: usize) {
        self.largest = largest;
    }

    /// Waits for frames, and gives the content of each that has come to `take`: one at least. The
    /// number of them, or 0 if the peer has said all. The first error ends it; the frames before it
    /// are taken. May be cancelled: nothing is lost.
    pub async fn each(
        &mut self,
        mut take: impl FnMut(&[u8]) -> Result<(), Malformed>,
    ) -> Result<usize, Broken> {
        loop {
            let mut taken = 0;
            while let Some(length) =
                decode::split(&self.buffer, self.largest).ok_or(Broken::TooLarge)?
            {
                self.complete_by = None;
                let result = take(&self.buffer[PREFIX..length]);
                self.buffer.advance(length);
                result.map_err(Broken::Malformed)?;
                taken += 1;
            }
            if taken > 0 {
                return Ok(taken);
            }
            match self.read().await? {
                0 if self.buffer.is_empty() => return Ok(0),
                0 => return Err(truncated()),
                _ => {}
            }
        }
    }

    /// The next frame, which must be an envelope, and its length; `None` if the peer has said all.
    /// May be cancelled: nothing is lost.
    pub async fn next(&mut self) -> Result<Option<(Envelope, usize)>, Broken> {
        loop {
            match decode::split(&self.buffer, self.largest).ok_or(Broken::TooLarge)? {
                Some(length) => {
                    self.complete_by = None;
                    let frame = self.buffer.split_to(length).freeze();
                    let envelope = decode::shared_envelope(frame.slice(PREFIX..));
                    return Ok(Some((envelope.map_err(Broken::Malformed)?, length)));
                }
                None if self.read().await? > 0 => {}
                None if self.buffer.is_empty() => return Ok(None),
                None => return Err(truncated()),
            }
        }
    }

    async fn read(&mut self) -> Result<usize, Broken> {
        if !self.buffer.is_empty() && self.complete_by.is_none() {
            self.complete_by = Some(Instant::now() + self.stalled_after);
        }
        self.buffer.reserve(self.room);
        let room = self.buffer.capacity() - self.buffer.len();
        let read = self.io.read_buf(&mut self.buffer);
        let result = match self.complete_by {
            None => read.await,
            Some(deadline) => timeout_at(deadline, read).await.map_err(|_| Broken::Slow)?,
        };
        match result {
            // A peer that is killed does not say goodbye.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
            Err(error) => Err(Broken::Io(error)),
            Ok(count) => {
                if self.patient {
                    self.complete_by = None;
                }
                if count >= room {
                    self.room = (2 * self.room).min(*READ.end());
                }
                Ok(count)
            }
        }
    }
}

fn truncated() -> Broken {
    Broken::Malformed(Malformed::new("the connection ended in the middle of a frame"))
}
