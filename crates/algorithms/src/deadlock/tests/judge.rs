use super::super::tests::{edge, id, tx};
use super::*;

fn ms(ms: u64) -> Time {
    Time::from_micros(ms * 1_000)
}

fn judge() -> Judge {
    Judge::new(true, Duration::ZERO, Duration::from_millis(10))
}

/// T1 holds a and waits for b, T2 holds b and waits for a.
fn deadlocked(judge: &mut Judge) -> Cycle {
    let edges = [edge(1, 1, 2), edge(1, 2, 1)];
    for Edge { waiter, resource, .. } in edges {
        judge.hear(ms(1), id(1), &Output::Begun(waiter)).unwrap();
        let other = Resource { name: waiter.number, ..resource };
        judge.hear(ms(1), id(1), &Output::Granted { tx: waiter, resource: other }).unwrap();
    }
    for Edge { waiter, label, holder, resource, .. } in edges {
        let waits = Output::Waits { tx: waiter, label, resource, holder };
        judge.hear(ms(2), id(1), &waits).unwrap();
    }
    Cycle::new(edges.to_vec()).unwrap()
}

fn name(judged: Result<(), Breach>) -> &'static str {
    judged.map_or_else(|breach| breach.name, |()| "fine")
}

#[test]
fn a_deadlock_that_is_found_and_broken_is_fine() {
    let mut judge = judge();
    let cycle = deadlocked(&mut judge);
    assert_eq!(name(judge.close()), "found");
    assert_eq!(name(judge.hear(ms(3), id(1), &Output::Found(cycle.clone()))), "fine");
    let ended = Output::Ended { tx: tx(2), how: How::Victim(cycle) };
    assert_eq!(name(judge.hear(ms(4), id(1), &ended)), "fine");
    assert_eq!(name(judge.close()), "fine");
    let facts = summary::facts(&judge);
    let texts: Vec<(&str, &str)> = facts.iter().map(|f| (f.name, f.text.as_str())).collect();
    assert_eq!(
        texts,
        [
            ("transactions", "2 begun, 0 committed, 1 aborted"),
            ("deadlocks", "1, found after 1ms"),
            ("cycle-1", "T1 -> T2 (S1.c) -> T1 (S1.b): T2 aborted"),
        ]
    );
    let [Picture::Graph(graph)] = &summary::pictures(&judge)[..] else { panic!() };
    assert_eq!((graph.nodes.len(), graph.edges.len()), (2, 2));
    assert!(!graph.nodes[0].marked && graph.nodes[1].marked);
}

#[test]
fn a_deadlock_that_stands_too_long_is_seen() {
    let mut judge = judge();
    deadlocked(&mut judge);
    assert_eq!(name(judge.hear(ms(32), id(1), &Output::Begun(tx(9)))), "fine");
    assert_eq!(name(judge.hear(ms(33), id(1), &Output::Begun(tx(8)))), "found");
    // If a site in it is dead, no transaction can be blamed.
    judge.lose(id(1));
    assert_eq!(name(judge.close()), "fine");
}

#[test]
fn a_phantom_is_seen_and_so_are_two_reports_and_two_victims() {
    let mut judge = judge();
    let cycle = deadlocked(&mut judge);
    let phantom = Cycle::new(vec![edge(1, 1, 3), edge(1, 3, 1)]).unwrap();
    assert_eq!(name(judge.hear(ms(3), id(1), &Output::Found(phantom.clone()))), "no-phantom");
    let [Picture::Graph(graph)] = &summary::pictures(&judge)[..] else { panic!() };
    assert!(graph.title.starts_with("Phantom, reported at 3ms"), "{}", graph.title);
    let ended = Output::Ended { tx: tx(3), how: How::Victim(phantom) };
    assert_eq!(name(judge.hear(ms(3), id(1), &ended)), "no-phantom");
    // The same transactions by other requests are another cycle.
    let mut edges = cycle.edges().to_vec();
    edges[0].label += 1;
    let other = Output::Found(Cycle::new(edges).unwrap());
    assert_eq!(name(judge.hear(ms(3), id(1), &other)), "no-phantom");

    let found = Output::Found(cycle.clone());
    assert_eq!(name(judge.hear(ms(3), id(1), &found)), "fine");
    assert_eq!(name(judge.hear(ms(3), id(1), &found)), "one-report");
    let victim = |tx| Output::Ended { tx, how: How::Victim(cycle.clone()) };
    assert_eq!(name(judge.hear(ms(3), id(1), &victim(tx(2)))), "fine");
    assert_eq!(name(judge.hear(ms(3), id(1), &victim(tx(1)))), "one-report");
}

#[test]
fn what_the_holders_home_has_given_back_is_not_waited_for() {
    let mut judge = judge();
    let [first, second] = [edge(1, 1, 2), edge(1, 2, 1)];
    for Edge { waiter, resource, .. } in [first, second] {
        judge.hear(ms(1), id(1), &Output::Begun(waiter)).unwrap();
        let other = Resource { name: waiter.number, ..resource };
        judge.hear(ms(1), id(1), &Output::Granted { tx: waiter, resource: other }).unwrap();
    }
    let waits = |edge: Edge| Output::Waits {
        tx: edge.waiter,
        label: edge.label,
        resource: edge.resource,
        holder: edge.holder,
    };
    // T2 gives its resource back; that is on the way while T1 is put into the queue for it.
    let unlocked = Output::Unlocked { tx: tx(2), resource: first.resource };
    judge.hear(ms(1), id(1), &unlocked).unwrap();
    judge.hear(ms(2), id(1), &waits(first)).unwrap();
    judge.hear(ms(2), id(1), &waits(second)).unwrap();
    assert!(judge.deadlocks.is_empty());
}
