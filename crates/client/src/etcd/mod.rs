//! The engine that keeps sessions, locks and roles in an etcd cluster.
//!
//! It is what a member and its coordinator are together for the client above it: it takes requests and answers them, by
//! etcd's calls. A session is a lease; a lock and a role are [queues](queue) of keys.
//!
//! # Rules
//! * G1 The id of a session's lease is drawn with its key, so that asking for it twice gives one lease.
//! * G2 A keep-alive proves the session from the moment at which it was sent. For a session that holds something it
//!   counts only when a linearizable transaction has then found all of its keys: a leader that is deposed and does not
//!   know it can renew a lease, but cannot answer that.
//! * G3 A request that is sent again while it is under way, or was granted, is answered by what it has.
//! * G4 Whatever a server answers but did not do, because it has no leader or is too slow, is a broken connection: another
//!   server is asked, and everything that has no answer is asked for again.
//! * G5 A place that was asked for on a connection that broke may be taken late, when it is not wanted any more. It is
//!   looked for and deleted, at every keep-alive for a while, and before the session asks for the same again: else the
//!   new request would have the older one's turn, and a token that is smaller than others that are known.

pub(crate) mod address;
mod api;
mod grpc;
mod keys;
mod lists;
mod observe;
mod queue;
mod requests;
mod servers;
mod sessions;
mod transport;

use crate::endpoints::Endpoints;
use crate::engine::{Engine, Greeting, Rules};
use crate::state::ClientState;
use crate::tasks::{Shared, Status, silence};
use crate::{Error, ErrorKind};
use address::Cluster;
use api::Watches;
use bellwether_api::client::{Listed, Observed, RoleStatus, ToClient, ToMember};
use bellwether_api::etcd::LeaseKeepAliveRequest;
use bellwether_coordination::{
    Ask, LONGEST_TTL_MS, Mode, Number, Policy, Reply, Secret, SessionId, Subject, Token,
};
use bellwether_core::Time;
use bellwether_net::Clock;
use grpc::{Channel, Code, Fault, Questions};
use keys::Layout;
use queue::{Place, Turn};
use servers::{Server, Servers};
use sessions::Kept;
use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};
use tracing::{debug, warn};

/// etcd's own least TTL with its usual election time-out.
const SHORTEST_TTL: Duration = Duration::from_secs(2);
/// Clocks may be wrong by these millionths.
const DRIFT_PPM: u32 = 1_000;
/// The client leaves a server that does not answer for this long.
const SILENT_AT_MOST: Duration = Duration::from_secs(3);
/// G5: how long a place may still be taken.
const LATE_AT_MOST: Duration = Duration::from_secs(20);

/// The engine.
pub(crate) struct Etcd {
    servers: Servers,
    layout: Layout,
    first: Option<Server>,
    /// The sessions that this client has opened, with their names.
    sessions: BTreeMap<SessionId, String>,
    claims: BTreeMap<(SessionId, Number), Claim>,
    /// What is under way, so that it is not begun twice (G3).
    opening: BTreeSet<Secret>,
    closing: BTreeSet<SessionId>,
    asking: BTreeSet<(SessionId, Number)>,
    /// The latest status of each role that is observed.
    roles: BTreeMap<u64, RoleStatus>,
    observers: BTreeMap<u64, AbortHandle>,
    /// G5: places that may be taken late.
    late: BTreeMap<(SessionId, String), Late>,
    sweeping: BTreeSet<String>,
}

/// A place that may be taken late.
struct Late {
    /// The requests that may have taken it.
    by: BTreeSet<Number>,
    until: Time,
}

/// A place in a queue that is wanted, or held.
struct Claim {
    subject: Subject,
    place: Place,
    phase: Phase,
    /// Turns true when it is given up.
    given_up: watch::Sender<bool>,
    /// The requests that give it up, to be answered when it is.
    leavers: BTreeSet<Number>,
    /// Whether it may have been deleted by a request whose answer was lost.
    uncertain: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// How many are before it, if that is known.
    Waits(Option<u64>),
    Held(Token),
}

