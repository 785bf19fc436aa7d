//! What the daemon's HTTP server and the explorer's share: the page in the browser, which pages may
//! read and command, errors in JSON, and serving itself.

mod error;
mod origins;
pub mod packed;
mod page;
mod server;

use axum::{Json, Router, middleware};
use error::{nothing_there, wrong_method};
use origins::guard;
use packed::Packed;
use page::page;
use serde_json::{Map, Value};
use std::sync::Arc;

pub use error::{ErrorResponse, Outcome};
pub use origins::Origins;
pub use server::{Kind, Limits, Server};

/// A whole server: these routes and the page, for pages of these origins.
pub fn site(routes: Router, origins: Origins) -> Router {
    routes
        .merge(page(&origins))
        .fallback(nothing_there)
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::from_fn_with_state(Arc::new(origins), guard))
}

/// What a server serves for another part of the program, which it need not know. Nothing by default.
#[derive(Clone, Debug, Default)]
pub struct Extra {
    /// The routes, to be merged into the server's own.
    pub routes: Router,
    /// The OpenAPI document that describes them; may be empty.
    pub document: Packed,
}

impl Extra {
    /// The document of a server that serves this besides its own: all paths and schemas of both.
    pub fn described(&self, own: Packed) -> Json<Value> {
        let read =
            |document: Packed| serde_json::from_slice(&document.bytes()).unwrap_or(Value::Null);
        let (mut both, mut extra): (Value, Value) = (read(own), read(self.document));
        for place in ["/paths", "/components/schemas"] {
            let more = extra.pointer_mut(place).and_then(Value::as_object_mut).map(std::mem::take);
            if let Some(own) = both.pointer_mut(place).and_then(Value::as_object_mut) {
                own.extend(more.unwrap_or_else(Map::new));
            }
        }
        Json(both)
    }
}
