//! What an algorithm is about, and its rules, from the one place where they are written: the
//! documentation at the head of its file.

use crate::wire::Rule;
use bellwether_algorithms::catalogue::Listed;

/// What an algorithm is about: what its file says before the first heading, but for the title.
pub(crate) fn about(algorithm: &Listed) -> String {
    // The member's own file has its rules only; the idea of it is the log.
    let member = algorithm.beside.iter().find(|(part, _)| *part == "log");
    let docs = member.map_or(algorithm.entry.docs, |(_, text)| text);
    let lines = lines(docs).take_while(|line| !line.starts_with("# "));
    let text = lines.collect::<Vec<_>>().join("\n");
    let paragraphs = text
        .split("\n\n")
        .skip(1)
        .map(|paragraph| plain(&paragraph.lines().map(str::trim).collect::<Vec<_>>().join(" ")));
    paragraphs.collect::<Vec<_>>().join(" ")
}

/// An algorithm's own rules, and then those of what stands around it.
pub(crate) fn rules(algorithm: &Listed) -> Vec<Rule> {
    let beside = algorithm.beside.iter().flat_map(|(part, text)| listed(text, Some(part)));
    listed(algorithm.entry.docs, None).into_iter().chain(beside).collect()
}

/// The documentation at the head of a file.
fn lines(source: &str) -> impl Iterator<Item = &str> {
    let docs = source.lines().map_while(|line| line.strip_prefix("//!"));
    docs.map(|line| line.strip_prefix(' ').unwrap_or(line))
}

/// The rules that an essay lists: `* R2 ...` or `* **R2 Name.** ...`, or `  * a: ...` below it for R2a, over several
/// lines.
fn listed(source: &str, part: Option<&str>) -> Vec<Rule> {
    let section = lines(source).skip_while(|line| *line != "# Rules").skip(1);
    let mut rules: Vec<Rule> = Vec::new();
    let mut parent = String::new();
    let mut open = false;
    for line in section.take_while(|line| !line.starts_with("# ")) {
        let begun = if let Some(text) = line.strip_prefix("* ") {
            let (id, text) = text.split_once(' ').unwrap_or((text, ""));
            parent = id.trim_start_matches('*').trim_end_matches([',', ':']).to_owned();
            Some((parent.clone(), text))
        } else if let Some(text) = line.strip_prefix("  * ") {
            let (letter, text) = text.split_once(": ").unwrap_or((text, ""));
            Some((format!("{parent}{letter}"), text))
        } else {
            None
        };
        match (begun, rules.last_mut()) {
            (Some((id, text)), _) => {
                let part = part.map(str::to_owned);
                rules.push(Rule { id, text: text.to_owned(), part });
                open = true;
            }
            (None, Some(rule)) if open && line.starts_with("  ") => {
                rule.text.push(' ');
                rule.text.push_str(line.trim());
            }
            (None, _) => open = false,
        }
    }
    for rule in &mut rules {
        rule.text = plain(&rule.text);
    }
    rules
}

/// Without the marks of rustdoc: links, code, emphasis, bullets.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        plain.push_str(before);
        match link.split_once("](") {
            Some((name, target)) if !name.contains([']', '[']) => {
                plain.push_str(name);
                rest = after_target(target);
            }
            _ => {
                plain.push('[');
                rest = link;
            }
        }
    }
    plain.push_str(rest);
    let plain = plain.replace("[`", "`").replace("`]", "`").replace("\\[", "[").replace("\\]", "]");
    plain.replace(['`', '*'], "").trim().to_owned()
}

/// What stands after the target of a link. The target may have parentheses itself: `super::mean()) of`.
fn after_target(target: &str) -> &str {
    let mut open = 1;
    for (at, letter) in target.char_indices() {
        match letter {
            '(' => open += 1,
            ')' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return target.split_at(at + 1).1;
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenarios::scenarios;
    use crate::with_member;
    use bellwether_sim::scenario::Scenario;
    use std::collections::BTreeSet;

    fn ids(algorithm: &Listed) -> Vec<String> {
        rules(algorithm).into_iter().map(|rule| rule.id).collect()
    }

    #[test]
    fn every_algorithm_says_what_it_is_about_and_has_rules_of_its_own() {
        for listed in with_member().iter() {
            let (entry, about) = (&listed.entry, about(listed));
            assert!(about.ends_with('.') && about.len() > 60, "{}: {about}", entry.name);
            assert!(!about.contains(['[', ']']), "{}: a link is left in: {about}", entry.name);
            let rules = rules(listed);
            assert!(rules.first().is_some_and(|rule| rule.part.is_none()), "{}", entry.name);
            for rule in &rules {
                let marks = ['`', '*', '\\'];
                assert!(rule.text.len() > 5 && !rule.text.contains(marks), "{rule:?}");
                assert!(rule.id.starts_with(|c: char| c.is_ascii_uppercase()), "{rule:?}");
                assert!(!rule.text.contains("]("), "{rule:?}");
                let [opened, closed] = ['(', ')'].map(|sign| rule.text.matches(sign).count());
                assert_eq!(opened, closed, "{rule:?}");
            }
            let unique: BTreeSet<&String> = rules.iter().map(|rule| &rule.id).collect();
            assert_eq!(unique.len(), rules.len(), "{}: {:?}", entry.name, ids(listed));
        }
    }

    #[test]
    fn every_rule_that_fires_is_listed() {
        let mut fired = BTreeSet::new();
        for (path, text) in scenarios() {
            let Ok(scenario) = Scenario::parse(with_member(), text) else { continue };
            let algorithm = &scenario.setup.algorithm;
            let mut known = ids(algorithm);
            let below =
                scenario.setup.options.text("over").and_then(|name| with_member().get(name));
            known.extend(below.map(ids).unwrap_or_default());
            let played = scenario.play();
            for rule in played.trace.events.iter().flat_map(|event| &event.rules) {
                assert!(known.iter().any(|id| id == rule), "{path}: {rule} is not in {known:?}");
                fired.insert(format!("{} {rule}", algorithm.name()));
            }
        }
        assert!(fired.len() > 150, "{}", fired.len());
    }

    #[test]
    fn rules_are_read_with_their_cases_and_over_several_lines() {
        let source = "//! Title.\n//!\n//! About `it`.\n//!\n//! # Rules\n//! * R1 Do [`this`](x::y())\n\
                      //!   at once.\n//! * R2 Or:\n//!   * a: `W[j]` or\n//!     so;\n//! * S3, the cure: none\n\
                      //!\n//! More.\n//! # Assumes\n//! * R9 No.\nuse x;\n//! * R8 No.\n";
        let found: Vec<(String, String)> =
            listed(source, None).into_iter().map(|rule| (rule.id, rule.text)).collect();
        let expected = [
            ("R1", "Do this at once."),
            ("R2", "Or:"),
            ("R2a", "W[j] or so;"),
            ("S3", "the cure: none"),
        ];
        assert_eq!(found, expected.map(|(id, text)| (id.to_owned(), text.to_owned())));
    }
}