/// What a task of the engine reports.
enum Event {
    /// An answer that needs nothing else.
    Say(ToClient),
    /// The server answers.
    There,
    Opened(Secret, ToClient),
    Closed(SessionId),
    Kept(Kept),
    /// What a lease's keys are like: these are gone; and whether the lease is.
    Verified {
        session: SessionId,
        sent: u64,
        gone: Vec<Number>,
        expired: bool,
    },
    Waits(SessionId, Number, u64),
    Turn(SessionId, Number, Result<Turn, Fault>),
    /// A place was deleted, or there was none; by that request.
    Left {
        session: SessionId,
        number: Number,
        by: Number,
        result: Result<i64, Fault>,
    },
    /// Something was done, or refused.
    Answered(SessionId, Number, Result<Reply, Fault>),
    Observed(Observed),
    Swept(String),
    /// The lease is gone.
    Expired(SessionId),
    Fault(Fault),
}

/// One connection, and what is done over it.
struct Work {
    server: String,
    channel: Channel,
    watches: Arc<Watches>,
    keep_alives: Questions<LeaseKeepAliveRequest>,
    sent: sessions::Sent,
    events: mpsc::UnboundedSender<Event>,
    tasks: JoinSet<()>,
}

impl Work {
    /// Does something, and reports what came of it.
    fn spawn(&mut self, task: impl Future<Output = Event> + Send + 'static) {
        let events = self.events.clone();
        self.tasks.spawn(async move {
            let event = task.await;
            let _ = events.send(event);
        });
    }
}

impl Engine for Etcd {
    const RULES: Rules =
        Rules { ttl: refuse_ttl, ask: refuse_ask, force: refuse_force, list: refuse_list };

    async fn connect(endpoints: &Endpoints, _name: String) -> Result<(Self, Greeting), Error> {
        let cluster = endpoints.etcd.clone().unwrap_or_default();
        let Cluster { prefix, .. } = &cluster;
        let layout = Layout::new(prefix);
        let mut servers = Servers::new(cluster);
        let first = servers.first(endpoints.timeout).await?;
        let (status, tried) = (status(&first), servers.tried.clone());
        let engine = Etcd {
            servers,
            layout,
            first: Some(first),
            sessions: BTreeMap::new(),
            claims: BTreeMap::new(),
            opening: BTreeSet::new(),
            closing: BTreeSet::new(),
            asking: BTreeSet::new(),
            roles: BTreeMap::new(),
            observers: BTreeMap::new(),
            late: BTreeMap::new(),
            sweeping: BTreeSet::new(),
        };
        let places = Default::default();
        Ok((engine, Greeting { status, drift_ppm: DRIFT_PPM, tried, places }))
    }

    async fn carry(mut self, shared: &Shared) {
        let mut first = self.first.take();
        let mut left = None;
        loop {
            let server = match first.take() {
                Some(server) => server,
                None => {
                    let missed = |number| {
                        shared.status.send_modify(|status| status.member = Some(number));
                    };
                    self.servers.again(left, missed).await
                }
            };
            debug!(server = %server.host, "connected to etcd");
            shared.status.send_modify(|now| *now = status(&server));
            let why = self.serve(shared, &server).await;
            warn!(server = %server.host, why, "lost the connection to etcd; looks for another server");
            self.servers.tried.note_at(&server.host, &why);
            shared.state().disconnect();
            shared.status.send_modify(|status| (status.member, status.follows) = (None, false));
            self.forget_connection();
            left = Some(server.number);
        }
    }
}

fn status(server: &Server) -> Status {
    Status { member: Some(server.number), follows: true, lists: true, ..Status::default() }
}

