//! gRPC over one HTTP/2 connection: calls with one answer, and streams of messages in both directions.
//!
//! It is written out because it is short: a message is five bytes and its protobuf, and how a call ended stands in
//! the trailers. A general gRPC crate would bring a code generator and some twenty crates for eight calls.

use super::transport::Transport;
use bellwether_api::envelope::Message;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use h2::client::{ResponseFuture, SendRequest};
use h2::{RecvStream, SendStream};
use http::{HeaderMap, HeaderValue, Method, Request};
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

/// The longest answer that is taken: far more than a queue of ten thousand keys.
const LONGEST: usize = 16 * 1024 * 1024;
/// How much may be under way to this client, all answers together.
const WINDOW: u32 = 4 * 1024 * 1024;

/// Why a call has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The connection is of no use any more.
    Broken(String),
    /// The server answered that it could not do it.
    Status(Code, String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Broken(why) => f.write_str(why),
            Fault::Status(_, text) => f.write_str(text),
        }
    }
}

/// The codes of gRPC that matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    InvalidArgument,
    NotFound,
    PermissionDenied,
    FailedPrecondition,
    /// No leader, or it changes, or too slow: passes by itself.
    Unavailable,
    Unauthenticated,
    Other(u32),
}

impl Code {
    fn of(number: u32) -> Self {
        match number {
            3 => Code::InvalidArgument,
            5 => Code::NotFound,
            7 => Code::PermissionDenied,
            9 => Code::FailedPrecondition,
            // Cancelled, deadline exceeded, resource exhausted, aborted, unavailable: all pass.
            1 | 4 | 8 | 10 | 14 => Code::Unavailable,
            16 => Code::Unauthenticated,
            other => Code::Other(other),
        }
    }
}

/// A connection; clones share it.
#[derive(Clone)]
pub(crate) struct Channel {
    requests: SendRequest<Bytes>,
    authority: String,
    scheme: &'static str,
    token: Option<HeaderValue>,
    /// How long a call may take.
    within: Duration,
    /// Turns true when the connection has ended.
    closed: watch::Receiver<bool>,
}

impl Channel {
    /// Begins to speak HTTP/2.
    pub(crate) async fn open(
        io: Transport,
        authority: &str,
        within: Duration,
    ) -> Result<Channel, Fault> {
        let scheme = if io.is_encrypted() { "https" } else { "http" };
        let handshake = h2::client::Builder::new()
            .initial_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .handshake(io);
        let (requests, connection) = timeout(within, handshake)
            .await
            .map_err(|_| Fault::Broken("it does not answer".to_owned()))?
            .map_err(|error| broken(&error))?;
        let (ended, closed) = watch::channel(false);
        tokio::spawn(async move {
            // How it ended is told to those who wait for answers.
            let _ = connection.await;
            ended.send_replace(true);
        });
        let authority = authority.to_owned();
        Ok(Channel { requests, authority, scheme, token: None, within, closed })
    }

    /// All further calls show this token.
    pub(crate) fn authenticated(mut self, token: &str) -> Self {
        self.token = HeaderValue::from_str(token).ok();
        self
    }

    /// Waits until the connection has ended.
    pub(crate) async fn closed(&self) {
        let mut closed = self.closed.clone();
        let _ = closed.wait_for(|closed| *closed).await;
    }

    async fn call(&self, path: &str) -> Result<(ResponseFuture, SendStream<Bytes>), Fault> {
        let uri = format!("{}://{}/{path}", self.scheme, self.authority);
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(uri)
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            // A server that is cut off from the others says so instead of keeping watches open.
            .header("hasleader", "true");
        if let Some(token) = &self.token {
            request = request.header("token", token);
        }
        let request = request.body(()).map_err(|error| Fault::Broken(error.to_string()))?;
        let ready = self.requests.clone().ready().await.map_err(|error| broken(&error))?;
        { ready }.send_request(request, false).map_err(|error| broken(&error))
    }

    /// A call with one answer.
    pub(crate) async fn unary<A: Message + Default>(
        &self,
        path: &str,
        ask: &impl Message,
    ) -> Result<A, Fault> {
        let call = async {
            let (response, mut out) = self.call(path).await?;
            out.send_data(framed(ask), true).map_err(|error| broken(&error))?;
            let mut answers = Answers::begin(response).await?;
            let answer = answers.next().await?;
            answer.ok_or_else(|| Fault::Broken("it answered nothing".to_owned()))
        };
        let late = |_| Fault::Broken(format!("it did not answer within {:?}", self.within));
        timeout(self.within, call).await.map_err(late)?
    }

    /// A stream of messages in both directions.
    pub(crate) async fn stream<Q: Message, A: Message + Default>(
        &self,
        path: &str,
    ) -> Result<(Questions<Q>, ComingAnswers<A>), Fault> {
        let (response, out) = self.call(path).await?;
        Ok((Questions { out, of: PhantomData }, ComingAnswers { response, of: PhantomData }))
    }
}

