//! `deadlock`: a reported cycle was a real one.

use super::super::history::Outcome;
use super::{Book, Request, Violation};
use std::collections::BTreeMap;

pub(super) fn check(book: &Book) -> Vec<Violation> {
    let mut by_session: BTreeMap<&str, Vec<&Request>> = BTreeMap::new();
    for request in &book.requests {
        by_session.entry(&request.session).or_default().push(request);
    }
    let mut violations = Vec::new();
    for request in &book.requests {
        let Some((at, Outcome::Deadlock { aborted, cycle }, place)) = &request.answer else {
            continue;
        };
        let places = [request.place, *place];
        if aborted.as_ref() != Some(&request.session) {
            let what = format!(
                "{} is told that the request of another session was aborted",
                request.session
            );
            violations.push(Violation::new("deadlock", what, &places));
        }
        if !cycle.iter().any(|(session, _)| *session == request.session) {
            let what = format!("{} was aborted, and is not in the cycle", request.session);
            violations.push(Violation::new("deadlock", what, &places));
        }
        for (session, lock) in cycle {
            let of_session = by_session.get(session.as_str()).into_iter().flatten();
            let waited = |other: &&&Request| waited(other, lock, request.invoked, *at);
            if of_session.copied().find(|other| waited(&other)).is_none() {
                let what = format!("{session} is reported to wait for '{lock}', and did not");
                violations.push(Violation::new("deadlock", what, &places));
            }
        }
    }
    violations
}

/// Whether a request can have waited for a lock at some moment between these two. Of one that its
/// client has given up, with its session or without, the cluster may hear only later.
fn waited(request: &Request, lock: &str, from: u64, to: u64) -> bool {
    let answered = match &request.answer {
        None | Some((_, Outcome::SessionEnded { .. } | Outcome::TimedOut, _)) => u64::MAX,
        Some((at, ..)) => *at,
    };
    request.wants.iter().any(|want| want.name == lock) && request.invoked <= to && answered >= from
}

#[cfg(test)]
mod tests {
    use super::super::tests::broken;

    const A: &str = "1 asks 1 x exclusive; 2 granted 1 1; 3 looked 1; 10 asks 2 y exclusive; \
                     50 granted 2 3";
    const B: &str = "1 asks 1 y exclusive; 2 granted 1 2; 3 looked 1; 20 asks 2 x exclusive; \
                     30 deadlock 2 b b x a y";

    #[test]
    fn a_circle_of_two_who_wait_is_one() {
        assert_eq!(broken(&[A, B]), [""; 0]);
    }

    #[test]
    fn who_does_not_wait_is_in_no_circle() {
        // It has been granted before the other one asked.
        let a = A.replace("50 granted 2 3", "15 granted 2 3");
        assert_eq!(broken(&[&a, B]), ["deadlock"]);
        // It asks only later.
        let a = A.replace("10 asks 2", "31 asks 2");
        assert_eq!(broken(&[&a, B]), ["deadlock"]);
        // It is not told yet that the other one waits no longer.
        let a = A.replace("50 granted 2 3", "15 timed-out 2");
        assert_eq!(broken(&[&a, B]), [""; 0]);
        // It waits for something else.
        let a = A.replace("10 asks 2 y", "10 asks 2 z");
        assert_eq!(broken(&[&a, B]), ["deadlock"]);
        // No history has it.
        assert_eq!(broken(&["1 done", B]), ["deadlock"]);
    }

    #[test]
    fn the_aborted_one_is_told_of_itself() {
        let other = B.replace("2 b b x a y", "2 a b x a y");
        assert_eq!(broken(&[A, &other]), ["deadlock"]);
        let outside = B.replace("2 b b x a y", "2 b a y");
        assert_eq!(broken(&[A, &outside]), ["deadlock"]);
    }
}
