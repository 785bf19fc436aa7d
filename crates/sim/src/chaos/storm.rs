//! Everything at once: what an algorithm must survive that assumes nothing but the clocks' rates.

use crate::fault::{Action, Cut, CutKind, Mesh, Scheduled};
use crate::network::{Latency, Network};
use bellwether_core::Draws;
use bellwether_core::{Group, NodeId, Time, micros};
use std::collections::BTreeSet;
use std::time::Duration;

/// How bad the weather may be.
#[derive(Clone, Debug)]
pub struct Weather<I> {
    /// The time in which things happen: faults are some of it apart, and a message takes a small
    /// part of it unless its sender or receiver is slow or paused.
    pub unit: Duration,
    /// By how much clocks may gain or lose, in parts per million.
    pub drift_ppm: u32,
    /// What the application may ask for.
    pub inputs: Vec<I>,
    /// Faults that few algorithms are asked to bear, if they are wanted.
    pub harsh: Option<Harsh>,
}

/// Faults that few algorithms are asked to bear: links that carry some messages and not others, or
/// slowly, and networks of which only some links are left.
#[derive(Clone, Copy, Debug, Default)]
pub struct Harsh {
    /// Kinds of messages that may be lost on some links.
    pub kinds: &'static [&'static str],
    /// Messages that weigh more than one of these may be lost on some links.
    pub sizes: &'static [usize],
    /// How many bytes a second links may carry; mostly there is no limit.
    pub rates: &'static [u64],
    /// Whether only the links of some [`Topology`] may be left for a while.
    pub topologies: bool,
}

bellwether_core::named! {
    /// What may be left of a network.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Topology {
        /// One process reaches all others, and they reach only this process.
        Star = "star",
        /// Each process reaches the one before and the one after it.
        Chain = "chain",
        /// A chain whose ends meet.
        Ring = "ring",
        /// Two groups that reach each other only through one process in the middle.
        Bridge = "bridge",
    }
}

impl Topology {
    /// The links that are left between these processes; the first is the middle of a star or a
    /// bridge.
    pub fn links(self, of: &[NodeId]) -> Vec<(NodeId, NodeId)> {
        let chain = || of.windows(2).map(|pair| (pair[0], pair[1]));
        let Some((middle, others)) = of.split_first() else { return Vec::new() };
        let among = |side: &[NodeId]| {
            let pairs = side.iter().flat_map(|a| side.iter().map(move |b| (*a, *b)));
            pairs.filter(|(a, b)| a < b).collect::<Vec<_>>()
        };
        match self {
            Topology::Star => others.iter().map(|other| (*middle, *other)).collect(),
            Topology::Chain => chain().collect(),
            Topology::Ring => chain().chain(of.last().map(|last| (*last, *middle))).collect(),
            Topology::Bridge => {
                let (left, right) = others.split_at(others.len() / 2);
                [left, right].into_iter().flat_map(|s| among(&[&[*middle], s].concat())).collect()
            }
        }
    }
}

/// A network and a script of random faults: loss, duplicates and reordering; crashes, also in the
/// middle of sending and of everybody at once; recoveries; pauses; slow processes; partitions and
/// one-way cuts, several at a time; clocks that are off and that drift. At the end all of it stops,
/// and a majority of the processes is up.
pub fn storm<I: Clone>(
    group: &Group,
    seed: u64,
    weather: &Weather<I>,
) -> (Network, Vec<Scheduled<I>>) {
    let mut storm = Storm {
        ring: group.ring(),
        draws: Draws::keyed(seed, u64::MAX, 1),
        unit: weather.unit,
        now: Time::ZERO,
        script: Vec::new(),
        down: BTreeSet::new(),
        paused: BTreeSet::new(),
        slow: BTreeSet::new(),
        cuts: BTreeSet::new(),
        cuts_made: 0,
    };
    let mut network = storm.network();
    storm.clocks(weather.drift_ppm);
    for _ in 0..storm.draws.below(14) {
        // Mostly within the reach of one election, sometimes after it has ended.
        let reach = micros(weather.unit) * [1, 4, 30][storm.draws.below(3) as usize];
        storm.now = storm.now + Duration::from_micros(storm.draws.below(reach.max(1)));
        storm.strike(&weather.inputs);
    }
    storm.end(group.len());
    if let Some(harsh) = &weather.harsh {
        // Drawn apart, so that the rest of the storm is the same with these faults as without.
        storm.draws = Draws::keyed(seed, u64::MAX, 2);
        network.rate = storm.one_of(harsh.rates).filter(|_| storm.draws.chance(0.2));
        storm.be_harsh(harsh);
    }
    (network, storm.script)
}

