//! Asking a member over HTTP.

use crate::up::link::Link;
use bellwether_api::json::Problem;
use bellwether_shell::Failure;
use hyper::body::Bytes;
use hyper::{Method, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::time::Duration;
use tokio::time::timeout;

/// A member on a busy host may take a moment; one that takes longer hangs.
pub(crate) const ANSWERS_WITHIN: Duration = Duration::from_secs(3);

/// Where a member answers: `host:port`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(String);

impl Address {
    /// Reads `host:port`, with or without `http://` before it.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let plain = text.strip_prefix("http://").unwrap_or(text).trim_end_matches('/');
        let fine = match plain.rsplit_once(':') {
            Some((host, port)) => {
                let plain = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
                !host.is_empty()
                    && host.chars().all(plain)
                    && matches!(port.parse::<u16>(), Ok(1..))
            }
            None => false,
        };
        if fine {
            return Ok(Address(plain.to_owned()));
        }
        let what = format!(
            "'{text}' is not the HTTP address of a member; give a host and a port, such as \
             127.0.0.1:7480 ('http' in the member's configuration)"
        );
        Err(Failure::flag("address", what))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub enum Unanswered {
    /// No server is there, or none that speaks HTTP.
    NoAnswer(Address, String),
    /// The member refuses.
    Refused(Address, StatusCode, Problem),
    /// The answer is not a member's.
    Strange(Address, String),
    /// Another engine than members could not answer; with the exit code for it.
    Engine(u8, String),
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unanswered::NoAnswer(address, why) => write!(
                f,
                "no member answers at http://{address}: {why}; is it running, and is this its \
                 HTTP address? Name another one with --address or BELLWETHER_HTTP, or start a \
                 cluster on this host with `bellwether up`"
            ),
            Unanswered::Refused(address, status, problem) => {
                write!(f, "the member at http://{address} says {}: ", status.as_u16())?;
                f.write_str(&problem.error)?;
                match problem.code.as_deref() {
                    Some("no-operator-token" | "wrong-operator-token") => f.write_str(
                        "; name the file of the token with --operator-token or \
                         BELLWETHER_OPERATOR_TOKEN. It is operator.token in the member's data folder, and \
                         only the member's own user may read it",
                    ),
                    _ => problem.hint.as_ref().map_or(Ok(()), |hint| write!(f, "; {hint}")),
                }
            }
            Unanswered::Strange(address, why) => write!(
                f,
                "the server at http://{address} is not a member of this version: {why}; name \
                 another one with --address or BELLWETHER_HTTP"
            ),
            Unanswered::Engine(_, why) => f.write_str(why),
        }
    }
}

impl Unanswered {
    /// What a command ends with: the codes of `campaign` and `lock`, where they have one for the same.
    fn exit_code(&self) -> u8 {
        let word = match self {
            Unanswered::NoAnswer(..) => return 69,
            Unanswered::Strange(..) => return 65,
            Unanswered::Engine(code, _) => return *code,
            Unanswered::Refused(_, _, problem) => problem.code.as_deref().unwrap_or_default(),
        };
        match word {
            "no-coordinator" | "not-coordinator" | "no-answer" | "no-copy" => 70,
            "no-session" => 71,
            "not-holder" => 72,
            "bad-name" => 74,
            "no-operator-token" | "wrong-operator-token" | "no-key" | "wrong-key" => 77,
            "stale-token" => 82,
            "change-under-way" => 84,
            "members-fixed" => 85,
            "unknown-member" => 86,
            "address-taken" => 87,
            "last-voter" => 88,
            "too-few-work" => 89,
            "hands-over" => 90,
            "not-committed" => 91,
            "bad-address" => 92,
            "votes-already" => 93,
            _ => 65,
        }
    }
}

impl From<Unanswered> for Failure {
    fn from(unanswered: Unanswered) -> Self {
        Failure::Exit(unanswered.exit_code(), unanswered.to_string())
    }
}

/// Asks for something.
pub async fn get<T: DeserializeOwned>(address: &Address, path: &str) -> Result<T, Unanswered> {
    ask(address, path, ANSWERS_WITHIN).await?.read()
}

/// Asks for something, and waits for this long.
pub(crate) async fn ask(
    address: &Address,
    path: &str,
    patience: Duration,
) -> Result<Reply, Unanswered> {
    call(address, Method::GET, path, Sent::default(), patience).await
}

/// Commands something, and shows this secret, if there is one: a session's key or an operator token.
pub async fn post<B: Serialize, T: DeserializeOwned>(
    address: &Address,
    path: &str,
    secret: Option<&str>,
    body: &B,
) -> Result<T, Unanswered> {
    order(address, path, secret, json(body)).await?.read()
}

/// The same with a body in JSON.
pub(crate) async fn order(
    address: &Address,
    path: &str,
    secret: Option<&str>,
    body: Bytes,
) -> Result<Reply, Unanswered> {
    call(address, Method::POST, path, Sent { secret, body }, ANSWERS_WITHIN).await
}

/// A body in JSON.
pub(crate) fn json(body: &impl Serialize) -> Bytes {
    serde_json::to_vec(body).unwrap_or_default().into()
}

/// An answer that was not read yet: how it came is compiled once, for all that is asked for.
pub(crate) struct Reply {
    /// The member that answered; nobody if the answer is our own word for an etcd cluster.
    pub(crate) from: Option<Address>,
    pub(crate) body: Bytes,
}

impl Reply {
    /// What it says.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, Unanswered> {
        serde_json::from_slice(&self.body).map_err(|why| self.strange(&why))
    }

    fn strange(&self, why: &serde_json::Error) -> Unanswered {
        match &self.from {
            Some(address) => Unanswered::Strange(address.clone(), why.to_string()),
            None => Unanswered::Engine(65, why.to_string()),
        }
    }
}

/// What goes with a request.
#[derive(Default)]
pub(crate) struct Sent<'a> {
    /// What shows that it may be made.
    pub(crate) secret: Option<&'a str>,
    pub(crate) body: Bytes,
}

async fn call(
    address: &Address,
    method: Method,
    path: &str,
    sent: Sent<'_>,
    patience: Duration,
) -> Result<Reply, Unanswered> {
    let no_answer = |why: String| Unanswered::NoAnswer(address.clone(), why);
    let late = |_| no_answer(format!("no answer within {patience:?}"));
    let mut link = Link::new(address.clone());
    let (status, body) = timeout(patience, link.exchange(method, path, sent))
        .await
        .map_err(late)?
        .map_err(no_answer)?;
    if status.is_success() {
        return Ok(Reply { from: Some(address.clone()), body });
    }
    Err(refusal(address, status, &body))
}

/// Why a member refuses, from its answer.
pub(crate) fn refusal(address: &Address, status: StatusCode, body: &[u8]) -> Unanswered {
    match serde_json::from_slice(body) {
        Ok(problem) => Unanswered::Refused(address.clone(), status, problem),
        Err(why) => Unanswered::Strange(address.clone(), why.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_a_port() {
        for good in ["127.0.0.1:7480", "http://127.0.0.1:7480/", "host-1:80", "[::1]:7480"] {
            assert!(Address::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "7480", "host", "host:0", "host:70000", "https://h:1", "off", "h:1/x"] {
            let complaint = Address::parse(bad).unwrap_err().to_string();
            assert!(complaint.contains("127.0.0.1:7480"), "{bad}: {complaint}");
        }
    }
}
