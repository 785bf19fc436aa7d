//! What can be asked: the lists, and the streams of them.

use super::look::look;
use super::refusals::{blind, senseless};
use super::shown::{Part, lists};
use super::watch::{everything, framed, one_role};
use crate::about::About;
use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
#[cfg(test)]
use bellwether_api::coordination as shown;
use bellwether_http::ErrorResponse;
use serde::Deserialize;
use std::sync::Arc;

/// The entries of a list if the request names no limit.
const USUAL: usize = 1_000;
/// The largest limit: the member does nothing else while it writes the list down.
const MOST: usize = 10_000;

type Shared = State<Arc<About>>;
type Asked = Result<Query<Limit>, QueryRejection>;

/// How much to show.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(utoipa::IntoParams))]
#[cfg_attr(test, into_params(parameter_in = Query))]
pub(super) struct Limit {
    /// The most entries of each list, up to 10,000; 1,000 by default.
    limit: Option<usize>,
}

fn limit(asked: Asked) -> Result<usize, ErrorResponse> {
    match asked?.0.limit.unwrap_or(USUAL) {
        limit @ ..=MOST => Ok(limit),
        _ => Err(senseless("bad-query", "the limit is too large", "give at most 10000")),
    }
}

async fn show(about: &About, part: Part, asked: Asked) -> Result<Response, ErrorResponse> {
    let (id, limit) = (about.settings.id.number(), limit(asked)?);
    let seen = look(about, move |coordination, version| {
        framed(lists(coordination, part, limit), id, version)
    });
    // Its text takes as long as the list itself.
    let seen = about.turns.take(async { seen.await.map(|seen| Json(seen).into_response()) });
    seen.await.map_err(blind)
}

/// Sessions, roles, locks, deadlocks and who waits for whom, by this member's committed entries.
#[cfg_attr(test, utoipa::path(get, path = "/v1/coordination", params(Limit), responses(
    (status = 200, description = "What is kept, as this member knows it", body = shown::Coordination),
    (status = 503, description = "The member has ended or hangs", body = bellwether_api::json::Problem),
)))]
pub(super) async fn all(State(about): Shared, limit: Asked) -> Result<Response, ErrorResponse> {
    show(&about, Part::All, limit).await
}

/// The sessions alone.
#[cfg_attr(test, utoipa::path(get, path = "/v1/sessions", params(Limit), responses(
    (status = 200, description = "What is kept, as this member knows it", body = shown::Coordination),
    (status = 503, description = "The member has ended or hangs", body = bellwether_api::json::Problem),
)))]
pub(super) async fn sessions(
    State(about): Shared,
    limit: Asked,
) -> Result<Response, ErrorResponse> {
    show(&about, Part::Sessions, limit).await
}

/// The roles alone.
#[cfg_attr(test, utoipa::path(get, path = "/v1/roles", params(Limit), responses(
    (status = 200, description = "What is kept, as this member knows it", body = shown::Coordination),
    (status = 503, description = "The member has ended or hangs", body = bellwether_api::json::Problem),
)))]
pub(super) async fn roles(State(about): Shared, limit: Asked) -> Result<Response, ErrorResponse> {
    show(&about, Part::Roles, limit).await
}

/// The locks alone.
#[cfg_attr(test, utoipa::path(get, path = "/v1/locks", params(Limit), responses(
    (status = 200, description = "What is kept, as this member knows it", body = shown::Coordination),
    (status = 503, description = "The member has ended or hangs", body = bellwether_api::json::Problem),
)))]
pub(super) async fn locks(State(about): Shared, limit: Asked) -> Result<Response, ErrorResponse> {
    show(&about, Part::Locks, limit).await
}

/// The deadlocks that were found lately, and who waits for whom now.
#[cfg_attr(test, utoipa::path(get, path = "/v1/deadlocks", params(Limit), responses(
    (status = 200, description = "What is kept, as this member knows it", body = shown::Coordination),
    (status = 503, description = "The member has ended or hangs", body = bellwether_api::json::Problem),
)))]
pub(super) async fn deadlocks(
    State(about): Shared,
    limit: Asked,
) -> Result<Response, ErrorResponse> {
    show(&about, Part::Deadlocks, limit).await
}

/// All of it as server-sent events whose data is a `Coordination` in JSON: at once, when something
/// changes, at most ten times a second and at least every five seconds.
#[cfg_attr(test, utoipa::path(get, path = "/v1/coordination/watch", operation_id = "watch_coordination", params(Limit), responses(
    (status = 200, description = "Server-sent events", body = String, content_type = "text/event-stream"),
)))]
pub(super) async fn watch(State(about): Shared, asked: Asked) -> Result<Response, ErrorResponse> {
    Ok(everything(about, limit(asked)?))
}

/// One role as server-sent events whose data is a `Role` in JSON: at once, and whenever it
/// changes. A role without candidates is shown without a leader.
#[cfg_attr(test, utoipa::path(get, path = "/v1/roles/{role}/watch", params(
    ("role" = String, Path, description = "The role"), Limit,
), responses(
    (status = 200, description = "Server-sent events", body = String, content_type = "text/event-stream"),
)))]
pub(super) async fn watch_role(
    State(about): Shared,
    role: Result<Path<String>, PathRejection>,
    asked: Asked,
) -> Result<Response, ErrorResponse> {
    Ok(one_role(about, role?.0, limit(asked)?))
}
