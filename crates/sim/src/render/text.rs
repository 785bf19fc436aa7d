//! The table: every event with its stamps.

use super::counted;
use crate::trace::{Trace, TraceEvent, What};

/// Above this many processes a vector stamp names its counters instead of listing them all.
const LISTED_MAX: usize = 10;

const TITLES: [&str; COLUMNS] = ["time", "node", "L", "vector", "event", "rule"];
const COLUMNS: usize = 6;

/// A table of all events, one a line, in columns that are as wide as they need to be.
///
/// What is no event of any process (a message that does not arrive, something that happens to the
/// network) has no stamps.
pub fn text(trace: &Trace) -> String {
    let rows: Vec<_> = trace.events.iter().map(|event| row(trace, event)).collect();
    let mut widths = TITLES.map(str::len);
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let header = &trace.header;
    let mut out =
        format!("{}, {} processes, {}\n", header.title, header.ring.len(), header.chance());
    let ring: Vec<_> = header.ring.iter().map(|id| id.to_string()).collect();
    out.push_str(&format!("vectors in ring order: {}\n\n", ring.join(" ")));
    line(&mut out, &TITLES.map(str::to_owned), &widths);
    for row in &rows {
        line(&mut out, row, &widths);
    }
    out
}

fn row(trace: &Trace, event: &TraceEvent) -> [String; COLUMNS] {
    let stamped = !matches!(event.what, What::Drop(..) | What::Note(_));
    let stamp = |text: String| if stamped { text } else { String::new() };
    [
        event.at.to_string(),
        event.node.map_or_else(|| "-".to_owned(), |node| node.to_string()),
        stamp(event.lamport.to_string()),
        stamp(vector(trace, event)),
        describe(&event.what),
        event.rules.join(" "),
    ]
}

fn vector(trace: &Trace, event: &TraceEvent) -> String {
    if trace.header.ring.len() <= LISTED_MAX {
        let counters: Vec<_> = event.vector.counters().iter().map(u64::to_string).collect();
        return format!("[{}]", counters.join(" "));
    }
    let counters: Vec<_> =
        counted(trace, event).map(|(id, count)| format!("{id}:{count}")).collect();
    format!("[{}]", counters.join(" "))
}

fn describe(what: &What) -> String {
    match what {
        What::Input(input) => format!("input {input}"),
        What::Send(letter) => format!("-> {}  {}", letter.to, letter.text),
        What::Receive(letter) => format!("<- {}  {}", letter.from, letter.text),
        What::Drop(letter, why) => format!("x- {}  {} ({})", letter.from, letter.text, why.name()),
        What::Timer(timer) => format!("timer {timer}"),
        What::Output(output) => output.clone(),
        What::Crash => "crashes".to_owned(),
        What::Recover => "recovers".to_owned(),
        What::Pause => "pauses".to_owned(),
        What::Resume => "resumes".to_owned(),
        What::Note(note) => note.clone(),
    }
}

/// Numbers and times are easier to compare when they end in the same column.
fn line(out: &mut String, cells: &[String; COLUMNS], widths: &[usize; COLUMNS]) {
    let [time, node, lamport, vector, event, rule] = cells;
    let [w0, w1, w2, w3, w4, _] = widths;
    let line =
        format!("{time:>w0$}  {node:<w1$}  {lamport:>w2$}  {vector:<w3$}  {event:<w4$}  {rule}");
    out.push_str(line.trim_end());
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn lines_up_every_event() {
        let table = text(&sample::bully());
        assert_eq!(table, include_str!("testdata/bully.txt"));
    }

    #[test]
    fn names_the_counters_of_a_large_group() {
        let trace = sample::crowd(12);
        let table = text(&trace);
        assert_eq!(table.lines().count(), 4 + trace.events.len());
        assert!(table.contains("[P1:2]"), "{table}");
    }

    #[test]
    fn shows_why_a_message_did_not_arrive_and_what_befell_the_network() {
        let table = text(&sample::stormy());
        for part in ["ELECTION (lost)", "(cut)", "REQUEST (down)"] {
            assert!(table.contains(part), "{part} is missing in {table}");
        }
        let note = table.lines().find(|line| line.contains("partition")).unwrap();
        let words: Vec<_> = note.split_whitespace().collect();
        assert_eq!(words, ["900ms", "-", "partition", "1,2|3,4"]);
    }
}
