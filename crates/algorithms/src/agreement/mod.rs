//! Agreement under faults: over a network that loses messages, and among processes that lie.
//!
//! * [`reliable`]: a link that other processes wrap themselves in, and that makes a network which
//!   loses, doubles and reorders look like one that does not; [`courier`] shows it at work.
//! * [`two_generals`]: why even so no two processes can both be sure.
//! * [`byzantine`]: some processes lie, and the others must agree on one value for each process.

family! {
    courier::ReliableLink,
    two_generals::TwoGenerals,
    byzantine::Byzantine,
}

mod byzantine_referee;
mod generals_referee;
mod postmaster;
pub mod reliable;
pub mod strategies;
mod tree;
mod value;

pub use courier::Courier;
pub use reliable::Reliable;
pub use strategies::{Lie, Strategy};
pub use tree::{LONGEST_PATH, Path, Tree};
pub use value::{BadValue, Value};
