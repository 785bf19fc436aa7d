use super::super::tests::id;
use super::*;
use crate::deadlock::Distributed;
use bellwether_core::{Effect, Group, step};

type Alone = Site<Distributed>;

fn config() -> Config<()> {
    let ms = Duration::from_millis;
    let jobs = Jobs { resources: 2, locks: 3, hold: (ms(5), ms(5)), patience: None };
    Config { timeout: ms(30), jobs, confirm: true, detector: () }
}

/// Gives the site with number 1, of two, a script's word; what it says, without the rest.
fn asks(site: &mut Alone, verb: &str) -> Vec<String> {
    let deed = Input::Deed(Deed::parse(verb).unwrap());
    said(step(&Group::numbered(2).unwrap(), 0, &config(), |cx| site.on_input(deed, cx)))
}

fn said(effects: Vec<Effect<Alone>>) -> Vec<String> {
    let text = |effect: Effect<Alone>| match effect {
        Effect::Send(to, msg) => Some(format!("-> {to} {msg}")),
        Effect::Emit(output) => Some(output.to_string()),
        Effect::SetTimer(..) | Effect::CancelTimer(_) => None,
    };
    effects.into_iter().filter_map(text).collect()
}

#[test]
fn l1_and_l2_first_come_first_served() {
    let mut site = Alone::default();
    assert_eq!(asks(&mut site, "lock:T1:S1.a"), ["begins T1", "gives S1.a to T1"]);
    let waits = "lets T2 wait for S1.a, which T1 holds";
    assert_eq!(asks(&mut site, "lock:T2:S1.a"), ["begins T2", waits]);
    asks(&mut site, "lock:T3:S1.a");
    assert_eq!(asks(&mut site, "commit:T1"), ["commits T1", "gives S1.a to T2"]);
    // One that waits takes its request back.
    assert_eq!(asks(&mut site, "abort:T3"), ["gives up T3"]);
    assert_eq!(asks(&mut site, "commit:T2"), ["commits T2"]);
    assert_eq!(asks(&mut site, "lock:T4:S2.b"), ["begins T4", "-> P2 LOCK(T4, 8)"]);
}

#[test]
fn l4_and_l5_a_deadlock_at_one_site_needs_no_other_site() {
    let mut site = Alone::default();
    for verb in ["lock:T1:S1.a", "lock:T2:S1.b", "lock:T1:S1.b"] {
        asks(&mut site, verb);
    }
    let cycle = "T1 -> T2 (S1.b) -> T1 (S1.a)";
    assert_eq!(
        asks(&mut site, "lock:T2:S1.a"),
        [
            "lets T2 wait for S1.a, which T1 holds",
            &format!("finds the deadlock {cycle}"),
            &format!("aborts T2: deadlock {cycle}"),
            "gives S1.b to T1",
        ]
    );
}

#[test]
fn l5_a_victim_that_has_gone_on_is_spared() {
    let mut site = Alone::default();
    for verb in ["lock:T1:S1.a", "lock:T2:S1.b", "lock:T1:S1.b"] {
        asks(&mut site, verb);
    }
    let before = site.clone();
    let edge = |waiter, label, holder, name| Edge {
        waiter: Tx { number: waiter, home: id(1) },
        begun: label,
        label,
        holder: Tx { number: holder, home: id(1) },
        resource: Resource { site: id(1), name },
    };
    let cycle = Cycle::new(vec![edge(1, 99, 2, 1), edge(2, 98, 1, 0)]).unwrap();
    let abort = Msg::Abort { label: 99, cycle };
    let group = Group::numbered(2).unwrap();
    let effects = step(&group, 0, &config(), |cx| site.on_message(id(2), abort, cx));
    assert_eq!((effects, site), (vec![], before));
}

#[test]
fn what_cannot_be_done_is_refused_and_changes_nothing() {
    let mut site = Alone::default();
    for verb in ["lock:T1:S1.a", "lock:T2:S1.a"] {
        asks(&mut site, verb);
    }
    let before = site.clone();
    for (verb, why) in [
        ("begin:T1", "T1 has begun already"),
        ("lock:T1:S1.a", "T1 has S1.a already"),
        ("lock:T1:S7.a", "there is no site S7"),
        ("lock:T2:S1.b", "T2 waits for S1.a, and can do nothing until it has it"),
        ("commit:T2", "T2 waits for S1.a, and can do nothing until it has it"),
        ("unlock:T2:S1.a", "T2 waits for S1.a, and can do nothing until it has it"),
        ("unlock:T1:S1.b", "T1 does not have S1.b"),
        ("commit:T3", "there is no T3 at home here"),
        ("abort:T3", "there is no T3 at home here"),
        ("unlock:T3:S1.a", "there is no T3 at home here"),
    ] {
        assert_eq!(asks(&mut site, verb), [format!("refuses: {why}")]);
        assert_eq!(site, before, "{verb}");
    }
}
