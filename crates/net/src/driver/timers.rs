//! A process's timers, by name and by deadline.

use bellwether_core::Time;
use std::collections::{BTreeMap, BTreeSet};

/// The armed timers. Of several with the same deadline, the one armed first fires first.
#[derive(Debug)]
pub(crate) struct Timers<T> {
    armed: BTreeMap<T, (Time, u64)>,
    order: BTreeSet<(Time, u64, T)>,
    count: u64,
}

impl<T: Clone + Ord> Timers<T> {
    pub(crate) fn new() -> Self {
        Timers { armed: BTreeMap::new(), order: BTreeSet::new(), count: 0 }
    }

    /// Arms a timer, replacing it if it is armed.
    pub(crate) fn set(&mut self, timer: T, deadline: Time) {
        self.cancel(&timer);
        self.count += 1;
        self.armed.insert(timer.clone(), (deadline, self.count));
        self.order.insert((deadline, self.count, timer));
    }

    pub(crate) fn cancel(&mut self, timer: &T) {
        if let Some((deadline, count)) = self.armed.remove(timer) {
            self.order.remove(&(deadline, count, timer.clone()));
        }
    }

    /// When the next one fires.
    pub(crate) fn next(&self) -> Option<Time> {
        self.order.first().map(|first| first.0)
    }

    /// Takes the earliest timer that is due.
    pub(crate) fn take_due(&mut self, now: Time) -> Option<T> {
        self.order.first().filter(|(deadline, ..)| *deadline <= now)?;
        let (_, _, timer) = self.order.pop_first()?;
        self.armed.remove(&timer);
        Some(timer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Time {
        Time::from_micros(micros)
    }

    #[test]
    fn fire_in_the_order_of_their_deadlines() {
        let mut timers = Timers::new();
        timers.set('a', at(30));
        timers.set('b', at(10));
        timers.set('c', at(20));
        timers.set('d', at(10));
        assert_eq!(timers.next(), Some(at(10)));
        assert_eq!(timers.take_due(at(9)), None);
        let fired: Vec<_> = std::iter::from_fn(|| timers.take_due(at(25))).collect();
        assert_eq!(fired, ['b', 'd', 'c']);
    }

    #[test]
    fn replaced_and_cancelled_ones_do_not_fire() {
        let mut timers = Timers::new();
        timers.set('a', at(10));
        timers.set('a', at(50));
        timers.set('b', at(10));
        timers.cancel(&'b');
        timers.cancel(&'c');
        assert_eq!(timers.take_due(at(49)), None);
        assert_eq!(timers.take_due(at(50)), Some('a'));
        assert_eq!(timers.next(), None);
    }
}
