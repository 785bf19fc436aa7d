//! `bellwether-bench failover`: from the death of the leader's member until its successor takes a write.
//!
//! Five members of each system run at once, with their default time-outs. The leaders are killed in turns. Before a
//! trial a client connects to each member that does not lead. Right after the SIGKILL all clients try to write, and the
//! first write that succeeds ends the trial. Then the killed member starts again, and the next trial begins when the
//! cluster is at rest.
//!
//! The two systems do not do the same. A follower of etcd waits for its election time-out, whatever the reason of the
//! silence is. A member of Bellwether runs under a parent that proves its death, so the other members do not wait. If
//! the parent is lost too, as with the whole host, they wait for the lease: this is measured in a row of its own.

use crate::Outcome;
use crate::args::{FailoverArgs, Peer};
use crate::bellwether::{Bellwether, Launch};
use crate::etcd::{Etcd, Pace};
use crate::process::now_us;
use crate::report::{Aim, Figure, Limit, Report, Table};
use crate::stats::percentile;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

const MEMBERS: u32 = 5;
/// The longest time until the successor takes a write, in the middle of all trials and of the slowest hundredth, with
/// proof of death, in milliseconds.
const PROVED_MS: (f64, f64) = (10.0, 25.0);
const ETCD: &str = "etcd";
const PROVED: &str = "bellwether";
const LOST: &str = "bellwether, host lost";
/// A cluster that takes no write by then never will.
const PATIENCE: Duration = Duration::from_secs(30);

/// Spans of one kind, in milliseconds.
struct Series {
    name: &'static str,
    spans: Vec<f64>,
}

impl Series {
    fn new(name: &'static str) -> Self {
        Series { name, spans: Vec::new() }
    }

    fn add(&mut self, from: u64, until: u64) {
        let span = until.saturating_sub(from) as f64 / 1e3;
        self.spans.push(span);
        eprintln!("{}, trial {}: {span:.2} ms", self.name, self.spans.len());
    }
}

/// Measures; whether all aims are met.
pub(crate) async fn run(args: &FailoverArgs) -> Outcome<bool> {
    if args.trials == 0 {
        return Err("--trials is at least 1".to_owned());
    }
    let folder = args.what.folder()?;
    let launch = Launch { members: MEMBERS, proof_of_death: true, ..Launch::default() };
    let (program, folder) = (&args.what.bellwether, folder.path());
    let mut etcd = match args.what.has(Peer::Etcd) {
        true => {
            let members = MEMBERS as usize;
            Some(Etcd::start(&args.what.etcd, folder, members, Pace::DEFAULT).await?)
        }
        false => None,
    };
    let mut own = match args.what.has(Peer::Bellwether) {
        true => Some(Bellwether::launch(program, folder, "disk", launch).await?),
        false => None,
    };
    let mut all = [ETCD, PROVED, LOST].map(Series::new);
    for trial in 0..args.trials {
        // At another moment between two heartbeats in each trial.
        let phase = Duration::from_millis((trial as u64 * 389) % 331);
        let [of_etcd, proved, lost] = &mut all;
        if let Some(etcd) = &mut etcd {
            sleep(phase).await;
            of_etcd_leader(etcd, of_etcd).await?;
        }
        if let Some(own) = &mut own {
            for series in [proved, lost] {
                sleep(phase).await;
                of_coordinator(own, series).await?;
            }
        }
    }
    if let Some(etcd) = etcd {
        etcd.end().await;
    }
    if let Some(own) = own {
        own.end().await;
    }
    let table = table(args.trials, &all);
    let report = Report {
        notes: notes(),
        peers: vec![Peer::Etcd],
        aims: aims(&table),
        tables: vec![table],
        ..Report::default()
    };
    report.publish(&args.what)?;
    Ok(report.met())
}

/// Kills the leader of etcd once.
async fn of_etcd_leader(etcd: &mut Etcd, series: &mut Series) -> Outcome<()> {
    let mut watchers = Vec::new();
    for place in etcd.followers() {
        watchers.push(etcd.watcher(place).await?);
    }
    let from = now_us();
    etcd.kill_leader()?;
    let mut tasks = JoinSet::new();
    for watcher in watchers {
        tasks.spawn(async move {
            watcher.writes_again().await;
            Ok((now_us(), ()))
        });
    }
    series.add(from, first(&mut tasks).await?.0);
    tasks.shutdown().await;
    etcd.revive_leader().await?;
    etcd.rest().await
}

/// Kills the coordinator once: with its parent, or without.
async fn of_coordinator(own: &mut Bellwether, series: &mut Series) -> Outcome<()> {
    let mut watchers = Vec::new();
    for member in own.followers() {
        watchers.push(own.watcher(member).await?);
    }
    let from = now_us();
    if series.name == LOST {
        own.lose_coordinator()?
    } else {
        own.kill_coordinator()?
    }
    let mut tasks = JoinSet::new();
    for mut watcher in watchers {
        tasks.spawn(async move {
            watcher.writes_again().await?;
            Ok((now_us(), watcher))
        });
    }
    let (until, watcher) = first(&mut tasks).await?;
    series.add(from, until);
    // The other clients' locks come within moments; then all sessions are closed.
    let mut watchers = vec![watcher];
    while !tasks.is_empty() {
        watchers.push(first(&mut tasks).await?.1);
    }
    for watcher in watchers {
        watcher.close().await?;
    }
    own.revive_coordinator().await?;
    own.rest().await
}

