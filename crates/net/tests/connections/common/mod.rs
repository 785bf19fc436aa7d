//! A small process to test the driver with, and clusters of it on loopback.

#![allow(unreachable_pub, reason = "what all modules of the tests may use")]

use bellwether_api::envelope::{self, Body, Envelope, Message as _};
use bellwether_core::{
    Assumptions, Channels, Context, Group, Kind, Message, NodeId, Process, Time,
};
use bellwether_net::durable::{DurableError, Owner, WholeFile};
use bellwether_net::{
    Hint, Identity, Malformed, Opened, Options, Payload, Protocol, Running, certs,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast::Receiver;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

pub const CLUSTER: &str = "test";

/// Says what it is told to say, and repeats what it hears.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Talker {
    pub count: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// A protocol message.
    Say(u64),
    /// A question that promises nothing: it may leave before the save.
    Ask(u64),
    /// A heartbeat.
    Beat(u64),
    /// Something large.
    Bulk(Vec<u8>),
}

impl fmt::Display for Msg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl Message for Msg {
    fn kind(&self) -> Kind {
        Kind::protocol("MSG")
    }
}

#[derive(Clone, Debug)]
pub enum Input {
    /// Send these to one.
    Send(NodeId, Vec<Msg>),
    /// Count one further, durably, and tell everybody.
    Count,
    /// Count one further, durably, tell everybody, and then ask everybody.
    CountAndAsk,
    /// A hint came.
    Hint(NodeId, Hint),
    /// Set this timer.
    Timer(u8, Duration),
    /// Block the whole task for so long.
    Block(Duration),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    Started(Option<u64>),
    Received(NodeId, Msg),
    Hint(NodeId, Hint),
    Fired(u8),
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl Process for Talker {
    type Msg = Msg;
    type Timer = u8;
    type Input = Input;
    type Output = Output;
    type Durable = u64;
    type Config = ();

    const ASSUMES: Assumptions = Assumptions::synchronous(Channels::Fifo);

    fn durable(&self) -> u64 {
        self.count
    }

    fn on_start(&mut self, saved: Option<u64>, cx: &mut Context<'_, Self>) {
        self.count = saved.unwrap_or(0);
        cx.emit(Output::Started(saved));
    }

    fn on_input(&mut self, input: Input, cx: &mut Context<'_, Self>) {
        match input {
            Input::Send(to, msgs) => msgs.into_iter().for_each(|msg| cx.send(to, msg)),
            Input::Count | Input::CountAndAsk => {
                self.count += 1;
                for other in cx.others() {
                    cx.send(other, Msg::Say(self.count));
                    if matches!(input, Input::CountAndAsk) {
                        cx.send(other, Msg::Ask(self.count));
                    }
                }
            }
            Input::Hint(peer, hint) => cx.emit(Output::Hint(peer, hint)),
            Input::Timer(timer, after) => cx.set_timer(timer, after),
            #[allow(clippy::disallowed_methods, reason = "this is a process that misbehaves")]
            Input::Block(time) => std::thread::sleep(time),
        }
    }

    fn on_message(&mut self, from: NodeId, msg: Msg, cx: &mut Context<'_, Self>) {
        cx.emit(Output::Received(from, msg));
    }

    fn on_timer(&mut self, timer: u8, cx: &mut Context<'_, Self>) {
        cx.emit(Output::Fired(timer));
    }
}

/// Its protocol, under any name.
pub struct Talk(pub &'static str);

impl Protocol for Talk {
    type Process = Talker;
    type Store = WholeFile<Talker>;

    fn name(&self) -> &str {
        self.0
    }
    fn encode(&self, msg: &Msg) -> Payload {
        Payload::Serde(postcard::to_stdvec(msg).unwrap().into())
    }
    fn decode(&self, payload: Payload) -> Result<Msg, Malformed> {
        match payload {
            Payload::Serde(bytes) => postcard::from_bytes(&bytes).map_err(Malformed::new),
            Payload::Member(_) => Err(Malformed::new("not for me")),
        }
    }
    fn supersedes(&self, newer: &Msg, older: &Msg) -> bool {
        matches!((newer, older), (Msg::Beat(_), Msg::Beat(_)))
    }
    fn may_precede_save(&self, _: &Self::Store, _: &Talker, msg: &Msg) -> bool {
        matches!(msg, Msg::Ask(_))
    }
    fn open(&self, path: &Path, owner: Owner) -> Result<Opened<Self>, DurableError> {
        let encode = |durable: &u64| durable.to_le_bytes().to_vec();
        let decode =
            |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).map_err(Malformed::new);
        WholeFile::open(path, owner, encode, decode)
    }
    fn hint(&self, peer: NodeId, hint: Hint) -> Option<Input> {
        Some(Input::Hint(peer, hint))
    }
}

pub fn id(number: u32) -> NodeId {
    NodeId::new(number)
}

/// Certificates and addresses for a cluster.
pub struct Cluster {
    pub authority: certs::Pair,
    pub group: Group,
    pub addresses: BTreeMap<NodeId, String>,
    listeners: BTreeMap<NodeId, std::net::TcpListener>,
}

impl Cluster {
    pub fn new(n: u32) -> Self {
        let group = Group::numbered(n).unwrap();
        let authority = certs::authority(CLUSTER, 10).unwrap();
        let listeners: BTreeMap<_, _> = group
            .ascending()
            .map(|id| (id, std::net::TcpListener::bind("127.0.0.1:0").unwrap()))
            .collect();
        let addresses = listeners
            .iter()
            .map(|(id, listener)| (*id, listener.local_addr().unwrap().to_string()))
            .collect();
        Cluster { authority, group, addresses, listeners }
    }

