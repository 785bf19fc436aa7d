//! Every interleaving of a small cluster.

mod check;
mod explore;
mod fair;
mod judge;
mod lasso;
mod liveness;
mod model;
pub mod parts;
mod plain;
mod replay;
mod scc;
mod setup;
mod store;
mod tables;
mod witness;
mod world;

pub use check::{Counterexample, Explorable, Report, Verdict, check};
pub use explore::{Limit, Limits, Progress};
pub use model::{Channels, Faults, Model, Ticks, Timing};
pub use plain::Plain;
pub use replay::{Replay, replay, scenario};
pub use setup::{Setup, usual_verb};
pub use tables::{Library, Tables};
pub use witness::{Said, Witness};
pub use world::{Action, Call, Change, Players, Reaction, Taken, World};
