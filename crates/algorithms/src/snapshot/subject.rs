//! What a snapshot can be taken of, and what is worth knowing about it.

use crate::catalogue::{Algorithm, Settings};
use bellwether_core::Group;

/// An algorithm of whose runs snapshots are taken. All of it has defaults: with an empty
/// implementation, snapshots are judged by their consistency alone.
pub trait Subject: Algorithm {
    /// What there is always the same amount of, in processes and on the way, if anything.
    fn quantity(_: &Self::Config, _: &Group) -> Option<Quantity> {
        None
    }

    /// How much of it this process has. None if it is in a state in which nothing is promised of
    /// the amount; then no sum is drawn.
    fn held(&self) -> Option<u64> {
        None
    }

    /// How much of it this message carries.
    fn carried(_: &Self::Msg) -> u64 {
        0
    }

    /// A word or two about the state of a process, for pictures.
    fn note(&self) -> String {
        String::new()
    }

    /// Between whom its messages travel.
    fn routes(_: &Settings) -> Routes {
        Routes::Mesh
    }

    /// Whether its goal is reached only once no message of it is on the way, though
    /// [`Goal::at_rest`](bellwether_core::Goal::at_rest) cannot say so for all of its runs.
    fn rests(&self) -> bool {
        false
    }
}

/// Something of which there is always the same amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quantity {
    /// What it is, in a word.
    pub name: &'static str,
    /// Where that is which is not on the way: `in accounts`.
    pub place: &'static str,
    /// How much of it there is.
    pub total: u64,
}

/// Which channels there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Routes {
    /// From everybody to everybody.
    #[default]
    Mesh,
    /// From each to the next on the ring only.
    Ring,
}
