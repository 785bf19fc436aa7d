//! The mutual exclusion algorithms by themselves, as in their papers: small groups, and every order
//! in which messages can arrive and applications can ask for the section and leave it.
//!
//! Beside each algorithm is an application that enters a given number of times. What must hold:
//! at most one is inside; who is let in has asked; entries are numbered one by one, and come in the
//! order that the algorithm promises; where there is a token, there is one; and in every run all are
//! served. No process crashes, but on the textbook's token ring.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::models::erase;
use crate::mortal::{self, Life, Mortal, Mourner, T};
use bellwether_algorithms::mutex::{
    Central, Granted, Input, Lamport, Mutex, Opening, Options, Raymond, RicartAgrawala,
    RicartAgrawalaToken, Singhal, SuzukiKasami, TokenRing, Tree,
};
use bellwether_algorithms::referee::{Breach, Fact, Referee};
use bellwether_check::{
    Channels, Counterexample, Faults, Limits, Model, Report, Timing, Verdict, check,
};
use bellwether_core::{
    self as core, AnyConfig, AnyInput, AnyOutput, AnyProcess, Assumptions, Context, Goal, Group,
    InFlight, Invariant, Message, NodeId, Process, Time,
};
use std::collections::BTreeSet;
use std::fmt;
use std::iter::repeat_n;
use std::time::Duration;

/// An algorithm and its application.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Customer<M> {
    algorithm: M,
    state: State,
    /// How often it still wants to be inside.
    wants: u32,
    /// How often the token has come by, if that is limited; and whether that was too often. Then
    /// nothing is looked at any further.
    visits: u32,
    stopped: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum State {
    #[default]
    Idle,
    Waiting,
    Inside,
}

/// How the algorithm begins, and what the applications want, by place.
#[derive(Clone, Debug)]
struct Config {
    opening: Opening,
    wants: Vec<u32>,
    /// How often the token may come by at each, where it would count its rounds for ever.
    visits: Option<u32>,
}

/// What happens at any moment, and at some time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Timer<T> {
    Ask,
    Leave,
    Algorithm(T),
}

/// An application is let in.
#[derive(Clone, Copy, Debug)]
struct Entered {
    number: u64,
    /// Where its request stands in the promised order.
    turn: Option<u64>,
    /// Whether it has asked for it.
    asked: bool,
}

impl fmt::Display for Entered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

type Cx<'a, M> = Context<'a, Customer<M>>;

impl<M: Mutex> Process for Customer<M> {
    type Msg = M::Msg;
    type Timer = Timer<M::Timer>;
    type Input = ();
    type Output = Entered;
    type Durable = ();
    type Config = Config;

    const ASSUMES: Assumptions = M::ASSUMES;

    fn durable(&self) {}

    fn on_start(&mut self, _: Option<()>, cx: &mut Cx<'_, M>) {
        let Config { opening, wants, .. } = cx.config();
        self.wants = wants[cx.place()];
        if opening.is_inside(cx.me()) {
            self.enter(cx);
        } else if opening.is_waiting(cx.me()) {
            self.state = State::Waiting;
        } else {
            self.rest(cx);
        }
        self.step(cx, |algorithm, cx| algorithm.on_start(None, cx));
    }

    /// It wants to be inside once more.
    fn on_input(&mut self, (): (), cx: &mut Cx<'_, M>) {
        self.wants += 1;
        if self.state == State::Idle {
            self.rest(cx);
        }
    }

    fn on_message(&mut self, from: NodeId, msg: M::Msg, cx: &mut Cx<'_, M>) {
        if let Some(limit) = cx.config().visits {
            self.visits += u32::from(is_token(&msg));
            self.stopped |= self.visits > limit;
        }
        self.step(cx, |algorithm, cx| algorithm.on_message(from, msg, cx));
    }

