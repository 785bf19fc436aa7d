//! What a client says.

use super::wire::ask::What;
use super::wire::to_member::Kind;
use super::{Malformed, ToMember, from_key, require, to_key, to_session, to_u32, wire};
use bellwether_coordination::{Ask, Mode, Policy, Request, Subject, Token, Want};

impl From<ToMember> for wire::ToMember {
    fn from(frame: ToMember) -> Self {
        let kind = match frame {
            ToMember::Request(request) => return request.into(),
            ToMember::Watch { session, key, pid } => Kind::Watch(wire::Watch {
                session: Some(session.0),
                pid: Some(pid.into()),
                key: from_key(key),
            }),
            ToMember::Observe { number, role } => {
                Kind::Observe(wire::Observe { number: Some(number), role })
            }
            ToMember::Unobserve(number) => Kind::Unobserve(number),
            ToMember::List { number, list } => {
                Kind::List(wire::List { number: Some(number), after: Some(list.into()) })
            }
            ToMember::Ping => Kind::Ping(true),
        };
        wire::ToMember { kind: Some(kind) }
    }
}

impl From<Request> for wire::ToMember {
    fn from(request: Request) -> Self {
        let kind = match request {
            Request::Open { key, client, ttl_ms, sent } => {
                Kind::Open(wire::Open { key: from_key(key), client, ttl_ms, sent_us: sent })
            }
            Request::KeepAlive { session, key, sent } => Kind::KeepAlive(wire::KeepAlive {
                session: Some(session.0),
                sent_us: sent,
                key: from_key(key),
            }),
            Request::Ask { session, key, number, forget_below, ask } => Kind::Ask(wire::Ask {
                session: Some(session.0),
                key: from_key(key),
                number: Some(number),
                forget_below,
                what: Some(ask.into()),
            }),
            Request::Close { session, key } => {
                Kind::Close(wire::Close { session: Some(session.0), key: from_key(key) })
            }
            // Members say this to each other, in another form; a client has no words for it.
            Request::Died { .. } | Request::End { .. } => return wire::ToMember { kind: None },
            Request::Force { lock, session, by, now } => {
                Kind::Force(wire::Force { lock, session: Some(session.0), by, now })
            }
            Request::Check { number, of, token } => Kind::Check(wire::Check {
                number: Some(number),
                of: Some(from_subject(of)),
                token: token.0,
            }),
        };
        wire::ToMember { kind: Some(kind) }
    }
}

impl TryFrom<Kind> for ToMember {
    type Error = Malformed;

    fn try_from(kind: Kind) -> Result<Self, Malformed> {
        Ok(ToMember::Request(match kind {
            Kind::Open(wire::Open { key, client, ttl_ms, sent_us }) => {
                Request::Open { key: to_key(&key, "open.key")?, client, ttl_ms, sent: sent_us }
            }
            Kind::KeepAlive(wire::KeepAlive { session, sent_us, key }) => Request::KeepAlive {
                session: to_session(session, "keep_alive.session")?,
                key: to_key(&key, "keep_alive.key")?,
                sent: sent_us,
            },
            Kind::Ask(wire::Ask { session, key, number, forget_below, what }) => Request::Ask {
                session: to_session(session, "ask.session")?,
                key: to_key(&key, "ask.key")?,
                number: require(number, "ask.number")?,
                forget_below,
                ask: require(what, "ask.what")?.try_into()?,
            },
            Kind::Close(wire::Close { session, key }) => Request::Close {
                session: to_session(session, "close.session")?,
                key: to_key(&key, "close.key")?,
            },
            Kind::Force(wire::Force { lock, session, by, now }) => {
                Request::Force { lock, session: to_session(session, "force.session")?, by, now }
            }
            Kind::Check(wire::Check { number, of, token }) => Request::Check {
                number: require(number, "check.number")?,
                of: to_subject(of, "check.of")?,
                token: Token(token),
            },
            Kind::Watch(wire::Watch { session, pid, key }) => {
                return Ok(ToMember::Watch {
                    session: to_session(session, "watch.session")?,
                    key: to_key(&key, "watch.key")?,
                    pid: to_u32(require(pid, "watch.pid")?, "watch.pid")?,
                });
            }
            Kind::Observe(wire::Observe { number, role }) => {
                return Ok(ToMember::Observe { number: require(number, "observe.number")?, role });
            }
            Kind::Unobserve(number) => return Ok(ToMember::Unobserve(number)),
            Kind::List(wire::List { number, after }) => {
                let number = require(number, "list.number")?;
                let list = require(after, "list.after")?.into();
                return Ok(ToMember::List { number, list });
            }
            Kind::Ping(_) => return Ok(ToMember::Ping),
        }))
    }
}