/// Where the messages of a stream are sent.
pub(crate) struct Questions<Q> {
    out: SendStream<Bytes>,
    of: PhantomData<fn(Q)>,
}

impl<Q: Message> Questions<Q> {
    pub(crate) fn send(&mut self, ask: &Q) -> Result<(), Fault> {
        self.out.send_data(framed(ask), false).map_err(|error| broken(&error))
    }
}

/// A stream whose server has not said anything yet.
pub(crate) struct ComingAnswers<A> {
    response: ResponseFuture,
    of: PhantomData<fn() -> A>,
}

impl<A: Message + Default> ComingAnswers<A> {
    pub(crate) async fn begin(self) -> Result<Answers<A>, Fault> {
        Answers::begin(self.response).await
    }
}

/// What a server answers.
pub(crate) struct Answers<A> {
    body: RecvStream,
    bytes: BytesMut,
    of: PhantomData<fn() -> A>,
}

impl<A: Message + Default> Answers<A> {
    async fn begin(response: ResponseFuture) -> Result<Self, Fault> {
        let response = response.await.map_err(|error| broken(&error))?;
        if response.status() != 200 {
            let what = format!("it does not speak etcd's API (HTTP status {})", response.status());
            return Err(Fault::Broken(what));
        }
        status(response.headers())?;
        Ok(Answers { body: response.into_body(), bytes: BytesMut::new(), of: PhantomData })
    }

    /// The next message; none, if the stream has ended well.
    pub(crate) async fn next(&mut self) -> Result<Option<A>, Fault> {
        loop {
            if let Some(message) = self.take()? {
                return Ok(Some(message));
            }
            match self.body.data().await {
                Some(Ok(data)) => {
                    let _ = self.body.flow_control().release_capacity(data.len());
                    self.bytes.extend_from_slice(&data);
                }
                Some(Err(error)) => return Err(broken(&error)),
                None => {
                    let trailers = self.body.trailers().await.map_err(|error| broken(&error))?;
                    status(&trailers.unwrap_or_default())?;
                    return Ok(None);
                }
            }
        }
    }

    fn take(&mut self) -> Result<Option<A>, Fault> {
        let Some((head, _)) = self.bytes.split_first_chunk::<5>() else { return Ok(None) };
        let [compressed, length @ ..] = *head;
        let length = u32::from_be_bytes(length) as usize;
        if compressed != 0 || length > LONGEST {
            return Err(Fault::Broken("it sent a message that cannot be read".to_owned()));
        }
        if self.bytes.len() < 5 + length {
            return Ok(None);
        }
        self.bytes.advance(5);
        let message = self.bytes.split_to(length);
        let unreadable = |error| Fault::Broken(format!("it sent what cannot be read: {error}"));
        A::decode(message.freeze()).map(Some).map_err(unreadable)
    }
}

pub(super) fn framed(message: &impl Message) -> Bytes {
    let length = message.encoded_len();
    let mut bytes = BytesMut::with_capacity(5 + length);
    bytes.put_u8(0);
    bytes.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
    // There is room for it.
    let _ = message.encode(&mut bytes);
    bytes.freeze()
}

/// How a call ended, as headers or trailers tell.
fn status(headers: &HeaderMap) -> Result<(), Fault> {
    let Some(code) = headers.get("grpc-status") else { return Ok(()) };
    match code.to_str().ok().and_then(|code| code.parse().ok()) {
        Some(0) => Ok(()),
        code => {
            let text = headers.get("grpc-message").map(HeaderValue::as_bytes).unwrap_or_default();
            Err(Fault::Status(Code::of(code.unwrap_or(2)), unescaped(text)))
        }
    }
}

/// A text in which `%41` stands for A.
fn unescaped(text: &[u8]) -> String {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        let code = after.get(..2).filter(|_| first == b'%');
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => bytes.push(first),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn broken(error: &h2::Error) -> Fault {
    Fault::Broken(match error.get_io() {
        Some(error) => error.to_string(),
        None => error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_from_headers() {
        let mut headers = HeaderMap::new();
        assert_eq!(status(&headers), Ok(()));
        headers.insert("grpc-status", HeaderValue::from_static("5"));
        headers.insert("grpc-message", HeaderValue::from_static("no%20lease %zz 100%"));
        let fault = Fault::Status(Code::NotFound, "no lease %zz 100%".to_owned());
        assert_eq!(status(&headers), Err(fault));
        headers.insert("grpc-status", HeaderValue::from_static("0"));
        assert_eq!(status(&headers), Ok(()));
        headers.insert("grpc-status", HeaderValue::from_static("x"));
        assert!(matches!(status(&headers), Err(Fault::Status(Code::Other(2), _))));
    }
}
