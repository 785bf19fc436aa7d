//! Entries into a critical section in the simulator, each counted by itself.
//!
//! A [`Run`] is one entry here. Under a light load it is all that happens from the request until
//! everything is quiet again. Where a process always waits, entries overlap, and a run is what
//! happens from one entry to the next: a request may then count for another entry than its own,
//! but over whole rounds, in which everybody enters once, nothing is counted twice or left out.

use super::measure::{LATENCY, Run, SEED, TIMEOUT};
use crate::{Action, Ended, Latency, Network, Observer, Seen, Sim, Tally};
use bellwether_algorithms::catalogue::Listed;
use bellwether_algorithms::cost::{Entries, Load, ROUNDS};
use bellwether_algorithms::definition::{Milestone, MilestoneReader, Settings};
use bellwether_core::{AnyProcess, Group, Message, NodeId, Role, Time, micros};
use std::time::Duration;

/// How long a job takes: so long that a process that leaves and asks again is heard by everybody before
/// the next one leaves, and no whole number of hops, so that nothing else happens at that moment.
const SECTION: Duration = Duration::from_millis(25);
/// Rounds before the [`ROUNDS`] that are measured, until things have settled, and as many after them.
const ROUNDS_BEFORE: u64 = 2;
const ROUNDS_AFTER: u64 = 2;
/// No entry takes this many events for each process.
const MOST_EVENTS_EACH: u64 = 100;

/// The entries of processes 1 to n, counted; none if there can be no such group.
pub(super) fn runs(algorithm: &Listed, n: u32, entries: &Entries) -> Vec<Run> {
    let Some(mut ground) = Ground::new(algorithm, n, entries) else { return Vec::new() };
    entries.before.iter().for_each(|id| ground.enter_alone(*id));
    ground.sim.observer.runs.clear();
    match entries.load {
        Load::Alone => entries.ids.iter().for_each(|id| ground.enter_alone(*id)),
        Load::Relay => ground.relay(&entries.ids),
        Load::Always => ground.always(&entries.ids),
    }
    let mut runs = ground.runs();
    if entries.load == Load::Always {
        // Whole rounds, from the middle of the run. What is sent after an entry and before the next
        // is the next one's.
        let round = entries.ids.len();
        runs.drain(..(ROUNDS_BEFORE as usize * round).min(runs.len()));
        runs.truncate(ROUNDS as usize * round);
    }
    runs
}

/// A cluster in which only the algorithm itself moves: no process is watched, and no process dies.
struct Ground {
    algorithm: Listed,
    sim: Sim<AnyProcess, Books>,
    /// How often a process was to enter.
    asked: u64,
    sound: bool,
}

impl Ground {
    fn new(algorithm: &Listed, n: u32, entries: &Entries) -> Option<Self> {
        let algorithm = algorithm.clone();
        let group = Group::numbered(n).ok()?;
        let settings = Settings {
            coordinator: Some(group.highest()),
            section: (SECTION, SECTION),
            tree: entries.tree,
            ..Settings::new(TIMEOUT)
        };
        let config = algorithm.config(&settings, &group);
        let network = Network::new(Latency::Fixed(LATENCY));
        let invariants = algorithm.invariants.clone();
        let sim = Sim::new(group, config, &network, SEED, invariants, Books::new(&algorithm));
        Some(Ground { algorithm, sim, asked: 0, sound: true })
    }

    fn act(&mut self, id: u32, verb: &str) {
        let Some(input) = self.algorithm.input(verb) else { return };
        self.asked += u64::from(self.algorithm.is_work(&input));
        self.sim.act(Action::Input(NodeId::new(id), input));
    }

    fn ask(&mut self, id: u32) {
        self.act(id, "request");
        // A process that must wait waits until another leaves.
        self.run();
    }

    fn leave(&mut self, id: u32) {
        self.act(id, "release");
        self.run();
    }

    /// It enters when all is quiet.
    fn enter_alone(&mut self, id: u32) {
        self.ask(id);
        self.leave(id);
        self.cut(true);
    }

