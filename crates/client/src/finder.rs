//! Looking for members.
//!
//! * F1 All that are known are tried, the best first and a moment apart, so that one that hangs costs
//!   that moment only.
//! * F2 A member that follows a coordinator is preferred. If none is found, one that follows none is better
//!   than nothing: it tells as soon as that changes.
//! * F3 What comes of each attempt is written down, and errors name that and nothing else.

use crate::endpoints::{Endpoint, Endpoints};
use crate::error::Error;
use crate::link::{ConnectError, Link};
use bellwether_net::draw;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

/// The pause between two rounds of attempts to connect grows from the first to the second.
pub(crate) const BACK_OFF: (Duration, Duration) =
    (Duration::from_millis(10), Duration::from_secs(1));

/// F1: the next member is tried when one has not answered for this time.
const APART: Duration = Duration::from_millis(25);

/// F2: how long after the first welcome the client waits for one of a member that follows a coordinator.
const BETTER_WITHIN: Duration = Duration::from_millis(250);

/// F3: what came of the attempts, by endpoint.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tried(Arc<Mutex<BTreeMap<String, String>>>);

impl Tried {
    fn all(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note(&self, endpoint: &Endpoint, what: &str) {
        self.note_at(&endpoint.to_string(), what);
    }

    pub(crate) fn note_at(&self, endpoint: &str, what: &str) {
        self.all().insert(endpoint.to_owned(), what.to_owned());
    }

    /// All is well.
    pub(crate) fn forget(&self) {
        self.all().clear();
    }

    /// One line for each endpoint.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.all().iter().map(|(endpoint, what)| format!("{endpoint}: {what}")).collect()
    }
}

/// The most former addresses that are still tried.
const FORMER_MAX: usize = 32;

/// Where members can be reached, as members say.
#[derive(Clone, Debug, Default)]
struct Known {
    now: BTreeMap<u32, String>,
    /// Where members were: tried last, because what was said last may be older.
    former: Vec<String>,
}

/// Where members can be reached, as members say: in their welcomes, and when it changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places(watch::Sender<Known>);

impl Places {
    /// The members are these now.
    pub(crate) fn learn(&self, addresses: impl IntoIterator<Item = (u32, String)>) {
        let next: BTreeMap<u32, String> = addresses.into_iter().collect();
        self.0.send_if_modified(|known| {
            if next.is_empty() || next == known.now {
                return false;
            }
            let before = std::mem::replace(&mut known.now, next);
            known.former.extend(before.into_values());
            let now: Vec<&String> = known.now.values().collect();
            known.former.retain(|address| !now.contains(&address));
            known.former.sort();
            known.former.dedup();
            known.former.truncate(FORMER_MAX);
            true
        });
    }

    /// Tells from now on when they change.
    pub(crate) fn news(&self) -> News {
        News(self.0.subscribe())
    }
}

/// Waits until the members' addresses change.
pub(crate) struct News(watch::Receiver<Known>);

impl News {
    pub(crate) async fn changed(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending().await
        }
    }
}

/// Looks for members.
#[derive(Clone)]
pub(crate) struct Finder {
    endpoints: Endpoints,
    name: String,
    pub(crate) places: Places,
    pub(crate) coordinator: Option<u32>,
    pub(crate) tried: Tried,
}

impl Finder {
    pub(crate) fn new(endpoints: Endpoints, name: String) -> Self {
        let (places, tried) = (Places::default(), Tried::default());
        Finder { endpoints, name, places, coordinator: None, tried }
    }

    pub(crate) fn learn(&mut self, link: &Link) {
        let places = link.welcome.addresses.iter();
        self.places.learn(places.map(|place| (place.member, place.address.clone())));
        self.coordinator = link.welcome.coordinator.or(self.coordinator);
    }

    pub(crate) async fn to(&self, endpoint: &Endpoint) -> Result<Link, ConnectError> {
        Link::to(endpoint, &self.endpoints, &self.name).await
    }

    /// Where this member can be reached over TLS, if this client can.
    pub(crate) fn address_of(&self, id: Option<u32>) -> Option<Endpoint> {
        self.endpoints.identity.as_ref()?;
        self.places.0.borrow().now.get(&id?).cloned().map(Endpoint::Tls)
    }

    /// The members on this host.
    pub(crate) fn homes(&self) -> impl Iterator<Item = Endpoint> {
        let local = |endpoint: &&Endpoint| matches!(endpoint, Endpoint::Unix(_));
        self.endpoints.list.iter().filter(local).cloned()
    }

    /// Where to look, the best first.
    pub(crate) fn candidates(&self) -> Vec<Endpoint> {
        let mut list: Vec<Endpoint> = self.homes().collect();
        list.extend(self.address_of(self.coordinator));
        list.extend(self.endpoints.list.iter().cloned());
        if self.endpoints.identity.is_some() {
            let known = self.places.0.borrow();
            list.extend(known.now.values().chain(&known.former).cloned().map(Endpoint::Tls));
        }
        let mut seen = Vec::new();
        list.retain(|endpoint| {
            let new = !seen.contains(endpoint);
            seen.push(endpoint.clone());
            new
        });
        list
    }