impl Etcd {
    /// Talks to a server until it is of no use any more, and says why.
    async fn serve(&mut self, shared: &Shared, server: &Server) -> String {
        let channel = server.channel.clone();
        let (watches, watching) = match Watches::open(&channel).await {
            Ok(opened) => opened,
            Err(fault) => return fault.to_string(),
        };
        let (keep_alives, kept) = match channel.keep_alives().await {
            Ok(opened) => opened,
            Err(fault) => return fault.to_string(),
        };
        let (events, mut incoming) = mpsc::unbounded_channel();
        let sent = sessions::Sent::default();
        let keeping = sessions::kept(kept, sent.clone(), events.clone());
        let (server, tasks) = (server.host.clone(), JoinSet::new());
        let mut work = Work { server, channel, watches, keep_alives, sent, events, tasks };
        let ended = {
            let channel = work.channel.clone();
            async move { channel.closed().await }
        };
        let mut watching = pin!(watching);
        let mut keeping = pin!(keeping);
        let mut ended = pin!(ended);
        let mut silent = pin!(silence(shared, Some(SILENT_AT_MOST)));
        let mut frames = Vec::new();
        shared.with(|state, now| state.connect(true, now));
        loop {
            tokio::select! {
                () = shared.outgoing(&mut frames) => {
                    for frame in frames.drain(..) {
                        if let Err(fault) = self.take(frame, &mut work) {
                            return fault.to_string();
                        }
                    }
                    shared.with(|state, _| state.written());
                }
                Some(event) = incoming.recv() => {
                    if let Err(fault) = self.event(event, shared, &mut work) {
                        return fault.to_string();
                    }
                }
                Some(_) = work.tasks.join_next() => {}
                fault = &mut watching => return fault.to_string(),
                fault = &mut keeping => return fault.to_string(),
                () = &mut ended => return "the connection broke".to_owned(),
                () = &mut silent => return "it was silent for too long".to_owned(),
            }
        }
    }

    /// What was under way is asked for again on the next connection.
    fn forget_connection(&mut self) {
        self.opening.clear();
        self.closing.clear();
        self.asking.clear();
        self.observers.clear();
        self.sweeping.clear();
        let until = Clock::shared() + LATE_AT_MOST;
        self.claims.retain(|(session, number), claim| {
            claim.uncertain = true;
            claim.leavers.clear();
            if let Phase::Waits(place) = claim.phase {
                let key = (*session, claim.place.key.clone());
                let late = self.late.entry(key).or_insert(Late { by: BTreeSet::new(), until });
                // A place that is known is this request's, and of no earlier one.
                if place.is_some() {
                    late.by.clear();
                }
                late.by.insert(*number);
                late.until = until;
            }
            matches!(claim.phase, Phase::Held(_))
        });
    }

    /// What the client says.
    fn take(&mut self, frame: ToMember, work: &mut Work) -> Result<(), Fault> {
        match frame {
            ToMember::Request(request) => self.request(request, work)?,
            ToMember::Watch { session, pid, .. } => {
                let refused = Some("etcd sees no processes; it frees what a lost one held when the session's TTL is over".to_owned());
                let _ = work.events.send(Event::Say(ToClient::Watching { session, pid, refused }));
            }
            ToMember::Observe { number, role } => self.observe(number, role, work),
            ToMember::Unobserve(number) => {
                self.roles.remove(&number);
                if let Some(observer) = self.observers.remove(&number) {
                    observer.abort();
                }
            }
            ToMember::List { number, list } => {
                let (channel, layout) = (work.channel.clone(), self.layout.clone());
                work.spawn(async move {
                    match lists::Everything::read(&channel, &layout).await {
                        Ok(all) => {
                            let (version, result) = (all.version(), Ok(all.page(&list)));
                            Event::Say(ToClient::Listed(Listed { number, version, result }))
                        }
                        Err(fault) => Event::Fault(fault),
                    }
                });
            }
            ToMember::Ping => {
                let (channel, probe) = (work.channel.clone(), servers::probe(&self.layout));
                work.spawn(async move {
                    match channel.range(&probe).await {
                        Ok(_) | Err(Fault::Status(Code::PermissionDenied, _)) => Event::There,
                        Err(fault) => Event::Fault(fault),
                    }
                });
            }
        }
        Ok(())
    }

