//! G16 Lease settings: how long leases last is an entry of the log.

use crate::members::ChangeError;
use crate::types::{Config, Entry, LeaseSettings, Payload};
use crate::{Cx, Log};
use bellwether_core::Machine;
use std::sync::Arc;

impl<M: Machine> Log<M> {
    /// The settings in force: the newest committed ones, else those of the configuration.
    pub fn leases(&self, config: &Config) -> LeaseSettings {
        self.committed_leases().unwrap_or(config.leases)
    }

    /// The newest committed settings, if the log has any.
    pub fn committed_leases(&self) -> Option<LeaseSettings> {
        self.whole().and_then(|whole| whole.roster.leases)
    }

    /// Changes the settings, unless they are so already. The change is done when they are committed.
    pub fn change_leases(
        &mut self,
        wanted: LeaseSettings,
        cx: &mut Cx<'_, M>,
    ) -> Result<(), ChangeError> {
        if !self.may_change_leases(wanted, cx.config())? {
            return Ok(());
        }
        let is_idle = self.commit() == self.last();
        let Some(state) = self.leader_state_mut() else { return Ok(()) };
        if is_idle {
            state.progress = cx.now();
        }
        let term = state.term;
        cx.rule("G16");
        if self.enter(term, Payload::LeaseSettings(wanted)).is_some() {
            self.push(cx);
            self.tell_commit_soon(cx);
            self.write_soon(cx);
        }
        Ok(())
    }

    /// Whether these settings would be others than those in force.
    pub fn may_change_leases(
        &self,
        wanted: LeaseSettings,
        config: &Config,
    ) -> Result<bool, ChangeError> {
        if !self.has_begun() {
            return Err(ChangeError::NotServing);
        }
        let takes_entries = self.leader_state().is_some_and(|state| state.takes_entries());
        if self.leases_are_changing() || !takes_entries {
            return Err(ChangeError::Busy);
        }
        Ok(wanted != self.leases(config))
    }

    /// Whether settings are not committed yet.
    fn leases_are_changing(&self) -> bool {
        let Some(whole) = self.whole() else { return false };
        let is_change =
            |entry: &Arc<Entry<M::Command>>| matches!(entry.payload, Payload::LeaseSettings(_));
        let entries = whole.tail.iter().rev();
        entries.take_while(|entry| entry.position.index > whole.commit.index).any(is_change)
    }
}
