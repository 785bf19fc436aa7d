//! The way in: connections that carry other members' messages here, and those of clients, which are
//! handed over to the task that serves them.
//!
//! A caller is a stranger until it has shown a certificate and said who it is, and has only
//! a short time for that. Everything that goes wrong is counted by its reason and logged once per
//! peer and reason; the process goes on.

use super::greeting::{Caller, Expected, GREETING_MAX, Refused, judge, judge_client};
use super::identity::{client_of, speaks_for};
use super::proof::{self, Shown};
use super::protocol::{Msg, Protocol};
use super::shared::{Admission, Arrival, Peer, Shared};
use super::stats::{Reason, lock};
use crate::frame::{self, Broken, Frames};
use crate::socket;
use crate::stages::{Stage, mark};
use bellwether_api::envelope::{self, Body, ClientHello, Envelope, Hello, Letter, Welcome};
use bellwether_core::{NodeId, Process};
use bytes::BytesMut;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf, split};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// The connections in the middle of their greeting, oldest first. Dropping an entry closes it.
type Ungreeted = Arc<Mutex<BTreeMap<u64, oneshot::Sender<()>>>>;

/// How long a restarted process is given until its former connection is seen to be closed.
const SETTLE: Duration = Duration::from_millis(50);
const SETTLE_TRIES: usize = 4;

/// Accepts connections until it is aborted.
pub(crate) async fn accept<P: Protocol>(
    listener: TcpListener,
    shared: Arc<Shared<P>>,
    inbox: mpsc::Sender<Arrival<P>>,
) {
    let ungreeted = Ungreeted::default();
    let mut connections = JoinSet::new();
    for serial in 0.. {
        let (tcp, address) = loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok(accepted) => break accepted,
                    Err(error) => {
                        // Most likely too many open files: it passes, and until then hurrying is no
                        // use.
                        if shared.stats.first_time("listener", "accept") {
                            tracing::error!("cannot accept connections for now: {error}");
                        }
                        sleep(Duration::from_millis(100)).await;
                    }
                },
                Some(_) = connections.join_next() => {}
            }
        };
        let (keep, evicted) = oneshot::channel();
        {
            let mut ungreeted = lock(&ungreeted);
            while ungreeted.len() >= shared.limits.ungreeted.max(1) {
                ungreeted.pop_first();
            }
            ungreeted.insert(serial, keep);
        }
        let (shared, inbox, ungreeted) = (shared.clone(), inbox.clone(), ungreeted.clone());
        connections.spawn(async move {
            let greeted = tokio::select! {
                _ = evicted => Err(Refused::new(
                    Reason::Overflow,
                    "too many connections that have not identified themselves",
                )),
                greeted = timeout(shared.limits.greeting_within, greet(&shared, tcp, address)) => {
                    let slow = |_| Refused::new(Reason::Slow, "no greeting in time");
                    greeted.map_err(slow).and_then(|greeted| greeted)
                }
            };
            lock(&ungreeted).remove(&serial);
            match greeted {
                Ok(Guest::Member(visitor)) => visitor.read(&shared, &inbox).await,
                Ok(Guest::Client(client)) => hand_over(&shared, *client),
                Ok(Guest::Proof(shown)) => {
                    let input =
                        shown.and_then(|shown| shared.protocol.ended(shown.member, shown.instance));
                    if let Some(input) = input {
                        let _ = inbox.send(Arrival::Hint(input)).await;
                    }
                }
                Err(refused) => shared.note_refused(&address.ip().to_string(), &refused),
            }
        });
    }
}

/// One that was let in.
enum Guest<P: Protocol> {
    Member(Visitor<Msg<P>>),
    Client(Box<ClientConnection>),
    Proof(Option<Shown>),
}

