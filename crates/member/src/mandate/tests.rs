//! One test for each rule, and more where a rule has corners.
//!
//! Everything is seen from P3 of 1 to 5, so three must agree. The state that is replicated is a
//! single number here, so that copies can be told apart.

mod ledger;
mod office;
mod voter;

use super::{Durable, Epoch, Input, Mandate, Msg, Replica, Said, Timer, Version};
use crate::event::Loss;
use crate::tests::{Fixture, config, exactly, id, ms, said, sent};
use bellwether_core::Effect::{self, CancelTimer, Emit, Send, SetTimer};
use bellwether_core::{Process, Time};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Word(u8);

/// Changes by one number after another: the last one counts, and it tells the one before.
impl Replica for Word {
    type Command = u8;
    type Outcome = u8;

    fn apply(&mut self, command: u8) -> Vec<u8> {
        vec![std::mem::replace(&mut self.0, command)]
    }

    /// As many seconds as the number says.
    fn reliance(&self) -> Duration {
        Duration::from_secs(self.0.into())
    }
}

type P3 = Fixture<Mandate<Word>>;

const ASK: Input = Input::Ask { claim: false, appointed: false };

fn epoch(number: u64) -> Epoch {
    Epoch::new(number)
}

fn version(of: u64, sequence: u64) -> Version {
    Version { epoch: epoch(of), sequence }
}

fn prepare(number: u64) -> Msg<Word> {
    Msg::Prepare { epoch: epoch(number), version: Version::default() }
}

/// To a candidate without a copy.
fn promise(number: u64, version: Version, copy: u8) -> Msg<Word> {
    let copy = (version > Version::default()).then(|| Arc::new(Word(copy)));
    Msg::Promise { epoch: epoch(number), version, copy }
}

fn wait(number: u64, leader: Option<u32>) -> Msg<Word> {
    Msg::Wait { epoch: epoch(number), leader: leader.map(id) }
}

fn refuse(number: u64, promised: u64) -> Msg<Word> {
    Msg::Refuse { epoch: epoch(number), promised: epoch(promised) }
}

fn spread(number: u64, sent: Time, version: Version, copy: u8) -> Msg<Word> {
    spread_to(None, number, sent, version, copy)
}

/// To one who has lost its copy, in the start of that number.
fn spread_to(start: Option<u32>, of: u64, sent: Time, version: Version, copy: u8) -> Msg<Word> {
    let (epoch, copy) = (epoch(of), Arc::new(Word(copy)));
    Msg::Spread { epoch, sent, version, copy, appointed: false, start }
}

fn beat(number: u64, sent: Time) -> Msg<Word> {
    let view = Vec::new();
    Msg::Beat { epoch: epoch(number), sent, appointed: false, view, sequence: 0 }
}

fn ack(number: u64, sent: Time) -> Msg<Word> {
    acked(number, sent, 0)
}

fn acked(number: u64, sent: Time, held: u64) -> Msg<Word> {
    Msg::Ack { epoch: epoch(number), sent, clock: sent, held }
}

fn append(number: u64, sent: Time, after: u64, commands: &[u8]) -> Msg<Word> {
    let commands = commands.into();
    Msg::Append { epoch: epoch(number), sent, appointed: false, after, commands }
}

fn lack(number: u64, held: Option<u64>) -> Msg<Word> {
    Msg::Lack { epoch: epoch(number), held, start: None }
}

/// From one who has lost its copy, in the start of that number.
fn lost(number: u64, start: u32) -> Msg<Word> {
    Msg::Lack { epoch: epoch(number), held: None, start: Some(start) }
}

fn release(number: u64, to: Option<u32>) -> Msg<Word> {
    Msg::Release { epoch: epoch(number), to: to.map(id), appointed: false }
}

/// The leader's clock, far from the follower's: a follower must only repeat it.
const THEIRS: Time = Time::from_micros(77);

/// P3 after a first start.
fn p3() -> P3 {
    P3::at(3)
}

/// P3, bound since now to that leader in that epoch.
fn following(leader: u32, number: u64) -> P3 {
    let mut p3 = p3();
    p3.deliver(leader, spread(number, THEIRS, version(number, 0), 0));
    p3
}

/// P3 with the promises of P1 and P2 for epoch 1, which spreads the state.
fn installing() -> P3 {
    let mut p3 = p3();
    p3.input(ASK);
    p3.deliver(1, promise(1, Version::default(), 0));
    p3.deliver(2, promise(1, Version::default(), 0));
    p3
}

/// P3 leading in epoch 1, acknowledged by P1 and P2 at the moment of asking.
fn leading() -> P3 {
    let mut p3 = installing();
    let now = p3.now;
    p3.deliver(1, ack(1, now));
    p3.deliver(2, ack(1, now));
    assert_eq!(p3.process.holds(now), Some(epoch(1)));
    p3
}

/// What P3 answers to a request for votes.
fn vote(p3: &mut P3, candidate: u32, number: u64) -> Msg<Word> {
    let mut answers = sent(p3.deliver(candidate, prepare(number)));
    let (to, answer) = answers.pop().unwrap();
    assert_eq!((to, answers), (id(candidate), Vec::new()));
    answer
}

fn all_others(msg: Msg<Word>) -> Vec<Effect<Mandate<Word>>> {
    [1, 2, 4, 5].map(|to| Send(id(to), msg.clone())).to_vec()
}

/// Since when followers' clocks and the own may have drifted apart: 500 ppm each of 500 ms.
fn reliance() -> Duration {
    Duration::from_micros(499_500 - 4)
}
