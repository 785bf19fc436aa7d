use super::super::super::tests::{id, message};
use super::*;

fn post(sender: u32, count: u64) -> Post {
    Post { id: message(sender, count), answers: 0 }
}

/// What a process says that was in the view of this number: how many it has delivered, and the
/// positions that it has. The message at each position is one of P1 with that count, plus `skew`.
fn reported(
    view: Option<u32>,
    delivered: u64,
    positions: impl IntoIterator<Item = u64>,
    skew: u64,
) -> Reported<Report> {
    let log = positions.into_iter().map(|at| (at, post(1, at + skew))).collect();
    Reported { was_in: view.map(|view| Epoch::new(view, id(9))), report: Report { delivered, log } }
}

fn open(reports: Vec<Reported<Report>>) -> (u64, Vec<u64>) {
    let reports: Vec<_> = (1..).map(id).zip(reports).collect();
    let opening = Report::open(id(1), &reports);
    assert_eq!(opening.sequencer, id(1));
    assert_eq!(opening.end(), opening.first + opening.tail.len() as u64);
    (opening.first, opening.tail.iter().map(|post| post.id.count).collect())
}

#[test]
fn who_lags_behind_gets_what_the_others_have() {
    let reports = vec![reported(Some(0), 5, 3..5, 0), reported(Some(0), 3, [], 0)];
    assert_eq!(open(reports), (3, vec![3, 4]));
}

#[test]
fn what_one_survivor_holds_is_kept_up_to_the_first_gap() {
    let reports = vec![reported(Some(0), 3, [4, 5, 7], 0), reported(Some(0), 3, [3, 4], 0)];
    assert_eq!(open(reports), (3, vec![3, 4, 5]));
}

#[test]
fn a_message_behind_a_gap_has_no_place() {
    let reports = vec![reported(Some(0), 3, [4], 0), reported(Some(0), 3, [5], 0)];
    assert_eq!(open(reports), (3, vec![]));
}

#[test]
fn the_newest_view_counts() {
    // The older one held another message at position 4, behind a gap that the newer one filled.
    let reports = vec![reported(Some(1), 4, 2..6, 0), reported(Some(0), 2, [4, 6], 100)];
    assert_eq!(open(reports), (2, vec![2, 3, 4, 5]));
}

#[test]
fn what_the_newest_view_has_forgotten_an_older_one_may_have() {
    let reports = vec![reported(Some(1), 4, [3], 0), reported(Some(0), 2, [2], 0)];
    assert_eq!(open(reports), (2, vec![2, 3]));
}

#[test]
fn a_process_that_has_come_back_has_nothing_to_report() {
    let reports = vec![reported(None, 0, [], 0), reported(Some(3), 7, [], 0)];
    assert_eq!(open(reports), (7, vec![]));
    assert_eq!(open(vec![reported(None, 0, [], 0)]), (0, vec![]));
}

#[test]
fn what_no_survivor_has_is_left_out_even_if_that_cannot_be() {
    let reports = vec![reported(Some(1), 9, [7, 8], 0), reported(Some(1), 2, [3], 0)];
    assert_eq!(open(reports), (7, vec![7, 8]));
    let reports = vec![reported(Some(1), 2, [], 0), reported(Some(0), 9, [7, 8], 0)];
    assert_eq!(open(reports), (2, vec![]));
    let reports = vec![reported(Some(1), u64::MAX, [u64::MAX - 1, u64::MAX], 0)];
    assert_eq!(open(reports), (u64::MAX, vec![]));
}
