//! What goes wrong and when, by the seed: nothing here touches a process.
//!
//! # Rules
//! * F1 Faults come on tracks. On a track one fault is over before the next begins, and all kinds of
//!   it come once, in random order, before one comes again. After the first round there are calm
//!   stretches, in which clients do more than wait.
//! * F2 One track is for the clients, one for the members. Five members and more have a second one,
//!   so that two faults meet; only the first cuts links, because there is one partition at a time.
//! * F3 All faults begin before the time is over, and are made good then at the latest.

use super::args::Setup;
use super::chance::Chance;
use std::collections::BTreeMap;
use std::time::Duration;

bellwether_core::named! {
    /// A kind of fault; [`Kind::about`] says what it does.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub(super) enum Kind {
        Kill = "kill",
        Stop = "stop",
        Partition = "partition",
        Coordinator = "coordinator",
        Majority = "majority",
        StepDown = "step-down",
        ClientKill = "client-kill",
        ClientStop = "client-stop",
        OneWay = "one-way",
        Loss = "loss",
        Delay = "delay",
        Reorder = "reorder",
        Duplicate = "duplicate",
        Throttle = "throttle",
        LargeLost = "large-lost",
        Flap = "flap",
        Star = "star",
        Chain = "chain",
        Ring = "ring",
        Bridge = "bridge",
        DiskFull = "disk-full",
        DiskSlow = "disk-slow",
        DiskReadOnly = "disk-read-only",
        ClientCut = "client-cut",
    }
}

impl Kind {
    /// What it does.
    pub(super) fn about(self) -> &'static str {
        match self {
            Kind::Kill => "a member is killed, and restarted",
            Kind::Stop => "a member is stopped (SIGSTOP), and resumed",
            Kind::Partition => {
                "members are cut off from the others; in namespaces, some clients go with them"
            }
            Kind::Coordinator => "the coordinator is killed, stopped or cut off",
            Kind::Majority => "a majority is killed at once",
            Kind::StepDown => "the coordinator is asked to hand over",
            Kind::ClientKill => "a client is killed, and replaced by another",
            Kind::ClientStop => "a client is stopped (SIGSTOP), and resumed",
            Kind::OneWay => "a member receives nothing from the others, and what it sends arrives",
            Kind::Loss => "3 of 10 frames between members are lost",
            Kind::Delay => "frames between members are delayed by varying times",
            Kind::Reorder => "frames between members overtake each other",
            Kind::Duplicate => "half of the frames between members arrive twice",
            Kind::Throttle => "the rate between members is limited to 100 to 1,600 kbit/s",
            Kind::LargeLost => "large frames to and from a member are lost, small ones arrive",
            Kind::Flap => "the links of a member go on and off",
            Kind::Star => "one member reaches all others, which reach only this member",
            Kind::Chain => "members reach only their neighbours in a row",
            Kind::Ring => "members reach only their neighbours in a ring",
            Kind::Bridge => "two halves reach each other only through one member",
            Kind::DiskFull => "the disk of a member is full until the member ends with exit code 4",
            Kind::DiskSlow => "the disk of a member makes 10 to 40 writes in a second",
            Kind::DiskReadOnly => "a member starts on a read-only disk, and ends with exit code 3",
            Kind::ClientCut => {
                "a client is cut off from all members, often for longer than its TTL"
            }
        }
    }

    /// All kinds with what they do, as a table.
    pub(super) fn table() -> String {
        let rows = |namespaces: bool| {
            let kinds = Kind::ALL.into_iter().filter(|k| k.needs_namespaces() == namespaces);
            kinds.map(|k| format!("  {:<15} {}\n", k.name(), k.about())).collect::<String>()
        };
        format!("Faults:\n{}\nFaults with --namespaces:\n{}", rows(false), rows(true))
    }

    pub(super) fn is_for_clients(self) -> bool {
        matches!(self, Kind::ClientKill | Kind::ClientStop | Kind::ClientCut)
    }

    /// Whether it can only be made in namespaces, between which there is a switch.
    pub(super) fn needs_namespaces(self) -> bool {
        self > Kind::ClientStop
    }

    /// All that can be made, in namespaces or not.
    pub(super) fn possible(namespaces: bool) -> Vec<Kind> {
        Kind::ALL.into_iter().filter(|kind| namespaces || !kind.needs_namespaces()).collect()
    }

    /// All that can be made on servers of etcd. Clients connect by ways of their own there, which can be cut.
    pub(super) const ON_ETCD: [Kind; 7] = [
        Kind::Kill,
        Kind::Stop,
        Kind::Coordinator,
        Kind::Majority,
        Kind::ClientKill,
        Kind::ClientStop,
        Kind::ClientCut,
    ];

    /// Whether short ones tell little: a cluster has to find out which members reach each other, or to write.
    fn is_long(self) -> bool {
        self.span_ms().0 >= LONG_MS
    }

    /// Whether it can only be made while there is a coordinator.
    pub(super) fn needs_coordinator(self) -> bool {
        matches!(self, Kind::Coordinator | Kind::StepDown)
    }

    /// How long it lasts, in milliseconds: around time-outs, leases and TTLs.
    fn span_ms(self) -> (u64, u64) {
        match self {
            Kind::Kill | Kind::Partition | Kind::Coordinator => (100, 2_000),
            Kind::Stop => (20, 2_000),
            Kind::Majority => (50, 500),
            Kind::StepDown => (0, 1),
            Kind::ClientKill => (0, 300),
            Kind::ClientStop | Kind::ClientCut => (20, 5_000),
            Kind::DiskReadOnly => (500, 2_000),
            Kind::DiskFull | Kind::DiskSlow => (LONG_MS, 6_000),
            Kind::OneWay
            | Kind::Loss
            | Kind::Delay
            | Kind::Reorder
            | Kind::Duplicate
            | Kind::Throttle
            | Kind::Flap => (500, 4_000),
            Kind::Star | Kind::Chain | Kind::Ring | Kind::Bridge | Kind::LargeLost => {
                (LONG_MS, 6_000)
            }
        }
    }
}

