//! Checking invariants as a run goes, at the cost of one look at the process that moved.

use bellwether_core::{Fence, Invariant, NodeId, Shape, Time, Validity};
use std::collections::BTreeMap;
use std::fmt;

/// An invariant that did not hold, or a goal that was not reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub name: &'static str,
    /// What it says.
    pub text: &'static str,
    /// When it was broken.
    pub at: Time,
    /// By whom.
    pub by: Vec<NodeId>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by: Vec<String> = self.by.iter().map(NodeId::to_string).collect();
        write!(f, "{} at {}: {}", self.name, self.at, self.text)?;
        if by.is_empty() { Ok(()) } else { write!(f, " (here: {})", by.join(", ")) }
    }
}

/// Keeps every invariant up to date.
#[derive(Clone, Debug)]
pub(crate) struct Monitor<P> {
    rules: Vec<Watch<P>>,
    /// Whether a crashed process has come back.
    recovered: bool,
}

#[derive(Clone, Debug)]
struct Watch<P> {
    invariant: Invariant<P>,
    /// For [`Shape::AtMostOne`] and [`Shape::AtMostOneNow`]: who held what after its last step.
    holders: BTreeMap<u64, Vec<NodeId>>,
    /// For [`Shape::Fenced`]: who has held what.
    fence: Fence,
}

