//! A member as an operating-system process: from settings to a graceful end.

use crate::about::About;
use crate::clients::{self, Clients, Lists, Quota, RequestQueue, RoleWatches};
use crate::codec::{self, LastEntries};
use crate::config::{ConfigError, Settings};
use crate::coordination::Turns;
use crate::handle::Handle;
use crate::history::History;
use crate::http;
use crate::operator::OperatorToken;
use crate::priority::low_priority;
use crate::proof;
use crate::wall;
use crate::wire::Wire;
use bellwether_coordination::{Outcome, RoleChange};
use bellwether_core::{Group, Time};
use bellwether_http::{Extra, Server};
use bellwether_log::{Birth, Incarnation};
use bellwether_member::service::{self, Output};
use bellwether_member::{Choices, Config, Event, LeaseSettings, Stance};
use bellwether_net::{ClientConnection, Clock, Identity, Options, RunError, Running};
use sd_notify::NotifyState;
use std::io::{ErrorKind, IsTerminal};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{broadcast, mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep, timeout};

/// Why a member did not start, or ended before it was told to. Each kind has its exit code, which
/// a supervisor may rely on.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The configuration is wrong; starting again will not help.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Something that the configuration names cannot be used: an address, a certificate, a file.
    #[error("{0}")]
    Start(String),
    /// It ran, and can no longer.
    #[error("{0}")]
    Run(RunError),
    /// It was removed from the cluster.
    #[error(
        "member {0} was removed from the cluster, and stops. Do not start it again with this data folder: to add it \
         again, empty the folder, start it with --join, and run `bellwether members add {0} ADDRESS`"
    )]
    Removed(u32),
    /// It was told a second time to end, and did so at once.
    #[error("exited at once because of a second signal")]
    Hurried(u8),
}

impl Failure {
    /// The exit code: 2 for the configuration, 3 for what cannot be used at the start, 4 for what
    /// fails later, 5 for a member that was removed, 128 and the signal's number for a hurried end.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Config(_) => 2,
            Failure::Start(_) => 3,
            Failure::Run(_) => 4,
            Failure::Removed(_) => 5,
            Failure::Hurried(signal) => 128 + signal,
        }
    }
}

/// A member that runs in this process.
pub struct Daemon {
    about: Arc<About>,
    http: Option<(SocketAddr, JoinHandle<()>)>,
    /// What passes between the member and its history, log and clients.
    tasks: JoinSet<()>,
    clients: Clients,
    /// Whether it was removed from the cluster.
    removed: watch::Receiver<bool>,
}

impl std::fmt::Debug for Daemon {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Daemon").field("id", &self.about.settings.id).finish_non_exhaustive()
    }
}

/// Runs a member until a signal ends it or something fails. Over HTTP it also serves what the caller
/// has besides.
pub fn run(mut settings: Settings, extra: Extra) -> Result<(), Failure> {
    settings.warnings.extend(low_priority().map(|warning| format!("this member {warning}")));
    // One thread is enough for a few messages a heartbeat, and costs the least memory.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Start(format!("cannot start the runtime: {error}")))?;
    runtime.block_on(async {
        let unable = |error| Failure::Start(format!("cannot wait for signals: {error}"));
        let mut signals = Signals::new().map_err(unable)?;
        let daemon = Daemon::start(settings, extra).await?;
        daemon.until(&mut signals).await
    })
}

/// A signal that comes again within this time is the same: a supervisor that sends it to all processes of a
/// service sends it to the parent too, which passes it on.
const SAME_SIGNAL: Duration = Duration::from_millis(250);

/// Makes a second process with the same state and the same certificate impossible to miss.
async fn bind(address: SocketAddr, key: &str, flag: &str) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|error| {
        let advice = match error.kind() {
            ErrorKind::AddrInUse => {
                "another process uses this port; stop it, or choose another port"
            }
            ErrorKind::PermissionDenied => "ports below 1024 need a privilege; choose a higher one",
            ErrorKind::AddrNotAvailable => {
                "this host has no such address; use one of its own, or 0.0.0.0 for all"
            }
            _ => "choose another address",
        };
        Failure::Start(format!(
            "cannot listen on {address}: {error}; {advice} ('{key}' in the configuration, or \
             {flag})"
        ))
    })
}

