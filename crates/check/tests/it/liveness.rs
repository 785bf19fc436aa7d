//! Runs that come to their goal for good, and runs that do not.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::models::listed;
use crate::toy::{Config, Msg, Toy, model, pass_on};
use bellwether_algorithms::definition::Settings;
use bellwether_check::{
    Action, Channels, Counterexample, Faults, Limit, Limits, Model, Plain, Report, Setup, Timing,
    Verdict, World, check,
};
use bellwether_core::{Context, Erasable, Group, NodeId, Process};
use stateright::{Checker, Property};
use std::collections::BTreeSet;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_millis(100);

// Counterexamples are looked at with the processes themselves, and by other means than the
// checker's own.

/// What is due if an action is possible, in words.
fn due<P: Process>(world: &World<Plain<'_, P>>, action: Action) -> Option<String> {
    match action {
        Action::Deliver { to, at } => {
            let flight = &world.inboxes[usize::from(to)].flights[usize::from(at)];
            Some(format!("{:?} from {} to {to}", flight.msg, flight.from))
        }
        Action::Fire { place, at } => {
            let armed = &world.slots[usize::from(place)].timers[usize::from(at)];
            Some(format!("{:?} of {place}", armed.timer))
        }
        Action::Tick { place } => Some(format!("tick {place:?}")),
        _ => None,
    }
}

fn holds<P: Process>(model: &Model<P>, world: &World<Plain<'_, P>>) -> bool {
    let live = model.group.ring().iter().zip(&world.slots);
    let mut live = live.filter_map(|(who, slot)| Some((*who, slot.process()?)));
    (model.goal.as_ref().unwrap().holds)(&mut live)
}

fn run<P: Erasable>(model: &Model<P>, threads: usize) -> Report {
    check(model, Limits { threads, ..Limits::default() }, &mut |_| {})
}

fn is_proved<P: Erasable>(model: &Model<P>) {
    assert_eq!(run(model, 1).verdict, Verdict::Proved);
}

/// The run that misses the goal: the same for any number of threads, possible step by step, fair,
/// and missing the goal.
fn missed<P: Erasable>(model: &Model<P>) -> Counterexample {
    let Verdict::Violated(found) = run(model, 1).verdict else { panic!("proved") };
    for threads in [2, 3] {
        assert_eq!(run(model, threads).verdict, Verdict::Violated(found.clone()));
    }
    assert!(found.missed);
    assert_eq!(found.breach.name, model.goal.as_ref().unwrap().name);

    let mut plain = Plain { model };
    let mut world = plain.start();
    let mut actions = Vec::new();
    for action in &found.stem {
        world.actions(&mut plain, &mut actions);
        assert!(actions.contains(action), "{action:?} of the stem");
        world.step(&mut plain, *action);
    }
    let first = world.clone();
    let (mut missing, mut settled) = (!holds(model, &world), BTreeSet::new());
    world.actions(&mut plain, &mut actions);
    let at_first: BTreeSet<String> = actions.iter().filter_map(|a| due(&world, *a)).collect();
    for action in &found.cycle {
        world.actions(&mut plain, &mut actions);
        assert!(actions.contains(action), "{action:?} of the cycle");
        settled.extend(due(&world, *action));
        world.step(&mut plain, *action);
        world.actions(&mut plain, &mut actions);
        let now: BTreeSet<String> = actions.iter().filter_map(|a| due(&world, *a)).collect();
        settled.extend(at_first.difference(&now).cloned());
        missing |= !holds(model, &world);
    }
    assert!(missing, "the goal holds throughout");
    if found.cycle.is_empty() {
        assert!(at_first.iter().all(|due| due.starts_with("tick")), "not over: {at_first:?}");
    } else {
        assert_eq!(world, first, "the cycle is none");
        assert!(at_first.is_subset(&settled), "not fair: {at_first:?} but {settled:?}");
    }
    found
}

fn deliveries(to: &[u8]) -> Vec<Action> {
    to.iter().map(|to| Action::Deliver { to: *to, at: 0 }).collect()
}

// A token on a ring of three. The second process wishes to have it.

