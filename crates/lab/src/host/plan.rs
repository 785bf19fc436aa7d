//! From flags to what is to be run and done to it.

use super::args::HostArgs;
use crate::args::Switch;
use crate::own;
use crate::planning::{Script, clocks, flag, ids_at, refuse_smaller, watches, window};
use crate::work::{in_words_of_sections, until};
use bellwether_algorithms::catalogue::Listed;
use bellwether_algorithms::definition::Settings;
use bellwether_core::{AnyInput, Group, NodeId, Time};
use bellwether_shell::Failure;
use bellwether_sim::workload::Downtime;
use bellwether_sim::{Action, Latency, Network, Scheduled, check_script, units};
use std::collections::BTreeMap;
use std::time::Duration;

/// Every process is a real one, with connections to all others.
const MOST_NODES: usize = 64;

/// Loopback answers within a millisecond, but on a busy machine a process may have to wait for its
/// turn.
const TIMEOUT: Duration = Duration::from_millis(200);

/// How long a message takes at most when a workload is planned. A busy machine takes longer now and
/// then; the next request then comes too early for once, which does no harm. With T instead, a
/// hundred requests one by one would take minutes.
const HOP: Duration = Duration::from_millis(2);

/// How long a process stays in the critical section if nobody says.
const SECTION: Duration = Duration::from_millis(1);

/// Requests are told to a process through a pipe, which holds some thousands of them; a stopped
/// process reads none.
const MOST_REQUESTS: u64 = 2_000;

/// Real time is random enough; who asks is the same every time.
const SEED: u64 = 0;

/// A real run to come.
#[derive(Debug)]
pub(crate) struct HostPlan {
    pub(crate) algorithm: Listed,
    pub(crate) group: Group,
    pub(crate) settings: Settings,
    /// Whose clocks are off, by how many microseconds, and by how much they gain, in parts per
    /// million.
    pub(crate) clocks: BTreeMap<NodeId, (i64, i64)>,
    /// What is done to the processes, in the order of time.
    pub(crate) script: Vec<Scheduled<AnyInput>>,
    /// How long it takes, if the user says so.
    pub(crate) length: Option<Time>,
}

impl HostPlan {
    /// How many of the inputs are work for a process that is there.
    pub(crate) fn work(&self) -> u64 {
        Downtime::of(&self.script).work(&self.algorithm, &self.script, &self.group)
    }
}

pub(crate) fn plan(algorithm: &Listed, args: &HostArgs) -> Result<HostPlan, Failure> {
    let group = group(args, algorithm.nodes)?;
    let length = args.length.as_deref().map(|text| flag("for", units::time(text))).transpose()?;
    args.work.suits(algorithm)?;
    args.work.refuse_elections(&[
        ("detect", !args.detect.is_empty()),
        ("all-start", args.all_start),
        ("detection on", args.detection == Some(Switch::On)),
    ])?;
    let mut script = script(algorithm, args, &group, length)?;
    let scripted = !args.detect.is_empty() || args.all_start;
    let faulty = script.iter().any(|scheduled| !scheduled.action.is_input());
    let detection = match args.detection {
        Some(switch) => switch == Switch::On,
        None => !scripted && watches(algorithm, faulty, args.work.textbook),
    };
    let fallible = detection || faulty;
    let timeout = match &args.timeout {
        None => TIMEOUT,
        Some(text) => match flag("timeout", units::duration(text))? {
            Duration::ZERO => return Err(Failure::flag("timeout", "T must be above 0")),
            timeout => timeout,
        },
    };
    let coordinator = match args.coordinator.as_deref() {
        None => (!args.all_start).then(|| group.highest()),
        Some("none") => None,
        Some(text) => Some(flag("coordinator", units::member(text, &group))?),
    };
    let mut settings = Settings {
        coordinator: coordinator.map(|id| refuse_smaller(id, &group, detection)).transpose()?,
        detection,
        acknowledge: args.acknowledge.map_or(fallible, |switch| switch == Switch::On),
        ..Settings::new(timeout)
    };
    args.work.apply(&mut settings, SECTION)?;
    settings.options = args.own.options(algorithm)?;
    let algorithm = &own::check(algorithm, &settings, &group)?;
    let clocks = clocks(&args.asked.offset, &args.asked.drift, &group)?;
    let asked = !args.asked.ask.is_empty();
    let network = Network::new(Latency::Uniform(Duration::ZERO, HOP));
    let mut jobs = args.work.jobs(
        algorithm,
        &group,
        &settings,
        &network,
        SEED,
        &script,
        MOST_REQUESTS,
        asked,
    )?;
    until(&mut jobs, length);
    script.extend(jobs);
    // A stable sort: of several at the same time, the first given comes first.
    script.sort_by_key(|scheduled| scheduled.at);
    Ok(HostPlan { algorithm: algorithm.clone(), group, settings, clocks, script, length })
}

