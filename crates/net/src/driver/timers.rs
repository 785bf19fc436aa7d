//! A process's timers, by name and by deadline.

use bellwether_core::Time;

/// The armed timers. Of several with the same deadline, the one armed first fires first.
///
/// A process has a few, and moves some of them in every step: a short list is the quickest to change.
#[derive(Debug)]
pub(crate) struct Timers<T> {
    armed: Vec<(Time, u64, T)>,
    count: u64,
}

impl<T: PartialEq> Timers<T> {
    pub(crate) fn new() -> Self {
        Timers { armed: Vec::new(), count: 0 }
    }

    fn place(&self, timer: &T) -> Option<usize> {
        self.armed.iter().position(|(_, _, armed)| armed == timer)
    }

    /// Arms a timer, replacing it if it is armed.
    pub(crate) fn set(&mut self, timer: T, deadline: Time) {
        self.count += 1;
        let set = (deadline, self.count, timer);
        match self.place(&set.2) {
            Some(place) => self.armed[place] = set,
            None => self.armed.push(set),
        }
    }

    pub(crate) fn cancel(&mut self, timer: &T) {
        if let Some(place) = self.place(timer) {
            self.armed.swap_remove(place);
        }
    }

    /// When the next one fires.
    pub(crate) fn next(&self) -> Option<Time> {
        self.armed.iter().map(|(deadline, ..)| *deadline).min()
    }

    /// Takes the earliest timer that is due.
    pub(crate) fn take_due(&mut self, now: Time) -> Option<T> {
        let due = self.armed.iter().enumerate().filter(|(_, (deadline, ..))| *deadline <= now);
        let (place, _) = due.min_by_key(|(_, (deadline, count, _))| (*deadline, *count))?;
        Some(self.armed.swap_remove(place).2)
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
