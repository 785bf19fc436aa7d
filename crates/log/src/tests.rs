//! One test per sentence of the rules, named for it.

mod g10_births;
mod g11_to_g14;
mod g15;
mod g16;
mod g1_to_g3;
mod g4_g5;
mod g6_g7;
mod g8;
mod g9;
mod network;

use crate::{
    Ack, Answer, Birth, Config, Durability, Entry, Heartbeat, Incarnation, Index, Input,
    LeaseSettings, Log, Machine, Msg, Output, Payload, Place, Position, Term, Timer, Unsound,
};
use bellwether_core::{Context, Effect, Group, NodeId, Process, Time};
use std::sync::Arc;
use std::time::Duration;

/// The list of all commands; clients rely on it for a minute.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Words(pub(crate) Vec<u8>);

impl Machine for Words {
    type Command = u8;
    type Outcome = u8;
    type Part = u8;
    type Cursor = usize;

    fn apply(&mut self, command: &u8) -> Vec<u8> {
        self.0.push(*command);
        vec![*command]
    }

    fn weight(_: &u8) -> usize {
        1
    }

    fn part_weight(_: &u8) -> usize {
        1
    }

    fn cut(&self, from: &usize, budget: usize) -> (Vec<u8>, Option<usize>) {
        let rest = self.0.get(*from..).unwrap_or_default();
        let most = budget.clamp(1, rest.len().max(1)).min(rest.len());
        (rest[..most].to_vec(), (most < rest.len()).then_some(from + most))
    }

    fn absorb(&mut self, parts: Vec<u8>) -> Result<(), Unsound> {
        self.0.extend(parts);
        Ok(())
    }

    /// 13 is a state that no commands can make.
    fn complete(self) -> Result<Self, Unsound> {
        if self.0.contains(&13) { Err(Unsound("13")) } else { Ok(self) }
    }

    fn longest_ttl(&self) -> Duration {
        if self.0.is_empty() { Duration::ZERO } else { Duration::from_secs(60) }
    }

    fn ttl_of(_: &u8) -> Duration {
        Duration::from_secs(60)
    }
}

pub(crate) type Fx = Vec<Effect<Log<Words>>>;

pub(crate) fn id(number: u32) -> NodeId {
    NodeId::new(number)
}

pub(crate) fn ms(span: u64) -> Duration {
    Duration::from_millis(span)
}

/// Heartbeats of 100 ms, leases of 500, clocks without drift.
pub(crate) fn config() -> Config {
    Config::new(ms(100), ms(500), 0)
}

/// One member of the ring 1 to n, called by hand.
pub(crate) struct One {
    pub(crate) group: Group,
    place: usize,
    pub(crate) config: Config,
    pub(crate) log: Log<Words>,
    pub(crate) now: Time,
}

impl One {
    /// A member of three that has just started for the first time.
    pub(crate) fn new(number: u32) -> Self {
        One::of(3, number, config())
    }

    pub(crate) fn of(size: u32, number: u32, config: Config) -> Self {
        let group = Group::numbered(size).unwrap();
        let place = group.place(id(number)).unwrap();
        let now = Time::from_micros(1_000_000_000);
        let mut one = One { group, place, config, log: Log::default(), now };
        one.call(|log, cx| log.on_start(None, cx));
        one
    }

