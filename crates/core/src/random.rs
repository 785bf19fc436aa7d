//! Pseudo-random numbers that are the same on every machine.
//!
//! What happens to a message is a function of the seed, the link and the message's number on that
//! link, and of nothing else. A generator that is shared by the whole run would give every later
//! message another fate as soon as one fault is removed; with keyed draws a schedule can be
//! shrunk piece by piece. The mixing function is SplitMix64's (Steele, Lea and Flood 2014).

/// A stream of draws for one key.
#[derive(Clone, Debug)]
pub struct Draws(u64);

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline]
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Draws {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Draws(mix(seed.wrapping_add(GOLDEN)))
    }

    /// The stream of a seed and two further keys.
    #[inline]
    pub fn keyed(seed: u64, a: u64, b: u64) -> Self {
        let a = a.wrapping_mul(0xa076_1d64_78bd_642f).rotate_left(32);
        let b = b.wrapping_mul(0xd134_2543_de82_ef95);
        Draws(seed.wrapping_mul(GOLDEN) ^ a ^ b)
    }

    /// 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// A number below `limit`, or 0 if there is none.
    #[inline]
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(limit)) >> 64) as u64
    }

    /// A number from `low` to `high`, both included.
    #[inline]
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below((high - low).saturating_add(1))
    }

    /// A number in (0, 1].
    #[inline]
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// True with this probability.
    #[inline]
    pub fn chance(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.unit() <= probability
    }

    /// Puts a list into random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.below(end as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written down so that a change of the stream cannot go unnoticed: every recorded seed and
    /// scenario would mean another run.
    #[test]
    fn the_stream_never_changes() {
        let mut draws = Draws::keyed(42, 7, 3);
        let first: Vec<u64> = (0..3).map(|_| draws.bits()).collect();
        assert_eq!(
            first,
            [14_347_526_341_361_136_292, 15_745_154_487_145_813_360, 3_711_099_406_782_746_825]
        );
    }

    #[test]
    fn draws_stay_in_range_and_fill_it() {
        let mut draws = Draws::new(1);
        let mut seen = [0u32; 5];
        for _ in 0..5_000 {
            seen[draws.between(10, 14) as usize - 10] += 1;
            let unit = draws.unit();
            assert!(unit > 0.0 && unit <= 1.0);
        }
        assert!(seen.iter().all(|count| (800..1_200).contains(count)), "{seen:?}");
        assert_eq!(draws.below(0), 0);
        assert!(!draws.chance(0.0));
        assert!(draws.chance(1.0));
    }

    #[test]
    fn a_shuffle_keeps_everything() {
        let mut items: Vec<u32> = (0..100).collect();
        Draws::new(9).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
