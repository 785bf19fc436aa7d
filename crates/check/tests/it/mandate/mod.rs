//! The production member's mandate, explored to the end: three members, of which some ask for it, one
//! steps down and one crashes and comes back; messages arrive in any order, any number of times or
//! never; clocks drift apart as far as the leases allow for, and timers fire when they like.
//!
//! There is no horizon: the [`Mandate`](bellwether_member::mandate::Mandate) only compares times, so
//! they are told from the present and those that are too old are all the same. What bounds the runs
//! is how often a member may be asked and the number of epochs. A tick stands for half of what a
//! leader's clock and a follower's may come apart within a lease.
//!
//! The quick ones of these run with all tests, the long ones with `make check-all`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may panic, and tell how far it is"
)]

mod auditor;
mod keeper;
mod probe;
mod replication;
mod stories;
mod walk;

use bellwether_check::{
    Action, Aging, Channels, Counterexample, Faults, Limits, Model, Plain, Report, Ticks, Timing,
    Verdict, Whose, check,
};
use bellwether_core::{Erasable, Group, Invariant, NodeId};
use bellwether_member::mandate::{Input, Timer};
use probe::{Flaw, Probe, Scope, TICK};
use stories::{Event, Story};

const ASK: Input = Input::Ask { claim: false, appointed: false };
const HAND_OVER: Input = Input::HandOver { to: None, appointed: false };
const CRASH: Faults = Faults { crashes: 1, recoveries: 1, losses: 0, duplicates: 0 };

fn id(number: u32) -> NodeId {
    NodeId::new(number)
}

fn group() -> Group {
    Group::numbered(3).unwrap()
}

/// Three members to whom nothing happens, with clocks that come so far apart.
fn model(scope: Scope, apart: Ticks) -> Model<Probe> {
    Model {
        group: group(),
        config: scope,
        timing: Timing::Drifting { tick: TICK, apart },
        channels: Channels::Unreliable,
        faults: Faults::default(),
        inputs: Vec::new(),
        sides: Vec::new(),
        invariants: invariants(),
        goal: None,
        referee: None,
        reads_clock: false,
        clocks: Vec::new(),
        horizon: None,
        aging: Some(Aging {
            process: |probe, scope, now, tick| probe.mandate.age(tick, now, &scope.config),
            msg: |msg, whose, scope, now, tick| match whose {
                Whose::Sender => msg.age_at_sender(tick, now, &scope.config),
                Whose::Receiver => msg.age_at_receiver(tick, now, &scope.config),
            },
        }),
        spent: Some(|probe, scope, now, from, msg| {
            probe.mandate.is_spent(from, msg, now, &scope.config)
        }),
    }
}

fn invariants() -> Vec<Invariant<Probe>> {
    vec![
        Invariant::<Probe>::at_most_one_now(
            "one-mandate",
            "at most one member believes at any moment that it holds the mandate",
            |_, probe, now| probe.mandate.holds(now).map(|_| 0),
        ),
        Invariant::<Probe>::fenced(
            "epochs",
            "each epoch has one leader, and epochs only grow, over restarts too",
            |_, probe, now| probe.mandate.holds(now).map(|epoch| epoch.number().into()),
        ),
        Invariant::<Probe>::each(
            "promises",
            "a promise is durable before it is given, is never taken back, not by a crash either, \
             and within its epoch goes to nobody but who has won it",
            |_, probe| !probe.broken,
        ),
    ]
}

fn explore<P: Erasable>(name: &str, model: &Model<P>) -> Report {
    let limits = Limits { threads: 2, memory: 8 << 30, ..Limits::default() };
    let mut next = 0;
    let report = check(model, limits, &mut |so_far| {
        if so_far.states >= next {
            next = so_far.states + 5_000_000;
            eprintln!("{name}: {so_far:?}");
        }
    });
    eprintln!("{name}: {:?}", report.progress);
    report
}

fn prove<P: Erasable>(name: &str, model: &Model<P>) {
    let report = explore(name, model);
    if let Verdict::Violated(found) = &report.verdict {
        eprintln!("{}", tell(model, found));
    }
    assert_eq!(report.verdict, Verdict::Proved, "{name}: {:?}", report.progress);
}

/// A counterexample as people read it.
fn tell<P: Erasable>(model: &Model<P>, found: &Counterexample) -> String {
    let mut plain = Plain { model };
    let mut world = plain.start();
    let mut lines = vec![format!("{:?}", found.breach)];
    for action in &found.stem {
        lines.push(match *action {
            Action::Deliver { to, at } => {
                let flight = &world.inboxes[usize::from(to)].flights[usize::from(at)];
                format!("place {to} gets {:?} from place {}", flight.msg, flight.from)
            }
            other => format!("{other:?}"),
        });
        world.step(&mut plain, *action);
    }
    lines.join("\n")
}

fn refute<P: Erasable>(name: &str, model: &Model<P>) -> Counterexample {
    match explore(name, model).verdict {
        Verdict::Violated(found) => found,
        other => unreachable!("{name}: {other:?}"),
    }
}

/// All timers but that of heartbeats: a leader has what its first message brings, and no more.
const NO_BEATS: &[Timer] = &[Timer::Free, Timer::Retry, Timer::Lapse];

/// P1 and P2 ask, and P1 steps down.
fn two_ask() -> Vec<Vec<Input>> {
    vec![vec![ASK, HAND_OVER], vec![ASK], vec![]]
}

