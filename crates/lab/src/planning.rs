//! From flags to a plan.

use crate::args::{Order, SimArgs, Switch};
use crate::own;
use crate::work::{MOST_REQUESTS, in_words_of_sections};
use bellwether_algorithms::catalogue::Listed;
use bellwether_algorithms::definition::Settings;
use bellwether_core::{AnyInput, AnyProcess, Group, NodeId, Time};
use bellwether_shell::Failure;
use bellwether_sim::{
    Action, Cut, Latency, Network, Plan, Scheduled, chaos, check_script, default_timeout, shuffled,
    units,
};
use std::collections::BTreeMap;
use std::time::Duration;

/// The largest cluster that may be asked for.
const MOST_NODES: u32 = 10_000_000;

/// The plan that the flags describe, for one seed.
pub(crate) fn plan(
    algorithm: &Listed,
    args: &SimArgs,
    seed: u64,
) -> Result<Plan<AnyProcess>, Failure> {
    if args.chaos {
        let mut plan = chaos::random_plan(algorithm, seed);
        plan.until =
            args.until.as_deref().map(|text| flag("until", units::time(text))).transpose()?;
        return Ok(plan);
    }
    args.work.suits(algorithm)?;
    args.work.refuse_elections(&[
        ("detect", !args.detect.is_empty()),
        ("all-start", args.all_start),
        ("detection on", args.detection == Some(Switch::On)),
    ])?;
    let group = group(args, algorithm.nodes, seed)?;
    let network = network(args, &group)?;
    let mut script = script(algorithm, args, &group)?;
    let scripted = !args.detect.is_empty() || args.all_start;
    let faulty = network.loss > 0.0 || script.iter().any(|s| is_fault(&s.action));
    let detection = match args.detection {
        Some(switch) => switch == Switch::On,
        None => !scripted && watches(algorithm, faulty, args.work.textbook),
    };
    let fallible = detection || faulty;
    let timeout = match &args.timeout {
        None => default_timeout(&network),
        Some(text) => match flag("timeout", units::duration(text))? {
            Duration::ZERO => return Err(Failure::flag("timeout", "T must be above 0")),
            timeout => timeout,
        },
    };
    let mut settings = Settings {
        coordinator: match args.coordinator.as_deref() {
            None => (!args.all_start).then(|| group.highest()),
            Some("none") => None,
            Some(text) => Some(flag("coordinator", units::member(text, &group))?),
        }
        .map(|id| refuse_smaller(id, &group, detection))
        .transpose()?,
        detection,
        acknowledge: args.acknowledge.map_or(fallible, |switch| switch == Switch::On),
        ..Settings::new(timeout)
    };
    args.work.apply(&mut settings, network.latency.mean())?;
    settings.options = args.own.options(algorithm)?;
    let algorithm = &own::check(algorithm, &settings, &group)?;
    let asked = !args.asked.ask.is_empty();
    let jobs = args.work.jobs(
        algorithm,
        &group,
        &settings,
        &network,
        seed,
        &script,
        MOST_REQUESTS,
        asked,
    )?;
    script.extend(jobs);
    let until = args.until.as_deref().map(|text| flag("until", units::time(text))).transpose()?;
    Ok(Plan { algorithm: algorithm.clone(), group, settings, network, seed, script, until })
}

/// Whether processes watch their coordinator if nobody says. An election has nothing else to do;
/// beside another algorithm it costs messages, and is worth them only if something can fail.
pub(crate) fn watches(algorithm: &Listed, faulty: bool, textbook: bool) -> bool {
    algorithm.entry.elects() || faulty && !textbook
}

/// Nobody who watches its coordinator follows a smaller number than its own, not even at first.
pub(crate) fn refuse_smaller(
    id: NodeId,
    group: &Group,
    detection: bool,
) -> Result<NodeId, Failure> {
    let largest = group.highest();
    if detection && id < largest {
        let message = format!(
            "{id} is not the largest, so {largest} would depose it at once; give {}, none, or \
             --detection off",
            largest.number()
        );
        return Err(Failure::flag("coordinator", message));
    }
    Ok(id)
}

