//! From flags to what is explored.

use super::args::CheckArgs;
use super::time;
use crate::args::Switch;
use crate::own;
use crate::planning::{clocks, flag};
use crate::work::SectionArgs;
use bellwether_algorithms::catalogue::Listed;
use bellwether_algorithms::definition::Settings;
use bellwether_algorithms::options::Options;
use bellwether_check::{Action, Channels, Faults, Setup, usual_verb};
use bellwether_core::{Group, NodeId};
use bellwether_shell::Failure;
use bellwether_sim::{CutKind, units};

/// The largest cluster that may be asked for. Its states are beyond every machine long before.
const MOST_NODES: usize = 16;
/// The default number of processes.
const NODES: u32 = 3;

/// The verb with which an application asks for an election.
const START: &str = "start";

/// What the flags describe.
pub(crate) fn setup(algorithm: &Listed, args: &CheckArgs) -> Result<Setup, Failure> {
    suits(algorithm, args)?;
    let group = group(args, algorithm.nodes)?;
    let faults = faults(args)?;
    let partition = partition(args, &group)?;
    let faulty = faults.crashes > 0 || faults.losses > 0 || !partition.is_empty();
    let watches = faults.crashes > 0 && !args.section.textbook;
    let (timing, timeout) = time::timing(algorithm, args)?;
    let coordinator = (!args.all_start).then(|| group.highest());
    let mut settings = args.cluster.settings(&group, coordinator, watches, faulty, timeout)?;
    settings.options = args.own.options(algorithm)?;
    args.section.apply(&mut settings)?;
    let detection = settings.detection;
    let channels = channels(algorithm, args, &mut settings.options)?;
    let algorithm = &own::check(algorithm, &settings, &group)?;
    refuse_clocks_below(algorithm, &settings)?;
    let mut asks = asks(algorithm, args, &group)?;
    if args.all_start {
        // First of all: see `begun`.
        asks.splice(..0, group.ring().iter().map(|id| (*id, START.to_owned())));
    }
    let mut setup = Setup::new(algorithm, group, settings);
    setup.timing = timing;
    setup.channels = channels.unwrap_or(setup.channels);
    setup.horizon = time::horizon(algorithm, args, timing)?;
    setup.faults = faults;
    setup.requests = requests(algorithm, args, detection, !asks.is_empty())?;
    setup.asks = asks;
    setup.partition = partition;
    let offsets = clocks(&args.offset, &[], &setup.group)?;
    setup.offsets = offsets.into_iter().map(|(id, (offset_us, _))| (id, offset_us)).collect();
    // A run that is cut off may have come to its goal later.
    setup.liveness = !args.safety && setup.horizon.is_none();
    Ok(setup)
}

/// What happens before anything else.
pub(crate) fn begun(setup: &Setup, args: &CheckArgs) -> Vec<Action> {
    let places = if args.all_start { setup.group.len() } else { 0 };
    (0..places).map(|place| Action::Input { place: place as u8 }).collect()
}

/// Refuses what the algorithm has no use for.
fn suits(algorithm: &Listed, args: &CheckArgs) -> Result<(), Failure> {
    let name = algorithm.name();
    let refuse = |flag: &str, why: String| Err(Failure::flag(flag, why));
    if !algorithm.has_section() {
        let SectionArgs { section, textbook, .. } = &args.section;
        for (flag, given) in [("section", section.is_some()), ("textbook", *textbook)] {
            if given {
                return refuse(flag, format!("{name} has no critical section; leave the flag out"));
            }
        }
    }
    args.section.suits(algorithm)?;
    if args.all_start && algorithm.input(START).is_none() {
        return refuse("all-start", format!("{name} has no election to start; leave the flag out"));
    }
    if !algorithm.reads_clock {
        for (flag, given) in [("until", args.until.is_some()), ("offset", !args.offset.is_empty())]
        {
            if given {
                let why = format!(
                    "{name} does not look at clocks, so all runs are followed to their end"
                );
                return refuse(flag, format!("{why}; leave the flag out"));
            }
        }
    }
    let detection = args.cluster.detection == Some(Switch::On);
    args.section.refuse_elections(&[("detection on", detection)])
}

/// Flags were read for an algorithm that does not look at clocks; what it is put around may.
fn refuse_clocks_below(algorithm: &Listed, settings: &Settings) -> Result<(), Failure> {
    match settings.options.text("over") {
        Some(name) if algorithm.reads_clock => Err(Failure::flag(
            "over",
            format!("{name} looks at clocks, which would stand still here; choose another"),
        )),
        _ => Ok(()),
    }
}

