//! The rules one by one.

use super::*;
use crate::definition::{Algorithm, Settings};
use crate::snapshot::{Bank, bank, snapshots};
use bellwether_core::{Effect, Group, step};
use std::sync::Arc;

type P = Snapshots<Bank>;
type Effects = Vec<Effect<P>>;

fn id(number: u32) -> NodeId {
    NodeId::new(number)
}

fn snapshot(initiator: u32, count: u64) -> SnapshotId {
    SnapshotId { initiator: id(initiator), count }
}

/// The input that a verb stands for.
fn input(verb: &str) -> Input<bank::Input> {
    snapshots(Arc::new(Bank::definition())).input(verb).unwrap()
}

fn config(routes: Routes) -> Config<bank::Config> {
    let group = Group::numbered(3).unwrap();
    let below = Bank::definition().config(&Settings::new(Duration::from_millis(10)), &group);
    Config { routes, below: bank::Config { ring: routes == Routes::Ring, ..below } }
}

/// Process 1 of three, started.
struct One {
    group: Group,
    config: Config<bank::Config>,
    process: P,
}

impl One {
    fn new() -> Self {
        Self::with(Routes::Mesh)
    }

    fn with(routes: Routes) -> Self {
        let group = Group::numbered(3).unwrap();
        let mut one = One { group, config: config(routes), process: P::default() };
        assert_eq!(one.step(|process, cx| process.on_start(None, cx)), []);
        one
    }

