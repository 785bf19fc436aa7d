//! The referee of letters: each arrives once and in order, and no live process is reported down.
//!
//! It reads what writers say, not what their links do: which letters were written and which have
//! come. A crash excuses: what a dead process had sent may be lost with it, and what was under way
//! to one may be lost, or come to its next life too.

use super::courier::{self, Courier};
use super::reliable::{Config, Output, Reliable};
use crate::referee::{Breach, Fact, Referee};
use bellwether_core::{NodeId, SortedMap, SortedSet, Time};
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;

/// From whom to whom.
type Pair = (NodeId, NodeId);

/// Judges a run of letters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Postmaster {
    /// How long a peer is tried before it is reported down.
    patience: Duration,
    /// Letters that must still come, by number.
    open: BTreeMap<Pair, SortedSet<u64>>,
    /// The letters that have come to the present life of the receiver.
    come: BTreeMap<Pair, SortedSet<u64>>,
    down: SortedSet<NodeId>,
    /// When those came back that did.
    back: SortedMap<NodeId, Time>,
    written: u64,
    delivered: u64,
    resent: u64,
    dropped: u64,
    given_up: u64,
    reports: SortedSet<Pair>,
}

impl Postmaster {
    pub(super) fn new(config: &Config<()>) -> Self {
        Postmaster {
            patience: config.pause.saturating_mul(config.tries.saturating_add(2)),
            open: BTreeMap::new(),
            come: BTreeMap::new(),
            down: SortedSet::new(),
            back: SortedMap::new(),
            written: 0,
            delivered: 0,
            resent: 0,
            dropped: 0,
            given_up: 0,
            reports: SortedSet::new(),
        }
    }

    fn got(&mut self, pair: Pair, number: u64) -> Result<(), Breach> {
        self.delivered += 1;
        let by = vec![pair.0, pair.1];
        let come = self.come.entry(pair).or_default();
        let latest = come.last().copied();
        if !come.insert(number) {
            let text = "no letter arrives twice";
            return Err(Breach { name: "once", text, by });
        }
        let open = self.open.entry(pair).or_default();
        open.remove(&number);
        if latest > Some(number) || open.first().is_some_and(|first| *first < number) {
            let text = "letters of one writer arrive in the order of writing, none left out";
            return Err(Breach { name: "order", text, by });
        }
        Ok(())
    }

    /// Who is known to be up, and has been for long enough to answer.
    fn is_up(&self, peer: NodeId, at: Time) -> bool {
        let back = self.back.get(&peer);
        !self.down.contains(&peer) && back.is_none_or(|back| at.since(*back) > self.patience)
    }
}

impl Referee<Reliable<Courier>> for Postmaster {
    fn hears(
        &mut self,
        at: Time,
        who: NodeId,
        output: &Output<courier::Output>,
    ) -> Result<(), Breach> {
        match *output {
            Output::Process(courier::Output::Wrote { to, number }) => {
                self.written += 1;
                self.open.entry((who, to)).or_default().insert(number);
            }
            Output::Process(courier::Output::Got { from, number }) => {
                return self.got((from, who), number);
            }
            Output::Process(courier::Output::Unknown(_)) => {}
            Output::Again { count, .. } => self.resent += u64::from(count),
            Output::Duplicate { .. } => self.dropped += 1,
            Output::Back => {
                self.down.remove(&who);
                self.back.insert(who, at);
            }
            Output::Down { peer, .. } => {
                self.reports.insert((who, peer));
                let open = self.open.remove(&(who, peer));
                self.given_up += open.map_or(0, |open| open.len() as u64);
                if self.is_up(peer, at) {
                    let text = "only a crashed process is reported down";
                    return Err(Breach { name: "down", text, by: vec![who, peer] });
                }
            }
        }
        Ok(())
    }

    fn crashed(&mut self, _: Time, who: NodeId) {
        self.down.insert(who);
        self.open.retain(|(from, to), _| *from != who && *to != who);
        self.come.retain(|(_, to), _| *to != who);
    }

    fn closes(&mut self, _: Time, _: &[NodeId]) -> Result<(), Breach> {
        match self.open.iter().find(|(_, open)| !open.is_empty()) {
            Some(((from, to), _)) => Err(Breach {
                name: "delivery",
                text: "every letter between live processes arrives",
                by: vec![*from, *to],
            }),
            None => Ok(()),
        }
    }

    fn claims(&self) -> Vec<&'static str> {
        vec!["once", "order", "down", "delivery"]
    }

    fn facts(&self) -> Vec<Fact> {
        let count = |name, count: u64| Fact { name, text: count.to_string(), value: json!(count) };
        let reports: Vec<String> =
            self.reports.iter().map(|(by, peer)| format!("{peer} by {by}")).collect();
        let pairs: Vec<[u32; 2]> =
            self.reports.iter().map(|(by, peer)| [by.number(), peer.number()]).collect();
        vec![
            count("letters", self.written),
            count("delivered", self.delivered),
            count("resent", self.resent),
            count("duplicates-dropped", self.dropped),
            count("given-up", self.given_up),
            Fact {
                name: "reported-down",
                text: if reports.is_empty() { "nobody".to_owned() } else { reports.join(", ") },
                value: json!(pairs),
            },
        ]
    }
}
