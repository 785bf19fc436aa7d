//! A process that is in no catalogue: a token goes round. What is claimed of the whole cluster is
//! that there is one token, held or in flight; and what a panic in it says.

#![expect(clippy::unwrap_used, reason = "a helper that cannot go on fails its test")]

use crate::replay::both;
use bellwether_algorithms::catalogue::{Catalogue, Listed};
use bellwether_algorithms::definition::{Algorithm, Definition, Entry, Settings};
use bellwether_algorithms::referee::{Breach, Fact, Referee};
use bellwether_core::{
    AnyInput, Assumptions, Channels, Cluster, Context, Goal, Group, Invariant, Kind, Message,
    NodeId, Panicked, Process, Time,
};
use bellwether_sim::scenario::Scenario;
use bellwether_sim::{
    Action, Cut, CutKind, Ended, Fate, Latency, Network, Outcome, Plan, Recorder, Scheduled,
    Silent, chaos, shrink,
};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// Holds the token for 5 ms and hands it on. The last on the ring has it first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Holder {
    has_token: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Token;

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TOKEN")
    }
}

impl Message for Token {
    fn kind(&self) -> Kind {
        Kind::protocol("TOKEN")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
enum Timer {
    HandOn,
}

/// What P2 does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    None,
    /// It drops the token that comes.
    Loses,
    /// It hands the token on and keeps it.
    Doubles,
    /// It panics in this handler.
    Panics(Handler),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Handler {
    Start,
    Input,
    Message,
    Timer,
}

impl Holder {
    fn take(&mut self, cx: &mut Context<'_, Self>) {
        self.has_token = true;
        cx.set_timer(Timer::HandOn, Duration::from_millis(5));
    }

    /// The mistake, if this is P2.
    fn mistake(cx: &Context<'_, Self>) -> Mistake {
        if cx.me() == NodeId::new(2) { *cx.config() } else { Mistake::None }
    }

    fn begin(handler: Handler, cx: &Context<'_, Self>) {
        assert_ne!(Holder::mistake(cx), Mistake::Panics(handler), "too hot");
    }

    /// One token is held or in flight.
    fn one_token(cluster: &Cluster<'_, Self>) -> bool {
        let held = cluster.live.iter().filter(|(_, process)| process.has_token).count();
        held + cluster.in_flight.len() == 1
    }
}

impl Process for Holder {
    type Msg = Token;
    type Timer = Timer;
    type Input = ();
    type Output = String;
    type Durable = ();
    type Config = Mistake;

    const ASSUMES: Assumptions = Assumptions::faultless(Channels::Any);

    fn durable(&self) {}

    fn on_start(&mut self, saved: Option<()>, cx: &mut Context<'_, Self>) {
        Holder::begin(Handler::Start, cx);
        if saved.is_none() && cx.place() + 1 == cx.group().len() {
            self.take(cx);
        }
    }

    fn on_input(&mut self, (): (), cx: &mut Context<'_, Self>) {
        Holder::begin(Handler::Input, cx);
        cx.emit("asked".to_owned());
    }

    fn on_message(&mut self, _: NodeId, _: Token, cx: &mut Context<'_, Self>) {
        Holder::begin(Handler::Message, cx);
        if Holder::mistake(cx) != Mistake::Loses {
            self.take(cx);
        }
    }

    fn on_timer(&mut self, _: Timer, cx: &mut Context<'_, Self>) {
        Holder::begin(Handler::Timer, cx);
        self.has_token = Holder::mistake(cx) == Mistake::Doubles;
        cx.send(cx.group().after(cx.place(), 1), Token);
    }
}

impl Algorithm for Holder {
    fn definition() -> Definition<Self> {
        let configure = |settings: &Settings, _: &Group| match settings.options.text("mistake") {
            Some("loses") => Mistake::Loses,
            Some("doubles") => Mistake::Doubles,
            Some("start") => Mistake::Panics(Handler::Start),
            Some("input") => Mistake::Panics(Handler::Input),
            Some("message") => Mistake::Panics(Handler::Message),
            Some("timer") => Mistake::Panics(Handler::Timer),
            _ => Mistake::None,
        };
        let one = "there is one token, held or in flight";
        Definition::new(Entry::new("holders", Holder::ASSUMES), configure)
            .verbs(&["poke"], |verb| (verb == "poke").then_some(()), |()| Cow::Borrowed("poke"))
            .invariant(Invariant::whole("one-token", one, Holder::one_token))
    }
}

fn holders() -> Listed {
    Arc::new(Holder::definition().erase())
}

fn ms(ms: u64) -> Time {
    Time::from_micros(ms * 1_000)
}

fn p(number: u32) -> NodeId {
    NodeId::new(number)
}

/// Three of them for a second; messages take 10 ms. P3 has the token until 5 ms, P1 from 15 to
/// 20 ms, P2 from 30 to 35 ms, P3 from 45 ms, and so on every 45 ms.
fn plan<P: Process>(
    algorithm: &Arc<Definition<P>>,
    mistake: Option<&str>,
    script: &[(u64, Action<P::Input>)],
) -> Plan<P> {
    let mut settings = Settings::new(Duration::from_millis(30));
    if let Some(mistake) = mistake {
        settings.options.set("mistake", mistake);
    }
    let script = script.iter().cloned().map(|(at, action)| Scheduled { at: ms(at), action });
    Plan {
        algorithm: algorithm.clone(),
        group: Group::numbered(3).unwrap(),
        settings,
        network: Network::new(Latency::Fixed(Duration::from_millis(10))),
        seed: 1,
        script: script.collect(),
        until: Some(ms(1_000)),
    }
}

/// What is broken, and when.
fn broken(outcome: &Outcome) -> Option<(&'static str, Time)> {
    outcome.violation.as_ref().map(|violation| (violation.name, violation.at))
}

/// The same in the typed simulator, in the erased one and in a replay.
fn broken_everywhere(mistake: Option<&str>, script: &[(u64, Action<()>)]) -> Option<Time> {
    let erased = script.iter().cloned();
    let erased = erased
        .map(|(at, action)| (at, action.try_map(|input| Some(AnyInput::new(input))).unwrap()));
    let typed = plan(&Arc::new(Holder::definition()), mistake, script);
    let erased = plan(&holders(), mistake, &erased.collect::<Vec<_>>());
    let found = broken(&typed.run(Silent).0);
    let ((simulated, _), (told, _)) = both(&erased);
    assert_eq!(broken(&simulated), found, "in the erased simulator");
    assert_eq!(broken(&told), found, "in a replay");
    found.map(|(name, at)| {
        assert_eq!(name, "one-token");
        at
    })
}

#[test]
fn a_claim_about_the_whole_holds_from_the_first_event_to_the_last() {
    assert_eq!(broken_everywhere(None, &[]), None);
}

#[test]
fn what_breaks_it_is_found_at_its_time() {
    assert_eq!(broken_everywhere(Some("loses"), &[]), Some(ms(30)));
    assert_eq!(broken_everywhere(Some("doubles"), &[]), Some(ms(35)));
    let erased = plan(&holders(), Some("loses"), &[]);
    let shrunk = shrink(&erased, "one-token", 100).unwrap();
    assert_eq!((shrunk.pieces_before, shrunk.pieces_after), (0, 0));
}

/// A token dies with its holder, whether or not a handler is called then.
#[test]
fn a_crash_is_looked_at() {
    assert_eq!(broken_everywhere(None, &[(33, Action::Crash(p(2)))]), Some(ms(33)));
    let idle = [(33, Action::Crash(p(1))), (34, Action::Recover(p(1)))];
    assert_eq!(broken_everywhere(None, &idle), None);
    let sending = Action::CrashSending { node: p(1), kind: "TOKEN".to_owned(), after: 0 };
    let erased = plan(&holders(), None, &[(0, sending)]);
    assert_eq!(broken(&erased.run(Silent).0), Some(("one-token", ms(20))));
}

#[test]
fn a_message_that_does_not_arrive_is_looked_at() {
    let erased = plan(&holders(), None, &[(0, Action::Crash(p(2)))]);
    assert_eq!(broken(&erased.run(Silent).0), Some(("one-token", ms(30))));
    // No journal of real processes says that the message was on its way until then.
    let (_, (told, _)) = both(&erased);
    assert_eq!(broken(&told), Some(("one-token", ms(20))));
    let mut erased = plan(&holders(), None, &[]);
    erased.network.fates.insert((p(1), p(2), 0), Fate::Lost);
    assert_eq!(broken(&erased.run(Silent).0), Some(("one-token", ms(20))));
    let cut = Cut { name: 0, kind: CutKind::Partition(vec![vec![p(2)]]) };
    let erased = plan(&holders(), None, &[(25, Action::Cut(cut))]);
    assert_eq!(broken(&erased.run(Silent).0), Some(("one-token", ms(30))));
}

/// What a paused process has not taken yet is still in flight.
#[test]
fn what_waits_for_a_paused_process_is_in_flight() {
    let pause =
        [(25, Action::Pause(p(2))), (50, Action::Input(p(1), ())), (60, Action::Resume(p(2)))];
    assert_eq!(broken_everywhere(None, &pause), None);
    let slow = [(25, Action::Slow(p(2), Duration::from_millis(9))), (35, Action::Input(p(1), ()))];
    assert_eq!(broken_everywhere(None, &slow), None);
}

#[test]
fn a_message_that_arrives_twice_is_two() {
    let mut erased = plan(&holders(), None, &[]);
    erased.network.fates.insert((p(1), p(2), 0), Fate::Twice(10_000, 12_000));
    assert_eq!(broken(&erased.run(Silent).0), Some(("one-token", ms(20))));
}

/// After a violation a run may go on; the first is remembered.
#[test]
fn a_run_that_keeps_going_remembers_the_first() {
    let plan = plan(&holders(), Some("doubles"), &[]);
    let mut sim = plan.set_up(Silent);
    sim.keep_going();
    assert_eq!(sim.run(ms(200)), Ended::TimeUp);
    assert_eq!(sim.violation().map(|violation| violation.at), Some(ms(35)));
}

/// Random runs have jobs, and no faults that the process does not claim to bear.
#[test]
fn a_process_that_bears_loss_gets_work_and_only_faults_that_it_bears() {
    for bears_crashes in [true, false] {
        let mut definition = Holder::definition();
        definition.assumes = Assumptions {
            loss: true,
            duplication: true,
            crashes: bears_crashes,
            recoveries: bears_crashes,
            ..Holder::ASSUMES
        };
        let definition =
            definition.verbs(&["work"], |verb| (verb == "work").then_some(()), |()| "work".into());
        let holders = Arc::new(definition);
        for seed in 0..20 {
            let plan = chaos::random_plan(&holders, seed);
            let has = |what: fn(&Action<()>) -> bool| plan.script.iter().any(|s| what(&s.action));
            assert!(has(|action| matches!(action, Action::Input(..))), "{seed}");
            let crashes =
                has(|action| matches!(action, Action::Crash(_) | Action::CrashSending { .. }));
            assert!(bears_crashes || !crashes, "{seed}");
        }
    }
}

fn panicked<T>(run: impl FnOnce() -> T) -> Option<Panicked> {
    let payload = catch_unwind(AssertUnwindSafe(run)).err()?;
    Some(payload.downcast_ref::<Panicked>().expect("it says who and what").clone())
}

#[test]
fn a_panic_says_who_was_handling_what() {
    let events = [
        ("start", "its start"),
        ("input", "the input ()"),
        ("message", "TOKEN from P1"),
        ("timer", "the timer HandOn"),
    ];
    for (handler, event) in events {
        let input = holders().input("poke").unwrap();
        let plan = plan(&holders(), Some(handler), &[(7, Action::Input(p(2), input))]);
        let found = panicked(|| plan.run(Silent)).unwrap();
        assert_eq!(found.what, format!("P2 panicked while handling {event}"));
        assert!(found.message.contains("too hot"), "{found}");
        // A driver that catches it goes on with the next run.
        let recorder = Recorder::new(&plan.algorithm, &plan.group, plan.seed);
        assert_eq!(panicked(|| plan.run(recorder)).as_ref(), Some(&found));
    }
    assert_eq!(panicked(|| plan(&holders(), None, &[]).run(Silent)), None);
}

/// A referee that cannot bear to hear anything.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Touchy;

impl Referee<Holder> for Touchy {
    fn hears(&mut self, _: Time, _: NodeId, _: &String) -> Result<(), Breach> {
        panic!("too loud");
    }

    fn claims(&self) -> Vec<&'static str> {
        Vec::new()
    }

    fn facts(&self) -> Vec<Fact> {
        Vec::new()
    }
}

#[test]
fn a_panic_in_what_judges_a_process_says_which_part_that_was() {
    let each = |_, _: &Holder| -> bool { panic!("too hot") };
    let whole = |_: &Cluster<'_, Holder>| -> bool { panic!("too hot") };
    let loud = Holder::definition().referee(|_, _| Box::new(Touchy));
    for (definition, what) in [
        (
            Holder::definition().invariant(Invariant::each("calm", "", each)),
            "the invariant 'calm' panicked while looking at P",
        ),
        (
            Holder::definition().invariant(Invariant::whole("calm", "", whole)),
            "the invariant 'calm' panicked",
        ),
        (
            Holder::definition().goal(Goal::new("calm", "", |_| panic!("too hot"))),
            "the goal 'calm' panicked",
        ),
        (loud, "the referee panicked while hearing P2"),
    ] {
        let mut plan = plan(
            &Arc::new(definition.erase()),
            None,
            &[(7, Action::Input(p(2), AnyInput::new(())))],
        );
        plan.settings.detection = true;
        let found = panicked(|| plan.run(Silent)).unwrap();
        assert!(found.what.starts_with(what), "{found}");
    }
}

/// Delta debugging tries runs of which nobody knows where they lead.
#[test]
fn a_run_that_panics_does_not_end_shrinking() {
    let asked = Action::Input(p(3), AnyInput::new(()));
    let script = [(1, asked), (33, Action::Crash(p(2)))];
    // Without the crash, P2 panics at 35 ms.
    let plan = plan(&holders(), Some("timer"), &script);
    assert_eq!(broken(&plan.run(Silent).0), Some(("one-token", ms(33))));
    let small = shrink(&plan, "one-token", 100).unwrap();
    assert_eq!(small.pieces_after, 1);
}

#[test]
fn the_typed_simulator_unwinds_as_the_process_does() {
    let plan = plan(&Arc::new(Holder::definition()), Some("message"), &[]);
    let payload = catch_unwind(AssertUnwindSafe(|| plan.run(Silent))).err().unwrap();
    assert!(payload.downcast_ref::<String>().is_some_and(|text| text.contains("too hot")));
}

/// A catalogue of one's own has scenarios.
#[test]
fn it_is_played_in_scenarios() {
    let catalogue = Catalogue::empty().with::<Holder>();
    let text =
        "cluster holders 1..3 latency=10ms\ncrash 2 at=33ms\nrun\nexpect violation one-token\n";
    let played = Scenario::parse(&catalogue, text).unwrap().play();
    assert_eq!(played.mismatches, []);
    assert_eq!(broken(&played.outcome), Some(("one-token", ms(33))));
}
