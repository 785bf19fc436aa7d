//! Several pictures on one sheet.

use crate::{Anchor, Escaped, MARGIN, Pen, Px, Sheet, draw, style};
use bellwether_algorithms::referee::Graph;

/// How many graphs stand side by side.
const ACROSS: usize = 2;

/// Graphs that belong to no run, such as those of a cluster that lives.
#[must_use]
pub fn graphs(about: &str, graphs: &[Graph]) -> String {
    let mut wall = Wall::default();
    for graph in graphs {
        wall.beside(draw(graph));
    }
    wall.finish(about)
}

/// Where pictures hang: rows of them, one below the other.
#[derive(Debug, Default)]
pub struct Wall {
    placed: Vec<(f64, f64, Sheet)>,
    /// The pictures of the last row, which is not full yet.
    row: Vec<Sheet>,
    width: f64,
    height: f64,
}

impl Wall {
    /// Hangs a picture beside the last one, if there is room.
    pub fn beside(&mut self, sheet: Sheet) {
        if self.row.len() == ACROSS {
            self.end_row();
        }
        self.row.push(sheet);
    }

    /// Hangs a picture below all others, and nothing beside it.
    pub fn below(&mut self, sheet: Sheet) {
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

    /// All of them, as one picture that is about this.
    #[must_use]
    pub fn finish(mut self, about: &str) -> String {
        self.end_row();
        let mut pen = Pen::default();
        begin(&mut pen, (self.width, self.height), about, false);
        for (left, top, sheet) in &self.placed {
            let at = format!("<svg x=\"{}\" y=\"{}\" ", Px(*left), Px(*top));
            pen.raw(&sheet.svg.replacen("<svg ", &at, 1));
        }
        pen.raw("</svg>\n");
        pen.finish()
    }
}

/// The beginning of a picture: its size, its style and its paper. Some pictures have critical
/// sections, which have a style of their own.
pub fn begin(pen: &mut Pen, (width, height): (f64, f64), about: &str, sections: bool) {
    let (w, h) = (Px(width.ceil()), Px(height.ceil()));
    pen.raw(&format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"bw\" width=\"{w}\" height=\"{h}\" \
         viewBox=\"0 0 {w} {h}\" role=\"img\" aria-label=\"{}\">\n",
        Escaped(about)
    ));
    pen.raw(&style::head(sections));
    pen.bar("paper", (0.0, 0.0), (width.ceil(), height.ceil()), 0.0);
}

/// The heading of a picture, and a line about it.
pub fn heading(pen: &mut Pen, title: &str, about: &str) {
    pen.words("title", Anchor::Start, 16.0, (MARGIN, 32.0), title);
    pen.words("faint", Anchor::Start, 12.0, (MARGIN, 50.0), about);
}