pub(crate) fn flag<T>(name: &str, parsed: Result<T, String>) -> Result<T, Failure> {
    parsed.map_err(|message| Failure::flag(name, message))
}

fn is_fault<I>(action: &Action<I>) -> bool {
    !action.is_input() && !matches!(action, Action::Clock { .. })
}

fn group(args: &SimArgs, usual: Option<u32>, seed: u64) -> Result<Group, Failure> {
    if let Some(text) = &args.ids {
        let ids = flag("ids", units::ids(text))?;
        return Group::new(ids).map_err(|error| Failure::flag("ids", error));
    }
    let n = args.nodes.or(usual).unwrap_or(5);
    if n == 0 {
        return Err(Failure::flag("nodes", "0 processes cannot elect anybody; give at least 1"));
    }
    if n > MOST_NODES {
        let message = format!("{n} processes are too many; at most {MOST_NODES}");
        return Err(Failure::flag("nodes", message));
    }
    let mut ring: Vec<NodeId> = (1..=n).map(NodeId::new).collect();
    match args.order.unwrap_or(Order::Ascending) {
        Order::Ascending => {}
        Order::Descending => ring.reverse(),
        Order::Shuffled => shuffled(&mut ring, seed),
    }
    Group::new(ring).map_err(|error| Failure::flag("nodes", error))
}

fn network(args: &SimArgs, group: &Group) -> Result<Network, Failure> {
    let latency = match &args.latency {
        Some(text) => flag("latency", units::latency(text))?,
        None => Latency::Fixed(Duration::from_millis(10)),
    };
    let mut network = Network::new(latency);
    for text in &args.link {
        let (way, latency) = assignment("link", text, "1->2=50ms")?;
        let (from, to) = way.split_once("->").ok_or_else(|| {
            Failure::flag("link", format!("'{way}' is no link; write for example 1->2=50ms"))
        })?;
        let link =
            (flag("link", units::member(from, group))?, flag("link", units::member(to, group))?);
        network.links.insert(link, flag("link", units::latency(latency))?);
    }
    network.reorder = args.reorder;
    if let Some(text) = &args.loss {
        network.loss = flag("loss", units::probability(text))?;
    }
    if let Some(text) = &args.duplicate {
        network.duplicate = flag("duplicate", units::probability(text))?;
    }
    Ok(network)
}

/// What the flags want to happen, each with the flag that asked for it.
pub(crate) struct Script {
    pub(crate) actions: Vec<Scheduled<AnyInput>>,
    pub(crate) flags: Vec<String>,
}

impl Script {
    pub(crate) fn new() -> Self {
        Script { actions: Vec::new(), flags: Vec::new() }
    }

    pub(crate) fn add(&mut self, flag: &str, text: &str, at: Time, action: Action<AnyInput>) {
        self.actions.push(Scheduled { at, action });
        self.flags.push(format!("--{flag} {text}"));
    }
}

