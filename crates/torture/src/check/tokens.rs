//! `token-twice`, `token-order` and `stale-leader`: tokens only grow.

use super::super::history::Mode;
use super::{Book, Grant, Violation};
use std::collections::BTreeMap;

pub(super) fn check(book: &Book) -> Vec<Violation> {
    let mut violations = Vec::new();
    twice(book, &mut violations);
    grow(book, &mut violations);
    in_the_order_of_holding(book, &mut violations);
    stale_leaders(book, &mut violations);
    violations
}

fn twice(book: &Book, violations: &mut Vec<Violation>) {
    let mut seen: BTreeMap<u64, &Grant> = BTreeMap::new();
    for grant in &book.grants {
        if let Some(other) = seen.insert(grant.token, grant) {
            let what = format!("token {} was given twice", grant.token);
            violations.push(Violation::new("token-twice", what, &[other.place, grant.place]));
        }
    }
}

/// What was heard of before something was asked for has a smaller token.
fn grow(book: &Book, violations: &mut Vec<Violation>) {
    let mut heard: Vec<&Grant> = book.grants.iter().collect();
    let mut asked = heard.clone();
    heard.sort_by_key(|grant| grant.answered);
    asked.sort_by_key(|grant| grant.invoked);
    let mut heard = heard.into_iter().peekable();
    let mut largest: Option<&Grant> = None;
    for grant in asked {
        while let Some(before) = heard.next_if(|before| before.answered < grant.invoked) {
            if largest.is_none_or(|largest| largest.token < before.token) {
                largest = Some(before);
            }
        }
        if let Some(largest) = largest.filter(|largest| largest.token > grant.token) {
            let what = format!(
                "token {} was given to a request that was made after token {} was known",
                grant.token, largest.token
            );
            let request = book.requests[grant.request].place;
            let places = [largest.place, request, grant.place];
            violations.push(Violation::new("token-order", what, &places));
        }
    }
}

/// What excludes each other is held in the order of tokens.
fn in_the_order_of_holding(book: &Book, violations: &mut Vec<Violation>) {
    for (name, grants) in book.by_name() {
        // The largest of all, and of those that everybody excludes.
        let (mut largest, mut alone): (Option<&Grant>, Option<&Grant>) = (None, None);
        for (grant, mode) in grants {
            if matches!(mode, Mode::Permits { .. }) || grant.held.is_none() {
                continue;
            }
            let exclusive = mode != Mode::Shared;
            let before = if exclusive { largest } else { alone };
            if let Some(before) = before.filter(|before| before.token > grant.token) {
                let what = format!(
                    "'{name}' was held by token {} and after that by the smaller token {}",
                    before.token, grant.token
                );
                violations.push(Violation::new("token-order", what, &[before.place, grant.place]));
            }
            if largest.is_none_or(|largest| largest.token < grant.token) {
                largest = Some(grant);
            }
            if exclusive && alone.is_none_or(|alone| alone.token < grant.token) {
                alone = Some(grant);
            }
        }
    }
}

/// No leader proclaims a value once its successor knows that it leads.
fn stale_leaders(book: &Book, violations: &mut Vec<Violation>) {
    let names = book.by_name();
    for proclamation in book.proclamations.iter().filter(|made| made.done == Some(true)) {
        let grant = &book.grants[proclamation.grant];
        let role = book.requests[grant.request].wants.first().map(|want| want.name.as_str());
        let Some((role, grants)) = role.and_then(|role| names.get_key_value(role)) else {
            continue;
        };
        let successor = |(other, _): &&(&Grant, Mode)| {
            other.token > grant.token && other.answered < proclamation.invoked
        };
        if let Some((other, _)) = grants.iter().find(successor) {
            let what = format!(
                "the leader of '{role}' by token {} proclaimed, though token {} was known already",
                grant.token, other.token
            );
            let places = [other.place, proclamation.place];
            violations.push(Violation::new("stale-leader", what, &places));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::broken;

    #[test]
    fn a_token_is_given_once() {
        let a = "10 asks 1 x exclusive; 20 granted 1 5";
        let b = "10 asks 1 y exclusive; 20 granted 1 5";
        assert_eq!(broken(&[a, b]), ["token-twice"]);
    }

    #[test]
    fn tokens_grow_over_all_locks() {
        let a = "10 asks 1 x exclusive; 20 granted 1 5";
        let after = "21 asks 1 y exclusive; 30 granted 1 4";
        let meanwhile = "19 asks 1 y exclusive; 30 granted 1 4";
        assert_eq!(broken(&[a, after]), ["token-order"]);
        assert_eq!(broken(&[a, meanwhile]), [""; 0]);
    }

    /// Asked for at the same time, but held one after the other.
    #[test]
    fn what_excludes_each_other_is_held_in_the_order_of_tokens() {
        let a = "10 asks 1 x exclusive; 20 granted 1 5; 21 looked 1";
        let b = "10 asks 1 x exclusive; 30 granted 1 4; 31 looked 1";
        assert_eq!(broken(&[a, b]), ["token-order"]);
        let b = "10 asks 1 x shared; 30 granted 1 4; 31 looked 1";
        assert_eq!(broken(&[a, b]), ["token-order"]);
        let a = "10 asks 1 x shared; 20 granted 1 5; 21 looked 1";
        assert_eq!(broken(&[a, b]), [""; 0]);
    }

    #[test]
    fn a_role_comes_back_by_a_larger_token() {
        let a = "10 asks 1 r role; 20 granted 1 5; 31 hands 1; 40 handed 1; 60 again 1 4";
        assert_eq!(broken(&[a]), ["token-order"]);
    }

    #[test]
    fn a_leader_that_has_a_successor_proclaims_nothing() {
        let a = "10 asks 1 r role; 20 granted 1 5; 21 looked 1; 50 proclaims 1; 60 proclaimed 1";
        let b = "11 asks 1 r role; 40 granted 1 6; 41 looked 1";
        assert_eq!(broken(&[a, b]), ["stale-leader"]);
        let later = "11 asks 1 r role; 55 granted 1 6; 56 looked 1";
        assert_eq!(broken(&[a, later]), [""; 0]);
        let refused = a.replace("60 proclaimed 1", "60 proclaimed 1 expired");
        assert_eq!(broken(&[&refused, b]), [""; 0]);
    }
}
