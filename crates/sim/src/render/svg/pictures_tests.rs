//! Pictures above the diagram: what is said must be seen.

use super::illustrated;
use crate::render::sample;
use bellwether_algorithms::referee::{Arc, Clocks, Graph, Picture, Vertex};
use bellwether_core::{NodeId, Time};
use bellwether_svg::graphs;

fn clocks() -> Picture {
    let at = |second: u64| Time::from_micros(second * 1_000_000);
    let line = |lead: i64| (0..4).map(|second| (at(second), lead >> (4 * second))).collect();
    Picture::Clocks(Clocks {
        title: "Clocks <of> five".to_owned(),
        lines: vec![(NodeId::new(1), line(200_000)), (NodeId::new(2), line(-40_000))],
        spread: (0..4).map(|second| (at(second), 240_000 >> (4 * second))).collect(),
        bound: Some((at(2), 20_000)),
        against: "real time".to_owned(),
    })
}

fn graph() -> Picture {
    let vertex = |name: &str, marked| Vertex {
        name: name.to_owned(),
        note: "at 3".to_owned(),
        group: "S1".to_owned(),
        marked,
    };
    let arc = |from, to| Arc { from, to, label: format!("r{from}"), marked: true };
    Picture::Graph(Graph {
        title: "A cycle".to_owned(),
        nodes: vec![vertex("P2", false), vertex("P3", true)],
        edges: vec![arc(0, 1), arc(1, 0)],
    })
}

/// How often a tag is opened.
fn opened(picture: &str, tag: &str) -> usize {
    picture.matches(&format!("<{tag} ")).count()
}

#[test]
fn without_pictures_there_is_the_diagram_alone() {
    let trace = sample::bully();
    assert_eq!(illustrated(&trace, &[]), crate::render::svg(&trace));
}

#[test]
fn pictures_stand_above_the_diagram_and_nothing_overlaps() {
    let picture = illustrated(&sample::bully(), &[clocks(), graph(), graph()]);
    assert_eq!(opened(&picture, "svg"), 5, "a frame, three pictures and the diagram");
    assert_eq!(opened(&picture, "svg"), picture.matches("</svg>").count());
    let tops: Vec<f64> = picture
        .lines()
        .filter_map(|line| line.strip_prefix("<svg x=\""))
        .filter_map(|line| line.split(" y=\"").nth(1)?.split('"').next()?.parse().ok())
        .collect();
    assert_eq!(tops.len(), 4);
    assert!(tops[0] < tops[1] && tops[1] == tops[2] && tops[2] < tops[3], "{tops:?}");
}

#[test]
fn clocks_show_every_process_its_lead_and_the_bound() {
    let picture = illustrated(&sample::bully(), &[clocks()]);
    for words in ["Clocks &lt;of&gt; five", ">P1<", ">P2<", ">ahead by<", ">apart by<"] {
        assert!(picture.contains(words), "{words}");
    }
    assert!(picture.contains("<title>where a clock that was set must be</title>"));
}

#[test]
fn a_graph_shows_who_waits_for_what() {
    let picture = illustrated(&sample::bully(), &[graph()]);
    for words in ["A cycle", ">P2<", ">P3<", ">S1, at 3<", ">r0<", ">r1<"] {
        assert!(picture.contains(words), "{words}");
    }
    let arrows = picture.matches("marker-end=\"url(#bw-a2)\"").count();
    assert!(arrows >= 2, "{arrows}");
}

#[test]
fn graphs_stand_two_abreast_without_a_run() {
    let Picture::Graph(graph) = graph() else { unreachable!() };
    let picture = graphs("who <waits>", &[graph.clone(), graph.clone(), graph]);
    assert_eq!(opened(&picture, "svg"), 4);
    assert!(picture.contains("aria-label=\"who &lt;waits&gt;\""));
    let at = |left, top| picture.contains(&format!("<svg x=\"{left}\" y=\"{top}\""));
    assert!(at(0, 0) && at(460, 0) && !at(920, 0));
}
