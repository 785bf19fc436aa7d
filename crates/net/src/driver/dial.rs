//! The way out: one connection to each peer, which carries this process's messages there.
//!
//! A connection is one-way. All that is read on it is the answer to the greeting, and its end,
//! which is a hint about the peer.

use super::greeting::{GREETING_MAX, fingerprint};
use super::outbox::{Next, Queued};
use super::protocol::{Hint, Msg, Protocol};
use super::shared::{Arrival, Peer, Shared};
use super::stats::{Dropped, lock};
use crate::frame::{self, Broken, Frames};
use crate::identity::server_name;
use crate::seldom::Seldom;
use crate::socket;
use crate::stages::{Stage, mark};
use bellwether_api::envelope::{self, Body, Envelope, Hello, Letter, Setting};
use bellwether_core::NodeId;
use bytes::BytesMut;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::io::{AsyncWriteExt, ReadHalf, WriteHalf, split};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// The most messages that are written at once.
const BATCH: usize = 256;

/// One peer's task.
pub(crate) struct Dialler<P: Protocol> {
    pub(crate) shared: Arc<Shared<P>>,
    pub(crate) id: NodeId,
    pub(crate) peer: Arc<Peer<Msg<P>>>,
    pub(crate) inbox: mpsc::Sender<Arrival<P>>,
    pub(crate) stopping: watch::Receiver<bool>,
    /// What the process was told last, so that it is told once per change.
    pub(crate) told: Option<Hint>,
}

/// A greeted connection.
struct Line {
    frames: Frames<ReadHalf<TlsStream<TcpStream>>>,
    out: Sending,
    version: u32,
}

type Sending = WriteHalf<TlsStream<TcpStream>>;

/// Why an attempt failed.
struct Failure {
    /// A name for it, by which it is logged once.
    kind: &'static str,
    text: String,
    /// Whether it is worth an operator's attention, unlike a peer that is just not there.
    loud: bool,
    refused: bool,
    /// Whether the network lost what was sent: the attempt has taken its time already.
    lost: bool,
}

impl Failure {
    fn new(kind: &'static str, text: impl ToString, loud: bool) -> Self {
        Failure { kind, text: text.to_string(), loud, refused: false, lost: false }
    }

    fn slow() -> Self {
        Failure { lost: true, ..Failure::new("slow", "no answer in time", false) }
    }
}

/// How a connection ended.
enum End {
    /// All is sent, and the process stops.
    Stopped,
    /// The peer closed it, or it broke.
    Lost(String),
    /// The peer has not acknowledged what was sent.
    TimedOut(String),
    /// The peer did not keep up.
    Overflow,
}

impl End {
    fn of(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::TimedOut => End::TimedOut(error.to_string()),
            _ => End::Lost(error.to_string()),
        }
    }
}

