use super::super::names::Tx;
use super::super::tests::{edge, id, tx};
use super::*;
use bellwether_core::{Effect, step};

fn config(detection: bool) -> Config {
    let group = Group::numbered(3).unwrap();
    let settings = Settings { detection, ..Settings::new(Duration::from_millis(30)) };
    <Central as Detector>::config(&settings, &group)
}

fn at(
    place: usize,
    site: &mut Central,
    config: &Config,
    call: Call<Central>,
) -> Vec<Effect<Central>> {
    step(&Group::numbered(3).unwrap(), place, config, |cx| call.make(site, cx))
}

fn survey(edges: &[Edge]) -> Survey {
    Survey { edges: edges.to_vec(), ..Survey::default() }
}

#[test]
fn c1_and_c2_the_coordinator_asks_all_and_all_answer() {
    let config = config(false);
    let mut first = Central::default();
    at(2, &mut first, &config, Call::Start(None));
    let asked = at(2, &mut first, &config, Call::Timer(Timer::Look));
    let initiate = || Msg::Initiate { look: 1 };
    let (to_one, to_two) = (Effect::Send(id(1), initiate()), Effect::Send(id(2), initiate()));
    assert_eq!(asked, [to_one, to_two, Effect::Emit(DetectorOutput::Asks)]);

    let mut second = Central::default();
    at(0, &mut second, &config, Call::Start(None));
    let effects = at(0, &mut second, &config, Call::Message(id(3), initiate()));
    assert_eq!(effects, [Effect::Emit(DetectorOutput::Asks)]);
    let known = survey(&[edge(1, 1, 2)]);
    let answer = at(0, &mut second, &config, Call::Input(Event::Survey(known.clone())));
    assert_eq!(answer, [Effect::Send(id(3), Msg::Graph { look: 1, survey: known })]);
    // Others look at nothing when their time comes.
    assert_eq!(at(0, &mut second, &config, Call::Timer(Timer::Look)), []);
}

#[test]
fn c3_all_answers_together_show_the_cycle_and_it_is_told_once() {
    let config = config(false);
    let mut site = Central::default();
    at(2, &mut site, &config, Call::Start(None));
    let edges = [edge(1, 1, 2), edge(1, 2, 1)];
    for look in 1..3 {
        at(2, &mut site, &config, Call::Timer(Timer::Look));
        at(2, &mut site, &config, Call::Input(Event::Survey(Survey::default())));
        let graph = |from, survey| Call::Message(id(from), Msg::Graph { look, survey });
        assert_eq!(at(2, &mut site, &config, graph(2, Survey::default())), []);
        // An answer to an earlier look says nothing.
        let late = Msg::Graph { look: 0, survey: survey(&edges) };
        assert_eq!(at(2, &mut site, &config, Call::Message(id(1), late)), []);
        let effects = at(2, &mut site, &config, graph(1, survey(&edges)));
        let suspects = |effect: &Effect<Central>| matches!(effect, Effect::Emit(_));
        assert_eq!(effects.iter().filter(|effect| suspects(effect)).count(), 2 - look as usize);
    }
}

#[test]
fn c3_an_edge_counts_if_the_graphs_of_all_its_ends_have_it() {
    // Everybody is at home at S1. T1 -> T2 is at S2, T2 -> T1 at S3.
    let edges = [edge(2, 1, 2), edge(3, 2, 1)];
    let away = vec![survey(&edges[..1]), survey(&edges[1..])];
    let home = |waiting: &[(Tx, u64)], holding: &[Edge]| Survey {
        edges: Vec::new(),
        waiting: waiting.to_vec(),
        holding: holding.iter().map(|edge| (edge.holder, edge.resource)).collect(),
    };
    let both = [(tx(1), 101), (tx(2), 102)];
    let with = |home: Survey| [away.clone(), vec![home]].concat();
    assert_eq!(cycles(&with(home(&both, &edges)), true).len(), 1);
    for (home, why) in [
        (home(&both[..1], &edges), "T2 does not wait any more"),
        (home(&[(tx(1), 101), (tx(2), 55)], &edges), "T2 waits by another request"),
        (home(&both, &edges[..1]), "T1 has given back what T2 waits for"),
    ] {
        assert!(cycles(&with(home.clone()), true).is_empty(), "{why}");
        assert_eq!(cycles(&with(home), false).len(), 1, "unlabelled it seems that {why}");
    }
    // At one site all is known.
    assert_eq!(cycles(&[survey(&[edge(1, 1, 2), edge(1, 2, 1)])], true).len(), 1);
}

#[test]
fn c3_where_silence_proves_death_the_living_are_enough() {
    let config = config(true);
    let mut site = Central::default();
    at(2, &mut site, &config, Call::Start(None));
    at(2, &mut site, &config, Call::Timer(Timer::Look));
    let local = Survey { edges: vec![edge(1, 1, 2), edge(1, 2, 1)], ..Survey::default() };
    at(2, &mut site, &config, Call::Input(Event::Survey(local)));
    let effects = at(2, &mut site, &config, Call::Timer(Timer::Answers));
    assert!(matches!(effects[1], Effect::Emit(DetectorOutput::Suspects(_))), "{effects:?}");
}

#[test]
fn c4_the_new_coordinator_looks_at_once() {
    let config = config(false);
    let mut site = Central::default();
    at(1, &mut site, &config, Call::Start(None));
    at(1, &mut site, &config, Call::Input(Event::Elect(election::Input::Suspect)));
    // No larger site answers.
    let timer = Timer::Election(election::Timer::Election(election::bully::Timer::Answer));
    let effects = at(1, &mut site, &config, Call::Timer(timer));
    let initiate = Effect::Send(id(1), Msg::Initiate { look: 1 });
    assert!(effects.contains(&initiate), "{effects:?}");
}
