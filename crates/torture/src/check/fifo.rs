//! `fifo`: a request that is known to wait comes before those that ask later.
//!
//! Only requests that are both granted are compared: what became of one that ended otherwise may have
//! been decided at any moment before its client heard of it.

use super::super::history::Mode;
use super::{Book, Grant, Request, Violation};
use std::collections::BTreeMap;

pub(super) fn check(book: &Book) -> Vec<Violation> {
    let mut names: BTreeMap<&str, Vec<(&Request, &Grant)>> = BTreeMap::new();
    for grant in &book.grants {
        let request = &book.requests[grant.request];
        for want in &request.wants {
            let ordered = match want.mode {
                Mode::Role { first_come } => first_come && !book.handed_over.contains(&want.name),
                _ => true,
            };
            if ordered {
                names.entry(&want.name).or_default().push((request, grant));
            }
        }
    }
    names.into_iter().flat_map(|(name, grants)| overtaken(name, grants)).collect()
}

fn overtaken(name: &str, mut asked: Vec<(&Request, &Grant)>) -> Vec<Violation> {
    let mut violations = Vec::new();
    let since = |(request, _): &(&Request, &Grant)| request.queued;
    let mut queued: Vec<_> = asked.iter().copied().filter(|entry| since(entry).is_some()).collect();
    queued.sort_by_key(since);
    asked.sort_by_key(|(request, _)| request.invoked);
    let mut queued = queued.into_iter().peekable();
    // Of those that waited before the next one asked, who was granted last.
    let mut last: Option<(&Request, &Grant)> = None;
    for (request, grant) in asked {
        while let Some(next) = queued.next_if(|next| since(next) < Some(request.invoked)) {
            if last.is_none_or(|(_, last)| last.token < next.1.token) {
                last = Some(next);
            }
        }
        if let Some((earlier, overtaken)) = last.filter(|(_, last)| last.token > grant.token) {
            let what = format!(
                "'{name}': token {} was given to a request that was made when the one that got \
                 token {} waited already",
                grant.token, overtaken.token
            );
            let places = [earlier.place, overtaken.place, request.place, grant.place];
            violations.push(Violation::new("fifo", what, &places));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::super::tests::broken;

    #[test]
    fn who_waits_comes_before_who_asks_later() {
        let a = "10 asks 1 x exclusive; 15 waits 1; 50 granted 1 6; 51 looked 1";
        let b = "20 asks 1 x exclusive; 30 granted 1 5; 31 looked 1";
        assert_eq!(broken(&[a, b]), ["fifo"]);
        let fair = "20 asks 1 x exclusive; 60 granted 1 7; 61 looked 1";
        assert_eq!(broken(&[a, fair]), [""; 0]);
    }

    #[test]
    fn who_asks_before_the_other_is_known_to_wait_may_overtake() {
        let a = "10 asks 1 x exclusive; 25 waits 1; 50 granted 1 6; 51 looked 1";
        let b = "20 asks 1 x exclusive; 30 granted 1 5; 31 looked 1";
        assert_eq!(broken(&[a, b]), [""; 0]);
    }

    #[test]
    fn other_locks_have_other_queues() {
        let a = "10 asks 1 x exclusive; 15 waits 1; 50 granted 1 6; 51 looked 1";
        let b = "20 asks 1 y exclusive; 30 granted 1 5; 31 looked 1";
        assert_eq!(broken(&[a, b]), [""; 0]);
        let both = "20 asks 1 y exclusive x shared; 30 granted 1 5; 31 looked 1";
        assert_eq!(broken(&[a, both]), ["fifo"]);
    }

    #[test]
    fn who_was_refused_has_not_been_overtaken() {
        let a = "10 asks 1 x exclusive; 15 waits 1; 50 timed-out 1";
        let b = "20 asks 1 x exclusive; 30 granted 1 5; 31 looked 1";
        assert_eq!(broken(&[a, b]), [""; 0]);
    }

    #[test]
    fn roles_have_an_order_unless_it_is_changed() {
        let a = "10 asks 1 r role; 15 waits 1; 50 granted 1 6; 51 looked 1";
        let b = "20 asks 1 r role; 30 granted 1 5; 31 looked 1";
        assert_eq!(broken(&[a, b]), ["fifo"]);
        let priority = |text: &str| text.replace("role", "priority");
        assert_eq!(broken(&[&priority(a), &priority(b)]), [""; 0]);
        let c = "1 asks 1 r role; 2 granted 1 1; 3 looked 1; 4 hands 1; 29 handed 1";
        assert_eq!(broken(&[a, b, c]), [""; 0]);
    }
}
