//! The clock conditions, on random executions: what causality is, is reckoned from the execution
//! itself, by going back from event to event; the clocks must agree with it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use bellwether_algorithms::time::{Causality, Hybrid, Lamport, VectorClock};
use bellwether_core::Time;
use proptest::prelude::*;
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

/// No two clocks of an execution are further apart.
const APART: u64 = 1_000;

/// What happens next, in raw numbers that are made to fit.
#[derive(Clone, Copy, Debug)]
struct Choice {
    who: usize,
    what: u8,
    other: usize,
    /// How much later it is.
    later: u64,
}

fn choices() -> impl Strategy<Value = Vec<Choice>> {
    let choice = (0..8usize, 0..3u8, 0..8usize, 0..40u64)
        .prop_map(|(who, what, other, later)| Choice { who, what, other, later });
    prop::collection::vec(choice, 1..60)
}

/// An event with its stamps, and what it directly follows.
struct Event {
    after: Vec<usize>,
    lamport: Lamport,
    vector: VectorClock,
    hybrid: Hybrid,
    reading: Time,
}

/// Plays an execution of `n` processes, whose clocks are off by these offsets.
fn execute(n: usize, offsets: &[u64], choices: &[Choice]) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    let mut last: Vec<Option<usize>> = vec![None; n];
    let mut lamports = vec![Lamport::default(); n];
    let mut vectors = vec![VectorClock::new(n); n];
    let mut hybrids = vec![Hybrid::default(); n];
    let mut mail: VecDeque<(usize, usize)> = VecDeque::new();
    let mut now = 10_000;
    for choice in choices {
        now += choice.later;
        let mut who = choice.who % n;
        let mut cause = None;
        if choice.what == 2
            && let Some((event, to)) = mail.remove(choice.other % mail.len().max(1))
        {
            (who, cause) = (to, Some(event));
        }
        let reading = Time::from_micros(now + offsets[who]);
        vectors[who].tick(who);
        let (lamport, hybrid) = match cause {
            None => (lamports[who].tick(), hybrids[who].tick(reading)),
            Some(event) => {
                let sent = &events[event];
                vectors[who].merge(&sent.vector).unwrap();
                let allowed = Duration::from_micros(APART);
                let hybrid = hybrids[who].receive(reading, sent.hybrid, allowed).unwrap();
                (lamports[who].receive(sent.lamport), hybrid)
            }
        };
        let after = last[who].into_iter().chain(cause).collect();
        last[who] = Some(events.len());
        if choice.what == 1 {
            mail.push_back((events.len(), choice.other % n));
        }
        let vector = vectors[who].clone();
        events.push(Event { after, lamport, vector, hybrid, reading });
    }
    events
}

/// All that can have caused each event.
fn causes(events: &[Event]) -> Vec<BTreeSet<usize>> {
    let mut all: Vec<BTreeSet<usize>> = Vec::new();
    for event in events {
        let mut causes = BTreeSet::new();
        for before in &event.after {
            causes.insert(*before);
            causes.extend(&all[*before]);
        }
        all.push(causes);
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..Default::default() })]

    #[test]
    fn clocks_know_what_causality_is(
        n in 1..8usize,
        offsets in prop::collection::vec(0..APART, 8),
        choices in choices(),
    ) {
        let events = execute(n, &offsets, &choices);
        let causes = causes(&events);
        for (a, one) in events.iter().enumerate() {
            // A hybrid stamp is never behind its machine's clock, nor ahead of all of them.
            prop_assert!(one.hybrid.time() >= one.reading);
            prop_assert!(one.hybrid.time().since(one.reading) <= Duration::from_micros(APART));
            for (b, other) in events.iter().enumerate() {
                let causality = match (causes[b].contains(&a), causes[a].contains(&b)) {
                    _ if a == b => Causality::Equal,
                    (true, _) => Causality::Before,
                    (_, true) => Causality::After,
                    (false, false) => Causality::Concurrent,
                };
                // A vector clock says exactly what causality is.
                prop_assert_eq!(one.vector.compare(&other.vector), Ok(causality));
                // The others never contradict it.
                if causality == Causality::Before {
                    prop_assert!(one.lamport < other.lamport);
                    prop_assert!(one.hybrid < other.hybrid);
                }
            }
        }
    }

    #[test]
    fn merging_is_learning(
        a in prop::collection::vec(0..5u8, 4),
        b in prop::collection::vec(0..5u8, 4),
    ) {
        let clock = |ticks: &[u8]| {
            let mut clock = VectorClock::new(4);
            for (place, ticks) in ticks.iter().enumerate() {
                (0..*ticks).for_each(|_| clock.tick(place));
            }
            clock
        };
        let (a, b) = (clock(&a), clock(&b));
        let (mut ab, mut ba) = (a.clone(), b.clone());
        ab.merge(&b).unwrap();
        ba.merge(&a).unwrap();
        prop_assert_eq!(&ab, &ba);
        for part in [&a, &b] {
            prop_assert!(matches!(part.compare(&ab), Ok(Causality::Before | Causality::Equal)));
            let mut again = ab.clone();
            again.merge(part).unwrap();
            prop_assert_eq!(&again, &ab);
        }
    }
}
