//! All orders in which inputs can come and messages can arrive, for a few payments and snapshots.

use super::{Effects, P, config, id};
use crate::catalogue::Algorithm;
use crate::referee::{Breach, Referee};
use crate::snapshot::{Auditor, Bank, Config, Msg, Output, Routes, bank};
use bellwether_core::{Channels, Effect, Group, Process, Time, step};
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{Hash, Hasher};

type Said = Output<Bank, bank::Transfer, bank::Output>;

/// Some processes, what is still to be asked of them, and what is on the way between them.
#[derive(Clone)]
struct Crowd {
    group: Group,
    config: Config<bank::Config>,
    processes: Vec<P>,
    /// By place, in order.
    script: Vec<VecDeque<&'static str>>,
    channels: BTreeMap<(usize, usize), VecDeque<Msg<bank::Transfer>>>,
    order: Channels,
    said: Vec<(usize, Said)>,
}

/// What the exploration saw.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    states: usize,
    /// In how many different cuts nothing, and something, was on the way.
    quiet_cuts: usize,
    busy_cuts: usize,
    breaches: BTreeSet<&'static str>,
}

impl Crowd {
    fn new(routes: Routes, script: &[&[&'static str]]) -> Self {
        let group = Group::numbered(script.len() as u32).unwrap();
        let mut crowd = Crowd {
            config: config(routes),
            processes: vec![P::default(); script.len()],
            script: script.iter().map(|verbs| verbs.iter().copied().collect()).collect(),
            channels: BTreeMap::new(),
            order: Channels::Fifo,
            said: Vec::new(),
            group,
        };
        for place in 0..script.len() {
            let effects = step(&crowd.group, place, &crowd.config, |cx| {
                crowd.processes[place].on_start(None, cx);
            });
            crowd.take(place, effects);
        }
        crowd
    }

    fn take(&mut self, place: usize, effects: Effects) {
        for effect in effects {
            match effect {
                Effect::Send(to, msg) => {
                    let to = self.group.place(to).unwrap();
                    self.channels.entry((place, to)).or_default().push_back(msg);
                }
                Effect::Emit(output) => self.said.push((place, output)),
                Effect::SetTimer(..) | Effect::CancelTimer(_) => {}
            }
        }
    }

    /// All that can come next.
    fn successors(&self) -> Vec<Crowd> {
        let mut next = Vec::new();
        for place in 0..self.processes.len() {
            let mut crowd = self.clone();
            if let Some(verb) = crowd.script[place].pop_front() {
                let input = P::input(verb).unwrap();
                let process = &mut crowd.processes[place];
                let effects =
                    step(&self.group, place, &self.config, |cx| process.on_input(input, cx));
                crowd.take(place, effects);
                next.push(crowd);
            }
        }
        for ((from, to), channel) in &self.channels {
            let open = if self.order == Channels::Any { channel.len() } else { 1 };
            for index in 0..open.min(channel.len()) {
                let mut crowd = self.clone();
                let channel = crowd.channels.get_mut(&(*from, *to)).unwrap();
                let msg = channel.remove(index).unwrap();
                let (process, sender) = (&mut crowd.processes[*to], id(*from as u32 + 1));
                let effects =
                    step(&self.group, *to, &self.config, |cx| process.on_message(sender, msg, cx));
                crowd.take(*to, effects);
                next.push(crowd);
            }
        }
        next
    }

    /// What a referee makes of all that was said.
    fn judge(&self) -> (Auditor<Bank>, Result<(), Breach>) {
        let mut auditor = Auditor::new(&self.config.below, &self.group);
        let mut judged = Ok(());
        for (place, output) in &self.said {
            let heard = auditor.hears(Time::ZERO, id(*place as u32 + 1), output);
            judged = judged.and(heard);
        }
        let judged = judged.and_then(|()| auditor.closes(Time::ZERO, self.group.ring()));
        (auditor, judged)
    }

    fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.processes, &self.script, &self.channels).hash(&mut hasher);
        // In which order the parts were said does not matter.
        let mut parts: Vec<u64> = Vec::new();
        for (place, output) in &self.said {
            if let Output::Recorded(part) = output {
                let mut hasher = DefaultHasher::new();
                (place, part).hash(&mut hasher);
                parts.push(hasher.finish());
            }
        }
        parts.sort_unstable();
        parts.hash(&mut hasher);
        hasher.finish()
    }

