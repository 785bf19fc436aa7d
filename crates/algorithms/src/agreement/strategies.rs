//! How traitors lie.
//!
//! A traitor keeps the rounds and the paths, since whatever breaks those is ignored; what it says
//! is up to its [`Strategy`]. A new one is a small type with one function, and a line in [`named`].

use super::{Path, Value};
use bellwether_core::NodeId;
use std::fmt::Debug;
use std::sync::Arc;

/// What a traitor makes of one message that it should send.
pub trait Strategy: Debug + Send + Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// What is said instead of the truth; nothing if nothing is said.
    fn says(&self, lie: &Lie<'_>) -> Option<Value>;
}

/// The occasion for a lie.
#[derive(Clone, Copy, Debug)]
pub struct Lie<'a> {
    /// The path of the message; the traitor is its last.
    pub path: Path,
    /// Who gets it.
    pub to: NodeId,
    /// The receiver's place on the ring.
    pub place: usize,
    /// Which of those that get the message by this path it is, from 0 on.
    pub rank: usize,
    /// What an honest process would say.
    pub truth: Value,
    /// The values that there are: at least two.
    pub values: &'a [Value],
    /// To make lies different from run to run: the number of a numbered one.
    pub seed: u64,
}

impl Lie<'_> {
    /// How many different things can be said: each value, nil, and nothing at all.
    fn choices(&self) -> u64 {
        self.values.len() as u64 + 2
    }

    /// One of them.
    fn choice(&self, number: u64) -> Option<Value> {
        let choice = (number % self.choices()) as usize;
        match self.values.get(choice) {
            Some(value) => Some(*value),
            None if choice == self.values.len() => Some(Value::NIL),
            None => None,
        }
    }

    /// The value this many places after the truth, going round; it is another one unless all have
    /// been passed.
    fn beyond(&self, steps: usize) -> Value {
        let known = self.values.iter().position(|value| *value == self.truth);
        let index = known.map_or(steps, |index| index + steps) % self.values.len().max(1);
        self.values.get(index).copied().unwrap_or_default()
    }
}

/// Says nothing at all, as a process that crashed before it began.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl Strategy for Silent {
    fn name(&self) -> &'static str {
        "silent"
    }

    fn says(&self, _: &Lie<'_>) -> Option<Value> {
        None
    }
}

/// Says anything, or nil, or nothing, drawn for each receiver and each path. The draw is a hash, so
/// that a run can be repeated.
#[derive(Clone, Copy, Debug)]
pub struct Random;

impl Strategy for Random {
    fn name(&self) -> &'static str {
        "random"
    }

    fn says(&self, lie: &Lie<'_>) -> Option<Value> {
        let hops = lie.path.hops().iter().chain([&lie.to]);
        let hash = hops.fold(mix(lie.seed), |hash, id| mix(hash ^ u64::from(id.number())));
        lie.choice(hash)
    }
}

/// Says anything, or nil, or nothing, to each receiver, as the digits of a number have it: the
/// first receiver by a path gets the last digit. All numbers together are all lies, as far as a
/// single value is concerned; all values of one round are lied about in the same way.
#[derive(Clone, Copy, Debug)]
pub struct Numbered;

impl Strategy for Numbered {
    fn name(&self) -> &'static str {
        "numbered"
    }

    fn says(&self, lie: &Lie<'_>) -> Option<Value> {
        let digits = (0..lie.rank).fold(lie.seed, |rest, _| rest / lie.choices());
        lie.choice(digits)
    }
}

/// Tells the truth to every other place of the ring, and one and the same untruth to the rest.
#[derive(Clone, Copy, Debug)]
pub struct TwoFaced;

impl Strategy for TwoFaced {
    fn name(&self) -> &'static str {
        "two-faced"
    }

    fn says(&self, lie: &Lie<'_>) -> Option<Value> {
        Some(lie.beyond(lie.place % 2))
    }
}

/// Says what all traitors have agreed to say: of each commander one untruth to every other place
/// of the ring, and another to the rest. No relay of a traitor ever contradicts another's, so that
/// each half hears its own story from all sides.
#[derive(Clone, Copy, Debug)]
pub struct Colluding;

impl Strategy for Colluding {
    fn name(&self) -> &'static str {
        "colluding"
    }

    fn says(&self, lie: &Lie<'_>) -> Option<Value> {
        let story = lie.path.commander().number() as usize + lie.place % 2;
        lie.values.get(story % lie.values.len().max(1)).copied()
    }
}

/// All that have a name.
pub const NAMES: [&str; 5] = ["silent", "random", "two-faced", "colluding", "numbered"];

/// The strategy of this name.
pub fn named(name: &str) -> Option<Arc<dyn Strategy>> {
    Some(match name {
        "silent" => Arc::new(Silent),
        "random" => Arc::new(Random),
        "two-faced" => Arc::new(TwoFaced),
        "colluding" => Arc::new(Colluding),
        "numbered" => Arc::new(Numbered),
        _ => return None,
    })
}

/// Steele, Lea and Flood's SplitMix64: every bit of the result depends on every bit of the seed.
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lie(to: u32, place: usize, values: &[Value]) -> Lie<'_> {
        let path = Path::of(NodeId::new(1)).by(NodeId::new(3)).unwrap();
        Lie { path, to: NodeId::new(to), place, rank: place, truth: values[0], values, seed: 0 }
    }

    #[test]
    fn each_strategy_lies_as_its_name_says() {
        let values = ["a", "b"].map(|text| Value::new(text).unwrap());
        let [a, b] = values;
        for name in NAMES {
            assert_eq!(named(name).unwrap().name(), name);
        }
        assert_eq!(Silent.says(&lie(2, 1, &values)), None);
        assert_eq!(TwoFaced.says(&lie(3, 2, &values)), Some(a));
        assert_eq!(TwoFaced.says(&lie(2, 1, &values)), Some(b));
        let [one, other] = [0, 1].map(|place| Colluding.says(&lie(2, place, &values)));
        assert_ne!(one, other);
        let said: std::collections::BTreeSet<_> =
            (0..100).map(|to| Random.says(&lie(to, 0, &values))).collect();
        assert_eq!(said.len(), 4, "a, b, nil and nothing at all: {said:?}");
        assert!(named("honest").is_none());
        let mut lies = std::collections::BTreeSet::new();
        for seed in 0..16 {
            let told = |place: usize| Numbered.says(&Lie { seed, ..lie(2, place, &values) });
            lies.insert([told(0), told(1)]);
        }
        assert_eq!(lies.len(), 16, "each of four to each of two: {lies:?}");
    }
}
