//! Between each client and the servers: connections that can be cut without being root.
//!
//! A client connects to ports of its own, one for each server. While it is cut off, bytes wait here in both directions, as
//! they do in a network that loses all packets of a connection: neither side hears of it, and what was sent arrives when
//! the connection works again.

use std::io;
use std::net::Ipv4Addr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// The connections of one client.
pub(super) struct Proxies {
    pub(super) ports: Vec<u16>,
    cut: watch::Sender<bool>,
    /// Ends all when it is dropped.
    _listeners: JoinSet<()>,
}

impl Proxies {
    /// Listens for the connections of a client to these ports.
    pub(super) async fn listen(servers: &[u16]) -> io::Result<Proxies> {
        let (cut, is_cut) = watch::channel(false);
        let (mut ports, mut listeners) = (Vec::new(), JoinSet::new());
        for server in servers {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
            ports.push(listener.local_addr()?.port());
            listeners.spawn(accept(listener, *server, is_cut.clone()));
        }
        Ok(Proxies { ports, cut, _listeners: listeners })
    }

    /// Cuts the client off, or lets it reach the servers again.
    pub(super) fn cut(&self, cut: bool) {
        self.cut.send_replace(cut);
    }
}

async fn accept(listener: TcpListener, server: u16, is_cut: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Ok((client, _)) = listener.accept() => {
                connections.spawn(join(client, server, is_cut.clone()));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Passes bytes on until one side has ended.
async fn join(client: TcpStream, server: u16, mut is_cut: watch::Receiver<bool>) {
    if is_cut.wait_for(|cut| !cut).await.is_err() {
        return;
    }
    // A server that is dead refuses, and the client hears that its connection has ended.
    let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, server)).await else { return };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let ((from_client, to_client), (from_server, to_server)) =
        (client.into_split(), server.into_split());
    let there = pass(from_client, to_server, is_cut.clone());
    let back = pass(from_server, to_client, is_cut);
    tokio::select! {
        () = there => {}
        () = back => {}
    }
}

async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut is_cut: watch::Receiver<bool>) {
    let mut bytes = vec![0; 16 * 1024];
    loop {
        let Ok(length) = from.read(&mut bytes).await else { return };
        // The end of a connection is lost, too, as long as it is cut.
        if is_cut.wait_for(|cut| !cut).await.is_err() || length == 0 {
            return;
        }
        if to.write_all(&bytes[..length]).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::timeout;

    #[tokio::test]
    async fn bytes_wait_while_a_client_is_cut_off() {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = server.local_addr().unwrap().port();
        let proxies = Proxies::listen(&[port]).await.unwrap();
        let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, proxies.ports[0])).await.unwrap();
        let (mut served, _) = server.accept().await.unwrap();
        let mut byte = [0];
        client.write_all(b"a").await.unwrap();
        served.read_exact(&mut byte).await.unwrap();
        proxies.cut(true);
        client.write_all(b"b").await.unwrap();
        let early = timeout(Duration::from_millis(20), served.read_exact(&mut byte)).await;
        assert!(early.is_err(), "it arrived though the client is cut off");
        proxies.cut(false);
        served.read_exact(&mut byte).await.unwrap();
        assert_eq!(byte, *b"b");
        drop(served);
        assert_eq!(client.read(&mut byte).await.unwrap(), 0, "the end is passed on");
    }
}
