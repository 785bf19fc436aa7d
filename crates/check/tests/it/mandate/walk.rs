//! That the probe and its aging mean what the mandate does: random runs of both, side by side.
//!
//! The one is the mandate itself, with clocks that go on and timers that are set. The other is the
//! [`Probe`], or the [`Keeper`] with a state to replicate, whose clock stands still. After every step, the first one without what decides nothing,
//! its times told from its present, must be the second one; and so must be the messages, except for
//! those that make no difference any more.

use super::keeper::{Desk, Keeper, Log, Wish};
use super::probe::{Probe, Scope, TICK};
use super::{ASK, HAND_OVER, group, id, model, replication};
use bellwether_check::parts::{Flight, State};
use bellwether_check::{Action, Faults, Model, Plain, World};
use bellwether_core::{Process, Time};
use bellwether_member::Config;
use bellwether_member::mandate::{Durable, Input, Mandate, Msg, Replica, Timer};
use std::marker::PhantomData;

type Real = Mandate<()>;

/// What has a mandate, with a state of this type.
trait Mandated<S: Replica>: Process<Msg = Msg<S>, Timer = Timer, Durable = Durable> {
    fn mandate(&self) -> &Mandate<S>;

    fn is_sound(&self) -> bool {
        true
    }
}

impl Mandated<()> for Real {
    fn mandate(&self) -> &Mandate<()> {
        self
    }
}

impl Mandated<()> for Probe {
    fn mandate(&self) -> &Mandate<()> {
        &self.mandate
    }

    fn is_sound(&self) -> bool {
        !self.broken
    }
}

impl Mandated<Log> for Keeper {
    fn mandate(&self) -> &Mandate<Log> {
        &self.mandate
    }
}

/// The pseudo-random numbers of Knuth's MMIX.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// What clocks show at the beginning, and those of the probes always.
fn noon() -> Time {
    Time::ZERO + bellwether_sim::CLOCK_START
}

/// Both runs.
struct Pair<'a, S, R: Process, P: Process> {
    config: &'a Config,
    state: PhantomData<S>,
    real: Plain<'a, R>,
    probe: Plain<'a, P>,
    real_world: World<Plain<'a, R>>,
    probe_world: World<Plain<'a, P>>,
}

impl<'a, S: Replica, R: Mandated<S>, P: Mandated<S>> Pair<'a, S, R, P> {
    fn new(config: &'a Config, real: &'a Model<R>, probe: &'a Model<P>) -> Self {
        let (mut real, mut probe) = (Plain { model: real }, Plain { model: probe });
        let (real_world, probe_world) = (real.start(), probe.start());
        Pair { config, state: PhantomData, real, probe, real_world, probe_world }
    }

    /// How far the clock at this place has gone.
    fn elapsed(&self, place: u8) -> std::time::Duration {
        TICK * u32::from(self.real_world.rest.clocks[usize::from(place)])
    }

    /// A message of the real run as the probes know it.
    fn told(&self, flight: &Flight<Msg<S>>, to: u8) -> Msg<S> {
        let mut msg = flight.msg.clone();
        msg.forget_what_decides_nothing();
        msg.age_at_sender(self.elapsed(flight.from), noon(), self.config);
        msg.age_at_receiver(self.elapsed(to), noon(), self.config);
        msg
    }

    /// Whether the probe at this place has no use for that message; nobody knows while it is down.
    fn is_spent(&self, to: u8, from: u8, msg: &Msg<S>) -> Option<bool> {
        let probe = self.probe_world.slots[usize::from(to)].process()?;
        let from = group().ring()[usize::from(from)];
        Some(probe.mandate().is_spent(from, msg, noon(), self.config))
    }

    /// The same as an action of the probes, if they need it.
    fn same(&self, action: Action) -> Option<Action> {
        match action {
            Action::Deliver { to, at } => {
                let place = usize::from(to);
                let flight = &self.real_world.inboxes[place].flights[usize::from(at)];
                let msg = self.told(flight, to);
                let is_it = |other: &Flight<Msg<S>>| other.from == flight.from && other.msg == msg;
                let found = self.probe_world.inboxes[place].flights.iter().position(is_it);
                if found.is_none() {
                    assert_ne!(self.is_spent(to, flight.from, &msg), Some(false), "{msg:?}");
                }
                found.map(|at| Action::Deliver { to, at: at as u8 })
            }
            Action::Fire { place, at } => {
                let slot = usize::from(place);
                let timer = self.real_world.slots[slot].timers[usize::from(at)].timer;
                let timers = &self.probe_world.slots[slot].timers;
                let found = timers.iter().position(|armed| armed.timer == timer);
                Some(Action::Fire { place, at: found.unwrap() as u8 })
            }
            other => Some(other),
        }
    }

