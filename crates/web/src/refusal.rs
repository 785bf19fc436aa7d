//! A request that was not carried out, in JSON.

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use bellwether_api::json;

/// Why not, and what to do about it.
#[derive(Debug)]
pub struct Refusal {
    status: StatusCode,
    problem: json::Problem,
}

/// What a handler gives.
pub type Outcome<T> = Result<Json<T>, Refusal>;

impl Refusal {
    /// What is wrong and, if anything can be done about it, what.
    pub fn new(status: StatusCode, error: impl Into<String>, hint: Option<&str>) -> Self {
        let problem = json::Problem { error: error.into(), hint: hint.map(str::to_owned) };
        Refusal { status, problem }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status, Json(self.problem)).into_response()
    }
}

impl From<JsonRejection> for Refusal {
    fn from(rejection: JsonRejection) -> Self {
        let hint = "send JSON with the header Content-Type: application/json";
        Refusal::new(rejection.status(), rejection.body_text(), Some(hint))
    }
}

impl From<QueryRejection> for Refusal {
    fn from(rejection: QueryRejection) -> Self {
        Refusal::new(rejection.status(), rejection.body_text(), None)
    }
}

/// For an address that means nothing.
pub async fn nothing_there(uri: Uri) -> Refusal {
    let error = format!("there is nothing at {}", uri.path());
    let hint = "see /openapi.json for what there is";
    Refusal::new(StatusCode::NOT_FOUND, error, Some(hint))
}

/// For a question that is put as a command, and the other way round.
pub async fn wrong_method(method: Method, uri: Uri) -> Refusal {
    let error = format!("{method} makes no sense for {}", uri.path());
    let hint = "GET asks and POST commands; see /openapi.json";
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, error, Some(hint))
}
