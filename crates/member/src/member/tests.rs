//! One test for each rule, and more where a rule has corners.
//!
//! Mostly seen from P3 of 1 to 5, with a bully election. Three must agree.

mod p11;
mod p12;
mod p1_to_p5;
mod p6_p7;
mod p8_to_p10;

use super::*;
use crate::config::Preempt;
use crate::event::Decline;
use crate::ranks::Ranks;
use crate::status::ClockStatus;
use crate::tests::{Fixture, config, exactly, id, ms, said, sent};
use bellwether_algorithms::election::{any, bully};
use bellwether_core::Effect::{CancelTimer, Emit, Send, SetTimer};
use bellwether_core::{Effect, Group};
use bellwether_log::{
    Ack, Answer, Birth, Body, Entry, Heartbeat, Incarnation, Index, Loss, Payload, Permit,
    Position, Quorum,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

type Node = Fixture<Member>;
type Letter = Msg;
type Fx = Effect<Member>;

const ANSWER: Timer = Timer::Election(any::Timer::Bully(bully::Timer::Answer));
const SILENCE: Timer = Timer::Silence;
const PATIENCE: Timer = Timer::Patience;
const HOLD_OFF: Timer = Timer::HoldOff;
const PASSED: Timer = Timer::Passed;
const PROBE: Timer = Timer::Probe;
const ASK: Timer = Timer::Log(log::Timer::Ask);
const WRITE: Timer = Timer::Log(log::Timer::Write);
const LAPSE: Timer = Timer::Log(log::Timer::Lapse);
const HEARTBEAT: Timer = Timer::Log(log::Timer::Heartbeat);
const HAND_OVER: Timer = Timer::Log(log::Timer::HandOver);

const ELECTION: Letter = Msg::Election(any::Msg::Bully(bully::Msg::Election));
const COORDINATOR: Letter = Msg::Election(any::Msg::Bully(bully::Msg::Coordinator));

fn term(number: u64) -> Term {
    Term::new(number)
}

/// Of each other member, the only data folder that it has had.
fn birth(number: u32) -> Birth {
    Birth::new(number.into())
}

/// Whether one would vote, or the vote itself if `sure`, for a log with this last position.
fn ask(number: u64, last: Position, sure: bool, permit: Option<Permit>) -> Letter {
    Msg::Log(log::Msg::RequestVote { term: term(number), last, sure, permit, ended: None })
}

fn answer(from: u32, number: u64, sure: bool, answer: Answer) -> Letter {
    Msg::Log(log::Msg::Vote { term: term(number), sure, answer, birth: birth(from) })
}

const YES: Answer = Answer::Yes { after: Duration::ZERO };

fn wait(leader: u32) -> Answer {
    Answer::Wait { leader: Some(id(leader)), left: ms(400) }
}

fn beat(number: u64, index: u64) -> Heartbeat {
    Heartbeat {
        term: term(number),
        generation: 0,
        sent: Time::ZERO,
        commit: Index::ZERO,
        last: Position::new(number, index),
        appointed: false,
        welcome: None,
        incarnation: Incarnation::UNKNOWN,
        lease_us: config().log.leases.lease_us(),
    }
}

/// The first entry of a term, after these ones.
fn begin(leader: u32, number: u64, prev: Position) -> Letter {
    begun(leader, beat(number, prev.index.number() + 1), prev)
}

fn begun(leader: u32, beat: Heartbeat, prev: Position) -> Letter {
    let payload = Payload::Begin { leader: id(leader), births: Vec::new() };
    let entries = Arc::new([Arc::new(Entry { position: beat.last, payload })]);
    Msg::Log(log::Msg::Append { beat, prev, entries })
}

/// The first leader of all, as a follower hears it.
fn first(leader: u32) -> Letter {
    begin(leader, 1, Position::ZERO)
}

fn heartbeat(number: u64, index: u64) -> Letter {
    let (beat, entries) = (beat(number, index), Arc::new([]));
    Msg::Log(log::Msg::Append { beat, prev: beat.last, entries })
}

fn claim(number: u64) -> Letter {
    Msg::Log(log::Msg::Claim { term: term(number) })
}

fn invite(number: u64, appointed: bool) -> Letter {
    Msg::Log(log::Msg::Invite { term: term(number), appointed })
}

fn yields(number: u64, to: Option<u32>, appointed: bool) -> Letter {
    let (term, generation, to) = (term(number), 0, to.map(id));
    Msg::Log(log::Msg::Yield { term, generation, to, appointed })
}

/// To all others of P3.
fn to_all(letter: Letter) -> Vec<(NodeId, Letter)> {
    [1, 2, 4, 5].map(|to| (id(to), letter.clone())).to_vec()
}

fn patiently() -> std::ops::Range<Duration> {
    let patience = config().patience;
    patience..2 * patience
}

/// How long an elected member has until it asks for votes, and then until it leads.
fn until_it_asks() -> Fx {
    SetTimer(PATIENCE, ms(900)..ms(1_400))
}

fn until_it_leads() -> Fx {
    SetTimer(PATIENCE, ms(500)..ms(700))
}

fn preempting(preempt: Preempt) -> Config {
    Config { preempt, ..config() }
}

fn with_witness(number: u32) -> Config {
    let group = Group::numbered(5).unwrap();
    let ranks = Ranks::new(&group, BTreeMap::new(), BTreeSet::from([id(number)]));
    Config { ranks, ..config() }
}

fn started(number: u32, config: Config) -> Node {
    let mut node = Node::blank(number, config);
    node.start(None);
    node
}

/// P3 following that leader in term 1, with its whole log.
fn following(leader: u32) -> Node {
    let mut p3 = Node::at(3);
    let heard = said(p3.deliver(leader, first(leader)));
    assert_eq!(heard[0], Event::Follows(id(leader), term(1)));
    p3
}

/// P3 was elected and asks whether the others would vote for it.
fn campaigning(config: Config) -> Node {
    let mut p3 = started(3, config);
    p3.input(Input::Elect);
    p3.fire(ANSWER);
    assert_eq!(p3.process.log.asks(), Some((term(1), false)));
    p3
}

/// P3 serves in term 1. P1 and P2 have voted for it, and these have just acknowledged all.
fn leading(config: Config, followers: &[u32]) -> Node {
    let mut p3 = campaigning(config);
    elect(&mut p3, 1);
    acknowledged(&mut p3, followers);
    assert_eq!(p3.process.serving(p3.now), Some(term(1)));
    p3
}

/// P1 and P2 would vote, and vote.
fn elect(p3: &mut Node, number: u64) {
    for sure in [false, true] {
        for voter in [1, 2] {
            p3.deliver(voter, answer(voter, number, sure, YES));
        }
        // A round is over. Members without a log give all others the time to speak first.
        if !sure && p3.process.log.asks() == Some((term(number), false)) {
            p3.fire(ASK);
        }
    }
    assert_eq!(p3.process.log.leads(), Some(term(number)));
}

/// That follower has the whole log, or this much of it.
fn ack(p3: &Node, from: u32, matched: Option<u64>) -> Letter {
    let last = p3.process.log.report().last;
    Msg::Log(log::Msg::Ack(Ack {
        term: p3.process.log.leads().unwrap_or_default(),
        sent: p3.now,
        clock: p3.now,
        matched: matched.map_or(last.index, Index::new),
        holds: true,
        start: 1,
        lost: false,
        birth: birth(from),
        lease_us: p3.config.log.leases.lease_us(),
    }))
}

/// P3's disk and these followers have everything, also what is made of their ACKs (G10).
fn acknowledged(p3: &mut Node, followers: &[u32]) -> Vec<Effect<Member>> {
    let mut effects = Vec::new();
    for _ in 0..3 {
        effects.extend(p3.fire(WRITE));
        for follower in followers {
            effects.extend(p3.deliver(*follower, ack(p3, *follower, None)));
        }
    }
    effects
}

/// Ten seconds of heartbeats that P1, P2 and P4 answer with clocks that gain this much.
fn answered_by_clocks(p3: &mut Node, gains_ppm: [(u32, u64); 3]) -> Vec<Effect<Member>> {
    let mut effects = Vec::new();
    for tick in 0..100 {
        p3.pass(ms(100));
        for (follower, ppm) in gains_ppm {
            let Msg::Log(log::Msg::Ack(ack)) = ack(p3, follower, None) else { unreachable!() };
            let clock = p3.now + Duration::from_micros(tick * ppm / 10);
            let ack = Msg::Log(log::Msg::Ack(Ack { clock, ..ack }));
            effects.extend(p3.deliver(follower, ack));
        }
        effects.extend(p3.fire(WRITE));
    }
    effects
}

fn eligible(node: &Node) -> bool {
    node.process.status(&node.here(), &node.config).eligible
}

fn coordinator(node: &Node) -> Option<NodeId> {
    node.process.status(&node.here(), &node.config).coordinator
}

/// What the leader says of P3's clock.
fn view(drifts: bool) -> Letter {
    let clock = Some(ClockStatus { drifts, ..ClockStatus::default() });
    Msg::View(vec![PeerView { member: id(3), heard_ms: Some(1), clock, behind: Some(0) }])
}

fn news(effects: &[Effect<Member>]) -> Vec<Event> {
    said(effects.to_vec())
}

/// Nothing is sent and nothing is told.
fn is_silent(effects: &[Effect<Member>]) -> bool {
    !effects.iter().any(|effect| matches!(effect, Send(..) | Emit(_)))
}

/// Which members are sent messages of this kind.
fn sent_kind(effects: &[Effect<Member>], kind: &str) -> Vec<NodeId> {
    let sent = sent(effects.to_vec());
    sent.into_iter().filter(|(_, msg)| msg.kind().name == kind).map(|(to, _)| to).collect()
}
