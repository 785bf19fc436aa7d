//! Mermaid sequence diagrams, for Markdown pages.

use super::sequence::{End, Sequence, Step};
use crate::trace::Trace;

/// A `sequenceDiagram`: the messages in the order of their sending, with what the processes said
/// and what befell them as notes.
pub fn mermaid(trace: &Trace) -> String {
    let Sequence { title, ids, overhead, steps } = Sequence::of(trace);
    let mut lines = vec!["sequenceDiagram".to_owned(), format!("    %% {title}")];
    if overhead > 0 {
        lines.push(format!("    %% left out: {overhead} overhead messages"));
    }
    lines.extend(ids.iter().map(|id| format!("    participant {id}")));
    let everybody = match ids.as_slice() {
        [only] => only.to_string(),
        [first, .., last] => format!("{first},{last}"),
        [] => return lines.join("\n") + "\n",
    };
    lines.extend(steps.iter().map(|step| match step {
        Step::Message { letter, end, remark } => {
            let line = match end {
                End::Dropped => "-x",
                End::OnItsWay => "-)",
                End::Arrived => "->>",
            };
            format!("    {}{line}{}: {}{remark}", letter.from, letter.to, escape(&letter.text))
        }
        Step::Note { event, text } => {
            let over = event.node.map_or_else(|| everybody.clone(), |node| node.to_string());
            format!("    Note over {over}: {} {}", event.at, escape(text))
        }
    }));
    lines.join("\n") + "\n"
}

/// Mermaid ends a statement at a semicolon and begins a character's name with a hash.
fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '#' | ';' | '<' | '>' => out.push_str(&format!("#{};", u32::from(c))),
            '\n' => out.push(' '),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::{is_overhead, sample};
    use super::*;
    use crate::trace::What;

    #[test]
    fn draws_the_style_guides_run() {
        let expected = "sequenceDiagram
    %% Bully, 4 processes, seed 7
    participant P1
    participant P2
    participant P3
    participant P4
    Note over P1: 0ms crashes
    Note over P4: 0ms crashes
    Note over P2: 0ms starts an election
    P2->>P3: ELECTION
    P2-xP4: ELECTION (down)
    P3->>P2: OK
    Note over P3: 10ms starts an election
    P3-xP4: ELECTION (down)
    Note over P3: 110ms elected P3
    P3-xP1: COORDINATOR (down)
    P3->>P2: COORDINATOR
    Note over P2: 120ms elected P3
";
        assert_eq!(mermaid(&sample::bully()), expected);
    }

    #[test]
    fn counts_overhead_and_says_what_befell_messages() {
        let trace = sample::stormy();
        let diagram = mermaid(&trace);
        let sent = |overhead| {
            let is = |what: &What| matches!(what, What::Send(l) if is_overhead(l) == overhead);
            trace.events.iter().filter(|event| is(&event.what)).count()
        };
        assert!(diagram.contains(&format!("left out: {} overhead messages\n", sent(true))));
        let arrows = ["->>", "-x", "-)"].map(|arrow| diagram.matches(arrow).count());
        assert_eq!(arrows.iter().sum::<usize>(), sent(false));
        for line in [
            "    P2-xP3: ELECTION (lost)\n",
            "    P4->>P2: OK (2 times)\n",
            "    Note over P1,P4: 900ms partition 1,2|3,4\n",
            "    Note over P4: 1600ms recovers\n",
        ] {
            assert!(diagram.contains(line), "{line} is missing in {diagram}");
        }
    }

    #[test]
    fn text_cannot_break_out() {
        assert_eq!(escape("a;b#c\nd"), "a#59;b#35;c d");
    }
}
