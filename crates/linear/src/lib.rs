//! Whether a history of operations that overlap can be told as one after the other.
//!
//! Clients ask something of an object, at the same time and without knowing of each other. Each
//! knows when it asked, and when it heard what came of it. The history is *linearizable* (Herlihy and
//! Wing 1990) if every operation can be given one moment between the two at which it is done, so that
//! all results are those of an object to which one thing happens after the other. For clients that
//! see nothing else the object *is* such a one then, however many members keep it and whatever
//! happened to them.
//!
//! # Rules
//! * H1 An operation whose result was heard is done, once, not before it was asked for and not after
//!   its result was heard.
//! * H2 An operation whose result no client heard is *open*: its client may have died, the answer may be
//!   lost. It is done once after it was asked for, however late, or never.
//! * H3 Between operations of which one ended before the other was asked for, the order is that of
//!   time. Others may be put in any order, also those of one client.
//! * H4 What an operation does and which results it may have is said by an [`Object`], to which one
//!   thing happens after the other.
//!
//! # How it is decided
//! Wing and Gong's search (1993): of the operations that nothing has to come before, one is done that
//! the object allows, and so on; where it comes to a dead end, it goes back. Lowe's memory (2017)
//! makes that bearable: the same operations done in another order, with the same state after them,
//! are not looked into again. Three things more are left out, because they change no verdict:
//!
//! * Where the same was come to before with fewer open operations done, there is nothing new: whatever
//!   can follow could follow there, too.
//! * An operation that changes nothing, whatever the state ([`Object::only_looks`]), is done as soon
//!   as it is allowed: nothing else is tried instead. What follows can be the same with it as without.
//! * An open operation that would change nothing at this point is not done here: never doing it is
//!   the same.
//!
//! Histories of objects that have nothing to do with each other can be decided one by one: together
//! they are linearizable if each of them is. That is *locality*, and it makes long histories cheap.
//! It is about operations on one object each. An operation on several makes one object of them; see
//! [`locks`].
//!
//! ```
//! use bellwether_linear::{Object, Operation, Verdict, decide};
//!
//! /// A number that can be set and read.
//! struct Register;
//!
//! enum Op {
//!     Set(u32),
//!     Reads(u32),
//! }
//!
//! impl Object for Register {
//!     type State = u32;
//!     type Op = Op;
//!
//!     fn start(&self) -> u32 {
//!         0
//!     }
//!
//!     fn step(&self, state: &u32, op: &Op) -> Option<u32> {
//!         match op {
//!             Op::Set(number) => Some(*number),
//!             Op::Reads(number) => (number == state).then_some(*number),
//!         }
//!     }
//! }
//!
//! // A client sets it to 1 and dies. It is read as 1, and then as 0.
//! let set = Operation { op: Op::Set(1), asked: 0, heard: None };
//! let one = Operation { op: Op::Reads(1), asked: 10, heard: Some(20) };
//! let zero = Operation { op: Op::Reads(0), asked: 30, heard: Some(40) };
//! let (verdict, _) = decide(&Register, &[set, one, zero], 1_000);
//! assert!(matches!(verdict, Verdict::Impossible { .. }));
//! ```

pub mod locks;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

/// A moment. Operations are compared by these alone, so any clock will do that all share, or the
/// number of what was written down. Equal moments say nothing about order.
pub type Moment = u64;

/// An object to which one thing happens after the other.
pub trait Object {
    /// What it is at some point.
    type State: Clone + Ord;
    /// What is done, and what is known to have come of it.
    type Op;

    /// What it is at the beginning.
    fn start(&self) -> Self::State;

    /// What it is after this operation; nothing if that cannot have the known result in this state.
    fn step(&self, state: &Self::State, op: &Self::Op) -> Option<Self::State>;

    /// Whether this operation leaves *every* state in which it is possible as it is.
    fn only_looks(&self, op: &Self::Op) -> bool {
        let _ = op;
        false
    }
}

/// What a client did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation<Op> {
    /// What, and what came of it.
    pub op: Op,
    /// When it was asked for.
    pub asked: Moment,
    /// When its result was heard. An open operation may be done at any time after it was asked for,
    /// or never (H2).
    pub heard: Option<Moment>,
}

/// Whether a history is linearizable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict<State> {
    /// It is: like this, by places in the history.
    Possible {
        /// The order. Open operations that were not needed are not in it.
        order: Vec<usize>,
    },
    /// It is not.
    Impossible {
        /// One of the longest orders that go some way.
        order: Vec<usize>,
        /// The state after it.
        state: State,
        /// The operations one of which would have to be next, by their places. None is possible, or
        /// leads on.
        stuck: Vec<usize>,
    },
    /// This many steps were not enough to tell.
    Undecided,
}

/// What the search took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// How many operations there were.
    pub operations: usize,
    /// How often one was done, and undone or kept.
    pub steps: u64,
}

/// Decides whether a history is linearizable, in at most this many steps.
pub fn decide<O: Object>(
    object: &O,
    history: &[Operation<O::Op>],
    most: u64,
) -> (Verdict<O::State>, Effort) {
    let mut effort = Effort { operations: history.len(), steps: 0 };
    // Which open operation is tried first decides nothing but how long it takes: a little of each.
    let little = most / 8;
    for (oldest_first, most) in [(false, little), (true, little), (false, most - 2 * little)] {
        let mut search = Search::new(object, history, oldest_first);
        let verdict = search.run(most);
        effort.steps += search.steps;
        if verdict != Verdict::Undecided {
            return (verdict, effort);
        }
    }
    (Verdict::Undecided, effort)
}

/// Some of the operations, by their places.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Set(Box<[u64]>);

impl Set {
    fn none(of: usize) -> Self {
        Set(vec![0; of.div_ceil(64)].into())
    }

