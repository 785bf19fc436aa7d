//! Starting a process, and the handle to it while it runs.

use super::accept;
use super::durable::{DurableError, Owner};
use super::options::Options;
use super::outbox::Outbox;
use super::protocol::{Config, Durable, Input, Output, Protocol};
use super::roster::{Links, Roster};
use super::runner::{Command, RunError, Runner, State, View};
use super::shared::{Peer, PeerState, Shared, Stranger};
use super::stats::{Counters, Stats, lock};
use super::step::Journal;
use super::traffic::{Tap, Traffic};
use bellwether_core::{NodeId, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Why a process could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Its own number is not among the members.
    #[error("member {} is not in the list of members: {}", .0.number(), numbers(.1))]
    NotAMember(NodeId, Vec<NodeId>),
    /// A member has no address.
    #[error("member {} has no address", .0.number())]
    NoAddress(NodeId),
    /// Its durable state is not to be had.
    #[error(transparent)]
    Durable(#[from] DurableError),
    /// There is no tokio runtime.
    #[error("a process can only be started inside a tokio runtime")]
    NoRuntime,
}

fn numbers(ids: &[NodeId]) -> String {
    ids.iter().map(|id| id.number().to_string()).collect::<Vec<_>>().join(", ")
}

/// The partition was asked of a process that does not allow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("faults can only be made in a process that was started with development faults allowed")]
pub struct FaultsNotAllowed;

/// Starts a process and returns at once. Its first step, [`on_start`], is taken in its own task.
///
/// [`on_start`]: bellwether_core::Process::on_start
pub fn start<P: Protocol>(
    protocol: P,
    config: Config<P>,
    options: Options,
) -> Result<Running<P>, StartError> {
    start_with_journal(protocol, config, options, None)
}

/// The same with a journal that is told of every step.
pub fn start_with_journal<P: Protocol>(
    protocol: P,
    config: Config<P>,
    mut options: Options,
    journal: Option<Box<dyn Journal<P::Process>>>,
) -> Result<Running<P>, StartError> {
    if tokio::runtime::Handle::try_current().is_err() {
        return Err(StartError::NoRuntime);
    }
    let (store, saved) = open(&protocol, &options)?;
    let gate = options.gate.take();
    let (shared, listen) = share(protocol, options)?;
    let (inbox_in, inbox) = mpsc::channel(1024);
    let (commands_in, commands) = mpsc::channel(64);
    let (outputs, first) = broadcast::channel(4096);
    let tap = Tap::new();
    let (finished_in, finished) = watch::channel(None);

    shared.connect(Links::new(inbox_in.clone()));
    let mut door = JoinSet::new();
    door.spawn(accept::accept(listen, shared.clone(), inbox_in));
    let running = Running {
        shared: shared.clone(),
        commands: commands_in,
        outputs: outputs.downgrade(),
        first: Arc::new(Mutex::new(Some(first))),
        traffic: tap.downgrade(),
        finished,
    };
    let mut runner = Runner {
        shared: shared.clone(),
        roster: shared.roster(),
        changes: 0,
        process: P::Process::default(),
        config,
        store,
        journal,
        inbox,
        commands,
        outputs,
        tap,
        state: State::new(),
    };
    tokio::spawn(async move {
        if let Some(gate) = gate {
            let _ = gate.await;
        }
        let result = runner.run(saved).await;
        let mut links = shared.disconnect();
        // The connections may wait for the process to take something: it never will.
        drop(runner);
        let flushed = async { while links.join_next().await.is_some() {} };
        let _ = timeout(shared.limits.flush_within, flushed).await;
        links.shutdown().await;
        door.shutdown().await;
        let _ = finished_in.send(Some(result));
    });
    Ok(running)
}

type Kept<P> = (Option<<P as Protocol>::Store>, Option<Durable<P>>);

fn open<P: Protocol>(protocol: &P, options: &Options) -> Result<Kept<P>, StartError> {
    let Some(path) = &options.data else { return Ok((None, None)) };
    let owner = Owner {
        cluster: options.identity.cluster().to_owned(),
        id: options.identity.id(),
        protocol: protocol.name().to_owned(),
    };
    let (store, saved) = protocol.open(path, owner)?;
    Ok((Some(store), saved))
}

fn share<P: Protocol>(
    protocol: P,
    options: Options,
) -> Result<(Arc<Shared<P>>, TcpListener), StartError> {
    let Options { identity, group, mut addresses, listen, life, clock, .. } = options;
    let Options { dev_faults, clients, settings, founding, initial, joins, http, limits, .. } =
        options;
    let Options { instance, death_digest, reached, .. } = options;
    let me = identity.id();
    let no_member = || StartError::NotAMember(me, group.ring().to_vec());
    let place = group.place(me).ok_or_else(no_member)?;
    let stats = Arc::new(Stats::default());
    let mut peers = BTreeMap::new();
    for id in group.ascending().filter(|id| *id != me) {
        let address = addresses.remove(&id).ok_or(StartError::NoAddress(id))?;
        let outbox = Outbox::new(stats.clone(), limits.queue, limits.stale_after);
        peers.insert(id, Arc::new(Peer::new(address, outbox)));
    }
    let own = addresses.remove(&me).unwrap_or_default();
    let roster = Roster::new((group, place), peers, own, joins);
    let blocked = Mutex::default();
    let shared = Shared {
        protocol,
        identity,
        roster: Mutex::new(Arc::new(roster)),
        changes: AtomicU64::new(0),
        links: Mutex::new(None),
        clock,
        life,
        instance,
        death_digest,
        reached,
        settings,
        founding,
        initial,
        http,
        cluster_id: Default::default(),
        has_settings: Default::default(),
        folder: Default::default(),
        limits,
        dev_faults,
        clients,
        stats,
        blocked,
        strangers: Mutex::default(),
    };
    Ok((Arc::new(shared), listen))
}

/// What a process says, with its clock's reading of the step.
pub type Outputs<P> = broadcast::Receiver<(Time, Output<P>)>;

/// A running process. Clones are handles to the same one; when the last is dropped the process is
/// stopped, so keep one.
pub struct Running<P: Protocol> {
    shared: Arc<Shared<P>>,
    commands: mpsc::Sender<Command<P>>,
    outputs: broadcast::WeakSender<(Time, Output<P>)>,
    first: Arc<Mutex<Option<Outputs<P>>>>,
    traffic: broadcast::WeakSender<Traffic>,
    finished: watch::Receiver<Option<Result<(), RunError>>>,
}

impl<P: Protocol> Clone for Running<P> {
    fn clone(&self) -> Self {
        Running {
            shared: self.shared.clone(),
            commands: self.commands.clone(),
            outputs: self.outputs.clone(),
            first: self.first.clone(),
            traffic: self.traffic.clone(),
            finished: self.finished.clone(),
        }
    }
}

impl<P: Protocol> Running<P> {
    /// Its number.
    pub fn id(&self) -> NodeId {
        self.shared.me()
    }

    /// The id of its cluster, if it knows one.
    pub fn cluster_id(&self) -> Option<u64> {
        Some(self.shared.cluster_id()).filter(|id| *id != 0)
    }

    /// Its clock.
    pub fn clock(&self) -> crate::Clock {
        self.shared.clock
    }

    /// Gives it an input; `false` if it has ended.
    pub async fn input(&self, input: Input<P>) -> bool {
        self.commands.send(Command::Input(input)).await.is_ok()
    }

    /// Looks at the process inside its task, between two steps, with its clock's reading of that
    /// moment: what it would say if asked. `None` if it has ended.
    pub async fn inspect<R: Send + 'static>(
        &self,
        look: impl FnOnce(&View<'_, P::Process>) -> R + Send + 'static,
    ) -> Option<R> {
        let (answer, answered) = oneshot::channel();
        let look = Box::new(move |view: &View<'_, P::Process>| drop(answer.send(look(view))));
        self.commands.send(Command::Inspect(look)).await.ok()?;
        answered.await.ok()
    }

    /// Changes its configuration between two steps; `false` if it has ended. Only for what a process reads
    /// in every step, and what no other process relies on, such as a limit.
    pub async fn reconfigure(&self, change: impl FnOnce(&mut Config<P>) + Send + 'static) -> bool {
        self.commands.send(Command::Reconfigure(Box::new(change))).await.is_ok()
    }

    /// What it says, with its clock's reading of the step. The first receiver misses nothing, not
    /// even what was said before it was asked for; later ones begin now. One that lags far behind
    /// is told so. All are closed when the process ends.
    pub fn outputs(&self) -> Outputs<P> {
        if let Some(first) = lock(&self.first).take() {
            return first;
        }
        match self.outputs.upgrade() {
            Some(outputs) => outputs.subscribe(),
            None => broadcast::channel(1).1,
        }
    }

    /// The messages that it sends to others and receives from them, from now on. A receiver that
    /// is too slow is told how many it missed. All are closed when the process ends.
    pub fn traffic(&self) -> broadcast::Receiver<Traffic> {
        match self.traffic.upgrade() {
            Some(traffic) => traffic.subscribe(),
            None => broadcast::channel(1).1,
        }
    }

    /// The connection to each other member.
    pub fn peers(&self) -> Vec<PeerState> {
        self.shared.roster().peers.iter().map(|(id, peer)| peer.state(*id)).collect()
    }

    /// Members that were refused because they are not in the list, and why: those that were removed, and those
    /// that were not added yet.
    pub fn strangers(&self) -> BTreeMap<NodeId, Stranger> {
        lock(&self.shared.strangers).clone()
    }

    /// What was counted so far.
    pub fn counters(&self) -> Counters {
        self.shared.stats.snapshot()
    }

    /// For development: throws away what goes to these members and comes from them, silently, as a
    /// cut network would. Connections stay. An empty set heals it.
    pub fn partition(&self, blocked: BTreeSet<NodeId>) -> Result<(), FaultsNotAllowed> {
        if !self.shared.dev_faults {
            return Err(FaultsNotAllowed);
        }
        *lock(&self.shared.blocked) = blocked;
        Ok(())
    }

    /// Waits until it has ended, and says how.
    pub async fn finished(&self) -> Result<(), RunError> {
        let mut finished = self.finished.clone();
        match finished.wait_for(Option::is_some).await {
            Ok(result) => result.clone().unwrap_or(Ok(())),
            Err(_) => Err(RunError::Panicked),
        }
    }

    /// Ends it: no further step is taken, what is queued is sent as far as that goes quickly, and
    /// the connections are closed. A process that should say goodbye gets an input for that first.
    pub async fn stop(self) -> Result<(), RunError> {
        let _ = self.commands.send(Command::Stop).await;
        self.finished().await
    }
}
