//! The stream of messages: what a member sends and receives, as it happens.
//!
//! A page could not show every heartbeat, and no user could read them. So messages are collected
//! for a moment; those of the election and of the log are told one by one, heartbeats of one
//! kind and one way together.

use crate::events::{Listens, tell};
use crate::handle::Handle;
use crate::wall;
use axum::response::Response;
use bellwether_api::json;
use bellwether_core::{NodeId, Role, Time};
use bellwether_net::Traffic;
use std::time::Duration;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, timeout_at};

/// How long messages are collected.
const MOMENT: Duration = Duration::from_millis(100);
/// The most messages of a moment that are reported one by one; beyond it all are reported by kind.
const SINGLE_MAX: usize = 200;

/// Who listens to a member.
struct Listener {
    handle: Handle,
    me: NodeId,
    traffic: broadcast::Receiver<Traffic>,
}

/// The messages of this member from now on, until it ends.
pub(crate) fn stream(handle: Handle, me: NodeId) -> Response {
    let traffic = handle.running.traffic();
    tell(Listener { handle, me, traffic })
}

impl Listens for Listener {
    type News = json::Messages;

    /// Waits for a message and then a moment longer; `None` when the member has ended.
    async fn next(&mut self) -> Option<json::Messages> {
        let mut batch = Batch::new(self.me);
        let mut next = self.traffic.recv().await;
        let end = Instant::now() + MOMENT;
        loop {
            match next {
                Ok(traffic) => {
                    let at = self.wall_time(traffic.at);
                    batch.add(traffic, at);
                }
                Err(RecvError::Lagged(missed)) => batch.told.missed += missed,
                Err(RecvError::Closed) if batch.is_empty() => return None,
                Err(RecvError::Closed) => return Some(batch.told),
            }
            match timeout_at(end, self.traffic.recv()).await {
                Ok(received) => next = received,
                Err(_) => return Some(batch.told),
            }
        }
    }
}

impl Listener {
    /// A reading of the member's clock as the calendar says it.
    fn wall_time(&self, at: Time) -> String {
        wall::ago(self.handle.running.clock().now().since(at))
    }
}

/// The messages of a moment.
struct Batch {
    told: json::Messages,
}

impl Batch {
    fn new(me: NodeId) -> Self {
        Batch { told: json::Messages { id: me.number(), messages: Vec::new(), missed: 0 } }
    }

    fn is_empty(&self) -> bool {
        self.told.messages.is_empty() && self.told.missed == 0
    }

    fn add(&mut self, traffic: Traffic, at: String) {
        let Traffic { from, to, kind, text, cut, .. } = traffic;
        let overhead = kind.role == Role::Overhead;
        let direction = match from.number() == self.told.id {
            true => json::Direction::Sent,
            false => json::Direction::Received,
        };
        let (from, to) = (from.number(), to.number());
        let together = overhead || self.told.messages.len() >= SINGLE_MAX;
        let mut before = self.told.messages.iter_mut().rev();
        let same = |before: &&mut json::Message| {
            (before.from, before.to, before.cut) == (from, to, cut) && before.kind == kind.name
        };
        if together && let Some(before) = before.find(same) {
            before.count += 1;
            (before.at, before.text) = (at, text);
            return;
        }
        self.told.messages.push(json::Message {
            at,
            from,
            to,
            kind: kind.name.to_owned(),
            text,
            direction,
            overhead,
            cut,
            count: 1,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellwether_core::Kind;

    fn traffic(from: u32, to: u32, kind: Kind, text: &str) -> Traffic {
        let (from, to) = (NodeId::new(from), NodeId::new(to));
        Traffic { at: Time::ZERO, from, to, kind, text: text.to_owned(), cut: false }
    }

    #[test]
    fn heartbeats_are_told_together_and_elections_one_by_one() {
        let mut batch = Batch::new(NodeId::new(1));
        let (beat, vote) = (Kind::overhead("BEAT"), Kind::protocol("ELECTION"));
        for (number, (from, to, kind)) in
            [(2, 1, beat), (1, 3, vote), (2, 1, beat), (1, 3, vote), (1, 2, beat)]
                .into_iter()
                .enumerate()
        {
            let text = format!("{}({number})", kind.name);
            batch.add(traffic(from, to, kind, &text), number.to_string());
        }
        let told: Vec<_> = batch.told.messages.iter().map(|m| (m.text.as_str(), m.count)).collect();
        assert_eq!(told, [("BEAT(2)", 2), ("ELECTION(1)", 1), ("ELECTION(3)", 1), ("BEAT(4)", 1)]);
        let first = &batch.told.messages[0];
        assert_eq!((first.at.as_str(), first.direction), ("2", json::Direction::Received));
        assert_eq!(batch.told.messages[1].direction, json::Direction::Sent);
    }

    #[test]
    fn a_flood_is_told_by_kind() {
        let mut batch = Batch::new(NodeId::new(1));
        for number in 0..10 * SINGLE_MAX {
            let to = 2 + number as u32 % 2;
            batch.add(traffic(1, to, Kind::protocol("ELECTION"), ""), String::new());
        }
        assert_eq!(batch.told.messages.len(), SINGLE_MAX);
        let all: u64 = batch.told.messages.iter().map(|message| message.count).sum();
        assert_eq!(all, 10 * SINGLE_MAX as u64);
    }

    #[test]
    fn what_a_partition_swallows_is_told_apart() {
        let mut batch = Batch::new(NodeId::new(1));
        let beat = || traffic(1, 2, Kind::overhead("BEAT"), "BEAT");
        batch.add(beat(), String::new());
        batch.add(Traffic { cut: true, ..beat() }, String::new());
        assert_eq!(batch.told.messages.len(), 2);
        assert!(batch.told.messages[1].cut);
    }
}
