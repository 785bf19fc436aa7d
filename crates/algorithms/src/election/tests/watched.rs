//! How an election and its detector go together, seen from P2 of 1, 2, 3, 4.

use super::*;
use crate::election::Peterson;
use crate::election::bully::{self, Bully};
use crate::election::tests::{Fixture, T, config, exactly, id};
use bellwether_core::Effect::{self, CancelTimer, Emit, Send, SetTimer};
use detector::Timer::{Answer, Ask, Patience};

const PERIOD: Duration = Duration::from_millis(70);
const PATIENCE: Duration = Duration::from_secs(1);

/// P2 before its start, with detection.
fn watched<E: Election>(coordinator: u32) -> Fixture<Watched<E>> {
    let detection = Some(detector::Config { timeout: T, period: PERIOD, patience: PATIENCE });
    Fixture::blank(2, Config { coordinator: Some(id(coordinator)), detection, ..config() })
}

fn following_p4<E: Election>() -> Fixture<Watched<E>> {
    let mut p2 = watched(4);
    p2.start(None);
    p2
}

/// The detector turns to another coordinator, or to an election.
fn turning<E: Election>(then: Effect<Watched<E>>) -> Vec<Effect<Watched<E>>> {
    let cancelled = [Ask, Answer, Patience].map(|timer| CancelTimer(Timer::Detector(timer)));
    cancelled.into_iter().chain([then]).collect()
}

fn patience<E: Election>() -> Effect<Watched<E>> {
    SetTimer(Timer::Detector(Patience), exactly(PATIENCE))
}

fn ask_later<E: Election>() -> Effect<Watched<E>> {
    SetTimer(Timer::Detector(Ask), PERIOD..2 * PERIOD)
}

/// What the bully P2 does when it starts an election.
fn bully_starts() -> Vec<Effect<Watched<Bully>>> {
    let ask = |to| Send(id(to), Msg::Election(bully::Msg::Election));
    let wait = SetTimer(Timer::Election(bully::Timer::Answer), exactly(T));
    vec![Emit(Output::Started), ask(3), ask(4), wait]
}

#[test]
fn a_first_start_watches_the_coordinator() {
    let mut p2 = watched::<Bully>(4);
    assert_eq!(p2.start(None), [turning(patience()), turning(ask_later())].concat());
}

#[test]
fn a_suspicion_starts_an_election() {
    let mut p2 = following_p4::<Bully>();
    let request = Send(id(4), Msg::Detector(detector::Msg::Request));
    let wait = SetTimer(Timer::Detector(Answer), exactly(T));
    assert_eq!(p2.fire(Timer::Detector(Ask)), [request, wait]);
    assert_eq!(
        p2.fire(Timer::Detector(Answer)),
        [bully_starts(), turning(patience())].concat(),
        "and the detector is patient until it ends"
    );
}

#[test]
fn the_detector_is_told_whom_the_election_has_found() {
    let mut p2 = following_p4::<Bully>();
    assert_eq!(
        p2.deliver(3, Msg::Election(bully::Msg::Coordinator)),
        [vec![Emit(Output::Elected(id(3)))], turning(ask_later())].concat()
    );
    let response = Msg::Detector(detector::Msg::Response(Some(id(3))));
    assert_eq!(p2.deliver(1, Msg::Detector(detector::Msg::Request)), [Send(id(1), response)]);
}

#[test]
fn the_detector_is_not_told_what_it_knows() {
    let mut p2 = following_p4::<Bully>();
    assert_eq!(
        p2.deliver(4, Msg::Election(bully::Msg::Coordinator)),
        [Emit(Output::Elected(id(4)))]
    );
}

#[test]
fn a_coordinator_that_cannot_be_right_starts_an_election_at_once() {
    let mut p2 = watched::<Bully>(1);
    let distrust = turning(patience())[..3].to_vec();
    assert_eq!(
        p2.start(None),
        [turning(patience()), distrust, bully_starts(), turning(patience())].concat()
    );
}

/// Were it not so, the patience of many processes, running out at different times, would restart
/// a numbered election again and again before it can end.
#[test]
fn a_newer_election_gets_the_full_patience() {
    let mut p2 = following_p4::<Peterson>();
    let begins = p2.input(Input::Start);
    assert_eq!(begins[2..], turning(patience()));
    let again = p2.input(Input::Start);
    assert_eq!(again[2..], turning(patience()), "though there was no coordinator before");
}

#[test]
fn without_detection_nothing_is_watched() {
    let mut p2 = Fixture::<Watched<Bully>>::following(2, Some(4));
    assert_eq!(p2.input(Input::Suspect), bully_starts());
    let timer = Timer::Election(bully::Timer::Answer);
    assert_eq!(
        p2.deliver(4, Msg::Election(bully::Msg::Coordinator)),
        [CancelTimer(timer), Emit(Output::Elected(id(4)))]
    );
    assert_eq!(p2.deliver(1, Msg::Detector(detector::Msg::Request)), []);
}
