//! A graph: its nodes on a circle, its edges as arrows.

use crate::{Anchor, MARGIN, Pen, Px, Sheet, begin, heading};
use bellwether_algorithms::referee::Graph;
use std::f64::consts::TAU;

const WIDTH: f64 = 460.0;
const TOP: f64 = 76.0;
const BOTTOM: f64 = 34.0;
/// Half the size of a node's box.
const BOX: (f64, f64) = (52.0, 22.0);

/// A picture of a graph.
#[must_use]
pub fn draw(graph: &Graph) -> Sheet {
    let count = graph.nodes.len().max(1);
    // So that boxes on the circle have room beside each other.
    let radius = (count as f64 * 30.0).clamp(105.0, 400.0);
    let width = WIDTH.max(2.0 * (radius + BOX.0 + MARGIN));
    let height = TOP + 2.0 * (radius + BOX.1) + BOTTOM;
    let middle = (width / 2.0, TOP + BOX.1 + radius);
    let place = |index: usize| {
        let angle = TAU * (index as f64 / count as f64 - 0.25);
        (middle.0 + radius * libm::cos(angle), middle.1 + radius * libm::sin(angle))
    };
    let mut pen = Pen::default();
    begin(&mut pen, (width, height), &graph.title, false);
    heading(&mut pen, &graph.title, "");
    for arc in &graph.edges {
        let (from, to) = (place(arc.from), place(arc.to));
        let back = graph.edges.iter().any(|other| (other.from, other.to) == (arc.to, arc.from));
        let bend = if back { 26.0 } else { 0.0 };
        let (class, head) = if arc.marked { ("c2", "bw-a2") } else { ("overhead", "bw-ao") };
        draw_arc(&mut pen, (from, to), bend, (class, head), &arc.label);
    }
    for (index, vertex) in graph.nodes.iter().enumerate() {
        let (x, y) = place(index);
        let class = if vertex.marked { "name c2" } else { "name" };
        pen.bar(class, (x - BOX.0, y - BOX.1), (2.0 * BOX.0, 2.0 * BOX.1), 7.0);
        let above = if vertex.note.is_empty() && vertex.group.is_empty() { 5.0 } else { -3.0 };
        pen.words("said", Anchor::Middle, 13.5, (x, y + above), &vertex.name);
        let below: Vec<&str> = [&vertex.group, &vertex.note]
            .map(String::as_str)
            .into_iter()
            .filter(|t| !t.is_empty())
            .collect();
        pen.words("faint", Anchor::Middle, 10.0, (x, y + 13.0), &below.join(", "));
    }
    pen.raw("</svg>\n");
    Sheet { width, height, svg: pen.finish() }
}

fn draw_arc(
    pen: &mut Pen,
    (from, to): ((f64, f64), (f64, f64)),
    bend: f64,
    (class, head): (&str, &str),
    label: &str,
) {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = libm::sqrt(dx * dx + dy * dy).max(1.0);
    let (ux, uy) = (dx / length, dy / length);
    // To the left of its direction, so that there and back are apart.
    let via = ((from.0 + to.0) / 2.0 + uy * bend * 2.0, (from.1 + to.1) / 2.0 - ux * bend * 2.0);
    let start = edge(from, via);
    let end = edge(to, via);
    let [x0, y0, xv, yv, x1, y1] = [start.0, start.1, via.0, via.1, end.0, end.1].map(Px);
    pen.raw(&format!(
        "<path class=\"{class}\" stroke-width=\"1.8\" d=\"M{x0} {y0}Q{xv} {yv} {x1} {y1}\" \
         marker-end=\"url(#{head})\"/>\n"
    ));
    let at = ((from.0 + to.0) / 2.0 + uy * bend, (from.1 + to.1) / 2.0 - ux * bend + 4.0);
    // Of two that lead up and down beside each other, each has its label on its own side.
    let (anchor, aside) = match uy * bend {
        right if right > bend / 2.0 => (Anchor::Start, 8.0),
        left if left < -bend / 2.0 => (Anchor::End, -8.0),
        _ => (Anchor::Middle, 0.0),
    };
    let at = (at.0 + aside, at.1);
    pen.words("halo", anchor, 11.0, at, label);
    pen.words("faint", anchor, 11.0, at, label);
}

/// Where the way from a box's middle to a point leaves the box, and a little further.
fn edge(middle: (f64, f64), towards: (f64, f64)) -> (f64, f64) {
    let (dx, dy) = (towards.0 - middle.0, towards.1 - middle.1);
    let (w, h) = (BOX.0 + 4.0, BOX.1 + 4.0);
    let reach = (w / dx.abs().max(1e-6)).min(h / dy.abs().max(1e-6));
    (middle.0 + dx * reach, middle.1 + dy * reach)
}
