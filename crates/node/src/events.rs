//! The stream of events over HTTP.

use crate::history::History;
use axum::response::sse::{self, KeepAlive};
use axum::response::{IntoResponse, Response, Sse};
use bellwether_api::json;
use futures_util::stream;
use serde::Serialize;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::sync::watch;

/// What comes next of a stream.
pub(crate) trait Listens: Send + 'static {
    type News: Serialize;

    /// The next; `None` when the stream is over.
    fn next(&mut self) -> impl Future<Output = Option<Self::News>> + Send;

    /// An event of the stream, but for its data.
    fn event(_: &Self::News) -> sse::Event {
        sse::Event::default()
    }
}

/// Tells all that a listener hears, each as JSON.
pub(crate) fn tell<L: Listens>(listener: L) -> Response {
    let told = stream::unfold(listener, |mut listener| async move {
        let news = listener.next().await?;
        let text = serde_json::to_string(&news).unwrap_or_default();
        Some((Ok::<_, Infallible>(L::event(&news).data(text)), listener))
    });
    Sse::new(told).keep_alive(KeepAlive::default()).into_response()
}

/// The position of one listener.
struct Listener {
    history: Arc<History>,
    news: watch::Receiver<u64>,
    last: u64,
    pending: VecDeque<json::Event>,
}

/// The events after this number, for ever; those that are still to come if it is not given. A
/// listener that is too slow misses what the history has forgotten, and sees that from the numbers.
pub(crate) fn stream(history: Arc<History>, after: Option<u64>) -> Response {
    let mut news = history.watch();
    let newest = *news.borrow_and_update();
    // A number of an earlier start, which had counted further, means: everything of this one.
    let last = match after {
        Some(last) if last > newest => 0,
        Some(last) => last,
        None => newest,
    };
    let pending = history.events_after(last).into();
    tell(Listener { history, news, last, pending })
}

impl Listens for Listener {
    type News = json::Event;

    fn event(event: &json::Event) -> sse::Event {
        sse::Event::default().id(event.seq.to_string()).event(&event.kind)
    }

    async fn next(&mut self) -> Option<json::Event> {
        loop {
            if let Some(event) = self.pending.pop_front() {
                self.last = event.seq;
                return Some(event);
            }
            self.news.changed().await.ok()?;
            self.pending = self.history.events_after(self.last).into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellwether_core::NodeId;
    use bellwether_member::{Event, Reason};

    fn listener(history: &Arc<History>, last: u64) -> Listener {
        let (news, pending) = (history.watch(), history.events_after(last).into());
        Listener { history: history.clone(), news, last, pending }
    }

    #[tokio::test]
    async fn a_listener_gets_the_past_and_then_the_present() {
        let history = Arc::new(History::new(NodeId::new(1)));
        for _ in 0..3 {
            history.note(&Event::Electing(Reason::Asked));
        }
        let mut late = listener(&history, 1);
        assert_eq!(late.next().await.unwrap().seq, 2);
        assert_eq!(late.next().await.unwrap().seq, 3);
        let mut now = listener(&history, 3);
        let told = tokio::join!(late.next(), now.next(), async {
            history.note(&Event::Elected(NodeId::new(1)));
        });
        assert_eq!((told.0.unwrap().seq, told.1.unwrap().kind), (4, "elected".to_owned()));
    }
}
