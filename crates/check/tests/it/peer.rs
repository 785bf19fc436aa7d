//! The same worlds for another explorer: stateright, which shares no line with ours.
//!
//! It plays the processes themselves, where ours plays with numbers that stand for them, and knows
//! a state again by a hash where ours compares it. Only the world's own rules are the same.

use bellwether_check::{Action, Model, Plain, World};
use bellwether_core::Erasable;
use stateright::Property;

/// A model as stateright sees it.
pub(crate) struct Peer<P: Erasable> {
    model: &'static Model<P>,
}

impl<P: Erasable> Peer<P> {
    /// Stateright's threads outlive the call that starts them, and so must what they explore: it
    /// is never given back.
    pub(crate) fn new(model: &'static Model<P>) -> Self {
        Peer { model }
    }
}

impl<P: Erasable> stateright::Model for Peer<P> {
    type State = World<Plain<'static, P>>;
    type Action = Action;

    fn init_states(&self) -> Vec<Self::State> {
        vec![Plain { model: self.model }.start()]
    }

    fn actions(&self, state: &Self::State, actions: &mut Vec<Action>) {
        state.actions(&mut Plain { model: self.model }, actions);
    }

    fn next_state(&self, state: &Self::State, action: Action) -> Option<Self::State> {
        let mut next = state.clone();
        next.step(&mut Plain { model: self.model }, action);
        Some(next)
    }

    /// It looks no further once every property is settled; this one never is.
    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("all states", |_, _| true)]
    }
}
