//! Locks, roles and sessions under a prefix, as lists.

use super::api::all;
use super::grpc::{Channel, Fault};
use super::keys::{Layout, hex, session_of, unescaped};
use bellwether_api::client::{List, Page, wire};
use bellwether_api::etcd::KeyValue;
use bellwether_coordination::{SessionId, Stamp};
use std::collections::BTreeMap;

/// What is written down about a session: its TTL, when it began, and what it is called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Card {
    pub(super) ttl_ms: u64,
    pub(super) since: Stamp,
    pub(super) client: String,
}

impl Card {
    pub(super) fn text(&self) -> String {
        let Card { ttl_ms, since, client } = self;
        format!("{ttl_ms} {since} {client}")
    }

    pub(super) fn parse(value: &[u8]) -> Card {
        let text = String::from_utf8_lossy(value);
        let mut words = text.splitn(3, ' ');
        let mut number = || words.next().and_then(|word| word.parse().ok()).unwrap_or_default();
        let (ttl_ms, since) = (number(), number());
        Card { ttl_ms, since, client: words.next().unwrap_or_default().to_owned() }
    }
}

/// Queues by name, each with its places by when they were taken.
type Queues = BTreeMap<String, BTreeMap<i64, (SessionId, Vec<u8>)>>;

/// Everything under a prefix, at one revision.
#[derive(Default)]
pub(super) struct Everything {
    revision: u64,
    locks: Queues,
    roles: Queues,
    sessions: BTreeMap<SessionId, Card>,
}

impl Everything {
    pub(super) async fn read(channel: &Channel, layout: &Layout) -> Result<Self, Fault> {
        let prefix = format!("{}/", layout.prefix());
        let found = channel.range(&all(&prefix)).await?;
        let revision = found.header.map_or(0, |header| header.revision);
        let revision = u64::try_from(revision).unwrap_or(0);
        let mut everything = Everything { revision, ..Everything::default() };
        found.kvs.iter().for_each(|kv| everything.add(&prefix, kv));
        Ok(everything)
    }

    /// Keys that are no lock, role or session are left out.
    fn add(&mut self, prefix: &str, kv: &KeyValue) {
        let Some(session) = session_of(kv.lease) else { return };
        let path = std::str::from_utf8(&kv.key).ok().and_then(|key| key.strip_prefix(prefix));
        let parts: Vec<&str> = path.unwrap_or_default().split('/').collect();
        let queues = match *parts.as_slice() {
            ["sessions", id] if id == hex(session) => {
                self.sessions.insert(session, Card::parse(&kv.value));
                return;
            }
            ["locks", _, id] if id == hex(session) => &mut self.locks,
            ["roles", _, id] if id == hex(session) => &mut self.roles,
            _ => return,
        };
        let queue = queues.entry(unescaped(parts[1])).or_default();
        queue.insert(kv.create_revision, (session, kv.value.clone()));
    }

    pub(super) fn version(&self) -> (u64, u64) {
        (0, self.revision)
    }

    fn client(&self, session: SessionId) -> String {
        self.sessions.get(&session).map(|card| card.client.clone()).unwrap_or_default()
    }

    /// All that comes after the entry that was named.
    pub(super) fn page(&self, list: &List) -> Page {
        let mut page = Page::default();
        match list {
            List::Locks(after) => {
                let rest = self.locks.iter().filter(|(name, _)| *name > after);
                page.locks = rest.map(|(name, queue)| self.lock(name, queue)).collect();
            }
            List::Roles(after) => {
                let rest = self.roles.iter().filter(|(name, _)| *name > after);
                page.roles = rest.map(|(name, queue)| self.role(name, queue)).collect();
            }
            List::Sessions(after) => {
                let rest = self.sessions.iter().filter(|(id, _)| *id > after);
                page.sessions = rest.map(|(id, card)| self.session(*id, card)).collect();
            }
        }
        page
    }

