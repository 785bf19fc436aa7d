//! What the daemon's HTTP server and the explorer's share: the page in the browser, which pages may
//! read and command, and refusals in JSON.

mod origins;
mod page;
mod refusal;

use axum::{Json, Router, middleware};
use origins::guard;
use page::page;
use refusal::{nothing_there, wrong_method};
use std::sync::Arc;
use utoipa::openapi::OpenApi;

pub use origins::Origins;
pub use refusal::{Outcome, Refusal};

/// A whole server: these routes and the page, for pages of these origins.
pub fn site(routes: Router, origins: Origins) -> Router {
    routes
        .merge(page(&origins))
        .fallback(nothing_there)
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::from_fn_with_state(Arc::new(origins), guard))
}

/// What a server serves for another part of the program, which it need not know. Nothing by default.
#[derive(Clone, Debug)]
pub struct Extra {
    /// The routes, to be merged into the server's own.
    pub routes: Router,
    /// The document that describes them.
    pub document: fn() -> OpenApi,
}

impl Extra {
    /// The document of a server that serves this besides its own.
    pub fn described(&self, mut own: OpenApi) -> Json<OpenApi> {
        own.merge((self.document)());
        Json(own)
    }
}

impl Default for Extra {
    fn default() -> Self {
        Extra { routes: Router::new(), document: OpenApi::default }
    }
}
