//! `bellwether-bench locks`: pairs of lock and unlock, contended hand-off, memory.

use crate::Outcome;
use crate::args::{LocksArgs, Part, Peer, WhatArgs};
use crate::bellwether::{self, Bellwether};
use crate::etcd::{self, Etcd, Pace};
use crate::load::{self, Client};
use crate::memory;
use crate::redis::{Redis, Way};
use crate::report::{Aim, Limit, Report, Table};
use crate::stats::{median, percentile};
use std::path::Path;
use std::time::Duration;

/// At least this many times the pairs of etcd, with both on disk.
const OF_ETCD: f64 = 3.0;
/// The same in memory.
const OF_ETCD_IN_MEMORY: f64 = 10.0;
/// At least this share of the pairs of a Redis that is not replicated, with more than one client.
const OF_REDIS: f64 = 0.8;
/// At most this share of the time that etcd takes to hand a lock on.
const HAND_OFF: f64 = 0.1;
/// At least this share of the pairs that etcd-client has by hand: our engine on etcd adds a tenth at most.
const BY_HAND: f64 = 0.91;
/// Our engine on etcd hands a lock on as soon as etcd's lock service, at least.
const BY_SERVICE: f64 = 1.0;

/// The servers that run.
struct Servers {
    etcd: Option<Etcd>,
    redis: Option<Redis>,
    bellwether: Option<Bellwether>,
    in_memory: Option<Bellwether>,
}

/// One way of locking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum System {
    Etcd,
    /// Our client crate on the same servers of etcd.
    Engine,
    Redis(Way),
    Bellwether(bellwether::Way),
    InMemory,
}

impl System {
    const ALL: [System; 8] = [
        System::Etcd,
        System::Engine,
        System::Redis(Way::Tcp),
        System::Redis(Way::Unix),
        System::Bellwether(bellwether::Way::Unix),
        System::Bellwether(bellwether::Way::Follower),
        System::Bellwether(bellwether::Way::Tls),
        System::InMemory,
    ];

