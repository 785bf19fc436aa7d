//! The streams: what has changed, without asking again and again.

use super::look::{Blind, Version, look};
use super::shown::{Part, lists, role};
use crate::about::About;
use crate::events::{Listens, tell};
use axum::response::Response;
use bellwether_api::coordination as shown;
use bellwether_coordination::Coordination;
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How often the member is asked for changes; no listener is told more often.
const LOOKS_EVERY: Duration = Duration::from_millis(100);
/// Everything is sent this often even if nothing has changed.
const AT_LEAST: Duration = Duration::from_secs(5);

/// Everything, until the member ends or hangs.
pub(super) fn everything(about: Arc<About>, limit: usize) -> Response {
    let id = about.settings.id.number();
    tell(Watch::new(about, Some(AT_LEAST), move |coordination: &Coordination, version: Version| {
        framed(lists(coordination, Part::All, limit), id, version)
    }))
}

/// One role, until the member ends or hangs.
pub(super) fn one_role(about: Arc<About>, name: String, limit: usize) -> Response {
    tell(Watch::new(about, None, move |coordination: &Coordination, _: Version| {
        role(coordination, &name, limit)
    }))
}

/// The lists, with who tells of them and when.
pub(super) fn framed(
    mut lists: shown::Coordination,
    id: u32,
    version: Version,
) -> shown::Coordination {
    lists.id = id;
    lists.coordinator = version.coordinator.map(|coordinator| coordinator.number());
    lists.term = version.term;
    lists.sequence = version.sequence;
    lists
}

/// The position of one listener.
struct Watch<T, F> {
    about: Arc<About>,
    at_least: Option<Duration>,
    see: Arc<F>,
    /// What was last told, when, and as of which position of the log.
    last: Option<(T, Version, Instant)>,
}

impl<T, F> Watch<T, F> {
    fn new(about: Arc<About>, at_least: Option<Duration>, see: F) -> Self {
        Watch { about, at_least, see: Arc::new(see), last: None }
    }
}

impl<T, F> Listens for Watch<T, F>
where
    T: Clone + PartialEq + Serialize + Send + Sync + 'static,
    F: Fn(&Coordination, Version) -> T + Send + Sync + 'static,
{
    type News = T;

    /// The next that is worth telling; nothing if the member has ended or hangs.
    async fn next(&mut self) -> Option<T> {
        loop {
            let mut known = None;
            if let Some((_, version, told)) = &self.last {
                sleep(LOOKS_EVERY).await;
                let due = self.at_least.is_some_and(|span| told.elapsed() >= span);
                known = (!due).then_some(*version);
            }
            let see = self.see.clone();
            let seen = look(&self.about, move |coordination, version| {
                (known != Some(version)).then(|| (see(coordination, version), version))
            });
            // Nothing new costs the member a comparison.
            let (seen, version) = match self.about.turns.take(seen).await {
                Ok(Some(seen)) => seen,
                Ok(None) => continue,
                Err(Blind::Silent) => return None,
                Err(Blind::NoCopy) => {
                    sleep(LOOKS_EVERY).await;
                    continue;
                }
            };
            if let Some((last, at, _)) = &mut self.last
                && known.is_some()
                && *last == seen
            {
                *at = version;
                continue;
            }
            self.last = Some((seen.clone(), version, Instant::now()));
            return Some(seen);
        }
    }
}
