//! Snapshots: one state of the whole system, though nobody can look everywhere at once.
//!
//! The states of all processes, each recorded at a moment of its own, together with the messages
//! that were on the way between them, are a state of the system if they fit together: no message
//! is received in them that is not sent in them. [`Snapshots`] is Chandy and Lamport's algorithm
//! around any other process, which goes on meanwhile and notices nothing:
//!
//! * [`Bank`] is something to take snapshots of: accounts, and money on the way between them.
//! * [`Anything`] is the bank or any algorithm of the catalogue, by name.
//! * [`Auditor`] puts the parts of a snapshot together and judges it.
//!
//! A process of one's own is wrapped like this. It need not know of snapshots; what [`Subject`]
//! asks for besides has defaults, and here the hot potato says that there is one of it:
//!
//! ```
//! use bellwether_algorithms::catalogue::{Algorithm, Entry, Settings, Topology};
//! use bellwether_algorithms::snapshot::{self, Output, Quantity, Snapshots, Subject};
//! use bellwether_core::*;
//! use serde::{Deserialize, Serialize};
//! use std::{borrow::Cow, fmt, time::Duration};
//!
//! /// A potato that is handed round: whoever has it can `throw` it to the next.
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
//! // For simulator, network and command line: how it is prompted, and when it is done.
//! impl Algorithm for Hand {
//!     const ENTRY: Entry = Entry {
//!         name: "hot-potato",
//!         family: "games",
//!         title: "Hot potato",
//!         source: "everybody's childhood",
//!         cost: "1 a throw",
//!         assumes: <Self as Process>::ASSUMES,
//!         topology: Topology::Ring,
//!     };
//!     const VERBS: &'static [&'static str] = &["throw"];
//!     const KINDS: &'static [&'static str] = &["POTATO"];
//!     fn config(_: &Settings, _: &Group) {}
//!     fn input(verb: &str) -> Option<()> {
//!         (verb == "throw").then_some(())
//!     }
//!     fn verb((): &()) -> Cow<'static, str> {
//!         Cow::Borrowed("throw")
//!     }
//!     fn goal() -> Goal<Self> {
//!         Goal { name: "thrown", text: "no potato flies", at_rest: true, holds: |_| true }
//!     }
//!     fn settles_within(_: &(), _: &Group, _: u64) -> Duration {
//!         Duration::from_secs(1)
//!     }
//! }
//!
//! impl Subject for Hand {
//!     fn quantity(_: &(), _: &Group) -> Option<Quantity> {
//!         Some(Quantity { name: "potato", place: "in hands", total: 1 })
//!     }
//!     fn held(&self) -> Option<u64> {
//!         Some(u64::from(self.potato))
//!     }
//!     fn carried(_: &Potato) -> u64 {
//!         1
//!     }
//! }
//!
//! // `Snapshots<Hand>` is an algorithm like any other now. By hand, for two processes: P1 throws
//! // while P2 takes a snapshot, and P2's marker comes when the potato has left.
//! let group = Group::numbered(2).unwrap();
//! let config = Snapshots::<Hand>::config(&Settings::new(Duration::from_secs(1)), &group);
//! let mut p = [Snapshots::<Hand>::default(), Snapshots::default()];
//! for place in 0..2 {
//!     step(&group, place, &config, |cx| p[place].on_start(None, cx));
//! }
//! let thrown = step(&group, 0, &config, |cx| p[0].on_input(snapshot::Input::Below(()), cx));
//! let begun = step(&group, 1, &config, |cx| p[1].on_input(snapshot::Input::Snapshot, cx));
//! let [Effect::Send(_, potato)] = &thrown[..] else { panic!("{thrown:?}") };
//! let [Effect::Emit(_), Effect::Send(_, marker)] = &begun[..] else { panic!("{begun:?}") };
//!
//! let two = NodeId::new(2);
//! let p1 = step(&group, 0, &config, |cx| p[0].on_message(two, marker.clone(), cx));
//! let [Effect::Emit(_), Effect::Send(_, back), Effect::Emit(Output::Recorded(part))] = &p1[..]
//! else { panic!("{p1:?}") };
//! assert!(!part.state.potato && part.channels.is_empty());
//!
//! let one = NodeId::new(1);
//! step(&group, 1, &config, |cx| p[1].on_message(one, potato.clone(), cx));
//! let p2 = step(&group, 1, &config, |cx| p[1].on_message(one, back.clone(), cx));
//! let [Effect::Emit(Output::Recorded(part))] = &p2[..] else { panic!("{p2:?}") };
//! assert!(!part.state.potato, "P2 had no potato when it recorded its state");
//! assert_eq!(part.channels[&one].len(), 1, "it was on the way");
//! ```

pub(crate) mod amounts;
pub(crate) mod anything;
pub mod bank;
mod chandy_lamport;
mod listed;
mod part;
mod referee;
mod subject;

pub use crate::catalogue::anything::Anything;
pub use anything::Word;
pub use bank::Bank;
pub use chandy_lamport::{Carried, Config, Input, Msg, Output, Snapshots};
pub use part::{Numbers, Part, SnapshotId};
pub use referee::Auditor;
pub use subject::{Quantity, Routes, Subject};
