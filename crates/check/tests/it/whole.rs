//! Invariants about all live processes and all messages in flight together.

use crate::models::erase;
use crate::toy::{Config, Msg, Toy, model, pass_on};
use bellwether_check::{Action, Channels, Faults, Limits, Model, Verdict, check};
use bellwether_core::{Context, Erasable, Invariant};
use std::time::Duration;

/// A token on a ring of three: the first process has it, and its receiver keeps it for a while.
fn token_ring() -> Model<Toy> {
    let start = |toy: &mut Toy, cx: &mut Context<'_, Toy>| {
        if cx.place() == 0 {
            take(toy, cx);
        }
    };
    let timer = |toy: &mut Toy, cx: &mut Context<'_, Toy>| {
        if toy.number == 1 {
            toy.number = 0;
            pass_on(Msg::Token, cx);
        }
    };
    let message = |toy: &mut Toy, _: Msg, cx: &mut Context<'_, Toy>| take(toy, cx);
    let mut model = model(3, Config { start, message, timer, input: |_, _| () });
    model.goal = None;
    // The third process may be asked for something else.
    model.inputs = vec![Vec::new(), Vec::new(), vec![()]];
    model.invariants = vec![one_token()];
    model
}

fn take(toy: &mut Toy, cx: &mut Context<'_, Toy>) {
    toy.number = 1;
    cx.set_timer((), Duration::from_millis(100));
}

fn one_token() -> Invariant<Toy> {
    Invariant::<Toy>::whole(
        "one-token",
        "the token is held by one process or in flight, exactly once",
        |cluster| {
            let held = cluster.live.iter().filter(|(_, toy)| toy.number == 1).count();
            let carries = cluster.in_flight.iter().filter(|sent| *sent.msg == Msg::Token).count();
            held + carries == 1
        },
    )
}

/// What breaks the invariant first, if anything does: the same however it is explored.
fn broken(model: Model<Toy>) -> Option<Vec<Action>> {
    let found = explored(&model);
    assert_eq!(explored(&erase(model)), found);
    found
}

fn explored<P: Erasable>(model: &Model<P>) -> Option<Vec<Action>> {
    let look = |threads, reduce| {
        let report = check(model, Limits { threads, reduce, ..Limits::default() }, &mut |_| {});
        match report.verdict {
            Verdict::Proved => None,
            Verdict::Violated(found) => {
                assert_eq!((found.breach.name, found.breach.by.len()), ("one-token", 0));
                Some(found.stem)
            }
            Verdict::Unfinished(limit) => panic!("{limit:?}"),
        }
    };
    let found = look(1, true);
    for (threads, reduce) in [(2, true), (1, false), (3, false)] {
        assert_eq!(look(threads, reduce), found, "{threads} threads, {reduce}");
    }
    found
}

#[test]
fn a_token_that_is_passed_on_is_there_once() {
    assert_eq!(broken(token_ring()), None);
    let mut doubled = token_ring();
    doubled.faults.duplicates = 1;
    let way = [Action::Fire { place: 0, at: 0 }, Action::Duplicate { to: 1, at: 0 }];
    assert_eq!(broken(doubled), Some(way.to_vec()));
}

/// Who is asked for something else while it has the token forgets it.
#[test]
fn a_token_that_is_forgotten_is_missed_as_soon_as_possible() {
    let mut forgetful = token_ring();
    forgetful.config.input = |toy, _| toy.number = 0;
    let way = [
        Action::Fire { place: 0, at: 0 },
        Action::Deliver { to: 1, at: 0 },
        Action::Fire { place: 1, at: 0 },
        Action::Deliver { to: 2, at: 0 },
        Action::Input { place: 2 },
    ];
    assert_eq!(broken(forgetful), Some(way.to_vec()));
}

/// What is sent to a process that never comes back counts as arrived. If it may come back, the
/// message is in flight until it arrives, perhaps too early.
#[test]
fn a_message_to_a_process_that_is_down_for_good_is_not_in_flight() {
    let lost = |recoveries| {
        let mut sent = token_ring();
        sent.config.start = |_, cx| {
            if cx.place() == 0 {
                pass_on(Msg::Token, cx);
            }
        };
        sent.invariants = vec![one_token().until_recovery()];
        sent.faults = Faults { crashes: 1, recoveries, ..Faults::default() };
        broken(sent)
    };
    let crash = Action::Crash { place: 1 };
    assert_eq!(lost(0), Some(vec![crash]));
    assert_eq!(lost(1), Some(vec![crash, Action::Deliver { to: 1, at: 0 }]));
}

/// Where messages stay, a process that can say something again and again may as well say it at once.
/// An invariant may see the difference.
#[test]
fn every_choice_of_messages_is_looked_at_where_they_stay() {
    let mut said = token_ring();
    said.config.start = |_, cx| cx.set_timer((), Duration::ZERO);
    said.config.timer = |_, cx| {
        pass_on(Msg::Token, cx);
        cx.set_timer((), Duration::ZERO);
    };
    said.config.message = |_, _, _| ();
    said.channels = Channels::Unreliable;
    let text = "the second process says nothing before the first";
    said.invariants = vec![Invariant::<Toy>::whole("one-token", text, |cluster| {
        let says = |number| cluster.in_flight.iter().any(|sent| sent.from.number() == number);
        says(1) || !says(2)
    })];
    assert_eq!(broken(said), Some(vec![Action::Fire { place: 1, at: 0 }]));
}
