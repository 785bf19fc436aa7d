//! The algorithms that keep clocks together, each over thousands of random schedules: clocks that
//! are off by seconds and drift, any latencies, loss, duplicates, crashes and recoveries. No clock
//! ever goes back, every clock that was set stays within its bound, and when the faults stop all are
//! set. And what lies outside of what they assume is shown to break them.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::support::{listed, schedules};
use bellwether_algorithms::definition::Settings;
use bellwether_core::{AnyInput, AnyProcess, Group, NodeId, Time};
use bellwether_sim::{
    Action, Fate, FaultCounts, FaultKind, Latency, Network, Outcome, Plan, Scheduled, Silent,
    scenario, shrink,
};
use std::time::Duration;

/// A small random generator, the same everywhere (SplitMix64).
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed ^ 0x7469_6d65);
        dice.below(2);
        dice
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound.max(1)
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// From `-most` to `most`.
    fn within(&mut self, most: i64) -> i64 {
        self.below(2 * most.unsigned_abs() + 1) as i64 - most
    }
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn id(number: u32) -> NodeId {
    NodeId::new(number)
}

/// Latencies, the least of them, and a T that an exchange keeps, surely or nearly so.
fn network(dice: &mut Dice) -> (Network, Duration, Duration) {
    let (latency, least, timeout) = match dice.below(4) {
        0 => (Latency::Fixed(ms(10)), ms(10), ms(30)),
        1 => (Latency::Uniform(ms(5), ms(20)), ms(5), ms(60)),
        2 => (Latency::Uniform(ms(0), ms(40)), ms(0), ms(100)),
        _ => (Latency::Exponential(ms(8)), ms(0), ms(250)),
    };
    let mut network = Network::new(latency);
    network.reorder = dice.below(2) == 0;
    (network, least, timeout)
}

/// Wrong clocks at the beginning: by milliseconds or by seconds, and by up to so much drift.
fn clocks<I>(group: &Group, drift_ppm: i64, dice: &mut Dice) -> Vec<Scheduled<I>> {
    let clock = |node: &NodeId| {
        let offset_us = dice.one_of(&[0, 5_000, 200_000, 5_000_000]);
        let offset_us = dice.within(offset_us);
        let drift_ppm = match dice.below(3) {
            0 => drift_ppm,
            1 => -drift_ppm,
            _ => dice.within(drift_ppm),
        };
        Scheduled { at: Time::ZERO, action: Action::Clock { node: *node, offset_us, drift_ppm } }
    };
    group.ring().iter().map(clock).collect()
}

/// Crashes and recoveries, some of them close together; everybody is up at the end.
fn crashes<I>(group: &Group, unit: Duration, dice: &mut Dice) -> Vec<Scheduled<I>> {
    let mut script = Vec::new();
    let mut down = Vec::new();
    let mut now = Time::ZERO;
    for _ in 0..dice.below(6) {
        let reach = unit.as_micros() as u64 * dice.one_of(&[1, 4, 30]);
        now = now + Duration::from_micros(dice.below(reach));
        let who = group.ring()[dice.below(group.len() as u64) as usize];
        let action = match down.iter().position(|id| *id == who) {
            Some(index) => Action::Recover(down.swap_remove(index)),
            None => {
                down.push(who);
                Action::Crash(who)
            }
        };
        script.push(Scheduled { at: now, action });
    }
    now = now + unit;
    script.extend(down.into_iter().map(|id| Scheduled { at: now, action: Action::Recover(id) }));
    script
}

/// A plan that goes on for as long after its last action as the goal may take.
fn plan(
    name: &str,
    group: Group,
    settings: Settings,
    network: Network,
    seed: u64,
    script: Vec<Scheduled<AnyInput>>,
) -> Plan<AnyProcess> {
    let algorithm = listed(name).clone();
    assert_eq!(algorithm.check(&settings, &group), Ok(()));
    let last = script.iter().map(|scheduled| scheduled.at).max().unwrap_or(Time::ZERO);
    let settles = algorithm.settling_time(&algorithm.config(&settings, &group), &group, 0);
    Plan { algorithm, group, settings, network, seed, script, until: Some(last + settles) }
}

fn option(settings: &mut Settings, name: &str, value: impl ToString) {
    settings.options.set(name, &value.to_string());
}

