//! Who asks something of this member, as the member itself has made sure of it, and what they may do.
//!
//! * A request in a session carries the key of the session. The coordinator compares it (D7).
//! * All else that changes something is for operators: to take a lock away, to end the session of another,
//!   to command a member. Over HTTP an operator shows the [operator token](crate::operator); over the
//!   Unix socket it is a process of the member's own user, or of root. A client's certificate makes
//!   no operator.
//!
//! Permissions by name are to come. They belong into [`Caller::may_operate`]: it knows the name that a
//! certificate or the system proves.

use crate::operator::OperatorToken;
use axum::extract::{ConnectInfo, FromRef, FromRequestParts};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use bellwether_coordination::Secret;
use bellwether_http::ErrorResponse;
use rustix::process::geteuid;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Who is at the other end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// A client over the network.
    Certificate {
        /// The name in its certificate.
        name: String,
        /// From where.
        from: SocketAddr,
    },
    /// A process of this host, by the Unix socket.
    Process {
        /// Its user; not known if the system does not say.
        uid: Option<u32>,
        /// Its number; not known if it is of another namespace.
        pid: Option<u32>,
    },
    /// A program that speaks HTTP.
    Http {
        /// From where, if that is known.
        from: Option<SocketAddr>,
        /// Whether it has shown the operator token.
        operator: bool,
    },
}

impl Caller {
    /// Whether it may do what is for operators.
    pub(crate) fn may_operate(&self) -> bool {
        match self {
            Caller::Certificate { .. } => false,
            Caller::Process { uid, .. } => {
                uid.is_some_and(|uid| uid == 0 || uid == geteuid().as_raw())
            }
            Caller::Http { operator, .. } => *operator,
        }
    }

    /// Whose sessions its sessions count among.
    pub(crate) fn identity(&self) -> Identity {
        match self {
            Caller::Certificate { name, .. } => Identity::Certificate(name.clone()),
            Caller::Process { uid, .. } => Identity::User(*uid),
            Caller::Http { from, .. } => Identity::Host(from.map(|from| host(from.ip()))),
        }
    }
}

/// Who a client is, by what its connection proves and not by what it calls itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Identity {
    /// The name in its certificate.
    Certificate(String),
    /// The user of its process, on this host.
    User(Option<u32>),
    /// Where it comes from: HTTP proves nothing more.
    Host(Option<IpAddr>),
}

/// A host of version 6 has a whole network of addresses to choose from.
fn host(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address => address,
    }
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Caller::Certificate { name, from } => write!(f, "client '{name}' at {from}"),
            Caller::Process { uid, pid } => {
                match uid {
                    Some(uid) => write!(f, "user {uid}")?,
                    None => f.write_str("an unknown user")?,
                }
                pid.map_or(Ok(()), |pid| write!(f, ", process {pid}"))?;
                f.write_str(", by the Unix socket")
            }
            Caller::Http { from, operator } => {
                f.write_str(if *operator { "operator" } else { "HTTP client" })?;
                match from {
                    Some(from) => write!(f, " at {from}"),
                    None => f.write_str(" at an unknown address"),
                }
            }
        }
    }
}

/// What came with a request over HTTP: from where, and the secret that was shown, if one was.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    from: Option<SocketAddr>,
    secret: Option<Secret>,
    /// What was asked for, for the log.
    request: String,
}

impl Shown {
    fn of(parts: &Parts) -> Result<Shown, ErrorResponse> {
        let from = parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(from)| *from);
        let request = format!("{} {}", parts.method, parts.uri.path());
        Ok(Shown { from, secret: bearer(&parts.headers)?, request })
    }

    /// The session's key, which must be there.
    pub(crate) fn key(&self) -> Result<Secret, ErrorResponse> {
        self.secret.ok_or_else(|| {
            let hint = "send the header Authorization: Bearer KEY, with the 'key' that POST /v1/sessions \
                        answered";
            let error = "the request carries no session key";
            self.refused(StatusCode::UNAUTHORIZED, "no-key", error, hint)
        })
    }

    /// Who asks, by this token.
    pub(crate) fn caller(&self, token: OperatorToken) -> Caller {
        let operator = self.secret.is_some_and(|shown| token.matches(shown));
        Caller::Http { from: self.from, operator }
    }

    /// Makes sure that an operator asks.
    pub(crate) fn operator(&self, token: OperatorToken) -> Result<Caller, ErrorResponse> {
        let caller = self.caller(token);
        if caller.may_operate() {
            return Ok(caller);
        }
        let (status, code, error) = match self.secret {
            None => (
                StatusCode::UNAUTHORIZED,
                "no-operator-token",
                "only operators may do this, and the request carries no operator token",
            ),
            Some(_) => (
                StatusCode::FORBIDDEN,
                "wrong-operator-token",
                "only operators may do this, and the request does not carry this member's \
                 operator token",
            ),
        };
        let hint = "send the header Authorization: Bearer TOKEN, with what is in the file \
                    'operator_token' of the member's configuration (operator.token in its data folder, \
                    for its own user alone)";
        Err(self.refused(status, code, error, hint))
    }

    /// Logs that it was refused, and why.
    pub(crate) fn log_refused(&self, why: &str) {
        let caller = Caller::Http { from: self.from, operator: false };
        tracing::warn!("refused: {} by {caller}: {why}", self.request);
    }

    /// A refusal, which is logged.
    fn refused(&self, status: StatusCode, code: &str, error: &str, hint: &str) -> ErrorResponse {
        self.log_refused(error);
        ErrorResponse::new(status, error, Some(hint)).coded(code)
    }
}

