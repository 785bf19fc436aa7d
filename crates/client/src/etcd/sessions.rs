//! Sessions as leases.

use super::api::{created, get, put, ranges};
use super::grpc::{Channel, Code, ComingAnswers, Fault};
use super::keys::{Layout, lease};
use super::lists::Card;
use super::{Etcd, Event, Phase, Work};
use crate::tasks::Shared;
use bellwether_api::client::ToClient;
use bellwether_api::etcd::{
    LeaseKeepAliveRequest, LeaseKeepAliveResponse, RangeRequest, TxnRequest,
};
use bellwether_coordination::{LONGEST_TTL_MS, Number, Refusal, Reply, Secret, SessionId, Subject};
use bellwether_net::Clock;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc;

/// G1: the id of a session, and of its lease.
pub(super) fn id(key: Secret) -> SessionId {
    // Leases are positive numbers of 63 bits.
    SessionId(((key.0 as u64) >> 1).max(1))
}

/// The keep-alives that have no answer yet, in order: a server answers them in turn.
pub(super) type Sent = Arc<Mutex<VecDeque<(SessionId, u64)>>>;

/// What etcd says to a keep-alive.
pub(super) struct Kept {
    session: SessionId,
    sent: u64,
    /// Whether the lease is there.
    alive: bool,
}

pub(super) fn keep_alive(session: SessionId, sent: u64, work: &mut Work) -> Result<(), Fault> {
    let sending = &work.sent;
    sending.lock().unwrap_or_else(PoisonError::into_inner).push_back((session, sent));
    work.keep_alives.send(&LeaseKeepAliveRequest { id: lease(session) })
}

/// Takes the answers to keep-alives, until there are no more.
pub(super) async fn kept(
    answers: ComingAnswers<LeaseKeepAliveResponse>,
    sent: Sent,
    events: mpsc::UnboundedSender<Event>,
) -> Fault {
    let mut answers = match answers.begin().await {
        Ok(answers) => answers,
        Err(fault) => return fault,
    };
    // A server whose term is older than one that was seen is not believed.
    let mut term = 0;
    loop {
        let answer = match answers.next().await {
            Ok(Some(answer)) => answer,
            Ok(None) => return Fault::Broken("it ended the keep-alives".to_owned()),
            Err(fault) => return fault,
        };
        let next = sent.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some((session, sent)) = next.filter(|(session, _)| lease(*session) == answer.id) else {
            return Fault::Broken("it mixed up keep-alives".to_owned());
        };
        let of = answer.header.map_or(0, |header| header.raft_term);
        if of < term {
            return Fault::Broken("its leader is an old one".to_owned());
        }
        term = of;
        let _ = events.send(Event::Kept(Kept { session, sent, alive: answer.ttl > 0 }));
    }
}

/// Opens a session, or finds the one that was opened before.
pub(super) async fn open(
    channel: &Channel,
    layout: &Layout,
    session: SessionId,
    client: String,
    ttl_ms: u64,
) -> Result<Result<SessionId, Refusal>, Fault> {
    // Whole seconds; a longer lease than the session's own deadline does no harm.
    let ttl = i64::try_from(ttl_ms.div_ceil(1_000)).unwrap_or(i64::MAX);
    match channel.grant(lease(session), ttl).await {
        Ok(granted) if granted.ttl > ttl => {
            close(channel, session).await?;
            let least = u64::try_from(granted.ttl).unwrap_or(0) * 1_000;
            return Ok(Err(Refusal::InvalidTtl(least, LONGEST_TTL_MS)));
        }
        Ok(_) => {}
        Err(Fault::Status(Code::FailedPrecondition, _)) => renew(channel, session).await?,
        Err(fault) => return Err(fault),
    }
    if let Some(key) = layout.session(session) {
        let card = Card { ttl_ms, since: super::observe::now(), client };
        let put = put(&key, card.text().as_bytes(), lease(session));
        let ask = TxnRequest { success: vec![put], ..TxnRequest::default() };
        match channel.txn(&ask).await {
            // A user that may not list sessions may still have one.
            Ok(_) | Err(Fault::Status(Code::PermissionDenied, _)) => {}
            Err(fault) => return Err(fault),
        }
    }
    Ok(Ok(session))
}

/// Keeps a lease alive, once.
async fn renew(channel: &Channel, session: SessionId) -> Result<(), Fault> {
    let (mut questions, answers) = channel.keep_alives().await?;
    questions.send(&LeaseKeepAliveRequest { id: lease(session) })?;
    match answers.begin().await?.next().await? {
        Some(answer) if answer.ttl > 0 => Ok(()),
        _ => Err(Fault::Broken("it has lost a lease that it had".to_owned())),
    }
}

