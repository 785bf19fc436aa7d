//! Whether a state that came from elsewhere is one that commands can have made.
//!
//! What commands do relies on it: that a session which holds a lock or waits for it has asked for it, and
//! the other way round. A copy that does not keep to that was damaged or made up, and going on with
//! it might never end.

use crate::command::{Mode, WAITS_KEPT};
use crate::ids::{Secret, SessionId, Token};
use crate::lock::Lock;
use crate::role::{CHANGES_KEPT, Role};
use crate::state::{Coordination, DEADLOCKS_KEPT};
use std::collections::BTreeSet;

/// Counters that are nearer to their end than this have never been counted up to there.
const ROOM: u64 = 1 << 31;

impl Coordination {
    /// What is wrong with a state that came from elsewhere, if anything is.
    pub fn flaw(&self) -> Option<&'static str> {
        if !self.counts() {
            Some("a counter does not match what it counts")
        } else if !self.keys_fit() {
            Some("a session and its key do not match")
        } else if !self.locks_fit() {
            Some("a lock and the requests for it do not match")
        } else if !self.roles_fit() {
            Some("a role and its candidates do not match")
        } else if self.deadlocks.len() > DEADLOCKS_KEPT
            || self.deadlocks.iter().any(|deadlock| deadlock.cycle.len() > WAITS_KEPT)
        {
            Some("more deadlocks, or longer ones, than are remembered")
        } else {
            None
        }
    }

    fn counts(&self) -> bool {
        let last = self.sessions.keys().next_back().copied().unwrap_or_default();
        let claims = || self.sessions.values().flat_map(|session| session.requests.values());
        let highest = self.token.0.max(self.opened).max(self.asked);
        highest < u64::MAX - ROOM
            && last <= SessionId(self.opened)
            && claims().all(|claim| claim.order <= self.asked && self.gave(claim.token))
    }

    /// Whether this token, if there is one, can have been given.
    fn gave(&self, token: Option<Token>) -> bool {
        token.is_none_or(|token| token <= self.token)
    }

    fn keys_fit(&self) -> bool {
        let knows = |(id, key): (&SessionId, &Secret)| self.keys.get(key) == Some(id);
        let keys = self.sessions.iter().map(|(id, session)| (id, &session.key));
        self.keys.len() == self.sessions.len() && keys.into_iter().all(knows)
    }

    /// Every place at a lock belongs to a want, no two to the same, and there are as many of the
    /// ones as of the others.
    fn locks_fit(&self) -> bool {
        let claims = || self.sessions.values().flat_map(|session| session.requests.values());
        let wants: usize = claims().map(|claim| claim.wants.len()).sum();
        let places: usize =
            self.locks.values().map(|lock| lock.holders.len() + lock.queue.len()).sum();
        wants == places
            && claims().all(|claim| !claim.wants.is_empty())
            && self.locks.iter().all(|(name, lock)| self.lock_fits(name, lock))
    }

    fn lock_fits(&self, name: &str, lock: &Lock) -> bool {
        let wanted = |id: SessionId, number, mode: Mode, held: bool| {
            let claim = self.request(id, number);
            let wants = claim.filter(|claim| claim.token.is_some() == held);
            let mut wants = wants.into_iter().flat_map(|claim| &claim.wants);
            wants.any(|want| *want.name == *name && want.mode == mode) && lock.fits(mode)
        };
        let holders = lock.holders.iter().map(|(id, (number, mode))| (*id, *number, *mode, true));
        let queue = lock.queue.iter().map(|(id, number, mode)| (*id, *number, *mode, false));
        let mut here = BTreeSet::new();
        !lock.is_idle()
            && lock.is_held_well()
            && holders
                .chain(queue)
                .all(|(id, number, mode, held)| here.insert(id) && wanted(id, number, mode, held))
    }

    /// The same for candidates.
    fn roles_fit(&self) -> bool {
        let campaigns: usize = self.sessions.values().map(|session| session.roles.len()).sum();
        let candidates: usize = self.roles.values().map(|role| role.candidates.len()).sum();
        campaigns == candidates && self.roles.iter().all(|(name, role)| self.role_fits(name, role))
    }

    fn role_fits(&self, name: &str, role: &Role) -> bool {
        let mut here = BTreeSet::new();
        let leads = |(leader, token)| role.place(leader).is_some() && self.gave(Some(token));
        role.history.len() <= CHANGES_KEPT
            && role.leader.is_none_or(leads)
            && role.candidates.iter().all(|candidate| {
                let session = self.sessions.get(&candidate.session);
                let campaigns = session.and_then(|session| session.roles.get(name));
                here.insert(candidate.session) && campaigns == Some(&candidate.number)
            })
    }
}

impl Lock {
    /// Whether it can be asked for like this, as it is used now.
    fn fits(&self, mode: Mode) -> bool {
        match mode {
            Mode::Permits { take, of } => of == self.permits && (1..=of).contains(&take),
            Mode::Exclusive | Mode::Shared => self.permits == 0,
        }
    }

    /// Whether its holders can hold it together.
    fn is_held_well(&self) -> bool {
        let modes = || self.holders.values().map(|(_, mode)| *mode);
        let taken: u64 = modes().map(|mode| u64::from(mode.permits())).sum();
        let together = self.permits > 0 || modes().all(|mode| mode == Mode::Shared);
        taken <= u64::from(self.permits) && (together || self.holders.len() <= 1)
    }
}
