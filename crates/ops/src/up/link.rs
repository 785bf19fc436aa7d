//! Asking one member again and again over one connection.

use crate::asking::Address;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::HOST;
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// No answer is larger, in bytes.
const ANSWER_MAX: usize = 1 << 20;

/// A connection that is opened when it is needed and kept while it works.
pub struct Link {
    address: Address,
    open: Option<(SendRequest<Empty<Bytes>>, JoinHandle<()>)>,
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
        let answer = timeout(within, self.exchange(path)).await.ok().flatten();
        if answer.is_none() {
            // Whatever is still to come on this connection answers a question of the past.
            self.close();
        }
        answer
    }

    async fn exchange(&mut self, path: &str) -> Option<Bytes> {
        let sender = match &mut self.open {
            Some((sender, _)) => sender,
            None => {
                let stream = TcpStream::connect(self.address.to_string()).await.ok()?;
                stream.set_nodelay(true).ok()?;
                let (sender, connection) = handshake(TokioIo::new(stream)).await.ok()?;
                let driver = tokio::spawn(async move {
                    // Its end shows in the next request.
                    let _ = connection.await;
                });
                &mut self.open.insert((sender, driver)).0
            }
        };
        let request = Request::get(path).header(HOST, self.address.to_string());
        let request = request.body(Empty::new()).ok()?;
        sender.ready().await.ok()?;
        let response = sender.send_request(request).await.ok()?;
        let fine = response.status().is_success();
        let body = Limited::new(response.into_body(), ANSWER_MAX).collect().await.ok()?;
        fine.then(|| body.to_bytes())
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
