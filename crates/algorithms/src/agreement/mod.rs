//! Agreement under faults: over a network that loses messages, and among processes that lie.
//!
//! * [`byzantine`]: some processes lie, and the others must come to know the same of everybody.

pub mod byzantine;
mod byzantine_referee;
pub mod strategies;
mod tree;
mod value;

pub use byzantine::Byzantine;
pub use strategies::{Lie, Strategy};
pub use tree::{LONGEST_PATH, Path, Tree};
pub use value::{BadValue, Value};
