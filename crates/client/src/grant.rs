//! What locks and roles have in common: a request that waits, and the guard of what it was granted.

use crate::error::{self, Error};
use crate::lost::{Lost, SessionEnd};
use crate::session::Session;
use crate::state::{Denied, Granted, Hold, Purpose, QueuePosition};
use bellwether_coordination::{Ask, Number, Refusal, Token};
use std::fmt;
use std::time::Duration;
use tokio::time::Instant;

impl From<Denied> for Error {
    fn from(denied: Denied) -> Self {
        match denied {
            Denied::Refused(refusal) => error::refused(refusal),
            Denied::Failed(error) => error,
            Denied::SessionEnded(why) => error::ended(why),
        }
    }
}

/// How long a request waits, and where it tells its position.
#[derive(Default)]
pub(crate) struct Patience {
    pub(crate) timeout: Option<Duration>,
    pub(crate) position: Option<QueuePosition>,
}

/// What is held: given back when this is dropped.
pub(crate) struct Guard {
    pub(crate) session: Session,
    pub(crate) number: Number,
    pub(crate) granted: Granted,
    /// Whether dropping it has to give something back.
    held: bool,
}

impl Guard {
    /// Asks for something and waits until it is granted. `failed` begins the text of an error.
    pub(crate) async fn acquire(
        session: Session,
        ask: Ask,
        purpose: Purpose,
        patience: Patience,
        failed: impl fmt::Display,
    ) -> Result<Guard, Error> {
        let Patience { timeout, position } = patience;
        (session.shared().rules.ask)(&ask).map_err(|error| error.doing(&failed))?;
        let position = position.unwrap_or_default();
        let granted = granted(&session, ask, purpose, &position);
        let answer = match timeout {
            None => granted.await,
            Some(time) => match tokio::time::timeout(time, granted).await {
                Ok(answer) => answer,
                // The request is given up when it is dropped.
                Err(_) => return Err(Error::timeout(time, *position.borrow()).doing(failed)),
            },
        };
        match answer {
            Ok((number, granted)) => Ok(Guard { session, number, granted, held: true }),
            Err(ended @ Denied::SessionEnded(_)) => Err(ended.into()),
            Err(denied) => Err(Error::from(denied).doing(failed)),
        }
    }

    pub(crate) fn token(&self) -> Token {
        self.granted.token
    }

    pub(crate) fn hold(&self) -> Hold {
        self.granted.hold.borrow().clone()
    }

    pub(crate) async fn lost(&self) -> Lost {
        let mut hold = self.granted.hold.clone();
        let gone = hold.wait_for(|hold| matches!(hold, Hold::Lost(_))).await;
        match gone.as_deref() {
            Ok(Hold::Lost(how)) => how.clone(),
            _ => Lost::SessionEnded(SessionEnd::Closed),
        }
    }

    pub(crate) fn is_held(&self) -> bool {
        matches!(*self.granted.hold.borrow(), Hold::Held(_)) && self.session.is_alive()
    }

    pub(crate) fn time_left(&self) -> Duration {
        if self.is_held() { self.session.time_left() } else { Duration::ZERO }
    }

    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.time_left()
    }

    /// Gives it back, and waits until the cluster knows.
    pub(crate) async fn give_back(&mut self, ask: Ask) -> Result<(), Denied> {
        self.held = false;
        let (key, number) = (self.session.inner.key, self.number);
        self.session.shared().with(|state, _| state.forget(key, number));
        self.session.act(ask, Purpose::GiveBack).await
    }
}

/// Asks until there is an answer that counts.
async fn granted(
    session: &Session,
    ask: Ask,
    purpose: Purpose,
    position: &QueuePosition,
) -> Result<(Number, Granted), Denied> {
    loop {
        let mut giving_back = session.giving_back();
        let before = giving_back.as_mut().map(|numbers| numbers.borrow_and_update().clone());
        let before = before.unwrap_or_default();
        let mut pending = session.ask(ask.clone(), purpose.clone(), Some(position.clone()));
        let outcome = pending.answered().await;
        let number = pending.number;
        pending.settled();
        match (outcome, giving_back) {
            (Ok(Some(granted)), _) => return Ok((number, granted)),
            // The session still has what it gave back a moment ago.
            (
                Err(Denied::Refused(Refusal::AlreadyAsked(_) | Refusal::AlreadyCampaigns(_))),
                Some(mut giving_back),
            ) if !before.is_empty() => {
                let _ = giving_back.wait_for(|numbers| numbers.is_disjoint(&before)).await;
            }
            (Err(denied), _) => return Err(denied),
            (Ok(None), _) => return Err(Denied::SessionEnded(session.ended())),
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if self.held {
            let key = self.session.inner.key;
            self.session.shared().with(|state, now| state.abandon(key, self.number, now));
        }
    }
}
