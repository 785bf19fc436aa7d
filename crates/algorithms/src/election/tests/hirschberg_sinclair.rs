//! One test per rule of Hirschberg and Sinclair's election, seen from P2 of the ring 1, 2, 3, 4:
//! clockwise is towards P3, counter towards P1.

use super::Direction::{Clockwise, Counter};
use super::*;
use crate::election::tests::{Did, Fixture, did, elected, id, round, sent, started};
use bellwether_core::Effect;

fn body(word: Word, in_round: u32) -> Body {
    Body { word, round: round(in_round) }
}

fn probe(candidate: u32, phase: u8) -> Word {
    Word::Probe { candidate: id(candidate), phase }
}

fn reply(candidate: u32, phase: u8) -> Word {
    Word::Reply { candidate: id(candidate), phase }
}

fn outcome(leader: u32) -> Word {
    Word::Elected(id(leader))
}

/// A word of election 2, the first of all, to the process with this number.
fn says(to: u32, hops: u32, word: Word) -> Did<Body> {
    sent(to, hops, body(word, 2))
}

/// Reads effects and sees to it that every message is on the link of its direction.
fn seen(effects: Vec<Effect<HirschbergSinclair>>) -> Vec<Did<Body>> {
    for effect in &effects {
        if let Effect::Send(to, msg) = effect {
            assert_eq!(*to, id(if matches!(msg, Msg::Clockwise(_)) { 3 } else { 1 }));
        }
    }
    did(effects, |msg| msg.inner().clone())
}

impl Fixture<HirschbergSinclair> {
    /// A word of election 2 comes, travelling in this direction, on the hop with this number.
    fn hear(&mut self, direction: Direction, hops: u32, word: Word) -> Vec<Did<Body>> {
        self.hear_in(2, direction, hops, word)
    }

    fn hear_in(&mut self, round: u32, way: Direction, hops: u32, word: Word) -> Vec<Did<Body>> {
        let arrived = Arrived { body: body(word, round), hops };
        seen(self.call(|process, cx| process.on_arrival(way, arrived, cx)))
    }

    fn begin(&mut self) -> Vec<Did<Body>> {
        seen(self.input(Input::Start))
    }
}

/// P2 after having started election 2.
fn candidate() -> Fixture<HirschbergSinclair> {
    let mut p2 = Fixture::<HirschbergSinclair>::at(2);
    p2.begin();
    p2
}

/// P2 after having met P4's probe in election 2.
fn passive() -> Fixture<HirschbergSinclair> {
    let mut p2 = Fixture::<HirschbergSinclair>::at(2);
    p2.hear(Counter, 2, probe(4, 1));
    assert_eq!(p2.process.phase, Phase::Passive);
    p2
}

/// P2 after election 2 has ended.
fn finished() -> Fixture<HirschbergSinclair> {
    let mut p2 = passive();
    p2.hear(Clockwise, 2, outcome(4));
    assert_eq!(p2.process.coordinator(), Some(id(4)));
    p2
}

const NOTHING: [Did<Body>; 0] = [];

#[test]
fn r1_probes_its_nearest_neighbours() {
    let mut p2 = Fixture::<HirschbergSinclair>::following(2, Some(4));
    assert_eq!(p2.process.coordinator(), Some(id(4)));
    assert_eq!(p2.begin(), [started(), says(3, 1, probe(2, 0)), says(1, 1, probe(2, 0))]);
    assert_eq!(p2.process.phase, Phase::Candidate { phase: 0, replied: None });
    assert_eq!(p2.process.coordinator(), None);
}

#[test]
fn r2a_passes_a_larger_probe_on_until_its_reach_is_used_up() {
    let mut p2 = candidate();
    assert_eq!(p2.hear(Counter, 1, probe(3, 1)), [says(1, 2, probe(3, 1))]);
    assert_eq!(p2.hear(Clockwise, 3, probe(3, 2)), [says(3, 4, probe(3, 2))]);
}

#[test]
fn r2b_replies_where_the_reach_of_a_larger_probe_ends() {
    let mut p2 = candidate();
    assert_eq!(p2.hear(Counter, 1, probe(3, 0)), [says(3, 1, reply(3, 0))]);
    assert_eq!(p2.hear(Clockwise, 2, probe(4, 1)), [says(1, 1, reply(4, 1))]);
}

