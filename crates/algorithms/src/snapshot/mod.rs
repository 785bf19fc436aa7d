//! Snapshots: one state of the whole system, although no process sees all of it at once.
//!
//! The states of all processes, each recorded at a moment of its own, together with the messages
//! that were on the way between them, are a state of the system if they fit together: no message
//! is received in them that is not sent in them. [`Snapshots`] is Chandy and Lamport's algorithm
//! around any other process, which goes on meanwhile and notices nothing:
//!
//! * [`Bank`] is something to take snapshots of: accounts, and money on the way between them.
//! * [`Auditor`] puts the parts of a snapshot together and judges it.
//! * [`snapshots`] defines snapshots of an algorithm, given the definition of that algorithm. What
//!   it [conserves](crate::definition::Definition::conserves) is what they are judged by.
//! * [`snapshots_of_any`] chooses the algorithm by its name.
//!
//! A process of your own need not know of snapshots. Here a hot potato is handed round, and the
//! definition says that there is one of it:
//!
//! ```
//! use bellwether_algorithms::definition::{Algorithm, Definition, Quantity, Settings};
//! use bellwether_algorithms::snapshot::{Output, Snapshots, snapshots};
//! use bellwether_core::*;
//! use serde::{Deserialize, Serialize};
//! use std::{fmt, sync::Arc, time::Duration};
//!
//! /// The process that has the potato can `throw` it to the next.
//! #[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
//! struct Hand {
//!     potato: bool,
//! }
//!
//! #[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
//! struct Potato;
//!
//! impl Message for Potato {
//!     fn kind(&self) -> Kind {
//!         Kind::protocol("POTATO")
//!     }
//! }
//!
//! impl fmt::Display for Potato {
//!     fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
//!         f.write_str("POTATO")
//!     }
//! }
//!
//! impl Process for Hand {
//!     type Msg = Potato;
//!     type Timer = ();
//!     type Input = ();
//!     type Output = String;
//!     type Durable = ();
//!     type Config = ();
//!     const ASSUMES: Assumptions = Assumptions::faultless(Channels::Fifo);
//!     fn durable(&self) {}
//!     fn on_start(&mut self, _: Option<()>, cx: &mut Context<'_, Self>) {
//!         self.potato = cx.place() == 0;
//!     }
//!     fn on_input(&mut self, (): (), cx: &mut Context<'_, Self>) {
//!         if std::mem::take(&mut self.potato) {
//!             cx.send(cx.group().after(cx.place(), 1), Potato);
//!         }
//!     }
//!     fn on_message(&mut self, _: NodeId, Potato: Potato, _: &mut Context<'_, Self>) {
//!         self.potato = true;
//!     }
//!     fn on_timer(&mut self, (): (), _: &mut Context<'_, Self>) {}
//! }
//!
//! impl Algorithm for Hand {
//!     fn definition() -> Definition<Self> {
//!         let one = Quantity { name: "potato", place: "in hands", total: 1 };
//!         Definition::<Self>::named("hot-potato")
//!             .verbs(&["throw"], |verb| (verb == "throw").then_some(()), |_| "throw".into())
//!             .conserves(move |_, _| Some(one), |hand| Some(hand.potato.into()), |_| 1)
//!     }
//! }
//!
//! // `Snapshots<Hand>` is an algorithm like any other now. By hand, for two processes: P1 throws
//! // while P2 takes a snapshot, and P2's marker comes when the potato has left.
//! let definition = snapshots(Arc::new(Hand::definition()));
//! let group = Group::numbered(2).unwrap();
//! let config = definition.config(&Settings::new(Duration::from_secs(1)), &group);
//! let mut processes = vec![Snapshots::<Hand>::default(); 2];
//! let mut call = |place: usize, call: Call<Snapshots<Hand>>| {
//!     step(&group, place, &config, |cx| call.make(&mut processes[place], cx))
//! };
//! let ask = |verb| Call::Input(definition.input(verb).unwrap());
//! call(0, Call::Start(None));
//! call(1, Call::Start(None));
//! let thrown = call(0, ask("throw"));
//! let begun = call(1, ask("snapshot"));
//! let [Effect::Send(_, potato)] = &thrown[..] else { panic!("{thrown:?}") };
//! let [Effect::Emit(_), Effect::Send(_, marker)] = &begun[..] else { panic!("{begun:?}") };
//!
//! let (one, two) = (NodeId::new(1), NodeId::new(2));
//! let p1 = call(0, Call::Message(two, marker.clone()));
//! let [Effect::Emit(_), Effect::Send(_, back), Effect::Emit(Output::Recorded(part))] = &p1[..]
//! else { panic!("{p1:?}") };
//! assert!(!part.state.potato && part.channels.is_empty());
//!
//! call(1, Call::Message(one, potato.clone()));
//! let p2 = call(1, Call::Message(one, back.clone()));
//! let [Effect::Emit(Output::Recorded(part))] = &p2[..] else { panic!("{p2:?}") };
//! assert!(!part.state.potato, "P2 had no potato when it recorded its state");
//! assert_eq!(part.channels.get(&one).map(Vec::len), Some(1), "it was on the way");
//! ```

pub mod bank;
mod chandy_lamport;
mod listed;
mod part;
mod referee;

pub use bank::Bank;
pub use chandy_lamport::{Carried, Config, Input, Msg, Output, Routes, Snapshots};
pub use listed::{snapshots, snapshots_of_any};
pub use part::{Numbers, Part, SnapshotId};
pub use referee::Auditor;
