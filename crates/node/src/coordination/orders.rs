//! What can be commanded of sessions, locks and roles.

use super::exchange::{Exchange, Given, Own};
use super::numbers::{NUMBERS, Numbered};
use super::refusals::{WRONG_KEY, refused, senseless, unknown};
use crate::about::About;
use crate::callers::{Caller, Operator, Shown};
use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use bellwether_api::coordination as shown;
use bellwether_api::orders::{
    CampaignOrder, Done, ForceOrder, Granted, HandOverOrder, KeptAlive, LockOrder, OpenSession,
    Opened, ProclaimOrder, ResignOrder, RoleStatus, Wanted,
};
use bellwether_coordination::{Answer, Ask, Mode, Policy, Secret, SessionId, Want};
use bellwether_http::{ErrorResponse, Outcome};
use std::sync::Arc;
use std::time::Duration;

/// The longest reason of an operator, in bytes.
const REASON_MAX: usize = 256;

type Shared = State<Arc<About>>;
type Named<T> = Result<Path<T>, PathRejection>;
type Body<T> = Result<Json<T>, JsonRejection>;

fn session(text: &str) -> Result<SessionId, ErrorResponse> {
    text.parse().map_err(|_| unknown(text))
}

/// The session of this name, with the key that was shown for it.
fn own(text: &str, shown: &Shown) -> Result<Own, ErrorResponse> {
    Ok(Own { id: session(text)?, key: shown.key()? })
}

/// Logs a refusal if it is because of the key.
fn logged(shown: &Shown) -> impl Fn(ErrorResponse) -> ErrorResponse {
    |refusal| {
        if refusal.problem().code.as_deref() == Some(WRONG_KEY) {
            shown.log_refused(&refusal.problem().error);
        }
        refusal
    }
}

/// A client's own number, if it gave one that can be.
fn numbered(given: Option<u64>) -> Result<Option<u64>, ErrorResponse> {
    match given {
        Some(NUMBERS..) => {
            let error = format!("a number must be below {NUMBERS}");
            Err(senseless("bad-number", &error, "count from 1"))
        }
        given => Ok(given),
    }
}

fn done(what: String) -> Outcome<Done> {
    Ok(Json(Done { done: what }))
}

/// Begins a session. It lives for its TTL, and is then kept alive or ends.
#[cfg_attr(test, utoipa::path(post, path = "/v1/sessions", request_body = OpenSession, responses(
    (status = 200, description = "The session is open", body = Opened),
    (status = 422, description = "The TTL, the name or the key is invalid", body = bellwether_api::json::Problem),
    (status = 429, description = "A limit of sessions is reached", body = bellwether_api::json::Problem),
    (status = 503, description = "There is no coordinator", body = bellwether_api::json::Problem),
)))]
pub(super) async fn open(
    State(about): Shared,
    shown: Shown,
    body: Body<OpenSession>,
) -> Outcome<Opened> {
    let OpenSession { client, ttl_ms, key } = body?.0;
    let bad_key = |_| {
        let error = "a key must have 32 hexadecimal digits";
        senseless("bad-key", error, "draw one at random, or leave it out")
    };
    let key = match key {
        Some(text) => text.parse().map_err(bad_key)?,
        None => Secret(bellwether_net::draw()),
    };
    let caller = shown.caller(about.operator);
    about.quota.open(&caller, key).map_err(|refusal| refused(&refusal))?;
    let session = Exchange::new(&about).open(key, client, ttl_ms).await?.to_string();
    Ok(Json(Opened { session, key: key.hex(), ttl_ms }))
}

/// Keeps a session alive: its TTL begins again.
#[cfg_attr(test, utoipa::path(post, path = "/v1/sessions/{session}/keep-alive", params(
    ("session" = String, Path, description = "The session, like s3.17"),
), security(("bearer" = [])), responses(
    (status = 200, description = "The session lives", body = KeptAlive),
    (status = 401, description = "The session's key is missing", body = bellwether_api::json::Problem),
    (status = 403, description = "The session has another key", body = bellwether_api::json::Problem),
    (status = 404, description = "There is no such session", body = bellwether_api::json::Problem),
    (status = 410, description = "The session has ended", body = bellwether_api::json::Problem),
    (status = 503, description = "There is no coordinator", body = bellwether_api::json::Problem),
)))]
pub(super) async fn keep_alive(
    State(about): Shared,
    shown: Shown,
    id: Named<String>,
) -> Outcome<KeptAlive> {
    let own = own(&id?.0, &shown)?;
    Exchange::new(&about).keep_alive(own).await.map_err(logged(&shown))?;
    Ok(Json(KeptAlive { session: own.id.to_string() }))
}

