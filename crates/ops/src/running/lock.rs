//! `bellwether lock`: a command that runs only while it holds locks.

use super::args::{How, LockArgs, Terms};
use super::held::{Held, Outcome, tend};
use super::job::Standby;
use super::joining::{LOCKS, Outer, WITHIN, Wish, join, request, told};
use super::{TOLD, close, failed, note, program};
use crate::signals::Signals;
use bellwether::Client;
use bellwether_shell::{Failure, Verdict};
use std::time::Duration;
use tokio::sync::watch;

/// The lock was lost while the command ran.
const LOST: u8 = 72;
/// This job holds the lock already.
const HELD_ALREADY: u8 = 80;

pub(crate) fn run(args: &LockArgs) -> Result<Verdict, Failure> {
    let (terms, how, patience) = (args.run.terms()?, args.how()?, args.patience()?);
    program::check(args.run.job.first().map_or("".as_ref(), |word| word.as_os_str()))?;
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

async fn hold(
    args: &LockArgs,
    terms: &Terms,
    how: How,
    patience: Option<Duration>,
    around: String,
) -> Result<Verdict, Failure> {
    let mut signals = Signals::new()?;
    let wait_ms = patience.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
    let wish = Wish { names: args.names.clone(), how, wait_ms };
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
            let standby = Standby::new(&args.run.job, &environment, terms.grace)?;
            let held = Held::Joined(joined);
            return run_job(args, terms, standby, held, &mut signals).await;
        }
    }
    let client = Client::connect(args.run.endpoints()?).await.map_err(failed)?;
    let session = client.session(terms.session()).await.map_err(failed)?;
    let outer = Outer::start(session.clone(), args.names.clone())
        .map_err(|error| Failure::Exit(71, format!("cannot listen at a socket: {error}")))?;
    environment.push(("BELLWETHER_SESSION", session.id().to_string()));
    environment.push((WITHIN, outer.name().to_owned()));
    let standby = Standby::new(&args.run.job, &environment, terms.grace)?;
    standby.watched_by(&session).await?;
    let Some(request) = request(&session, &wish) else {
        return Err(Failure::Input("no lock is named".to_owned()));
    };
    let (place, mut places) = watch::channel(None);
    let granted = request.tell_place(place);
    let mut granted = std::pin::pin!(granted.into_future());
    let lock = loop {
        tokio::select! {
            granted = &mut granted => match granted {
                Ok(lock) => break lock,
                Err(error) => {
                    close(session).await;
                    return Err(Failure::Exit(error.exit_code(), told(&error)));
                }
            },
            Ok(()) = places.changed() => {
                if let Some(behind) = *places.borrow_and_update() {
                    let place = behind.saturating_add(1);
                    let what = format!("waits for {}, at place {place}", quoted(&args.names));
                    note(args.run.quiet, &what);
                }
            }
            signal = signals.next() => {
                close(session).await;
                return Err(Failure::Silent(TOLD + signal));
            }
        }
    };
    let outcome = run_job(args, terms, standby, Held::Lock(lock), &mut signals).await;
    drop(outer);
    close(session).await;
    outcome
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
        Outcome::MakesRoom => 0,
    };
    if let Err(error) = held.give_back().await {
        note(args.run.quiet, &error.to_string());
    }
    if code == 0 { Ok(Verdict::Well) } else { Err(Failure::Silent(code)) }
}

fn quoted(names: &[String]) -> String {
    format!("'{}'", names.join("', '"))
}
