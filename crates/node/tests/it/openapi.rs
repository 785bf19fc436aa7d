//! The page's types are made from a file, and the file from what is served.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;

/// `UPDATE=1 cargo test -p bellwether-node --test it openapi` rewrites the file.
#[test]
fn the_pages_document_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/openapi/member.json");
    let served = bellwether_node::openapi().to_pretty_json().unwrap() + "\n";
    if std::env::var_os("UPDATE").is_some_and(|value| value != "0") {
        std::fs::write(&path, &served).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap();
    assert!(written == served, "web/openapi/member.json is out of date; run with UPDATE=1");
}
