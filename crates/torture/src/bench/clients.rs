//! `bellwether bench clients`: what a fault of a member costs its clients, beside what it costs the cluster.
//!
//! Three clients acquire and release a lock of their own, again and again. The *gap* of a client is the longest time
//! between two rounds that it completes. The first client is connected to a member without a fault: its gap is the
//! cluster's. The second is connected to the member with the fault, by its socket. The third comes over TLS and is
//! connected to the coordinator.

use super::args::ClientsArgs;
use super::rig::Rig;
use bellwether::{Client, Endpoints, Session, SessionOptions};
use bellwether_api::json::Partition;
use bellwether_core::Time;
use bellwether_net::Clock;
use bellwether_ops::cluster::Cluster;
use bellwether_shell::{Failure, Verdict, print, whole_number};
use rustix::process::Signal;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// A client that has completed nothing after this time does not recover.
const PATIENCE: Duration = Duration::from_secs(30);
/// A fault lasts for this number of leases, so that all that follows from it happens.
const LEASES: u32 = 6;
/// A client pauses between two rounds: it shall not be the load that is measured.
const PAUSE: Duration = Duration::from_millis(1);

/// What happens to a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Kill,
    Stop,
    Cut,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Kill, Kind::Stop, Kind::Cut];

    fn word(self) -> &'static str {
        match self {
            Kind::Kill => "SIGKILL",
            Kind::Stop => "SIGSTOP",
            Kind::Cut => "cut off",
        }
    }
}

/// One fault, and what it cost, in milliseconds.
#[derive(Clone, Copy, Debug)]
struct Trial {
    cluster: f64,
    /// The client of the member with the fault.
    own: f64,
    /// The client over TLS.
    remote: f64,
}

/// All faults of one kind.
struct Series {
    kind: Kind,
    /// Whether the coordinator had it; else a follower.
    coordinator: bool,
    trials: Vec<Trial>,
}

pub(super) async fn run(args: &ClientsArgs) -> Result<Verdict, Failure> {
    let shape = args.shape.shape("default", 0)?;
    let trials = whole_number("trials", &args.trials, 1..=1_000)?;
    if shape.nodes < 3 {
        let what = "fewer than 3 members have no majority without one of them; give 3 or more";
        return Err(Failure::flag("nodes", what));
    }
    let mut rig = Rig::start(&shape).await?;
    let mut all = Vec::new();
    for coordinator in [true, false] {
        for kind in Kind::ALL {
            let mut series = Series { kind, coordinator, trials: Vec::new() };
            for _ in 0..trials {
                series.trials.push(trial(&mut rig, kind, coordinator).await?);
            }
            all.push(series);
        }
    }
    let lease = rig.cluster.choices.lease.as_secs_f64() * 1_000.0;
    rig.cluster.end().await;
    let report = Report { series: &all, lease };
    print(&if args.json { report.json() } else { report.text(shape.nodes, shape.profile) })?;
    Ok(if all.iter().all(|series| report.met(series)) { Verdict::Well } else { Verdict::Violated })
}

/// Lets it happen once, and undoes it.
async fn trial(rig: &mut Rig, kind: Kind, coordinator: bool) -> Result<Trial, Failure> {
    rig.rest().await?;
    let place = if coordinator { rig.strongest() } else { 0 };
    let (own, other) = (rig.cluster.members[place].id, rig.cluster.members[1].id);
    let probes = [
        Probe::start("cluster", by_socket(&rig.cluster, other)?).await?,
        Probe::start("own", by_socket(&rig.cluster, own)?).await?,
        Probe::start("remote", by_tls(&rig.cluster)?).await?,
    ];
    for probe in &probes {
        probe.completes(10).await?;
    }
    let before: Vec<u64> = probes.iter().map(Probe::mark).collect();
    match kind {
        Kind::Kill => rig.cluster.members[place].signal(Signal::KILL),
        Kind::Stop => rig.cluster.members[place].pause(),
        Kind::Cut => {
            let others = rig.cluster.members.iter().map(|member| member.id);
            let blocked = others.filter(|id| *id != own).collect();
            rig.command("/dev/partition", place, &Partition { blocked }).await?;
        }
    }
    sleep(rig.cluster.choices.lease * LEASES).await;
    for (probe, before) in probes.iter().zip(before) {
        // The first round may have begun before the fault.
        probe.completes(before + 2).await?;
    }
    let [cluster, own, remote] = probes.each_ref().map(Probe::gap);
    match kind {
        Kind::Kill => {
            rig.cluster.kill(place).await;
            rig.cluster.revive(place)?;
        }
        Kind::Stop => rig.cluster.members[place].resume(),
        Kind::Cut => {
            rig.command("/dev/partition", place, &Partition::default()).await?;
        }
    }
    Ok(Trial { cluster, own, remote })
}