/// Kinds that last at least this long are never cut short.
const LONG_MS: u64 = 2_000;
/// How often nothing happens on a track, and for how long.
const CALM_PERCENT: u64 = 15;
const CALM_MS: (u64, u64) = (1_000, 4_000);

/// A fault that is to happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Planned {
    pub(super) at: Duration,
    pub(super) until: Duration,
    pub(super) kind: Kind,
    /// Says whom it hits, and how: that depends on who is there then.
    pub(super) draw: u64,
}

/// All that goes wrong, by when it begins. Kinds that are left out cannot be made.
pub(super) fn plan(setup: &Setup, left_out: &BTreeMap<Kind, String>) -> Vec<Planned> {
    let of = |clients: bool| {
        let made = setup.faults.iter().filter(|kind| !left_out.contains_key(kind));
        let mine = made.filter(move |kind| kind.is_for_clients() == clients);
        mine.copied().collect::<Vec<_>>()
    };
    let mut all = track(setup, 0, &of(false), (50, 700));
    all.extend(track(setup, 1, &of(true), (20, 500)));
    if setup.members >= 5 {
        let alone = |kind: &Kind| matches!(kind, Kind::Kill | Kind::Stop);
        let second: Vec<Kind> = of(false).into_iter().filter(alone).collect();
        // In namespaces the table says which fault a gap is due to, so fewer of them meet.
        let gap_ms = if setup.namespaces.is_some() { (4_000, 12_000) } else { (500, 3_000) };
        all.extend(track(setup, 2, &second, gap_ms));
    }
    all.sort_by_key(|planned| planned.at);
    all
}

fn track(setup: &Setup, number: u64, kinds: &[Kind], gap_ms: (u64, u64)) -> Vec<Planned> {
    let mut chance = Chance::new(setup.seed, &[number, 1 << 40]);
    let (mut all, mut round, mut now) = (Vec::new(), Vec::new(), Duration::ZERO);
    for turn in 0.. {
        let Some(kind) = kind(kinds, &mut round, &mut chance) else { break };
        let calm = turn as usize >= kinds.len() && chance.percent(CALM_PERCENT);
        let (low, high) = if calm { CALM_MS } else { gap_ms };
        let at = now + chance.millis(low, high);
        if at >= setup.length {
            break;
        }
        let (low, high) = kind.span_ms();
        // Short ones are as likely as long ones: half of the time it is a tenth.
        let tenth = if chance.percent(50) && !kind.is_long() { 10 } else { 1 };
        let until = (at + chance.millis(low, high) / tenth).min(setup.length);
        all.push(Planned { at, until, kind, draw: chance.bits() });
        now = until;
    }
    all
}

