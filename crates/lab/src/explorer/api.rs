//! What the page asks for, over HTTP.

use super::{EXPLORER, Opened, catalogue, gallery, slots, wire};
use axum::extract::DefaultBodyLimit;
use axum::extract::rejection::JsonRejection;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use bellwether_api::json::{Here, Serves};
use bellwether_http::{ErrorResponse, Extra, Origins, Server, packed, site};
use tokio::net::TcpListener;

/// The largest body of a request, in bytes: a scenario, with all its letters escaped.
const BODY_MAX: usize = 512 << 10;

/// The explorer, for a server that has it besides its own.
pub fn extra() -> Extra {
    Extra { routes: routes(), document: packed::EXPLORER }
}

fn routes() -> Router {
    Router::new()
        .route("/v1/explore/catalogue", get(catalogue_of_algorithms))
        .route("/v1/explore/gallery", get(gallery_of_runs))
        .route("/v1/explore/next", post(next).layer(DefaultBodyLimit::max(BODY_MAX)))
        .route("/v1/explore/wrong", post(wrong).layer(DefaultBodyLimit::max(BODY_MAX)))
        .route("/v1/explore/run", post(play).layer(DefaultBodyLimit::max(BODY_MAX)))
}

/// Serves the explorer, and nothing else, for ever.
pub async fn serve(listener: TcpListener, opened: Option<Opened>) {
    Server::new(router(opened)).serve(listener).await;
}

/// A server that has the explorer and nothing else, and perhaps a file to begin with.
pub fn router(opened: Option<Opened>) -> Router {
    let mut router = routes();
    if let Some(file) = opened {
        router = router.route("/v1/explore/opened", get(async move || Json(file.clone())));
    }
    let router = router.route("/v1/here", get(async || Json(Here::new(Serves::Explore)))).route(
        "/openapi.json",
        get(async || ([(CONTENT_TYPE, "application/json")], packed::EXPLORER.text())),
    );
    site(router, Origins::default())
}

/// All families and algorithms, with their rules.
#[cfg_attr(test, utoipa::path(get, path = "/v1/explore/catalogue", responses(
    (status = 200, description = "The catalogue", body = wire::Catalogue),
)))]
async fn catalogue_of_algorithms() -> Json<&'static wire::Catalogue> {
    Json(catalogue())
}

/// The runs that are worth looking at.
#[cfg_attr(test, utoipa::path(get, path = "/v1/explore/gallery", responses(
    (status = 200, description = "The gallery", body = wire::Gallery),
)))]
async fn gallery_of_runs() -> Json<&'static wire::Gallery> {
    Json(gallery())
}

/// Plays a scenario.
#[cfg_attr(test, utoipa::path(post, path = "/v1/explore/run", request_body = wire::RunRequest, responses(
    (status = 200, description = "The run", body = wire::Run),
    (status = 413, description = "The scenario is too long", body = bellwether_api::json::Problem),
    (status = 422, description = "It is not understood, or the run gets too long", body = bellwether_api::json::Problem),
    (status = 503, description = "Too many others are waiting for runs", body = bellwether_api::json::Problem),
)))]
async fn play(
    request: Result<Json<wire::RunRequest>, JsonRejection>,
) -> Result<Response, ErrorResponse> {
    let request = request?.0;
    slots::compute(move |may_go_on| EXPLORER.run(&request, may_go_on)).await.map(json)
}

/// What could happen next at a moment of a scenario's run.
#[cfg_attr(test, utoipa::path(post, path = "/v1/explore/next", request_body = wire::NextRequest, responses(
    (status = 200, description = "What can happen next", body = wire::Next),
    (status = 413, description = "The scenario is too long", body = bellwether_api::json::Problem),
    (status = 422, description = "It is not understood, or the run gets too long", body = bellwether_api::json::Problem),
    (status = 503, description = "Too many others are waiting for runs", body = bellwether_api::json::Problem),
)))]
async fn next(
    request: Result<Json<wire::NextRequest>, JsonRejection>,
) -> Result<Response, ErrorResponse> {
    let request = request?.0;
    slots::compute(move |may_go_on| EXPLORER.next(&request, may_go_on)).await.map(json)
}

/// What could go wrong from a moment of a scenario's run on.
#[cfg_attr(test, utoipa::path(post, path = "/v1/explore/wrong", request_body = wire::NextRequest, responses(
    (status = 200, description = "The shortest violation, if there is one", body = wire::Wrong),
    (status = 413, description = "The scenario is too long", body = bellwether_api::json::Problem),
    (status = 422, description = "It is not understood, or the run gets too long", body = bellwether_api::json::Problem),
    (status = 503, description = "Too many others are waiting for runs", body = bellwether_api::json::Problem),
)))]
async fn wrong(
    request: Result<Json<wire::NextRequest>, JsonRejection>,
) -> Result<Response, ErrorResponse> {
    let request = request?.0;
    slots::compute(move |may_go_on| EXPLORER.wrong(&request, may_go_on)).await.map(json)
}

fn json(body: Vec<u8>) -> Response {
    ([(CONTENT_TYPE, "application/json")], body).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use utoipa::OpenApi;

    #[derive(OpenApi)]
    #[openapi(
        info(
            title = "Bellwether explorer",
            description = "Runs of the catalogue's algorithms, for the page in the browser.",
            license(name = "MIT OR Apache-2.0")
        ),
        paths(catalogue_of_algorithms, gallery_of_runs, play, next, wrong),
        components(schemas(wire::Opened))
    )]
    struct Document;

    /// The page's types are generated from this file. `UPDATE=1` writes it.
    #[test]
    fn the_document_is_the_one_that_the_page_was_built_from() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/openapi/explorer.json");
        let document = Document::openapi().to_pretty_json().unwrap() + "\n";
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(path, &document).unwrap();
        }
        let written = std::fs::read_to_string(path).unwrap();
        assert!(written == document, "{path} is out of date; UPDATE=1 writes it");
    }
}