/// The secret of `Authorization: Bearer`.
fn bearer(headers: &HeaderMap) -> Result<Option<Secret>, ErrorResponse> {
    let Some(given) = headers.get(header::AUTHORIZATION) else { return Ok(None) };
    let words = given.to_str().ok().and_then(|text| text.split_once(' '));
    let secret = words.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let secret = secret.and_then(|(_, secret)| secret.trim().parse().ok());
    let malformed = || {
        let error = "the header Authorization is not understood";
        let hint = "it is the word Bearer and thirty-two hexadecimal digits: a session's key, or the \
                    operator token";
        ErrorResponse::new(StatusCode::UNAUTHORIZED, error, Some(hint)).coded("bad-authorization")
    };
    secret.map(Some).ok_or_else(malformed)
}

impl<S: Sync> FromRequestParts<S> for Shown {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ErrorResponse> {
        Shown::of(parts)
    }
}

/// An operator who asks over HTTP. All others are refused.
#[derive(Clone, Debug)]
pub(crate) struct Operator(pub(crate) Caller);

impl<S: Sync> FromRequestParts<S> for Operator
where
    OperatorToken: FromRef<S>,
{
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ErrorResponse> {
        Shown::of(parts)?.operator(OperatorToken::from_ref(state)).map(Operator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_the_members_user_root_and_those_with_the_token() {
        let from = "127.0.0.1:9".parse().unwrap();
        let me = geteuid().as_raw();
        let process = |uid| Caller::Process { uid, pid: Some(7) };
        for (caller, may, words) in [
            (process(Some(me)), true, format!("user {me}, process 7, by the Unix socket")),
            (process(Some(0)), true, "user 0, process 7, by the Unix socket".to_owned()),
            (
                process(Some(me + 1)),
                false,
                format!("user {}, process 7, by the Unix socket", me + 1),
            ),
            (process(None), false, "an unknown user, process 7, by the Unix socket".to_owned()),
            (
                Caller::Certificate { name: "app".to_owned(), from },
                false,
                "client 'app' at 127.0.0.1:9".to_owned(),
            ),
            (
                Caller::Http { from: Some(from), operator: true },
                true,
                "operator at 127.0.0.1:9".to_owned(),
            ),
            (
                Caller::Http { from: None, operator: false },
                false,
                "HTTP client at an unknown address".to_owned(),
            ),
        ] {
            assert_eq!((caller.may_operate(), caller.to_string()), (may, words));
        }
    }

    #[test]
    fn a_host_has_one_identity_over_http() {
        let of = |text: &str| host(text.parse().unwrap()).to_string();
        assert_eq!(of("127.0.0.1"), "127.0.0.1");
        assert_eq!(of("::ffff:10.0.0.7"), "10.0.0.7");
        assert_eq!(of("2001:db8:1:2:3:4:5:6"), of("2001:db8:1:2::9"));
        assert_ne!(of("2001:db8:1:2::9"), of("2001:db8:1:3::9"));
    }

    #[test]
    fn a_secret_travels_as_a_bearer_token() {
        let of = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, header::HeaderValue::from_static(text));
            bearer(&headers).map_err(|refusal| refusal.problem().clone())
        };
        assert_eq!(bearer(&HeaderMap::new()).unwrap(), None);
        for text in
            ["Bearer 00000000000000000000000000000007", "bearer  00000000000000000000000000000007"]
        {
            assert_eq!(of(text), Ok(Some(Secret(7))), "{text}");
        }
        for text in ["Basic YTpi", "Bearer", "Bearer 7", "Bearer +0000000000000000000000000000007"]
        {
            let problem = of(text).unwrap_err();
            assert_eq!(problem.code.as_deref(), Some("bad-authorization"), "{text}");
        }
    }
}
