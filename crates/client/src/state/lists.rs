//! Pages of lists that are asked for, and the callers that wait for them.

use super::ClientState;
use bellwether_api::client::{List, Listed, Page, ToMember};
use bellwether_coordination::{Number, Refusal};
use bellwether_core::Time;
use std::collections::BTreeMap;
use tokio::sync::oneshot;

type Answer = Result<Page, Refusal>;

/// All pages that are asked for at the moment, by number: no answer is for a later question.
#[derive(Default)]
pub(super) struct Lists {
    last: Number,
    all: BTreeMap<Number, (List, oneshot::Sender<Answer>)>,
}

impl Lists {
    /// The pages to ask another member for. A member that has no lists answers none of them: their callers hear
    /// that nothing more comes.
    pub(super) fn again(&mut self, answered: bool) -> Vec<ToMember> {
        self.all.retain(|_, (_, answer)| answered && !answer.is_closed());
        let ask = |(number, (list, _)): (&Number, &(List, _))| ToMember::List {
            number: *number,
            list: list.clone(),
        };
        self.all.iter().map(ask).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn hear(&mut self, listed: Listed) {
        if let Some((_, answer)) = self.all.remove(&listed.number) {
            let _ = answer.send(listed.result);
        }
    }
}

impl ClientState {
    /// Asks for a page of a list.
    pub(crate) fn list(&mut self, list: List, now: Time) -> oneshot::Receiver<Answer> {
        let (answer, answered) = oneshot::channel();
        self.lists.last += 1;
        let number = self.lists.last;
        self.lists.all.insert(number, (list.clone(), answer));
        self.put(ToMember::List { number, list }, now);
        answered
    }
}