/// What many runs came to.
#[derive(Default)]
struct Total {
    faults: FaultCounts,
    settings: u64,
    settled: u64,
    tight: u64,
}

impl Total {
    fn bitten(&self, kind: FaultKind) -> u64 {
        self.faults.iter().find(|(other, _)| *other == kind).map_or(0, |(_, count)| count)
    }
}

fn fact(outcome: &Outcome, name: &str) -> serde_json::Value {
    let fact = outcome.facts.iter().find(|fact| fact.name == name);
    fact.unwrap_or_else(|| panic!("nothing about {name}")).value.clone()
}

/// Runs a plan, which must go well.
fn play(plan: &Plan<AnyProcess>, total: &mut Total) -> Outcome {
    let (outcome, Silent) = plan.run(Silent);
    total.faults.add(&outcome.faults);
    let name = plan.algorithm.name();
    if let Some(violation) = outcome.violation {
        let small = shrink(plan, violation.name, 500).map(|shrunk| scenario::write(&shrunk.plan));
        panic!("{name}, seed {}: {violation}\n{}", plan.seed, small.unwrap_or_default());
    }
    assert!(outcome.agreed, "{name}, seed {}: {:?}", plan.seed, outcome.facts);
    total.settings += fact(&outcome, "settings").as_u64().unwrap();
    let largest = &fact(&outcome, "error")["largest"];
    if let Some(error) = largest["error_ms"].as_f64() {
        total.settled += 1;
        // A bound that nothing comes near would not be worth much.
        total.tight += u64::from(error > 0.5 * largest["bound_ms"].as_f64().unwrap());
    }
    outcome
}

/// Runs a plan that leaves the assumptions, and says what broke.
fn breaks(plan: &Plan<AnyProcess>) -> &'static str {
    let (outcome, Silent) = plan.run(Silent);
    outcome.violation.map_or("nothing", |violation| violation.name)
}

fn cristian(seed: u64, faults: bool) -> Plan<AnyProcess> {
    let mut dice = Dice::new(seed);
    let n = dice.below(5) as u32 + 1;
    let group = Group::numbered(n).unwrap();
    let (mut network, least, timeout) = network(&mut dice);
    let mut settings = Settings::new(timeout);
    let samples = dice.below(4) + 1;
    option(&mut settings, "samples", samples);
    let interval = timeout * (samples as u32 + dice.below(20) as u32 + 1);
    option(&mut settings, "interval", format!("{}us", interval.as_micros()));
    option(&mut settings, "server", dice.below(n.into()) + 1);
    option(&mut settings, "slew", dice.one_of(&["5%", "50%"]));
    if dice.below(2) == 0 {
        option(&mut settings, "min", format!("{}ms", least.as_millis()));
    }
    let mut script = clocks(&group, 100, &mut dice);
    if faults {
        network.loss = dice.one_of(&[0.0, 0.1, 0.4]);
        network.duplicate = dice.one_of(&[0.0, 0.2]);
        script.extend(crashes(&group, timeout * 2, &mut dice));
        let last = script.iter().map(|scheduled| scheduled.at).max().unwrap();
        script.push(Scheduled { at: last + interval * 2, action: Action::Calm });
    } else {
        script.push(Scheduled { at: Time::ZERO + interval * 8, action: Action::Calm });
    }
    plan("cristian", group, settings, network, seed, script)
}

#[test]
fn cristian_without_faults() {
    let mut total = Total::default();
    for seed in 0..schedules() {
        let outcome = play(&cristian(seed, false), &mut total);
        let missed = fact(&outcome, "missed").as_u64().unwrap();
        assert!(missed == 0, "seed {seed}: {missed} rounds were missed");
    }
    assert!(total.settings > 15 * schedules(), "only {} settings", total.settings);
    assert!(total.settled > schedules() / 2, "only {} were ever slewed", total.settled);
    assert!(total.tight > schedules() / 4, "only {} came near their bound", total.tight);
}

