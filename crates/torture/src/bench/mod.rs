//! `bellwether bench`: what a real cluster on this machine takes and costs.
//!
//! Everything is measured from outside: over the HTTP API, or as a client that links the crate `bellwether`.

pub(crate) mod args;
mod clients;
mod failover;
mod queue;
mod quiet;
mod rig;

use args::{BenchArgs, What};
use bellwether_ops::cluster::{Signals, runtime};
use bellwether_shell::{Failure, Verdict};

pub(crate) fn run(args: &BenchArgs) -> Result<Verdict, Failure> {
    runtime()?.block_on(async {
        let mut signals = Signals::new()?;
        let work = async {
            match &args.what {
                What::Failover(args) => failover::run(args).await,
                What::Clients(args) => clients::run(args).await,
                What::Queue(args) => queue::run(args).await,
                What::Quiet(args) => quiet::run(args).await,
            }
        };
        tokio::select! {
            verdict = work => verdict,
            // The members die with what is dropped here.
            _ = signals.next() => Err(Failure::Exit(130, "interrupted; nothing was measured".to_owned())),
        }
    })
}