fn group(args: &CheckArgs, usual: Option<u32>) -> Result<Group, Failure> {
    if args.cluster.nodes == Some(0) {
        return Err(Failure::flag("nodes", "0 processes have nothing to check; give at least 1"));
    }
    let too_many = |count| {
        format!(
            "{count} processes have more states than any memory holds; at most {MOST_NODES}, and \
             begin with 3"
        )
    };
    args.cluster.group(usual.unwrap_or(NODES), MOST_NODES, too_many, |_| {})
}

fn faults(args: &CheckArgs) -> Result<Faults, Failure> {
    let faults = Faults {
        crashes: budget("crashes", args.crashes)?,
        recoveries: budget("recoveries", args.recoveries)?,
        losses: budget("losses", args.losses)?,
        duplicates: budget("duplicates", args.duplicates)?,
    };
    if faults.recoveries > 0 && faults.crashes == 0 {
        return Err(Failure::flag(
            "recoveries",
            "a process comes back only after a crash; give --crashes too",
        ));
    }
    Ok(faults)
}

/// How often something may happen.
fn budget(name: &str, given: Option<u32>) -> Result<u8, Failure> {
    let count = given.unwrap_or(0);
    u8::try_from(count).map_err(|_| {
        let message = format!(
            "{count} are too many; at most {}, and few are explored to the end with more than 3",
            u8::MAX
        );
        Failure::flag(name, message)
    })
}

fn requests(
    algorithm: &Listed,
    args: &CheckArgs,
    detection: bool,
    asked: bool,
) -> Result<u8, Failure> {
    let verb = usual_verb(algorithm);
    if args.requests.is_some_and(|requests| requests > 0) && verb.is_none() {
        let message =
            format!("{} cannot be asked for anything; leave the flag out", algorithm.name());
        return Err(Failure::flag("requests", message));
    }
    let watched = detection && algorithm.entry.elects();
    let usual = verb.is_some() && !asked && !watched && !algorithm.reads_clock;
    budget("requests", Some(args.requests.unwrap_or(u32::from(usual))))
}

/// `1,2=work`: who may be asked for what.
fn asks(
    algorithm: &Listed,
    args: &CheckArgs,
    group: &Group,
) -> Result<Vec<(NodeId, String)>, Failure> {
    let mut asks = Vec::new();
    for text in &args.ask {
        if let Some((deed, _)) = text.rsplit_once('@') {
            let message = format!(
                "'{text}' names a time, but here everything may come at any moment; write {deed}"
            );
            return Err(Failure::flag("ask", message));
        }
        let Some((ids, verb)) = text.split_once('=') else {
            let message = format!("'{text}' does not say who and what; write ID=VERB");
            return Err(Failure::flag("ask", message));
        };
        if algorithm.input(verb).is_none() {
            let known = match algorithm.verbs {
                [] => "nothing; leave the flag out".to_owned(),
                verbs => verbs.join(", "),
            };
            let name = algorithm.name();
            let message = format!("{name} cannot be asked for '{verb}'; it knows: {known}");
            return Err(Failure::flag("ask", message));
        }
        for id in flag("ask", units::ids(ids))? {
            let id = flag("ask", units::member(&id.number().to_string(), group))?;
            asks.push((id, verb.to_owned()));
        }
    }
    Ok(asks)
}

fn partition(args: &CheckArgs, group: &Group) -> Result<Vec<Vec<NodeId>>, Failure> {
    let Some(text) = &args.partition else { return Ok(Vec::new()) };
    if let Some((sides, _)) = text.split_once('@') {
        let message = format!("'{text}' names a time, but here it lasts; write {sides}");
        return Err(Failure::flag("partition", message));
    }
    match flag("partition", units::partition(text, group))? {
        CutKind::Partition(sides) => Ok(sides),
        CutKind::OneWay(..) | CutKind::Between(..) | CutKind::Only(_) | CutKind::Sieve(..) => {
            Ok(Vec::new())
        }
    }
}

/// In which order messages arrive; and between whom, where that is an option of the algorithm.
fn channels(
    algorithm: &Listed,
    args: &CheckArgs,
    options: &mut Options,
) -> Result<Option<Channels>, Failure> {
    let own = algorithm.options.iter().any(|option| option.name == "channels");
    let mut order = None;
    for text in &args.channels {
        let twice = match text.as_str() {
            "fifo" => order.replace(Channels::Fifo).is_some(),
            "reorder" => order.replace(Channels::Reorder).is_some(),
            "causal" => order.replace(Channels::Causal).is_some(),
            _ if own => options.set("channels", text),
            _ => {
                let message = format!("'{text}' is no order; give fifo, reorder or causal");
                return Err(Failure::flag("channels", message));
            }
        };
        if twice {
            return Err(Failure::flag("channels", "it is given twice; leave one out"));
        }
    }
    Ok(order)
}