    /// Which message an action of the real run is about: for whom, from whom, and what.
    fn flight(&self, action: Action) -> Option<(u8, u8, Msg<S>)> {
        let Action::Deliver { to, at } = action else { return None };
        let flight = &self.real_world.inboxes[usize::from(to)].flights[usize::from(at)];
        Some((to, flight.from, flight.msg.clone()))
    }

    fn step(&mut self, action: Action) {
        let same = self.same(action);
        self.real_world.step(&mut self.real, action);
        if let Some(same) = same {
            self.probe_world.step(&mut self.probe, same);
        }
        for place in 0..3 {
            self.compare(place);
        }
    }

    fn compare(&self, place: u8) {
        let at = usize::from(place);
        match (&self.real_world.slots[at].state, &self.probe_world.slots[at].state) {
            (State::Up(real), State::Up(probe)) => {
                let mut told = real.mandate().clone();
                told.forget_what_decides_nothing();
                told.age(self.elapsed(place), noon(), self.config);
                assert_eq!(told, *probe.mandate());
                assert!(probe.is_sound());
            }
            (State::Down(real), State::Down(probe)) => assert_eq!(real, probe),
            _ => unreachable!("one is down and the other is not"),
        }
        let real = self.real_world.inboxes[at].flights.iter();
        let told: Vec<_> = real.map(|flight| (flight.from, self.told(flight, place))).collect();
        let kept = &self.probe_world.inboxes[at].flights;
        // Who lacks something of a state may be supplied more often here than need be.
        let supplies = |msg: &Msg<S>| matches!(msg, Msg::Spread { .. } | Msg::Append { .. });
        for flight in kept {
            let is_told = told.contains(&(flight.from, flight.msg.clone()));
            let is_more = size_of::<S>() > 0 && supplies(&flight.msg);
            assert!(is_told || is_more, "{:?}", flight.msg);
        }
        for (from, msg) in told {
            let is_kept = kept.iter().any(|flight| flight.from == from && flight.msg == msg);
            let spent = self.is_spent(place, from, &msg);
            assert!(is_kept || spent != Some(false), "{msg:?} for place {place}");
        }
    }

    /// How long each member holds its mandate on its own clock.
    fn left(&self) -> Vec<Option<std::time::Duration>> {
        let left = |place: usize| {
            let clock = noon() + self.elapsed(place as u8);
            let real = self.real_world.slots[place].process()?.mandate();
            real.holds(clock)?;
            let ends =
                (1..).map(|tick| TICK * tick).find(|span| real.holds(clock + *span).is_none());
            ends.map(|span| span + self.elapsed(place as u8))
        };
        (0..3).map(left).collect()
    }
}

/// What came about in random runs.
#[derive(Debug, Default)]
struct Tally {
    steps: usize,
    mandates: usize,
    renewals: usize,
    spent: usize,
}

/// Random runs of both.
fn walk<S: Replica, R: Mandated<S>, P: Mandated<S>>(
    config: &Config,
    real: &Model<R>,
    probe: &Model<P>,
) -> Tally {
    let mut tally = Tally::default();
    for seed in 0..80 {
        let mut dice = Dice(seed);
        let mut pair = Pair::new(config, real, probe);
        let mut read = Vec::new();
        for _ in 0..300 {
            let mut actions = Vec::new();
            pair.real_world.actions(&mut pair.real, &mut actions);
            // Most messages are old, and with too much time nothing comes about.
            let is_fresh = |action: &Action| match pair.flight(*action) {
                Some(flight) => !read.contains(&flight),
                None => matches!(action, Action::Fire { .. }),
            };
            if dice.below(4) > 0 && actions.iter().any(is_fresh) {
                actions.retain(is_fresh);
            }
            let action = &actions[dice.below(actions.len())];
            read.extend(pair.flight(*action));
            let before = pair.left();
            tally.spent += usize::from(pair.same(*action).is_none());
            pair.step(*action);
            tally.steps += 1;
            for (before, after) in before.into_iter().zip(pair.left()) {
                tally.renewals += usize::from(before.is_some() && after > before);
                tally.mandates += usize::from(before.is_none() && after.is_some());
            }
        }
    }
    tally
}