/// The first process has a token and passes it on.
fn token(message: fn(&mut Toy, Msg, &mut Context<'_, Toy>)) -> Model<Toy> {
    let start = |_: &mut Toy, cx: &mut Context<'_, Toy>| {
        if cx.place() == 0 {
            pass_on(Msg::Token, cx);
        }
    };
    model(3, Config { start, message, ..Config::default() })
}

/// No process keeps the token.
fn circulates() -> Model<Toy> {
    token(|_, msg, cx| pass_on(msg, cx))
}

#[test]
fn a_token_that_no_process_keeps_goes_round_for_ever() {
    let found = missed(&circulates());
    assert_eq!(found.stem, []);
    assert_eq!(found.cycle, deliveries(&[1, 2, 0]));
}

/// The world for stateright.
struct Oracle(&'static Model<Toy>);

impl stateright::Model for Oracle {
    type State = World<Plain<'static, Toy>>;
    type Action = Action;

    fn init_states(&self) -> Vec<Self::State> {
        vec![Plain { model: self.0 }.start()]
    }

    fn actions(&self, state: &Self::State, actions: &mut Vec<Action>) {
        state.actions(&mut Plain { model: self.0 }, actions);
    }

    fn next_state(&self, state: &Self::State, action: Action) -> Option<Self::State> {
        let mut next = state.clone();
        next.step(&mut Plain { model: self.0 }, action);
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::eventually("granted", |oracle: &Self, state| holds(oracle.0, state))]
    }
}

/// Why the checker has a liveness of its own.
#[test]
fn stateright_lets_the_same_token_pass() {
    let model: &'static Model<Toy> = Box::leak(Box::new(circulates()));
    let checker = stateright::Model::checker(Oracle(model)).spawn_bfs().join();
    assert!(checker.is_done());
    assert_eq!(checker.unique_state_count(), 3);
    assert!(checker.discovery("granted").is_none(), "it has learnt to see cycles");
    assert!(matches!(run(model, 1).verdict, Verdict::Violated(_)));
}

/// Where a run ends, stateright is right: the adapter is not what fails above.
#[test]
fn stateright_sees_a_run_that_stops() {
    let model: &'static Model<Toy> = Box::leak(Box::new(token(|_, _, _| ())));
    let checker = stateright::Model::checker(Oracle(model)).spawn_bfs().join();
    assert!(checker.discovery("granted").is_some());
}

#[test]
fn a_token_that_is_kept_grants_the_wish() {
    is_proved(&token(
        |toy, msg, cx| {
            if cx.place() == 1 { toy.number = 1 } else { pass_on(msg, cx) }
        },
    ));
}

// Runs that are over.

#[test]
fn a_run_that_stops_short_of_the_goal_is_a_stem() {
    let found = missed(&token(|_, msg, cx| {
        if cx.place() != 2 {
            pass_on(msg, cx);
        }
    }));
    assert_eq!((found.stem, found.cycle), (deliveries(&[1, 2]), Vec::new()));
}

#[test]
fn what_is_not_due_is_not_waited_for() {
    let input = |toy: &mut Toy, _: &mut Context<'_, Toy>| toy.number = 1;
    let mut model = model(2, Config { input, ..Config::default() });
    model.inputs = vec![vec![()], Vec::new()];
    let found = missed(&model);
    assert_eq!((found.stem, found.cycle), (Vec::new(), Vec::new()));
}

#[test]
fn a_crash_may_end_a_run_and_need_not_be_repaired() {
    let mut model =
        token(|toy, msg, cx| if cx.place() == 1 { toy.number = 1 } else { pass_on(msg, cx) });
    is_proved(&model);
    model.faults = Faults { crashes: 1, recoveries: 1, ..Faults::default() };
    let found = missed(&model);
    assert!(found.stem.contains(&Action::Crash { place: 1 }));
    assert_eq!((found.stem.len(), found.cycle), (2, Vec::new()));
}

#[test]
fn a_run_is_over_where_only_time_goes_on() {
    let mut model = token(|_, _, _| ());
    model.timing = Timing::synchronous(TIMEOUT);
    let found = missed(&model);
    assert_eq!((found.stem, found.cycle), (deliveries(&[1]), Vec::new()));
    model.timing = Timing::Drifting { tick: TIMEOUT, apart: 2 };
    let found = missed(&model);
    assert_eq!((found.stem, found.cycle), (deliveries(&[1]), Vec::new()));
}

