//! A connection's socket, which gives up on a peer that does not read.

use rustix::net::sockopt;
use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// A peer that lets us wait must take at least this much in the time that it has, in bytes: one that takes
/// a byte now and then would never be done.
const PROGRESS: usize = 32 << 10;

/// A peer that has vanished is probed after this time, so that a request that waits does not wait for it.
const PROBED_AFTER: Duration = Duration::from_secs(15);

/// A socket.
pub(super) struct Socket {
    stream: TcpStream,
    stalled_after: Duration,
    /// While it lets us wait: until when it may, and how much it has taken since.
    stalled: Option<(Pin<Box<Sleep>>, usize)>,
}

impl Socket {
    pub(super) fn new(stream: TcpStream, stalled_after: Duration) -> Self {
        // None of these can fail on a TCP socket; if one does, all still works, but slower.
        let _ = stream.set_nodelay(true);
        let _ = sockopt::set_socket_keepalive(&stream, true);
        let _ = sockopt::set_tcp_keepidle(&stream, PROBED_AFTER);
        let _ = sockopt::set_tcp_keepintvl(&stream, Duration::from_secs(1));
        let _ = sockopt::set_tcp_keepcnt(&stream, 5);
        Socket { stream, stalled_after, stalled: None }
    }

    /// Counts what the peer takes, and how long it lets us wait (S5).
    fn count(
        &mut self,
        written: Poll<io::Result<usize>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        match written {
            Poll::Pending => {
                let after = self.stalled_after;
                let (until, _) = self.stalled.get_or_insert_with(|| (Box::pin(sleep(after)), 0));
                ready!(until.as_mut().poll(cx));
                Poll::Ready(Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "the peer does not read its answers",
                )))
            }
            Poll::Ready(Ok(count)) => {
                if let Some((_, taken)) = &mut self.stalled {
                    *taken += count;
                    if *taken >= PROGRESS {
                        self.stalled = None;
                    }
                }
                Poll::Ready(Ok(count))
            }
            failed => failed,
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.count(written, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        self.count(written, cx)
    }

    /// It must say so: hyper copies the answers to all requests that it has read into one buffer, without
    /// end, if it is told that several pieces cannot be written at once.
    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // The peer has taken all that there was.
        self.stalled = None;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
