//! All that a process of your own needs: `use bellwether_lab::prelude::*;`.

pub use bellwether_algorithms::catalogue::{Catalogue, catalogue};
pub use bellwether_algorithms::cost::{Cost, Entries, Expected, Load, Rank, Script};
pub use bellwether_algorithms::definition::{
    Algorithm, Definition, Entry, Milestone, Quantity, Settings, Topology,
};
pub use bellwether_algorithms::mutex::Status;
pub use bellwether_algorithms::options::{BadOption, Opt, Options};
pub use bellwether_algorithms::referee::{self, Breach, Fact, Picture, Referee};
pub use bellwether_algorithms::show::{self, Item, Mark, ProcessView, Scene};
pub use bellwether_core::{
    Assumptions, Channels, Cluster, Context, Effect, Goal, Group, InFlight, Invariant, Kind,
    Message, NodeId, Process, Shape, Time, Timing, Validity, step,
};
