//! The network model: how long a message takes, and whether it arrives at all.

use bellwether_core::Draws;
use bellwether_core::{NodeId, Time, micros};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long messages take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Latency {
    /// Always the same.
    Fixed(Duration),
    /// Evenly spread, both ends included.
    Uniform(Duration, Duration),
    /// Exponential with this mean: mostly short, sometimes very long, never bounded.
    Exponential(Duration),
    /// Log-normal: the median, and the standard deviation of the logarithm.
    LogNormal(Duration, f64),
}

impl Latency {
    /// How long a message takes on average: a hop.
    pub fn mean(&self) -> Duration {
        match *self {
            Latency::Fixed(span) | Latency::Exponential(span) => span,
            Latency::Uniform(low, high) => (low + high) / 2,
            Latency::LogNormal(median, sigma) => {
                Duration::from_micros(round(libm::exp(sigma * sigma / 2.0) * micros(median) as f64))
            }
        }
    }

    /// The longest that a message takes; where there is no longest, one that is exceeded once in
    /// some hundred million messages. Time-outs are chosen from it.
    pub fn bound(&self) -> Duration {
        match *self {
            Latency::Fixed(span) | Latency::Uniform(_, span) => span,
            Latency::Exponential(mean) => mean.saturating_mul(20),
            Latency::LogNormal(median, sigma) => {
                Duration::from_micros(round(libm::exp(5.7 * sigma) * micros(median) as f64))
            }
        }
    }

    /// Whether [`Latency::bound`] is never exceeded.
    pub fn is_bounded(&self) -> bool {
        matches!(self, Latency::Fixed(_) | Latency::Uniform(..))
    }
}

/// A latency in ticks, ready to be drawn from.
#[derive(Clone, Copy, Debug)]
enum Dice {
    Fixed(u64),
    /// The least, and how many there are.
    Uniform(u64, u64),
    Exponential(f64),
    LogNormal(f64, f64),
}

impl From<&Latency> for Dice {
    fn from(latency: &Latency) -> Self {
        match *latency {
            Latency::Fixed(span) => Dice::Fixed(micros(span)),
            Latency::Uniform(low, high) => {
                let low = micros(low);
                Dice::Uniform(low, micros(high).saturating_sub(low).saturating_add(1))
            }
            Latency::Exponential(mean) => Dice::Exponential(micros(mean) as f64),
            Latency::LogNormal(median, sigma) => Dice::LogNormal(micros(median) as f64, sigma),
        }
    }
}

impl Dice {
    #[inline]
    fn draw(&self, draws: &mut Draws) -> u64 {
        match *self {
            Dice::Fixed(span) => span,
            Dice::Uniform(low, width) => low + draws.below(width),
            Dice::Exponential(mean) => round(-libm::log(draws.unit()) * mean),
            Dice::LogNormal(median, sigma) => {
                // Box and Muller's transformation. libm is the same on every machine.
                let radius = libm::sqrt(-2.0 * libm::log(draws.unit()));
                let normal = radius * libm::cos(std::f64::consts::TAU * draws.unit());
                round(libm::exp(sigma * normal) * median)
            }
        }
    }
}

fn round(micros: f64) -> u64 {
    // Casting saturates, so that not even an absurd draw leaves the range.
    libm::round(micros) as u64
}

/// The network as a whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// What holds for every link without its own.
    pub latency: Latency,
    /// Links that are different.
    pub links: BTreeMap<(NodeId, NodeId), Latency>,
    /// Whether a message may overtake another on the same link.
    pub reorder: bool,
    /// The probability that a message is lost.
    pub loss: f64,
    /// The probability that a message arrives twice.
    pub duplicate: f64,
    /// How many bytes a second a link carries, if that is limited; see [`bellwether_core::Message::weight`].
    pub rate: Option<u64>,
    /// Messages whose fate is given, by link and number on that link (from 0).
    pub fates: BTreeMap<(NodeId, NodeId, u32), Fate>,
    /// Timers that lie, by process and number (from 0) among all that this process has ever set:
    /// how many microseconds after its setting each fires, whatever it was set to and however the
    /// process's clock drifts. The count goes on over crashes and recoveries; a timer that is set
    /// again counts again.
    pub timers: BTreeMap<(NodeId, u32), u64>,
}

/// What happens to one message. Spans are in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It never arrives.
    Lost,
    /// It arrives after this long.
    Arrives(u64),
    /// It arrives after the first and again after the second.
    Twice(u64, u64),
}

/// Links with a rate, in bytes a second.
#[derive(Clone, Debug)]
pub(crate) struct Rate {
    bytes: u64,
    /// Until when each link, by places, is busy.
    busy: BTreeMap<(usize, usize), u64>,
}

