//! The two tasks behind a client: one keeps a connection, the other keeps time.
//!
//! * T1 A client with a Unix socket stays with the member on its host as long as that is there, and
//!   comes back to it when it is there again: only that one sees the client's death.
//! * T2 A client over TLS goes to the coordinator, and follows when another one is announced.
//! * T3 When a connection breaks, or nothing comes for too long on it, the others are tried at once, in
//!   turn; when all have failed, after a pause that grows and is drawn at random.
//! * T4 What time is over ends on time, connection or not.

use crate::book::Book;
use crate::endpoints::{Endpoint, Endpoints};
use crate::error::Error;
use crate::link::{Link, NoLink, Reader, STALLED_AFTER, Writer};
use bellwether_api::client::{ToClient, decode_to_client};
use bellwether_core::Time;
use bellwether_net::{Clock, Malformed, draw, frame};
use bytes::BytesMut;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, timeout};

/// The pause between two rounds of attempts to connect grows from the first to the second.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// A better connection is looked for so often.
const LOOK_FOR_BETTER: Duration = Duration::from_secs(1);

/// A connection on which nothing comes is given up after this time, or sooner if a session cannot
/// wait as long.
const SILENT_AT_MOST: Duration = Duration::from_secs(5);
const SILENT_AT_LEAST: Duration = Duration::from_millis(200);

/// How long a client that nobody needs any more may take to say goodbye.
const GOODBYE: Duration = Duration::from_secs(1);

/// How it stands with the connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Status {
    /// The member that is connected.
    pub(crate) member: Option<u32>,
    /// Who coordinates, as far as is known.
    pub(crate) coordinator: Option<u32>,
    pub(crate) epoch: u64,
    /// What came of the last attempts to connect.
    pub(crate) tried: Vec<String>,
}

impl Status {
    /// There is a connection.
    fn enter(&mut self, link: &Link) {
        let welcome = &link.welcome;
        self.member = Some(welcome.member);
        if welcome.coordinator.is_some() && welcome.epoch >= self.epoch {
            self.coordinator = welcome.coordinator;
            self.epoch = welcome.epoch;
        }
        self.tried.clear();
    }
}

/// What tasks and handles share.
pub(crate) struct Shared {
    book: Mutex<Book>,
    /// There is something to send.
    send: Notify,
    /// The next moment to look has come nearer.
    look: Notify,
    pub(crate) status: watch::Sender<Status>,
    /// Nobody needs the client any more.
    ending: watch::Sender<bool>,
    /// The shortest TTL of all sessions that ever were.
    shortest_ttl: Mutex<Duration>,
    pub(crate) endpoints: Endpoints,
    pub(crate) drift_ppm: u32,
}

