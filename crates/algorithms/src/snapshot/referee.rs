//! The referee that puts the parts of snapshots together and judges them.
//!
//! How a snapshot came about does not matter here: markers are not looked at. The parts fit
//! together or they do not.

use super::part::{Part, SnapshotId};
use super::{Output, Snapshots};
use crate::definition::{Definition, Quantity};
use crate::referee::{Arc, Breach, Fact, Graph, Picture, Referee, Vertex};
use bellwether_core::{Erasable, Group, NodeId, Process, SortedMap, SortedSet, Time};
use serde_json::{Value, json};
use std::hash::{Hash, Hasher};
use std::time::Duration;

/// Judges the snapshots of a run, and lets the subject's own referee hear what the subject says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Auditor<P: Process> {
    subject: Subject<P>,
    group: Group,
    quantity: Option<Quantity>,
    below: Option<Box<dyn Referee<P>>>,
    begun: SortedSet<SnapshotId>,
    parts: SortedMap<SnapshotId, SortedMap<NodeId, Part<P, P::Msg>>>,
    finished: Vec<Finished>,
    /// Whether a process has crashed: then nothing is promised any more.
    crashed: bool,
}

/// What is known of the process below. It is the same for all referees of a run, so it makes no
/// difference between two of them.
#[derive(Debug)]
struct Subject<P: Process>(std::sync::Arc<Definition<P>>);

impl<P: Process> Clone for Subject<P> {
    fn clone(&self) -> Self {
        Subject(self.0.clone())
    }
}

impl<P: Process> PartialEq for Subject<P> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<P: Process> Eq for Subject<P> {}

impl<P: Process> Hash for Subject<P> {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// What there is to say about a snapshot that is complete.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Finished {
    snapshot: SnapshotId,
    at: Time,
    /// How much the processes hold, if they can tell, and how much is on the way.
    held: Option<u64>,
    carried: u64,
    on_the_way: usize,
    graph: Graph,
}

const CONSISTENT: &str = "consistent-cut";
const CONTENTS: &str = "channel-contents";
const CONSERVED: &str = "conserved";
const UNFINISHED: &str = "unfinished";

/// At most this many snapshots are listed one by one.
const TOLD: usize = 4;

impl<P: Process> Auditor<P> {
    /// For the snapshots of a run with this configuration of the subject.
    pub fn new(subject: std::sync::Arc<Definition<P>>, config: &P::Config, group: &Group) -> Self {
        Auditor {
            group: group.clone(),
            quantity: subject.quantity(config, group),
            below: subject.new_referee(config, group),
            subject: Subject(subject),
            begun: SortedSet::new(),
            parts: SortedMap::new(),
            finished: Vec::new(),
            crashed: false,
        }
    }

    fn add(&mut self, at: Time, who: NodeId, part: &Part<P, P::Msg>) -> Result<(), Breach> {
        let snapshot = part.snapshot;
        let parts = self.parts.entry(snapshot).or_default();
        parts.insert(who, part.clone());
        if parts.len() < self.group.len() || self.crashed {
            return Ok(());
        }
        let Some(parts) = self.parts.remove(&snapshot) else { return Ok(()) };
        // Told of in any case: what is wrong with a snapshot can be seen in it.
        let finished = Finished::new(&self.subject.0, &self.group, snapshot, at, &parts);
        let sum = finished.sum();
        self.finished.push(finished);
        self.check_consistency(&parts)?;
        self.check_channels(&parts)?;
        match (self.quantity, sum) {
            (Some(Quantity { total, .. }), Some(sum)) if total != sum => {
                Err(breach(CONSERVED, "in every snapshot there is as much as ever", [who, who]))
            }
            _ => Ok(()),
        }
    }

    /// By the clocks: no process knows of more events of another than the other has recorded.
    fn check_consistency(&self, parts: &SortedMap<NodeId, Part<P, P::Msg>>) -> Result<(), Breach> {
        for (place, id) in self.group.ring().iter().enumerate() {
            let events = |part: &Part<P, P::Msg>| part.clock.counters().get(place).copied();
            let recorded = parts.get(id).and_then(events);
            for (other, part) in parts {
                if events(part) > recorded {
                    let text = "nothing is received in a snapshot that is not sent in it";
                    return Err(breach(CONSISTENT, text, [*id, *other]));
                }
            }
        }
        Ok(())
    }

