//! Whether every run comes to its goal for good.
//!
//! A run that does not is one that misses the goal again and again, or that is over without it. It
//! need not wait for faults and inputs; but what is due and stays so happens some time, or the run
//! is not a fair one and proves nothing.
//!
//! After a while, an endless run sees only states that it sees again and again, and they are parts
//! of one strongly connected component. So it is enough to look at components: one that has a state
//! where the goal does not hold, and a step for whatever is due in all of its states, has a fair run
//! that goes through all of its states and steps for ever, and misses the goal. One that has no step
//! for something that is due in all of its states has no fair run in any part of it either: there,
//! too, it is due in all states and has no step.

use crate::check::Counterexample;
use crate::explore::Explorer;
use crate::fair::View;
use crate::lasso;
use crate::limits::Limit;
use crate::model::{Model, Timing};
use crate::scc::{Components, Graph, components};
use crate::store::{SHARDS, StateId, place_of};
use bellwether_algorithms::referee::Breach;
use bellwether_core::Erasable;

/// A run that never comes to its goal for good, if there is one, and if this much memory is enough
/// to tell.
pub(crate) fn missed<P: Erasable>(
    model: &Model<P>,
    explorer: &mut Explorer<'_, P>,
    memory: u64,
) -> Result<Option<Counterexample>, Limit> {
    let (Some(goal), Some(edges)) = (&model.goal, explorer.edges.take()) else { return Ok(None) };
    let graph = Graph::new(edges);
    let needs = Components::memory(graph.bound());
    explorer.progress.memory += needs;
    if explorer.progress.memory > memory {
        return Err(Limit::Memory);
    }
    let mut view = View::new(explorer, &graph, goal);
    let mut nearest = Nearest::new();
    let components = components(&graph, &mut |found, members| {
        if misses(&mut view, found, members) {
            nearest.look(&mut view, members);
        }
    });
    let Some(entry) = nearest.entry(&mut view) else { return Ok(None) };
    let cycle = lasso::round(&mut view, &components, entry);
    let way = explorer.way_to(entry);
    let stem = explorer.actions_along(&way);
    let breach = Breach { name: goal.name, text: goal.text, by: Vec::new() };
    Ok(Some(Counterexample { breach, stem, cycle, missed: true }))
}

/// Whether a fair run may stay in a component and miss the goal.
fn misses<P: Erasable>(
    view: &mut View<'_, '_, P>,
    found: &Components,
    members: &[StateId],
) -> bool {
    let Some(&first) = members.first() else { return false };
    // Nearly all components are of this kind, and runs only pass through nearly all of these. Where
    // there is one time for all, they pass through all: when nothing else is due, time is.
    if members.len() == 1 && !view.graph.after(first).contains(&first) {
        let timed = matches!(view.timing(), Timing::Bounded { .. });
        return !timed && view.is_at_rest(first) && !view.holds(first);
    }
    members.iter().any(|state| !view.holds(*state)) && is_fair(view, found, members)
}

/// Whether whatever is due in all states of a component happens in it.
fn is_fair<P: Erasable>(
    view: &mut View<'_, '_, P>,
    found: &Components,
    members: &[StateId],
) -> bool {
    let (mut throughout, mut now) = (Vec::new(), Vec::new());
    let Some((first, others)) = members.split_first() else { return true };
    view.due(*first, &mut throughout);
    for state in others {
        if throughout.is_empty() {
            return true;
        }
        view.due(*state, &mut now);
        throughout.retain(|due| now.contains(due));
    }
    let mut steps = Vec::new();
    for state in members {
        if throughout.is_empty() {
            return true;
        }
        view.steps(*state, found, &mut steps);
        throughout.retain(|due| steps.iter().all(|step| step.due.as_ref() != Some(due)));
    }
    throughout.is_empty()
}

/// Of the states of all components that miss the goal, those that are found first: in a shard, no
/// later one is nearer to the beginning.
struct Nearest {
    any: [StateId; SHARDS],
    /// The goal does not hold in the state itself.
    missing: [StateId; SHARDS],
}

const NONE: StateId = StateId::MAX;

impl Nearest {
    fn new() -> Self {
        Nearest { any: [NONE; SHARDS], missing: [NONE; SHARDS] }
    }

    fn look<P: Erasable>(&mut self, view: &mut View<'_, '_, P>, members: &[StateId]) {
        for state in members {
            let (shard, _) = place_of(*state);
            self.any[shard] = self.any[shard].min(*state);
            if *state < self.missing[shard] && !view.holds(*state) {
                self.missing[shard] = *state;
            }
        }
    }

    /// The nearest of all; and if there are several, one where the goal does not hold.
    fn entry<P: Erasable>(&self, view: &mut View<'_, '_, P>) -> Option<StateId> {
        let all = self.any.iter().chain(&self.missing).filter(|state| **state != NONE);
        let far = |state: &StateId| view.explorer.way_to(*state).len();
        let all: Vec<(usize, StateId)> = all.map(|state| (far(state), *state)).collect();
        all.into_iter()
            .min_by_key(|(far, state)| (*far, view.holds(*state), *state))
            .map(|(_, s)| s)
    }
}