/// How a session is to end.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Closing {
    /// At once, whether its client has stopped or not.
    #[serde(default)]
    now: bool,
}

/// The outcome of a force-release, or of ending a session.
fn given(given: &Given, done: String, what: &str, session: SessionId) -> Response {
    let (status, done) = match given {
        Given::Done => (StatusCode::OK, done),
        Given::Within(most) => (
            StatusCode::ACCEPTED,
            format!(
                "{what}: its client was told and has not confirmed yet. The next request is granted when \
                 {session} confirms, or after {most:?} at the latest"
            ),
        ),
    };
    (status, Json(Done { done })).into_response()
}

/// The name of the caller, for the log of the coordinator and for the clients that it concerns.
fn through(caller: &Caller, about: &About) -> String {
    format!("{caller}, through {}", about.settings.id)
}

/// A warning for an operator that does not wait for the holder.
const AT_ONCE: &str = "its client may still be at work; the protected resource must reject its token \
                       from now on";

/// Ends a session: its locks are given back and its roles left. If its client is connected, it is told
/// first, and others get what it held when it has stopped.
#[cfg_attr(test, utoipa::path(delete, path = "/v1/sessions/{session}", params(
    ("session" = String, Path, description = "The session, like s3.17"),
    ("now" = Option<bool>, Query, description = "Whether to end it at once, whether its client has stopped or not"),
), security(("bearer" = [])), responses(
    (status = 200, description = "It is done", body = Done),
    (status = 202, description = "Its client was told, and has not stopped yet", body = Done),
    (status = 401, description = "The session's key is missing", body = bellwether_api::json::Problem),
    (status = 403, description = "The session has another key", body = bellwether_api::json::Problem),
    (status = 404, description = "There is no such session", body = bellwether_api::json::Problem),
    (status = 503, description = "There is no coordinator", body = bellwether_api::json::Problem),
)))]
pub(super) async fn close(
    State(about): Shared,
    shown: Shown,
    id: Named<String>,
    how: Result<Query<Closing>, QueryRejection>,
) -> Result<Response, ErrorResponse> {
    let (session, Query(Closing { now })) = (session(&id?.0)?, how?);
    let caller = shown.caller(about.operator);
    let ended = if now || caller.may_operate() {
        // Not to wait for the client is for operators alone.
        let by = through(&shown.operator(about.operator)?, &about);
        tracing::warn!(%session, now, "ending session {session}, by {by}");
        Exchange::new(&about).end(session, by, now).await?
    } else {
        tracing::info!(%session, "closing session {session} with its key, by {caller}");
        let own = Own { id: session, key: shown.key()? };
        Exchange::new(&about).close(own).await.map_err(logged(&shown))?
    };
    let done = match now {
        true => format!("session {session} has ended; {AT_ONCE}"),
        false => format!("session {session} has ended"),
    };
    Ok(given(&ended, done, &format!("session {session} is ending"), session))
}

