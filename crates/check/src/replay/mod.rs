//! A counterexample as a run of the simulator.
//!
//! The checker says in which order things happen; the simulator wants to know when. A [`Replay`] is
//! a plan whose run does exactly what the counterexample says: every message has the delay, and
//! every fault the moment, that put it in its place. Timers are honest wherever the order allows
//! it, so that what looks like a time-out that lies becomes, if it can be, a message that is slow;
//! those that cannot be honest get their moments by the plan.

mod moments;
mod text;
mod walk;

pub use text::{commands, scenario};

use crate::model::Channels;
use crate::setup::Setup;
use crate::world::Action;
use bellwether_algorithms::referee::Breach;
use bellwether_core::{AnyProcess, Process, Time, micros};
use bellwether_sim::{
    self as sim, CLOCK_START, Cut, CutKind, Fate, Latency, Network, Observer, Outcome, Plan,
    Scheduled, Seen, silent,
};
use moments::Moments;
use std::collections::BTreeMap;
use std::time::Duration;
use walk::{End, Letter, Setting, Walk};

/// A counterexample as a run of the simulator.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The run.
    pub plan: Plan<AnyProcess>,
    /// When it begins to go round, if it does.
    pub loops_from: Option<Time>,
    /// When the last of it happens.
    pub ends: Time,
    /// Whether the simulated processes take exactly the steps of the counterexample. It is so but
    /// for what the simulator cannot do: a message that arrives three times.
    pub exact: bool,
}

/// The run of the simulator that does just this: the stem, and then the cycle once, if there is one.
pub fn replay(setup: &Setup, stem: &[Action], cycle: &[Action]) -> Replay {
    let model = setup.model();
    let walk = walk::walk(&model, stem, cycle);
    // Where processes look at their clocks, these show what they must and stand still in between;
    // no timer is honest then.
    let moments = moments::choose(&walk, setup.timing, !model.reads_clock);
    let time = |moment: usize| Time::from_micros(moments.at[moment]);
    let ends = time(walk.last);
    let mut plan = plan(setup, &walk, &moments);
    let mut exact = is_exact(&plan, &walk);
    if !exact {
        // A run that has come to its goal is over, unless something is still to be done.
        let at = ends + Duration::from_micros(1);
        plan.script.push(Scheduled { at, action: sim::Action::Calm });
        plan.until = plan.until.map(|_| at);
        exact = is_exact(&plan, &walk);
    }
    Replay { plan, loops_from: walk.loops_from.map(time), ends, exact }
}

impl Replay {
    /// Runs it: what comes of it, as an error if this is not what the counterexample says.
    pub fn confirm(&self, breach: &Breach) -> Result<Outcome, Box<Outcome>> {
        let outcome = silent::run(&self.plan);
        let found = outcome.violation.as_ref().map(|violation| violation.name);
        let goal = self.plan.algorithm.goal.as_ref();
        let missed = goal.is_some_and(|goal| breach.name == goal.name) && !outcome.agreed;
        let same = found == Some(breach.name) || missed && found.is_none();
        if same { Ok(outcome) } else { Err(Box::new(outcome)) }
    }
}

fn plan(setup: &Setup, walk: &Walk<AnyProcess>, moments: &Moments) -> Plan<AnyProcess> {
    let at = |moment: usize| Time::from_micros(moments.at[moment]);
    let ring = setup.group.ring();
    let id = |place: u8| ring[usize::from(place)];
    let mut network = Network::new(Latency::Fixed(Duration::from_micros(moments.gap)));
    network.reorder = setup.channels != Channels::Fifo && overtakes(&walk.letters);
    for letter in &walk.letters {
        if let Some(fate) = fate(letter, walk.last, moments) {
            network.fates.insert((id(letter.from), id(letter.to), letter.number), fate);
        }
    }
    for setting in &walk.settings {
        if let Some(after) = lie(setting, walk.last, moments, !walk.clocks.is_empty()) {
            network.timers.insert((id(setting.place), setting.number), after);
        }
    }
    let cut = (!setup.partition.is_empty()).then(|| {
        let kind = CutKind::Partition(setup.partition.clone());
        Scheduled { at: Time::ZERO, action: sim::Action::Cut(Cut { name: 1, kind }) }
    });
    let clocks = walk.clocks.iter().map(|(moment, place, shows)| {
        let at = at(*moment);
        Scheduled { at, action: still_clock(id(*place), at, *shows) }
    });
    let deeds = walk.deeds.iter();
    let deeds = deeds.map(|(moment, deed)| Scheduled { at: at(*moment), action: deed.clone() });
    let mut script: Vec<_> = cut.into_iter().chain(clocks).chain(deeds).collect();
    script.sort_by_key(|scheduled| scheduled.at);
    Plan {
        algorithm: setup.algorithm.clone(),
        group: setup.group.clone(),
        settings: setup.settings.clone(),
        network,
        seed: 0,
        script,
        // What comes to rest by itself is over only then.
        until: (!walk.quiet).then(|| at(walk.last)),
    }
}