    fn name(self) -> &'static str {
        match self {
            System::Etcd => "etcd",
            System::Engine => "etcd engine",
            System::Redis(Way::Tcp) => "redis tcp",
            System::Redis(Way::Unix) => "redis unix",
            System::Bellwether(bellwether::Way::Unix) => "bellwether unix",
            System::Bellwether(bellwether::Way::Follower) => "by a follower",
            System::Bellwether(bellwether::Way::Tls) => "bellwether tls",
            System::InMemory => "in memory",
        }
    }

    fn peer(self) -> Peer {
        match self {
            System::Etcd | System::Engine => Peer::Etcd,
            System::Redis(_) => Peer::Redis,
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
        let etcd = match args.has(Peer::Etcd) {
            true => Some(Etcd::start(&args.etcd, folder, etcd::MEMBERS, Pace::DEFAULT).await?),
            false => None,
        };
        let redis = match args.has(Peer::Redis) {
            true => Some(Redis::start(&args.redis, folder).await?),
            false => None,
        };
        let (mut bellwether, mut in_memory) = (None, None);
        if args.has(Peer::Bellwether) {
            bellwether = Some(Bellwether::start(&args.bellwether, folder, "disk").await?);
            in_memory = Some(Bellwether::start(&args.bellwether, folder, "memory").await?);
        }
        Ok(Servers { etcd, redis, bellwether, in_memory })
    }

    async fn client(&self, system: System, lock: &str) -> Outcome<Client> {
        let absent = || format!("{} does not run", system.name());
        match system {
            System::Etcd => {
                let etcd = self.etcd.as_ref().ok_or_else(absent)?;
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
        if let Some(redis) = self.redis {
            redis.end().await;
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
        System::ALL.into_iter().filter(|system| args.what.has(system.peer())).collect();
    let mut report = Report { notes: notes(args), ..Report::default() };
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
            "{} rounds in turns, each {} s after {} s of warming up; the median of the rounds",
            args.rounds, args.length, args.warm_up
        ),
        "etcd: three members, defaults, all clients at its leader, by etcd-client and etcd's lock service; \
         'etcd engine': our client crate at the same leader; Redis: one, \
         nothing on disk; Bellwether: three members, defaults (entries synced to disk), mutual TLS \
         between them; 'in memory': the same with durability = \"memory\", by the Unix socket"
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
    let rows = args.clients.iter().zip(&seen).map(|(count, row)| {
        (count.to_string(), row.iter().map(|rates| Some(median(rates))).collect())
    });
    Ok(Table {
        title: "pairs of lock and unlock a second, each client its own lock".to_owned(),
        key: "pairs",
        rows_are: "clients",
        columns: systems.iter().map(|system| system.name().to_owned()).collect(),
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
        let of = |pick: fn(&(f64, f64, f64)) -> f64| {
            Some(median(&rounds.iter().map(pick).collect::<Vec<f64>>()))
        };
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
    for (count, _) in &table.rows {
        let several = count != "1";
        let ratios = [
            ("etcd engine", "etcd", Limit::AtLeast(BY_HAND)),
            ("bellwether unix", "etcd", Limit::AtLeast(OF_ETCD)),
            ("bellwether tls", "etcd", Limit::Unlimited),
            ("in memory", "etcd", Limit::AtLeast(OF_ETCD_IN_MEMORY)),
            ("bellwether unix", "redis tcp", Limit::Unlimited),
            (
                "in memory",
                "redis tcp",
                if several { Limit::AtLeast(OF_REDIS) } else { Limit::Unlimited },
            ),
            ("bellwether tls", "redis tcp", Limit::Unlimited),
            ("bellwether unix", "redis unix", Limit::Unlimited),
        ];
        for (ours, theirs, limit) in ratios {
            if let (Some(own), Some(other)) =
                (table.figure(count, ours), table.figure(count, theirs))
            {
                let what = format!("{ours} / {theirs}, pairs, {count} clients");
                aims.push(Aim { what, is: own / other, limit });
            }
        }
    }
    aims
}

fn hand_off_aims(table: &Table) -> Vec<Aim> {
    let mut aims = Vec::new();
    for (ours, limit) in [
        ("etcd engine", Limit::AtMost(BY_SERVICE)),
        ("bellwether unix", Limit::AtMost(HAND_OFF)),
        ("bellwether tls", Limit::Unlimited),
    ] {
        if let (Some(own), Some(other)) = (table.figure(ours, "p50"), table.figure("etcd", "p50")) {
            let what = format!("{ours} / etcd, hand-off, p50");
            aims.push(Aim { what, is: own / other, limit });
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
                    ((*name).to_owned(), figures.iter().copied().map(Some).collect())
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
    fn one_client_need_not_be_as_quick_as_redis() {
        let columns = ["etcd", "redis tcp", "bellwether unix", "in memory"];
        assert!(met(pair_aims(&table(&columns, &[("1", &[100.0, 9_000.0, 300.0, 1_000.0])]))));
        assert!(!met(pair_aims(&table(&columns, &[("1", &[100.0, 9_000.0, 299.0, 1_000.0])]))));
        assert!(!met(pair_aims(&table(&columns, &[("1", &[100.0, 9_000.0, 300.0, 999.0])]))));
        assert!(met(pair_aims(&table(&columns, &[("16", &[100.0, 10_000.0, 300.0, 8_000.0])]))));
        assert!(!met(pair_aims(&table(&columns, &[("16", &[100.0, 10_000.0, 300.0, 7_999.0])]))));
    }

    #[test]
    fn a_hand_off_takes_a_tenth() {
        let rows = |own| [("etcd", vec![1_000.0]), ("bellwether unix", vec![own])];
        let met = |own: f64| {
            let rows = rows(own);
            let rows: Vec<(&str, &[f64])> = rows.iter().map(|(n, f)| (*n, f.as_slice())).collect();
            met(hand_off_aims(&table(&["p50"], &rows)))
        };
        assert!(met(100.0));
        assert!(!met(101.0));
    }

    #[test]
    fn our_engine_on_etcd_adds_a_tenth_at_most() {
        let columns = ["etcd", "etcd engine"];
        assert!(met(pair_aims(&table(&columns, &[("1", &[109.0, 100.0])]))));
        assert!(!met(pair_aims(&table(&columns, &[("1", &[110.0, 100.0])]))));
        let rows = |own| [("etcd", vec![1_000.0]), ("etcd engine", vec![own])];
        let met = |own: f64| {
            let rows = rows(own);
            let rows: Vec<(&str, &[f64])> = rows.iter().map(|(n, f)| (*n, f.as_slice())).collect();
            met(hand_off_aims(&table(&["p50"], &rows)))
        };
        assert!(met(1_000.0));
        assert!(!met(1_001.0));
    }

    #[test]
    fn what_was_not_measured_is_not_judged() {
        assert!(pair_aims(&table(&["etcd"], &[("1", &[1.0])])).is_empty());
    }
}
