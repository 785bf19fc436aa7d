//! Traces of real runs for the renderers' tests.

use crate::{Action, Cut, CutKind, Fate, Latency, Network, Recorder, Scheduled, Sim, Trace};
use bellwether_algorithms::catalogue::catalogue;
use bellwether_algorithms::definition::Settings;
use bellwether_algorithms::election::Input;
use bellwether_algorithms::mutex::Deed;
use bellwether_core::{AnyInput, Group, NodeId, Time};
use std::fmt::Debug;
use std::time::Duration;

const MS: u64 = 1000;

/// The run of the style guide: P4 coordinates; P1 and P4 fail; P2 notices. P3 wins.
pub(super) fn bully() -> Trace {
    let actions = [
        Action::Crash(NodeId::new(1)),
        Action::Crash(NodeId::new(4)),
        Action::Input(NodeId::new(2), Input::Suspect),
    ];
    let script = actions.map(|action| (0, action));
    run("bully", 4, &settings(false), &network(), script, None)
}

/// Detection, a crash, a recovery, a pause, a lost message, a doubled one and a partition.
pub(super) fn stormy() -> Trace {
    let id = NodeId::new;
    let mut network = network();
    network.fates.insert((id(2), id(3), 0), Fate::Lost);
    network.fates.insert((id(4), id(2), 0), Fate::Twice(8 * MS, 12 * MS));
    let sides = vec![vec![id(1), id(2)], vec![id(3), id(4)]];
    let script = [
        (5, Action::Input(id(2), Input::Start)),
        (300, Action::Crash(id(4))),
        (500, Action::Pause(id(1))),
        (650, Action::Resume(id(1))),
        (900, Action::Cut(Cut { name: 1, kind: CutKind::Partition(sides) })),
        (1500, Action::Heal(1)),
        (1600, Action::Recover(id(4))),
    ];
    run("bully", 4, &settings(true), &network, script, Some(2000))
}

/// Every one of many processes starts an election on a ring: many messages.
pub(super) fn crowd(processes: u32) -> Trace {
    let script = (1..=processes).map(|n| (0, Action::Input(NodeId::new(n), Input::Start)));
    let settings = Settings { coordinator: None, ..settings(false) };
    run("chang-roberts", processes, &settings, &network(), script, None)
}

/// P1 visits the section, P2 waits for it, enters and dies inside, and P3 waits for good: P4, the
/// coordinator, hears of no release.
pub(super) fn central() -> Trace {
    let script = [
        (0, Action::Input(NodeId::new(1), Deed::Request)),
        (5, Action::Input(NodeId::new(2), Deed::Request)),
        (50, Action::Input(NodeId::new(1), Deed::Release)),
        (75, Action::Input(NodeId::new(3), Deed::Request)),
        (80, Action::Crash(NodeId::new(2))),
    ];
    run("central", 4, &settings(false), &network(), script, None)
}

/// P4 and P1 visit the section one after the other; afterwards, perhaps, a process wants an election.
pub(super) fn lamport(election: bool) -> Trace {
    let script = [
        (0, Action::Input(NodeId::new(4), Deed::Request)),
        (5, Action::Input(NodeId::new(1), Deed::Request)),
        (60, Action::Input(NodeId::new(4), Deed::Release)),
        (70, Action::Input(NodeId::new(1), Deed::Release)),
        (90, Action::Input(NodeId::new(1), Deed::Elect(Input::Suspect))),
    ];
    let script = script.into_iter().take(if election { 5 } else { 4 });
    run("lamport", 4, &settings(false), &network(), script, None)
}

/// One process alone, to whom nothing happens.
pub(super) fn nothing() -> Trace {
    let settings = Settings { coordinator: None, ..settings(false) };
    run::<Input>("bully", 1, &settings, &network(), [], None)
}

fn settings(detection: bool) -> Settings {
    Settings {
        coordinator: Some(NodeId::new(4)),
        detection,
        ..Settings::new(Duration::from_millis(100))
    }
}

fn network() -> Network {
    Network::new(Latency::Fixed(Duration::from_millis(10)))
}

fn run<I: Clone + Debug + Send + Sync + 'static>(
    algorithm: &str,
    processes: u32,
    settings: &Settings,
    network: &Network,
    script: impl IntoIterator<Item = (u64, Action<I>)>,
    until_ms: Option<u64>,
) -> Trace {
    let catalogue = catalogue();
    let algorithm = catalogue.get(algorithm).unwrap();
    let group = Group::numbered(processes).unwrap();
    let config = algorithm.config(settings, &group);
    let recorder = Recorder::new(algorithm, &group, 7);
    let mut sim = Sim::new(group, config, network, 7, Vec::new(), recorder);
    let script = script.into_iter();
    sim.schedule(script.map(|(ms, action)| {
        let action = action.try_map(|input| Some(AnyInput::new(input))).unwrap();
        Scheduled { at: Time::from_micros(ms * MS), action }
    }));
    sim.run(until_ms.map_or(Time::MAX, |ms| Time::from_micros(ms * MS)));
    sim.observer.into_trace()
}