    /// All but this one.
    pub(crate) fn others(&self, used: &Endpoint) -> Vec<Endpoint> {
        let mut others = self.candidates();
        others.retain(|endpoint| endpoint != used);
        others
    }

    /// F1, F2: tries all of these once.
    pub(crate) async fn race(
        &self,
        candidates: Vec<Endpoint>,
    ) -> Result<Link, Vec<(Endpoint, ConnectError)>> {
        let mut queue = candidates.into_iter();
        let mut attempts = JoinSet::new();
        let mut second_best = None;
        let mut failures = Vec::new();
        loop {
            if let Some(endpoint) = queue.next() {
                self.tried.note(&endpoint, "it has not answered yet");
                let finder = self.clone();
                attempts.spawn(async move {
                    let result = finder.to(&endpoint).await;
                    (endpoint, result)
                });
            }
            let patience = match (queue.len(), &second_best) {
                (0, None) => Duration::MAX,
                (0, Some(_)) => BETTER_WITHIN,
                (1.., _) => APART,
            };
            let ended = match timeout(patience, attempts.join_next()).await {
                Err(_) if queue.len() == 0 => break,
                Ok(None) if queue.len() == 0 => break,
                Err(_) | Ok(None | Some(Err(_))) => continue,
                Ok(Some(Ok(ended))) => ended,
            };
            match ended {
                (_, Ok(link)) if link.follows() => return Ok(link),
                (endpoint, Ok(link)) => {
                    self.tried.note(&endpoint, &no_coordinator(link.welcome.member));
                    second_best.get_or_insert(link);
                }
                (endpoint, Err(why)) => {
                    self.tried.note(&endpoint, why.why());
                    failures.push((endpoint, why));
                }
            }
        }
        second_best.ok_or(failures)
    }

    /// The first member that answers, within the time that is given for that.
    pub(crate) async fn first(&mut self) -> Result<Link, Error> {
        let until = Instant::now() + self.endpoints.timeout;
        let mut pause = BACK_OFF.0;
        loop {
            let failures = match self.race(self.candidates()).await {
                Ok(link) => return Ok(link),
                Err(failures) => failures,
            };
            if Instant::now() + pause >= until {
                return Err(explain(failures, &self.tried));
            }
            sleep(pause).await;
            pause = (2 * pause).min(BACK_OFF.1);
        }
    }

    /// Another connection after one that broke. The member that was left comes last, once.
    pub(crate) async fn again(&self, left: Endpoint) -> Link {
        let mut pause = BACK_OFF.0;
        let mut candidates = self.candidates();
        candidates.sort_by_key(|endpoint| *endpoint == left);
        loop {
            if let Ok(link) = self.race(candidates).await {
                return link;
            }
            sleep(jitter(pause)).await;
            pause = (2 * pause).min(BACK_OFF.1);
            candidates = self.candidates();
        }
    }
}

/// The words for a member without a coordinator.
pub(crate) fn no_coordinator(member: u32) -> String {
    format!("P{member} follows no coordinator")
}

/// Somewhere between half and all of it.
pub(crate) fn jitter(span: Duration) -> Duration {
    let permille = 500 + (draw() % 501) as u32;
    span * permille / 1_000
}

/// What to say when no attempt to connect succeeded. A member that answers, and does not let this
/// client in, says most.
fn explain(failures: Vec<(Endpoint, ConnectError)>, tried: &Tried) -> Error {
    let mut tls = None;
    for (endpoint, failure) in failures {
        match failure {
            ConnectError::Rejected(why) => {
                return Error::rejected(&endpoint.to_string(), &why);
            }
            ConnectError::Tls(why) => tls = tls.or(Some(format!("{endpoint}: {why}"))),
            ConnectError::Down(_) => {}
        }
    }
    match tls {
        Some(why) => Error::tls(why),
        None => Error::unavailable(tried.lines()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn former_addresses_are_kept_and_come_last() {
        let places = Places::default();
        let at = |list: &[(u32, &str)]| {
            list.iter().map(|(id, address)| (*id, (*address).to_owned())).collect::<Vec<_>>()
        };
        places.learn(at(&[(1, "a:1"), (2, "b:1")]));
        places.learn(at(&[(2, "b:1"), (3, "c:1")]));
        places.learn([]);
        let known = places.0.borrow().clone();
        assert_eq!(known.now.values().collect::<Vec<_>>(), ["b:1", "c:1"]);
        assert_eq!(known.former, ["a:1"]);
        // A member that was away says what was before.
        places.learn(at(&[(1, "a:1"), (2, "b:1")]));
        assert_eq!(places.0.borrow().former, ["c:1"]);
    }
}
