//! What a job runs under, and looking after both of them until the job is dead.

use super::job::Job;
use super::joining::Joined;
use super::wire::Ended;
use crate::signals::Signals;
use bellwether::{Error, Leadership, Lock};
use bellwether_core::Time;
use bellwether_net::Clock;
use std::future::pending;
use std::time::Duration;
use tokio::time::{MissedTickBehavior, interval};

/// What a job runs under.
pub(super) enum Held {
    Lock(Lock),
    Role(Leadership),
    /// A lock that is held by the session of a command which this one runs within.
    Joined(Joined),
}

impl Held {
    /// The fencing token.
    pub(super) fn token(&self) -> u64 {
        match self {
            Held::Lock(lock) => lock.token().0,
            Held::Role(role) => role.token().0,
            Held::Joined(joined) => joined.token,
        }
    }

    /// Until when it can be relied on, on the clock that all processes of the host share. For a
    /// command inside another one, the outer command looks after that.
    pub(super) fn deadline(&self) -> Time {
        // The order matters: what lies between the two makes it earlier, never later.
        let now = Clock::shared();
        match self {
            Held::Lock(lock) => now + lock.time_left(),
            Held::Role(role) => now + role.time_left(),
            Held::Joined(_) => Time::from_micros(u64::MAX / 4),
        }
    }

    /// Waits until it is lost, and says how.
    pub(super) async fn lost(&self) -> String {
        match self {
            Held::Lock(lock) => lock.lost().await.to_string(),
            Held::Role(role) => role.lost().await.to_string(),
            Held::Joined(joined) => joined.lost().await,
        }
    }

    /// Waits until a candidate with a higher priority campaigns for it.
    async fn preempt_requested(&self) {
        match self {
            Held::Role(role) => role.preempt_requested().await,
            Held::Lock(_) | Held::Joined(_) => pending().await,
        }
    }

    /// Gives it back, and waits until the cluster knows.
    pub(super) async fn give_back(self) -> Result<(), Error> {
        match self {
            Held::Lock(lock) => lock.release().await,
            Held::Role(role) => role.resign().await,
            Held::Joined(joined) => {
                joined.release().await;
                Ok(())
            }
        }
    }
}

/// How the time of a job ended. Nothing of it lives any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// By itself, with this code.
    Ended(u8),
    /// Because the command was told to end.
    Told(u8),
    /// Because what it ran under was lost, for this reason.
    Lost(String),
    /// A candidate with a higher priority campaigns for the role.
    Yields,
}

/// Looks after a job until it is dead.
pub(super) async fn tend(
    job: &mut Job,
    held: &Held,
    signals: &mut Signals,
    ttl: Duration,
) -> Outcome {
    let mut looks =
        interval((ttl / 10).clamp(Duration::from_millis(5), Duration::from_millis(500)));
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut lost, mut told, mut yields) = (None, 0, false);
    loop {
        tokio::select! {
            Ended { code, late } = job.ended() => {
                return match lost {
                    Some(how) => Outcome::Lost(how),
                    // It was killed because of that.
                    None if told > 1 => Outcome::Told(code),
                    None if late => {
                        let how = "the cluster did not answer before the session's deadline".to_owned();
                        Outcome::Lost(how)
                    }
                    None if told > 0 => Outcome::Told(code),
                    None if yields => Outcome::Yields,
                    None => Outcome::Ended(code),
                };
            }
            _ = looks.tick(), if lost.is_none() && told < 2 => job.may_live_until(held.deadline()),
            how = held.lost(), if lost.is_none() => {
                // Others may hold it any moment, or do already.
                job.may_live_until(Time::ZERO);
                lost = Some(how);
            }
            () = held.preempt_requested(), if !yields => {
                yields = true;
                job.stop();
            }
            _ = signals.next() => {
                told += 1;
                job.stop();
                if told > 1 {
                    job.may_live_until(Time::ZERO);
                }
            }
        }
    }
}
