//! The log in the simulator: random faults of every kind at once.

mod basics;
mod changes;
mod changes_worlds;
mod deaths;
mod leases;
mod machine;
mod node;
mod once;
mod repeats;
mod storms;
mod witness;
mod worlds;
