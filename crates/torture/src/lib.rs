//! Faults and measurements on real clusters: `bellwether torture` and `bellwether bench`.
//!
//! # Torture
//! Faults on a real cluster under load, with a checked history.
//!
//! Members and clients are processes. Clients lock, lead and let go at random and write down what they
//! ask, hear and see; members and clients are killed, stopped and cut off meanwhile. At last everything is
//! made good, all clients must come to an end, and the histories are put together and checked. The
//! seed decides what is done and what goes wrong. When things happen is up to the machine, so the same
//! seed is a similar run and not the same one.

mod able;
mod args;
mod bench;
mod bulk;
mod chance;
mod check;
mod client;
mod conduct;
mod disks;
mod etcd;
mod faults;
mod field;
mod figures;
mod groups;
mod history;
mod lab;
mod network;
mod plan;
mod report;
mod sequences;
mod writes;

use args::{Engine, Setup, TortureArgs, Work};
use bellwether_ops::cluster::{Signals, runtime};
use bellwether_shell::{Failure, Folder, Verdict, commands, print};
use clap::Subcommand;
use conduct::Conductor;
use faults::Fault;
use figures::Figures;
use report::Report;
use sequences::Sequence;
use std::fs;
use std::path::Path;

commands! {
    /// The commands.
    pub struct Command(Chosen);
}

#[derive(Subcommand)]
enum Chosen {
    /// Measure a whole cluster on this machine: failover, faults of members, queues, idle cost
    Bench(bench::args::BenchArgs),
    /// Make faults on a whole cluster under load, and check what its clients saw
    Torture(args::TortureArgs),
    /// One of the clients that `torture` starts
    #[command(hide = true)]
    TortureClient(client::TortureClientArgs),
}

impl Command {
    /// Carries the command out.
    pub fn run(self) -> Result<Verdict, Failure> {
        match self.0 {
            Chosen::Bench(args) => bench::run(&args),
            Chosen::Torture(args) => run(&args),
            Chosen::TortureClient(args) => client::run(&args),
        }
    }
}

fn run(args: &TortureArgs) -> Result<Verdict, Failure> {
    let setup = args.setup()?;
    let sequences = args.sequences()?;
    if setup.namespaces.is_some() {
        network::enter()?;
    }
    let folder = place(args.keep.as_deref())?;
    runtime()?.block_on(async {
        let mut signals = Signals::new()?;
        tokio::select! {
            verdict = all(&setup, &sequences, args.json, folder) => verdict,
            // Members and clients die with what is dropped here.
            _ = signals.next() => {
                Err(Failure::Exit(130, "interrupted; nothing was checked".to_owned()))
            }
        }
    })
}

/// Faults at random, or these sequences one after the other.
async fn all(
    setup: &Setup,
    sequences: &[&'static Sequence],
    json: bool,
    folder: Folder,
) -> Result<Verdict, Failure> {
    let [first, rest @ ..] = sequences else { return torture(setup, json, folder).await };
    let mut verdict = Verdict::Well;
    let mut folders = vec![folder];
    for (index, sequence) in [first].into_iter().chain(rest).enumerate() {
        let namespaces = Some(Work::Sequence(sequence));
        let (members, faults) = (sequence.members, Vec::new());
        let clients = setup.clients.min(sequence.clients_max);
        let setup = Setup { members, clients, faults, namespaces, ..setup.clone() };
        let folder = match (folders.pop(), index) {
            (Some(folder), 0) if rest.is_empty() => folder,
            _ => place(None)?,
        };
        if matches!(torture(&setup, json, folder).await?, Verdict::Violated) {
            verdict = Verdict::Violated;
        }
    }
    Ok(verdict)
}

async fn torture(setup: &Setup, json: bool, folder: Folder) -> Result<Verdict, Failure> {
    let (conducted, histories) = match setup.engine {
        Engine::Members => {
            let mut conductor = Conductor::start(setup, folder.path(), json).await?;
            (conductor.conduct().await?, conductor.ground.field.histories()?)
        }
        Engine::Etcd => etcd::run(setup, folder.path(), json).await?,
    };
    let faults: String = conducted.faults.iter().map(Fault::line).collect();
    let path = folder.path().join("faults.txt");
    fs::write(&path, faults).map_err(|error| Failure::Write("keep", path, error))?;
    let (book, found) = check::check(&histories);
    let mut figures = Figures::of(&book, &histories, &conducted.faults, &conducted.gaps);
    figures.late_us = conducted.late_us;
    figures.terms = conducted.terms.unwrap_or(figures.terms);
    let violations: Vec<_> = conducted.violations.into_iter().chain(found).collect();
    // Files are kept if that was asked for, or if something was found.
    let wanted = !violations.is_empty() || matches!(folder, Folder::Kept(_));
    let kept = wanted.then(|| folder.keep());
    let (gap, left_out) = (conducted.gap, conducted.left_out);
    let report = Report { setup, figures, violations, histories: &histories, kept, gap, left_out };
    print(&if json { report.json() } else { report.text() })?;
    Ok(if report.violations.is_empty() { Verdict::Well } else { Verdict::Violated })
}

/// Where histories, configurations and logs are.
fn place(kept: Option<&Path>) -> Result<Folder, Failure> {
    let folder = Folder::new(kept, "bellwether-torture-");
    let Some(path) = kept else {
        return folder.map_err(|error| {
            let what = format!("cannot make a temporary directory: {error}; name one with --keep");
            Failure::Input(what)
        });
    };
    let unusable = |what: String| {
        Failure::flag("keep", format!("{}: {what}; name another directory", path.display()))
    };
    let folder = folder.map_err(|error| unusable(error.to_string()))?;
    let mut inside = fs::read_dir(path).map_err(|error| unusable(error.to_string()))?;
    match inside.next() {
        Some(_) => Err(unusable("it is not empty".to_owned())),
        None => Ok(folder),
    }
}
