//! Whether a cluster could have a coordinator: times in which it cannot are no fault of its own.

use bellwether_net::Clock;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Whether some member that is up reaches a majority of all members that is up, both ways.
pub(super) fn could_lead(
    up: &BTreeSet<u32>,
    size: usize,
    reaches: impl Fn(u32, u32) -> bool,
) -> bool {
    up.iter().any(|one| {
        let both = |other: &&u32| *other == one || reaches(*one, **other) && reaches(**other, *one);
        up.iter().filter(both).count() * 2 > size
    })
}

/// Stretches of time in which something was so: from when to when, by the histories' clock.
#[derive(Debug, Default)]
pub(super) struct Stretches {
    all: Vec<(u64, u64)>,
    open: bool,
}

impl Stretches {
    /// It is so now, or it is not.
    pub(super) fn note(&mut self, is_so: bool, now: u64) {
        match (self.open, is_so) {
            (false, true) => self.all.push((now, u64::MAX)),
            (true, false) => self.end(now),
            (true, true) | (false, false) => {}
        }
        self.open = is_so;
    }

    fn end(&mut self, now: u64) {
        if let Some((_, until)) = self.all.last_mut() {
            *until = (*until).min(now);
        }
    }

    /// All of them; one that goes on ends now.
    pub(super) fn until(&self, now: u64) -> Vec<(u64, u64)> {
        self.all.iter().map(|(from, until)| (*from, (*until).min(now))).collect()
    }
}

/// Measures how long the machine keeps a thread waiting that wants to run.
#[derive(Debug, Default)]
pub(super) struct Lateness(Arc<Measured>);

#[derive(Debug, Default)]
struct Measured {
    longest_us: AtomicU64,
    over: AtomicBool,
}

/// How long the thread sleeps.
const SLEEPS: Duration = Duration::from_millis(10);

impl Lateness {
    /// Begins to measure.
    #[expect(
        clippy::disallowed_methods,
        reason = "it measures how late a sleeping thread wakes up"
    )]
    pub(super) fn start() -> std::io::Result<Self> {
        let lateness = Lateness::default();
        let measured = lateness.0.clone();
        std::thread::Builder::new().name("lateness".to_owned()).spawn(move || {
            while !measured.over.load(Ordering::Relaxed) {
                let begun = Clock::shared();
                std::thread::sleep(SLEEPS);
                let late = Clock::shared().since(begun).saturating_sub(SLEEPS);
                measured.longest_us.fetch_max(late.as_micros() as u64, Ordering::Relaxed);
            }
        })?;
        Ok(lateness)
    }

    /// The longest wait so far, in microseconds.
    pub(super) fn longest_us(&self) -> u64 {
        self.0.longest_us.load(Ordering::Relaxed)
    }
}

impl Drop for Lateness {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn up(ids: &[u32]) -> BTreeSet<u32> {
        ids.iter().copied().collect()
    }

    #[test]
    fn a_majority_that_is_up_and_connected_could_lead() {
        let all = |_, _| true;
        assert!(could_lead(&up(&[1, 3]), 3, all));
        assert!(!could_lead(&up(&[1]), 3, all), "a majority is down");
        assert!(!could_lead(&up(&[1, 2]), 4, all), "half is no majority");
        assert!(could_lead(&up(&[1]), 1, all));
    }

    #[test]
    fn one_member_must_reach_a_majority_both_ways() {
        let chain = |a: u32, b: u32| a.abs_diff(b) == 1;
        assert!(could_lead(&up(&[1, 2, 3]), 3, chain), "the middle one");
        assert!(!could_lead(&up(&[1, 3]), 3, chain), "the middle one is down");
        assert!(could_lead(&up(&[1, 2, 3, 4, 5]), 5, chain));
        assert!(!could_lead(&up(&[1, 2, 4, 5]), 5, chain));
        let one_way = |a: u32, b: u32| a < b;
        assert!(!could_lead(&up(&[1, 2, 3]), 3, one_way));
    }

    #[test]
    fn a_stretch_goes_from_the_first_look_to_the_first_that_differs() {
        let mut stretches = Stretches::default();
        for (is_so, now) in [(false, 1), (true, 5), (true, 7), (false, 9), (false, 11), (true, 20)]
        {
            stretches.note(is_so, now);
        }
        assert_eq!(stretches.until(22), [(5, 9), (20, 22)]);
    }

    #[test]
    fn lateness_is_measured() {
        let lateness = Lateness::start().unwrap();
        while lateness.longest_us() == 0 {
            std::thread::yield_now();
        }
    }
}