/// Ends a session and all that it holds.
pub(super) async fn close(channel: &Channel, session: SessionId) -> Result<(), Fault> {
    match channel.revoke(lease(session)).await {
        Ok(_) | Err(Fault::Status(Code::NotFound, _)) => Ok(()),
        Err(fault) => Err(fault),
    }
}

impl Etcd {
    /// G2: a lease was kept alive; what it holds is looked at.
    pub(super) fn kept(&mut self, kept: Kept, shared: &Shared, work: &mut Work) {
        let Kept { session, sent, alive } = kept;
        if !alive {
            self.expired(session, shared);
            return;
        }
        self.sweep(session, work);
        let held: Vec<(Number, String, i64)> = self.held(session).collect();
        if held.is_empty() {
            shared.hear([ToClient::Reply(Reply::KeptAlive { session, sent })]);
            return;
        }
        let channel = work.channel.clone();
        work.spawn(async move {
            match verify(&channel, session, &held).await {
                Ok((gone, expired)) => Event::Verified { session, sent, gone, expired },
                Err(fault) => Event::Fault(fault),
            }
        });
    }

    fn held(&self, session: SessionId) -> impl Iterator<Item = (Number, String, i64)> {
        let all = self.claims.range((session, 0)..=(session, Number::MAX));
        all.filter_map(|((_, number), claim)| match claim.phase {
            Phase::Held(token) => {
                let revision = i64::try_from(token.0).unwrap_or(i64::MAX);
                Some((*number, claim.place.key.clone(), revision))
            }
            Phase::Waits(_) => None,
        })
    }

    /// The lease is alive, and these of its places are gone: another program deleted them, or this client did.
    pub(super) fn verified(
        &mut self,
        session: SessionId,
        sent: u64,
        gone: &[Number],
        shared: &Shared,
    ) {
        for number in gone {
            let held = self.held(session).any(|(held, ..)| held == *number);
            // A lock that is being released was not force-released.
            if !held || self.asking.iter().any(|(of, _)| *of == session) {
                continue;
            }
            let Some(claim) = self.claims.remove(&(session, *number)) else { continue };
            let (Subject::Lock(lock) | Subject::Role(lock)) = claim.subject;
            let by = "another client of etcd, which deleted its key".to_owned();
            let number = *number;
            shared.hear([ToClient::Reply(Reply::ForceReleased { session, lock, number, by })]);
        }
        shared.hear([ToClient::Reply(Reply::KeptAlive { session, sent })]);
    }

    /// G5: deletes places of the session that were taken late.
    fn sweep(&mut self, session: SessionId, work: &mut Work) {
        let now = Clock::shared();
        self.late.retain(|_, late| late.until > now);
        let late = self.late.keys().filter(|(of, _)| *of == session);
        let wanted = |key: &String| self.claims.values().any(|claim| claim.place.key == *key);
        let late: Vec<String> =
            late.map(|(_, key)| key.clone()).filter(|key| !wanted(key)).collect();
        for key in late {
            if self.sweeping.insert(key.clone()) {
                let channel = work.channel.clone();
                work.spawn(async move {
                    match channel.delete(&key).await {
                        Ok(_) => Event::Swept(key),
                        Err(fault) => Event::Fault(fault),
                    }
                });
            }
        }
    }
}

/// Which of these keys were not created at their revisions; and, if some were not, whether the lease is gone.
async fn verify(
    channel: &Channel,
    session: SessionId,
    held: &[(Number, String, i64)],
) -> Result<(Vec<Number>, bool), Fault> {
    let own = |key: &str| RangeRequest { key: key.into(), keys_only: true, ..Default::default() };
    let ask = TxnRequest {
        compare: held.iter().map(|(_, key, revision)| created(key, *revision)).collect(),
        success: Vec::new(),
        failure: held.iter().map(|(_, key, _)| get(own(key))).collect(),
    };
    let answer = channel.txn(&ask).await?;
    if answer.succeeded {
        return Ok((Vec::new(), false));
    }
    let there: Vec<i64> =
        ranges(answer).map(|range| range.kvs.first().map_or(0, |kv| kv.create_revision)).collect();
    let gone = held.iter().zip(there).filter(|((_, _, revision), there)| revision != there);
    let gone = gone.map(|((number, ..), _)| *number).collect();
    let left = channel.time_to_live(lease(session)).await?;
    Ok((gone, left.ttl <= 0))
}
