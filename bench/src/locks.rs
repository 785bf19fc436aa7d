//! `bellwether-bench locks`: pairs of lock and unlock, contended hand-off, memory.

use crate::Outcome;
use crate::args::{LocksArgs, Part, Peer, WhatArgs};
use crate::bellwether::{self, Bellwether};
use crate::etcd::{self, Etcd, Pace};
use crate::load::{self, Client};
use crate::memory;
use crate::redis::{Keeps, Redis, Way};
use crate::report::{Aim, Figure, Limit, Report, Table};
use crate::stats::percentile;
use crate::zookeeper::{self, Zookeeper};
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

/// At least this many times the pairs of etcd, with both on disk.
const OF_ETCD: f64 = 5.0;
/// At least this share of the pairs of a Redis that syncs every command, with both on disk.
const OF_REDIS_ALWAYS: f64 = 0.8;
/// At least this share of the pairs of a Redis that keeps nothing, with both in memory: up to 16 clients, and more.
const OF_REDIS: (f64, f64) = (0.6, 1.0);
/// At most this share of the time that etcd takes to hand a lock on.
const HAND_OFF: f64 = 0.08;
/// At least this share of the pairs that etcd-client has by hand: our engine on etcd adds a tenth at most.
const BY_HAND: f64 = 0.91;
/// Our engine on etcd hands a lock on as soon as etcd's lock service, at least.
const BY_SERVICE: f64 = 1.0;

/// The servers that run.
struct Servers {
    etcd: Option<Etcd>,
    /// And the folder of its files.
    etcd_in_memory: Option<(Etcd, TempDir)>,
    redis: Option<Redis>,
    redis_always: Option<Redis>,
    zookeeper: Option<Zookeeper>,
    bellwether: Option<Bellwether>,
    in_memory: Option<Bellwether>,
}

/// One way of locking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum System {
    Etcd,
    EtcdInMemory,
    /// Our client crate on the same servers of etcd.
    Engine,
    Redis(Way),
    /// Every command synced.
    RedisAlways,
    Zookeeper,
    Bellwether(bellwether::Way),
    InMemory,
}

impl System {
    const ALL: [System; 11] = [
        System::Etcd,
        System::Engine,
        System::RedisAlways,
        System::Zookeeper,
        System::Bellwether(bellwether::Way::Unix),
        System::Bellwether(bellwether::Way::Follower),
        System::Bellwether(bellwether::Way::Tls),
        System::EtcdInMemory,
        System::Redis(Way::Tcp),
        System::Redis(Way::Unix),
        System::InMemory,
    ];

    fn name(self) -> &'static str {
        match self {
            System::Etcd => "etcd",
            System::EtcdInMemory => "etcd in memory",
            System::Engine => "etcd engine",
            System::Redis(Way::Tcp) => "redis tcp",
            System::Redis(Way::Unix) => "redis unix",
            System::RedisAlways => "redis always",
            System::Zookeeper => "zookeeper",
            System::Bellwether(bellwether::Way::Unix) => "bellwether unix",
            System::Bellwether(bellwether::Way::Follower) => "by a follower",
            System::Bellwether(bellwether::Way::Tls) => "bellwether tls",
            System::InMemory => "in memory",
        }
    }

    fn peer(self) -> Peer {
        match self {
            System::Etcd | System::EtcdInMemory | System::Engine => Peer::Etcd,
            System::Redis(_) | System::RedisAlways => Peer::Redis,
            System::Zookeeper => Peer::Zookeeper,
            System::Bellwether(_) | System::InMemory => Peer::Bellwether,
        }
    }

    /// Whether one can wait for a lock.
    fn queues(self) -> bool {
        self.peer() != Peer::Redis
    }
}

impl Servers {
    async fn start(args: &WhatArgs, folder: &Path) -> Outcome<Self> {
        let (mut etcd, mut etcd_in_memory) = (None, None);
        if args.has(Peer::Etcd) {
            let start = async |folder: &Path| {
                Etcd::start(&args.etcd, folder, etcd::MEMBERS, Pace::DEFAULT).await
            };
            etcd = Some(start(folder).await?);
            etcd_in_memory = match WhatArgs::folder_in_memory() {
                Some(folder) => Some((start(folder.path()).await?, folder)),
                None => None,
            };
        }
        let (mut redis, mut redis_always) = (None, None);
        if args.has(Peer::Redis) {
            redis = Some(Redis::start(&args.redis, folder, Keeps::Nothing).await?);
            redis_always = Some(Redis::start(&args.redis, folder, Keeps::Everything).await?);
        }
        let zookeeper = match zookeeper::absent(&args.zookeeper) {
            None if args.has(Peer::Zookeeper) => {
                Some(Zookeeper::start(&args.zookeeper, folder).await?)
            }
            Some(why) if args.has(Peer::Zookeeper) => {
                eprintln!("{why}");
                None
            }
            _ => None,
        };
        let (mut bellwether, mut in_memory) = (None, None);
        if args.has(Peer::Bellwether) {
            bellwether = Some(Bellwether::start(&args.bellwether, folder, "disk").await?);
            in_memory = Some(Bellwether::start(&args.bellwether, folder, "memory").await?);
        }
        Ok(Servers { etcd, etcd_in_memory, redis, redis_always, zookeeper, bellwether, in_memory })
    }