fn group(args: &HostArgs, usual: Option<u32>) -> Result<Group, Failure> {
    let (name, ids) = match &args.ids {
        Some(text) => ("ids", flag("ids", units::ids(text))?),
        None => {
            let n = args.nodes.or(usual).unwrap_or(5);
            if n == 0 {
                return Err(Failure::flag(
                    "nodes",
                    "0 processes cannot elect anybody; give at least 1",
                ));
            }
            ("nodes", (1..=n.min(MOST_NODES as u32 + 1)).map(NodeId::new).collect())
        }
    };
    if ids.len() > MOST_NODES {
        let message = format!(
            "at most {MOST_NODES} processes can be hosted on one machine; `bellwether sim` runs \
             millions"
        );
        return Err(Failure::flag(name, message));
    }
    Group::new(ids).map_err(|error| Failure::flag(name, error))
}

fn script(
    algorithm: &Listed,
    args: &HostArgs,
    group: &Group,
    length: Option<Time>,
) -> Result<Vec<Scheduled<AnyInput>>, Failure> {
    let mut script = Script::new();
    for text in &args.kill {
        let (ids, at) = ids_at("kill", text, group)?;
        for id in ids {
            script.add("kill", text, at.unwrap_or_default(), Action::Crash(id));
        }
    }
    for text in &args.revive {
        let (ids, at) = ids_at("revive", text, group)?;
        let at =
            at.ok_or_else(|| Failure::flag("revive", format!("'{text}' needs a time: {text}@1s")))?;
        for id in ids {
            script.add("revive", text, at, Action::Recover(id));
        }
    }
    for text in &args.stop {
        let (id, from, to) = window("stop", text, "3@1s..2s")?;
        let id = flag("stop", units::member(id, group))?;
        script.add("stop", text, from, Action::Pause(id));
        script.add("stop", text, to, Action::Resume(id));
    }
    let missing = |verb: &str| {
        Failure::Input(format!("{} knows no '{verb}'; leave the flag out", algorithm.name()))
    };
    for text in &args.detect {
        let input = algorithm.input("suspect").ok_or_else(|| missing("suspect"))?;
        let (ids, at) = ids_at("detect", text, group)?;
        for id in ids {
            let action = Action::Input(id, input.clone());
            script.add("detect", text, at.unwrap_or_default(), action);
        }
    }
    args.work.deeds(algorithm, group, &mut script)?;
    own::asks(algorithm, &args.asked.ask, group, &mut script)?;
    let Script { mut actions, flags } = script;
    check_script(&actions).map_err(|impossible| {
        let flag = &flags[impossible.index];
        let why = in_words_of_sections(flag, &in_our_words(&impossible.why));
        Failure::Input(format!("{flag}: {why}"))
    })?;
    let late = |scheduled: &Scheduled<AnyInput>| length.is_some_and(|end| scheduled.at > end);
    if let (Some(index), Some(end)) = (actions.iter().position(late), length) {
        let message = format!("{}: the run ends before that, at {end} (--for)", flags[index]);
        return Err(Failure::Input(message));
    }
    if args.all_start {
        let input = algorithm.input("start").ok_or_else(|| missing("start"))?;
        actions.push(Scheduled { at: Time::ZERO, action: Action::InputAll(input) });
    }
    Ok(actions)
}

/// The simulator's processes crash and pause; ours are killed and stopped.
fn in_our_words(why: &str) -> String {
    let why = why.replace("cannot crash", "cannot be killed");
    let why = why.replace("cannot recover", "cannot be revived");
    let why = why.replace("cannot pause", "cannot be stopped");
    why.replace("it crashed at", "it was killed at").replace("it is paused", "it is stopped")
}
