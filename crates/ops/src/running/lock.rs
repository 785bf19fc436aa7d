//! `bellwether lock`: a command that runs only while it holds locks.

use super::args::{How, LockArgs, Terms};
use super::held::{Held, Outcome, tend};
use super::job::{Launcher, Standby};
use super::joining::{LOCKS, Outer, WITHIN, Wish, join, request, told};
use super::{OS_FAILED, TOLD, close, exit_code, failed, is_outage, note, pause, program, serve};
use crate::signals::Signals;
use bellwether::{Client, Endpoints, Error, ErrorKind, Lock, Session};
use bellwether_shell::{Failure, Verdict};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// The lock was lost while the command ran.
const LOST: u8 = 72;
/// A name is empty.
const BAD_NAME: u8 = 74;
/// This job holds the lock already.
const HELD_ALREADY: u8 = 80;

pub(crate) fn run(args: &LockArgs) -> Result<Verdict, Failure> {
    let (terms, how, patience) = (args.run.terms()?, args.how()?, args.patience()?);
    let serves = args.run.hooks.serve.is_some();
    if !serves {
        program::check(args.run.job.first().map_or("".as_ref(), |word| word.as_os_str()))?;
    }
    if args.names.iter().any(String::is_empty) {
        let what = "the name of a lock is empty; give each lock a name: lock a,b -- COMMAND";
        return Err(Failure::Exit(BAD_NAME, what.to_owned()));
    }
    if serves {
        let served = serve::run(Locks { args, how }, &args.run, &args.run.hooks, &terms);
        return crate::watching::runtime()?.block_on(served);
    }
    let held = std::env::var(LOCKS).unwrap_or_default();
    if let Some(name) = args.names.iter().find(|name| held.split(',').any(|held| held == *name)) {
        let what = format!(
            "this command runs within one that holds the lock '{name}' already, and would wait for \
             itself for ever"
        );
        return Err(Failure::Exit(HELD_ALREADY, what));
    }
    crate::watching::runtime()?.block_on(hold(args, &terms, how, patience, held))
}

/// Locks that are held for others, who ask.
struct Locks<'a> {
    args: &'a LockArgs,
    how: How,
}

impl serve::Wanted for Locks<'_> {
    const KIND: serve::Kind = serve::Kind::Lock;

    fn name(&self) -> String {
        self.args.names.join(",")
    }

    async fn acquire(&self, session: &Session) -> Result<Held, Error> {
        let wish = Wish { names: self.args.names.clone(), how: self.how, wait: None };
        match request(session, &wish) {
            Some(request) => request.await.map(Held::Lock),
            None => std::future::pending().await,
        }
    }
}

async fn hold(
    args: &LockArgs,
    terms: &Terms,
    how: How,
    patience: Option<Duration>,
    around: String,
) -> Result<Verdict, Failure> {
    let mut signals = Signals::new()?;
    let launcher = Launcher::new(&args.run.job, terms.grace, args.run.on_etcd())?;
    let mut wish = Wish { names: args.names.clone(), how, wait: patience };
    let names = args.names.join(",");
    let mut environment = vec![
        ("BELLWETHER_LOCK", names.clone()),
        (LOCKS, if around.is_empty() { names } else { format!("{around},{names}") }),
    ];
    if let Ok(socket) = std::env::var(WITHIN) {
        let joined = tokio::select! {
            joined = join(&socket, &wish) => joined?,
            signal = signals.next() => return Err(Failure::Silent(TOLD + signal)),
        };
        if let Some(joined) = joined {
            environment.push(("BELLWETHER_SESSION", joined.session.clone()));
            let standby = launcher.prepare(&environment)?;
            let held = Held::Joined(joined);
            return run_job(args, terms, standby, held, &mut signals).await;
        }
    }
    // The time of the flag covers all attempts, so this command counts it, not a single request.
    let patience = patience.filter(|wait| !wait.is_zero());
    if patience.is_some() {
        wish.wait = None;
    }
    let endpoints = args.run.endpoints()?;
    let (client, limit) = (None, None);
    let mut queue = Queue {
        args,
        terms,
        launcher,
        environment,
        endpoints,
        client,
        patience,
        limit,
        waits: false,
    };
    let Acquired { session, outer, standby, lock } = loop {
        match queue.acquire(&wish, &mut signals).await {
            Ok(acquired) => break acquired,
            // A cluster that is not there at first is an error; one that is lost comes back.
            Err(failure) if queue.waits && is_outage(&failure) => {
                if let Some(limit) = queue.limit.filter(|limit| Instant::now() >= limit.until) {
                    return Err(limit.reached(&args.names, None));
                }
                let what = format!("{failure}; keeps waiting for {}", quoted(&args.names));
                note(args.run.quiet, &what);
                pause(&mut signals).await?;
            }
            Err(failure) => return Err(failure),
        }
    };
    let outcome = run_job(args, terms, standby, Held::Lock(lock), &mut signals).await;
    drop(outer);
    close(session).await;
    outcome
}

