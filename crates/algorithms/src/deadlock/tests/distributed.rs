use super::super::tests::{edge, id, tx};
use super::*;
use bellwether_core::{Effect, step};

/// Steps the detector of a site among four.
fn at(site: u32, detector: &mut Distributed, event: Event) -> Vec<Effect<Distributed>> {
    let group = Group::numbered(4).unwrap();
    step(&group, site as usize - 1, &(), |cx| detector.on_input(event, cx))
}

fn receive(site: u32, detector: &mut Distributed, msg: Msg) -> Vec<Effect<Distributed>> {
    let group = Group::numbered(4).unwrap();
    step(&group, site as usize - 1, &(), |cx| detector.on_message(id(9), msg, cx))
}

/// `waiter` waits here for the resource that is named after its holder.
fn waits(waiter: u32, holder: u32, elsewhere: bool) -> Event {
    let edge = edge(1, waiter, holder);
    let (begun, label) = (edge.begun, edge.label);
    Event::Waits(Waiter { tx: tx(waiter), begun, label, name: holder, elsewhere })
}

fn holds(holder: u32) -> Event {
    Event::Holds(holder, Some(tx(holder)))
}

fn away(number: u32, site: u32) -> Event {
    Event::Away(tx(number), 100 + u64::from(number), id(site))
}

fn path(edges: &[Edge]) -> Msg {
    let label = 100 + u64::from(edges.last().unwrap().holder.number);
    Msg { path: edges.to_vec(), label }
}

/// The two sites of the book: S1 has P_ex -> T2 -> T3 -> P_ex, S2 has P_ex -> T3 -> T4 -> T2 ->
/// P_ex.
#[test]
fn d2_the_site_whose_path_ends_larger_is_silent_and_the_other_one_sends() {
    let mut first = Distributed::default();
    for event in [holds(3), waits(2, 3, true), away(3, 2)] {
        assert_eq!(at(1, &mut first, event), [], "id(T3) > id(T2)");
    }
    let mut second = Distributed::default();
    for event in [holds(4), holds(2), waits(3, 4, true), waits(4, 2, false)] {
        assert_eq!(at(2, &mut second, event), []);
    }
    let sent = path(&[edge(2, 3, 4), edge(2, 4, 2)]);
    assert_eq!(at(2, &mut second, away(2, 1)), [Effect::Send(id(1), sent.clone())]);

    // D3, D1: the first site has all the parts.
    let cycle = Cycle::new(vec![edge(1, 2, 3), edge(2, 3, 4), edge(2, 4, 2)]).unwrap();
    assert_eq!(cycle.to_string(), "T2 -> T3 (S1.d) -> T4 (S2.e) -> T2 (S2.c)");
    let found = [Effect::Emit(DetectorOutput::Suspects(cycle))];
    assert_eq!(receive(1, &mut first, sent.clone()), found);
    // It is told once.
    assert_eq!(receive(1, &mut first, sent), []);
}

#[test]
fn d1_a_local_cycle_is_a_deadlock() {
    let mut site = Distributed::default();
    for event in [holds(1), holds(2), waits(1, 2, true)] {
        assert_eq!(at(1, &mut site, event), []);
    }
    let cycle = Cycle::new(vec![edge(1, 1, 2), edge(1, 2, 1)]).unwrap();
    let found = at(1, &mut site, waits(2, 1, false));
    assert_eq!(found, [Effect::Emit(DetectorOutput::Suspects(cycle))]);
}

#[test]
fn d2_without_p_ex_at_both_ends_nothing_is_sent() {
    let mut site = Distributed::default();
    // T9 holds nothing elsewhere, so no transaction elsewhere can wait for it.
    for event in [holds(3), waits(9, 3, false), away(3, 2)] {
        assert_eq!(at(1, &mut site, event), []);
    }
    // Now a transaction waits for it that holds something elsewhere.
    at(1, &mut site, holds(9));
    let sent = path(&[edge(1, 8, 9), edge(1, 9, 3)]);
    assert_eq!(at(1, &mut site, waits(8, 9, true)), [Effect::Send(id(2), sent)]);
}