impl Daemon {
    /// Starts a member: binds its addresses, loads its certificate, opens its state.
    pub async fn start(settings: Settings, extra: Extra) -> Result<Daemon, Failure> {
        let identity = identity(&settings)?;
        let listen = bind(settings.listen, "listen", "--listen").await?;
        let http = match settings.http {
            Some(address) => Some(bind(address, "http", "--http").await?),
            None => None,
        };
        Daemon::start_on(settings, identity, listen, http, extra)
    }

    /// The same on sockets that are bound already, with an identity that is loaded already.
    pub fn start_on(
        settings: Settings,
        identity: Identity,
        listen: TcpListener,
        http: Option<TcpListener>,
        extra: Extra,
    ) -> Result<Daemon, Failure> {
        for warning in &settings.warnings {
            tracing::warn!("{warning}");
        }
        prepare(&settings)?;
        let group = settings.group().map_err(|error| Failure::Start(error.to_string()))?;
        let operator = OperatorToken::read_or_make(&settings.operator_token)
            .map_err(|error| Failure::Start(error.to_string()))?;
        let started = Clock::shared();
        let requests = RequestQueue::new(settings.choices.leases());
        let (remote, visitors) = clients::door();
        let running =
            start_member(&settings, identity.clone(), listen, group, (remote, requests.clone()))?;
        let (outputs, handle) = (running.outputs(), Handle { running });
        let (removed_in, removed) = watch::channel(false);
        let role_watches = Arc::new(RoleWatches::default());
        let quota = Quota::new(settings.sessions.per_client, settings.sessions.limits.sessions);
        let turns = Arc::new(Turns::default());
        let lists = Lists::new(handle.clone(), turns.clone());
        let clients = Clients::start(&settings, &requests, &role_watches, &quota, lists, visitors)
            .map_err(|error| Failure::Start(format!("{error} ('socket' in the configuration)")))?;
        let history = Arc::new(History::new(settings.id));
        let mut tasks = JoinSet::new();
        let audience = (role_watches.clone(), removed_in);
        let member = (settings.clone(), handle.clone());
        tasks.spawn(tell(outputs, history.clone(), audience, member));
        tasks.spawn(clients::watch_over(role_watches, handle.clone()));
        tasks.spawn(clients::keep_count(quota.clone(), handle.clone()));
        let (id, listen) = (settings.id.number(), settings.listen);
        let running_with = tokio::sync::Mutex::new(settings.clone());
        let configured = watch::Sender::new(settings.choices.leases());
        let about = About {
            settings,
            handle,
            history,
            requests,
            quota,
            operator,
            turns,
            identity,
            running_with,
            configured,
            started,
        };
        let about = Arc::new(about);
        tasks.spawn(warn_of_expiry(about.clone()));
        tasks.spawn(proof::end_with_parent());
        let http = match http {
            None => None,
            Some(listener) => Some(serve(listener, about.clone(), extra)?),
        };
        let address = http.as_ref().map_or("off".to_owned(), |(address, _)| address.to_string());
        tracing::info!(
            version = env!("CARGO_PKG_VERSION"),
            cluster = about.settings.cluster,
            id,
            election = about.settings.choices.election.name(),
            %listen,
            http = address,
            "started"
        );
        if let Some((address, _)) = &http {
            tracing::info!("dashboard: http://{}/", reachable(*address));
        }
        Ok(Daemon { about, http, tasks, clients, removed })
    }

    /// Where HTTP is served, if it is.
    pub fn http(&self) -> Option<SocketAddr> {
        self.http.as_ref().map(|(address, _)| *address)
    }