    /// Whether it is there to be measured.
    fn run(&self, system: System) -> bool {
        match system {
            System::Etcd | System::Engine => self.etcd.is_some(),
            System::EtcdInMemory => self.etcd_in_memory.is_some(),
            System::Redis(_) => self.redis.is_some(),
            System::RedisAlways => self.redis_always.is_some(),
            System::Zookeeper => self.zookeeper.is_some(),
            System::Bellwether(_) => self.bellwether.is_some(),
            System::InMemory => self.in_memory.is_some(),
        }
    }

    async fn client(&self, system: System, lock: &str) -> Outcome<Client> {
        let absent = || format!("{} does not run", system.name());
        match system {
            System::Etcd => {
                let etcd = self.etcd.as_ref().ok_or_else(absent)?;
                Ok(Client::Etcd(Box::new(etcd.client(lock).await?)))
            }
            System::EtcdInMemory => {
                let (etcd, _) = self.etcd_in_memory.as_ref().ok_or_else(absent)?;
                Ok(Client::Etcd(Box::new(etcd.client(lock).await?)))
            }
            System::Engine => {
                let etcd = self.etcd.as_ref().ok_or_else(absent)?;
                Ok(Client::Bellwether(bellwether::client_at(&etcd.address(), lock).await?))
            }
            System::Redis(way) => {
                let redis = self.redis.as_ref().ok_or_else(absent)?;
                Ok(Client::Redis(redis.client(way, lock).await?))
            }
            System::RedisAlways => {
                let redis = self.redis_always.as_ref().ok_or_else(absent)?;
                Ok(Client::Redis(redis.client(Way::Tcp, lock).await?))
            }
            System::Zookeeper => {
                let zookeeper = self.zookeeper.as_ref().ok_or_else(absent)?;
                Ok(Client::Zookeeper(zookeeper.client(lock).await?))
            }
            System::Bellwether(way) => {
                let bellwether = self.bellwether.as_ref().ok_or_else(absent)?;
                Ok(Client::Bellwether(bellwether.client(way, lock).await?))
            }
            System::InMemory => {
                let bellwether = self.in_memory.as_ref().ok_or_else(absent)?;
                let client = bellwether.client(bellwether::Way::Unix, lock).await?;
                Ok(Client::Bellwether(client))
            }
        }
    }

    /// Clients of locks with these names.
    async fn clients(
        &self,
        system: System,
        locks: impl Iterator<Item = String>,
    ) -> Outcome<Vec<Client>> {
        let mut clients = Vec::new();
        for lock in locks {
            clients.push(self.client(system, &lock).await?);
        }
        Ok(clients)
    }

    async fn end(self) {
        if let Some(etcd) = self.etcd {
            etcd.end().await;
        }
        if let Some((etcd, _)) = self.etcd_in_memory {
            etcd.end().await;
        }
        for redis in [self.redis, self.redis_always].into_iter().flatten() {
            redis.end().await;
        }
        if let Some(zookeeper) = self.zookeeper {
            zookeeper.end().await;
        }
        for bellwether in [self.bellwether, self.in_memory].into_iter().flatten() {
            bellwether.end().await;
        }
    }
}

/// Measures what is asked for; whether all aims are met.
pub(crate) async fn run(args: &LocksArgs) -> Outcome<bool> {
    let (warm_up, length) = args.times()?;
    let folder = args.what.folder()?;
    let mut servers = Servers::start(&args.what, folder.path()).await?;
    let systems: Vec<System> =
        System::ALL.into_iter().filter(|system| servers.run(*system)).collect();
    let mut report =
        Report { notes: notes(args), peers: vec![Peer::Etcd, Peer::Redis], ..Report::default() };
    report.versions.extend(servers.zookeeper.as_ref().map(|zookeeper| zookeeper.version.clone()));
    if args.has(Part::Pairs) {
        let table = pairs(args, &servers, &systems, warm_up, length).await?;
        report.aims.extend(pair_aims(&table));
        report.tables.push(table);
    }
    if args.has(Part::HandOff) {
        let queueing: Vec<System> = systems.iter().copied().filter(|s| s.queues()).collect();
        let table = hand_off(args, &servers, &queueing, warm_up, length).await?;
        report.aims.extend(hand_off_aims(&table));
        report.tables.push(table);
    }
    if args.has(Part::Memory)
        && let Some(bellwether) = &mut servers.bellwether
    {
        let tables = memory::measure(bellwether, args.sessions).await?;
        report.aims.extend(memory::aims(&tables));
        report.tables.extend(tables);
    }
    servers.end().await;
    report.publish(&args.what)?;
    Ok(report.met())
}