    /// What a task reports. A fault ends the connection (G4).
    fn event(&mut self, event: Event, shared: &Shared, work: &mut Work) -> Result<(), Fault> {
        match event {
            Event::Say(frame) => shared.hear([frame]),
            Event::There => shared.with(ClientState::is_there),
            Event::Opened(key, frame) => {
                self.opening.remove(&key);
                shared.hear([frame]);
            }
            Event::Closed(session) => {
                self.closing.remove(&session);
                self.forget(session);
                let why = Some(bellwether_coordination::Ending::Closed);
                shared.hear([ToClient::Reply(Reply::Ended { session, why })]);
            }
            Event::Expired(session) => self.expired(session, shared),
            Event::Kept(kept) => self.kept(kept, shared, work),
            Event::Verified { session, expired: true, .. } => self.expired(session, shared),
            Event::Verified { session, sent, gone, .. } => {
                self.verified(session, sent, &gone, shared);
            }
            Event::Waits(session, number, behind) => self.waits(session, number, behind, shared),
            Event::Turn(session, number, turn) => {
                return self.turn(session, number, turn, shared, work);
            }
            Event::Left { session, number, by, result } => {
                return self.left(session, number, by, result, shared, &work.server);
            }
            Event::Answered(session, number, result) => {
                self.asking.remove(&(session, number));
                match result {
                    Ok(reply) => shared.hear([ToClient::Reply(reply)]),
                    Err(fault) => return self.refuse(session, number, fault, shared, &work.server),
                }
            }
            Event::Observed(observed) => {
                if let Ok(status) = &observed.result {
                    self.roles.insert(observed.number, status.clone());
                }
                shared.hear([ToClient::Observed(observed)]);
            }
            Event::Swept(key) => {
                self.sweeping.remove(&key);
            }
            Event::Fault(fault) => return Err(fault),
        }
        Ok(())
    }

    /// Whether a fault is about the connection (G4), the lease, or this request alone.
    fn refuse(
        &mut self,
        session: SessionId,
        number: Number,
        fault: Fault,
        shared: &Shared,
        server: &str,
    ) -> Result<(), Fault> {
        match fault {
            Fault::Broken(_)
            | Fault::Status(Code::Unavailable | Code::Unauthenticated | Code::Other(_), _) => {
                return Err(fault);
            }
            Fault::Status(Code::NotFound, _) => self.expired(session, shared),
            Fault::Status(_, text) => {
                let why = Error::rejected(server, &text);
                shared.with(|state, now| state.fail(session, number, why, now));
            }
        }
        Ok(())
    }

    /// etcd has no such lease any more.
    fn expired(&mut self, session: SessionId, shared: &Shared) {
        self.forget(session);
        let why = Some(bellwether_coordination::Ending::Expired);
        shared.hear([ToClient::Reply(Reply::Ended { session, why })]);
    }

    fn forget(&mut self, session: SessionId) {
        self.sessions.remove(&session);
        self.claims.retain(|(of, _), claim| {
            if *of == session {
                claim.given_up.send_replace(true);
            }
            *of != session
        });
        self.late.retain(|(of, _), _| *of != session);
    }

    fn observe(&mut self, number: u64, role: String, work: &mut Work) {
        // Asked again, it is a question whether the server lives; a new watch would tell the same.
        if self.observers.contains_key(&number) {
            let _ = self.take(ToMember::Ping, work);
            return;
        }
        let (channel, watches) = (work.channel.clone(), work.watches.clone());
        let observer = observe::RoleObserver {
            layout: self.layout.clone(),
            number,
            role,
            last: self.roles.get(&number).cloned(),
        };
        let events = work.events.clone();
        let handle = work.tasks.spawn(async move {
            let told = events.clone();
            let tell = move |observed| drop(told.send(Event::Observed(observed)));
            let fault = observer.run(&channel, &watches, tell).await;
            let _ = events.send(Event::Fault(fault));
        });
        self.observers.insert(number, handle);
    }
}