    /// Waits for a signal or a failure, and ends accordingly.
    async fn until(self, signals: &mut Signals) -> Result<(), Failure> {
        let mut supervisor = Supervisor::new();
        supervisor.tell(&[NotifyState::Ready, NotifyState::Status("started")]);
        let handle = self.about.handle.clone();
        let mut reload = signals.reload.take();
        let mut removed = self.removed.clone();
        let first = tokio::select! {
            signal = signals.next() => signal,
            result = handle.running.finished() => {
                self.dismiss();
                return result.map_err(Failure::Run);
            }
            () = supervisor.keep_informed(&self.about) => unreachable!("it never ends"),
            () = reload_on(&mut reload, &self.about) => unreachable!("it never ends"),
            _ = removed.wait_for(|removed| *removed) => {
                let failure = Failure::Removed(self.about.settings.id.number());
                supervisor.tell(&[NotifyState::Stopping, NotifyState::Status("was removed")]);
                self.stop().await.map_err(Failure::Run)?;
                return Err(failure);
            }
        };
        tracing::info!("signal {first}: hands over and exits; a second signal exits at once");
        supervisor.tell(&[NotifyState::Stopping, NotifyState::Status("hands over and exits")]);
        tokio::select! {
            result = self.stop() => result.map_err(Failure::Run),
            signal = signals.next_after(SAME_SIGNAL) => Err(Failure::Hurried(signal)),
        }
    }

    /// Ends it gracefully: it resigns first, so that another can take over at once.
    pub async fn stop(self) -> Result<(), RunError> {
        let handle = self.about.handle.clone();
        if handle.resign().await.is_some() {
            let lease = self.about.requests.leases().lease;
            let _ = timeout(lease, no_longer_leads(&handle)).await;
        }
        let result = handle.running.stop().await;
        self.dismiss();
        if result.is_ok() {
            tracing::info!("ended");
        }
        result
    }

    /// Ends what serves the member once it has ended itself.
    fn dismiss(self) {
        let Daemon { http, mut tasks, clients, .. } = self;
        tasks.abort_all();
        drop(clients);
        if let Some((_, server)) = http {
            server.abort();
        }
    }
}

/// Where to look for a server that is bound to this address: one that takes calls on all of them
/// takes them on loopback.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        let loopback = match address {
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        };
        address.set_ip(loopback);
    }
    address
}

/// Looks every so often: it is a matter of one exchange of messages.
async fn no_longer_leads(handle: &Handle) {
    while let Some(status) = handle.status().await {
        if status.stance != Stance::Leading {
            return;
        }
        sleep(Duration::from_millis(2)).await;
    }
}

/// The certificate of the settings.
pub fn identity(settings: &Settings) -> Result<Identity, Failure> {
    let tls = &settings.tls;
    Identity::load(&settings.cluster, settings.id, &tls.ca, &tls.certificate, &tls.key)
        .map_err(|error| Failure::Start(format!("{error} (see [tls] in the configuration)")))
}

/// Makes the directory of the durable state.
fn prepare(settings: &Settings) -> Result<(), Failure> {
    std::fs::create_dir_all(&settings.data).map_err(|error| {
        Failure::Start(format!(
            "cannot create the data directory {}: {error}; make it writable for this user, or \
             choose another ('data' in the configuration, or --data)",
            settings.data.display()
        ))
    })
}

type Outputs = broadcast::Receiver<(Time, Output)>;

/// After how long without an acknowledgement a connection to a member is made again: several leases, so
/// that loss alone does not break it.
fn unacknowledged(lease: Duration) -> Duration {
    (lease * 5).clamp(Duration::from_secs(2), Duration::from_secs(5))
}

