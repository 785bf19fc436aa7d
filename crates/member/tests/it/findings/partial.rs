//! h as storms: one partial network after the other, with members that restart and members that are
//! slow, in clusters of three, five and seven. Each change must be followed by a leader within the bound
//! that docs/member.md states for it, counted from when some member reaches a majority that is up.
//!
//! `cargo test` runs some; the number of schedules can be given in the environment variable SCHEDULES.

use super::cluster::{Cluster, HEARTBEAT, LEASE, Setup, bound, bound_of_cuts, id, ms};
use bellwether_core::NodeId;
use bellwether_sim::chaos::{Topology, draws};
use bellwether_sim::{Action, CutKind};
use std::collections::BTreeMap;
use std::time::Duration;

/// The longest gap after each kind of change.
type Gaps = BTreeMap<&'static str, Duration>;

struct Storm {
    cluster: Cluster,
    size: u32,
    cut: Option<u32>,
    gaps: Gaps,
    seed: u64,
}

impl Storm {
    fn new(seed: u64, draw: &mut dyn FnMut(u64) -> u64) -> Self {
        let size = [3, 3, 5, 5, 7][draw(5) as usize];
        Storm {
            cluster: Setup::new(size, seed).filled(5),
            size,
            cut: None,
            gaps: Gaps::new(),
            seed,
        }
    }

    /// Runs for longer than the bound after a change of this kind, and looks at the longest gap.
    fn judge(&mut self, kind: &'static str, bound: Duration, draw: &mut dyn FnMut(u64) -> u64) {
        let gap = self.cluster.run(bound + ms(500 + draw(1_500)));
        assert!(
            gap <= bound,
            "seed {}, {} members, {kind}: {gap:?} of {bound:?}",
            self.seed,
            self.size
        );
        let longest = self.gaps.entry(kind).or_default();
        *longest = gap.max(*longest);
    }

    fn heal(&mut self) {
        if let Some(cut) = self.cut.take() {
            self.cluster.act(Action::Heal(cut));
        }
    }

    fn members(&self, draw: &mut dyn FnMut(u64) -> u64) -> Vec<NodeId> {
        let mut order: Vec<NodeId> = (1..=self.size).map(id).collect();
        for place in (1..order.len()).rev() {
            order.swap(place, draw(place as u64 + 1) as usize);
        }
        order
    }

    /// A topology in which some member reaches a majority.
    fn topology(&self, draw: &mut dyn FnMut(u64) -> u64) -> Topology {
        match Topology::ALL[draw(4) as usize] {
            // There, no member reaches more than two others.
            Topology::Chain | Topology::Ring if self.size > 5 => Topology::Star,
            topology => topology,
        }
    }

    /// Only the links of a topology are left, with any member in the middle.
    fn cut(&mut self, topology: Topology, draw: &mut dyn FnMut(u64) -> u64) {
        let links = topology.links(&self.members(draw));
        self.heal();
        self.cut = Some(self.cluster.cut(CutKind::Only(links)));
    }

    fn turn(&mut self, draw: &mut dyn FnMut(u64) -> u64) {
        let topology = self.topology(draw);
        match draw(8) {
            0..4 => {
                self.cut(topology, draw);
                self.judge(topology.name(), bound_of_cuts(self.size), draw);
            }
            4 => {
                self.heal();
                self.judge("healed", bound_of_cuts(self.size), draw);
            }
            // The links change faster than anybody can follow, and then stay.
            5 => {
                for _ in 0..2 + draw(8) {
                    let topology = self.topology(draw);
                    self.cut(topology, draw);
                    self.cluster.run(ms(50 + draw(700)));
                }
                self.judge("flapping", bound_of_cuts(self.size), draw);
            }
            // A majority ends at once, or all, in any network.
            6 => {
                let order = self.members(draw);
                let most = if draw(3) == 0 { self.size } else { self.size / 2 + 1 };
                let hit: Vec<u32> =
                    order.iter().take(most as usize).map(|id| id.number()).collect();
                hit.iter().for_each(|member| self.cluster.crash(*member));
                self.cluster.run(ms(50 + draw(450)));
                // They are not all up at once.
                for member in hit {
                    self.cluster.run(ms(draw(100)));
                    self.cluster.recover(member);
                }
                self.judge("majority", bound(self.size), draw);
            }
            // Some members are busy: each event takes them some milliseconds.
            _ => {
                let order = self.members(draw);
                let busy: Vec<NodeId> = order.into_iter().take(1 + draw(3) as usize).collect();
                for member in &busy {
                    self.cluster.act(Action::Slow(*member, ms(2 + draw(8))));
                }
                self.cut(topology, draw);
                self.judge("busy", bound_of_cuts(self.size), draw);
                for member in busy {
                    self.cluster.act(Action::Slow(member, Duration::ZERO));
                }
            }
        }
    }
}

#[test]
fn h_one_partial_network_after_the_other() {
    let schedules: u64 = std::env::var("SCHEDULES").map_or(40, |text| text.parse().unwrap());
    let mut gaps = Gaps::new();
    for seed in 0..schedules {
        let mut draw = draws(seed);
        let mut storm = Storm::new(seed, &mut draw);
        (0..8).for_each(|_| storm.turn(&mut draw));
        for (kind, gap) in storm.gaps {
            let longest = gaps.entry(kind).or_default();
            *longest = gap.max(*longest);
        }
    }
    assert_eq!(gaps.len(), 8, "every kind happened: {gaps:?}");
    println!("{schedules} storms of partial networks, longest gaps: {gaps:?}");
}

/// What the documentation says.
#[test]
fn the_bounds_are_those_of_the_documentation() {
    let text = include_str!("../../../../../docs/member.md");
    for size in [3, 5, 7] {
        assert_eq!(bound_of_cuts(size), LEASE + size * 5 * HEARTBEAT);
        let [cuts, restarts] = [bound_of_cuts(size), bound(size)].map(|bound| bound.as_secs_f64());
        let row = format!("| {size} members | {cuts:.1} s | {restarts:.1} s |");
        assert!(text.contains(&row), "docs/member.md has no row {row}");
    }
}
