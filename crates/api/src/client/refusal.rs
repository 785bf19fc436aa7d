//! Why something was not done.

use super::requests::{from_policy, from_subject, to_policy, to_subject};
use super::wire::refusal::Why;
use super::{LONGEST_CYCLE, Malformed, to_session, to_u32, wire};
use bellwether_coordination::{Deadlock, Refusal, SessionId, Token, Wait};

pub(super) fn from_refusal(refusal: Refusal) -> wire::Refusal {
    use Refusal as R;
    let of_session = |name, session: SessionId| wire::OfSession { name, session: Some(session.0) };
    let why = match refusal {
        R::NoSession(session) => Why::NoSession(session.0),
        R::TooManySessions(most) => Why::TooManySessions(most.into()),
        R::TooManyRequests(most) => Why::TooManyRequests(most.into()),
        R::TooManyWaiters(most) => Why::TooManyWaiters(most.into()),
        R::TooManyWants(most) => Why::TooManyWants(most.into()),
        R::NothingWanted => Why::NothingWanted(true),
        R::InvalidName(most) => Why::InvalidName(most.into()),
        R::ValueTooLarge(most) => Why::ValueTooLarge(most.into()),
        R::InvalidTtl(from_ms, to_ms) => Why::InvalidTtl(wire::Span { from_ms, to_ms }),
        R::NamedTwice(lock) => Why::NamedTwice(lock),
        R::AlreadyAsked(lock) => Why::AlreadyAsked(lock),
        R::Busy(lock) => Why::Busy(lock),
        R::OtherPermits { lock, of } => {
            Why::OtherPermits(wire::OtherPermits { lock, of: of.into() })
        }
        R::InvalidPermits(lock) => Why::InvalidPermits(lock),
        R::NotAsked(number) => Why::NotAsked(number),
        R::Forgotten(number) => Why::Forgotten(number),
        R::Deadlock(deadlock) => Why::Deadlock(from_deadlock(deadlock)),
        R::AlreadyCampaigns(role) => Why::AlreadyCampaigns(role),
        R::NotCandidate(role) => Why::NotCandidate(role),
        R::NotLeader(role) => Why::NotLeader(role),
        R::NoSuchCandidate(role, session) => Why::NoSuchCandidate(of_session(role, session)),
        R::OtherPolicy(role, policy) => {
            Why::OtherPolicy(wire::OtherPolicy { role, policy: Some(from_policy(policy)) })
        }
        R::NotHolder(lock, session) => Why::NotHolder(of_session(lock, session)),
        R::GaveUp => Why::GaveUp(true),
        R::StaleToken(of, token) => {
            Why::StaleToken(wire::StaleToken { of: Some(from_subject(of)), token: token.0 })
        }
        R::StateFull(most) => Why::StateFull(most),
        R::TooManyOfClient(most) => Why::TooManyOfClient(most.into()),
        R::NotOperator => Why::NotOperator(true),
    };
    wire::Refusal { why: Some(why) }
}

pub(super) fn to_refusal(refusal: wire::Refusal) -> Result<Refusal, Malformed> {
    use Refusal as R;
    let of_session = |wire::OfSession { name, session }, field| {
        to_session(session, field).map(|session| (name, session))
    };
    let count = |most| to_u32(most, "refusal.limit");
    Ok(match refusal.why.ok_or(Malformed::Unknown("refusal.why"))? {
        Why::NoSession(session) => R::NoSession(SessionId(session)),
        Why::TooManySessions(most) => R::TooManySessions(count(most)?),
        Why::TooManyRequests(most) => R::TooManyRequests(count(most)?),
        Why::TooManyWaiters(most) => R::TooManyWaiters(count(most)?),
        Why::TooManyWants(most) => R::TooManyWants(count(most)?),
        Why::NothingWanted(_) => R::NothingWanted,
        Why::InvalidName(most) => R::InvalidName(count(most)?),
        Why::ValueTooLarge(most) => R::ValueTooLarge(count(most)?),
        Why::InvalidTtl(wire::Span { from_ms, to_ms }) => R::InvalidTtl(from_ms, to_ms),
        Why::NamedTwice(lock) => R::NamedTwice(lock),
        Why::AlreadyAsked(lock) => R::AlreadyAsked(lock),
        Why::Busy(lock) => R::Busy(lock),
        Why::OtherPermits(wire::OtherPermits { lock, of }) => {
            R::OtherPermits { lock, of: to_u32(of, "other_permits.of")? }
        }
        Why::InvalidPermits(lock) => R::InvalidPermits(lock),
        Why::NotAsked(number) => R::NotAsked(number),
        Why::Forgotten(number) => R::Forgotten(number),
        Why::Deadlock(deadlock) => R::Deadlock(to_deadlock(deadlock)?),
        Why::AlreadyCampaigns(role) => R::AlreadyCampaigns(role),
        Why::NotCandidate(role) => R::NotCandidate(role),
        Why::NotLeader(role) => R::NotLeader(role),
        Why::NoSuchCandidate(whom) => {
            let (role, session) = of_session(whom, "no_such_candidate.session")?;
            R::NoSuchCandidate(role, session)
        }
        Why::OtherPolicy(wire::OtherPolicy { role, policy }) => {
            R::OtherPolicy(role, to_policy(policy, "other_policy.policy")?)
        }
        Why::NotHolder(whom) => {
            let (lock, session) = of_session(whom, "not_holder.session")?;
            R::NotHolder(lock, session)
        }
        Why::GaveUp(_) => R::GaveUp,
        Why::StaleToken(wire::StaleToken { of, token }) => {
            R::StaleToken(to_subject(of, "stale_token.of")?, Token(token))
        }
        Why::StateFull(most) => R::StateFull(most),
        Why::TooManyOfClient(most) => R::TooManyOfClient(count(most)?),
        Why::NotOperator(_) => R::NotOperator,
    })
}

/// A long cycle is cut off, so that it fits into a frame.
fn from_deadlock(deadlock: Deadlock) -> wire::Deadlock {
    let Deadlock { cycle, aborted, at } = deadlock;
    let from_wait = |Wait { session, client, lock, number, since }| wire::Wait {
        session: Some(session.0),
        client,
        lock,
        number,
        since_ms: since,
    };
    wire::Deadlock {
        cycle: cycle.into_iter().take(LONGEST_CYCLE).map(from_wait).collect(),
        aborted: aborted.map(|session| session.0),
        at_ms: at,
    }
}

fn to_deadlock(deadlock: wire::Deadlock) -> Result<Deadlock, Malformed> {
    let wire::Deadlock { cycle, aborted, at_ms } = deadlock;
    let to_wait = |wire::Wait { session, client, lock, number, since_ms }| {
        let session = to_session(session, "wait.session")?;
        Ok(Wait { session, client, lock, number, since: since_ms })
    };
    let cycle = cycle.into_iter().map(to_wait).collect::<Result<_, _>>()?;
    Ok(Deadlock { cycle, aborted: aborted.map(SessionId), at: at_ms })
}