    /// These enter one after the other, each asking while the one before is inside; the first is
    /// not counted.
    fn relay(&mut self, ids: &[u32]) {
        let mut inside = None;
        for id in ids {
            self.ask(*id);
            let before = inside.replace(*id);
            before.into_iter().for_each(|before| self.leave(before));
            self.cut(before.is_some());
        }
    }

    /// These want to be inside all the time: a process that leaves asks again at once.
    fn always(&mut self, ids: &[u32]) {
        self.sim.observer.cuts_at_entries = true;
        for _ in 0..ROUNDS_BEFORE + ROUNDS + ROUNDS_AFTER {
            ids.iter().for_each(|id| self.act(*id, "work"));
        }
        // The token of a ring does not rest when the work is done.
        if let Some(goal) = self.algorithm.goal.clone().filter(|goal| !goal.at_rest) {
            self.sim.stop_when(goal);
        }
        self.run();
    }

    /// Until nothing moves any more.
    fn run(&mut self) {
        let each = MOST_EVENTS_EACH * self.sim.group().len() as u64;
        self.sim.stop_after(self.sim.events() + each * (self.asked + 1));
        let ended = self.sim.run(Time::MAX);
        self.sound &= matches!(ended, Ended::Quiet | Ended::Settled);
    }

    /// An entry is over.
    fn cut(&mut self, counts: bool) {
        let run = self.sim.observer.cut();
        if counts {
            self.sim.observer.runs.push(run);
        }
    }

    /// What was counted. If anything went wrong, no entry is sound.
    fn runs(self) -> Vec<Run> {
        let Ground { sim, asked, sound, .. } = self;
        let granted = sim.observer.entries == asked && sim.observer.refused == 0;
        let sound = sound && granted && sim.violation().is_none();
        let mut runs = sim.observer.runs;
        runs.iter_mut().for_each(|run| run.sound &= sound);
        runs
    }
}

/// Counts messages and entries.
struct Books {
    reads: Option<MilestoneReader<AnyProcess>>,
    cuts_at_entries: bool,
    tally: Tally,
    entries: u64,
    refused: u64,
    waiting: u64,
    /// When the section was last left, if a process waited then.
    left: Option<Time>,
    /// What lay between that and the next entry.
    delay_us: Option<u64>,
    runs: Vec<Run>,
}

impl Books {
    fn new(algorithm: &Listed) -> Self {
        Books {
            reads: algorithm.milestone_reader(),
            cuts_at_entries: false,
            tally: Tally::default(),
            entries: 0,
            refused: 0,
            waiting: 0,
            left: None,
            delay_us: None,
            runs: Vec::new(),
        }
    }

    /// What has happened since the last time.
    fn cut(&mut self) -> Run {
        let by_kind = std::mem::take(&mut self.tally).protocol();
        let (delay_us, hop) = (self.delay_us.take(), micros(LATENCY));
        Run {
            by_kind,
            delay: delay_us.map(|delay| delay / hop),
            // Messages are all that takes time between two entries.
            sound: delay_us.is_none_or(|delay| delay.is_multiple_of(hop)),
        }
    }
}

impl Observer<AnyProcess> for Books {
    const ACTIVE: bool = true;

    fn event(&mut self, at: Time, _: usize, event: Seen<'_, AnyProcess>) {
        match event {
            Seen::Send { msg, .. } if msg.kind().role == Role::Protocol => {
                self.tally.add(msg.kind());
            }
            Seen::Output(output) => match self.reads.as_ref().and_then(|reads| reads(output)) {
                Some(Milestone::Requested) => self.waiting += 1,
                Some(Milestone::Entered) => {
                    self.waiting = self.waiting.saturating_sub(1);
                    self.entries += 1;
                    let since = |left: Time| at.as_micros().saturating_sub(left.as_micros());
                    self.delay_us = self.left.take().map(since);
                    if self.cuts_at_entries {
                        let run = self.cut();
                        self.runs.push(run);
                    }
                }
                Some(Milestone::Left) => self.left = (self.waiting > 0).then_some(at),
                Some(Milestone::Refused(_)) => self.refused += 1,
                Some(Milestone::Minted) | None => {}
            },
            _ => {}
        }
    }

    fn stepped(&mut self, _: usize, _: &AnyProcess) {}
}