/// Asks for locks: all of them or none, at once or within some time.
#[cfg_attr(test, utoipa::path(post, path = "/v1/sessions/{session}/locks", params(
    ("session" = String, Path, description = "The session, like s3.17"),
), request_body = LockOrder, security(("bearer" = [])), responses(
    (status = 200, description = "The locks are held", body = Granted),
    (status = 401, description = "The session's key is missing", body = bellwether_api::json::Problem),
    (status = 403, description = "The session has another key", body = bellwether_api::json::Problem),
    (status = 404, description = "There is no such session", body = bellwether_api::json::Problem),
    (status = 408, description = "Timed out", body = bellwether_api::json::Problem),
    (status = 409, description = "A lock is busy, or a deadlock", body = bellwether_api::json::Problem),
    (status = 410, description = "The session has ended", body = bellwether_api::json::Problem),
    (status = 422, description = "The request is invalid", body = bellwether_api::json::Problem),
    (status = 429, description = "A limit of waiting requests is reached", body = bellwether_api::json::Problem),
    (status = 503, description = "There is no coordinator", body = bellwether_api::json::Problem),
)))]
pub(super) async fn lock(
    State(about): Shared,
    shown: Shown,
    id: Named<String>,
    body: Body<LockOrder>,
) -> Outcome<Granted> {
    let (own, order) = (own(&id?.0, &shown)?, body?.0);
    let locks = order.locks.iter().map(|wanted| wanted.name.clone()).collect();
    let wants = order.locks.into_iter().map(want).collect::<Result<_, _>>()?;
    let wait = Duration::from_millis(order.wait_ms);
    let ask = Ask::Lock { wants, wait: !wait.is_zero() };
    let granted = Exchange::new(&about).lock(own, numbered(order.number)?, ask, wait).await;
    let (number, token) = granted.map_err(logged(&shown))?;
    Ok(Json(Granted { session: own.id.to_string(), number, token, locks }))
}

fn want(Wanted { name, mode, permits, of }: Wanted) -> Result<Want, ErrorResponse> {
    let mode = match (mode, permits, of) {
        (shown::Mode::Permits, take, Some(of)) => Mode::Permits { take: take.unwrap_or(1), of },
        (shown::Mode::Permits, _, None) => {
            let error = format!("'{name}' has the mode \"permits\", and 'of' is missing");
            let hint =
                "give the total number of permits; all users of a semaphore must give the same";
            return Err(senseless("bad-permits", &error, hint));
        }
        (shown::Mode::Exclusive, None, None) => Mode::Exclusive,
        (shown::Mode::Shared, None, None) => Mode::Shared,
        _ => {
            let error = format!("'{name}' has 'permits' or 'of', but not the mode \"permits\"");
            return Err(senseless("bad-permits", &error, "add \"mode\": \"permits\""));
        }
    };
    Ok(Want { name: name.into(), mode })
}

/// Gives back what a request was granted.
#[cfg_attr(test, utoipa::path(delete, path = "/v1/sessions/{session}/locks/{number}", params(
    ("session" = String, Path, description = "The session, like s3.17"),
    ("number" = u64, Path, description = "The number of the request that was granted"),
), security(("bearer" = [])), responses(
    (status = 200, description = "It is done", body = Done),
    (status = 401, description = "The session's key is missing", body = bellwether_api::json::Problem),
    (status = 403, description = "The session has another key", body = bellwether_api::json::Problem),
    (status = 404, description = "There is no such session", body = bellwether_api::json::Problem),
    (status = 409, description = "The request holds nothing", body = bellwether_api::json::Problem),
    (status = 410, description = "The session has ended", body = bellwether_api::json::Problem),
    (status = 503, description = "There is no coordinator", body = bellwether_api::json::Problem),
)))]
pub(super) async fn release(
    State(about): Shared,
    shown: Shown,
    path: Named<(String, u64)>,
) -> Outcome<Done> {
    let Path((id, number)) = path?;
    let (own, granted) = (own(&id, &shown)?, Numbered::of(numbered(Some(number))?));
    Exchange::new(&about).release(own, granted).await.map_err(logged(&shown))?;
    let session = own.id;
    done(format!("session {session} released request {number}"))
}

