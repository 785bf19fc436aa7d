//! `bellwether bench failover`: from a fault to the moment when all members name the new
//! coordinator.

use super::args::FailoverArgs;
use super::rig::Rig;
use bellwether_api::json::{Mandate, Partition, Transfer};
use bellwether_net::Clock;
use bellwether_shell::{Failure, Verdict, print, whole_number};
use rustix::process::Signal;
use std::fmt::Write;
use std::time::Duration;
use tokio::time::sleep;

/// The most that the median and the slowest hundredth may be, in floors.
const MEDIAN_MAX: f64 = 1.2;
const P99_MAX: f64 = 1.6;
/// The most that the median and the slowest hundredth may be after a death with proof, in milliseconds.
const PROVED_MAX: (f64, f64) = (10.0, 25.0);
/// The most that a graceful hand-over may take, in round trips.
const ROUND_TRIPS_MAX: f64 = 10.0;

/// What happens to the coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The member's process: its parent lives, and proves it.
    Kill,
    /// The parent too, as if the host was lost: there is no proof.
    Vanish,
    Stop,
    Cut,
    StepDown,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Kind::Kill => "SIGKILL",
            Kind::Vanish => "host lost",
            Kind::Stop => "SIGSTOP",
            Kind::Cut => "partition",
            Kind::StepDown => "step-down",
        }
    }
}

/// Times of one kind, in milliseconds, in order.
struct Series {
    kind: Kind,
    times: Vec<f64>,
}

impl Series {
    /// The smallest time that this percentage of all times does not exceed.
    fn percentile(&self, hundredths: usize) -> f64 {
        let rank = (self.times.len() * hundredths).div_ceil(100).max(1);
        self.times.get(rank - 1).copied().unwrap_or(f64::NAN)
    }

    fn figures(&self) -> [f64; 4] {
        [self.percentile(0), self.percentile(50), self.percentile(99), self.percentile(100)]
    }
}

pub(super) async fn run(args: &FailoverArgs) -> Result<Verdict, Failure> {
    let shape = args.shape.shape("fast", 0)?;
    let trials = whole_number("trials", &args.trials, 1..=10_000)?;
    if shape.nodes < 3 {
        let what = "fewer than 3 members have no majority without the coordinator; give 3 or more";
        return Err(Failure::flag("nodes", what));
    }
    let mut rig = Rig::start(&shape).await?;
    let kinds: &[Kind] = if args.step_down {
        &[Kind::StepDown]
    } else {
        &[Kind::Kill, Kind::Vanish, Kind::Stop, Kind::Cut]
    };
    let round_trip = rig.round_trip().await;
    let mut all = Vec::new();
    let mut seed = Clock::shared().as_micros();
    for kind in kinds {
        let mut times = Vec::new();
        for _ in 0..trials {
            let before = rig.rest().await?;
            // At any moment between two heartbeats.
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let beat = rig.cluster.choices.heartbeat * 3;
            sleep(beat.mul_f64((seed >> 33) as f64 / f64::from(1u32 << 31))).await;
            times.push(trial(&mut rig, *kind, before).await?.as_secs_f64() * 1_000.0);
        }
        times.sort_by(f64::total_cmp);
        all.push(Series { kind: *kind, times });
    }
    rig.cluster.end().await;
    let floor = (rig.cluster.choices.lease + 2 * round_trip).as_secs_f64() * 1_000.0;
    let report = Report { series: &all, floor, round_trip_ms: round_trip.as_secs_f64() * 1_000.0 };
    print(&if args.json { report.json() } else { report.text(&shape.nodes, shape.profile) })?;
    Ok(if all.iter().all(|series| report.met(series)) { Verdict::Well } else { Verdict::Violated })
}

/// Lets it happen once, and undoes it.
async fn trial(rig: &mut Rig, kind: Kind, before: Mandate) -> Result<Duration, Failure> {
    let place = rig.strongest();
    let others: Vec<usize> = (0..place).collect();
    let all: Vec<usize> = (0..=place).collect();
    let blocked = others.iter().map(|other| rig.cluster.members[*other].id).collect();
    rig.attention();
    let from = Clock::shared();
    match kind {
        Kind::Kill => rig.cluster.members[place].signal(Signal::KILL),
        Kind::Vanish => rig.cluster.members[place].vanish(),
        Kind::Stop => rig.cluster.members[place].pause(),
        Kind::Cut => {
            rig.command("/dev/partition", place, &Partition { blocked }).await?;
        }
        Kind::StepDown => {
            rig.command("/v1/step-down", place, &()).await?;
        }
    }
    let watched = if kind == Kind::StepDown { &all } else { &others };
    let until = rig.successor(watched, before).await?;
    match kind {
        Kind::Kill | Kind::Vanish => {
            rig.cluster.kill(place).await;
            rig.cluster.revive(place)?;
        }
        Kind::Stop => rig.cluster.members[place].resume(),
        Kind::Cut => {
            rig.command("/dev/partition", place, &Partition::default()).await?;
        }
        Kind::StepDown => {
            // The chosen member stays until another one is chosen.
            let to = rig.cluster.members[place].id;
            for other in others {
                // All but one decline, because they are not the coordinator.
                let _ = rig.command("/v1/transfer", other, &Transfer { to }).await;
            }
        }
    }
    Ok(until.since(from))
}

