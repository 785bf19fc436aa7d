//! The page in the browser, and what it asks for: catalogue, gallery, runs.

pub mod wire;

use utoipa::OpenApi;

/// All that the page knows of the server, as an OpenAPI document.
#[derive(Debug, OpenApi)]
#[openapi(
    info(
        title = "Bellwether explorer",
        description = "Runs of the catalogue's algorithms, for the page in the browser.",
        license(name = "MIT OR Apache-2.0")
    ),
    components(schemas(wire::Catalogue, wire::Gallery, wire::RunRequest, wire::Run))
)]
pub struct Document;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn print() {
        std::fs::write("/tmp/openapi.json", Document::openapi().to_pretty_json().unwrap()).unwrap();
    }
}
