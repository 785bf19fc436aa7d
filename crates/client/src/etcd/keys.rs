//! Where things are kept in etcd.
//!
//! A lock and an election of etcd are queues of keys: `NAME/<lease in hexadecimal>`, ordered by when they were created.
//! Without a prefix the names are used as they are, so that `etcdctl lock NAME`, Go's `concurrency` and Bellwether share
//! a queue. With a prefix, `PREFIX/locks/NAME/<lease>`, `PREFIX/roles/NAME/<lease>` and `PREFIX/sessions/<lease>` are
//! Bellwether's own, and can be listed; a name in them has no slash (`%2F` stands for one).

use bellwether_api::etcd::KeyValue;
use bellwether_coordination::{SessionId, Subject};

/// The names of keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    prefix: String,
}

/// What a key is in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The place of this session.
    Place(SessionId),
    /// Part of another queue, whose name goes on after a slash.
    Nested,
    /// Something else: others use the name for something else than a queue.
    Foreign,
}

impl Layout {
    pub(crate) fn new(prefix: &str) -> Self {
        Layout { prefix: prefix.trim_matches('/').to_owned() }
    }

    /// The prefix of all keys; empty if there is none.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// What all keys of a queue begin with.
    pub(crate) fn queue(&self, of: &Subject) -> String {
        let (kind, name) = match of {
            Subject::Lock(name) => ("locks", name),
            Subject::Role(name) => ("roles", name),
        };
        match self.prefix.as_str() {
            "" => format!("{name}/"),
            prefix => format!("{prefix}/{kind}/{}/", escaped(name)),
        }
    }

    /// The key of a session, if sessions are kept.
    pub(crate) fn session(&self, session: SessionId) -> Option<String> {
        match self.prefix.as_str() {
            "" => None,
            prefix => Some(format!("{prefix}/sessions/{}", hex(session))),
        }
    }
}

/// A session's id as etcd writes leases.
pub(crate) fn hex(session: SessionId) -> String {
    format!("{:x}", session.0)
}

/// A session's id as the number of a lease.
pub(crate) fn lease(session: SessionId) -> i64 {
    i64::try_from(session.0).unwrap_or(i64::MAX)
}

/// The session whose lease this is; none, if it is no lease.
pub(crate) fn session_of(lease: i64) -> Option<SessionId> {
    u64::try_from(lease).ok().filter(|id| *id > 0).map(SessionId)
}

/// What a key of a queue is.
pub(crate) fn found(queue: &str, kv: &KeyValue) -> Found {
    let Some(rest) = kv.key.strip_prefix(queue.as_bytes()) else { return Found::Foreign };
    if rest.contains(&b'/') {
        return Found::Nested;
    }
    match session_of(kv.lease) {
        Some(session) if rest == hex(session).as_bytes() => Found::Place(session),
        _ => Found::Foreign,
    }
}

/// The end of the range of keys that begin with this.
pub(crate) fn after(prefix: &str) -> Vec<u8> {
    let mut end = prefix.as_bytes().to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return end;
        }
    }
    vec![0]
}

/// A name in which no slash is left.
pub(crate) fn escaped(name: &str) -> String {
    name.replace('%', "%25").replace('/', "%2F")
}

/// The name that was escaped.
pub(crate) fn unescaped(text: &str) -> String {
    text.replace("%2F", "/").replace("%25", "%")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kv(key: &str, lease: i64) -> KeyValue {
        KeyValue { key: key.into(), lease, ..KeyValue::default() }
    }

    #[test]
    fn without_a_prefix_names_are_etcds_own() {
        let layout = Layout::default();
        assert_eq!(layout.queue(&Subject::Lock("a/b".into())), "a/b/");
        assert_eq!(layout.session(SessionId(255)), None);
    }

    #[test]
    fn under_a_prefix_locks_roles_and_sessions_are_apart() {
        let layout = Layout::new("/team/app/");
        assert_eq!(layout.queue(&Subject::Lock("a/b%".into())), "team/app/locks/a%2Fb%25/");
        assert_eq!(layout.queue(&Subject::Role("r".into())), "team/app/roles/r/");
        assert_eq!(layout.session(SessionId(255)).as_deref(), Some("team/app/sessions/ff"));
        for name in ["a/b", "%2F", "%", "%25/", "ä b"] {
            assert_eq!(unescaped(&escaped(name)), name);
        }
    }

    #[test]
    fn only_places_of_leases_count_in_a_queue() {
        assert_eq!(found("a/", &kv("a/ff", 255)), Found::Place(SessionId(255)));
        assert_eq!(found("a/", &kv("a/b/ff", 255)), Found::Nested);
        for foreign in [kv("a/ff", 0), kv("a/fe", 255), kv("a/FF", 255), kv("b", 255)] {
            assert_eq!(found("a/", &foreign), Found::Foreign, "{foreign:?}");
        }
    }

    #[test]
    fn a_range_ends_where_the_prefix_does() {
        assert_eq!(after("a/"), b"a0");
        assert_eq!(after(""), [0]);
    }
}
