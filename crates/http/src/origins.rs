//! Which pages in a browser may ask, and which may command.
//!
//! Every client that reaches HTTP may read, and a browser sends whatever a page tells it to, with the reach of
//! the person who looks at the page. So a request that changes something must come from a page of
//! this very server, or from a program that is no browser. A dashboard goes on with another member
//! when its own is gone: for that, the pages of the members of one cluster may *read* each other.
//!
//! The page of a stranger can also seem to be ours: its name is made to point to this address after the page
//! was loaded (DNS rebinding). Then the browser says no origin, but the name is in `Host`. So a request,
//! for reading too, must name the server by an address or by a name that it is known by.

use crate::error::ErrorResponse;
use axum::extract::{Request, State};
use axum::http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, HOST, ORIGIN, VARY};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

/// The servers whose pages may read what this one says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    friends: Vec<String>,
    /// The names of this server, beside those of its friends.
    names: Vec<String>,
}

impl Origins {
    /// Those at these addresses, each `host:port`.
    pub fn new<'a>(addresses: impl IntoIterator<Item = &'a str>) -> Self {
        let mut friends: Vec<String> = addresses.into_iter().map(origin).collect();
        friends.sort();
        friends.dedup();
        Origins { friends, names: Vec::new() }
    }

    /// The same for a server that is known by these names, too; each may have a port, which does not matter.
    #[must_use]
    pub fn known_as<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.names.extend(names.into_iter().map(|name| split(name).0.to_owned()));
        self
    }

    /// Them, as browsers call them: `http://host:port`.
    pub fn list(&self) -> &[String] {
        &self.friends
    }

    /// Whether a page from there may read.
    fn may_read(&self, origin: &str) -> bool {
        let origin = plain(origin);
        self.friends.iter().any(|friend| plain(friend) == origin)
    }

    /// Whether this is a name under which the server is known to be reached. Any other name may
    /// belong to a stranger who lets it point here, and then his page seems to be ours.
    fn is_ours(&self, host: &str) -> bool {
        let (name, _) = split(host);
        let literal = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        let is_address = match literal {
            Some(inner) => inner.parse::<Ipv6Addr>().is_ok(),
            None => name.parse::<IpAddr>().is_ok(),
        };
        let known = |friend: &String| {
            let friend = friend.strip_prefix("http://").unwrap_or(friend);
            split(friend).0.eq_ignore_ascii_case(name)
        };
        let own = |own: &String| own.eq_ignore_ascii_case(name);
        is_address
            || name.eq_ignore_ascii_case("localhost")
            || self.friends.iter().any(known)
            || self.names.iter().any(own)
            || own(&host_name())
    }

    /// Whether the request names this server. Old programs, and no browser, name none.
    fn is_named(&self, headers: &HeaderMap) -> bool {
        headers.get(HOST).is_none_or(|host| host.to_str().is_ok_and(|host| self.is_ours(host)))
    }

    /// Browsers say from which site a page came; other programs say nothing.
    fn may_write(&self, headers: &HeaderMap) -> bool {
        let Some(origin) = headers.get(ORIGIN) else { return true };
        let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        let here = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
        here.is_some_and(|(_, origin)| origin == host) && self.is_ours(host)
    }
}

/// The name of this host; no other site can point it here.
fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

fn misdirected(headers: &HeaderMap) -> ErrorResponse {
    let host = headers.get(HOST).map(HeaderValue::as_bytes).unwrap_or_default();
    let host: String = host.escape_ascii().map(char::from).take(100).collect();
    let error = format!("this server does not know the name '{host}'");
    let hint = "use its address, or localhost; a member is also known by the names in the 'address' and \
                'http' of its configuration, and by those that 'http_names' adds";
    ErrorResponse::new(StatusCode::MISDIRECTED_REQUEST, error, Some(hint)).coded("unknown-host")
}

/// A layer that rejects what a foreign page sends in the name of its visitor, and lets the pages of
/// friends read the answers.
pub(crate) async fn guard(
    State(origins): State<Arc<Origins>>,
    request: Request,
    next: Next,
) -> Response {
    if !origins.is_named(request.headers()) {
        return misdirected(request.headers()).into_response();
    }
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    if !reads && !origins.may_write(request.headers()) {
        let error = "this request comes from a page of another site";
        let hint = "use this server's own page, by its address or as localhost, or use curl";
        return ErrorResponse::new(StatusCode::FORBIDDEN, error, Some(hint)).into_response();
    }
    let origin = request.headers().get(ORIGIN).cloned();
    let friend = origin.filter(|origin| origin.to_str().is_ok_and(|text| origins.may_read(text)));
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.append(VARY, HeaderValue::from_static("Origin"));
    if let Some(origin) = friend {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    }
    response
}