    fn step(&mut self, handler: impl FnOnce(&mut P, &mut Cx<'_, Bank>)) -> Effects {
        step(&self.group, 0, &self.config, |cx| handler(&mut self.process, cx))
    }

    fn ask(&mut self, verb: &str) -> Effects {
        self.step(|process, cx| process.on_input(input(verb), cx))
    }

    fn marker(&mut self, from: u32, of: SnapshotId) -> Effects {
        self.step(|process, cx| process.on_message(id(from), Msg::Marker(of), cx))
    }

    fn money(&mut self, from: u32, number: u64, amount: u64) -> Effects {
        self.step(|process, cx| process.on_message(id(from), money(number, amount), cx))
    }
}

fn money(number: u64, amount: u64) -> Msg<bank::Transfer> {
    let (stamp, body) = (VectorClock::new(3), bank::Transfer(amount));
    Msg::Carried(Box::new(Carried { number, stamp, body }))
}

fn marker(to: u32, of: SnapshotId) -> Effect<P> {
    Effect::Send(id(to), Msg::Marker(of))
}

fn cut(of: SnapshotId) -> Effect<P> {
    Effect::Emit(Output::Cut(of))
}

/// The part that a step completes.
fn part(effects: &[Effect<P>]) -> &Part<Bank, bank::Transfer> {
    match effects.last() {
        Some(Effect::Emit(Output::Recorded(part))) => part,
        other => panic!("no part: {other:?}"),
    }
}

/// What is on the way from a process, by its amounts.
fn on_the_way(part: &Part<Bank, bank::Transfer>, from: u32) -> Vec<u64> {
    let messages = part.channels.get(&id(from)).map_or(&[][..], Vec::as_slice);
    messages.iter().map(|msg| msg.body.0).collect()
}

#[test]
fn cl1_begins_with_a_marker_on_every_channel() {
    let mut one = One::new();
    let first = snapshot(1, 1);
    assert_eq!(one.ask("snapshot"), [cut(first), marker(2, first), marker(3, first)]);
    let second = snapshot(1, 2);
    assert_eq!(one.ask("snapshot"), [cut(second), marker(2, second), marker(3, second)]);
    assert!(!one.process.is_complete());
}

#[test]
fn cl2_the_first_marker_records_the_state_and_passes_on() {
    let mut one = One::new();
    let of = snapshot(2, 1);
    one.ask("transfer:3:30");
    assert_eq!(one.marker(2, of), [cut(of), marker(2, of), marker(3, of)]);
    // What happens after it is not in it.
    one.ask("transfer:3:30");
    let last = one.marker(3, of);
    assert_eq!(part(&last).state.balance(), 70);
    assert_eq!(part(&last).sent, [0, 0, 1]);
    assert_eq!(part(&last).clock.counters(), [2, 0, 0]);
    assert_eq!(one.process.below().balance(), 40);
}

#[test]
fn cl3_cl4_a_channel_has_what_comes_between_the_state_and_its_marker() {
    let mut one = One::new();
    one.money(3, 1, 7);
    let of = snapshot(2, 1);
    one.marker(2, of);
    assert_eq!(one.money(2, 1, 50), [], "its marker has come");
    one.money(3, 2, 8);
    one.money(3, 3, 9);
    let last = one.marker(3, of);
    let part = part(&last);
    assert!(on_the_way(part, 2).is_empty());
    assert_eq!(on_the_way(part, 3), [8, 9]);
    assert_eq!(part.state.balance(), 107);
    assert_eq!(one.process.below().balance(), 174, "the subject has all of it");
}

#[test]
fn cl5_is_complete_when_every_channel_has_had_its_marker_and_only_once() {
    let mut one = One::new();
    let of = snapshot(1, 1);
    one.ask("snapshot");
    assert_eq!(one.marker(2, of), []);
    assert_eq!(one.marker(2, of), [], "one that comes twice");
    assert!(matches!(&one.marker(3, of)[..], [Effect::Emit(Output::Recorded(_))]));
    assert!(one.process.is_complete());
    assert_eq!(one.marker(3, of), []);
    assert!(one.process.is_complete());
}

#[test]
fn snapshots_at_once_do_not_mind_each_other() {
    let mut one = One::new();
    let (a, b) = (snapshot(1, 1), snapshot(3, 1));
    one.ask("snapshot");
    one.money(2, 1, 5);
    one.marker(3, b);
    one.money(2, 2, 6);
    let last = one.marker(2, b);
    assert_eq!((part(&last).snapshot, on_the_way(part(&last), 2)), (b, vec![6]));
    one.money(3, 1, 1);
    one.marker(3, a);
    let last = one.marker(2, a);
    assert_eq!(on_the_way(part(&last), 2), [5, 6]);
    assert_eq!(on_the_way(part(&last), 3), [1]);
}

#[test]
fn on_a_ring_one_marker_comes_and_one_goes() {
    let mut one = One::with(Routes::Ring);
    let of = snapshot(1, 1);
    assert_eq!(one.ask("snapshot"), [cut(of), marker(2, of)]);
    one.money(3, 1, 9);
    let last = one.marker(3, of);
    assert_eq!(on_the_way(part(&last), 3), [9]);
    assert!(matches!(
        one.ask("transfer:3:1")[..],
        [Effect::Emit(Output::Below(bank::Output::NotNext(_)))]
    ));
}

#[test]
fn who_is_alone_has_the_whole_snapshot() {
    let group = Group::numbered(1).unwrap();
    for routes in [Routes::Mesh, Routes::Ring] {
        let config = config(routes);
        let mut process = P::default();
        step(&group, 0, &config, |cx| process.on_start(None, cx));
        let done = step(&group, 0, &config, |cx| process.on_input(Input::Snapshot, cx));
        assert_eq!(part(&done).on_the_way(), 0);
        let worked = step(&group, 0, &config, |cx| {
            process.on_input(Input::Below(bank::Input::Work), cx);
        });
        assert_eq!(worked, []);
    }
}

#[test]
fn a_message_carries_its_number_and_the_clock_of_its_event() {
    let mut one = One::new();
    let sent = one.ask("transfer:2:10");
    let [Effect::Send(_, Msg::Carried(first))] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!((first.number, first.stamp.counters()), (1, &[2, 0, 0][..]));
    let mut stamp = VectorClock::new(3);
    stamp.tick(2);
    let body = bank::Transfer(1);
    let msg = Msg::Carried(Box::new(Carried { number: 1, stamp, body }));
    one.step(|process, cx| process.on_message(id(3), msg, cx));
    let sent = one.ask("transfer:2:10");
    let [Effect::Send(_, Msg::Carried(second))] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!((second.number, second.stamp.counters()), (2, &[4, 0, 1][..]));
}

#[test]
fn what_no_process_can_have_sent_changes_nothing() {
    let mut one = One::new();
    let before = one.process.clone();
    assert_eq!(one.marker(9, snapshot(1, 1)), []);
    assert_eq!(one.marker(2, snapshot(9, 1)), []);
    assert_eq!(one.money(9, 1, 10), []);
    let (stamp, body) = (VectorClock::new(5), bank::Transfer(1));
    let odd = Msg::Carried(Box::new(Carried { number: 1, stamp, body }));
    assert_eq!(one.step(|process, cx| process.on_message(id(2), odd, cx)), []);
    assert_eq!(one.process, before);
}

#[test]
fn the_bank_refuses_what_it_cannot_pay() {
    let mut one = One::new();
    for (verb, text) in [
        ("transfer:2:101", "cannot pay 101: it has 100"),
        ("transfer:1:5", "cannot pay P1: that is no other account"),
        ("transfer:9:5", "cannot pay P9: that is no other account"),
    ] {
        let effects = one.ask(verb);
        let [Effect::Emit(output)] = &effects[..] else { panic!("{effects:?}") };
        assert_eq!(output.to_string(), text);
        assert_eq!(one.process.below().balance(), 100);
    }
    let definition = snapshots(Arc::new(Bank::definition()));
    for verb in ["transfer", "transfer:2", "transfer:x:1", "transfer:2:-1", "transfer:2:0", "pay"] {
        assert!(definition.input(verb).is_none(), "{verb}");
    }
    for verb in ["transfer:2:50", "work", "snapshot"] {
        assert_eq!(definition.verb(&input(verb)), verb);
    }
}

/// A process that talks to itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Echo(u64);

impl Process for Echo {
    type Msg = bank::Transfer;
    type Timer = ();
    type Input = ();
    type Output = bank::Output;
    type Durable = ();
    type Config = ();
    const ASSUMES: Assumptions = Assumptions::faultless(Channels::Fifo);
    fn durable(&self) {}
    fn on_start(&mut self, _: Option<()>, _: &mut Context<'_, Self>) {}
    fn on_input(&mut self, (): (), cx: &mut Context<'_, Self>) {
        cx.send(cx.me(), bank::Transfer(1));
    }
    fn on_message(&mut self, _: NodeId, msg: bank::Transfer, _: &mut Context<'_, Self>) {
        self.0 += msg.0;
    }
    fn on_timer(&mut self, (): (), _: &mut Context<'_, Self>) {}
}

#[test]
fn cl6_what_is_on_the_way_to_oneself_is_in_the_snapshot() {
    let group = Group::numbered(1).unwrap();
    let config = Config { routes: Routes::Mesh, below: () };
    let mut process = Snapshots::<Echo>::default();
    let mut call =
        |call: Call<Snapshots<Echo>>| step(&group, 0, &config, |cx| call.make(&mut process, cx));
    call(Call::Start(None));
    let said = |effects: &[Effect<Snapshots<Echo>>]| match effects {
        [Effect::Send(_, msg)] => msg.clone(),
        other => panic!("{other:?}"),
    };
    let sent: Vec<_> = (0..2).map(|_| said(&call(Call::Input(Input::Below(()))))).collect();
    let begun = call(Call::Input(Input::Snapshot));
    assert_eq!(begun, [Effect::Emit(Output::Cut(snapshot(1, 1)))]);
    let later = said(&call(Call::Input(Input::Below(()))));
    assert_eq!(call(Call::Message(id(1), sent[0].clone())), []);
    let done = call(Call::Message(id(1), sent[1].clone()));
    let [Effect::Emit(Output::Recorded(part))] = &done[..] else { panic!("{done:?}") };
    assert_eq!((part.state.0, part.on_the_way()), (0, 2));
    assert_eq!(call(Call::Message(id(1), later)), []);
}
