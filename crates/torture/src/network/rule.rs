//! What happens to frames on their way: pure, so that it can be tested without a network.

use super::super::chance::Chance;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A place where something is connected to the switch: a member, a client or the conductor.
pub(crate) type Port = u8;

/// What is done to frames from one port to another. Nothing by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rule {
    /// No frame arrives.
    pub(crate) cut: bool,
    /// The percentage of frames that are lost.
    pub(crate) loss_percent: u64,
    /// Frames come later by this.
    pub(crate) delay: Duration,
    /// And by up to this in addition.
    pub(crate) jitter: Duration,
    /// Frames may overtake each other. Otherwise jitter keeps their order, as a queue does.
    pub(crate) reorder: bool,
    /// The percentage of frames that come twice.
    pub(crate) twice_percent: u64,
    /// The rate of the link. Frames that would wait for longer than a second are lost.
    pub(crate) bits_per_second: Option<u64>,
    /// Larger frames are lost, in bytes with their headers.
    pub(crate) size_max: Option<usize>,
    /// The link is on for this span, then off for the same span, in turn.
    pub(crate) flap: Option<Duration>,
}

/// A frame that would wait longer for a slow link is lost, as in a router with a full queue.
const QUEUE_MAX_US: u64 = 1_000_000;

/// The rules that are in force. Each is for some pairs, and where several meet all of them apply.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    layers: BTreeMap<u64, (Rule, BTreeSet<(Port, Port)>)>,
    next: u64,
    /// Until when a pair's slow link is busy, and when its last frame arrives.
    busy: BTreeMap<(Port, Port), (u64, u64)>,
    /// How many frames were lost, delayed or came twice because of a rule.
    pub(crate) hit: BTreeMap<u64, u64>,
}

impl Rules {
    /// Puts a rule into force for these ways; its number.
    pub(crate) fn add(&mut self, rule: Rule, ways: BTreeSet<(Port, Port)>) -> u64 {
        self.next += 1;
        self.layers.insert(self.next, (rule, ways));
        self.next
    }

    /// Takes a rule out of force; how many frames it hit.
    pub(crate) fn remove(&mut self, number: u64) -> u64 {
        self.layers.remove(&number);
        self.hit.remove(&number).unwrap_or_default()
    }

    /// Whether a rule cuts this way.
    pub(crate) fn is_cut(&self, way: (Port, Port)) -> bool {
        self.layers.values().any(|(rule, ways)| rule.cut && ways.contains(&way))
    }

    /// When a frame that comes now arrives, in microseconds: not at all, once or twice.
    pub(crate) fn arrivals(
        &mut self,
        way: (Port, Port),
        size: usize,
        now: u64,
        chance: &mut Chance,
    ) -> Vec<u64> {
        let (mut at, mut copies, mut in_order) = (now, 1, true);
        let (busy_until, last) = self.busy.get(&way).copied().unwrap_or_default();
        let mut busy = busy_until;
        for (number, (rule, ways)) in &self.layers {
            if !ways.contains(&way) {
                continue;
            }
            let before = (at, copies);
            let too_large = rule.size_max.is_some_and(|most| size > most);
            let off = rule.flap.is_some_and(|span| now / (span.as_micros() as u64).max(1) % 2 == 1);
            if rule.cut || off || too_large || chance.percent(rule.loss_percent) {
                copies = 0;
            }
            if let Some(rate) = rule.bits_per_second {
                let starts = busy.max(now);
                busy = starts + size as u64 * 8_000_000 / rate.max(1);
                if starts - now > QUEUE_MAX_US {
                    (copies, busy) = (0, starts);
                }
                at = at.max(busy);
            }
            at += rule.delay.as_micros() as u64;
            at += chance.below(rule.jitter.as_micros() as u64 + 1);
            in_order &= !rule.reorder;
            copies *= 1 + usize::from(chance.percent(rule.twice_percent));
            if (at, copies) != before {
                *self.hit.entry(*number).or_default() += 1;
            }
        }
        if copies > 0 {
            // A frame that is not delayed overtakes those that are, when a delay has ended; only that
            // frames of one rule keep their order matters.
            at = if in_order && at > now { at.max(last) } else { at };
            self.busy.insert(way, (busy, at));
        }
        vec![at; copies]
    }
}