#[test]
fn cristian_with_loss_and_crashes() {
    let mut total = Total::default();
    let mut missed = 0;
    for seed in 0..schedules() {
        let outcome = play(&cristian(seed, true), &mut total);
        missed += fact(&outcome, "missed").as_u64().unwrap();
    }
    let kinds = [
        FaultKind::Crash,
        FaultKind::Recover,
        FaultKind::Loss,
        FaultKind::Duplicate,
        FaultKind::Reorder,
        FaultKind::Offset,
        FaultKind::Drift,
    ];
    for kind in kinds {
        let bitten = total.bitten(kind);
        assert!(bitten > schedules() / 10, "{} hardly ever happened: {bitten}", kind.name());
    }
    assert!(missed > schedules() / 10, "only {missed} rounds were missed");
    assert!(total.settings > 10 * schedules(), "only {} settings", total.settings);
    assert!(total.tight > schedules() / 4, "only {} came near their bound", total.tight);
}

/// Two processes, the second of which has the time; messages take 10 ms.
fn pair(options: &[(&str, &str)], script: Vec<(u64, Action<AnyInput>)>) -> Plan<AnyProcess> {
    let mut settings = Settings::new(ms(30));
    for (name, value) in options {
        option(&mut settings, name, value);
    }
    let at = |(at, action)| Scheduled { at: Time::ZERO + ms(at), action };
    let script = script.into_iter().map(at).collect();
    let network = Network::new(Latency::Fixed(ms(10)));
    plan("cristian", Group::numbered(2).unwrap(), settings, network, 1, script)
}

fn clock<I>(node: u32, offset_us: i64, drift_ppm: i64) -> Action<I> {
    Action::Clock { node: id(node), offset_us, drift_ppm }
}

/// The bound has an allowance for drift, and a clock may drift by more.
#[test]
fn a_clock_that_drifts_beyond_what_is_believed_leaves_its_bound() {
    let interval = [("interval", "60s"), ("samples", "1")];
    let within = pair(&interval, vec![(0, clock(1, 0, 100))]);
    assert_eq!(breaks(&within), "nothing");
    let beyond = pair(&interval, vec![(0, clock(1, 0, 500))]);
    assert_eq!(breaks(&beyond), "bound");
    let mut believed = interval.to_vec();
    believed.push(("max-drift", "500ppm"));
    assert_eq!(breaks(&pair(&believed, vec![(0, clock(1, 0, 500))])), "nothing");
}

/// A corrected clock is that of the machine, corrected. If the machine's clock is turned back, so is this.
#[test]
fn a_machine_whose_clock_is_turned_back_is_noticed() {
    let back = pair(&[], vec![(5_000, clock(1, -1_000_000, 0))]);
    assert_eq!(breaks(&back), "monotone");
    let forward = pair(&[], vec![(5_000, clock(1, 1_000_000, 0))]);
    assert_eq!(breaks(&forward), "bound");
}

/// Who believes that a message takes 9 ms at least, when one way takes 1 ms and the other 19, is
/// off by more than it thinks.
#[test]
fn a_least_delay_that_is_none_makes_the_bound_wrong() {
    let lopsided = |least| {
        let mut plan = pair(&[("min", least)], vec![(0, clock(1, 300_000, 0))]);
        plan.network.links.insert((id(1), id(2)), Latency::Fixed(ms(1)));
        plan.network.links.insert((id(2), id(1)), Latency::Fixed(ms(19)));
        plan
    };
    assert_eq!(breaks(&lopsided("1ms")), "nothing");
    assert_eq!(breaks(&lopsided("9ms")), "bound");
    let impossible = lopsided("11ms");
    let (outcome, Silent) = impossible.run(Silent);
    assert!(fact(&outcome, "refused").as_u64().unwrap() > 3, "{:?}", outcome.facts);
    assert_eq!(fact(&outcome, "settings"), 0);
}

