//! What else there is to see of a run, above its space-time diagram.

use super::pen::{Anchor, Escaped, Pen, Px};
use super::{Sheet, clocks, graph, layout, sheet, style};
use crate::trace::{Trace, What};
use bellwether_algorithms::referee::{Graph, Picture};

/// A diagram of more messages than this is too long to be read below a picture.
const MOST_MESSAGES: usize = 400;
/// How many graphs stand side by side.
const ACROSS: usize = 2;

/// The pictures that go with a run and, below them, its space-time diagram, if that is not too
/// long. Without pictures it is the diagram alone.
pub fn illustrated(trace: &Trace, pictures: &[Picture]) -> String {
    if pictures.is_empty() {
        return sheet(trace).svg;
    }
    let mut wall = Wall::default();
    for picture in pictures {
        match picture {
            Picture::Clocks(clocks) => wall.below(clocks::draw(clocks)),
            Picture::Graph(graph) => wall.beside(graph::draw(graph)),
        }
    }
    let sent = trace.events.iter().filter(|event| matches!(event.what, What::Send(_))).count();
    if sent <= MOST_MESSAGES {
        wall.below(sheet(trace));
    }
    wall.finish(&format!("{}: a run", trace.header.title))
}

/// Graphs that belong to no run, such as those of a cluster that lives.
pub fn graphs(about: &str, graphs: &[Graph]) -> String {
    let mut wall = Wall::default();
    for graph in graphs {
        wall.beside(graph::draw(graph));
    }
    wall.finish(about)
}

/// Where pictures hang: rows of them, one below the other.
#[derive(Default)]
struct Wall {
    placed: Vec<(f64, f64, Sheet)>,
    /// The pictures of the last row, which is not full yet.
    row: Vec<Sheet>,
    width: f64,
    height: f64,
}

impl Wall {
    /// Hangs a picture beside the last one, if there is room.
    fn beside(&mut self, sheet: Sheet) {
        if self.row.len() == ACROSS {
            self.end_row();
        }
        self.row.push(sheet);
    }

    /// Hangs a picture below all others, and nothing beside it.
    fn below(&mut self, sheet: Sheet) {
        self.end_row();
        self.row.push(sheet);
        self.end_row();
    }

    fn end_row(&mut self) {
        let (mut left, mut height) = (0.0, 0.0_f64);
        for sheet in self.row.drain(..) {
            let (w, h) = (sheet.width, sheet.height);
            self.placed.push((left, self.height, sheet));
            left += w;
            height = height.max(h);
        }
        self.width = self.width.max(left);
        self.height += height;
    }

    fn finish(mut self, about: &str) -> String {
        self.end_row();
        let mut pen = Pen::default();
        begin(&mut pen, (self.width, self.height), about);
        for (left, top, sheet) in &self.placed {
            let at = format!("<svg x=\"{}\" y=\"{}\" ", Px(*left), Px(*top));
            pen.raw(&sheet.svg.replacen("<svg ", &at, 1));
        }
        pen.raw("</svg>\n");
        pen.finish()
    }
}

/// The beginning of a picture: its size, its style and its paper.
pub(super) fn begin(pen: &mut Pen, (width, height): (f64, f64), about: &str) {
    let (w, h) = (Px(width.ceil()), Px(height.ceil()));
    pen.raw(&format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"bw\" width=\"{w}\" height=\"{h}\" \
         viewBox=\"0 0 {w} {h}\" role=\"img\" aria-label=\"{}\">\n",
        Escaped(about)
    ));
    pen.raw(&style::head(false));
    pen.bar("paper", (0.0, 0.0), (width.ceil(), height.ceil()), 0.0);
}

/// Its heading.
pub(super) fn heading(pen: &mut Pen, title: &str, about: &str) {
    pen.words("title", Anchor::Start, 16.0, (layout::MARGIN, 32.0), title);
    pen.words("faint", Anchor::Start, 12.0, (layout::MARGIN, 50.0), about);
}

#[cfg(test)]
#[path = "pictures_tests.rs"]
mod tests;
