//! Finding a server of the cluster that answers, and that follows a leader.
//!
//! * F1 All are tried, a moment apart, so that a server that hangs costs that moment only. Each is tried again by itself, whatever
//!   the others do. The one that was left comes last.
//! * F2 A server is of use when it answers a linearizable read. One that answers, but not that, follows no leader.
//! * F3 Servers of two clusters are never mixed: the first that answers says which one it is.

use super::address::Cluster;
use super::grpc::{Channel, Code, Fault};
use super::keys::Layout;
use super::transport::Transport;
use crate::finder::{BACK_OFF, Tried, jitter};
use crate::link::ConnectError;
use crate::{Error, ErrorKind};
use bellwether_api::etcd::RangeRequest;
use bellwether_net::NoConnection;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

/// The oldest version whose watches have numbers that the client chooses.
const OLDEST: (u32, u32) = (3, 4);
/// How long each part of connecting may take, and a call later on.
const WITHIN: Duration = Duration::from_secs(2);
const CALL: Duration = Duration::from_secs(3);
/// F1.
const APART: Duration = Duration::from_millis(50);
/// F3: at first, how long after the first answer the client waits for the others'.
const ALL_WITHIN: Duration = Duration::from_millis(250);

/// How rustls says that the other side ended a connection because of TLS. By the time it is heard of it is a text.
const ALERT: &str = "received fatal alert";
/// What is noted of a server that was chosen.
const CONNECTED: &str = "it is connected, and has not answered in time";

/// A server that answers.
pub(crate) struct Server {
    pub(crate) host: String,
    /// Its place among the endpoints, from 1.
    pub(crate) number: u32,
    pub(crate) channel: Channel,
    cluster: u64,
}

/// Why a server is of no use.
enum Useless {
    Connect(ConnectError),
    /// It answers, and follows no leader.
    NoLeader(u32),
}

/// All servers.
pub(crate) struct Servers {
    cluster: Cluster,
    pub(crate) tried: Tried,
    /// F3.
    id: Option<u64>,
}

/// A linearizable read of next to nothing.
pub(crate) fn probe(layout: &Layout) -> RangeRequest {
    let key = if layout.prefix().is_empty() { "bellwether" } else { layout.prefix() };
    RangeRequest { key: key.into(), limit: 1, keys_only: true, ..RangeRequest::default() }
}

impl Servers {
    pub(crate) fn new(cluster: Cluster) -> Self {
        Servers { cluster, tried: Tried::default(), id: None }
    }

    /// The first server, within this time.
    pub(crate) async fn first(&mut self, within: Duration) -> Result<Server, Error> {
        let until = Instant::now() + within;
        let mut pause = BACK_OFF.0;
        loop {
            let (found, useless) = self.round().await;
            let mut found = found.into_iter();
            if let Some(first) = found.next() {
                if let Some(other) = found.find(|other| other.cluster != first.cluster) {
                    let why = format!(
                        "{} and {} belong to different etcd clusters; name the servers of one",
                        first.host, other.host
                    );
                    return Err(Error::of_kind(ErrorKind::InvalidEndpoint, why));
                }
                self.id = Some(first.cluster);
                return Ok(first);
            }
            // What does not pass by itself is said at once.
            if let Some(error) = lasting(&useless) {
                return Err(error);
            }
            if Instant::now() + pause >= until {
                let leaderless = |(_, why): &(String, Useless)| matches!(why, Useless::NoLeader(_));
                return Err(match useless.iter().any(leaderless) {
                    true => Error::no_coordinator(within, self.tried.lines()),
                    false => Error::unavailable(self.tried.lines()),
                });
            }
            sleep(pause).await;
            pause = (2 * pause).min(BACK_OFF.1);
        }
    }