/// Otherwise nothing was compared that matters.
fn is_enough(tally: &Tally) -> bool {
    let Tally { steps, mandates, renewals, spent } = *tally;
    steps > 15_000 && mandates > 50 && renewals > 50 && spent > 500
}

/// The same with a clock that goes on, for a while.
fn bare<R: Process, P: Process<Input = R::Input>>(probe: &Model<P>, config: R::Config) -> Model<R> {
    Model {
        group: group(),
        config,
        timing: probe.timing,
        channels: probe.channels,
        faults: probe.faults,
        inputs: probe.inputs.clone(),
        sides: Vec::new(),
        invariants: Vec::new(),
        goal: None,
        referee: None,
        reads_clock: true,
        clocks: Vec::new(),
        horizon: Some(500),
        aging: None,
        spent: None,
    }
}

const FAULTS: Faults = Faults { crashes: 2, recoveries: 2, losses: 0, duplicates: 0 };

#[test]
fn a_probe_does_what_the_mandate_does_and_its_clock_stands_still() {
    let hand_to = |number| Input::HandOver { to: Some(id(number)), appointed: false };
    let claim = Input::Ask { claim: true, appointed: false };
    let inputs = vec![
        vec![ASK, HAND_OVER, claim],
        vec![claim, hand_to(3), ASK],
        vec![claim, ASK, HAND_OVER],
    ];
    let scope = Scope::new(4, 2, u64::MAX);
    let probe = Model { inputs, faults: FAULTS, ..model(scope.clone(), 1) };
    let real: Model<Real> = bare(&probe, scope.config.clone());
    let tally = walk(&scope.config, &real, &probe);
    assert!(is_enough(&tally), "{tally:?}");
}

#[test]
fn a_keeper_does_what_the_mandate_does_and_its_clock_stands_still() {
    let ask = Wish::Mandate(ASK);
    let wishes = |first| vec![ask.clone(), Wish::Do(first), Wish::Do(first + 1), ask.clone()];
    let scope = Scope::new(4, 2, u64::MAX);
    let inputs = vec![wishes(1), wishes(3), wishes(5)];
    let probe = Model { inputs, faults: FAULTS, ..replication::model(scope.clone()) };
    let config = Desk { bare: true, ..probe.config.clone() };
    let real: Model<Keeper> = bare(&probe, config);
    let tally = walk(&scope.config, &real, &probe);
    assert!(is_enough(&tally), "{tally:?}");
}

/// All states of the processes and clocks that can be reached, in order.
fn reached(model: &Model<Probe>, narrow: bool) -> Vec<String> {
    let mut plain = Plain { model };
    let mut seen = std::collections::BTreeSet::new();
    let mut found = std::collections::BTreeSet::new();
    let mut queue = vec![plain.start()];
    while let Some(world) = queue.pop() {
        if !seen.insert(format!("{world:?}")) {
            continue;
        }
        found.insert(format!("{:?} {:?} {:?}", world.slots, world.rest, world.witness));
        let mut actions = Vec::new();
        world.actions(&mut plain, &mut actions);
        if narrow {
            world.narrow(&mut plain, &mut actions);
        }
        for action in actions {
            let mut next = world.clone();
            next.step(&mut plain, action);
            queue.push(next);
        }
    }
    found.into_iter().collect()
}

#[test]
fn what_is_left_out_leads_nowhere_else() {
    let few = Scope { timers: &[], ..Scope::new(3, 1, 1) };
    let inputs = vec![vec![ASK, HAND_OVER], vec![], vec![]];
    let all = Model { spent: None, inputs: inputs.clone(), ..model(few.clone(), 1) };
    let less = Model { inputs, ..model(few, 1) };
    let everything = reached(&all, false);
    assert!(everything.len() > 1_000, "{}", everything.len());
    for (model, narrow) in [(&all, true), (&less, false), (&less, true)] {
        let found = reached(model, narrow);
        // They are too many to be shown.
        assert!(found == everything, "{} of {}", found.len(), everything.len());
    }
}