    pub(crate) fn call(
        &mut self,
        handler: impl FnOnce(&mut Log<Words>, &mut Context<'_, Log<Words>>),
    ) -> Fx {
        let mut effects = Vec::new();
        let here = bellwether_core::Here::new(&self.group, self.place, self.now, false);
        handler(&mut self.log, &mut Context::new(&here, &self.config, &mut effects));
        effects
    }

    pub(crate) fn get(&mut self, from: u32, msg: Msg<Words>) -> Fx {
        self.call(|log, cx| log.on_message(id(from), msg, cx))
    }

    pub(crate) fn fire(&mut self, timer: Timer) -> Fx {
        self.call(|log, cx| log.on_timer(timer, cx))
    }

    pub(crate) fn input(&mut self, input: Input) -> Fx {
        self.call(|log, cx| log.on_input(input, cx))
    }

    pub(crate) fn propose(&mut self, command: u8) -> Fx {
        self.call(|log, cx| assert!(log.propose(vec![command], cx)))
    }

    pub(crate) fn pass(&mut self, span: Duration) {
        self.now = self.now + span;
    }

    /// Crashes and starts again with what was durable.
    pub(crate) fn restart(&mut self) {
        let saved = self.log.durable();
        self.log = Log::default();
        self.call(|log, cx| log.on_start(Some(saved), cx));
    }

    pub(crate) fn campaign(&mut self) -> Fx {
        self.input(Input::Campaign { claim: false, appointed: false })
    }

    /// Asks for a vote as a candidate does; what is answered.
    pub(crate) fn asked(&mut self, from: u32, term: u64, last: Position, sure: bool) -> Answer {
        let term = Term::new(term);
        let effects =
            self.get(from, Msg::RequestVote { term, last, sure, permit: None, ended: None });
        answer(&effects)
    }

    /// A heartbeat of a leader with this log.
    pub(crate) fn beat(&mut self, from: u32, beat: Heartbeat) -> Fx {
        self.get(from, Msg::Append { beat, prev: beat.last, entries: Arc::new([]) })
    }

    /// Entries of one term after a position.
    pub(crate) fn append(
        &mut self,
        from: u32,
        beat: Heartbeat,
        prev: Position,
        commands: &[u8],
    ) -> Fx {
        self.get(from, Msg::Append { beat, prev, entries: entries(beat.term, prev, commands) })
    }

    /// Makes it the leader of the next term, voted for by another member, with `Begin` written.
    pub(crate) fn elect(&mut self, voter: u32) -> Term {
        self.campaign();
        if self.log.last() == Position::ZERO {
            self.fire(Timer::Ask);
        }
        let yes = Answer::Yes { after: Duration::ZERO };
        for sure in [false, true] {
            let term = asks(&self.log);
            self.get(voter, Msg::Vote { term, sure, answer: yes, birth: Birth::new(1) });
            if !sure && asks_sure(&self.log).is_none() {
                self.fire(Timer::Ask);
                let term = asks(&self.log);
                self.get(voter, Msg::Vote { term, sure, answer: yes, birth: Birth::new(1) });
            }
        }
        self.fire(Timer::Write);
        self.log.leads().unwrap()
    }

    /// An ACK of everything by a follower, for what was sent now.
    pub(crate) fn ack(&mut self, from: u32) -> Fx {
        let ack = self.ack_of();
        self.get(from, Msg::Ack(ack))
    }

    pub(crate) fn ack_of(&self) -> Ack {
        Ack {
            term: self.log.leads().unwrap_or_default(),
            sent: self.now,
            clock: self.now,
            matched: self.log.last().index,
            holds: true,
            start: 1,
            lost: false,
            birth: Birth::new(1),
            lease_us: self.log.leases(&self.config).lease_us(),
        }
    }
}

pub(crate) fn asks(log: &Log<Words>) -> Term {
    match &log.role {
        crate::Role::Candidate(campaign) | crate::Role::Leader(_, Some(campaign)) => campaign.term,
        role => panic!("no candidate: {role:?}"),
    }
}

pub(crate) fn asks_sure(log: &Log<Words>) -> Option<Term> {
    match &log.role {
        crate::Role::Candidate(campaign) => Some(campaign.term).filter(|_| campaign.sure),
        _ => None,
    }
}

pub(crate) fn beat(term: u64, last: Position, commit: u64) -> Heartbeat {
    Heartbeat {
        term: Term::new(term),
        generation: 0,
        sent: Time::from_micros(5),
        commit: Index::new(commit),
        last,
        appointed: false,
        welcome: None,
        incarnation: Incarnation::UNKNOWN,
        lease_us: 500_000,
    }
}

pub(crate) fn at(term: u64, index: u64) -> Position {
    Position::new(term, index)
}

pub(crate) fn entries(term: Term, prev: Position, commands: &[u8]) -> crate::Entries<Words> {
    let entry = |(offset, command): (usize, &u8)| {
        let index = Index::new(prev.index.number() + 1 + offset as u64);
        Arc::new(Entry { position: Position { term, index }, payload: Payload::Command(*command) })
    };
    commands.iter().enumerate().map(entry).collect::<Vec<_>>().into()
}

pub(crate) fn sent(effects: &Fx) -> Vec<(u32, Msg<Words>)> {
    let sent = |effect: &Effect<Log<Words>>| match effect {
        Effect::Send(to, msg) => Some((to.number(), msg.clone())),
        _ => None,
    };
    effects.iter().filter_map(sent).collect()
}

pub(crate) fn said(effects: &Fx) -> Vec<Output> {
    let said = |effect: &Effect<Log<Words>>| match effect {
        Effect::Emit(output) => Some(output.clone()),
        _ => None,
    };
    effects.iter().filter_map(said).collect()
}

pub(crate) fn answer(effects: &Fx) -> Answer {
    let answer = |(_, msg)| match msg {
        Msg::Vote { answer, .. } => Some(answer),
        _ => None,
    };
    sent(effects).into_iter().find_map(answer).unwrap()
}

pub(crate) fn acked(effects: &Fx) -> Ack {
    let ack = |(_, msg)| match msg {
        Msg::Ack(ack) => Some(ack),
        _ => None,
    };
    sent(effects).into_iter().find_map(ack).unwrap()
}

pub(crate) fn fetched(effects: &Fx) -> Option<(u32, Place<Words>)> {
    let fetched = |(to, msg)| match msg {
        Msg::Fetch { place, .. } => Some((to, place)),
        _ => None,
    };
    sent(effects).into_iter().find_map(fetched)
}

pub(crate) const YES: Answer = Answer::Yes { after: Duration::ZERO };

pub(crate) fn in_memory() -> Config {
    Config { durability: Durability::Memory, ..config() }
}
