//! Asking one member again and again over one connection.

use crate::asking::{Address, Sent};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use std::io::ErrorKind;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// No answer is larger, in bytes.
const ANSWER_MAX: usize = 8 << 20;

/// A connection that is opened when it is needed and kept while it works.
pub struct Link {
    address: Address,
    open: Option<(SendRequest<Full<Bytes>>, JoinHandle<()>)>,
}

impl Link {
    /// A connection to this member, not open yet.
    #[must_use]
    pub fn new(address: Address) -> Self {
        Link { address, open: None }
    }

    /// Asks; nothing if there is no answer in time, or none that is understood.
    pub async fn get<T: DeserializeOwned>(&mut self, path: &str, within: Duration) -> Option<T> {
        let bytes = self.get_text(path, within).await?;
        serde_json::from_slice(&bytes).ok()
    }

    /// The same for what is no JSON.
    pub async fn get_text(&mut self, path: &str, within: Duration) -> Option<Bytes> {
        let answer = timeout(within, self.exchange(Method::GET, path, Sent::default())).await;
        let answer = answer.ok().and_then(Result::ok);
        if answer.is_none() {
            // Whatever is still to come on this connection answers a question of the past.
            self.close();
        }
        answer.filter(|(status, _)| status.is_success()).map(|(_, body)| body)
    }

    /// Where it goes.
    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// Sends a request and collects the answer; or says why not.
    pub(crate) async fn exchange(
        &mut self,
        method: Method,
        path: &str,
        sent: Sent<'_>,
    ) -> Result<(StatusCode, Bytes), String> {
        let response = self.request(method, path, sent).await?;
        let status = response.status();
        let body = Limited::new(response.into_body(), ANSWER_MAX).collect().await;
        Ok((status, body.map_err(|error| error.to_string())?.to_bytes()))
    }

    /// Sends a request over the connection, which is opened if it is not; or says why not.
    pub(crate) async fn request(
        &mut self,
        method: Method,
        path: &str,
        sent: Sent<'_>,
    ) -> Result<Response<Incoming>, String> {
        let plain = |error: hyper::Error| error.to_string();
        // A server closes a connection that has been idle for some time.
        if self.open.as_ref().is_some_and(|(sender, _)| sender.is_closed()) {
            self.close();
        }
        let sender = match &mut self.open {
            Some((sender, _)) => sender,
            None => {
                let stream = TcpStream::connect(self.address.to_string()).await;
                let stream = stream.map_err(|error| match error.kind() {
                    ErrorKind::ConnectionRefused => "connection refused".to_owned(),
                    _ => error.to_string(),
                })?;
                stream.set_nodelay(true).map_err(|error| error.to_string())?;
                let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(plain)?;
                let driver = tokio::spawn(async move {
                    // Its end shows in the next request.
                    let _ = connection.await;
                });
                &mut self.open.insert((sender, driver)).0
            }
        };
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, self.address.to_string())
            .header(CONTENT_TYPE, "application/json");
        if let Some(secret) = sent.secret {
            request = request.header(AUTHORIZATION, format!("Bearer {secret}"));
        }
        let request = request.body(Full::new(sent.body)).map_err(|error| error.to_string())?;
        sender.ready().await.map_err(plain)?;
        sender.send_request(request).await.map_err(plain)
    }

    /// Forgets the connection.
    pub fn close(&mut self) {
        if let Some((_, driver)) = self.open.take() {
            driver.abort();
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    #[tokio::test]
    async fn a_connection_that_the_server_has_closed_is_opened_again() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = thread::spawn(move || {
            for _ in 0..2 {
                let (mut stream, _) = listener.accept().unwrap();
                let _ = stream.read(&mut [0; 4096]).unwrap();
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").unwrap();
            }
        });
        let mut link = Link::new(Address::parse(&address).unwrap());
        let within = Duration::from_secs(10);
        assert_eq!(link.get_text("/", within).await.as_deref(), Some(b"{}".as_slice()));
        while !link.open.as_ref().unwrap().0.is_closed() {
            tokio::task::yield_now().await;
        }
        assert_eq!(link.get_text("/", within).await.as_deref(), Some(b"{}".as_slice()));
        server.join().unwrap();
    }
}