/// The time of `--wait`, and when it is over: it counts from the first request.
#[derive(Clone, Copy)]
struct Limit {
    wait: Duration,
    until: Instant,
}

impl Limit {
    /// The error, with the number of requests that were ahead if it is known.
    fn reached(self, names: &[String], ahead: Option<u64>) -> Failure {
        let queue = match ahead {
            Some(0) => " (first in the queue)".to_owned(),
            Some(1) => " (1 request is ahead of this one)".to_owned(),
            Some(ahead) => format!(" ({ahead} requests are ahead of this one)"),
            None => String::new(),
        };
        let text = format!(
            "cannot lock {}: timed out after {:?}{queue}; retry with a longer --wait",
            quoted(names),
            self.wait
        );
        Failure::Exit(exit_code(ErrorKind::Timeout), text)
    }
}

/// Completes when the limit is reached; never without one.
async fn passed(limit: Option<Limit>) -> Limit {
    match limit {
        Some(limit) => {
            sleep_until(limit.until).await;
            limit
        }
        None => std::future::pending().await,
    }
}

/// Locks that are held, and all that was prepared for the command.
struct Acquired {
    session: Session,
    outer: Outer,
    standby: Standby,
    lock: Lock,
}

/// One request for the locks after the other.
struct Queue<'a> {
    args: &'a LockArgs,
    terms: &'a Terms,
    launcher: Launcher<'a>,
    environment: Vec<(&'static str, String)>,
    endpoints: Endpoints,
    client: Option<Client>,
    /// The longest wait, if there is a limit.
    patience: Option<Duration>,
    limit: Option<Limit>,
    /// Whether it has asked for the locks once.
    waits: bool,
}

impl Queue<'_> {
    /// Waits for the locks in a session of its own.
    async fn acquire(&mut self, wish: &Wish, signals: &mut Signals) -> Result<Acquired, Failure> {
        let session = tokio::select! {
            session = self.open() => session.map_err(failed)?,
            signal = signals.next() => return Err(Failure::Silent(TOLD + signal)),
        };
        let args = self.args;
        let outer = Outer::start(session.clone(), args.names.clone()).map_err(|error| {
            Failure::Exit(OS_FAILED, format!("cannot listen at a socket: {error}"))
        })?;
        let mut environment = self.environment.clone();
        environment.push(("BELLWETHER_SESSION", session.id().to_string()));
        environment.push((WITHIN, outer.name().to_owned()));
        let standby = self.launcher.prepare(&environment)?;
        standby.watched_by(&session).await?;
        self.waits = true;
        let Some(request) = request(&session, wish) else {
            return Err(Failure::Input("no lock is named".to_owned()));
        };
        if let (None, Some(wait)) = (self.limit, self.patience) {
            self.limit = Some(Limit { wait, until: Instant::now() + wait });
        }
        let limit = self.limit;
        let (place, mut places) = watch::channel(None);
        let granted = request.queue_position(place);
        let mut granted = std::pin::pin!(granted.into_future());
        loop {
            tokio::select! {
                granted = &mut granted => match granted {
                    Ok(lock) => return Ok(Acquired { session, outer, standby, lock }),
                    Err(error) => {
                        close(session).await;
                        return Err(Failure::Exit(exit_code(error.kind()), told(&error)));
                    }
                },
                Ok(()) = places.changed() => {
                    if let Some(behind) = *places.borrow_and_update() {
                        let place = behind.saturating_add(1);
                        let what = format!("waits for {}, position {place} in the queue", quoted(&args.names));
                        note(args.run.quiet, &what);
                    }
                }
                limit = passed(limit) => {
                    close(session).await;
                    return Err(limit.reached(&args.names, *places.borrow()));
                }
                signal = signals.next() => {
                    close(session).await;
                    return Err(Failure::Silent(TOLD + signal));
                }
            }
        }
    }

    async fn open(&mut self) -> Result<Session, bellwether::Error> {
        let client = match &self.client {
            Some(client) => client.clone(),
            None => Client::connect(self.endpoints.clone()).await?,
        };
        self.client = Some(client.clone());
        client.session(self.terms.session()).await
    }
}

async fn run_job(
    args: &LockArgs,
    terms: &Terms,
    standby: Standby,
    held: Held,
    signals: &mut Signals,
) -> Result<Verdict, Failure> {
    let mut job = standby.start(held.token(), held.deadline())?;
    let code = match tend(&mut job, &held, signals, terms.ttl).await {
        Outcome::Lost(how) => {
            let what = format!("{} was lost, and the command stopped: {how}", quoted(&args.names));
            return Err(Failure::Exit(LOST, what));
        }
        Outcome::Ended(code) | Outcome::Told(code) => code,
        Outcome::Yields => 0,
    };
    if let Err(error) = held.give_back().await {
        note(args.run.quiet, &error.to_string());
    }
    if code == 0 { Ok(Verdict::Well) } else { Err(Failure::Silent(code)) }
}

fn quoted(names: &[String]) -> String {
    format!("'{}'", names.join("', '"))
}
