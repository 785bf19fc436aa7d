//! Strongly connected components, one after the other.
//!
//! Tarjan's algorithm as Pearce has it: one number a state, which is the order of the visit while
//! the state's component is open and the number of the component once it is closed. It keeps its
//! own stack, because a path through the states may be as long as they are many, and a thread's
//! stack is not.
//!
//! David J. Pearce: A space-efficient algorithm for finding strongly connected components,
//! Information Processing Letters 116 (2016).

use crate::explore::Edges;
use crate::store::{SHARDS, StateId, place_of};

/// All states and the steps between them.
#[derive(Debug)]
pub(crate) struct Graph {
    edges: Vec<Edges>,
}

impl Graph {
    pub(crate) fn new(edges: Vec<Edges>) -> Self {
        Graph { edges }
    }

    /// The states that follow one, in the order of the actions that lead to them.
    pub(crate) fn after(&self, state: StateId) -> &[StateId] {
        let (shard, index) = place_of(state);
        self.edges[shard].of(index)
    }

    /// One more than the largest number of a state. Shards are filled evenly, so few numbers below
    /// it are no state's, and an array by number wastes little.
    pub(crate) fn bound(&self) -> usize {
        self.edges.iter().map(Edges::len).max().unwrap_or(0) * SHARDS
    }

    fn states(&self) -> impl Iterator<Item = StateId> {
        let exists = |state: &StateId| {
            let (shard, index) = place_of(*state);
            index < self.edges[shard].len()
        };
        (0..self.bound() as StateId).filter(exists)
    }
}

/// To which component each state belongs.
#[derive(Debug)]
pub(crate) struct Components {
    of: Vec<u32>,
}

impl Components {
    /// Whether two states can be reached from each other.
    pub(crate) fn same(&self, one: StateId, other: StateId) -> bool {
        self.of[one as usize] == self.of[other as usize]
    }

    /// How much memory [`components`] takes for a graph whose states are below this bound. What
    /// comes after it, [`crate::lasso::round`], takes no more.
    pub(crate) fn memory(bound: usize) -> u64 {
        bound as u64 * 3 * 4
    }
}

/// A state on the path that is being followed: how many of its successors have been looked at, and
/// in the lowest bit whether an earlier state of the path can be reached from it.
type Frame = u32;
const REACHES_BACK: Frame = 1;
const NEXT: Frame = 2;

/// The search. A state that was visited is on the path, or waits for its component to be closed, or
/// has one: never two of these. So one array has room for the first two, from either end.
struct Search<'a> {
    graph: &'a Graph,
    found: Components,
    shelf: Vec<StateId>,
    path: usize,
    waiting: usize,
    frames: Vec<Frame>,
    /// How many are on the path or waiting.
    open: u32,
    /// The number of the next component. They count down, so that a closed state's number is larger
    /// than any open one's.
    next: u32,
}

/// Who is shown the states of a component once it is closed.
type Each<'a> = &'a mut dyn FnMut(&Components, &[StateId]);

/// Finds the components, and shows each one's states.
pub(crate) fn components(graph: &Graph, each: Each<'_>) -> Components {
    let bound = graph.bound();
    let mut search = Search {
        graph,
        found: Components { of: vec![0; bound] },
        shelf: vec![0; bound],
        path: 0,
        waiting: bound,
        frames: Vec::with_capacity(bound),
        open: 0,
        next: u32::MAX,
    };
    for state in graph.states() {
        if search.found.of[state as usize] == 0 {
            search.from(state, each);
        }
    }
    search.found
}

