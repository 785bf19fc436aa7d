//! Conducting a real run: when to do what, and when it is over.

use super::cluster::{CERTIFICATES, CLUSTER, Cluster};
use super::plan::work;
use super::record::{Record, journalled};
use crate::panics::caught;
use crate::program::runtime;
use crate::replay;
use bellwether_core::{AnyInput, AnyProcess, Time};
use bellwether_net::{Clock, certs};
use bellwether_shell::Failure;
use bellwether_sim::replay::Replayed;
use bellwether_sim::{Action, Plan, Silent};
use std::path::Path;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::sleep;

/// Longer than any run.
const CERTIFIED_DAYS: u32 = 365;
/// How often the parent looks whether the run is over.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Looking takes a while when much has happened. The parent spends one part in this many on it, and
/// leaves the rest of the machine to the processes.
const LOOK_SHARE: u32 = 10;
/// A run with larger journals, in bytes, is cut off: they hold some hundred thousand events, and to
/// tell each of them takes many times as much memory.
const MOST_JOURNALLED: u64 = 32 << 20;
/// How long a run lasts that would go on for ever.
const LASTS: Duration = Duration::from_secs(10);
/// How often the parent looks how large they are.
const MEASURE_EVERY: Duration = Duration::from_millis(500);

/// Runs it in this directory, leaves the journals there, and returns what the parent noted.
///
/// However it ends, no process is left.
pub(crate) fn conduct(plan: &Plan<AnyProcess>, folder: &Path) -> Result<Record, Failure> {
    certs::prepare_all(&folder.join(CERTIFICATES), CLUSTER, plan.group.ring(), &[], CERTIFIED_DAYS)
        .map_err(|error| Failure::Input(error.to_string()))?;
    let runtime = runtime()?;
    let mut cluster = Cluster::new(plan, folder.to_owned())?;
    let result = runtime.block_on(async {
        let mut interrupt = Interrupt::new()?;
        let started = tokio::select! {
            started = cluster.start() => started,
            () = interrupt.recv() => Err(Failure::Input("interrupted before it began".to_owned())),
        };
        let mut storms = false;
        let result = match started {
            // Who has had enough still wants to see what happened.
            Ok(()) => tokio::select! {
                played = play(plan, &mut cluster) => played,
                () = storm(folder) => {
                    storms = true;
                    Ok(())
                }
                () = interrupt.recv() => Ok(()),
            },
            Err(failure) => Err(failure),
        };
        cluster.end().await;
        cluster.record.storm = storms;
        result
    });
    match result {
        Ok(()) => Ok(cluster.record),
        Err(panicked @ Failure::Exit(..)) => Err(panicked),
        Err(failure) => Err(told(plan, &cluster, u64::MAX).err().unwrap_or(failure)),
    }
}

/// Tells the run so far. If something panics then, it panicked in the run: the journals have the step.
fn told(
    plan: &Plan<AnyProcess>,
    cluster: &Cluster,
    until_us: u64,
) -> Result<Result<Replayed<Silent>, Failure>, Failure> {
    let tell = || cluster.record.tell(&plan.algorithm, cluster.folder(), until_us, Silent);
    caught(tell, || format!("between real processes, repeat it: {}", replay::bare()))
}

/// Ctrl-C, or a polite request to end.
struct Interrupt(Signal, Signal);

impl Interrupt {
    fn new() -> Result<Self, Failure> {
        let listen = |kind| {
            signal(kind).map_err(|error| Failure::Input(format!("cannot catch signals: {error}")))
        };
        Ok(Interrupt(listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?))
    }

    async fn recv(&mut self) {
        tokio::select! {
            _ = self.0.recv() => {}
            _ = self.1.recv() => {}
        }
    }
}

/// Returns when too much has been written down.
async fn storm(folder: &Path) {
    while journalled(folder) <= MOST_JOURNALLED {
        sleep(MEASURE_EVERY).await;
    }
}

/// Does what the script says and waits until the run is over.
async fn play(plan: &Plan<AnyProcess>, cluster: &mut Cluster) -> Result<(), Failure> {
    let began = Time::from_micros(cluster.record.began_us);
    for scheduled in &plan.script {
        wait_until(began + scheduled.at.since(Time::ZERO), cluster).await?;
        act(plan, &scheduled.action, cluster).await?;
    }
    if let Some(length) = plan.until {
        return wait_until(began + length.since(Time::ZERO), cluster).await;
    }
    let config = plan.algorithm.config(&plan.settings, &plan.group);
    if let Some(span) = plan.algorithm.duration(&config) {
        // It would go on for ever, and the simulator's limit is too long to wait for.
        return wait_until(Clock::shared() + span.min(LASTS), cluster).await;
    }
    // Every action has been taken by now. What it led to takes no longer than this.
    let overdue = Clock::shared() + plan.algorithm.settling_time(&config, &plan.group, work(plan));
    loop {
        let now = Clock::shared();
        if (!cluster.is_busy() && is_over(plan, cluster)?) || now > overdue {
            return Ok(());
        }
        let looked = Clock::shared();
        wait_until(looked + LOOK_EVERY.max(looked.since(now) * LOOK_SHARE), cluster).await?;
    }
}

/// As in the simulator: with detection when the goal holds and no message of the algorithm is on
/// the way; without when nothing is left to happen.
fn is_over(plan: &Plan<AnyProcess>, cluster: &Cluster) -> Result<bool, Failure> {
    let now = Clock::shared().as_micros();
    let at_rest = plan.algorithm.goal.as_ref().is_none_or(|goal| goal.at_rest);
    // If the journals so far make no sense, the end will show it.
    Ok(match told(plan, cluster, now)? {
        // What goes round for ever may have got lost.
        Ok(told) if !at_rest && !plan.settings.detection => {
            told.outcome.agreed || told.open.is_quiet()
        }
        Ok(told) if !at_rest => told.outcome.agreed,
        Ok(told) if plan.settings.detection => told.outcome.agreed && told.open.moving == 0,
        Ok(told) => told.open.is_quiet(),
        Err(_) => false,
    })
}

/// Waits, unless a process ends by itself.
async fn wait_until(at: Time, cluster: &mut Cluster) -> Result<(), Failure> {
    tokio::select! {
        () = sleep(at.since(Clock::shared())) => Ok(()),
        failure = cluster.death() => Err(failure),
    }
}

async fn act(
    plan: &Plan<AnyProcess>,
    action: &Action<AnyInput>,
    cluster: &mut Cluster,
) -> Result<(), Failure> {
    match action {
        Action::Crash(id) => cluster.kill(*id).await,
        Action::Recover(id) => cluster.revive(*id).await?,
        Action::Pause(id) => cluster.stop(*id).await,
        Action::Resume(id) => cluster.go_on(*id),
        Action::Input(id, input) => cluster.input(*id, &plan.algorithm.verb(input)).await?,
        Action::InputAll(input) => {
            for id in plan.group.ring() {
                cluster.input(*id, &plan.algorithm.verb(input)).await?;
            }
        }
        // Clocks are wrong from the beginning, and no flag asks for anything else.
        _ => {}
    }
    Ok(())
}