/// Both directions between two groups of ports.
pub(crate) fn between(
    some: impl IntoIterator<Item = Port>,
    others: &BTreeSet<Port>,
) -> BTreeSet<(Port, Port)> {
    let some = some.into_iter();
    some.flat_map(|a| others.iter().flat_map(move |b| [(a, *b), (*b, a)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(rules: &mut Rules, way: (Port, Port), size: usize, now: u64) -> Vec<u64> {
        rules.arrivals(way, size, now, &mut Chance::new(1, &[now]))
    }

    #[test]
    fn a_rule_is_for_its_ways_only_and_as_long_as_it_is_in_force() {
        let mut rules = Rules::default();
        let cut = rules.add(Rule { cut: true, ..Rule::default() }, BTreeSet::from([(1, 2)]));
        assert_eq!(arrivals(&mut rules, (1, 2), 60, 5), [0; 0]);
        assert_eq!(arrivals(&mut rules, (2, 1), 60, 5), [5]);
        assert_eq!([(1, 2), (2, 1)].map(|way| rules.is_cut(way)), [true, false]);
        assert_eq!(rules.remove(cut), 1);
        assert_eq!(arrivals(&mut rules, (1, 2), 60, 5), [5]);
    }

    #[test]
    fn rules_that_meet_both_apply() {
        let mut rules = Rules::default();
        let ways = between([1], &BTreeSet::from([2, 3]));
        assert_eq!(ways.len(), 4);
        let delay = Duration::from_micros(100);
        rules.add(Rule { delay, twice_percent: 100, ..Rule::default() }, ways.clone());
        rules.add(Rule { delay, size_max: Some(500), ..Rule::default() }, ways);
        assert_eq!(arrivals(&mut rules, (1, 3), 500, 0), [200, 200]);
        assert_eq!(arrivals(&mut rules, (1, 3), 501, 0), [0; 0]);
    }

    #[test]
    fn jitter_keeps_the_order_unless_it_is_told_not_to() {
        let ways = BTreeSet::from([(1, 2)]);
        for reorder in [false, true] {
            let mut rules = Rules::default();
            let jitter = Duration::from_millis(50);
            rules.add(Rule { jitter, reorder, ..Rule::default() }, ways.clone());
            let times: Vec<u64> =
                (0..100).flat_map(|now| arrivals(&mut rules, (1, 2), 60, now)).collect();
            assert_eq!(times.is_sorted(), !reorder);
        }
    }

    #[test]
    fn a_slow_link_takes_one_frame_after_the_other_and_loses_what_waits_too_long() {
        let mut rules = Rules::default();
        let rule = Rule { bits_per_second: Some(1_000_000), ..Rule::default() };
        rules.add(rule, BTreeSet::from([(1, 2)]));
        assert_eq!(arrivals(&mut rules, (1, 2), 1_250, 0), [10_000]);
        assert_eq!(arrivals(&mut rules, (1, 2), 1_250, 0), [20_000]);
        let all = (0..200).flat_map(|_| arrivals(&mut rules, (1, 2), 1_250, 0)).count();
        assert_eq!(all, 99, "a second's worth, and the two before");
    }

    #[test]
    fn a_link_that_flaps_is_on_and_off_in_turn() {
        let mut rules = Rules::default();
        let flap = Some(Duration::from_millis(1));
        rules.add(Rule { flap, ..Rule::default() }, BTreeSet::from([(1, 2)]));
        let came = [500, 1_500, 2_500].map(|now| arrivals(&mut rules, (1, 2), 60, now).len());
        assert_eq!(came, [1, 0, 1]);
    }

    #[test]
    fn loss_is_as_frequent_as_it_is_said_to_be() {
        let mut rules = Rules::default();
        rules.add(Rule { loss_percent: 30, ..Rule::default() }, BTreeSet::from([(1, 2)]));
        let mut chance = Chance::new(3, &[]);
        let came = (0..1_000).flat_map(|_| rules.arrivals((1, 2), 60, 0, &mut chance)).count();
        assert!((650..750).contains(&came), "{came}");
    }
}
