//! Judges detectors by what really happened.
//!
//! It hears what all sites say, at once and without delay, and keeps its own global wait-for graph:
//! a transaction waits for a holder from the moment that the resource's site puts it into the queue
//! until the resource's site gives it the lock, the waiter's home ends it, or the holder's home
//! gives the resource back. Each transaction waits for one resource and each resource has one
//! holder, so each transaction has at most one edge, and the judge finds a cycle by following the
//! edges. That has nothing to do with how the detectors search.
//!
//! What it judges:
//! * `no-phantom`: a cycle that is reported, or for which a transaction is aborted, was real: there
//!   was a moment at which all its edges stood, with these requests and these resources.
//! * `found`: a deadlock among live sites is broken within a bound, and none is left at the end.
//! * `one-report`: a deadlock costs one victim, and is reported once where the detector promises
//!   that. A crash in the middle excuses a second report.

use super::detector::Detector;
use super::names::{Cycle, Edge, Resource, Tx};
use super::output::{How, Output};
use super::site::Site;
use super::summary;
use crate::referee::{Breach, Fact, Picture, Referee};
use bellwether_core::{NodeId, SortedMap, SortedSet, Time};
use std::time::Duration;

/// What it takes for an edge: the waiter with the timestamp of its request, the holder, and what it
/// is about.
pub(super) type Link = (Tx, u64, Tx, Resource);

/// A deadlock that really was.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Deadlock {
    /// Sorted, so that the same is always the same.
    pub(super) links: Vec<Link>,
    pub(super) formed: Time,
    /// The first report, with the cycle as it was reported.
    pub(super) found: Option<(Time, Cycle)>,
    pub(super) reports: u32,
    pub(super) victim: Option<Tx>,
    /// When it was broken, by an abort or because a transaction gave up.
    pub(super) broken: Option<Time>,
}

/// Hears all sites.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Judge {
    one_finder: bool,
    /// How long a deadlock may stand: at all, and for each transaction in it.
    wakes: Duration,
    each: Duration,
    /// Transactions that have begun and not ended, and when they began.
    pub(super) alive: SortedMap<Tx, Time>,
    /// When those in a deadlock began, for the picture.
    pub(super) began: SortedMap<Tx, Time>,
    holders: SortedMap<Resource, Tx>,
    waits: SortedMap<Tx, (u64, Resource)>,
    dead: SortedSet<NodeId>,
    pub(super) deadlocks: Vec<Deadlock>,
    /// The last cycle that was reported and never was, and when, for the picture.
    pub(super) phantom: Option<(Time, Cycle)>,
    pub(super) begun: u64,
    pub(super) committed: u64,
    pub(super) gave_up: u64,
    pub(super) victims: u64,
    pub(super) refuted: u64,
}

const PHANTOM: &str = "a deadlock that is reported, or costs a victim, was real";
const FOUND: &str = "every deadlock among live sites is broken in bounded time";
const ONE_REPORT: &str = "a deadlock is reported once, and costs one victim";

fn breach(
    name: &'static str,
    text: &'static str,
    by: impl Into<Vec<NodeId>>,
) -> Result<(), Breach> {
    Err(Breach { name, text, by: by.into() })
}

fn link(edge: &Edge) -> Link {
    (edge.waiter, edge.label, edge.holder, edge.resource)
}

impl Judge {
    /// For a detector that finds a cycle once or not, that begins to search after `wakes` at the
    /// latest, and then needs `each` for each transaction.
    pub fn new(one_finder: bool, wakes: Duration, each: Duration) -> Self {
        Judge {
            one_finder,
            wakes,
            each,
            alive: SortedMap::new(),
            began: SortedMap::new(),
            holders: SortedMap::new(),
            waits: SortedMap::new(),
            dead: SortedSet::new(),
            deadlocks: Vec::new(),
            phantom: None,
            begun: 0,
            committed: 0,
            gave_up: 0,
            victims: 0,
            refuted: 0,
        }
    }

    /// Takes note of what a site says, and judges it.
    pub fn hear(&mut self, at: Time, who: NodeId, output: &Output) -> Result<(), Breach> {
        match output {
            Output::Begun(tx) => {
                self.begun += 1;
                self.alive.insert(*tx, at);
            }
            Output::Waits { tx, label, resource, .. } => {
                if self.alive.contains_key(tx) {
                    self.waits.insert(*tx, (*label, *resource));
                    self.look_for_deadlock(*tx, at);
                }
            }
            Output::Granted { tx, resource } => {
                if self.waits.get(tx).is_some_and(|(_, awaited)| awaited == resource) {
                    self.waits.remove(tx);
                }
                match self.alive.contains_key(tx) {
                    true => self.holders.insert(*resource, *tx),
                    false => self.holders.remove(resource),
                };
            }
            Output::Unlocked { tx, resource } => {
                if self.holders.get(resource) == Some(tx) {
                    self.holders.remove(resource);
                }
            }
            Output::Ended { tx, how } => self.ended(at, who, *tx, how)?,
            Output::Found(cycle) => self.reported(at, who, cycle)?,
            Output::Refuted(_) => self.refuted += 1,
            Output::Refused(_) | Output::Election(_) => {}
        }
        self.look_at_time(at)
    }

