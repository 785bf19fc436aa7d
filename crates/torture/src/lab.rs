//! Everything that namespaces make possible: the switch and its rules, disks and memory limits.

use super::args::{Setup, Work};
use super::chance::Chance;
use super::faults::{Fault, Ground, Remedy, minority};
use super::network::rule::{Port, Rule, between};
use super::network::{self, Network};
use super::plan::Kind;
use bellwether_ops::cluster::{Command as Order, Host, carry_out};
use bellwether_shell::Failure;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The size of a member's disk, and of the piece by which it is filled.
const DISK: &str = "size=64m";
const PIECE: usize = 1 << 20;
/// The file that fills it.
const FILLER: &str = "filler";

/// The network, disks and limits of a run.
pub(super) struct Lab {
    network: Network,
    members: u32,
    clients: u32,
    /// Lines for the configuration of each member.
    extra: fn(u32) -> &'static str,
    /// Where the members' disks are mounted.
    folder: PathBuf,
    /// Members whose disk is full or read-only: they may end.
    bad_disks: BTreeSet<u32>,
    memory: Option<Memory>,
    /// Rules that are in force and that no remedy takes back.
    rules: Vec<u64>,
}

impl Lab {
    /// Makes namespaces and disks. Everything is gone when the process is.
    pub(super) fn start(setup: &Setup, work: &Work, folder: &Path) -> Result<Lab, Failure> {
        let clients = (0..setup.clients as usize).map(network::client);
        let ports: Vec<Port> = (1..=setup.members as Port).chain(clients).collect();
        let lab = Lab {
            network: Network::start(&ports, setup.seed)?,
            members: setup.members,
            clients: setup.clients,
            extra: match work {
                // For the sessions of --state.
                Work::Random => |_| "sessions = { ttl_max = \"60m\" }",
                Work::Sequence(sequence) => sequence.extra,
            },
            folder: folder.join("members"),
            bad_disks: BTreeSet::new(),
            memory: Memory::new(),
            rules: Vec::new(),
        };
        // What is on such a disk counts as memory of the member, so there is none where that is limited.
        let limited = matches!(work, Work::Sequence(sequence) if sequence.limits_memory());
        for id in (1..=lab.members).filter(|_| !limited) {
            let disk = lab.disk(id);
            fs::create_dir_all(&disk).map_err(|error| Failure::Read(disk.clone(), error))?;
            mount(&["-t", "tmpfs", "-o", DISK, "none"], &disk)?;
        }
        Ok(lab)
    }

    /// Where the members run.
    pub(super) fn hosts(&self) -> Vec<Host> {
        let host = |id: u32| {
            let limited = self.memory.as_ref().map(|memory| memory.launcher(id));
            let mut launcher = limited.unwrap_or_default();
            launcher.extend(Network::launcher(id as Port));
            let address = Network::address(id as Port);
            Host { address, launcher, extra: (self.extra)(id).to_owned() }
        };
        (1..=self.members).map(host).collect()
    }

    /// The directory for the data of a member.
    pub(super) fn disk(&self, id: u32) -> PathBuf {
        self.folder.join(format!("data-{id}"))
    }

    pub(super) fn has_bad_disk(&self, id: u32) -> bool {
        self.bad_disks.contains(&id)
    }

