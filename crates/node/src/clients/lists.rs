//! Lists: pages of locks, roles and sessions, read from this member's committed state.
//!
//! # Rules
//! * K1 A connection has one page read at a time, and a few more that wait. A client that asks for more is refused.
//! * K2 All lists of a member, these and those over HTTP, take [turns](Turns): between two of them the member does
//!   its other work.
//! * K3 A member that receives a snapshot has no state to read. The page waits until it has.

use super::serve::End;
use crate::coordination::Turns;
use crate::coordination::look::Version;
use crate::handle::Handle;
use bellwether_api::client::{List, Listed, Page, ToClient};
use bellwether_coordination::{Coordination, Refusal};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;

/// The most pages that one connection waits for (K1).
pub(crate) const PENDING_MAX: usize = 4;

/// How long to wait for a state to read (K3).
const NO_STATE: Duration = Duration::from_millis(20);

/// Where pages are read.
#[derive(Clone)]
pub(crate) struct Lists {
    member: Option<(Handle, Arc<Turns>)>,
}

impl Lists {
    pub(crate) fn new(handle: Handle, turns: Arc<Turns>) -> Self {
        Lists { member: Some((handle, turns)) }
    }

    /// Without a member, for tests of connections: nothing is answered.
    #[cfg(test)]
    pub(crate) fn none() -> Self {
        Lists { member: None }
    }

    /// The lists of one connection: where they are asked for, and what answers them until the member ends.
    pub(super) fn connection(
        &self,
        own: mpsc::Sender<ToClient>,
    ) -> (ConnectionLists, impl Future<Output = End> + Send + use<>) {
        let (asks, asked) = mpsc::channel(PENDING_MAX);
        let (lists, answers) = (self.clone(), own.clone());
        (ConnectionLists { asks, own }, async move { lists.answer(asked, answers).await })
    }

    async fn answer(
        &self,
        mut asked: mpsc::Receiver<(u64, List)>,
        own: mpsc::Sender<ToClient>,
    ) -> End {
        let Some((handle, turns)) = &self.member else { return std::future::pending().await };
        while let Some((number, list)) = asked.recv().await {
            let (page, version) = loop {
                match turns.take(read(handle, list.clone())).await {
                    None => return End::Closed,
                    Some(Some(read)) => break read,
                    Some(None) => sleep(NO_STATE).await,
                }
            };
            let listed = Listed { number, version, result: Ok(page) };
            if own.send(ToClient::Listed(listed)).await.is_err() {
                return End::Closed;
            }
        }
        std::future::pending().await
    }
}

/// One page, and the position of the state that it was read from. There is none if there is no state (K3), and no answer
/// if the member has ended.
async fn read(handle: &Handle, list: List) -> Option<Option<(Page, (u64, u64))>> {
    let (found, finding) = oneshot::channel();
    let look = move |coordination: &Coordination, version: Version| {
        let _ = found.send((Page::of(coordination, &list), (version.term, version.sequence)));
    };
    match handle.look(Box::new(look)).await? {
        true => Some(Some(finding.await.ok()?)),
        false => Some(None),
    }
}

/// Where one connection asks for pages.
pub(super) struct ConnectionLists {
    asks: mpsc::Sender<(u64, List)>,
    own: mpsc::Sender<ToClient>,
}

impl ConnectionLists {
    /// Asks for a page, or refuses it (K1).
    pub(super) fn ask(&self, number: u64, list: List) {
        if self.asks.try_send((number, list)).is_err() {
            let result = Err(Refusal::TooManyRequests(PENDING_MAX as u32));
            // A client that reads none of its answers is not told even that.
            let _ = self.own.try_send(ToClient::Listed(Listed { number, version: (0, 0), result }));
        }
    }
}
