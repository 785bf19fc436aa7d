//! What must happen, if it stays possible.

use crate::explore::Explorer;
use crate::model::{Channels, Timing};
use crate::scc::{Components, Graph};
use crate::store::StateId;
use crate::tables::{Id, Numbers, Tables};
use crate::world::{Action, Players};
use bellwether_core::{Erasable, Goal, Process};

/// What is due, by a name that it keeps from state to state. An [`Action`] says only where in an
/// inbox or in a list of timers to look, and there things move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due<T> {
    /// A message arrives.
    Arrival {
        from: u8,
        to: u8,
        /// Which, where messages overtake each other. Otherwise it is the first of its link, which
        /// stays the first until it arrives. Numbers differ from run to run, but in one run the
        /// same messages have the same number, and they are only ever compared for that.
        msg: Option<Id>,
    },
    /// A timer fires.
    Timer { place: u8, timer: T },
    /// Time goes on.
    Tick { place: Option<u8> },
}

/// What is due if an action is possible; nothing, if it need never happen.
fn due<P: Process>(
    tables: &mut Tables<'_, P>,
    world: &Numbers<'_, P>,
    action: Action,
) -> Option<Due<P::Timer>> {
    match action {
        Action::Deliver { to, at } => {
            let taken = tables.take(&world.inboxes[usize::from(to)], at);
            let overtakes = tables.model().channels == Channels::Reorder;
            Some(Due::Arrival { from: taken.from, to, msg: overtakes.then_some(taken.msg) })
        }
        Action::Fire { place, at } => {
            let slot = tables.slot(world.slots[usize::from(place)]);
            Some(Due::Timer { place, timer: slot.timers[usize::from(at)].timer.clone() })
        }
        Action::Tick { place } => Some(Due::Tick { place }),
        _ => None,
    }
}

/// A step from one state to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step<T> {
    pub(crate) action: Action,
    pub(crate) due: Option<Due<T>>,
    pub(crate) to: StateId,
}

/// Looks at states that were found.
pub(crate) struct View<'v, 'a, P: Process> {
    pub(crate) explorer: &'v mut Explorer<'a, P>,
    pub(crate) graph: &'v Graph,
    pub(crate) goal: &'v Goal<P>,
    actions: Vec<Action>,
}

impl<'v, 'a, P: Erasable> View<'v, 'a, P> {
    pub(crate) fn new(
        explorer: &'v mut Explorer<'a, P>,
        graph: &'v Graph,
        goal: &'v Goal<P>,
    ) -> Self {
        View { explorer, graph, goal, actions: Vec::new() }
    }

    /// What is known of time.
    pub(crate) fn timing(&mut self) -> Timing {
        self.explorer.tables().model().timing
    }

    /// Whether the goal holds in a state.
    pub(crate) fn holds(&mut self, state: StateId) -> bool {
        let world = self.explorer.world(state);
        let tables = self.explorer.tables();
        let ring = tables.plain.model.group.ring();
        let slots: Vec<_> = world.slots.iter().map(|id| tables.slot(*id)).collect();
        let processes = ring.iter().zip(&slots);
        (self.goal.holds)(&mut processes.filter_map(|(who, slot)| Some((*who, slot.process()?))))
    }

    /// What is due in a state. Where only the horizon forbids that time goes on, it is due all the
    /// same: it never comes, so that no run is judged by having ended there.
    pub(crate) fn due(&mut self, state: StateId, found: &mut Vec<Due<P::Timer>>) {
        found.clear();
        let world = self.explorer.world(state);
        let tables = self.explorer.tables();
        world.actions_until(None, tables, &mut self.actions);
        found.extend(self.actions.iter().filter_map(|action| due(tables, &world, *action)));
    }

    /// Whether nothing is due in a state.
    pub(crate) fn is_at_rest(&mut self, state: StateId) -> bool {
        let world = self.explorer.world(state);
        world.actions_until(None, self.explorer.tables(), &mut self.actions);
        !self.actions.iter().any(|action| action.is_due())
    }

    /// The steps from a state to others of its component.
    pub(crate) fn steps(
        &mut self,
        state: StateId,
        within: &Components,
        found: &mut Vec<Step<P::Timer>>,
    ) {
        found.clear();
        let world = self.explorer.world(state);
        let tables = self.explorer.tables();
        world.actions(tables, &mut self.actions);
        let after = self.graph.after(state);
        debug_assert_eq!(after.len(), self.actions.len(), "one successor an action");
        let steps = self.actions.iter().zip(after).filter(|(_, to)| within.same(state, **to));
        found.extend(steps.map(|(action, to)| Step {
            action: *action,
            due: due(tables, &world, *action),
            to: *to,
        }));
    }
}