    /// From a transaction that has just begun to wait, along the only way that there is.
    fn look_for_deadlock(&mut self, from: Tx, at: Time) {
        let mut links = Vec::new();
        let mut last = from;
        while let Some((label, resource)) = self.waits.get(&last)
            && let Some(holder) = self.holders.get(resource)
        {
            links.push((last, *label, *holder, *resource));
            last = *holder;
            if last == from {
                break;
            }
            if links.len() > self.waits.len() {
                return;
            }
        }
        if links.is_empty() || last != from {
            return;
        }
        for (tx, ..) in &links {
            self.began.extend(self.alive.get(tx).map(|at| (*tx, *at)));
        }
        links.sort_unstable();
        self.deadlocks.push(Deadlock {
            links,
            formed: at,
            found: None,
            reports: 0,
            victim: None,
            broken: None,
        });
    }

    fn deadlock(&mut self, cycle: &Cycle) -> Option<&mut Deadlock> {
        let mut links: Vec<Link> = cycle.edges().iter().map(link).collect();
        links.sort_unstable();
        self.deadlocks.iter_mut().rev().find(|deadlock| deadlock.links == links)
    }

    fn reported(&mut self, at: Time, who: NodeId, cycle: &Cycle) -> Result<(), Breach> {
        let once = self.one_finder && self.dead.is_empty();
        let Some(deadlock) = self.deadlock(cycle) else {
            self.phantom = Some((at, cycle.clone()));
            return breach("no-phantom", PHANTOM, [who]);
        };
        deadlock.reports += 1;
        deadlock.found.get_or_insert((at, cycle.clone()));
        if once && deadlock.reports > 1 {
            return breach("one-report", ONE_REPORT, [who]);
        }
        Ok(())
    }

    fn ended(&mut self, at: Time, who: NodeId, tx: Tx, how: &How) -> Result<(), Breach> {
        self.alive.remove(&tx);
        self.waits.remove(&tx);
        self.holders.retain(|_, holder| *holder != tx);
        let mut judged = Ok(());
        match how {
            How::Committed => self.committed += 1,
            How::GaveUp => self.gave_up += 1,
            How::Victim(cycle) => {
                self.victims += 1;
                judged = match self.deadlock(cycle) {
                    None => breach("no-phantom", PHANTOM, [who]),
                    Some(deadlock) if deadlock.victim.is_some() => {
                        breach("one-report", ONE_REPORT, [who])
                    }
                    Some(deadlock) => {
                        deadlock.victim = Some(tx);
                        Ok(())
                    }
                };
            }
        }
        for deadlock in self.deadlocks.iter_mut().filter(|deadlock| deadlock.broken.is_none()) {
            if deadlock.links.iter().any(|(waiter, ..)| *waiter == tx) {
                deadlock.broken = Some(at);
            }
        }
        judged
    }

    /// Those that are not broken, and have a right to be found.
    fn open(&self) -> impl Iterator<Item = &Deadlock> {
        let lives = |(tx, _, _, resource): &Link| {
            !self.dead.contains(&tx.home) && !self.dead.contains(&resource.site)
        };
        let open = self.deadlocks.iter().filter(|deadlock| deadlock.broken.is_none());
        open.filter(move |deadlock| deadlock.links.iter().all(lives))
    }

    fn look_at_time(&self, at: Time) -> Result<(), Breach> {
        let overdue = |deadlock: &&Deadlock| {
            let steps = u32::try_from(deadlock.links.len()).unwrap_or(u32::MAX).saturating_add(1);
            at > deadlock.formed + self.wakes + self.each.saturating_mul(steps)
        };
        self.open().find(overdue).map_or(Ok(()), missed)
    }

    /// None may be left at the end.
    pub fn close(&self) -> Result<(), Breach> {
        self.open().next().map_or(Ok(()), missed)
    }

    /// A site has crashed: it has forgotten its locks, and its transactions are gone.
    pub fn lose(&mut self, who: NodeId) {
        self.dead.insert(who);
    }
}

fn missed(deadlock: &Deadlock) -> Result<(), Breach> {
    let sites: SortedSet<NodeId> = deadlock.links.iter().map(|(.., r)| r.site).collect();
    breach("found", FOUND, sites.into_iter().collect::<Vec<_>>())
}

impl<D: Detector> Referee<Site<D>> for Judge {
    fn hears(&mut self, at: Time, who: NodeId, output: &Output) -> Result<(), Breach> {
        self.hear(at, who, output)
    }

    fn crashed(&mut self, _: Time, who: NodeId) {
        self.lose(who);
    }

    fn closes(&mut self, _: Time, _: &[NodeId]) -> Result<(), Breach> {
        self.close()
    }

    fn claims(&self) -> Vec<&'static str> {
        vec!["no-phantom", "one-report", "found"]
    }

    fn facts(&self) -> Vec<Fact> {
        summary::facts(self)
    }

    fn pictures(&self) -> Vec<Picture> {
        summary::pictures(self)
    }
}

#[cfg(test)]
#[path = "tests/judge.rs"]
mod tests;
