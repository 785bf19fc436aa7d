//! Histories that are short enough to be written by hand.

use super::super::history::{Ended, Event, History, Line, Mode, Outcome, Refused, Want, Way};
use super::{Violation, check};

/// The rules that these histories break, of clients a, b, c and so on, each with a session of its
/// name. `done` at their ends need not be said.
pub(in super::super) fn broken(texts: &[&str]) -> Vec<&'static str> {
    let named = ["a", "b", "c", "d"].into_iter().zip(texts);
    let finished = named.map(|(name, text)| {
        let mut history = told(name, text);
        for (ask, line) in given_back(&history) {
            history.lines.push(Line { at: line, event: Event::GaveBack { ask, error: None } });
        }
        let at = history.lines.iter().map(|line| line.at).max().unwrap_or_default();
        history.lines.push(Line { at, event: Event::Done });
        history
    });
    rules(&check(&finished.collect::<Vec<_>>()).1)
}

/// What is given back without an answer in the text gets one.
fn given_back(history: &History) -> Vec<(u64, u64)> {
    let last = history.lines.iter().map(|line| line.at).max().unwrap_or_default();
    let given = history.lines.iter().filter_map(|line| match line.event {
        Event::GivesBack { ask, .. } => Some(ask),
        _ => None,
    });
    let answered = |ask: &u64| {
        let gave =
            |line: &Line| matches!(line.event, Event::GaveBack { ask: gave, .. } if gave == *ask);
        history.lines.iter().any(gave)
    };
    given.filter(|ask| !answered(ask)).map(|ask| (ask, last)).collect()
}

pub(super) fn rules(violations: &[Violation]) -> Vec<&'static str> {
    violations.iter().map(|violation| violation.rule).collect()
}

/// A history: lines with their moments, separated by semicolons.
pub(in super::super) fn told(name: &str, text: &str) -> History {
    let lines = text.split(';').map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        Line { at: words[0].parse().unwrap(), event: event(name, &words[1..]) }
    });
    History { name: name.to_owned(), killed: false, lines: lines.collect() }
}

/// The same of a process that was killed.
pub(super) fn killed(name: &str, text: &str) -> History {
    History { killed: true, ..told(name, text) }
}

fn event(name: &str, words: &[&str]) -> Event {
    let number = |index: usize| words.get(index).map_or(0, |word| word.parse().unwrap());
    let (ask, session) = (number(1), name.to_owned());
    let answered = |outcome| Event::Answered { ask, outcome };
    let error = || words.get(2).map(|word| refused(word));
    match words[0] {
        "asks" => {
            let wants = words[2..].chunks(2).map(|pair| want(pair[0], pair[1])).collect();
            Event::Asks { ask, session, wants, waits: true, patience_us: None, via: Some(1) }
        }
        "waits" => Event::Waits { ask, behind: 1 },
        "granted" => answered(Outcome::Granted { token: number(2) }),
        "busy" => answered(Outcome::Busy),
        "timed-out" => answered(Outcome::TimedOut),
        "refused" => answered(Outcome::Refused { why: "so".to_owned() }),
        "deadlock" => {
            let pair = |pair: &[&str]| (pair[0].to_owned(), pair[1].to_owned());
            let cycle = words[3..].chunks(2).map(pair).collect();
            answered(Outcome::Deadlock { aborted: Some(words[2].to_owned()), cycle })
        }
        "looked" => Event::Looked { ask },
        "gives" => Event::GivesBack { ask, how: Way::Asks },
        "gave" => Event::GaveBack { ask, error: error() },
        "lost" => Event::Lost { ask, why: ended(words[2]) },
        "hands" => Event::HandsOver { ask, to: "other".to_owned() },
        "handed" => Event::HandedOver { ask, error: error() },
        "again" => Event::LeadsAgain { ask, token: number(2) },
        "proclaims" => Event::Proclaims { ask },
        "proclaimed" => Event::Proclaimed { ask, error: error() },
        "done" => Event::Done,
        other => panic!("{other}"),
    }
}

fn want(name: &str, mode: &str) -> Want {
    let parts: Vec<&str> = mode.split('/').collect();
    let mode = match parts.as_slice() {
        ["exclusive"] => Mode::Exclusive,
        ["shared"] => Mode::Shared,
        ["role"] => Mode::Role { first_come: true },
        ["priority"] => Mode::Role { first_come: false },
        ["permits", take, of] => {
            Mode::Permits { take: take.parse().unwrap(), of: of.parse().unwrap() }
        }
        _ => panic!("{mode}"),
    };
    Want { name: name.to_owned(), mode }
}

fn ended(word: &str) -> Ended {
    match word {
        "expired" => Ended::Expired,
        "died" => Ended::Died,
        "taken" => Ended::Taken,
        _ => panic!("{word}"),
    }
}

fn refused(word: &str) -> Refused {
    match word {
        "other" => Refused::Other("so".to_owned()),
        word => Refused::SessionEnded(ended(word)),
    }
}

#[test]
fn a_violation_shows_the_lines_around_it() {
    let a = told("a", "10 asks 1 x exclusive; 20 granted 1 5; 90 looked 1");
    let b = told("b", "11 asks 1 x exclusive; 29 granted 1 6; 32 looked 1");
    let histories = [a, b];
    let (_, violations) = check(&histories);
    let text = violations[0].show(&histories);
    assert!(text.starts_with("exclusion: 'x' was held by token 5 and by token 6"), "{text}");
    assert!(text.contains("  >      2  {\"at\":20,\"event\":\"answered\""), "{text}");
    assert!(text.contains("  b\n"), "{text}");
}
