//! Tokens that are checked, and the callers that wait for the answer.

use super::ClientState;
use bellwether_api::client::ToMember;
use bellwether_coordination::{Number, Refusal, Request, SessionId, Subject, Token};
use bellwether_core::Time;
use std::collections::BTreeMap;
use tokio::sync::oneshot;

/// The session that holds it by the token; or that none does.
type Checked = Result<SessionId, Refusal>;

/// All that are checked at the moment, by number: no answer is for a later question.
#[derive(Default)]
pub(super) struct TokenChecks {
    last: Number,
    all: BTreeMap<Number, (Subject, Token, oneshot::Sender<Checked>)>,
}

impl TokenChecks {
    /// What is asked again, which changes nothing: all whose caller still waits.
    pub(super) fn again(&mut self) -> Vec<Request> {
        self.all.retain(|_, (.., answer)| !answer.is_closed());
        let ask = |(number, (of, token, _)): (&Number, &(Subject, Token, _))| Request::Check {
            number: *number,
            of: of.clone(),
            token: *token,
        };
        self.all.iter().map(ask).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn hear(&mut self, number: Number, result: Checked) {
        if let Some((.., answer)) = self.all.remove(&number) {
            let _ = answer.send(result);
        }
    }
}

impl ClientState {
    /// Asks which session holds something by a token.
    pub(crate) fn check(
        &mut self,
        of: Subject,
        token: Token,
        now: Time,
    ) -> oneshot::Receiver<Checked> {
        let (answer, answered) = oneshot::channel();
        self.checks.last += 1;
        let number = self.checks.last;
        self.checks.all.insert(number, (of.clone(), token, answer));
        self.put(ToMember::Request(Request::Check { number, of, token }), now);
        answered
    }
}