impl Search<'_> {
    fn from(&mut self, state: StateId, each: Each<'_>) {
        self.enter(state);
        while let Some(frame) = self.frames.last_mut() {
            let state = self.shelf[self.path - 1];
            let at = (*frame / NEXT) as usize;
            let Some(&next) = self.graph.after(state).get(at) else {
                self.leave(each);
                continue;
            };
            *frame += NEXT;
            if self.found.of[next as usize] == 0 {
                self.enter(next);
            } else {
                self.reaches(state, next);
            }
        }
    }

    fn enter(&mut self, state: StateId) {
        self.open += 1;
        self.found.of[state as usize] = self.open;
        self.shelf[self.path] = state;
        self.path += 1;
        self.frames.push(0);
    }

    /// The last state of the path leads to another.
    fn reaches(&mut self, state: StateId, next: StateId) {
        let earliest = self.found.of[next as usize];
        if earliest < self.found.of[state as usize] {
            self.found.of[state as usize] = earliest;
            if let Some(frame) = self.frames.last_mut() {
                *frame |= REACHES_BACK;
            }
        }
    }

    /// All successors of the last state of the path have been looked at.
    fn leave(&mut self, each: Each<'_>) {
        let Some(frame) = self.frames.pop() else { return };
        self.path -= 1;
        let state = self.shelf[self.path];
        self.waiting -= 1;
        self.shelf[self.waiting] = state;
        if frame & REACHES_BACK == 0 {
            self.close(state, each);
        }
        if self.path > 0 {
            self.reaches(self.shelf[self.path - 1], state);
        }
    }

    /// Those that wait since this state was visited are one component with it.
    fn close(&mut self, first: StateId, each: Each<'_>) {
        let order = self.found.of[first as usize];
        let waiting = &self.shelf[self.waiting..];
        let later = |state: &&StateId| self.found.of[**state as usize] >= order;
        let count = waiting.iter().take_while(later).count();
        let members = &waiting[..count];
        for state in members {
            self.found.of[*state as usize] = self.next;
        }
        self.next -= 1;
        self.open -= count as u32;
        self.waiting += count;
        each(&self.found, members);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::state_id;

    /// A graph of states in different shards.
    fn graph(after: &[&[usize]]) -> (Graph, Vec<StateId>) {
        let ids: Vec<StateId> = (0..after.len()).map(|k| state_id(k * 7 % 5, k / 5)).collect();
        let mut edges: Vec<Edges> = (0..SHARDS).map(|_| Edges::default()).collect();
        for (state, after) in after.iter().enumerate() {
            edges[place_of(ids[state]).0].push(after.iter().map(|next| ids[*next]));
        }
        (Graph::new(edges), ids)
    }

    fn found(after: &[&[usize]]) -> Vec<Vec<usize>> {
        let (graph, ids) = graph(after);
        let number = |id: &StateId| ids.iter().position(|other| other == id).unwrap();
        let mut found: Vec<Vec<usize>> = Vec::new();
        let all = components(&graph, &mut |_, members| {
            let mut members: Vec<usize> = members.iter().map(number).collect();
            members.sort_unstable();
            found.push(members);
        });
        for (one, other) in (0..ids.len()).flat_map(|one| (0..ids.len()).map(move |k| (one, k))) {
            let together = found.iter().any(|c| c.contains(&one) && c.contains(&other));
            assert_eq!(all.same(ids[one], ids[other]), together, "{one} and {other}");
        }
        found.sort();
        found
    }

    #[test]
    fn a_line_is_all_single_states() {
        assert_eq!(found(&[&[1], &[2], &[]]), [[0], [1], [2]]);
    }

    #[test]
    fn two_rings_and_a_bridge() {
        let after: &[&[usize]] = &[&[1], &[2, 3], &[0], &[4], &[5], &[3, 5]];
        assert_eq!(found(after), [[0, 1, 2], [3, 4, 5]]);
    }

    #[test]
    fn a_later_step_back_joins_what_looked_apart() {
        let after: &[&[usize]] = &[&[1, 4], &[2], &[3], &[1], &[5, 2], &[0], &[6]];
        assert_eq!(found(after), [vec![0, 4, 5], vec![1, 2, 3], vec![6]]);
    }

    #[test]
    fn agrees_with_reachability_on_many_graphs() {
        let mut seed = 1u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % below
        };
        for _ in 0..500 {
            let size = 1 + random(9);
            let after: Vec<Vec<usize>> =
                (0..size).map(|_| (0..random(3)).map(|_| random(size)).collect()).collect();
            let after: Vec<&[usize]> = after.iter().map(Vec::as_slice).collect();
            let mut reach = vec![vec![false; size]; size];
            for (from, next) in after.iter().enumerate() {
                reach[from][from] = true;
                next.iter().for_each(|to| reach[from][*to] = true);
            }
            for via in 0..size {
                for from in 0..size {
                    for to in 0..size {
                        reach[from][to] |= reach[from][via] && reach[via][to];
                    }
                }
            }
            let both = |one: usize, other: usize| reach[one][other] && reach[other][one];
            let of = |one: usize| (0..size).filter(|other| both(one, *other)).collect::<Vec<_>>();
            let mut expected: Vec<Vec<usize>> = (0..size).map(of).collect();
            expected.sort();
            expected.dedup();
            assert_eq!(found(&after), expected, "{after:?}");
        }
    }

    #[test]
    fn a_path_of_a_million_states_overflows_no_stack() {
        let mut edges: Vec<Edges> = (0..SHARDS).map(|_| Edges::default()).collect();
        for state in 0..1_000_000 {
            edges[place_of(state).0].push([(state + 1) % 1_000_000].into_iter());
        }
        let mut sizes = Vec::new();
        components(&Graph::new(edges), &mut |_, members| sizes.push(members.len()));
        assert_eq!(sizes, [1_000_000]);
    }
}