    pub(super) fn memory(&self) -> Option<&Memory> {
        self.memory.as_ref()
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

    /// Fills the disk of a member.
    fn fill(&mut self, id: u32) {
        self.bad_disks.insert(id);
        let filler = fs::File::create(self.disk(id).join(FILLER));
        while filler.as_ref().is_ok_and(|mut file| file.write_all(&[0; PIECE]).is_ok()) {}
    }

    /// Makes the disk of a member good again.
    pub(super) fn make_room(&mut self, id: u32) -> Result<(), Failure> {
        if self.bad_disks.remove(&id) {
            mount(&["-o", "remount,rw"], &self.disk(id))?;
            let _ = fs::remove_file(self.disk(id).join(FILLER));
        }
        Ok(())
    }

    /// Takes away all that a member has on its disk.
    pub(super) fn empty(&self, id: u32) {
        for entry in fs::read_dir(self.disk(id)).into_iter().flatten().flatten() {
            let path = entry.path();
            let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        }
    }

    /// Takes all rules out of force that no remedy takes back.
    pub(super) fn heal_links(&mut self) {
        let rules = std::mem::take(&mut self.rules);
        self.remove(&rules);
    }

    /// Makes everything good.
    pub(super) fn heal(&mut self) -> Result<(), Failure> {
        self.heal_links();
        (1..=self.members).try_for_each(|id| self.make_room(id))
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for id in 1..=self.members {
            let _ = Command::new("umount").arg("-l").arg(self.disk(id)).status();
        }
    }
}

fn cut() -> Rule {
    Rule { cut: true, ..Rule::default() }
}

fn mount(words: &[&str], at: &Path) -> Result<(), Failure> {
    let unable =
        |why: String| Failure::Input(format!("--namespaces: cannot mount {}: {why}", at.display()));
    let output = Command::new("mount").args(words).arg(at).output();
    let output = output.map_err(|error| unable(error.to_string()))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(unable(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
    }
}

/// Who reaches whom in these arrangements, the members in this order.
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
                lab.fill(id);
                return Some(Remedy::Disk(id));
            }
            Kind::DiskReadOnly => {
                fault.what = format!("started member {id} with a read-only disk");
                lab.bad_disks.insert(id);
                let disk = lab.disk(id);
                carry_out(&Order::Kill(id), &mut self.cluster, &mut self.world).await.ok()?;
                mount(&["-o", "remount,ro"], &disk).ok()?;
                carry_out(&Order::Revive(id), &mut self.cluster, &mut self.world).await.ok()?;
                return Some(Remedy::Disk(id));
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

/// What the control groups of a run are called, and the number of its process.
const PREFIX: &str = "bellwether-torture-";

/// Limits on the memory of members, by control groups of version 1.
pub(super) struct Memory(PathBuf);

impl Memory {
    /// None where there are no such groups, or none can be made.
    fn new() -> Option<Memory> {
        let root = Path::new("/sys/fs/cgroup/memory");
        // Those of runs that were killed.
        for old in fs::read_dir(root).ok()?.flatten() {
            let name = old.file_name().into_string().unwrap_or_default();
            let pid = name.strip_prefix(PREFIX);
            if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
                drop(Memory(old.path()));
            }
        }
        let folder = root.join(format!("{PREFIX}{}", std::process::id()));
        fs::create_dir_all(&folder).ok().map(|()| Memory(folder))
    }

    fn group(&self, id: u32) -> PathBuf {
        self.0.join(id.to_string())
    }

    /// What starts a member in its group.
    fn launcher(&self, id: u32) -> Vec<OsString> {
        let _ = fs::create_dir_all(self.group(id));
        let enter = format!("echo $$ > {}/cgroup.procs; exec \"$@\"", self.group(id).display());
        ["sh", "-c", &enter, "sh"].map(OsString::from).to_vec()
    }

    /// Limits a member to this percentage of the memory that it uses now. Returns the limit in bytes.
    pub(super) fn limit(&self, id: u32, percent: u64) -> Option<u64> {
        let group = self.group(id);
        let stat = fs::read_to_string(group.join("memory.stat")).ok()?;
        let used = stat.lines().find_map(|line| line.strip_prefix("rss "))?;
        let limit = used.trim().parse::<u64>().ok()? * percent / 100;
        fs::write(group.join("memory.limit_in_bytes"), limit.to_string()).ok()?;
        Some(limit)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        for entry in fs::read_dir(&self.0).into_iter().flatten().flatten() {
            let _ = fs::remove_dir(entry.path());
        }
        let _ = fs::remove_dir(&self.0);
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
