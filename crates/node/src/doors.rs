//! So many visitors at once, and no more.
//!
//! Whoever reaches the HTTP address could open connections until the process may open no further
//! file, and then the other members would not get through either. Beyond a certain number they wait
//! at the door.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;

/// How many connections may be open at once, streams of events included.
const VISITORS_MAX: usize = 64;

/// A listener that counts.
pub(crate) struct Door {
    listener: TcpListener,
    places: Arc<Semaphore>,
}

impl Door {
    pub(crate) fn new(listener: TcpListener) -> Self {
        Door { listener, places: Arc::new(Semaphore::new(VISITORS_MAX)) }
    }
}

impl axum::serve::Listener for Door {
    type Io = Visitor;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Visitor, SocketAddr) {
        loop {
            // The semaphore is never closed; if it were, nobody would be counted any more.
            let place = self.places.clone().acquire_owned().await.ok();
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    // News should not wait for more news. If it cannot be had, they come later.
                    let _ = stream.set_nodelay(true);
                    return (Visitor { stream, _place: place }, address);
                }
                // Out of files, most likely. It passes.
                Err(_) => sleep(Duration::from_millis(100)).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection, and the place that it takes until it ends.
pub(crate) struct Visitor {
    stream: TcpStream,
    _place: Option<OwnedSemaphorePermit>,
}

impl AsyncRead for Visitor {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Visitor {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::serve::Listener;
    use tokio::time::timeout;

    #[tokio::test]
    async fn one_too_many_waits_until_somebody_leaves() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut door = Door::new(listener);
        let address = door.local_addr().unwrap();
        let (mut outside, mut inside) = (Vec::new(), Vec::new());
        for _ in 0..VISITORS_MAX {
            outside.push(TcpStream::connect(address).await.unwrap());
            inside.push(door.accept().await);
        }
        outside.push(TcpStream::connect(address).await.unwrap());
        let early = timeout(Duration::from_millis(50), door.accept()).await;
        assert!(early.is_err(), "there was no place left");
        inside.pop();
        timeout(Duration::from_secs(60), door.accept()).await.unwrap();
    }
}
