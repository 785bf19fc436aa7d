//! `bellwether bench quiet`: what a cluster does and costs when nothing happens.

use super::super::writes::sum;
use super::args::QuietArgs;
use super::rig::Rig;
use bellwether_net::Clock;
use bellwether_ops::cluster::{Cluster, Death, Link, Shape};
use bellwether_shell::{Failure, Verdict, print};
use std::fmt::Write;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::sleep;

/// Linux counts the time of processes in hundredths of a second, whatever it does inside.
const TICKS_PER_SECOND: f64 = 100.0;
/// The most that a member may take: of a core, and of memory in KiB.
const CORE_MAX: f64 = 0.01;
const MEMORY_MAX_KIB: u64 = 20 << 10;

/// What is known of a member at a moment.
#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    elections: u64,
    term: u64,
    ticks: u64,
    memory_kib: u64,
}

pub(super) async fn run(args: &QuietArgs) -> Result<Verdict, Failure> {
    let shape = args.shape.shape("fast", 0)?;
    let length = bellwether_algorithms::options::duration(&args.length)
        .map_err(|what| Failure::flag("for", what))?;
    if length < Duration::from_secs(1) {
        return Err(Failure::flag("for", "too short to measure anything; give at least 1s"));
    }
    // The observers would be work, so they end before it begins.
    let mut cluster = Rig::start(&shape).await?.cluster;
    let mut links: Vec<Link> =
        cluster.members.iter().map(|member| Link::new(member.http.clone())).collect();
    let crowd = args.busy.then(Crowd::gather);
    let before = read(&cluster, &mut links).await?;
    let from = Clock::shared();
    sleep(length).await;
    let span = Clock::shared().since(from);
    let after = read(&cluster, &mut links).await?;
    drop(crowd);
    if let Some(Death { id, words, .. }) = cluster.deaths().into_iter().next() {
        return Err(Failure::Input(format!("member {id} exited unexpectedly, {words}")));
    }
    cluster.end().await;
    let report = Report { shape: &shape, busy: args.busy, span, before, after };
    print(&if args.json { report.json() } else { report.text() })?;
    Ok(if report.met() { Verdict::Well } else { Verdict::Violated })
}

/// Threads that do nothing, as fast as they can.
struct Crowd(Arc<AtomicBool>);

impl Crowd {
    fn gather() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..cores {
            let over = over.clone();
            std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        Crowd(over)
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

async fn read(cluster: &Cluster, links: &mut [Link]) -> Result<Vec<Reading>, Failure> {
    let mut readings = Vec::new();
    for (member, link) in cluster.members.iter().zip(links) {
        let silent = || Failure::Input(format!("member {} does not answer", member.id));
        let text = link.get_text("/metrics", Duration::from_secs(10)).await.ok_or_else(silent)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let pid = member.pid().ok_or_else(silent)?;
        let unread = |error| Failure::Input(format!("cannot read what pid {pid} costs: {error}"));
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).map_err(unread)?;
        let status = fs::read_to_string(format!("/proc/{pid}/status")).map_err(unread)?;
        readings.push(Reading {
            elections: sum(&text, "bellwether_elections_total") as u64,
            term: sum(&text, "bellwether_term") as u64,
            ticks: ticks(&stat),
            memory_kib: memory(&status),
        });
    }
    Ok(readings)
}

/// The processor time of a process, of the user's and the system's kind. The name of the program,
/// in parentheses, may contain anything.
fn ticks(stat: &str) -> u64 {
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    fields.split(' ').skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}

fn memory(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

struct Report<'a> {
    shape: &'a Shape,
    busy: bool,
    span: Duration,
    before: Vec<Reading>,
    after: Vec<Reading>,
}

impl Report<'_> {
    fn elections(&self) -> u64 {
        let pairs = self.before.iter().zip(&self.after);
        pairs.map(|(before, after)| after.elections.saturating_sub(before.elections)).sum()
    }

    fn terms(&self) -> u64 {
        let last = |readings: &[Reading]| readings.iter().map(|r| r.term).max().unwrap_or(0);
        last(&self.after).saturating_sub(last(&self.before))
    }

    /// The share of a core that each member took.
    fn cores(&self) -> Vec<f64> {
        let pairs = self.before.iter().zip(&self.after);
        let spent = |(before, after): (&Reading, &Reading)| {
            after.ticks.saturating_sub(before.ticks) as f64
                / TICKS_PER_SECOND
                / self.span.as_secs_f64()
        };
        pairs.map(spent).collect()
    }

    fn met(&self) -> bool {
        let cheap = self.cores().into_iter().all(|core| core < CORE_MAX)
            && self.after.iter().all(|reading| reading.memory_kib < MEMORY_MAX_KIB);
        // On a busy machine what a member costs is not the question.
        self.elections() == 0 && self.terms() == 0 && (cheap || self.busy)
    }

    fn text(&self) -> String {
        let load = if self.busy { "all cores busy" } else { "nothing else started" };
        let mut text = format!(
            "{} members, profile {}, left alone for {:.0} s, {load}\n\n",
            self.shape.nodes,
            self.shape.profile,
            self.span.as_secs_f64()
        );
        let _ = writeln!(
            text,
            "false elections {}, changes of term {}; aim 0",
            self.elections(),
            self.terms()
        );
        for (place, (core, after)) in self.cores().iter().zip(&self.after).enumerate() {
            let _ = writeln!(
                text,
                "member {}: {:.2} % of a core, {:.1} MiB; aim below 1 % and 20 MiB",
                place + 1,
                core * 100.0,
                after.memory_kib as f64 / 1_024.0
            );
        }
        let _ = writeln!(text, "{}", if self.met() { "met" } else { "MISSED" });
        text
    }

    fn json(&self) -> String {
        let memory: Vec<u64> = self.after.iter().map(|reading| reading.memory_kib).collect();
        let report = serde_json::json!({
            "seconds": self.span.as_secs_f64(), "busy": self.busy, "elections": self.elections(),
            "terms": self.terms(), "cores": self.cores(), "memory_kib": memory, "met": self.met(),
        });
        format!("{report:#}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_summed_over_its_labels() {
        let text = "# TYPE bellwether_elections counter\n\
                    bellwether_elections_total{reason=\"alone\"} 2\n\
                    bellwether_elections_total{reason=\"silent\"} 3\n\
                    bellwether_elections_total_other 9\nbellwether_term 7\n";
        assert_eq!(sum(text, "bellwether_elections_total"), 5.0);
        assert_eq!(sum(text, "bellwether_term"), 7.0);
    }

    #[test]
    fn the_system_tells_what_a_process_costs() {
        let stat = "12 (odd) name) S 1 12 12 0 -1 4 10 0 0 0 30 12 0 0 20 0 1 0 99 0 0";
        assert_eq!(ticks(stat), 42);
        assert_eq!(memory("Name:\tx\nVmRSS:\t   12345 kB\n"), 12_345);
        assert_eq!((ticks(""), memory("")), (0, 0));
    }
}
