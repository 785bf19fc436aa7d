//! From flags to what is to be run and done to it.

use super::args::HostArgs;
use crate::args::Switch;
use crate::failure::Failure;
use crate::planning::{Script, flag, ids_at, refuse_smaller, window};
use bellwether_algorithms::catalogue::{Algorithm, Settings};
use bellwether_core::{Group, NodeId, Time};
use bellwether_sim::{Action, Scheduled, check_script, units};
use std::time::Duration;

/// Every process is a real one, with connections to all others.
const MOST_NODES: usize = 64;

/// Loopback answers within a millisecond, but on a busy machine a process may have to wait for its
/// turn.
const TIMEOUT: Duration = Duration::from_millis(200);

/// A real run to come.
#[derive(Debug)]
pub(crate) struct HostPlan<A: Algorithm> {
    pub(crate) group: Group,
    pub(crate) settings: Settings,
    /// What is done to the processes, in the order of time.
    pub(crate) script: Vec<Scheduled<A::Input>>,
    /// How long it takes, if the user says so.
    pub(crate) length: Option<Time>,
}

impl<A: Algorithm> HostPlan<A> {
    /// How many of the inputs are work.
    pub(crate) fn work(&self) -> u64 {
        self.script.iter().map(|s| bellwether_sim::work::<A>(&s.action, &self.group)).sum()
    }
}

pub(crate) fn plan<A: Algorithm>(args: &HostArgs) -> Result<HostPlan<A>, Failure> {
    let group = group(args)?;
    let length = args.length.as_deref().map(|text| flag("for", units::time(text))).transpose()?;
    let script = script::<A>(args, &group, length)?;
    let scripted = !args.detect.is_empty() || args.all_start;
    let detection = args.detection.map_or(!scripted, |switch| switch == Switch::On);
    let fallible = detection || script.iter().any(|scheduled| !scheduled.action.is_input());
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
    let settings = Settings {
        coordinator: coordinator.map(|id| refuse_smaller(id, &group, detection)).transpose()?,
        detection,
        acknowledge: args.acknowledge.map_or(fallible, |switch| switch == Switch::On),
        ..Settings::new(timeout)
    };
    Ok(HostPlan { group, settings, script, length })
}

fn group(args: &HostArgs) -> Result<Group, Failure> {
    let (name, ids) = match &args.ids {
        Some(text) => ("ids", flag("ids", units::ids(text))?),
        None => {
            let n = args.nodes.unwrap_or(5);
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

fn script<A: Algorithm>(
    args: &HostArgs,
    group: &Group,
    length: Option<Time>,
) -> Result<Vec<Scheduled<A::Input>>, Failure> {
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
        Failure::Input(format!("{} knows no '{verb}'; leave the flag out", A::ENTRY.name))
    };
    for text in &args.detect {
        let input = A::input("suspect").ok_or_else(|| missing("suspect"))?;
        let (ids, at) = ids_at("detect", text, group)?;
        for id in ids {
            let action = Action::Input(id, input.clone());
            script.add("detect", text, at.unwrap_or_default(), action);
        }
    }
    let Script { mut actions, flags } = script;
    check_script(&actions).map_err(|impossible| {
        Failure::Input(format!("{}: {}", flags[impossible.index], in_our_words(&impossible.why)))
    })?;
    let late = |scheduled: &Scheduled<A::Input>| length.is_some_and(|end| scheduled.at > end);
    if let (Some(index), Some(end)) = (actions.iter().position(late), length) {
        let message = format!("{}: the run ends before that, at {end} (--for)", flags[index]);
        return Err(Failure::Input(message));
    }
    if args.all_start {
        let input = A::input("start").ok_or_else(|| missing("start"))?;
        actions.push(Scheduled { at: Time::ZERO, action: Action::InputAll(input) });
    }
    // A stable sort: of several at the same time, the first given comes first.
    actions.sort_by_key(|scheduled| scheduled.at);
    Ok(actions)
}

/// The simulator's processes crash and pause; ours are killed and stopped.
fn in_our_words(why: &str) -> String {
    let why = why.replace("cannot crash", "cannot be killed");
    let why = why.replace("cannot recover", "cannot be revived");
    let why = why.replace("cannot pause", "cannot be stopped");
    why.replace("it crashed at", "it was killed at").replace("it is paused", "it is stopped")
}
