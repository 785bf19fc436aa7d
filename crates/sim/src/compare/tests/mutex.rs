use super::super::*;
use super::{CATALOGUE, is_well_formed, listed, members};
use bellwether_algorithms::cost::{Entries, Load as Entering};
use bellwether_algorithms::mutex::Tree;
use std::collections::BTreeSet;

fn mutex(nodes: impl IntoIterator<Item = u32>, load: Option<Load>) -> Vec<Case> {
    nodes.into_iter().flat_map(|n| mutex_cases_for(n, load)).collect()
}

fn mutex_cases_for(n: u32, load: Option<Load>) -> Vec<Case> {
    family_cases_for(&CATALOGUE, "mutex", n, load)
}

fn enter(algorithm: &str, n: u32, entries: &Entries) -> Vec<Run> {
    sections::runs(listed(algorithm), n, entries)
}

fn alone(algorithm: &str, n: u32, before: &[u32], then: &[u32]) -> Vec<Run> {
    enter(algorithm, n, &Entries::new(Entering::Alone, then.to_vec()).after(before))
}

fn relay(algorithm: &str, n: u32, ids: &[u32]) -> Vec<Run> {
    enter(algorithm, n, &Entries::new(Entering::Relay, ids.to_vec()))
}

fn always(algorithm: &str, n: u32) -> Vec<Run> {
    enter(algorithm, n, &Entries::new(Entering::Always, 1..=n))
}

fn find<'a>(cases: &'a [Case], algorithm: &str, case: &str) -> &'a Case {
    let fits = |found: &&Case| found.algorithm == algorithm && found.case == case;
    cases.iter().find(fits).unwrap()
}

#[test]
fn all_algorithms_are_compared_under_two_loads_and_each_delay_is_known() {
    let cases = mutex_cases_for(5, None);
    for load in [Load::Light, Load::Saturated] {
        let under: Vec<&Case> = cases.iter().filter(|case| case.load == Some(load)).collect();
        let names: BTreeSet<_> = under.iter().map(|case| case.algorithm).collect();
        assert_eq!(names, members("mutex"));
        assert_eq!(mutex_cases_for(5, Some(load)).len(), under.len());
    }
    assert!(mutex_cases_for(5, Some(Load::Bursts)).is_empty());
    assert!(mutex_cases_for(0, None).is_empty());
    let saturated = cases.iter().filter(|case| case.load == Some(Load::Saturated));
    assert!(saturated.into_iter().all(|case| case.delay.is_some()));
    // A process that is alone sends nothing and waits for no other.
    let lonely = mutex_cases_for(1, None);
    assert!(lonely.iter().all(|case| case.measured.sum == 0 && case.delay.is_none()));
    let names: BTreeSet<_> = lonely.iter().map(|case| case.algorithm).collect();
    assert_eq!(names, members("mutex"));
}

#[test]
fn the_sources_numbers_come_out_for_five_processes() {
    let cases = mutex_cases_for(5, None);
    let measured = |algorithm, case| find(&cases, algorithm, case).measured.value();
    let hops = |algorithm, case| {
        find(&cases, algorithm, case).delay.as_ref().map(|delay| delay.measured.value())
    };
    let always = "all ask always";
    assert_eq!(measured("central", "a client asks"), 3.0);
    assert_eq!(measured("lamport", always), 12.0);
    assert_eq!(measured("ricart-agrawala", always), 8.0);
    assert_eq!(measured("token-ring", always), 1.0);
    assert_eq!(measured("suzuki-kasami", "another asks"), 5.0);
    assert_eq!(measured("raymond", "line, all ask always"), 3.2);
    assert_eq!(measured("singhal", "average requester"), 2.8);
    assert_eq!(hops("central", "all clients ask always"), Some(2.0));
    assert_eq!(hops("lamport", always), Some(1.0));
    assert_eq!(hops("token-ring", "the last one asks"), Some(4.0));
    assert_eq!(hops("raymond", "star, all ask always"), Some(1.6));
    assert_eq!(hops("lamport", "one asks"), None);
}

#[test]
fn every_message_of_an_entry_is_counted_for_it_and_no_other() {
    let runs = alone("central", 4, &[1, 4], &[2, 4, 3]);
    let counts: Vec<u64> = runs.iter().map(|run| run.by_kind.values().sum()).collect();
    assert_eq!(counts, [3, 0, 3]);
    let runs = relay("suzuki-kasami", 4, &[3, 2, 3, 1]);
    let counts: Vec<_> = runs.iter().map(|run| (run.count("TOKEN"), run.delay)).collect();
    assert_eq!(counts, [(1, Some(1)); 3]);
    // The process that was inside least lately asks all others; the one that was inside last asks none.
    let runs = alone("singhal", 4, &[4, 2, 1, 3], &[4, 4, 3, 2]);
    let counts: Vec<_> = runs.iter().map(|run| run.count("REQUEST")).collect();
    assert_eq!(counts, [3, 0, 1, 3]);
    assert!(runs.iter().all(|run| run.sound && run.delay.is_none()));
    assert_eq!(always("lamport", 4).len(), 8);
}

