//! A server that cannot be clogged.
//!
//! An HTTP address that many can reach gets connections that send nothing, or half a request, or wait for
//! hours, or never read their answers. None of them may keep a health check or a keep-alive out:
//!
//! - S1: A connection that has no request under way costs nothing but itself. Beyond a number of
//!   connections, the one that has been without a request for longest is closed for the next.
//! - S2: A request counts when it is complete, its body too. Head and body have to arrive in time.
//! - S3: Requests are served in places, and each [kind](Kind) has places of its own. There are fewer
//!   places than connections, so there is always a connection that can be closed (S1).
//! - S4: A request keeps its place until its answer is written, but for the last few pieces: unread answers
//!   take no more memory than there are places. When none is left, the longest unread answer is cut off.
//! - S5: A peer that takes too little of what is written to it for too long is cut off.

mod answer;
mod connections;
mod socket;

use crate::error::ErrorResponse;
use answer::Answer;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, Request};
use axum::http::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use connections::{Connection, Connections};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use socket::Socket;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// The largest head of a request, and how much of what a connection sends is read ahead, in bytes.
const HEAD_MAX: usize = 32 << 10;

/// The largest body of any request, in bytes. Routes may allow less.
const BODY_MAX: usize = 512 << 10;

/// The same for requests that need none.
const SMALL_BODY_MAX: usize = 4 << 10;

/// What a request asks of the server. Each kind has places of its own (S3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Whatever is answered at once.
    Plain,
    /// Others rely on its being answered in time: a health check, a keep-alive, a release.
    Vital,
    /// Its answer may be large.
    List,
    /// It may wait, for hours even.
    Wait,
    /// Its answer goes on for ever. The content type says so.
    Stream,
}

impl Kind {
    const ALL: [Kind; 5] = [Kind::Plain, Kind::Vital, Kind::List, Kind::Wait, Kind::Stream];

    fn body_max(self) -> usize {
        match self {
            Kind::Plain | Kind::Wait => BODY_MAX,
            Kind::Vital | Kind::List | Kind::Stream => SMALL_BODY_MAX,
        }
    }
}

/// What a server takes at most.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at once.
    pub connections: usize,
    /// Requests of each kind at once. All of them together are fewer than the connections.
    pub places: fn(Kind) -> usize,
    /// How long a head may take, from the beginning of the connection or the end of the request before it.
    pub head_within: Duration,
    /// How long a body may take.
    pub body_within: Duration,
    /// How long a request waits for a place.
    pub place_within: Duration,
    /// How long a peer may take too little of what is written to it.
    pub stalled_after: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 1_024,
            places: |kind| match kind {
                Kind::Plain | Kind::Vital | Kind::Stream => 64,
                Kind::List => 8,
                Kind::Wait => 512,
            },
            head_within: Duration::from_secs(15),
            body_within: Duration::from_secs(10),
            place_within: Duration::from_secs(2),
            stalled_after: Duration::from_secs(10),
        }
    }
}

/// A server: what it serves, and which kind each request is of.
#[derive(Clone, Debug)]
pub struct Server {
    router: Router,
    kind: fn(&Method, &str) -> Kind,
    limits: Limits,
}

impl Server {
    /// One that serves this, all of one kind.
    pub fn new(router: Router) -> Self {
        Server { router, kind: |_, _| Kind::Plain, limits: Limits::default() }
    }

    /// The same, with the kind of each request by method and path.
    #[must_use]
    pub fn kinds(mut self, kind: fn(&Method, &str) -> Kind) -> Self {
        self.kind = kind;
        self
    }

