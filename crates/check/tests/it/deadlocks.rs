//! Transactions that wait for each other in a cycle, in every order in which they can ask for
//! their locks and messages can arrive. The judge sees to it that a cycle that is reported was real,
//! is reported once where that is promised, and does not stay.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::models::{Notes, erase, listed};
use bellwether_algorithms::definition::Settings;
use bellwether_algorithms::referee::{Breach, Fact, Referee};
use bellwether_check::{Limits, Model, Report, Setup, Timing, Verdict, check};
use bellwether_core::{
    AnyConfig, AnyDurable, AnyInput, AnyMsg, AnyOutput, AnyProcess, AnyTimer, Assumptions, Call,
    Context, Few, Goal, Group, Message, NodeId, Process, Role, Time,
};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

/// A process that also tells how many messages of the algorithm proper it sends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Counted(AnyProcess);

#[derive(Clone, Debug)]
enum Counting {
    Output(AnyOutput),
    Sent(u64),
}

impl fmt::Display for Counting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl Process for Counted {
    type Msg = AnyMsg;
    type Timer = AnyTimer;
    type Input = AnyInput;
    type Output = Counting;
    type Durable = AnyDurable;
    type Config = AnyConfig;

    const ASSUMES: Assumptions = AnyProcess::ASSUMES;

    fn durable(&self) -> AnyDurable {
        self.0.durable()
    }

    fn on_start(&mut self, saved: Option<AnyDurable>, cx: &mut Context<'_, Self>) {
        self.step(Call::Start(saved), cx);
    }

    fn on_input(&mut self, input: AnyInput, cx: &mut Context<'_, Self>) {
        self.step(Call::Input(input), cx);
    }

    fn on_message(&mut self, from: NodeId, msg: AnyMsg, cx: &mut Context<'_, Self>) {
        self.step(Call::Message(from, msg), cx);
    }

    fn on_timer(&mut self, timer: AnyTimer, cx: &mut Context<'_, Self>) {
        self.step(Call::Timer(timer), cx);
    }
}

impl Counted {
    fn step(&mut self, call: Call<AnyProcess>, cx: &mut Context<'_, Self>) {
        let sent = Cell::new(0);
        let count = |msg: AnyMsg| {
            sent.set(sent.get() + u64::from(msg.kind().role == Role::Protocol));
            msg
        };
        let config = cx.config();
        let said: Few<AnyOutput> =
            cx.part(config, count, |timer| timer, |cx| call.make(&mut self.0, cx));
        said.into_iter().for_each(|output| cx.emit(Counting::Output(output)));
        if sent.get() > 0 {
            cx.emit(Counting::Sent(sent.get()));
        }
    }
}

/// Hears what sites say, and counts what they send.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Court {
    judge: Box<dyn Referee<AnyProcess>>,
    /// What the detector has cost in messages.
    sent: u64,
    ends: Notes<End>,
}

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct End {
    /// How many deadlocks there were.
    formed: u64,
    victims: u64,
    gave_up: u64,
    /// What the detector has cost in messages.
    sent: u64,
}

impl Referee<AnyProcess> for Court {
    fn hears(&mut self, at: Time, who: NodeId, output: &AnyOutput) -> Result<(), Breach> {
        match output.downcast_ref().unwrap() {
            Counting::Output(output) => self.judge.hears(at, who, output),
            Counting::Sent(count) => {
                self.sent += count;
                Ok(())
            }
        }
    }

    fn closes(&mut self, at: Time, live: &[NodeId]) -> Result<(), Breach> {
        self.judge.closes(at, live)?;
        let facts = self.judge.facts();
        let number = |name: &str, key: &str| {
            let fact = facts.iter().find(|fact| fact.name == name).unwrap();
            fact.value[key].as_u64().unwrap()
        };
        let end = End {
            formed: number("deadlocks", "formed"),
            victims: number("transactions", "aborted"),
            gave_up: number("transactions", "gave_up"),
            sent: self.sent,
        };
        self.ends.extend([end]);
        if end.gave_up == 0 && end.victims != end.formed {
            let text = "a deadlock costs one victim, and nothing else does";
            return Err(Breach { name: "one-victim", text, by: Vec::new() });
        }
        Ok(())
    }