fn script(
    algorithm: &Listed,
    args: &SimArgs,
    group: &Group,
) -> Result<Vec<Scheduled<AnyInput>>, Failure> {
    let mut script = Script::new();
    for text in &args.crash {
        let (ids, at) = ids_at("crash", text, group)?;
        for id in ids {
            script.add("crash", text, at.unwrap_or_default(), Action::Crash(id));
        }
    }
    for text in &args.recover {
        let (ids, at) = ids_at("recover", text, group)?;
        let at = at
            .ok_or_else(|| Failure::flag("recover", format!("'{text}' needs a time: {text}@1s")))?;
        for id in ids {
            script.add("recover", text, at, Action::Recover(id));
        }
    }
    for text in &args.pause {
        let (ids, from, to) = window("pause", text, "3@1s..2s")?;
        let id = flag("pause", units::member(ids, group))?;
        script.add("pause", text, from, Action::Pause(id));
        script.add("pause", text, to, Action::Resume(id));
    }
    for text in &args.slow {
        let (what, from, to) = window("slow", text, "3=20ms@1s..2s")?;
        let (id, span) = assignment("slow", what, "3=20ms@1s..2s")?;
        let id = flag("slow", units::member(id, group))?;
        let span = flag("slow", units::duration(span))?;
        script.add("slow", text, from, Action::Slow(id, span));
        script.add("slow", text, to, Action::Slow(id, Duration::ZERO));
    }
    let mut name = 0;
    for text in &args.partition {
        let (sides, from, to) = window("partition", text, "1,2|3,4,5@1s..2s")?;
        let kind = flag("partition", units::partition(sides, group))?;
        name += 1;
        script.add("partition", text, from, Action::Cut(Cut { name, kind }));
        script.add("partition", text, to, Action::Heal(name));
    }
    for text in &args.cut {
        let (way, from, to) = window("cut", text, "1,2>3@1s..2s")?;
        let kind = flag("cut", units::cut(way, group))?;
        name += 1;
        script.add("cut", text, from, Action::Cut(Cut { name, kind }));
        script.add("cut", text, to, Action::Heal(name));
    }
    for (id, (offset_us, drift_ppm)) in clocks(&args.asked.offset, &args.asked.drift, group)? {
        let clock = Action::Clock { node: id, offset_us, drift_ppm };
        script.add("offset/--drift", &id.number().to_string(), Time::ZERO, clock);
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
        Failure::Input(format!("{flag}: {}", in_words_of_sections(flag, &impossible.why)))
    })?;
    if args.all_start {
        let input = algorithm.input("start").ok_or_else(|| missing("start"))?;
        actions.push(Scheduled { at: Time::ZERO, action: Action::InputAll(input) });
    }
    Ok(actions)
}

/// How far clocks are off at first, in microseconds, and by how much they gain, in parts per
/// million.
pub(crate) fn clocks(
    offsets: &[String],
    drifts: &[String],
    group: &Group,
) -> Result<BTreeMap<NodeId, (i64, i64)>, Failure> {
    let mut clocks: BTreeMap<NodeId, (i64, i64)> = BTreeMap::new();
    for text in offsets {
        let (id, offset) = assignment("offset", text, "1=+200ms")?;
        let id = flag("offset", units::member(id, group))?;
        clocks.entry(id).or_default().0 = flag("offset", units::offset(offset))?;
    }
    for text in drifts {
        let (id, drift) = assignment("drift", text, "3=50ppm")?;
        let id = flag("drift", units::member(id, group))?;
        clocks.entry(id).or_default().1 = flag("drift", units::drift(drift))?;
    }
    Ok(clocks)
}

/// `1,4@2s`: who, and when if it says so.
pub(crate) fn ids_at(
    name: &str,
    text: &str,
    group: &Group,
) -> Result<(Vec<NodeId>, Option<Time>), Failure> {
    let (ids, at) = match text.split_once('@') {
        Some((ids, at)) => (ids, Some(flag(name, units::time(at))?)),
        None => (text, None),
    };
    let ids = flag(name, units::ids(ids))?;
    for id in &ids {
        flag(name, units::member(&id.number().to_string(), group))?;
    }
    Ok((ids, at))
}

/// `WHAT@FROM..TO`.
pub(crate) fn window<'a>(
    name: &str,
    text: &'a str,
    example: &str,
) -> Result<(&'a str, Time, Time), Failure> {
    let parts = text.rsplit_once('@').and_then(|(what, span)| Some((what, span.split_once("..")?)));
    let Some((what, (from, to))) = parts else {
        let message = format!("'{text}' needs a beginning and an end: {example}");
        return Err(Failure::flag(name, message));
    };
    let (from, to) = (flag(name, units::time(from))?, flag(name, units::time(to))?);
    if from >= to {
        let message = format!("'{text}' ends at {to}, not after its beginning at {from}");
        return Err(Failure::flag(name, message));
    }
    Ok((what, from, to))
}

fn assignment<'a>(name: &str, text: &'a str, example: &str) -> Result<(&'a str, &'a str), Failure> {
    text.split_once('=').ok_or_else(|| {
        Failure::flag(name, format!("'{text}' has no '='; write for example {example}"))
    })
}
