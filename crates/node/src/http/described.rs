//! The OpenAPI documents that are served are files, which the page's types are generated from. Here
//! they are made of the handlers and their types, so that a member need not carry the generator.

use super::*;
use crate::parent;
use utoipa::OpenApi;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Bellwether member",
        description = "One member of a Bellwether cluster: the coordinator, since when and why; sessions, locks and roles.",
        license(name = "MIT OR Apache-2.0")
    ),
    paths(
        here,
        status,
        members,
        membership::add,
        membership::promote,
        membership::remove,
        crate::backup::backup,
        history,
        follow_events,
        watch,
        follow_messages,
        step_down,
        transfer,
        elect,
        reload,
        metrics_text,
        healthz,
        readyz
    ),
    components(schemas(json::Event, json::Overview, json::Messages))
)]
struct Document;

/// `UPDATE=1 cargo test -p bellwether-node described` writes the files.
#[test]
fn the_documents_are_up_to_date() {
    let mut member = Document::openapi();
    member.merge(coordination::Document::openapi());
    for (name, mut document) in [("member", member), ("up", parent::Document::openapi())] {
        let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("bearer", bearer);
        let path = format!("{}/../../web/openapi/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let described = document.to_pretty_json().unwrap() + "\n";
        if std::env::var_os("UPDATE").is_some_and(|value| value != "0") {
            std::fs::write(&path, &described).unwrap();
        }
        let written = std::fs::read_to_string(&path).unwrap();
        assert!(written == described, "{path} is out of date; UPDATE=1 writes it");
    }
}

#[test]
fn the_document_lists_every_route() {
    let document: serde_json::Value = serde_json::from_str(&packed::MEMBER.text()).unwrap();
    let paths = document["paths"].as_object().unwrap();
    assert_eq!(paths.len(), 17 + 18, "{:?}", paths.keys());
    assert!(document["components"]["schemas"]["Status"].is_object());
}

/// What the document says of a request decides of which kind it is: one that may wait says how long, and one
/// that answers with lists answers with `Coordination`. What others rely on is written down here.
#[test]
fn every_request_is_of_its_kind() {
    let document: serde_json::Value = serde_json::from_str(&packed::MEMBER.text()).unwrap();
    let vital = [
        "get /healthz",
        "get /readyz",
        "post /v1/sessions/{session}/keep-alive",
        "delete /v1/sessions/{session}",
        "delete /v1/sessions/{session}/locks/{number}",
    ];
    let schema = |of: &serde_json::Value| {
        let name = of["content"]["application/json"]["schema"]["$ref"].as_str().unwrap_or_default();
        name.rsplit('/').next().unwrap_or_default().to_owned()
    };
    let mut seen = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, request) in methods.as_object().unwrap() {
            let named = format!("{method} {path}");
            let body = schema(&request["requestBody"]);
            let waits = &document["components"]["schemas"][body]["properties"]["wait_ms"];
            let expected = match schema(&request["responses"]["200"]).as_str() {
                _ if vital.contains(&named.as_str()) => Kind::Vital,
                _ if waits.is_object() => Kind::Wait,
                "Coordination" => Kind::List,
                _ if path == "/v1/backup" => Kind::List,
                _ => Kind::Plain,
            };
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            assert_eq!(kind(&method, path), expected, "{named}");
            seen.push(expected);
        }
    }
    let of = |kind| seen.iter().filter(|seen| **seen == kind).count();
    assert_eq!((of(Kind::Vital), of(Kind::Wait), of(Kind::List)), (5, 2, 6));
}
