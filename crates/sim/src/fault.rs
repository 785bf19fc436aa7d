//! What can go wrong, and how often it really did.

use bellwether_core::{Group, Message, NodeId, Time};
use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

/// Something that a script does to the cluster at a given time.
#[derive(Clone, Debug, PartialEq)]
pub enum Action<I> {
    /// The process stops at once and loses all that is not durable.
    Crash(NodeId),
    /// The process stops in the middle of a step: the next time that it sends messages of this
    /// kind, only the first few leave.
    CrashSending {
        /// Who.
        node: NodeId,
        /// What it is sending.
        kind: String,
        /// How many still leave.
        after: u32,
    },
    /// A stopped process starts again with what was durable.
    Recover(NodeId),
    /// The process stops if it has not, and what was durable is lost: it will start as if for the
    /// first time.
    Wipe(NodeId),
    /// A process stands still, as in a garbage collection: messages and timers wait.
    Pause(NodeId),
    /// It goes on, and finds all that has waited.
    Resume(NodeId),
    /// Every event takes the process this long; zero ends it.
    Slow(NodeId, Duration),
    /// The links between the sides are cut.
    Cut(Cut),
    /// The cut of this name is mended.
    Heal(u32),
    /// From now on no message is lost any more, and none arrives twice.
    Calm,
    /// A process's clock is off by `offset_us` and runs too fast by `drift_ppm`.
    Clock {
        /// Whose.
        node: NodeId,
        /// By how much it is ahead, in microseconds.
        offset_us: i64,
        /// By how much it gains, in parts per million.
        drift_ppm: i64,
    },
    /// What is to happen next is chosen, against what the network or a timer would do by itself.
    Steer(Steer),
    /// The application asks a process for something.
    Input(NodeId, I),
    /// The application asks every live process for something, in ring order.
    InputAll(I),
}

impl<I> Action<I> {
    /// The same action with another type of input, if there is one for it.
    pub fn try_map<J>(self, input: impl FnOnce(I) -> Option<J>) -> Option<Action<J>> {
        Some(match self {
            Action::Crash(id) => Action::Crash(id),
            Action::CrashSending { node, kind, after } => {
                Action::CrashSending { node, kind, after }
            }
            Action::Recover(id) => Action::Recover(id),
            Action::Wipe(id) => Action::Wipe(id),
            Action::Pause(id) => Action::Pause(id),
            Action::Resume(id) => Action::Resume(id),
            Action::Slow(id, span) => Action::Slow(id, span),
            Action::Cut(cut) => Action::Cut(cut),
            Action::Heal(name) => Action::Heal(name),
            Action::Calm => Action::Calm,
            Action::Clock { node, offset_us, drift_ppm } => {
                Action::Clock { node, offset_us, drift_ppm }
            }
            Action::Steer(steer) => Action::Steer(steer),
            Action::Input(id, asked) => Action::Input(id, input(asked)?),
            Action::InputAll(asked) => Action::InputAll(input(asked)?),
        })
    }
}

/// What is chosen to happen next. A message has its link and its number on it, from 0; a timer has
/// its process, and its number among all that this process has set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Steer {
    /// A message that is on its way arrives now.
    Deliver(NodeId, NodeId, u32),
    /// A message that is on its way is lost now.
    Lose(NodeId, NodeId, u32),
    /// A message that is on its way arrives now, and once more when it would have.
    Repeat(NodeId, NodeId, u32),
    /// A timer that is set fires now.
    Fire(NodeId, u32),
}

/// In the words of the scenario language.
impl fmt::Display for Steer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verb, from, to, number) = match self {
            Steer::Fire(node, number) => return write!(f, "fire {}#{number}", node.number()),
            Steer::Deliver(from, to, number) => ("deliver", from, to, number),
            Steer::Lose(from, to, number) => ("lose", from, to, number),
            Steer::Repeat(from, to, number) => ("repeat", from, to, number),
        };
        write!(f, "{verb} {}->{}#{number}", from.number(), to.number())
    }
}

/// An action and its time.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheduled<I> {
    /// When.
    pub at: Time,
    /// What.
    pub action: Action<I>,
}

/// Which links are cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// To mend it by.
    pub name: u32,
    /// How.
    pub kind: CutKind,
}