/// A client that has shown its certificate and said who it is. It waits for its welcome, which is up
/// to the task that serves it.
#[derive(Debug)]
pub struct ClientConnection {
    /// What it said. Its cluster is the right one.
    pub hello: ClientHello,
    /// The version to speak with it.
    pub version: u32,
    /// The name in its certificate.
    pub name: String,
    /// Where it comes from.
    pub address: SocketAddr,
    /// What it says next.
    pub frames: Frames<ReadHalf<TlsStream<TcpStream>>>,
    /// The way to answer.
    pub out: WriteHalf<TlsStream<TcpStream>>,
}

/// A member that was let in.
struct Visitor<M> {
    caller: Caller,
    peer: Arc<Peer<M>>,
    admission: Admission,
    frames: Frames<ReadHalf<TlsStream<TcpStream>>>,
}

async fn greet<P: Protocol>(
    shared: &Arc<Shared<P>>,
    tcp: TcpStream,
    address: SocketAddr,
) -> Result<Guest<P>, Refused> {
    socket::prepare(&tcp, shared.limits.stalled_after);
    let mut first = [0];
    if tcp.peek(&mut first).await.is_ok_and(|length| length == 1 && proof::begins_with(first[0])) {
        return verify(shared, tcp).await.map(Guest::Proof);
    }
    let tls = TlsAcceptor::from(shared.identity.server()).accept(tcp).await.map_err(no_tls)?;
    let certificate = tls.get_ref().1.peer_certificates().and_then(<[_]>::first).cloned();
    let (read, mut out) = split(tls);
    let limits = &shared.limits;
    let mut frames = Frames::new(read, limits.max_frame.min(GREETING_MAX), limits.stalled_after);
    let first = match frames.next().await {
        Ok(first) => first,
        Err(broken) => {
            let refused = Refused::from(broken);
            refuse(&mut out, &refused, limits.stalled_after).await;
            return Err(refused);
        }
    };
    frames.allow(limits.max_frame);
    if let Some((Envelope { body: Some(Body::ClientHello(hello)), .. }, _)) = first {
        return match examine_client(shared, &hello, certificate.as_ref()) {
            Ok((name, version)) => {
                let client = ClientConnection { hello, version, name, address, frames, out };
                Ok(Guest::Client(Box::new(client)))
            }
            Err(refused) => {
                refuse(&mut out, &refused, shared.limits.stalled_after).await;
                Err(refused)
            }
        };
    }
    let hello = match first {
        Some((Envelope { body: Some(Body::Hello(hello)), .. }, _)) => Ok(hello),
        Some(_) => Err(Refused::new(Reason::Malformed, "the first frame is not a greeting")),
        None => return Err(Refused::new(Reason::Malformed, "closed before it identified itself")),
    };
    let answer = match hello.and_then(|hello| examine(shared, &hello, certificate.as_ref())) {
        Ok((caller, peer)) => enter(shared, caller, &peer).await.map(|way| (caller, peer, way)),
        Err(refused) => Err(refused),
    };
    let (caller, peer, admission) = match answer {
        Ok(admitted) => admitted,
        Err(refused) => {
            refuse(&mut out, &refused, shared.limits.stalled_after).await;
            return Err(refused);
        }
    };
    let welcome = Welcome { version: caller.version, instance: shared.instance };
    let mut bytes = BytesMut::new();
    let welcome = Envelope::new(envelope::VERSION, Body::Welcome(welcome));
    let _ = frame::put(&welcome, usize::MAX, &mut bytes);
    if let Err(error) = frame::write(&mut out, &bytes, shared.limits.stalled_after).await {
        tracing::debug!(%address, "lost while it was accepted: {error}");
    }
    frames.be_patient();
    Ok(Guest::Member(Visitor { caller, peer, admission, frames }))
}

