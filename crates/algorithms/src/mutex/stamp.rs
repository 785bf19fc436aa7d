//! The order of requests where logical time decides.

use bellwether_core::NodeId;

/// When a request was made, and by whom. Times may be equal; then the smaller number comes first,
/// so that no two requests are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Stamp {
    /// By the logical clock of who made it.
    pub(super) time: u64,
    /// Who made it.
    pub(super) by: NodeId,
}

impl Stamp {
    /// The same order in one number, see [`super::Mutex::place`]. Times that do not fit count as
    /// the last that does: an algorithm compares stamps, so only its promise of order over views
    /// would suffer.
    pub(super) fn place(self) -> u64 {
        self.time.min(u64::from(u32::MAX)) << 32 | u64::from(self.by.number())
    }
}

#[cfg(test)]
#[path = "tests/stamp.rs"]
pub(super) mod tests;
