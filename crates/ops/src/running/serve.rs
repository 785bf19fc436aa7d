//! `--serve`: no command is run; programs in any language ask over HTTP whether the role is led, or the lock held.
//!
//! ```text
//! GET /       200 while it is held, 409 otherwise; JSON: leader, token, and for how long that is certain
//! GET /watch  the same, one line whenever it changes, and at least three times per TTL while it is held
//! GET /ready  200 while the cluster answers, 503 otherwise
//! ```
//!
//! Each answer is given by a look at the clock: before another session can hold it, the answer is 409.

use super::args::{Hooks, RunArgs, Terms};
use super::held::Held;
use super::{OS_FAILED, close, failed, is_outage, note, pause};
use crate::signals::Signals;
use bellwether::{Client, Endpoints, Error, Leader, Observer, Session};
use bellwether_core::Time;
use bellwether_net::Clock;
use bellwether_shell::{Failure, Verdict};
use http_body_util::BodyExt;
use http_body_util::Full;
use http_body_util::combinators::BoxBody;
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use std::convert::Infallible;
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::process::Command;
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};

/// The answer is "lost" this long before the deadline: a caller that was told otherwise has this time to hear more.
const MARGIN: Duration = Duration::from_millis(50);

/// What is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Role,
    Lock,
}

/// What is wanted: how it is asked for, in a session.
pub(super) trait Wanted {
    /// What it is.
    const KIND: Kind;
    /// Its name.
    fn name(&self) -> String;
    /// Waits until it is held.
    async fn acquire(&self, session: &Session) -> Result<Held, Error>;
}

/// What is known at the moment.
#[derive(Clone, Default)]
struct State {
    /// The session, once there is one.
    session: Option<Session>,
    held: Option<Arc<Held>>,
    /// Changes whenever something does.
    version: u64,
}

/// What tasks and answers share.
struct Shared {
    kind: Kind,
    name: String,
    ttl: Duration,
    state: watch::Sender<State>,
    observer: Mutex<Option<Observer>>,
}

/// What is answered.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lock: Option<&'a str>,
    /// Whether this process holds it.
    held: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<u64>,
    /// For how many milliseconds that is certain, from when the question was sent.
    certain_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// The leader of a role, as far as is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    leader: Option<LeaderAnswer>,
}

#[derive(Debug, Serialize)]
struct LeaderAnswer {
    session: String,
    client: String,
    token: u64,
    value: String,
}

impl LeaderAnswer {
    fn of(leader: Leader) -> Self {
        LeaderAnswer {
            session: leader.session.to_string(),
            client: leader.client,
            token: leader.token.0,
            value: String::from_utf8_lossy(&leader.value).into_owned(),
        }
    }
}

impl Shared {
    fn change(&self, act: impl FnOnce(&mut State)) {
        self.state.send_modify(|state| {
            act(state);
            state.version += 1;
        });
    }

    fn leader(&self) -> Option<Leader> {
        let observer = self.observer.lock().unwrap_or_else(PoisonError::into_inner);
        observer.as_ref().and_then(|observer| observer.current().leader)
    }

    /// The answer now, by a look at the clock.
    fn answer(&self) -> (bool, String) {
        let State { session, held, .. } = self.state.borrow().clone();
        let now = Clock::shared();
        let certain = held.as_ref().map_or(Duration::ZERO, |held| certain(held.deadline(), now));
        let held = held.filter(|_| !certain.is_zero());
        let name = Some(self.name.as_str());
        let answer = Answer {
            role: name.filter(|_| self.kind == Kind::Role),
            lock: name.filter(|_| self.kind == Kind::Lock),
            held: held.is_some(),
            token: held.as_ref().map(|held| held.token()),
            certain_ms: u64::try_from(certain.as_millis()).unwrap_or(u64::MAX),
            session: session.map(|session| session.id().to_string()),
            leader: self.leader().map(LeaderAnswer::of),
        };
        (answer.held, format!("{}\n", serde_json::to_string(&answer).unwrap_or_default()))
    }

    fn is_ready(&self) -> bool {
        self.state.borrow().session.as_ref().is_some_and(Session::is_alive)
    }
}

fn certain(deadline: Time, now: Time) -> Duration {
    deadline.since(now).saturating_sub(MARGIN)
}