/// A parent shows that its child has ended. `None` if the child is a member no more: then it is no news.
async fn verify<P: Protocol>(
    shared: &Shared<P>,
    mut tcp: TcpStream,
) -> Result<Option<Shown>, Refused> {
    let refused = |text: &str| Refused::new(Reason::Malformed, text);
    let mut bytes = [0; proof::LENGTH];
    let read = tcp.read_exact(&mut bytes).await;
    read.map_err(|_| refused("a proof of death that ends early"))?;
    let shown = proof::read(&bytes).ok_or_else(|| refused("not a proof of death"))?;
    let roster = shared.roster();
    let Some(peer) = roster.peers.get(&shown.member) else { return Ok(None) };
    if !lock(&peer.link).digests.are_met_by(&shown) {
        return Err(refused(
            "a proof of death that does not fit what the member has said of itself",
        ));
    }
    if shared.cut_off(shown.member, 1) {
        return Err(refused("a proof of death from a member that is cut off"));
    }
    tracing::info!(
        peer = shown.member.number(),
        "its process has ended: its parent has shown proof"
    );
    Ok(Some(shown))
}

/// Tells a caller why it stays out, and closes. Whether that arrives is its own concern.
pub async fn refuse(
    out: &mut (impl AsyncWrite + Unpin),
    refused: &Refused,
    stalled_after: Duration,
) {
    let rejection = Envelope::new(envelope::VERSION, Body::Rejection(refused.to_message()));
    let mut bytes = BytesMut::new();
    let _ = frame::put(&rejection, usize::MAX, &mut bytes);
    let _ = frame::write(out, &bytes, stalled_after).await;
    let _ = out.shutdown().await;
}

/// Gives a client to the task that serves clients.
fn hand_over<P: Protocol>(shared: &Shared<P>, client: ClientConnection) {
    let Some(clients) = &shared.clients else { return };
    let peer = client.address.ip().to_string();
    if clients.try_send(client).is_err() {
        let text = "too many clients connect at once";
        shared.note_refused(&peer, &Refused::new(Reason::Overflow, text));
    }
}

/// Judges a client's greeting and its certificate together: its name and the version to speak.
fn examine_client<P: Protocol>(
    shared: &Shared<P>,
    hello: &ClientHello,
    certificate: Option<&rustls::pki_types::CertificateDer<'_>>,
) -> Result<(String, u32), Refused> {
    if shared.clients.is_none() {
        return Err(Refused::new(Reason::Protocol, "this process serves no clients"));
    }
    let cluster = shared.identity.cluster();
    let version = judge_client(hello, cluster, false)?;
    let name = certificate.and_then(|certificate| client_of(certificate, cluster));
    let text =
        "the certificate is not a client certificate; `bellwether certs --client NAME` makes one";
    name.map(|name| (name, version)).ok_or_else(|| Refused::new(Reason::Identity, text))
}

/// Tells a missing certificate from everything else that can go wrong with TLS.
fn no_tls(error: io::Error) -> Refused {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let reason = match inner {
        Some(rustls::Error::NoCertificatesPresented) => Reason::NoCertificate,
        _ => Reason::Tls,
    };
    Refused::new(reason, format!("TLS: {error}"))
}

/// A caller that may come in, and the peer that it is.
type Known<P> = (Caller, Arc<Peer<Msg<P>>>);

/// Judges the greeting and the certificate together.
fn examine<P: Protocol>(
    shared: &Arc<Shared<P>>,
    hello: &Hello,
    certificate: Option<&rustls::pki_types::CertificateDer<'_>>,
) -> Result<Known<P>, Refused> {
    let (cluster, roster) = (shared.identity.cluster(), shared.roster());
    let settings: Vec<_> = shared.settings_by(&roster).cloned().collect();
    let proves = |id| certificate.is_some_and(|shown| speaks_for(shown, cluster, id));
    let expected = Expected {
        cluster,
        protocol: shared.protocol.name(),
        me: shared.me(),
        group: &roster.group,
        is_configured: roster.is_configured,
        joins: roster.joins,
        removed: &roster.removed,
        settings: &settings,
        cluster_id: shared.cluster_id(),
    };
    let caller = judge(hello, &expected).inspect_err(|refused| {
        let id = NodeId::new(hello.from);
        if matches!(refused.reason, Reason::Removed | Reason::UnknownId) && proves(id) {
            shared.note_stranger(id, &refused.text);
        }
    })?;
    if !proves(caller.id) {
        let text = format!("the certificate does not belong to member {}", caller.id.number());
        return Err(Refused::new(Reason::Identity, text));
    }
    if caller.other_group && shared.stats.first_time(&caller.id.to_string(), "group") {
        tracing::warn!(
            peer = caller.id.number(),
            "the peer is configured with other members than this process; compare their configurations"
        );
    }
    let peer = match roster.peers.get(&caller.id) {
        Some(peer) => peer.clone(),
        None => shared.welcome_guest(caller.id, &hello.address),
    };
    peer.serves_http_at(&hello.http);
    Ok((caller, peer))
}

