//! The leader of a role, and every change of it.

use super::api::{Watches, oldest};
use super::grpc::{Channel, Fault};
use super::keys::{Found, Layout, after, found};
use super::lists::Card;
use bellwether_api::client::{Leader, Observed, RoleStatus};
use bellwether_api::etcd::{Event as Change, KeyValue, RangeRequest, event::EventType};
use bellwether_coordination::{SessionId, Stamp, Subject, Token};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Observes a role.
pub(super) struct RoleObserver {
    pub(super) layout: Layout,
    /// The client's number for it.
    pub(super) number: u64,
    pub(super) role: String,
    /// What was told last.
    pub(super) last: Option<RoleStatus>,
}

/// The candidates, by when they came: the first one leads.
type Candidates = BTreeMap<i64, (SessionId, Vec<u8>)>;

impl RoleObserver {
    /// Reports the leader, now and after each change, until it cannot.
    pub(super) async fn run(
        mut self,
        channel: &Channel,
        watches: &Arc<Watches>,
        tell: impl Fn(Observed),
    ) -> Fault {
        loop {
            if let Err(fault) = self.follow(channel, watches, &tell).await {
                return fault;
            }
        }
    }

    /// Until the watch ends: the revision from which it went on may be forgotten.
    async fn follow(
        &mut self,
        channel: &Channel,
        watches: &Arc<Watches>,
        tell: &impl Fn(Observed),
    ) -> Result<(), Fault> {
        let queue = self.layout.queue(&Subject::Role(self.role.clone()));
        let all = channel.range(&oldest(&queue)).await?;
        let revision = all.header.map_or(0, |header| header.revision);
        let mut candidates = Candidates::new();
        for kv in &all.kvs {
            apply(&mut candidates, &queue, kv, false);
        }
        self.look(channel, &candidates, revision, tell).await?;
        let mut watch = watches.watch(&queue, after(&queue), revision + 1, false)?;
        while let Some(changes) = watch.next().await {
            for Change { r#type, kv } in changes.events {
                let Some(kv) = kv else { continue };
                apply(&mut candidates, &queue, &kv, r#type == i32::from(EventType::Delete));
                self.look(channel, &candidates, kv.mod_revision, tell).await?;
            }
        }
        Ok(())
    }

    /// Reports the leader, if it has changed.
    async fn look(
        &mut self,
        channel: &Channel,
        candidates: &Candidates,
        revision: i64,
        tell: &impl Fn(Observed),
    ) -> Result<(), Fault> {
        let now = now();
        let leads = candidates.first_key_value().map(|(created, (session, value))| {
            (*session, Token(u64::try_from(*created).unwrap_or(0)), value)
        });
        let before = self.last.as_ref().and_then(|last| last.leader.as_ref());
        let status = match (leads, before) {
            (None, None) if self.last.is_some() => return Ok(()),
            (None, None) => RoleStatus::default(),
            (None, Some(before)) => {
                let reason = format!("session {} resigned or ended", before.session);
                RoleStatus { leader: None, reason, at: now }
            }
            (Some((session, token, value)), Some(before)) if before.token == token => {
                if before.value == *value {
                    return Ok(());
                }
                let leader = Leader { value: value.clone(), ..before.clone() };
                let reason = format!("session {session} proclaimed a value");
                RoleStatus { leader: Some(leader), reason, at: now }
            }
            (Some((session, token, value)), _) => {
                let client = self.client(channel, session).await?;
                let value = value.clone();
                let leader = Leader { session, client, token, value, since: now };
                let reason = format!("session {session} was elected");
                RoleStatus { leader: Some(leader), reason, at: now }
            }
        };
        self.last = Some(status.clone());
        let sequence = u64::try_from(revision).unwrap_or(0);
        tell(Observed { number: self.number, version: (0, sequence), result: Ok(status) });
        Ok(())
    }

    /// What a session is called, if that is kept.
    async fn client(&self, channel: &Channel, session: SessionId) -> Result<String, Fault> {
        let Some(key) = self.layout.session(session) else { return Ok(String::new()) };
        let ask = RangeRequest { key: key.into(), ..RangeRequest::default() };
        let found = channel.range(&ask).await?.kvs.into_iter().next();
        Ok(found.map(|kv| Card::parse(&kv.value).client).unwrap_or_default())
    }
}

/// What a change of a key means for the candidates. A key that is deleted comes without its lease.
fn apply(candidates: &mut Candidates, queue: &str, kv: &KeyValue, deleted: bool) {
    if deleted {
        let rest = kv.key.strip_prefix(queue.as_bytes()).unwrap_or_default();
        let rest = std::str::from_utf8(rest).unwrap_or_default();
        if let Ok(id) = u64::from_str_radix(rest, 16) {
            candidates.retain(|_, (session, _)| session.0 != id);
        }
    } else if let Found::Place(session) = found(queue, kv) {
        candidates.insert(kv.create_revision, (session, kv.value.clone()));
    }
}

/// The time of day, for people: etcd notes none.
#[allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "nothing is decided by it")]
pub(super) fn now() -> Stamp {
    let since = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
