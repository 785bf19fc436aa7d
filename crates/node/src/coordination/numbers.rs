//! Numbers for requests that come over HTTP.
//!
//! A request of a session has a number, so that it can be asked again without being done twice, and
//! numbers grow. Over HTTP each request may come by another member, and most clients do not count.
//! So:
//! * N1 Numbers from HTTP are above all others: a request for a session that another client leads a
//!   life of its own with, such as an operator's, is never taken for one of its own.
//! * N2 To each request belong the numbers of giving up and of giving back what it was granted. So
//!   these, too, can be asked again.
//! * N3 A number that the client has not given is the time of day in microseconds, by the clock of
//!   the member that draws it: it grows within a member, and between members as well as their
//!   clocks agree. Where it does not, the coordinator says that it has forgotten such a number, and
//!   [`Numbered::again`] draws a larger one.
//! * N4 Nothing is forgotten as long as little is remembered.

use crate::wall;
use bellwether_coordination::{Number, Refusal};
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers from HTTP are above this (N1).
const BASE: u64 = 1 << 62;
/// Those that belong to one request (N2).
const EACH: u64 = 4;
/// A client's number is below this.
pub(super) const NUMBERS: u64 = 1 << 59;
/// The answers that are remembered before any is forgotten (N4), and those of a client's own
/// numbers are remembered then.
pub(super) const REMEMBERED: u64 = 256;
/// Answers to numbers that were drawn this long ago are of no use, in microseconds.
const STALE: u64 = 5_000_000;
/// When a number was too small, the next is larger by this, in microseconds.
const LEAP: u64 = 60_000_000;

static LAST: AtomicU64 = AtomicU64::new(0);

/// A request's number, as its client knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numbered {
    pub(super) shown: u64,
    /// Whether it was drawn here, so that no client can ask for it again.
    pub(super) drawn: bool,
}

impl Numbered {
    /// The client's own number, or else one that is drawn.
    pub(super) fn of(given: Option<u64>) -> Self {
        match given {
            Some(number) => Numbered { shown: number.min(NUMBERS - 1), drawn: false },
            None => Numbered::drawn(wall::micros(), 0),
        }
    }

    /// A larger one, if it was drawn.
    pub(super) fn again(self) -> Option<Self> {
        self.drawn.then(|| Numbered::drawn(wall::micros(), LEAP))
    }

    fn drawn(now: u64, leap: u64) -> Self {
        let next = |last: u64| now.max(last.saturating_add(1)).saturating_add(leap);
        let mut last = LAST.load(Ordering::Relaxed);
        loop {
            let shown = next(last).min(NUMBERS - 1);
            let order = Ordering::Relaxed;
            match LAST.compare_exchange(last, shown, order, order) {
                Ok(_) => return Numbered { shown, drawn: true },
                Err(other) => last = other,
            }
        }
    }

    /// The number of the request.
    pub(super) fn number(self) -> Number {
        BASE + EACH * self.shown
    }

    /// The number of giving back what it was granted.
    pub(super) fn release(self) -> Number {
        self.number() + 1
    }

    /// The number of giving up.
    pub(super) fn give_up(self) -> Number {
        self.number() + 2
    }

    /// Below which number no client will ask again, if much is remembered (N4).
    pub(super) fn forget_below(self) -> Number {
        let useless = if self.drawn { STALE } else { REMEMBERED };
        BASE + EACH * self.shown.saturating_sub(useless)
    }
}

/// A refusal that names a number, in numbers that the client knows.
pub(super) fn shown(refusal: Refusal) -> Refusal {
    let known = |number: Number| match number.checked_sub(BASE) {
        Some(above) => above / EACH,
        None => number,
    };
    match refusal {
        Refusal::NotAsked(number) => Refusal::NotAsked(known(number)),
        Refusal::Forgotten(number) => Refusal::Forgotten(known(number)),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n3_drawn_numbers_grow_whatever_the_clock_does() {
        let first = Numbered::of(None);
        let second = Numbered::drawn(5, 0);
        assert!(second.number() > first.give_up());
        assert!(second.forget_below() < first.number());
        let leapt = second.again().unwrap();
        assert!(leapt.shown >= second.shown + LEAP);
        assert!(Numbered::of(None).shown > leapt.shown);
    }

    #[test]
    fn n2_to_each_number_belong_others() {
        let all = |number: u64| {
            let this = Numbered::of(Some(number));
            [this.number(), this.release(), this.give_up()]
        };
        assert!(all(7).iter().all(|number| *number < all(8)[0]));
        assert!(all(0)[0] >= BASE && all(u64::MAX)[2] > BASE);
        assert_eq!(shown(Refusal::NotAsked(all(7)[1])), Refusal::NotAsked(7));
        assert_eq!(shown(Refusal::Forgotten(3)), Refusal::Forgotten(3));
    }

    #[test]
    fn n4_the_clients_own_numbers_are_remembered_for_a_while() {
        let own = Numbered::of(Some(300));
        assert_eq!(own.forget_below(), Numbered::of(Some(44)).number());
        assert_eq!((own.shown, own.again()), (300, None));
        assert_eq!(Numbered::of(Some(1)).forget_below(), BASE);
    }
}
