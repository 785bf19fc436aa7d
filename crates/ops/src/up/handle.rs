//! The dashboard's side of the parent: it tells pages about the processes, and takes commands.

use super::cluster::Cluster;
use super::command;
use bellwether_api::json::Up;
use bellwether_http::Extra;
use bellwether_node::operator::OperatorToken;
use bellwether_node::parent::{self, Order};
use bellwether_shell::Failure;
use std::net::{Ipv4Addr, SocketAddr};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};

/// The most commands that may wait. A sender of more waits with them.
const WAITING: usize = 16;

/// Where the dashboard will be. The members must know before they start.
pub(crate) struct Bound {
    listener: TcpListener,
    address: SocketAddr,
}

/// Takes a port on loopback; any if it is 0.
pub(crate) async fn bind(port: u16) -> Result<Bound, Failure> {
    let bound = async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        Ok(Bound { listener, address })
    };
    bound.await.map_err(|error: std::io::Error| {
        let what = format!(
            "cannot use port {port} of 127.0.0.1: {error}; give another port, or 0 for any"
        );
        Failure::flag("http", what)
    })
}

impl Bound {
    /// Where: `host:port`.
    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }

    /// Begins to serve.
    pub(crate) fn open(self, cluster: &Cluster, extra: Extra) -> UpHandle {
        let (sender, orders) = mpsc::channel(WAITING);
        let (up, seen) = watch::channel(Up { commands: command::for_pages(), ..Up::default() });
        let operator = cluster.operator;
        let handle = parent::UpHandle { up: seen, orders: sender, operator };
        let members: Vec<String> =
            cluster.members.iter().map(|member| member.http.to_string()).collect();
        tokio::spawn(async move {
            let members = members.iter().map(String::as_str);
            parent::serve(self.listener, handle, members, extra).await;
        });
        UpHandle { address: self.address, operator, up, orders }
    }
}

/// What pages are told, and what they ask for.
pub(crate) struct UpHandle {
    address: SocketAddr,
    operator: OperatorToken,
    /// The cluster as pages see it.
    pub(crate) up: watch::Sender<Up>,
    /// What is commanded.
    pub(crate) orders: mpsc::Receiver<Order>,
}

impl UpHandle {
    /// The address for people. What is behind the `#` stays in their browser, and lets the page command.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/#operator={}", self.address, self.operator.hex())
    }

    /// Takes no further commands.
    pub(crate) fn close(&mut self) {
        self.orders.close();
    }
}
