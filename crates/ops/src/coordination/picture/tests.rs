//! Drawing waits and cycles.

use super::*;
use bellwether_api::coordination::{Wait, WaitsFor};

/// Two that locked a, b and b, a; the second was aborted and the first still waits.
pub(crate) fn two_in_a_cycle() -> Coordination {
    let wait = |session: &str, client: &str, lock: &str, second: u32| Wait {
        session: session.to_owned(),
        client: client.to_owned(),
        lock: lock.to_owned(),
        since: format!("2026-11-16T09:30:0{second}.000Z"),
    };
    let deadlock = Deadlock {
        at: "2026-11-16T09:30:02.000Z".to_owned(),
        cycle: vec![wait("s3.2", "second", "a", 2), wait("s3.1", "first", "b", 1)],
        aborted: Some("s3.2".to_owned()),
        text: "s3.2 waits".to_owned(),
    };
    Coordination {
        deadlocks: vec![deadlock],
        waits: vec![edge("s3.1", "s3.2")],
        ..Coordination::default()
    }
}

fn edge(from: &str, to: &str) -> WaitsFor {
    WaitsFor { from: from.to_owned(), to: to.to_owned(), lock: "b".to_owned() }
}

#[test]
fn a_cycle_and_the_graph_of_now_are_drawn() {
    let picture = draw(&two_in_a_cycle());
    assert!(picture.starts_with("<svg"), "{picture}");
    for fragment in ["s3.1", "s3.2", "second", "Wait-for graph now", "Found 2026"] {
        assert!(picture.contains(fragment), "no '{fragment}' in\n{picture}");
    }
    assert!(draw(&Coordination::default()).contains("No session waits"));
}

#[test]
fn only_what_is_in_a_circle_stands_out() {
    let waits = vec![edge("a", "b"), edge("b", "c"), edge("c", "b"), edge("c", "d")];
    let graph = now(&Coordination { waits, ..Coordination::default() });
    let marked: Vec<_> = graph.edges.iter().map(|arc| arc.marked).collect();
    assert_eq!(marked, [false, true, true, false]);
    let marked: Vec<_> = graph.nodes.iter().map(|vertex| vertex.marked).collect();
    assert_eq!(marked, [false, true, true, false]);
}

#[test]
fn a_crowd_is_drawn_in_part_and_long_names_are_cut() {
    let waits = (0..100).map(|n| edge(&format!("s{n}"), &format!("s{}", n + 1))).collect();
    let graph = now(&Coordination { waits, ..Coordination::default() });
    assert_eq!(graph.nodes.len(), SESSIONS_MAX);
    assert!(graph.title.ends_with("59 of 100"), "{}", graph.title);
    assert_eq!(short("exactly fifteen"), "exactly fifteen");
    assert_eq!(short("a name with many letters"), "a name with ma\u{2026}");
}
