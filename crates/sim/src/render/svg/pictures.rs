//! What else there is to see of a run, above its space-time diagram.

use super::{clocks, sheet};
use crate::trace::{Trace, What};
use bellwether_algorithms::referee::Picture;
use bellwether_svg::{Wall, draw, views};

/// A diagram of more messages than this is too long to be read below a picture.
const MOST_MESSAGES: usize = 400;

/// The pictures that go with a run and, below them, its space-time diagram, if that is not too
/// long; below it, what is to be seen of each process in the end, if states were recorded. Without
/// pictures it is the diagram alone.
pub fn illustrated(trace: &Trace, pictures: &[Picture]) -> String {
    let shown = trace.views_in_the_end();
    if pictures.is_empty() && shown.is_empty() {
        return sheet(trace).svg;
    }
    let mut wall = Wall::default();
    for picture in pictures {
        match picture {
            Picture::Clocks(clocks) => wall.below(clocks::draw(clocks)),
            Picture::Graph(graph) => wall.beside(draw(graph)),
        }
    }
    let sent = trace.events.iter().filter(|event| matches!(event.what, What::Send(_))).count();
    if sent <= MOST_MESSAGES {
        wall.below(sheet(trace));
    }
    if !shown.is_empty() {
        wall.below(views("The processes in the end", &shown));
    }
    wall.finish(&format!("{}: a run", trace.header.title))
}

#[cfg(test)]
#[path = "pictures_tests.rs"]
mod tests;
