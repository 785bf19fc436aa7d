//! The connections of a server, and the places of their requests.

use super::{Kind, Limits};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// All connections of a server.
#[derive(Debug)]
pub(super) struct Connections {
    limits: Limits,
    /// The free places.
    places: BTreeMap<Kind, Arc<Semaphore>>,
    inner: Mutex<Inner>,
    /// One has ended, or may be closed.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    open: usize,
    next: u64,
    /// Connections that may be closed when another one needs the place, each with the way to do so.
    closable: BTreeMap<Mark, Arc<Notify>>,
}

/// Why a connection may be closed, and since when: because it has no request under way, or because it
/// takes its time to read the answer to one of this kind.
type Mark = (Option<Kind>, u64);

impl Connections {
    pub(super) fn new(limits: Limits) -> Arc<Self> {
        let places = Kind::ALL.map(|kind| (kind, Arc::new(Semaphore::new((limits.places)(kind)))));
        let (inner, changed) = (Mutex::default(), Notify::new());
        Arc::new(Connections { limits, places: places.into(), inner, changed })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing here panics while it holds the lock; if it did, what it left is still good.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more. If there are as many as may be, it waits until another has ended, and sees to that (S1).
    pub(super) async fn enter(self: &Arc<Self>) -> Connection {
        loop {
            {
                let mut inner = self.lock();
                if inner.open < self.limits.connections {
                    inner.open += 1;
                    break;
                }
            }
            self.close_oldest(None);
            self.changed.notified().await;
        }
        let (close, mark) = (Arc::new(Notify::new()), Mutex::new(None));
        let connection = Connection { all: self.clone(), close, mark };
        connection.may_close(None);
        connection
    }

    /// Closes the connection that may be closed for this reason for longest, if there is one.
    fn close_oldest(&self, why: Option<Kind>) {
        let mut inner = self.lock();
        let oldest = inner.closable.range((why, 0)..=(why, u64::MAX)).next();
        if let Some(mark) = oldest.map(|(mark, _)| *mark)
            && let Some(close) = inner.closable.remove(&mark)
        {
            close.notify_one();
        }
    }
}

/// One connection.
#[derive(Debug)]
pub(super) struct Connection {
    all: Arc<Connections>,
    close: Arc<Notify>,
    mark: Mutex<Option<Mark>>,
}

impl Connection {
    /// Waits until it is to be closed.
    pub(super) async fn closed(&self) {
        self.close.notified().await;
    }

    /// A place for a request of this kind. If none is free, those that others wait in are not waited for;
    /// else an answer that is read slowly gives way after half the time (S4).
    pub(super) async fn place(self: &Arc<Self>, kind: Kind) -> Option<Place> {
        let free = self.all.places.get(&kind)?;
        let permit = match free.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) if matches!(kind, Kind::Wait | Kind::Stream) => return None,
            Err(_) => {
                let patience = self.all.limits.place_within / 2;
                match timeout(patience, free.clone().acquire_owned()).await {
                    Ok(permit) => permit.ok()?,
                    Err(_) => {
                        self.all.close_oldest(Some(kind));
                        timeout(patience, free.clone().acquire_owned()).await.ok()?.ok()?
                    }
                }
            }
        };
        self.must_stay();
        Some(Place { connection: self.clone(), kind, _permit: permit })
    }

    fn mark(&self) -> MutexGuard<'_, Option<Mark>> {
        self.mark.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on it may be closed when another connection needs the place.
    fn may_close(&self, why: Option<Kind>) {
        self.must_stay();
        let mark = {
            let mut inner = self.all.lock();
            let mark = (why, inner.next);
            inner.next += 1;
            inner.closable.insert(mark, self.close.clone());
            mark
        };
        *self.mark() = Some(mark);
        self.all.changed.notify_one();
    }

    fn must_stay(&self) {
        let mark = self.mark().take();
        if let Some(mark) = mark {
            self.all.lock().closable.remove(&mark);
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.must_stay();
        self.all.lock().open -= 1;
        self.all.changed.notify_one();
    }
}

/// The place of a request. It is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    connection: Arc<Connection>,
    kind: Kind,
    _permit: OwnedSemaphorePermit,
}

impl Place {
    /// From now on the answer is written.
    pub(super) fn answers(&self) {
        // A stream never ends, and closing one would only make its reader come back.
        if self.kind != Kind::Stream {
            self.connection.may_close(Some(self.kind));
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connection.may_close(None);
    }
}
