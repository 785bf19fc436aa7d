//! Changes of the member list over HTTP: `POST /v1/members`, `/v1/members/{id}/promote` and `/v1/members/{id}/remove`.
//!
//! Only the coordinator changes the list (G12), one member at a time. It answers when the new list is committed. What
//! follows by itself, a promotion or the removal of a member that was replaced (G13), the caller sees in
//! `/v1/members`.

use crate::about::{ANSWERS_WITHIN, About};
use crate::callers::Operator;
use crate::config::member_address;
use crate::http::{declined, silent};
use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use bellwether_api::json;
use bellwether_core::{NodeId, Time};
use bellwether_http::{ErrorResponse, Outcome};
use bellwether_member::{Change, ChangeError, Decline, Input, Members, Suffrage};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long to wait until a list is committed: a majority of the voters has answered just before.
const COMMITTED_WITHIN: Duration = Duration::from_secs(2);

/// The pause between two looks.
const LOOKS: Duration = Duration::from_millis(5);

/// The number of a member in an address.
type Numbered = Result<Path<u32>, PathRejection>;

/// Adds a member as a learner, or gives a member another address. Unless it is to stay a learner, it is promoted when it has
/// caught up.
#[cfg_attr(test, utoipa::path(post, path = "/v1/members", request_body = json::AddMember, security(("bearer" = [])), responses(
    (status = 200, description = "The list is committed", body = json::ChangedMembers),
    (status = 401, description = "The operator token is missing", body = json::Problem),
    (status = 403, description = "The member has another operator token", body = json::Problem),
    (status = 404, description = "`unknown-member`: the member to replace is not in the list", body = json::Problem),
    (status = 409, description = "`not-coordinator`, `change-under-way`, `members-fixed`, `address-taken`, `votes-already` or `too-few-work`", body = json::Problem),
    (status = 422, description = "`bad-address`, or the body is not understood", body = json::Problem),
    (status = 503, description = "`not-committed`: it is not known whether the list has changed", body = json::Problem),
)))]
pub(crate) async fn add(
    State(about): State<Arc<About>>,
    Operator(by): Operator,
    body: Result<Json<json::AddMember>, JsonRejection>,
) -> Outcome<json::ChangedMembers> {
    let json::AddMember { id, address, learner, replaces, force } = body?.0;
    let bad = |what: String| {
        ErrorResponse::new(StatusCode::UNPROCESSABLE_ENTITY, what, None).coded("bad-address")
    };
    let address = member_address(&address).map_err(bad)?.into();
    if replaces == Some(id) {
        let error = format!("P{id} cannot replace itself");
        let hint = "without `replaces`, a member that is in the list gets this address";
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        return Err(ErrorResponse::new(status, error, Some(hint)).coded("bad-body"));
    }
    let (id, replaces) = (NodeId::new(id), replaces.map(NodeId::new));
    let change = Change::Add { id, address, learner, replaces };
    about.change(change, force, &by.to_string()).await
}

/// Makes a learner a voter as soon as it has caught up.
#[cfg_attr(test, utoipa::path(post, path = "/v1/members/{id}/promote", params(("id" = u32, Path, description = "Its number")), security(("bearer" = [])), responses(
    (status = 200, description = "The list is committed", body = json::ChangedMembers),
    (status = 401, description = "The operator token is missing", body = json::Problem),
    (status = 403, description = "The member has another operator token", body = json::Problem),
    (status = 404, description = "`unknown-member`", body = json::Problem),
    (status = 409, description = "`not-coordinator`, `change-under-way`, `members-fixed` or `too-few-work`", body = json::Problem),
    (status = 503, description = "`not-committed`: it is not known whether the list has changed", body = json::Problem),
)))]
pub(crate) async fn promote(
    State(about): State<Arc<About>>,
    Operator(by): Operator,
    id: Numbered,
) -> Outcome<json::ChangedMembers> {
    let Path(id) = id?;
    about.change(Change::Promote(NodeId::new(id)), false, &by.to_string()).await
}