/// Which links a cut severs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CutKind {
    /// No process reaches another side. Processes on no list form one more side.
    Partition(Vec<Vec<NodeId>>),
    /// The first do not reach the second, though the second reach the first.
    OneWay(Vec<NodeId>, Vec<NodeId>),
    /// The first and the second do not reach each other, but everybody else.
    Between(Vec<NodeId>, Vec<NodeId>),
    /// Only these links are left, both ways: a star, a chain, a ring.
    Only(Vec<(NodeId, NodeId)>),
    /// From the first to the second, messages of one kind or above a size are lost, and others arrive.
    Sieve(Vec<NodeId>, Vec<NodeId>, Mesh),
}

/// Which messages a sieve stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mesh {
    /// Only those of this kind, if one is named.
    pub kind: Option<String>,
    /// Only those that weigh more than this.
    pub above: usize,
}

/// In the words of the scenario language.
impl fmt::Display for CutKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |ids: &[NodeId]| {
            ids.iter().map(|id| id.number().to_string()).collect::<Vec<_>>().join(",")
        };
        match self {
            CutKind::Partition(sides) => {
                let sides: Vec<_> = sides.iter().map(|side| list(side)).collect();
                write!(f, "partition {}", sides.join("|"))
            }
            CutKind::OneWay(from, to) => write!(f, "cut {}>{}", list(from), list(to)),
            CutKind::Between(these, those) => write!(f, "cut {}<>{}", list(these), list(those)),
            CutKind::Only(links) => {
                let link = |(a, b): &(NodeId, NodeId)| format!("{}-{}", a.number(), b.number());
                write!(f, "only {}", links.iter().map(link).collect::<Vec<_>>().join(","))
            }
            CutKind::Sieve(from, to, mesh) => {
                let kind = mesh.kind.as_deref().unwrap_or("all");
                write!(f, "sieve {}>{} {kind} above {}", list(from), list(to), mesh.above)
            }
        }
    }
}

/// A cut in force, by place.
#[derive(Clone, Debug)]
pub(crate) struct ActiveCut {
    pub(crate) cut: Cut,
    pub(crate) fault: FaultKind,
    side: Vec<u32>,
    /// The links that are left, by place, if they are named.
    left: BTreeSet<(usize, usize)>,
}

const NO_SIDE: u32 = 0;
const CUT_FROM: u32 = 1;
const CUT_TO: u32 = 2;
const CUT_BOTH: u32 = 3;

impl ActiveCut {
    pub(crate) fn new(cut: &Cut, group: &Group) -> Self {
        let mut side = vec![NO_SIDE; group.len()];
        let mut left = BTreeSet::new();
        let fault = match &cut.kind {
            CutKind::Partition(sides) => {
                for (index, members) in sides.iter().enumerate() {
                    for place in members.iter().filter_map(|id| group.place(*id)) {
                        side[place] = index as u32 + 1;
                    }
                }
                FaultKind::Partition
            }
            CutKind::Only(links) => {
                for (a, b) in links {
                    if let (Some(a), Some(b)) = (group.place(*a), group.place(*b)) {
                        left.extend([(a, b), (b, a)]);
                    }
                }
                FaultKind::Partition
            }
            CutKind::OneWay(from, to)
            | CutKind::Between(from, to)
            | CutKind::Sieve(from, to, _) => {
                for place in from.iter().filter_map(|id| group.place(*id)) {
                    side[place] |= CUT_FROM;
                }
                for place in to.iter().filter_map(|id| group.place(*id)) {
                    side[place] |= CUT_TO;
                }
                match &cut.kind {
                    CutKind::OneWay(..) => FaultKind::OneWay,
                    CutKind::Sieve(..) => FaultKind::Sieve,
                    _ => FaultKind::Partition,
                }
            }
        };
        ActiveCut { cut: cut.clone(), fault, side, left }
    }

    /// Whether it stops this message.
    pub(crate) fn stops(&self, from: usize, to: usize, msg: &impl Message) -> bool {
        let falls_through = |mesh: &Mesh| {
            let is_meant = mesh.kind.as_ref().is_none_or(|kind| *kind == msg.kind().name);
            !is_meant || msg.weight() <= mesh.above
        };
        match &self.cut.kind {
            CutKind::Sieve(.., mesh) => self.severs(from, to) && !falls_through(mesh),
            _ => self.severs(from, to),
        }
    }

