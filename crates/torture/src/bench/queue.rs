//! `bellwether bench queue`: how long a lock takes from one waiting client to the next.
//!
//! One client holds a lock, and all others wait for it. Then it releases, and each that gets the lock releases it at
//! once. The time from the first release to the last, divided by the number of clients, is the time of one hand-over.

use super::args::QueueArgs;
use super::rig::Rig;
use bellwether::{Client, Endpoints, Session, SessionOptions};
use bellwether_core::Time;
use bellwether_net::Clock;
use bellwether_shell::{Failure, Verdict, print, whole_number};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

const LOCK: &str = "queue";
/// All clients have the lock, or wait for it, within this time.
const PATIENCE: Duration = Duration::from_secs(300);
/// The most that the work of a hand-over may differ between numbers of clients.
const RATIO_MAX: f64 = 1.5;

/// One measurement.
struct Measured {
    waiters: u64,
    all: Duration,
    /// The processor time of all members meanwhile.
    spent: Duration,
}

impl Measured {
    /// The time of one hand-over, in milliseconds.
    fn each(&self) -> f64 {
        self.all.as_secs_f64() * 1_000.0 / self.waiters as f64
    }

    /// The processor time of one hand-over at all members, in milliseconds. It depends less than the time on what else
    /// the machine does.
    fn work(&self) -> f64 {
        self.spent.as_secs_f64() * 1_000.0 / self.waiters as f64
    }
}

pub(super) async fn run(args: &QueueArgs) -> Result<Verdict, Failure> {
    let shape = args.shape.shape("default", 0)?;
    let counts =
        args.waiters.split(',').map(|count| whole_number("waiters", count.trim(), 1..=5_000));
    let counts = counts.collect::<Result<Vec<u64>, Failure>>()?;
    let mut rig = Rig::start(&shape).await?;
    let ids = rig.cluster.members.iter().map(|member| member.id);
    let sockets: Vec<PathBuf> = ids.filter_map(|id| rig.cluster.socket(id)).collect();
    let mut all = Vec::new();
    for waiters in counts {
        rig.rest().await?;
        let pids: Vec<u32> = rig.cluster.members.iter().filter_map(|member| member.pid()).collect();
        all.push(measure(&sockets, &pids, waiters, args.processes).await?);
    }
    rig.cluster.end().await;
    print(&if args.json { json(&all) } else { text(&all, args.processes) })?;
    Ok(if ratio(&all) <= RATIO_MAX { Verdict::Well } else { Verdict::Violated })
}

fn failed(error: bellwether::Error) -> Failure {
    Failure::Input(error.to_string())
}

async fn session(socket: &PathBuf) -> Result<(Client, Session), Failure> {
    let client =
        Client::connect(Endpoints::unix(socket).timeout(PATIENCE)).await.map_err(failed)?;
    let options = SessionOptions { ttl: Duration::from_secs(60), ..SessionOptions::named("queue") };
    let session = client.session(options).await.map_err(failed)?;
    Ok((client, session))
}

/// From the first release to the last.
async fn measure(
    sockets: &[PathBuf],
    members: &[u32],
    waiters: u64,
    processes: bool,
) -> Result<Measured, Failure> {
    let Some(first) = sockets.first() else {
        return Err(Failure::Input("there are no sockets for clients on this host".to_owned()));
    };
    let (client, holder) = session(first).await?;
    let held = holder.lock(LOCK).await.map_err(failed)?;
    let mut work = JoinSet::new();
    for socket in sockets.iter().cycle().take(waiters as usize) {
        match processes {
            true => work.spawn(as_process(socket.clone())),
            false => work.spawn(as_session(socket.clone())),
        };
    }
    let all_wait = async {
        loop {
            let locks = client.locks().await.map_err(failed)?;
            let queue = locks.iter().find(|lock| lock.name == LOCK);
            if queue.is_some_and(|queue| queue.waiter_count == waiters) {
                return Ok::<(), Failure>(());
            }
            sleep(Duration::from_millis(50)).await;
        }
    };
    let late = |_| Failure::Input(format!("not all wait after {} s", PATIENCE.as_secs()));
    timeout(PATIENCE, all_wait).await.map_err(late)??;
    let (from, before) = (Clock::shared(), spent(members));
    held.release().await.map_err(failed)?;
    let mut last = from;
    while let Some(ended) = work.join_next().await {
        let ended = ended.map_err(|error| Failure::Input(error.to_string()))??;
        last = last.max(ended);
    }
    let spent = spent(members).saturating_sub(before);
    Ok(Measured { waiters, all: last.since(from), spent })
}