/// By the socket of this member, and those of the others if it is lost.
fn by_socket(cluster: &Cluster, first: u32) -> Result<Endpoints, Failure> {
    let others = cluster.members.iter().map(|member| member.id).filter(|id| *id != first);
    let sockets = std::iter::once(first).chain(others).filter_map(|id| cluster.socket(id));
    let list: Vec<String> = sockets.map(|path| format!("unix:{}", path.display())).collect();
    Endpoints::parse(&list.join(","), None, None).map_err(|error| Failure::Input(error.to_string()))
}

fn by_tls(cluster: &Cluster) -> Result<Endpoints, Failure> {
    let addresses = cluster.members.iter().map(|member| member.listen.as_str());
    Endpoints::tls(addresses, cluster.folder(), None)
        .map_err(|error| Failure::Input(error.to_string()))
}

/// What a client has completed.
#[derive(Clone, Copy, Debug)]
struct Rounds {
    count: u64,
    last: Time,
    longest: Duration,
}

/// A client at work.
struct Probe {
    rounds: Arc<Mutex<Rounds>>,
    work: JoinHandle<()>,
}

impl Probe {
    async fn start(name: &'static str, endpoints: Endpoints) -> Result<Self, Failure> {
        let failed = |error: bellwether::Error| Failure::Input(error.to_string());
        let client = Client::connect(endpoints.timeout(PATIENCE)).await.map_err(failed)?;
        let session = client.session(SessionOptions::named(name)).await.map_err(failed)?;
        let (count, last, longest) = (0, Clock::shared(), Duration::ZERO);
        let rounds = Arc::new(Mutex::new(Rounds { count, last, longest }));
        let work = tokio::spawn(work(session, name, rounds.clone()));
        Ok(Probe { rounds, work })
    }

    fn rounds(&self) -> MutexGuard<'_, Rounds> {
        self.rounds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From here on gaps count. How many rounds were completed before.
    fn mark(&self) -> u64 {
        let mut rounds = self.rounds();
        rounds.longest = Duration::ZERO;
        rounds.count
    }

    /// Waits until more rounds than this are completed.
    async fn completes(&self, count: u64) -> Result<(), Failure> {
        let enough = async {
            while self.rounds().count <= count {
                sleep(PAUSE).await;
            }
        };
        timeout(PATIENCE, enough).await.map_err(|_| {
            Failure::Input(format!("a client completed nothing for {} s", PATIENCE.as_secs()))
        })
    }

    /// Its gap, in milliseconds.
    fn gap(&self) -> f64 {
        self.rounds().longest.as_secs_f64() * 1_000.0
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.work.abort();
    }
}

/// Acquires and releases a lock until the session is lost. Then no more rounds are completed.
async fn work(session: Session, name: &'static str, rounds: Arc<Mutex<Rounds>>) {
    loop {
        let Ok(lock) = session.lock(format!("probe-{name}")).await else { return };
        if lock.release().await.is_err() {
            return;
        }
        let now = Clock::shared();
        {
            let mut rounds = rounds.lock().unwrap_or_else(PoisonError::into_inner);
            rounds.longest = rounds.longest.max(now.since(rounds.last));
            (rounds.last, rounds.count) = (now, rounds.count + 1);
        }
        sleep(PAUSE).await;
    }
}

struct Report<'a> {
    series: &'a [Series],
    /// In milliseconds.
    lease: f64,
}

/// The median and the largest of some times, in milliseconds.
type Spread = (f64, f64);