    fn on_timer(&mut self, timer: Self::Timer, cx: &mut Cx<'_, M>) {
        match timer {
            _ if self.stopped => {}
            Timer::Ask => {
                self.wants -= 1;
                self.state = State::Waiting;
                self.step(cx, |algorithm, cx| algorithm.on_input(Input::Request, cx));
            }
            Timer::Leave => {
                self.rest(cx);
                self.step(cx, |algorithm, cx| algorithm.on_input(Input::Release, cx));
            }
            Timer::Algorithm(timer) => {
                self.step(cx, |algorithm, cx| algorithm.on_timer(timer, cx));
            }
        }
    }
}

impl<M: Mutex> Customer<M> {
    fn rest(&mut self, cx: &mut Cx<'_, M>) {
        self.state = State::Idle;
        if self.wants > 0 {
            cx.set_timer(Timer::Ask, Duration::ZERO);
        }
    }

    fn enter(&mut self, cx: &mut Cx<'_, M>) {
        self.state = State::Inside;
        cx.set_timer_within(Timer::Leave, Duration::ZERO..2 * T);
    }

    fn step(&mut self, cx: &mut Cx<'_, M>, step: impl FnOnce(&mut M, &mut Context<'_, M>)) {
        if self.stopped {
            return;
        }
        let opening = &cx.config().opening;
        let said = cx.part(
            opening,
            |msg| msg,
            Timer::Algorithm,
            |cx| {
                step(&mut self.algorithm, cx);
            },
        );
        for Granted(number) in said {
            let (turn, asked) = (self.algorithm.place(), self.state == State::Waiting);
            cx.emit(Entered { number, turn, asked });
            self.enter(cx);
        }
    }
}

fn is_token(msg: &impl Message) -> bool {
    matches!(msg.kind().name, "TOKEN" | "PRIVILEGE" | "RESEND")
}

/// Counts the entries, and sees to their order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Doorkeeper {
    entries: u64,
    last: Option<u64>,
    /// Whether a number may be used twice.
    lenient: bool,
}

impl Referee<AnyProcess> for Doorkeeper {
    fn hears(&mut self, _: Time, who: NodeId, output: &AnyOutput) -> Result<(), Breach> {
        let Entered { number, turn, asked } = *output.downcast_ref::<Entered>().unwrap();
        let breach = |name, text| Err(Breach { name, text, by: vec![who] });
        if !asked {
            return breach("asked", "who is let in has asked for it");
        }
        self.entries += 1;
        if number != self.entries && !self.lenient {
            return breach("numbers", "entries are numbered one by one");
        }
        if turn.is_some() && turn <= self.last {
            return breach("order", "requests are granted in the promised order");
        }
        self.last = turn.or(self.last);
        Ok(())
    }

    fn claims(&self) -> Vec<&'static str> {
        vec!["asked", "numbers", "order"]
    }

    fn facts(&self) -> Vec<Fact> {
        Vec::new()
    }
}

/// What must hold of the algorithm.
fn invariants<M: Mutex>() -> Vec<Invariant<Customer<M>>> {
    let one_inside = Invariant::<Customer<M>>::at_most_one(
        "one-inside",
        "at most one application is inside",
        |_, customer| (customer.state == State::Inside).then_some(0),
    );
    let one_token = Invariant::<Customer<M>>::whole(
        "one-token",
        "one process has the token, or it is on the way",
        |cluster| {
            let here = cluster.live.iter().filter(|(_, at)| at.algorithm.has_token()).count();
            here + cluster.in_flight.iter().filter(|sent| is_token(sent.msg)).count() == 1
        },
    );
    [one_inside].into_iter().chain(M::TOKEN.then_some(one_token)).collect()
}

/// The first opening of processes 1 to `n`: the largest coordinates, the first has the token.
fn opening(n: usize) -> Opening {
    let group = Group::numbered(n as u32).unwrap();
    Opening::first(&group, group.highest(), Options::default())
}

/// Applications that want to be inside so often each, in the order of messages that the algorithm
/// assumes.
fn crowd<M: Mutex>(wants: &[u32]) -> Model<AnyProcess> {
    open::<M>(opening(wants.len()), wants)
}

