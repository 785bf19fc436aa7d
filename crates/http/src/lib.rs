//! What the daemon's HTTP server and the explorer's share: the page in the browser, which pages may
//! read and command, and refusals in JSON.

mod origins;
mod page;
mod refusal;

use axum::Router;
use utoipa::openapi::OpenApi;

pub use origins::{Origins, guard};
pub use page::page;
pub use refusal::{Outcome, Refusal, nothing_there, wrong_method};

/// What a server serves for another part of the program, which it need not know. Nothing by default.
#[derive(Clone, Debug)]
pub struct Extra {
    /// The routes, to be merged into the server's own.
    pub routes: Router,
    /// The document that describes them.
    pub document: fn() -> OpenApi,
}

impl Default for Extra {
    fn default() -> Self {
        Extra { routes: Router::new(), document: OpenApi::default }
    }
}
