//! Role watches: the roles that are observed, and the status of each.
//!
//! # Rules
//! * V1 What was seen is never followed by something older, from any member: a copy that is
//!   older than one that was seen is not believed.
//! * V2 The same is not told twice.
//! * V3 An observer that takes nothing for long misses the oldest, never the latest.

use super::ClientState;
use bellwether_api::client::{Observed, RoleStatus, ToMember};
use bellwether_coordination::Refusal;
use bellwether_core::Time;
use std::collections::{BTreeMap, VecDeque};
use std::task::{Context, Poll, Waker};

/// The most changes that wait for an observer (V3).
const KEPT: usize = 1_024;

/// All that is observed, by number.
#[derive(Default)]
pub(super) struct RoleWatches {
    last: u64,
    all: BTreeMap<u64, RoleWatch>,
}

/// One role that is observed.
#[derive(Default)]
struct RoleWatch {
    role: String,
    /// The position of the log that was told last.
    version: (u64, u64),
    latest: Option<RoleStatus>,
    /// What was not taken yet.
    queue: VecDeque<RoleStatus>,
    /// There will be no more.
    refused: Option<Refusal>,
    /// The task that waits for the next change.
    waker: Option<Waker>,
}

impl RoleWatch {
    /// Wakes this task at the next change.
    fn wait<T>(&mut self, cx: &Context<'_>) -> Poll<T> {
        self.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl RoleWatches {
    /// V1 to V3.
    pub(super) fn hear(&mut self, observed: Observed) {
        let Observed { number, version, result } = observed;
        let Some(watch) = self.all.get_mut(&number) else { return };
        match result {
            Err(refusal) => watch.refused = Some(refusal),
            Ok(_) if version < watch.version => return,
            Ok(status) => {
                watch.version = version;
                if watch.latest.as_ref() == Some(&status) {
                    return;
                }
                watch.latest = Some(status.clone());
                watch.queue.push_back(status);
                if watch.queue.len() > KEPT {
                    watch.queue.pop_front();
                }
            }
        }
        if let Some(waker) = watch.waker.take() {
            waker.wake();
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// What a member has to be told that does not know it yet.
    pub(super) fn again(&self) -> Vec<ToMember> {
        let observe = |(number, watch): (&u64, &RoleWatch)| ToMember::Observe {
            number: *number,
            role: watch.role.clone(),
        };
        self.all.iter().filter(|(_, watch)| watch.refused.is_none()).map(observe).collect()
    }
}

impl ClientState {
    /// Begins to observe a role.
    pub(crate) fn observe(&mut self, role: String, now: Time) -> u64 {
        self.watches.last += 1;
        let number = self.watches.last;
        let watch = RoleWatch { role: role.clone(), ..RoleWatch::default() };
        self.watches.all.insert(number, watch);
        self.put(ToMember::Observe { number, role }, now);
        number
    }

    /// Ends that.
    pub(crate) fn unobserve(&mut self, number: u64, now: Time) {
        self.watches.all.remove(&number);
        // There is no answer to wait for.
        let unanswered = self.unanswered;
        self.put(ToMember::Unobserve(number), now);
        self.unanswered = unanswered;
    }

    /// Whether the first answer has come, without taking it.
    pub(crate) fn poll_begun(
        &mut self,
        number: u64,
        cx: &Context<'_>,
    ) -> Poll<Result<(), Refusal>> {
        let Some(watch) = self.watches.all.get_mut(&number) else { return Poll::Pending };
        match (&watch.refused, &watch.latest) {
            (Some(refusal), _) => Poll::Ready(Err(refusal.clone())),
            (None, Some(_)) => Poll::Ready(Ok(())),
            (None, None) => watch.wait(cx),
        }
    }

    /// Takes what comes next; `None` if there will be nothing, for it was refused.
    pub(crate) fn poll_next(&mut self, number: u64, cx: &Context<'_>) -> Poll<Option<RoleStatus>> {
        let Some(watch) = self.watches.all.get_mut(&number) else { return Poll::Ready(None) };
        match (watch.queue.pop_front(), &watch.refused) {
            (Some(next), _) => Poll::Ready(Some(next)),
            (None, Some(_)) => Poll::Ready(None),
            (None, None) => watch.wait(cx),
        }
    }

    /// The latest that is known.
    pub(crate) fn latest(&self, number: u64) -> Option<RoleStatus> {
        self.watches.all.get(&number)?.latest.clone()
    }

    /// Asks again for one of the roles, if there are any. Who only observes would not notice
    /// otherwise that its member is silent because it is dead.
    /// Since when something was asked without anything being heard.
    pub(crate) fn prove_life(&mut self, now: Time) -> Option<Time> {
        if self.unanswered.is_none()
            && let Some(observe) = self.watches.again().into_iter().next()
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

    fn next(state: &mut ClientState, number: u64) -> Option<u64> {
        match polled(state, number) {
            Poll::Ready(status) => status?.leader.map(|leader| leader.token.0),
            Poll::Pending => None,
        }
    }

    fn polled(state: &mut ClientState, number: u64) -> Poll<Option<RoleStatus>> {
        state.poll_next(number, &Context::from_waker(Waker::noop()))
    }

    #[test]
    fn v1_an_older_copy_is_not_believed() {
        let mut state = ClientState::default();
        let role = state.observe("r".into(), Time::ZERO);
        for (version, token) in [((5, 9), 3), ((5, 8), 2), ((4, 99), 1), ((6, 0), 4)] {
            state.watches.hear(told(role, version, token));
        }
        assert_eq!([next(&mut state, role), next(&mut state, role)], [Some(3), Some(4)]);
        assert_eq!(next(&mut state, role), None);
    }

    #[test]
    fn v2_the_same_is_not_told_twice() {
        let mut state = ClientState::default();
        let role = state.observe("r".into(), Time::ZERO);
        state.watches.hear(told(role, (5, 9), 3));
        state.watches.hear(told(role, (5, 12), 3));
        // The second has told how new it is all the same.
        state.watches.hear(told(role, (5, 11), 2));
        assert_eq!([next(&mut state, role), next(&mut state, role)], [Some(3), None]);
        assert!(state.latest(role).is_some());
    }

    #[test]
    fn v3_an_observer_that_takes_nothing_misses_the_oldest() {
        let mut state = ClientState::default();
        let role = state.observe("r".into(), Time::ZERO);
        for token in 1..=KEPT as u64 + 5 {
            state.watches.hear(told(role, (1, token), token));
        }
        assert_eq!(next(&mut state, role), Some(6));
        let rest = std::iter::from_fn(|| next(&mut state, role));
        assert_eq!(rest.last(), Some(KEPT as u64 + 5));
    }

    #[test]
    fn what_was_refused_is_not_asked_for_again() {
        let mut state = ClientState::default();
        let role = state.observe("r".into(), Time::ZERO);
        assert_eq!(state.watches.again().len(), 1);
        let result = Err(Refusal::InvalidName(1));
        state.watches.hear(Observed { number: role, version: (0, 0), result });
        assert!(state.watches.again().is_empty());
        assert!(matches!(polled(&mut state, role), Poll::Ready(None)));
        state.unobserve(role, Time::ZERO);
        assert!(state.watches.is_empty());
    }
}
