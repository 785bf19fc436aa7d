//! The rules of the device, one by one.

use super::*;
use bellwether_core::{Effect, step};

const T: Duration = Duration::from_millis(100);

fn id(number: u32) -> NodeId {
    NodeId::new(number)
}

fn group() -> Group {
    Group::numbered(3).unwrap()
}

fn config(coordinator: u32) -> Config {
    let mut settings = Settings::new(T);
    settings.coordinator = Some(id(coordinator));
    Config { timeout: T, election: Watched::<Bully>::config(&settings, &group()) }
}

/// The process of this number, started with this coordinator, and what it asked for.
fn started(number: u32, coordinator: u32) -> (Device, Vec<Effect<Device>>) {
    let mut device = Device::default();
    let effects = at(number, coordinator, |cx| device.on_start(None, cx));
    (device, effects)
}

fn at(
    number: u32,
    coordinator: u32,
    handler: impl FnOnce(&mut Context<'_, Device>),
) -> Vec<Effect<Device>> {
    step(&group(), number as usize - 1, &config(coordinator), handler)
}

fn sent(effects: &[Effect<Device>]) -> Vec<(NodeId, Msg)> {
    let sends = effects.iter().filter_map(|effect| match effect {
        Effect::Send(to, msg) => Some((*to, msg.clone())),
        _ => None,
    });
    sends.collect()
}

fn said(effects: &[Effect<Device>]) -> Vec<Output> {
    let outputs = effects.iter().filter_map(|effect| match effect {
        Effect::Emit(output) => Some(*output),
        _ => None,
    });
    outputs.collect()
}

#[test]
fn dv1_the_coordinator_claims_a_number_at_the_device() {
    let (_, effects) = started(3, 3);
    assert!(sent(&effects).contains(&(id(1), Msg::Claim)));
    let (_, effects) = started(2, 3);
    assert!(!sent(&effects).contains(&(id(1), Msg::Claim)));
}

/// A claim of the one before may still be on its way.
#[test]
fn dv1_who_comes_back_and_is_elected_waits_before_it_claims() {
    let mut device = Device::default();
    let saved = Durable { election: Incarnation::new(1), last: 0 };
    let effects = at(3, 3, |cx| device.on_start(Some(saved), cx));
    assert!(!sent(&effects).contains(&(id(1), Msg::Claim)));
    let effects = at(3, 3, |cx| device.on_timer(Timer::Number, cx));
    assert!(sent(&effects).contains(&(id(1), Msg::Claim)));
}

#[test]
fn dv2_every_claim_gets_a_larger_number() {
    let (mut device, _) = started(1, 3);
    for (claimer, number) in [(3, 1), (2, 2), (3, 3)] {
        let effects = at(1, 3, |cx| device.on_message(id(claimer), Msg::Claim, cx));
        assert_eq!(sent(&effects), [(id(claimer), Msg::Number(number))]);
    }
    assert_eq!(device.durable().last, 3);
}

#[test]
fn dv3_only_a_coordinator_with_a_number_drives() {
    let (mut driver, _) = started(3, 3);
    let effects = at(3, 3, |cx| driver.on_input(Input::Drive, cx));
    assert_eq!(said(&effects), [Output::MayNot]);
    at(3, 3, |cx| driver.on_message(id(1), Msg::Number(4), cx));
    let effects = at(3, 3, |cx| driver.on_input(Input::Drive, cx));
    assert_eq!(sent(&effects), [(id(1), Msg::Command(4))]);
}

#[test]
fn dv4_the_device_obeys_the_last_number_only() {
    let (mut device, _) = started(1, 3);
    at(1, 3, |cx| device.on_message(id(3), Msg::Claim, cx));
    at(1, 3, |cx| device.on_message(id(2), Msg::Claim, cx));
    let effects = at(1, 3, |cx| device.on_message(id(2), Msg::Command(2), cx));
    assert_eq!(said(&effects), [Output::Obeys { number: 2, by: id(2) }]);
    let effects = at(1, 3, |cx| device.on_message(id(3), Msg::Command(1), cx));
    assert_eq!(said(&effects), [Output::Refuses { number: 1, by: id(3) }]);
    assert_eq!(sent(&effects), [(id(3), Msg::Refused { shown: 1, last: 2 })]);
}

#[test]
fn dv5_who_is_refused_gives_its_number_up() {
    let (mut driver, _) = started(3, 3);
    at(3, 3, |cx| driver.on_message(id(1), Msg::Number(1), cx));
    let refused = Msg::Refused { shown: 1, last: 2 };
    let effects = at(3, 3, |cx| driver.on_message(id(1), refused.clone(), cx));
    assert_eq!(said(&effects), [Output::Replaced]);
    let effects = at(3, 3, |cx| driver.on_input(Input::Drive, cx));
    assert_eq!(said(&effects), [Output::MayNot]);
}

#[test]
fn the_overseer_says_when_an_old_number_is_obeyed() {
    let mut overseer = Overseer::default();
    let obeys = |number, by| Output::Obeys { number, by: id(by) };
    let mut hears = |output| overseer.hears(Time::ZERO, id(1), &output);
    assert!(hears(obeys(1, 3)).is_ok());
    assert!(hears(obeys(2, 2)).is_ok());
    assert_eq!(hears(obeys(1, 3)).unwrap_err().name, ONE_DRIVER);
}