    /// The same with other limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Serves for ever. When this is dropped, all connections are closed.
    pub async fn serve(self, listener: TcpListener) {
        let connections = Connections::new(self.limits);
        let server = Arc::new(self);
        let mut tasks = JoinSet::new();
        loop {
            let (stream, address) = tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok(accepted) => accepted,
                    Err(_) => {
                        // Out of files, most likely. It passes.
                        sleep(Duration::from_millis(100)).await;
                        continue;
                    }
                },
                Some(_) = tasks.join_next() => continue,
            };
            let connection = connections.enter().await;
            tasks.spawn(server.clone().attend(stream, address, connection));
        }
    }

    /// Serves one connection to its end.
    async fn attend(
        self: Arc<Self>,
        stream: TcpStream,
        address: SocketAddr,
        connection: Connection,
    ) {
        let connection = Arc::new(connection);
        let requests = service_fn(|request| {
            let (server, connection) = (self.clone(), connection.clone());
            async move { Ok::<_, Infallible>(server.answer(request, address, &connection).await) }
        });
        let socket = TokioIo::new(Socket::new(stream, self.limits.stalled_after));
        let served = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.head_within)
            .max_buf_size(HEAD_MAX)
            .serve_connection(socket, requests);
        tokio::select! {
            // A peer that breaks off, or is too slow, is its own concern.
            _ = served => {}
            () = connection.closed() => {}
        }
    }

    async fn answer(
        &self,
        request: hyper::Request<Incoming>,
        address: SocketAddr,
        connection: &Arc<Connection>,
    ) -> Response {
        let (mut parts, body) = request.into_parts();
        let kind = (self.kind)(&parts.method, parts.uri.path());
        let body = match self.whole(&parts, body, kind.body_max()).await {
            Ok(body) => body,
            Err(error) => {
                // What is left of the body would be taken for the next request.
                let mut response = error.into_response();
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                return response;
            }
        };
        let Some(place) = connection.place(kind).await else { return self.crowded(kind) };
        parts.extensions.insert(ConnectInfo(address));
        let request = Request::from_parts(parts, Body::from(body));
        let response = TowerToHyperService::new(self.router.clone()).call(request).await;
        let response = response.unwrap_or_else(|never| match never {});
        let content = response.headers().get(CONTENT_TYPE);
        let streams = content.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        let place = if streams {
            drop(place);
            let Some(place) = connection.place(Kind::Stream).await else {
                return self.crowded(Kind::Stream);
            };
            place
        } else {
            place
        };
        response.map(|body| Body::new(Answer::new(body, place)))
    }

    /// The whole body, if it is small enough and comes in time (S2).
    async fn whole(
        &self,
        parts: &Parts,
        body: Incoming,
        most: usize,
    ) -> Result<Bytes, ErrorResponse> {
        let too_large = || {
            let error = format!("the body of the request is larger than {} KiB", most >> 10);
            let hint = "send a smaller body; no request of this kind needs more";
            ErrorResponse::new(StatusCode::PAYLOAD_TOO_LARGE, error, Some(hint))
                .coded("body-too-large")
        };
        let announced = parts.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
        if announced.and_then(|length| length.parse::<u64>().ok()) > Some(most as u64) {
            return Err(too_large());
        }
        match timeout(self.limits.body_within, to_bytes(Body::new(body), most)).await {
            Ok(Ok(bytes)) => Ok(bytes),
            Ok(Err(_)) => Err(too_large()),
            Err(_) => {
                let within = self.limits.body_within;
                let error = format!("the body of the request did not arrive within {within:?}");
                let hint = "send it right after the head; Content-Length must be its length";
                Err(ErrorResponse::new(StatusCode::REQUEST_TIMEOUT, error, Some(hint))
                    .coded("slow-body"))
            }
        }
    }

    /// There is no place for a request.
    fn crowded(&self, kind: Kind) -> Response {
        let most = (self.limits.places)(kind);
        let (error, hint) = match kind {
            Kind::Wait => (
                format!("the limit of {most} waiting requests is reached at this server"),
                "wait at another member, ask with wait_ms 0, or use the client crate or the command line",
            ),
            Kind::Stream => (
                format!("the limit of {most} open streams is reached at this server"),
                "close some (each open dashboard has a few), or use another member",
            ),
            _ => (
                format!(
                    "the limit of {most} concurrent requests is reached, and none ended in time"
                ),
                "ask again in a second, or ask another member",
            ),
        };
        let error = ErrorResponse::new(StatusCode::SERVICE_UNAVAILABLE, error, Some(hint));
        let mut response = error.coded("crowded").into_response();
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        response
    }
}

#[cfg(test)]
mod tests;