    fn claims(&self) -> Vec<&'static str> {
        self.judge.claims()
    }

    fn facts(&self) -> Vec<Fact> {
        self.judge.facts()
    }
}

/// A transaction that takes one lock and then asks for another, each at a site and with a name.
#[derive(Clone, Copy, Debug)]
struct Plan {
    number: u32,
    home: u32,
    holds: (u32, u32),
    wants: (u32, u32),
}

impl Plan {
    fn lock(&self, (site, name): (u32, u32)) -> (NodeId, String) {
        let name = ["a", "b"][name as usize];
        (NodeId::new(self.home), format!("lock:T{}:S{site}.{name}", self.number))
    }

    fn abort(&self) -> (NodeId, String) {
        (NodeId::new(self.home), format!("abort:T{}", self.number))
    }
}

/// How all runs end in which these plans are carried out, and how many states there are. What is
/// asked at one site is asked in this order: first all that is held, then the rest, and then `more`.
fn explore(name: &str, plans: &[Plan], more: &[(NodeId, String)]) -> (BTreeSet<End>, u64) {
    let sites = plans.iter().flat_map(|plan| [plan.home, plan.holds.0, plan.wants.0]).max();
    let group = Group::numbered(sites.unwrap()).unwrap();
    let settings = Settings::new(Duration::from_millis(100));
    let mut setup = Setup::new(&listed(name), group, settings);
    let held = plans.iter().map(|plan| plan.lock(plan.holds));
    let wanted = plans.iter().map(|plan| plan.lock(plan.wants));
    setup.asks = held.chain(wanted).chain(more.iter().cloned()).collect();
    setup.timing = Timing::Asynchronous;
    let model = setup.model();
    let (goal, ends) = (model.goal, Notes::new());
    let goal = goal.map(|goal| {
        let Goal { name, text, holds, .. } = goal;
        Goal::<Counted>::new(name, text, move |live| {
            holds(&mut live.map(|(id, Counted(process))| (id, process)))
        })
    });
    let counted = Model {
        group: model.group,
        config: model.config,
        timing: model.timing,
        channels: model.channels,
        faults: model.faults,
        inputs: model.inputs,
        sides: model.sides,
        invariants: Vec::new(),
        goal,
        referee: None,
        reads_clock: false,
        clocks: model.clocks,
        horizon: None,
        aging: None,
        spent: None,
    };
    assert!(model.invariants.is_empty(), "there is nothing to be erased");
    let court = Court { judge: model.referee.unwrap(), sent: 0, ends: ends.clone() };
    let model = Model { referee: Some(Box::new(court)), ..erase(counted) };
    let Report { verdict, progress } =
        check(&model, Limits { threads: 2, ..Limits::default() }, &mut |_| {});
    assert_eq!(verdict, Verdict::Proved, "{name}: {plans:?}");
    (ends.all(), progress.states)
}

/// What is sent in runs with a deadlock.
fn costs(ends: &BTreeSet<End>) -> BTreeSet<u64> {
    ends.iter().filter(|end| end.formed > 0).map(|end| end.sent).collect()
}

/// A cycle over as many sites as there are numbers: each transaction holds the resource of one site
/// and wants that of the next. Its home is the site of what it holds, or `moved` sites further on.
fn ring(numbers: &[u32], moved: u32) -> Vec<Plan> {
    let sites = numbers.len() as u32;
    let plan = |(site, number): (u32, &u32)| Plan {
        number: *number,
        home: (site - 1 + moved) % sites + 1,
        holds: (site, 0),
        wants: (site % sites + 1, 0),
    };
    (1..).zip(numbers).map(plan).collect()
}

/// Every order of ids around two and three sites.
const RINGS: [&[u32]; 3] = [&[1, 2], &[1, 2, 3], &[3, 2, 1]];

/// And around four.
const FOUR: [&[u32]; 6] =
    [&[1, 2, 3, 4], &[1, 2, 4, 3], &[1, 3, 2, 4], &[1, 3, 4, 2], &[1, 4, 2, 3], &[1, 4, 3, 2]];

