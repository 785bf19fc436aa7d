//! Everything that namespaces make possible: the switch and its rules, disks and memory limits.

use super::args::{Setup, Work};
use super::bulk;
use super::chance::Chance;
use super::conduct::LOOKS_EVERY;
use super::disks::Disks;
use super::faults::{Fault, Ground, Remedy, minority};
use super::groups::{Groups, MOUNTED};
use super::network::rule::{Port, Rule, between};
use super::network::{self, Network};
use super::plan::Kind;
use super::writes::Writes;
use bellwether_ops::cluster::{Command as Order, Host, carry_out};
use bellwether_shell::Failure;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// The network, disks and limits of a run.
pub(super) struct Lab {
    network: Network,
    members: u32,
    clients: u32,
    /// Lines for the configuration of each member.
    extra: fn(u32) -> &'static str,
    pub(super) disks: Disks,
    pub(super) groups: Groups,
    /// Rules that are in force and that no remedy takes back.
    rules: Vec<u64>,
}

impl Lab {
    /// Makes namespaces and disks. Everything is gone when the process is.
    pub(super) fn start(setup: &Setup, work: &Work, folder: &Path) -> Result<Lab, Failure> {
        let clients = (0..setup.clients as usize).map(network::client);
        let ports: Vec<Port> = (1..=setup.members as Port).chain(clients).collect();
        let groups = Groups::new(Path::new(MOUNTED), setup.members);
        let folder = folder.join("members");
        // What is on a disk counts as memory of the member, so there is none where that is limited.
        let limited = matches!(work, Work::Sequence(sequence) if sequence.limits_memory());
        let disks = match limited {
            true => Disks::none(&folder),
            false => Disks::mount(&folder, setup.members, &groups)?,
        };
        Ok(Lab {
            network: Network::start(&ports, setup.seed)?,
            members: setup.members,
            clients: setup.clients,
            extra: match work {
                // For the sessions of --state, and for the values that fill disks.
                Work::Random => |_| "sessions = { ttl_max = \"60m\", value_max = \"64KiB\" }",
                Work::Sequence(sequence) => sequence.extra,
            },
            disks,
            groups,
            rules: Vec::new(),
        })
    }

    /// Where the members run.
    pub(super) fn hosts(&self) -> Vec<Host> {
        let host = |id: u32| {
            let mut launcher = self.groups.launcher(id);
            launcher.extend(Network::launcher(id as Port));
            let address = Network::address(id as Port);
            Host { address, launcher, extra: (self.extra)(id).to_owned() }
        };
        (1..=self.members).map(host).collect()
    }

    fn ids(&self) -> BTreeSet<Port> {
        (1..=self.members as Port).collect()
    }

    /// All ways between members but those of these links.
    pub(super) fn all_but(&self, links: &[(Port, Port)]) -> BTreeSet<(Port, Port)> {
        let mut ways = between(self.ids(), &self.ids());
        ways.retain(|(a, b)| a != b && !links.contains(&(*a, *b)) && !links.contains(&(*b, *a)));
        ways
    }

    /// All ways between a side and the other members, and between the clients of the side and those.
    pub(super) fn around(&self, side: &BTreeSet<Port>, clients: u64) -> BTreeSet<(Port, Port)> {
        let rest: BTreeSet<Port> = self.ids().difference(side).copied().collect();
        let with = |place: &usize| clients >> (place % 64) & 1 == 1;
        let places = 0..self.clients as usize;
        let clients = places.clone().filter(with).map(network::client);
        let others = places.filter(|place| !with(place)).map(network::client);
        let mut ways = between(side.iter().copied().chain(clients), &rest);
        ways.extend(between(others, side));
        ways
    }

    /// Whether no frame gets from one member to another.
    pub(super) fn is_cut(&self, from: u32, to: u32) -> bool {
        self.network.switch.is_cut((from as Port, to as Port))
    }

    pub(super) fn cut_client(&self, place: usize) -> Remedy {
        let ways = between([network::client(place)], &self.ids());
        Remedy::Rules(vec![self.network.switch.add(cut(), ways)])
    }

    /// Puts a rule into force until everything is made good.
    pub(super) fn keep(&mut self, rule: Rule, ways: BTreeSet<(Port, Port)>) {
        self.rules.push(self.network.switch.add(rule, ways));
    }

    /// Takes rules out of force; how many frames they hit.
    pub(super) fn remove(&self, rules: &[u64]) -> u64 {
        rules.iter().map(|rule| self.network.switch.remove(*rule)).sum()
    }

    /// Takes all rules out of force that no remedy takes back.
    pub(super) fn heal_links(&mut self) {
        let rules = std::mem::take(&mut self.rules);
        self.remove(&rules);
    }

    /// Makes everything good.
    pub(super) fn heal(&mut self) -> Result<(), Failure> {
        self.heal_links();
        self.disks.make_all_good()
    }
}

fn cut() -> Rule {
    Rule { cut: true, ..Rule::default() }
}

/// Which members reach each other in these arrangements, the members in this order.
fn links(kind: Kind, order: &[Port]) -> Vec<(Port, Port)> {
    let row = || order.windows(2).map(|pair| (pair[0], pair[1]));
    let all = |some: &[Port]| {
        let pairs = |a: &Port| some.iter().map(move |b| (*a, *b)).collect::<Vec<_>>();
        some.iter().flat_map(pairs).collect::<Vec<_>>()
    };
    let half = order.len() / 2;
    match (kind, order) {
        (Kind::Star, [centre, leaves @ ..]) => leaves.iter().map(|leaf| (*centre, *leaf)).collect(),
        (Kind::Ring, [first, .., last]) => row().chain([(*first, *last)]).collect(),
        // The middle one is in both halves.
        (Kind::Bridge, _) => [all(&order[..=half]), all(&order[half..])].concat(),
        _ => row().collect(),
    }
}

