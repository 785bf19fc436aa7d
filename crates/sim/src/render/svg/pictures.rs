//! What else there is to see of a run, above its space-time diagram.

use super::pen::{Anchor, Escaped, Pen, Px};
use super::{Sheet, clocks, graph, layout, sheet, style};
use crate::trace::{Trace, What};
use bellwether_algorithms::referee::Picture;

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
    let mut placed: Vec<(f64, f64, Sheet)> = Vec::new();
    let (mut width, mut top) = (0.0_f64, 0.0_f64);
    let mut row: Vec<Sheet> = Vec::new();
    let mut flush = |row: &mut Vec<Sheet>, top: &mut f64| {
        let (mut left, mut height) = (0.0, 0.0_f64);
        for sheet in row.drain(..) {
            let (w, h) = (sheet.width, sheet.height);
            placed.push((left, *top, sheet));
            left += w;
            height = height.max(h);
        }
        width = width.max(left);
        *top += height;
    };
    for picture in pictures {
        match picture {
            Picture::Clocks(clocks) => {
                flush(&mut row, &mut top);
                row.push(clocks::draw(clocks));
                flush(&mut row, &mut top);
            }
            Picture::Graph(graph) => {
                if row.len() == ACROSS {
                    flush(&mut row, &mut top);
                }
                row.push(graph::draw(graph));
            }
        }
    }
    flush(&mut row, &mut top);
    let sent = trace.events.iter().filter(|event| matches!(event.what, What::Send(_))).count();
    if sent <= MOST_MESSAGES {
        row.push(sheet(trace));
        flush(&mut row, &mut top);
    }
    let mut pen = Pen::default();
    let about = format!("{}: a run", trace.header.title);
    begin(&mut pen, (width, top), &about);
    for (left, top, sheet) in &placed {
        let at = format!("<svg x=\"{}\" y=\"{}\" ", Px(*left), Px(*top));
        pen.raw(&sheet.svg.replacen("<svg ", &at, 1));
    }
    pen.raw("</svg>\n");
    pen.finish()
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