fn open<M: Mutex>(opening: Opening, wants: &[u32]) -> Model<AnyProcess> {
    let served = Goal::<Customer<M>>::new("served", "all have been inside", |live| {
        live.map(|(_, at)| (at.state, at.wants)).all(|rest| rest == (State::Idle, 0))
    });
    let model = Model {
        group: Group::numbered(wants.len() as u32).unwrap(),
        config: Config { opening, wants: wants.to_vec(), visits: None },
        timing: Timing::Asynchronous,
        channels: match M::ASSUMES.channels {
            core::Channels::Any => Channels::Reorder,
            core::Channels::Fifo => Channels::Fifo,
            core::Channels::Causal => Channels::Causal,
        },
        faults: Faults::default(),
        inputs: Vec::new(),
        sides: Vec::new(),
        invariants: invariants::<M>(),
        goal: Some(served),
        referee: None,
        reads_clock: false,
        clocks: Vec::new(),
        horizon: None,
        aging: None,
        spent: None,
    };
    Model { referee: Some(Box::new(Doorkeeper::default())), ..erase(model) }
}

fn run(model: &Model<AnyProcess>) -> Report {
    check(model, Limits { threads: 2, ..Limits::default() }, &mut |_| {})
}

/// Every claim holds, in at least this many states.
#[track_caller]
fn behaves(model: Model<AnyProcess>, at_least: u64) {
    let Report { verdict, progress } = run(&model);
    assert_eq!(verdict, Verdict::Proved);
    assert!(progress.states > at_least, "{progress:?}");
}

#[track_caller]
fn breaks(model: Model<AnyProcess>, name: &str) -> Counterexample {
    match run(&model).verdict {
        Verdict::Violated(found) if found.breach.name == name => found,
        other => panic!("{other:?}"),
    }
}

fn id(number: u32) -> NodeId {
    NodeId::new(number)
}

// The textbook's ring: dead neighbours are bypassed after T.

type Ring = Customer<TokenRing>;

fn on_ring(mortal: &Mortal) -> Option<&Ring> {
    mortal.process().and_then(AnyProcess::downcast_ref)
}

/// One that was not stopped by its visits.
fn running(mortal: &Mortal) -> Option<&Ring> {
    on_ring(mortal).filter(|ring| !ring.stopped)
}

/// Whether a process has the token, or a copy until it is acknowledged.
fn has_token_or_copy(life: &Life) -> bool {
    let is_copy =
        |timer: &Timer<_>| matches!(timer, Timer::<<TokenRing as Process>::Timer>::Algorithm(_));
    life.process.downcast_ref().is_some_and(|ring: &Ring| ring.algorithm.has_token())
        || life.timers.iter().filter_map(|timer| timer.downcast_ref()).any(is_copy)
}

fn ring_invariants() -> Vec<Invariant<Mortal>> {
    vec![
        Invariant::<Mortal>::at_most_one("one-inside", "at most one is inside", |_, mortal| {
            running(mortal).filter(|ring| ring.state == State::Inside).map(|_| 0)
        }),
        Invariant::<Mortal>::at_most_one("one-token", "at most one has the token", |_, mortal| {
            running(mortal).filter(|ring| ring.algorithm.has_token()).map(|_| 0)
        }),
        Invariant::<Mortal>::whole(
            "survives",
            "who dies without the token or a copy does not take it along",
            |cluster| {
                let is_there = |(_, mortal): &(_, &Mortal)| match mortal {
                    Mortal::Alive(life) => has_token_or_copy(life),
                    Mortal::Dead { left } => *left,
                };
                let live = |id| cluster.live.iter().filter(move |(who, _)| *who == id);
                let lives = |id| live(id).any(|(_, mortal)| on_ring(mortal).is_some());
                let carries = |sent: &InFlight<'_, Mortal>| is_token(sent.msg) && lives(sent.to);
                let stopped =
                    |(_, mortal): &(_, &Mortal)| on_ring(mortal).is_some_and(|ring| ring.stopped);
                cluster.live.iter().any(|live| is_there(live) || stopped(live))
                    || cluster.in_flight.iter().any(carries)
            },
        ),
    ]
}

