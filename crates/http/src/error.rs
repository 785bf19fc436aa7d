//! A request that was not carried out, in JSON.

use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::http::header::WWW_AUTHENTICATE;
use axum::http::{HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use bellwether_api::coordination::Deadlock;
use bellwether_api::json;

/// Why not, and what to do about it.
#[derive(Debug)]
pub struct ErrorResponse {
    status: StatusCode,
    problem: json::Problem,
}

/// What a handler gives.
pub type Outcome<T> = Result<Json<T>, ErrorResponse>;

impl ErrorResponse {
    /// What is wrong and, if anything can be done about it, what.
    pub fn new(status: StatusCode, error: impl Into<String>, hint: Option<&str>) -> Self {
        let hint = hint.map(str::to_owned);
        let problem = json::Problem { error: error.into(), hint, code: None, deadlock: None };
        ErrorResponse { status, problem }
    }

    /// The same with the word for programs.
    pub fn coded(mut self, code: &str) -> Self {
        self.problem.code = Some(code.to_owned());
        self
    }

    /// What it says.
    pub fn problem(&self) -> &json::Problem {
        &self.problem
    }

    /// The same with the cycle that the request was aborted for.
    pub fn deadlocked(mut self, deadlock: Deadlock) -> Self {
        self.problem.deadlock = Some(Box::new(deadlock));
        self
    }
}

impl IntoResponse for ErrorResponse {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.problem)).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            // RFC 9110: what is missing is a bearer token.
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<JsonRejection> for ErrorResponse {
    fn from(rejection: JsonRejection) -> Self {
        let hint = "send JSON with the header Content-Type: application/json";
        ErrorResponse::new(rejection.status(), rejection.body_text(), Some(hint)).coded("bad-body")
    }
}

impl From<QueryRejection> for ErrorResponse {
    fn from(rejection: QueryRejection) -> Self {
        ErrorResponse::new(rejection.status(), rejection.body_text(), None).coded("bad-query")
    }
}

impl From<PathRejection> for ErrorResponse {
    fn from(rejection: PathRejection) -> Self {
        let hint = "write characters other than letters and digits like %20 in an address";
        ErrorResponse::new(rejection.status(), rejection.body_text(), Some(hint)).coded("bad-path")
    }
}

/// For an address that means nothing.
pub(crate) async fn nothing_there(uri: Uri) -> ErrorResponse {
    let error = format!("there is no resource at {}", uri.path());
    let hint = "see /openapi.json for all resources";
    ErrorResponse::new(StatusCode::NOT_FOUND, error, Some(hint))
}

/// For a question that is put as a command, and the other way round.
pub(crate) async fn wrong_method(method: Method, uri: Uri) -> ErrorResponse {
    let error = format!("{method} is not supported at {}", uri.path());
    let hint = "GET reads and POST commands; see /openapi.json";
    ErrorResponse::new(StatusCode::METHOD_NOT_ALLOWED, error, Some(hint))
}
