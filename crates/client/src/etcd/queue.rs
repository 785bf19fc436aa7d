//! A place in a queue of etcd: how it is taken, how its turn is waited for, how it is given back.
//!
//! # Rules
//! * E1 The key of a place is created by a transaction that succeeds only if it does not exist; else the place is the one
//!   that exists. So a request that is sent twice takes one place.
//! * E2 The place with the smallest create revision has its turn, and that revision is its token. Revisions grow.
//! * E3 A place waits for the deletion of the one before it, and of no other. The watch begins right behind the revision
//!   of the look that found it: no deletion is missed between the two.
//! * E4 After waiting, one transaction looks at the own key and at what is before it. If the own key is gone, the lease is
//!   (etcd#9921), and nothing is granted.
//! * E5 A key below the queue's name that is no place of a lease belongs to another program: the place is given back, and the
//!   request refused. It would wait for ever.

use super::api::{Watches, created, get, newest, put, ranges};
use super::grpc::{Channel, Fault};
use super::keys::{Found, found, lease};
use bellwether_api::etcd::{KeyValue, RangeRequest, RangeResponse, TxnRequest};
use bellwether_coordination::{SessionId, Token};
use std::sync::Arc;
use tokio::sync::watch;

/// How many keys are looked at at once.
const PAGE: i64 = 4;

/// A place in a queue.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// What all keys of the queue begin with.
    pub(crate) queue: String,
    pub(crate) key: String,
    pub(crate) session: SessionId,
    pub(crate) value: Vec<u8>,
    pub(crate) wait: bool,
    /// Whether an earlier request may have taken it, whose turn is not this one's.
    pub(crate) afresh: bool,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It has its turn, by this token.
    Has(Token),
    /// It is not its turn, and it does not wait.
    Busy,
    /// It was given up.
    GivenUp,
    /// The place is gone: with its lease, or because another program deleted it.
    Gone,
    /// Others use the name: this key is no place.
    Foreign(String),
}

/// What is before a place.
enum Before {
    Nothing,
    Place(KeyValue),
    Foreign(KeyValue),
}

impl Place {
    /// Takes the place and waits for its turn. `given_up` may turn true at any time; `waits` is told how many are
    /// before it.
    pub(crate) async fn take(
        &self,
        channel: &Channel,
        watches: &Arc<Watches>,
        mut given_up: watch::Receiver<bool>,
        waits: impl Fn(u64),
    ) -> Result<Turn, Fault> {
        if self.afresh {
            channel.delete(&self.key).await?;
        }
        let (mine, mut seen, mut before, behind) = self.enter(channel).await?;
        loop {
            // A place that no caller waits for need not be granted.
            if *given_up.borrow() {
                channel.delete(&self.key).await?;
                return Ok(Turn::GivenUp);
            }
            let other = match before {
                Before::Nothing => return Ok(Turn::Has(token(mine))),
                Before::Foreign(kv) => {
                    channel.delete(&self.key).await?;
                    return Ok(Turn::Foreign(String::from_utf8_lossy(&kv.key).into_owned()));
                }
                Before::Place(_) if !self.wait => {
                    channel.delete(&self.key).await?;
                    return Ok(Turn::Busy);
                }
                Before::Place(kv) => String::from_utf8_lossy(&kv.key).into_owned(),
            };
            waits(behind);
            let mut deleted = watches.watch(&other, Vec::new(), seen + 1, true)?;
            let given_up = tokio::select! {
                biased;
                _ = given_up.wait_for(|given_up| *given_up) => true,
                // If the revision was forgotten, the look below tells.
                _ = deleted.next() => false,
            };
            drop(deleted);
            before = match given_up {
                true => Before::Nothing,
                false => match self.look(channel, mine).await? {
                    Some((revision, found)) => {
                        seen = revision;
                        found
                    }
                    None => return Ok(Turn::Gone),
                },
            };
        }
    }

    /// E1: takes the place, and looks at what is before it in the same transaction. The place's create revision, the
    /// revision of the look, what is before it, and how many.
    async fn enter(&self, channel: &Channel) -> Result<(i64, i64, Before, u64), Fault> {
        let own = RangeRequest { key: self.key.as_str().into(), ..RangeRequest::default() };
        let ask = TxnRequest {
            compare: vec![created(&self.key, 0)],
            success: vec![
                put(&self.key, &self.value, lease(self.session)),
                get(newest(&self.queue, PAGE, 0)),
            ],
            failure: vec![get(own)],
        };
        let answer = channel.txn(&ask).await?;
        let seen = answer.header.map_or(0, |header| header.revision);
        if answer.succeeded {
            let found = ranges(answer).next().unwrap_or_default();
            let behind = u64::try_from(found.count - 1).unwrap_or(0);
            let before = self.before(channel, seen, found).await?;
            return Ok((seen, seen, before, behind));
        }
        let kv = ranges(answer).next().unwrap_or_default().kvs.into_iter().next();
        let mine = kv.map_or(0, |kv| kv.create_revision);
        match self.look(channel, mine).await? {
            Some((seen, before)) => {
                let older = channel.range(&newest(&self.queue, 0, mine - 1)).await?;
                Ok((mine, seen, before, older.kvs.len() as u64))
            }
            // It went away just now; the next attempt finds out why.
            None => Err(Fault::Broken("the place in the queue went away".to_owned())),
        }
    }

    /// E4: the revision of the look and what is before the place; nothing, if the place is gone.
    async fn look(&self, channel: &Channel, mine: i64) -> Result<Option<(i64, Before)>, Fault> {
        let ask = TxnRequest {
            compare: vec![created(&self.key, mine)],
            success: vec![get(newest(&self.queue, PAGE, mine - 1))],
            failure: Vec::new(),
        };
        let answer = channel.txn(&ask).await?;
        if !answer.succeeded {
            return Ok(None);
        }
        let seen = answer.header.map_or(0, |header| header.revision);
        let found = ranges(answer).next().unwrap_or_default();
        Ok(Some((seen, self.before(channel, mine, found).await?)))
    }

    /// The newest place that is older than the own one.
    async fn before(
        &self,
        channel: &Channel,
        mine: i64,
        mut page: RangeResponse,
    ) -> Result<Before, Fault> {
        loop {
            let Some(last) = page.kvs.last().map(|kv| kv.create_revision) else {
                return Ok(Before::Nothing);
            };
            for kv in page.kvs.drain(..).filter(|kv| kv.create_revision < mine) {
                match found(&self.queue, &kv) {
                    Found::Place(_) => return Ok(Before::Place(kv)),
                    Found::Foreign => return Ok(Before::Foreign(kv)),
                    Found::Nested => {}
                }
            }
            if !page.more {
                return Ok(Before::Nothing);
            }
            page = channel.range(&newest(&self.queue, PAGE, last - 1)).await?;
        }
    }
}

fn token(revision: i64) -> Token {
    Token(u64::try_from(revision).unwrap_or(0))
}
