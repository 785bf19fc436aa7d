//! A Unix socket's two halves, for many small messages in both directions.
//!
//! The runtime's own stream waits for both at once: for something to read and for room to write.
//! On a Unix socket there is news of room whenever the other side has read anything, so every
//! message would wake its sender for nothing; on some machines that costs as much as the message.
//! These halves wait for room only while there is none.

use std::io::{self, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream as Stream;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::AsyncWrite;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// The half that is read. A pipe's end is read like a socket, and waits for reading alone.
pub type UnixReader = pipe::Receiver;

/// The half that is written.
#[derive(Debug)]
pub struct UnixWriter {
    stream: Stream,
    /// While there is no room: what tells when there is some.
    room: Option<pipe::Sender>,
}

/// Splits a stream in two.
pub fn split_unix(stream: UnixStream) -> io::Result<(UnixReader, UnixWriter)> {
    let stream = stream.into_std()?;
    let reader = pipe::Receiver::from_owned_fd_unchecked(stream.try_clone()?.into())?;
    Ok((reader, UnixWriter { stream, room: None }))
}

impl UnixWriter {
    /// Waits for room, if there was none.
    fn poll_room(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &self.room {
            None => Poll::Ready(Ok(())),
            Some(room) => room.poll_write_ready(cx),
        }
    }
}

impl AsyncWrite for UnixWriter {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.poll_room(cx))?;
            match self.stream.write(bytes) {
                Ok(count) => {
                    self.room = None;
                    return Poll::Ready(Ok(count));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    // One that is new knows only of room that comes from now on.
                    let same = self.stream.try_clone()?.into();
                    self.room = Some(pipe::Sender::from_owned_fd_unchecked(same)?);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.stream.shutdown(Shutdown::Write))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test]
    async fn more_than_fits_is_written_as_room_comes() {
        let (one, other) = UnixStream::pair().unwrap();
        let ((_, mut out), (mut read, _)) = (split_unix(one).unwrap(), split_unix(other).unwrap());
        // Several times what a socket keeps.
        let sent: Vec<u8> = (0..2_000_000_u32).map(|n| n as u8).collect();
        let writing = tokio::spawn({
            let sent = sent.clone();
            async move {
                out.write_all(&sent).await.unwrap();
                out.shutdown().await.unwrap();
                assert!(out.room.is_none());
            }
        });
        let mut received = Vec::new();
        read.read_to_end(&mut received).await.unwrap();
        writing.await.unwrap();
        assert_eq!(received, sent);
    }

    #[tokio::test]
    async fn a_message_each_way_and_then_the_end() {
        let (one, other) = UnixStream::pair().unwrap();
        let (mut read, mut out) = split_unix(one).unwrap();
        let (mut read_there, mut out_there) = split_unix(other).unwrap();
        for number in 0..100_u8 {
            out.write_all(&[number, 1]).await.unwrap();
            let mut two = [0; 2];
            read_there.read_exact(&mut two).await.unwrap();
            out_there.write_all(&two).await.unwrap();
            read.read_exact(&mut two).await.unwrap();
            assert_eq!(two, [number, 1]);
        }
        drop((read_there, out_there));
        assert_eq!(read.read(&mut [0; 8]).await.unwrap(), 0);
    }
}
