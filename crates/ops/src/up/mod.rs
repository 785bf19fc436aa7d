//! `bellwether up`: a whole cluster of real members on this machine, to watch and to break.
//!
//! The parent asks every member ten times a second what it does, tells what has changed, and does
//! to the members what it is asked for, in the terminal or from a page. It takes no part in the
//! cluster: all that it shows comes from the public HTTP API.

pub(crate) mod args;
pub(crate) mod cluster;
pub(crate) mod command;
mod handle;
pub(crate) mod link;
pub(crate) mod member;
mod plain;
mod screen;
mod view;
pub(crate) mod world;

use crate::signals::Signals;
use crate::watching::runtime;
use args::UpArgs;
use bellwether_api::json::{Members, Stance, Status, UpDone};
use bellwether_core::Time;
use bellwether_http::Extra;
use bellwether_net::Clock;
use bellwether_node::parent::{Complaint, Fault, Order};
use bellwether_shell::{Failure, Verdict};
use cluster::{Cluster, Condition, Death};
use command::Command;
use handle::UpHandle;
use link::Link;
use std::io::IsTerminal;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Interval, MissedTickBehavior, interval, sleep};
use world::World;

/// How often every member is asked.
const ASKS_EVERY: Duration = Duration::from_millis(100);
/// How long it may take to answer.
const ANSWERS_WITHIN: Duration = Duration::from_millis(500);

pub(crate) fn run(args: &UpArgs, extra: Extra) -> Result<Verdict, Failure> {
    let (shape, length, port) = (args.shape()?, args.length()?, args.dashboard()?);
    runtime()?.block_on(async {
        let signals = Signals::new()?;
        let listener = handle::bind(port).await?;
        let cluster = Cluster::start(&shape, args.dir.as_deref(), Some(listener.address()))?;
        let handle = listener.open(&cluster, extra);
        let mut session = Session::new(cluster, handle, signals, length);
        if let Some(warning) = bellwether_node::low_priority() {
            session.note(format!("warning: every member {warning}"));
        }
        let result = match args.plain || !std::io::stdout().is_terminal() {
            true => plain::run(&mut session).await,
            false => screen::run(&mut session).await,
        };
        session.handle.close();
        session.cluster.end().await;
        result.map(|()| Verdict::Well)
    })
}

/// What comes next.
pub(crate) enum Next {
    /// Nothing: it is over.
    End,
    /// A page commands something.
    Order(Order),
    /// Something may have changed.
    News,
}

/// What a member answered.
pub type Report = (usize, Option<Status>, Option<Members>);

/// A cluster that runs, and what is known of it.
pub(crate) struct Session {
    pub(crate) cluster: Cluster,
    pub(crate) world: World,
    pub(crate) handle: UpHandle,
    began: Time,
    length: Option<Duration>,
    signals: Signals,
    reports: mpsc::Receiver<Report>,
    ticks: Interval,
}

impl Session {
    fn new(cluster: Cluster, handle: UpHandle, signals: Signals, length: Option<Duration>) -> Self {
        let (sender, reports) = mpsc::channel(64);
        for (place, member) in cluster.members.iter().enumerate() {
            tokio::spawn(ask(place, Link::new(member.http.clone()), sender.clone()));
        }
        let world = World::new(cluster.members.len() as u32);
        let mut ticks = interval(ASKS_EVERY / 2);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let began = Clock::shared();
        let mut session =
            Session { cluster, world, handle, began, length, signals, reports, ticks };
        session.look();
        session
    }

    /// How long it has been running.
    pub(crate) fn now(&self) -> Duration {
        Clock::shared().since(self.began)
    }

    /// Waits for the next thing to happen.
    pub(crate) async fn next(&mut self) -> Next {
        tokio::select! {
            _ = self.signals.next() => return Next::End,
            Some(order) = self.handle.orders.recv() => return Next::Order(order),
            Some((place, status, members)) = self.reports.recv() => {
                self.take(place, status, members).await;
            }
            _ = self.ticks.tick() => {
                let now = self.now();
                for Death { id, words, .. } in self.cluster.deaths() {
                    self.world.lost(id as usize - 1);
                    self.world.tell(now, format!("member {id} exited unexpectedly, {words}"));
                }
                self.world.tick(now);
            }
        }
        self.look();
        match self.length {
            Some(length) if self.now() >= length => Next::End,
            _ => Next::News,
        }
    }

    /// Takes over what has become of the processes, and tells the pages.
    fn look(&mut self) {
        self.world.observe(&self.cluster);
        self.handle.up.send_if_modified(|up| self.world.publish(&self.cluster, up));
    }

    async fn take(&mut self, place: usize, status: Option<Status>, members: Option<Members>) {
        // An answer may be older than the death of who gave it.
        let own = status.as_ref().map(|status| status.pid) == self.cluster.members[place].pid();
        let paused = self.cluster.members[place].condition == Condition::Paused;
        if paused || (status.is_some() && !own) {
            return;
        }
        self.world.report(place, self.now(), status);
        if let Some(members) = members {
            self.world.members(&members);
        }
        if !self.world.seats[place].told_blocked {
            command::reconcile(&self.cluster, &mut self.world).await;
        }
    }

    /// Does something, and says so in the history.
    pub(crate) async fn command(&mut self, command: &Command) {
        if let Err(complaint) = self.carry_out(command).await {
            self.note(format!("error: {complaint}"));
        }
    }

    /// Does what a page asks for. A mistake is for that page alone.
    pub(crate) async fn obey(&mut self, order: Order) {
        let outcome = match Command::parse(&order.line, self.world.seats.len() as u32) {
            Ok(Command::Quit) => Err(Complaint {
                fault: Fault::Senseless,
                error: "a page cannot end the cluster".to_owned(),
                hint: Some("press q or Ctrl-C where it was started".to_owned()),
            }),
            // Nothing happens by it, so it is no news.
            Ok(Command::Status) => Ok(self.world.summary(&self.cluster)),
            Ok(command) => self.carry_out(&command).await,
            Err(complaint) => Err(complaint),
        };
        let done = outcome.map(|done| UpDone { done, up: self.handle.up.borrow().clone() });
        // The caller may have gone.
        let _ = order.answer.send(done);
    }

    async fn carry_out(&mut self, command: &Command) -> Result<String, Complaint> {
        let done = command::carry_out(command, &mut self.cluster, &mut self.world).await;
        if let Ok(done) = &done {
            self.note(done.clone());
        }
        self.look();
        done
    }

    pub(crate) fn note(&mut self, text: String) {
        let now = self.now();
        self.world.tell(now, text);
    }
}

/// Asks one member for ever.
pub async fn ask(place: usize, mut link: Link, reports: mpsc::Sender<Report>) {
    loop {
        let status: Option<Status> = link.get("/v1/status", ANSWERS_WITHIN).await;
        let leads = status.as_ref().is_some_and(|status| status.stance == Stance::Leading);
        let members = match leads {
            true => link.get("/v1/members", ANSWERS_WITHIN).await,
            false => None,
        };
        if reports.send((place, status, members)).await.is_err() {
            return;
        }
        sleep(ASKS_EVERY).await;
    }
}
