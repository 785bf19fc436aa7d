//! Asking an etcd cluster for what members tell over HTTP: lists, tokens, and force-releases.

use crate::asking::{Reply, Unanswered, json};
use crate::running::exit_code;
use bellwether::{
    Client, Endpoints, Error, LockHolder, LockInfo, LockWaiter, RoleInfo, SessionInfo, Token,
};
use bellwether_api::coordination::{
    Candidate, Coordination, Holder, Leader, Lock, Mode, Policy, Role, Session, Waiter,
};
use bellwether_api::orders::{Bearer, Done, ForceOrder};
use bellwether_node::calendar;
use bellwether_shell::Failure;
use hyper::body::Bytes;
use std::time::Duration;
use tokio::sync::OnceCell;

/// What a command ends with that etcd has no answer to.
const UNSUPPORTED: u8 = 83;

/// An etcd cluster.
#[derive(Debug)]
pub(crate) struct OnEtcd {
    endpoints: Endpoints,
    client: OnceCell<Client>,
}

impl OnEtcd {
    /// The cluster of this address, if it is one of etcd.
    pub(crate) fn named(address: &str) -> Result<Option<Self>, Failure> {
        if !address.contains("etcd://") {
            return Ok(None);
        }
        let certs = std::env::var(bellwether::CERTS).ok();
        let client = std::env::var(bellwether::CLIENT).ok();
        let endpoints = Endpoints::parse(address, certs.as_deref(), client.as_deref());
        let endpoints = endpoints.map_err(|error| Failure::Exit(64, error.to_string()))?;
        Ok(Some(OnEtcd { endpoints, client: OnceCell::new() }))
    }

    async fn client(&self) -> Result<&Client, Unanswered> {
        let connect = || Client::connect(self.endpoints.clone());
        self.client.get_or_try_init(connect).await.map_err(unanswered)
    }

    /// What a member would answer at this path.
    pub(crate) async fn ask(&self, path: &str) -> Result<Reply, Unanswered> {
        let mut all = Coordination { coordinator: Some(0), ..Coordination::default() };
        let words: Vec<&str> = path.trim_start_matches("/v1/").split('/').collect();
        let body = match *words.as_slice() {
            ["locks"] => {
                let locks = self.client().await?.locks().await.map_err(unanswered)?;
                all.locks = locks.into_iter().map(lock).collect();
                json(&all)
            }
            ["roles"] => {
                let roles = self.client().await?.roles().await.map_err(unanswered)?;
                all.roles = roles.into_iter().map(role).collect();
                json(&all)
            }
            ["sessions"] => {
                let sessions = self.client().await?.sessions().await.map_err(unanswered)?;
                all.sessions = sessions.into_iter().map(session).collect();
                json(&all)
            }
            [kind @ ("locks" | "roles"), name, "tokens", token] => {
                let (name, token) = (unescaped(name), Token(token.parse().unwrap_or_default()));
                let client = self.client().await?;
                let found = match kind {
                    "locks" => client.check_lock(&name, token).await,
                    _ => client.check_role(&name, token).await,
                };
                let session = found.map_err(unanswered)?.to_string();
                json(&Bearer { name, token: token.0, term: token.term(), session })
            }
            _ => return Err(unsupported()),
        };
        Ok(Reply { from: None, body })
    }

    /// What a member would do at this path.
    pub(crate) async fn order(&self, path: &str, body: &Bytes) -> Result<Reply, Unanswered> {
        let words: Vec<&str> = path.trim_start_matches("/v1/").split('/').collect();
        let ["locks", name, "force"] = *words.as_slice() else { return Err(unsupported()) };
        let ordered = Reply { from: None, body: body.clone() };
        let ForceOrder { session, by, now } = ordered.read()?;
        let lock = unescaped(name);
        let strange = |error: bellwether::NoSessionId| Unanswered::Engine(65, error.to_string());
        let holder = session.parse().map_err(strange)?;
        let client = self.client().await?;
        let forced = match now {
            true => client.force_release_now(&lock, holder, &by).await,
            false => client.force_release(&lock, holder, &by).await,
        };
        forced.map_err(unanswered)?;
        let done = format!("'{lock}' was force-released from {session}");
        Ok(Reply { from: None, body: json(&Done { done }) })
    }
}

fn unanswered(error: Error) -> Unanswered {
    Unanswered::Engine(exit_code(error.kind()), error.to_string())
}

fn unsupported() -> Unanswered {
    let what = "etcd keeps no members, elections or deadlocks of Bellwether; `etcdctl endpoint status` tells of its servers. \
                Give the address of a member instead";
    Unanswered::Engine(UNSUPPORTED, what.to_owned())
}

/// A name that was a part of an address.
fn unescaped(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        let code = after.get(..2).filter(|_| first == b'%');
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => bytes.push(first),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// etcd notes no times; what a client noted is shown.
#[allow(clippy::disallowed_types, reason = "moments that others noted; no clock is looked at")]
fn since(at: std::time::SystemTime) -> String {
    match at.duration_since(std::time::SystemTime::UNIX_EPOCH) {
        Ok(since) if since > Duration::ZERO => {
            calendar(u64::try_from(since.as_millis()).unwrap_or_default())
        }
        _ => "-".to_owned(),
    }
}

fn lock(info: LockInfo) -> Lock {
    let holder = |LockHolder { session, client, token, since: at, .. }: LockHolder| Holder {
        session: session.to_string(),
        client,
        mode: Mode::Exclusive,
        permits: 1,
        token: token.0,
        since: since(at),
    };
    let waiter =
        |(behind, LockWaiter { session, client, since: at, .. }): (u64, LockWaiter)| Waiter {
            session: session.to_string(),
            client,
            mode: Mode::Exclusive,
            permits: 1,
            behind,
            since: since(at),
        };
    Lock {
        name: info.name,
        permits: None,
        taken: 1,
        holders: info.holders.into_iter().map(holder).collect(),
        queue: (0..).zip(info.waiters).map(waiter).collect(),
    }
}

fn role(info: RoleInfo) -> Role {
    let leads = info.leader.as_ref().map(|leader| leader.session);
    let leader = info.leader.map(|leader| Leader {
        session: leader.session.to_string(),
        client: leader.client,
        token: leader.token.0,
        value: String::from_utf8_lossy(&leader.value).into_owned(),
        preempt_requested: false,
    });
    let candidates = info.candidates.into_iter().map(|candidate| Candidate {
        leads: Some(candidate.session) == leads,
        session: candidate.session.to_string(),
        client: candidate.client,
        priority: candidate.priority,
        value: String::new(),
        since: since(candidate.since),
    });
    let candidates = candidates.collect();
    Role { name: info.name, policy: Policy::FirstCome, leader, candidates, history: Vec::new() }
}

fn session(info: SessionInfo) -> Session {
    Session {
        session: info.session.to_string(),
        client: info.client,
        ttl_ms: u64::try_from(info.ttl.as_millis()).unwrap_or_default(),
        since: since(info.since),
        holds: info.holds,
        waits_for: info.waits_for,
        leads: info.leads,
        campaigns_for: info.campaigns_for,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_as_they_were() {
        for name in ["a", "db/täble 1?", "%2F"] {
            assert_eq!(unescaped(&crate::coordination::escaped(name)), name);
        }
    }
}