fn berkeley(seed: u64) -> Plan<AnyProcess> {
    let mut dice = Dice::new(seed);
    let n = dice.below(7) as u32 + 1;
    let group = Group::numbered(n).unwrap();
    // The election assumes bounded delays, so T exceeds a round trip for sure.
    let (latency, timeout) = match dice.below(3) {
        0 => (Latency::Fixed(ms(10)), ms(30)),
        1 => (Latency::Uniform(ms(5), ms(20)), ms(60)),
        _ => (Latency::Uniform(ms(0), ms(40)), ms(120)),
    };
    let mut network = Network::new(latency);
    network.reorder = dice.below(2) == 0;
    network.duplicate = dice.one_of(&[0.0, 0.2]);
    let coordinator = (dice.below(5) > 0).then(|| group.highest());
    let mut settings = Settings { coordinator, detection: true, ..Settings::new(timeout) };
    let interval = timeout * (dice.below(20) as u32 + 3);
    option(&mut settings, "interval", format!("{}us", interval.as_micros()));
    option(&mut settings, "gamma", dice.one_of(&["20ms", "500ms", "10s"]));
    option(&mut settings, "slew", dice.one_of(&["5%", "50%"]));
    let mut script = clocks(&group, 100, &mut dice);
    script.extend(crashes(&group, timeout * 4, &mut dice));
    plan("berkeley", group, settings, network, seed, script)
}

/// The master dies and comes back, members too, and rounds go on.
#[test]
fn berkeley_with_crashes() {
    let mut total = Total::default();
    let (mut rounds, mut outliers) = (0, 0);
    for seed in 0..schedules() {
        let outcome = play(&berkeley(seed), &mut total);
        let largest = outcome.coordinators.iter().map(|(id, _)| Some(*id)).max().unwrap();
        assert!(outcome.coordinators.iter().all(|(_, master)| *master == largest), "seed {seed}");
        rounds += fact(&outcome, "rounds").as_u64().unwrap();
        let dropped = fact(&outcome, "outliers");
        outliers += dropped.as_object().unwrap().values().filter_map(|n| n.as_u64()).sum::<u64>();
    }
    let kinds = [
        FaultKind::Crash,
        FaultKind::Recover,
        FaultKind::Duplicate,
        FaultKind::Reorder,
        FaultKind::Offset,
        FaultKind::Drift,
    ];
    for kind in kinds {
        let bitten = total.bitten(kind);
        assert!(bitten > schedules() / 10, "{} hardly ever happened: {bitten}", kind.name());
    }
    assert!(rounds > 3 * schedules(), "only {rounds} rounds");
    assert!(outliers > schedules() / 2, "only {outliers} outliers");
    assert!(total.settled > schedules() / 4, "only {} were ever slewed", total.settled);
    assert!(total.tight > schedules() / 20, "only {} came near their bound", total.tight);
}

/// Servers of which fewer than half are wrong, by anything; the others are within their accuracy,
/// which they may drift away from by 100 ppm.
fn ntp(seed: u64, faults: bool) -> Plan<AnyProcess> {
    let mut dice = Dice::new(seed);
    let servers = dice.below(5) as u32 + 1;
    let n = servers + dice.below(3) as u32 + 1;
    let group = Group::numbered(n).unwrap();
    let (mut network, _, timeout) = network(&mut dice);
    let mut settings = Settings::new(timeout);
    let list: Vec<String> = (1..=servers).map(|id| id.to_string()).collect();
    option(&mut settings, "servers", list.join(","));
    option(&mut settings, "accuracy", "15ms");
    option(&mut settings, "slew", dice.one_of(&["5%", "50%"]));
    let interval = timeout * (dice.below(10) as u32 + 2);
    option(&mut settings, "interval", format!("{}us", interval.as_micros()));
    let mut script = clocks(&group, 100, &mut dice);
    let wrong = dice.below(u64::from(servers.div_ceil(2))) as u32;
    for (index, scheduled) in script.iter_mut().enumerate() {
        if let Action::Clock { offset_us, drift_ppm, .. } = &mut scheduled.action
            && (index as u32) < servers
        {
            (*offset_us, *drift_ppm) = match (index as u32) < wrong {
                // Some are wrong by so little that they agree with some of the right ones.
                true => (dice.one_of(&[40_000, -60_000, 3_000_000, -20_000_000]), *drift_ppm),
                false => (dice.within(5_000), *drift_ppm),
            };
        }
    }
    if faults {
        network.loss = dice.one_of(&[0.0, 0.1, 0.4]);
        network.duplicate = dice.one_of(&[0.0, 0.2]);
        script.extend(crashes(&group, timeout * 2, &mut dice));
        let last = script.iter().map(|scheduled| scheduled.at).max().unwrap();
        script.push(Scheduled { at: last + interval * 2, action: Action::Calm });
    } else {
        script.push(Scheduled { at: Time::ZERO + interval * 10, action: Action::Calm });
    }
    plan("ntp", group, settings, network, seed, script)
}