/// Waits for the next one that has written.
async fn first<T: 'static>(tasks: &mut JoinSet<Outcome<T>>) -> Outcome<T> {
    let late = |_| format!("no member took a write within {} s", PATIENCE.as_secs());
    let joined = timeout(PATIENCE, tasks.join_next()).await.map_err(late)?;
    joined.ok_or("there is no member to ask")?.map_err(|error| error.to_string())?
}

fn table(trials: usize, all: &[Series]) -> Table {
    let sorted = |series: &Series| {
        let mut spans = series.spans.clone();
        spans.sort_by(f64::total_cmp);
        spans
    };
    let reference = all.iter().find(|series| series.name == ETCD && !series.spans.is_empty());
    let reference = reference.map(|series| percentile(&sorted(series), 50));
    let rows = all.iter().filter(|series| !series.spans.is_empty()).map(|series| {
        let spans = sorted(series);
        let [least, median, p99, most] = [0, 50, 99, 100].map(|h| percentile(&spans, h));
        let ratio = reference.map(|reference| reference / median);
        let figures = [Some(median), Some(p99), Some(least), Some(most), ratio];
        (series.name.to_owned(), figures.map(|figure| figure.map(Figure::from)).to_vec())
    });
    Table {
        title: format!(
            "from the SIGKILL of the leader's member until its successor takes a write, \
             {trials} trials each, in milliseconds"
        ),
        key: "failover",
        rows_are: "",
        columns: ["median", "p99", "least", "most", "etcd's median / this"]
            .map(str::to_owned)
            .into(),
        rows: rows.collect(),
        digits: 1,
    }
}

/// The aims that can be judged by these figures.
fn aims(table: &Table) -> Vec<Aim> {
    let (median, p99) = PROVED_MS;
    let aims = [("median", median), ("p99", p99)];
    let aim = |(column, most): (&str, f64)| {
        let is = table.figure(PROVED, column)?.clone();
        let what = format!("{PROVED}, SIGKILL to a write, {column}, ms");
        Some(Aim { what, is, limit: Limit::AtMost(most) })
    };
    aims.into_iter().filter_map(aim).collect()
}

fn notes() -> Vec<String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    vec![
        format!(
            "{cores} cores for everything; both clusters of {MEMBERS} members run at once, and their leaders are \
             killed in turns; a client is connected to each member that survives, and the first write that \
             succeeds ends a trial"
        ),
        "etcd: defaults of the package (heartbeat 100 ms, election time-out 1 s, synced to disk, without TLS); it has \
         no proof of death: a follower waits for 1 to 2 election time-outs after the last heartbeat, drawn at random, \
         whether the process has died, its host is lost or the network is cut; the client asks every 2 ms for a new \
         leader and then puts a key, because a put that is sent earlier goes to the dead leader"
            .to_owned(),
        "bellwether: defaults (heartbeat 100 ms, lease 500 ms, synced to disk, mutual TLS between members); the client \
         takes a lock; SIGKILL of the member alone, whose parent proves its death, so the other members do not wait"
            .to_owned(),
        "host lost: SIGKILL of the parent and the member, so there is no proof and the other members wait for the \
         lease: this is the row that compares like with like"
            .to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(etcd: &[f64], proved: &[f64]) -> [Series; 2] {
        [Series { name: ETCD, spans: etcd.into() }, Series { name: PROVED, spans: proved.into() }]
    }

    #[test]
    fn the_ratio_is_of_the_medians() {
        let figure = |is: f64| Some(is.into());
        let table = table(3, &all(&[1_500.0, 900.0, 1_200.0], &[6.0, 30.0, 4.0]));
        assert_eq!(table.rows[0].1, [1_200.0, 1_500.0, 900.0, 1_500.0, 1.0].map(figure));
        assert_eq!(table.rows[1].1, [6.0, 30.0, 4.0, 30.0, 200.0].map(figure));
    }

    #[test]
    fn the_slowest_hundredth_can_miss_its_aim_alone() {
        let met = |proved: &[f64]| {
            let aims = aims(&table(3, &all(&[], proved)));
            assert_eq!(aims.len(), 2);
            Report { aims, ..Report::default() }.met()
        };
        assert!(met(&[5.0, 10.0, 25.0]));
        assert!(!met(&[5.0, 10.1, 11.0]) && !met(&[5.0, 6.0, 25.1]));
        assert!(aims(&table(3, &all(&[1.0], &[]))).is_empty(), "what was not measured");
    }
}
