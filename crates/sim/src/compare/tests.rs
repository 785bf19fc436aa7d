mod mutex;

use super::*;
use bellwether_algorithms::catalogue::catalogue;
use bellwether_algorithms::cost::Script;
use bellwether_algorithms::rings::arrangements;
use std::collections::BTreeSet;
use std::sync::LazyLock;

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(catalogue);

fn listed(name: &str) -> &'static Listed {
    CATALOGUE.get(name).unwrap()
}

/// All cases of a family.
fn family(name: &str, nodes: impl IntoIterator<Item = u32>) -> Vec<Case> {
    nodes.into_iter().flat_map(|n| family_cases_for(&CATALOGUE, name, n, None)).collect()
}

/// The names of a family.
fn members(name: &str) -> BTreeSet<&'static str> {
    let relatives = CATALOGUE.iter().filter(|listed| listed.entry.family == name);
    relatives.map(|listed| listed.name()).collect()
}

fn elections(n: u32) -> Vec<Case> {
    family("election", [n])
}

/// What the cases of a family measured for a number of processes.
fn measured(name: &str, n: u32) -> Vec<u64> {
    family(name, [n]).iter().map(|case| case.measured.whole().unwrap()).collect()
}

#[test]
fn every_formula_of_every_algorithm_agrees_with_the_simulator() {
    for listed in CATALOGUE.iter() {
        let (least, most) = match listed.entry.family {
            "election" => (1, 12),
            "deadlock" => (2, 9),
            "agreement" => (1, 11),
            _ => (1, 16),
        };
        let more = matches!(listed.entry.family, "mutex" | "order").then_some(64);
        let mut cases = 0;
        for case in (least..=most).chain(more).flat_map(|n| cases_for(listed, n, None)) {
            assert!(case.agrees && !case.contradicts() && case.runs > 0, "{case:#?}");
            cases += 1;
        }
        assert!(cases > 0, "{} says nothing of its costs", listed.name());
        assert!(cases_for(listed, 0, None).is_empty());
    }
}

#[test]
fn a_family_has_its_algorithms_in_the_order_of_the_catalogue() {
    for name in CATALOGUE.families() {
        let mut names: Vec<_> = family(name, [2]).iter().map(|case| case.algorithm).collect();
        let mut seen = BTreeSet::new();
        names.retain(|name| seen.insert(*name));
        let relatives = CATALOGUE.iter().filter(|listed| listed.entry.family == name);
        assert_eq!(names, relatives.map(|listed| listed.name()).collect::<Vec<_>>());
    }
}

#[test]
fn the_numbers_of_the_sources_come_out_for_five_processes() {
    assert_eq!(measured("time", 5), [8, 32, 12, 12, 10]);
    assert_eq!(family("deadlock", [5]).len(), 6);
    assert_eq!(measured("order", 5), [4, 20, 4, 5, 13, 20, 100]);
    assert_eq!(measured("snapshot", 5), [20, 40, 25, 5]);
    assert!(family("order", [1]).iter().all(|case| case.measured.sum == 0));
    for (n, case, expected) in [
        (4, "m = 1", 36),
        (4, "m = 1, a traitor", 36),
        (7, "m = 2", 7 * 156),
        (7, "m = 2, 2 traitors", 7 * 156),
        (10, "m = 3", 36_090),
        (10, "m = 3, 3 traitors", 36_090),
        (2, "K = 8", 9),
        (5, "n letters, nothing lost", 10),
    ] {
        let cases = family("agreement", [n]);
        let found = cases.iter().find(|found| found.case == case).unwrap();
        assert_eq!(found.measured.whole(), Some(expected), "{n} {case}");
    }
    assert!(family("agreement", [3]).iter().all(|case| !case.case.starts_with("m = 1")));
}

#[test]
fn a_path_costs_no_less_than_the_best_arrangement_and_no_more_than_the_worst() {
    let paths = listed("deadlock-distributed");
    for n in 2..=6 {
        let s = u64::from(n);
        let costs = paths.claimed_costs().unwrap()(n);
        let all = costs.iter().find(|cost| cost.rank == Rank::Average).unwrap();
        assert_eq!(all.trials.len(), arrangements(n).len());
        let count = |trial: &Trial| {
            let Trial::Script(script) = trial else { panic!("{trial:?}") };
            measure::run(paths, script).unwrap().count("PATH")
        };
        let counts: Vec<u64> = all.trials.iter().map(count).collect();
        let range = (counts.iter().min().copied(), counts.iter().max().copied());
        assert_eq!(range, (Some(s - 1), Some(s * (s - 1) / 2)), "{n}: {counts:?}");
    }
}

