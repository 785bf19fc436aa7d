//! A cluster that is not one: the coordination of a coordinator behind any number of Unix sockets, all in
//! this process. What the tests want to go wrong goes wrong here.

use bellwether::{Client, Endpoints, Session, SessionOptions};
use bellwether_api::client::{Announcement, LONGEST_TO_MEMBER, Leader, Observed, RoleStatus};
use bellwether_api::client::{Listed, Page, ToClient, ToMember};
use bellwether_api::client::{decode_to_member, wire};
use bellwether_api::envelope::{self, Body, ClientWelcome, Envelope};
use bellwether_coordination::{
    Command, Coordination, Ending, Limits, OnDeadlock, Outcome, Refusal, Reply, Request, SessionId,
};
use bellwether_net::frame::{self, Frames};
use bytes::BytesMut;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tempfile::TempDir;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

const AGES: Duration = Duration::from_secs(30);

/// Guards against a test that hangs; nothing is measured with it.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(AGES, future).await {
        Ok(value) => value,
        Err(_) => panic!("still waiting for: {what}"),
    }
}

type Out = UnboundedSender<ToClient>;

#[derive(Default)]
pub(crate) struct State {
    pub(crate) coordination: Coordination,
    /// Where each session was last heard of.
    routes: BTreeMap<SessionId, Out>,
    /// All connections, by member.
    connections: Vec<(u32, Out)>,
    /// Whether there is no coordinator.
    pub(crate) vacant: bool,
    /// The members that follow no coordinator, though there is one.
    pub(crate) cut_off: Vec<u32>,
    /// The members that take everything and say nothing.
    pub(crate) mute: Vec<u32>,
    /// The lease, for members that tell it and answer pings.
    pub(crate) lease_ms: u64,
    /// Whether the members have no lists yet.
    pub(crate) old: bool,
    /// Pings that came.
    pub(crate) pings: u64,
    /// One of this many replies is lost.
    pub(crate) loses_one_of: Option<u64>,
    replies: u64,
    /// Whether sessions end when their TTL is over, by this clock.
    pub(crate) expires: bool,
    term: u64,
    /// What processes are to be watched.
    pub(crate) watched: Vec<(SessionId, u32)>,
    /// Requests that came.
    pub(crate) requests: u64,
    /// Who observes what, over which connection and with which number.
    pub(crate) observers: Vec<(u32, Out, u64, String)>,
    /// How old the copies of members are that are not up to date.
    pub(crate) behind: BTreeMap<u32, u64>,
}

pub(crate) struct Fake {
    folder: TempDir,
    state: Arc<Mutex<State>>,
    doors: BTreeMap<u32, JoinSet<()>>,
}

