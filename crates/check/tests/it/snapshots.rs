//! A few payments and snapshots, in every order in which they can be asked for and messages can
//! arrive. The auditor judges each snapshot: its parts fit together, what is on the way in it was
//! sent and not received, and there is as much money as ever.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::models::{Notes, listed};
use bellwether_algorithms::definition::Settings;
use bellwether_algorithms::referee::{Breach, Fact, Referee};
use bellwether_check::{Channels, Limits, Model, Report, Setup, Verdict, check};
use bellwether_core::{AnyOutput, AnyProcess, Group, NodeId, Time};
use std::time::Duration;

/// Processes that may be asked for this, one after the other, by place.
fn bank(script: &[&[&str]], channels: &str) -> Setup {
    let algorithm = listed("chandy-lamport");
    let group = Group::numbered(script.len() as u32).unwrap();
    let mut settings = Settings::new(Duration::from_millis(10));
    settings.options.set("channels", channels);
    algorithm.check(&settings, &group).unwrap();
    let asks = (1..).zip(script).flat_map(|(number, verbs)| {
        verbs.iter().map(move |verb| (NodeId::new(number), (*verb).to_owned()))
    });
    Setup { asks: asks.collect(), ..Setup::new(&algorithm, group, settings) }
}

/// Hears with an auditor, and notes down the cuts of every run that ends well.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Clerk {
    auditor: Box<dyn Referee<AnyProcess>>,
    /// The only claim that counts, if not all do.
    only: Option<&'static str>,
    /// How much is in accounts, and how much is on the way.
    cuts: Notes<String>,
}

impl Clerk {
    fn counts(&self, judged: Result<(), Breach>) -> Result<(), Breach> {
        judged.or_else(|breach| match self.only {
            Some(only) if breach.name != only => Ok(()),
            _ => Err(breach),
        })
    }
}

impl Referee<AnyProcess> for Clerk {
    fn hears(&mut self, at: Time, who: NodeId, output: &AnyOutput) -> Result<(), Breach> {
        let judged = self.auditor.hears(at, who, output);
        self.counts(judged)
    }

    fn closes(&mut self, at: Time, live: &[NodeId]) -> Result<(), Breach> {
        let judged = self.auditor.closes(at, live);
        self.counts(judged)?;
        let facts = self.auditor.facts();
        let money = facts.iter().filter(|fact| fact.name == "money");
        let cuts = money.flat_map(|fact| fact.value["cuts"].as_array().unwrap());
        self.cuts.extend(cuts.map(|cut| cut.to_string()));
        Ok(())
    }

    fn claims(&self) -> Vec<&'static str> {
        self.auditor.claims()
    }

    fn facts(&self) -> Vec<Fact> {
        self.auditor.facts()
    }
}

/// Explores a bank, and notes down all cuts. Only one claim counts, if it is given.
fn explore(setup: &Setup, only: Option<&'static str>) -> (Report, Notes<String>) {
    let (model, cuts) = (setup.model(), Notes::new());
    let clerk = Clerk { auditor: model.referee.unwrap(), only, cuts: cuts.clone() };
    let model = Model { referee: Some(Box::new(clerk)), ..model };
    (check(&model, Limits { threads: 2, ..Limits::default() }, &mut |_| {}), cuts)
}

/// Every order goes well, and there are at least this many states, and this many different cuts with
/// money on the way.
#[track_caller]
fn all_is_well(channels: &str, script: &[&[&str]], states: u64, busy: usize) {
    let (Report { verdict, progress }, cuts) = explore(&bank(script, channels), None);
    assert_eq!(verdict, Verdict::Proved);
    assert!(progress.states >= states, "{progress:?}");
    let cuts = cuts.all();
    let quiet = cuts.iter().filter(|cut| cut.contains("\"on_the_way\":0")).count();
    assert!(cuts.len() - quiet == busy && quiet > 0, "{cuts:?}");
}

#[test]
fn two_processes_one_snapshot() {
    let script: &[&[&str]] =
        &[&["transfer:2:1", "transfer:2:2", "snapshot"], &["transfer:1:4", "transfer:1:8"]];
    all_is_well("mesh", script, 300, 3);
}

#[test]
fn two_processes_two_snapshots() {
    let script: &[&[&str]] = &[
        &["transfer:2:1", "snapshot", "transfer:2:2"],
        &["transfer:1:4", "snapshot", "transfer:1:8"],
    ];
    all_is_well("mesh", script, 1_000, 6);
    let by_one: &[&[&str]] = &[
        &["snapshot", "transfer:2:1", "snapshot", "transfer:2:2"],
        &["transfer:1:4", "transfer:1:8"],
    ];
    all_is_well("mesh", by_one, 1_000, 3);
}

#[test]
fn three_processes_one_snapshot() {
    let script: &[&[&str]] = &[&["transfer:2:1", "snapshot"], &["transfer:3:2"], &["transfer:1:4"]];
    all_is_well("mesh", script, 1_000, 7);
}

#[test]
fn three_processes_two_snapshots() {
    let script: &[&[&str]] = &[&["transfer:2:1", "snapshot"], &["snapshot"], &["transfer:1:4"]];
    all_is_well("mesh", script, 10_000, 3);
}

/// Behind the marker that goes round nothing is left, but on the last channel there may be.
#[test]
fn three_on_a_ring() {
    let script: &[&[&str]] =
        &[&["transfer:2:1", "snapshot"], &["transfer:3:2", "snapshot"], &["transfer:1:4"]];
    all_is_well("ring", script, 1_000, 2);
}

/// Without FIFO, this goes wrong and nothing else: a message overtakes the marker before it, and is
/// received though it is not sent; or a marker overtakes a message, which is nowhere then.
#[test]
fn without_fifo_a_snapshot_may_be_none() {
    let bank = bank(&[&["transfer:2:1", "snapshot", "transfer:2:2"], &[]], "mesh");
    let bank = Setup { channels: Channels::Reorder, ..bank };
    for claim in ["channel-contents", "consistent-cut"] {
        match explore(&bank, Some(claim)).0.verdict {
            Verdict::Violated(found) => assert_eq!(found.breach.name, claim),
            other => panic!("{claim}: {other:?}"),
        }
    }
    for claim in ["conserved", "unfinished"] {
        assert_eq!(explore(&bank, Some(claim)).0.verdict, Verdict::Proved, "{claim}");
    }
}
