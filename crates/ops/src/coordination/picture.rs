//! The wait-for graph as a picture, and the cycles that were found.

use bellwether_algorithms::referee::{Arc, Graph, Vertex};
use bellwether_api::coordination::{Coordination, Deadlock};
use bellwether_svg::graphs;
use std::collections::BTreeMap;

/// More sessions than this are a ball of wool and no picture.
const SESSIONS_MAX: usize = 60;
/// At most this number of cycles are drawn, the latest first.
const CYCLES_MAX: usize = 12;
/// The number of letters of a name that fit into a box or beside an arrow.
const LETTERS_MAX: usize = 15;

/// The current wait-for graph, and a graph for each cycle.
pub(super) fn draw(all: &Coordination) -> String {
    let mut pictures = vec![now(all)];
    pictures.extend(all.deadlocks.iter().take(CYCLES_MAX).map(cycle));
    graphs("Wait-for graph", &pictures)
}

/// The current wait-for graph. Edges in a cycle are highlighted.
fn now(all: &Coordination) -> Graph {
    let mut graph = Graph { title: String::new(), nodes: Vec::new(), edges: Vec::new() };
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut left_out = 0;
    for edge in &all.waits {
        let mut place = |session: &str| match places.get(session) {
            Some(place) => Some(*place),
            None if graph.nodes.len() == SESSIONS_MAX => None,
            None => {
                graph.nodes.push(Vertex { name: session.to_owned(), ..Vertex::default() });
                Some(graph.nodes.len() - 1)
            }
        };
        let (Some(from), Some(to)) = (place(&edge.from), place(&edge.to)) else {
            left_out += 1;
            continue;
        };
        places.insert(&edge.from, from);
        places.insert(&edge.to, to);
        graph.edges.push(Arc { from, to, label: short(&edge.lock), marked: false });
    }
    graph.title = match (graph.edges.len(), left_out) {
        (0, _) => "No session waits".to_owned(),
        (_, 0) => "Wait-for graph now".to_owned(),
        (drawn, more) => format!("Wait-for graph now: {drawn} of {}", drawn + more),
    };
    mark_cycles(&mut graph);
    graph
}

/// Marks the edges from which a way leads back, and their ends.
fn mark_cycles(graph: &mut Graph) {
    let reaches = |from: usize, to: usize| {
        let mut seen = vec![false; graph.nodes.len()];
        let mut open = vec![from];
        while let Some(next) = open.pop() {
            if next == to {
                return true;
            }
            if !std::mem::replace(&mut seen[next], true) {
                let ways = graph.edges.iter().filter(|arc| arc.from == next);
                open.extend(ways.map(|arc| arc.to));
            }
        }
        false
    };
    let marked: Vec<bool> = graph.edges.iter().map(|arc| reaches(arc.to, arc.from)).collect();
    for (arc, marked) in graph.edges.iter_mut().zip(marked) {
        arc.marked = marked;
        if marked {
            graph.nodes[arc.from].marked = true;
            graph.nodes[arc.to].marked = true;
        }
    }
}

/// A cycle that was found. The aborted session is highlighted.
fn cycle(deadlock: &Deadlock) -> Graph {
    let size = deadlock.cycle.len().min(SESSIONS_MAX);
    let waits = deadlock.cycle.iter().take(size);
    let nodes = waits.clone().map(|wait| Vertex {
        name: wait.session.clone(),
        note: short(&wait.client),
        group: String::new(),
        marked: deadlock.aborted.as_ref() == Some(&wait.session),
    });
    let edges = waits.enumerate().map(|(from, wait)| Arc {
        from,
        to: (from + 1) % size,
        label: short(&wait.lock),
        marked: true,
    });
    Graph {
        title: format!("Found {}", deadlock.at),
        nodes: nodes.collect(),
        edges: edges.collect(),
    }
}

fn short(name: &str) -> String {
    if name.chars().count() <= LETTERS_MAX {
        return name.to_owned();
    }
    let begin: String = name.chars().take(LETTERS_MAX - 1).collect();
    format!("{begin}\u{2026}")
}

#[cfg(test)]
pub(super) mod tests;
