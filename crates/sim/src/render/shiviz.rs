//! Logs for ShiViz (<https://bestchai.bitbucket.io/shiviz/>), which draws who can have caused what.

use super::counted;
use crate::trace::{Trace, TraceEvent, What};
use std::fmt::Write as _;

/// Two lines for each event of a process: the process with its vector stamp, and what happened.
///
/// ShiViz reads it with its default expression, `(?<host>\S*) (?<clock>{.*})\n(?<event>.*)`. What is
/// no event of a process (messages that do not arrive, the network's own troubles) has no place
/// there.
pub fn shiviz(trace: &Trace) -> String {
    let mut out = String::new();
    for event in &trace.events {
        if let (Some(node), Some(what)) = (event.node, describe(event)) {
            let clock: Vec<_> =
                counted(trace, event).map(|(id, count)| format!("\"{id}\":{count}")).collect();
            // Writing to a string cannot fail.
            let _ = writeln!(out, "{node} {{{}}}\n{}", clock.join(","), what.replace('\n', " "));
        }
    }
    out
}

fn describe(event: &TraceEvent) -> Option<String> {
    Some(match &event.what {
        What::Input(input) => format!("input {input}"),
        What::Send(letter) => format!("sends {} to {}", letter.text, letter.to),
        What::Receive(letter) => format!("receives {} from {}", letter.text, letter.from),
        What::Timer(timer) => format!("timer {timer}"),
        What::Output(output) => output.clone(),
        What::Crash => "crashes".to_owned(),
        What::Recover => "recovers".to_owned(),
        What::Pause => "pauses".to_owned(),
        What::Resume => "resumes".to_owned(),
        What::Drop(..) | What::Note(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;
    use std::collections::BTreeMap;

    type Clock = BTreeMap<String, u64>;

    /// The log as ShiViz's expression splits it.
    fn parse(log: &str) -> Vec<(String, Clock, String)> {
        let lines: Vec<_> = log.lines().collect();
        assert_eq!(lines.len() % 2, 0);
        let entry = |pair: &[&str]| {
            let (host, clock) = pair[0].split_once(' ').unwrap();
            (host.to_owned(), serde_json::from_str(clock).unwrap(), pair[1].to_owned())
        };
        lines.chunks(2).map(entry).collect()
    }

    #[test]
    fn begins_as_shiviz_expects() {
        let log = shiviz(&sample::bully());
        let start: Vec<_> = log.lines().take(6).collect();
        assert_eq!(
            start,
            [
                "P1 {\"P1\":1}",
                "crashes",
                "P4 {\"P4\":1}",
                "crashes",
                "P2 {\"P2\":1}",
                "input Suspect"
            ]
        );
        assert!(log.contains("P3 {\"P2\":3,\"P3\":1}\nreceives ELECTION from P2\n"), "{log}");
    }

    #[test]
    fn every_host_counts_its_own_events_and_knows_only_what_has_happened() {
        for trace in [sample::bully(), sample::stormy(), sample::crowd(12)] {
            let entries = parse(&shiviz(&trace));
            assert!(!entries.is_empty());
            let mut latest: BTreeMap<String, Clock> = BTreeMap::new();
            for (host, clock, event) in entries {
                let before = latest.entry(host.clone()).or_default().clone();
                let own = before.get(&host).copied().unwrap_or(0);
                assert_eq!(clock[&host], own + 1, "{host} {event}");
                for (other, known) in &before {
                    assert!(clock[other] >= *known, "{host} forgot {other} at {event}");
                }
                for (other, known) in clock.iter().filter(|(other, _)| **other != host) {
                    let happened = latest.get(other).map_or(0, |theirs| theirs[other]);
                    assert!(*known <= happened, "{host} knows {other}'s future at {event}");
                    let learned = before.get(other).copied().unwrap_or(0) < *known;
                    assert!(!learned || event.starts_with("receives"), "{host} guessed at {event}");
                }
                latest.insert(host, clock);
            }
        }
    }
}
