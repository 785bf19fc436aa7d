//! PlantUML sequence diagrams, for documents and wikis that draw them.

use super::sequence::{End, Sequence, Step};
use crate::trace::Trace;

/// A sequence diagram with the same content as that of `mermaid`.
pub fn plantuml(trace: &Trace) -> String {
    let Sequence { title, ids, overhead, steps } = Sequence::of(trace);
    let mut lines = vec!["@startuml".to_owned(), format!("title {title}")];
    if overhead > 0 {
        lines.push(format!("caption left out: {overhead} overhead messages"));
    }
    lines.extend(ids.iter().map(|id| format!("participant {id}")));
    lines.extend(steps.iter().map(|step| match step {
        Step::Message { letter, end, remark } => {
            let line = match end {
                End::Dropped => "->x",
                End::OnItsWay => "-->>",
                End::Arrived => "->",
            };
            format!("{} {line} {}: {}{remark}", letter.from, letter.to, escape(&letter.text))
        }
        Step::Note { event, text } => {
            let over =
                event.node.map_or_else(|| "across".to_owned(), |node| format!("over {node}"));
            format!("note {over}: {} {}", event.at, escape(text))
        }
    }));
    lines.push("@enduml".to_owned());
    lines.join("\n") + "\n"
}

/// PlantUML reads signs in pairs as emphasis, and `\n` and `<...>` as commands. A tilde takes the
/// meaning from what follows it.
fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '<' | '*' | '_' | '/' | '"' | '~' | '-' | '\\' => out.extend(['~', c]),
            '\n' => out.push(' '),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn draws_the_style_guides_run() {
        let expected = "@startuml
title Bully, 4 processes, seed 7
participant P1
participant P2
participant P3
participant P4
note over P1: 0ms crashes
note over P4: 0ms crashes
note over P2: 0ms starts an election
P2 -> P3: ELECTION
P2 ->x P4: ELECTION (down)
P3 -> P2: OK
note over P3: 10ms starts an election
P3 ->x P4: ELECTION (down)
note over P3: 110ms elected P3
P3 ->x P1: COORDINATOR (down)
P3 -> P2: COORDINATOR
note over P2: 120ms elected P3
@enduml
";
        assert_eq!(plantuml(&sample::bully()), expected);
    }

    #[test]
    fn counts_overhead_and_says_what_befell_messages() {
        let diagram = plantuml(&sample::stormy());
        for line in [
            "caption left out: ",
            "\nP2 ->x P3: ELECTION (lost)\n",
            "\nP4 -> P2: OK (2 times)\n",
            "\nnote across: 900ms partition 1,2|3,4\n",
            "\nnote over P4: 1600ms recovers\n",
        ] {
            assert!(diagram.contains(line), "{line} is missing in {diagram}");
        }
    }

    #[test]
    fn text_cannot_break_out() {
        assert_eq!(escape("a\n**b** <c>"), "a ~*~*b~*~* ~<c>");
    }
}