/// Campaigns for a role in a session, which leads at once or when its turn comes.
#[cfg_attr(test, utoipa::path(post, path = "/v1/roles/{role}/campaign", params(
    ("role" = String, Path, description = "The role"),
), request_body = CampaignOrder, security(("bearer" = [])), responses(
    (status = 200, description = "The session leads the role", body = RoleStatus),
    (status = 202, description = "The session campaigns, and other candidates are ahead", body = RoleStatus),
    (status = 401, description = "The session's key is missing", body = bellwether_api::json::Problem),
    (status = 403, description = "The session has another key", body = bellwether_api::json::Problem),
    (status = 404, description = "There is no such session", body = bellwether_api::json::Problem),
    (status = 409, description = "The session campaigns already, or the role has another policy", body = bellwether_api::json::Problem),
    (status = 410, description = "The session has ended", body = bellwether_api::json::Problem),
    (status = 422, description = "The request is invalid", body = bellwether_api::json::Problem),
    (status = 503, description = "There is no coordinator", body = bellwether_api::json::Problem),
)))]
pub(super) async fn campaign(
    State(about): Shared,
    shown: Shown,
    role: Named<String>,
    body: Body<CampaignOrder>,
) -> Result<Response, ErrorResponse> {
    let (role, order) = (role?.0, body?.0);
    let own = own(&order.session, &shown)?;
    let policy = match order.policy {
        shown::Policy::FirstCome => Policy::FirstCome,
        shown::Policy::Priority => Policy::Priority { preempt: false },
        shown::Policy::Preempt => Policy::Priority { preempt: true },
    };
    let value = order.value.into_bytes();
    let ask = Ask::Campaign { role: role.clone(), priority: order.priority, value, policy };
    let wait = Duration::from_millis(order.wait_ms);
    let mut exchange = Exchange::new(&about);
    let answered = exchange.wait(own, numbered(order.number)?, ask, wait).await;
    let (by, answer) = answered.map_err(logged(&shown))?;
    let (token, behind) = match answer {
        Answer::Leads(token) | Answer::Granted(token) => (Some(token.0), None),
        Answer::Waits { behind } => (None, Some(behind)),
        Answer::Done => (None, None),
    };
    let (session, number, leads) = (own.id.to_string(), by.shown, token.is_some());
    let status = if leads { StatusCode::OK } else { StatusCode::ACCEPTED };
    let campaign = RoleStatus { role, session, number, leads, token, behind };
    Ok((status, Json(campaign)).into_response())
}

/// Makes a session leave a role, whether it leads it or not.
#[cfg_attr(test, utoipa::path(post, path = "/v1/roles/{role}/resign", params(
    ("role" = String, Path, description = "The role"),
), request_body = ResignOrder, security(("bearer" = [])), responses(
    (status = 200, description = "It is done", body = Done),
    (status = 401, description = "The session's key is missing", body = bellwether_api::json::Problem),
    (status = 403, description = "The session has another key", body = bellwether_api::json::Problem),
    (status = 404, description = "There is no such session", body = bellwether_api::json::Problem),
    (status = 409, description = "The session does not campaign for the role", body = bellwether_api::json::Problem),
    (status = 410, description = "The session has ended", body = bellwether_api::json::Problem),
    (status = 503, description = "There is no coordinator", body = bellwether_api::json::Problem),
)))]
pub(super) async fn resign(
    State(about): Shared,
    shown: Shown,
    role: Named<String>,
    body: Body<ResignOrder>,
) -> Outcome<Done> {
    let (role, order) = (role?.0, body?.0);
    let own = own(&order.session, &shown)?;
    let ask = Ask::Resign { role: role.clone() };
    Exchange::new(&about).ask(own, numbered(order.number)?, ask).await.map_err(logged(&shown))?;
    let session = own.id;
    done(format!("session {session} no longer campaigns for '{role}'"))
}

/// Changes what the world knows of the leader.
#[cfg_attr(test, utoipa::path(post, path = "/v1/roles/{role}/proclaim", params(
    ("role" = String, Path, description = "The role"),
), request_body = ProclaimOrder, security(("bearer" = [])), responses(
    (status = 200, description = "It is done", body = Done),
    (status = 401, description = "The session's key is missing", body = bellwether_api::json::Problem),
    (status = 403, description = "The session has another key", body = bellwether_api::json::Problem),
    (status = 404, description = "There is no such session", body = bellwether_api::json::Problem),
    (status = 409, description = "The session does not lead the role", body = bellwether_api::json::Problem),
    (status = 410, description = "The session has ended", body = bellwether_api::json::Problem),
    (status = 422, description = "The value is too large", body = bellwether_api::json::Problem),
    (status = 503, description = "There is no coordinator", body = bellwether_api::json::Problem),
)))]
pub(super) async fn proclaim(
    State(about): Shared,
    shown: Shown,
    role: Named<String>,
    body: Body<ProclaimOrder>,
) -> Outcome<Done> {
    let (role, order) = (role?.0, body?.0);
    let own = own(&order.session, &shown)?;
    let ask = Ask::Proclaim { role: role.clone(), value: order.value.into_bytes() };
    Exchange::new(&about).ask(own, numbered(order.number)?, ask).await.map_err(logged(&shown))?;
    let session = own.id;
    done(format!("session {session} proclaimed another value for '{role}'"))
}

