#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;
use axum::routing::{get, post};
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;

/// A guard against hanging, never reached when all is well.
const PATIENCE: Duration = Duration::from_secs(60);

/// A large answer: more than the buffers of a connection take.
const LARGE: usize = 16 << 20;

/// What the handlers of a test share with it.
#[derive(Default)]
struct Handlers {
    /// How many large answers were asked for.
    lists: AtomicUsize,
    /// Lets those that wait go on.
    go_on: Notify,
}

fn places(kind: Kind) -> usize {
    match kind {
        Kind::Plain | Kind::Vital | Kind::Stream => 2,
        Kind::List | Kind::Wait => 1,
    }
}

/// Few places, and all the time in the world.
fn few() -> Limits {
    let connections = 10;
    let place_within = Duration::from_millis(200);
    let [head_within, body_within, stalled_after] = [10 * PATIENCE; 3];
    Limits { connections, places, head_within, body_within, place_within, stalled_after }
}

async fn start(limits: Limits) -> (SocketAddr, Arc<Handlers>) {
    let handlers = Arc::new(Handlers::default());
    let (lists, waits) = (handlers.clone(), handlers.clone());
    let router = Router::new()
        .route("/plain", post(async |body: String| format!("{} bytes", body.len())))
        .route("/vital", get(async || "well"))
        .route("/stream", get(async || ([(CONTENT_TYPE, "text/event-stream")], silence())))
        .route("/wait", get(async move || waits.go_on.notified().await))
        .route(
            "/list",
            get(async move || {
                lists.lists.fetch_add(1, Ordering::Relaxed);
                vec![b'x'; LARGE]
            }),
        );
    let kind = |_: &Method, path: &str| match path {
        "/vital" => Kind::Vital,
        "/list" => Kind::List,
        "/wait" => Kind::Wait,
        _ => Kind::Plain,
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(Server::new(router).kinds(kind).limits(limits).serve(listener));
    (address, handlers)
}

/// A body that never ends, and says nothing.
fn silence() -> Body {
    struct Silence;
    impl axum::body::HttpBody for Silence {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Result<hyper::body::Frame<Bytes>, Infallible>>> {
            std::task::Poll::Pending
        }
    }
    Body::new(Silence)
}

async fn say(address: SocketAddr, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

fn get_of(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

/// All that comes until the server closes the connection.
async fn rest(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    // One that is cut off may be reset, too.
    let _ = timeout(PATIENCE, stream.read_to_end(&mut answer)).await.unwrap();
    String::from_utf8(answer).unwrap()
}

/// The beginning of what comes, until it has this in it.
async fn until(stream: &mut TcpStream, what: &str) -> String {
    let mut answer = String::new();
    while !answer.contains(what) {
        let mut some = [0; 4096];
        let count = timeout(PATIENCE, stream.read(&mut some)).await.unwrap().unwrap();
        assert!(count > 0, "no '{what}' in: {answer}");
        answer += std::str::from_utf8(&some[..count]).unwrap();
    }
    answer
}

async fn is_served(address: SocketAddr) {
    until(&mut say(address, &get_of("/vital")).await, "well").await;
}

#[tokio::test]
async fn the_connection_that_was_idle_for_longest_gives_way() {
    let (address, _) = start(few()).await;
    let mut idle = Vec::new();
    for said in ["", "GET /vi", "POST /plain HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf"]
    {
        idle.push(say(address, said).await);
    }
    for _ in 0..30 {
        idle.push(say(address, "").await);
    }
    is_served(address).await;
    for early in &mut idle[..20] {
        assert_eq!(rest(early).await, "");
    }
}

#[tokio::test]
async fn a_head_that_does_not_come_is_not_waited_for() {
    let (address, _) = start(Limits { head_within: Duration::from_millis(50), ..few() }).await;
    assert_eq!(rest(&mut say(address, "GET /vital HT").await).await, "");
    let mut polite = say(address, &get_of("/vital")).await;
    assert!(rest(&mut polite).await.ends_with("well"), "and then it is idle, and closed");
}

#[tokio::test]
async fn a_body_that_does_not_come_or_is_too_large_is_refused() {
    let (address, _) = start(Limits { body_within: Duration::from_millis(50), ..few() }).await;
    let head =
        |length| format!("POST /plain HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n");
    let answer = rest(&mut say(address, &(head(9) + "half")).await).await;
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("slow-body"), "{answer}");
    let answer = rest(&mut say(address, &head(BODY_MAX + 1)).await).await;
    assert!(answer.starts_with("HTTP/1.1 413") && answer.contains("body-too-large"), "{answer}");
    let most = head(BODY_MAX) + &"x".repeat(BODY_MAX);
    until(&mut say(address, &most).await, &format!("{BODY_MAX} bytes")).await;
}

#[tokio::test]
async fn those_that_wait_or_listen_take_no_places_of_others() {
    let (address, handlers) = start(few()).await;
    let mut waits = say(address, &get_of("/wait")).await;
    let mut streams = Vec::new();
    for _ in 0..2 {
        streams.push(say(address, &get_of("/stream")).await);
        until(streams.last_mut().unwrap(), "text/event-stream").await;
    }
    for (path, most) in
        [("/wait", "limit of 1 waiting requests"), ("/stream", "limit of 2 open streams")]
    {
        let answer = until(&mut say(address, &get_of(path)).await, "\"crowded\"").await;
        assert!(answer.starts_with("HTTP/1.1 503") && answer.contains(most), "{answer}");
        assert!(answer.contains("retry-after: 1"), "{answer}");
    }
    // Neither gives way to connections that do nothing.
    let mut idle = Vec::new();
    for _ in 0..30 {
        idle.push(say(address, "").await);
        is_served(address).await;
    }
    drop(streams);
    until(&mut say(address, &get_of("/stream")).await, "text/event-stream").await;
    handlers.go_on.notify_waiters();
    until(&mut waits, "200 OK").await;
}

#[tokio::test]
async fn answers_that_are_not_read_do_not_pile_up_and_give_way() {
    let (address, handlers) = start(few()).await;
    let mut deaf = say(address, &get_of("/list").repeat(100)).await;
    for _ in 0..100 {
        is_served(address).await;
    }
    assert_eq!(handlers.lists.load(Ordering::Relaxed), 1);
    let mut next = say(address, &get_of("/list")).await;
    let mut answer = vec![0; LARGE];
    timeout(PATIENCE, next.read_exact(&mut answer)).await.unwrap().unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200"));
    assert!(rest(&mut deaf).await.len() < LARGE, "it was cut off for the next");
}

#[tokio::test]
async fn a_peer_that_takes_too_little_is_cut_off() {
    let limits = Limits { stalled_after: Duration::from_millis(100), ..few() };
    let (address, handlers) = start(Limits { place_within: 10 * PATIENCE, ..limits }).await;
    let deaf = say(address, &get_of("/list")).await;
    let mut next = say(address, &get_of("/list")).await;
    let mut answer = vec![0; LARGE];
    timeout(PATIENCE, next.read_exact(&mut answer)).await.unwrap().unwrap();
    assert_eq!(handlers.lists.load(Ordering::Relaxed), 2);
    drop(deaf);
}