impl Rate {
    pub(crate) fn new(bytes: u64) -> Self {
        Rate { bytes: bytes.max(1), busy: BTreeMap::new() }
    }

    /// How many microseconds it takes until a link has carried all before this message, and itself.
    pub(crate) fn carry(&mut self, link: (usize, usize), weight: usize, now: Time) -> u64 {
        let takes = (weight as u64).saturating_mul(1_000_000) / self.bytes;
        let busy = self.busy.entry(link).or_default();
        *busy = now.as_micros().max(*busy).saturating_add(takes);
        *busy - now.as_micros()
    }
}

impl Fate {
    /// The same, this many microseconds later.
    pub(crate) fn later(self, by: u64) -> Self {
        match self {
            Fate::Lost => Fate::Lost,
            Fate::Arrives(after) => Fate::Arrives(after.saturating_add(by)),
            Fate::Twice(first, second) => {
                Fate::Twice(first.saturating_add(by), second.saturating_add(by))
            }
        }
    }
}

impl Network {
    /// A network that only delays, with FIFO links.
    pub fn new(latency: Latency) -> Self {
        Network {
            latency,
            links: BTreeMap::new(),
            reorder: false,
            loss: 0.0,
            duplicate: 0.0,
            rate: None,
            fates: BTreeMap::new(),
            timers: BTreeMap::new(),
        }
    }

    /// The longest delay of any link; see [`Latency::bound`].
    pub fn bound(&self) -> Duration {
        let links = self.links.values().chain([&self.latency]).map(Latency::bound);
        links.max().unwrap_or_default()
    }

    /// Whether no message takes longer than [`Network::bound`].
    pub fn is_bounded(&self) -> bool {
        self.latency.is_bounded() && self.links.values().all(Latency::is_bounded)
    }
}

/// Decides the fate of messages and timers: a network and a seed.
#[derive(Clone, Debug)]
pub(crate) struct Oracle {
    seed: u64,
    /// Whether messages only ever take their time: no loss, no duplicates, all links alike.
    plain: bool,
    dice: Dice,
    mean: Duration,
    links: BTreeMap<(NodeId, NodeId), Dice>,
    loss: f64,
    duplicate: f64,
    fates: BTreeMap<(NodeId, NodeId, u32), Fate>,
    timers: BTreeMap<(NodeId, u32), u64>,
}

impl Oracle {
    pub(crate) fn new(network: &Network, seed: u64) -> Self {
        let plain = network.loss == 0.0
            && network.duplicate == 0.0
            && network.links.is_empty()
            && network.fates.is_empty();
        Oracle {
            seed,
            plain,
            dice: Dice::from(&network.latency),
            mean: network.latency.mean(),
            links: network.links.iter().map(|(link, latency)| (*link, latency.into())).collect(),
            loss: network.loss,
            duplicate: network.duplicate,
            fates: network.fates.clone(),
            timers: network.timers.clone(),
        }
    }

    /// Nothing is lost or doubled any more, but for messages whose fate is given.
    pub(crate) fn calm(&mut self) {
        self.loss = 0.0;
        self.duplicate = 0.0;
    }

    /// The fate of message `number` from one process to another.
    #[inline]
    pub(crate) fn fate(&self, from: NodeId, to: NodeId, number: u32) -> Fate {
        let link = u64::from(from.number()) << 32 | u64::from(to.number());
        let mut draws = Draws::keyed(self.seed, link, u64::from(number));
        if self.plain {
            return Fate::Arrives(self.dice.draw(&mut draws));
        }
        self.eventful_fate(from, to, number, draws)
    }

    fn eventful_fate(&self, from: NodeId, to: NodeId, number: u32, mut draws: Draws) -> Fate {
        if let Some(fate) = self.fates.get(&(from, to, number)) {
            return *fate;
        }
        let dice = self.links.get(&(from, to)).unwrap_or(&self.dice);
        let after = dice.draw(&mut draws);
        if draws.chance(self.loss) {
            Fate::Lost
        } else if draws.chance(self.duplicate) {
            Fate::Twice(after, dice.draw(&mut draws))
        } else {
            Fate::Arrives(after)
        }
    }

    /// How long a message takes on average, on a link without a latency of its own.
    pub(crate) fn mean(&self) -> Duration {
        self.mean
    }

    /// When timer `number` of a process fires that is set to this range.
    #[inline]
    pub(crate) fn timer(&self, who: NodeId, number: u32, low: u64, high: u64) -> Fires {
        if !self.timers.is_empty()
            && let Some(after) = self.timers.get(&(who, number))
        {
            return Fires::AsGiven(*after);
        }
        if low >= high {
            return Fires::AsSet(low);
        }
        let key = u64::from(who.number()) << 32 | u64::from(u32::MAX);
        Fires::AsSet(Draws::keyed(!self.seed, key, u64::from(number)).between(low, high))
    }
}

