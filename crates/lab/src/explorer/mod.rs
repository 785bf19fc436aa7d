//! The page in the browser, and the server that it asks: see [`bellwether_explorer`].

mod api;
mod slots;

pub use api::{extra, router, serve};
pub use bellwether_explorer::{LIMITS, scenario, scenarios, wire};
pub use wire::Opened;

use crate::program;
use bellwether_explorer::Explorer;
use std::sync::LazyLock;

/// The explorer of this program's catalogue.
static EXPLORER: LazyLock<Explorer> = LazyLock::new(|| Explorer::new(program::catalogue().clone()));

/// All that can be chosen.
pub fn catalogue() -> &'static wire::Catalogue {
    EXPLORER.catalogue()
}

/// The runs that are worth looking at.
pub fn gallery() -> &'static wire::Gallery {
    EXPLORER.gallery()
}
