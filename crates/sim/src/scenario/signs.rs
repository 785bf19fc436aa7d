//! Whether what a scenario does to its cluster really happens.
//!
//! The engine shrugs at what cannot be done: the crash of a process that is down, the recovery of
//! one that is up. But a scenario that asks for it means something else than it says. Every deed
//! leaves a sign in the trace; one without a sign has not happened, and the scenario is told so.

use super::play::Mismatch;
use crate::fault::{Action, Steer};
use crate::trace::{TraceEvent, What};
use bellwether_core::{NodeId, Time};
use std::collections::BTreeSet;
use std::mem::discriminant;

/// The signs that are still to be seen.
#[derive(Debug, Default)]
pub(super) struct Signs {
    awaited: Vec<Awaited>,
    /// The events that were the sign of something, by their place in the trace.
    seen: BTreeSet<usize>,
    traps: Vec<(Asked, NodeId)>,
    /// What is chosen to happen next.
    steers: Vec<(Asked, Steer)>,
}

/// Where and when something was asked for.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// The line of the scenario.
    pub(super) line: usize,
    /// What it says.
    pub(super) written: String,
    /// How many events the trace had.
    pub(super) since: usize,
}

#[derive(Debug)]
struct Awaited {
    asked: Asked,
    at: Time,
    /// Whether it happens only when the cluster runs, even if its time is now.
    scheduled: bool,
    /// Who shows it by which kind of event; `None` for what is always possible.
    sign: Option<(NodeId, What)>,
}

impl Signs {
    /// Something is to happen: at this time, or now.
    pub(super) fn await_sign<I>(
        &mut self,
        asked: Asked,
        action: &Action<I>,
        at: Option<Time>,
        now: Time,
    ) {
        let sign = match action {
            Action::Crash(id) => Some((*id, What::Crash)),
            Action::Recover(id) => Some((*id, What::Recover)),
            Action::Pause(id) => Some((*id, What::Pause)),
            Action::Resume(id) => Some((*id, What::Resume)),
            Action::Input(id, _) => Some((*id, What::Input(String::new()))),
            Action::CrashSending { node, .. } => {
                self.traps.push((asked.clone(), *node));
                None
            }
            Action::Steer(steer) => {
                self.steers.push((asked.clone(), *steer));
                None
            }
            _ => None,
        };
        let (at, scheduled) = (at.unwrap_or(now), at.is_some());
        self.awaited.push(Awaited { asked, at, scheduled, sign });
    }

    /// All that was to happen up to now has had its chance, if the cluster `ran`: what did not
    /// happen?
    pub(super) fn look(&mut self, events: &[TraceEvent], now: Time, ran: bool) -> Vec<Mismatch> {
        let had_its_chance = |awaited: &Awaited| {
            awaited.at < now || awaited.at == now && (ran || !awaited.scheduled)
        };
        let (due, later) = std::mem::take(&mut self.awaited).into_iter().partition(had_its_chance);
        self.awaited = later;
        let due: Vec<Awaited> = due;
        due.into_iter().filter_map(|awaited| self.missing(awaited, events)).collect()
    }

    fn missing(&mut self, awaited: Awaited, events: &[TraceEvent]) -> Option<Mismatch> {
        let Awaited { asked, at, sign, .. } = awaited;
        let (node, sign) = sign?;
        let found = (asked.since..events.len()).find(|index| {
            let event = &events[*index];
            let same = event.at == at && event.node == Some(node);
            same && discriminant(&event.what) == discriminant(&sign) && !self.seen.contains(index)
        });
        let why = match (found, sign) {
            (Some(index), What::Pause) if was_paused(node, &events[..index]) => {
                format!("{node} is paused already")
            }
            (Some(index), _) => {
                self.seen.insert(index);
                return None;
            }
            // The time of a crash in the middle of sending is not known; a scenario may make
            // sure of it.
            (None, What::Crash) if self.traps.iter().any(|(_, trapped)| *trapped == node) => {
                return None;
            }
            // It waits until the process goes on, like everything else.
            (None, What::Input(_)) if was_paused(node, &events[..upto(events, at)]) => return None,
            (None, What::Recover) => format!("{node} cannot recover at {at}: it is up"),
            (None, What::Resume) => format!("{node} cannot resume at {at}: it is not paused"),
            (None, What::Crash) => format!("{node} cannot crash at {at}: it is down already"),
            (None, _) => format!("nothing at {at}: {node} is down"),
        };
        Some(asked.instead(why))
    }

    /// Something was chosen to happen next, and could not.
    pub(super) fn unsteered(&mut self, steer: &Steer) -> Option<Mismatch> {
        let index = self.steers.iter().position(|(_, other)| other == steer)?;
        let (asked, _) = self.steers.remove(index);
        let why = match steer {
            Steer::Fire(node, _) => format!("{node} has not set this timer, or not any more"),
            Steer::Lose(..) => "this message is not on its way".to_owned(),
            Steer::Deliver(..) | Steer::Repeat(..) => {
                "this message is not on its way, or must wait for an earlier one of its link"
                    .to_owned()
            }
        };
        Some(asked.instead(format!("nothing: {why}")))
    }

    /// The run has come to a premature end; nothing more can be asked of it.
    pub(super) fn forget(&mut self) {
        self.awaited.clear();
        self.traps.clear();
    }

    /// The scenario is over: what was announced and never came?
    pub(super) fn left_over(&mut self, events: &[TraceEvent], now: Time) -> Vec<Mismatch> {
        let late = std::mem::take(&mut self.awaited);
        let late = late.into_iter().map(|awaited| {
            awaited.asked.instead(format!("nothing: the scenario is over at {now}, before that"))
        });
        let traps = std::mem::take(&mut self.traps).into_iter().filter_map(|(asked, node)| {
            let crashed =
                |event: &TraceEvent| event.node == Some(node) && event.what == What::Crash;
            let happened = events[asked.since..].iter().any(crashed);
            (!happened).then(|| asked.instead(format!("{node} sent no more of these; it is up")))
        });
        late.chain(traps).collect()
    }
}

impl Asked {
    pub(super) fn instead(self, happened: String) -> Mismatch {
        Mismatch { line: self.line, written: self.written, happened, by_hand: true }
    }
}

/// How many events there were up to this time.
fn upto(events: &[TraceEvent], time: Time) -> usize {
    events.partition_point(|event| event.at <= time)
}

/// Whether a process stood still after these events.
fn was_paused(node: NodeId, before: &[TraceEvent]) -> bool {
    let mut own = before.iter().rev().filter(|event| event.node == Some(node));
    let last = own.find(|event| matches!(event.what, What::Pause | What::Resume | What::Crash));
    last.is_some_and(|event| event.what == What::Pause)
}
