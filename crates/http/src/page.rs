//! The page itself: files that were built into the program.
//!
//! `make web` builds them from `web/`. Without them everything else works, and the page says how to
//! build it.

use crate::origins::Origins;
use crate::packed::Packed;
use axum::Router;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

/// A file of the page.
struct File {
    /// Where it is asked for, without the slash at the beginning.
    path: &'static str,
    packed: Packed,
}

/// What `web/dist` held when the program was built; nothing if the page was not built.
const FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// The one file that all rooms are in.
const INDEX: &str = "index.html";

/// What is shown instead.
const NOT_BUILT: &str = "<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<title>Bellwether</title>
<h1>The page is not in this program</h1>
<p>It was built without the files of the page. With Node.js 20 or later, run <code>make build</code> in the sources of
Bellwether, which builds the page and then the program with it. Everything else works:
see <code>bellwether --help</code> and <a href=\"/openapi.json\">/openapi.json</a>.</p>
</html>
";

/// The routes of the page, to be merged into a server's own. It may talk to these servers.
pub(crate) fn page(origins: &Origins) -> Router {
    let policy = policy(origins);
    let serve = |path: &'static str| {
        let policy = policy.clone();
        get(async move |headers: HeaderMap| answer(path, &headers, &policy))
    };
    let mut router = Router::new();
    for room in ["/", "/explore", "/explore/"] {
        router = router.route(room, serve(INDEX));
    }
    for file in FILES.iter().filter(|file| file.path != INDEX) {
        router = router.route(&format!("/{}", file.path), serve(file.path));
    }
    router
}

/// Nothing but what came with the page runs in it, and it talks only to these.
fn policy(origins: &Origins) -> HeaderValue {
    let others = origins.list().join(" ");
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; \
         font-src 'self'; connect-src 'self' {others}; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'"
    );
    // Origins come from addresses in a configuration. One that no header can hold is no origin.
    HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'self'"))
}

fn answer(path: &'static str, asked: &HeaderMap, policy: &HeaderValue) -> Response {
    let file = FILES.iter().find(|file| file.path == path);
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind(path)));
    headers.insert(CONTENT_SECURITY_POLICY, policy.clone());
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    // The names of these files change with what is in them.
    let for_good = path.starts_with("assets/");
    let caching = if for_good { "public, max-age=31536000, immutable" } else { "no-cache" };
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(caching));
    let Some(file) = file else { return (headers, NOT_BUILT).into_response() };
    if takes_gzip(asked) {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        return (headers, file.packed.0).into_response();
    }
    (headers, file.packed.bytes()).into_response()
}

/// Whether the client accepts compressed answers.
fn takes_gzip(asked: &HeaderMap) -> bool {
    let accepted = asked.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let mut codings = accepted.flat_map(|value| value.split(','));
    codings.any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let refused = |quality: &str| matches!(quality, "q=0" | "q=0.0" | "q=0.00" | "q=0.000");
        parts.next() == Some("gzip") && !parts.any(refused)
    })
}

/// What kind of file it is, by its name.
fn kind(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, end)| end) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
        Some("json") => "application/json",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressed_only_for_those_who_can_read_it() {
        for (accepted, takes) in [
            ("gzip, deflate, br", true),
            ("br;q=1.0, gzip;q=0.8", true),
            ("gzip;q=0", false),
            ("identity", false),
            ("x-gzip-like", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(accepted));
            assert_eq!(takes_gzip(&headers), takes, "{accepted}");
        }
        assert!(!takes_gzip(&HeaderMap::new()));
    }

    #[test]
    fn every_answer_has_the_policy_and_the_policy_names_the_friends() {
        let policy = policy(&Origins::new(["127.0.0.1:7481"]));
        let text = policy.to_str().unwrap();
        assert!(text.contains("connect-src 'self' http://127.0.0.1:7481;"), "{text}");
        assert!(text.contains("script-src 'self';") && !text.contains("unsafe"), "{text}");
        let answer = answer(INDEX, &HeaderMap::new(), &policy);
        let header =
            |name| answer.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        assert_eq!(header(CONTENT_SECURITY_POLICY), Some(text));
        assert_eq!(header(X_CONTENT_TYPE_OPTIONS), Some("nosniff"));
        assert_eq!(header(CONTENT_TYPE), Some("text/html; charset=utf-8"));
        assert_eq!(header(CACHE_CONTROL), Some("no-cache"));
    }

    #[test]
    fn what_is_built_in_is_complete() {
        if FILES.is_empty() {
            return; // Built without the page, which is allowed.
        }
        let index = FILES.iter().find(|file| file.path == INDEX).unwrap();
        let text = index.packed.text();
        let named = text.split('"').filter(|part| part.starts_with("/assets/"));
        let mut count = 0;
        for asset in named {
            count += 1;
            assert!(FILES.iter().any(|file| asset[1..] == *file.path), "{asset} is missing");
        }
        assert!(count > 0, "{text}");
    }
}
