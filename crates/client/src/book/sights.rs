//! What is observed: roles, and how it stands with each.
//!
//! # Rules
//! * V1 What was seen is never followed by something older, whichever member tells it: a copy that is
//!   older than one that was seen is not believed.
//! * V2 The same is not told twice.
//! * V3 Whoever takes nothing for long misses the oldest, never the latest.

use super::Book;
use bellwether_api::client::{Observed, RoleStatus, ToMember};
use bellwether_coordination::Refusal;
use bellwether_core::Time;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use tokio::sync::Notify;

/// So many changes wait for one who observes (V3).
const KEPT: usize = 1_024;

/// All that is observed, by number.
#[derive(Default)]
pub(super) struct Sights {
    last: u64,
    all: BTreeMap<u64, Sight>,
}

/// One role that is observed.
#[derive(Default)]
struct Sight {
    role: String,
    /// The position of the log that was told last.
    version: (u64, u64),
    latest: Option<RoleStatus>,
    /// What was not taken yet.
    queue: VecDeque<RoleStatus>,
    /// There will be no more.
    refused: Option<Refusal>,
    news: Arc<Notify>,
}

/// What there is for one who observes.
pub(crate) enum Seen {
    Next(RoleStatus),
    Nothing,
    /// Nor will there be anything: it was refused.
    Never,
}

impl Sights {
    /// V1 to V3.
    pub(super) fn hear(&mut self, observed: Observed) {
        let Observed { number, version, result } = observed;
        let Some(sight) = self.all.get_mut(&number) else { return };
        match result {
            Err(refusal) => sight.refused = Some(refusal),
            Ok(_) if version < sight.version => return,
            Ok(standing) => {
                sight.version = version;
                if sight.latest.as_ref() == Some(&standing) {
                    return;
                }
                sight.latest = Some(standing.clone());
                sight.queue.push_back(standing);
                if sight.queue.len() > KEPT {
                    sight.queue.pop_front();
                }
            }
        }
        sight.news.notify_one();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// What a member has to be told that does not know it yet.
    pub(super) fn again(&self) -> Vec<ToMember> {
        let observe = |(number, sight): (&u64, &Sight)| ToMember::Observe {
            number: *number,
            role: sight.role.clone(),
        };
        self.all.iter().filter(|(_, sight)| sight.refused.is_none()).map(observe).collect()
    }
}

impl Book {
    /// Begins to observe a role.
    pub(crate) fn observe(&mut self, role: String, now: Time) -> (u64, Arc<Notify>) {
        self.sights.last += 1;
        let (number, news) = (self.sights.last, Arc::new(Notify::new()));
        let sight = Sight { role: role.clone(), news: news.clone(), ..Sight::default() };
        self.sights.all.insert(number, sight);
        self.put(ToMember::Observe { number, role }, now);
        (number, news)
    }

    /// Ends that.
    pub(crate) fn unobserve(&mut self, number: u64, now: Time) {
        self.sights.all.remove(&number);
        // There is no answer to wait for.
        let unanswered = self.unanswered;
        self.put(ToMember::Unobserve(number), now);
        self.unanswered = unanswered;
    }

    /// Whether there is something for one who observes, without taking it.
    pub(crate) fn has_seen(&self, number: u64) -> Option<Result<(), Refusal>> {
        let sight = self.sights.all.get(&number)?;
        match &sight.refused {
            Some(refusal) => Some(Err(refusal.clone())),
            None => sight.latest.as_ref().map(|_| Ok(())),
        }
    }

    /// Takes what comes next.
    pub(crate) fn see(&mut self, number: u64) -> Seen {
        let Some(sight) = self.sights.all.get_mut(&number) else { return Seen::Nothing };
        match (sight.queue.pop_front(), &sight.refused) {
            (Some(next), _) => Seen::Next(next),
            (None, Some(_)) => Seen::Never,
            (None, None) => Seen::Nothing,
        }
    }

    /// The latest that is known.
    pub(crate) fn latest(&self, number: u64) -> Option<RoleStatus> {
        self.sights.all.get(&number)?.latest.clone()
    }

    /// Asks again for one of the roles, if there are any. Who only observes would not notice
    /// otherwise that its member is silent because it is dead.
    /// Since when something was asked without anything being heard.
    pub(crate) fn prove_life(&mut self, now: Time) -> Option<Time> {
        if self.unanswered.is_none()
            && let Some(observe) = self.sights.again().into_iter().next()
        {
            self.put(observe, now);
        }
        self.unanswered
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellwether_api::client::Leader;
    use bellwether_coordination::{SessionId, Token};

    fn told(number: u64, version: (u64, u64), token: u64) -> Observed {
        let leader = Leader {
            session: SessionId(1),
            client: "c".into(),
            token: Token(token),
            value: Vec::new(),
            since: 0,
        };
        let result = Ok(RoleStatus { leader: Some(leader), reason: "r".into(), at: token });
        Observed { number, version, result }
    }

    fn next(book: &mut Book, number: u64) -> Option<u64> {
        match book.see(number) {
            Seen::Next(standing) => standing.leader.map(|leader| leader.token.0),
            Seen::Nothing | Seen::Never => None,
        }
    }

    #[test]
    fn v1_an_older_copy_is_not_believed() {
        let mut book = Book::default();
        let (role, _) = book.observe("r".into(), Time::ZERO);
        for (version, token) in [((5, 9), 3), ((5, 8), 2), ((4, 99), 1), ((6, 0), 4)] {
            book.sights.hear(told(role, version, token));
        }
        assert_eq!([next(&mut book, role), next(&mut book, role)], [Some(3), Some(4)]);
        assert_eq!(next(&mut book, role), None);
    }

    #[test]
    fn v2_the_same_is_not_told_twice() {
        let mut book = Book::default();
        let (role, _) = book.observe("r".into(), Time::ZERO);
        book.sights.hear(told(role, (5, 9), 3));
        book.sights.hear(told(role, (5, 12), 3));
        // The second has told how new it is all the same.
        book.sights.hear(told(role, (5, 11), 2));
        assert_eq!([next(&mut book, role), next(&mut book, role)], [Some(3), None]);
        assert!(book.latest(role).is_some());
    }

    #[test]
    fn v3_whoever_takes_nothing_misses_the_oldest() {
        let mut book = Book::default();
        let (role, _) = book.observe("r".into(), Time::ZERO);
        for token in 1..=KEPT as u64 + 5 {
            book.sights.hear(told(role, (1, token), token));
        }
        assert_eq!(next(&mut book, role), Some(6));
        let rest = std::iter::from_fn(|| next(&mut book, role));
        assert_eq!(rest.last(), Some(KEPT as u64 + 5));
    }

    #[test]
    fn what_was_refused_is_not_asked_for_again() {
        let mut book = Book::default();
        let (role, _) = book.observe("r".into(), Time::ZERO);
        assert_eq!(book.sights.again().len(), 1);
        let result = Err(Refusal::InvalidName(1));
        book.sights.hear(Observed { number: role, version: (0, 0), result });
        assert!(book.sights.again().is_empty());
        assert!(matches!(book.see(role), Seen::Never));
        book.unobserve(role, Time::ZERO);
        assert!(matches!(book.see(role), Seen::Nothing));
    }
}
