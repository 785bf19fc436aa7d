//! A running member: what HTTP and the daemon may ask of it.

use crate::coordination::look::{Look, Version};
use crate::wire::Wire;
use bellwether_core::{NodeId, Time};
use bellwether_member::service;
use bellwether_member::{
    Change, ChangeError, Decline, Input, LeaseSettings, Members, Service, Status,
};
use bellwether_net::{Running, View};
use std::time::Duration;
use tokio::time::sleep;

/// What a member decided to do: who is to lead next, if that is said.
pub(crate) type Decision = Result<Option<NodeId>, Decline>;

/// How many hundredths of a second a successor is given for what it lacks.
const CATCHES_UP_WITHIN: u32 = 50;

/// A running member. What is asked of it gives `None` if it has ended.
#[derive(Clone)]
pub(crate) struct Handle {
    /// The process, its connections and its clock.
    pub(crate) running: Running<Wire>,
}

impl Handle {
    /// What it would say if asked now.
    pub(crate) async fn status(&self) -> Option<Status> {
        self.running.inspect(|view| view.process.status(view.here, view.config)).await
    }

    /// Looks at what is committed of sessions, roles and locks, inside its task. Says whether there is
    /// anything to look at: there is not while the member receives a snapshot.
    pub(crate) async fn look(&self, look: Look) -> Option<bool> {
        let look = move |view: &View<'_, Service>| {
            let Some((at, coordination)) = view.process.coordination() else { return false };
            let coordinator = view.process.status(view.here, view.config).coordinator;
            let (term, sequence) = (at.term.number(), at.index.number());
            look(coordination, Version { term, sequence, coordinator });
            true
        };
        self.running.inspect(look).await
    }

    /// Asks it to do something, if it may.
    pub(crate) async fn ask(&self, input: Input) -> Option<Decision> {
        let decide = move |view: &View<'_, Service>| {
            let (member, config) = (view.process.member(), &view.config.member);
            match input {
                Input::StepDown => member.may_step_down(view.here, config).map(Some),
                Input::Transfer(to) => {
                    member.may_transfer(to, view.here, config).map(|()| Some(to))
                }
                _ => Ok(None),
            }
        };
        let mut decision = self.running.inspect(decide).await?;
        // A member that has just started is a few entries behind, for a round trip or two.
        for _ in 0..CATCHES_UP_WITHIN {
            if !matches!(decision, Err(Decline::Behind(_))) {
                break;
            }
            sleep(Duration::from_millis(10)).await;
            decision = self.running.inspect(decide).await?;
        }
        if decision.is_ok() {
            // If things have changed since it was asked, it declines by itself and says so among
            // its events.
            self.input(input).await?;
        }
        Some(decision)
    }

    /// Whether the member list may change so now, and what it would become. The second is whether it is another one.
    /// Only voters count as working that have answered something sent at that time or later; without one, at the
    /// present, which comes with the answer.
    pub(crate) async fn may_change(
        &self,
        change: Change,
        forced: bool,
        since: Option<Time>,
    ) -> Option<(Time, Result<(Members, bool), ChangeError>)> {
        let look = move |view: &View<'_, Service>| {
            let (log, here, config) = (view.process.log(), view.here, &view.config.member.log);
            let since = since.unwrap_or_else(|| here.now());
            (since, log.may_change(&change, forced, since, here, config))
        };
        self.running.inspect(look).await
    }

    /// Asks it to change the member list.
    pub(crate) async fn change(&self, change: Change, forced: bool) -> Option<()> {
        self.running.input(service::Input::Change(change, forced)).await.then_some(())
    }

    /// Whether the settings of leases may change so now, and whether these are others than those in force.
    pub(crate) async fn may_change_leases(
        &self,
        wanted: LeaseSettings,
    ) -> Option<Result<bool, ChangeError>> {
        let look = move |view: &View<'_, Service>| {
            view.process.log().may_change_leases(wanted, &view.config.member.log)
        };
        self.running.inspect(look).await
    }

    /// Asks it to change the settings of leases.
    pub(crate) async fn change_leases(&self, wanted: LeaseSettings) -> Option<()> {
        self.running.input(service::Input::ChangeLeases(wanted)).await.then_some(())
    }

    /// Tells it that it is about to end.
    pub(crate) async fn resign(&self) -> Option<()> {
        self.input(Input::Resign).await
    }

    async fn input(&self, input: Input) -> Option<()> {
        self.running.input(service::Input::Member(input)).await.then_some(())
    }
}