/// The path of each travels until it would come to a larger one; that of the largest, to itself.
fn cost(numbers: &[u32]) -> u64 {
    let n = numbers.len();
    let travels = |from: usize| {
        let smaller = |step: &usize| numbers[(from + step) % n] < numbers[from];
        (1..n).take_while(smaller).count() as u64
    };
    (0..n).map(travels).sum()
}

#[test]
fn distributed_one_site_finds_the_cycle_in_every_order_and_at_the_same_cost() {
    let mut states = 0;
    for numbers in RINGS.into_iter().chain(FOUR) {
        for moved in 0..if numbers.len() > 3 { 1 } else { 2 } {
            let (ends, seen) = explore("deadlock-distributed", &ring(numbers, moved), &[]);
            assert_eq!(costs(&ends), BTreeSet::from([cost(numbers)]), "{numbers:?}, {moved}");
            states += seen;
        }
    }
    assert!(states > 2_000, "{states} states");
}

/// A waiting transaction may give up at any moment: none is aborted for a cycle that never was, and
/// no cycle is left.
fn gives_up(name: &str, rings: &[(&[u32], usize)]) {
    let (mut states, mut spared) = (0, 0);
    for (numbers, quitters) in rings {
        for quitter in 0..*quitters {
            let plans = ring(numbers, 1);
            let (ends, seen) = explore(name, &plans, &[plans[quitter].abort()]);
            states += seen;
            spared += usize::from(costs(&ends).len() > 1);
        }
    }
    assert!(states > 1_000 && spared > 0, "{states} states, {spared}");
}

#[test]
fn distributed_no_phantom_if_a_transaction_gives_up() {
    let rings: &[(&[u32], usize)] =
        &[(&[1, 2], 2), (&[1, 2, 3], 3), (&[3, 2, 1], 3), (&[1, 4, 3, 2], 4)];
    gives_up("deadlock-distributed", rings);
}

#[test]
fn edge_chasing_no_phantom_if_a_transaction_gives_up() {
    gives_up("deadlock-edge-chasing", &[(&[1, 2], 2), (&[1, 2, 3], 1)]);
}

/// The textbook's two sites, with two edges at the second, whose transactions ask in either order.
#[test]
fn distributed_the_textbooks_example_in_every_order() {
    let mut plans = [
        Plan { number: 2, home: 2, holds: (2, 1), wants: (1, 0) },
        Plan { number: 3, home: 1, holds: (1, 0), wants: (2, 0) },
        Plan { number: 4, home: 2, holds: (2, 0), wants: (2, 1) },
    ];
    for _ in 0..2 {
        let (ends, _) = explore("deadlock-distributed", &plans, &[]);
        assert_eq!(costs(&ends), BTreeSet::from([1]));
        plans.swap(0, 2);
    }
}

/// A cycle that comes by the first site twice, and by the second. At each, two ask in either order.
#[test]
fn distributed_a_site_that_the_cycle_crosses_twice() {
    for numbers in [[1, 2, 3, 4], [4, 3, 2, 1], [2, 4, 1, 3], [3, 1, 4, 2]] {
        let places = [(1, 0), (2, 0), (1, 1), (2, 1)];
        let plan = |index: usize| Plan {
            number: numbers[index],
            home: places[index].0,
            holds: places[index],
            wants: places[(index + 1) % 4],
        };
        for order in [[0, 1, 2, 3], [2, 1, 0, 3], [0, 3, 2, 1], [2, 3, 0, 1]] {
            let (ends, _) = explore("deadlock-distributed", &order.map(plan), &[]);
            assert!(ends.iter().any(|end| end.formed > 0), "{ends:?}");
        }
    }
}

#[test]
fn edge_chasing_finds_the_cycle_in_every_order() {
    let mut states = 0;
    for numbers in RINGS {
        let (ends, seen) = explore("deadlock-edge-chasing", &ring(numbers, 0), &[]);
        let (costs, s) = (costs(&ends), numbers.len() as u64);
        // A search for each request and for each note, each of at most s probes.
        assert!(!costs.is_empty(), "{ends:?}");
        assert!(costs.iter().all(|cost| (s..=2 * s * s).contains(cost)), "{costs:?}");
        states += seen;
    }
    assert!(states > 1_000, "{states} states");
}