struct Report<'a> {
    series: &'a [Series],
    /// The lease and two round trips, in milliseconds.
    floor: f64,
    round_trip_ms: f64,
}

impl Report<'_> {
    /// The unit that a kind is measured against, in milliseconds.
    fn unit(&self, kind: Kind) -> f64 {
        if kind == Kind::StepDown { self.round_trip_ms } else { self.floor }
    }

    fn met(&self, series: &Series) -> bool {
        let ratio = |hundredths| series.percentile(hundredths) / self.unit(series.kind);
        match series.kind {
            Kind::Kill => {
                let (median, p99) = PROVED_MAX;
                series.percentile(50) <= median && series.percentile(99) <= p99
            }
            Kind::StepDown => ratio(50) <= ROUND_TRIPS_MAX,
            _ => ratio(50) <= MEDIAN_MAX && ratio(99) <= P99_MAX,
        }
    }

    fn text(&self, nodes: &u32, profile: &str) -> String {
        let mut text = format!(
            "{nodes} members, profile {profile}; from the fault until every other member names \
             the new coordinator\nround trip {:.2} ms (a question for the status over HTTP, \
             median); floor: lease + 2 round trips = {:.1} ms\n\n",
            self.round_trip_ms, self.floor
        );
        let _ = writeln!(
            text,
            "{:<10} {:>6} {:>9} {:>9} {:>9} {:>9}   ratio: median, p99",
            "fault", "trials", "min", "median", "p99", "max"
        );
        for series in self.series {
            let [min, median, p99, max] = series.figures();
            let unit = self.unit(series.kind);
            let (aim, of) = match series.kind {
                Kind::Kill => (format!("{} and {} ms", PROVED_MAX.0, PROVED_MAX.1), ""),
                Kind::StepDown => ("10 round trips at the median".to_owned(), " round trips"),
                _ => (format!("{MEDIAN_MAX} and {P99_MAX}"), ""),
            };
            let met = if self.met(series) { "met" } else { "MISSED" };
            let _ = writeln!(
                text,
                "{:<10} {:>6} {min:>6.1} ms {median:>6.1} ms {p99:>6.1} ms {max:>6.1} ms   \
                 {:.2}, {:.2}{of}; aim {aim}: {met}",
                series.kind.word(),
                series.times.len(),
                median / unit,
                p99 / unit,
            );
        }
        text
    }

    fn json(&self) -> String {
        let series: Vec<_> = self
            .series
            .iter()
            .map(|series| {
                let [min, median, p99, max] = series.figures();
                let unit = self.unit(series.kind);
                serde_json::json!({
                    "fault": series.kind.word(), "trials": series.times.len(), "min_ms": min,
                    "median_ms": median, "p99_ms": p99, "max_ms": max, "unit_ms": unit,
                    "median_ratio": median / unit, "p99_ratio": p99 / unit,
                    "met": self.met(series), "times_ms": series.times,
                })
            })
            .collect();
        let report = serde_json::json!({
            "floor_ms": self.floor, "round_trip_ms": self.round_trip_ms, "series": series,
        });
        format!("{report:#}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_a_time_that_was_measured() {
        let series = Series { kind: Kind::Kill, times: (1..=30).map(f64::from).collect() };
        assert_eq!(series.figures(), [1.0, 15.0, 30.0, 30.0]);
    }

    #[test]
    fn an_aim_is_missed_by_the_median_or_the_slowest() {
        let report = Report { series: &[], floor: 100.0, round_trip_ms: 1.0 };
        let met = |kind, times: [f64; 3]| report.met(&Series { kind, times: times.into() });
        assert!(met(Kind::Kill, [5.0, 10.0, 25.0]));
        assert!(!met(Kind::Kill, [5.0, 10.1, 25.0]) && !met(Kind::Kill, [5.0, 10.0, 25.1]));
        assert!(met(Kind::Vanish, [90.0, 120.0, 160.0]));
        assert!(!met(Kind::Vanish, [90.0, 121.0, 160.0]));
        assert!(!met(Kind::Stop, [90.0, 120.0, 161.0]));
        assert!(met(Kind::StepDown, [1.0, 10.0, 50.0]));
        assert!(!met(Kind::StepDown, [1.0, 10.1, 10.2]));
    }
}
