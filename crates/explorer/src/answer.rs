//! Requests as a page sends them, and answers as it reads them: a path, bytes of JSON, and HTTP's
//! numbers for how it went. For callers that are no HTTP server.

use crate::run::{MayGoOn, Refused};
use crate::{Explorer, wire};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Where the [catalogue](wire::Catalogue) is.
pub const CATALOGUE: &str = "/v1/explore/catalogue";
/// Where the [gallery](wire::Gallery) is.
pub const GALLERY: &str = "/v1/explore/gallery";
/// Where [runs](wire::RunRequest) are asked for.
pub const RUN: &str = "/v1/explore/run";

/// Where it is asked [what could happen next](wire::NextRequest).
pub const NEXT: &str = "/v1/explore/next";

/// Where it is asked [what could go wrong](wire::Wrong).
pub const WRONG: &str = "/v1/explore/wrong";

/// What a page gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// How it went: 200, or one of HTTP's numbers for mistakes.
    pub status: u16,
    /// JSON: what was asked for, or what is wrong and what to do about it.
    pub body: Vec<u8>,
}

/// Why there is nothing else in an answer.
#[derive(Serialize)]
struct Problem {
    error: String,
    hint: Option<String>,
}

impl Explorer {
    /// Answers a request for one of the paths of this module. The body is empty where nothing has
    /// to be said.
    pub fn answer(&self, path: &str, body: &[u8], may_go_on: MayGoOn<'_>) -> Answer {
        match path {
            CATALOGUE => written(self.catalogue()),
            GALLERY => written(self.gallery()),
            RUN => asked(body, |request: wire::RunRequest| self.run(&request, may_go_on)),
            NEXT => asked(body, |request: wire::NextRequest| self.next(&request, may_go_on)),
            WRONG => asked(body, |request: wire::NextRequest| self.wrong(&request, may_go_on)),
            _ => refused(Refused::new(404, format!("there is no resource at {path}"), None)),
        }
    }
}

fn asked<Q: DeserializeOwned, A: Serialize>(
    body: &[u8],
    answer: impl FnOnce(Q) -> Result<A, Refused>,
) -> Answer {
    let request = serde_json::from_slice(body).map_err(|error| {
        Refused::new(422, format!("the request is not understood: {error}"), None)
    });
    request.and_then(answer).map_or_else(refused, |answer| written(&answer))
}

fn refused(Refused { status, error, hint }: Refused) -> Answer {
    Answer { status, ..written(&Problem { error, hint }) }
}

fn written(answer: &impl Serialize) -> Answer {
    match serde_json::to_vec(answer) {
        Ok(body) => Answer { status: 200, body },
        // Texts as keys and numbers that are finite can always be written.
        Err(_) => Answer { status: 500, body: b"null".to_vec() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{scenario, with_member};
    use serde_json::{Value, json};

    fn ask(path: &str, body: &str) -> (u16, Value) {
        let explorer = Explorer::new(with_member().clone());
        let Answer { status, body } = explorer.answer(path, body.as_bytes(), &|| true);
        (status, serde_json::from_slice(&body).unwrap())
    }

    #[test]
    fn what_is_asked_for_by_path_comes_as_json() {
        assert_eq!(ask(CATALOGUE, "").1["families"][0]["name"], "election");
        assert!(ask(GALLERY, "").1["exhibits"].as_array().unwrap().len() > 100);
        let text = scenario("election/bully-p1-to-p4.txt").unwrap();
        let (status, run) = ask(RUN, &json!({ "scenario": text }).to_string());
        assert_eq!((status, &run["header"]["algorithm"]), (200, &json!("bully")));
    }

    #[test]
    fn a_refusal_says_why() {
        for (path, body, expected, part) in [
            ("/v1/status", "", 404, "no resource at /v1/status"),
            (RUN, "{", 422, "not understood"),
            (RUN, r#"{"scenario":"cluster buly 1..4"}"#, 422, "no algorithm 'buly'"),
        ] {
            let (status, problem) = ask(path, body);
            assert_eq!(status, expected, "{problem}");
            assert!(problem["error"].as_str().unwrap().contains(part), "{problem}");
        }
    }
}
