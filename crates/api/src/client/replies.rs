//! What a member says.

use super::refusal::{from_refusal, to_refusal};
use super::wire::answered::Result as Answering;
use super::wire::checked::Result as Checking;
use super::wire::opened::Result as Opening;
use super::wire::to_client::Kind;
use super::{Announcement, Malformed, ToClient};
use super::{from_key, require, to_key, to_session, to_u32, wire};
use bellwether_coordination::{Answer, Ending, Refusal, Reply, SessionId, Token};

impl From<ToClient> for wire::ToClient {
    fn from(frame: ToClient) -> Self {
        let kind = match frame {
            ToClient::Reply(reply) => return reply.into(),
            ToClient::Announcement(announcement) => Kind::Announcement(announcement.into()),
            ToClient::Observed(observed) => Kind::Observed(observed.into()),
            ToClient::Listed(listed) => Kind::Listed(listed.into()),
            ToClient::Watching { session, pid, refused } => Kind::Watching(wire::Watching {
                session: Some(session.0),
                pid: Some(pid.into()),
                refused,
            }),
        };
        wire::ToClient { kind: Some(kind) }
    }
}

impl From<Reply> for wire::ToClient {
    fn from(reply: Reply) -> Self {
        let kind = match reply {
            Reply::Opened { key, result, sent } => Kind::Opened(wire::Opened {
                key: from_key(key),
                sent_us: sent,
                result: Some(match result {
                    Ok(session) => Opening::Session(session.0),
                    Err(refusal) => Opening::Refused(from_refusal(refusal)),
                }),
            }),
            Reply::KeptAlive { session, sent } => Kind::KeptAlive(wire::KeepAlive {
                session: Some(session.0),
                sent_us: sent,
                key: Vec::new(),
            }),
            Reply::Answered { session, number, result } => Kind::Answered(wire::Answered {
                session: Some(session.0),
                number: Some(number),
                result: Some(from_result(result)),
            }),
            Reply::Preempt { session, role } => {
                Kind::Preempt(wire::Preempt { session: Some(session.0), role })
            }
            Reply::ForceReleased { session, lock, number, by } => {
                Kind::ForceReleased(wire::ForceReleased {
                    session: Some(session.0),
                    lock,
                    number: Some(number),
                    by,
                })
            }
            Reply::Forced { lock, session, result } => Kind::Forced(wire::Forced {
                lock,
                session: Some(session.0),
                refused: result.err().map(from_refusal),
            }),
            Reply::Checked { number, result } => Kind::Checked(wire::Checked {
                number: Some(number),
                result: Some(match result {
                    Ok(session) => Checking::Session(session.0),
                    Err(refusal) => Checking::Refused(from_refusal(refusal)),
                }),
            }),
            Reply::Ended { session, why } => {
                let why = from_ending(why).into();
                Kind::Ended(wire::Ended { session: Some(session.0), why, confirm: false })
            }
            Reply::Ending { session, why } => {
                let why = from_ending(Some(why)).into();
                Kind::Ended(wire::Ended { session: Some(session.0), why, confirm: true })
            }
            Reply::Denied { session, key } => {
                Kind::Denied(wire::Denied { session: Some(session.0), key: from_key(key) })
            }
            Reply::NoCoordinator => Kind::NoCoordinator(true),
        };
        wire::ToClient { kind: Some(kind) }
    }
}

impl TryFrom<Kind> for ToClient {
    type Error = Malformed;

