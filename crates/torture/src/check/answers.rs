//! `answered`, `refusal` and what is lost without cause: every history comes to a proper end.

use super::super::history::{Ended, Event, History, Outcome, Refused};
use super::book::is_over;
use super::{Book, Place, Violation};
use std::collections::BTreeMap;

pub(super) fn check(book: &Book, histories: &[History]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (history, told) in histories.iter().enumerate() {
        for (line, entry) in told.lines.iter().enumerate() {
            let found = wrong(&entry.event);
            let violation = found.map(|(rule, what)| {
                Violation::new(rule, format!("{}: {what}", told.name), &[Place { history, line }])
            });
            violations.extend(violation);
        }
        if !told.killed {
            violations.extend(unfinished(history, told));
        }
    }
    for request in &book.requests {
        let told = &histories[request.place.history];
        if request.answer.is_none() && !told.killed {
            let what = format!("a request of {} was never answered", told.name);
            violations.push(Violation::new("answered", what, &[request.place]));
        }
    }
    violations
}

/// What a client should never be told.
fn wrong(event: &Event) -> Option<(&'static str, String)> {
    match event {
        Event::Answered { outcome: Outcome::Refused { why }, .. } => {
            Some(("refusal", format!("a request was refused: {why}")))
        }
        Event::SessionEnded { why: Ended::Died, .. }
        | Event::Lost { why: Ended::Died, .. }
        | Event::Answered { outcome: Outcome::SessionEnded { why: Ended::Died }, .. } => {
            Some(("refusal", "it was reported dead, and is alive".to_owned()))
        }
        Event::Lost { why: why @ (Ended::Taken | Ended::HandedOver), .. } => {
            Some(("lost-grant", format!("it lost what it held without a cause: {why:?}")))
        }
        Event::GaveBack { error: Some(error), .. } if !is_over(error) => {
            let what = format!("its grant could not be released: {error:?}");
            Some(("lost-grant", what))
        }
        Event::HandedOver { error: Some(Refused::Other(why)), .. }
        | Event::Proclaimed { error: Some(Refused::Other(why)), .. } => {
            Some(("lost-grant", format!("the leader was not accepted as leader: {why}")))
        }
        Event::NotOpened { why, .. } if !why.starts_with("no ") => {
            Some(("refusal", format!("a session was refused: {why}")))
        }
        _ => None,
    }
}

/// What was begun and not finished by a process that could have.
fn unfinished(history: usize, told: &History) -> Vec<Violation> {
    let mut open: BTreeMap<String, usize> = BTreeMap::new();
    for (line, entry) in told.lines.iter().enumerate() {
        match &entry.event {
            Event::Opens { seat } => drop(open.insert(format!("a session ({seat})"), line)),
            Event::Opened { seat, .. } | Event::NotOpened { seat, .. } => {
                open.remove(&format!("a session ({seat})"));
            }
            Event::Closes { session } => drop(open.insert(format!("the end of {session}"), line)),
            Event::Closed { session } => drop(open.remove(&format!("the end of {session}"))),
            Event::GivesBack { ask, .. } => {
                open.insert(format!("the release of {ask}"), line);
            }
            Event::GaveBack { ask, .. } => drop(open.remove(&format!("the release of {ask}"))),
            Event::HandsOver { ask, .. } => drop(open.insert(format!("handing over {ask}"), line)),
            Event::HandedOver { ask, .. } => drop(open.remove(&format!("handing over {ask}"))),
            Event::Proclaims { ask } => drop(open.insert(format!("proclaiming in {ask}"), line)),
            Event::Proclaimed { ask, .. } => drop(open.remove(&format!("proclaiming in {ask}"))),
            _ => {}
        }
    }
    let last = told.lines.len().saturating_sub(1);
    if told.lines.last().is_none_or(|line| line.event != Event::Done) {
        open.insert("its end".to_owned(), last);
    }
    let never = |(what, line)| {
        let what = format!("{} never came to {what}", told.name);
        Violation::new("answered", what, &[Place { history, line }])
    };
    open.into_iter().map(never).collect()
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::super::tests::{broken, killed, rules, told};

    #[test]
    fn every_request_is_answered_unless_its_process_is_killed() {
        let text = "10 asks 1 x exclusive; 20 done";
        assert_eq!(broken(&[text]), ["answered"]);
        assert_eq!(rules(&check(&[killed("a", text)]).1), [""; 0]);
    }

    #[test]
    fn a_process_that_is_not_killed_comes_to_its_end() {
        assert_eq!(broken(&["10 asks 1 x exclusive; 20 granted 1 5; 30 done"]), [""; 0]);
        let halfway = told("a", "10 asks 1 x exclusive; 20 granted 1 5; 30 gives 1");
        assert_eq!(rules(&check(&[halfway]).1), ["answered", "answered"]);
    }

    #[test]
    fn no_live_client_is_told_that_it_is_dead() {
        let a = "10 asks 1 x exclusive; 20 granted 1 5; 30 lost 1 died";
        assert_eq!(broken(&[a]), ["refusal"]);
        let a = a.replace("died", "expired");
        assert_eq!(broken(&[&a]), [""; 0]);
    }

    #[test]
    fn what_is_held_can_be_given_back() {
        let a = "10 asks 1 x exclusive; 20 granted 1 5; 30 gives 1; 40 gave 1";
        assert_eq!(broken(&[a]), [""; 0]);
        assert_eq!(broken(&[&a.replace("gave 1", "gave 1 expired")]), [""; 0]);
        assert_eq!(broken(&[&a.replace("gave 1", "gave 1 other")]), ["lost-grant"]);
        let a = "10 asks 1 x exclusive; 20 granted 1 5; 30 lost 1 taken";
        assert_eq!(broken(&[a]), ["lost-grant"]);
    }

    #[test]
    fn nothing_is_refused_without_a_cause() {
        assert_eq!(broken(&["10 asks 1 x exclusive; 20 busy 1"]), [""; 0]);
        assert_eq!(broken(&["10 asks 1 x exclusive; 20 refused 1"]), ["refusal"]);
    }

    #[test]
    fn a_history_must_make_sense() {
        assert_eq!(broken(&["10 granted 1 5"]), ["history"]);
        assert_eq!(broken(&["10 asks 1 x exclusive; 20 busy 1; 21 looked 1"]), ["history"]);
        assert_eq!(broken(&["10 asks 1 x exclusive; 9 busy 1"]), ["history"]);
        assert_eq!(broken(&["10 asks 1 x exclusive; 20 busy 1; 30 busy 1"]), ["history"]);
    }
}
