use super::*;
use crate::options::Options;
use bellwether_core::{Effect, step};
use std::collections::BTreeMap;

fn id(number: u32) -> NodeId {
    NodeId::new(number)
}

fn value(text: &str) -> Value {
    Value::new(text).unwrap()
}

fn values(text: &str) -> Vec<Value> {
    text.split(',').map(|word| if word == "nil" { Value::NIL } else { value(word) }).collect()
}

fn settings(options: &[(&str, &str)]) -> Settings {
    let options: Options =
        options.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    Settings { options, ..Settings::new(Duration::from_millis(30)) }
}

fn group(n: u32) -> Group {
    Group::numbered(n).unwrap()
}

fn refused(n: u32, options: &[(&str, &str)]) -> (&'static str, String) {
    let BadOption { option, why } = Byzantine::check(&settings(options), &group(n)).unwrap_err();
    (option, why)
}

/// Processes that keep step: all messages of a round arrive before its end.
struct Lockstep {
    group: Group,
    config: Config,
    processes: Vec<Byzantine>,
    sent: u64,
}

impl Lockstep {
    fn new(n: u32, config: Config) -> Self {
        let group = group(n);
        let mut processes = vec![Byzantine::default(); n as usize];
        for (place, process) in processes.iter_mut().enumerate() {
            step(&group, place, &config, |cx| process.on_start(None, cx));
        }
        Lockstep { group, config, processes, sent: 0 }
    }

    fn run(mut self) -> Self {
        for round in 0..=self.config.rounds() {
            let mut letters = Vec::new();
            for place in 0..self.processes.len() {
                letters.extend(self.end_round(place, round));
            }
            self.sent += letters.len() as u64;
            for (from, to, msg) in letters {
                self.deliver(from, to, msg);
            }
        }
        self
    }

    fn end_round(&mut self, place: usize, round: u8) -> Vec<(NodeId, NodeId, Oral)> {
        let process = &mut self.processes[place];
        let from = self.group.ring()[place];
        let effects =
            step(&self.group, place, &self.config, |cx| process.on_timer(RoundEnds(round), cx));
        let sends = effects.into_iter().filter_map(|effect| match effect {
            Effect::Send(to, msg) => Some((from, to, msg)),
            _ => None,
        });
        sends.collect()
    }

    fn deliver(&mut self, from: NodeId, to: NodeId, msg: Oral) {
        let place = self.group.place(to).unwrap();
        let process = &mut self.processes[place];
        step(&self.group, place, &self.config, |cx| process.on_message(from, msg, cx));
    }

    fn vectors(&self) -> BTreeMap<NodeId, &[Value]> {
        let correct =
            self.group.ring().iter().zip(&self.processes).map(|(id, p)| (*id, p.vector()));
        correct.filter(|(id, _)| !self.config.traitors.contains(id)).collect()
    }

    /// Both conditions, in the words of the problem.
    fn is_consistent(&self) -> bool {
        let vectors = self.vectors();
        let Some(first) = vectors.values().next() else { return true };
        vectors.values().all(|vector| vector == first)
    }

    fn is_valid(&self) -> bool {
        self.vectors().values().all(|vector| {
            let truths = self.config.values.iter().zip(*vector).zip(self.group.ring());
            let mut correct = truths.filter(|(_, id)| !self.config.traitors.contains(id));
            vector.len() == self.group.len() && correct.all(|((truth, entry), _)| truth == entry)
        })
    }
}

fn run(n: u32, options: &[(&str, &str)]) -> Lockstep {
    Lockstep::new(n, Byzantine::config(&settings(options), &group(n))).run()
}

#[test]
fn the_recurrence_has_the_papers_figures() {
    for (n, m, each) in [(4, 0, 3), (4, 1, 9), (7, 2, 156), (10, 3, 3609), (1, 1, 0), (3, 5, 4)] {
        assert_eq!(messages(n, m), Some(each), "M({n},{m})");
    }
    assert_eq!(messages(1_000_000, 6), None);
}

