//! Graphs for Graphviz.

use bellwether_algorithms::referee::{Graph, Picture};
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

/// The graphs among these pictures, each as a `digraph` of its own; nothing if there are none.
pub fn dot(pictures: &[Picture]) -> String {
    let mut out = String::new();
    for picture in pictures {
        if let Picture::Graph(graph) = picture {
            // Writing to a string cannot fail.
            let _ = write(&mut out, graph);
        }
    }
    out
}

fn write(out: &mut String, graph: &Graph) -> fmt::Result {
    writeln!(out, "digraph {} {{", Quoted(&graph.title))?;
    writeln!(out, "  label={}; labelloc=t; fontname=\"Helvetica\";", Quoted(&graph.title))?;
    writeln!(out, "  node [shape=box, style=rounded, fontname=\"Helvetica\"];")?;
    writeln!(out, "  edge [fontname=\"Helvetica\", fontsize=10];")?;
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, vertex) in graph.nodes.iter().enumerate() {
        groups.entry(&vertex.group).or_default().push(index);
    }
    for (number, (group, members)) in groups.iter().enumerate() {
        if !group.is_empty() {
            writeln!(out, "  subgraph cluster_{number} {{\n    label={};", Quoted(group))?;
        }
        for index in members {
            let Some(vertex) = graph.nodes.get(*index) else { continue };
            let label = match vertex.note.as_str() {
                "" => vertex.name.clone(),
                note => format!("{}\n{note}", vertex.name),
            };
            let marked = if vertex.marked { ", color=\"#d55e00\", penwidth=2" } else { "" };
            writeln!(out, "    n{index} [label={}{marked}];", Quoted(&label))?;
        }
        if !group.is_empty() {
            writeln!(out, "  }}")?;
        }
    }
    for arc in &graph.edges {
        let marked = if arc.marked { ", color=\"#d55e00\", penwidth=2" } else { "" };
        writeln!(out, "  n{} -> n{} [label={}{marked}];", arc.from, arc.to, Quoted(&arc.label))?;
    }
    writeln!(out, "}}")
}

/// Text between quotes.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellwether_algorithms::referee::{Arc, Vertex};

    #[test]
    fn a_graph_is_said_in_graphviz_s_words() {
        let vertex = |name: &str, marked| Vertex {
            name: name.to_owned(),
            note: "since 1\"".to_owned(),
            group: "S1".to_owned(),
            marked,
        };
        let graph = Graph {
            title: "a cycle".to_owned(),
            nodes: vec![vertex("P2", false), vertex("P3", true)],
            edges: vec![Arc { from: 0, to: 1, label: "waits for a".to_owned(), marked: true }],
        };
        let text = dot(&[Picture::Graph(graph)]);
        for line in [
            "digraph \"a cycle\" {",
            "    label=\"S1\";",
            "    n0 [label=\"P2\\nsince 1\\\"\"];",
            "  n0 -> n1 [label=\"waits for a\", color=\"#d55e00\", penwidth=2];",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\nis not in\n{text}");
        }
        assert_eq!(text.matches('{').count(), text.matches('}').count());
        assert_eq!(dot(&[]), "");
    }
}
