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
mod origins;
mod page;
mod refusal;
mod run;
mod scenarios;
pub mod wire;

pub use api::{Document, Opened, router, routes, serve};
pub use catalogue::{LIMITS, catalogue};
pub use gallery::gallery;
pub use origins::{Origins, guard};
pub use page::page;
pub use refusal::{Outcome, Refusal, nothing_there, wrong_method};
pub use run::stage;
pub use scenarios::{SCENARIOS, scenario};
