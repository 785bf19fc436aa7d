//! Raymond's tree ("A tree-based algorithm for distributed mutual exclusion", 1989).
//!
//! The processes form a tree that never changes; only its edges turn round. Each process knows
//! which of its neighbours leads to the token and asks only this one, on behalf of all that have
//! asked it. On its way the token turns every edge that it passes, so the edges always lead to it.
//!
//! # Rules
//! HOLDER is the neighbour on whose side the token is, or the process itself; USING, whether it is
//! in the section; ASKED, whether it has asked HOLDER; Q, a FIFO queue of neighbours and itself.
//! * RM1 Assign. HOLDER is this process, not USING, and Q is not empty: take the head of Q for
//!   HOLDER, and ASKED := false. If it is this process, enter: USING := true. Otherwise send it
//!   PRIVILEGE.
//! * RM2 Make. HOLDER is another, Q is not empty, and not ASKED: send REQUEST to HOLDER and
//!   ASKED := true.
//! * RM3 To enter: append itself to Q.
//! * RM4 REQUEST from x: append x to Q.
//! * RM5 PRIVILEGE: HOLDER := this process.
//! * RM6 To leave: USING := false.
//!
//! RM1 and then RM2 follow upon each of RM3 to RM6.
//!
//! # Assumes
//! Nothing about order or delays: of the two messages that can be under way on one edge in the same
//! direction, a REQUEST that overtakes its PRIVILEGE only waits in Q for it. Channels lose and
//! double nothing.
//!
//! # Costs
//! For a lone request twice the distance to the token, so O(log n) on a balanced tree and at most
//! four on a star; 4(n-1)/n an entry when all always want to enter, on any tree: the token
//! goes over every edge twice while all enter once.
//!
//! A process stores HOLDER and Q, in which each neighbour is at most once: nothing grows with n but
//! the degree. Who is whose neighbour is arithmetic ([`super::Tree`]).
//!
//! # Departures
//! USING means something only where the token is, and ASKED only where it is not, so the two are
//! parts of HOLDER. PRIVILEGE carries the number of entries.

use super::costs::{Count, PRIVILEGE, REQUEST, saturated};
use super::{Granted, Input, Mutex, Opening, Tree};
use crate::cost::Expected::{AtMost, ExactMean};
use crate::cost::{Cost, Entries, Load, Rank};
use crate::definition::{Entry, Topology};
use crate::rings::{all_pairs, ascending};
use crate::show::{Item, ProcessView, Scene, Tone};
use bellwether_core::{Assumptions, Channels, Context, Kind, Message, NodeId, Process};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fmt;

/// What neighbours say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// "A process on my side wants the token."
    Request,
    /// The token.
    Privilege {
        /// How many entries there have been.
        entries: u64,
    },
}

impl Message for Msg {
    fn kind(&self) -> Kind {
        Kind::protocol(match self {
            Msg::Request => "REQUEST",
            Msg::Privilege { .. } => "PRIVILEGE",
        })
    }
}

impl fmt::Display for Msg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind().name)
    }
}

/// One process of the tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Raymond {
    holder: Holder,
    /// Q: who is to have the token next, neighbours or the process itself.
    queue: VecDeque<NodeId>,
}

/// HOLDER.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Holder {
    /// Before the start.
    #[default]
    Unknown,
    /// The token is here.
    Here {
        /// USING.
        using: bool,
        /// How many entries there have been.
        entries: u64,
    },
    /// The token is on the side of this neighbour.
    Beyond {
        neighbour: NodeId,
        /// ASKED. Then, and only then, PRIVILEGE will come from there.
        asked: bool,
    },
}

type Cx<'a> = Context<'a, Raymond>;

impl Process for Raymond {
    type Msg = Msg;
    type Timer = ();
    type Input = Input;
    type Output = Granted;
    type Durable = ();
    type Config = Opening;

    const ASSUMES: Assumptions = Assumptions::faultless(Channels::Any);

    fn durable(&self) {}

