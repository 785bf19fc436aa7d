//! The page in the browser, and what it asks for: catalogue, gallery, runs.
//!
//! A run is described by a scenario, and by nothing else: the page sends the text and gets the
//! events. So a link, a file and a saved counterexample are the same thing, and what the page
//! shows can be repeated on the command line.

mod api;
mod catalogue;
mod costs;
mod desk;
mod essays;
mod gallery;
mod run;
mod scenarios;
pub mod wire;

pub use api::{Opened, extra, router, serve};
pub use catalogue::{LIMITS, catalogue};
pub use gallery::gallery;
pub use scenarios::{SCENARIOS, scenario};