    fn severs(&self, from: usize, to: usize) -> bool {
        if let CutKind::Only(_) = self.cut.kind {
            return from != to && !self.left.contains(&(from, to));
        }
        let (from, to) = (self.side[from], self.side[to]);
        let leads =
            |from, to| matches!(from, CUT_FROM | CUT_BOTH) && matches!(to, CUT_TO | CUT_BOTH);
        match self.cut.kind {
            CutKind::Partition(_) | CutKind::Only(_) => from != to,
            CutKind::OneWay(..) | CutKind::Sieve(..) => leads(from, to),
            CutKind::Between(..) => leads(from, to) || leads(to, from),
        }
    }
}

bellwether_core::named! {
    /// The kinds of faults, each with its own counter.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum FaultKind {
        /// A live process was stopped.
        Crash = "crash",
        /// A stopped process came back.
        Recover = "recover",
        /// An event had to wait because its process was paused.
        Pause = "pause",
        /// An event had to wait because its process was slow.
        Slow = "slow",
        /// A message was stopped by a partition.
        Partition = "partition",
        /// A message was stopped by a one-way cut.
        OneWay = "one-way",
        /// A message was lost.
        Loss = "loss",
        /// A message arrived twice.
        Duplicate = "duplicate",
        /// A message overtook another on its link.
        Reorder = "reorder",
        /// A process acted while its clock was off.
        Offset = "offset",
        /// A timer ran on a clock with a wrong rate.
        Drift = "drift",
        /// A process lost what was durable.
        Wipe = "wipe",
        /// A message was lost because of its kind or its size.
        Sieve = "sieve",
        /// A message waited because its link has a rate.
        Rate = "rate",
    }
}

/// How often each kind of fault was asked for and really bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCounts {
    bitten: [u64; FaultKind::ALL.len()],
    wanted: [bool; FaultKind::ALL.len()],
}

impl FaultCounts {
    pub(crate) fn want(&mut self, kind: FaultKind) {
        self.wanted[kind as usize] = true;
    }

    pub(crate) fn bite(&mut self, kind: FaultKind) {
        self.bitten[kind as usize] += 1;
    }

    /// The kinds that were asked for or happened, with how often they bit.
    pub fn iter(&self) -> impl Iterator<Item = (FaultKind, u64)> + '_ {
        FaultKind::ALL
            .into_iter()
            .map(|kind| (kind, self.bitten[kind as usize]))
            .filter(|(kind, count)| *count > 0 || self.wanted[*kind as usize])
    }

    /// The kinds that were asked for and never bit: the run did not test what it seems to.
    pub fn idle(&self) -> impl Iterator<Item = FaultKind> + '_ {
        self.iter().filter(|(_, count)| *count == 0).map(|(kind, _)| kind)
    }

    /// Adds another run's counts.
    pub fn add(&mut self, other: &FaultCounts) {
        for kind in FaultKind::ALL {
            self.bitten[kind as usize] += other.bitten[kind as usize];
            self.wanted[kind as usize] |= other.wanted[kind as usize];
        }
    }
}

impl<I> Action<I> {
    /// Whether it is the application's doing, and no fault.
    pub fn is_input(&self) -> bool {
        matches!(self, Action::Input(..) | Action::InputAll(_))
    }

