//! The HTTP API: for people, pages and curl.
//!
//! Every client that reaches it may read. What changes something needs a session's key or the operator token
//! (`callers.rs`). Nothing is encrypted, so it listens on the loopback interface unless the operator
//! says otherwise. Which pages in a browser may use it, `bellwether_http` decides.

use crate::about::About;
use crate::callers::{Caller, Operator};
use crate::reload::NotReloaded;
use crate::{backup, coordination, events, membership, messages, metrics, overviews};
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{DefaultBodyLimit, Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use bellwether_api::json;
use bellwether_core::NodeId;
use bellwether_http::{ErrorResponse, Extra, Kind, Outcome, packed, site};
use bellwether_member::{Decline, Input, Status};
use bellwether_net::PeerState;
use serde::Deserialize;
use std::sync::Arc;

/// The largest body of a request, in bytes: none needs more.
const BODY_MAX: usize = 16 << 10;

type Shared = State<Arc<About>>;

/// All routes, and those that the caller has besides.
pub(crate) fn router(about: Arc<About>, extra: Extra) -> Router {
    let described = extra.clone();
    let mut router = Router::new()
        .route("/v1/here", get(here))
        .route("/v1/status", get(status))
        .route("/v1/members", get(members).post(membership::add))
        .route("/v1/members/{id}/promote", post(membership::promote))
        .route("/v1/members/{id}/remove", post(membership::remove))
        .route("/v1/backup", get(backup::backup))
        .route("/v1/history", get(history))
        .route("/v1/events", get(follow_events))
        .route("/v1/watch", get(watch))
        .route("/v1/messages", get(follow_messages))
        .route("/v1/step-down", post(step_down))
        .route("/v1/transfer", post(transfer))
        .route("/v1/elect", post(elect))
        .route("/v1/reload", post(reload))
        .route("/metrics", get(metrics_text))
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/openapi.json", get(async move || described.described(packed::MEMBER)))
        .merge(coordination::routes());
    if about.settings.dev_faults {
        router = router.route("/dev/partition", post(partition)).route("/dev/panic", post(panic));
    }
    let origins = about.origins();
    let router = router.with_state(about).merge(extra.routes);
    site(router.layer(DefaultBodyLimit::max(BODY_MAX)), origins)
}

/// Which kind each request is of: what must be answered in time whatever else goes on, what may wait, and what
/// may be large.
pub(crate) fn kind(method: &Method, path: &str) -> Kind {
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    match (method, parts.as_slice()) {
        (_, ["healthz" | "readyz"])
        | (&Method::POST, ["v1", "sessions", _, "keep-alive"])
        | (&Method::DELETE, ["v1", "sessions", _] | ["v1", "sessions", _, "locks", _]) => {
            Kind::Vital
        }
        (&Method::POST, ["v1", "sessions", _, "locks"] | ["v1", "roles", _, "campaign"]) => {
            Kind::Wait
        }
        (
            &Method::GET,
            ["v1", "backup" | "coordination" | "sessions" | "roles" | "locks" | "deadlocks"],
        ) => Kind::List,
        _ => Kind::Plain,
    }
}

/// The member itself is at fault.
pub(crate) fn silent() -> ErrorResponse {
    let hint = "it has ended or hangs; see its log";
    ErrorResponse::new(StatusCode::SERVICE_UNAVAILABLE, "the member does not answer", Some(hint))
}

async fn ask(about: &About) -> Result<Status, ErrorResponse> {
    about.ask().await.ok_or_else(silent)
}

/// Who answers: a member, the parent of a local cluster, or the explorer alone.
#[cfg_attr(test, utoipa::path(get, path = "/v1/here", responses((status = 200, description = "Which member this is", body = json::Here))))]
async fn here() -> Json<json::Here> {
    Json(json::Here::new(json::Serves::Member))
}

/// The state of this member, the coordinator, and since when and why.
#[cfg_attr(test, utoipa::path(get, path = "/v1/status", responses(
    (status = 200, description = "Its status", body = json::Status),
    (status = 503, description = "The member has ended or hangs", body = json::Problem),
)))]
async fn status(State(about): Shared) -> Outcome<json::Status> {
    let status = ask(&about).await?;
    Ok(Json(about.status(&status)))
}

