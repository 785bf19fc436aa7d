//! Checks tokens: is the lock or role still held by this token?
//!
//! Whatever is protected does best by keeping the largest token that it has seen. What cannot keep
//! anything may ask. The coordinator answers, under its mandate.

use super::exchange::Exchange;
use crate::about::About;
use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use bellwether_api::orders::Bearer;
use bellwether_coordination::{Subject, Token};
use bellwether_http::Outcome;
use std::sync::Arc;

type Shared = State<Arc<About>>;
type Named = Result<Path<(String, u64)>, PathRejection>;

/// Whether a lock is held by this token, and by whom.
#[cfg_attr(test, utoipa::path(get, path = "/v1/locks/{name}/tokens/{token}", params(
    ("name" = String, Path, description = "The lock"),
    ("token" = u64, Path, description = "The token to check"),
), responses(
    (status = 200, description = "It is held by this token", body = Bearer),
    (status = 400, description = "The token is not a number", body = bellwether_api::json::Problem),
    (status = 409, description = "The lock is not held by this token, and never will be again", body = bellwether_api::json::Problem),
    (status = 503, description = "There is no coordinator", body = bellwether_api::json::Problem),
)))]
pub(super) async fn of_lock(State(about): Shared, path: Named) -> Outcome<Bearer> {
    let Path((name, token)) = path?;
    check(&about, Subject::Lock(name.clone()), name, token).await
}

/// Whether a role is led by this token, and by whom.
#[cfg_attr(test, utoipa::path(get, path = "/v1/roles/{role}/tokens/{token}", params(
    ("role" = String, Path, description = "The role"),
    ("token" = u64, Path, description = "The token to check"),
), responses(
    (status = 200, description = "It is held by this token", body = Bearer),
    (status = 400, description = "The token is not a number", body = bellwether_api::json::Problem),
    (status = 409, description = "The role is not led by this token, and never will be again", body = bellwether_api::json::Problem),
    (status = 503, description = "There is no coordinator", body = bellwether_api::json::Problem),
)))]
pub(super) async fn of_role(State(about): Shared, path: Named) -> Outcome<Bearer> {
    let Path((name, token)) = path?;
    check(&about, Subject::Role(name.clone()), name, token).await
}

async fn check(about: &About, of: Subject, name: String, token: u64) -> Outcome<Bearer> {
    let token = Token(token);
    let session = Exchange::new(about).check(of, token).await?.to_string();
    Ok(Json(Bearer { name, token: token.0, term: token.term(), session }))
}