    fn on_start(&mut self, _: Option<()>, cx: &mut Cx<'_>) {
        let (opening, group) = (cx.config(), cx.group());
        let Some(token) = group.place(opening.token) else { return };
        self.holder = match opening.options.tree.towards(cx.place(), token) {
            None => Holder::Here { using: opening.is_inside(cx.me()), entries: 0 },
            Some(next) => Holder::Beyond { neighbour: group.ring()[next], asked: false },
        };
        if opening.is_waiting(cx.me()) {
            self.want(cx);
        }
    }

    fn on_input(&mut self, input: Input, cx: &mut Cx<'_>) {
        match input {
            Input::Request => self.want(cx),
            Input::Release => self.exit(cx),
        }
    }

    #[inline]
    fn on_message(&mut self, from: NodeId, msg: Msg, cx: &mut Cx<'_>) {
        match msg {
            Msg::Request => self.requested(from, cx),
            Msg::Privilege { entries } => self.privileged(from, entries, cx),
        }
    }

    fn on_timer(&mut self, (): (), _: &mut Cx<'_>) {}
}

impl Raymond {
    /// RM3.
    fn want(&mut self, cx: &mut Cx<'_>) {
        cx.rule("RM3");
        self.queue.push_back(cx.me());
        self.assign_and_make(cx);
    }

    /// RM4. Only neighbours ask: the token must not leave the tree.
    fn requested(&mut self, from: NodeId, cx: &mut Cx<'_>) {
        if is_neighbour(from, cx) {
            cx.rule("RM4");
            self.queue.push_back(from);
            self.assign_and_make(cx);
        }
    }

    /// RM5. Only a neighbour that was asked has it to give.
    fn privileged(&mut self, from: NodeId, entries: u64, cx: &mut Cx<'_>) {
        if self.holder == (Holder::Beyond { neighbour: from, asked: true }) {
            cx.rule("RM5");
            self.holder = Holder::Here { using: false, entries };
            self.assign_and_make(cx);
        }
    }

    /// RM6.
    fn exit(&mut self, cx: &mut Cx<'_>) {
        if let Holder::Here { using, .. } = &mut self.holder {
            cx.rule("RM6");
            *using = false;
            self.assign_and_make(cx);
        }
    }

    fn assign_and_make(&mut self, cx: &mut Cx<'_>) {
        self.assign_privilege(cx);
        self.make_request(cx);
    }

    /// RM1.
    fn assign_privilege(&mut self, cx: &mut Cx<'_>) {
        let Holder::Here { using: false, entries } = self.holder else { return };
        let Some(next) = self.queue.pop_front() else { return };
        cx.rule("RM1");
        if next == cx.me() {
            let entries = entries.saturating_add(1);
            self.holder = Holder::Here { using: true, entries };
            cx.emit(Granted(entries));
        } else {
            self.holder = Holder::Beyond { neighbour: next, asked: false };
            cx.send(next, Msg::Privilege { entries });
        }
    }