/// How browsers call the server at this address: without the port that goes without saying.
fn origin(address: &str) -> String {
    format!("http://{}", address.strip_suffix(":80").unwrap_or(address))
}

/// Host and port; an address of version 6 has colons of its own.
fn split(host: &str) -> (&str, &str) {
    match host.rsplit_once(':') {
        Some((name, port)) if port.chars().all(|c| c.is_ascii_digit()) => (name, port),
        _ => (host, ""),
    }
}

/// The same for all names that this host has for itself, in small letters.
fn plain(origin: &str) -> String {
    let origin = origin.to_ascii_lowercase();
    let Some((scheme, host)) = origin.split_once("://") else { return origin };
    let (name, port) = split(host);
    match name {
        "127.0.0.1" | "[::1]" | "localhost" => format!("{scheme}://loopback:{port}"),
        _ => origin,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(host: &'static str, origin: Option<&'static str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_static(host));
        origin.map(|origin| headers.insert(ORIGIN, HeaderValue::from_static(origin)));
        headers
    }

    #[test]
    fn only_an_own_page_may_command() {
        let origins = Origins::new(["127.0.0.1:7481", "member-1.example:7480"]);
        for (host, origin, may) in [
            ("127.0.0.1:7480", None, true),
            ("127.0.0.1:7480", Some("http://127.0.0.1:7480"), true),
            ("localhost:7480", Some("http://localhost:7480"), true),
            ("[::1]:7480", Some("http://[::1]:7480"), true),
            ("member-1.example:7480", Some("http://member-1.example:7480"), true),
            ("127.0.0.1:7480", Some("http://127.0.0.1:7481"), false),
            ("127.0.0.1:7480", Some("http://localhost:7480"), false),
            ("127.0.0.1:7480", Some("http://example.org"), false),
            ("127.0.0.1:7480", Some("null"), false),
            ("evil.example:7480", Some("http://evil.example:7480"), false),
            ("127.0.0.1.evil.example", Some("http://127.0.0.1.evil.example"), false),
        ] {
            assert_eq!(origins.may_write(&headers(host, origin)), may, "{host} {origin:?}");
        }
    }

    #[test]
    fn a_server_is_asked_by_its_own_name() {
        let origins =
            Origins::new(["member-1.example:7480"]).known_as(["Proxy.example", "m2:7400"]);
        let own = host_name();
        for ours in
            ["127.0.0.1:7480", "[::1]:1", "localhost", "MEMBER-1.example", "proxy.example:80", "m2"]
        {
            assert!(origins.is_named(&headers(ours, None)), "{ours}");
        }
        assert!(origins.is_ours(&own) && origins.is_ours(&format!("{own}:7480")));
        assert!(origins.is_named(&HeaderMap::new()));
        for foreign in
            ["evil.example:7480", "127.0.0.1.evil.example", "", "m2.evil.example", "[m2]"]
        {
            assert!(!origins.is_named(&headers(foreign, None)), "{foreign}");
        }
    }

    #[test]
    fn pages_of_the_cluster_may_read_and_no_others() {
        let origins = Origins::new(["127.0.0.1:7481", "Member-2:7480", "member-3:80"]);
        for friend in [
            "http://127.0.0.1:7481",
            "http://localhost:7481",
            "http://[::1]:7481",
            "http://member-2:7480",
            "http://member-3",
        ] {
            assert!(origins.may_read(friend), "{friend}");
        }
        for stranger in [
            "http://127.0.0.1:7482",
            "https://127.0.0.1:7481",
            "http://member-2",
            "http://member-3:7480",
            "http://127.0.0.1:7481.evil.example",
            "null",
            "",
        ] {
            assert!(!origins.may_read(stranger), "{stranger}");
        }
    }

    #[test]
    fn a_page_is_told_each_origin_once() {
        let origins = Origins::new(["b:2", "a:1", "b:2", "c:80"]);
        assert_eq!(origins.list(), ["http://a:1", "http://b:2", "http://c"]);
    }
}