#[test]
fn one_leader_at_a_time_while_two_ask_and_one_steps_down() {
    let scope = Scope { timers: NO_BEATS, ..Scope::new(3, 1, 2) };
    prove("step-down", &Model { inputs: two_ask(), ..model(scope, 1) });
}

#[test]
fn one_leader_at_a_time_while_leases_are_renewed() {
    prove("renewal", &Model { inputs: two_ask(), ..model(Scope::new(3, 1, 1), 1) });
}

#[test]
fn one_leader_at_a_time_while_a_member_crashes_and_comes_back() {
    let scope = Scope { timers: NO_BEATS, ..Scope::new(3, 1, 1) };
    prove("crash", &Model { inputs: two_ask(), faults: CRASH, ..model(scope, 1) });
}

#[test]
fn one_leader_at_a_time_while_an_epoch_follows_a_crash() {
    if std::env::var_os("LONG").is_none() {
        return; // It takes minutes: make check-all.
    }
    let scope = Scope { timers: NO_BEATS, ..Scope::new(3, 1, 2) };
    prove("crash in two epochs", &Model { inputs: two_ask(), faults: CRASH, ..model(scope, 1) });
}

#[test]
fn one_leader_at_a_time_whatever_happens() {
    if std::env::var_os("LONGEST").is_none() {
        return; // It has not come to its end yet, in hours: LONGEST=1.
    }
    let inputs = two_ask();
    prove("all at once", &Model { inputs, faults: CRASH, ..model(Scope::new(3, 1, 2), 1) });
}

#[test]
fn one_leader_at_a_time_while_three_ask() {
    if std::env::var_os("LONG").is_none() {
        return; // It takes minutes: make check-all.
    }
    // The timers are late for ever. So whoever is free need not have noticed.
    let scope = Scope { timers: &[], ..Scope::new(3, 1, 3) };
    prove("three ask", &Model { inputs: vec![vec![ASK]; 3], ..model(scope, 1) });
}

#[test]
fn one_leader_at_a_time_while_a_mandate_outlasts_a_tick() {
    if std::env::var_os("LONGEST").is_none() {
        return; // It has not come to its end yet, in hours: LONGEST=1.
    }
    prove("longer lease", &Model { inputs: two_ask(), ..model(Scope::new(4, 2, 2), 1) });
}

#[test]
fn clocks_that_come_apart_further_than_leases_allow_for_make_two_leaders() {
    let two_leaders = |name, lease, apart| {
        let scope = Scope { timers: &[], ..Scope::new(lease, 1, 2) };
        let inputs = vec![vec![ASK], vec![ASK], vec![]];
        let breach = refute(name, &Model { inputs, ..model(scope, apart) }).breach;
        assert_eq!((breach.name, breach.by), ("one-mandate", vec![id(1), id(2)]));
    };
    // A lease of three ticks of which one is relied on allows for a clock that is one tick ahead
    // when the lease begins and one behind when it ends. Not for two ticks,
    two_leaders("apart", 3, 2);
    // and a lease of two ticks not for one.
    two_leaders("margin", 2, 1);
}

#[test]
fn a_voter_that_forgets_its_promise_makes_two_leaders() {
    let flaw = Some(Flaw::ForgetsPromises);
    let scope = Scope { timers: &[], flaw, ..Scope::new(3, 1, 2) };
    let inputs = vec![vec![ASK], vec![], vec![ASK]];
    let mut forgetful = Model { inputs, faults: CRASH, ..model(scope, 1) };
    assert_eq!(refute("forgotten promise", &forgetful).breach.name, "promises");
    // And this is what comes of it.
    forgetful.invariants.truncate(2);
    assert_eq!(refute("two leaders", &forgetful).breach.name, "one-mandate");
}

#[test]
fn m8_a_voter_that_votes_at_once_after_a_restart_makes_two_leaders() {
    let scope = Scope { timers: &[], flaw: Some(Flaw::ForgetsLeases), ..Scope::new(3, 1, 2) };
    let inputs = vec![vec![ASK], vec![ASK], vec![]];
    let found = refute("forgotten lease", &Model { inputs, faults: CRASH, ..model(scope, 1) });
    assert_eq!(found.breach.name, "one-mandate");
}

/// That all of this can happen, one after the other.
fn happens(inputs: Vec<Vec<Input>>, epochs: u64, faults: Faults, events: &[Event]) {
    let scope = Scope { timers: &[Timer::Lapse], ..Scope::new(3, 1, epochs) };
    let referee = Some(Story::boxed(events));
    let name = format!("{events:?}");
    let found = refute(&name, &Model { inputs, faults, referee, ..model(scope, 1) });
    assert_eq!(found.breach.name, "story");
}

#[test]
fn mandates_are_won_and_lost_in_all_of_this() {
    use Event::{Crashes, GivesUp, Lapses, MovesTo, Wins};
    let none = Faults::default();
    happens(two_ask(), 2, none, &[Wins(1, 1), Lapses(1), Wins(2, 2)]);
    happens(two_ask(), 2, none, &[Wins(1, 1), GivesUp(1), Wins(2, 2)]);
    // M10
    happens(two_ask(), 3, none, &[Wins(1, 1), MovesTo(1, 3)]);
    let again = vec![vec![ASK, ASK], vec![], vec![]];
    happens(again, 2, CRASH, &[Wins(1, 1), Crashes(1), Wins(1, 2)]);
}