/// Serves until it is told to end.
pub(super) async fn run<W: Wanted>(
    wanted: W,
    args: &RunArgs,
    hooks: &Hooks,
    terms: &Terms,
) -> Result<Verdict, Failure> {
    let mut signals = Signals::new()?;
    let endpoints = args.endpoints()?;
    let address = hooks.serve.as_deref().unwrap_or_default();
    let state = watch::Sender::new(State::default());
    let (kind, name) = (W::KIND, wanted.name());
    let observer = Mutex::new(None);
    let shared = Arc::new(Shared { kind, name, ttl: terms.ttl, state, observer });
    let place = listen(address, &shared).await?;
    note(args.quiet, &format!("serves at {address}"));
    let mut sidecar = Sidecar { wanted, args, hooks, terms, shared, client: None, began: false };
    let result = sidecar.attend(&endpoints, &mut signals).await;
    drop(place);
    result.map(|()| Verdict::Well)
}

struct Sidecar<'a, W> {
    wanted: W,
    args: &'a RunArgs,
    hooks: &'a Hooks,
    terms: &'a Terms,
    shared: Arc<Shared>,
    client: Option<Client>,
    /// Whether it has had a session.
    began: bool,
}

impl<W: Wanted> Sidecar<'_, W> {
    async fn attend(
        &mut self,
        endpoints: &Endpoints,
        signals: &mut Signals,
    ) -> Result<(), Failure> {
        loop {
            match self.once(endpoints, signals).await {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(failure) if self.began && is_outage(&failure) => {
                    note(self.args.quiet, &format!("{failure}; tries again"));
                    self.shared.change(|state| *state = State::default());
                    if pause(signals).await.is_err() {
                        return Ok(());
                    }
                }
                Err(failure) => return Err(failure),
            }
        }
    }

    /// One session. Whether it was told to end.
    async fn once(
        &mut self,
        endpoints: &Endpoints,
        signals: &mut Signals,
    ) -> Result<bool, Failure> {
        let session = tokio::select! {
            session = self.open(endpoints) => session.map_err(failed)?,
            _ = signals.next() => return Ok(true),
        };
        self.began = true;
        self.shared.change(|state| state.session = Some(session.clone()));
        let held = tokio::select! {
            held = self.wanted.acquire(&session) => held,
            _ = signals.next() => {
                close(session).await;
                return Ok(true);
            }
        };
        let held = match held {
            Ok(held) => Arc::new(held),
            Err(error) => {
                close(session).await;
                return Err(failed(error));
            }
        };
        let name = self.shared.name.clone();
        note(
            self.args.quiet,
            &format!("holds '{name}' as {}, token {}", session.id(), held.token()),
        );
        self.shared.change(|state| state.held = Some(held.clone()));
        let elected = self.hook(&self.hooks.on_elected, &held, &session);
        let lost = tokio::select! {
            how = held.lost() => Some(how),
            _ = signals.next() => None,
        };
        self.shared.change(|state| state.held = None);
        let left = self.hook(&self.hooks.on_lost, &held, &session);
        drop(elected);
        if let Some(how) = lost {
            note(self.args.quiet, &format!("no longer holds '{name}': {how}; asks again"));
            drop(held);
            close(session).await;
            return Ok(false);
        }
        // What stands behind it stops before the next one gets it.
        if let Some(mut left) = left {
            let _ = timeout(self.terms.grace, left.wait()).await;
        }
        if let Some(held) = Arc::into_inner(held)
            && let Err(error) = held.give_back().await
        {
            note(self.args.quiet, &error.to_string());
        }
        self.shared.change(|state| state.session = None);
        close(session).await;
        Ok(true)
    }

    async fn open(&mut self, endpoints: &Endpoints) -> Result<Session, Error> {
        let client = match &self.client {
            Some(client) => client.clone(),
            None => Client::connect(endpoints.clone()).await?,
        };
        self.client = Some(client.clone());
        if W::KIND == Kind::Role && self.observes().is_none() {
            let observer = client.observe(&self.shared.name).await?;
            *self.shared.observer.lock().unwrap_or_else(PoisonError::into_inner) = Some(observer);
        }
        client.session(self.terms.session()).await
    }

    fn observes(&self) -> Option<()> {
        let observer = self.shared.observer.lock().unwrap_or_else(PoisonError::into_inner);
        observer.as_ref().map(|_| ())
    }

    /// Starts a command for a caller that wants its results.
    fn hook(
        &self,
        line: &Option<String>,
        held: &Held,
        session: &Session,
    ) -> Option<tokio::process::Child> {
        let name = match W::KIND {
            Kind::Role => "BELLWETHER_ROLE",
            Kind::Lock => "BELLWETHER_LOCK",
        };
        let started = Command::new("sh")
            .arg("-c")
            .arg(line.as_ref()?)
            .env(name, &self.shared.name)
            .env("BELLWETHER_TOKEN", held.token().to_string())
            .env("BELLWETHER_SESSION", session.id().to_string())
            .stdin(Stdio::null())
            .spawn();
        match started {
            Ok(child) => Some(child),
            Err(error) => {
                note(self.args.quiet, &format!("cannot run the hook: {error}"));
                None
            }
        }
    }
}

