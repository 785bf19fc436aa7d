//! A running member, whatever its election: what HTTP and the daemon may ask of it.
//!
//! The driver is generic over the election. HTTP is not: it asks through this trait, and the
//! compiler makes one copy of the handlers and not six.

use crate::duties::look::{Look, Version};
use crate::wire::Wire;
use bellwether_algorithms::election::Election;
use bellwether_core::NodeId;
use bellwether_duties::Request as Want;
use bellwether_member::steward::Conn;
use bellwether_member::{Decline, Input, Status, steward};
use bellwether_net::{Clock, Counters, FaultsNotAllowed, PeerState, RunError, Running, Traffic};
use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use tokio::sync::broadcast;

/// What comes of asking a member; `None` if it has ended.
pub(crate) type Answer<'a, T> = Pin<Box<dyn Future<Output = Option<T>> + Send + 'a>>;

/// What may be asked of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Hold an election.
    Elect,
    /// Hand the mandate to the best of the others.
    StepDown,
    /// Hand the mandate to this member.
    Transfer(NodeId),
}

/// What a member decided to do: who is to lead next, if that is said.
pub(crate) type Decision = Result<Option<NodeId>, Decline>;

/// A running member.
pub(crate) trait Seat: Send + Sync {
    /// What it would say if asked now.
    fn status(&self) -> Answer<'_, Status>;
    /// Looks at its copy of sessions, roles and locks, inside its task. Says whether there is one:
    /// after a start there is none until the coordinator has sent it.
    fn look(&self, look: Look) -> Answer<'_, bool>;
    /// Asks it to do something, if it may.
    fn ask(&self, request: Request) -> Answer<'_, Decision>;
    /// Gives it what its clients want; `None` if it has ended.
    fn want(&self, wants: Vec<(Conn, Want)>) -> Answer<'_, ()>;
    /// Tells it that it is about to end.
    fn resign(&self) -> Answer<'_, ()>;
    /// How it stands with each other member.
    fn peers(&self) -> Vec<PeerState>;
    /// What the driver counted.
    fn counters(&self) -> Counters;
    /// The messages that it sends and receives from now on.
    fn traffic(&self) -> broadcast::Receiver<Traffic>;
    /// Its clock.
    fn clock(&self) -> Clock;
    /// For development: cuts it off from these members.
    fn partition(&self, blocked: BTreeSet<NodeId>) -> Result<(), FaultsNotAllowed>;
    /// Waits until it has ended, and says how.
    fn finished(&self) -> Pin<Box<dyn Future<Output = Result<(), RunError>> + Send + '_>>;
    /// Ends it.
    fn stop(&self) -> Pin<Box<dyn Future<Output = Result<(), RunError>> + Send + '_>>;
}

impl<E: Election> Seat for Running<Wire<E>> {
    fn status(&self) -> Answer<'_, Status> {
        Box::pin(self.inspect(|view| view.process.status(view.here, view.config)))
    }

    fn look(&self, look: Look) -> Answer<'_, bool> {
        Box::pin(self.inspect(move |view| {
            let Some((version, duties)) = view.process.duties() else { return false };
            let coordinator = view.process.status(view.here, view.config).coordinator;
            let (epoch, sequence) = (version.epoch.number(), version.sequence);
            look(duties, Version { epoch, sequence, coordinator });
            true
        }))
    }

    fn ask(&self, request: Request) -> Answer<'_, Decision> {
        Box::pin(async move {
            let decision = self
                .inspect(move |view| match request {
                    Request::Elect => Ok(None),
                    Request::StepDown => view
                        .process
                        .member()
                        .may_step_down(view.here, &view.config.member)
                        .map(Some),
                    Request::Transfer(to) => {
                        let member = view.process.member();
                        member.may_transfer(to, view.here, &view.config.member).map(|()| Some(to))
                    }
                })
                .await?;
            if decision.is_ok() {
                // If things have changed since it was asked, it declines by itself and says so
                // among its events.
                let input = match request {
                    Request::Elect => Input::Elect,
                    Request::StepDown => Input::StepDown,
                    Request::Transfer(to) => Input::Transfer(to),
                };
                self.input(steward::Input::Member(input)).await.then_some(())?;
            }
            Some(decision)
        })
    }

    fn want(&self, wants: Vec<(Conn, Want)>) -> Answer<'_, ()> {
        Box::pin(async { self.input(steward::Input::Wants(wants)).await.then_some(()) })
    }

    fn resign(&self) -> Answer<'_, ()> {
        Box::pin(async { self.input(steward::Input::Member(Input::Resign)).await.then_some(()) })
    }

    fn peers(&self) -> Vec<PeerState> {
        Running::peers(self)
    }

    fn counters(&self) -> Counters {
        Running::counters(self)
    }

    fn traffic(&self) -> broadcast::Receiver<Traffic> {
        Running::traffic(self)
    }

    fn clock(&self) -> Clock {
        Running::clock(self)
    }

    fn partition(&self, blocked: BTreeSet<NodeId>) -> Result<(), FaultsNotAllowed> {
        Running::partition(self, blocked)
    }

    fn finished(&self) -> Pin<Box<dyn Future<Output = Result<(), RunError>> + Send + '_>> {
        Box::pin(Running::finished(self))
    }

    fn stop(&self) -> Pin<Box<dyn Future<Output = Result<(), RunError>> + Send + '_>> {
        Box::pin(Running::stop(self.clone()))
    }
}