fn setting((name, value): &(&'static str, String)) -> Setting {
    Setting { name: (*name).to_owned(), value: value.clone() }
}

impl<P: Protocol> Dialler<P> {
    /// Keeps the connection up until the process stops.
    pub(crate) async fn run(mut self) {
        let (shortest, longest) = self.shared.limits.back_off;
        let mut bound = shortest;
        let mut connected_before = false;
        while !*self.stopping.borrow() {
            let mut stopping = self.stopping.clone();
            let attempt = tokio::select! {
                attempt = self.connect() => attempt,
                _ = stopping.changed() => continue,
            };
            let is_lost = match attempt {
                Ok(line) => {
                    let since = Instant::now();
                    self.opened(connected_before);
                    connected_before = true;
                    let end = self.serve(line).await;
                    let is_lost = matches!(end, End::TimedOut(_));
                    if self.closed(end).await {
                        break;
                    }
                    // A connection that does not last is no reason to hurry.
                    if since.elapsed() >= longest {
                        bound = shortest;
                    }
                    is_lost
                }
                Err(failure) => {
                    let is_lost = failure.lost;
                    self.failed(failure).await;
                    is_lost
                }
            };
            // Where packets are lost, waiting has spared the peer already, and nothing tells when the
            // network is good again but another attempt.
            self.pause(if is_lost { shortest } else { bound }).await;
            bound = (bound * 2).min(longest);
        }
        self.peer.outbox.clear(Dropped::Stopped);
    }

    /// Waits before the next attempt: anything up to the bound, so that many who lost the same peer
    /// do not come back at once. A sign of life from the peer ends the wait.
    async fn pause(&mut self, bound: Duration) {
        let peer = self.peer.clone();
        peer.outbox.drop_stale(self.shared.clock.now());
        let pause = bound.mul_f64(rand::random());
        tokio::select! {
            () = sleep(pause) => {}
            () = peer.wake.notified() => {}
            _ = self.stopping.changed() => {}
        }
    }

    async fn connect(&self) -> Result<Line, Failure> {
        let limits = &self.shared.limits;
        let address = self.peer.address();
        let slow = |_| Failure::slow();
        let tcp = timeout(limits.greeting_within, TcpStream::connect(address.as_str()))
            .await
            .map_err(slow)?
            .map_err(|error| Failure {
                refused: error.kind() == io::ErrorKind::ConnectionRefused,
                lost: error.kind() == io::ErrorKind::TimedOut,
                ..Failure::new("unreachable", format!("{address}: {error}"), false)
            })?;
        socket::prepare_for_member(&tcp, limits.unacknowledged);
        let address = tcp.peer_addr();
        let line = timeout(limits.greeting_within, self.greet(tcp)).await.map_err(slow)??;
        if let (Some(reached), Ok(address)) = (&self.shared.reached, address) {
            let _ = reached.send((self.id, address));
        }
        Ok(line)
    }

    async fn greet(&self, tcp: TcpStream) -> Result<Line, Failure> {
        let Shared { identity, limits, .. } = &*self.shared;
        let name = server_name(identity.cluster(), self.id)
            .ok_or_else(|| Failure::new("name", "not a valid certificate name", true))?;
        let tls = TlsConnector::from(identity.client())
            .connect(name, tcp)
            .await
            .map_err(|error| Failure::new("tls", format!("TLS: {error}"), is_tls(&error)))?;
        let (read, mut out) = split(tls);
        let mut bytes = BytesMut::new();
        let hello = Envelope::new(envelope::VERSION, Body::Hello(self.hello()));
        let _ = frame::put(&hello, usize::MAX, &mut bytes);
        frame::write(&mut out, &bytes, limits.stalled_after)
            .await
            .map_err(|error| Failure::new("greeting", error, false))?;
        let most = limits.max_frame.min(GREETING_MAX);
        let mut frames = Frames::new(read, most, limits.stalled_after);
        let answer = match frames.next().await {
            Ok(Some((answer, _))) => answer.body,
            Ok(None) => return Err(Failure::new("greeting", "closed without an answer", false)),
            // Under TLS 1.3 this is where a caller learns that its certificate was refused.
            Err(Broken::Io(error)) => {
                return Err(Failure::new("tls", format!("TLS: {error}"), is_tls(&error)));
            }
            Err(_) => return Err(Failure::new("greeting", "the answer is not understood", true)),
        };
        match answer {
            Some(Body::Welcome(welcome)) => {
                frames.allow(limits.max_frame);
                Ok(Line { frames, out, version: welcome.version })
            }
            Some(Body::Rejection(rejection)) => {
                let kind = rejection.reason().as_str_name();
                Err(Failure::new(kind, format!("refused: {}", rejection.text), true))
            }
            _ => Err(Failure::new("greeting", "the answer is not understood", true)),
        }
    }

    fn hello(&self) -> Hello {
        let roster = self.shared.roster();
        let settings = self.shared.settings_by(&roster);
        Hello {
            version: envelope::VERSION,
            oldest: envelope::OLDEST,
            cluster: self.shared.identity.cluster().to_owned(),
            protocol: self.shared.protocol.name().to_owned(),
            from: self.shared.me().number(),
            to: self.id.number(),
            life: self.shared.life,
            instance: self.shared.instance,
            group: if roster.is_configured { fingerprint(&roster.group) } else { 0 },
            settings: settings.map(setting).collect(),
            cluster_id: self.shared.cluster_id(),
            address: roster.address.clone(),
            http: self.shared.http.clone().unwrap_or_default(),
            folder: self.shared.folder.load(Ordering::Relaxed),
            death_digest: self.shared.death_digest.map(Vec::from).unwrap_or_default().into(),
        }
    }

    fn opened(&mut self, again: bool) {
        self.told = None;
        let now = self.shared.clock.now();
        self.shared.stats.count(|counters| {
            counters.connects += 1;
            counters.reconnects += u64::from(again);
        });
        self.peer.outbox.connected(now);
        let mut link = lock(&self.peer.link);
        link.outgoing = Some(now);
        link.last_error = None;
        tracing::info!(peer = self.id.number(), "connected");
    }

    /// Notes how a connection ended; whether that was the process's own stop.
    async fn closed(&mut self, end: End) -> bool {
        let lost = matches!(end, End::Lost(_) | End::TimedOut(_));
        let text = match end {
            End::Stopped => return true,
            End::Lost(text) | End::TimedOut(text) => text,
            End::Overflow => {
                if self.shared.stats.first_time(&self.id.to_string(), "overflow") {
                    tracing::warn!(
                        peer = self.id.number(),
                        "the peer does not keep up: its queue is full, so the connection is closed"
                    );
                }
                "the peer did not keep up".to_owned()
            }
        };
        self.peer.outbox.disconnected();
        {
            let mut link = lock(&self.peer.link);
            link.outgoing = None;
            link.last_error = Some(text.clone());
        }
        tracing::info!(peer = self.id.number(), "disconnected: {text}");
        // What this side closes by itself tells nothing about the peer.
        if lost {
            self.tell(Hint::Closed).await;
        }
        false
    }

    async fn failed(&mut self, failure: Failure) {
        let Failure { kind, text, loud, refused, .. } = failure;
        use envelope::Reason::{Removed, Settings, UnknownId};
        let in_full = [Settings, UnknownId].map(|reason| reason.as_str_name());
        let subject = if in_full.contains(&kind) { text.clone() } else { self.id.to_string() };
        if loud && self.shared.stats.first_time(&subject, kind) {
            tracing::warn!(peer = self.id.number(), "cannot connect: {text}");
        } else {
            tracing::debug!(peer = self.id.number(), "cannot connect: {text}");
        }
        lock(&self.peer.link).last_error = Some(text);
        if refused {
            self.tell(Hint::Refused).await;
        } else if kind == Removed.as_str_name() {
            self.tell(Hint::Removed).await;
        }
    }

    /// Passes a hint on to the process, once per change.
    async fn tell(&mut self, hint: Hint) {
        if self.told == Some(hint) {
            return;
        }
        self.told = Some(hint);
        if let Some(input) = self.shared.protocol.hint(self.id, hint) {
            // It fails only when the process has ended.
            let _ = self.inbox.send(Arrival::Hint(input)).await;
        }
    }

    /// Sends what is queued until the connection or the process ends.
    async fn serve(&self, line: Line) -> End {
        let (shared, peer) = (self.shared.clone(), self.peer.clone());
        let Line { mut frames, mut out, version } = line;
        let mut ended = Seldom::new(ended(&mut frames));
        let mut stopping = self.stopping.clone();
        let mut stops = Seldom::new(async {
            if stopping.wait_for(|stopping| *stopping).await.is_err() {
                std::future::pending().await
            }
        });
        let (mut batch, mut bytes) = (Vec::new(), BytesMut::new());
        loop {
            let stopping = *self.stopping.borrow();
            let now = (!stopping).then(|| shared.clock.now());
            let pause = match peer.outbox.take(BATCH, now, &mut batch) {
                Some(Next::Close) => return End::Overflow,
                Some(Next::Send) => {
                    let way = (&mut out, version, &mut ended);
                    if let Err(end) = self.send(way, &mut batch, &mut bytes).await {
                        return end;
                    }
                    continue;
                }
                Some(Next::Wait(pause)) => Some(pause),
                None if stopping => {
                    let _ = out.shutdown().await;
                    return End::Stopped;
                }
                None => None,
            };
            tokio::select! {
                biased;
                () = peer.outbox.changed() => {}
                () = for_so_long(pause) => {}
                end = &mut ended => return end,
                () = &mut stops, if !stopping => {}
            }
        }
    }

    async fn send(
        &self,
        (out, version, ended): (&mut Sending, u32, &mut Seldom<impl Future<Output = End>>),
        batch: &mut Vec<Queued<Msg<P>>>,
        bytes: &mut BytesMut,
    ) -> Result<(), End> {
        if self.shared.cut_off(self.id, batch.len()) {
            batch.clear();
            return Ok(());
        }
        bytes.clear();
        let frames = batch.drain(..).filter(|item| self.put(item, version, bytes)).count();
        let stalled_after = self.shared.limits.stalled_after;
        mark(Stage::SendsMessage);
        let lost = tokio::select! {
            biased;
            written = frame::write(out, bytes, stalled_after) => match written {
                Ok(()) => {
                    self.shared.stats.count(|counters| {
                        counters.frames_out += frames as u64;
                        counters.bytes_out += bytes.len() as u64;
                    });
                    return Ok(());
                }
                Err(error) => End::of(&error),
            },
            end = ended => end,
        };
        self.shared.stats.dropped(Dropped::Broken, frames);
        Err(lost)
    }

    /// Appends one message; `false` if it is too large to be sent to any member.
    fn put(&self, item: &Queued<Msg<P>>, version: u32, bytes: &mut BytesMut) -> bool {
        let payload = self.shared.protocol.encode(&item.msg);
        let letter = Letter { seq: item.seq, life: self.shared.life, payload: Some(payload) };
        let envelope = Envelope::new(version, Body::Letter(letter));
        let fits = frame::put(&envelope, self.shared.limits.max_frame, bytes);
        if !fits {
            self.shared.stats.dropped(Dropped::TooLarge, 1);
            tracing::error!(
                peer = self.id.number(),
                largest = self.shared.limits.max_frame,
                "a message is larger than the frame limit and was not sent"
            );
        }
        fits
    }
}

/// Waits for this time, or for ever.
async fn for_so_long(pause: Option<Duration>) {
    match pause {
        Some(pause) => sleep(pause).await,
        None => std::future::pending().await,
    }
}

/// Waits for the end of a connection on which nothing should come.
async fn ended(frames: &mut Frames<ReadHalf<TlsStream<TcpStream>>>) -> End {
    let text = match frames.next().await {
        Ok(None) => "closed by the peer",
        Ok(Some(_)) => "the peer sent data on a one-way connection",
        Err(Broken::Io(error)) => return End::of(&error),
        Err(_) => "the peer sent malformed data on a one-way connection",
    };
    End::Lost(text.to_owned())
}

/// Whether it is about certificates, not about a connection that just broke.
fn is_tls(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_network_lost_is_told_apart_from_what_the_peer_closed() {
        let of = |kind| End::of(&io::Error::from(kind));
        assert!(matches!(of(io::ErrorKind::TimedOut), End::TimedOut(_)));
        assert!(matches!(of(io::ErrorKind::ConnectionReset), End::Lost(_)));
        assert!(Failure::slow().lost && !Failure::new("tls", "no", true).lost);
    }
}
