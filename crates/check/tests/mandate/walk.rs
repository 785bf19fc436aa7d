//! That the probe and its aging mean what the mandate does: random runs of both, side by side.
//!
//! The one is the mandate itself, with clocks that go on and timers that are set. The other is the
//! [`Probe`], whose clock stands still. After every step, the first one without what decides nothing,
//! its times told from its present, must be the second one; and so must be the messages, except for
//! those that make no difference any more.

use crate::probe::{Probe, Scope, TICK};
use crate::{ASK, HAND_OVER, group, id, model};
use bellwether_check::parts::{Flight, State};
use bellwether_check::{Action, Channels, Faults, Model, Plain, Timing, World};
use bellwether_core::Time;
use bellwether_member::Config;
use bellwether_member::mandate::{Input, Mandate, Msg};

type Real = Mandate<()>;

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
struct Pair<'a> {
    config: &'a Config,
    real: Plain<'a, Real>,
    probe: Plain<'a, Probe>,
    real_world: World<Plain<'a, Real>>,
    probe_world: World<Plain<'a, Probe>>,
}

impl Pair<'_> {
    /// How far the clock at this place has gone.
    fn elapsed(&self, place: u8) -> std::time::Duration {
        TICK * u32::from(self.real_world.rest.clocks[usize::from(place)])
    }

    /// A message of the real run as the probes know it.
    fn told(&self, flight: &Flight<Msg<()>>, to: u8) -> Msg<()> {
        let mut msg = flight.msg.clone();
        msg.forget_what_decides_nothing();
        msg.age_at_sender(self.elapsed(flight.from), noon(), self.config);
        msg.age_at_receiver(self.elapsed(to), noon(), self.config);
        msg
    }

    /// Whether the probe at this place has no use for that message; nobody knows while it is down.
    fn is_spent(&self, to: u8, from: u8, msg: &Msg<()>) -> Option<bool> {
        let probe = self.probe_world.slots[usize::from(to)].process()?;
        let from = group().ring()[usize::from(from)];
        Some(probe.mandate.is_spent(from, msg, noon(), self.config))
    }

    /// The same as an action of the probes, if they need it.
    fn same(&self, action: Action) -> Option<Action> {
        match action {
            Action::Deliver { to, at } => {
                let place = usize::from(to);
                let flight = &self.real_world.inboxes[place].flights[usize::from(at)];
                let msg = self.told(flight, to);
                let is_it = |other: &Flight<Msg<()>>| other.from == flight.from && other.msg == msg;
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
    fn flight(&self, action: Action) -> Option<(u8, u8, Msg<()>)> {
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
                let mut told = real.clone();
                told.forget_what_decides_nothing();
                told.age(self.elapsed(place), noon(), self.config);
                assert_eq!(told, probe.mandate);
                assert!(!probe.broken);
            }
            (State::Down(real), State::Down(probe)) => assert_eq!(real, probe),
            _ => unreachable!("one is down and the other is not"),
        }
        let real = self.real_world.inboxes[at].flights.iter();
        let told: Vec<_> = real.map(|flight| (flight.from, self.told(flight, place))).collect();
        let kept = &self.probe_world.inboxes[at].flights;
        for flight in kept {
            assert!(told.contains(&(flight.from, flight.msg.clone())), "{:?}", flight.msg);
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
            let real = self.real_world.slots[place].process()?;
            real.holds(clock)?;
            let ends =
                (1..).map(|tick| TICK * tick).find(|span| real.holds(clock + *span).is_none());
            ends.map(|span| span + self.elapsed(place as u8))
        };
        (0..3).map(left).collect()
    }
}

#[test]
fn a_probe_does_what_the_mandate_does_and_its_clock_stands_still() {
    let hand_to = |number| Input::HandOver { to: Some(id(number)), appointed: false };
    let claim = Input::Ask { claim: true, appointed: false };
    let inputs = vec![
        vec![ASK, HAND_OVER, claim],
        vec![claim, hand_to(3), ASK],
        vec![claim, ASK, HAND_OVER],
    ];
    let faults = Faults { crashes: 2, recoveries: 2, ..Faults::default() };
    let scope = Scope::new(4, 2, u64::MAX);
    let probe = Model { inputs: inputs.clone(), faults, ..model(scope.clone(), 1) };
    let real = Model::<Real> {
        group: group(),
        config: scope.config.clone(),
        timing: Timing::Drifting { tick: TICK, apart: 1 },
        channels: Channels::Unreliable,
        faults,
        inputs,
        sides: Vec::new(),
        invariants: Vec::new(),
        goal: None,
        referee: None,
        reads_clock: true,
        clocks: Vec::new(),
        horizon: Some(500),
        aging: None,
        spent: None,
    };
    let (mut steps, mut renewals, mut spent, mut mandates) = (0, 0, 0, 0);
    for seed in 0..80 {
        let mut dice = Dice(seed);
        let (mut real, mut probe) = (Plain { model: &real }, Plain { model: &probe });
        let (real_world, probe_world) = (real.start(), probe.start());
        let mut pair = Pair { config: &scope.config, real, probe, real_world, probe_world };
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
            spent += usize::from(pair.same(*action).is_none());
            pair.step(*action);
            steps += 1;
            for (before, after) in before.into_iter().zip(pair.left()) {
                renewals += usize::from(before.is_some() && after > before);
                mandates += usize::from(before.is_none() && after.is_some());
            }
        }
    }
    // Otherwise nothing was compared that matters.
    assert!(
        steps > 15_000 && mandates > 50 && renewals > 50 && spent > 500,
        "{steps} steps, {mandates} mandates, {renewals} renewals, {spent} spent messages"
    );
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