/// All members: whether they live, how their clocks go, whether they are connected.
#[cfg_attr(test, utoipa::path(get, path = "/v1/members", responses(
    (status = 200, description = "All members, as this one sees them", body = json::Members),
    (status = 503, description = "The member has ended or hangs", body = json::Problem),
)))]
async fn members(State(about): Shared) -> Outcome<json::Members> {
    let status = ask(&about).await?;
    Ok(Json(about.members(&status)))
}

/// The changes of the coordinator that this member saw, each with its reason.
#[cfg_attr(test, utoipa::path(get, path = "/v1/history", responses((status = 200, description = "What happened, the latest first", body = json::History))))]
async fn history(State(about): Shared) -> Json<json::History> {
    let changes = about.history.changes();
    Json(json::History { id: about.settings.id.number(), changes })
}

/// Where to begin in the stream of events.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(utoipa::IntoParams))]
#[cfg_attr(test, into_params(parameter_in = Query))]
struct Since {
    /// The number of the last event that is known already; 0 for all that are kept.
    since: Option<u64>,
}

/// Events as they happen, as server-sent events whose data is an `Event` in JSON. Without `since`
/// and without the header `Last-Event-ID` the stream begins now.
#[cfg_attr(test, utoipa::path(get, path = "/v1/events", params(Since), responses(
    (status = 200, description = "Server-sent events", body = String, content_type = "text/event-stream"),
    (status = 400, description = "`since` is not a number", body = json::Problem),
)))]
async fn follow_events(
    State(about): Shared,
    since: Result<Query<Since>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, ErrorResponse> {
    // A browser that reconnects sends the number of the last event by itself.
    let last = match headers.get("last-event-id") {
        None => since?.0.since,
        Some(header) => {
            let number = header.to_str().ok().and_then(|text| text.trim().parse().ok());
            let error = "Last-Event-ID is not the number of an event";
            Some(number.ok_or_else(|| ErrorResponse::new(StatusCode::BAD_REQUEST, error, None))?)
        }
    };
    Ok(events::stream(about.history.clone(), last))
}

/// Everything that a dashboard shows, as server-sent events whose data is a `Overview` in JSON: at
/// once, whenever something happens, and at least four times a second.
#[cfg_attr(test, utoipa::path(get, path = "/v1/watch", responses(
    (status = 200, description = "Server-sent events", body = String, content_type = "text/event-stream"),
)))]
async fn watch(State(about): Shared) -> Response {
    overviews::stream(about)
}

/// The messages between this member and the others as they happen, as server-sent events whose
/// data is a `Messages` in JSON. Each tells of at most a tenth of a second.
#[cfg_attr(test, utoipa::path(get, path = "/v1/messages", responses(
    (status = 200, description = "Server-sent events", body = String, content_type = "text/event-stream"),
)))]
async fn follow_messages(State(about): Shared) -> Response {
    messages::stream(about.handle.clone(), about.settings.id)
}

/// Makes the coordinator hand its mandate over to the best of the others.
#[cfg_attr(test, utoipa::path(post, path = "/v1/step-down", security(("bearer" = [])), responses(
    (status = 200, description = "It was decided", body = json::Decided),
    (status = 401, description = "The operator token is missing", body = json::Problem),
    (status = 403, description = "The member has another operator token", body = json::Problem),
    (status = 409, description = "The member is not the coordinator, or no other member could lead", body = json::Problem),
    (status = 503, description = "The member has ended or hangs", body = json::Problem),
)))]
async fn step_down(State(about): Shared, Operator(by): Operator) -> Outcome<json::Decided> {
    decide(&about, &by, Input::StepDown).await
}