/// A ring whose processes may be asked so often. Some may die when they have been asked so often;
/// if they are slow, some of what they have sent last dies with them.
fn ring(wants: &[u32], deaths: &[(usize, u32)], slow: bool, visits: u32) -> Model<AnyProcess> {
    let group = Group::numbered(wants.len() as u32).unwrap();
    let options = Options { bypass: Some(T), ..Options::default() };
    let opening = Opening { options, ..opening(wants.len()) };
    let customer = Config { opening, wants: vec![0; wants.len()], visits: Some(visits) };
    let inputs = wants.iter().enumerate().map(|(place, wants)| {
        let death = deaths.iter().find(|(who, _)| *who == place);
        let wants = death.map_or(*wants, |(_, wants)| *wants);
        let want = mortal::Input::Process(AnyInput::new(()));
        let wants = repeat_n(want, wants as usize);
        wants.chain(death.map(|_| mortal::Input::Die)).collect()
    });
    let goal =
        Goal::<Mortal>::new("served", "all have been inside, or the token is lost", |live| {
            let live: Vec<_> = live.map(|(_, mortal)| mortal).collect();
            let is_lost =
                !live.iter().any(|at| matches!(at, Mortal::Alive(life) if has_token_or_copy(life)));
            let mut rings = live.iter().filter_map(|at| on_ring(at));
            let is_done = |ring: &Ring| (ring.state, ring.wants) == (State::Idle, 0);
            is_lost || rings.clone().any(|ring| ring.stopped) || rings.all(is_done)
        });
    let slow_ones = deaths.iter().filter(|_| slow).map(|(place, _)| group.ring()[*place]);
    let model = Model {
        config: mortal::Config {
            process: AnyConfig::new::<Ring>(customer),
            slow: slow_ones.collect(),
            heir: None,
            leaves: has_token_or_copy,
        },
        inputs: inputs.collect(),
        group,
        timing: Timing::synchronous(T),
        channels: Channels::Reorder,
        faults: Faults::default(),
        sides: Vec::new(),
        invariants: ring_invariants(),
        goal: Some(goal),
        referee: None,
        reads_clock: false,
        clocks: Vec::new(),
        horizon: None,
        aging: None,
        spent: None,
    };
    let referee = Box::new(Doorkeeper { lenient: slow, ..Doorkeeper::default() });
    let mourner = Mourner { referee, dead: BTreeSet::new() };
    Model { referee: Some(Box::new(mourner)), ..erase(model) }
}

/// All ways in which this many processes may die, each after a number of wishes of its own.
fn deaths(wants: &[u32], count: usize) -> Vec<Vec<(usize, u32)>> {
    let mut all = vec![Vec::new()];
    for _ in 0..count {
        all = all
            .iter()
            .flat_map(|before: &Vec<(usize, u32)>| {
                let first = before.last().map_or(0, |(place, _)| place + 1);
                let each = (first..wants.len())
                    .flat_map(|place| (0..=wants[place]).map(move |wants| (place, wants)));
                each.map(|next| before.iter().copied().chain([next]).collect())
            })
            .collect();
    }
    all
}

fn dies_on_the_ring(slow: bool) {
    for (wants, count, visits) in [(&[2, 2][..], 1, 3), (&[1, 1, 1], 2, 2), (&[0, 1, 0, 1], 1, 2)] {
        for deaths in deaths(wants, count) {
            let Report { verdict, progress } = run(&ring(wants, &deaths, slow, visits));
            assert_eq!(verdict, Verdict::Proved, "{wants:?}, {deaths:?}");
            assert!(progress.states > 100, "{progress:?}");
        }
    }
}

#[test]
fn token_ring_bypasses_the_dead() {
    behaves(ring(&[2], &[], false, 9), 4);
    dies_on_the_ring(false);
}

