//! M12 and M13: changes of the state.

use super::*;

/// Proposes changes to P3.
fn propose(p3: &mut P3, commands: &[u8]) -> (bool, Vec<(bellwether_core::NodeId, Msg<Word>)>) {
    let mut accepted = false;
    let effects = p3.call(|process, cx| accepted = process.propose(commands.to_vec(), cx));
    (accepted, sent(effects))
}

#[test]
fn m12_a_leader_makes_a_change_and_sends_it_to_all() {
    let mut p3 = leading();
    let (accepted, letters) = propose(&mut p3, &[7, 8]);
    assert!(accepted);
    let change = append(1, p3.now, 0, &[7, 8]);
    assert_eq!(letters, [1, 2, 4, 5].map(|to| (id(to), change.clone())));
    assert_eq!(p3.process.copy(), Some((version(1, 2), &Word(8))));
    let (_, letters) = propose(&mut p3, &[9]);
    assert_eq!(letters[0].1, append(1, p3.now, 2, &[9]), "numbered on");
}

#[test]
fn m12_those_that_have_acknowledged_the_most_make_the_majority() {
    let mut p3 = leading();
    propose(&mut p3, &[7, 8]);
    for (follower, held) in [(1, 0), (2, 2), (4, 1), (5, 2)] {
        p3.deliver(follower, acked(1, p3.now, held));
    }
    let spare = |p3: &P3| [1, 2, 4, 5].map(|follower| p3.process.is_spare(id(follower), 3));
    assert_eq!(spare(&p3), [true, false, true, false]);
    // One that catches up is as good, and named before.
    p3.deliver(1, acked(1, p3.now, 2));
    assert_eq!(spare(&p3), [false, false, true, true]);
    assert!(!following(5, 1).process.is_spare(id(1), 3), "it does not lead");
}

#[test]
fn m12_nobody_else_changes_anything() {
    for mut p3 in [p3(), following(5, 1), installing()] {
        let before = p3.process.clone();
        assert_eq!(propose(&mut p3, &[7]), (false, Vec::new()));
        assert_eq!(p3.process, before);
    }
    let mut p3 = leading();
    p3.pass(reliance());
    assert_eq!(propose(&mut p3, &[7]), (false, Vec::new()), "its mandate has run out");
}

#[test]
fn m12_a_follower_makes_the_changes_in_order_and_says_how_many_it_has() {
    let mut p3 = following(5, 1);
    let answer = sent(p3.deliver(5, append(1, THEIRS, 0, &[4, 6])));
    let ack = |held| Msg::Ack { epoch: epoch(1), sent: THEIRS, clock: p3.now, held };
    assert_eq!(answer, [(id(5), ack(2))]);
    assert_eq!(p3.process.copy(), Some((version(1, 2), &Word(6))));
    // Again, and overlapping: what it has made it does not make again.
    let ack = ack(3);
    assert_eq!(sent(p3.deliver(5, append(1, THEIRS, 0, &[4, 6, 7]))), [(id(5), ack)]);
    assert_eq!(p3.process.copy(), Some((version(1, 3), &Word(7))));
    p3.deliver(5, append(1, THEIRS, 0, &[4]));
    assert_eq!(p3.process.copy(), Some((version(1, 3), &Word(7))), "an old one changes nothing");
}

#[test]
fn m12_who_missed_a_change_says_so_and_makes_no_later_one() {
    let mut p3 = following(5, 1);
    let answers = sent(p3.deliver(5, append(1, THEIRS, 1, &[6])));
    let ack = Msg::Ack { epoch: epoch(1), sent: THEIRS, clock: p3.now, held: 0 };
    assert_eq!(answers, [(id(5), lack(1, Some(0))), (id(5), ack.clone())]);
    assert_eq!(p3.process.copy(), Some((version(1, 0), &Word(0))));
    // A heartbeat tells as much.
    let beat = Msg::Beat {
        epoch: epoch(1),
        sent: THEIRS,
        appointed: false,
        view: Vec::new(),
        sequence: 2,
    };
    assert_eq!(sent(p3.deliver(5, beat)), [(id(5), lack(1, Some(0))), (id(5), ack)]);
}

#[test]
fn m12_who_has_not_even_the_beginning_does_not_follow() {
    let mut p3 = following(5, 1);
    assert_eq!(sent(p3.deliver(4, append(2, THEIRS, 0, &[6]))), [(id(4), lack(2, None))]);
}

#[test]
fn m12_a_leader_supplies_what_is_lacking() {
    let mut p3 = leading();
    propose(&mut p3, &[1, 2]);
    propose(&mut p3, &[3]);
    p3.pass(ms(10));
    let now = p3.now;
    assert_eq!(sent(p3.deliver(4, lack(1, Some(1)))), [(id(4), append(1, now, 1, &[2, 3]))]);
    assert_eq!(sent(p3.deliver(5, lack(1, Some(2)))), [(id(5), append(1, now, 2, &[3]))]);
    assert_eq!(sent(p3.deliver(4, lack(1, Some(1)))), [], "that is on its way");
    assert_eq!(sent(p3.deliver(4, lack(1, Some(2)))), [], "that, too");
    propose(&mut p3, &[4]);
    let news = append(1, now, 3, &[4]);
    assert_eq!(sent(p3.deliver(4, lack(1, Some(3)))), [(id(4), news)], "that is not");
    p3.pass(ms(100));
    let whole = spread(1, p3.now, version(1, 4), 4);
    assert_eq!(sent(p3.deliver(4, lack(1, None))), [(id(4), whole)], "it was lost");
    // M8: who has restarted sees by it that it was sent after that.
    let whole = spread_to(Some(7), 1, p3.now, version(1, 4), 4);
    assert_eq!(sent(p3.deliver(5, lost(1, 7))), [(id(5), whole)]);
}