/// Removes a member. The coordinator hands over first, and says so with `hands-over`: then ask the next one.
#[cfg_attr(test, utoipa::path(post, path = "/v1/members/{id}/remove", params(("id" = u32, Path, description = "Its number")), request_body = json::RemoveMember, security(("bearer" = [])), responses(
    (status = 200, description = "The list is committed", body = json::ChangedMembers),
    (status = 401, description = "The operator token is missing", body = json::Problem),
    (status = 403, description = "The member has another operator token", body = json::Problem),
    (status = 404, description = "`unknown-member`", body = json::Problem),
    (status = 409, description = "`not-coordinator`, `hands-over`, `change-under-way`, `members-fixed`, `last-voter` or `too-few-work`", body = json::Problem),
    (status = 422, description = "The body is not understood", body = json::Problem),
    (status = 503, description = "`not-committed`: it is not known whether the list has changed", body = json::Problem),
)))]
pub(crate) async fn remove(
    State(about): State<Arc<About>>,
    Operator(by): Operator,
    id: Numbered,
    body: Result<Json<json::RemoveMember>, JsonRejection>,
) -> Outcome<json::ChangedMembers> {
    let Path(id) = id?;
    about.change(Change::Remove(NodeId::new(id)), body?.0.force, &by.to_string()).await
}

impl About {
    async fn change(
        &self,
        change: Change,
        forced: bool,
        by: &str,
    ) -> Outcome<json::ChangedMembers> {
        let (next, is_new) = self.may_change(&change, forced).await?;
        let version = next.version;
        if is_new {
            tracing::info!(
                version,
                forced,
                "changes the members: {}, ordered by {by}",
                told(&change)
            );
            self.handle.change(change.clone(), forced).await.ok_or_else(silent)?;
            self.committed(&change, version).await?;
        }
        Ok(Json(json::ChangedMembers { done: told(&change), version }))
    }

    /// The list that a change leads to, and whether it is another one.
    async fn may_change(
        &self,
        change: &Change,
        forced: bool,
    ) -> Result<(Members, bool), ErrorResponse> {
        let lease = self.requests.leases().lease;
        let until = Instant::now() + lease * 2;
        // A voter that has just ended has answered within a lease, too. Before another one leaves, those that are left
        // answer the next heartbeat.
        let mut since = (!matches!(change, Change::Remove(_))).then_some(Time::ZERO);
        loop {
            let asked = self.handle.may_change(change.clone(), forced, since);
            let may = tokio::time::timeout(ANSWERS_WITHIN, asked).await.ok().flatten();
            let (asked_at, may) = may.ok_or_else(silent)?;
            since = Some(asked_at);
            match may {
                Ok(next) => return Ok(next),
                // A voter may not have answered a new coordinator yet, or lack the last entries for a moment.
                Err(ChangeError::TooFewWork { .. }) if Instant::now() < until => {
                    sleep(LOOKS).await;
                }
                Err(error) => return Err(self.refuse(change, error).await),
            }
        }
    }

    /// Waits until a list is committed in which this change is made.
    async fn committed(&self, change: &Change, version: u64) -> Result<(), ErrorResponse> {
        let until = Instant::now() + COMMITTED_WITHIN;
        while Instant::now() < until {
            let status = self.ask().await.ok_or_else(silent)?;
            let list = status.list.filter(|list| !status.is_changing && list.version >= version);
            if let Some(list) = list {
                if is_made(change, &list) {
                    return Ok(());
                }
                break;
            }
            sleep(LOOKS).await;
        }
        let hint =
            "see /v1/members for whether the list has changed; to ask for the same again is safe";
        let error = "the new member list was not committed in time";
        let refusal = ErrorResponse::new(StatusCode::SERVICE_UNAVAILABLE, error, Some(hint));
        Err(refusal.coded("not-committed"))
    }

