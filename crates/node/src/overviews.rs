//! The stream of overviews: everything that a dashboard shows, without asking again and again.

use crate::about::About;
use crate::events::{Listens, tell};
use crate::history::History;
use axum::response::Response;
use bellwether_api::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

/// A glance comes at least this often: leases and heartbeats move while nothing happens.
const AT_LEAST: Duration = Duration::from_millis(250);
/// And at most this often, whatever happens.
const AT_MOST: Duration = Duration::from_millis(50);
/// The number of past changes and events in the first overview.
const PAST: usize = 100;

/// The position of one listener.
struct Listener {
    about: Arc<About>,
    news: watch::Receiver<u64>,
    /// The number of the last event that was told.
    told: u64,
    /// When the last glance was sent.
    last: Option<Instant>,
}

/// Glances until the member ends or hangs.
pub(crate) fn stream(about: Arc<About>) -> Response {
    let news = about.history.watch();
    tell(Listener { about, news, told: 0, last: None })
}

impl Listens for Listener {
    type News = json::Overview;

    async fn next(&mut self) -> Option<json::Overview> {
        if let Some(last) = self.last {
            sleep_until(last + AT_MOST).await;
            // An error means that there will be no more news, which the question below shows too.
            let _ = timeout(AT_LEAST - AT_MOST, self.news.changed()).await;
        }
        // First the news, then the state: what is told has always happened already.
        self.news.borrow_and_update();
        let (changes, events) = latest(&self.about.history, self.told);
        let status = self.about.ask().await?;
        self.told = events.last().map_or(self.told, |event| event.seq);
        self.last = Some(Instant::now());
        Some(json::Overview {
            status: self.about.status(&status),
            members: self.about.members(&status).members,
            changes,
            events,
        })
    }
}

/// What happened after this event, as far as a page can use it.
fn latest(history: &History, told: u64) -> (Vec<json::Change>, Vec<json::Event>) {
    let events = history.events_after(told);
    // Every change is made by an event, and has its number.
    let newest = events.last().map_or(told, |event| event.seq);
    let is_new = |change: &json::Change| (told + 1..=newest).contains(&change.seq);
    let changes = history.changes().into_iter().filter(is_new).collect();
    (last(changes), last(events))
}

fn last<T>(mut list: Vec<T>) -> Vec<T> {
    list.drain(..list.len().saturating_sub(PAST));
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellwether_core::NodeId;
    use bellwether_member::{Event, Reason, Term};

    #[test]
    fn each_change_is_told_once() {
        let history = History::new(NodeId::new(1));
        history.note(&Event::Electing(Reason::Alone));
        history.note(&Event::Won(Term::new(1)));
        let (changes, events) = latest(&history, 0);
        assert_eq!((changes.len(), events.len()), (1, 2));
        assert_eq!(latest(&history, 2), (Vec::new(), Vec::new()));
        history.note(&Event::Follows(NodeId::new(2), Term::new(2)));
        let (changes, events) = latest(&history, 2);
        assert_eq!((changes[0].to, changes.len()), (Some(2), 1));
        assert_eq!((events[0].seq, events.len()), (3, 1));
    }

    #[test]
    fn of_a_long_past_the_latest_is_told() {
        let history = History::new(NodeId::new(1));
        for term in 0..3 * PAST as u64 {
            history.note(&Event::Won(Term::new(term)));
        }
        let (changes, events) = latest(&history, 0);
        assert_eq!((changes.len(), events.len()), (PAST, PAST));
        assert_eq!(changes.last().unwrap().seq, 3 * PAST as u64);
    }
}