    /// RM2.
    fn make_request(&mut self, cx: &mut Cx<'_>) {
        if let Holder::Beyond { neighbour, asked: asked @ false } = &mut self.holder
            && !self.queue.is_empty()
        {
            cx.rule("RM2");
            *asked = true;
            cx.send(*neighbour, Msg::Request);
        }
    }
}

/// Whether there is an edge of the tree between this process and another.
fn is_neighbour(other: NodeId, cx: &Cx<'_>) -> bool {
    let (tree, me) = (cx.config().options.tree, cx.place());
    cx.group()
        .place(other)
        .is_some_and(|other| tree.parent(me) == Some(other) || tree.parent(other) == Some(me))
}

/// The shapes of which the mean distance is known: its average, formula and saturated case.
const TREES: [(Tree, [&str; 3]); 3] = [
    (Tree::Arity(2), ["binary tree, average", "2 x mean distance", "binary tree, all ask always"]),
    (Tree::LINE, ["line, average", "2(n^2-1)/(3n)", "line, all ask always"]),
    (Tree::Star, ["star, average", "4(n-1)^2/n^2", "star, all ask always"]),
];

/// How many processes are below each edge of a tree.
fn sizes(tree: Tree, n: u32) -> Vec<u64> {
    let mut sizes = vec![1; n as usize];
    // Children have larger places than their parents.
    for place in (1..n as usize).rev() {
        if let Some(parent) = tree.parent(place) {
            sizes[parent] += sizes[place];
        }
    }
    sizes.split_off(1)
}

impl Mutex for Raymond {
    const ENTRY: Entry = Entry {
        name: "raymond",
        family: "mutex",
        title: "Raymond's tree",
        source: "Raymond, ACM TOCS 7(1), 1989",
        cost: "2 x distance to the token: O(log n); 4(n-1)/n when all always want it",
        assumes: <Self as Process>::ASSUMES,
        topology: Topology::Tree,
        docs: essay!("raymond.rs"),
        example: "mutex/raymond-pointers-turn-round.txt",
    };

    const TOKEN: bool = true;

    /// Under a light load the token goes from every holder to every requester, itself too. An edge
    /// with s processes on one side lies between 2s(n-s) of these pairs, and costs a REQUEST and a
    /// PRIVILEGE each time. In a round of a saturated load the token goes along every edge and back,
    /// and each time a REQUEST calls it back.
    fn costs(n: u32) -> Vec<Cost> {
        let count = u64::from(n);
        let others = count - 1;
        let mut costs = Vec::new();
        for (tree, [case, formula, always]) in TREES {
            let is_usual = tree == Tree::default();
            let ways = || [Entries::new(Load::Alone, all_pairs(n)).after(&[n]).on(tree)];
            let distances = sizes(tree, n).iter().map(|size| 2 * size * (count - size)).sum();
            let mean = |sum| ExactMean { sum, runs: count * count };
            let parts = [REQUEST, PRIVILEGE].map(|kind| (kind, "mean distance", mean(distances)));
            let rank = if is_usual { Rank::Average } else { Rank::Other };
            let average = Cost::new(case, formula, mean(2 * distances), ways());
            costs.push(average.rank(rank).parts(parts));
            if is_usual {
                let way = u64::from(n.ilog2());
                let farthest = AtMost(4 * way);
                let farthest =
                    Cost::new("binary tree, farthest", "4 floor(log2 n)", farthest, ways());
                let parts =
                    [REQUEST, PRIVILEGE].map(|kind| (kind, "2 floor(log2 n)", AtMost(2 * way)));
                costs.push(farthest.rank(Rank::Worst).parts(parts));
            }
            let round = Entries::new(Load::Always, ascending(n)).on(tree);
            let parts: [Count; 2] = [REQUEST, PRIVILEGE].map(|kind| (kind, "2(n-1)/n", 2 * others));
            let full = saturated(always, "4(n-1)/n", &parts, ("2(n-1)/n T", 2 * others), round);
            costs.push(full.rank(if is_usual { Rank::Worst } else { Rank::Other }));
        }
        costs
    }

    fn has_token(&self) -> bool {
        matches!(self.holder, Holder::Here { .. })
    }

    fn view(&self, scene: &Scene<'_>) -> ProcessView {
        let (phase, towards) = match self.holder {
            Holder::Beyond { neighbour, asked: true } => {
                (format!("has asked {neighbour}"), Some(neighbour))
            }
            Holder::Beyond { neighbour, asked: false } => (String::new(), Some(neighbour)),
            Holder::Here { .. } | Holder::Unknown => (String::new(), None),
        };
        let queue = self.queue.iter().map(|id| {
            if *id == scene.me { Item::new("itself").tone(Tone::Strong) } else { Item::of(*id) }
        });
        ProcessView::new(phase).pointer("token towards", towards).queue("queue", queue)
    }
}

#[cfg(test)]
#[path = "tests/raymond.rs"]
mod tests;
