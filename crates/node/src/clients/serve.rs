//! One client's connection, from its welcome to its end.
//!
//! Everything that has come is read before the member is asked, and everything that waits for the
//! client goes out in one write: with many requests on the way a system call carries many of them.

use super::lists::ConnectionLists;
use super::process_watcher::Owner;
use super::requests::{Coordinator, Note, Visitor};
use super::role_watches::ConnectionWatches;
use super::{STALLED_AFTER, Shared};
use crate::callers::Caller;
use bellwether_api::client::{Announcement, LONGEST_TO_CLIENT, LONGEST_TO_MEMBER};
use bellwether_api::client::{ToClient, ToMember, decode_to_member, wire};
use bellwether_api::envelope::{Body, ClientWelcome, Envelope, MemberAddress};
use bellwether_coordination::{Refusal, Reply, Request, Secret, SessionId};
use bellwether_net::frame::{self, Broken, Frames};
use bellwether_net::stages::{Stage, mark};
use bellwether_net::{Malformed, Seldom};
use bytes::BytesMut;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;

/// The most requests of a client to this very member that may wait for their answers.
const OWN_MAX: usize = 64;

/// A buffer that has grown beyond this is not kept.
const BUFFER_MAX: usize = 256 * 1024;

/// A client that was let in.
pub(super) struct Guest<R, W> {
    /// The version to speak.
    pub(super) version: u32,
    /// What it says.
    pub(super) frames: Frames<R>,
    /// The way to answer.
    pub(super) out: W,
    /// Who it is.
    pub(super) caller: Caller,
    /// Its process, if it is one of this host and can be watched.
    pub(super) owner: Option<Owner>,
}

/// Why a connection ended.
pub(super) enum End {
    /// The client closed it.
    Closed,
    /// It takes nothing, and too much waits for it.
    Slow,
    /// It sent a malformed frame, or the connection broke.
    Broken(Broken),
    /// Nothing can be said to it.
    Deaf(io::Error),
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Closed => f.write_str("closed by the client"),
            End::Slow => f.write_str("disconnected, because it does not read its answers"),
            End::Broken(broken) => broken.fmt(f),
            End::Deaf(error) => error.fmt(f),
        }
    }
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Guest<R, W> {
    /// Welcomes the client and serves it to the end.
    pub(super) async fn serve(mut self, shared: &Shared) -> End {
        self.frames.allow(LONGEST_TO_MEMBER);
        let visitor = shared.requests.open();
        let mut bytes = BytesMut::new();
        let welcome = Body::ClientWelcome(shared.welcome(self.version));
        let _ = frame::put(&Envelope::new(self.version, welcome), usize::MAX, &mut bytes);
        if let Err(error) = frame::write(&mut self.out, &bytes, STALLED_AFTER).await {
            return End::Deaf(error);
        }
        let Guest { frames, out, caller, owner, .. } = self;
        let (own, answers) = mpsc::channel(OWN_MAX);
        let client = (&caller, owner.as_ref());
        let (lists, listing) = shared.lists.connection(own.clone());
        tokio::select! {
            end = Seldom::new(listen(frames, shared, &visitor, client, own, lists)) => end,
            end = Seldom::new(speak(out, bytes, &visitor, client, answers)) => end,
            end = Seldom::new(listing) => end,
        }
    }
}