/// When a timer fires, in microseconds after its setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fires {
    /// As its process has set it, on that process's own clock.
    AsSet(u64),
    /// As the network says, in real time.
    AsGiven(u64),
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn sample(latency: Latency) -> Vec<u64> {
        let dice = Dice::from(&latency);
        (0..20_000).map(|key| dice.draw(&mut Draws::keyed(5, key, 0))).collect()
    }

    #[test]
    fn every_distribution_has_its_shape() {
        assert!(sample(Latency::Fixed(10 * MS)).iter().all(|us| *us == 10_000));

        let uniform = sample(Latency::Uniform(5 * MS, 20 * MS));
        assert!(uniform.iter().all(|us| (5_000..=20_000).contains(us)));
        let mean = uniform.iter().sum::<u64>() / 20_000;
        assert!((12_300..12_700).contains(&mean), "{mean}");

        let exponential = sample(Latency::Exponential(10 * MS));
        let mean = exponential.iter().sum::<u64>() / 20_000;
        assert!((9_700..10_300).contains(&mean), "{mean}");

        let mut log_normal = sample(Latency::LogNormal(10 * MS, 0.5));
        log_normal.sort_unstable();
        let (median, p84) = (log_normal[10_000], log_normal[16_827]);
        assert!((9_800..10_200).contains(&median), "{median}");
        // One standard deviation up: e^0.5 times the median.
        assert!((16_000..17_000).contains(&p84), "{p84}");
    }

    #[test]
    fn bounds_hold() {
        for latency in [Latency::Exponential(10 * MS), Latency::LogNormal(10 * MS, 0.5)] {
            let bound = micros(latency.bound());
            assert!(sample(latency).iter().all(|us| *us <= bound));
            assert!(!latency.is_bounded());
        }
    }

    #[test]
    fn loss_and_duplication_happen_as_often_as_asked() {
        let network = Network { loss: 0.1, duplicate: 0.2, ..Network::new(Latency::Fixed(MS)) };
        let (a, b) = (NodeId::new(1), NodeId::new(2));
        let oracle = Oracle::new(&network, 3);
        let fates: Vec<_> = (0..10_000).map(|number| oracle.fate(a, b, number)).collect();
        let lost = fates.iter().filter(|fate| **fate == Fate::Lost).count();
        let twice = fates.iter().filter(|fate| matches!(fate, Fate::Twice(..))).count();
        assert!((900..1_100).contains(&lost), "{lost}");
        assert!((1_700..1_900).contains(&twice), "{twice}");
    }

    #[test]
    fn a_link_carries_one_message_after_the_other() {
        let mut rate = Rate::new(1_000);
        let now = Time::from_micros(500);
        assert_eq!(rate.carry((0, 1), 10, now), 10_000);
        assert_eq!(rate.carry((0, 1), 5, now), 15_000, "behind the first");
        assert_eq!(rate.carry((1, 0), 5, now), 5_000, "another link");
        assert_eq!(rate.carry((0, 1), 0, Time::from_micros(900_000)), 0, "all are carried");
    }

    #[test]
    fn a_given_fate_and_a_links_own_latency_come_first() {
        let (a, b) = (NodeId::new(1), NodeId::new(2));
        let mut network = Network::new(Latency::Fixed(MS));
        network.links.insert((a, b), Latency::Fixed(7 * MS));
        network.fates.insert((a, b, 1), Fate::Lost);
        let oracle = Oracle::new(&network, 0);
        assert_eq!(oracle.fate(a, b, 0), Fate::Arrives(7_000));
        assert_eq!(oracle.fate(a, b, 1), Fate::Lost);
        assert_eq!(oracle.fate(b, a, 1), Fate::Arrives(1_000));
        assert_eq!(network.bound(), 7 * MS);
    }

    #[test]
    fn a_given_timer_comes_first_and_changes_no_other() {
        let (a, b) = (NodeId::new(1), NodeId::new(2));
        let mut network = Network::new(Latency::Fixed(MS));
        let usual = Oracle::new(&network, 0);
        network.timers.insert((a, 1), 5);
        let oracle = Oracle::new(&network, 0);
        for (low, high) in [(100, 100), (100, 900)] {
            assert_eq!(oracle.timer(a, 1, low, high), Fires::AsGiven(5));
            for (who, number) in [(a, 0), (a, 2), (b, 1)] {
                let fires = oracle.timer(who, number, low, high);
                assert_eq!(fires, usual.timer(who, number, low, high));
                assert!(matches!(fires, Fires::AsSet(after) if (low..=high).contains(&after)));
            }
        }
    }
}