fn start_member(
    settings: &Settings,
    identity: Identity,
    listen: TcpListener,
    group: Group,
    (remote, requests): (mpsc::Sender<ClientConnection>, Arc<RequestQueue>),
) -> Result<Running<Wire>, Failure> {
    let ranks = settings.ranks(&group);
    let mut member = Config::new(&settings.choices, ranks, &group)
        .map_err(|unfit| Failure::Start(unfit.to_string()))?;
    member.log.birth = Some(Birth::new(bellwether_net::draw() as u64));
    member.log.founders = Some(Arc::new(settings.founders()));
    let instance = proof::parent().map(|parent| parent.instance);
    member.log.incarnation = instance.map(Incarnation::new);
    let addresses = settings.members.iter().map(|peer| (peer.id, peer.address.clone())).collect();
    let mut options = Options::new(identity, group, addresses, listen);
    options.data = Some(settings.log_folder());
    let config = service::Config {
        member,
        limits: settings.sessions.limits,
        on_deadlock: settings.sessions.on_deadlock,
        wall_ms: wall::at_zero(options.clock.now()),
    };
    options.dev_faults = settings.dev_faults;
    if let Some(parent) = proof::parent() {
        (options.instance, options.death_digest) = (parent.instance, Some(parent.digest));
        options.reached = Some(parent.tell_of_peers());
    }
    options.clients = Some(remote);
    options.settings = settings.must_agree();
    options.founding = settings.founders_agree();
    options.initial = settings.leases_agree();
    options.joins = settings.join;
    options.http = settings.peer(settings.id).and_then(|peer| peer.http.clone());
    options.limits.max_frame = codec::LONGEST;
    options.limits.queue = settings.limits.queue;
    options.limits.stale_after = settings.limits.stale_after;
    options.limits.ungreeted = settings.limits.greetings;
    options.limits.unacknowledged = unacknowledged(settings.choices.lease);
    let Choices { election, durability, .. } = settings.choices;
    let wire = Wire { election, durability, requests, last_entries: LastEntries::default() };
    bellwether_net::start(wire, config, options).map_err(|error| Failure::Start(error.to_string()))
}

fn serve(
    listener: TcpListener,
    about: Arc<About>,
    extra: Extra,
) -> Result<(SocketAddr, JoinHandle<()>), Failure> {
    let address = listener.local_addr().map_err(|error| Failure::Start(error.to_string()))?;
    let router = http::router(about, extra);
    let server = Server::new(router).kinds(http::kind);
    Ok((address, tokio::spawn(server.serve(listener))))
}

/// Writes everything that the member says into its history and its log.
async fn tell(
    mut outputs: Outputs,
    history: Arc<History>,
    (role_watches, removed): (Arc<RoleWatches>, watch::Sender<bool>),
    (settings, handle): (Settings, Handle),
) {
    let me = settings.id;
    loop {
        let event = match outputs.recv().await {
            Ok((_, Output::Event(event))) => event,
            // Clients have them already.
            Ok((_, Output::Replies(_) | Output::Coordinator(..))) => continue,
            Ok((_, Output::Noted(said))) => {
                if matches!(said, Outcome::RoleChanged(_)) {
                    role_watches.wake();
                }
                note(&said);
                continue;
            }
            Err(broadcast::error::RecvError::Lagged(missed)) => {
                tracing::warn!(missed, "events came faster than they could be logged");
                continue;
            }
            Err(broadcast::error::RecvError::Closed) => return,
        };
        match &event {
            Event::LeaseSettings(leases) => adopt(*leases, &settings, &handle).await,
            Event::Removed => drop(removed.send_replace(true)),
            _ => {}
        }
        let Some(noted) = history.note(&event) else { continue };
        let (kind, term, leader) = (noted.kind, noted.term, noted.leader);
        match event {
            Event::Lost(..)
            | Event::TooFew { .. }
            | Event::Drifting { .. }
            | Event::Waiting { .. }
            | Event::HandOverFailed(_)
            | Event::Removed
            | Event::Diverged(_) => {
                tracing::warn!(kind, term, leader, "{me} {event}");
            }
            _ => tracing::info!(kind, term, leader, "{me} {event}"),
        }
    }
}

/// G16: the times that follow from the settings of leases change with them.
async fn adopt(leases: LeaseSettings, settings: &Settings, handle: &Handle) {
    let choices = settings.choices.clone();
    let Ok(group) = settings.group() else { return };
    let change = move |config: &mut service::Config| {
        if let Err(unfit) = config.member.adopt(leases, &choices, &group) {
            tracing::error!("the settings of leases do not fit this configuration: {unfit}");
        }
    };
    // A member that has ended meanwhile needs none.
    handle.running.reconfigure(change).await;
}