    fn explore(self) -> Seen {
        let (mut seen, mut known, mut cuts) = (Seen::default(), BTreeSet::new(), BTreeSet::new());
        let mut open = vec![self];
        while let Some(crowd) = open.pop() {
            if !known.insert(crowd.fingerprint()) {
                continue;
            }
            let next = crowd.successors();
            if next.is_empty() {
                assert!(crowd.processes.iter().all(P::is_complete));
                let (auditor, judged) = crowd.judge();
                match judged {
                    Ok(()) => {
                        for fact in auditor.facts().iter().filter(|fact| fact.name == "money") {
                            for cut in fact.value["cuts"].as_array().unwrap() {
                                cuts.insert(cut.to_string());
                            }
                        }
                    }
                    Err(breach) => {
                        seen.breaches.insert(breach.name);
                    }
                }
            }
            open.extend(next);
        }
        seen.states = known.len();
        seen.quiet_cuts = cuts.iter().filter(|cut| cut.contains("\"on_the_way\":0")).count();
        seen.busy_cuts = cuts.len() - seen.quiet_cuts;
        seen
    }
}

/// Every order goes well, and there are at least so many states and so many different cuts with
/// money on the way.
fn all_is_well(routes: Routes, script: &[&[&'static str]], states: usize, busy: usize) {
    let seen = Crowd::new(routes, script).explore();
    assert!(seen.breaches.is_empty(), "{seen:?}");
    assert!(seen.states >= states && seen.busy_cuts == busy && seen.quiet_cuts > 0, "{seen:?}");
}

#[test]
fn two_processes_one_snapshot() {
    let script: &[&[&str]] =
        &[&["transfer:2:1", "transfer:2:2", "snapshot"], &["transfer:1:4", "transfer:1:8"]];
    all_is_well(Routes::Mesh, script, 300, 3);
}

#[test]
fn two_processes_two_snapshots() {
    let script: &[&[&str]] = &[
        &["transfer:2:1", "snapshot", "transfer:2:2"],
        &["transfer:1:4", "snapshot", "transfer:1:8"],
    ];
    all_is_well(Routes::Mesh, script, 1_000, 6);
    let by_one: &[&[&str]] = &[
        &["snapshot", "transfer:2:1", "snapshot", "transfer:2:2"],
        &["transfer:1:4", "transfer:1:8"],
    ];
    all_is_well(Routes::Mesh, by_one, 1_000, 3);
}

#[test]
fn three_processes_one_snapshot() {
    let script: &[&[&str]] = &[&["transfer:2:1", "snapshot"], &["transfer:3:2"], &["transfer:1:4"]];
    all_is_well(Routes::Mesh, script, 1_000, 7);
}

#[test]
fn three_processes_two_snapshots() {
    let script: &[&[&str]] = &[&["transfer:2:1", "snapshot"], &["snapshot"], &["transfer:1:4"]];
    all_is_well(Routes::Mesh, script, 10_000, 3);
}

/// Behind the marker that goes round nothing is left, but on the last channel there may be.
#[test]
fn three_on_a_ring() {
    let script: &[&[&str]] =
        &[&["transfer:2:1", "snapshot"], &["transfer:3:2", "snapshot"], &["transfer:1:4"]];
    all_is_well(Routes::Ring, script, 1_000, 2);
}

/// Without FIFO, all that can go wrong does: a message overtakes the marker before it, and is
/// received though it is not sent; or a marker overtakes a message, which is nowhere then.
#[test]
fn without_fifo_a_snapshot_may_be_none() {
    let script: &[&[&str]] = &[&["transfer:2:1", "snapshot", "transfer:2:2"], &[]];
    let mut crowd = Crowd::new(Routes::Mesh, script);
    crowd.order = Channels::Any;
    let seen = crowd.explore();
    assert_eq!(seen.breaches, BTreeSet::from(["channel-contents", "consistent-cut"]), "{seen:?}");
}
