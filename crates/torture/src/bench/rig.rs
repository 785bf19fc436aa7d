//! A cluster under observation: every member is asked all the time for the coordinator.

use bellwether_api::json::{Decided, Mandate, Status};
use bellwether_core::Time;
use bellwether_net::Clock;
use bellwether_ops::cluster::{Cluster, Death, Link, Shape, Unanswered};
use bellwether_shell::Failure;
use serde::Serialize;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};

/// How often members are asked when nothing is about to happen.
const SLOW: Duration = Duration::from_millis(10);
/// How often they are asked otherwise; the timer adds about as much.
const QUICK: Duration = Duration::from_millis(1);
/// A cluster that has not come to rest by then never will.
const PATIENCE: Duration = Duration::from_secs(60);
/// This number of heartbeats without a change is rest.
const REST: u32 = 10;
const ANSWERS_WITHIN: Duration = Duration::from_millis(500);

/// What a member said at a moment.
struct Sight {
    place: usize,
    at: Time,
    mandate: Option<Mandate>,
}

/// The cluster and its observers.
pub(crate) struct Rig {
    pub(crate) cluster: Cluster,
    pace: watch::Sender<Duration>,
    sights: mpsc::UnboundedReceiver<Sight>,
    /// The last mandate that each member named.
    named: Vec<Option<Mandate>>,
}

impl Rig {
    /// Commands something of a member, as an operator.
    pub(crate) async fn command(
        &self,
        path: &str,
        place: usize,
        body: &impl Serialize,
    ) -> Result<Decided, Unanswered> {
        self.cluster.command(&self.cluster.members[place], path, body).await
    }

    /// Starts a cluster and waits until it has come to rest.
    pub(crate) async fn start(shape: &Shape) -> Result<Self, Failure> {
        let cluster = Cluster::start(shape, None, None)?;
        let (pace, pacer) = watch::channel(SLOW);
        let (sender, sights) = mpsc::unbounded_channel();
        for (place, member) in cluster.members.iter().enumerate() {
            let link = Link::new(member.http.clone());
            tokio::spawn(observe(place, link, pacer.clone(), sender.clone()));
        }
        let named = vec![None; cluster.members.len()];
        let mut rig = Rig { cluster, pace, sights, named };
        rig.rest().await?;
        Ok(rig)
    }

    /// The member that leads when all is well: the one with the largest number.
    pub(crate) fn strongest(&self) -> usize {
        self.cluster.members.len() - 1
    }

    /// The mandate that all of these members name, if they agree.
    fn agreed(&self, places: &[usize]) -> Option<Mandate> {
        let mut mandates = places.iter().map(|place| self.named[*place]);
        let first = mandates.next()??;
        let same = |mandate: Option<Mandate>| {
            mandate.is_some_and(|m| (m.leader, m.term) == (first.leader, first.term))
        };
        mandates.all(same).then_some(first)
    }

    /// Takes the next sight.
    async fn look(&mut self) -> Time {
        match self.sights.recv().await {
            Some(sight) => {
                self.named[sight.place] = sight.mandate;
                sight.at
            }
            // It cannot be: the observers never end.
            None => std::future::pending().await,
        }
    }

    /// Waits until all members have named the strongest member for a while.
    pub(crate) async fn rest(&mut self) -> Result<Mandate, Failure> {
        self.pace.send_replace(SLOW);
        let span = self.cluster.choices.heartbeat * REST;
        let all: Vec<usize> = (0..self.cluster.members.len()).collect();
        let strongest = self.cluster.members[self.strongest()].id;
        self.named.fill(None);
        let calm = async {
            let mut since: Option<(Mandate, Time)> = None;
            loop {
                let at = self.look().await;
                let agreed = self.agreed(&all).filter(|mandate| mandate.leader == strongest);
                since = match (agreed, since) {
                    (None, _) => None,
                    (Some(now), Some((then, from))) if now.term == then.term => Some((now, from)),
                    (Some(now), _) => Some((now, at)),
                };
                if let Some((mandate, from)) = since
                    && at.since(from) >= span
                {
                    return mandate;
                }
            }
        };
        let calm = timeout(PATIENCE, calm).await;
        if let Some(Death { id, words, .. }) = self.cluster.deaths().into_iter().next() {
            return Err(Failure::Input(format!("member {id} exited unexpectedly, {words}")));
        }
        calm.map_err(|_| {
            Failure::Input(format!(
                "the cluster did not come to rest within {} s; is the machine very busy?",
                PATIENCE.as_secs()
            ))
        })
    }

    /// From now on sights come quickly.
    pub(crate) fn attention(&mut self) {
        self.pace.send_replace(QUICK);
    }

    /// Waits until all of these members name the same later mandate; when that was.
    pub(crate) async fn successor(
        &mut self,
        places: &[usize],
        before: Mandate,
    ) -> Result<Time, Failure> {
        let seen = async {
            loop {
                let at = self.look().await;
                if self.agreed(places).is_some_and(|mandate| mandate.term > before.term) {
                    return at;
                }
            }
        };
        timeout(PATIENCE, seen).await.map_err(|_| {
            let what = format!("no member took over within {} s", PATIENCE.as_secs());
            Failure::Input(what)
        })
    }

    /// How long a question to a member takes, at the median of many.
    pub(crate) async fn round_trip(&mut self) -> Duration {
        let mut link = Link::new(self.cluster.members[0].http.clone());
        let mut spans = Vec::new();
        for _ in 0..300 {
            let from = Clock::shared();
            if link.get_text("/v1/status", ANSWERS_WITHIN).await.is_some() {
                spans.push(Clock::shared().since(from));
            }
        }
        spans.sort_unstable();
        spans.get(spans.len() / 2).copied().unwrap_or_default()
    }
}

async fn observe(
    place: usize,
    mut link: Link,
    mut pace: watch::Receiver<Duration>,
    sights: mpsc::UnboundedSender<Sight>,
) {
    loop {
        let status: Option<Status> = link.get("/v1/status", ANSWERS_WITHIN).await;
        let mandate = status.and_then(|status| status.mandate);
        if sights.send(Sight { place, at: Clock::shared(), mandate }).is_err() {
            return;
        }
        let span = *pace.borrow_and_update();
        tokio::select! {
            () = sleep(span) => {}
            _ = pace.changed() => {}
        }
    }
}
