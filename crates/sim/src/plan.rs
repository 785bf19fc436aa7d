//! A run from beginning to end: what is set up, what is done to it, what comes of it.

use crate::engine::{Ended, Sim};
use crate::fault::{Action, FaultCounts, Scheduled};
use crate::meter::{Refused, Sections};
use crate::monitor::Violation;
use crate::network::{Fate, Network};
use crate::observer::Observer;
use crate::tally::Tally;
use bellwether_algorithms::definition::{Definition, Settings};
use bellwether_algorithms::mutex::Status;
use bellwether_algorithms::referee::{Fact, Picture};
use bellwether_core::{Goal, Group, NodeId, Process, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Everything that determines a run.
#[derive(Clone, Debug)]
pub struct Plan<P: Process> {
    /// What runs.
    pub algorithm: Arc<Definition<P>>,
    /// Who takes part.
    pub group: Group,
    /// How the algorithm is set.
    pub settings: Settings,
    /// What the network is like.
    pub network: Network,
    /// The seed of all that is random.
    pub seed: u64,
    /// What is done to the cluster.
    pub script: Vec<Scheduled<P::Input>>,
    /// When to stop at the latest. Without, a run goes on until it is over: until nothing is left
    /// to happen or, with detection, until the goal is reached or is overdue.
    pub until: Option<Time>,
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Virtual time at the end.
    pub now: Time,
    /// Messages that reached their destination and timers that fired.
    pub events: u64,
    /// The messages that were sent.
    pub tally: Tally,
    /// The faults that happened.
    pub faults: FaultCounts,
    /// Whether the goal holds at the end.
    pub agreed: bool,
    /// What went wrong, if anything.
    pub violation: Option<Violation>,
    /// Whom each live process takes for the coordinator, in ring order.
    pub coordinators: Vec<(NodeId, Option<NodeId>)>,
    /// What the critical sections came to, where there are any.
    pub sections: Option<Sections>,
    /// What processes were asked for and could not do.
    pub refusals: Vec<Refused>,
    /// Whether the run was about who coordinates, and nothing else.
    pub elects: bool,
    /// The facts of the referee, if there is one.
    pub facts: Vec<Fact>,
    /// What there is to see of it.
    pub pictures: Vec<Picture>,
}

/// No run without a time limit of its own needs more events than this, plus this many for each
/// process. Beyond its assumptions an algorithm may never come to rest.
const MOST_EVENTS: u64 = 2_000_000;
const MOST_EVENTS_EACH: u64 = 1_000;
/// And this many for each piece of work, plus this many for each process.
const MOST_EVENTS_EACH_WORK: u64 = 100;
const MOST_EVENTS_WORK_EACH: u64 = 20;

/// The time-out that suits a network: a round trip, and as much again as one way takes.
pub fn default_timeout(network: &Network) -> Duration {
    network.bound().saturating_mul(3).max(Duration::from_millis(1))
}

impl<P: Process> Plan<P> {
    /// A cluster at the beginning of the run.
    pub fn set_up<O: Observer<P>>(&self, observer: O) -> Sim<P, O> {
        let config = self.algorithm.config(&self.settings, &self.group);
        let group = self.group.clone();
        let invariants = self.algorithm.invariants.clone();
        let mut sim = Sim::blank(group, config, &self.network, self.seed, invariants, observer);
        if let Some(referee) = self.algorithm.new_referee(sim.config(), &self.group) {
            sim.attend(referee, self.algorithm.clock_reader());
        }
        sim.start();
        sim.schedule(self.script.iter().cloned());
        if let Some(goal) = self.algorithm.goal.clone()
            && self.ends_by_goal(sim.config())
        {
            sim.stop_when(goal);
        }
        if let Some(milestone) = self.algorithm.milestone_reader() {
            sim.measure(milestone);
        }
        if self.until.is_none() {
            sim.stop_after(most_events(self.group.len() as u64, self.work()));
        }
        sim
    }

    /// Whether nothing but the goal ends a run: where processes watch each other, or messages go
    /// round, for ever.
    fn ends_by_goal(&self, config: &P::Config) -> bool {
        let Some(goal) = &self.algorithm.goal else { return false };
        self.algorithm.duration(config).is_none() && (self.settings.detection || !goal.at_rest)
    }

    /// How many of the inputs are work.
    pub(crate) fn work(&self) -> u64 {
        self.script.iter().map(|scheduled| self.work_of(&scheduled.action)).sum()
    }

    /// How much work an action asks for.
    pub(crate) fn work_of(&self, action: &Action<P::Input>) -> u64 {
        work(&self.algorithm, action, &self.group)
    }

    /// Runs it.
    pub fn run<O: Observer<P>>(&self, observer: O) -> (Outcome, O) {
        let mut sim = self.set_up(observer);
        let outcome = self.finish(&mut sim);
        (outcome, sim.observer)
    }

    /// Runs a cluster that was [set up](Plan::set_up) to its end, and says what came of it.
    pub fn finish<O: Observer<P>>(&self, sim: &mut Sim<P, O>) -> Outcome {
        let ended = self.play(sim);
        self.judge(sim, ended)
    }

    /// Runs a cluster that was [set up](Plan::set_up) to its end.
    pub fn play<O: Observer<P>>(&self, sim: &mut Sim<P, O>) -> Ended {
        sim.run(match self.until {
            Some(until) => until,
            None if self.ends_by_goal(sim.config()) => self.overdue(sim),
            None => self
                .algorithm
                .duration(sim.config())
                .map_or(Time::MAX, |span| sim.last_scheduled() + span),
        })
    }

    /// What came of a cluster whose run has ended.
    pub fn judge<O: Observer<P>>(&self, sim: &mut Sim<P, O>, ended: Ended) -> Outcome {
        if matches!(ended, Ended::Quiet | Ended::Settled) {
            sim.close();
        }
        let sim = &*sim;
        let mut outcome = self.outcome(sim);
        // A run that the user cuts short promises nothing; nor does one without
        // any request.
        let promised = match ended {
            Ended::TimeUp => {
                let lasts = self.algorithm.duration(sim.config()).is_some();
                let goes_on = lasts || self.ends_by_goal(sim.config());
                sim.now() >= self.overdue(sim) && goes_on
            }
            Ended::Quiet => self.script.iter().any(|s| s.action.is_input()),
            Ended::Settled | Ended::Violated | Ended::Storm => false,
        };
        if ended == Ended::Storm {
            let text = "messages breed messages, and the run was cut off";
            outcome.violation = Some(Violation { name: "storm", text, at: sim.now(), by: vec![] });
        }
        if promised
            && !outcome.agreed
            && outcome.violation.is_none()
            && let Some(Goal { name, text, .. }) = &self.algorithm.goal
        {
            let (name, text) = (*name, *text);
            let by = waiting(&self.algorithm, sim.live());
            outcome.violation = Some(Violation { name, text, at: sim.now(), by });
        }
        outcome
    }

    /// What has come of a cluster so far.
    pub(crate) fn outcome<O: Observer<P>>(&self, sim: &Sim<P, O>) -> Outcome {
        Outcome {
            now: sim.last_event(),
            events: sim.events(),
            tally: sim.tally().clone(),
            faults: *sim.faults(),
            agreed: self.algorithm.agreed(sim.live()),
            violation: sim.violation().cloned(),
            coordinators: sim
                .live()
                .map(|(id, process)| (id, self.algorithm.coordinator_of(process)))
                .collect(),
            sections: sim.sections(),
            refusals: sim.refusals().to_vec(),
            elects: self.algorithm.entry.elects(),
            facts: sim.facts(),
            pictures: sim.pictures(),
        }
    }

    /// When the goal must have been reached at the latest.
    fn overdue<O: Observer<P>>(&self, sim: &Sim<P, O>) -> Time {
        sim.last_scheduled() + self.algorithm.settling_time(sim.config(), sim.group(), self.work())
    }

    /// The same run with every message's fate written down and nothing left to chance.
    pub(crate) fn spell_out(&self) -> Plan<P> {
        let mut sim = self.set_up(crate::observer::Silent);
        sim.log_fates();
        self.finish(&mut sim);
        let mut plan = self.clone();
        plan.network.loss = 0.0;
        plan.network.duplicate = 0.0;
        plan.network.fates.extend(sim.fates());
        plan
    }
}

/// Those that have asked for a critical section and have not got it.
pub(crate) fn waiting<'a, P: Process + 'a>(
    algorithm: &Definition<P>,
    live: impl Iterator<Item = (NodeId, &'a P)>,
) -> Vec<NodeId> {
    let waits = |process: &P| algorithm.section_of(process) == Some(Status::Waiting);
    live.filter(|(_, process)| waits(process)).map(|(id, _)| id).collect()
}

/// How many events a sensible run may have.
fn most_events(nodes: u64, work: u64) -> u64 {
    let each = MOST_EVENTS_EACH_WORK.saturating_add(MOST_EVENTS_WORK_EACH.saturating_mul(nodes));
    let asked = work.saturating_mul(each);
    MOST_EVENTS.saturating_add(MOST_EVENTS_EACH.saturating_mul(nodes)).saturating_add(asked)
}

/// How much work an action asks for.
pub fn work<P: Process>(
    algorithm: &Definition<P>,
    action: &Action<P::Input>,
    group: &Group,
) -> u64 {
    match action {
        Action::Input(_, input) => u64::from(algorithm.is_work(input)),
        Action::InputAll(input) if algorithm.is_work(input) => group.len() as u64,
        _ => 0,
    }
}

/// What was asked of a process that could not do it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impossible {
    /// Which action, counted from 0.
    pub index: usize,
    /// Why it cannot be done.
    pub why: String,
}

/// Checks that every action of a script can be done when its time comes: that a process that is
/// to crash is up, one that is to recover is down, and so on.
pub fn check_script<I>(script: &[Scheduled<I>]) -> Result<(), Impossible> {
    let mut order: Vec<usize> = (0..script.len()).collect();
    order.sort_by_key(|index| script[*index].at);
    let mut down: BTreeMap<NodeId, Time> = BTreeMap::new();
    let mut paused = BTreeSet::new();
    for index in order {
        let Scheduled { at, action } = &script[index];
        let refuse = |why: String| Err(Impossible { index, why });
        let is_down = |id: &NodeId| down.get(id).map(|since| format!("it crashed at {since}"));
        match action {
            Action::Wipe(id) => {
                down.entry(*id).or_insert(*at);
                paused.remove(id);
            }
            Action::Crash(id) | Action::CrashSending { node: id, .. } => {
                if let Some(since) = is_down(id) {
                    return refuse(format!("{id} cannot crash at {at}: {since}"));
                }
                if matches!(action, Action::Crash(_)) {
                    down.insert(*id, *at);
                    paused.remove(id);
                }
            }
            Action::Recover(id) => {
                // The time of a crash in the middle of sending is not known.
                let may = |other: &Scheduled<I>| match &other.action {
                    Action::CrashSending { node, .. } => node == id && other.at <= *at,
                    _ => false,
                };
                if down.remove(id).is_none() && !script.iter().any(may) {
                    return refuse(format!("{id} cannot recover at {at}: it is not down then"));
                }
            }
            Action::Pause(id) => {
                if let Some(since) = is_down(id) {
                    return refuse(format!("{id} cannot pause at {at}: {since}"));
                }
                if !paused.insert(*id) {
                    return refuse(format!("{id} cannot pause at {at}: it is paused already"));
                }
            }
            Action::Resume(id) => {
                paused.remove(id);
            }
            Action::Input(id, _) => {
                if let Some(since) = is_down(id) {
                    return refuse(format!("{id} cannot do anything at {at}: {since}"));
                }
            }
            Action::Slow(..)
            | Action::Cut(_)
            | Action::Heal(_)
            | Action::Calm
            | Action::Clock { .. }
            | Action::Steer(_)
            | Action::InputAll(_) => {}
        }
    }
    Ok(())
}

/// A message by its link and number on that link, and what happens to it.
pub(crate) type FateEntry = ((NodeId, NodeId, u32), Fate);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64, action: Action<()>) -> Scheduled<()> {
        Scheduled { at: Time::from_micros(ms * 1_000), action }
    }

    #[test]
    fn a_script_must_be_possible() {
        let p = NodeId::new(3);
        let ok = [at(5, Action::Recover(p)), at(1, Action::Crash(p)), at(9, Action::Crash(p))];
        assert_eq!(check_script(&ok), Ok(()));
        for (script, index) in [
            (vec![at(1, Action::Crash(p)), at(2, Action::Crash(p))], 1),
            (vec![at(1, Action::Recover(p))], 0),
            (vec![at(2, Action::Crash(p)), at(1, Action::Recover(p))], 1),
            (vec![at(1, Action::Crash(p)), at(2, Action::Input(p, ()))], 1),
            (vec![at(1, Action::Pause(p)), at(2, Action::Pause(p))], 1),
        ] {
            assert_eq!(check_script(&script).unwrap_err().index, index, "{script:?}");
        }
    }
}
