//! What was explored, in words.

use bellwether_algorithms::definition::{Settings, Topology};
use bellwether_check::{Channels, Faults, Setup, Timing};
use bellwether_core::NodeId;
use bellwether_sim::units;

/// Who takes part, and how they are set.
pub(crate) fn cluster(setup: &Setup, topology: Topology) -> String {
    let Setup { group, settings, .. } = setup;
    let Settings { coordinator, detection, acknowledge, textbook, options, .. } = settings;
    let ids: Vec<String> = group.ring().iter().map(|id| id.to_string()).collect();
    let mut parts = vec![ids.join(" ")];
    // Generals have none.
    if setup.algorithm.entry.family != "agreement" {
        parts.push(match coordinator {
            Some(id) => format!("{id} is the coordinator at first"),
            None => "there is no coordinator at first".to_owned(),
        });
    }
    parts.extend(detection.then(|| "detection on".to_owned()));
    let links = *acknowledge && topology == Topology::Ring;
    parts.extend(links.then(|| "messages acknowledged".to_owned()));
    parts.extend(textbook.then(|| "as in its paper".to_owned()));
    parts.extend(options.iter().map(|(name, value)| match value {
        "" => name.to_owned(),
        _ => format!("{name} {value}"),
    }));
    parts.join("; ")
}

/// What may happen to the cluster.
pub(crate) fn happenings(setup: &Setup, verb: Option<&str>) -> String {
    let Setup { faults, requests, asks, partition, .. } = setup;
    let Faults { crashes, recoveries, losses, duplicates } = *faults;
    let mut parts = Vec::new();
    let counted = [
        (crashes, "crash", "crashes"),
        (recoveries, "recovery", "recoveries"),
        (losses, "lost message", "lost messages"),
        (duplicates, "duplicated message", "duplicated messages"),
    ];
    for (count, one, many) in counted {
        match count {
            0 => {}
            1 => parts.push(format!("1 {one}")),
            _ => parts.push(format!("{count} {many}")),
        }
    }
    if let (1.., Some(verb)) = (*requests, verb) {
        let times = match requests {
            1 => "once".to_owned(),
            2 => "twice".to_owned(),
            _ => format!("{requests} times"),
        };
        parts.push(format!("each process asked for {verb} {times}"));
    }
    parts.extend(asks.iter().map(|(id, verb)| format!("{id} asked for {verb}")));
    if !partition.is_empty() {
        parts.push(format!("partition {}", sides(setup)));
    }
    if parts.is_empty() { "no faults and no requests".to_owned() } else { parts.join(", ") }
}

/// What is not decided, though the algorithm speaks of it.
pub(crate) fn unchecked(setup: &Setup, liveness: bool) -> String {
    match liveness {
        true => String::new(),
        false if setup.horizon.is_some() => {
            "whether runs come to their goal: they are cut off".to_owned()
        }
        false => "whether runs come to their goal".to_owned(),
    }
}

fn sides(setup: &Setup) -> String {
    let side = |ids: &Vec<NodeId>| {
        ids.iter().map(|id| id.number().to_string()).collect::<Vec<_>>().join(",")
    };
    setup.partition.iter().map(side).collect::<Vec<_>>().join("|")
}

/// What is known of time, in a word.
pub(crate) fn timing_name(timing: Timing) -> &'static str {
    match timing {
        Timing::Asynchronous => "asynchronous",
        Timing::Bounded { delay: (0, 0), .. } => "synchronous",
        Timing::Bounded { .. } => "bounded",
        Timing::Drifting { .. } => "drifting",
    }
}

/// What is known of time, for people.
pub(crate) fn timing(setup: &Setup) -> String {
    let name = timing_name(setup.timing);
    let end = match (setup.horizon, setup.timing.tick()) {
        (Some(ticks), Some(tick)) => {
            format!("; no run is followed further than {}", units::show(tick * u32::from(ticks)))
        }
        _ => String::new(),
    };
    let timeout = units::show(setup.settings.timeout);
    match setup.timing {
        Timing::Asynchronous => format!("{name}: any timer may fire at any moment{end}"),
        Timing::Bounded { delay: (0, 0), tick } => {
            format!("{name}: T {timeout}, ticks of {}{end}", units::show(tick))
        }
        Timing::Bounded { tick, delay: (least, most) } => {
            let span = (tick * u32::from(least), tick * u32::from(most));
            let tick = units::show(tick);
            format!(
                "{name}: messages take {}, T {timeout}, ticks of {tick}{end}",
                units::show_span(span)
            )
        }
        Timing::Drifting { tick, apart } => {
            let far = units::show(tick * u32::from(apart));
            let tick = units::show(tick);
            format!("{name}: clocks at most {far} apart, T {timeout}, ticks of {tick}{end}")
        }
    }
}

/// In which order messages arrive, in a word.
pub(crate) fn channels(channels: Channels) -> &'static str {
    match channels {
        Channels::Fifo => "fifo",
        Channels::Reorder => "reorder",
        Channels::Causal => "causal",
        Channels::Unreliable => "unreliable",
    }
}