impl Fake {
    /// One with a single member.
    pub(crate) fn new() -> Self {
        let mut coordination = Coordination::default();
        coordination.apply(&Command::Begin {
            term: 3,
            limits: Limits { ttl_min_ms: 10, ..Limits::default() },
            on_deadlock: OnDeadlock::Abort,
        });
        let state = State { coordination, term: 3, ..State::default() };
        let folder = TempDir::new().unwrap();
        let mut fake = Fake { folder, state: Arc::new(Mutex::new(state)), doors: BTreeMap::new() };
        fake.open(1);
        fake
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub(crate) fn path(&self, member: u32) -> std::path::PathBuf {
        self.folder.path().join(format!("{member}.sock"))
    }

    /// A member listens.
    pub(crate) fn open(&mut self, member: u32) {
        let listener = UnixListener::bind(self.path(member)).unwrap();
        let (state, mut tasks) = (self.state.clone(), JoinSet::new());
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, member, state.clone()));
            }
        });
        self.doors.insert(member, tasks);
    }

    /// A member dies.
    pub(crate) fn close(&mut self, member: u32) {
        self.doors.remove(&member);
        self.state().connections.retain(|(other, _)| *other != member);
        std::fs::remove_file(self.path(member)).unwrap();
    }

    /// Endpoints of these members.
    pub(crate) fn endpoints(&self, members: &[u32]) -> Endpoints {
        let paths: Vec<_> =
            members.iter().map(|id| format!("unix:{}", self.path(*id).display())).collect();
        Endpoints::parse(&paths.join(","), None, None).unwrap()
    }

    pub(crate) async fn client(&self) -> Client {
        soon("a client", Client::connect(self.endpoints(&[1]))).await.unwrap()
    }

    pub(crate) async fn session(&self, name: &str) -> Session {
        let client = self.client().await;
        soon("a session", client.session(SessionOptions::named(name))).await.unwrap()
    }

    /// Tells everybody who coordinates.
    pub(crate) fn announce(&self, coordinator: Option<u32>) {
        let mut state = self.state();
        state.term += 1;
        state.vacant = coordinator.is_none();
        let term = state.term;
        for (_, out) in &state.connections {
            let news = Announcement { coordinator, term, ..Announcement::default() };
            let _ = out.send(ToClient::Announcement(news));
        }
    }

    /// The coordinator says something to a session's client.
    pub(crate) fn tell(&self, reply: Reply) {
        let mut state = self.state();
        let out = state.routes[&reply.session().unwrap()].clone();
        state.send(&out, reply);
    }

    /// The coordinator ends a session.
    pub(crate) fn end(&self, session: SessionId, why: Ending) {
        self.state().apply(Command::End { session, why, at: 0 });
    }

    /// Waits until something is so.
    pub(crate) async fn until(&self, what: &str, mut holds: impl FnMut(&State) -> bool) {
        soon(what, async {
            while !holds(&self.state()) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
    }
}

async fn serve(stream: UnixStream, member: u32, state: Arc<Mutex<State>>) {
    let (read, mut out) = stream.into_split();
    let mut frames = Frames::new(read, LONGEST_TO_MEMBER, AGES);
    let Ok(Some((Envelope { body: Some(Body::ClientHello(_)), .. }, _))) = frames.next().await
    else {
        return;
    };
    let (replies, mut said) = unbounded_channel();
    let welcome = {
        let mut state = state.lock().unwrap();
        state.connections.push((member, replies.clone()));
        let (coordinator, term) = (state.coordinator(member), state.term);
        let lease_ms = state.lease_ms;
        let (lists, rest) = (!state.old, ClientWelcome::default());
        ClientWelcome { version: 1, member, coordinator, term, lease_ms, lists, ..rest }
    };
    let welcome = Envelope::new(envelope::VERSION, Body::ClientWelcome(welcome));
    let mut bytes = BytesMut::new();
    assert!(frame::put(&welcome, usize::MAX, &mut bytes));
    if frame::write(&mut out, &bytes, AGES).await.is_err() {
        return;
    }
    let listen = async {
        loop {
            let mut all = Vec::new();
            let take = |bytes: &[u8]| {
                all.push(decode_to_member(bytes).unwrap());
                Ok(())
            };
            if !matches!(frames.each(take).await, Ok(1..)) {
                return;
            }
            for frame in all {
                State::hear(&state, frame, member, &replies);
            }
        }
    };
    let speak = async {
        while let Some(frame) = said.recv().await {
            bytes.clear();
            assert!(frame::put(&wire::ToClient::from(frame), usize::MAX, &mut bytes));
            if frame::write(&mut out, &bytes, AGES).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = listen => {}
        () = speak => {}
    }
}

impl State {
    /// Who coordinates, as far as this member knows.
    fn coordinator(&self, member: u32) -> Option<u32> {
        (!self.vacant && !self.cut_off.contains(&member)).then_some(1)
    }

    /// How many connections this member has.
    pub(crate) fn connections(&self, member: u32) -> usize {
        let open = |(of, out): &&(u32, Out)| *of == member && !out.is_closed();
        self.connections.iter().filter(open).count()
    }

    fn hear(shared: &Arc<Mutex<State>>, frame: ToMember, member: u32, out: &Out) {
        let mut state = shared.lock().unwrap();
        state.requests += 1;
        if state.mute.contains(&member) {
            return;
        }
        let request = match frame {
            ToMember::Watch { session, pid, .. } => {
                let refused = (pid == 0).then(|| "there is no process 0".to_owned());
                state.watched.push((session, pid));
                let _ = out.send(ToClient::Watching { session, pid, refused });
                return;
            }
            ToMember::Observe { number, role } => {
                state.observers.push((member, out.clone(), number, role));
                state.show();
                return;
            }
            ToMember::Unobserve(number) => {
                state.observers.retain(|(_, to, n, _)| *n != number || !to.same_channel(out));
                return;
            }
            ToMember::List { number, list } => {
                let version = (state.term, state.requests);
                let result = Ok(Page::of(&state.coordination, &list));
                let _ = out.send(ToClient::Listed(Listed { number, version, result }));
                return;
            }
            ToMember::Ping => {
                state.pings += 1;
                let coordinator = state.coordinator(member);
                let news =
                    Announcement { coordinator, term: state.term, ..Announcement::default() };
                let _ = out.send(ToClient::Announcement(news));
                return;
            }
            ToMember::Request(_) if state.coordinator(member).is_none() => {
                let _ = out.send(ToClient::Reply(Reply::NoCoordinator));
                return;
            }
            ToMember::Request(request) => request,
        };
        if let Some(session) = request.session() {
            state.routes.insert(session, out.clone());
        }
        match request {
            Request::Open { key, client, ttl_ms, sent } => {
                let open = Command::Open { key, client, ttl_ms, at: 0 };
                let Some(Outcome::Opened(result, _)) = state.coordination.apply(&open).pop() else {
                    panic!("a session is opened or refused");
                };
                if let Ok(session) = result {
                    state.routes.insert(session, out.clone());
                    state.expect(shared, session, ttl_ms);
                }
                state.send(out, Reply::Opened { key, result, sent });
            }
            Request::KeepAlive { session, key, .. }
            | Request::Ask { session, key, .. }
            | Request::Close { session, key }
                if state
                    .coordination
                    .sessions()
                    .get(&session)
                    .is_some_and(|owned| owned.key != key) =>
            {
                panic!("a client shows the key of its session");
            }
            Request::KeepAlive { session, sent, .. } => {
                let ttl = state.coordination.sessions().get(&session).map(|session| session.ttl_ms);
                let reply = match ttl {
                    Some(ttl_ms) => {
                        state.expect(shared, session, ttl_ms);
                        Reply::KeptAlive { session, sent }
                    }
                    None => Reply::Ended { session, why: None },
                };
                state.send(out, reply);
            }
            Request::Ask { session, number, forget_below, ask, .. } => {
                state.apply(Command::Ask { session, number, forget_below, ask, at: 0 });
            }
            Request::Close { session, .. } => {
                if !state.apply(Command::End { session, why: Ending::Closed, at: 0 }) {
                    state.send(out, Reply::Ended { session, why: None });
                }
            }
            Request::Force { lock, session, by, .. } => {
                let force = Command::Force { lock: lock.clone(), session, by, at: 0 };
                let said = state.coordination.apply(&force);
                let result = said.iter().find_map(|said| match said {
                    Outcome::Forced { done, .. } => Some(done.clone()),
                    _ => None,
                });
                state.tell(said);
                let result = result.unwrap_or(Err(Refusal::NotHolder(lock.clone(), session)));
                state.send(out, Reply::Forced { lock, session, result });
            }
            Request::Check { number, of, token } => {
                let result = state.coordination.bearer(&of, token);
                state.send(out, Reply::Checked { number, result });
            }
            Request::Died { .. } | Request::End { .. } => panic!("a client does not say that"),
        }
    }

    /// The session ends if it is not heard of in time.
    fn expect(&mut self, shared: &Arc<Mutex<State>>, session: SessionId, ttl_ms: u64) {
        if !self.expires {
            return;
        }
        let shared = shared.clone();
        let requests = self.requests;
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(ttl_ms)).await;
            let mut state = shared.lock().unwrap();
            // Only where nothing was heard since, which is how the tests use it.
            if state.requests == requests || !state.mute.is_empty() {
                state.apply(Command::End { session, why: Ending::Expired, at: 0 });
            }
        });
    }

    /// Whether it had an effect.
    fn apply(&mut self, command: Command) -> bool {
        let said = self.coordination.apply(&command);
        let effect = !said.is_empty();
        self.tell(said);
        self.show();
        effect
    }

    /// Tells all who observe how it stands, changed or not.
    pub(crate) fn show(&self) {
        for (member, out, number, role) in &self.observers {
            let behind = self.behind.get(member).copied().unwrap_or_default();
            let sequence = self.requests.saturating_sub(behind);
            let role = self.coordination.roles().get(role.as_str());
            let change = role.and_then(|role| role.history.back());
            let status = change.map_or(RoleStatus::default(), |change| RoleStatus {
                leader: change.leader.zip(change.token).map(|(session, token)| Leader {
                    session,
                    client: String::new(),
                    token,
                    value: change.value.clone(),
                    since: 0,
                }),
                reason: change.reason.clone(),
                at: change.at,
            });
            let version = (self.term, sequence);
            let told = Observed { number: *number, version, result: Ok(status) };
            let _ = out.send(ToClient::Observed(told));
        }
    }

    fn tell(&mut self, said: Vec<Outcome>) {
        for said in said {
            let (session, reply) = match said {
                Outcome::Answered(session, number, result) => {
                    (session, Reply::Answered { session, number, result })
                }
                Outcome::Ended(session, why) => (session, Reply::Ended { session, why: Some(why) }),
                Outcome::Preempt { session, role } => (session, Reply::Preempt { session, role }),
                Outcome::Forced { lock, session, number: Some(number), by, done: Ok(()) } => {
                    (session, Reply::ForceReleased { session, lock, number, by })
                }
                _ => continue,
            };
            if let Some(out) = self.routes.get(&session).cloned() {
                self.send(&out, reply);
            }
        }
    }

    fn send(&mut self, out: &Out, reply: Reply) {
        self.replies += 1;
        let lost = self.loses_one_of.is_some_and(|n| self.replies.is_multiple_of(n));
        if !lost {
            let _ = out.send(ToClient::Reply(reply));
        }
    }
}