/// Whether a message arrives before another one of its link that was sent earlier. Where none does,
/// a reader need not think of it.
fn overtakes<M>(letters: &[Letter<M>]) -> bool {
    let mut latest = BTreeMap::new();
    letters.iter().any(|letter| {
        let before = latest.entry((letter.from, letter.to)).or_insert(0);
        let first = letter.arrivals.first().is_some_and(|first| first < before);
        let pending = if letter.copies > 0 { usize::MAX } else { 0 };
        *before = letter.arrivals.iter().copied().fold(pending.max(*before), usize::max);
        first
    })
}

/// What happens to a message; nothing special if it comes to nothing anyway, or if it takes as long
/// as any.
fn fate<M>(letter: &Letter<M>, last: usize, moments: &Moments) -> Option<Fate> {
    let sent = moments.at[letter.sent];
    let too_late = moments.at[last] - sent + moments.gap;
    let arrivals = letter.arrivals.iter().map(|moment| moments.at[*moment] - sent);
    let pending = std::iter::repeat_n(too_late, letter.copies.into());
    // Not before its receiver is down.
    let gone = letter.gone.map(|moment| moments.at[moment] - sent + moments.gap);
    let mut delays = arrivals.chain(pending).chain(gone);
    match (delays.next(), delays.next()) {
        (Some(first), Some(second)) => Some(Fate::Twice(first, second)),
        (Some(only), None) => (only != moments.gap).then_some(Fate::Arrives(only)),
        (None, _) => letter.lost.then_some(Fate::Lost),
    }
}

/// After how many microseconds a timer fires, if it does not do so by itself.
fn lie(setting: &Setting, last: usize, moments: &Moments, still: bool) -> Option<u64> {
    let set = moments.at[setting.set];
    let passed = match setting.end {
        End::Fires(fires) => {
            let fires = moments.at[fires] - set;
            let honest = (fires, fires) == (setting.low, setting.high);
            return (!honest || still).then_some(fires);
        }
        End::Stops(stops) => moments.at[stops] - set,
        End::Waits => moments.at[last] - set,
    };
    // It must not have fired by then, nor when the run is over, just after its last event.
    let passed = passed + 1;
    let later = if passed < setting.high { setting.high } else { passed + moments.gap };
    (passed >= setting.low).then_some(later)
}

/// A clock that shows this and stands nearly still: in a million seconds it gains one.
fn still_clock<I>(node: bellwether_core::NodeId, at: Time, shows: Time) -> sim::Action<I> {
    const DRIFT_PPM: i64 = -999_999;
    // What it will have gained when it is looked at next, in whole microseconds, rounded up.
    let gained = at.as_micros().div_ceil(1_000_000).max(1) as i64;
    let right = micros(CLOCK_START) as i64;
    let offset_us = shows.as_micros() as i64 - right - gained;
    sim::Action::Clock { node, offset_us, drift_ppm: DRIFT_PPM }
}

/// Whether the processes of a plan's run take exactly these steps, also after one that breaks
/// something.
fn is_exact(plan: &Plan<AnyProcess>, walk: &Walk<AnyProcess>) -> bool {
    let mut run = plan.set_up(Steps { left: &walk.steps, same: true });
    run.keep_going();
    plan.play(&mut run);
    run.observer.same && run.observer.left.is_empty()
}

/// Compares the steps of a run with those that it must take.
struct Steps<'a, P> {
    left: &'a [(usize, P)],
    same: bool,
}

impl<P: Process> Observer<P> for Steps<'_, P> {
    const ACTIVE: bool = true;

    fn event(&mut self, _: Time, _: usize, _: Seen<'_, P>) {}

    fn stepped(&mut self, place: usize, process: &P) {
        match self.left.split_first() {
            Some(((at, expected), left)) => {
                self.same &= *at == place && expected == process;
                self.left = left;
            }
            None => self.same = false,
        }
    }
}
