//! `exclusion` and `lost-grant`: never two at once.

use super::super::history::Mode;
use super::{Book, Grant, Place, Violation};

pub(super) fn check(book: &Book) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (name, grants) in book.by_name() {
        // Those that are held at the moment at which the next one is heard of.
        let mut held: Vec<(&Grant, Mode)> = Vec::new();
        for (grant, mode) in grants {
            let now = grant.answered;
            held.retain(|(other, _)| other.held.is_some_and(|(until, _)| until > now));
            for (other, how) in &held {
                if mode.excludes(*how) {
                    violations.extend(excluded(name, other, grant));
                }
            }
            if let Mode::Permits { take, of } = mode {
                violations.extend(exceeded(name, (take, of), &held, grant));
            }
            held.push((grant, mode));
        }
    }
    violations
}

/// The second was granted while the first is held. Which rule is broken depends on what is known of
/// the second: that it was held, or at least that it was granted within the time of the first.
fn excluded(name: &str, first: &Grant, second: &Grant) -> Option<Violation> {
    let (until, last) = first.held?;
    let tokens = format!("by token {} and by token {}", first.token, second.token);
    if let Some((looked, place)) = second.held
        && looked > second.answered
    {
        let both = until.min(looked) - second.answered;
        let what = format!("'{name}' was held {tokens} at once, for {both} us at least");
        return Some(Violation::new("exclusion", what, &[first.place, last, second.place, place]));
    }
    let within = second.invoked > first.answered;
    within.then(|| {
        let what = format!("'{name}' was granted {tokens} while it was held by the first");
        Violation::new("lost-grant", what, &[first.place, last, second.place])
    })
}

fn exceeded(
    name: &str,
    (take, of): (u32, u32),
    held: &[(&Grant, Mode)],
    grant: &Grant,
) -> Option<Violation> {
    grant.held.filter(|(looked, _)| *looked > grant.answered)?;
    let permits = |mode: &Mode| match mode {
        Mode::Permits { take, .. } => *take,
        _ => 0,
    };
    let taken: u32 = take + held.iter().map(|(_, mode)| permits(mode)).sum::<u32>();
    (taken > of).then(|| {
        let what = format!("{taken} of {of} permits of '{name}' were held at once");
        let others = held.iter().map(|(other, _)| other.place);
        let places: Vec<Place> = others.chain([grant.place]).collect();
        Violation::new("exclusion", what, &places)
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::broken;

    #[test]
    fn one_after_the_other_is_fine() {
        let a = "10 asks 1 x exclusive; 20 granted 1 5; 21 looked 1; 30 looked 1; 31 gives 1";
        let b = "11 asks 1 x exclusive; 31 granted 1 6; 32 looked 1";
        assert_eq!(broken(&[a, b]), [""; 0]);
    }

    #[test]
    fn two_who_look_at_the_same_time_are_not() {
        let a = "10 asks 1 x exclusive; 20 granted 1 5; 21 looked 1; 30 looked 1; 31 gives 1";
        let b = "11 asks 1 x exclusive; 29 granted 1 6; 32 looked 1";
        assert_eq!(broken(&[a, b]), ["exclusion"]);
        let shared = "11 asks 1 x shared; 29 granted 1 6; 32 looked 1";
        assert_eq!(broken(&[a, shared]), ["exclusion"]);
    }

    /// A stopped process that holds no more when it looks again has claimed nothing meanwhile.
    #[test]
    fn who_does_not_look_does_not_claim() {
        let a = "10 asks 1 x exclusive; 20 granted 1 5; 21 looked 1; 90 lost 1 expired";
        let b = "11 asks 1 x exclusive; 40 granted 1 6; 50 looked 1";
        assert_eq!(broken(&[a, b]), [""; 0]);
        // But one that does hold it when it looks again has held it all the time.
        let a = "10 asks 1 x exclusive; 20 granted 1 5; 21 looked 1; 90 looked 1";
        assert_eq!(broken(&[a, b]), ["exclusion"]);
    }

    #[test]
    fn shared_is_shared() {
        let a = "10 asks 1 x shared; 20 granted 1 5; 30 looked 1";
        let b = "10 asks 1 x shared; 21 granted 1 6; 31 looked 1";
        assert_eq!(broken(&[a, b]), [""; 0]);
    }

    #[test]
    fn permits_are_counted() {
        let a = "10 asks 1 p permits/2/3; 20 granted 1 5; 40 looked 1";
        let b = "10 asks 1 p permits/1/3; 21 granted 1 6; 40 looked 1";
        let c = "10 asks 1 p permits/1/3; 22 granted 1 7; 40 looked 1";
        assert_eq!(broken(&[a, b]), [""; 0]);
        assert_eq!(broken(&[a, b, c]), ["exclusion"]);
    }

    #[test]
    fn one_lock_of_several_is_enough() {
        let a = "10 asks 1 x exclusive y exclusive; 20 granted 1 5; 40 looked 1";
        let b = "11 asks 1 y shared z exclusive; 30 granted 1 6; 35 looked 1";
        assert_eq!(broken(&[a, b]), ["exclusion"]);
    }

    #[test]
    fn a_role_has_one_leader() {
        let a = "10 asks 1 r role; 20 granted 1 5; 40 looked 1";
        let b = "11 asks 1 r role; 30 granted 1 6; 35 looked 1";
        assert_eq!(broken(&[a, b]), ["exclusion"]);
    }

    /// The successor of a hand-over may lead before the predecessor hears that it has worked.
    #[test]
    fn a_role_that_is_handed_over_is_no_longer_claimed() {
        let a = "10 asks 1 r role; 20 granted 1 5; 30 looked 1; 31 hands 1; 40 handed 1; \
                 60 again 1 7; 70 looked 1";
        let b = "11 asks 1 r role; 35 granted 1 6; 50 looked 1; 51 gives 1";
        assert_eq!(broken(&[a, b]), [""; 0]);
        let early = "10 asks 1 r role; 20 granted 1 5; 30 looked 1; 31 hands 1; 40 handed 1; \
                     45 again 1 7; 70 looked 1";
        assert_eq!(broken(&[early, b]), ["exclusion"]);
    }

    /// A grant within the time of another one is wrong, even if it is never looked at.
    #[test]
    fn an_acknowledged_grant_is_not_lost() {
        let a = "10 asks 1 x exclusive; 20 granted 1 5; 90 looked 1";
        let b = "30 asks 1 x exclusive; 40 granted 1 6";
        assert_eq!(broken(&[a, b]), ["lost-grant"]);
        // It may have been granted before the first one was, and lost since.
        let b = "15 asks 1 x exclusive; 40 granted 1 4";
        assert_eq!(broken(&[a, b]), [""; 0]);
    }
}