#[test]
fn the_horizon_ends_no_run() {
    let mut model = token(|_, _, _| ());
    model.timing = Timing::synchronous(TIMEOUT);
    model.reads_clock = true;
    model.horizon = Some(3);
    is_proved(&model);
    model.timing = Timing::Drifting { tick: TIMEOUT, apart: 1 };
    is_proved(&model);
    // Nor is it an excuse for going round while time stands still.
    model.config.message = |_, msg, cx| pass_on(msg, cx);
    is_proved(&model);
}

// Weak fairness.

/// Two processes throw a token to and fro. A third one has sent the second what it wishes for.
fn granted_meanwhile(start: fn(&mut Toy, &mut Context<'_, Toy>)) -> Model<Toy> {
    let message = |toy: &mut Toy, msg: Msg, cx: &mut Context<'_, Toy>| match msg {
        Msg::Grant => toy.number = 1,
        Msg::Token => cx.send(NodeId::new(2 - cx.place() as u32), Msg::Token),
    };
    model(3, Config { start, message, ..Config::default() })
}

#[test]
fn no_message_is_ignored_for_ever() {
    for channels in [Channels::Reorder, Channels::Fifo, Channels::Causal] {
        // When the token is there, it stands before the message that grants the wish.
        let mut model = granted_meanwhile(|_, cx| match cx.place() {
            0 => cx.send(NodeId::new(2), Msg::Token),
            2 => cx.send(NodeId::new(2), Msg::Grant),
            _ => (),
        });
        model.channels = channels;
        is_proved(&model);
    }
}

#[test]
fn nor_one_that_others_overtake() {
    let mut model = granted_meanwhile(|_, cx| {
        if cx.place() == 0 {
            cx.send(NodeId::new(2), Msg::Grant);
            cx.send(NodeId::new(2), Msg::Token);
        }
    });
    is_proved(&model);
    model.channels = Channels::Fifo;
    is_proved(&model);
}

#[test]
fn a_timer_that_stays_set_fires_in_the_end() {
    let mut model = circulates();
    model.config.timer = |toy, _| toy.number = 1;
    model.config.message = |toy, msg, cx| {
        if cx.place() == 1 && toy.number == 0 {
            cx.set_timer((), TIMEOUT);
        }
        pass_on(msg, cx);
    };
    is_proved(&model);
}

/// It is due again and again, but never stays so.
#[test]
fn a_timer_that_is_cancelled_each_time_may_never_fire() {
    let mut model = circulates();
    model.config.timer = |toy, _| toy.number = 1;
    model.config.message = |toy, msg, cx| match (cx.place(), msg) {
        (1, Msg::Grant) => cx.cancel_timer(()),
        (1, Msg::Token) if toy.number == 0 => {
            cx.set_timer((), TIMEOUT);
            pass_on(msg, cx);
        }
        (0, _) => {
            pass_on(Msg::Grant, cx);
            pass_on(msg, cx);
        }
        _ => pass_on(msg, cx),
    };
    // The grant, of all messages, cancels the timer: ahead of the token, which sets it.
    model.channels = Channels::Fifo;
    let found = missed(&model);
    assert_eq!(found.cycle.len(), 4);
    assert!(found.cycle.iter().all(|action| matches!(action, Action::Deliver { .. })));
}

/// The shortest way round with one token leaves the other one in the air.
#[test]
fn a_round_moves_all_that_must_move() {
    let start = |_: &mut Toy, cx: &mut Context<'_, Toy>| {
        if cx.place().is_multiple_of(2) {
            pass_on(Msg::Token, cx);
        }
    };
    let message = |_: &mut Toy, msg: Msg, cx: &mut Context<'_, Toy>| {
        let other = cx.place() ^ 1;
        cx.send(cx.group().ring()[other], msg);
    };
    let found = missed(&model(4, Config { start, message, ..Config::default() }));
    assert_eq!(found.stem, []);
    let mut cycle = found.cycle;
    cycle.sort_unstable();
    assert_eq!(cycle, deliveries(&[0, 1, 2, 3]));
}

// Goals that are reached and lost.

