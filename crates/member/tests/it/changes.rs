//! The whole member in storms in which members come and go, with every election. One serves at a time; when
//! the storm is over all members of the list follow one leader, and every change is done.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may panic, and a soak says what it did"
)]

use crate::storms::{HARSH, any_order};
use bellwether_algorithms::election::any::Choice;
use bellwether_core::{Assumptions, Context, Few, Group, Invariant, NodeId, Process, Time};
use bellwether_member::{
    Change, Choices, Config, Durable, Event, Input, Member, Members, Msg, Preempt, Ranks, Suffrage,
    Timer,
};
use bellwether_sim::chaos::{Weather, draws, storm};
use bellwether_sim::{Action, Scheduled, Silent, Sim};
use std::sync::Arc;
use std::time::Duration;

/// A member whose operator may change the list. One that was removed begins again with an empty folder after
/// a while.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Operated {
    member: Member,
    joins: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Wish {
    Member(Input),
    Add(u32),
    Replace(u32, u32),
    Remove(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Wait {
    Member(Timer),
    Rejoin,
}

type Cx<'a> = Context<'a, Operated>;

impl Operated {
    fn step(&mut self, cx: &mut Cx<'_>, step: impl FnOnce(&mut Member, &mut Context<'_, Member>)) {
        let joiner;
        let config = match self.joins {
            false => cx.config(),
            true => {
                let mut own = cx.config().clone();
                own.log.founders = Some(Arc::default());
                joiner = own;
                &joiner
            }
        };
        let member = &mut self.member;
        let news: Few<Event> = cx.part(config, |msg| msg, Wait::Member, |cx| step(member, cx));
        for event in news {
            if event == Event::Removed {
                cx.set_timer(Wait::Rejoin, cx.config().log.leases.lease);
            }
        }
    }

    fn change(&mut self, change: &Change, cx: &mut Cx<'_>) {
        self.step(cx, |member, cx| _ = member.change(change, false, cx));
    }
}

fn add(number: u32, replaces: Option<u32>) -> Change {
    let address: Arc<str> = format!("host-{number}").into();
    let (id, replaces) = (NodeId::new(number), replaces.map(NodeId::new));
    Change::Add { id, address, learner: false, replaces }
}

impl Process for Operated {
    type Msg = Msg;
    type Timer = Wait;
    type Input = Wish;
    type Output = Event;
    type Durable = (Durable<()>, bool);
    type Config = Config;

    const ASSUMES: Assumptions = Member::<()>::ASSUMES;

    fn durable(&self) -> Self::Durable {
        (self.member.durable(), self.joins)
    }

    fn on_start(&mut self, saved: Option<Self::Durable>, cx: &mut Cx<'_>) {
        self.joins = saved.as_ref().is_some_and(|(_, joins)| *joins);
        let saved = saved.map(|(saved, _)| saved);
        self.step(cx, |member, cx| member.on_start(saved, cx));
    }

    fn on_input(&mut self, wish: Wish, cx: &mut Cx<'_>) {
        match wish {
            Wish::Member(input) => self.step(cx, |member, cx| member.on_input(input, cx)),
            Wish::Add(number) => self.change(&add(number, None), cx),
            Wish::Replace(old, new) => self.change(&add(new, Some(old)), cx),
            Wish::Remove(number) => self.change(&Change::Remove(NodeId::new(number)), cx),
        }
    }

    fn on_message(&mut self, from: NodeId, msg: Msg, cx: &mut Cx<'_>) {
        self.step(cx, |member, cx| member.on_message(from, msg, cx));
    }

    fn on_timer(&mut self, timer: Wait, cx: &mut Cx<'_>) {
        match timer {
            Wait::Member(timer) => self.step(cx, |member, cx| member.on_timer(timer, cx)),
            Wait::Rejoin => {
                (self.member, self.joins) = (Member::default(), true);
                self.step(cx, |member, cx| member.on_start(None, cx));
            }
        }
    }
}

fn invariants() -> Vec<Invariant<Operated>> {
    vec![
        Invariant::at_most_one_now(
            "one-serving",
            "at most one member serves at any moment",
            |_, node: &Operated, now| node.member.serving(now).map(|_| 0),
        ),
        Invariant::fenced(
            "terms",
            "each term has one serving leader, and terms only grow",
            |_, node: &Operated, now| node.member.serving(now).map(|term| term.number().into()),
        ),
    ]
}

fn is_done(list: &Members) -> bool {
    let is_done = |seat: &bellwether_member::Seat| {
        seat.suffrage == Suffrage::Voter && seat.replaces.is_none_or(|old| !list.contains(old))
    };
    list.seats.values().all(is_done)
}

/// How long after the storm all is well, and how many changes there were.
fn perform(election: Choice, seed: u64) -> Result<(Duration, u64), String> {
    let mut draw = draws(seed ^ 0x51ab);
    let mut one_of = |choices: &[u32]| choices[draw(choices.len() as u64) as usize];
    let (n, founders) = (one_of(&[3, 4, 5, 6]), one_of(&[1, 2, 3, 3]));
    let group = Group::numbered(n).unwrap();
    let drift_ppm = one_of(&[10_000, 100_000]);
    let preempt = match one_of(&[0, 1, 1]) {
        0 => Preempt::Never,
        _ => Preempt::Always,
    };
    let choices = Choices { election, drift_ppm, preempt, ..Choices::default() };
    let mut config = Config::new(&choices, Ranks::equal(&group), &group).unwrap();
    let voters = (1..=founders).map(|number| (NodeId::new(number), Arc::from("")));
    config.log.founders = Some(Arc::new(Members::founded(voters)));
    let inputs = [Input::StepDown, Input::Elect].map(Wish::Member).to_vec();
    let unit = config.log.leases.heartbeat;
    let weather = Weather { unit, drift_ppm, inputs, harsh: Some(HARSH) };
    let (mut network, mut script) = storm(&group, seed, &weather);
    network.reorder &= any_order(election);
    let last = script.iter().map(|scheduled| scheduled.at).max().unwrap_or_default();
    for _ in 0..one_of(&[4, 8, 16]) {
        let at = Time::from_micros(
            u64::from(1 + one_of(&(0..95).collect::<Vec<_>>())) * last.as_micros() / 100,
        );
        let all: Vec<u32> = (1..=n).collect();
        let (one, other) = (one_of(&all), one_of(&all));
        let wish = match one_of(&[0, 0, 0, 1, 2]) {
            0 => Wish::Add(one),
            1 => Wish::Replace(one, other),
            _ => Wish::Remove(one),
        };
        script.push(Scheduled { at, action: Action::InputAll(wish) });
    }
    script.sort_by_key(|scheduled| scheduled.at);
    script
        .extend(group.ring().iter().map(|id| Scheduled { at: last, action: Action::Recover(*id) }));
    let founding = config.log.clone();
    let bound = config.patience * 24;
    let mut sim: Sim<Operated, Silent> =
        Sim::new(group, config, &network, seed, invariants(), Silent);
    sim.schedule(script);
    sim.stop_after(2_000_000);
    sim.run(last);
    let mut now = last;
    while now < last + bound && sim.violation().is_none() {
        now = now + Duration::from_millis(50);
        sim.run(now);
        let leader = sim.live().find(|(_, node)| node.member.serving(now).is_some());
        let Some((leader, node)) = leader else { continue };
        let list = node.member.log().members(&founding).unwrap().clone();
        let commit = node.member.state().map(|(commit, _)| commit);
        let follows = |(id, node): (NodeId, &Operated)| {
            let state = node.member.state().map(|(commit, _)| commit);
            let led = node.member.log().leader(id, now);
            !list.contains(id) || led.is_some_and(|(of, _)| of == leader) && state == commit
        };
        if is_done(&list) && !node.member.log().is_changing() && sim.live().all(follows) {
            return Ok((now.since(last), list.version));
        }
    }
    match sim.violation() {
        Some(violation) => Err(format!("{violation:?}")),
        None => {
            let seen = sim.live().map(|(id, node)| {
                let log = node.member.log();
                let list =
                    log.members(&founding).map(|list| (list.version, list.voters().collect()));
                let list: Option<(u64, Vec<NodeId>)> = list;
                let (led, report) = (log.leader(id, now), log.report());
                format!("{id}: {list:?}, {led:?}, {report:?}")
            });
            let seen: Vec<String> = seen.collect();
            Err(format!("no leader that all follow, or a change is not done: {seen:#?}"))
        }
    }
}

#[test]
fn members_come_and_go_with_every_election() {
    let soaking = std::env::var("SCHEDULES").is_ok();
    let first: u64 = std::env::var("FIRST").map_or(0, |text| text.parse().unwrap());
    for election in Choice::ALL {
        let default = if *election == Choice::default() { 400 } else { 60 };
        let schedules: u64 = std::env::var("SCHEDULES").map_or(default, |s| s.parse().unwrap());
        let (mut slowest, mut changes) = (Duration::ZERO, 0);
        for seed in first..first + schedules {
            match perform(*election, seed) {
                Ok((settled, more)) => {
                    slowest = slowest.max(settled);
                    changes += more;
                }
                Err(what) => panic!("{election}, seed {seed}: {what}"),
            }
        }
        if soaking {
            println!("{election}: {schedules} schedules, {changes} changes, slowest {slowest:?}");
        }
        assert!(changes > schedules, "{election}: {changes}");
    }
}

/// A leader enters that P4 votes in its place, and crashes. It alone has this list: by its own list P4 still
/// learns, so it holds no election. The former leader must not leave the elections to P4.
#[test]
fn a_leader_that_alone_knows_that_it_is_to_leave_leads_again() {
    let settled = perform(Choice::default(), 11_255);
    assert!(settled.is_ok(), "{settled:?}");
}