#[test]
fn r2c_swallows_a_smaller_probe() {
    let mut p2 = candidate();
    assert_eq!(p2.hear(Clockwise, 1, probe(1, 0)), NOTHING);
    assert_eq!(p2.process.phase, Phase::Candidate { phase: 0, replied: None });
}

#[test]
fn r2c_becomes_candidate_if_it_was_none() {
    for mut p2 in [Fixture::<HirschbergSinclair>::at(2), passive()] {
        assert_eq!(
            p2.hear(Clockwise, 1, probe(1, 0)),
            [says(3, 1, probe(2, 0)), says(1, 1, probe(2, 0))]
        );
    }
}

#[test]
fn r2d_its_probe_all_the_way_round_makes_it_the_leader() {
    let mut p2 = candidate();
    assert_eq!(p2.hear(Counter, 2, probe(2, 1)), [elected(2), says(3, 1, outcome(2))]);
    assert_eq!(p2.process.coordinator(), Some(id(2)));
    assert_eq!(p2.hear(Clockwise, 2, probe(2, 1)), NOTHING, "the other one changes nothing");
}

#[test]
fn r3_passes_on_a_reply_to_another() {
    let mut p2 = candidate();
    assert_eq!(p2.hear(Clockwise, 1, reply(4, 1)), [says(3, 2, reply(4, 1))]);
    assert_eq!(p2.hear(Counter, 1, reply(1, 1)), [says(1, 2, reply(1, 1))]);
}

#[test]
fn r3_probes_twice_as_far_after_replies_from_both_sides() {
    let mut p2 = candidate();
    assert_eq!(p2.hear(Counter, 1, reply(2, 0)), NOTHING);
    assert_eq!(p2.hear(Counter, 1, reply(2, 0)), NOTHING, "the same side again");
    assert_eq!(
        p2.hear(Clockwise, 1, reply(2, 0)),
        [says(3, 1, probe(2, 1)), says(1, 1, probe(2, 1))]
    );
    assert_eq!(p2.process.phase, Phase::Candidate { phase: 1, replied: None });
}

#[test]
fn r3_ignores_replies_of_another_phase() {
    let mut p2 = candidate();
    p2.hear(Counter, 1, reply(2, 0));
    assert_eq!(p2.hear(Clockwise, 1, reply(2, 1)), NOTHING);
    assert_eq!(p2.process.phase, Phase::Candidate { phase: 0, replied: Some(Counter) });
}

#[test]
fn r4_every_process_records_the_leader_and_passes_it_on() {
    for mut p2 in [passive(), candidate()] {
        assert_eq!(p2.hear(Clockwise, 2, outcome(4)), [elected(4), says(3, 3, outcome(4))]);
        assert_eq!(p2.process.coordinator(), Some(id(4)));
    }
}

#[test]
fn r4_the_leader_takes_it_off_the_ring() {
    let mut p2 = candidate();
    p2.hear(Counter, 2, probe(2, 1));
    assert_eq!(p2.hear(Clockwise, 2, outcome(2)), NOTHING);
    assert_eq!(p2.process.coordinator(), Some(id(2)));
}

#[test]
fn r5_calls_for_an_election_without_a_number_when_it_comes_back() {
    let mut p2 = finished();
    let call = body(probe(2, 0), 0);
    assert_eq!(seen(p2.recover()), [started(), sent(3, 1, call), sent(1, 1, call)]);
    assert_eq!(p2.process.durable().number(), 2, "its second life");
}

/// A recovered process that counted from 1 again would hit the number of an election that the
/// others have finished, and be ignored.
#[test]
fn r5_a_process_that_hears_the_call_starts_an_election() {
    for (mut p2, next) in [(Fixture::<HirschbergSinclair>::at(2), 2), (finished(), 3)] {
        let own = body(probe(2, 0), next);
        assert_eq!(
            p2.hear_in(0, Clockwise, 1, probe(1, 0)),
            [started(), sent(3, 1, own), sent(1, 1, own)]
        );
    }
}

#[test]
fn leftovers_of_other_elections_are_dropped() {
    let mut p2 = finished();
    assert_eq!(p2.hear(Counter, 2, probe(4, 1)), NOTHING, "of the one that is over");
    p2.begin();
    p2.hear_in(3, Counter, 1, reply(2, 0));
    assert_eq!(p2.hear(Clockwise, 1, reply(2, 0)), NOTHING, "of the one before this");
    assert_eq!(p2.process.phase, Phase::Candidate { phase: 0, replied: Some(Counter) });
}
