//! `bellwether campaign`: a command that runs only while it is elected.
//!
//! When the role is lost, or a candidate with a higher priority wants it, the command is stopped, and
//! this campaigns again, in a new session. It ends when the command ends by itself, or when it is told
//! to.

use super::args::{CampaignArgs, Terms};
use super::held::{Held, Outcome, tend};
use super::job::Launcher;
use super::joining::{Outer, WITHIN};
use super::{OS_FAILED, TOLD, close, failed, is_outage, note, pause, program, serve};
use crate::signals::Signals;
use bellwether::{Campaign, Client, Endpoints, Error, ErrorKind, Session};
use bellwether_shell::{Failure, Verdict};
use tokio::sync::watch;

pub(crate) fn run(args: &CampaignArgs) -> Result<Verdict, Failure> {
    let (terms, rank) = (args.run.terms()?, args.rank()?);
    if args.run.hooks.serve.is_some() {
        let served = serve::run(Role { args, rank }, &args.run, &args.run.hooks, &terms);
        return crate::watching::runtime()?.block_on(served);
    }
    program::check(args.run.job.first().map_or("".as_ref(), |word| word.as_os_str()))?;
    crate::watching::runtime()?.block_on(campaign_and_run(args, &terms, rank))
}

async fn campaign_and_run(
    args: &CampaignArgs,
    terms: &Terms,
    rank: Option<i32>,
) -> Result<Verdict, Failure> {
    let mut signals = Signals::new()?;
    let endpoints = args.run.endpoints()?;
    let launcher = Launcher::new(&args.run.job, terms.grace, args.run.on_etcd())?;
    let mut term =
        Term { args, terms, launcher, rank, client: None, campaigned: false, led: false };
    loop {
        match term.serve(&endpoints, &mut signals).await {
            Ok(Some(0)) => return Ok(Verdict::Well),
            Ok(Some(code)) => return Err(Failure::Silent(code)),
            Ok(None) => {}
            // A candidate that cannot even begin says so. One that has campaigned waits until the cluster is
            // back, and one that has led does not give up at all.
            Err(failure) if term.led || term.campaigned && is_outage(&failure) => {
                note(args.run.quiet, &format!("{failure}; keeps waiting for '{}'", args.role));
                pause(&mut signals).await?;
            }
            Err(failure) => return Err(failure),
        }
    }
}

/// A role that is led for others, who ask.
struct Role<'a> {
    args: &'a CampaignArgs,
    rank: Option<i32>,
}

impl serve::Wanted for Role<'_> {
    const KIND: serve::Kind = serve::Kind::Role;

    fn name(&self) -> String {
        self.args.role.clone()
    }

    async fn acquire(&self, session: &Session) -> Result<Held, Error> {
        campaign(self.args, self.rank, session).await.map(Held::Role)
    }
}

fn campaign(args: &CampaignArgs, rank: Option<i32>, session: &Session) -> Campaign {
    let CampaignArgs { role, preempt, by_priority, value, .. } = args;
    let mut campaign = session.campaign(role.as_str()).value(value);
    if let Some(rank) = rank {
        campaign = campaign.priority(rank);
    }
    if *by_priority {
        campaign = campaign.by_priority();
    }
    if *preempt {
        campaign = campaign.preempt();
    }
    campaign
}

/// One candidacy after the other.
struct Term<'a> {
    args: &'a CampaignArgs,
    terms: &'a Terms,
    launcher: Launcher<'a>,
    rank: Option<i32>,
    client: Option<Client>,
    /// Whether it has campaigned once.
    campaigned: bool,
    /// Whether it has led.
    led: bool,
}

impl Term<'_> {
    /// Campaigns, and runs the command while it leads. The code to end with, if it is to.
    async fn serve(
        &mut self,
        endpoints: &Endpoints,
        signals: &mut Signals,
    ) -> Result<Option<u8>, Failure> {
        let CampaignArgs { role, run, .. } = self.args;
        let session = tokio::select! {
            session = self.open(endpoints) => session.map_err(failed)?,
            signal = signals.next() => return Ok(Some(TOLD + signal)),
        };
        let outer = Outer::start(session.clone(), Vec::new()).map_err(|error| {
            Failure::Exit(OS_FAILED, format!("cannot listen at a socket: {error}"))
        })?;
        let environment = [
            ("BELLWETHER_ROLE", role.clone()),
            ("BELLWETHER_SESSION", session.id().to_string()),
            (WITHIN, outer.name().to_owned()),
        ];
        let standby = self.launcher.prepare(&environment)?;
        standby.watched_by(&session).await?;
        self.campaigned = true;
        let leadership = match self.win(&session, signals).await {
            Ok(Ok(leadership)) => leadership,
            Ok(Err(signal)) => {
                close(session).await;
                return Ok(Some(TOLD + signal));
            }
            // That was not the role's fault.
            Err(error) if error.kind() == ErrorKind::SessionEnded => {
                note(run.quiet, &format!("{error}; campaigns again"));
                return Ok(None);
            }
            Err(error) => {
                close(session).await;
                return Err(failed(error));
            }
        };
        self.led = true;
        let token = leadership.token();
        note(run.quiet, &format!("leads '{role}' as {}, token {token}", session.id()));
        let held = Held::Role(leadership);
        let mut job = standby.start(held.token(), held.deadline())?;
        let outcome = tend(&mut job, &held, signals, self.terms.ttl).await;
        let given_back = match &outcome {
            Outcome::Lost(_) => Ok(()),
            _ => held.give_back().await,
        };
        if let Err(error) = given_back {
            note(run.quiet, &error.to_string());
        }
        drop(outer);
        close(session).await;
        match outcome {
            Outcome::Ended(code) | Outcome::Told(code) => Ok(Some(code)),
            Outcome::Lost(how) => {
                note(run.quiet, &format!("no longer leads '{role}': {how}; campaigns again"));
                Ok(None)
            }
            Outcome::Yields => {
                let why = "a candidate with a higher priority campaigns";
                note(run.quiet, &format!("no longer leads '{role}': {why}; campaigns again"));
                Ok(None)
            }
        }
    }

    async fn open(&mut self, endpoints: &Endpoints) -> Result<Session, Error> {
        let client = match &self.client {
            Some(client) => client.clone(),
            None => Client::connect(endpoints.clone()).await?,
        };
        self.client = Some(client.clone());
        client.session(self.terms.session()).await
    }

    /// Campaigns until it leads; or until a signal comes, which is returned then.
    async fn win(
        &self,
        session: &Session,
        signals: &mut Signals,
    ) -> Result<Result<bellwether::Leadership, u8>, Error> {
        let (place, mut places) = watch::channel(None);
        let campaign = campaign(self.args, self.rank, session).queue_position(place);
        let mut won = std::pin::pin!(campaign.into_future());
        loop {
            tokio::select! {
                won = &mut won => return won.map(Ok),
                Ok(()) = places.changed() => {
                    if let Some(behind) = *places.borrow_and_update() {
                        let CampaignArgs { role, run, .. } = self.args;
                        let ahead = if behind == 1 { "candidate" } else { "candidates" };
                        note(run.quiet, &format!("campaigns for '{role}', {behind} {ahead} ahead"));
                    }
                }
                signal = signals.next() => return Ok(Err(signal)),
            }
        }
    }
}
