//! What processes were asked for and refused to do, and which line asked for it.
//!
//! A process refuses to release what it does not have, and to ask twice. The engine only notes
//! that; a scenario that asks for it and does not say so means something else than it says.

use super::play::Mismatch;
use super::signs::Asked;
use crate::fault::Action;
use crate::meter::Refused;
use bellwether_algorithms::catalogue::Listed;
use bellwether_algorithms::mutex::Refusal;
use bellwether_core::{AnyInput, NodeId, Time};
use std::borrow::Cow;

/// Who was asked for what, and which of the refusals the scenario knows of.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    inputs: Vec<Given>,
    /// This many of the refusals have been reported.
    spoken_of: usize,
}

/// An input that a line asks for.
#[derive(Debug)]
struct Given {
    asked: Asked,
    at: Time,
    /// None for all.
    to: Option<NodeId>,
    verb: Cow<'static, str>,
}

impl Refusals {
    /// A line asks for something.
    pub(super) fn given(
        &mut self,
        algorithm: &Listed,
        asked: &Asked,
        action: &Action<AnyInput>,
        at: Time,
    ) {
        let (to, input) = match action {
            Action::Input(id, input) => (Some(*id), input),
            Action::InputAll(input) => (None, input),
            _ => return,
        };
        self.inputs.push(Given { asked: asked.clone(), at, to, verb: algorithm.verb(input) });
    }

    /// The scenario says how many there were up to now; whether that is right is said elsewhere.
    pub(super) fn speak_of(&mut self, refusals: &[Refused]) {
        self.spoken_of = refusals.len();
    }

    /// The scenario is over: what was refused without a word about it?
    pub(super) fn left_over(&mut self, refusals: &[Refused]) -> Vec<Mismatch> {
        let silent = refusals.get(self.spoken_of..).unwrap_or_default();
        // From the last on, so that of two requests of the same moment the second is the one.
        silent.iter().rev().filter_map(|refused| self.mismatch(refused)).collect()
    }

    fn mismatch(&mut self, refused: &Refused) -> Option<Mismatch> {
        let Refused { at, node, why } = refused;
        let verb = if *why == Refusal::NotInside { "release" } else { "request" };
        // A paused process gets its inputs late.
        let asks = |given: &Given| {
            given.verb == verb && given.at <= *at && given.to.is_none_or(|to| to == *node)
        };
        let index = self.inputs.iter().rposition(asks)?;
        let asked = match self.inputs[index].to {
            Some(_) => self.inputs.remove(index).asked,
            None => self.inputs[index].asked.clone(),
        };
        Some(asked.instead(format!("{node} refuses at {at}: {why}")))
    }
}
