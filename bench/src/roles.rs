//! `bellwether-bench roles`: from the death of an application's leader until the next one leads.
//!
//! Candidates are processes of their own. One leads, one waits; the one that leads is killed at
//! some moment, and the other says when it leads, by the clock that all processes of a machine
//! share. Then a new one waits. A process that is stopped instead stands for a lost host: it is not
//! heard of any more, and nothing says that it is dead.

use crate::Outcome;
use crate::args::{Peer, RolesArgs};
use crate::bellwether::Bellwether;
use crate::candidate::LEASE_S;
use crate::etcd::{self, Etcd, Pace};
use crate::process::{now_us, signal};
use crate::report::{Aim, Figure, Limit, Report, Table};
use crate::stats::percentile;
use rustix::process::Signal;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::{sleep, timeout};

/// The longest time until the next one leads, in the middle of all trials.
const MEDIAN_MS: f64 = 5.0;
const OURS: &str = "bellwether, by socket";
/// The TTL of sessions where it decides: the shortest that our engine on etcd keeps.
const TTL_S: u64 = 2;
/// Where a TTL is waited for, this share of the trials is enough.
const SLOW: usize = 3;

/// A candidate that prints nothing for this long never will.
const PATIENCE: Duration = Duration::from_secs(20);
/// After `stands` this much time passes until a candidate surely is in the queue.
const SETTLES: Duration = Duration::from_millis(300);

/// A process that stands for the role.
struct Candidate {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Candidate {
    async fn start(case: &Case) -> Outcome<Self> {
        let failed = |error: std::io::Error| format!("cannot start a candidate: {error}");
        let program = std::env::current_exe().map_err(failed)?;
        let mut child = Command::new(program)
            .args(["candidate", "--ttl", &case.ttl_s.to_string(), case.peer])
            .args(&case.endpoints)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let stdout = child.stdout.take().ok_or("a candidate without a voice")?;
        let mut candidate = Candidate { child, lines: BufReader::new(stdout).lines() };
        match candidate.next_line().await?.as_str() {
            "stands" => Ok(candidate),
            other => Err(format!("a candidate says '{other}'")),
        }
    }

    async fn next_line(&mut self) -> Outcome<String> {
        let late = |_| format!("a candidate says nothing for {} s", PATIENCE.as_secs());
        let line = timeout(PATIENCE, self.lines.next_line()).await.map_err(late)?;
        line.ok().flatten().ok_or_else(|| "a candidate ended by itself".to_owned())
    }