    fn contains(&self, place: usize) -> bool {
        self.0[place / 64] >> (place % 64) & 1 == 1
    }

    fn flip(&mut self, place: usize) {
        self.0[place / 64] ^= 1 << (place % 64);
    }

    fn is_within(&self, other: &Set) -> bool {
        self.0.iter().zip(&other.0).all(|(mine, its)| mine & !its == 0)
    }
}

/// A point of the search: a state, and the operations that may be next.
struct Point<State> {
    state: State,
    /// What is still to be tried, the most promising last.
    next: Vec<usize>,
}

struct Search<'a, O: Object> {
    object: &'a O,
    history: &'a [Operation<O::Op>],
    oldest_first: bool,
    /// The places of operations with a result in the order in which they were asked for, and of
    /// open ones.
    closed: Vec<usize>,
    open: Vec<usize>,
    /// All of `closed` before this index are done, at least.
    from: Vec<usize>,
    /// What is done: of operations with a result, and of open ones.
    done: [Set; 2],
    /// What was come to before: the state after operations with a result, and the open ones with
    /// which that was possible.
    seen: BTreeMap<(Set, O::State), Vec<Set>>,
    /// What was done, one for each point but the first.
    order: Vec<usize>,
    points: Vec<Point<O::State>>,
    steps: u64,
}

impl<'a, O: Object> Search<'a, O> {
    fn new(object: &'a O, history: &'a [Operation<O::Op>], oldest_first: bool) -> Self {
        let mut places: Vec<usize> = (0..history.len()).collect();
        places.sort_by_key(|place| history[*place].asked);
        let is_closed = |place: &usize| history[*place].heard.is_some();
        let (closed, open) = places.into_iter().partition(is_closed);
        Search {
            object,
            history,
            oldest_first,
            closed,
            open,
            from: Vec::new(),
            done: [Set::none(history.len()), Set::none(history.len())],
            seen: BTreeMap::new(),
            order: Vec::new(),
            points: Vec::new(),
            steps: 0,
        }
    }

    fn run(&mut self, most: u64) -> Verdict<O::State> {
        self.arrive(self.object.start());
        let mut furthest: Option<(Vec<usize>, O::State, Vec<usize>)> = None;
        while let Some(point) = self.points.last_mut() {
            if self.from.last() == Some(&self.closed.len()) {
                return Verdict::Possible { order: self.order.clone() };
            }
            let Some(place) = point.next.pop() else {
                self.go_back();
                continue;
            };
            if self.steps == most {
                return Verdict::Undecided;
            }
            self.steps += 1;
            let Some(state) = self.object.step(&point.state, &self.history[place].op) else {
                continue;
            };
            // Never doing it is the same.
            if self.history[place].heard.is_none() && state == point.state {
                continue;
            }
            if self.object.only_looks(&self.history[place].op) {
                point.next.clear();
            }
            self.flip(place);
            if self.is_new(&state) {
                self.order.push(place);
                self.arrive(state);
                if furthest.as_ref().is_none_or(|(order, ..)| order.len() < self.order.len()) {
                    furthest = self
                        .points
                        .last()
                        .map(|point| (self.order.clone(), point.state.clone(), point.next.clone()));
                }
            } else {
                self.flip(place);
            }
        }
        let (order, state, stuck) = furthest.unwrap_or_else(|| {
            let (next, _) = self.next(0);
            (Vec::new(), self.object.start(), next)
        });
        Verdict::Impossible { order, state, stuck }
    }

    fn arrive(&mut self, state: O::State) {
        let (next, from) = self.next(self.from.last().copied().unwrap_or_default());
        self.from.push(from);
        self.points.push(Point { state, next });
    }

    fn go_back(&mut self) {
        self.points.pop();
        self.from.pop();
        if let Some(place) = self.order.pop() {
            self.flip(place);
        }
    }

    fn flip(&mut self, place: usize) {
        self.done[usize::from(self.history[place].heard.is_none())].flip(place);
    }

    fn is_done(&self, place: usize) -> bool {
        self.done.iter().any(|done| done.contains(place))
    }

    /// Whether nothing was tried before from which all could follow that can follow now.
    fn is_new(&mut self, state: &O::State) -> bool {
        let [closed, open] = &self.done;
        let before = self.seen.entry((closed.clone(), state.clone())).or_default();
        if before.iter().any(|fewer| fewer.is_within(open)) {
            return false;
        }
        before.retain(|more| !open.is_within(more));
        before.push(open.clone());
        true
    }

    /// The operations that nothing has to come before (H3), and up to where all are done. Those that
    /// only look are tried first, then those whose results were heard first, then open ones.
    fn next(&self, from: usize) -> (Vec<usize>, usize) {
        let from = (from..self.closed.len()).find(|index| !self.is_done(self.closed[*index]));
        let from = from.unwrap_or(self.closed.len());
        let mut before = Moment::MAX;
        let mut next = Vec::new();
        for place in &self.closed[from..] {
            let operation = &self.history[*place];
            if operation.asked > before {
                break;
            }
            if !self.is_done(*place) {
                before = before.min(operation.heard.unwrap_or(Moment::MAX));
                next.push(*place);
            }
        }
        next.retain(|place| self.history[*place].asked <= before);
        let looks = |place: &usize| self.object.only_looks(&self.history[*place].op);
        next.sort_by_key(|place| (looks(place), std::cmp::Reverse(self.history[*place].heard)));
        let open = self.open.iter().filter(|place| !self.is_done(**place));
        let may = |place: &&usize| self.history[**place].asked <= before;
        let mut all: Vec<usize> = open.take_while(may).copied().collect();
        if self.oldest_first {
            all.reverse();
        }
        all.append(&mut next);
        (all, from)
    }
}