    pub fn identity(&self, number: u32) -> Identity {
        let pair = certs::member(CLUSTER, &self.authority, id(number), 10).unwrap();
        let ca = &self.authority.certificate;
        Identity::from_pem(CLUSTER, id(number), ca, &pair.certificate, &pair.key).unwrap()
    }

    /// The options of one member. Its listener stays bound, so that no other process gets the port.
    pub fn options(&self, number: u32) -> Options {
        let listen = self.listeners[&id(number)].try_clone().unwrap();
        listen.set_nonblocking(true).unwrap();
        let listen = TcpListener::from_std(listen).unwrap();
        let identity = self.identity(number);
        Options::new(identity, self.group.clone(), self.addresses.clone(), listen)
    }

    pub fn start(&self, number: u32) -> Running<Talk> {
        self.start_with(number, |_| {})
    }

    pub fn start_with(&self, number: u32, change: impl FnOnce(&mut Options)) -> Running<Talk> {
        let mut options = self.options(number);
        change(&mut options);
        bellwether_net::start(Talk("talk"), (), options).unwrap()
    }
}

pub type Outputs = Receiver<(Time, Output)>;

/// Guards against a test that hangs; nothing is measured with it.
pub async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(Duration::from_secs(30), future).await {
        Ok(value) => value,
        Err(_) => panic!("still waiting for: {what}"),
    }
}

/// Waits for the next message heard.
pub async fn heard(outputs: &mut Outputs) -> (NodeId, Msg) {
    soon("a message", async {
        loop {
            if let (_, Output::Received(from, msg)) = outputs.recv().await.unwrap() {
                return (from, msg);
            }
        }
    })
    .await
}

/// Waits for a certain output.
pub async fn said(outputs: &mut Outputs, wanted: Output) {
    let what = wanted.to_string();
    soon(&what, async { while outputs.recv().await.unwrap().1 != wanted {} }).await;
}

/// Waits until something is so.
pub async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    soon(what, async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// Waits until a process is connected with this many others, both ways.
pub async fn connected(running: &Running<Talk>, peers: usize) {
    until("connections", || {
        let states = running.peers();
        let up = |state: &&bellwether_net::PeerState| {
            state.outgoing.is_some() && state.incoming.is_some()
        };
        states.iter().filter(up).count() >= peers
    })
    .await;
}

/// A TLS connection to the first member with this certificate.
pub async fn tls(cluster: &Cluster, certificate: Option<&certs::Pair>) -> TlsStream<TcpStream> {
    let mut roots = rustls::RootCertStore::empty();
    let ca = cluster.authority.certificate.as_bytes();
    roots.add(CertificateDer::from_pem_slice(ca).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match certificate {
        None => builder.with_no_client_auth(),
        Some(pair) => {
            let chain = vec![CertificateDer::from_pem_slice(pair.certificate.as_bytes())];
            let chain = chain.into_iter().collect::<Result<_, _>>().unwrap();
            let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).unwrap();
            builder.with_client_auth_cert(chain, key).unwrap()
        }
    };
    let name = ServerName::try_from(bellwether_net::member_name(CLUSTER, id(1))).unwrap();
    let tcp = TcpStream::connect(&cluster.addresses[&id(1)]).await.unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, tcp).await.unwrap()
}

pub fn framed(content: &[u8]) -> Vec<u8> {
    let mut frame = (content.len() as u32).to_be_bytes().to_vec();
    frame.extend(content);
    frame
}

/// The next frame from the other side; `None` if it closes instead.
pub async fn answer(tls: &mut TlsStream<TcpStream>) -> Option<Body> {
    soon("an answer", async {
        let length = tls.read_u32().await.ok()?;
        let mut content = vec![0; length as usize];
        tls.read_exact(&mut content).await.ok()?;
        Envelope::decode(content.as_slice()).unwrap().body
    })
    .await
}

pub async fn rejection(tls: &mut TlsStream<TcpStream>) -> envelope::Rejection {
    match answer(tls).await {
        Some(Body::Rejection(rejection)) => rejection,
        other => panic!("{other:?}"),
    }
}
