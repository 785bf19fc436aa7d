//! `bellwether-bench`: locks and roles of Bellwether beside etcd, Redis and ZooKeeper, in the same run; and what the
//! figures of docs/performance.md need besides.
//!
//! It starts what it measures by itself, on loopback and in temporary folders: three members of
//! etcd, of ZooKeeper and of Bellwether, and one Redis. They all run at once and share the machine,
//! and one is loaded at a time, in turns, so that a busy minute of the machine slows down all of them.
//! The figures depend on the machine; the ratios are what is aimed at.
//!
//! The clients are tasks on one thread, the same for all: on a machine of few cores more threads
//! would take from the servers what they give to the clients.

mod args;
#[path = "../../crates/sim/benches/throughput/bare.rs"]
mod bare;
mod bellwether;
mod candidate;
mod counts;
mod etcd;
mod failover;
mod load;
mod locks;
mod memory;
mod own;
mod process;
mod reads;
mod redis;
mod report;
mod roles;
mod stats;
mod trace;
mod zookeeper;

use args::{Cli, Verb};
use clap::Parser;
use std::process::ExitCode;
use tokio::signal::unix::{SignalKind, signal};

/// What went wrong, in words for people.
pub(crate) type Outcome<T> = Result<T, String>;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(&cli) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Whether all aims are met.
fn run(cli: &Cli) -> Outcome<bool> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start the runtime: {error}"))?;
    runtime.block_on(async {
        let wait = |kind| signal(kind).map_err(|error| format!("cannot wait for signals: {error}"));
        let (mut interrupt, mut terminate) =
            (wait(SignalKind::interrupt())?, wait(SignalKind::terminate())?);
        let work = async {
            match &cli.verb {
                Verb::Locks(args) => locks::run(args).await,
                Verb::Roles(args) => roles::run(args).await,
                Verb::Failover(args) => failover::run(args).await,
                Verb::Trace(args) => trace::run(args).await,
                Verb::Counts(args) => counts::run(args).await,
                Verb::Reads(args) => reads::run(args).await,
                Verb::Idle(args) => own::idle(args).await,
                Verb::HandOver(args) => own::hand_over(args).await,
                Verb::Simulator(args) => own::simulator(args).await,
                Verb::Candidate(args) => candidate::run(args).await.map(|()| true),
            }
        };
        tokio::select! {
            verdict = work => verdict,
            // What was started dies with what is dropped here.
            _ = interrupt.recv() => Err("interrupted; nothing was measured".to_owned()),
            _ = terminate.recv() => Err("interrupted; nothing was measured".to_owned()),
        }
    })
}
