//! Worlds in which the parent of a dead process shows proof (G15): it may come late, when a later incarnation of
//! the same member leads.

use crate::machine::List;
use crate::worlds::{Probe, Scope, Wish, id, timed, two_campaign};
use bellwether_check::{Channels, Limits, Model, Verdict, check};
use bellwether_core::{Assumptions, Context, Invariant, Process};
use bellwether_log::{Durable, Ended, Incarnation, Log, Msg, Output, Position, Term, Timer};

/// Who P1 was before it started again and was elected again.
const FORMER: Incarnation = Incarnation::new(77);

#[derive(Clone, Debug)]
struct Setup {
    scope: Scope,
    /// The proof of one incarnation is taken for one of any (against G15).
    mistakes: bool,
}

/// A member. The proof of the end of P1's former incarnation is on its way to P2 from the beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Mortal(Probe);

type Cx<'a> = Context<'a, Mortal>;

impl Mortal {
    fn step(&mut self, cx: &mut Cx<'_>, step: impl FnOnce(&mut Probe, &mut Context<'_, Probe>)) {
        let scope = &cx.config().scope;
        let told = cx.part(scope, |msg| msg, |timer| timer, |cx| step(&mut self.0, cx));
        for output in told {
            cx.emit(output);
        }
    }
}

impl Process for Mortal {
    type Msg = Msg<List>;
    type Timer = Timer;
    type Input = Wish;
    type Output = Output;
    type Durable = Durable<List>;
    type Config = Setup;

    const ASSUMES: Assumptions = Log::<List>::ASSUMES;

    fn durable(&self) -> Durable<List> {
        self.0.durable()
    }

    fn on_start(&mut self, saved: Option<Durable<List>>, cx: &mut Cx<'_>) {
        if cx.me() == id(1) && saved.is_none() {
            let ended = Some(Ended { member: id(1), incarnation: FORMER });
            let (term, last, sure, permit) = (Term::ZERO, Position::ZERO, false, None);
            cx.send(id(2), Msg::RequestVote { term, last, sure, permit, ended });
        }
        self.step(cx, |probe, cx| probe.on_start(saved, cx));
    }

    fn on_input(&mut self, wish: Wish, cx: &mut Cx<'_>) {
        self.step(cx, |probe, cx| probe.on_input(wish, cx));
    }

    fn on_message(&mut self, from: bellwether_core::NodeId, mut msg: Msg<List>, cx: &mut Cx<'_>) {
        if cx.config().mistakes {
            match &mut msg {
                Msg::RequestVote { ended: Some(ended), .. } => ended.incarnation = FORMER,
                Msg::Append { beat, .. } => beat.incarnation = FORMER,
                _ => {}
            }
        }
        self.step(cx, |probe, cx| probe.on_message(from, msg, cx));
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_>) {
        self.step(cx, |probe, cx| probe.on_timer(timer, cx));
    }
}

/// P1 leads and P2 campaigns, with a lease of three ticks. A message may arrive any number of times. Clocks go on for a
/// tick, and who is bound stays bound, unless the proof frees it.
fn late_proof(mistakes: bool) -> Model<Mortal> {
    let Model { group, config, timing, horizon, reads_clock, .. } = timed(3, 1);
    let mut scope = config;
    scope.timers = &[Timer::Write];
    Model {
        group,
        config: Setup { scope, mistakes },
        timing,
        channels: Channels::Unreliable,
        faults: Default::default(),
        inputs: two_campaign(),
        sides: Vec::new(),
        invariants: vec![Invariant::<Mortal>::at_most_one_now(
            "one-serving",
            "at most one member serves at any moment",
            |_, mortal, now| mortal.0.log.serving(now).map(|_| 0),
        )],
        goal: None,
        referee: None,
        reads_clock,
        clocks: Vec::new(),
        horizon,
        aging: None,
        spent: None,
    }
}

fn verdict(mistakes: bool) -> Verdict {
    let limits = Limits { threads: 2, memory: 6 << 30, ..Limits::default() };
    check(&late_proof(mistakes), limits, &mut |_| {}).verdict
}

#[test]
fn g15_late_proof_of_a_former_incarnation_makes_no_second_leader() {
    assert_eq!(verdict(false), Verdict::Proved);
}

#[test]
fn g15_proof_that_is_taken_for_any_incarnation_makes_two_leaders() {
    match verdict(true) {
        Verdict::Violated(found) => assert_eq!(found.breach.name, "one-serving"),
        other => panic!("{other:?}"),
    }
}