    /// Another server, after one was left. `missed` is told of a server that answers and follows no leader.
    pub(crate) async fn again(&mut self, left: Option<u32>, missed: impl Fn(u32)) -> Server {
        let mut hosts = self.hosts();
        hosts.sort_by_key(|(number, _)| Some(*number) == left);
        let (mut attempts, (tell, mut told)) = (JoinSet::new(), mpsc::unbounded_channel());
        for (place, (number, host)) in (0..).zip(hosts) {
            self.tried.note_at(&host, "it has not answered yet");
            let (cluster, tell) = (self.cluster.clone(), tell.clone());
            attempts.spawn(async move {
                sleep(APART * place).await;
                let mut pause = BACK_OFF.0;
                while tell.send((reach(&cluster, number, &host).await, host.clone())).is_ok() {
                    sleep(jitter(pause)).await;
                    pause = (2 * pause).min(BACK_OFF.1);
                }
            });
        }
        loop {
            match told.recv().await {
                Some((Ok(server), _)) if self.id.is_none_or(|id| id == server.cluster) => {
                    self.tried.note_at(&server.host, CONNECTED);
                    return server;
                }
                Some((Ok(_), host)) => {
                    self.tried.note_at(&host, "it belongs to another etcd cluster");
                }
                Some((Err(why), host)) => {
                    self.tried.note_at(&host, why.why());
                    if let Useless::NoLeader(number) = why {
                        missed(number);
                    }
                }
                // The tasks go on until this returns.
                None => sleep(BACK_OFF.1).await,
            }
        }
    }

    /// All servers with their numbers.
    fn hosts(&self) -> Vec<(u32, String)> {
        (1..).zip(self.cluster.hosts.iter().cloned()).collect()
    }

    /// F1: tries all once. Those that are of use and answer soon after the first of them.
    async fn round(&self) -> (Vec<Server>, Vec<(String, Useless)>) {
        let mut attempts = JoinSet::new();
        for (place, (number, host)) in (0..).zip(self.hosts()) {
            self.tried.note_at(&host, "it has not answered yet");
            let cluster = self.cluster.clone();
            attempts.spawn(async move {
                sleep(APART * place).await;
                let reached = reach(&cluster, number, &host).await;
                (host, reached)
            });
        }
        let (mut found, mut useless): (Vec<Server>, Vec<_>) = (Vec::new(), Vec::new());
        loop {
            let patience = if found.is_empty() { Duration::MAX } else { ALL_WITHIN };
            let Ok(Some(ended)) = timeout(patience, attempts.join_next()).await else { break };
            match ended {
                Ok((host, Ok(server))) => {
                    self.tried.note_at(&host, CONNECTED);
                    found.push(server);
                }
                Ok((host, Err(why))) => {
                    self.tried.note_at(&host, why.why());
                    useless.push((host, why));
                }
                Err(_) => {}
            }
        }
        (found, useless)
    }
}

impl Useless {
    fn why(&self) -> &str {
        match self {
            Useless::Connect(why) => why.why(),
            Useless::NoLeader(_) => "it follows no leader",
        }
    }
}

/// What is wrong for good: a certificate, a user, a version.
fn lasting(useless: &[(String, Useless)]) -> Option<Error> {
    let mut tls = None;
    for (host, why) in useless {
        match why {
            Useless::Connect(ConnectError::Rejected(why)) => {
                return Some(Error::rejected(host, why));
            }
            Useless::Connect(ConnectError::Tls(why)) => {
                tls = tls.or(Some(Error::tls(format!("{host}: {why}"))));
            }
            Useless::Connect(ConnectError::Down(_)) | Useless::NoLeader(_) => {}
        }
    }
    tls
}

fn down(why: impl ToString) -> Useless {
    Useless::Connect(ConnectError::Down(why.to_string()))
}

/// With TLS 1.3 a server looks at the certificate when the client has connected already.
fn unless_refused(fault: Fault) -> Useless {
    match fault {
        Fault::Broken(why) if why.contains(ALERT) => {
            let why = format!("it does not accept the certificate of this client: {why}");
            Useless::Connect(ConnectError::Tls(why))
        }
        fault => down(fault),
    }
}

fn rejected(why: impl Into<String>) -> Useless {
    Useless::Connect(ConnectError::Rejected(why.into()))
}