    fn lock(&self, name: &str, queue: &BTreeMap<i64, (SessionId, Vec<u8>)>) -> wire::LockEntry {
        let mut users = queue.iter().enumerate().map(|(place, (created, (session, _)))| {
            let token = if place == 0 { u64::try_from(*created).unwrap_or(0) } else { 0 };
            let client = self.client(*session);
            wire::LockUser { session: session.0, client, token, ..wire::LockUser::default() }
        });
        let holders: Vec<_> = users.next().into_iter().collect();
        let queue: Vec<_> = users.collect();
        wire::LockEntry {
            name: name.to_owned(),
            permits: 0,
            held_by: holders.len() as u64,
            waited_for_by: queue.len() as u64,
            holders,
            queue,
        }
    }

    fn role(&self, name: &str, queue: &BTreeMap<i64, (SessionId, Vec<u8>)>) -> wire::RoleEntry {
        let leader = queue.first_key_value().map(|(created, (session, value))| wire::Leader {
            session: Some(session.0),
            client: self.client(*session),
            token: u64::try_from(*created).unwrap_or(0),
            value: value.clone(),
            since_ms: 0,
        });
        let candidates = queue.values().map(|(session, _)| wire::RoleCandidate {
            session: session.0,
            client: self.client(*session),
            ..wire::RoleCandidate::default()
        });
        let candidates: Vec<_> = candidates.collect();
        let campaigned_for_by = candidates.len() as u64;
        wire::RoleEntry { name: name.to_owned(), leader, candidates, campaigned_for_by }
    }

    fn session(&self, id: SessionId, card: &Card) -> wire::SessionEntry {
        let of = |queues: &Queues, first: bool| -> Vec<String> {
            let has = |queue: &BTreeMap<i64, (SessionId, Vec<u8>)>| {
                let mut places = queue.values().enumerate();
                places.any(|(place, (session, _))| *session == id && (place == 0) == first)
            };
            let mine = queues.iter().filter(|(_, queue)| has(queue));
            mine.map(|(name, _)| name.clone()).collect()
        };
        wire::SessionEntry {
            session: id.0,
            client: card.client.clone(),
            ttl_ms: card.ttl_ms,
            since_ms: card.since,
            holds: of(&self.locks, true),
            waits_for: of(&self.locks, false),
            leads: of(&self.roles, true),
            campaigns_for: of(&self.roles, false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_read_as_it_was_written() {
        let card = Card { ttl_ms: 2_000, since: 7, client: "a b  c".to_owned() };
        assert_eq!(Card::parse(card.text().as_bytes()), card);
        assert_eq!(Card::parse(b""), Card::default());
    }

    #[test]
    fn queues_are_told_from_what_others_keep() {
        let mut everything = Everything::default();
        for (key, lease, created) in [
            ("p/locks/a%2Fb/ff", 255, 7),
            ("p/locks/a%2Fb/fe", 254, 5),
            ("p/roles/a%2Fb/fe", 254, 6),
            ("p/sessions/fe", 254, 4),
            ("p/locks/a%2Fb/fd", 1, 1),
            ("p/config", 0, 2),
            ("p/locks/x/y/ff", 255, 3),
        ] {
            let value = b"2000 1 one".to_vec();
            let kv = KeyValue {
                key: key.into(),
                lease,
                create_revision: created,
                value,
                ..Default::default()
            };
            everything.add("p/", &kv);
        }
        let locks = everything.page(&List::Locks(String::new())).locks;
        assert_eq!(locks.len(), 1);
        assert_eq!((locks[0].name.as_str(), locks[0].holders[0].session), ("a/b", 254));
        assert_eq!((locks[0].holders[0].token, locks[0].queue[0].session), (5, 255));
        assert_eq!(everything.page(&List::Locks("a/b".to_owned())).locks, []);
        let sessions = everything.page(&List::Sessions(SessionId(0))).sessions;
        assert_eq!((sessions.len(), sessions[0].client.as_str()), (1, "one"));
        assert_eq!((sessions[0].holds.len(), sessions[0].leads.len()), (1, 1));
    }
}