#[test]
fn without_traitors_all_know_everything_and_the_count_is_exact() {
    for (n, m) in [(1, 0), (2, 0), (3, 0), (4, 0), (4, 1), (5, 1), (7, 1), (7, 2), (10, 3)] {
        let done = run(n, &[("faults", &m.to_string())]);
        assert!(done.is_valid() && done.is_consistent());
        let each = messages(u64::from(n), m).unwrap();
        assert_eq!(done.sent, u64::from(n) * each, "n = {n}, m = {m}");
    }
}

#[test]
fn b1_tells_all_others_the_own_value() {
    let mut world = Lockstep::new(4, Byzantine::config(&settings(&[]), &group(4)));
    let sent = world.end_round(1, 0);
    let path = Path::of(id(2));
    let expected = [1, 3, 4].map(|to| (id(2), id(to), Oral { path, value: value("b") }));
    assert_eq!(sent, expected);
    assert_eq!(sent[0].2.to_string(), "VALUE(b)");
}

#[test]
fn b1_the_first_message_begins_the_first_round_too() {
    let mut world = Lockstep::new(4, Byzantine::config(&settings(&[]), &group(4)));
    let (group, config) = (&world.group, &world.config);
    let process = &mut world.processes[1];
    let told = Oral { path: Path::of(id(1)), value: value("a") };
    let strange = Oral { path: Path::of(id(9)), value: value("a") };
    let effects = step(group, 1, config, |cx| process.on_message(id(9), strange, cx));
    assert_eq!(effects, [], "nonsense does not");
    let effects = step(group, 1, config, |cx| process.on_message(id(1), told, cx));
    let span = config.round;
    assert_eq!(
        effects[..2],
        [Effect::CancelTimer(RoundEnds(0)), Effect::SetTimer(RoundEnds(1), span..span)]
    );
    assert_eq!(effects.len(), 5, "and its value to three others");
    assert_eq!(world.end_round(1, 0), [], "its own time passes without anything");
}

#[test]
fn b2_passes_on_what_was_heard_and_nil_for_silence() {
    let mut world = Lockstep::new(4, Byzantine::config(&settings(&[]), &group(4)));
    world.end_round(1, 0);
    world.deliver(id(1), id(2), Oral { path: Path::of(id(1)), value: value("a") });
    let sent: Vec<String> =
        world.end_round(1, 1).iter().map(|(_, to, msg)| format!("{to} {msg}")).collect();
    assert_eq!(
        sent,
        [
            "P3 RELAY(1: a)",
            "P4 RELAY(1: a)",
            "P1 RELAY(3: nil)",
            "P4 RELAY(3: nil)",
            "P1 RELAY(4: nil)",
            "P3 RELAY(4: nil)"
        ]
    );
}

#[test]
fn b3_ignores_what_cannot_be_and_what_is_late() {
    let config = Byzantine::config(&settings(&[]), &group(4));
    let path = |hops: &[u32]| Path::try_from(hops.iter().copied().map(id).collect::<Vec<_>>());
    let mut world = Lockstep::new(4, config);
    world.end_round(0, 0);
    let blank = world.processes[0].clone();
    for (from, hops) in [
        (2, &[3][..]),      // in another's name
        (2, &[3, 4]),       // the same, passed on
        (2, &[2, 2]),       // twice on the path
        (2, &[1, 2]),       // the receiver's own value
        (1, &[1]),          // from itself
        (9, &[9]),          // a stranger
        (2, &[9, 2]),       // about a stranger
        (2, &[4, 3, 2]),    // of a round that there is not
        (2, &[3, 4, 1, 2]), // and so on
    ] {
        world.deliver(id(from), id(1), Oral { path: path(hops).unwrap(), value: value("x") });
        assert_eq!(world.processes[0], blank, "{hops:?} from {from}");
    }
    // The first of two counts.
    let told = |word| Oral { path: Path::of(id(2)), value: value(word) };
    world.deliver(id(2), id(1), told("b"));
    let kept = world.processes[0].clone();
    assert_ne!(kept, blank);
    world.deliver(id(2), id(1), told("x"));
    assert_eq!(world.processes[0], kept);
    // Early is kept; late is not.
    world.deliver(id(3), id(1), Oral { path: path(&[2, 3]).unwrap(), value: value("b") });
    assert_ne!(world.processes[0], kept);
    world.end_round(0, 1);
    let kept = world.processes[0].clone();
    world.deliver(id(4), id(1), Oral { path: Path::of(id(4)), value: value("d") });
    assert_eq!(world.processes[0], kept);
    world.end_round(0, 2);
    let ended = world.processes[0].clone();
    world.deliver(id(4), id(1), Oral { path: path(&[2, 4]).unwrap(), value: value("d") });
    world.end_round(0, 2);
    assert_eq!(world.processes[0], ended);
}