    fn try_from(kind: Kind) -> Result<Self, Malformed> {
        Ok(ToClient::Reply(match kind {
            Kind::Opened(wire::Opened { key, sent_us, result }) => Reply::Opened {
                key: to_key(&key, "opened.key")?,
                result: match require(result, "opened.result")? {
                    Opening::Session(session) => Ok(SessionId(session)),
                    Opening::Refused(refusal) => Err(to_refusal(refusal)?),
                },
                sent: sent_us,
            },
            Kind::KeptAlive(wire::KeepAlive { session, sent_us, .. }) => Reply::KeptAlive {
                session: to_session(session, "kept_alive.session")?,
                sent: sent_us,
            },
            Kind::Answered(wire::Answered { session, number, result }) => Reply::Answered {
                session: to_session(session, "answered.session")?,
                number: require(number, "answered.number")?,
                result: to_result(require(result, "answered.result")?)?,
            },
            Kind::Preempt(wire::Preempt { session, role }) => {
                Reply::Preempt { session: to_session(session, "make_room.session")?, role }
            }
            Kind::ForceReleased(wire::ForceReleased { session, lock, number, by }) => {
                Reply::ForceReleased {
                    session: to_session(session, "force_released.session")?,
                    lock,
                    number: require(number, "force_released.number")?,
                    by,
                }
            }
            Kind::Forced(wire::Forced { lock, session, refused }) => Reply::Forced {
                lock,
                session: to_session(session, "forced.session")?,
                result: match refused {
                    None => Ok(()),
                    Some(refusal) => Err(to_refusal(refusal)?),
                },
            },
            Kind::Checked(wire::Checked { number, result }) => Reply::Checked {
                number: require(number, "checked.number")?,
                result: match require(result, "checked.result")? {
                    Checking::Session(session) => Ok(SessionId(session)),
                    Checking::Refused(refusal) => Err(to_refusal(refusal)?),
                },
            },
            Kind::Ended(wire::Ended { session, why, confirm }) => {
                let (session, why) = (to_session(session, "ended.session")?, to_ending(why));
                match why {
                    Some(why) if confirm => Reply::Ending { session, why },
                    _ if confirm => Reply::Ending { session, why: Ending::Closed },
                    why => Reply::Ended { session, why },
                }
            }
            Kind::Denied(wire::Denied { session, key }) => Reply::Denied {
                session: to_session(session, "denied.session")?,
                key: to_key(&key, "denied.key")?,
            },
            Kind::NoCoordinator(_) => Reply::NoCoordinator,
            Kind::Announcement(announcement) => {
                return announcement.try_into().map(ToClient::Announcement);
            }
            Kind::Watching(wire::Watching { session, pid, refused }) => {
                let session = to_session(session, "watching.session")?;
                let pid = to_u32(require(pid, "watching.pid")?, "watching.pid")?;
                return Ok(ToClient::Watching { session, pid, refused });
            }
            Kind::Observed(observed) => return observed.try_into().map(ToClient::Observed),
            Kind::Listed(listed) => return listed.try_into().map(ToClient::Listed),
        }))
    }
}

fn from_result(result: Result<Answer, Refusal>) -> Answering {
    match result {
        Ok(Answer::Granted(token)) => Answering::Granted(token.0),
        Ok(Answer::Leads(token)) => Answering::Leads(token.0),
        Ok(Answer::Waits { behind }) => Answering::Waits(behind),
        Ok(Answer::Done) => Answering::Done(true),
        Err(refusal) => Answering::Refused(from_refusal(refusal)),
    }
}

fn to_result(result: Answering) -> Result<Result<Answer, Refusal>, Malformed> {
    Ok(match result {
        Answering::Granted(token) => Ok(Answer::Granted(Token(token))),
        Answering::Leads(token) => Ok(Answer::Leads(Token(token))),
        Answering::Waits(behind) => Ok(Answer::Waits { behind }),
        Answering::Done(_) => Ok(Answer::Done),
        Answering::Refused(refusal) => Err(to_refusal(refusal)?),
    })
}

fn from_ending(why: Option<Ending>) -> wire::Ending {
    match why {
        None => wire::Ending::NotKnown,
        Some(Ending::Closed) => wire::Ending::Closed,
        Some(Ending::Expired) => wire::Ending::Expired,
        Some(Ending::Died) => wire::Ending::Died,
    }
}

/// A reason that only a newer version knows is not known.
fn to_ending(why: i32) -> Option<Ending> {
    match wire::Ending::try_from(why) {
        Ok(wire::Ending::Closed) => Some(Ending::Closed),
        Ok(wire::Ending::Expired) => Some(Ending::Expired),
        Ok(wire::Ending::Died) => Some(Ending::Died),
        Ok(wire::Ending::NotKnown) | Err(_) => None,
    }
}

impl From<Announcement> for wire::Announcement {
    fn from(announcement: Announcement) -> Self {
        let Announcement { coordinator, term, addresses, drift_ppm } = announcement;
        let place =
            |(member, address): (u32, _)| wire::Address { member: Some(member.into()), address };
        wire::Announcement {
            coordinator: coordinator.map(u64::from),
            term,
            addresses: addresses.into_iter().map(place).collect(),
            drift_ppm: drift_ppm.map(u64::from),
        }
    }
}

impl TryFrom<wire::Announcement> for Announcement {
    type Error = Malformed;

    fn try_from(announcement: wire::Announcement) -> Result<Self, Malformed> {
        let wire::Announcement { coordinator, term, addresses, drift_ppm } = announcement;
        let place = |wire::Address { member, address }| {
            let member = to_u32(require(member, "address.member")?, "address.member")?;
            Ok((member, address))
        };
        let whole = |number| to_u32(number, "announcement.coordinator");
        Ok(Announcement {
            coordinator: coordinator.map(whole).transpose()?,
            term,
            addresses: addresses.into_iter().map(place).collect::<Result<_, _>>()?,
            drift_ppm: drift_ppm.map(|ppm| to_u32(ppm, "announcement.drift_ppm")).transpose()?,
        })
    }
}
