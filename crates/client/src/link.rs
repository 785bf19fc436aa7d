//! A connection to a member: reaching it, greeting it.

use crate::endpoints::{Endpoint, Endpoints};
use bellwether_api::client::LONGEST_TO_CLIENT;
use bellwether_api::envelope::{self, Body, ClientHello, ClientWelcome, Envelope};
use bellwether_net::frame::{self, Frames};
use bellwether_net::{ClientIdentity, ClientStream, NoConnection, split_unix};
use bytes::BytesMut;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadHalf, WriteHalf};
use tokio::net::UnixStream;
use tokio::time::timeout;

/// How long each part of connecting may take.
const WITHIN: Duration = Duration::from_secs(2);

/// How long a write may make no progress.
pub(crate) const STALLED_AFTER: Duration = Duration::from_secs(5);

pub(crate) type Reader = Frames<Box<dyn AsyncRead + Send + Unpin>>;
pub(crate) type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// A member that has let this client in.
pub(crate) struct Link {
    pub(crate) endpoint: Endpoint,
    pub(crate) frames: Reader,
    pub(crate) out: Writer,
    pub(crate) welcome: ClientWelcome,
}

/// Why a member is not connected.
#[derive(Clone, Debug)]
pub(crate) enum ConnectError {
    /// It cannot be reached.
    Down(String),
    /// TLS failed: a matter of certificates.
    Tls(String),
    /// It does not let this client in.
    Rejected(String),
}

impl ConnectError {
    pub(crate) fn why(&self) -> &str {
        match self {
            ConnectError::Down(why) | ConnectError::Tls(why) | ConnectError::Rejected(why) => why,
        }
    }
}

impl Link {
    /// Connects to a member and greets it.
    pub(crate) async fn to(
        endpoint: &Endpoint,
        endpoints: &Endpoints,
        client: &str,
    ) -> Result<Link, ConnectError> {
        let reached: (Box<dyn AsyncRead + Send + Unpin>, Writer, &str) = match endpoint {
            Endpoint::Unix(path) => {
                let stream = UnixStream::connect(path).await.map_err(|error| down(&error))?;
                let (read, out) = split_unix(stream).map_err(|error| down(&error))?;
                (Box::new(read), Box::new(out), "")
            }
            Endpoint::Tls(address) => {
                let identity = endpoints.identity.as_ref();
                let identity =
                    identity.ok_or_else(|| ConnectError::Tls("no certificate".to_owned()))?;
                let (read, out) = tls(identity, address).await?;
                (Box::new(read), Box::new(out), identity.cluster())
            }
        };
        let (read, mut out, cluster) = reached;
        let mut frames = Frames::new(read, LONGEST_TO_CLIENT, STALLED_AFTER);
        let greeted = timeout(WITHIN, greet(&mut frames, &mut out, cluster, client)).await;
        let late = |_| ConnectError::Down("it does not answer".to_owned());
        let welcome = greeted.map_err(late)??;
        Ok(Link { endpoint: endpoint.clone(), frames, out, welcome })
    }

    /// Whether the member follows a coordinator, or is it.
    pub(crate) fn follows(&self) -> bool {
        self.welcome.coordinator.is_some()
    }

    /// The lease of the cluster, if the member tells it: then it answers pings, too.
    pub(crate) fn lease(&self) -> Option<Duration> {
        let lease = self.welcome.lease_ms;
        (lease > 0).then(|| Duration::from_millis(lease))
    }

    /// Whether it is a member on this host, which sees this process.
    pub(crate) fn is_local(&self) -> bool {
        matches!(self.endpoint, Endpoint::Unix(_))
    }
}

async fn tls(
    identity: &ClientIdentity,
    address: &str,
) -> Result<(ReadHalf<ClientStream>, WriteHalf<ClientStream>), ConnectError> {
    match identity.connect(address, WITHIN).await {
        Ok((stream, _)) => Ok(tokio::io::split(stream)),
        Err(NoConnection::Unreachable(error)) => Err(down(&error)),
        Err(error @ NoConnection::Tls(_)) => Err(ConnectError::Tls(error.to_string())),
    }
}

fn down(error: &io::Error) -> ConnectError {
    ConnectError::Down(error.to_string())
}

async fn greet(
    frames: &mut Reader,
    out: &mut Writer,
    cluster: &str,
    client: &str,
) -> Result<ClientWelcome, ConnectError> {
    let hello = ClientHello {
        version: envelope::VERSION,
        oldest: envelope::OLDEST,
        cluster: cluster.to_owned(),
        client: client.to_owned(),
    };
    let hello = Envelope::new(envelope::VERSION, Body::ClientHello(hello));
    let mut bytes = BytesMut::new();
    let _ = frame::put(&hello, usize::MAX, &mut bytes);
    frame::write(out, &bytes, STALLED_AFTER).await.map_err(|error| down(&error))?;
    match frames.next().await {
        Ok(Some((Envelope { body: Some(Body::ClientWelcome(welcome)), .. }, _))) => Ok(welcome),
        Ok(Some((Envelope { body: Some(Body::Rejection(rejection)), .. }, _))) => {
            Err(ConnectError::Rejected(rejection.text))
        }
        Ok(Some(_)) => Err(ConnectError::Rejected("it does not speak this protocol".to_owned())),
        Ok(None) => Err(ConnectError::Down("it closed the connection".to_owned())),
        // A member that does not believe a certificate says so only now.
        Err(frame::Broken::Io(error)) if error.kind() == io::ErrorKind::InvalidData => {
            Err(ConnectError::Tls(error.to_string()))
        }
        Err(broken) => Err(ConnectError::Down(broken.to_string())),
    }
}
