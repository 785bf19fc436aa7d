//! What a session asks for, and what comes of it.

use super::api::{created, oldest, put};
use super::grpc::{Channel, Fault};
use super::keys::{Found, Layout, found, hex, lease};
use super::queue::{Place, Turn};
use super::{Claim, Etcd, Event, Phase, Work, sessions};
use crate::Error;
use crate::tasks::Shared;
use bellwether_api::client::ToClient;
use bellwether_api::etcd::{KeyValue, TxnRequest};
use bellwether_coordination::{
    Answer, Ask, Number, Refusal, Reply, Request, SessionId, Subject, Token,
};
use std::collections::BTreeSet;
use tokio::sync::watch;

impl Etcd {
    pub(super) fn request(&mut self, request: Request, work: &mut Work) -> Result<(), Fault> {
        match request {
            Request::Open { key, client, ttl_ms, sent } => {
                if self.opening.insert(key) {
                    let session = sessions::id(key);
                    self.sessions.insert(session, client.clone());
                    let (channel, layout) = (work.channel.clone(), self.layout.clone());
                    work.spawn(async move {
                        let opened = sessions::open(&channel, &layout, session, client, ttl_ms);
                        match opened.await {
                            Ok(result) => {
                                let reply = Reply::Opened { key, result, sent };
                                Event::Opened(key, ToClient::Reply(reply))
                            }
                            Err(fault) => Event::Fault(fault),
                        }
                    });
                }
            }
            Request::KeepAlive { session, sent, .. } => {
                return sessions::keep_alive(session, sent, work);
            }
            Request::Ask { session, number, ask, .. } => self.ask(session, number, ask, work),
            Request::Close { session, .. } => {
                if self.closing.insert(session) {
                    let channel = work.channel.clone();
                    work.spawn(async move {
                        match sessions::close(&channel, session).await {
                            Ok(()) => Event::Closed(session),
                            Err(fault) => Event::Fault(fault),
                        }
                    });
                }
            }
            Request::Force { lock, session, .. } => {
                let (channel, layout) = (work.channel.clone(), self.layout.clone());
                work.spawn(async move {
                    match force(&channel, &layout, &lock, session).await {
                        Ok(result) => {
                            Event::Say(ToClient::Reply(Reply::Forced { lock, session, result }))
                        }
                        Err(fault) => Event::Fault(fault),
                    }
                });
            }
            Request::Check { number, of, token } => {
                let (channel, queue) = (work.channel.clone(), self.layout.queue(&of));
                work.spawn(async move {
                    match holder(&channel, &queue).await {
                        Ok(Some((session, by))) if by == token => {
                            let result = Ok(session);
                            Event::Say(ToClient::Reply(Reply::Checked { number, result }))
                        }
                        Ok(_) => {
                            let result = Err(Refusal::StaleToken(of, token));
                            Event::Say(ToClient::Reply(Reply::Checked { number, result }))
                        }
                        Err(fault) => Event::Fault(fault),
                    }
                });
            }
            // Members say these, for others.
            Request::Died { .. } | Request::End { .. } => {}
        }
        Ok(())
    }

    fn ask(&mut self, session: SessionId, number: Number, ask: Ask, work: &mut Work) {
        match ask {
            Ask::Lock { wants, wait } => {
                let Some(want) = wants.first() else { return };
                // So that people who look into etcd see who it is.
                let value = self.sessions.get(&session).cloned().unwrap_or_default().into_bytes();
                self.claim(
                    session,
                    number,
                    Subject::Lock(want.name.to_string()),
                    value,
                    wait,
                    work,
                );
            }
            Ask::Campaign { role, value, .. } => {
                self.claim(session, number, Subject::Role(role), value, true, work);
            }
            Ask::GiveUp(earlier) => match self.claims.get_mut(&(session, earlier)) {
                Some(claim) if matches!(claim.phase, Phase::Waits(_)) => claim.give_up(number),
                // It was granted meanwhile, and is given back when that is known.
                _ => answer(work, session, number, Err(Refusal::NotAsked(earlier))),
            },
            Ask::Release(earlier) => {
                if self.claims.contains_key(&(session, earlier)) {
                    self.leave(session, earlier, number, work);
                } else {
                    answer(work, session, number, Err(Refusal::NotAsked(earlier)));
                }
            }
            Ask::Resign { role } => match self.campaign(session, &role) {
                None => answer(work, session, number, Err(Refusal::NotCandidate(role))),
                Some((earlier, claim)) => match claim.phase {
                    Phase::Waits(_) => claim.give_up(number),
                    Phase::Held(_) => self.leave(session, earlier, number, work),
                },
            },
            Ask::Proclaim { role, value } => self.proclaim(session, number, role, value, work),
            // It was refused before.
            Ask::HandOver { role, .. } => {
                answer(work, session, number, Err(Refusal::NotLeader(role)));
            }
        }
    }