/// Connects to one server and asks who it is.
async fn reach(cluster: &Cluster, number: u32, host: &str) -> Result<Server, Useless> {
    let trust = cluster.trust.as_ref();
    let io = Transport::to(host, trust, WITHIN).await.map_err(|error| match error {
        NoConnection::Unreachable(error) => down(error),
        NoConnection::Tls(error) => Useless::Connect(ConnectError::Tls(error.to_string())),
    })?;
    let channel = Channel::open(io, host, CALL).await.map_err(unless_refused)?;
    let status = timeout(WITHIN, channel.status()).await;
    let status = status.map_err(|_| down("it does not answer"))?.map_err(|fault| match trust {
        // A server that speaks TLS closes a connection without TLS.
        None if matches!(fault, Fault::Broken(_)) => {
            down(format!("{fault}; does it want TLS? Name the directory of the certificates"))
        }
        _ => unless_refused(fault),
    })?;
    if version(&status.version).is_none_or(|version| version < OLDEST) {
        let (major, minor) = OLDEST;
        return Err(rejected(format!(
            "it is etcd {}, and {major}.{minor} or newer is needed; update it",
            status.version
        )));
    }
    let channel = match &cluster.user {
        None => channel,
        Some((name, password)) => {
            match channel.authenticate(name.clone(), password.clone()).await {
                Ok(answer) => channel.authenticated(&answer.token),
                // Without users there is nothing to prove.
                Err(Fault::Status(Code::FailedPrecondition, _)) => channel,
                Err(Fault::Status(Code::Unavailable, _)) => return Err(Useless::NoLeader(number)),
                Err(fault @ Fault::Status(..)) => return Err(rejected(fault.to_string())),
                Err(fault) => return Err(down(fault)),
            }
        }
    };
    // F2.
    match timeout(WITHIN, channel.range(&probe(&Layout::new(&cluster.prefix)))).await {
        Err(_) => return Err(Useless::NoLeader(number)),
        Ok(Ok(_) | Err(Fault::Status(Code::PermissionDenied, _))) => {}
        Ok(Err(Fault::Status(Code::InvalidArgument | Code::Unauthenticated, text))) => {
            let user = super::address::USER;
            return Err(rejected(format!("{text}; give a user with {user}")));
        }
        Ok(Err(Fault::Status(..))) => return Err(Useless::NoLeader(number)),
        Ok(Err(fault)) => return Err(down(fault)),
    }
    let cluster = status.header.map_or(0, |header| header.cluster_id);
    Ok(Server { host: host.to_owned(), number, channel, cluster })
}

/// The first two numbers of a version.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}

#[cfg(test)]
mod tests {
    use super::super::grpc::framed;
    use super::*;
    use bellwether_api::etcd::{RangeResponse, StatusResponse};

    /// A server that answers everything as an etcd of this version would.
    async fn server(version: &str) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let status = StatusResponse { version: version.to_owned(), ..StatusResponse::default() };
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut connection = h2::server::handshake(stream).await.unwrap();
            while let Some(Ok((request, mut respond))) = connection.accept().await {
                let answer = http::Response::builder().body(()).unwrap();
                let mut body = respond.send_response(answer, false).unwrap();
                let data = match request.uri().path().ends_with("/Status") {
                    true => framed(&status),
                    false => framed(&RangeResponse::default()),
                };
                body.send_data(data, false).unwrap();
                let mut trailers = http::HeaderMap::new();
                trailers.insert("grpc-status", "0".parse().unwrap());
                body.send_trailers(trailers).unwrap();
            }
        });
        host
    }

    #[tokio::test]
    async fn an_etcd_that_is_too_old_is_refused_at_once() {
        let (old, new) = (server("3.3.27").await, server("3.5.1").await);
        let mut servers = Servers::new(Cluster { hosts: vec![old], ..Cluster::default() });
        let error = servers.first(Duration::from_secs(60)).await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Rejected, "{error}");
        assert!(error.to_string().contains("3.4 or newer is needed"), "{error}");
        let mut servers = Servers::new(Cluster { hosts: vec![new], ..Cluster::default() });
        let first = servers.first(Duration::from_secs(60)).await;
        assert!(first.is_ok(), "a new one is not refused");
    }

    #[test]
    fn old_versions_are_told_from_new_ones() {
        assert!(version("3.3.27").is_some_and(|version| version < OLDEST));
        assert!(version("3.4.23").is_some_and(|version| version >= OLDEST));
        assert!(version("3.10.0-rc.1").is_some_and(|version| version >= OLDEST));
        assert_eq!(version(""), None);
    }
}
