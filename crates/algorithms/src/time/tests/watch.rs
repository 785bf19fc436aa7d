//! The referee notices what must not be, and tells what was.

use super::*;
use crate::definition::Algorithm;
use crate::time::Cristian;
use crate::time::tests::{id, ms, settings};

const START: Time = Time::from_micros(86_400_000_000);

/// A referee, and the processes that it is told of.
struct Run(Watch);

impl Run {
    fn new(against: Against) -> Self {
        let settings = settings(&[]);
        Run(Watch::new(against, Pace::read(&settings, ms(100)).unwrap()))
    }

    fn set(&mut self, at_ms: u64, who: u32, left_us: i64, bound: Duration) {
        let left = Offset::from_micros(left_us);
        let setting = Setting {
            by: left,
            left,
            takes: left.size() * 20,
            bound,
            age: Duration::ZERO,
            of: Some(id(3)),
            round: None,
        };
        let at = Time::ZERO + ms(at_ms);
        Referee::<Cristian>::hears(&mut self.0, at, id(who), &Output::Set(setting)).unwrap();
    }

    /// Clocks 1, 2 and so on, so far ahead of real time.
    fn look(&mut self, at_ms: u64, ahead_us: &[i64]) -> Result<(), Breach> {
        let right = START + ms(at_ms);
        let clocks: Vec<(NodeId, Time)> = (1..)
            .zip(ahead_us)
            .map(|(number, us)| (id(number), Offset::from_micros(*us).after(right)))
            .collect();
        Referee::<Cristian>::looks(&mut self.0, Time::ZERO + ms(at_ms), right, &clocks)
    }

    fn fact(&self, name: &str) -> String {
        let facts = Referee::<Cristian>::facts(&self.0);
        facts.into_iter().find(|fact| fact.name == name).unwrap().text
    }
}

fn broken(judged: Result<(), Breach>) -> (&'static str, Vec<NodeId>) {
    let breach = judged.unwrap_err();
    (breach.name, breach.by)
}

#[test]
fn a_clock_that_goes_back_is_noticed() {
    let mut run = Run::new(Against::EachOther);
    run.look(0, &[0, 500_000]).unwrap();
    run.look(100, &[0, 450_000]).unwrap();
    assert_eq!(broken(run.look(200, &[0, 350_000])), ("monotone", vec![id(2)]), "it stood still");
    assert_eq!(broken(run.look(300, &[0, -100_000])), ("monotone", vec![id(2)]));
    Referee::<Cristian>::crashed(&mut run.0, Time::ZERO, id(2));
    run.look(400, &[0, -900_000]).unwrap();
}

#[test]
fn a_clock_outside_its_bound_of_the_server_is_noticed() {
    let mut run = Run::new(Against::Server(id(3)));
    run.look(0, &[50_000, 0, 9_000]).unwrap();
    run.set(100, 1, 0, ms(1));
    run.look(200, &[9_900, 0, 9_000]).unwrap();
    assert_eq!(broken(run.look(300, &[10_100, 0, 9_000])), ("bound", vec![id(1)]));
    // 200 ppm of 10 s are 2 ms more.
    run.look(10_100, &[11_900, 0, 9_000]).unwrap();
    assert_eq!(broken(run.look(10_200, &[12_100, 0, 9_000])), ("bound", vec![id(1)]));
    assert_eq!(run.fact("settings"), "1 time");
    assert_eq!(
        run.fact("error"),
        "3.1ms where 3.03ms is allowed at most, 3.1ms where 3.03ms is allowed at the end"
    );
}

#[test]
fn what_is_left_to_be_slewed_is_allowed_and_no_more() {
    let mut run = Run::new(Against::Server(id(2)));
    run.set(0, 1, -100_000, ms(1));
    run.look(0, &[100_000, 0]).unwrap();
    run.look(1_000, &[50_900, 0]).unwrap();
    assert_eq!(broken(run.look(1_100, &[50_900, 0])), ("bound", vec![id(1)]));
    assert_eq!(run.fact("error"), "no clock is set yet");
    run.look(2_100, &[900, 0]).unwrap();
    assert!(run.fact("error").starts_with("0.9ms where 1.4"), "{}", run.fact("error"));
}

#[test]
fn real_time_counts_while_most_servers_are_right() {
    let against = || Against::RealTime { servers: vec![id(2), id(3), id(4)], accuracy: ms(10) };
    let mut run = Run::new(against());
    run.set(0, 1, 0, ms(20));
    run.look(0, &[19_000, 0, 0, 900_000]).unwrap();
    assert_eq!(broken(run.look(100, &[21_000, 0, 0, 900_000])), ("bound", vec![id(1)]));
    let mut run = Run::new(against());
    run.set(0, 1, 0, ms(20));
    run.look(0, &[21_000, 0, 11_000, 900_000]).unwrap();
}

#[test]
fn clocks_of_a_round_are_compared_with_each_other() {
    let mut run = Run::new(Against::EachOther);
    for who in 1..=3 {
        run.set(0, who, 0, ms(1));
    }
    run.look(0, &[0, 1_000, 1_900]).unwrap();
    assert_eq!(broken(run.look(100, &[0, 1_000, 2_200])), ("bound", vec![id(3), id(1)]));
    assert_eq!(run.fact("outliers"), "none");
}

#[test]
fn the_spread_is_told_at_a_handful_of_moments() {
    let mut run = Run::new(Against::EachOther);
    for step in 0..=600 {
        run.look(step * 100, &[0, 200_000 - 300 * step as i64]).unwrap();
    }
    let expected = "200ms at 0s, 164ms at 12s, 128ms at 24s, 92ms at 36s, 56ms at 48s, 20ms at 60s";
    assert_eq!(run.fact("spread"), expected);
    let facts = Referee::<Cristian>::facts(&run.0);
    let points = facts[0].value.as_array().unwrap();
    assert!(points.len() > 100 && points.len() <= MOMENTS_MAX + 1, "{}", points.len());
    assert_eq!(points[0], json!({ "at_ms": 0.0, "spread_ms": 200.0 }));
    let [Picture::Clocks(clocks)] = &Referee::<Cristian>::pictures(&run.0)[..] else { panic!() };
    assert_eq!(clocks.lines.len(), 2);
    assert_eq!(clocks.lines[1].1.last(), Some(&(Time::ZERO + ms(60_000), 20_000)));
}

#[test]
fn it_looks_ten_times_a_round() {
    let every = |interval: &str| {
        let settings = settings(&[("interval", interval), ("samples", "1")]);
        let group = bellwether_core::Group::numbered(3).unwrap();
        Cristian::definition().config(&settings, &group).pace.look()
    };
    assert_eq!(every("10s"), ms(100));
    assert_eq!(every("500ms"), ms(50));
}
