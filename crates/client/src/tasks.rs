//! The two tasks behind a client: one keeps a connection, the other keeps time.
//!
//! * T1 A client with a Unix socket stays with the member on its host as long as that follows a coordinator,
//!   and comes back to it when it does again: only this member sees the client's death.
//! * T2 A client over TLS goes to the coordinator, and follows when another one is announced.
//! * T3 When a connection breaks, or nothing comes for too long on it, the [second one](crate::spare) is
//!   used; without it all members are [tried](crate::finder) at once, and when all have failed, again after
//!   a pause that grows and is drawn at random.
//!   The members tell a client their addresses when it connects, and when members come or go: it finds all of them
//!   even if none is left of those that it began with.
//! * T4 What time is over ends on time, connection or not.
//! * T5 Whenever the client waits for something, its member is heard of at least every half lease: it is
//!   pinged if it says nothing else. One that is silent for a whole lease is left. A member that does not
//!   tell its lease gets half of the shortest TTL.

use crate::endpoints::{Endpoint, Endpoints};
use crate::engine::{Engine, Greeting, Rules};
use crate::error::Error;
use crate::finder::{Finder, Places, Tried, jitter, no_coordinator};
use crate::link::{Link, Reader, STALLED_AFTER, Writer};
use crate::session::turn_ppm;
use crate::spare;
use crate::state::ClientState;
use bellwether_api::client::{LONGEST_TO_MEMBER, ToClient, ToMember, decode_to_client, wire};
use bellwether_api::envelope::ClientWelcome;
use bellwether_coordination::Reply;
use bellwether_core::Time;
use bellwether_net::stages::{Stage, mark};
use bellwether_net::{Clock, Malformed, Seldom, frame};
use bytes::BytesMut;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

/// The time between two looks for a better connection.
const LOOK_FOR_BETTER: Duration = Duration::from_secs(1);

/// A connection on which nothing comes is given up after this time, or sooner if a session cannot
/// wait as long.
const SILENT_AT_MOST: Duration = Duration::from_secs(5);
const SILENT_AT_LEAST: Duration = Duration::from_millis(200);

/// The clock is looked at again after this at the latest: the runtime's stands still while the machine
/// sleeps, and deadlines do not.
const LONGEST_SLEEP: Duration = Duration::from_millis(250);

/// How long a client without handles may take to say goodbye.
const GOODBYE: Duration = Duration::from_secs(1);

/// The status of the connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Status {
    /// The member that is connected.
    pub(crate) member: Option<u32>,
    /// The coordinator, as far as is known.
    pub(crate) coordinator: Option<u32>,
    pub(crate) term: u64,
    /// Whether the member that is connected follows a coordinator, or is it.
    pub(crate) follows: bool,
    /// Whether the member that is connected answers lists.
    pub(crate) lists: bool,
}

impl Status {
    /// There is a connection.
    fn enter(&mut self, link: &Link) {
        let welcome = &link.welcome;
        self.member = Some(welcome.member);
        if welcome.coordinator.is_some() && welcome.term >= self.term {
            self.coordinator = welcome.coordinator;
            self.term = welcome.term;
        }
        self.follows = link.follows();
        self.lists = welcome.lists;
    }
}

/// What tasks and handles share.
pub(crate) struct Shared {
    state: Mutex<ClientState>,
    /// There is something to send.
    send: Notify,
    /// The next moment to look has come nearer.
    look: Notify,
    /// The state may have changed.
    changed: Notify,
    pub(crate) status: watch::Sender<Status>,
    /// The client has no handles any more.
    ending: watch::Sender<bool>,
    /// The shortest TTL of all sessions that ever were.
    shortest_ttl: Mutex<Duration>,
    /// What came of attempts to connect.
    tried: Tried,
    /// Where the members are, as they say.
    places: Places,
    /// Where the client is connected.
    connected: Mutex<Option<Endpoint>>,
    pub(crate) endpoints: Endpoints,
    /// By how many millionths clocks may be off, as the members said last.
    drift_ppm: AtomicU32,
    /// What the engine refuses.
    pub(crate) rules: Rules,
}

