//! Traces for people and for other programs.
//!
//! Every renderer is a pure function of the trace: the same run gives the same bytes on every
//! machine. `docs/traces.md` shows each format on an example.

mod dot;
pub mod json;
mod mermaid;
mod plantuml;
#[cfg(test)]
#[path = "sample_tests.rs"]
mod sample;
mod sequence;
mod shiviz;
mod story;
mod svg;
mod text;

pub use dot::dot;
pub use json::json;
pub use mermaid::mermaid;
pub use plantuml::plantuml;
pub use shiviz::shiviz;
pub use story::story;
pub use svg::{illustrated, svg};
pub use text::text;

use crate::observer::Why;
use crate::trace::{Letter, Trace, TraceEvent, What};
use bellwether_core::{NodeId, Role};
use std::collections::BTreeMap;

/// A member's stamp counters that are not zero, with whose they are, in ring order.
fn counted<'a>(
    trace: &'a Trace,
    event: &'a TraceEvent,
) -> impl Iterator<Item = (NodeId, u64)> + 'a {
    let counters = event.vector.counters().iter().copied();
    trace.header.ring.iter().copied().zip(counters).filter(|(_, count)| *count > 0)
}

/// Whether a message is only there to find out who is alive.
fn is_overhead(letter: &Letter) -> bool {
    letter.kind.role == Role::Overhead
}

/// What became of each message, by its number.
fn fates(events: &[TraceEvent]) -> BTreeMap<u64, Fate> {
    let mut fates = BTreeMap::<u64, Fate>::new();
    for event in events {
        match &event.what {
            What::Receive(letter) => fates.entry(letter.id).or_default().arrivals += 1,
            What::Drop(letter, why) => fates.entry(letter.id).or_default().dropped = Some(*why),
            _ => {}
        }
    }
    fates
}

/// What became of one message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Fate {
    /// How often it arrived; more than once if the network doubled it.
    arrivals: u32,
    /// Why it, or one of its copies, did not.
    dropped: Option<Why>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_shows_what_really_comes_out() {
        let page = include_str!("../../../../docs/traces.md");
        let trace = sample::bully();
        for whole in [
            text(&trace),
            story(&trace.events, false).join("\n"),
            mermaid(&trace),
            plantuml(&trace),
        ] {
            assert!(page.contains(whole.trim_end()), "docs/traces.md needs\n{whole}");
        }
        let lines = json(&trace);
        let (block, _) = page.split_once("```json\n").unwrap().1.split_once("```").unwrap();
        for line in block.lines() {
            assert!(
                lines.lines().any(|real| real == line),
                "docs/traces.md has\n{line}\nin\n{lines}"
            );
        }
        let (block, _) = page.rsplit_once("```text\n").unwrap().1.split_once("```").unwrap();
        assert!(shiviz(&trace).starts_with(block), "docs/traces.md has\n{block}");
    }
}
