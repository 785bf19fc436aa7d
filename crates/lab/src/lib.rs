//! The laboratory as a library: simulate, compare, check and host algorithms, and see their runs
//! in the browser.
//!
//! [`main`] is a whole program with the algorithms of a catalogue, yours among them:
//!
//! ```no_run
//! # use bellwether_algorithms::{catalogue::catalogue, election::{Bully, Watched}};
//! # type Claimer = Watched<Bully>;
//! fn main() -> std::process::ExitCode {
//!     bellwether_lab::main(catalogue().with::<Claimer>())
//! }
//! ```
//!
//! A program with commands of its own adds the laboratory's [`Command`]. [`explorer`] is the server
//! of the page, for programs that have a server of their own.

mod algorithms;
mod args;
mod check;
mod checks;
mod compare;
mod explore;
pub mod explorer;
mod host;
mod own;
mod panics;
mod planning;
pub mod prelude;
mod program;
mod replay;
mod report;
mod scenario;
mod sections;
mod sim;
mod sweep;
mod work;

pub use args::Command;
pub use program::{install, main};