    /// The kind of fault that this is a beginning of, if it is one.
    pub(crate) fn fault(&self) -> Vec<FaultKind> {
        match self {
            Action::Crash(_) | Action::CrashSending { .. } => vec![FaultKind::Crash],
            Action::Recover(_) => vec![FaultKind::Recover],
            Action::Wipe(_) => vec![FaultKind::Wipe],
            Action::Pause(_) => vec![FaultKind::Pause],
            Action::Slow(_, span) if !span.is_zero() => vec![FaultKind::Slow],
            Action::Cut(Cut { kind: CutKind::OneWay(..), .. }) => vec![FaultKind::OneWay],
            Action::Cut(Cut { kind: CutKind::Sieve(..), .. }) => vec![FaultKind::Sieve],
            Action::Cut(_) => vec![FaultKind::Partition],
            Action::Clock { offset_us, drift_ppm, .. } => {
                let offset = (*offset_us != 0).then_some(FaultKind::Offset);
                let drift = (*drift_ppm != 0).then_some(FaultKind::Drift);
                offset.into_iter().chain(drift).collect()
            }
            Action::Steer(Steer::Lose(..)) => vec![FaultKind::Loss],
            Action::Steer(Steer::Repeat(..)) => vec![FaultKind::Duplicate],
            Action::Resume(_)
            | Action::Slow(..)
            | Action::Heal(_)
            | Action::Calm
            | Action::Steer(_)
            | Action::Input(..)
            | Action::InputAll(_) => vec![],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(numbers: &[u32]) -> Vec<NodeId> {
        numbers.iter().copied().map(NodeId::new).collect()
    }

    #[test]
    fn a_partition_cuts_between_sides_and_a_one_way_cut_only_one_way() {
        let group = Group::numbered(5).unwrap();
        let kind = CutKind::Partition(vec![ids(&[1, 2]), ids(&[3])]);
        let cut = ActiveCut::new(&Cut { name: 0, kind }, &group);
        assert!(!cut.severs(0, 1));
        assert!(cut.severs(0, 2) && cut.severs(2, 0));
        // 4 and 5 are on no list and form a side of their own.
        assert!(!cut.severs(3, 4));
        assert!(cut.severs(3, 0) && cut.severs(2, 4));

        let kind = CutKind::OneWay(ids(&[1]), ids(&[2]));
        let cut = ActiveCut::new(&Cut { name: 0, kind }, &group);
        assert!(cut.severs(0, 1));
        assert!(!cut.severs(1, 0) && !cut.severs(0, 2) && !cut.severs(2, 1));

        let kind = CutKind::Between(ids(&[1]), ids(&[2, 3]));
        let cut = ActiveCut::new(&Cut { name: 0, kind }, &group);
        assert!(cut.severs(0, 1) && cut.severs(1, 0) && cut.severs(2, 0));
        assert!(!cut.severs(1, 2) && !cut.severs(0, 3) && !cut.severs(3, 0));
    }

    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct Parcel(usize);

    impl fmt::Display for Parcel {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("PARCEL")
        }
    }

    impl Message for Parcel {
        fn kind(&self) -> bellwether_core::Kind {
            bellwether_core::Kind::protocol("PARCEL")
        }

        fn weight(&self) -> usize {
            self.0
        }
    }

    #[test]
    fn a_star_leaves_its_links_and_a_sieve_stops_by_kind_and_size() {
        let group = Group::numbered(4).unwrap();
        let [p1, p2, p3, p4] = [1, 2, 3, 4].map(NodeId::new);
        let kind = CutKind::Only(vec![(p3, p1), (p3, p2), (p3, p4)]);
        let star = ActiveCut::new(&Cut { name: 0, kind }, &group);
        assert!(star.severs(0, 1) && star.severs(3, 0));
        assert!(!star.severs(0, 2) && !star.severs(2, 0) && !star.severs(1, 1));

        for (kind, above, stops) in [
            (None, 10, [false, true]),
            (Some("PARCEL"), 0, [true, true]),
            (Some("LETTER"), 0, [false, false]),
        ] {
            let mesh = Mesh { kind: kind.map(str::to_owned), above };
            let kind = CutKind::Sieve(vec![p1], vec![p2, p3], mesh);
            let sieve = ActiveCut::new(&Cut { name: 0, kind }, &group);
            assert_eq!([10, 11].map(|weight| sieve.stops(0, 2, &Parcel(weight))), stops);
            assert!(!sieve.stops(2, 0, &Parcel(11)), "only one way");
        }
    }

    #[test]
    fn a_fault_that_was_wanted_and_never_bit_is_idle() {
        let mut counts = FaultCounts::default();
        counts.want(FaultKind::Loss);
        counts.want(FaultKind::Pause);
        counts.bite(FaultKind::Loss);
        assert_eq!(counts.idle().collect::<Vec<_>>(), [FaultKind::Pause]);
        assert_eq!(
            counts.iter().collect::<Vec<_>>(),
            [(FaultKind::Pause, 0), (FaultKind::Loss, 1)]
        );
    }
}