#[test]
fn b5_a_process_that_comes_back_stays_outside() {
    let config = Byzantine::config(&settings(&[]), &group(4));
    let mut process = Byzantine::default();
    let effects = step(&group(4), 0, &config, |cx| process.on_start(Some(()), cx));
    assert_eq!(effects, []);
    let told = Oral { path: Path::of(id(2)), value: value("b") };
    let effects = step(&group(4), 0, &config, |cx| process.on_message(id(2), told, cx));
    assert!(effects.is_empty() && process == Byzantine::default());
}

/// The example of the issue: three of four know the same, whatever P3 says.
#[test]
fn four_processes_bear_one_of_each_kind_of_traitor() {
    for strategy in strategies::NAMES {
        for traitor in ["1", "2", "3", "4"] {
            let done =
                run(4, &[("traitors", traitor), ("strategy", strategy), ("values", "a,b,c,d")]);
            assert!(done.is_valid() && done.is_consistent(), "{strategy} {traitor}");
        }
    }
    let done = run(4, &[("traitors", "3"), ("strategy", "silent")]);
    assert_eq!(done.vectors()[&id(1)], values("a,b,nil,d"));
    assert_eq!(done.sent, 4 * 9 - 9);
}

/// Lies by a table: what is said by which path to whom, one base-`words` digit each.
#[derive(Debug)]
struct Table {
    words: Vec<Option<Value>>,
    /// The digit of each occasion, in the order of asking.
    digits: BTreeMap<(Path, NodeId), usize>,
}

impl Strategy for Table {
    fn name(&self) -> &'static str {
        "table"
    }

    fn says(&self, lie: &Lie<'_>) -> Option<Value> {
        self.words[self.digits[&(lie.path, lie.to)]]
    }
}

/// All occasions that a traitor has to lie in OM(1).
fn occasions(n: u32, traitor: NodeId) -> Vec<(Path, NodeId)> {
    let others = || (1..=n).map(id).filter(move |id| *id != traitor);
    let own = others().map(|to| (Path::of(traitor), to));
    let relayed = others().flat_map(|commander| {
        let path = Path::of(commander).by(traitor).unwrap();
        others().filter(move |to| *to != commander).map(move |to| (path, to))
    });
    own.chain(relayed).collect()
}

/// Runs OM(1) with every table of lies of one traitor; returns how many runs there were, how many
/// were inconsistent, and how many invalid.
fn all_lies(n: u32, traitor: u32, truths: &str, words: &[Option<Value>]) -> (u64, u64, u64) {
    let occasions = occasions(n, id(traitor));
    let traitors = traitor.to_string();
    let options = [("traitors", traitors.as_str()), ("values", truths), ("force", "")];
    let config = Byzantine::config(&settings(&options), &group(n));
    let (mut runs, mut divided, mut deceived) = (0, 0, 0);
    let tables = (words.len() as u64).pow(occasions.len() as u32);
    for table in 0..tables {
        let mut rest = table;
        let mut digits = BTreeMap::new();
        for occasion in &occasions {
            digits.insert(*occasion, (rest % words.len() as u64) as usize);
            rest /= words.len() as u64;
        }
        let strategy = Arc::new(Table { words: words.to_vec(), digits });
        let done = Lockstep::new(n, Config { strategy, ..config.clone() }).run();
        runs += 1;
        divided += u64::from(!done.is_consistent());
        deceived += u64::from(!done.is_valid());
    }
    (runs, divided, deceived)
}