    /// By the counts: on the way is what was sent and not received, and nothing else.
    fn check_channels(&self, parts: &SortedMap<NodeId, Part<P, P::Msg>>) -> Result<(), Breach> {
        let wrong = |from: &NodeId, to: &NodeId| {
            let text = "what is on the way in a snapshot was sent and not received in it";
            Err(breach(CONTENTS, text, [*from, *to]))
        };
        for (place, to) in self.group.ring().iter().enumerate() {
            for (source, from) in self.group.ring().iter().enumerate() {
                let (Some(sender), Some(receiver)) = (parts.get(from), parts.get(to)) else {
                    return wrong(from, to);
                };
                let sent = sender.sent.get(place).copied().unwrap_or_default();
                let Some(received) = receiver.received.get(source) else {
                    return wrong(from, to);
                };
                let recorded = receiver.channels.get(from).map_or(&[][..], Vec::as_slice);
                let mut numbers: Vec<u64> = recorded.iter().map(|msg| msg.number).collect();
                numbers.sort_unstable();
                // A stamp tells the same as the number, and was made in another way.
                let cut = sender.clock.counters().get(source);
                let late = recorded.iter().any(|msg| msg.stamp.counters().get(source) > cut);
                if late || received.largest() > sent || !received.missing(sent).eq(numbers) {
                    return wrong(from, to);
                }
            }
        }
        Ok(())
    }

    /// `500 in every cut: 430 in accounts, 70 on the way`.
    fn amounts(&self, quantity: Quantity) -> Fact {
        let Quantity { name, place, total } = quantity;
        let tell = |finished: &Finished| {
            let Finished { snapshot, held, carried, .. } = finished;
            match (held, finished.sum()) {
                (Some(held), Some(sum)) if sum == total => {
                    format!("{held} {place}, {carried} on the way")
                }
                (Some(held), Some(sum)) => {
                    format!("{sum} in {snapshot}: {held} {place}, {carried} on the way")
                }
                _ => format!("not to be told in {snapshot}"),
            }
        };
        let sums_up = |f: &Finished| f.sum() == Some(total);
        let every = if self.finished.iter().all(sums_up) { " in every cut" } else { "" };
        let text = match &self.finished[..] {
            [] => total.to_string(),
            all => format!("{total}{every}: {}", list(all, "; ", tell)),
        };
        let cut = |f: &Finished| json!({ "held": f.held, "on_the_way": f.carried });
        let cuts: Vec<Value> = self.finished.iter().map(cut).collect();
        Fact { name, text, value: json!({ "total": total, "cuts": cuts }) }
    }

    /// `2 complete: P1#1 (1 message on the way), P3#1 (nothing on the way)`.
    fn counted(&self) -> Fact {
        let open = self.begun.len().saturating_sub(self.finished.len());
        let tell = |finished: &Finished| {
            let on_the_way = match finished.on_the_way {
                0 => "nothing".to_owned(),
                1 => "1 message".to_owned(),
                count => format!("{count} messages"),
            };
            format!("{} ({on_the_way} on the way)", finished.snapshot)
        };
        let mut text = match &self.finished[..] {
            [] if open == 0 => "none".to_owned(),
            [] => "none complete".to_owned(),
            all => format!("{} complete: {}", all.len(), list(all, ", ", tell)),
        };
        if open > 0 {
            text = format!("{text}; {open} not");
        }
        let one = |f: &Finished| {
            let at = f.at.as_micros() as f64 / 1_000.0;
            json!({ "snapshot": f.snapshot.to_string(), "at_ms": at, "messages": f.on_the_way })
        };
        let complete: Vec<Value> = self.finished.iter().map(one).collect();
        let value = json!({ "complete": complete, "not_complete": open });
        Fact { name: "snapshots", text, value }
    }
}

/// The first of them, and how many more there are.
fn list(all: &[Finished], between: &str, tell: impl Fn(&Finished) -> String) -> String {
    let mut told: Vec<String> = all.iter().take(TOLD).map(tell).collect();
    if all.len() > TOLD {
        told.push(format!("and {} more", all.len() - TOLD));
    }
    told.join(between)
}

