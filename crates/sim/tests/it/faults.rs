//! Each fault does what it says, and its counter counts it.

#![expect(clippy::unwrap_used, reason = "a helper that cannot go on fails its test")]

use bellwether_core::{
    Assumptions, Channels, Context, Group, Kind, Message, NodeId, Process, Time, Timing,
};
use bellwether_sim::{
    Action, CLOCK_START, Cut, CutKind, Ended, FaultKind, Latency, Network, Observer, Scheduled,
    Seen, Sim, Why,
};
use std::fmt;
use std::time::Duration;

/// A process that does as it is told and writes down what its own clock showed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Puppet {
    /// How often it has started; survives crashes.
    starts: u32,
    /// The next number to send.
    next: u32,
    /// When timers rang, by its own clock.
    rang: Vec<Time>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Number(u32);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NUMBER({})", self.0)
    }
}

impl Message for Number {
    fn kind(&self) -> Kind {
        Kind::protocol("NUMBER")
    }
}

#[derive(Clone, Copy, Debug)]
enum Order {
    /// Send this many numbers to this process.
    Send(u32, u32),
    /// Ring after so long.
    Ring(Duration),
}

impl Process for Puppet {
    type Msg = Number;
    type Timer = ();
    type Input = Order;
    type Output = String;
    type Durable = u32;
    type Config = ();

    const ASSUMES: Assumptions = Assumptions {
        timing: Timing::Asynchronous,
        channels: Channels::Any,
        loss: true,
        duplication: true,
        crashes: true,
        recoveries: true,
    };

    fn durable(&self) -> u32 {
        self.starts
    }

    fn on_start(&mut self, saved: Option<u32>, _: &mut Context<'_, Self>) {
        self.starts = saved.unwrap_or(0) + 1;
    }

    fn on_input(&mut self, order: Order, cx: &mut Context<'_, Self>) {
        match order {
            Order::Send(to, count) => {
                for _ in 0..count {
                    cx.send(NodeId::new(to), Number(self.next));
                    self.next += 1;
                }
            }
            Order::Ring(after) => cx.set_timer((), after),
        }
    }

    fn on_message(&mut self, _: NodeId, _: Number, _: &mut Context<'_, Self>) {}

    fn on_timer(&mut self, (): (), cx: &mut Context<'_, Self>) {
        self.rang.push(cx.now());
    }
}

/// What reached whom, in real time.
#[derive(Debug, Default)]
struct Notebook(Vec<(u64, String)>);

impl Observer<Puppet> for Notebook {
    const ACTIVE: bool = true;

    fn event(&mut self, at: Time, place: usize, seen: Seen<'_, Puppet>) {
        let what = match seen {
            Seen::Receive { msg, .. } => msg.0.to_string(),
            Seen::Drop { msg, why, .. } => format!("{} {}", why.name(), msg.0),
            Seen::Timer(()) => "rings".to_owned(),
            _ => return,
        };
        self.0.push((at.as_micros(), format!("P{} {what}", place + 1)));
    }