    /// The request by which a session campaigns for a role.
    fn campaign(&mut self, session: SessionId, role: &str) -> Option<(Number, &mut Claim)> {
        let all = self.claims.range_mut((session, 0)..=(session, Number::MAX));
        let mut all = all.map(|((_, number), claim)| (*number, claim));
        all.find(|(_, claim)| matches!(&claim.subject, Subject::Role(of) if of == role))
    }

    /// Takes a place in a queue.
    fn claim(
        &mut self,
        session: SessionId,
        number: Number,
        subject: Subject,
        value: Vec<u8>,
        wait: bool,
        work: &mut Work,
    ) {
        if let Some(claim) = self.claims.get(&(session, number)) {
            match claim.phase {
                Phase::Held(token) => {
                    answer(work, session, number, Ok(granted(&claim.subject, token)));
                }
                Phase::Waits(Some(behind)) => {
                    answer(work, session, number, Ok(Answer::Waits { behind }));
                }
                Phase::Waits(None) => {}
            }
            return;
        }
        let queue = self.layout.queue(&subject);
        let key = format!("{queue}{}", hex(session));
        // It is asked for again in a moment.
        if self.sweeping.contains(&key) {
            return;
        }
        if self.claims.values().any(|claim| claim.place.key == key) {
            let refusal = match subject {
                Subject::Lock(name) => Refusal::AlreadyAsked(name),
                Subject::Role(name) => Refusal::AlreadyCampaigns(name),
            };
            answer(work, session, number, Err(refusal));
            return;
        }
        // G5
        let late = self.late.get(&(session, key.clone()));
        let afresh = late.is_some_and(|late| late.by.iter().any(|by| *by != number));
        let place = Place { queue, key, session, value, wait, afresh };
        let (given_up, gives_up) = watch::channel(false);
        let (channel, watches) = (work.channel.clone(), work.watches.clone());
        let (taken, events) = (place.clone(), work.events.clone());
        work.spawn(async move {
            let waits = |behind| drop(events.send(Event::Waits(session, number, behind)));
            let turn = taken.take(&channel, &watches, gives_up, waits).await;
            Event::Turn(session, number, turn)
        });
        let claim = Claim {
            subject,
            place,
            phase: Phase::Waits(None),
            given_up,
            leavers: BTreeSet::new(),
            uncertain: false,
        };
        self.claims.insert((session, number), claim);
    }

    pub(super) fn waits(
        &mut self,
        session: SessionId,
        number: Number,
        behind: u64,
        shared: &Shared,
    ) {
        let Some(claim) = self.claims.get_mut(&(session, number)) else { return };
        // The holder of a lock is not counted, and the leader of a role is.
        let behind = match claim.subject {
            Subject::Lock(_) => behind.saturating_sub(1),
            Subject::Role(_) => behind,
        };
        claim.phase = Phase::Waits(Some(behind));
        hear(shared, session, number, Ok(Answer::Waits { behind }));
    }

    /// What came of waiting for a turn.
    pub(super) fn turn(
        &mut self,
        session: SessionId,
        number: Number,
        turn: Result<Turn, Fault>,
        shared: &Shared,
        work: &mut Work,
    ) -> Result<(), Fault> {
        let at = (session, number);
        let Some(claim) = self.claims.get_mut(&at) else { return Ok(()) };
        match turn {
            Ok(Turn::Has(token)) => {
                claim.phase = Phase::Held(token);
                // It was given up in the same moment.
                let leavers = std::mem::take(&mut claim.leavers);
                if leavers.is_empty() {
                    hear(shared, session, number, Ok(granted(&claim.subject, token)));
                }
                for by in leavers {
                    self.leave(session, number, by, work);
                }
            }
            Ok(Turn::GivenUp) => {
                let leavers = std::mem::take(&mut claim.leavers);
                self.claims.remove(&at);
                for by in leavers {
                    hear(shared, session, by, Ok(Answer::Done));
                }
            }
            Ok(Turn::Busy) => {
                let name = name(&claim.subject).to_owned();
                self.claims.remove(&at);
                hear(shared, session, number, Err(Refusal::Busy(name)));
            }
            Ok(Turn::Gone) => {
                // With a lease that is alive another program deleted it; it is asked for again soon.
                self.claims.remove(&at);
                let channel = work.channel.clone();
                work.spawn(async move {
                    match channel.time_to_live(lease(session)).await {
                        Ok(left) if left.ttl > 0 => Event::There,
                        Ok(_) => Event::Expired(session),
                        Err(fault) => Event::Fault(fault),
                    }
                });
            }
            Ok(Turn::Foreign(key)) => {
                let text = format!(
                    "others use this name in etcd: the key '{key}' is no place in a queue; choose another name, or a prefix \
                     of your own: etcd://HOST:PORT/PREFIX"
                );
                self.claims.remove(&at);
                let why = Error::used_by_others(text);
                shared.with(|state, now| state.fail(session, number, why, now));
            }
            Err(fault) => {
                let result = self.refuse(session, number, fault, shared, &work.server);
                if result.is_ok() {
                    self.claims.remove(&at);
                }
                return result;
            }
        }
        Ok(())
    }

