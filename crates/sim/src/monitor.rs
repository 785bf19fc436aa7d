//! Checking invariants as a run goes, at the cost of one look at the process that moved.

use bellwether_core::{Cluster, Fence, Invariant, NodeId, Process, Shape, Time, Validity};
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
pub(crate) struct Monitor<P: Process> {
    rules: Vec<Watch<P>>,
    /// Whether a crashed process has come back.
    recovered: bool,
    has_whole: bool,
}

#[derive(Clone, Debug)]
struct Watch<P: Process> {
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

impl<P: Process> Monitor<P> {
    pub(crate) fn new(invariants: Vec<Invariant<P>>) -> Self {
        assert!(invariants.len() <= Claims::BITS as usize, "one bit of claims for each invariant");
        let watch =
            |invariant| Watch { invariant, holders: BTreeMap::new(), fence: Fence::default() };
        let has_whole = invariants.iter().any(|i| matches!(i.shape, Shape::Whole(_)));
        let rules = invariants.into_iter().map(watch).collect();
        Monitor { rules, recovered: false, has_whole }
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
            && self.rules.iter().all(|watch| match &watch.invariant.shape {
                Shape::Each(holds) => holds(id, process),
                Shape::AtMostOne(key) => key(id, process).is_none(),
                Shape::AtMostOneNow(key) => key(id, process, reading).is_none(),
                Shape::Fenced(key) => key(id, process, reading).is_none(),
                // Something else may have moved: the whole is looked at by itself.
                Shape::Whole(_) => true,
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
            let culprits = match &watch.invariant.shape {
                Shape::Each(holds) => (!holds(id, process)).then(|| vec![id]),
                Shape::AtMostOne(key) => {
                    let now = key(id, process);
                    claim(now.is_some());
                    watch.change(id, now)
                }
                Shape::AtMostOneNow(key) => {
                    let now = key(id, process, reading);
                    claim(now.is_some());
                    let key = key.clone();
                    watch.forget(|other| look(other).and_then(|(p, r)| key(other, p, r)));
                    watch.change(id, now)
                }
                Shape::Fenced(key) => {
                    let now = key(id, process, reading);
                    claim(now.is_some());
                    watch.fence.hold(id, now).map(|rival| vec![rival, id])
                }
                Shape::Whole(_) => None,
            };
            let claimed = watch.invariant.validity == Validity::Always || !self.recovered;
            if let Some(by) = culprits.filter(|_| claimed) {
                let Invariant { name, text, .. } = &watch.invariant;
                let (name, text) = (*name, *text);
                broken.get_or_insert(Violation { name, text, at, by });
            }
        }
        broken
    }

    /// Whether an invariant is about the whole cluster, so that [`Monitor::whole`] must be called
    /// after every event.
    #[inline]
    pub(crate) fn looks_at_whole(&self) -> bool {
        self.has_whole
    }

    /// Looks at all live processes and all that is in flight, and says what is broken.
    #[cold]
    pub(crate) fn whole(&self, at: Time, cluster: &Cluster<'_, P>) -> Option<Violation> {
        self.rules.iter().find_map(|Watch { invariant, .. }| {
            let claimed = invariant.validity == Validity::Always || !self.recovered;
            match &invariant.shape {
                Shape::Whole(holds) if claimed && !holds(cluster) => {
                    let Invariant { name, text, .. } = *invariant;
                    Some(Violation { name, text, at, by: Vec::new() })
                }
                _ => None,
            }
        })
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

impl<P: Process> Watch<P> {
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
    use bellwether_core::{Assumptions, Channels, Context, Kind, Message};

    /// A process that does nothing but hold something, until its clock shows a time.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
    struct Holder {
        held: Option<u64>,
        until: Time,
    }

    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct Nothing;

    impl fmt::Display for Nothing {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("NOTHING")
        }
    }

    impl Message for Nothing {
        fn kind(&self) -> Kind {
            Kind::protocol("NOTHING")
        }
    }

    impl Process for Holder {
        type Msg = Nothing;
        type Timer = ();
        type Input = ();
        type Output = u8;
        type Durable = ();
        type Config = ();
        const ASSUMES: Assumptions = Assumptions::faultless(Channels::Any);

        fn durable(&self) {}
        fn on_start(&mut self, _: Option<()>, _: &mut Context<'_, Self>) {}
        fn on_input(&mut self, (): (), _: &mut Context<'_, Self>) {}
        fn on_message(&mut self, _: NodeId, _: Nothing, _: &mut Context<'_, Self>) {}
        fn on_timer(&mut self, (): (), _: &mut Context<'_, Self>) {}
    }

    fn monitor() -> Monitor<Holder> {
        Monitor::new(vec![
            Invariant::at_most_one("one", "no two hold the same", |_, p: &Holder| p.held)
                .until_recovery(),
            Invariant::each("small", "everybody is below ten", |_, p: &Holder| {
                p.held.is_none_or(|held| held < 10)
            }),
        ])
    }

    fn step(
        monitor: &mut Monitor<Holder>,
        id: u32,
        claims: &mut Claims,
        after: Option<u64>,
    ) -> Option<&'static str> {
        let id = NodeId::new(id);
        let after = Holder { held: after, until: Time::MAX };
        if monitor.is_idle(id, &after, Time::ZERO, *claims) {
            return None;
        }
        let look = |other| (other == id).then_some((&after, Time::ZERO));
        monitor.moved(Time::ZERO, id, claims, &look).map(|violation| violation.name)
    }

    fn held(process: &Holder, now: Time) -> Option<u64> {
        process.held.filter(|_| now < process.until)
    }

    #[test]
    fn a_claim_that_has_run_out_is_no_claim() {
        let ms = |ms: u64| Time::from_micros(ms * 1_000);
        for (other_clock, violated) in [(ms(99), true), (ms(100), false)] {
            let lease = Invariant::at_most_one_now("lease", "", |_, p, now| held(p, now));
            let mut monitor = Monitor::new(vec![lease]);
            let (one, two) = (NodeId::new(1), NodeId::new(2));
            let processes = [100, 200].map(|until| Holder { held: Some(7), until: ms(until) });
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
        let lease = Invariant::fenced("lease", "", |_, p, now| held(p, now).map(u128::from));
        let mut monitor = Monitor::new(vec![lease]);
        let mut claim = |id: u32, key: u64| {
            let process = Holder { held: Some(key), until: Time::MAX };
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
