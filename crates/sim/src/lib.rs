//! A deterministic simulator: virtual time, a seeded network with faults, traces, scenarios.
//!
//! A [`Sim`] runs any [`Process`](bellwether_core::Process), one event after the other. What
//! happens to a message depends on the seed, on its link and on its number on that link, and on
//! nothing else, so the same input gives the same run, byte for byte, on every machine. Faults are
//! [`Action`]s, at once or at their time; [invariants](bellwether_core::Invariant) are checked
//! after every event; an [`Observer`] may look on.
//!
//! # A process of your own
//!
//! Every process on a ring learns the largest number: one that hears of a larger number than it knows
//! tells its successor.
//!
//! ```
//! use bellwether_core::{
//!     Assumptions, Channels, Context, Group, Invariant, Kind, Message, NodeId, Process,
//!     Time, Timing,
//! };
//! use bellwether_sim::{Action, Ended, Latency, Network, Silent, Sim};
//! use std::{fmt, time::Duration};
//!
//! /// "There is a process with this number."
//! #[derive(Clone, Debug, PartialEq, Eq, Hash)]
//! struct News(NodeId);
//!
//! impl Message for News {
//!     fn kind(&self) -> Kind {
//!         Kind::protocol("NEWS")
//!     }
//! }
//!
//! impl fmt::Display for News {
//!     fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
//!         write!(f, "NEWS({})", self.0.number())
//!     }
//! }
//!
//! #[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
//! struct Largest {
//!     known: Option<NodeId>,
//! }
//!
//! impl Process for Largest {
//!     type Msg = News;
//!     type Timer = ();
//!     type Input = ();
//!     type Output = NodeId;
//!     type Durable = ();
//!     type Config = ();
//!
//!     const ASSUMES: Assumptions = Assumptions {
//!         timing: Timing::Asynchronous,
//!         channels: Channels::Any,
//!         loss: false,
//!         duplication: true,
//!         crashes: false,
//!         recoveries: false,
//!     };
//!
//!     fn durable(&self) {}
//!
//!     fn on_start(&mut self, _: Option<()>, cx: &mut Context<'_, Self>) {
//!         self.hear_of(cx.me(), cx);
//!     }
//!
//!     fn on_message(&mut self, _: NodeId, News(id): News, cx: &mut Context<'_, Self>) {
//!         self.hear_of(id, cx);
//!     }
//!
//!     fn on_input(&mut self, _: (), _: &mut Context<'_, Self>) {}
//!     fn on_timer(&mut self, _: (), _: &mut Context<'_, Self>) {}
//! }
//!
//! impl Largest {
//!     fn hear_of(&mut self, id: NodeId, cx: &mut Context<'_, Self>) {
//!         if self.known < Some(id) {
//!             self.known = Some(id);
//!             cx.emit(id);
//!             cx.send(cx.group().after(cx.place(), 1), News(id));
//!         }
//!     }
//! }
//!
//! let knows_itself = Invariant::each(
//!     "knows-itself",
//!     "no process knows a smaller number than its own",
//!     |me, process: &Largest| process.known >= Some(me),
//! );
//! let ring = Group::new([3, 5, 1, 4, 2].map(NodeId::new).to_vec())?;
//! let network = Network::new(Latency::Uniform(Duration::from_millis(1), Duration::from_millis(9)));
//! let seed = 7;
//! let mut sim = Sim::new(ring, (), &network, seed, vec![knows_itself], Silent);
//!
//! assert_eq!(sim.run(Time::MAX), Ended::Quiet);
//! assert!(sim.live().all(|(_, process)| process.known == Some(NodeId::new(5))));
//! println!("{} NEWS in {}", sim.tally().protocol()["NEWS"], sim.now());
//!
//! // It assumes that no process crashes. What if a process does? P1 was to tell P4 of P5.
//! let ring = sim.group().clone();
//! let mut sim = Sim::<Largest, _>::new(ring, (), &network, seed, Vec::new(), Silent);
//! sim.act(Action::Crash(NodeId::new(1)));
//! sim.run(Time::MAX);
//! assert!(sim.live().any(|(_, process)| process.known != Some(NodeId::new(5))));
//! # Ok::<(), bellwether_core::GroupError>(())
//! ```
//!
//! # An algorithm of the catalogue
//!
//! The catalogue's algorithms know how they are configured, prompted and judged, so a whole run is
//! a [`Plan`]. One that fails can be [made small](fn@shrink).
//!
//! ```
//! use bellwether_algorithms::catalogue::catalogue;
//! use bellwether_sim::{Silent, chaos};
//!
//! let catalogue = catalogue();
//! let bully = catalogue.get("bully").unwrap();
//! for seed in 0..100 {
//!     let plan = chaos::random_plan(bully, seed);
//!     let (outcome, Silent) = plan.run(Silent);
//!     assert!(outcome.agreed, "seed {seed}: {:?}", outcome.violation);
//! }
//! ```
//!
//! The catalogue's processes are [erased](bellwether_core::AnyProcess): all that runs them is
//! compiled once. Traces, scenarios and replays take these only. A [`Sim`] and a [`Plan`] of one
//! type of process give the same runs, byte for byte, in less time:
//!
//! ```
//! use bellwether_algorithms::definition::Algorithm;
//! use bellwether_algorithms::election::{Bully, Watched};
//! use bellwether_sim::{Silent, chaos};
//! use std::sync::Arc;
//!
//! let bully = Arc::new(Watched::<Bully>::definition());
//! let (outcome, Silent) = chaos::random_plan(&bully, 7).run(Silent);
//! assert!(outcome.agreed);
//! ```

mod attendance;
pub mod chaos;
pub mod compare;
mod engine;
mod fault;
mod meter;
mod monitor;
mod network;
mod node;
mod observer;
mod plan;
mod prefetch;
mod queue;
pub mod render;
pub mod replay;
pub mod scenario;
mod shrink;
pub mod silent;
mod state;
mod tally;
mod trace;
pub mod units;
pub mod workload;

pub use engine::{CLOCK_START, Ended, Sim};
pub use fault::{Action, Cut, CutKind, FaultCounts, FaultKind, Mesh, Scheduled, Steer};
pub use meter::{Refused, Sections, Waits};
pub use monitor::Violation;
pub use network::{Fate, Latency, Network};
pub use observer::{Observer, Seen, Silent, Why};
pub use plan::{Impossible, Outcome, Plan, check_script, default_timeout, work};
pub use shrink::{Shrunk, shrink};
pub use state::Fields;
pub use tally::Tally;
pub use trace::{Header, Letter, Recorder, Trace, TraceEvent, What};

/// Puts a ring into random order, by the seed.
pub fn shuffled(ring: &mut [bellwether_core::NodeId], seed: u64) {
    bellwether_core::Draws::new(seed).shuffle(ring);
}

/// The README's examples are tests too.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}