#[test]
fn a_goal_that_comes_and_goes_for_ever_is_missed() {
    let found = missed(&token(|toy, msg, cx| {
        if cx.place() == 1 {
            toy.number = 1 - toy.number;
        }
        pass_on(msg, cx);
    }));
    assert_eq!(found.stem, []);
    assert_eq!(found.cycle, deliveries(&[1, 2, 0, 1, 2, 0]));
}

/// The first process begins each round with two messages to the second. The second misses the goal in
/// between, if it has had one of them first.
fn race<const TOKEN_FIRST: bool>(toy: &mut Toy, msg: Msg, cx: &mut Context<'_, Toy>) {
    let is_bad = (msg == Msg::Token) == TOKEN_FIRST;
    match (cx.place(), toy.number) {
        (0, _) => {
            pass_on(Msg::Token, cx);
            pass_on(Msg::Grant, cx);
        }
        (_, 1) => toy.number = if is_bad { 2 } else { 3 },
        _ => {
            toy.number = 1;
            pass_on(Msg::Token, cx);
        }
    }
}

#[test]
fn a_round_passes_where_the_goal_is_missed() {
    for message in [race::<true>, race::<false>] {
        let start = |toy: &mut Toy, cx: &mut Context<'_, Toy>| match cx.place() {
            0 => (cx.config().message)(toy, Msg::Token, cx),
            _ => toy.number = 1,
        };
        let found = missed(&model(2, Config { start, message, ..Config::default() }));
        assert_eq!((found.stem.len(), found.cycle.len()), (0, 3));
    }
}

#[test]
fn a_goal_that_comes_and_goes_a_few_times_is_reached() {
    is_proved(&token(|toy, msg, cx| {
        if cx.place() == 1 {
            toy.number = (toy.number + 1).min(5);
        }
        pass_on(msg, cx);
    }));
}

// Limits.

#[test]
fn memory_is_counted_and_limited() {
    let model = circulates();
    let needs = run(&model, 1).progress.memory;
    let mut limits = Limits { memory: needs, ..Limits::default() };
    assert!(matches!(check(&model, limits, &mut |_| {}).verdict, Verdict::Violated(_)));
    limits.memory -= 1;
    let verdict = check(&model, limits, &mut |_| {}).verdict;
    assert_eq!(verdict, Verdict::Unfinished(Limit::Memory));
}

// The catalogue.

fn group(nodes: u32) -> Group {
    Group::new((1..=nodes).map(NodeId::new).collect()).unwrap()
}

fn bully(detection: bool) -> Setup {
    let settings =
        Settings { coordinator: Some(NodeId::new(3)), detection, ..Settings::new(TIMEOUT) };
    Setup::new(&listed("bully"), group(3), settings)
}

#[test]
fn bully_comes_to_agree_after_a_crash_and_a_recovery() {
    let mut setup = bully(true);
    setup.faults = Faults { crashes: 1, recoveries: 1, ..Faults::default() };
    is_proved(&setup.model());
}

#[test]
fn bully_without_detection_never_finds_out() {
    let mut setup = bully(false);
    setup.faults.crashes = 1;
    let found = missed(&setup.model());
    assert_eq!((found.stem, found.cycle), (vec![Action::Crash { place: 2 }], Vec::new()));
}

/// Both believe that the other has crashed, again and again. A long round of many kinds of steps.
#[test]
fn bully_whose_time_outs_lie_never_comes_to_rest() {
    let settings =
        Settings { coordinator: Some(NodeId::new(2)), detection: true, ..Settings::new(TIMEOUT) };
    let mut setup = Setup::new(&listed("bully"), group(2), settings);
    setup.timing = Timing::Bounded { tick: TIMEOUT, delay: (2, 2) };
    let mut model = setup.model();
    // Two coordinators are found sooner.
    model.invariants.clear();
    let found = missed(&model);
    for kind in [
        |action: &Action| matches!(action, Action::Tick { .. }),
        |action: &Action| matches!(action, Action::Fire { .. }),
        |action: &Action| matches!(action, Action::Deliver { .. }),
    ] {
        assert!(found.cycle.iter().any(kind));
    }
}

#[test]
fn ricart_agrawala_grants_every_request() {
    let mut setup = Setup::new(&listed("ricart-agrawala"), group(3), Settings::new(TIMEOUT));
    setup.requests = 2;
    is_proved(&setup.model());
}
