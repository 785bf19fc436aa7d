//! Sessions, roles, locks and deadlocks over HTTP.
//!
//! Reads are answered from the entries that this member knows to be committed. Commands go to the
//! coordinator, as any client's request does, and are answered when they are committed.

mod exchange;
pub(crate) mod look;
mod numbers;
mod orders;
mod reads;
mod refusals;
mod shown;
mod tokens;
mod turns;
mod watch;

pub(crate) use turns::Turns;

use crate::about::About;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{delete, get, post};
use std::sync::Arc;

/// The largest body of a request here, in bytes: many locks with long names, or a long value.
const BODY_MAX: usize = 256 << 10;

#[cfg(test)]
#[derive(utoipa::OpenApi)]
#[openapi(
    paths(
        reads::all,
        reads::watch,
        reads::sessions,
        reads::roles,
        reads::locks,
        reads::deadlocks,
        reads::watch_role,
        orders::open,
        orders::keep_alive,
        orders::close,
        orders::lock,
        orders::release,
        orders::campaign,
        orders::resign,
        orders::proclaim,
        orders::hand_over,
        orders::force,
        tokens::of_lock,
        tokens::of_role
    ),
    components(schemas(
        bellwether_api::coordination::Coordination,
        bellwether_api::coordination::Role
    ))
)]
pub(crate) struct Document;

/// The routes.
pub(crate) fn routes() -> Router<Arc<About>> {
    Router::new()
        .route("/v1/coordination", get(reads::all))
        .route("/v1/coordination/watch", get(reads::watch))
        .route("/v1/sessions", get(reads::sessions).post(orders::open))
        .route("/v1/sessions/{session}", delete(orders::close))
        .route("/v1/sessions/{session}/keep-alive", post(orders::keep_alive))
        .route("/v1/sessions/{session}/locks", post(orders::lock))
        .route("/v1/sessions/{session}/locks/{number}", delete(orders::release))
        .route("/v1/roles", get(reads::roles))
        .route("/v1/roles/{role}/watch", get(reads::watch_role))
        .route("/v1/roles/{role}/campaign", post(orders::campaign))
        .route("/v1/roles/{role}/resign", post(orders::resign))
        .route("/v1/roles/{role}/proclaim", post(orders::proclaim))
        .route("/v1/roles/{role}/hand-over", post(orders::hand_over))
        .route("/v1/roles/{role}/tokens/{token}", get(tokens::of_role))
        .route("/v1/locks", get(reads::locks))
        .route("/v1/locks/{name}/tokens/{token}", get(tokens::of_lock))
        .route("/v1/locks/{name}/force", post(orders::force))
        .route("/v1/deadlocks", get(reads::deadlocks))
        .layer(DefaultBodyLimit::max(BODY_MAX))
}