/// Ends a session of an etcd cluster that another process opened: for one that outlives it and sees it die. etcd itself
/// would wait for the session's TTL. Members see deaths by themselves; there it fails with
/// [`ErrorKind::Unsupported`].
///
/// ```no_run
/// # async fn example(session: bellwether::SessionId) -> Result<(), bellwether::Error> {
/// let endpoints = bellwether::Endpoints::parse("etcd://10.0.0.1:2379", None, None)?;
/// bellwether::end_session(endpoints, session).await?;
/// # Ok(())
/// # }
/// ```
pub async fn end_session(endpoints: Endpoints, session: SessionId) -> Result<(), Error> {
    let Some(cluster) = endpoints.etcd.clone() else {
        let why = "members end the session of a dead process by themselves";
        return Err(Error::unsupported(why));
    };
    let mut servers = Servers::new(cluster);
    let server = servers.first(endpoints.timeout).await?;
    let failed = |fault: Fault| Error::rejected(&server.host, &fault.to_string());
    sessions::close(&server.channel, session).await.map_err(failed)
}

/// A session that is shorter than etcd's least lease.
fn refuse_ttl(ttl: Duration) -> Result<(), Error> {
    let longest = Duration::from_millis(LONGEST_TTL_MS);
    if (SHORTEST_TTL..=longest).contains(&ttl) {
        return Ok(());
    }
    let text = format!(
        "etcd keeps no session with a TTL of {ttl:?}: it must be between {SHORTEST_TTL:?} and {longest:?}; choose one of those"
    );
    Err(Error::of_kind(ErrorKind::InvalidTtl, text))
}

/// What etcd has no recipe for.
fn refuse_ask(ask: &Ask) -> Result<(), Error> {
    let why = match ask {
        Ask::Lock { wants, .. } if wants.len() > 1 => {
            "etcd grants one lock at a time; take them one after the other, in the same order everywhere"
        }
        Ask::Lock { wants, .. } => match wants.first().map(|want| want.mode) {
            Some(Mode::Shared) => "etcd has no shared locks; take it exclusively",
            Some(Mode::Permits { .. }) => {
                "etcd has no semaphores; use one lock for each permit, and try them in turn"
            }
            Some(Mode::Exclusive) | None => return Ok(()),
        },
        Ask::Campaign { policy: Policy::Priority { .. }, .. } => {
            "etcd fills roles in the order of arrival; leave the priority out"
        }
        Ask::HandOver { .. } => {
            "etcd passes a role on in the order of arrival; resign, and campaign again"
        }
        _ => return Ok(()),
    };
    Err(Error::unsupported(format!("{why}, or use members of Bellwether")))
}

/// Without a prefix, queues are keys among all others.
fn refuse_list(endpoints: &Endpoints) -> Result<(), Error> {
    let prefix = endpoints.etcd.as_ref().map(|cluster| cluster.prefix.trim_matches('/'));
    if prefix.is_some_and(|prefix| !prefix.is_empty()) {
        return Ok(());
    }
    let why = "etcd lists only what is under a prefix; give one, the same to all clients: etcd://HOST:PORT/PREFIX";
    Err(Error::unsupported(why))
}

/// etcd tells no client before a key is deleted.
fn refuse_force(now: bool) -> Result<(), Error> {
    if now {
        return Ok(());
    }
    let why = "etcd cannot ask the holder to stop first; release it at once (`--now`), and let the resource that it \
               protects check fencing tokens";
    Err(Error::unsupported(why))
}