fn check_ntp(faults: bool) -> (Total, u64, u64) {
    let mut total = Total::default();
    let (mut cast_out, mut disagreements) = (0, 0);
    for seed in 0..schedules() {
        let plan = ntp(seed, faults);
        assert!(plan.until.unwrap() < Time::from_micros(100_000_000), "a right server drifts off");
        let outcome = play(&plan, &mut total);
        cast_out += fact(&outcome, "falsetickers").as_array().unwrap().len() as u64;
        disagreements += fact(&outcome, "disagreements").as_u64().unwrap();
    }
    assert!(cast_out > schedules() / 5, "only {cast_out} were cast out");
    assert!(total.settings > 10 * schedules(), "only {} settings", total.settings);
    assert!(total.settled > schedules() / 4, "only {} were ever slewed", total.settled);
    assert!(total.tight > schedules() / 20, "only {} came near their bound", total.tight);
    (total, cast_out, disagreements)
}

#[test]
fn ntp_without_faults() {
    let (_, _, disagreements) = check_ntp(false);
    assert_eq!(disagreements, 0, "most servers are right and answer");
}

#[test]
fn ntp_with_loss_and_crashes() {
    let (total, _, disagreements) = check_ntp(true);
    for kind in [FaultKind::Crash, FaultKind::Recover, FaultKind::Loss, FaultKind::Duplicate] {
        let bitten = total.bitten(kind);
        assert!(bitten > schedules() / 10, "{} hardly ever happened: {bitten}", kind.name());
    }
    assert!(disagreements > schedules() / 20, "only {disagreements} polls came to nothing");
}

/// Two of three servers that are wrong in the same way are a majority, and believed.
#[test]
fn most_servers_can_be_wrong_together() {
    let mut settings = Settings::new(ms(30));
    option(&mut settings, "servers", "2,3,4");
    let wrong = [2, 3].map(|node| Scheduled { at: Time::ZERO, action: clock(node, 900_000, 0) });
    let network = Network::new(Latency::Fixed(ms(10)));
    let group = Group::numbered(4).unwrap();
    let plan = plan("ntp", group, settings, network, 1, wrong.to_vec());
    let (outcome, Silent) = plan.run(Silent);
    assert_eq!(outcome.violation, None, "nothing is promised then");
    assert_eq!(fact(&outcome, "falsetickers"), serde_json::json!([4]), "the right one");
}

/// The classic example, and what the summary says about it.
#[test]
fn three_clocks_meet_at_five_past_three() {
    let minute = 60_000_000;
    let clocks = [(3, 180), (2, 205), (1, 170)];
    let set =
        |(node, minutes)| Scheduled { at: Time::ZERO, action: clock(node, minutes * minute, 0) };
    let mut settings = Settings { coordinator: Some(id(3)), ..Settings::new(ms(100)) };
    option(&mut settings, "gamma", "60m");
    option(&mut settings, "slew", "50%");
    let network = Network::new(Latency::Fixed(ms(10)));
    let group = Group::numbered(3).unwrap();
    let mut plan = plan("berkeley", group, settings, network, 1, clocks.map(set).to_vec());
    plan.until = Some(Time::from_micros(60 * minute as u64));
    let (outcome, Silent) = plan.run(Silent);
    assert_eq!(outcome.violation, None);
    let spread = fact(&outcome, "spread");
    let spread = spread.as_array().unwrap();
    assert_eq!(spread[0]["spread_ms"], 35.0 * 60_000.0);
    assert_eq!(spread[spread.len() - 1]["spread_ms"], 0.0);
    let [bellwether_algorithms::referee::Picture::Clocks(picture)] = &outcome.pictures[..] else {
        panic!("a picture");
    };
    for (id, points) in &picture.lines {
        let (_, ahead_us) = points.last().unwrap();
        assert_eq!(*ahead_us, 185 * minute, "{id} shows 3:05 and an hour");
        assert!(points.len() > 100 && points.len() <= 401);
    }
}