#[test]
fn m12_who_missed_more_than_is_kept_gets_the_whole() {
    let mut p3 = leading();
    for _ in 0..5 {
        propose(&mut p3, &[1; 1_000]);
    }
    let now = p3.now;
    let whole = spread(1, now, version(1, 5_000), 1);
    assert_eq!(sent(p3.deliver(4, lack(1, Some(0)))), [(id(4), whole)]);
    let letters = sent(p3.deliver(5, lack(1, Some(4_500))));
    assert_eq!(letters, [(id(5), append(1, now, 4_500, &[1; 500]))]);
    let letters = sent(p3.deliver(2, lack(1, Some(1_500))));
    assert_eq!(letters, [(id(2), append(1, now, 1_500, &[1; 1_024]))], "not all in one message");
}

#[test]
fn m13_what_comes_of_a_change_is_told_when_a_majority_has_it() {
    let mut p3 = leading();
    propose(&mut p3, &[7]);
    propose(&mut p3, &[8]);
    assert!(p3.process.take_done().is_empty(), "two more must have it");
    let now = p3.now;
    p3.deliver(1, acked(1, now, 2));
    assert!(p3.process.take_done().is_empty());
    p3.deliver(1, acked(1, now, 2));
    assert!(p3.process.take_done().is_empty(), "P1 twice is no majority");
    p3.deliver(4, acked(1, now, 1));
    assert_eq!(p3.process.take_done(), [0], "the first one was 0 before");
    p3.deliver(5, acked(1, now, 2));
    assert_eq!(p3.process.take_done(), [7]);
    p3.deliver(2, acked(1, now, 2));
    assert!(p3.process.take_done().is_empty(), "nothing is told twice");
}

#[test]
fn m13_without_a_mandate_nothing_is_told() {
    let mut p3 = leading();
    let asked = p3.now;
    propose(&mut p3, &[7]);
    p3.pass(reliance());
    p3.deliver(1, acked(1, asked, 1));
    p3.deliver(4, acked(1, asked, 1));
    assert_eq!(p3.process.holds(p3.now), None);
    assert!(p3.process.take_done().is_empty());
}

#[test]
fn m13_the_next_leader_goes_on_with_what_a_majority_has() {
    // P3 has the change; P5, which asks for votes, has not.
    let mut p3 = following(4, 1);
    p3.deliver(4, append(1, THEIRS, 0, &[9]));
    p3.pass(ms(500));
    let answer = vote(&mut p3, 5, 2);
    assert_eq!(answer, promise(2, version(1, 1), 9));
    // One that has it gets no copy.
    let wish = Msg::Prepare { epoch: epoch(3), version: version(1, 1) };
    let answer = sent(p3.deliver(1, wish));
    let bare = Msg::Promise { epoch: epoch(3), version: version(1, 1), copy: None };
    assert_eq!(answer, [(id(1), bare)]);
}

#[test]
fn m13_a_candidate_keeps_its_own_copy_if_nobody_has_a_newer_one() {
    let mut p3 = following(5, 1);
    p3.deliver(5, append(1, THEIRS, 0, &[9]));
    p3.pass(ms(500));
    p3.input(ASK);
    let bare = |held| Msg::Promise { epoch: epoch(2), version: version(1, held), copy: None };
    p3.deliver(1, bare(1));
    p3.deliver(2, bare(0));
    assert_eq!(p3.process.copy(), Some((version(2, 0), &Word(9))));
}

#[test]
fn m8_what_may_be_relied_on_is_durable_before_it_is_acknowledged() {
    let mut p3 = following(5, 1);
    assert_eq!(p3.process.durable().reliance_ms, 0);
    p3.deliver(5, append(1, THEIRS, 0, &[3]));
    assert_eq!(p3.process.durable().reliance_ms, 4_096, "three seconds, rounded up");
    p3.deliver(5, append(1, THEIRS, 1, &[1]));
    assert_eq!(p3.process.durable().reliance_ms, 4_096, "it does not shrink within an epoch");
    // After a restart it keeps out of votes for that long, besides the lease.
    p3.recover();
    p3.pass(ms(500 + 4_095));
    assert_eq!(vote(&mut p3, 4, 2), wait(2, None));
    p3.pass(ms(1));
    assert_eq!(vote(&mut p3, 4, 2), promise(2, Version::default(), 0));
    // The next epoch begins with what is there.
    p3.deliver(4, spread(2, THEIRS, version(2, 0), 1));
    assert_eq!(p3.process.durable().reliance_ms, 1_024);
}