fn notes(args: &LocksArgs) -> Vec<String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    vec![
        format!(
            "{cores} cores for everything: servers, and the clients of all, which are tasks on \
             one thread"
        ),
        format!(
            "{} rounds in turns, each {} s after {} s of warming up; the median of the rounds, and in \
             parentheses the least and the most",
            args.rounds, args.length, args.warm_up
        ),
        "etcd: three members, defaults, synced to disk, all clients at its leader, by etcd-client and etcd's lock \
         service; 'etcd engine': our client crate at the same leader; 'etcd in memory': the same as etcd with its \
         files in /dev/shm"
            .to_owned(),
        "redis: one, not replicated; 'tcp' and 'unix' keep nothing on disk; 'always': appendonly yes, appendfsync \
         always, over TCP"
            .to_owned(),
        "zookeeper: three members, defaults, synced to disk, all clients at its leader, by the lock recipe of its \
         documentation: a sequential node, a look at all nodes, and one removal"
            .to_owned(),
        "bellwether: three members, defaults (entries synced to disk), mutual TLS between them; 'in memory': the same \
         with durability = \"memory\", by the Unix socket"
            .to_owned(),
    ]
}

async fn pairs(
    args: &LocksArgs,
    servers: &Servers,
    systems: &[System],
    warm_up: Duration,
    length: Duration,
) -> Outcome<Table> {
    let mut seen = vec![vec![Vec::new(); systems.len()]; args.clients.len()];
    for round in 0..args.rounds {
        for (row, count) in args.clients.iter().enumerate() {
            for (column, system) in systems.iter().enumerate() {
                let locks = (0..*count).map(|client| format!("bench/{client}"));
                let clients = servers.clients(*system, locks).await?;
                let rate = load::pairs(clients, warm_up, length).await?;
                eprintln!("round {}, {count} clients, {}: {rate:.0}", round + 1, system.name());
                seen[row][column].push(rate);
            }
        }
    }
    let rows = systems.iter().enumerate().map(|(column, system)| {
        let figures = seen.iter().map(|row| Some(Figure::median(row[column].iter().copied())));
        (system.name().to_owned(), figures.collect())
    });
    Ok(Table {
        title:
            "pairs of lock and unlock a second, each client its own lock; by the number of clients"
                .to_owned(),
        key: "pairs",
        rows_are: "",
        columns: args.clients.iter().map(usize::to_string).collect(),
        rows: rows.collect(),
        digits: 0,
    })
}

async fn hand_off(
    args: &LocksArgs,
    servers: &Servers,
    systems: &[System],
    warm_up: Duration,
    length: Duration,
) -> Outcome<Table> {
    let mut seen = vec![Vec::new(); systems.len()];
    for round in 0..args.rounds {
        for (column, system) in systems.iter().enumerate() {
            let locks = (0..args.queue).map(|_| "bench/one".to_owned());
            let clients = servers.clients(*system, locks).await?;
            let spans = load::hand_offs(clients, warm_up, length).await?;
            let [p50, p99] = [50, 99].map(|hundredths| percentile(&spans, hundredths));
            let name = system.name();
            eprintln!("round {}, {} in a queue, {name}: {p50:.0} us", round + 1, args.queue);
            seen[column].push((p50, p99, spans.len() as f64 / length.as_secs_f64()));
        }
    }
    let rows = systems.iter().zip(&seen).map(|(system, rounds)| {
        let of = |pick: fn(&(f64, f64, f64)) -> f64| Some(Figure::median(rounds.iter().map(pick)));
        (system.name().to_owned(), vec![of(|r| r.0), of(|r| r.1), of(|r| r.2)])
    });
    Ok(Table {
        title: format!(
            "{} clients on one lock, from a release to the next grant, in microseconds",
            args.queue
        ),
        key: "hand_off",
        rows_are: "",
        columns: ["p50", "p99", "a second"].map(str::to_owned).into(),
        rows: rows.collect(),
        digits: 0,
    })
}