    fn stepped(&mut self, _: usize, _: &Puppet) {}
}

type Theatre = Sim<Puppet, Notebook>;

const MS: u64 = 1_000;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn p(number: u32) -> NodeId {
    NodeId::new(number)
}

fn at(at_ms: u64, action: Action<Order>) -> Scheduled<Order> {
    Scheduled { at: Time::ZERO + ms(at_ms), action }
}

fn send(from: u32, to: u32, count: u32) -> Action<Order> {
    Action::Input(p(from), Order::Send(to, count))
}

fn ring(who: u32, after_ms: u64) -> Action<Order> {
    Action::Input(p(who), Order::Ring(ms(after_ms)))
}

fn one_way(name: u32, from: u32, to: u32) -> Action<Order> {
    Action::Cut(Cut { name, kind: CutKind::OneWay(vec![p(from)], vec![p(to)]) })
}

/// Plays a script with three processes to its end.
fn play_on(network: &Network, seed: u64, script: Vec<Scheduled<Order>>) -> Theatre {
    let group = Group::numbered(3).unwrap();
    let mut sim = Sim::new(group, (), network, seed, Vec::new(), Notebook::default());
    sim.schedule(script);
    assert_eq!(sim.run(Time::MAX), Ended::Quiet);
    sim
}

/// On a network that takes 10 ms for every message.
fn play(script: Vec<Scheduled<Order>>) -> Theatre {
    play_on(&Network::new(Latency::Fixed(ms(10))), 0, script)
}

/// What happened, with times in milliseconds.
fn story(sim: &Theatre) -> Vec<(u64, &str)> {
    sim.observer.0.iter().map(|(at, what)| (at / MS, what.as_str())).collect()
}

fn count(sim: &Theatre, kind: FaultKind) -> u64 {
    sim.faults().iter().find(|(other, _)| *other == kind).map_or(0, |(_, count)| count)
}

fn process(sim: &Theatre, number: u32) -> &Puppet {
    sim.process(p(number)).unwrap()
}

#[test]
fn a_pause_holds_messages_and_timers_until_it_ends() {
    let sim = play(vec![
        at(0, send(1, 2, 2)),
        at(0, ring(2, 20)),
        at(5, Action::Pause(p(2))),
        at(50, Action::Resume(p(2))),
        at(60, send(1, 2, 1)),
    ]);
    assert_eq!(story(&sim), [(50, "P2 0"), (50, "P2 1"), (50, "P2 rings"), (70, "P2 2")]);
    assert_eq!(count(&sim, FaultKind::Pause), 3, "two messages and a timer");
}

#[test]
fn a_pause_in_which_nothing_happens_is_idle() {
    let sim = play(vec![at(5, Action::Pause(p(2))), at(50, Action::Resume(p(2)))]);
    assert_eq!(sim.faults().idle().collect::<Vec<_>>(), [FaultKind::Pause]);
}

#[test]
fn a_crash_during_a_pause_loses_what_has_waited() {
    let sim = play(vec![
        at(0, send(1, 2, 1)),
        at(0, ring(2, 20)),
        at(5, Action::Pause(p(2))),
        at(30, Action::Crash(p(2))),
        at(40, Action::Recover(p(2))),
        at(50, Action::Resume(p(2))),
    ]);
    assert_eq!(story(&sim), [(30, "P2 down 0")]);
}

#[test]
fn a_slow_process_takes_its_time_for_every_event() {
    let sim = play(vec![
        at(0, Action::Slow(p(2), ms(5))),
        at(0, send(1, 2, 3)),
        at(0, send(1, 3, 1)),
        at(100, Action::Slow(p(2), Duration::ZERO)),
        at(100, send(1, 2, 1)),
    ]);
    let expected = [(10, "P3 3"), (15, "P2 0"), (20, "P2 1"), (25, "P2 2"), (110, "P2 4")];
    assert_eq!(story(&sim), expected);
    assert_eq!(count(&sim, FaultKind::Slow), 3);
}

#[test]
fn a_one_way_cut_stops_one_direction_only_and_also_what_is_on_the_way() {
    let sim = play(vec![
        at(0, send(1, 2, 1)),
        at(5, one_way(0, 1, 2)),
        at(20, send(1, 2, 1)),
        at(20, send(2, 1, 1)),
        at(20, send(1, 3, 1)),
        at(40, Action::Heal(0)),
        at(40, send(1, 2, 1)),
    ]);
    let cut = Why::Cut.name();
    let [first, second] = [0, 1].map(|number| format!("P2 {cut} {number}"));
    let expected =
        [(10, first.as_str()), (20, second.as_str()), (30, "P1 0"), (30, "P3 2"), (50, "P2 3")];
    assert_eq!(story(&sim), expected);
    assert_eq!(count(&sim, FaultKind::OneWay), 2);
}

#[test]
fn a_partition_cuts_both_ways_between_sides_and_not_within() {
    let kind = CutKind::Partition(vec![vec![p(1), p(2)]]);
    let sim = play(vec![
        at(0, Action::Cut(Cut { name: 0, kind })),
        at(0, send(1, 2, 1)),
        at(0, send(1, 3, 1)),
        at(0, send(3, 2, 1)),
        at(20, Action::Heal(0)),
        at(20, send(3, 2, 1)),
    ]);
    let expected = [(0, "P3 cut 1"), (0, "P2 cut 0"), (10, "P2 0"), (30, "P2 1")];
    assert_eq!(story(&sim), expected);
    assert_eq!(count(&sim, FaultKind::Partition), 2);
}

#[test]
fn overlapping_cuts_are_mended_one_by_one() {
    let sim = play(vec![
        at(0, one_way(1, 1, 2)),
        at(0, one_way(2, 1, 2)),
        at(10, Action::Heal(1)),
        at(10, send(1, 2, 1)),
        at(20, Action::Heal(2)),
        at(20, send(1, 2, 1)),
    ]);
    assert_eq!(story(&sim), [(10, "P2 cut 0"), (30, "P2 1")]);
}

#[test]
fn a_crash_loses_state_messages_and_timers_but_not_what_is_durable() {
    let sim = play(vec![
        at(0, send(2, 1, 2)),
        at(0, ring(2, 30)),
        at(15, send(1, 2, 1)),
        at(20, Action::Crash(p(2))),
        at(40, Action::Recover(p(2))),
        at(50, send(2, 1, 1)),
    ]);
    // P2 had sent 0 and 1; it has forgotten that. Its timer at 30 ms never rings.
    assert_eq!(story(&sim), [(10, "P1 0"), (10, "P1 1"), (25, "P2 down 0"), (60, "P1 0")]);
    assert_eq!(process(&sim, 2).starts, 2, "that it had started before it knows");
    assert_eq!(process(&sim, 1).starts, 1);
    assert_eq!((count(&sim, FaultKind::Crash), count(&sim, FaultKind::Recover)), (1, 1));
}

#[test]
fn a_crash_in_the_middle_of_sending_leaves_a_prefix() {
    for after in 0..4 {
        let kind = "NUMBER".to_owned();
        let sim = play(vec![
            at(0, Action::CrashSending { node: p(1), kind, after }),
            at(5, send(1, 2, 3)),
        ]);
        let arrived: Vec<String> = (0..after.min(3)).map(|number| format!("P2 {number}")).collect();
        let expected: Vec<_> = arrived.iter().map(|what| (15, what.as_str())).collect();
        assert_eq!(story(&sim), expected);
        let crashed = sim.live().all(|(id, _)| id != p(1));
        assert_eq!(crashed, after < 3, "after {after}");
        assert_eq!(count(&sim, FaultKind::Crash), u64::from(crashed));
    }
}

#[test]
fn a_wrong_clock_is_seen_by_its_owner_only_and_a_drifting_one_stretches_timers() {
    let clock = |number, offset_us, drift_ppm| {
        at(0, Action::Clock { node: p(number), offset_us, drift_ppm })
    };
    let sim = play(vec![
        clock(1, 200_000, 0),
        clock(2, 0, 100_000),
        at(0, ring(1, 110)),
        at(0, ring(2, 110)),
        at(0, ring(3, 110)),
    ]);
    // P2's clock gains a tenth: its 110 ms are over after 100 real ones.
    assert_eq!(story(&sim), [(100, "P2 rings"), (110, "P1 rings"), (110, "P3 rings")]);
    let shown = |ms: u64| Time::ZERO + CLOCK_START + Duration::from_millis(ms);
    let rang = |number| process(&sim, number).rang.as_slice();
    assert_eq!(rang(1), [shown(310)]);
    assert_eq!(rang(2), [shown(110)]);
    assert_eq!(rang(3), [shown(110)]);
    assert!(count(&sim, FaultKind::Offset) > 0);
    assert_eq!(count(&sim, FaultKind::Drift), 1);

    let behind = play(vec![clock(1, -200_000, -500_000), at(0, ring(1, 110))]);
    assert_eq!(story(&behind), [(220, "P1 rings")], "it takes twice as long");
    let behind_by = Duration::from_millis(200 - 110);
    assert_eq!(process(&behind, 1).rang, [Time::ZERO + (CLOCK_START - behind_by)]);
}

#[test]
fn a_timer_that_lies_rings_when_it_is_said_to_in_whichever_life_it_was_set() {
    let mut network = Network::new(Latency::Fixed(ms(10)));
    network.timers.extend([((p(1), 0), 5_000), ((p(1), 2), 70_000), ((p(2), 0), 0)]);
    let script = vec![
        at(0, ring(1, 30)),
        at(0, ring(2, 30)),
        // It is lost in the crash, but counts.
        at(10, ring(1, 30)),
        at(20, Action::Crash(p(1))),
        at(100, Action::Recover(p(1))),
        at(110, ring(1, 30)),
        at(200, ring(1, 30)),
    ];
    let sim = play_on(&network, 0, script);
    assert_eq!(
        story(&sim),
        [(0, "P2 rings"), (5, "P1 rings"), (180, "P1 rings"), (230, "P1 rings")],
        "the third that P1 sets is the first of its second life"
    );
}

#[test]
fn a_timer_that_lies_knows_no_drift_but_waits_for_a_pause() {
    let mut network = Network::new(Latency::Fixed(ms(10)));
    network.timers.extend([((p(1), 0), 50_000), ((p(1), 2), 50_000)]);
    let script = vec![
        at(0, Action::Clock { node: p(1), offset_us: 0, drift_ppm: 100_000 }),
        at(0, ring(1, 110)),
        at(100, ring(1, 110)),
        at(300, ring(1, 110)),
        at(310, Action::Pause(p(1))),
        at(400, Action::Resume(p(1))),
    ];
    let sim = play_on(&network, 0, script);
    assert_eq!(story(&sim), [(50, "P1 rings"), (200, "P1 rings"), (400, "P1 rings")]);
    assert_eq!(count(&sim, FaultKind::Drift), 1, "only the second is by its own clock");
}

#[test]
fn duplication_and_loss_happen_and_are_counted() {
    let mut network = Network::new(Latency::Fixed(ms(10)));
    network.duplicate = 1.0;
    let sim = play_on(&network, 0, vec![at(0, send(1, 2, 2))]);
    assert_eq!(story(&sim), [(10, "P2 0"), (10, "P2 0"), (10, "P2 1"), (10, "P2 1")]);
    assert_eq!(count(&sim, FaultKind::Duplicate), 2);

    network.duplicate = 0.0;
    network.loss = 1.0;
    let sim = play_on(&network, 0, vec![at(0, send(1, 2, 2))]);
    assert_eq!(story(&sim), [(0, "P2 lost 0"), (0, "P2 lost 1")]);
    assert_eq!(count(&sim, FaultKind::Loss), 2);
}

#[test]
fn a_link_may_have_a_latency_of_its_own() {
    let mut network = Network::new(Latency::Fixed(ms(10)));
    network.links.insert((p(1), p(2)), Latency::Fixed(ms(30)));
    let sim = play_on(&network, 0, vec![at(0, send(1, 2, 1)), at(0, send(2, 1, 1))]);
    assert_eq!(story(&sim), [(10, "P1 0"), (30, "P2 0")]);
}

/// A message every millisecond, each taking between 1 and 50.
fn stream(reorder: bool, duplicate: f64, seed: u64, faults: &[Scheduled<Order>]) -> Theatre {
    let mut network = Network::new(Latency::Uniform(ms(1), ms(50)));
    network.reorder = reorder;
    network.duplicate = duplicate;
    let script = (0..100).map(|ms| at(ms, send(1, 2, 1))).chain(faults.iter().cloned());
    play_on(&network, seed, script.collect())
}

/// How often a message came after a later one of the same link.
fn overtaken(sim: &Theatre) -> usize {
    let numbers = sim.observer.0.iter().filter_map(|(_, what)| what.strip_prefix("P2 "));
    let numbers: Vec<u32> = numbers.map(|number| number.parse().unwrap()).collect();
    assert!(numbers.len() >= 100, "{} of 100 arrived", numbers.len());
    numbers.windows(2).filter(|pair| pair[0] > pair[1]).count()
}

#[test]
fn messages_overtake_each_other_if_and_only_if_they_may() {
    for seed in 0..50 {
        for duplicate in [0.0, 0.3] {
            let fifo = stream(false, duplicate, seed, &[]);
            assert_eq!(overtaken(&fifo), 0, "seed {seed}");
            assert_eq!(count(&fifo, FaultKind::Reorder), 0);
        }
        let reordered = stream(true, 0.0, seed, &[]);
        assert!(overtaken(&reordered) > 20, "seed {seed}");
        assert!(count(&reordered, FaultKind::Reorder) > 20, "seed {seed}");
    }
}

#[test]
fn a_pause_does_not_change_the_order() {
    for seed in 0..200 {
        let pause = [at(20, Action::Pause(p(2))), at(40, Action::Resume(p(2)))];
        assert_eq!(overtaken(&stream(false, 0.0, seed, &pause)), 0, "seed {seed}");
    }
}

#[test]
fn a_pause_does_not_change_the_order_of_what_arrives_when_it_ends() {
    let sim = play(vec![
        at(0, send(1, 2, 1)),
        at(5, send(1, 2, 1)),
        at(8, Action::Pause(p(2))),
        at(15, Action::Resume(p(2))),
    ]);
    assert_eq!(story(&sim), [(15, "P2 0"), (15, "P2 1")]);
}

#[test]
fn the_end_of_a_slow_spell_does_not_change_the_order() {
    let sim = play(vec![
        at(0, Action::Slow(p(2), ms(30))),
        at(0, send(1, 2, 1)),
        at(15, Action::Slow(p(2), Duration::ZERO)),
        at(15, send(1, 2, 1)),
    ]);
    let order: Vec<&str> = story(&sim).iter().map(|(_, what)| *what).collect();
    assert_eq!(order, ["P2 0", "P2 1"]);
}

#[test]
fn a_paused_process_does_nothing_even_if_asked() {
    let sim =
        play(vec![at(0, Action::Pause(p(1))), at(20, send(1, 2, 1)), at(50, Action::Resume(p(1)))]);
    assert_eq!(story(&sim), [(60, "P2 0")]);
}

#[test]
fn a_pause_during_a_slow_spell_does_not_change_the_order() {
    for seed in 0..200 {
        let slow = [
            at(10, Action::Slow(p(2), ms(3))),
            at(25, Action::Pause(p(2))),
            at(35, Action::Slow(p(2), Duration::ZERO)),
            at(60, Action::Resume(p(2))),
        ];
        assert_eq!(overtaken(&stream(false, 0.0, seed, &slow)), 0, "seed {seed}");
    }
}

#[test]
fn a_duplicate_overtakes_too_and_is_counted() {
    let mut network = Network::new(Latency::Uniform(ms(1), ms(50)));
    network.reorder = true;
    network.duplicate = 1.0;
    let sim = play_on(&network, 0, (0..100).map(|ms| at(ms, send(1, 2, 1))).collect());
    assert!(count(&sim, FaultKind::Reorder) > 20);
}