/// A socket that is removed at the end.
struct Place(Option<PathBuf>);

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Listens at `host:port` or `unix:PATH`.
async fn listen(address: &str, shared: &Arc<Shared>) -> Result<Place, Failure> {
    let unable = |error: std::io::Error| {
        let text =
            format!("cannot serve at {address}: {error}; give a free HOST:PORT, or unix:PATH");
        Failure::Exit(OS_FAILED, text)
    };
    let shared = shared.clone();
    if let Some(path) = address.strip_prefix("unix:") {
        // One that a killed process has left behind.
        let left = std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
        if left && std::os::unix::net::UnixStream::connect(path).is_err() {
            let _ = std::fs::remove_file(path);
        }
        let listener = UnixListener::bind(path).map_err(unable)?;
        tokio::spawn(async move {
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => drop(tokio::spawn(converse(stream, shared.clone()))),
                    Err(_) => sleep(MARGIN).await,
                }
            }
        });
        return Ok(Place(Some(path.into())));
    }
    let listener = TcpListener::bind(address).await.map_err(unable)?;
    tokio::spawn(async move {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => drop(tokio::spawn(converse(stream, shared.clone()))),
                Err(_) => sleep(MARGIN).await,
            }
        }
    });
    Ok(Place(None))
}

async fn converse(stream: impl AsyncRead + AsyncWrite + Unpin, shared: Arc<Shared>) {
    let service = service_fn(move |request: Request<Incoming>| {
        let response = respond(&request, &shared);
        async move { Ok::<_, Infallible>(response) }
    });
    let connection = hyper::server::conn::http1::Builder::new();
    // A caller that closes the connection early wants no answer.
    let _ = connection.serve_connection(TokioIo::new(stream), service).await;
}

type Answered = Response<BoxBody<Bytes, Infallible>>;

fn respond(request: &Request<Incoming>, shared: &Arc<Shared>) -> Answered {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return text(StatusCode::METHOD_NOT_ALLOWED, "{\"error\":\"only GET is answered\"}\n");
    }
    match request.uri().path() {
        "/" => {
            let (held, answer) = shared.answer();
            text(if held { StatusCode::OK } else { StatusCode::CONFLICT }, answer)
        }
        "/ready" => match shared.is_ready() {
            true => text(StatusCode::OK, "{\"ready\":true}\n"),
            false => text(StatusCode::SERVICE_UNAVAILABLE, "{\"ready\":false}\n"),
        },
        "/watch" => stream(shared.clone()),
        _ => {
            let what = "{\"error\":\"there is no such path; ask for /, /watch or /ready\"}\n";
            text(StatusCode::NOT_FOUND, what)
        }
    }
}

fn text(status: StatusCode, body: impl Into<Bytes>) -> Answered {
    answer(status, "application/json", Full::new(body.into()).boxed())
}

fn answer(status: StatusCode, kind: &str, body: BoxBody<Bytes, Infallible>) -> Answered {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    if let Ok(kind) = kind.parse() {
        headers.insert("content-type", kind);
    }
    if let Ok(never) = "no-store".parse() {
        headers.insert("cache-control", never);
    }
    response
}

/// Lines, until the reader is gone.
struct Lines(mpsc::Receiver<Bytes>);

impl Body for Lines {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|line| line.map(|line| Ok(Frame::data(line))))
    }
}

fn stream(shared: Arc<Shared>) -> Answered {
    let (lines, taken) = mpsc::channel(16);
    tokio::spawn(async move {
        let mut state = shared.state.subscribe();
        let mut leader = None;
        loop {
            state.borrow_and_update();
            let (held, line) = shared.answer();
            // A caller that does not read in time is cut off, and asks again.
            if lines.try_send(Bytes::from(line)).is_err() {
                return;
            }
            let deadline = state.borrow().held.as_ref().map(|held| held.deadline());
            let ends = deadline.filter(|_| held).map(|at| certain(at, Clock::shared()));
            let beat = shared.ttl / 3;
            let again = match ends {
                Some(ends) => ends.min(beat) + Duration::from_millis(1),
                None => Duration::MAX,
            };
            let changed = async {
                loop {
                    sleep(MARGIN).await;
                    let now = shared.leader().map(|leader| (leader.token, leader.value));
                    if now != leader {
                        leader = now;
                        return;
                    }
                }
            };
            tokio::select! {
                change = state.changed() => if change.is_err() { return },
                () = sleep(again) => {}
                () = changed => {}
                () = lines.closed() => return,
            }
        }
    });
    answer(StatusCode::OK, "application/x-ndjson", Lines(taken).boxed())
}
