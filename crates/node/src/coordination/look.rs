//! Looking at the committed state.
//!
//! It may be large. It is never handed out: a reader looks at it inside the member's task, and takes
//! away what it has made of it.

use crate::about::{ANSWERS_WITHIN, About};
use bellwether_coordination::Coordination;
use bellwether_core::NodeId;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// The position of the committed state: term and index. With it, the coordinator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) term: u64,
    pub(crate) sequence: u64,
    pub(crate) coordinator: Option<NodeId>,
}

/// What is done inside the member's task.
pub(crate) type Look = Box<dyn FnOnce(&Coordination, Version) + Send>;

/// Why nothing is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blind {
    /// The member has ended or hangs.
    Silent,
    /// It receives a snapshot and has no state yet.
    NoCopy,
}

/// Looks at the committed state.
pub(super) async fn look<T: Send + 'static>(
    about: &About,
    look: impl FnOnce(&Coordination, Version) -> T + Send + 'static,
) -> Result<T, Blind> {
    let (found, finding) = oneshot::channel();
    let look = Box::new(move |coordination: &Coordination, version| {
        drop(found.send(look(coordination, version)))
    });
    let looked = timeout(ANSWERS_WITHIN, about.handle.look(look)).await.ok().flatten();
    match looked {
        Some(true) => finding.await.map_err(|_| Blind::Silent),
        Some(false) => Err(Blind::NoCopy),
        None => Err(Blind::Silent),
    }
}