/// Makes the caller's connection the peer's only one.
async fn enter<P: Protocol>(
    shared: &Shared<P>,
    caller: Caller,
    peer: &Peer<Msg<P>>,
) -> Result<Admission, Refused> {
    for attempt in 0..SETTLE_TRIES {
        if attempt > 0 {
            sleep(SETTLE).await;
        }
        let (now, recent) = (shared.clock.now(), shared.limits.duplicate_within);
        if let Some(admission) = peer.admit(caller.instance, now, recent) {
            if let Some(digest) = caller.death_digest {
                lock(&peer.link).digests.learn(caller.instance, digest);
            }
            peer.wake.notify_one();
            return Ok(admission);
        }
    }
    let text = format!("another process is connected as member {}", caller.id.number());
    Err(Refused::new(Reason::Duplicate, text))
}

impl<M> Visitor<M> {
    /// Reads messages until the connection ends, for whatever reason.
    async fn read<P>(self, shared: &Shared<P>, inbox: &mpsc::Sender<Arrival<P>>)
    where
        P: Protocol,
        P::Process: Process<Msg = M>,
    {
        let Visitor { caller, peer, admission, mut frames } = self;
        let ended = tokio::select! {
            () = admission.replaced.notified() => Ok(()),
            ended = async {
                // Not before the connection that this one replaces has stopped reading.
                let _reading = peer.reading.lock().await;
                letters(shared, inbox, &peer, &caller, &admission, &mut frames).await
            } => ended,
        };
        peer.gone(&admission);
        match ended {
            Ok(()) => tracing::debug!(peer = caller.id.number(), "its connection has ended"),
            Err(Broken::Io(error)) => {
                tracing::debug!(peer = caller.id.number(), "its connection broke: {error}");
            }
            Err(broken) => shared.note_refused(&caller.id.to_string(), &broken.into()),
        }
    }
}

async fn letters<P: Protocol>(
    shared: &Shared<P>,
    inbox: &mpsc::Sender<Arrival<P>>,
    peer: &Peer<Msg<P>>,
    caller: &Caller,
    admission: &Admission,
    frames: &mut Frames<ReadHalf<TlsStream<TcpStream>>>,
) -> Result<(), Broken> {
    while let Some((envelope, length)) = frames.next().await? {
        mark(Stage::MessageRead);
        peer.heard(admission, shared.clock.now());
        shared.stats.count(|counters| {
            counters.frames_in += 1;
            counters.bytes_in += length as u64;
        });
        let Some(Body::Letter(Letter { seq, life, payload: Some(payload) })) = envelope.body else {
            let what = "not a message of this protocol";
            return Err(Broken::Malformed(crate::Malformed::new(what)));
        };
        if shared.cut_off(caller.id, 1) {
            continue;
        }
        let msg = match shared.protocol.decode(payload) {
            Ok(msg) => msg,
            Err(what) if what.foreign => {
                shared.note_foreign(caller.id, &what);
                continue;
            }
            Err(what) => return Err(Broken::Malformed(what)),
        };
        let letter = Arrival::Letter { from: caller.id, life, seq, msg };
        // When the process does not keep up this waits, and so in the end does the sender.
        if inbox.send(letter).await.is_err() {
            return Ok(());
        }
    }
    Ok(())
}
