//! A cluster of members in virtual time that can be acted upon by hand.

use bellwether_algorithms::election::any::Choice;
use bellwether_core::{
    Assumptions, Context, Few, Group, Invariant, Machine, NodeId, Process, Unsound,
};
use bellwether_log::Durable;
use bellwether_member::{Choices, Config, Durability, Event, Input, Member, Msg, Ranks, Timer};
use bellwether_sim::{Action, CLOCK_START, Cut, CutKind, Latency, Network, Silent, Sim};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

/// A state of blocks of one kilobyte. Clients rely on it for a minute.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Pile {
    blocks: Vec<u32>,
}

pub(super) const BLOCK: usize = 1_000;
pub(super) const TTL: Duration = Duration::from_secs(60);

impl Machine for Pile {
    type Command = u32;
    type Outcome = u32;
    type Part = u32;
    type Cursor = usize;

    fn apply(&mut self, command: &u32) -> Vec<u32> {
        self.blocks.push(*command);
        vec![*command]
    }

    fn weight(_: &u32) -> usize {
        BLOCK
    }

    fn part_weight(_: &u32) -> usize {
        BLOCK
    }

    fn cut(&self, from: &usize, budget: usize) -> (Vec<u32>, Option<usize>) {
        let rest = self.blocks.get(*from..).unwrap_or_default();
        let most = (budget / BLOCK).max(1).min(rest.len());
        (rest[..most].to_vec(), (most < rest.len()).then_some(from + most))
    }

    fn absorb(&mut self, parts: Vec<u32>) -> Result<(), Unsound> {
        self.blocks.extend(parts);
        Ok(())
    }

    fn complete(self) -> Result<Self, Unsound> {
        Ok(self)
    }

    fn longest_ttl(&self) -> Duration {
        if self.blocks.is_empty() { Duration::ZERO } else { TTL }
    }

    fn ttl_of(_: &u32) -> Duration {
        TTL
    }
}

/// A member, and an application that adds blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Site {
    pub(super) member: Member<Pile>,
}

#[derive(Clone, Debug)]
pub(super) enum Wish {
    Member(Input),
    /// Adds this many blocks, if it serves.
    Add(u32),
}

#[derive(Clone, Debug)]
pub(super) struct News(Event);

impl fmt::Display for News {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

type Cx<'a> = Context<'a, Site>;

impl Site {
    fn step(
        &mut self,
        cx: &mut Cx<'_>,
        step: impl FnOnce(&mut Member<Pile>, &mut Context<'_, Member<Pile>>),
    ) {
        let config = cx.config();
        let news: Few<Event> =
            cx.part(config, |msg| msg, |timer| timer, |cx| step(&mut self.member, cx));
        self.member.take_committed(cx.now());
        for event in news {
            cx.emit(News(event));
        }
    }

    pub(super) fn blocks(&self) -> usize {
        self.member.state().map_or(0, |(_, pile)| pile.blocks.len())
    }
}

impl Process for Site {
    type Msg = Msg<Pile>;
    type Timer = Timer;
    type Input = Wish;
    type Output = News;
    type Durable = Durable<Pile>;
    type Config = Config;

    const ASSUMES: Assumptions = Member::<Pile>::ASSUMES;

    fn durable(&self) -> Durable<Pile> {
        self.member.durable()
    }

    fn on_start(&mut self, saved: Option<Durable<Pile>>, cx: &mut Cx<'_>) {
        self.step(cx, |member, cx| member.on_start(saved, cx));
    }

    fn on_input(&mut self, wish: Wish, cx: &mut Cx<'_>) {
        self.step(cx, |member, cx| match wish {
            Wish::Member(input) => member.on_input(input, cx),
            Wish::Add(many) => drop(member.propose((0..many).collect(), cx)),
        });
    }

    fn on_message(&mut self, from: NodeId, msg: Msg<Pile>, cx: &mut Cx<'_>) {
        self.step(cx, |member, cx| member.on_message(from, msg, cx));
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_>) {
        self.step(cx, |member, cx| member.on_timer(timer, cx));
    }
}

/// A cluster in virtual time.
pub(super) struct Cluster {
    pub(super) sim: Sim<Site, Silent>,
    cuts: u32,
}

pub(super) struct Setup {
    pub(super) size: u32,
    pub(super) durability: Durability,
    pub(super) witness: Option<u32>,
    pub(super) seed: u64,
    pub(super) network: Network,
    pub(super) keep_bytes: usize,
    pub(super) election: Choice,
}

pub(super) const HEARTBEAT: Duration = Duration::from_millis(100);
pub(super) const LEASE: Duration = Duration::from_millis(500);
pub(super) const STEP: Duration = Duration::from_millis(10);

impl Setup {
    pub(super) fn new(size: u32, seed: u64) -> Self {
        let network = Network::new(Latency::Uniform(ms(1), ms(5)));
        let durability = Durability::Disk;
        let election = Choice::default();
        Setup { size, durability, witness: None, seed, network, keep_bytes: 8 << 20, election }
    }

