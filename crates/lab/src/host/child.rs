//! `bellwether host-process`: one of the processes of a real run.
//!
//! It has one thread and takes its orders from standard input. When that is closed it ends, so a
//! parent that is gone, however it went, leaves no process behind.

use super::args::HostProcessArgs;
use super::wire::{Order, Reply, Setup, line};
use crate::own;
use crate::program::runtime;
use bellwether_algorithms::catalogue::{Catalogue, Listed};
use bellwether_algorithms::definition::Settings;
use bellwether_core::{AnyProcess, Group, NodeId};
use bellwether_net::certs::Files;
use bellwether_net::journal::FileJournal;
use bellwether_net::{Clock, Coded, Options, Running, start_with_journal};
use bellwether_shell::{Failure, Verdict, print};
use std::fmt::Display;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::net::TcpListener;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

/// How long the first connections may take before the run begins without them.
const CONNECTED_WITHIN: Duration = Duration::from_secs(60);

pub(crate) fn run(args: &HostProcessArgs, catalogue: &Catalogue) -> Result<Verdict, Failure> {
    // Standard input does not help a process that is stopped while its parent dies.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    match catalogue.get(&args.algorithm) {
        Some(algorithm) => runtime()?.block_on(host(algorithm, args.port)).map(|()| Verdict::Well),
        None => Err(Failure::Input(format!("no algorithm '{}'", args.algorithm))),
    }
}

fn failure(what: &str, error: impl Display) -> Failure {
    Failure::Input(format!("cannot {what}: {error}"))
}

/// The parent's orders; `None` when there will be no more.
struct Orders(Lines<BufReader<Receiver>>);

impl Orders {
    fn new() -> std::io::Result<Self> {
        let stdin = std::io::stdin().as_fd().try_clone_to_owned()?;
        Ok(Orders(BufReader::new(Receiver::from_owned_fd(stdin)?).lines()))
    }

    async fn next(&mut self) -> Option<Order> {
        serde_json::from_str(&self.0.next_line().await.ok()??).ok()
    }
}

async fn host(algorithm: &Listed, port: u16) -> Result<(), Failure> {
    let mut orders = Orders::new().map_err(|error| failure("read orders", error))?;
    let listen = TcpListener::bind(("127.0.0.1", port)).await;
    let listen = listen.map_err(|error| failure(&format!("listen on port {port}"), error))?;
    let address = listen.local_addr().map_err(|error| failure("listen", error))?;
    print(&line(&Reply::Port(address.port())))?;
    let Some(Order::Setup(setup)) = orders.next().await else { return Ok(()) };

    let settings = Settings::from(setup.settings.clone());
    let ring = setup.ids.iter().copied().map(NodeId::new).collect();
    let group = Group::new(ring).map_err(|error| failure("form the group", error))?;
    let algorithm = own::check(algorithm, &settings, &group)?;
    let config = algorithm.config(&settings, &group);
    let codec = algorithm.codec.clone();
    let journal = FileJournal::create(Path::new(&setup.journal), codec.clone())
        .map_err(|error| failure("create its journal", error))?;
    let mut options = options(&setup, group, &settings, listen)?;
    let (open, gate) = oneshot::channel();
    options.gate = Some(gate);
    let protocol = Coded::new(format!("host/{}", algorithm.name()), codec);
    let running = start_with_journal(protocol, config, options, Some(Box::new(journal)))
        .map_err(|error| Failure::Input(error.to_string()))?;
    if setup.life == 1 {
        // Should it take for ever, the run goes on and shows it.
        let _ = timeout(CONNECTED_WITHIN, connected(&running)).await;
    }
    print(&line(&Reply::Ready))?;
    let Some(Order::Go) = orders.next().await else { return Ok(()) };

    let _ = open.send(());
    // Looking comes after the first step.
    running.inspect(|_| ()).await;
    print(&line(&Reply::Started))?;
    loop {
        tokio::select! {
            ended = running.finished() => {
                return ended.map_err(|error| Failure::Input(error.to_string()));
            }
            order = orders.next() => match order {
                Some(Order::Input(verb)) => {
                    if let Some(input) = algorithm.input(&verb) {
                        running.input(input).await;
                    }
                    // Looking comes after the step.
                    running.inspect(|_| ()).await;
                    print(&line(&Reply::Taken))?;
                }
                _ => return Ok(()),
            }
        }
    }
}

fn options(
    setup: &Setup,
    group: Group,
    settings: &Settings,
    listen: TcpListener,
) -> Result<Options, Failure> {
    let me = NodeId::new(setup.id);
    let identity = Files::of(Path::new(&setup.certificates), me)
        .load(&setup.cluster, me)
        .map_err(|error| Failure::Input(error.to_string()))?;
    let addresses = setup.addresses.iter().map(|(id, at)| (NodeId::new(*id), at.clone())).collect();
    let mut options = Options::new(identity, group, addresses, listen);
    options.data = Some(setup.data.clone().into());
    options.life = setup.life;
    let (offset_us, drift_ppm) = setup.clock;
    options.clock = Clock::wrong(offset_us, drift_ppm);
    // A message that is older than T means something else than its sender meant: silence for so
    // long says that its receiver is dead.
    options.limits.stale_after = settings.timeout;
    // Who comes back is soon found.
    let longest = settings.timeout.min(options.limits.back_off.1).max(options.limits.back_off.0);
    options.limits.back_off.1 = longest;
    Ok(options)
}

/// Waits until this process can reach all others. In the first life they are all there, and what a
/// connection costs is no part of an algorithm.
async fn connected(running: &Running<Coded<AnyProcess>>) {
    while running.peers().iter().any(|peer| peer.outgoing.is_none()) {
        sleep(Duration::from_millis(2)).await;
    }
}