#[test]
fn a_lone_request_in_a_tree_costs_twice_the_distance() {
    for (before, id, distance) in [(1, 7, 2), (4, 7, 4), (4, 5, 2), (2, 4, 1), (6, 6, 0)] {
        let entries = Entries::new(Entering::Alone, [id]).after(&[before]).on(Tree::Arity(2));
        let runs = enter("raymond", 7, &entries);
        assert_eq!(runs[0].count("REQUEST"), distance);
        assert_eq!(runs[0].count("PRIVILEGE"), distance);
    }
}

#[test]
fn an_impossible_order_of_entries_is_not_sound() {
    // P2 asks although it is inside already, and is refused.
    let runs = relay("lamport", 3, &[1, 2, 2, 3]);
    assert!(runs.iter().all(|run| !run.sound));
}

fn judge(messages: Expected, delay: Expected, runs: &[Run]) -> Case {
    let entries = Entries::new(Entering::Always, 1..=3);
    let cost = Cost::new("test", "2(n-1)", messages, [entries])
        .rank(Rank::Worst)
        .parts([(&["REQUEST", "REPLY"][..], "2(n-1)", messages)])
        .delay("T", delay);
    super::super::judge("ricart-agrawala", 3, cost, runs)
}

#[test]
fn a_wrong_formula_for_messages_or_delay_is_reported() {
    use Expected::{AtMost, Exact, ExactMean};
    let by_kind = || BTreeMap::from([("REQUEST", 2), ("REPLY", 2)]);
    let run = |delay| Run { by_kind: by_kind(), delay, sound: true };
    let runs = [run(Some(1)), run(Some(2))];
    let mean = |sum| ExactMean { sum, runs: 2 };
    let right = judge(Exact(4), mean(3), &runs);
    assert!(right.agrees && !right.contradicts(), "{right:#?}");
    assert!(judge(mean(8), AtMost(2), &runs).agrees);
    for wrong in [
        judge(Exact(4), Exact(1), &runs),
        judge(Exact(4), mean(4), &runs),
        judge(Exact(4), AtMost(1), &runs),
        judge(Exact(5), mean(3), &runs),
        judge(mean(9), mean(3), &runs),
        // A delay that was not there is not a delay of nothing.
        judge(Exact(4), Exact(1), &[run(Some(1)), run(None)]),
        judge(Exact(4), Exact(1), &[run(None)]),
    ] {
        assert!(!wrong.agrees && wrong.contradicts(), "{wrong:#?}");
    }
}

#[test]
fn a_formula_of_another_algorithm_does_not_fit() {
    // Lamport's messages by Ricart and Agrawala's formula.
    let runs = always("lamport", 3);
    let case = judge(Expected::ExactMean { sum: 24, runs: 6 }, Expected::Exact(1), &runs);
    assert!(!case.sound && case.contradicts());
}

#[test]
fn json_says_load_and_delay() {
    let cases = mutex_cases_for(3, None);
    let json = serde_json::to_value(find(&cases, "central", "all ask always")).unwrap();
    assert_eq!(json["load"], "saturated");
    assert_eq!(json["delay"]["formula"], "2(n-1)/n T");
    assert_eq!(json["delay"]["expected_hops"], json["delay"]["measured_hops"]);
    assert_eq!(json["delay"]["judged"], "exact");
    assert_eq!(json["delay"]["agrees"], true);
    let light = serde_json::to_value(find(&cases, "lamport", "one asks")).unwrap();
    assert!(light["delay"].is_null() && light["load"] == "light");
}

#[test]
fn the_picture_is_well_formed_and_complete() {
    for (nodes, load) in [(1..=1, None), (2..=2, None), (2..=9, None), (1..=6, Some(Load::Light))] {
        let cases = mutex(nodes, load);
        let svg = plot(&CATALOGUE, &cases);
        assert!(is_well_formed(&svg));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        assert!(!svg.contains(r#"class="wrong""#));
        for case in cases.iter().filter(|case| case.expected.value() > 0.0) {
            assert!(svg.contains(&format!(">{}<", case.algorithm)), "{}", case.algorithm);
            assert!(svg.contains(case.case), "{}", case.case);
        }
        let costly = cases.iter().any(|case| case.expected.value() > 0.0);
        assert_eq!(svg.contains("Light load"), costly);
        assert_eq!(svg.contains("Saturated: all ask"), costly && load.is_none());
    }
    let mut cases = mutex(2..=9, None);
    cases.iter_mut().rfind(|case| case.nodes == 8).unwrap().agrees = false;
    assert!(plot(&CATALOGUE, &cases).contains(r#"class="wrong""#));
}
