//! The streams: what has changed, without asking again and again.

use super::look::{Blind, Version, look};
use super::shown::{Part, lists, role};
use crate::office::Office;
use axum::response::Sse;
use axum::response::sse::{self, KeepAlive};
use bellwether_api::duties as shown;
use bellwether_duties::Duties;
use futures_util::stream::{self, Stream};
use serde::Serialize;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The member is asked so often whether anything has changed, and nobody is told more often.
const LOOKS_EVERY: Duration = Duration::from_millis(100);
/// Everything is told so often even if nothing has changed.
const AT_LEAST: Duration = Duration::from_secs(5);

/// Everything, until the member ends or hangs.
pub(super) fn everything(
    office: Arc<Office>,
    limit: usize,
) -> Sse<impl Stream<Item = Result<sse::Event, Infallible>>> {
    let id = office.settings.id.number();
    let watch = Watch::new(office, Some(AT_LEAST), move |duties: &Duties, version: Version| {
        framed(lists(duties, Part::All, limit), id, version)
    });
    watch.stream()
}

/// One role, until the member ends or hangs.
pub(super) fn one_role(
    office: Arc<Office>,
    name: String,
    limit: usize,
) -> Sse<impl Stream<Item = Result<sse::Event, Infallible>>> {
    let watch = Watch::new(office, None, move |duties: &Duties, _| role(duties, &name, limit));
    watch.stream()
}

/// The lists, with who tells of them and when.
pub(super) fn framed(mut lists: shown::Duties, id: u32, version: Version) -> shown::Duties {
    lists.id = id;
    lists.coordinator = version.coordinator.map(|coordinator| coordinator.number());
    lists.epoch = version.epoch;
    lists.sequence = version.sequence;
    lists
}

/// Where one listener stands.
struct Watch<T, F> {
    office: Arc<Office>,
    at_least: Option<Duration>,
    see: Arc<F>,
    /// What was last told, when, and as of which version of the copy.
    last: Option<(T, Version, Instant)>,
}

impl<T, F> Watch<T, F>
where
    T: Clone + PartialEq + Serialize + Send + 'static,
    F: Fn(&Duties, Version) -> T + Send + Sync + 'static,
{
    fn new(office: Arc<Office>, at_least: Option<Duration>, see: F) -> Self {
        Watch { office, at_least, see: Arc::new(see), last: None }
    }

    fn stream(self) -> Sse<impl Stream<Item = Result<sse::Event, Infallible>>> {
        let told = stream::unfold(self, |mut watch| async move {
            let seen = watch.next().await?;
            let text = serde_json::to_string(&seen).unwrap_or_default();
            Some((Ok(sse::Event::default().data(text)), watch))
        });
        Sse::new(told).keep_alive(KeepAlive::default())
    }

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
            let seen = look(&self.office, move |duties, version| {
                (known != Some(version)).then(|| (see(duties, version), version))
            });
            // Nothing new costs the member a comparison.
            let (seen, version) = match seen.await {
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
