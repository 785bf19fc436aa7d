//! Snapshots of any algorithm of the catalogue, by its name.

use super::{BadOption, Bank, Config, Msg, Routes, Settings, Snapshots, bank};
use crate::catalogue::{Listed, catalogue};
use crate::definition::Algorithm;
use crate::snapshot::SnapshotId;
use bellwether_core::{
    AnyConfig, AnyInput, AnyMsg, AnyOutput, AnyProcess, AnyTimer, Call, Context, Effects, Group,
    Here, Message, NodeId, Time,
};
use std::ops::Range;
use std::time::Duration;

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

/// The algorithm that these settings make of the catalogue's snapshots.
fn variant(settings: &Settings) -> Result<Listed, BadOption> {
    catalogue().get("chandy-lamport").unwrap().variant(settings)
}

fn over(name: &str) -> Listed {
    variant(&settings(&[("over", name)])).unwrap()
}

/// The same, if it can do anything with them.
fn checked(settings: &Settings) -> Result<Listed, BadOption> {
    let variant = variant(settings)?;
    variant.check(settings, &group()).map(|()| variant)
}

fn refusal(options: &[(&str, &str)]) -> String {
    checked(&settings(options)).unwrap_err().to_string()
}

/// What a process sends and says.
#[derive(Default)]
struct Recorder {
    sent: Vec<AnyMsg>,
    said: Vec<String>,
}

impl Effects<AnyProcess> for Recorder {
    fn send(&mut self, _: NodeId, msg: AnyMsg) {
        self.sent.push(msg);
    }
    fn set_timer(&mut self, _: AnyTimer, _: Range<Duration>) {}
    fn cancel_timer(&mut self, _: AnyTimer) {}
    fn emit(&mut self, output: AnyOutput) {
        self.said.push(output.to_string());
    }
    fn rule(&mut self, _: &'static str) {}
}

/// One process, started.
struct One {
    variant: Listed,
    config: AnyConfig,
    place: usize,
    process: AnyProcess,
    /// What it said and sent when it started.
    start: Recorder,
}

impl One {
    fn new(place: usize, options: &[(&str, &str)]) -> Self {
        let settings = settings(options);
        let variant = checked(&settings).unwrap();
        let config = variant.config(&settings, &group());
        let (process, start) = (AnyProcess::default(), Recorder::default());
        let mut one = One { variant, config, place, process, start };
        one.start = one.step(Call::Start(None));
        one
    }

    fn step(&mut self, call: Call<AnyProcess>) -> Recorder {
        let (group, mut recorder) = (group(), Recorder::default());
        let here = Here::new(&group, self.place, Time::ZERO, false);
        call.make(&mut self.process, &mut Context::new(&here, &self.config, &mut recorder));
        recorder
    }

    fn ask(&mut self, verb: &str) -> Recorder {
        let input = self.variant.input(verb).unwrap();
        self.step(Call::Input(input))
    }