impl Ground {
    /// Makes a fault that only the switch or a mount can make.
    pub(super) async fn make_in_namespaces(
        &mut self,
        kind: Kind,
        id: u32,
        draw: u64,
        fault: &mut Fault,
    ) -> Option<Remedy> {
        let lab = self.lab.as_mut()?;
        let (all, own) = (lab.ids(), id as Port);
        let mut order: Vec<Port> = all.iter().copied().collect();
        Chance::new(draw, &[]).shuffle(&mut order);
        let others = between([own], &all.iter().copied().filter(|port| *port != own).collect());
        let every = lab.all_but(&[]);
        let plain = Rule::default();
        let ms = |low: u64| Duration::from_millis(low + draw % (low + 1));
        fault.members = match kind {
            Kind::Loss | Kind::Delay | Kind::Reorder | Kind::Duplicate | Kind::Throttle => {
                (1..=lab.members).collect()
            }
            _ => vec![id],
        };
        let (rule, ways, what) = match kind {
            Kind::DiskFull => {
                fault.what = format!("filled the disk of member {id}");
                let mut tasks = JoinSet::new();
                let fill = lab.disks.fill(id);
                tasks.spawn(async move {
                    loop {
                        fill();
                        sleep(LOOKS_EVERY).await;
                    }
                });
                let leader = self.world.leader().and_then(|id| self.cluster.place(id));
                let mut all: Vec<_> = self.cluster.members.iter().map(|m| m.http.clone()).collect();
                all.rotate_left(leader.unwrap_or_default());
                bulk::commit(&all, &mut tasks);
                return Some(Remedy::Disk(id, tasks));
            }
            Kind::DiskReadOnly => {
                fault.what = format!("started member {id} with a read-only disk");
                // It may be dead already.
                let _ = carry_out(&Order::Kill(id), &mut self.cluster, &mut self.world).await;
                let done = lab.disks.make_read_only(id);
                let _ = carry_out(&Order::Revive(id), &mut self.cluster, &mut self.world).await;
                return done.ok().map(|()| Remedy::Disk(id, JoinSet::new()));
            }
            Kind::DiskSlow => {
                let per_second = 10 << (draw % 3);
                fault.what = format!("limited member {id} to {per_second} writes in a second");
                let at = self.cluster.members.get(id as usize - 1)?.http.clone();
                let before = Writes::of(&at).await?;
                lab.disks.limit(id, Some(per_second), &lab.groups).ok()?;
                return Some(Remedy::Limit { id, per_second, before });
            }
            Kind::OneWay => {
                let deaf = others.into_iter().filter(|(_, to)| *to == own).collect();
                (cut(), deaf, format!("member {id} hears no other member"))
            }
            Kind::Loss => (Rule { loss_percent: 30, ..plain }, every, "30 % loss".to_owned()),
            Kind::Delay => {
                let (delay, jitter) = (ms(20), ms(20));
                (Rule { delay, jitter, ..plain }, every, format!("{delay:?} and up to {jitter:?}"))
            }
            Kind::Reorder => {
                let jitter = ms(20);
                (Rule { jitter, reorder: true, ..plain }, every, format!("within {jitter:?}"))
            }
            Kind::Duplicate => (Rule { twice_percent: 50, ..plain }, every, "half".to_owned()),
            Kind::Throttle => {
                let rate = 100_000 << (draw % 5);
                (Rule { bits_per_second: Some(rate), ..plain }, every, format!("{rate} bit/s"))
            }
            Kind::LargeLost => {
                let size_max = Some(200 + (draw % 800) as usize);
                let what = format!("frames above {size_max:?} bytes of member {id}");
                (Rule { size_max, ..plain }, others, what)
            }
            Kind::Flap => {
                let flap = Some(ms(100) * (1 + (draw >> 8) as u32 % 4));
                (Rule { flap, ..plain }, others, format!("member {id}, every {flap:?}"))
            }
            Kind::Star | Kind::Chain | Kind::Ring | Kind::Bridge => {
                fault.members = order.iter().map(|port| u32::from(*port)).collect();
                let links = links(kind, &order);
                (cut(), lab.all_but(&links), format!("of {order:?}"))
            }
            _ => {
                let cuts_one = kind == Kind::Coordinator;
                let side = if cuts_one { [id].into() } else { minority(id, draw, lab.members) };
                let ports = side.iter().map(|id| *id as Port).collect();
                let what = format!("cut off {side:?} and some clients");
                fault.members = side.into_iter().collect();
                (cut(), lab.around(&ports, draw >> 8), what)
            }
        };
        fault.what = what;
        Some(Remedy::Rules(vec![lab.network.switch.add(rule, ways)]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrangements_are_what_they_are_called() {
        let order = [3, 1, 2, 4, 5];
        assert_eq!(links(Kind::Star, &order), [(3, 1), (3, 2), (3, 4), (3, 5)]);
        assert_eq!(links(Kind::Chain, &order), [(3, 1), (1, 2), (2, 4), (4, 5)]);
        assert_eq!(links(Kind::Ring, &order).last(), Some(&(3, 5)));
        let bridge = links(Kind::Bridge, &order);
        let joined = |a: Port, b: Port| bridge.contains(&(a, b)) || bridge.contains(&(b, a));
        assert!(joined(3, 1) && joined(1, 2) && joined(2, 5) && joined(4, 5));
        assert!(!joined(3, 4) && !joined(1, 5));
    }
}