/// Every lie with two values that a traitor among four can tell, as commander and as lieutenant,
/// for every place of the traitor and all two-valued truths of the others.
#[test]
fn no_two_valued_lie_of_one_among_four_does_harm() {
    let words = [Some(value("x")), Some(value("y"))];
    let mut all = 0;
    for traitor in 1..=4 {
        for truths in 0..8 {
            let mut bits = truths;
            let truths: Vec<&str> = (1..=4)
                .map(|place| {
                    let bit = bits & 1;
                    bits >>= u32::from(place != traitor);
                    if bit == 0 { "x" } else { "y" }
                })
                .collect();
            let (runs, divided, deceived) = all_lies(4, traitor, &truths.join(","), &words);
            assert_eq!((runs, divided, deceived), (512, 0, 0), "P{traitor}, {truths:?}");
            all += runs;
        }
    }
    assert_eq!(all, 4 * 8 * 512);
}

/// The same with nil and silence besides, for one assignment of values.
#[test]
fn nor_does_keeping_silent_now_and_then() {
    let words = [Some(value("x")), Some(value("y")), None];
    for traitor in [1, 3] {
        assert_eq!(all_lies(4, traitor, "x,y,x,y", &words), (19_683, 0, 0));
    }
}

/// Three processes are too few: some lies make the honest two differ.
#[test]
fn among_three_there_are_lies_that_divide_the_honest() {
    let words = [Some(value("x")), Some(value("y"))];
    for traitor in 1..=3 {
        let (runs, divided, deceived) = all_lies(3, traitor, "x,x,x", &words);
        assert_eq!(runs, 16);
        assert!(divided > 0 && deceived > 0, "{divided} {deceived}");
        assert!(divided < runs, "telling the truth does no harm");
    }
    let done = run(3, &[("traitors", "3"), ("strategy", "two-faced"), ("force", "")]);
    assert!(!done.is_valid() && !done.is_consistent());
}

/// With m + 1 traitors OM(m) is lost, even where n would be enough for them.
#[test]
fn one_traitor_more_than_reckoned_with_can_divide_the_honest() {
    let mut divided = 0;
    for seed in 0..200 {
        let seed = seed.to_string();
        let options = [
            ("traitors", "1,2"),
            ("strategy", "random"),
            ("faults", "1"),
            ("values", "x,x,y,y,x,y,x"),
            ("lie-seed", &seed),
            ("force", ""),
        ];
        divided += u64::from(!run(7, &options).is_consistent());
    }
    assert!(divided > 0);
}

#[test]
fn what_cannot_be_is_refused_with_the_bound() {
    let force = "--force shows what happens";
    assert_eq!(
        refused(3, &[("traitors", "3")]),
        ("traitors", format!("3 processes bear no traitor: n >= 3m+1 asks for 4; {force}"))
    );
    assert_eq!(
        refused(6, &[("faults", "2")]),
        ("faults", format!("6 processes bear 1 traitor, not 2: n >= 3m+1 asks for 7; {force}"))
    );
    for options in [&[("traitors", "3"), ("force", "")][..], &[("faults", "1"), ("force", "")]] {
        assert_eq!(Byzantine::check(&settings(options), &group(3)), Ok(()));
    }
    let (option, why) = refused(7, &[("traitors", "1,2"), ("faults", "1")]);
    assert_eq!(option, "faults");
    assert!(why.starts_with("2 traitors, but m = 1; give --faults 2"), "{why}");
}