/// Takes what the client says.
async fn listen<R: AsyncRead + Unpin>(
    mut frames: Frames<R>,
    shared: &Shared,
    visitor: &Visitor,
    (caller, owner): (&Caller, Option<&Owner>),
    own: mpsc::Sender<ToClient>,
    lists: ConnectionLists,
) -> End {
    let (mut requests, mut watches, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    let mut pinged = false;
    let mut role_watches = ConnectionWatches::new(&shared.role_watches, visitor.conn, own.clone());
    loop {
        shared.requests.room().await;
        let take = |bytes: &[u8]| {
            match decode_to_member(bytes).map_err(Malformed::new)? {
                ToMember::Request(request) => match allowed(request, caller, shared.member) {
                    Ok(request) => {
                        note_use(&request, owner);
                        requests.push(request);
                    }
                    Err(reply) => refused.push(reply),
                },
                ToMember::Watch { session, key, pid } => watches.push((session, key, pid)),
                ToMember::Observe { number, role } => role_watches.observe(number, role),
                ToMember::Unobserve(number) => role_watches.leave(number),
                ToMember::List { number, list } => lists.ask(number, list),
                ToMember::Ping => pinged = true,
            }
            Ok(())
        };
        let result = frames.each(take).await;
        mark(Stage::MemberReads);
        refused.extend(shared.quota.sift(caller, &mut requests));
        // What was right before the mistake is done.
        visitor.submit_all(&mut requests);
        for reply in refused.drain(..) {
            if own.send(ToClient::Reply(reply)).await.is_err() {
                return End::Closed;
            }
        }
        for (session, key, pid) in watches.drain(..) {
            let refused = watch(owner, session, key, pid).err();
            if own.send(ToClient::Watching { session, pid, refused }).await.is_err() {
                return End::Closed;
            }
        }
        if std::mem::take(&mut pinged) {
            let news = announcement(shared.requests.coordinator());
            if own.send(ToClient::Announcement(news)).await.is_err() {
                return End::Closed;
            }
        }
        match result {
            Ok(0) => return End::Closed,
            Ok(_) => {}
            Err(broken) => return End::Broken(broken),
        }
    }
}

/// The request, if this client may make it, with who makes it; or what it is told. Keys of sessions are
/// the coordinator's matter.
pub(super) fn allowed(request: Request, caller: &Caller, member: u32) -> Result<Request, Reply> {
    match request {
        Request::Force { lock, session, .. } if !caller.may_operate() => {
            tracing::warn!(
                "refused: {caller} may not force-release '{lock}' from {session}: not an operator"
            );
            Err(Reply::Forced { lock, session, result: Err(Refusal::NotOperator) })
        }
        Request::Force { lock, session, by, now } => {
            let by = format!("{by} ({caller}, through P{member})");
            tracing::warn!(now, "force-releasing the lock '{lock}' from {session}, by {by}");
            Ok(Request::Force { lock, session, by, now })
        }
        request => Ok(request),
    }
}

/// Notes which process a session belongs to. Closing a session gives it to no process.
fn note_use(request: &Request, owner: Option<&Owner>) {
    if let (
        Some(owner),
        Request::KeepAlive { session, key, .. } | Request::Ask { session, key, .. },
    ) = (owner, request)
    {
        owner.uses(*session, *key);
    }
}

fn watch(owner: Option<&Owner>, session: SessionId, key: Secret, pid: u32) -> Result<(), String> {
    let elsewhere = "this member does not see the client's process: connect by its Unix socket, on \
                     the same host and in the same namespace of processes";
    owner.ok_or_else(|| elsewhere.to_owned())?.shares(session, key, pid)
}

/// Says what waits for the client.
async fn speak<W: AsyncWrite + Unpin>(
    mut out: W,
    mut bytes: BytesMut,
    visitor: &Visitor,
    (caller, owner): (&Caller, Option<&Owner>),
    mut answers: mpsc::Receiver<ToClient>,
) -> End {
    let mut notes = VecDeque::new();
    loop {
        let mut answer = None;
        tokio::select! {
            more = visitor.take(&mut notes) => {
                if !more {
                    return End::Slow;
                }
            }
            own = answers.recv() => answer = own,
        }
        bytes.clear();
        for note in notes.drain(..) {
            let frame = match note {
                Note::Reply(reply) => {
                    note_reply(&reply, caller, owner);
                    reply.into()
                }
                Note::Coordinator(coordinator) => {
                    wire::ToClient::from(ToClient::Announcement(announcement(coordinator)))
                }
                Note::Members(coordinator, members) => {
                    let addresses = members.to_vec();
                    let news = Announcement { addresses, ..announcement(coordinator) };
                    wire::ToClient::from(ToClient::Announcement(news))
                }
            };
            if !frame::put(&frame, LONGEST_TO_CLIENT, &mut bytes) {
                tracing::warn!("an answer larger than a frame was left out");
            }
        }
        if let Some(answer) = answer {
            let _ = frame::put(&wire::ToClient::from(answer), LONGEST_TO_CLIENT, &mut bytes);
        }
        mark(Stage::MemberWrites);
        if let Err(error) = frame::write(&mut out, &bytes, STALLED_AFTER).await {
            return End::Deaf(error);
        }
        if bytes.capacity() > BUFFER_MAX {
            bytes = BytesMut::new();
        }
    }
}

/// Notes what the client hears about its sessions.
fn note_reply(reply: &Reply, caller: &Caller, owner: Option<&Owner>) {
    if let Reply::Denied { session, .. } = reply {
        tracing::warn!("refused: {caller} may not use session {session}: wrong key");
    }
    let Some(owner) = owner else { return };
    match reply {
        Reply::Opened { key, result: Ok(session), .. } => owner.uses(*session, *key),
        Reply::Ended { session, .. } => owner.lost(*session),
        Reply::Denied { session, key } => owner.denied(*session, *key),
        _ => {}
    }
}

fn announcement(Coordinator { id: coordinator, term, drift_ppm }: Coordinator) -> Announcement {
    Announcement { coordinator, term, addresses: Vec::new(), drift_ppm: Some(drift_ppm) }
}

impl Shared {
    fn welcome(&self, version: u32) -> ClientWelcome {
        let Coordinator { id: coordinator, term, drift_ppm } = self.requests.coordinator();
        let lease = self.requests.leases().lease;
        let place = |(member, address): &(u32, String)| MemberAddress {
            member: *member,
            address: address.clone(),
        };
        ClientWelcome {
            version,
            member: self.member,
            cluster: self.cluster.clone(),
            coordinator,
            term,
            addresses: self.requests.members().iter().map(place).collect(),
            drift_ppm,
            lease_ms: u64::try_from(lease.as_millis()).unwrap_or(u64::MAX),
            lists: true,
        }
    }
}