fn median_and_max(times: impl Iterator<Item = f64>) -> Spread {
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    let last = times.last().copied().unwrap_or(f64::NAN);
    (times.get(times.len() / 2).copied().unwrap_or(f64::NAN), last)
}

impl Report<'_> {
    /// For each client: what it is, its gaps, and how much longer they were than the cluster's.
    fn clients(series: &Series) -> [(&'static str, Spread, Spread); 2] {
        let of = |gap: fn(&Trial) -> f64| {
            let more = |trial: &Trial| gap(trial) - trial.cluster;
            (
                median_and_max(series.trials.iter().map(gap)),
                median_and_max(series.trials.iter().map(more)),
            )
        };
        let (own, remote) = (of(|trial| trial.own), of(|trial| trial.remote));
        [("by its socket", own.0, own.1), ("over TLS", remote.0, remote.1)]
    }

    fn met(&self, series: &Series) -> bool {
        Self::clients(series).iter().all(|(.., (_, most))| *most <= self.lease)
    }

    fn text(&self, nodes: u32, profile: &str) -> String {
        let mut text = format!(
            "{nodes} members, profile {profile}, lease {:.0} ms; the longest time between two completed rounds of lock and \
             release\naim: the gap of a client is at most the cluster's gap and one lease\n\n\
             {:<8} {:<12} {:<14} {:>6} {:>17} {:>17} {:>19}\n{:<8} {:<12} {:<14} {:>6} {:>17} {:>17} {:>19}\n",
            self.lease,
            "fault",
            "member",
            "client",
            "trials",
            "cluster's gap",
            "client's gap",
            "difference",
            "",
            "",
            "",
            "",
            "median / max ms",
            "median / max ms",
            "median / max ms"
        );
        for series in self.series {
            let cluster = median_and_max(series.trials.iter().map(|trial| trial.cluster));
            let member = if series.coordinator { "coordinator" } else { "follower" };
            for (client, gap, more) in Self::clients(series) {
                let met = if more.1 <= self.lease { "met" } else { "MISSED" };
                let pair = |(median, most): Spread| format!("{median:.0} / {most:.0}");
                let _ = writeln!(
                    text,
                    "{:<8} {member:<12} {client:<14} {:>6} {:>17} {:>17} {:>19}   {met}",
                    series.kind.word(),
                    series.trials.len(),
                    pair(cluster),
                    pair(gap),
                    pair(more),
                );
            }
        }
        text
    }

    fn json(&self) -> String {
        let series: Vec<_> = self.series.iter().map(|series| {
            let trials: Vec<_> = series.trials.iter().map(|trial| serde_json::json!({
                "cluster_ms": trial.cluster, "own_ms": trial.own, "remote_ms": trial.remote,
            })).collect();
            let member = if series.coordinator { "coordinator" } else { "follower" };
            serde_json::json!({
                "fault": series.kind.word(), "member": member, "met": self.met(series), "trials": trials,
            })
        }).collect();
        format!("{:#}\n", serde_json::json!({ "lease_ms": self.lease, "series": series }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_may_be_later_than_the_cluster_by_a_lease() {
        let report = Report { series: &[], lease: 500.0 };
        let met = |own, remote| {
            let trials = vec![Trial { cluster: 600.0, own, remote }];
            report.met(&Series { kind: Kind::Stop, coordinator: true, trials })
        };
        assert!(met(1_100.0, 600.0) && met(10.0, 10.0));
        assert!(!met(1_101.0, 600.0) && !met(600.0, 1_101.0));
    }

    #[test]
    fn every_row_says_whether_it_is_met() {
        let trial = |own| Trial { cluster: 600.0, own, remote: 600.0 };
        let trials = vec![trial(700.0), trial(2_000.0)];
        let series = [Series { kind: Kind::Cut, coordinator: false, trials }];
        let report = Report { series: &series, lease: 500.0 };
        let text = report.text(5, "default");
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("cut off")).collect();
        assert!(rows[0].contains("2000 / 2000") && rows[0].ends_with("MISSED"), "{text}");
        assert!(rows[1].contains("0 / 0") && rows[1].ends_with("met"), "{text}");
    }
}
