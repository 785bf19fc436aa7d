//! The HTTP API of the process that started a whole cluster on this machine: `bellwether up`.
//!
//! It knows the members' processes and nothing of what they do: that, they say themselves. What is
//! commanded here is written down as a line and read by the same code as a line of `up --plain`;
//! so the terminal and the page cannot differ.

use crate::callers::Operator;
use crate::events::{Listens, tell};
use crate::operator::OperatorToken;
use axum::extract::rejection::JsonRejection;
use axum::extract::{DefaultBodyLimit, FromRef, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Json, Router};
use bellwether_api::json;
use bellwether_http::{ErrorResponse, Extra, Origins, Outcome, Server, packed, site};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

/// The largest body of a request, in bytes: a partition of 64 members is far smaller.
const BODY_MAX: usize = 4 << 10;
/// A command that takes longer has failed in an unforeseen way.
const ANSWERS_WITHIN: Duration = Duration::from_secs(20);

/// A command from a page, and where its outcome goes.
#[derive(Debug)]
pub struct Order {
    /// The command, as a line.
    pub line: String,
    /// The result. The caller may be gone.
    pub answer: oneshot::Sender<Result<json::UpDone, Complaint>>,
}

/// Why a command was not carried out. Nothing has changed then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Complaint {
    /// What is wrong with it.
    pub fault: Fault,
    /// What is wrong, in words.
    pub error: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// What is wrong with a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is none, or not complete.
    Unreadable,
    /// It names a member that is not there.
    NoSuchMember,
    /// The command is not possible in the current state.
    Senseless,
    /// A member failed to carry it out.
    Failed,
}

impl std::fmt::Display for Complaint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.error)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "; {hint}"))
    }
}

impl From<Complaint> for ErrorResponse {
    fn from(complaint: Complaint) -> Self {
        let status = match complaint.fault {
            Fault::Unreadable => StatusCode::BAD_REQUEST,
            Fault::NoSuchMember => StatusCode::NOT_FOUND,
            Fault::Senseless => StatusCode::CONFLICT,
            Fault::Failed => StatusCode::BAD_GATEWAY,
        };
        ErrorResponse::new(status, complaint.error, complaint.hint.as_deref())
    }
}

/// What the parent tells and is told.
#[derive(Clone, Debug)]
pub struct UpHandle {
    /// The cluster as it is.
    pub up: watch::Receiver<json::Up>,
    /// Takes commands.
    pub orders: mpsc::Sender<Order>,
    /// The secret that a command must carry.
    pub operator: OperatorToken,
}

impl FromRef<UpHandle> for OperatorToken {
    fn from_ref(handle: &UpHandle) -> Self {
        handle.operator
    }
}

#[cfg(test)]
#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Bellwether up",
        description = "The processes of a whole cluster on one machine: look at them and break them.",
        license(name = "MIT OR Apache-2.0")
    ),
    paths(up, follow_up, command),
    components(schemas(json::Up))
)]
pub(crate) struct Document;

/// Serves it, and what the caller has besides, for ever. The members are at these addresses.
pub async fn serve<'a>(
    listener: TcpListener,
    handle: UpHandle,
    members: impl IntoIterator<Item = &'a str>,
    extra: Extra,
) {
    let origins = Origins::new(members);
    Server::new(router(handle, origins, extra)).serve(listener).await;
}

fn router(handle: UpHandle, origins: Origins, extra: Extra) -> Router {
    let described = extra.clone();
    let router = Router::new()
        .route("/v1/here", get(async || Json(json::Here::new(json::Serves::Up))))
        .route("/v1/up", get(up))
        .route("/v1/up/watch", get(follow_up))
        .route("/v1/up/command", post(command))
        .route("/openapi.json", get(async move || described.described(packed::UP)))
        .with_state(handle)
        .merge(extra.routes);
    site(router.layer(DefaultBodyLimit::max(BODY_MAX)), origins)
}

/// The members' processes, the partition between them, and what has happened.
#[cfg_attr(test, utoipa::path(get, path = "/v1/up", responses((status = 200, description = "The cluster", body = json::Up))))]
async fn up(State(handle): State<UpHandle>) -> Json<json::Up> {
    Json(handle.up.borrow().clone())
}

/// The same whenever it changes, as server-sent events whose data is an `Up` in JSON.
#[cfg_attr(test, utoipa::path(get, path = "/v1/up/watch", responses(
    (status = 200, description = "Server-sent events", body = String, content_type = "text/event-stream"),
)))]
async fn follow_up(State(handle): State<UpHandle>) -> Response {
    let mut up = handle.up;
    up.mark_changed();
    tell(up)
}

impl Listens for watch::Receiver<json::Up> {
    type News = json::Up;

    async fn next(&mut self) -> Option<json::Up> {
        self.changed().await.ok()?;
        Some(self.borrow_and_update().clone())
    }
}

/// Does something to the cluster: kills, pauses, resumes or revives a member, makes or heals a
/// partition, hands the mandate over. Only with the operator token, and from no page of another server.
#[cfg_attr(test, utoipa::path(post, path = "/v1/up/command", request_body = json::UpOrder, security(("bearer" = [])), responses(
    (status = 200, description = "It is done", body = json::UpDone),
    (status = 400, description = "There is no such command", body = json::Problem),
    (status = 401, description = "The operator token is missing", body = json::Problem),
    (status = 403, description = "The operator token is wrong, or the request comes from a page of another site", body = json::Problem),
    (status = 404, description = "There is no such member", body = json::Problem),
    (status = 409, description = "The command is not possible in the current state", body = json::Problem),
    (status = 422, description = "The body is not understood", body = json::Problem),
    (status = 502, description = "A member failed to carry it out", body = json::Problem),
    (status = 503, description = "The cluster is about to end", body = json::Problem),
)))]
async fn command(
    State(handle): State<UpHandle>,
    _: Operator,
    body: Result<Json<json::UpOrder>, JsonRejection>,
) -> Outcome<json::UpDone> {
    let (answer, answered) = oneshot::channel();
    let order = Order { line: body?.0.command, answer };
    let ended = || {
        let error = "the cluster does not answer";
        let hint = "it has ended or is about to; see the terminal where it was started";
        ErrorResponse::new(StatusCode::SERVICE_UNAVAILABLE, error, Some(hint))
    };
    handle.orders.send(order).await.map_err(|_| ended())?;
    let outcome = timeout(ANSWERS_WITHIN, answered).await.ok().and_then(Result::ok);
    Ok(Json(outcome.ok_or_else(ended)??))
}