/// What the coordinator did for clients that an operator may want to read of.
fn note(said: &Outcome) {
    match said {
        Outcome::Deadlocked(deadlock) => tracing::warn!("deadlock: {deadlock}"),
        Outcome::RoleChanged(RoleChange { role, leader, reason, .. }) => match leader {
            Some(leader) => tracing::info!(role, "{leader} leads '{role}': {reason}"),
            None => tracing::info!(role, "no leader of '{role}': {reason}"),
        },
        Outcome::Forced { lock, session, by, done: Ok(()), .. } => {
            tracing::warn!(lock, "the lock '{lock}' was force-released from {session} by {by}");
        }
        Outcome::Forced { lock, session, by, done: Err(refusal), .. } => {
            tracing::info!(
                lock,
                "the lock '{lock}' was not force-released from {session} by {by}: {refusal}"
            );
        }
        Outcome::EndedBy { session, by } => tracing::warn!("session {session} was ended by {by}"),
        Outcome::Ended(session, why) => tracing::info!("{session} has ended: {why}"),
        Outcome::Opened(..) | Outcome::Answered(..) | Outcome::Preempt { .. } => {}
    }
}

/// The signals that a member obeys. SIGHUP reloads the configuration. In a terminal it means that the terminal was
/// closed, which ends the member as SIGTERM does.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Option<Signal>,
    reload: Option<Signal>,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        let terminate = signal(SignalKind::terminate())?;
        let (interrupt, hangup) = (signal(SignalKind::interrupt())?, signal(SignalKind::hangup())?);
        let (hangup, reload) = match std::io::stdin().is_terminal() {
            true => (Some(hangup), None),
            false => (None, Some(hangup)),
        };
        Ok(Signals { terminate, interrupt, hangup, reload })
    }

    /// The next one after this time.
    async fn next_after(&mut self, pause: Duration) -> u8 {
        let until = Instant::now() + pause;
        loop {
            let signal = self.next().await;
            if Instant::now() >= until {
                return signal;
            }
        }
    }

    /// The number of the next one that ends the member.
    async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.terminate.recv() => 15,
            _ = self.interrupt.recv() => 2,
            () = next_of(&mut self.hangup) => 1,
        }
    }
}

async fn next_of(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Reloads the configuration at each of these signals, for ever.
async fn reload_on(signal: &mut Option<Signal>, about: &About) {
    loop {
        next_of(signal).await;
        // The result is in the log.
        let _ = about.reload("SIGHUP").await;
    }
}

/// Warns once a day of a certificate that ends soon.
async fn warn_of_expiry(about: Arc<About>) {
    loop {
        if let Some(warning) = about.certificate_warning() {
            tracing::warn!("{warning}");
        }
        sleep(Duration::from_secs(86_400)).await;
    }
}

/// The supervisor that is told of the state of this process: systemd, or none.
struct Supervisor {
    watchdog: Option<Duration>,
    told: String,
}

impl Supervisor {
    fn new() -> Self {
        let watchdog = match proof::parent() {
            Some(parent) => parent.watchdog,
            None => sd_notify::watchdog_enabled(),
        };
        Supervisor { watchdog, told: String::new() }
    }

    fn tell(&self, news: &[NotifyState<'_>]) {
        // Without a supervisor there is nothing to notify, and that is no failure.
        match proof::parent() {
            Some(parent) => {
                let lines: Vec<String> = news.iter().map(NotifyState::to_string).collect();
                parent.notify(&lines.join("\n"));
            }
            None => drop(sd_notify::notify(news)),
        }
    }

    /// Shows that the member answers, for ever. If it hangs, nothing is shown, and the supervisor
    /// draws its conclusion.
    async fn keep_informed(&mut self, about: &About) {
        if !is_supervised() {
            return std::future::pending().await;
        }
        let pause = self.watchdog.map_or(Duration::from_secs(5), |span| span / 3);
        loop {
            if let Some(status) = about.ask().await {
                let news = about.ready(&status).why;
                if news != self.told {
                    self.tell(&[NotifyState::Status(&news)]);
                    self.told = news;
                }
                if self.watchdog.is_some() {
                    self.tell(&[NotifyState::Watchdog]);
                }
            }
            sleep(pause).await;
        }
    }
}

fn is_supervised() -> bool {
    std::env::var_os("NOTIFY_SOCKET").is_some()
}