fn breach(name: &'static str, text: &'static str, [from, to]: [NodeId; 2]) -> Breach {
    let by = if from == to { vec![to] } else { vec![from, to] };
    Breach { name, text, by }
}

impl Finished {
    fn new<P: Process>(
        subject: &Definition<P>,
        group: &Group,
        snapshot: SnapshotId,
        at: Time,
        parts: &SortedMap<NodeId, Part<P, P::Msg>>,
    ) -> Self {
        let title = format!("Snapshot {snapshot}");
        let mut graph = Graph { title, nodes: Vec::new(), edges: Vec::new() };
        let (mut held, mut carried, mut on_the_way) = (Some(0_u64), 0_u64, 0);
        for (place, id) in group.ring().iter().enumerate() {
            let marked = *id == snapshot.initiator;
            let Some(part) = parts.get(id) else { continue };
            let (name, note) = (id.to_string(), subject.note_of(&part.state));
            graph.nodes.push(Vertex { name, note, group: String::new(), marked });
            let all = held.zip(subject.held_by(&part.state));
            held = all.map(|(held, more)| held.saturating_add(more));
            on_the_way += part.on_the_way();
            for (from, messages) in &part.channels {
                let Some(from) = group.place(*from) else { continue };
                for msg in messages {
                    carried = carried.saturating_add(subject.carried_by(&msg.body));
                    let label = msg.body.to_string();
                    graph.edges.push(Arc { from, to: place, label, marked: false });
                }
            }
        }
        Finished { snapshot, at, held, carried, on_the_way, graph }
    }

    /// All there is.
    fn sum(&self) -> Option<u64> {
        self.held.map(|held| held.saturating_add(self.carried))
    }
}

impl<P: Erasable> Referee<Snapshots<P>> for Auditor<P> {
    fn hears(
        &mut self,
        at: Time,
        who: NodeId,
        output: &Output<P, P::Msg, P::Output>,
    ) -> Result<(), Breach> {
        match output {
            Output::Cut(snapshot) => {
                self.begun.insert(*snapshot);
                Ok(())
            }
            Output::Recorded(part) => self.add(at, who, part),
            Output::Below(output) => match &mut self.below {
                Some(below) => below.hears(at, who, output),
                None => Ok(()),
            },
            Output::Unknown(_) => Ok(()),
        }
    }

    fn crashed(&mut self, at: Time, who: NodeId) {
        self.crashed = true;
        if let Some(below) = &mut self.below {
            below.crashed(at, who);
        }
    }

    fn looks_every(&self) -> Option<Duration> {
        self.below.as_ref().and_then(|below| below.looks_every())
    }

    fn looks(&mut self, at: Time, right: Time, clocks: &[(NodeId, Time)]) -> Result<(), Breach> {
        self.below.as_mut().map_or(Ok(()), |below| below.looks(at, right, clocks))
    }

    fn closes(&mut self, at: Time, live: &[NodeId]) -> Result<(), Breach> {
        let done = |snapshot: &SnapshotId| self.finished.iter().any(|f| f.snapshot == *snapshot);
        if !self.crashed
            && let Some(open) = self.begun.iter().find(|snapshot| !done(snapshot))
        {
            let text = "every snapshot that is begun is completed";
            return Err(breach(UNFINISHED, text, [open.initiator, open.initiator]));
        }
        self.below.as_mut().map_or(Ok(()), |below| below.closes(at, live))
    }

    fn claims(&self) -> Vec<&'static str> {
        let mut claims = vec![CONSISTENT, CONTENTS, CONSERVED, UNFINISHED];
        claims.extend(self.below.iter().flat_map(|below| below.claims()));
        claims
    }

    fn facts(&self) -> Vec<Fact> {
        let mut facts = vec![self.counted()];
        facts.extend(self.quantity.map(|quantity| self.amounts(quantity)));
        facts.extend(self.below.iter().flat_map(|below| below.facts()));
        facts
    }

    fn pictures(&self) -> Vec<Picture> {
        let shown = self.finished.iter().take(TOLD);
        let mut pictures: Vec<Picture> =
            shown.map(|finished| Picture::Graph(finished.graph.clone())).collect();
        pictures.extend(self.below.iter().flat_map(|below| below.pictures()));
        pictures
    }
}
