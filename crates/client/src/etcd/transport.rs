//! The bytes to and from an etcd server: plain, or encrypted.

use bellwether_net::{ClientStream, NoConnection, ServerTrust};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// A connection to a server.
pub(crate) enum Transport {
    Plain(TcpStream),
    Tls(Box<ClientStream>),
}

impl Transport {
    /// Connects to `host:port`; encrypted, if there is a certificate authority to trust.
    pub(crate) async fn to(
        address: &str,
        trust: Option<&ServerTrust>,
        within: Duration,
    ) -> Result<Transport, NoConnection> {
        if let Some(trust) = trust {
            let stream = trust.connect(address, within).await?;
            return Ok(Transport::Tls(Box::new(stream)));
        }
        let late = |_| io::Error::new(io::ErrorKind::TimedOut, "no answer in time");
        let tcp = timeout(within, TcpStream::connect(address)).await;
        let tcp = tcp.map_err(late).and_then(|tcp| tcp).map_err(NoConnection::Unreachable)?;
        let _ = tcp.set_nodelay(true);
        Ok(Transport::Plain(tcp))
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        matches!(self, Transport::Tls(_))
    }
}

impl AsyncRead for Transport {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Transport::Tls(stream) => Pin::new(stream.as_mut()).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Transport {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Transport::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Transport::Tls(stream) => Pin::new(stream.as_mut()).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Transport::Tls(stream) => Pin::new(stream.as_mut()).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Transport::Tls(stream) => Pin::new(stream.as_mut()).poll_shutdown(cx),
        }
    }
}