/// The processor time of these processes until now, with all their threads.
fn spent(pids: &[u32]) -> Duration {
    let nanos = pids.iter().flat_map(|pid| {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        threads.filter_map(|thread| {
            let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
            text.split(' ').next()?.parse::<u64>().ok()
        })
    });
    Duration::from_nanos(nanos.sum())
}

/// Waits, releases, and says when.
async fn as_session(socket: PathBuf) -> Result<Time, Failure> {
    let (_client, session) = session(&socket).await?;
    let lock = session.lock(LOCK).await.map_err(failed)?;
    lock.release().await.map_err(failed)?;
    Ok(Clock::shared())
}

/// The same as a command.
async fn as_process(socket: PathBuf) -> Result<Time, Failure> {
    let broken = |error: std::io::Error| Failure::Input(format!("cannot run the command: {error}"));
    let program = std::env::current_exe().map_err(broken)?;
    let ended = Command::new(program)
        .args(["lock", LOCK, "--ttl", "60s", "--socket"])
        .arg(socket)
        .args(["--", "true"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .status()
        .await
        .map_err(broken)?;
    match ended.success() {
        true => Ok(Clock::shared()),
        false => Err(Failure::Input(format!("a waiting command failed: {ended}"))),
    }
}

/// The most work for a hand-over in the least, of different numbers of clients. Of several measurements with one number the
/// smallest counts: the others were disturbed.
fn ratio(all: &[Measured]) -> f64 {
    let mut best: BTreeMap<u64, f64> = BTreeMap::new();
    for measured in all {
        let each = best.entry(measured.waiters).or_insert(f64::INFINITY);
        *each = each.min(measured.work());
    }
    best.values().fold(0.0, |most, each| each.max(most))
        / best.values().fold(f64::INFINITY, |least, each| each.min(least))
}

fn text(all: &[Measured], processes: bool) -> String {
    let what = if processes { "processes `bellwether lock`" } else { "sessions of one process" };
    let mut text = format!("one lock from client to client; clients are {what}\n\n");
    let (each, work) = ("each hand-over", "work of members");
    let _ = writeln!(text, "{:>8} {:>12} {each:>16} {work:>16}", "waiters", "in all");
    for measured in all {
        let (waiters, seconds) = (measured.waiters, measured.all.as_secs_f64());
        let (each, work) = (measured.each(), measured.work());
        let _ = writeln!(text, "{waiters:>8} {seconds:>10.2} s {each:>13.2} ms {work:>13.2} ms");
    }
    let ratio = ratio(all);
    let met = if ratio <= RATIO_MAX { "met" } else { "MISSED" };
    let _ =
        writeln!(text, "\nwork of a hand-over, most to least: {ratio:.2}; aim {RATIO_MAX}: {met}");
    text
}

fn json(all: &[Measured]) -> String {
    let series: Vec<_> = all
        .iter()
        .map(|measured| serde_json::json!({ "waiters": measured.waiters, "each_ms": measured.each(), "work_ms": measured.work() }))
        .collect();
    format!("{:#}\n", serde_json::json!({ "series": series, "ratio": ratio(all) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_waiters_are_served_as_fast_as_a_few() {
        let of = |waiters, ms| {
            let all = Duration::from_millis(ms);
            Measured { waiters, all, spent: all }
        };
        let all = [of(20, 40), of(500, 1_000)];
        assert_eq!((all[0].each(), ratio(&all)), (2.0, 1.0));
        assert!(text(&all, true).ends_with("aim 1.5: met\n"));
        assert!(text(&[of(20, 40), of(500, 2_000)], true).contains("MISSED"));
        assert_eq!(ratio(&[of(20, 40), of(20, 400), of(500, 1_000)]), 1.0);
    }
}