    pub(super) fn start(self) -> Cluster {
        let group = Group::numbered(self.size).unwrap();
        let witness: BTreeSet<NodeId> = self.witness.into_iter().map(id).collect();
        let ranks = Ranks::new(&group, BTreeMap::new(), witness);
        let Setup { durability, election, .. } = self;
        let choices = Choices { durability, election, ..Choices::default() };
        let mut config = Config::new(&choices, ranks, &group).unwrap();
        config.log.keep_bytes = self.keep_bytes;
        let invariants = vec![
            Invariant::<Site>::at_most_one_now("one-serving", "one serves", |_, site, now| {
                site.member.serving(now).map(|_| 0)
            }),
            Invariant::<Site>::fenced("terms", "terms only grow", |_, site, now| {
                site.member.serving(now).map(|term| term.number().into())
            }),
        ];
        let sim = Sim::new(group, config, &self.network, self.seed, invariants, Silent);
        Cluster { sim, cuts: 0 }
    }

    /// With the strongest serving and this many blocks everywhere.
    pub(super) fn filled(self, blocks: u32) -> Cluster {
        let (strongest, slow) = (self.size, self.network.rate.is_some());
        let mut cluster = self.start();
        cluster.run(ms(3_000));
        assert_eq!(cluster.serving(), Some(strongest));
        cluster.add(strongest, blocks);
        cluster.run(if slow { ms(40_000) } else { ms(1_000) });
        cluster
    }
}

pub(super) fn ms(span: u64) -> Duration {
    Duration::from_millis(span)
}

pub(super) fn id(number: u32) -> NodeId {
    NodeId::new(number)
}

/// 2.12: the bound after faults of all kinds, restarts included.
pub(super) fn bound(size: u32) -> Duration {
    let choices = Choices::default();
    let group = Group::numbered(size).unwrap();
    let config = Config::new(&choices, Ranks::equal(&group), &group).unwrap();
    2 * LEASE + size * 5 * HEARTBEAT + 2 * config.patience
}

/// The bound after faults of several kinds at once, whichever election it is. A member that has restarted at
/// their end does not vote for one lease more.
pub(super) fn bound_after(size: u32, restarts: bool) -> Duration {
    bound_of_cuts(size) + if restarts { LEASE } else { Duration::ZERO }
}

/// 2.12: the bound where only links were cut: a lease and n elections with two rounds each. For five
/// members it is three seconds.
pub(super) fn bound_of_cuts(size: u32) -> Duration {
    LEASE + size * 5 * HEARTBEAT
}

impl Cluster {
    pub(super) fn serving(&self) -> Option<u32> {
        let now = self.sim.now() + CLOCK_START;
        let mut live = self.sim.live();
        let found = live.find(|(_, site)| site.member.serving(now).is_some());
        found.map(|(id, _)| id.number())
    }

    pub(super) fn site(&self, number: u32) -> &Site {
        self.sim.process(id(number)).unwrap()
    }

    pub(super) fn add(&mut self, at: u32, blocks: u32) {
        self.act(Action::Input(id(at), Wish::Add(blocks)));
    }

    pub(super) fn act(&mut self, action: Action<Wish>) {
        self.sim.act(action);
    }

    pub(super) fn crash(&mut self, number: u32) {
        self.act(Action::Crash(id(number)));
    }

    pub(super) fn recover(&mut self, number: u32) {
        self.act(Action::Recover(id(number)));
    }

    pub(super) fn cut(&mut self, kind: CutKind) -> u32 {
        self.cuts += 1;
        self.act(Action::Cut(Cut { name: self.cuts, kind }));
        self.cuts
    }

    /// Runs on. Returns the longest time for which no member served.
    pub(super) fn run(&mut self, span: Duration) -> Duration {
        let until = self.sim.now() + span;
        let (mut gap, mut longest) = (Duration::ZERO, Duration::ZERO);
        while self.sim.now() < until {
            self.sim.run(self.sim.now() + STEP);
            assert_eq!(self.sim.violation(), None);
            gap = if self.serving().is_some() { Duration::ZERO } else { gap + STEP };
            longest = longest.max(gap);
        }
        longest
    }

    /// Runs until some member serves. How long that takes; at most this long.
    pub(super) fn until_led(&mut self, most: Duration) -> Duration {
        let start = self.sim.now();
        while self.serving().is_none() && self.sim.now().since(start) < most {
            self.run(STEP);
        }
        self.sim.now().since(start)
    }
}

/// What runs with these seeds measure; the longest.
pub(super) fn longest(name: &str, seeds: u64, run: impl Fn(u64) -> Duration) -> Duration {
    let longest = (0..seeds).map(run).max().unwrap();
    println!("{name}: {seeds} runs, {longest:?} at most");
    longest
}
