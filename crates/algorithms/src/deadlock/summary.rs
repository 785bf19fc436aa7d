//! What there is to say about the deadlocks of a run, and to see of them.

use super::judge::{Deadlock, Judge};
use super::names::{Cycle, Tx};
use crate::referee::{Arc, Fact, Graph, Picture, Vertex};
use bellwether_core::{Time, micros};
use serde_json::{Value, json};

/// At most this many cycles are reported and drawn one by one.
const SHOWN: [&str; 8] =
    ["cycle-1", "cycle-2", "cycle-3", "cycle-4", "cycle-5", "cycle-6", "cycle-7", "cycle-8"];

pub(super) fn facts(judge: &Judge) -> Vec<Fact> {
    let Judge { begun, committed, gave_up, victims, refuted, .. } = *judge;
    let mut text = format!("{begun} begun, {committed} committed, {victims} aborted");
    if gave_up > 0 {
        text += &format!(", {gave_up} gave up");
    }
    let value = json!({
        "begun": begun, "committed": committed, "aborted": victims, "gave_up": gave_up,
    });
    let mut facts = vec![Fact { name: "transactions", text, value }, deadlocks(judge)];
    if refuted > 0 {
        facts.push(Fact {
            name: "suspicions",
            text: format!("{refuted} dropped"),
            value: json!({ "dropped": refuted }),
        });
    }
    let found = judge.deadlocks.iter().filter(|deadlock| deadlock.found.is_some());
    facts.extend(SHOWN.iter().zip(found).filter_map(|(name, deadlock)| report(name, deadlock)));
    facts
}

fn deadlocks(judge: &Judge) -> Fact {
    let formed = judge.deadlocks.len();
    let stood: Vec<u64> = judge
        .deadlocks
        .iter()
        .filter_map(|deadlock| {
            let (found, _) = deadlock.found.as_ref()?;
            Some(micros(found.since(deadlock.formed)))
        })
        .collect();
    let longest = stood.iter().copied().max().map(Time::from_micros);
    let mean = Time::from_micros(stood.iter().sum::<u64>() / (stood.len() as u64).max(1));
    let text = match (formed, stood.len(), longest) {
        (0, ..) => "none".to_owned(),
        (_, 0, _) | (.., None) => format!("{formed}, none found"),
        (1, 1, Some(longest)) => format!("1, found after {longest}"),
        (_, found, Some(longest)) => {
            let all = if found == formed { "all".to_owned() } else { found.to_string() };
            format!("{formed}, {all} found, after {mean} on average, {longest} at most")
        }
    };
    let value = json!({
        "formed": formed, "found": stood.len(), "stood_us": stood,
    });
    Fact { name: "deadlocks", text, value }
}

fn report(name: &'static str, deadlock: &Deadlock) -> Option<Fact> {
    let (found, cycle) = deadlock.found.as_ref()?;
    let fate = match deadlock.victim {
        Some(tx) => format!("{tx} aborted"),
        None => "none aborted".to_owned(),
    };
    let edges: Vec<Value> = cycle
        .edges()
        .iter()
        .map(|edge| {
            json!({
                "waiter": edge.waiter.to_string(),
                "home": edge.waiter.home.number(),
                "holder": edge.holder.to_string(),
                "site": edge.resource.site.number(),
                "resource": edge.resource.to_string(),
            })
        })
        .collect();
    let value = json!({
        "edges": edges,
        "victim": deadlock.victim.map(|tx| tx.to_string()),
        "formed_us": deadlock.formed.as_micros(),
        "found_us": found.as_micros(),
    });
    Some(Fact { name, text: format!("{cycle}: {fate}"), value })
}

pub(super) fn pictures(judge: &Judge) -> Vec<Picture> {
    let found = judge.deadlocks.iter().filter(|deadlock| deadlock.found.is_some());
    let real = found.take(SHOWN.len()).zip(1_u32..).filter_map(|(deadlock, number)| {
        let (found, cycle) = deadlock.found.as_ref()?;
        let title = match deadlock.victim {
            Some(tx) => format!("Deadlock {number}, found at {found}: {tx} is aborted"),
            None => format!("Deadlock {number}, found at {found}"),
        };
        Some(draw(judge, title, cycle, deadlock.victim))
    });
    let phantom = judge.phantom.as_ref().map(|(at, cycle)| {
        draw(judge, format!("Phantom, reported at {at}: this deadlock never was"), cycle, None)
    });
    real.chain(phantom).collect()
}

fn draw(judge: &Judge, title: String, cycle: &Cycle, victim: Option<Tx>) -> Picture {
    let began = |tx: Tx| judge.began.get(&tx).map_or_else(String::new, |at| format!("since {at}"));
    let nodes: Vec<Vertex> = cycle
        .edges()
        .iter()
        .map(|edge| Vertex {
            name: edge.waiter.to_string(),
            note: began(edge.waiter),
            group: format!("S{}", edge.waiter.home.number()),
            marked: victim == Some(edge.waiter),
        })
        .collect();
    let count = nodes.len();
    let edges = cycle.edges().iter().enumerate().map(|(from, edge)| Arc {
        from,
        to: (from + 1) % count,
        label: edge.resource.to_string(),
        marked: true,
    });
    Picture::Graph(Graph { title, nodes, edges: edges.collect() })
}
