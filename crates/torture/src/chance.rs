//! Pseudo-random numbers by a seed: what is done and what goes wrong, not when it happens.

use std::time::Duration;

/// A stream of draws (SplitMix64, Steele, Lea and Flood 2014).
#[derive(Clone, Debug)]
pub(super) struct Chance(u64);

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Chance {
    /// The stream of a seed and further keys: every process and task has its own.
    pub(super) fn new(seed: u64, keys: &[u64]) -> Self {
        let mut chance = Chance(seed);
        for key in keys {
            chance.0 = chance.bits() ^ key.wrapping_mul(GOLDEN);
        }
        chance
    }

    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`, or 0 if there is none.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(limit)) >> 64) as u64
    }

    /// True with this probability, in percent.
    pub(super) fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// A span between these two, in milliseconds.
    pub(super) fn millis(&mut self, low: u64, high: u64) -> Duration {
        let micros = low * 1_000 + self.below((high - low) * 1_000 + 1);
        Duration::from_micros(micros)
    }

    /// Puts a list into random order.
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.below(end as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_and_its_keys_have_a_stream_of_their_own() {
        let first = |keys: &[u64]| Chance::new(7, keys).bits();
        assert_eq!(first(&[1, 2]), first(&[1, 2]));
        assert_ne!(first(&[1, 2]), first(&[2, 1]));
        assert_ne!(first(&[1]), first(&[1, 0]));
    }

    #[test]
    fn draws_stay_in_range() {
        let mut chance = Chance::new(1, &[]);
        for _ in 0..1_000 {
            assert!(chance.below(3) < 3);
            let span = chance.millis(2, 5);
            assert!((2_000..=5_000).contains(&span.as_micros()), "{span:?}");
        }
        assert_eq!(chance.below(0), 0);
        assert!(!chance.percent(0) && chance.percent(100));
    }
}
