//! A process that is tortured: some workers, each with sessions of its own, over one connection.
//!
//! It ends when it is told to (SIGTERM): workers finish what they have begun, close their sessions,
//! and the last line of its history says so.

mod locks;
mod roles;
mod words;
mod worker;

use super::chance::Chance;
use super::history::{Event, Pen};
use bellwether::{Client, Endpoints};
use bellwether_ops::cluster::{Address, end_with_parent, runtime};
use bellwether_shell::{Failure, Verdict};
use clap::Args;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::time::sleep;
use worker::Worker;

/// The number of sessions that a process has at a time.
const WORKERS: u32 = 2;
/// How long to look for a member, or for a coordinator, before that is written down and tried again.
const LOOKS_FOR: Duration = Duration::from_secs(2);

/// One of the clients that `torture` starts.
#[derive(Debug, Args)]
pub(crate) struct TortureClientArgs {
    /// The process that starts it, with which it ends
    parent: i32,
    /// What its sessions are called
    name: String,
    /// Which of its lives this is, and the seed of all
    seed: u64,
    /// Where its history goes
    history: PathBuf,
    /// Where members are, separated by commas
    endpoints: String,
    /// Where certificates are; empty if there are none
    certs: String,
    /// Where members answer over HTTP, separated by commas; empty if nothing does
    http: String,
    /// How many locks there are
    locks: u64,
    /// How many roles there are
    roles: u64,
}

/// What all workers of a process have in common.
pub(super) struct Context {
    pub(super) name: String,
    pub(super) pen: Pen,
    pub(super) client: Client,
    pub(super) http: Vec<Address>,
    pub(super) locks: u64,
    pub(super) roles: u64,
    /// Whether it is etcd, which has exclusive locks and roles in the order of coming only, and finds no deadlocks.
    pub(super) on_etcd: bool,
    /// The numbers of requests.
    asks: AtomicU64,
    /// Whether it is time to finish.
    pub(super) ending: watch::Receiver<bool>,
}

impl Context {
    /// The number of the next request.
    pub(super) fn next_ask(&self) -> u64 {
        self.asks.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(super) fn is_ending(&self) -> bool {
        *self.ending.borrow()
    }
}

pub(crate) fn run(args: &TortureClientArgs) -> Result<Verdict, Failure> {
    if !end_with_parent(args.parent) {
        return Ok(Verdict::Well);
    }
    let certs = Some(args.certs.as_str()).filter(|certs| !certs.is_empty());
    let on_etcd = args.endpoints.starts_with("etcd://");
    let endpoints = Endpoints::parse(&args.endpoints, certs, None)
        .map_err(|error| Failure::Input(error.to_string()))?
        .timeout(LOOKS_FOR);
    let pen = Pen::new(&args.history)
        .map_err(|error| Failure::Write("history", args.history.clone(), error))?;
    let http = args
        .http
        .split(',')
        .filter(|address| !address.is_empty())
        .map(Address::parse)
        .collect::<Result<Vec<_>, _>>()?;
    runtime()?.block_on(async {
        let mut term = signal(SignalKind::terminate())
            .map_err(|error| Failure::Input(format!("cannot wait for signals: {error}")))?;
        // The reader may tell it to end.
        pen.write(Event::Begins { pid: std::process::id() });
        let (end, ending) = watch::channel(false);
        tokio::spawn(async move {
            term.recv().await;
            end.send_replace(true);
            std::future::pending::<()>().await;
        });
        let Some(client) = connect(&endpoints, &ending).await else {
            pen.write(Event::Done);
            return Ok(Verdict::Well);
        };
        let (name, asks) = (args.name.clone(), AtomicU64::new(0));
        let (locks, roles) = (args.locks, args.roles);
        let context = Context { name, pen, client, http, locks, roles, on_etcd, asks, ending };
        let context = Arc::new(context);
        let workers: Vec<_> = (0..WORKERS)
            .map(|seat| {
                let chance = Chance::new(args.seed, &[u64::from(seat)]);
                tokio::spawn(Worker::new(context.clone(), seat, chance).work())
            })
            .collect();
        for worker in workers {
            let fallen = |error| Failure::Input(format!("a worker failed: {error}"));
            worker.await.map_err(fallen)?;
        }
        context.pen.write(Event::Done);
        Ok(Verdict::Well)
    })
}

/// Finds a member, however long that takes; unless it is time to finish before.
async fn connect(endpoints: &Endpoints, ending: &watch::Receiver<bool>) -> Option<Client> {
    while !*ending.borrow() {
        match Client::connect(endpoints.clone()).await {
            Ok(client) => return Some(client),
            Err(_) => sleep(Duration::from_millis(100)).await,
        }
    }
    None
}