    fn below(&self) -> &AnyProcess {
        self.process.downcast_ref::<Snapshots<AnyProcess>>().unwrap().below()
    }
}

#[test]
fn the_bank_and_all_of_the_catalogue_but_itself() {
    let why = refusal(&[("over", "bulli")]);
    let names = why.split_once("; it can be ").unwrap().1;
    let catalogue = catalogue();
    let others = catalogue.iter().map(|listed| listed.name());
    let others = others.filter(|name| *name != "chandy-lamport");
    assert!(names.split(", ").eq(["bank"].into_iter().chain(others)), "{names}");
    for name in names.split(", ") {
        assert_eq!(over(name).name(), "chandy-lamport");
    }
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
    assert_eq!(checked(&watched).unwrap_err().option, "channels");
    for options in [
        &[][..],
        &[("over", "bank"), ("balance", "7"), ("channels", "ring")],
        &[("over", "chang-roberts"), ("channels", "ring")],
        &[("over", "bully"), ("channels", "mesh")],
    ] {
        checked(&settings(options)).unwrap();
    }
}

#[test]
fn options_reach_what_runs() {
    let one = One::new(0, &[("balance", "7"), ("channels", "ring")]);
    let Config { routes, below } = one.config.downcast_ref::<Snapshots<AnyProcess>>().unwrap();
    assert_eq!(*routes, Routes::Ring);
    let bank::Config { balance, ring, .. } = below.downcast_ref::<Bank>().unwrap();
    assert_eq!((*balance, *ring), (7, true));

    let quantity = |subject: &Listed| {
        let config = subject.config(&settings(&[]), &group());
        subject.quantity(&config, &group()).map(|quantity| quantity.total)
    };
    let catalogue = catalogue();
    assert_eq!(quantity(&Listed::new(Bank::definition().erase())), Some(400));
    assert_eq!(quantity(catalogue.get("raymond").unwrap()), Some(1));
    assert_eq!(quantity(catalogue.get("bully").unwrap()), None);
}

#[test]
fn a_verb_is_read_by_what_runs() {
    let (bank, raymond) = (over("bank"), over("raymond"));
    for variant in [&bank, &raymond] {
        assert!(variant.input("transfr:2:5").is_none(), "an unknown verb");
        let snapshot = variant.input("snapshot").unwrap();
        assert_eq!(variant.verb(&snapshot), "snapshot");
        assert!(!variant.is_work(&snapshot));
    }
    let transfer = bank.input("transfer:2:5").unwrap();
    assert_eq!(bank.verb(&transfer), "transfer:2:5");
    let request = raymond.input("request").unwrap();
    assert_eq!(raymond.verb(&request), "request");
    assert!(bank.is_work(&transfer) && raymond.is_work(&request));

    let recorder = One::new(3, &[("over", "raymond")]).ask("request");
    assert_eq!(recorder.said, ["asks for the section"]);
    let [msg] = &recorder.sent[..] else { panic!("{:?}", recorder.sent) };
    assert_eq!(msg.kind().name, "REQUEST");
}

#[test]
fn a_verb_that_only_others_know_is_answered() {
    let mut bully = One::new(0, &[("over", "bully")]);
    let before = bully.below().clone();
    let recorder = bully.ask("work");
    assert_eq!(recorder.said, ["does nothing: bully does not know 'work', only suspect, start"]);
    assert!(recorder.sent.is_empty());
    assert_eq!(bully.below(), &before);
    let work = bully.variant.input("work").unwrap();
    assert_eq!(bully.variant.verb(&work), "work");
    assert!(bully.variant.is_work(&work), "as it is for the others");
}

#[test]
fn an_input_of_another_algorithm_changes_nothing() {
    let mut bank = One::new(0, &[]);
    let before = bank.below().clone();
    let request = over("raymond").input("request").unwrap();
    let recorder = bank.step(Call::Input(request));
    assert!(recorder.said.is_empty() && recorder.sent.is_empty(), "{:?}", recorder.said);
    assert_eq!(bank.below(), &before);
}

#[test]
fn a_message_of_another_algorithm_changes_nothing() {
    let recorder = One::new(0, &[]).ask("transfer:4:5");
    let [msg] = &recorder.sent[..] else { panic!("{:?}", recorder.sent) };
    let Some(Msg::Carried(carried)) = msg.downcast_ref::<Msg<AnyMsg>>() else { panic!("{msg:?}") };
    let amount = Bank::definition().erase().carried_by(&carried.body);
    assert_eq!((msg.to_string(), amount), ("TRANSFER(5)".to_owned(), 5));

    let mut raymond = One::new(3, &[("over", "raymond")]);
    let before = raymond.below().clone();
    raymond.step(Call::Message(NodeId::new(1), msg.clone()));
    assert_eq!(raymond.below(), &before);
}

#[test]
fn what_travels_survives_the_wire() {
    let one = One::new(0, &[("over", "token-ring")]);
    let [token] = &one.start.sent[..] else { panic!("{:?}", one.start.sent) };
    assert_eq!(token.to_string(), "TOKEN");
    let marker: Msg<AnyMsg> = Msg::Marker(SnapshotId { initiator: NodeId::new(2), count: 3 });
    let coder = &one.variant.codec.msg;
    for msg in [token, &AnyMsg::new(marker)] {
        let mut bytes = coder.encode(msg);
        assert_eq!(&coder.decode(&bytes).unwrap(), msg);
        bytes.push(0);
        assert_eq!(coder.decode(&bytes).unwrap_err(), "1 bytes too many");
        assert!(coder.decode(&[]).is_err());
    }
    // What the token-ring says is not what the bank says.
    let bank = over("bank").codec.msg.decode(&coder.encode(token));
    assert!(bank.is_err_and(|why| why.contains("bytes")));

    let coder = &one.variant.codec.input;
    for verb in ["snapshot", "request", "suspect", "transfer:2:5"] {
        let input = one.variant.input(verb).unwrap();
        let decoded: AnyInput = coder.decode(&coder.encode(&input)).unwrap();
        assert_eq!(one.variant.verb(&decoded), verb);
    }
    assert!(coder.decode(&[9]).is_err());
}

#[test]
fn one_process_says_what_it_has() {
    let one = One::new(0, &[("balance", "30")]);
    let bank = Bank::definition().erase();
    assert_eq!((bank.held_by(one.below()), bank.note_of(one.below())), (Some(30), "has 30".into()));
    assert_eq!(bank.held_by(&AnyProcess::default()), None);
}