impl Shared {
    /// Does something with the book, and wakes the tasks if that is needed.
    pub(crate) fn with<R>(&self, act: impl FnOnce(&mut Book, Time) -> R) -> R {
        let mut book = self.book();
        let before = book.next_look();
        let result = act(&mut book, Clock::shared());
        let (sends, look) = (book.has_outgoing(), book.next_look());
        drop(book);
        if sends {
            self.send.notify_one();
        }
        if look.is_some() && before.is_none_or(|before| look < Some(before)) {
            self.look.notify_one();
        }
        result
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// No connection may be silent for as long as a session cannot be without it.
    pub(crate) fn expects(&self, ttl: Duration) {
        let mut shortest = self.shortest_ttl.lock().unwrap_or_else(PoisonError::into_inner);
        *shortest = ttl.min(*shortest);
    }

    fn silent_at_most(&self) -> Duration {
        let shortest = *self.shortest_ttl.lock().unwrap_or_else(PoisonError::into_inner);
        (shortest / 2).clamp(SILENT_AT_LEAST, SILENT_AT_MOST)
    }

    /// Nobody needs the client any more.
    pub(crate) fn end(&self) {
        self.with(Book::close_all);
        self.ending.send_replace(true);
        self.send.notify_one();
        self.look.notify_one();
    }

    /// Waits until nobody needs the client, and it has said goodbye, or cannot.
    async fn over(&self) {
        let mut ending = self.ending.subscribe();
        let _ = ending.wait_for(|ending| *ending).await;
        let said = async {
            while !self.book().is_empty() || self.book().has_outgoing() {
                sleep(Duration::from_millis(1)).await;
            }
        };
        let _ = timeout(GOODBYE, said).await;
    }
}

/// Connects to a member, and starts the tasks.
pub(crate) async fn start(endpoints: Endpoints, name: String) -> Result<Arc<Shared>, Error> {
    let mut finder = Finder::new(endpoints.clone(), name);
    let first = finder.first().await?;
    let (status, _) = watch::channel(Status::default());
    status.send_modify(|status| status.enter(&first));
    let (ending, _) = watch::channel(false);
    let shared = Arc::new(Shared {
        book: Mutex::default(),
        send: Notify::new(),
        look: Notify::new(),
        status,
        ending,
        shortest_ttl: Mutex::new(2 * SILENT_AT_MOST),
        endpoints,
        drift_ppm: first.welcome.drift_ppm,
    });
    tokio::spawn({
        let shared = shared.clone();
        async move {
            tokio::select! {
                () = keep_connected(&shared, finder, first) => {}
                () = shared.over() => {}
            }
            shared.book().disconnect();
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

/// T4: does what is due, for ever.
async fn keep_time(shared: &Shared) {
    loop {
        let next = shared.book().next_look();
        let due = async {
            match next {
                None => std::future::pending().await,
                Some(at) => sleep(at.since(Clock::shared())).await,
            }
        };
        tokio::select! {
            () = due => {}
            () = shared.look.notified() => {}
        }
        shared.with(Book::wake);
    }
}

/// T3: keeps a connection, for ever.
async fn keep_connected(shared: &Shared, mut finder: Finder, first: Link) {
    let mut link = first;
    loop {
        finder.learn(&link);
        let better = serve(shared, &finder, &mut link).await;
        finder.coordinator = shared.status.borrow().coordinator;
        link = match better {
            Some(better) => better,
            None => {
                let left = link.endpoint.clone();
                drop(link);
                shared.book().disconnect();
                shared.status.send_modify(|status| status.member = None);
                finder.again(shared, left).await
            }
        };
    }
}

/// Talks to a member until the connection breaks, or there is a better one.
async fn serve(shared: &Shared, finder: &Finder, link: &mut Link) -> Option<Link> {
    shared.status.send_modify(|status| status.enter(link));
    let local = link.is_local();
    let Link { frames, out, welcome, .. } = link;
    let member = welcome.member;
    shared.with(|book, now| book.connect(now));
    tokio::select! {
        () = listen(shared, frames) => None,
        () = speak(shared, out) => None,
        () = silence(shared) => None,
        better = finder.better(shared, local, member) => Some(better),
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
        shared.with(|book, now| {
            for frame in heard.drain(..) {
                if let ToClient::Announcement(news) = &frame
                    && announced(&shared.status, news.coordinator, news.epoch)
                {
                    book.ask_again(now);
                }
                book.hear(frame, now);
            }
        });
        if !matches!(more, Ok(1..)) {
            return;
        }
    }
}

/// Whether somebody coordinates who did not before.
fn announced(status: &watch::Sender<Status>, coordinator: Option<u32>, epoch: u64) -> bool {
    status.send_if_modified(|status| {
        let changed = (status.coordinator, status.epoch) != (coordinator, epoch);
        (status.coordinator, status.epoch) = (coordinator, epoch);
        changed
    }) && coordinator.is_some()
}

/// Says what there is to say, until it cannot.
async fn speak(shared: &Shared, out: &mut Writer) {
    let mut bytes = BytesMut::new();
    loop {
        shared.book().take_outgoing(&mut bytes);
        if bytes.is_empty() {
            shared.send.notified().await;
        } else if frame::write(out, &bytes, STALLED_AFTER).await.is_err() {
            return;
        }
    }
}

/// Ends when the member has been silent for too long.
async fn silence(shared: &Shared) {
    loop {
        shared.with(Book::prove_life);
        let most = shared.silent_at_most();
        let since = shared.book().unanswered();
        let silent = since.map_or(Duration::ZERO, |since| Clock::shared().since(since));
        if silent >= most {
            return;
        }
        sleep((most - silent).min(most / 2)).await;
    }
}

/// Looks for members.
pub(crate) struct Finder {
    endpoints: Endpoints,
    name: String,
    /// Where members are, as members say.
    known: BTreeMap<u32, String>,
    coordinator: Option<u32>,
}

impl Finder {
    fn new(endpoints: Endpoints, name: String) -> Self {
        Finder { endpoints, name, known: BTreeMap::new(), coordinator: None }
    }

    fn learn(&mut self, link: &Link) {
        let places = link.welcome.addresses.iter();
        self.known.extend(places.map(|place| (place.member, place.address.clone())));
        self.coordinator = link.welcome.coordinator.or(self.coordinator);
    }

    async fn to(&self, endpoint: &Endpoint) -> Result<Link, NoLink> {
        Link::to(endpoint, &self.endpoints, &self.name).await
    }

    fn coordinator(&self, id: Option<u32>) -> Option<Endpoint> {
        self.endpoints.identity.as_ref()?;
        self.known.get(&id?).cloned().map(Endpoint::Tls)
    }

    /// Where to look, the best first.
    fn candidates(&self) -> Vec<Endpoint> {
        let mut list: Vec<Endpoint> = Vec::new();
        let local = |endpoint: &&Endpoint| matches!(endpoint, Endpoint::Unix(_));
        list.extend(self.endpoints.list.iter().filter(local).cloned());
        list.extend(self.coordinator(self.coordinator));
        list.extend(self.endpoints.list.iter().filter(|endpoint| !local(endpoint)).cloned());
        if self.endpoints.identity.is_some() {
            list.extend(self.known.values().cloned().map(Endpoint::Tls));
        }
        let mut seen = Vec::new();
        list.retain(|endpoint| {
            let new = !seen.contains(endpoint);
            seen.push(endpoint.clone());
            new
        });
        list
    }

    /// The first member that answers, within the time that is given for that.
    async fn first(&mut self) -> Result<Link, Error> {
        let until = Instant::now() + self.endpoints.timeout;
        let mut pause = BACK_OFF.0;
        loop {
            let mut failures = Vec::new();
            for endpoint in self.candidates() {
                match self.to(&endpoint).await {
                    Ok(link) => return Ok(link),
                    Err(why) => failures.push((endpoint, why)),
                }
            }
            if Instant::now() + pause >= until {
                return Err(explain(failures));
            }
            sleep(pause).await;
            pause = (2 * pause).min(BACK_OFF.1);
        }
    }

    /// Another connection after one that broke. The member that was left comes last, once.
    async fn again(&self, shared: &Shared, left: Endpoint) -> Link {
        let mut pause = BACK_OFF.0;
        let mut candidates = self.candidates();
        candidates.sort_by_key(|endpoint| *endpoint == left);
        loop {
            let mut tried = Vec::new();
            for endpoint in &candidates {
                match self.to(endpoint).await {
                    Ok(link) => return link,
                    Err(why) => tried.push(format!("{endpoint}: {}", why.why())),
                }
            }
            shared.status.send_modify(|status| status.tried = tried);
            sleep(jitter(pause)).await;
            pause = (2 * pause).min(BACK_OFF.1);
            candidates = self.candidates();
        }
    }

    /// T1, T2: waits until there is a better connection than the one with this member.
    async fn better(&self, shared: &Shared, local: bool, member: u32) -> Link {
        let is_local = |endpoint: &&Endpoint| matches!(endpoint, Endpoint::Unix(_));
        if local {
            return std::future::pending().await;
        }
        let mut news = shared.status.subscribe();
        loop {
            let coordinator = news.borrow_and_update().coordinator;
            let leader = coordinator.filter(|id| *id != member);
            let homes = self.endpoints.list.iter().filter(is_local).cloned();
            let wanted: Vec<_> = homes.chain(self.coordinator(leader)).collect();
            for endpoint in &wanted {
                if let Ok(link) = self.to(endpoint).await {
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
}

/// Somewhere between half and all of it.
fn jitter(span: Duration) -> Duration {
    let permille = 500 + (draw() % 501) as u32;
    span * permille / 1_000
}

/// What to say when no attempt to connect succeeded. A member that answers, and does not let this
/// client in, says most.
fn explain(failures: Vec<(Endpoint, NoLink)>) -> Error {
    let mut tried = Vec::new();
    let mut tls = None;
    for (endpoint, failure) in failures {
        tried.push(format!("{endpoint}: {}", failure.why()));
        match failure {
            NoLink::NotLetIn(why) => {
                return Error::NotLetIn { endpoint: endpoint.to_string(), why };
            }
            NoLink::Tls(why) => tls = tls.or(Some(format!("{endpoint}: {why}"))),
            NoLink::Down(_) => {}
        }
    }
    match tls {
        Some(why) => Error::Tls(why),
        None => Error::AllDown { tried },
    }
}