#[test]
fn what_is_not_understood_does_not_count_as_free() {
    let cost = |trial| Cost::new("test", "0", Expected::Exact(0), [trial]);
    let judge = |trial| case(listed("bully"), 3, cost(trial)).map(|case| case.agrees);
    assert_eq!(judge(Script::of(3).ask(1, "sing")), Some(false));
    assert_eq!(judge(Script::of(3)), Some(true));
    let refused = Script::of(3).set("confirmations", "many");
    assert!(case(listed("two-generals"), 3, cost(refused)).is_none());
}

#[test]
fn the_textbooks_bully_is_counted_by_kind() {
    let cases = elections(7);
    let lowest = cases.iter().find(|case| case.case == "lowest detects").unwrap();
    let counts: Vec<_> =
        lowest.by_kind.iter().map(|(kind, figure)| (*kind, figure.whole().unwrap())).collect();
    assert_eq!(counts, [("COORDINATOR", 5), ("ELECTION", 21), ("OK", 15)]);
    assert_eq!(lowest.measured, Figure::single(41));
}

#[test]
fn every_detector_of_a_bully_costs_what_it_should() {
    let n = 9;
    for detector in 1..n {
        let script = Script::of(n).crash(n).ask(detector, "suspect");
        let run = measure::run(listed("bully"), &script).unwrap();
        let p = u64::from(n - detector);
        let counts = ["ELECTION", "OK", "COORDINATOR"].map(|kind| run.count(kind));
        assert_eq!(counts, [p * (p + 1) / 2, p * (p - 1) / 2, 7]);
        assert!(run.sound);
    }
}

#[test]
fn few_processes_have_fewer_cases_and_none_has_none() {
    assert!(elections(0).is_empty());
    let alone: BTreeSet<_> = elections(1).iter().map(|case| case.algorithm).collect();
    assert!(alone.contains("chang-roberts") && !alone.contains("ring"));
    let two: BTreeSet<_> = elections(2).iter().map(|case| case.algorithm).collect();
    assert_eq!(two, members("election"));
}

#[test]
fn a_sample_is_called_a_sample() {
    let average = |n| {
        let cases = elections(n);
        cases.into_iter().find(|case| case.case == "all start, average").unwrap()
    };
    assert_eq!((average(7).expected.judged(), average(7).runs), ("exact", 720));
    let sampled = average(20);
    assert_eq!((sampled.expected.judged(), sampled.runs), ("sampled", 100));
    assert!(sampled.agrees && sampled.deviation_percent().abs() < 5.0);
}

fn run(election: u64, elected: u64) -> Run {
    let by_kind = BTreeMap::from([("ELECTION", election), ("ELECTED", elected)]);
    Run { by_kind, delay: None, sound: true }
}

fn judge(total: Expected, election: Expected, runs: &[Run]) -> Case {
    let parts = [(&["ELECTION"][..], "e", election), (&["ELECTED"], "k", Expected::Exact(3))];
    let cost = Cost::new("test", "f", total, [] as [Script; 0]).rank(Rank::Worst).parts(parts);
    super::judge("chang-roberts", 3, cost, runs)
}

#[test]
fn a_wrong_expectation_is_reported() {
    use Expected::{AtMost, Exact, ExactMean};
    let right = judge(Exact(8), Exact(5), &[run(5, 3)]);
    assert!(right.agrees && !right.contradicts());
    let mean = |sum| ExactMean { sum, runs: 2 };
    for wrong in [
        judge(Exact(9), Exact(5), &[run(5, 3)]),
        judge(Exact(8), Exact(6), &[run(5, 3)]),
        // The total is right, the parts are not.
        judge(Exact(8), Exact(5), &[run(4, 4)]),
        judge(AtMost(7), AtMost(4), &[run(4, 3), run(5, 3)]),
        // Means of 5.5 and 6; and the right sum over too few runs.
        judge(mean(17), mean(12), &[run(5, 3), run(6, 3)]),
        judge(mean(8), mean(5), &[run(5, 3)]),
        judge(Exact(8), Exact(5), &[]),
        judge(Exact(8), Exact(5), &[Run { sound: false, ..run(5, 3) }]),
    ] {
        assert!(!wrong.agrees && wrong.contradicts(), "{wrong:#?}");
    }
    assert!(judge(mean(17), mean(11), &[run(5, 3), run(6, 3)]).agrees);
    assert!(judge(AtMost(8), AtMost(5), &[run(4, 3), run(5, 3)]).agrees);
}