    /// Says why not, and what to do.
    async fn refuse(&self, change: &Change, error: ChangeError) -> ErrorResponse {
        if error == ChangeError::NotServing {
            let leader = self.ask().await.and_then(|status| status.coordinator);
            let leader = leader.filter(|leader| *leader != self.settings.id);
            return declined(self, Decline::NotCoordinator(leader));
        }
        if let ChangeError::Leads(_) = error {
            let hand_over = self.handle.ask(Input::StepDown).await;
            if let Some(Err(decline)) = hand_over {
                return declined(self, decline);
            }
        }
        let (status, code, hint) = refusal(change, error);
        ErrorResponse::new(status, error.to_string(), Some(&hint)).coded(code)
    }
}

fn refusal(change: &Change, error: ChangeError) -> (StatusCode, &'static str, String) {
    let (code, hint) = match error {
        ChangeError::NotServing => ("not-coordinator", "ask the coordinator"),
        ChangeError::Busy => {
            ("change-under-way", "see /v1/members for what it waits for, and ask again afterwards")
        }
        ChangeError::Fixed => (
            "members-fixed",
            "stop all members, change the list in every configuration, and start them again",
        ),
        ChangeError::Unknown(_) => ("unknown-member", "see /v1/members for the members"),
        ChangeError::AddressTaken(_) => ("address-taken", "every member has its own address"),
        ChangeError::Votes(_) => {
            ("votes-already", "remove it, then add it again with an empty data folder")
        }
        ChangeError::Leads(_) => ("hands-over", "it hands over now; ask the next coordinator"),
        ChangeError::LastVoter => {
            ("last-voter", "add another member first; to end the cluster, stop its members")
        }
        ChangeError::TooFewWork { .. } => (
            "too-few-work",
            "see /v1/members for the members that do not answer; with `force` it is done in any case, and the cluster \
             may stop until they come back",
        ),
    };
    let status = match error {
        ChangeError::Unknown(_) => StatusCode::NOT_FOUND,
        _ => StatusCode::CONFLICT,
    };
    let hint = match (error, change) {
        (ChangeError::Unknown(id), Change::Promote(_)) => {
            let id = id.number();
            format!("{hint}; `bellwether members add {id} ADDRESS` adds one")
        }
        _ => hint.to_owned(),
    };
    (status, code, hint)
}

/// Whether a list is one after this change.
fn is_made(change: &Change, list: &Members) -> bool {
    match change {
        Change::Add { id, address, .. } => {
            list.seats.get(id).is_some_and(|seat| seat.address == *address)
        }
        Change::Promote(id) => {
            list.seats.get(id).is_some_and(|seat| seat.suffrage != Suffrage::Learner)
        }
        Change::Remove(id) => !list.contains(*id),
    }
}

fn told(change: &Change) -> String {
    match change {
        Change::Add { id, address, learner, replaces } => {
            let role = if *learner { "as a learner" } else { "and votes when it has caught up" };
            let instead = replaces.map_or_else(String::new, |old| format!(", instead of {old}"));
            format!("{id} is a member at {address}{instead}, {role}")
        }
        Change::Promote(id) => format!("{id} votes when it has caught up"),
        Change::Remove(id) => format!("{id} is removed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_refusal_has_its_own_code() {
        let id = NodeId::new(4);
        let errors = [
            ChangeError::NotServing,
            ChangeError::Busy,
            ChangeError::Fixed,
            ChangeError::Unknown(id),
            ChangeError::AddressTaken(id),
            ChangeError::Votes(id),
            ChangeError::Leads(id),
            ChangeError::LastVoter,
            ChangeError::TooFewWork { working: 1, needed: 2 },
        ];
        let change = Change::Promote(id);
        let codes: BTreeSet<_> = errors.iter().map(|error| refusal(&change, *error).1).collect();
        assert_eq!(codes.len(), errors.len());
        let (status, _, hint) = refusal(&change, ChangeError::Unknown(id));
        assert_eq!(status, StatusCode::NOT_FOUND);
        assert!(hint.contains("members add 4 ADDRESS"), "{hint}");
    }
}