/// Calls `each` with every way to choose one of `choices` for each of this many messages.
fn every_way(choices: &[Fate], messages: usize, mut each: impl FnMut(&[Fate])) -> u64 {
    let ways = (choices.len() as u64).pow(messages as u32);
    for way in 0..ways {
        let digit =
            |place| (way / (choices.len() as u64).pow(place) % choices.len() as u64) as usize;
        let chosen: Vec<Fate> = (0..messages as u32).map(|place| choices[digit(place)]).collect();
        each(&chosen);
    }
    ways
}

/// Both ways of each of two samples: at once, unevenly, almost too late, too late, never, twice.
#[test]
fn cristian_in_every_way_that_messages_can_go() {
    let fates = [
        Fate::Arrives(0),
        Fate::Arrives(7_000),
        Fate::Arrives(29_000),
        Fate::Arrives(75_000),
        Fate::Lost,
        Fate::Twice(1_000, 40_000),
    ];
    let mut total = Total::default();
    let ways = every_way(&fates, 4, |chosen| {
        let options = [("samples", "2"), ("interval", "200ms"), ("slew", "50%")];
        let mut plan = pair(&options, vec![(0, clock(1, 3_000, 100)), (0, clock(2, 0, -100))]);
        plan.network.reorder = true;
        for (index, ways) in (0..).zip(chosen.chunks(2)) {
            plan.network.fates.insert((id(1), id(2), index), ways[0]);
            plan.network.fates.insert((id(2), id(1), index), ways[1]);
        }
        play(&plan, &mut total);
    });
    assert_eq!((ways, total.settled), (1_296, 1_296));
}

/// The six messages of a round of three, and then a round in which nothing happens to them.
#[test]
fn berkeley_in_every_way_that_messages_can_go() {
    let fates = [
        Fate::Arrives(1_000),
        Fate::Arrives(20_000),
        Fate::Arrives(130_000),
        Fate::Lost,
        Fate::Twice(1_000, 125_000),
    ];
    let mut total = Total::default();
    let ways = every_way(&fates, 6, |chosen| {
        let mut settings = Settings { coordinator: Some(id(3)), ..Settings::new(ms(30)) };
        option(&mut settings, "interval", "120ms");
        option(&mut settings, "slew", "50%");
        let off = [clock(1, 9_000, 100), clock(2, -4_000, -100), clock(3, 0, 0)];
        let script = off.map(|action| Scheduled { at: Time::ZERO, action }).to_vec();
        let mut network = Network::new(Latency::Fixed(ms(10)));
        network.reorder = true;
        for (member, chosen) in (1..).zip(chosen.chunks(3)) {
            // POLL, READING and, if the master has heard it, ADJUST.
            network.fates.insert((id(3), id(member), 0), chosen[0]);
            network.fates.insert((id(member), id(3), 0), chosen[1]);
            network.fates.insert((id(3), id(member), 1), chosen[2]);
        }
        let group = Group::numbered(3).unwrap();
        play(&plan("berkeley", group, settings, network, 1, script), &mut total);
    });
    assert_eq!((ways, total.settled), (15_625, 15_625));
}

/// The six messages of a poll of three servers, one of which is wrong by a little or by much.
#[test]
fn ntp_in_every_way_that_messages_can_go() {
    let fates = [Fate::Arrives(0), Fate::Arrives(26_000), Fate::Lost, Fate::Twice(2_000, 70_000)];
    for wrong_us in [30_000, -900_000] {
        let mut total = Total::default();
        let ways = every_way(&fates, 6, |chosen| {
            let mut settings = Settings::new(ms(30));
            option(&mut settings, "interval", "100ms");
            option(&mut settings, "slew", "50%");
            option(&mut settings, "accuracy", "1ms");
            let off =
                [clock(1, 5_000, 100), clock(2, 900, 0), clock(3, -900, 0), clock(4, wrong_us, 0)];
            let script = off.map(|action| Scheduled { at: Time::ZERO, action }).to_vec();
            let mut network = Network::new(Latency::Fixed(ms(10)));
            network.reorder = true;
            for (server, ways) in (2..).zip(chosen.chunks(2)) {
                network.fates.insert((id(1), id(server), 0), ways[0]);
                network.fates.insert((id(server), id(1), 0), ways[1]);
            }
            let group = Group::numbered(4).unwrap();
            play(&plan("ntp", group, settings, network, 1, script), &mut total);
        });
        assert_eq!((ways, total.settled), (4_096, 4_096));
    }
}
