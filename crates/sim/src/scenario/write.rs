//! Writing a plan down as a scenario, so that a run that failed can be kept.

use crate::fault::Action;
use crate::network::Fate;
use crate::plan::Plan;
use crate::units::{show, show_latency, show_span};
use bellwether_algorithms::definition::{Definition, Topology};
use bellwether_core::{NodeId, Process, Time};
use std::fmt::Write;
use std::time::Duration;

/// The scenario that plays this plan. The story is left for the tool to fill in.
pub fn write<P: Process>(plan: &Plan<P>) -> String {
    let mut text = cluster_line(plan);
    for ((from, to), latency) in &plan.network.links {
        let way = format!("{}->{}", from.number(), to.number());
        push(&mut text, format_args!("link {way} latency={}", show_latency(latency)));
    }
    let micros = |us: u64| show(Duration::from_micros(us));
    for ((from, to, number), fate) in &plan.network.fates {
        let message = format!("{}->{}#{number}", from.number(), to.number());
        let fate = match fate {
            Fate::Lost => "lost".to_owned(),
            Fate::Arrives(after) => micros(*after),
            Fate::Twice(first, second) => format!("{},{}", micros(*first), micros(*second)),
        };
        push(&mut text, format_args!("fate {message} {fate}"));
    }
    for ((who, number), after) in &plan.network.timers {
        let after = micros(*after);
        push(&mut text, format_args!("timer {}#{number} {after}", who.number()));
    }
    let cuts = plan.script.iter().filter_map(|scheduled| match &scheduled.action {
        Action::Cut(cut) => Some(cut.name),
        _ => None,
    });
    let cuts: Vec<u32> = cuts.collect();
    for scheduled in &plan.script {
        let deed = deed(&plan.algorithm, &scheduled.action, &cuts);
        push(&mut text, format_args!("{deed} at={}", scheduled.at));
    }
    match plan.until {
        Some(until) => push(&mut text, format_args!("run until={until}")),
        None => push(&mut text, format_args!("run")),
    }
    text
}

fn push(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{line}");
}

fn cluster_line<P: Process>(plan: &Plan<P>) -> String {
    let network = &plan.network;
    let settings = &plan.settings;
    let numbers: Vec<String> = plan.group.ring().iter().map(|id| id.number().to_string()).collect();
    let coordinator =
        settings.coordinator.map_or("none".to_owned(), |id: NodeId| id.number().to_string());
    let on = |on: bool| if on { "on" } else { "off" };
    let mut line = format!(
        "cluster {} {} coordinator={coordinator} latency={} timeout={} detection={} acknowledge={}",
        plan.algorithm.name(),
        numbers.join(","),
        show_latency(&network.latency),
        show(settings.timeout),
        on(settings.detection),
        on(settings.acknowledge),
    );
    if plan.seed != 0 {
        let _ = write!(line, " seed={}", plan.seed);
    }
    for (name, probability) in [("loss", network.loss), ("duplicate", network.duplicate)] {
        if probability > 0.0 {
            let _ = write!(line, " {name}={probability}");
        }
    }
    if network.reorder {
        line.push_str(" reorder");
    }
    if plan.algorithm.has_section() {
        let _ = write!(line, " section={}", show_span(settings.section));
        if settings.textbook {
            line.push_str(" textbook");
        }
    }
    if plan.algorithm.entry.topology == Topology::Tree {
        let _ = write!(line, " tree={}", settings.tree);
    }
    for (name, value) in settings.options.iter() {
        let _ = match value {
            "" => write!(line, " {name}"),
            _ => write!(line, " {name}={value}"),
        };
    }
    line.push('\n');
    line
}

/// An action as a command. A scenario's cuts have no names but their numbers, from 1.
fn deed<P: Process>(algorithm: &Definition<P>, action: &Action<P::Input>, cuts: &[u32]) -> String {
    match action {
        Action::Crash(id) => format!("crash {}", id.number()),
        Action::CrashSending { node, kind, after } => {
            format!("crash {} sending {kind} after={after}", node.number())
        }
        Action::Recover(id) => format!("recover {}", id.number()),
        Action::Wipe(id) => format!("wipe {}", id.number()),
        Action::Pause(id) => format!("pause {}", id.number()),
        Action::Resume(id) => format!("resume {}", id.number()),
        Action::Slow(id, span) => format!("slow {} by={}", id.number(), show(*span)),
        Action::Cut(cut) => cut.kind.to_string(),
        Action::Heal(name) => match cuts.iter().position(|cut| cut == name) {
            Some(index) if cuts.len() > 1 => format!("heal {}", index + 1),
            _ => "heal".to_owned(),
        },
        Action::Calm => "calm".to_owned(),
        Action::Steer(steer) => steer.to_string(),
        Action::Clock { node, offset_us, drift_ppm } => {
            let span = Time::from_micros(offset_us.unsigned_abs());
            let sign = if *offset_us < 0 { '-' } else { '+' };
            format!("clock {} offset={sign}{span} drift={drift_ppm}ppm", node.number())
        }
        Action::Input(id, input) => format!("{} {}", algorithm.verb(input), id.number()),
        Action::InputAll(input) => format!("{} all", algorithm.verb(input)),
    }
}