/// A process dies, and some of what it sent last gets lost: perhaps its ACK, but not the token.
#[test]
fn token_ring_has_one_token_even_if_an_acknowledgement_dies_with_its_sender() {
    dies_on_the_ring(true);
}

#[test]
fn central() {
    behaves(crowd::<Central>(&[2, 2, 2]), 1_000);
}

#[test]
fn lamport() {
    for (wants, states) in [(&[4][..], 8), (&[2, 2], 100), (&[3, 3], 100), (&[1, 1, 1], 10_000)] {
        behaves(crowd::<Lamport>(wants), states);
    }
}

/// A process is inside when it begins, and two wait.
#[test]
fn lamport_and_ricart_agrawala_after_an_opening() {
    let opening = Opening { inside: Some(id(2)), waiting: vec![id(3), id(1)], ..opening(3) };
    behaves(open::<Lamport>(opening.clone(), &[0, 1, 0]), 100);
    behaves(open::<RicartAgrawala>(opening, &[1, 1, 1]), 100);
}

#[test]
fn lamport_without_fifo_lets_two_in() {
    let crowd = Model { channels: Channels::Reorder, ..crowd::<Lamport>(&[1, 1]) };
    // Two ask; the reply of the first overtakes its request.
    assert_eq!(breaks(crowd, "one-inside").stem.len(), 4);
}

#[test]
fn ricart_agrawala_in_any_order() {
    for (wants, states) in
        [(&[4][..], 8), (&[2, 2], 100), (&[3, 3], 100), (&[2, 2, 1], 10_000), (&[2, 2, 2], 10_000)]
    {
        let crowd = crowd::<RicartAgrawala>(wants);
        behaves(Model { channels: Channels::Reorder, ..crowd }, states);
    }
}

#[test]
fn ricart_agrawala_with_a_token_in_any_order() {
    for channels in [Channels::Fifo, Channels::Reorder] {
        for (wants, states) in
            [(&[3][..], 6), (&[3, 3], 100), (&[2, 2, 1], 1_000), (&[1, 1, 1, 0], 1_000)]
        {
            behaves(Model { channels, ..crowd::<RicartAgrawalaToken>(wants) }, states);
        }
    }
}

#[test]
fn suzuki_kasami() {
    behaves(crowd::<SuzukiKasami>(&[2, 2, 1]), 1_000);
}

#[test]
fn token_ring() {
    for (wants, states) in [(&[2][..], 4), (&[3, 3], 50), (&[2, 3, 2], 100), (&[2, 1, 2, 1], 100)] {
        behaves(crowd::<TokenRing>(wants), states);
    }
}

/// On every tree, wherever the token is.
#[test]
fn raymond() {
    for tree in [Tree::LINE, Tree::Star, Tree::Arity(2), Tree::Arity(3)] {
        let grown = |wants: &[u32], token: usize| {
            let options = Options { tree, ..Options::default() };
            let token = id(token as u32 + 1);
            open::<Raymond>(Opening { token, options, ..opening(wants.len()) }, wants)
        };
        behaves(grown(&[2], 0), 4);
        behaves(grown(&[2, 2], 1), 50);
        for token in 0..3 {
            behaves(grown(&[2, 2, 2], token), 1_000);
        }
        for token in 0..4 {
            behaves(grown(&[1, 2, 1, 2], token), 1_000);
        }
    }
}

#[test]
fn singhal() {
    behaves(crowd::<Singhal>(&[3, 3]), 100);
    behaves(Model { channels: Channels::Fifo, ..crowd::<Singhal>(&[1, 1, 1, 1]) }, 10_000);
}

#[test]
fn singhal_as_printed_lets_a_process_starve_with_fifo_channels() {
    let options = Options { as_printed: true, ..Options::default() };
    let printed = open::<Singhal>(Opening { options, ..opening(3) }, &[1, 1, 2]);
    let found = breaks(Model { channels: Channels::Fifo, ..printed }, "served");
    assert_eq!((found.stem.len(), found.cycle), (15, Vec::new()));
}