#[test]
fn a_message_that_no_formula_knows_is_reported() {
    let mut stray = run(4, 3);
    stray.by_kind.insert("GOSSIP", 1);
    let case = judge(Expected::Exact(8), Expected::Exact(4), &[stray]);
    assert!(!case.sound && !case.agrees && case.contradicts());
}

#[test]
fn a_sampled_mean_is_judged_by_its_spread() {
    let runs: Vec<Run> = (0..100).map(|index| run(10 + index % 5, 3)).collect();
    // The mean is 12 and its standard error 0.14.
    for (value, agrees) in [(12.0, true), (12.5, true), (11.5, true), (13.0, false)] {
        let case = judge(Expected::sampled(value + 3.0), Expected::sampled(value), &runs);
        assert_eq!(case.agrees, agrees, "{value}");
        assert!(!case.contradicts());
    }
}

#[test]
fn json_has_its_keys_in_order() {
    let case = judge(Expected::Exact(8), Expected::Exact(5), &[run(5, 3)]);
    let json = serde_json::to_string(&case).unwrap();
    assert_eq!(
        json,
        r#"{"algorithm":"chang-roberts","case":"test","nodes":3,"live":3,"formula":"f","#
            .to_owned()
            + r#""expected":8,"judged":"exact","tolerance":null,"measured":8,"runs":1,"#
            + r#""by_kind":{"ELECTED":3,"ELECTION":5},"parts":["#
            + r#"{"kinds":["ELECTION"],"formula":"e","expected":5,"judged":"exact","#
            + r#""measured":5,"agrees":true},"#
            + r#"{"kinds":["ELECTED"],"formula":"k","expected":3,"judged":"exact","#
            + r#""measured":3,"agrees":true}],"sound":true,"agrees":true}"#
    );
    let mean = Figure { sum: 7, runs: 2 };
    assert_eq!(serde_json::to_string(&mean).unwrap(), "3.5");
}

/// Whether every element is closed, every attribute quoted and every special character escaped.
/// It knows as much XML as the picture uses.
fn is_well_formed(xml: &str) -> bool {
    let mut open = Vec::new();
    let mut rest = xml;
    while let Some(start) = rest.find('<') {
        let text = &rest[..start];
        let entities = ["&amp;", "&lt;", "&gt;", "&quot;"];
        let escaped = entities.iter().fold(text.to_owned(), |text, e| text.replace(e, ""));
        let Some(end) = rest[start..].find('>').map(|end| start + end) else { return false };
        let tag = &rest[start + 1..end];
        if escaped.contains(['&', '>']) || tag.contains(['<', '&']) {
            return false;
        }
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return false;
            }
            continue;
        }
        let body = tag.strip_suffix('/').unwrap_or(tag);
        let (name, attributes) = body.split_once(' ').unwrap_or((body, ""));
        // name="value" name="value": between the quotes, names that end in an equals sign.
        let pieces: Vec<&str> = attributes.split('"').collect();
        let names = pieces.iter().step_by(2).take(pieces.len() / 2);
        let loose = pieces.last().is_some_and(|piece| !piece.trim().is_empty());
        if loose || names.into_iter().any(|name| !name.ends_with('=')) {
            return false;
        }
        if !tag.ends_with('/') {
            open.push(name);
        }
    }
    open.is_empty() && rest.trim().is_empty()
}

#[test]
fn the_checker_of_pictures_is_awake() {
    assert!(is_well_formed(r#"<a b="1" c="2"><d/>x &lt; y</a>"#));
    for bad in ["<a>", "<a></b>", "<a b=1/>", "<a>x & y</a>", r#"<a b="1/>"#, "<a/>b", "<a>></a>"] {
        assert!(!is_well_formed(bad), "{bad}");
    }
}

#[test]
fn the_picture_is_well_formed_and_complete() {
    for nodes in [1..=1, 2..=2, 3..=8, 1..=5] {
        let cases = family("election", nodes);
        let svg = plot(&CATALOGUE, &cases);
        assert!(is_well_formed(&svg));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        assert!(!svg.contains(r#"class="wrong""#));
        for case in cases.iter().filter(|case| case.expected.value() > 0.0) {
            assert!(svg.contains(&format!(">{}<", case.algorithm)), "{}", case.algorithm);
            assert!(svg.contains(case.case), "{}", case.case);
        }
    }
    assert!(is_well_formed(&plot(&CATALOGUE, &[])));
}

#[test]
fn the_picture_rings_what_is_wrong() {
    let mut cases = family("election", 3..=24);
    let last = cases.iter_mut().rfind(|case| case.nodes == 23).unwrap();
    last.agrees = false;
    assert!(plot(&CATALOGUE, &cases).contains(r#"class="wrong""#));
}
