//! What a sequence diagram shows of a run, in whatever notation it is written.

use super::{Fate, fates, is_overhead};
use crate::trace::{Letter, Trace, TraceEvent, What};
use bellwether_core::NodeId;

/// The messages in the order of their sending, with what the processes said and what befell them as
/// notes.
///
/// A sequence diagram has no time and no room: the messages that only find out who is alive are
/// counted, and the rest is best kept short.
pub(super) struct Sequence<'a> {
    /// Algorithm, size and seed.
    pub(super) title: String,
    pub(super) ids: Vec<NodeId>,
    /// How many messages are left out.
    pub(super) overhead: usize,
    pub(super) steps: Vec<Step<'a>>,
}

pub(super) enum Step<'a> {
    Message { letter: &'a Letter, end: End, remark: String },
    Note { event: &'a TraceEvent, text: &'a str },
}

/// How the arrow of a message ends.
pub(super) enum End {
    Dropped,
    OnItsWay,
    Arrived,
}

impl<'a> Sequence<'a> {
    pub(super) fn of(trace: &'a Trace) -> Self {
        let mut ids = trace.header.ring.clone();
        ids.sort_unstable();
        let title =
            format!("{}, {} processes, {}", trace.header.title, ids.len(), trace.header.chance());
        let fates = fates(&trace.events);
        let (mut overhead, mut steps) = (0, Vec::new());
        for event in &trace.events {
            let text = match &event.what {
                What::Send(letter) if is_overhead(letter) => {
                    overhead += 1;
                    continue;
                }
                What::Send(letter) => {
                    let (end, remark) = end_of(fates.get(&letter.id).copied().unwrap_or_default());
                    steps.push(Step::Message { letter, end, remark });
                    continue;
                }
                What::Receive(_) | What::Drop(..) | What::Input(_) | What::Timer(_) => continue,
                What::Output(text) | What::Note(text) => text,
                What::Crash => "crashes",
                What::Recover => "recovers",
                What::Pause => "pauses",
                What::Resume => "resumes",
            };
            steps.push(Step::Note { event, text });
        }
        Sequence { title, ids, overhead, steps }
    }
}

fn end_of(fate: Fate) -> (End, String) {
    match fate {
        Fate { arrivals: 0, dropped: Some(why) } => (End::Dropped, format!(" ({})", why.name())),
        Fate { arrivals: 0, dropped: None } => (End::OnItsWay, " (on its way)".to_owned()),
        Fate { arrivals: 1, .. } => (End::Arrived, String::new()),
        Fate { arrivals, .. } => (End::Arrived, format!(" ({arrivals} times)")),
    }
}