#[test]
fn d3_a_path_goes_on_only_to_a_transaction_smaller_than_its_first() {
    for (last, goes_on) in [(3, true), (7, false)] {
        let mut site = Distributed::default();
        at(2, &mut site, holds(last));
        // The own path T4 -> T3 is sent, T4 -> T7 is not.
        at(2, &mut site, waits(4, last, true));
        at(2, &mut site, away(last, 3));
        let effects = receive(2, &mut site, path(&[edge(1, 5, 4)]));
        let longer = path(&[edge(1, 5, 4), edge(2, 4, last)]);
        let expected = if goes_on { vec![Effect::Send(id(3), longer)] } else { vec![] };
        assert_eq!(effects, expected);
    }
}

#[test]
fn d4_a_path_is_sent_once_and_anew_when_the_way_has_changed() {
    let mut site = Distributed::default();
    for event in [holds(3), waits(4, 3, true)] {
        at(1, &mut site, event);
    }
    assert_eq!(at(1, &mut site, away(3, 2)).len(), 1);
    assert_eq!(at(1, &mut site, away(3, 2)), []);
    // T3 has gone on and waits again, by another request.
    at(1, &mut site, Event::Back(tx(3), 103));
    let again = at(1, &mut site, Event::Away(tx(3), 200, id(4)));
    assert!(matches!(again[..], [Effect::Send(to, _)] if to == id(4)), "{again:?}");
    // The same if that is heard before what came before it.
    let again = at(1, &mut site, Event::Away(tx(3), 300, id(2)));
    assert!(matches!(again[..], [Effect::Send(to, _)] if to == id(2)), "{again:?}");
}

#[test]
fn d5_a_path_is_forgotten_when_its_last_transaction_ceases_to_wait() {
    let mut site = Distributed::default();
    for event in [holds(2), waits(4, 2, true)] {
        at(2, &mut site, event);
    }
    assert_eq!(receive(2, &mut site, path(&[edge(1, 5, 4)])), []);
    at(2, &mut site, Event::Ceases(tx(4), 104));
    assert_eq!(site.paths.len(), 0);
    // One that comes too late is not kept either.
    assert_eq!(receive(2, &mut site, path(&[edge(1, 5, 4)])), []);
    assert_eq!(site.paths.len(), 0);
    assert_eq!(at(2, &mut site, away(2, 3)), []);
}

#[test]
fn what_is_refuted_is_forgotten() {
    let mut site = Distributed::default();
    for event in [holds(5), waits(4, 5, true)] {
        at(2, &mut site, event);
    }
    let stale = path(&[edge(1, 5, 4)]);
    assert_eq!(receive(2, &mut site, stale.clone()).len(), 1, "a cycle");
    at(2, &mut site, Event::Refuted(stale.path));
    assert!(site.paths.values().all(|paths| paths.is_empty()));
}

/// T9 waits for T4, which is in a cycle with T5; T9's path comes by the second site with the whole
/// cycle in it, and still it is for T5's path to find it.
#[test]
fn d3_a_path_that_leads_into_a_cycle_from_outside_does_not_find_it() {
    let mut site = Distributed::default();
    for event in [holds(5), waits(4, 5, true), away(5, 1)] {
        at(2, &mut site, event);
    }
    let outside = path(&[edge(1, 9, 5), edge(1, 5, 4)]);
    assert_eq!(receive(2, &mut site, outside), []);
    let own = path(&[edge(1, 5, 4)]);
    let cycle = Cycle::new(vec![edge(1, 5, 4), edge(2, 4, 5)]).unwrap();
    assert_eq!(receive(2, &mut site, own), [Effect::Emit(DetectorOutput::Suspects(cycle))]);
}

/// Notes come from different sites: that of an earlier request may come later.
#[test]
fn a_note_of_an_earlier_request_does_not_hide_a_later_one() {
    let mut site = Distributed::default();
    for event in [holds(3), Event::Away(tx(3), 200, id(4)), Event::Away(tx(3), 150, id(2))] {
        at(1, &mut site, event);
    }
    at(1, &mut site, Event::Back(tx(3), 150));
    let sent = at(1, &mut site, waits(4, 3, true));
    assert!(matches!(sent[..], [Effect::Send(to, _)] if to == id(4)), "{sent:?}");
}
