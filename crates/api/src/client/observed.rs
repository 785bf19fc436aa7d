//! What a member tells the clients that observe a role.

use super::refusal::{from_refusal, to_refusal};
use super::wire::observed::Result as Observing;
use super::{Malformed, require, to_session, wire};
use bellwether_coordination::{Refusal, SessionId, Stamp, Token};

/// The status of a role, in one member's copy of the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// The client's number for the observation.
    pub number: u64,
    /// How new the copy is: an term, and a change within it.
    pub version: (u64, u64),
    /// The status; or why the member does not tell it.
    pub result: Result<RoleStatus, Refusal>,
}

/// Who leads a role, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleStatus {
    /// The leader; absent if there is none.
    pub leader: Option<Leader>,
    /// The reason of the last change, for people; empty if none is known.
    pub reason: String,
    /// When that was.
    pub at: Stamp,
}

/// Who leads a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leader {
    /// The session.
    pub session: SessionId,
    /// What its client calls itself; empty if it has ended meanwhile.
    pub client: String,
    /// By which token it leads.
    pub token: Token,
    /// What it wants the world to know.
    pub value: Vec<u8>,
    /// Since when it leads.
    pub since: Stamp,
}

impl From<Observed> for wire::Observed {
    fn from(observed: Observed) -> Self {
        let Observed { number, version: (term, sequence), result } = observed;
        let result = match result {
            Ok(status) => Observing::RoleStatus(status.into()),
            Err(refusal) => Observing::Refused(from_refusal(refusal)),
        };
        wire::Observed { number: Some(number), term, sequence, result: Some(result) }
    }
}

impl From<RoleStatus> for wire::RoleStatus {
    fn from(status: RoleStatus) -> Self {
        let RoleStatus { leader, reason, at } = status;
        let leader = leader.map(|Leader { session, client, token, value, since }| wire::Leader {
            session: Some(session.0),
            client,
            token: token.0,
            value,
            since_ms: since,
        });
        wire::RoleStatus { leader, reason, at_ms: at }
    }
}

impl TryFrom<wire::Observed> for Observed {
    type Error = Malformed;

    fn try_from(observed: wire::Observed) -> Result<Self, Malformed> {
        let wire::Observed { number, term, sequence, result } = observed;
        let result = match require(result, "observed.result")? {
            Observing::RoleStatus(status) => Ok(status.try_into()?),
            Observing::Refused(refusal) => Err(to_refusal(refusal)?),
        };
        let number = require(number, "observed.number")?;
        Ok(Observed { number, version: (term, sequence), result })
    }
}

impl TryFrom<wire::RoleStatus> for RoleStatus {
    type Error = Malformed;

    fn try_from(status: wire::RoleStatus) -> Result<Self, Malformed> {
        let wire::RoleStatus { leader: found, reason, at_ms } = status;
        let leader = |leader: wire::Leader| {
            let wire::Leader { session, client, token, value, since_ms } = leader;
            let session = to_session(session, "leader.session")?;
            Ok(Leader { session, client, token: Token(token), value, since: since_ms })
        };
        Ok(RoleStatus { leader: found.map(leader).transpose()?, reason, at: at_ms })
    }
}
