//! The short form: what a scenario file shows.

use super::is_overhead;
use crate::observer::Why;
use crate::trace::{TraceEvent, What};

/// One line for each thing that a reader of a scenario wants to know of.
///
/// What follows from the lines before is left out: arrivals, timers, inputs, and messages that came
/// to nothing because their receiver was down. So are the messages that are only there to find out
/// who is alive, unless `overhead` asks for them.
pub fn story(events: &[TraceEvent], overhead: bool) -> Vec<String> {
    let lines: Vec<(String, String)> =
        events.iter().filter_map(|event| line(event, overhead)).collect();
    let width = lines.iter().map(|(at, _)| at.len()).max().unwrap_or(0).max(5);
    lines.into_iter().map(|(at, what)| format!("{at:<width$}  {what}")).collect()
}

/// When, and what.
fn line(event: &TraceEvent, overhead: bool) -> Option<(String, String)> {
    let node = event.node.map(|node| node.to_string()).unwrap_or_default();
    let what = match &event.what {
        What::Send(letter) | What::Drop(letter, _) if is_overhead(letter) && !overhead => {
            return None;
        }
        What::Input(_) | What::Receive(_) | What::Timer(_) | What::Drop(_, Why::Down) => {
            return None;
        }
        What::Send(letter) => format!("{} -> {}  {}", letter.from, letter.to, letter.text),
        What::Drop(letter, why) => {
            format!("{} -> {}  {} {}", letter.from, letter.to, letter.text, why.name())
        }
        What::Output(output) => format!("{node} {output}"),
        What::Crash => format!("{node} crashes"),
        What::Recover => format!("{node} recovers"),
        What::Pause => format!("{node} pauses"),
        What::Resume => format!("{node} resumes"),
        What::Note(note) => note.clone(),
    };
    Some((event.at.to_string(), what))
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn reads_as_the_style_guide_shows_it() {
        let lines = story(&sample::bully().events, false);
        let expected = [
            "0ms    P1 crashes",
            "0ms    P4 crashes",
            "0ms    P2 starts an election",
            "0ms    P2 -> P3  ELECTION",
            "0ms    P2 -> P4  ELECTION",
            "10ms   P3 -> P2  OK",
            "10ms   P3 starts an election",
            "10ms   P3 -> P4  ELECTION",
            "110ms  P3 elected P3",
            "110ms  P3 -> P1  COORDINATOR",
            "110ms  P3 -> P2  COORDINATOR",
            "120ms  P2 elected P3",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn tells_faults_and_keeps_overhead_for_those_who_ask() {
        let trace = sample::stormy();
        let lines = story(&trace.events, false);
        let column = lines.iter().map(|line| line.find("P2 starts")).find(Option::is_some);
        for (at, what) in [
            ("5ms", "P2 -> P3  ELECTION"),
            ("5ms", "P2 -> P3  ELECTION lost"),
            ("300ms", "P4 crashes"),
            ("500ms", "P1 pauses"),
            ("650ms", "P1 resumes"),
            ("900ms", "partition 1,2|3,4"),
            ("1500ms", "heal"),
            ("1600ms", "P4 recovers"),
        ] {
            let width = column.flatten().unwrap();
            let line = format!("{at:<width$}{what}");
            assert!(lines.contains(&line), "{line} is missing in {lines:#?}");
        }
        assert!(lines.iter().any(|line| line.ends_with(" cut")));
        assert!(!lines.iter().any(|line| line.contains("REQUEST") || line.ends_with(" down")));
        let all = story(&trace.events, true);
        assert!(all.iter().any(|line| line.ends_with("REQUEST")));
        assert!(all.len() > lines.len());
    }
}