    /// Gives a place back that is held, by this request.
    fn leave(&mut self, session: SessionId, number: Number, by: Number, work: &mut Work) {
        let Some(claim) = self.claims.get(&(session, number)) else { return };
        if !self.asking.insert((session, by)) {
            return;
        }
        let (channel, key) = (work.channel.clone(), claim.place.key.clone());
        work.spawn(async move {
            let result = channel.delete(&key).await;
            Event::Left { session, number, by, result }
        });
    }

    pub(super) fn left(
        &mut self,
        session: SessionId,
        number: Number,
        by: Number,
        result: Result<i64, Fault>,
        shared: &Shared,
        server: &str,
    ) -> Result<(), Fault> {
        self.asking.remove(&(session, by));
        let deleted = match result {
            Ok(deleted) => deleted,
            Err(fault) => return self.refuse(session, by, fault, shared, server),
        };
        let claim = self.claims.remove(&(session, number));
        let done = deleted > 0 || claim.as_ref().is_none_or(|claim| claim.uncertain);
        let result = match claim.map(|claim| claim.subject) {
            _ if done => Ok(Answer::Done),
            Some(Subject::Role(role)) => Err(Refusal::NotLeader(role)),
            _ => Err(Refusal::NotAsked(number)),
        };
        hear(shared, session, by, result);
        Ok(())
    }

    fn proclaim(
        &mut self,
        session: SessionId,
        number: Number,
        role: String,
        value: Vec<u8>,
        work: &mut Work,
    ) {
        let held = self.campaign(session, &role).map(|(_, claim)| (claim.phase, &claim.place.key));
        let Some((Phase::Held(token), key)) = held else {
            answer(work, session, number, Err(Refusal::NotLeader(role)));
            return;
        };
        let ask = TxnRequest {
            compare: vec![created(key, i64::try_from(token.0).unwrap_or(i64::MAX))],
            success: vec![put(key, &value, lease(session))],
            failure: Vec::new(),
        };
        if !self.asking.insert((session, number)) {
            return;
        }
        let channel = work.channel.clone();
        work.spawn(async move {
            let result = channel.txn(&ask).await.map(|answer| match answer.succeeded {
                true => Ok(Answer::Done),
                false => Err(Refusal::NotLeader(role)),
            });
            let reply = result.map(|result| Reply::Answered { session, number, result });
            Event::Answered(session, number, reply)
        });
    }
}

impl Claim {
    /// Stops waiting, by this request.
    fn give_up(&mut self, by: Number) {
        self.leavers.insert(by);
        self.given_up.send_replace(true);
    }
}

fn name(subject: &Subject) -> &str {
    match subject {
        Subject::Lock(name) | Subject::Role(name) => name,
    }
}

fn granted(subject: &Subject, token: Token) -> Answer {
    match subject {
        Subject::Lock(_) => Answer::Granted(token),
        Subject::Role(_) => Answer::Leads(token),
    }
}

fn hear(shared: &Shared, session: SessionId, number: Number, result: Result<Answer, Refusal>) {
    shared.hear([ToClient::Reply(Reply::Answered { session, number, result })]);
}

/// The same, in its turn.
fn answer(work: &Work, session: SessionId, number: Number, result: Result<Answer, Refusal>) {
    let reply = Reply::Answered { session, number, result };
    let _ = work.events.send(Event::Say(ToClient::Reply(reply)));
}

/// The session whose turn it is in a queue, and its token.
async fn holder(channel: &Channel, queue: &str) -> Result<Option<(SessionId, Token)>, Fault> {
    let found_in = |kv: &KeyValue| match found(queue, kv) {
        Found::Place(session) => {
            Some((session, Token(u64::try_from(kv.create_revision).unwrap_or(0))))
        }
        Found::Nested | Found::Foreign => None,
    };
    let mut ask = oldest(queue);
    ask.keys_only = true;
    let all = channel.range(&ask).await?;
    Ok(all.kvs.iter().find_map(found_in))
}

/// Takes a lock away from the session that holds it.
async fn force(
    channel: &Channel,
    layout: &Layout,
    lock: &str,
    session: SessionId,
) -> Result<Result<(), Refusal>, Fault> {
    let queue = layout.queue(&Subject::Lock(lock.to_owned()));
    match holder(channel, &queue).await? {
        Some((holder, _)) if holder == session => {
            channel.delete(&format!("{queue}{}", hex(session))).await?;
            Ok(Ok(()))
        }
        _ => Ok(Err(Refusal::NotHolder(lock.to_owned(), session))),
    }
}
