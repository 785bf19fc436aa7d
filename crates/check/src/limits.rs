//! How far an exploration goes.

/// How far to go, and with how many threads.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many threads work.
    pub threads: usize,
    /// No more states than this.
    pub states: u64,
    /// No more memory than this, in bytes.
    pub memory: u64,
    /// No more steps from the beginning than this.
    pub depth: u32,
    /// Whether steps that only differ in their order may be left out. All states are visited all
    /// the same; where messages stay, those with as many of them as possible, unless an invariant
    /// looks at messages. Where runs must come to a goal all steps are needed, and none is left out.
    pub reduce: bool,
    /// Whether no invariant looks at messages, though some are of [`Shape::Whole`]: their author knows. Then
    /// more may be left out where messages stay.
    ///
    /// [`Shape::Whole`]: bellwether_core::Shape::Whole
    pub members_only: bool,
}

impl Default for Limits {
    fn default() -> Self {
        let (states, depth) = (u64::from(u32::MAX) / 2, u32::MAX);
        Limits { threads: 1, states, memory: u64::MAX, depth, reduce: true, members_only: false }
    }
}

/// A limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Of states.
    States,
    /// Of memory.
    Memory,
    /// Of steps from the beginning.
    Depth,
}
