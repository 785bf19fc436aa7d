//! The gallery: runs that are worth looking at.
//!
//! `scenarios/gallery.txt` lists them. Paragraphs are separated by empty lines; `#` begins a
//! comment; a paragraph is an exhibit:
//!
//! ```text
//! exhibit bully-p1-to-p4
//! scenario election/bully-p1-to-p4.txt
//! title The bully, P1 to P4
//! look P2 misses the coordinator and asks everybody above it.
//! look See that P3 waits for an answer of P4 that never comes.
//! counterexample
//! ```
//!
//! Several `look` lines are one text; `stamps lamport` or `stamps vector` writes stamps at the events; `counterexample` is for what the checker found.

use crate::scenarios::{self, scenario};
use crate::wire::{Exhibit, Gallery};
use bellwether_algorithms::catalogue::Catalogue;
use bellwether_sim::scenario::Scenario;
use std::fmt;

/// The runs that are worth looking at, without the list's mistakes.
pub(crate) fn gallery(known: &Catalogue) -> Gallery {
    Gallery {
        exhibits: read(scenarios::gallery(), known).into_iter().filter_map(Result::ok).collect(),
    }
}

/// What is wrong with the list, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mistake {
    line: usize,
    what: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "scenarios/gallery.txt:{}: {}", self.line, self.what)
    }
}

/// A paragraph as it is read.
#[derive(Clone, Debug, Default)]
struct Draft {
    line: usize,
    id: Option<String>,
    scenario: Option<(usize, String)>,
    title: Option<String>,
    look: Vec<String>,
    stamps: Option<String>,
    counterexample: bool,
}

/// Reads a list: an exhibit or a mistake for each paragraph.
fn read(list: &str, known: &Catalogue) -> Vec<Result<Exhibit, Mistake>> {
    let mut exhibits: Vec<Result<Exhibit, Mistake>> = Vec::new();
    let mut draft: Option<Result<Draft, Mistake>> = None;
    for (index, line) in list.lines().chain([""]).enumerate() {
        let line = line.trim();
        if line.starts_with('#') {
            continue;
        }
        if line.is_empty() {
            let Some(draft) = draft.take() else { continue };
            let taken = |id: &str| exhibits.iter().flatten().any(|exhibit| exhibit.id == id);
            let exhibit = draft.and_then(|draft| draft.finish(known, taken));
            exhibits.push(exhibit);
            continue;
        }
        let number = index + 1;
        let begun = draft.get_or_insert_with(|| Ok(Draft { line: number, ..Draft::default() }));
        if let Ok(unfinished) = begun
            && let Err(what) = unfinished.line(number, line)
        {
            *begun = Err(Mistake { line: number, what });
        }
    }
    exhibits
}

impl Draft {
    fn line(&mut self, number: usize, line: &str) -> Result<(), String> {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim().to_owned();
        if rest.is_empty() != (word == "counterexample") {
            return Err(format!(
                "'{word}' takes {}",
                if rest.is_empty() { "a text" } else { "none" }
            ));
        }
        let again = match word {
            "exhibit" => self.id.replace(rest).is_some(),
            "scenario" => self.scenario.replace((number, rest)).is_some(),
            "title" => self.title.replace(rest).is_some(),
            "look" => {
                self.look.push(rest);
                false
            }
            "stamps" if ["lamport", "vector"].contains(&rest.as_str()) => {
                self.stamps.replace(rest).is_some()
            }
            "counterexample" => std::mem::replace(&mut self.counterexample, true),
            other => {
                return Err(format!(
                    "'{other}' is unknown; expected exhibit, scenario, title, look, stamps (lamport or \
                     vector) or counterexample"
                ));
            }
        };
        if again { Err(format!("'{word}' is given twice")) } else { Ok(()) }
    }

    fn finish(self, known: &Catalogue, taken: impl Fn(&str) -> bool) -> Result<Exhibit, Mistake> {
        let begin = self.line;
        let missing =
            |what: &str| Mistake { line: begin, what: format!("there is no '{what}' line") };
        let id = self.id.ok_or_else(|| missing("exhibit"))?;
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if !id.chars().all(fits) {
            let what =
                format!("'{id}' does not fit into a link; write small letters, digits and -");
            return Err(Mistake { line: begin, what });
        }
        if taken(&id) {
            return Err(Mistake {
                line: begin,
                what: format!("there is an exhibit '{id}' already"),
            });
        }
        let (line, path) = self.scenario.ok_or_else(|| missing("scenario"))?;
        let Some(text) = scenario(&path) else {
            return Err(Mistake { line, what: format!("there is no file scenarios/{path}") });
        };
        let parsed = Scenario::parse(known, text)
            .map_err(|error| Mistake { line, what: format!("scenarios/{path}:{error}") })?;
        let entry = &parsed.setup.algorithm.entry;
        if self.look.is_empty() {
            return Err(missing("look"));
        }
        Ok(Exhibit {
            id,
            title: self.title.ok_or_else(|| missing("title"))?,
            look: self.look.join(" "),
            // A run that is shown for its stamps is about logical time, whatever sends the messages.
            family: if self.stamps.is_some() { "time" } else { entry.family }.to_owned(),
            algorithm: entry.name.to_owned(),
            stamps: self.stamps,
            counterexample: self.counterexample,
            scenario: text.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::with_member;

    #[test]
    fn the_list_has_no_mistakes() {
        let mistakes: Vec<String> = read(crate::scenarios::gallery(), with_member())
            .into_iter()
            .filter_map(Result::err)
            .map(|mistake| mistake.to_string())
            .collect();
        assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
        assert!(gallery(with_member()).exhibits.len() >= 3);
    }

    #[test]
    fn every_exhibit_says_in_two_sentences_what_to_look_for() {
        for exhibit in &gallery(with_member()).exhibits {
            let look = &exhibit.look;
            let ends =
                [". ", "? ", "! "].iter().map(|end| look.matches(end).count()).sum::<usize>();
            assert!(look.ends_with(['.', '?', '!']) && ends == 1, "{}: {look}", exhibit.id);
        }
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        let good = "exhibit a\nscenario election/bully-alone.txt\ntitle A\nlook One. Two.\n";
        assert_eq!(read(good, with_member()).len(), 1);
        let exhibit = read(good, with_member()).remove(0).unwrap();
        assert_eq!((exhibit.algorithm.as_str(), exhibit.family.as_str()), ("bully", "election"));
        for (list, line, part) in [
            ("exhibit a b\n".to_owned(), 1, "does not fit"),
            (format!("{good}\n{good}"), 6, "already"),
            (good.replace("bully-alone", "nobody"), 2, "no file"),
            (good.replace("title A\n", ""), 1, "no 'title'"),
            (good.replace("look", "gaze"), 4, "unknown"),
            (format!("{good}title B\n"), 5, "twice"),
            (format!("{good}counterexample yes\n"), 5, "takes none"),
        ] {
            let mistake = read(&list, with_member()).into_iter().find_map(Result::err).unwrap();
            assert_eq!(mistake.line, line, "{mistake}");
            assert!(mistake.what.contains(part), "{mistake}");
        }
    }
}
