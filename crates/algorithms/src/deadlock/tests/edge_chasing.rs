use super::super::detector::Waiter;
use super::super::tests::{edge, id, tx};
use super::*;
use bellwether_core::{Effect, step};

fn at(site: u32, detector: &mut EdgeChasing, event: Event) -> Vec<Effect<EdgeChasing>> {
    let group = Group::numbered(4).unwrap();
    step(&group, site as usize - 1, &(), |cx| detector.on_input(event, cx))
}

fn receive(site: u32, detector: &mut EdgeChasing, msg: Msg) -> Vec<Effect<EdgeChasing>> {
    let group = Group::numbered(4).unwrap();
    step(&group, site as usize - 1, &(), |cx| detector.on_message(id(9), msg, cx))
}

fn waits(waiter: u32, holder: u32, elsewhere: bool) -> Event {
    let (begun, label) = (u64::from(waiter), 100 + u64::from(waiter));
    Event::Waits(Waiter { tx: tx(waiter), begun, label, name: holder, elsewhere })
}

fn holds(holder: u32) -> Event {
    Event::Holds(holder, Some(tx(holder)))
}

fn away(number: u32, site: u32) -> Event {
    Event::Away(tx(number), 100 + u64::from(number), id(site))
}

fn probe(by: u32, number: u64, about: u32, path: &[Edge], to: u32) -> Msg {
    let (about, to) = (tx(about), tx(to));
    let label = 100 + u64::from(to.number);
    Msg { search: (id(by), number), about, path: path.to_vec(), to, label }
}

#[test]
fn e1_a_transaction_that_begins_to_wait_sends_a_probe_after_the_holder() {
    let mut site = EdgeChasing::default();
    for event in [holds(3), holds(4), away(4, 2), waits(3, 4, false)] {
        assert_eq!(at(1, &mut site, event), [], "no transaction elsewhere can wait for T3");
    }
    let path = [edge(1, 2, 3), edge(1, 3, 4)];
    let sent = probe(1, 1, 2, &path, 4);
    assert_eq!(sent.to_string(), "PROBE(T2, T3, T4)");
    assert_eq!(at(1, &mut site, waits(2, 3, true)), [Effect::Send(id(2), sent)]);
}

#[test]
fn e2_a_site_that_learns_that_a_holder_waits_elsewhere_sends_a_probe_after_it() {
    let mut site = EdgeChasing::default();
    for event in [holds(3), waits(2, 3, true)] {
        assert_eq!(at(1, &mut site, event), []);
    }
    let sent = probe(1, 1, 3, &[], 3);
    assert_eq!(at(1, &mut site, away(3, 2)), [Effect::Send(id(2), sent)]);
}

#[test]
fn e3_a_probe_goes_on_once_and_is_back_where_it_came_from() {
    let mut site = EdgeChasing::default();
    for event in [holds(5), waits(4, 5, true), away(5, 3)] {
        at(2, &mut site, event);
    }
    let here = probe(1, 1, 2, &[edge(1, 2, 4)], 4);
    let on = probe(1, 1, 2, &[edge(1, 2, 4), edge(2, 4, 5)], 5);
    assert_eq!(receive(2, &mut site, here.clone()), [Effect::Send(id(3), on)]);
    assert_eq!(receive(2, &mut site, here), [], "once");
    let back = probe(7, 1, 5, &[edge(1, 5, 4)], 4);
    let cycle = Cycle::new(vec![edge(1, 5, 4), edge(2, 4, 5)]).unwrap();
    assert_eq!(receive(2, &mut site, back), [Effect::Emit(DetectorOutput::Suspects(cycle))]);
}

#[test]
fn e4_a_probe_after_one_that_has_gone_on_is_dropped() {
    let mut site = EdgeChasing::default();
    for event in [holds(5), waits(4, 5, true), away(5, 3), Event::Ceases(tx(4), 104)] {
        at(2, &mut site, event);
    }
    assert_eq!(receive(2, &mut site, probe(1, 1, 2, &[edge(1, 2, 4)], 4)), []);
}