impl Shared {
    /// Does something with the state, and wakes the tasks if that is needed.
    pub(crate) fn with<R>(&self, act: impl FnOnce(&mut ClientState, Time) -> R) -> R {
        let mut state = self.state();
        let before = state.next_look();
        let result = act(&mut state, Clock::shared());
        let (sends, look) = (state.has_outgoing(), state.next_look());
        drop(state);
        if sends {
            self.send.notify_one();
        }
        if look.is_some() && before.is_none_or(|before| look < Some(before)) {
            self.look.notify_one();
        }
        self.changed.notify_waiters();
        result
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, ClientState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// No connection may be silent for as long as a session cannot be without it.
    pub(crate) fn expects(&self, ttl: Duration) {
        let mut shortest = self.shortest_ttl.lock().unwrap_or_else(PoisonError::into_inner);
        *shortest = ttl.min(*shortest);
    }

    /// T5: how long a member may be silent that has this lease, if it tells.
    fn silent_at_most(&self, lease: Option<Duration>) -> Duration {
        let shortest = *self.shortest_ttl.lock().unwrap_or_else(PoisonError::into_inner);
        lease.unwrap_or(Duration::MAX).min(shortest / 2).clamp(SILENT_AT_LEAST, SILENT_AT_MOST)
    }

    /// Waits until this is true of the state.
    pub(crate) async fn until(&self, condition: impl Fn(&ClientState) -> bool) {
        loop {
            let mut changed = pin!(self.changed.notified());
            // What changes from here on is not missed.
            changed.as_mut().enable();
            if condition(&self.state()) {
                return;
            }
            changed.await;
        }
    }

    /// What is known of the members that were asked.
    pub(crate) fn tried(&self) -> Vec<String> {
        let status = self.status.borrow().clone();
        let connected = self.connected.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let (Some(endpoint), Some(member)) = (connected, status.member) {
            let what = match (status.follows, status.coordinator) {
                (true, Some(id)) => format!("P{member} follows P{id}, which has not answered"),
                _ => no_coordinator(member),
            };
            self.tried.note(&endpoint, &what);
        }
        self.tried.lines()
    }

    /// By how many millionths a session with this TTL is counted shorter, on this clock and on the members'.
    pub(crate) fn drift_ppm(&self, ttl: Duration) -> u32 {
        self.drift_ppm.load(Ordering::Relaxed).saturating_add(turn_ppm(ttl) / 2)
    }

    fn set_drift(&self, drift_ppm: u32, state: &mut ClientState) {
        if self.drift_ppm.swap(drift_ppm, Ordering::Relaxed) != drift_ppm {
            state.set_drift(|ttl| self.drift_ppm(ttl));
        }
    }

    /// Takes what is to be sent, when there is something.
    pub(crate) async fn outgoing(&self, frames: &mut Vec<ToMember>) {
        loop {
            self.state().take_outgoing(frames);
            if !frames.is_empty() {
                return;
            }
            self.send.notified().await;
        }
    }

    /// Passes on what was said to this client.
    pub(crate) fn hear(&self, frames: impl IntoIterator<Item = ToClient>) {
        self.with(|state, now| {
            for frame in frames {
                match &frame {
                    ToClient::Announcement(news) => {
                        self.places.learn(news.addresses.iter().cloned());
                        if let Some(drift_ppm) = news.drift_ppm {
                            self.set_drift(drift_ppm, state);
                        }
                        if announced(&self.status, news.coordinator, news.term) {
                            state.ask_again(now);
                        }
                    }
                    ToClient::Reply(reply) => {
                        follows(&self.status, *reply != Reply::NoCoordinator);
                    }
                    ToClient::Watching { .. } | ToClient::Observed(_) | ToClient::Listed(_) => {}
                }
                state.hear(frame, now);
            }
        });
    }

    /// The last handle is gone.
    pub(crate) fn end(&self) {
        self.with(ClientState::close_all);
        self.ending.send_replace(true);
        self.send.notify_one();
        self.look.notify_one();
    }

    /// Waits until the client has no handles any more, and it has said goodbye, or cannot.
    async fn over(&self) {
        let mut ending = self.ending.subscribe();
        let _ = ending.wait_for(|ending| *ending).await;
        let _ = timeout(GOODBYE, self.until(|state| state.is_empty() && state.is_flushed())).await;
    }
}

/// Connects, and starts the tasks: with the engine that the address names.
pub(crate) async fn start(endpoints: Endpoints, name: String) -> Result<Arc<Shared>, Error> {
    #[cfg(feature = "etcd")]
    if endpoints.etcd.is_some() {
        return start_with::<crate::etcd::Etcd>(endpoints, name).await;
    }
    start_with::<Native>(endpoints, name).await
}

async fn start_with<E: Engine>(endpoints: Endpoints, name: String) -> Result<Arc<Shared>, Error> {
    let (engine, greeting) = E::connect(&endpoints, name).await?;
    let (status, _) = watch::channel(greeting.status);
    let (ending, _) = watch::channel(false);
    let shared = Arc::new(Shared {
        state: Mutex::default(),
        send: Notify::new(),
        look: Notify::new(),
        changed: Notify::new(),
        status,
        ending,
        shortest_ttl: Mutex::new(2 * SILENT_AT_MOST),
        tried: greeting.tried,
        places: greeting.places,
        connected: Mutex::default(),
        endpoints,
        drift_ppm: greeting.drift_ppm.into(),
        rules: E::RULES,
    });
    tokio::spawn({
        let shared = shared.clone();
        async move {
            tokio::select! {
                () = engine.carry(&shared) => {}
                () = Seldom::new(shared.over()) => {}
            }
            shared.state().disconnect();
        }
    });
    tokio::spawn({
        let shared = shared.clone();
        async move {
            tokio::select! {
                () = keep_time(&shared) => {}
                () = shared.over() => {}
            }
        }
    });
    Ok(shared)
}

/// The engine of our own members.
struct Native {
    finder: Finder,
    first: Link,
}

impl Engine for Native {
    const RULES: Rules = Rules::NONE;