    /// Waits until it leads; since when.
    async fn leads(&mut self) -> Outcome<u64> {
        let line = self.next_line().await?;
        let since = line.strip_prefix("leads ").and_then(|since| since.parse().ok());
        since.ok_or_else(|| format!("a candidate says '{line}'"))
    }
}

/// What is measured.
struct Case {
    name: String,
    /// The candidate's kind.
    peer: &'static str,
    endpoints: Vec<String>,
    ttl_s: u64,
    /// What happens to the leader.
    signal: Signal,
    trials: usize,
}

/// Kills leaders; milliseconds until the next one led, in order.
async fn trials(case: &Case) -> Outcome<Vec<f64>> {
    let mut leader = Candidate::start(case).await?;
    leader.leads().await?;
    let mut spans = Vec::new();
    for trial in 0..case.trials {
        let mut next = Candidate::start(case).await?;
        // At another moment between two keep-alives in each trial.
        let phase = Duration::from_millis((trial as u64 * 389) % 331);
        sleep(SETTLES + phase).await;
        let from = now_us();
        signal(&leader.child, case.signal);
        let until = next.leads().await?;
        let span = until.saturating_sub(from) as f64 / 1e3;
        eprintln!("{}, trial {}: {span:.2} ms", case.name, trial + 1);
        spans.push(span);
        let _ = leader.child.kill().await;
        leader = next;
    }
    let _ = leader.child.kill().await;
    spans.sort_by(f64::total_cmp);
    Ok(spans)
}

impl Case {
    async fn measure(self) -> Outcome<(String, Vec<f64>)> {
        let spans = trials(&self).await?;
        Ok((self.name, spans))
    }
}

/// Measures; whether all aims are met.
pub(crate) async fn run(args: &RolesArgs) -> Outcome<bool> {
    if args.trials == 0 {
        return Err("--trials is at least 1".to_owned());
    }
    let folder = args.what.folder()?;
    let mut all = Vec::new();
    let slow = args.trials.div_ceil(SLOW);
    if args.what.has(Peer::Etcd) {
        let etcd = Etcd::start(&args.what.etcd, folder.path(), etcd::MEMBERS, Pace::QUICK).await?;
        let own = vec![etcd.endpoints.join(",").replace("http://", "etcd://")];
        for (name, peer, endpoints, ttl_s, signal, trials) in [
            ("etcd".to_owned(), "etcd", &etcd.endpoints, LEASE_S as u64, Signal::KILL, args.trials),
            ("etcd engine".to_owned(), "bellwether", &own, TTL_S, Signal::KILL, slow),
            ("etcd engine, lost host".to_owned(), "bellwether", &own, TTL_S, Signal::STOP, slow),
        ] {
            let (name, endpoints) = (format!("{name}, TTL of {ttl_s} s"), endpoints.clone());
            all.push(Case { name, peer, endpoints, ttl_s, signal, trials }.measure().await?);
        }
        etcd.end().await;
    }
    if args.what.has(Peer::Bellwether) {
        let cluster = Bellwether::start(&args.what.bellwether, folder.path(), "disk").await?;
        let endpoints = vec![cluster.endpoint()];
        let (lost, usual) = (TTL_S, crate::bellwether::TTL.as_secs());
        for (name, ttl_s, signal, trials) in [
            (OURS.to_owned(), usual, Signal::KILL, args.trials),
            (format!("bellwether, lost host, TTL of {lost} s"), lost, Signal::STOP, slow),
        ] {
            let (peer, endpoints) = ("bellwether", endpoints.clone());
            all.push(Case { name, peer, endpoints, ttl_s, signal, trials }.measure().await?);
        }
        cluster.end().await;
    }
    let rows = all.into_iter().map(|(name, spans)| {
        let figures =
            [0, 50, 99, 100].map(|hundredths| Some(percentile(&spans, hundredths).into()));
        (name, figures.into())
    });
    let table = Table {
        title: format!(
            "from the SIGKILL of a leader until the next one leads, {} trials, {slow} where a TTL of \
             {TTL_S} s is waited for, in milliseconds",
            args.trials
        ),
        key: "roles",
        rows_are: "",
        columns: ["min", "median", "p99", "max"].map(str::to_owned).into(),
        rows: rows.collect(),
        digits: 2,
    };
    let aims = aims(&table);
    let report = Report {
        notes: notes(),
        peers: vec![Peer::Etcd],
        tables: vec![table],
        aims,
        ..Report::default()
    };
    report.publish(&args.what)?;
    Ok(report.met())
}

/// The aim that can be judged by these figures.
fn aims(table: &Table) -> Vec<Aim> {
    let median = table.figure(OURS, "median");
    let aim = |is: &Figure| Aim {
        what: format!("{OURS}, median, ms"),
        is: is.clone(),
        limit: Limit::AtMost(MEDIAN_MS),
    };
    median.map(aim).into_iter().collect()
}

fn notes() -> Vec<String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    vec![
        format!("{cores} cores for everything; candidates are processes of their own"),
        "etcd: three members with an election time-out of 500 ms, below which a lease of 1 s is \
         lengthened; election service; 'etcd engine': our client crate; Redis has no roles"
            .to_owned(),
        "lost host: the leader is stopped (SIGSTOP), so that it is not heard of, and nothing says that it is dead"
            .to_owned(),
        "Bellwether: three members, defaults; candidates by Unix socket of the coordinator, \
         sessions of 60 s: the death of a process is seen, not waited for"
            .to_owned(),
    ]
}