/// Makes the coordinator hand its mandate over to a named member, which then stays even if
/// stronger ones are there.
#[cfg_attr(test, utoipa::path(post, path = "/v1/transfer", request_body = json::Transfer, security(("bearer" = [])), responses(
    (status = 200, description = "It was decided", body = json::Decided),
    (status = 401, description = "The operator token is missing", body = json::Problem),
    (status = 403, description = "The member has another operator token", body = json::Problem),
    (status = 404, description = "There is no such member", body = json::Problem),
    (status = 409, description = "The member is not the coordinator, or the named member cannot lead", body = json::Problem),
    (status = 422, description = "The body is not understood", body = json::Problem),
    (status = 503, description = "The member has ended or hangs", body = json::Problem),
)))]
async fn transfer(
    State(about): Shared,
    Operator(by): Operator,
    body: Result<Json<json::Transfer>, JsonRejection>,
) -> Outcome<json::Decided> {
    decide(&about, &by, Input::Transfer(NodeId::new(body?.0.to))).await
}

/// Makes this member hold an election. A coordinator that works stays.
#[cfg_attr(test, utoipa::path(post, path = "/v1/elect", security(("bearer" = [])), responses(
    (status = 200, description = "It was decided", body = json::Decided),
    (status = 401, description = "The operator token is missing", body = json::Problem),
    (status = 403, description = "The member has another operator token", body = json::Problem),
    (status = 503, description = "The member has ended or hangs", body = json::Problem),
)))]
async fn elect(State(about): Shared, Operator(by): Operator) -> Outcome<json::Decided> {
    decide(&about, &by, Input::Elect).await
}

/// Makes this member read its configuration and its certificate again, as SIGHUP does. If anything is wrong with
/// them, nothing changes.
#[cfg_attr(test, utoipa::path(post, path = "/v1/reload", security(("bearer" = [])), responses(
    (status = 200, description = "What changed, and what needs a restart", body = json::Reloaded),
    (status = 401, description = "The operator token is missing", body = json::Problem),
    (status = 403, description = "The member has another operator token", body = json::Problem),
    (status = 422, description = "The configuration or the certificate is wrong; nothing has changed", body = json::Problem),
    (status = 503, description = "`not-committed`: settings that all members share were not committed in time; nothing else has changed", body = json::Problem),
)))]
async fn reload(State(about): Shared, Operator(by): Operator) -> Outcome<json::Reloaded> {
    let reloaded = about.reload(&by.to_string()).await.map_err(|error| {
        let (status, code, hint) = match error {
            NotReloaded::Wrong(_) => (
                StatusCode::UNPROCESSABLE_ENTITY,
                "not-reloaded",
                "correct it, check it with `bellwether node --check-config`, and reload again",
            ),
            NotReloaded::NotCommitted => (
                StatusCode::SERVICE_UNAVAILABLE,
                "not-committed",
                "see the warnings of /v1/status for what is in force; to reload again is safe",
            ),
        };
        ErrorResponse::new(status, error.to_string(), Some(hint)).coded(code)
    })?;
    Ok(Json(reloaded))
}

async fn decide(about: &About, by: &Caller, input: Input) -> Outcome<json::Decided> {
    let answer = tokio::time::timeout(crate::about::ANSWERS_WITHIN, about.handle.ask(input));
    let decision = answer.await.ok().flatten().ok_or_else(silent)?;
    match decision {
        Ok(successor) => {
            let decision = match (input, successor) {
                (Input::Elect, _) => "holds an election".to_owned(),
                (_, Some(to)) => format!("hands its mandate over to {to}"),
                (_, None) => "gives up its mandate".to_owned(),
            };
            let successor = successor.map(NodeId::number);
            tracing::info!(request = ?input, ?successor, "{decision}, ordered by {by}");
            Ok(Json(json::Decided { decision, successor }))
        }
        Err(decline) => Err(declined(about, decline)),
    }
}

