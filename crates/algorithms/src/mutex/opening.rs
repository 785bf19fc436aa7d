//! How a view begins: what the survivors of the one before report, and what follows from it.

use super::{Status, Tree};
use crate::election::link;
use crate::views::{Epoch, Reported, Survivor};
use bellwether_core::{Group, NodeId};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How a view begins. The first one begins with no process waiting and the token at the first process
/// of the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Opening {
    /// The coordinator, where there is one.
    pub coordinator: NodeId,
    /// The holder of the token, where there is one: the process inside, if there is one.
    pub token: NodeId,
    /// Whether it is a new one, because no survivor had it.
    pub minted: bool,
    /// Who is in the section.
    pub inside: Option<NodeId>,
    /// Who has asked for it, in the order in which they are to get it where order is promised.
    pub waiting: Vec<NodeId>,
    /// What is fixed for the whole run.
    pub options: Options,
}

/// What is fixed for the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Options {
    /// The shape of the tree, where there is one.
    pub tree: Tree,
    /// T, where dead neighbours are bypassed: none if that is left to views.
    pub bypass: Option<Duration>,
    /// Whether rules that are known to be wrong are used as they were printed.
    pub as_printed: bool,
}

impl Opening {
    /// The opening of the first view.
    pub fn first(group: &Group, coordinator: NodeId, options: Options) -> Self {
        Opening {
            coordinator,
            token: group.ring()[0],
            minted: false,
            inside: None,
            waiting: Vec::new(),
            options,
        }
    }

    /// Whether this process is in the section already.
    pub fn is_inside(&self, id: NodeId) -> bool {
        self.inside == Some(id)
    }

    /// Whether this process has asked for it already.
    pub fn is_waiting(&self, id: NodeId) -> bool {
        self.waiting.contains(&id)
    }

    /// The processes that have asked, the one inside first, each with its place in the order from 1 on.
    pub fn queue(&self) -> impl Iterator<Item = (NodeId, u64)> + '_ {
        self.inside.iter().chain(&self.waiting).copied().zip(1..)
    }

    /// The clockwise link of a process that bypasses dead neighbours.
    pub fn link(&self) -> link::Config {
        link::Config {
            direction: link::Direction::Clockwise,
            timeout: self.options.bypass.unwrap_or_default(),
            acknowledge: self.options.bypass.is_some(),
        }
    }
}

/// What a survivor tells of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Report {
    /// What its application has of the section.
    pub status: Status,
    /// Where its request stands; see [`super::Mutex::place`].
    pub place: Option<u64>,
    /// Whether it has the token.
    pub token: bool,
    /// As it was started.
    pub options: Options,
}

impl Survivor for Report {
    type Opening = Opening;

    fn open(coordinator: NodeId, reports: &[(NodeId, Reported<Report>)]) -> Opening {
        let newest: Option<Epoch> = reports.iter().filter_map(|(_, r)| r.was_in).max();
        let find = |wanted: &dyn Fn(&Reported<Report>) -> bool| {
            reports.iter().find(|(_, reported)| wanted(reported)).map(|(id, _)| *id)
        };
        let inside = find(&|r| matches!(r.report.status, Status::Inside(_)));
        // A token of an older view than the newest is void: the newest had a token of its own.
        let token = find(&|r| r.report.token && r.was_in == newest);
        // Requests of an older view come first; of those whose place is not known, the one that
        // comes first on the ring.
        let mut waiting: Vec<_> = reports
            .iter()
            .filter(|(_, reported)| reported.report.status == Status::Waiting)
            .map(|(id, r)| ((r.report.place.is_none(), r.was_in, r.report.place), *id))
            .collect();
        waiting.sort_by_key(|(place, _)| *place);
        let own = reports.iter().find(|(id, _)| *id == coordinator);
        let options = own.map_or_else(Options::default, |(_, reported)| reported.report.options);
        Opening {
            coordinator,
            token: inside.or(token).unwrap_or(coordinator),
            minted: inside.is_none() && token.is_none(),
            inside,
            waiting: waiting.into_iter().map(|(_, id)| id).collect(),
            options,
        }
    }
}