/// The next kind of a track; `None` if there is none.
fn kind(kinds: &[Kind], round: &mut Vec<Kind>, chance: &mut Chance) -> Option<Kind> {
    if round.is_empty() {
        round.extend(kinds);
        chance.shuffle(round);
    }
    round.pop()
}

#[cfg(test)]
mod tests {
    use super::super::args::Engine;
    use super::*;

    fn plan(setup: &Setup) -> Vec<Planned> {
        super::plan(setup, &BTreeMap::new())
    }

    fn setup(members: u32, faults: &[Kind]) -> Setup {
        let (length, faults) = (Duration::from_secs(60), faults.to_vec());
        let (clients, seed, locks, roles, state, namespaces) = (4, 3, 3, 3, 0, None);
        let engine = Engine::Members;
        Setup { engine, members, clients, length, seed, faults, locks, roles, state, namespaces }
    }

    #[test]
    fn everything_comes_and_is_over_in_time() {
        let setup = setup(5, &Kind::possible(false));
        let all = plan(&setup);
        for kind in Kind::possible(false) {
            assert!(all.iter().filter(|planned| planned.kind == kind).count() >= 2, "{kind:?}");
        }
        assert!(all.iter().all(|planned| planned.until <= setup.length));
        assert!(all.is_sorted_by_key(|planned| planned.at));
        assert_eq!(all, plan(&setup));
        assert_ne!(all, plan(&Setup { seed: 4, ..setup }));
    }

    #[test]
    fn with_three_members_one_fault_comes_after_the_other() {
        let mut all = plan(&setup(3, &Kind::possible(false)));
        all.retain(|planned| !planned.kind.is_for_clients());
        assert!(all.is_sorted_by(|first, next| first.until <= next.at), "{all:?}");
        let mut first: Vec<Kind> = all.iter().take(6).map(|planned| planned.kind).collect();
        first.sort();
        assert_eq!(first, Kind::ALL[..6]);
    }

    #[test]
    fn only_what_is_asked_for_happens() {
        assert_eq!(plan(&setup(5, &[])), []);
        let all = plan(&setup(5, &[Kind::Stop]));
        assert!(all.len() > 10 && all.iter().all(|planned| planned.kind == Kind::Stop));
    }

    #[test]
    fn the_documentation_and_the_help_have_every_kind() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
        let read = |name| std::fs::read_to_string(format!("{folder}/{name}")).unwrap();
        let (page, flags) = (read("torture.md"), read("command-line.md"));
        let help = Kind::table();
        for kind in Kind::ALL {
            let (name, about) = (kind.name(), kind.about());
            let row = format!("| `{name}` | {about} |\n");
            assert!(page.contains(&row), "docs/torture.md has no row {row}");
            assert!(flags.contains(&format!("`{name}`")), "docs/command-line.md has no {name}");
            assert!(help.contains(&format!("  {name} ")) && help.contains(about), "{name}");
        }
    }

    #[test]
    fn what_cannot_be_made_is_not_planned() {
        let setup = setup(3, &[Kind::DiskFull, Kind::DiskSlow]);
        assert!(plan(&setup).iter().any(|planned| planned.kind == Kind::DiskSlow));
        let left_out = BTreeMap::from([(Kind::DiskSlow, "no loop device".to_owned())]);
        let all = super::plan(&setup, &left_out);
        assert!(all.len() > 2 && all.iter().all(|planned| planned.kind == Kind::DiskFull));
    }

    #[test]
    fn full_and_slow_disks_last_long_enough_to_be_felt() {
        let all = plan(&setup(3, &[Kind::DiskFull, Kind::DiskSlow]));
        let short = all.iter().find(|planned| planned.until - planned.at < Duration::from_secs(2));
        assert!(short.is_none_or(|last| last.until == Duration::from_secs(60)), "{short:?}");
    }
}
