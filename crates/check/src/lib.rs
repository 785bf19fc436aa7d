//! Every run of a small cluster: which states it can reach, and whether it always comes to its goal.
//!
//! A [`Model`] says who takes part, what may happen (in which order messages arrive, what is known
//! of time, how many crashes, recoveries, losses and duplicates there may be, what the application
//! may ask for) and what must hold. [`check`] explores all of it, breadth first, and says what it
//! found: that everything holds, a shortest [`Counterexample`], or that a limit came first. It finds
//! the same with any number of threads.
//!
//! A model of an algorithm of the catalogue comes from a [`Setup`], and its counterexample is a run
//! of the simulator: see [`replay`] and [`scenario`].
//!
//! ```
//! use bellwether_algorithms::catalogue::catalogue;
//! use bellwether_algorithms::definition::Settings;
//! use bellwether_check::{Faults, Limits, Setup, Timing, Verdict, check, replay};
//! use bellwether_core::Group;
//! use std::time::Duration;
//!
//! // Three bullies who watch their coordinator. One may crash, and come back.
//! let catalogue = catalogue();
//! let bully = catalogue.get("bully").unwrap();
//! let group = Group::numbered(3)?;
//! let mut settings = Settings::new(Duration::from_millis(100));
//! settings.coordinator = Some(group.highest());
//! settings.detection = true;
//! let mut setup = Setup::new(bully, group, settings);
//! setup.faults = Faults { crashes: 1, recoveries: 1, ..Faults::default() };
//!
//! let report = check(&setup.model(), Limits::default(), &mut |_| {});
//! assert_eq!(report.verdict, Verdict::Proved);
//! println!("{} states", report.progress.states);
//!
//! // They trust their time-outs. What if these lie?
//! setup.timing = Timing::Asynchronous;
//! let model = setup.model();
//! let Verdict::Violated(found) = check(&model, Limits::default(), &mut |_| {}).verdict else {
//!     unreachable!("a time-out that lies makes two coordinators");
//! };
//! assert_eq!(found.breach.name, "one-coordinator");
//!
//! // The same in the simulator: to look at, and to keep as a scenario.
//! let run = replay(&setup, &found.stem, &found.cycle);
//! assert!(run.confirm(&found.breach).is_ok());
//! # Ok::<(), bellwether_core::GroupError>(())
//! ```
//!
//! A process of your own needs no catalogue: write the [`Model`] yourself, with your invariants and
//! your goal.
//!
//! What an exploration means is in [`World`]; how it is made fast, in the files behind [`Tables`].

mod check;
mod explore;
mod fair;
mod follow;
mod judge;
mod lasso;
mod limits;
mod liveness;
mod model;
mod narrow;
pub mod parts;
mod plain;
mod replay;
mod scc;
mod seen;
mod setup;
mod sleep;
mod store;
mod tables;
mod witness;
mod world;

pub use check::{Counterexample, Report, Verdict, check, check_erased, check_from};
pub use explore::Progress;
pub use follow::{Followed, Unfollowed, follow};
pub use limits::{Limit, Limits};
pub use model::{Aging, Channels, Faults, Model, Spent, Ticks, Timing, Whose};
pub use plain::Plain;
pub use replay::{Replay, commands, replay, scenario};
pub use setup::{Setup, usual_verb};
pub use tables::{Library, Tables};
pub use witness::{Observation, Witness};
pub use world::{Action, Call, Change, Players, Reaction, Taken, World};
