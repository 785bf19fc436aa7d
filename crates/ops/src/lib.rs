//! The operators' commands as a library: run members, ask them, and run jobs that lock or lead.
//!
//! [`ServerCommand`] and [`ClientCommand`] have the commands, for the program that offers them.
//! [`cluster`] is a whole cluster on this machine, for programs that break or measure one.

mod args;
mod asking;
mod backup;
mod certs;
mod coordination;
mod members;
mod membership;
mod node;
mod on_etcd;
mod running;
mod signals;
mod status;
mod up;
mod watching;
mod whom;

pub use args::{ClientCommand, ServerCommand};
pub use bellwether_http::Extra;

/// A whole cluster of real members on this machine, as `bellwether up` has it.
pub mod cluster {
    pub use crate::asking::{Address, Unanswered, get, post};
    pub use crate::signals::Signals;
    pub use crate::up::args::{Shape, ShapeArgs};
    pub use crate::up::cluster::{Cluster, Condition, Death, Host, Member, launched};
    pub use crate::up::command::{Command, carry_out, reconcile};
    pub use crate::up::link::Link;
    pub use crate::up::member::end_with_parent;
    pub use crate::up::world::{MemberState, World};
    pub use crate::up::{Report, ask};
    pub use crate::watching::runtime;
}