impl From<Ask> for What {
    fn from(ask: Ask) -> Self {
        match ask {
            Ask::Lock { wants, wait } => {
                What::Lock(wire::Lock { wants: wants.iter().map(from_want).collect(), wait })
            }
            Ask::GiveUp(number) => What::GiveUp(number),
            Ask::Release(number) => What::Release(number),
            Ask::Campaign { role, priority, value, policy } => {
                let policy = Some(from_policy(policy));
                What::Campaign(wire::Campaign { role, priority, value, policy })
            }
            Ask::Resign { role } => What::Resign(role),
            Ask::Proclaim { role, value } => What::Proclaim(wire::Proclaim { role, value }),
            Ask::HandOver { role, to } => What::HandOver(wire::HandOver { role, to: Some(to.0) }),
        }
    }
}

impl TryFrom<What> for Ask {
    type Error = Malformed;

    fn try_from(what: What) -> Result<Self, Malformed> {
        Ok(match what {
            What::Lock(wire::Lock { wants, wait }) => {
                Ask::Lock { wants: wants.into_iter().map(to_want).collect::<Result<_, _>>()?, wait }
            }
            What::GiveUp(number) => Ask::GiveUp(number),
            What::Release(number) => Ask::Release(number),
            What::Campaign(wire::Campaign { role, priority, value, policy }) => {
                let policy = to_policy(policy, "campaign.policy")?;
                Ask::Campaign { role, priority, value, policy }
            }
            What::Resign(role) => Ask::Resign { role },
            What::Proclaim(wire::Proclaim { role, value }) => Ask::Proclaim { role, value },
            What::HandOver(wire::HandOver { role, to }) => {
                Ask::HandOver { role, to: to_session(to, "hand_over.to")? }
            }
        })
    }
}

fn from_want(want: &Want) -> wire::Want {
    use wire::want::Mode as M;
    let mode = match want.mode {
        Mode::Exclusive => M::Exclusive(true),
        Mode::Shared => M::Shared(true),
        Mode::Permits { take, of } => {
            M::Permits(wire::Permits { take: take.into(), of: of.into() })
        }
    };
    wire::Want { name: want.name.to_string(), mode: Some(mode) }
}

fn to_want(want: wire::Want) -> Result<Want, Malformed> {
    use wire::want::Mode as M;
    let mode = match require(want.mode, "want.mode")? {
        M::Exclusive(_) => Mode::Exclusive,
        M::Shared(_) => Mode::Shared,
        M::Permits(wire::Permits { take, of }) => {
            Mode::Permits { take: to_u32(take, "permits.take")?, of: to_u32(of, "permits.of")? }
        }
    };
    Ok(Want { name: want.name.into(), mode })
}

pub(super) fn from_subject(subject: Subject) -> wire::Subject {
    use wire::subject::Kind;
    let kind = match subject {
        Subject::Lock(name) => Kind::Lock(name),
        Subject::Role(name) => Kind::Role(name),
    };
    wire::Subject { kind: Some(kind) }
}

pub(super) fn to_subject(
    subject: Option<wire::Subject>,
    field: &'static str,
) -> Result<Subject, Malformed> {
    use wire::subject::Kind;
    Ok(match require(require(subject, field)?.kind, field)? {
        Kind::Lock(name) => Subject::Lock(name),
        Kind::Role(name) => Subject::Role(name),
    })
}

pub(super) fn from_policy(policy: Policy) -> wire::Policy {
    use wire::policy::How;
    let how = match policy {
        Policy::FirstCome => How::FirstCome(true),
        Policy::Priority { preempt } => How::PriorityPreempts(preempt),
    };
    wire::Policy { how: Some(how) }
}

pub(super) fn to_policy(
    policy: Option<wire::Policy>,
    field: &'static str,
) -> Result<Policy, Malformed> {
    use wire::policy::How;
    Ok(match require(require(policy, field)?.how, field)? {
        How::FirstCome(_) => Policy::FirstCome,
        How::PriorityPreempts(preempt) => Policy::Priority { preempt },
    })
}
