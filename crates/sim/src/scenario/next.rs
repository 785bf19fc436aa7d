//! What could happen next, at some moment of a scenario's run.

use crate::engine::Sim;
use crate::fault::Steer;
use crate::trace::{Recorder, What};
use bellwether_core::{AnyProcess, Kind, Message, NodeId, Time};
use std::collections::BTreeMap;

/// What is on its way and what is set at some moment: see [`Staging::look_at`](super::Staging).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Next {
    /// The moment: all events of this microsecond have happened.
    pub at: Time,
    /// The messages on their way, in the order of sending.
    pub flying: Vec<Flying>,
    /// The timers that are set, by process and in the order of setting.
    pub armed: Vec<Armed>,
}

/// A message on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flying {
    /// From whom.
    pub from: NodeId,
    /// To whom.
    pub to: NodeId,
    /// Its number on this link.
    pub number: u32,
    /// What it counts as.
    pub kind: Kind,
    /// The message as the algorithm shows it.
    pub text: String,
    /// Whether it may arrive now: it may not before an earlier one of its link that is first in,
    /// first out.
    pub may_arrive: bool,
}

/// A timer that is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Armed {
    /// Whose.
    pub node: NodeId,
    /// Its number among all that the process has set.
    pub number: u32,
    /// The timer as the algorithm shows it.
    pub text: String,
}

impl Next {
    pub(super) fn look(sim: &Sim<AnyProcess, Recorder>) -> Next {
        let flying = sim.flying().into_iter().map(|((from, to, number), msg, may_arrive)| Flying {
            from,
            to,
            number,
            kind: msg.kind(),
            text: msg.to_string(),
            may_arrive,
        });
        let armed = sim.set_timers().into_iter();
        let armed =
            armed.map(|(node, number, timer)| Armed { node, number, text: format!("{timer:?}") });
        Next { at: sim.now(), flying: flying.collect(), armed: armed.collect() }
    }

    /// All that can be chosen.
    pub fn choices(&self) -> Vec<Steer> {
        let flying =
            self.flying.iter().flat_map(|Flying { from, to, number, may_arrive, .. }| {
                let choices = [Steer::Deliver, Steer::Repeat, Steer::Lose]
                    .map(|steer| steer(*from, *to, *number));
                choices.into_iter().filter(|steer| *may_arrive || matches!(steer, Steer::Lose(..)))
            });
        let armed = self.armed.iter().map(|armed| Steer::Fire(armed.node, armed.number));
        flying.chain(armed).collect()
    }
}

/// The messages that a trace has so far, by link and number, in the order of sending.
pub(super) fn sent(recorder: &Recorder) -> Vec<(NodeId, NodeId, u32)> {
    let mut counts: BTreeMap<(NodeId, NodeId), u32> = BTreeMap::new();
    let sends = recorder.trace().events.iter().filter_map(|event| match &event.what {
        What::Send(letter) => Some((letter.from, letter.to)),
        _ => None,
    });
    let named = sends.map(|(from, to)| {
        let count = counts.entry((from, to)).or_default();
        *count += 1;
        (from, to, *count - 1)
    });
    named.collect()
}
