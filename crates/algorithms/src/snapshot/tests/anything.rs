//! Any algorithm of the catalogue, by its name.

use super::{Settings, Word, bank};
use crate::catalogue::anything::{Anything, Config, NAMES};
use crate::catalogue::{Algorithm, ENTRIES};
use crate::snapshot::{Input, Msg, Routes, Snapshots, Subject};
use bellwether_core::{Context, Effects, Group, Here, Message, NodeId, Process, Time};
use std::ops::Range;
use std::time::Duration;

type P = Snapshots<Anything>;

fn settings(options: &[(&str, &str)]) -> Settings {
    let mut settings = Settings::new(Duration::from_millis(30));
    for (name, value) in options {
        settings.options.set(name, value);
    }
    settings
}

fn group() -> Group {
    Group::numbered(4).unwrap()
}

fn refusal(options: &[(&str, &str)]) -> String {
    P::check(&settings(options), &group()).unwrap_err().to_string()
}

/// What a process sends and says; it has no equality, so that the usual way is closed.
#[derive(Default)]
struct Heard {
    sent: Vec<(NodeId, <P as Process>::Msg)>,
    said: Vec<String>,
}

impl Effects<P> for Heard {
    fn send(&mut self, to: NodeId, msg: <P as Process>::Msg) {
        self.sent.push((to, msg));
    }
    fn set_timer(&mut self, _: <P as Process>::Timer, _: Range<Duration>) {}
    fn cancel_timer(&mut self, _: <P as Process>::Timer) {}
    fn emit(&mut self, output: <P as Process>::Output) {
        self.said.push(output.to_string());
    }
    fn rule(&mut self, _: &'static str) {}
}

fn step(settings: &Settings, place: usize, handler: impl FnOnce(&mut Context<'_, P>)) -> Heard {
    let (group, mut heard) = (group(), Heard::default());
    let config = P::config(settings, &group);
    let here = Here::new(&group, place, Time::ZERO, false);
    handler(&mut Context::new(&here, &config, &mut heard));
    heard
}

#[test]
fn the_bank_and_all_of_the_catalogue_but_itself() {
    assert_eq!(NAMES[0], "bank");
    let others = ENTRIES.iter().map(|entry| entry.name).filter(|name| *name != P::ENTRY.name);
    assert!(NAMES[1..].iter().copied().eq(others));
}

#[test]
fn what_cannot_be_is_refused_with_what_could() {
    let why = refusal(&[("over", "bulli")]);
    assert!(why.starts_with("over: there is no algorithm 'bulli' to run below; it can be bank, "));
    assert!(why.contains("suzuki-kasami"), "{why}");
    assert!(refusal(&[("over", "chandy-lamport")]).starts_with("over: there is no algorithm"));
    assert!(refusal(&[("balance", "-1")]).starts_with("balance: "));
    assert!(refusal(&[("balance", "9999999999")]).contains("too much for an account"));
    assert!(refusal(&[("channels", "star")]).ends_with("'star' is neither mesh nor ring"));
    let mesh_only = refusal(&[("channels", "ring"), ("over", "suzuki-kasami")]);
    assert!(mesh_only.starts_with("channels: suzuki-kasami sends messages to others"));
    let watched =
        Settings { detection: true, ..settings(&[("channels", "ring"), ("over", "token-ring")]) };
    assert_eq!(P::check(&watched, &group()).unwrap_err().option, "channels");
    for options in [
        &[][..],
        &[("over", "bank"), ("balance", "7"), ("channels", "ring")],
        &[("over", "chang-roberts"), ("channels", "ring")],
        &[("over", "bully"), ("channels", "mesh")],
    ] {
        P::check(&settings(options), &group()).unwrap();
    }
}

#[test]
fn options_reach_what_runs() {
    let config = P::config(&settings(&[("balance", "7"), ("channels", "ring")]), &group());
    assert_eq!(config.routes, Routes::Ring);
    let Config::A0(bank::Config { balance, ring, .. }) = config.below else {
        panic!("not the bank")
    };
    assert_eq!((balance, ring), (7, true));
    let quantity = |over| {
        let config = P::config(&settings(&[("over", over)]), &group());
        Anything::quantity(&config.below, &group()).map(|quantity| quantity.total)
    };
    assert_eq!(quantity("bank"), Some(400));
    assert_eq!(quantity("raymond"), Some(1));
    assert_eq!(quantity("bully"), None);
}

#[test]
fn a_word_is_read_by_whoever_runs() {
    assert!(P::input("transfer:2:5").is_some() && P::input("release").is_some());
    assert!(P::input("transfr:2:5").is_none(), "nobody knows that");
    let word = P::input("request").unwrap();
    assert_eq!(word, Input::Below(Word("request".to_owned())));
    assert_eq!(P::verb(&word), "request");
    assert!(P::is_work(&word) && !P::is_work(&Input::Snapshot));

    let bank = settings(&[]);
    let mut process = P::default();
    step(&bank, 0, |cx| process.on_start(None, cx));
    let before = process.below().clone();
    let heard = step(&bank, 0, |cx| process.on_input(word.clone(), cx));
    assert_eq!(
        heard.said,
        ["does nothing: bank does not know 'request', only work, transfer:TO:AMOUNT"]
    );
    assert_eq!(process.below(), &before);

    let raymond = settings(&[("over", "raymond")]);
    let mut process = P::default();
    step(&raymond, 3, |cx| process.on_start(None, cx));
    let heard = step(&raymond, 3, |cx| process.on_input(word, cx));
    assert_eq!(heard.said, ["asks for the section"]);
    let [(_, msg)] = &heard.sent[..] else { panic!("{:?}", heard.sent) };
    assert_eq!(msg.kind().name, "REQUEST");
}

#[test]
fn a_message_of_another_algorithm_changes_nothing() {
    let bank = settings(&[]);
    let mut payer = P::default();
    step(&bank, 0, |cx| payer.on_start(None, cx));
    let transfer = P::input("transfer:4:5").unwrap();
    let heard = step(&bank, 0, |cx| payer.on_input(transfer, cx));
    let [(_, msg @ Msg::Carried(carried))] = &heard.sent[..] else { panic!("{:?}", heard.sent) };
    assert_eq!((msg.to_string(), Anything::carried(&carried.body)), ("TRANSFER(5)".to_owned(), 5));

    let raymond = settings(&[("over", "raymond")]);
    let mut process = P::default();
    step(&raymond, 3, |cx| process.on_start(None, cx));
    let before = process.below().clone();
    step(&raymond, 3, |cx| process.on_message(NodeId::new(1), msg.clone(), cx));
    assert_eq!(process.below(), &before);
}

#[test]
fn what_travels_survives_the_wire() {
    let token_ring = settings(&[("over", "token-ring")]);
    let mut process = P::default();
    let heard = step(&token_ring, 0, |cx| process.on_start(None, cx));
    let [(_, token)] = &heard.sent[..] else { panic!("{:?}", heard.sent) };
    assert_eq!(token.to_string(), "TOKEN");
    let text = serde_json::to_string(token).unwrap();
    assert_eq!(&serde_json::from_str::<<P as Process>::Msg>(&text).unwrap(), token);
    let marker = Msg::Marker(crate::snapshot::SnapshotId { initiator: NodeId::new(2), count: 3 });
    let text = serde_json::to_string(&marker).unwrap();
    assert_eq!(serde_json::from_str::<<P as Process>::Msg>(&text).unwrap(), marker);
}

#[test]
fn one_process_says_what_it_has() {
    let settings = settings(&[("balance", "30")]);
    let mut process = P::default();
    step(&settings, 0, |cx| process.on_start(None, cx));
    assert_eq!((process.below().held(), process.below().note()), (Some(30), "has 30".to_owned()));
    assert_eq!(Anything::default().held(), None);
}