/// Gives a role to a named candidate.
#[cfg_attr(test, utoipa::path(post, path = "/v1/roles/{role}/hand-over", params(
    ("role" = String, Path, description = "The role"),
), request_body = HandOverOrder, security(("bearer" = [])), responses(
    (status = 200, description = "It is done", body = Done),
    (status = 401, description = "The session's key is missing", body = bellwether_api::json::Problem),
    (status = 403, description = "The session has another key", body = bellwether_api::json::Problem),
    (status = 404, description = "There is no such session", body = bellwether_api::json::Problem),
    (status = 409, description = "The session does not lead, or the other session does not campaign", body = bellwether_api::json::Problem),
    (status = 410, description = "The session has ended", body = bellwether_api::json::Problem),
    (status = 503, description = "There is no coordinator", body = bellwether_api::json::Problem),
)))]
pub(super) async fn hand_over(
    State(about): Shared,
    shown: Shown,
    role: Named<String>,
    body: Body<HandOverOrder>,
) -> Outcome<Done> {
    let (role, order) = (role?.0, body?.0);
    let (own, to) = (own(&order.session, &shown)?, session(&order.to)?);
    let ask = Ask::HandOver { role: role.clone(), to };
    Exchange::new(&about).ask(own, numbered(order.number)?, ask).await.map_err(logged(&shown))?;
    let session = own.id;
    done(format!("session {session} handed '{role}' over to {to}"))
}

/// Takes a lock away from a session that holds it. Its client is told first, and the next gets the lock
/// when that client has stopped, or is out of time. With `now` the next does not wait: then whatever the lock
/// protects must look at fencing tokens.
#[cfg_attr(test, utoipa::path(post, path = "/v1/locks/{name}/force", params(
    ("name" = String, Path, description = "The lock"),
), request_body = ForceOrder, security(("bearer" = [])), responses(
    (status = 200, description = "It is done", body = Done),
    (status = 202, description = "The holder's client was told, and has not stopped yet", body = Done),
    (status = 401, description = "The operator token is missing", body = bellwether_api::json::Problem),
    (status = 403, description = "The member has another operator token", body = bellwether_api::json::Problem),
    (status = 404, description = "There is no such session", body = bellwether_api::json::Problem),
    (status = 409, description = "The session does not hold the lock", body = bellwether_api::json::Problem),
    (status = 422, description = "The reason is missing or too long", body = bellwether_api::json::Problem),
    (status = 503, description = "There is no coordinator", body = bellwether_api::json::Problem),
)))]
pub(super) async fn force(
    State(about): Shared,
    Operator(caller): Operator,
    name: Named<String>,
    body: Body<ForceOrder>,
) -> Result<Response, ErrorResponse> {
    let (lock, ForceOrder { session: id, by, now }) = (name?.0, body?.0);
    let session = session(&id)?;
    if by.trim().is_empty() || by.len() > REASON_MAX || by.contains(char::is_control) {
        let error = format!("'by' must have 1 to {REASON_MAX} bytes and no control characters");
        return Err(senseless("bad-reason", &error, "say who you are and why"));
    }
    let by = format!("{by} ({})", through(&caller, &about));
    tracing::warn!(lock, %session, now, "force-releasing the lock '{lock}' from {session}, by {by}");
    let taken = Exchange::new(&about).force(lock.clone(), session, by, now).await?;
    let done = match now {
        true => format!("'{lock}' was force-released from {session}; {AT_ONCE}"),
        false => format!("'{lock}' was force-released from {session}"),
    };
    Ok(given(
        &taken,
        done,
        &format!("the force-release of '{lock}' from {session} has begun"),
        session,
    ))
}
