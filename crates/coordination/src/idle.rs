//! Roles without candidates.
//!
//! They are kept for their history, which an operator may want to read after the fact. But names are for
//! clients to choose, and a state that only grows would travel between members for ever (R5).

use crate::command::Stamp;
use crate::role::Role;
use crate::state::Coordination;
use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The number of idle roles that are remembered.
pub(crate) const IDLE_ROLES_KEPT: usize = 256;

/// Their names, by when each was left. They follow from the roles, so they are neither compared nor
/// sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Idle(BTreeSet<(Stamp, String)>);

impl PartialEq for Idle {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Idle {}

impl Hash for Idle {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// When it became idle, if it has no candidates: its last change.
fn left(role: &Role) -> Option<Stamp> {
    let idle = role.candidates.is_empty();
    idle.then(|| role.history.back().map_or(0, |change| change.at))
}

impl Coordination {
    /// A session is about to campaign for this role, which may have been idle.
    pub(crate) fn awaken(&mut self, name: &str) {
        if let Some(at) = self.roles.get(name).and_then(|role| left(role)) {
            self.idle.0.remove(&(at, name.to_owned()));
        }
    }

    /// R5: this role has no candidates any more. The role that became idle first is forgotten if there are
    /// too many; of several that were left at the same moment, the first by name.
    pub(crate) fn rest(&mut self, name: &str) {
        let Some(at) = self.roles.get(name).and_then(|role| left(role)) else { return };
        self.idle.0.insert((at, name.to_owned()));
        // A copy that came from elsewhere may have had more.
        while self.idle.0.len() > IDLE_ROLES_KEPT {
            let Some((_, oldest)) = self.idle.0.pop_first() else { return };
            if let Some(role) = self.roles.remove(oldest.as_str()) {
                self.bytes = self.bytes.saturating_sub(role.bytes(&oldest));
            }
        }
    }

    /// Finds them again in a state that came from elsewhere.
    pub(crate) fn find_idle(&mut self) {
        let idle =
            |(name, role): (&Arc<str>, &Arc<Role>)| left(role).map(|at| (at, name.to_string()));
        self.idle.0 = self.roles.iter().filter_map(idle).collect();
    }
}
