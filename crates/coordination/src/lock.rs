//! One lock: its holders and its queue.

use crate::command::Mode;
use crate::ids::{Number, SessionId};
use crate::queue::{Queue, Waiter};
use crate::small::UsualMap;
use serde::{Deserialize, Serialize};

/// One lock. It exists while a session holds it or waits for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Lock {
    /// How many permits it has; 0 if it is no semaphore.
    pub permits: u32,
    /// The sessions that hold it, by which request and how.
    pub holders: UsualMap<SessionId, (Number, Mode)>,
    /// The sessions that wait for it, by which request and how, in the order of arrival.
    pub queue: Queue,
}

impl Lock {
    /// How many permits are taken.
    pub fn taken(&self) -> u32 {
        self.holders.values().map(|(_, mode)| mode.permits()).sum()
    }

    /// Whether no session holds it or waits for it.
    pub(crate) fn is_idle(&self) -> bool {
        self.holders.is_empty() && self.queue.is_empty()
    }

    /// Whether it can be granted in this mode beside its holders.
    pub(crate) fn admits(&self, mode: Mode) -> bool {
        match mode {
            Mode::Permits { take, .. } => take <= self.permits.saturating_sub(self.taken()),
            mode => self.holders.values().all(|(_, held)| !mode.excludes(*held)),
        }
    }

    /// Whether a request of this session is the next one.
    pub(crate) fn is_next(&self, session: SessionId) -> bool {
        self.queue.front().is_some_and(|(first, ..)| *first == session)
    }

    /// The place of a session in the queue, from 0.
    pub fn place(&self, session: SessionId) -> Option<usize> {
        self.queue.iter().position(|(waiting, ..)| *waiting == session)
    }

    /// The place of the first in the queue that does not share the lock, not counting this place.
    pub(crate) fn first_alone(&self, without: Option<usize>) -> Option<usize> {
        let alone = |(place, (_, _, mode)): &(usize, &Waiter)| {
            *mode != Mode::Shared && Some(*place) != without
        };
        self.queue.iter().enumerate().find(alone).map(|(place, _)| place)
    }

    /// Those whom the one at this place of the queue waits for directly: the one before it; and, for
    /// the first one and the first that does not share, the holders that are in its way. All others
    /// wait for these holders by way of those before them.
    pub(crate) fn waits_for(&self, place: usize) -> Vec<SessionId> {
        let Some((_, _, mode)) = self.queue.get(place) else { return Vec::new() };
        let before = place.checked_sub(1).map(|before| self.queue[before].0);
        let faces_holders = match before {
            None => true,
            Some(_) => *mode != Mode::Shared && self.first_alone(None) == Some(place),
        };
        let holders = faces_holders.then(|| self.in_the_way(*mode)).into_iter().flatten();
        before.into_iter().chain(holders).collect()
    }

    /// The holders that may have to go before it can be had like this.
    pub(crate) fn in_the_way(&self, mode: Mode) -> impl Iterator<Item = SessionId> {
        let holders = self.holders.iter().filter(move |(_, (_, held))| mode.excludes(*held));
        holders.map(|(holder, _)| *holder)
    }
}

impl Mode {
    /// How many permits it takes.
    pub fn permits(self) -> u32 {
        match self {
            Mode::Permits { take, .. } => take,
            Mode::Exclusive | Mode::Shared => 0,
        }
    }

    /// Whether a request in this mode may have to wait for a holder in that mode.
    pub(crate) fn excludes(self, held: Mode) -> bool {
        !matches!((self, held), (Mode::Shared, Mode::Shared))
    }
}
