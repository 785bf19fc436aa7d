//! A run that goes round for ever, made of a component that may do so.

use crate::fair::{Due, Step, View};
use crate::scc::Components;
use crate::store::StateId;
use crate::world::Action;
use bellwether_core::{Erasable, Process};

/// What is not yet shown of the round: it is finished when nothing is left.
struct Debts<T> {
    /// What has been due in every state so far, and never happened.
    due: Vec<Due<T>>,
    /// Whether the goal has held in every state so far.
    held: bool,
}

impl<T: Eq> Debts<T> {
    fn is_none(&self) -> bool {
        self.due.is_empty() && !self.held
    }
}

/// Goes round a component.
struct Round<'r, 'v, 'a, P: Process> {
    view: &'r mut View<'v, 'a, P>,
    component: &'r Components,
    debts: Debts<P::Timer>,
    steps: Vec<Step<P::Timer>>,
    /// From which state each was reached in the search that is going on.
    before: Vec<StateId>,
    /// The states that it has reached, in their order.
    reached: Vec<StateId>,
}

const NOWHERE: StateId = StateId::MAX;

/// A way from a state back to itself that may be taken for ever and misses the goal each time;
/// nothing if no step leads back, or only steps of clocks.
///
/// Whatever is due in all states of the round is due in the first. So what is due there has to
/// happen somewhere on the round, or not be due somewhere on it; and nothing else has to.
pub(crate) fn round<P: Erasable>(
    view: &mut View<'_, '_, P>,
    component: &Components,
    first: StateId,
) -> Vec<Action> {
    let mut due = Vec::new();
    view.due(first, &mut due);
    let debts = Debts { due, held: view.holds(first) };
    let bound = view.graph.bound();
    let (before, reached) = (vec![NOWHERE; bound], Vec::with_capacity(bound));
    let mut round = Round { view, component, debts, steps: Vec::new(), before, reached };
    let mut way = Vec::new();
    let mut last = first;
    while !round.debts.is_none() {
        // Of a component that may go on for ever, everything is settled some time.
        let Some(steps) = round.search(last, None) else { break };
        round.settle(&steps);
        last = steps.last().map_or(last, |step| step.to);
        way.extend(steps);
    }
    if last != first || way.is_empty() {
        way.extend(round.search(last, Some(first)).unwrap_or_default());
    }
    let actions: Vec<Action> = way.iter().map(|step| step.action).collect();
    // If clocks are all that still moves, the run is over.
    let moves = |action: &Action| !matches!(action, Action::Tick { .. });
    if actions.iter().any(moves) { actions } else { Vec::new() }
}

impl<P: Erasable> Round<'_, '_, '_, P> {
    /// The shortest way to a state; or, if none is named, to a step that settles something.
    fn search(&mut self, from: StateId, to: Option<StateId>) -> Option<Vec<Step<P::Timer>>> {
        for state in self.reached.drain(..) {
            self.before[state as usize] = NOWHERE;
        }
        self.reached.push(from);
        self.before[from as usize] = from;
        let mut steps = std::mem::take(&mut self.steps);
        let mut looked_at = 0;
        let mut found = None;
        while let Some(&state) = self.reached.get(looked_at)
            && found.is_none()
        {
            looked_at += 1;
            self.view.steps(state, self.component, &mut steps);
            for step in &steps {
                let is_new = self.before[step.to as usize] == NOWHERE;
                let is_last = match to {
                    Some(to) => step.to == to,
                    None => self.settles(step, is_new),
                };
                if is_last {
                    found = Some((state, step.clone()));
                    break;
                }
                if is_new {
                    self.before[step.to as usize] = state;
                    self.reached.push(step.to);
                }
            }
        }
        self.steps = steps;
        let (state, step) = found?;
        let mut way = self.way(from, state);
        way.push(step);
        Some(way)
    }

    /// Whether a step settles something: first that the goal is missed, then the rest, of which much
    /// is settled on the way. A state that was reached before was found not to.
    fn settles(&mut self, step: &Step<P::Timer>, is_new: bool) -> bool {
        if self.debts.held {
            return is_new && !self.view.holds(step.to);
        }
        if step.due.as_ref().is_some_and(|due| self.debts.due.contains(due)) {
            return true;
        }
        if !is_new {
            return false;
        }
        let mut due = Vec::new();
        self.view.due(step.to, &mut due);
        self.debts.due.iter().any(|debt| !due.contains(debt))
    }

    /// Takes steps.
    fn settle(&mut self, steps: &[Step<P::Timer>]) {
        let mut due = Vec::new();
        for step in steps {
            self.view.due(step.to, &mut due);
            self.debts.due.retain(|debt| Some(debt) != step.due.as_ref() && due.contains(debt));
            self.debts.held = self.debts.held && self.view.holds(step.to);
        }
    }

    /// The steps by which the search has come to a state.
    fn way(&mut self, from: StateId, state: StateId) -> Vec<Step<P::Timer>> {
        let mut way = Vec::new();
        let mut last = state;
        while last != from {
            let before = self.before[last as usize];
            let mut steps = std::mem::take(&mut self.steps);
            self.view.steps(before, self.component, &mut steps);
            way.extend(steps.iter().find(|step| step.to == last).cloned());
            self.steps = steps;
            last = before;
        }
        way.reverse();
        way
    }
}
