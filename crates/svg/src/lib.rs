//! Pictures as SVG: a pen with the few shapes and one style that all pictures share, pictures of
//! graphs, and several pictures on one sheet.
//!
//! Every picture needs nothing else and suits light and dark pages. The same input gives the same
//! bytes on every machine.

mod graph;
mod pen;
mod style;
mod views;
mod wall;

pub use graph::draw;
pub use pen::{Anchor, Escaped, Pen, Point, Px};
pub use style::COLOURS;
pub use views::views;
pub use wall::{Wall, begin, graphs, heading};

/// From the left edge to the words.
pub const MARGIN: f64 = 20.0;

/// A picture and its size.
#[derive(Debug)]
pub struct Sheet {
    /// Its width in pixels.
    pub width: f64,
    /// Its height in pixels.
    pub height: f64,
    /// The picture, from `<svg ` to `</svg>`.
    pub svg: String,
}