    async fn connect(endpoints: &Endpoints, name: String) -> Result<(Self, Greeting), Error> {
        let mut finder = Finder::new(endpoints.clone(), name);
        let first = finder.first().await?;
        let mut status = Status::default();
        status.enter(&first);
        let (drift_ppm, tried) = (first.welcome.drift_ppm, finder.tried.clone());
        let places = finder.places.clone();
        Ok((Native { finder, first }, Greeting { status, drift_ppm, tried, places }))
    }

    async fn carry(self, shared: &Shared) {
        keep_connected(shared, self.finder, self.first).await;
    }
}

/// T4: does what is due, for ever.
async fn keep_time(shared: &Shared) {
    loop {
        let next = shared.state().next_look();
        let due = async {
            match next {
                None => std::future::pending().await,
                Some(at) => sleep(nap(at, Clock::shared())).await,
            }
        };
        tokio::select! {
            () = due => {}
            () = shared.look.notified() => {}
        }
        shared.with(ClientState::wake);
    }
}

/// How long to sleep until then.
fn nap(until: Time, now: Time) -> Duration {
    until.since(now).min(LONGEST_SLEEP)
}

/// Why a connection is left.
enum Left {
    /// It broke, or its member is silent.
    Broken(&'static str),
    /// There is a better one.
    Better(Box<Link>),
    /// Its member follows no coordinator, and that of the second connection does.
    Spare,
}

/// T3: keeps a connection, for ever.
async fn keep_connected(shared: &Shared, mut finder: Finder, first: Link) {
    let (mut link, mut spare) = (first, None);
    loop {
        finder.learn(&link);
        let left = serve(shared, &finder, &mut link, &mut spare).await;
        finder.coordinator = shared.status.borrow().coordinator;
        let why = match left {
            Left::Better(better) => {
                debug!(from = %link.endpoint, to = %better.endpoint, "moves to a better member");
                link = *better;
                continue;
            }
            Left::Broken(why) => why,
            Left::Spare => "it follows no coordinator",
        };
        let used = link.endpoint.clone();
        warn!(endpoint = %used, why, "lost the connection to a member; looks for another");
        finder.tried.note(&used, why);
        drop(link);
        shared.state().disconnect();
        shared.status.send_modify(|status| (status.member, status.follows) = (None, false));
        link = match spare.take().filter(|spare| spare.endpoint != used) {
            Some(ready) if ready.follows() => ready,
            _ => finder.again(used).await,
        };
    }
}

/// Talks to a member until the connection breaks, or there is a better one.
async fn serve(
    shared: &Shared,
    finder: &Finder,
    link: &mut Link,
    spare: &mut Option<Link>,
) -> Left {
    if link.follows() {
        finder.tried.forget();
    }
    *shared.connected.lock().unwrap_or_else(PoisonError::into_inner) = Some(link.endpoint.clone());
    shared.status.send_modify(|status| status.enter(link));
    shared.with(|state, _| shared.set_drift(link.welcome.drift_ppm, state));
    let ClientWelcome { member, coordinator, term, .. } = &link.welcome;
    debug!(endpoint = %link.endpoint, member, coordinator, term, "connected to a member");
    let (local, lease) = (link.is_local(), link.lease());
    let Link { frames, out, welcome, endpoint } = link;
    let member = welcome.member;
    let lists = welcome.lists;
    shared.with(|state, now| state.connect(lists, now));
    // Each is looked at only when something has happened to it: a request concerns two of them.
    tokio::select! {
        () = Seldom::new(listen(shared, frames)) => Left::Broken("the connection broke"),
        () = Seldom::new(speak(shared, out)) => Left::Broken("the connection broke"),
        () = Seldom::new(silence(shared, lease)) => Left::Broken("it was silent for too long"),
        better = Seldom::new(better(shared, finder, local, member)) => Left::Better(Box::new(better)),
        () = Seldom::new(spare::keep(shared, finder, endpoint, spare)) => Left::Spare,
    }
}

/// T1, T2: waits until there is a better connection than the one with this member.
async fn better(shared: &Shared, finder: &Finder, local: bool, member: u32) -> Link {
    if local {
        return std::future::pending().await;
    }
    let mut news = shared.status.subscribe();
    loop {
        let coordinator = news.borrow_and_update().coordinator;
        let leader = coordinator.filter(|id| *id != member);
        let wanted: Vec<_> = finder.homes().chain(finder.address_of(leader)).collect();
        for endpoint in &wanted {
            if let Ok(link) = finder.to(endpoint).await
                && link.follows()
            {
                return link;
            }
        }
        let pause = async {
            match wanted.is_empty() {
                true => std::future::pending().await,
                false => sleep(jitter(LOOK_FOR_BETTER)).await,
            }
        };
        tokio::select! {
            _ = news.changed() => {}
            () = pause => {}
        }
    }
}

/// Takes what the member says, until it says no more.
async fn listen(shared: &Shared, frames: &mut Reader) {
    let mut heard = Vec::new();
    loop {
        let take = |bytes: &[u8]| {
            heard.push(decode_to_client(bytes).map_err(Malformed::new)?);
            Ok(())
        };
        let more = frames.each(take).await;
        mark(Stage::ClientReads);
        shared.hear(heard.drain(..));
        if !matches!(more, Ok(1..)) {
            return;
        }
    }
}

/// Whether there is another coordinator than before.
fn announced(status: &watch::Sender<Status>, coordinator: Option<u32>, term: u64) -> bool {
    status.send_if_modified(|status| {
        let changed = (status.coordinator, status.term) != (coordinator, term);
        (status.coordinator, status.term) = (coordinator, term);
        let turned = status.follows != coordinator.is_some();
        status.follows = coordinator.is_some();
        changed || turned
    }) && coordinator.is_some()
}

/// Whether the member follows a coordinator, as its answers show.
fn follows(status: &watch::Sender<Status>, follows: bool) {
    status.send_if_modified(|status| {
        let turned = status.follows != follows;
        status.follows = follows;
        turned
    });
}

/// Says what there is to say, until it cannot.
async fn speak(shared: &Shared, out: &mut Writer) {
    let (mut frames, mut bytes) = (Vec::new(), BytesMut::new());
    loop {
        shared.outgoing(&mut frames).await;
        bytes.clear();
        for frame in frames.drain(..) {
            // It always fits: names and values are bounded before.
            let _ = frame::put(&wire::ToMember::from(frame), LONGEST_TO_MEMBER, &mut bytes);
        }
        mark(Stage::ClientWrites);
        if frame::write(out, &bytes, STALLED_AFTER).await.is_err() {
            return;
        }
        shared.with(|state, _| state.written());
    }
}

/// T5: ends when the member has been silent for too long.
pub(crate) async fn silence(shared: &Shared, lease: Option<Duration>) {
    loop {
        let most = shared.silent_at_most(lease);
        let now = Clock::shared();
        let silent = shared.with(|state, now| match lease {
            Some(_) => state.ping(now, most / 2),
            None => state.prove_life(now),
        });
        let silent = silent.map_or(Duration::ZERO, |since| now.since(since));
        if silent >= most {
            return;
        }
        sleep((most - silent).min(most / 2)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The host may sleep longer than the runtime's clock shows.
    #[test]
    fn t4_no_nap_is_longer_than_a_deadline_may_be_late() {
        let (now, later) = (Time::from_micros(5), Time::from_micros(60_000_000));
        assert_eq!(nap(later, now), LONGEST_SLEEP);
        assert_eq!(nap(now, later), Duration::ZERO);
        assert_eq!(nap(Time::from_micros(1_005), now), Duration::from_millis(1));
    }
}
