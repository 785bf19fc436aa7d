//! Roles: campaign, lead, proclaim, and yield in one way or another.
//!
//! On members the first of every three roles goes in the order of coming, and is never handed over; the second goes by
//! priority, and its leader yields when it is asked to; the third goes in the order of coming, and is handed over. On etcd
//! all go in the order of coming.

use super::super::history::{Event, Mode, Want, Way};
use super::words;
use super::worker::{Held, Worker};
use bellwether::{Leadership, Session, SessionId};
use bellwether_api::coordination::Coordination;
use bellwether_ops::cluster::get;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How long a member may take to list the candidates of a role.
const SAYS_WITHIN: Duration = Duration::from_millis(300);

impl Worker {
    pub(super) async fn lead(&mut self, session: &Session) {
        if self.context.roles == 0 {
            return;
        }
        let role = self.chance.below(self.context.roles);
        let name = format!("role-{role}");
        let by_priority = role % 3 == 1 && !self.context.on_etcd;
        let mode = Mode::Role { first_come: !by_priority };
        let mut campaign = session.campaign(&name).value(session.id().to_string());
        if by_priority {
            campaign = campaign.priority(self.chance.below(3) as i32).preempt();
        }
        let patience = self.chance.percent(50).then(|| self.chance.millis(20, 500));
        let drops = self.chance.percent(30);
        let wants = vec![Want { name: name.clone(), mode }];
        let (ask, place) = self.asks(session, wants, true, patience);
        campaign = campaign.queue_position(place);
        let result = match patience {
            Some(span) if drops => timeout(span, campaign.into_future()).await.ok(),
            Some(span) => Some(campaign.timeout(span).await),
            None => Some(campaign.await),
        };
        let Some(held) = self.answered(ask, result) else { return };
        let held = [held];
        let span = self.chance.millis(0, 40);
        let asked = async {
            tokio::select! {
                () = sleep(span) => {}
                () = held[0].guard.preempt_requested() => {}
            }
        };
        self.meanwhile(&held, asked).await;
        if self.chance.percent(40) {
            self.proclaim(&held).await;
        }
        let [held] = held;
        let goes_over = !role.is_multiple_of(3) && !self.context.on_etcd;
        if goes_over && self.chance.percent(60) && !self.context.is_ending() {
            self.hand_over(held, &name).await;
        } else {
            self.resign(held).await;
        }
    }

    async fn proclaim(&mut self, held: &[Held<Leadership>; 1]) {
        let [Held { ask, guard }] = held;
        if !self.look(&held[0]) {
            return;
        }
        self.write(Event::Proclaims { ask: *ask });
        let value = self.chance.bits().to_string();
        let result = self.meanwhile(held, guard.proclaim(value)).await;
        let error = result.err().map(|error| words::refused(&error));
        self.write(Event::Proclaimed { ask: *ask, error });
    }

    async fn resign(&mut self, held: Held<Leadership>) {
        if !self.still(&held).await {
            return;
        }
        let Held { ask, guard } = held;
        if self.chance.percent(25) {
            self.gives_back(ask, Way::Drops);
            drop(guard);
            self.gave_back(ask, Ok(()));
        } else {
            self.gives_back(ask, Way::Asks);
            let result = guard.resign().await;
            self.gave_back(ask, result);
        }
    }

    /// Gives the role to another candidate, and waits a while for its return.
    async fn hand_over(&mut self, mut held: Held<Leadership>, role: &str) {
        let own = held.guard.session().id();
        let to = self.meanwhile(std::slice::from_ref(&held), self.another(role, own)).await;
        let Some(to) = to else { return self.resign(held).await };
        if !self.still(&held).await {
            return;
        }
        let ask = held.ask;
        self.write(Event::HandsOver { ask, to: to.to_string() });
        let result = held.guard.hand_over(to).await;
        let error = result.err().map(|error| words::refused(&error));
        self.write(Event::HandedOver { ask, error: error.clone() });
        if error.is_some() {
            return self.resign(held).await;
        }
        let span = self.chance.millis(0, 500);
        let again = timeout(span, held.guard.leads_again()).await;
        match again {
            Ok(Ok(token)) => {
                self.write(Event::LeadsAgain { ask, token: token.0 });
                self.look(&held);
                self.resign(held).await;
            }
            // It does not campaign any longer; there is nothing that it could hold.
            Ok(Err(_)) | Err(_) => drop(held),
        }
    }

    /// Another candidate for the role, as far as a member knows.
    async fn another(&self, role: &str, own: SessionId) -> Option<SessionId> {
        let place = own.0 as usize % self.context.http.len().max(1);
        let address = self.context.http.get(place)?;
        let coordination =
            timeout(SAYS_WITHIN, get::<Coordination>(address, "/v1/roles")).await.ok()?.ok()?;
        let role = coordination.roles.into_iter().find(|known| known.name == role)?;
        let mut others =
            role.candidates.iter().filter_map(|candidate| candidate.session.parse().ok());
        others.rfind(|other| *other != own)
    }
}