/// Says why not, and which member to ask instead.
pub(crate) fn declined(about: &About, decline: Decline) -> ErrorResponse {
    let status = match decline {
        Decline::Unknown(_) => StatusCode::NOT_FOUND,
        _ => StatusCode::CONFLICT,
    };
    let hint = match decline {
        Decline::NotCoordinator(Some(leader)) => Some(match about.http_of(leader) {
            Some(http) => format!("ask {leader} at http://{http}"),
            None => format!("ask {leader} at its own HTTP address"),
        }),
        Decline::Unknown(_) => {
            let peers = about.handle.running.peers();
            let mut known: Vec<_> = peers.iter().map(|peer| peer.id.number()).collect();
            known.push(about.settings.id.number());
            known.sort_unstable();
            let known: Vec<_> = known.iter().map(u32::to_string).collect();
            Some(format!("the members are {}", known.join(", ")))
        }
        Decline::NotCoordinator(None) | Decline::Silent(_) | Decline::NoSuccessor => {
            Some("see /v1/members for the members that answer".to_owned())
        }
        _ => None,
    };
    let refusal = ErrorResponse::new(status, decline.to_string(), hint.as_deref());
    match decline {
        Decline::NotCoordinator(_) => refusal.coded("not-coordinator"),
        _ => refusal,
    }
}

/// Metrics in the Prometheus text format.
#[cfg_attr(test, utoipa::path(get, path = "/metrics", responses(
    (status = 200, description = "The metrics", body = String, content_type = "application/openmetrics-text"),
    (status = 503, description = "The member has ended or hangs", body = json::Problem),
)))]
async fn metrics_text(State(about): Shared) -> Result<Response, ErrorResponse> {
    let status = ask(&about).await?;
    let text = metrics::render(&about, status).map_err(|_| silent())?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(CONTENT_TYPE, kind)], text).into_response())
}

/// Whether the process lives and its task answers. A member without a mandate is healthy.
#[cfg_attr(test, utoipa::path(get, path = "/healthz", responses(
    (status = 200, description = "The member is healthy, or ready", body = json::Probe),
    (status = 503, description = "It is not", body = json::Probe),
)))]
async fn healthz(State(about): Shared) -> Response {
    match about.ask().await {
        Some(_) => {
            Json(json::Probe { ok: true, why: "the member answers".to_owned() }).into_response()
        }
        None => {
            let why = "the member has ended or hangs".to_owned();
            let probe = json::Probe { ok: false, why };
            (StatusCode::SERVICE_UNAVAILABLE, Json(probe)).into_response()
        }
    }
}

/// Whether the member leads, or follows, holds everything that is committed and may vote.
#[cfg_attr(test, utoipa::path(get, path = "/readyz", responses(
    (status = 200, description = "The member is healthy, or ready", body = json::Probe),
    (status = 503, description = "It has no coordinator, lacks committed entries, or may not vote yet; and why", body = json::Probe),
)))]
async fn readyz(State(about): Shared) -> Response {
    let probe = match about.ask().await {
        Some(status) => about.ready(&status),
        None => json::Probe { ok: false, why: "the member has ended or hangs".to_owned() },
    };
    let status = if probe.ok { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(probe)).into_response()
}

/// For development: cuts this member off from some others. Not in the document, because it is not
/// there in production.
async fn partition(
    State(about): Shared,
    Operator(by): Operator,
    body: Result<Json<json::Partition>, JsonRejection>,
) -> Outcome<json::Decided> {
    let blocked = body?.0.blocked;
    for id in &blocked {
        let known = |peer: &PeerState| peer.id.number() == *id;
        let own = about.settings.id.number() == *id;
        if !own && !about.handle.running.peers().iter().any(known) {
            return Err(declined(&about, Decline::Unknown(NodeId::new(*id))));
        }
    }
    let cut = blocked.iter().copied().map(NodeId::new).collect();
    about
        .handle
        .running
        .partition(cut)
        .map_err(|error| ErrorResponse::new(StatusCode::FORBIDDEN, error.to_string(), None))?;
    let decision = match blocked.as_slice() {
        [] => "reaches all members again".to_owned(),
        _ => format!("is cut off from {blocked:?}"),
    };
    tracing::warn!(?blocked, "a development fault, by {by}: {decision}");
    Ok(Json(json::Decided { decision, successor: None }))
}

/// For development: the member panics between two steps, as it does after a bug.
async fn panic(State(about): Shared, Operator(by): Operator) -> StatusCode {
    tracing::warn!("a development fault, by {by}: a panic");
    about.handle.running.inspect::<()>(|_| panic!("a development fault")).await;
    // It has ended before.
    StatusCode::SERVICE_UNAVAILABLE
}

#[cfg(test)]
mod described;