struct Storm<'a, I> {
    ring: &'a [NodeId],
    draws: Draws,
    unit: Duration,
    now: Time,
    script: Vec<Scheduled<I>>,
    down: BTreeSet<NodeId>,
    paused: BTreeSet<NodeId>,
    slow: BTreeSet<NodeId>,
    cuts: BTreeSet<u32>,
    cuts_made: u32,
}

impl<I: Clone> Storm<'_, I> {
    fn one_of<T: Copy>(&mut self, all: &[T]) -> Option<T> {
        let at = self.draws.below(all.len().max(1) as u64) as usize;
        all.get(at).copied()
    }

    /// Some more faults within the time of the others. Each ends by itself, before the calm.
    fn be_harsh(&mut self, harsh: &Harsh) {
        let end = self.now.as_micros();
        for _ in 0..self.draws.below(4) {
            let from = self.draws.below(end.max(1));
            let to = from + self.draws.below(end - from + 1);
            let kind = match self.draws.below(3) {
                0 => self.one_of(harsh.kinds).map(|kind| self.sieve(Some(kind), 0)),
                1 => self.one_of(harsh.sizes).map(|above| self.sieve(None, above)),
                _ => harsh.topologies.then(|| self.topology()),
            };
            // A link that flaps is there every other time.
            let flaps = 1 + 2 * self.draws.below(3) * u64::from(self.draws.chance(0.3));
            let Some(kind) = kind else { continue };
            for flap in (0..flaps).step_by(2) {
                self.cuts_made += 1;
                let name = self.cuts_made;
                let cut = Action::Cut(Cut { name, kind: kind.clone() });
                for (at, action) in [(flap, cut), (flap + 1, Action::Heal(name))] {
                    let at = Time::from_micros(from + (to - from) * at / flaps);
                    self.script.push(Scheduled { at, action });
                }
            }
        }
        self.script.sort_by_key(|scheduled| scheduled.at);
    }

    fn sieve(&mut self, kind: Option<&str>, above: usize) -> CutKind {
        let (from, to) = (self.some_of_all(), self.some_of_all());
        CutKind::Sieve(from, to, Mesh { kind: kind.map(str::to_owned), above })
    }

    fn topology(&mut self) -> CutKind {
        let mut ring = self.ring.to_vec();
        self.draws.shuffle(&mut ring);
        let topology = self.one_of(&Topology::ALL).unwrap_or(Topology::Star);
        CutKind::Only(topology.links(&ring))
    }

    fn network(&mut self) -> Network {
        let longest = self.unit / [4, 10, 50][self.draws.below(3) as usize];
        let mut network = Network::new(match self.draws.below(3) {
            0 => Latency::Fixed(longest),
            _ => Latency::Uniform(Duration::ZERO, longest),
        });
        network.reorder = self.draws.chance(0.5);
        network.loss = [0.0, 0.0, 0.05, 0.3][self.draws.below(4) as usize];
        network.duplicate = [0.0, 0.0, 0.2][self.draws.below(3) as usize];
        network
    }

    fn clocks(&mut self, drift_ppm: u32) {
        for index in 0..self.ring.len() {
            let bound = i64::from(drift_ppm);
            let drift_ppm = match self.draws.below(4) {
                0 => bound,
                1 => -bound,
                2 => self.draws.between(0, 2 * bound as u64) as i64 - bound,
                _ => 0,
            };
            let offset_us = self.draws.below(20_000_000) as i64 - 10_000_000;
            let node = self.ring[index];
            self.act(Action::Clock { node, offset_us, drift_ppm });
        }
    }

    fn act(&mut self, action: Action<I>) {
        self.script.push(Scheduled { at: self.now, action });
    }

    fn someone(&mut self) -> NodeId {
        self.ring[self.draws.below(self.ring.len() as u64) as usize]
    }

    fn some_of_all(&mut self) -> Vec<NodeId> {
        let mut some = Vec::new();
        for index in 0..self.ring.len() {
            if self.draws.chance(0.5) {
                some.push(self.ring[index]);
            }
        }
        some
    }

    fn strike(&mut self, inputs: &[I]) {
        if self.ring.len() > 1 && self.draws.chance(0.15) {
            return self.strike_at_the_strongest();
        }
        let id = self.someone();
        let is_down = self.down.contains(&id);
        match self.draws.below(16) {
            0..=2 if !is_down => self.crash(id),
            3 if !is_down && !self.paused.contains(&id) => {
                let kind = ["REQUEST-VOTE", "VOTE", "APPEND", "COORDINATOR", "YIELD", "HEARTBEAT"];
                let kind = kind[self.draws.below(kind.len() as u64) as usize].to_owned();
                let after = self.draws.below(3) as u32;
                self.act(Action::CrashSending { node: id, kind, after });
                self.now = self.now + self.unit * 3;
                self.crash(id);
            }
            4 if self.draws.chance(0.3) => {
                for index in 0..self.ring.len() {
                    if !self.down.contains(&self.ring[index]) {
                        self.crash(self.ring[index]);
                    }
                }
                self.now = self.now + self.unit * self.draws.below(4) as u32;
                for id in std::mem::take(&mut self.down) {
                    self.act(Action::Recover(id));
                }
            }
            0..=6 if is_down => self.recover(id),
            7 | 8 if !is_down && self.paused.insert(id) => self.act(Action::Pause(id)),
            7 | 8 => self.resume(id),
            9 if !is_down => {
                let by = self.unit / [20, 4][self.draws.below(2) as usize];
                self.slow.insert(id);
                self.act(Action::Slow(id, by));
            }
            10 | 11 => {
                let sides = vec![self.some_of_all()];
                self.cut(CutKind::Partition(sides));
            }
            12 | 13 => {
                let (from, to) = (self.some_of_all(), self.some_of_all());
                self.cut(CutKind::OneWay(from, to));
            }
            14 => self.heal(),
            15 if !is_down && !inputs.is_empty() => {
                let input = inputs[self.draws.below(inputs.len() as u64) as usize].clone();
                self.act(Action::Input(id, input));
            }
            _ => {}
        }
    }

    /// The strongest of those that are up: it probably leads, so this is where it hurts.
    fn strike_at_the_strongest(&mut self) {
        let up = self.ring.iter().filter(|id| !self.down.contains(id) && !self.paused.contains(id));
        let Some(strongest) = up.copied().max() else { return };
        let rest: Vec<NodeId> = self.ring.iter().copied().filter(|id| *id != strongest).collect();
        match self.draws.below(5) {
            0 => self.restart_all_but(strongest, &rest),
            1 => self.cut(CutKind::OneWay(vec![strongest], rest)),
            2 => self.cut(CutKind::OneWay(rest, vec![strongest])),
            3 => self.cut_off_after_a_vain_promise(strongest, &rest),
            // With a minority.
            _ => {
                let mut side = vec![strongest];
                for id in rest {
                    if side.len() < self.ring.len().div_ceil(2) && self.draws.chance(0.3) {
                        side.push(id);
                    }
                }
                self.cut(CutKind::Partition(vec![side]));
            }
        }
    }

    /// Alone, mostly, while all others restart faster than its lease ends.
    fn restart_all_but(&mut self, strongest: NodeId, rest: &[NodeId]) {
        if self.draws.chance(0.8) {
            self.cut(CutKind::Partition(vec![vec![strongest]]));
        }
        let crashing: Vec<NodeId> =
            rest.iter().copied().filter(|id| !self.down.contains(id)).collect();
        for id in &crashing {
            self.crash(*id);
        }
        self.wait_up_to(2);
        for id in crashing {
            self.recover(id);
        }
    }

    /// A minority without it promises a higher term to each other, without effect. When they are back the
    /// strongest has to move on, and just then it is cut off.
    fn cut_off_after_a_vain_promise(&mut self, strongest: NodeId, rest: &[NodeId]) {
        let minority = (self.ring.len() - 1) / 2;
        let side: Vec<NodeId> = rest.iter().rev().copied().take(minority).collect();
        self.cut(CutKind::Partition(vec![side]));
        let name = self.cuts_made;
        self.now = self.now + self.unit * (6 + self.draws.below(8) as u32);
        self.cuts.remove(&name);
        self.act(Action::Heal(name));
        self.wait_up_to(2);
        self.cut(CutKind::Partition(vec![vec![strongest]]));
    }

    fn wait_up_to(&mut self, units: u64) {
        let span = self.draws.below(micros(self.unit) * units);
        self.now = self.now + Duration::from_micros(span);
    }

    fn crash(&mut self, id: NodeId) {
        self.down.insert(id);
        self.paused.remove(&id);
        self.act(Action::Crash(id));
    }

    fn recover(&mut self, id: NodeId) {
        if self.down.remove(&id) {
            self.act(Action::Recover(id));
        }
    }

    fn resume(&mut self, id: NodeId) {
        if self.paused.remove(&id) {
            self.act(Action::Resume(id));
        }
    }

    fn cut(&mut self, kind: CutKind) {
        self.cuts_made += 1;
        self.cuts.insert(self.cuts_made);
        self.act(Action::Cut(Cut { name: self.cuts_made, kind }));
    }

    fn heal(&mut self) {
        if let Some(cut) = self.cuts.pop_first() {
            self.act(Action::Heal(cut));
        }
    }

    fn end(&mut self, n: usize) {
        self.now = self.now + self.unit * self.draws.below(10) as u32;
        self.act(Action::Calm);
        while !self.cuts.is_empty() {
            self.heal();
        }
        for id in std::mem::take(&mut self.slow) {
            self.act(Action::Slow(id, Duration::ZERO));
        }
        for id in self.paused.clone() {
            self.resume(id);
        }
        for id in self.down.clone() {
            if self.down.len() > (n - 1) / 2 || self.draws.chance(0.5) {
                self.recover(id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_topology_has_its_links() {
        let ids = [3, 1, 2, 4, 5].map(NodeId::new);
        let numbers = |topology: Topology| -> Vec<(u32, u32)> {
            let links = topology.links(&ids);
            links.into_iter().map(|(a, b)| (a.number(), b.number())).collect()
        };
        assert_eq!(numbers(Topology::Star), [(3, 1), (3, 2), (3, 4), (3, 5)]);
        assert_eq!(numbers(Topology::Chain), [(3, 1), (1, 2), (2, 4), (4, 5)]);
        assert_eq!(numbers(Topology::Ring), [(3, 1), (1, 2), (2, 4), (4, 5), (5, 3)]);
        assert_eq!(numbers(Topology::Bridge), [(1, 3), (1, 2), (2, 3), (3, 4), (3, 5), (4, 5)]);
    }

    #[test]
    fn harsh_faults_leave_the_rest_of_a_storm_as_it_is() {
        let group = Group::numbered(5).unwrap();
        let unit = Duration::from_millis(100);
        let harsh = Harsh { kinds: &["A"], sizes: &[10], rates: &[1_000], topologies: true };
        let mut harsher = 0;
        for seed in 0..100 {
            let calm = Weather::<()> { unit, drift_ppm: 10, inputs: Vec::new(), harsh: None };
            let (network, script) = storm(&group, seed, &calm);
            let (other, mut more) = storm(&group, seed, &Weather { harsh: Some(harsh), ..calm });
            assert_eq!(Network { rate: None, ..other }, network);
            let made = script.iter().filter(|s| matches!(s.action, Action::Cut(_))).count() as u32;
            harsher += more.len() - script.len();
            more.retain(|scheduled| match &scheduled.action {
                Action::Cut(cut) => cut.name <= made,
                Action::Heal(name) => *name <= made,
                _ => true,
            });
            assert_eq!(more, script);
        }
        assert!(harsher > 100, "{harsher}");
    }
}
