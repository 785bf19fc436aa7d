//! Frames: a length of four bytes, big-endian, and one envelope.

use crate::decode;
use crate::protocol::Malformed;
use bellwether_api::envelope::{Envelope, Message};
use bytes::{BufMut, BytesMut};
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, timeout, timeout_at};

/// The bytes of a frame's length.
pub(crate) const PREFIX: usize = 4;

/// Appends an envelope as a frame; `false` if it is larger than allowed.
#[must_use]
pub(crate) fn put(envelope: &Envelope, largest: usize, out: &mut BytesMut) -> bool {
    let length = envelope.encoded_len();
    let Some(prefix) = u32::try_from(length).ok().filter(|_| length <= largest) else {
        return false;
    };
    out.reserve(PREFIX + length);
    out.put_u32(prefix);
    // It cannot fail: the buffer grows as needed.
    let _ = envelope.encode(out);
    true
}

/// Writes all of it; fails if for so long nothing can be written.
pub(crate) async fn write(
    io: &mut (impl AsyncWrite + Unpin),
    mut bytes: &[u8],
    stalled_after: Duration,
) -> io::Result<()> {
    let stalled = |_| io::Error::new(io::ErrorKind::TimedOut, "the peer takes nothing more");
    while !bytes.is_empty() {
        match timeout(stalled_after, io.write(bytes)).await.map_err(stalled)?? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => bytes = &bytes[written..],
        }
    }
    timeout(stalled_after, io.flush()).await.map_err(stalled)?
}

/// Why no further frame comes.
#[derive(Debug)]
pub(crate) enum Broken {
    /// One was announced that is larger than allowed.
    TooLarge,
    /// It means nothing, or ended in the middle.
    Malformed(Malformed),
    /// One was begun and not finished in time.
    Slow,
    /// The connection failed.
    Io(io::Error),
}

/// The frames that come in on a connection.
pub(crate) struct Frames<R> {
    io: R,
    /// What has come of the next frame, its length included; a frame leaves it whole. So the frame
    /// has begun if and only if this is not empty.
    buffer: BytesMut,
    largest: usize,
    stalled_after: Duration,
    /// By when the frame that has begun must be complete.
    complete_by: Option<Instant>,
}

impl<R: AsyncRead + Unpin> Frames<R> {
    pub(crate) fn new(io: R, largest: usize, stalled_after: Duration) -> Self {
        Frames { io, buffer: BytesMut::new(), largest, stalled_after, complete_by: None }
    }

    /// The next frame and its length; `None` if the peer has said all. May be cancelled: nothing is
    /// lost.
    pub(crate) async fn next(&mut self) -> Result<Option<(Envelope, usize)>, Broken> {
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
        let read = self.io.read_buf(&mut self.buffer);
        let result = match self.complete_by {
            None => read.await,
            Some(deadline) => timeout_at(deadline, read).await.map_err(|_| Broken::Slow)?,
        };
        match result {
            // A peer that is killed does not say goodbye.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
            Err(error) => Err(Broken::Io(error)),
            Ok(count) => Ok(count),
        }
    }
}

fn truncated() -> Broken {
    Broken::Malformed(Malformed::new("the connection ended in the middle of a frame"))
}
