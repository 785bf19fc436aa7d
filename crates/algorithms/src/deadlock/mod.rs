//! Deadlocks: who waits for whom, over many sites, and how a cycle is found and broken.
//!
//! The processes of a run are [sites](Site). Each manages resources that one transaction at a time
//! can hold; a transaction works at many sites, and may wait at one while it is waited for at
//! others. The texts call transactions processes P_i and the sites S_i; here the processes of a run
//! are the sites, so transactions are T_i, and site S_i is the process P_i.
//!
//! A [`Detector`] runs at each site beside the locks. It is told what changes there, talks to the
//! detectors elsewhere, and says which cycle it suspects; the site confirms that and aborts the
//! youngest. There are three: [`Central`], [`Distributed`] and [`EdgeChasing`].

family! { Site:
    central::Central,
    distributed::Distributed,
    edge_chasing::EdgeChasing,
}

mod definition;
mod detector;
mod judge;
mod local;
mod locks;
mod names;
mod output;
pub mod site;
mod summary;
#[cfg(test)]
mod tests;
mod wire;
mod workload;

pub use detector::{Detector, DetectorOutput, Event, Survey, Waiter};
pub use judge::Judge;
pub use names::{Cycle, Edge, Resource, Tx};
pub use output::{How, Output, Refusal};
pub use site::{Config, Input, Site};
pub use wire::{Msg, Timer};
pub use workload::{Deed, Jobs};