/// The aims that can be judged by these figures. What clients on the same host use is judged; the
/// rest is said beside it.
fn pair_aims(table: &Table) -> Vec<Aim> {
    let mut aims = Vec::new();
    for count in &table.columns {
        let many = count.parse::<usize>().is_ok_and(|count| count > 16);
        let of_redis = if many { OF_REDIS.1 } else { OF_REDIS.0 };
        let ratios = [
            ("etcd engine", "etcd", Limit::AtLeast(BY_HAND)),
            ("bellwether unix", "etcd", Limit::AtLeast(OF_ETCD)),
            ("bellwether tls", "etcd", Limit::Unlimited),
            ("bellwether unix", "redis always", Limit::AtLeast(OF_REDIS_ALWAYS)),
            ("bellwether tls", "redis always", Limit::Unlimited),
            ("bellwether unix", "zookeeper", Limit::Unlimited),
            ("in memory", "etcd in memory", Limit::Unlimited),
            ("in memory", "redis tcp", Limit::AtLeast(of_redis)),
            ("in memory", "redis unix", Limit::Unlimited),
        ];
        for (ours, theirs, limit) in ratios {
            if let (Some(own), Some(other)) =
                (table.figure(ours, count), table.figure(theirs, count))
            {
                let what = format!("{ours} / {theirs}, pairs, {count} clients");
                aims.push(Aim { what, is: own.per(other), limit });
            }
        }
    }
    aims
}

fn hand_off_aims(table: &Table) -> Vec<Aim> {
    let mut aims = Vec::new();
    for (ours, theirs, limit) in [
        ("etcd engine", "etcd", Limit::AtMost(BY_SERVICE)),
        ("bellwether unix", "etcd", Limit::AtMost(HAND_OFF)),
        ("bellwether tls", "etcd", Limit::Unlimited),
        ("bellwether unix", "zookeeper", Limit::Unlimited),
        ("in memory", "etcd in memory", Limit::Unlimited),
    ] {
        if let (Some(own), Some(other)) = (table.figure(ours, "p50"), table.figure(theirs, "p50")) {
            let what = format!("{ours} / {theirs}, hand-off, p50");
            aims.push(Aim { what, is: own.per(other), limit });
        }
    }
    aims
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(columns: &[&str], rows: &[(&str, &[f64])]) -> Table {
        Table {
            title: String::new(),
            key: "",
            rows_are: "",
            columns: columns.iter().map(|column| (*column).to_owned()).collect(),
            rows: rows
                .iter()
                .map(|(name, figures)| {
                    let figures = figures.iter().map(|figure| Some(Figure::from(*figure)));
                    ((*name).to_owned(), figures.collect())
                })
                .collect(),
            digits: 0,
        }
    }

    fn met(aims: Vec<Aim>) -> bool {
        assert!(!aims.is_empty());
        Report { aims, ..Report::default() }.met()
    }

    #[test]
    fn each_mode_is_compared_with_the_same_mode() {
        let met = |count: &str, rows: &[(&str, f64)]| {
            let rows: Vec<(&str, &[f64])> =
                rows.iter().map(|(name, figure)| (*name, std::slice::from_ref(figure))).collect();
            met(pair_aims(&table(&[count], &rows)))
        };
        for (count, own, is_met) in
            [("1", 500.0, true), ("1", 499.0, false), ("64", 500.0, true), ("64", 499.0, false)]
        {
            assert_eq!(met(count, &[("etcd", 100.0), ("bellwether unix", own)]), is_met);
        }
        for (count, own, is_met) in
            [("1", 60.0, true), ("16", 59.0, false), ("64", 100.0, true), ("64", 99.0, false)]
        {
            assert_eq!(met(count, &[("redis tcp", 100.0), ("in memory", own)]), is_met);
        }
        assert!(met("1", &[("redis always", 100.0), ("bellwether unix", 80.0)]));
        assert!(!met("1", &[("redis always", 100.0), ("bellwether unix", 79.0)]));
    }

    #[test]
    fn a_hand_off_takes_a_twelfth() {
        let met = |own: f64| {
            let rows: [(&str, &[f64]); 2] = [("etcd", &[1_000.0]), ("bellwether unix", &[own])];
            met(hand_off_aims(&table(&["p50"], &rows)))
        };
        assert!(met(80.0));
        assert!(!met(81.0));
    }

    #[test]
    fn our_engine_on_etcd_adds_a_tenth_at_most() {
        let pairs = |own: f64| {
            let rows: [(&str, &[f64]); 2] = [("etcd", &[109.0]), ("etcd engine", &[own])];
            met(pair_aims(&table(&["1"], &rows)))
        };
        assert!(pairs(100.0));
        assert!(!pairs(99.0));
        let hand_off = |own: f64| {
            let rows: [(&str, &[f64]); 2] = [("etcd", &[1_000.0]), ("etcd engine", &[own])];
            met(hand_off_aims(&table(&["p50"], &rows)))
        };
        assert!(hand_off(1_000.0));
        assert!(!hand_off(1_001.0));
    }

    #[test]
    fn what_was_not_measured_is_not_judged() {
        assert!(pair_aims(&table(&["1"], &[("etcd", &[1.0])])).is_empty());
    }
}
