//! What need not be done where messages stay on their way for good.
//!
//! There, a state with more messages can do all that the same state with fewer can, and comes to the
//! same processes by it. So if a process can say something and be the same afterwards, it may as well
//! say it at once and before anything else happens: what is left out comes to nothing that does not
//! come up later. All states of all processes together are still visited, though not with every
//! choice of messages, and not always as soon as possible.

use crate::model::Channels;
use crate::world::{Action, Players, World};

impl<L: Players> World<L> {
    /// Leaves out what need not be done: what changes nothing; and if something only adds messages,
    /// everything else.
    pub fn narrow(&self, players: &mut L, actions: &mut Vec<Action>) {
        if players.model().channels != Channels::Unreliable {
            return;
        }
        let mut next = self.clone();
        let mut only = None;
        actions.retain(|action| {
            if only.is_some() || !is_local(*action) {
                return true;
            }
            next.clone_from(self);
            next.step(players, *action);
            let same = (&self.slots, &self.rest, &self.witness);
            if (&next.slots, &next.rest, &next.witness) != same {
                return true;
            }
            if next.inboxes != self.inboxes {
                only = Some(*action);
            }
            false
        });
        if let Some(only) = only {
            actions.clear();
            actions.push(only);
        }
    }
}

/// Whether it is a call of one process, and nothing else.
fn is_local(action: Action) -> bool {
    matches!(action, Action::Deliver { .. } | Action::Fire { .. } | Action::Input { .. })
}