#[test]
fn bad_options_say_what_would_be_right() {
    assert_eq!(
        refused(4, &[("values", "a,b,c")]),
        ("values", "3 values for 4 processes; give one for each".to_owned())
    );
    assert_eq!(
        refused(4, &[("traitors", "9")]),
        ("traitors", "there is no process 9; the members are 1, 2, 3, 4".to_owned())
    );
    assert_eq!(refused(4, &[("traitors", "2,2")]), ("traitors", "P2 is named twice".to_owned()));
    let (option, why) = refused(4, &[("strategy", "honest")]);
    assert_eq!(option, "strategy");
    assert!(why.contains("silent, random, two-faced, colluding"), "{why}");
    assert_eq!(refused(4, &[("values", "a,b,,d")]).0, "values");
    assert_eq!(refused(4, &[("values", "a,b,nil,d")]).0, "values");
    assert_eq!(refused(4, &[("faults", "-1")]).0, "faults");
    assert_eq!(refused(100, &[("faults", "7")]).0, "faults");
    let (option, why) = refused(100, &[("faults", "4")]);
    assert_eq!(option, "faults");
    assert!(why.contains("OM(4) among 100 processes takes"), "{why}");
    assert_eq!(refused(5_000, &[]).0, "nodes");
}

/// Refused options count as not given, and never bring anything down.
#[test]
fn a_refused_configuration_still_runs() {
    for options in [&[("traitors", "9")][..], &[("values", "a")], &[("faults", "x")]] {
        let done = run(4, options);
        assert!(done.is_valid() && done.is_consistent());
    }
    for n in [1, 2, 3] {
        let done = run(n, &[("faults", "6"), ("force", "")]);
        assert!(done.is_consistent());
    }
}

#[test]
fn default_values_are_letters_and_lies_have_two_words_at_least() {
    let config = Byzantine::config(&settings(&[]), &group(28));
    assert_eq!(config.values[25..28], values("z,a1,b1"));
    assert_eq!(vocabulary(&values("a,a,a")), values("a,b"));
    assert_eq!(vocabulary(&values("b,b")), values("b,a"));
    assert_eq!(vocabulary(&values("x,y,x")), values("x,y"));
    assert_eq!(vocabulary(&[]), values("a,b"));
}

/// Only one value is settled: no process sends another, or is asked for another.
#[test]
fn one_commander_alone_costs_one_broadcast() {
    for commander in ["1", "4"] {
        let done = run(4, &[("commander", commander)]);
        assert!(done.is_consistent());
        assert_eq!(done.sent, messages(4, 1).unwrap());
        let place = commander.parse::<usize>().unwrap() - 1;
        for vector in done.vectors().values() {
            let told = vector.iter().enumerate().filter(|(_, value)| !value.is_nil());
            assert_eq!(told.map(|(place, _)| place).collect::<Vec<_>>(), [place]);
        }
    }
    assert_eq!(refused(4, &[("commander", "9")]).0, "commander");
}

#[test]
fn a_traitor_goes_on_to_its_next_lie_and_an_honest_process_does_not_listen() {
    let options = [("traitors", "1"), ("strategy", "numbered"), ("values", "x,y,x,y")];
    let mut world = Lockstep::new(4, Byzantine::config(&settings(&options), &group(4)));
    for place in [0, 0, 1] {
        let process = &mut world.processes[place];
        step(&world.group, place, &world.config, |cx| process.on_input(Input::Lie, cx));
    }
    let told = |sent: Vec<(NodeId, NodeId, Oral)>| -> Vec<String> {
        sent.iter().map(|(_, to, msg)| format!("{to} {msg}")).collect()
    };
    assert_eq!(told(world.end_round(0, 0)), ["P2 VALUE(nil)", "P3 VALUE(x)", "P4 VALUE(x)"]);
    assert_eq!(told(world.end_round(1, 0)), ["P1 VALUE(y)", "P3 VALUE(y)", "P4 VALUE(y)"]);
}
