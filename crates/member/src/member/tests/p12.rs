//! Proof that the leader's process has ended.

use super::*;

const LIFE: Incarnation = Incarnation::new(7);

/// That member, following P5 in term 1.
fn following_p5(number: u32, config: Config) -> Node {
    let mut node = started(number, config);
    let beat = Heartbeat { incarnation: LIFE, ..beat(1, 1) };
    node.deliver(5, begun(5, beat, Position::ZERO));
    node
}

fn ended(number: u32) -> Input {
    Input::Ended(id(number), LIFE)
}

#[test]
fn p12_the_next_in_line_campaigns_without_an_election() {
    let mut p4 = following_p5(4, config());
    let effects = p4.input(ended(5));
    let reason = Reason::Ended(id(5));
    let expected = [Event::Electing(reason), Event::Elected(id(4)), Event::Campaigning(term(2))];
    assert_eq!(news(&effects), expected);
    assert_eq!(sent_kind(&effects, "REQUEST-VOTE"), [1, 2, 3, 5].map(id));
    assert_eq!(said(p4.input(ended(5))), [], "proof that is repeated");
}

#[test]
fn p12_the_others_wait_for_it_a_heartbeat_or_two() {
    let mut p3 = following_p5(3, config());
    let effects = p3.input(ended(5));
    assert_eq!(news(&effects), [Event::Electing(Reason::Ended(id(5))), Event::Elected(id(4))]);
    assert_eq!(sent(effects.clone()), []);
    let last = effects.iter().rfind(|effect| matches!(effect, SetTimer(PATIENCE, _)));
    assert_eq!(last, Some(&SetTimer(PATIENCE, ms(100)..ms(200))));
    let effects = p3.fire(PATIENCE);
    assert_eq!(news(&effects), [Event::Electing(Reason::Absent(id(4)))]);
    assert_eq!(sent_kind(&effects, "ELECTION"), [4, 5].map(id), "an election as ever");
}

#[test]
fn p12_members_that_have_ended_or_never_lead_are_passed_over() {
    let mut p3 = following_p5(3, config());
    assert_eq!(said(p3.input(ended(4))), [], "it does not lead");
    assert!(news(&p3.input(ended(5))).contains(&Event::Campaigning(term(2))));
    let mut p3 = following_p5(3, with_witness(4));
    assert!(news(&p3.input(ended(5))).contains(&Event::Campaigning(term(2))));
    let mut p3 = following_p5(3, config());
    p3.input(ended(4));
    p3.deliver(4, ELECTION);
    assert!(news(&p3.input(ended(5))).contains(&Event::Elected(id(4))), "P4 is back");
}

#[test]
fn p12_proof_of_another_incarnation_disturbs_nobody() {
    let mut p4 = following_p5(4, config());
    assert_eq!(p4.input(Input::Ended(id(5), Incarnation::new(6))), []);
    assert_eq!(coordinator(&p4), Some(id(5)));
}