/// Looks at any process, with what its clock shows now; `None` if it is down.
pub(crate) type Look<'a, P> = &'a dyn Fn(NodeId) -> Option<(&'a P, Time)>;

/// Under which invariants a process holds something, one bit each. Nearly all processes hold
/// nothing nearly all the time, and then this is all that has to be looked at.
pub(crate) type Claims = u8;

impl<P> Monitor<P> {
    pub(crate) fn new(invariants: Vec<Invariant<P>>) -> Self {
        assert!(invariants.len() <= Claims::BITS as usize, "one bit of claims for each invariant");
        let watch =
            |invariant| Watch { invariant, holders: BTreeMap::new(), fence: Fence::default() };
        Monitor { rules: invariants.into_iter().map(watch).collect(), recovered: false }
    }

    /// A crashed process has come back.
    pub(crate) fn recovered(&mut self) {
        self.recovered = true;
    }

    /// Whether a process that has moved, and whose clock shows `reading`, matters to no invariant:
    /// nearly always so, and then [`Monitor::moved`] need not be called.
    #[inline]
    pub(crate) fn is_idle(&self, id: NodeId, process: &P, reading: Time, claims: Claims) -> bool {
        claims == 0
            && self.rules.iter().all(|watch| match watch.invariant.shape {
                Shape::Each(holds) => holds(id, process),
                Shape::AtMostOne(key) => key(id, process).is_none(),
                Shape::AtMostOneNow(key) => key(id, process, reading).is_none(),
                Shape::Fenced(key) => key(id, process, reading).is_none(),
            })
    }

    /// Does the books after a move, and says what it broke. The claims are as after the last move,
    /// and are brought up to date.
    #[cold]
    pub(crate) fn moved(
        &mut self,
        at: Time,
        id: NodeId,
        claims: &mut Claims,
        look: Look<'_, P>,
    ) -> Option<Violation> {
        let (process, reading) = look(id)?;
        let mut broken = None;
        for (index, watch) in self.rules.iter_mut().enumerate() {
            let mut claim = |holds: bool| {
                *claims = *claims & !(1 << index) | Claims::from(holds) << index;
            };
            let culprits = match watch.invariant.shape {
                Shape::Each(holds) => (!holds(id, process)).then(|| vec![id]),
                Shape::AtMostOne(key) => {
                    let now = key(id, process);
                    claim(now.is_some());
                    watch.change(id, now)
                }
                Shape::AtMostOneNow(key) => {
                    let now = key(id, process, reading);
                    claim(now.is_some());
                    watch.forget(|other| look(other).and_then(|(p, r)| key(other, p, r)));
                    watch.change(id, now)
                }
                Shape::Fenced(key) => {
                    let now = key(id, process, reading);
                    claim(now.is_some());
                    watch.fence.hold(id, now).map(|rival| vec![rival, id])
                }
            };
            let claimed = watch.invariant.validity == Validity::Always || !self.recovered;
            if let Some(by) = culprits.filter(|_| claimed) {
                let Invariant { name, text, .. } = watch.invariant;
                broken.get_or_insert(Violation { name, text, at, by });
            }
        }
        broken
    }

    /// A process has died.
    pub(crate) fn died(&mut self, id: NodeId, claims: &mut Claims) {
        *claims = 0;
        for watch in &mut self.rules {
            watch.change(id, None);
            watch.fence.hold(id, None);
        }
    }
}

impl<P> Watch<P> {
    /// Strikes out those whose claim has run out since their last step.
    fn forget(&mut self, now: impl Fn(NodeId) -> Option<u64>) {
        self.holders.retain(|key, holders| {
            holders.retain(|holder| now(*holder) == Some(*key));
            !holders.is_empty()
        });
    }

    /// Notes what a process holds now; says who holds that too, if that is news.
    fn change(&mut self, id: NodeId, now: Option<u64>) -> Option<Vec<NodeId>> {
        let mut news = true;
        self.holders.retain(|key, holders| {
            if Some(*key) == now {
                news = !holders.contains(&id);
            } else {
                holders.retain(|holder| *holder != id);
            }
            !holders.is_empty()
        });
        let holders = self.holders.entry(now?).or_default();
        if news {
            holders.push(id);
        }
        (news && holders.len() > 1).then(|| holders.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn monitor() -> Monitor<Option<u64>> {
        Monitor::new(vec![
            Invariant {
                name: "one",
                text: "no two hold the same",
                validity: Validity::UntilRecovery,
                shape: Shape::AtMostOne(|_, process| *process),
            },
            Invariant {
                name: "small",
                text: "everybody is below ten",
                validity: Validity::Always,
                shape: Shape::Each(|_, process| process.is_none_or(|held| held < 10)),
            },
        ])
    }

    fn step(
        monitor: &mut Monitor<Option<u64>>,
        id: u32,
        claims: &mut Claims,
        after: Option<u64>,
    ) -> Option<&'static str> {
        let id = NodeId::new(id);
        if monitor.is_idle(id, &after, Time::ZERO, *claims) {
            return None;
        }
        let look = |other| (other == id).then_some((&after, Time::ZERO));
        monitor.moved(Time::ZERO, id, claims, &look).map(|violation| violation.name)
    }

    /// What a process holds, and until when on its clock.
    type Lease = (u64, Time);

    fn leases(shape: Shape<Lease>) -> Monitor<Lease> {
        let validity = Validity::Always;
        Monitor::new(vec![Invariant { name: "lease", text: "", validity, shape }])
    }

    fn held(_: NodeId, (key, until): &Lease, now: Time) -> Option<u64> {
        (now < *until).then_some(*key)
    }

    #[test]
    fn a_claim_that_has_run_out_is_no_claim() {
        let ms = |ms: u64| Time::from_micros(ms * 1_000);
        for (other_clock, violated) in [(ms(99), true), (ms(100), false)] {
            let mut monitor = leases(Shape::AtMostOneNow(held));
            let (one, two) = (NodeId::new(1), NodeId::new(2));
            let processes = [(7, ms(100)), (7, ms(200))];
            let processes = &processes;
            let at =
                |clock: Time| move |id: NodeId| Some((&processes[id.number() as usize - 1], clock));
            let early = at(ms(50));
            assert_eq!(monitor.moved(ms(50), one, &mut 0, &early), None);
            let late = at(other_clock);
            let found = monitor.moved(ms(99), two, &mut 0, &late);
            assert_eq!(found.map(|found| found.by), violated.then(|| vec![one, two]));
        }
    }

    #[test]
    fn a_number_has_one_owner_for_ever_and_numbers_grow() {
        let now = Time::ZERO;
        let mut monitor =
            leases(Shape::Fenced(|id, lease, now| held(id, lease, now).map(u128::from)));
        let mut claim = |id: u32, key: u64| {
            let process = (key, Time::MAX);
            monitor.moved(now, NodeId::new(id), &mut 0, &|_| Some((&process, now))).is_some()
        };
        assert_eq!([claim(1, 5), claim(1, 5), claim(2, 6)], [false; 3]);
        assert!(claim(2, 5), "5 was P1's");
        assert!(claim(2, 4), "4 comes after 6");
    }

    #[test]
    fn two_holders_are_found_and_a_dead_one_does_not_count() {
        let mut monitor = monitor();
        let mut claims = [0; 4];
        assert_eq!(step(&mut monitor, 1, &mut claims[1], Some(5)), None);
        assert_eq!(step(&mut monitor, 2, &mut claims[2], Some(6)), None);
        assert_eq!(step(&mut monitor, 1, &mut claims[1], Some(5)), None);
        assert_eq!(claims, [0, 1, 1, 0]);
        monitor.died(NodeId::new(1), &mut claims[1]);
        assert_eq!(step(&mut monitor, 2, &mut claims[2], Some(5)), None);
        assert_eq!(step(&mut monitor, 3, &mut claims[3], Some(5)), Some("one"));
    }

    #[test]
    fn who_lets_go_holds_nothing() {
        let mut monitor = monitor();
        let mut claims = [0; 4];
        assert_eq!(step(&mut monitor, 1, &mut claims[1], Some(5)), None);
        assert_eq!(step(&mut monitor, 1, &mut claims[1], None), None);
        assert_eq!(claims[1], 0);
        assert_eq!(step(&mut monitor, 2, &mut claims[2], Some(5)), None);
    }

    #[test]
    fn each_process_is_checked_by_itself() {
        assert_eq!(step(&mut monitor(), 1, &mut 0, Some(11)), Some("small"));
    }

    #[test]
    fn a_claim_until_recovery_ends_with_it() {
        let mut monitor = monitor();
        let mut claims = [0; 4];
        step(&mut monitor, 1, &mut claims[1], Some(5));
        monitor.recovered();
        assert_eq!(step(&mut monitor, 2, &mut claims[2], Some(5)), None);
        assert_eq!(step(&mut monitor, 2, &mut claims[2], Some(12)), Some("small"));
    }
}
