//! Simulator and checker mean the same.
//!
//! Random runs of the simulator, with all that may happen in the checker's world, are repeated in
//! that world step by step: each event of the simulator must be possible there, and after each the
//! processes, their timers and the messages on their way must be the same.
//!
//! Two things the simulator decides earlier. Whether a message is lost or doubled is fixed when it
//! is sent; in the world it happens to a message that could arrive. So in a FIFO channel a message
//! that will be lost or doubled waits for its turn here.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use bellwether_algorithms::catalogue::{Listed, catalogue};
use bellwether_algorithms::definition::{Algorithm, Settings};
use bellwether_algorithms::snapshot::Bank;
use bellwether_check::{Action, Channels, Faults, Model, Plain, Setup, Timing, World};
use bellwether_core::{AnyInput, AnyMsg, AnyProcess, AnyTimer, Group, NodeId, Shape, Time};
use bellwether_member::Member;
use bellwether_sim::{
    self as sim, CLOCK_START, Latency, Network, Observer, Plan, Scheduled, Seen, Sim, Why,
};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// The number of runs of each algorithm.
const RUNS: u64 = 150;
/// The number of events of each run.
const EVENTS: usize = 120;

#[test]
fn every_run_of_the_catalogue_is_one_of_the_checkers_world() {
    let bank = Bank::definition().erase();
    let catalogue = catalogue().with::<Member>().with_definition(bank);
    catalogue.iter().for_each(compare_runs);
}

fn compare_runs(algorithm: &Listed) {
    let mut counts = Counts::default();
    for seed in 0..RUNS {
        let plan = random_plan(seed, algorithm);
        if algorithm.check(&plan.settings, &plan.group).is_ok() {
            compare(&plan, &mut counts);
        }
    }
    // A comparison of runs in which nothing happens would prove nothing.
    assert!(counts.events > RUNS as usize * 5, "{algorithm:?}: {counts:?}");
    assert!(counts.crashes > 0 && counts.recoveries > 0, "{algorithm:?}: {counts:?}");
    assert!(counts.lost > 0 && counts.doubled > 0, "{algorithm:?}: {counts:?}");
}

/// What has happened in the runs that were compared.
#[derive(Debug, Default)]
struct Counts {
    events: usize,
    crashes: usize,
    recoveries: usize,
    lost: usize,
    doubled: usize,
}

/// Random numbers: SplitMix64.
struct Draws(u64);

impl Draws {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }

    fn chance(&mut self) -> bool {
        self.below(2) == 0
    }
}

/// A run in which anything may happen, within and beyond what the algorithm assumes.
fn random_plan(seed: u64, algorithm: &Listed) -> Plan<AnyProcess> {
    let ms = Duration::from_millis;
    let mut draws = Draws(seed);
    let n = algorithm.nodes.unwrap_or(2 + draws.below(3) as u32);
    let mut ring: Vec<NodeId> = (1..=n).map(NodeId::new).collect();
    sim::shuffled(&mut ring, seed);
    let mut network = Network::new(match draws.below(3) {
        0 => Latency::Fixed(ms(10)),
        1 => Latency::Uniform(Duration::ZERO, ms(20)),
        _ => Latency::Exponential(ms(10)),
    });
    network.reorder = draws.chance();
    network.loss = if draws.chance() { 0.1 } else { 0.0 };
    network.duplicate = if draws.chance() { 0.2 } else { 0.0 };
    let settings = Settings {
        coordinator: draws.chance().then(|| NodeId::new(n)),
        detection: draws.chance(),
        acknowledge: draws.chance(),
        textbook: draws.chance(),
        section: (Duration::ZERO, ms(20)),
        ..Settings::new(ms(5 + draws.below(60)))
    };
    let inputs = algorithm.verbs.iter().filter_map(|verb| algorithm.input(&spell_out(verb)));
    let inputs: Vec<AnyInput> = inputs.collect();
    let mut script = Vec::new();
    for _ in 0..draws.below(16) {
        let node = ring[draws.below(n.into()) as usize];
        let at = Time::ZERO + ms(draws.below(200));
        let action = match draws.below(6) {
            0 => sim::Action::Crash(node),
            1 | 2 => sim::Action::Recover(node),
            _ if inputs.is_empty() => continue,
            _ => {
                let input = &inputs[draws.below(inputs.len() as u64) as usize];
                sim::Action::Input(node, input.clone())
            }
        };
        script.push(Scheduled { at, action });
    }
    let group = Group::new(ring).unwrap();
    let algorithm = algorithm.clone();
    Plan { algorithm, group, settings, network, seed, script, until: None }
}

/// A verb that takes more, with more.
fn spell_out(verb: &str) -> String {
    verb.replace("TO", "2").replace("AMOUNT", "3")
}

/// What one event of the simulator is.
#[derive(Clone, Debug)]
enum Event {
    /// A message arrives, at a process that may be down.
    Arrival {
        id: u64,
        from: NodeId,
    },
    Timer(AnyTimer),
    Input(AnyInput),
    Crash,
    Recover,
}

/// Writes down what happens.
#[derive(Default)]
struct Log {
    /// The event, and where.
    event: Option<(usize, Event)>,
    /// What was sent in it, from which place and to whom.
    sent: Vec<(usize, NodeId, Letter)>,
}

impl Observer<AnyProcess> for Log {
    const ACTIVE: bool = true;

    fn event(&mut self, _: Time, place: usize, seen: Seen<'_, AnyProcess>) {
        let event = match seen {
            Seen::Receive { id, from, .. } | Seen::Drop { id, from, why: Why::Down, .. } => {
                Event::Arrival { id, from }
            }
            Seen::Timer(timer) => Event::Timer(timer.clone()),
            Seen::Input(input) => Event::Input(input.clone()),
            Seen::Crash => Event::Crash,
            Seen::Recover => Event::Recover,
            Seen::Send { id, to, msg } => {
                let letter = Letter { id, msg: msg.clone(), fate: Fate::Arrives };
                return self.sent.push((place, to, letter));
            }
            Seen::Drop { why: Why::Lost, .. } => {
                let (_, _, letter) = self.sent.last_mut().unwrap();
                letter.fate = Fate::Doomed;
                return;
            }
            _ => return,
        };
        assert!(self.event.replace((place, event)).is_none(), "one event at a time");
    }

    fn stepped(&mut self, _: usize, _: &AnyProcess) {}
}

/// A message on its way in the world.
#[derive(Clone, Debug)]
struct Letter {
    id: u64,
    msg: AnyMsg,
    fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Arrives,
    /// To be lost as soon as that is possible.
    Doomed,
    /// To be doubled as soon as that is possible.
    Twin,
}

/// The world, and what is known of the messages in it.
struct Mirror<'a> {
    world: World<Plain<'a, AnyProcess>>,
    plain: Plain<'a, AnyProcess>,
    /// The messages of each link, in the order of sending.
    links: BTreeMap<(u8, u8), Vec<Letter>>,
    counts: &'a mut Counts,
}

fn compare(plan: &Plan<AnyProcess>, counts: &mut Counts) {
    let models = models(plan);
    let mut plain = Plain { model: &models[0] };
    let world = plain.start();
    let mut mirror = Mirror { world, plain, links: BTreeMap::new(), counts };
    let mut sim = plan.set_up(Log::default());
    for event in 0..EVENTS {
        let name = plan.algorithm.name();
        let context = format!("{name}, seed {}, event {event}", plan.seed);
        let Log { event: happened, sent } = std::mem::take(&mut sim.observer);
        if let Some((place, happened)) = happened {
            mirror.counts.events += 1;
            mirror.follow(place as u8, happened, &context);
        }
        mirror.note(&sim, sent);
        mirror.settle(&context);
        mirror.check(&sim, &context);
        if !sim.advance() {
            break;
        }
        mirror.plain = Plain { model: models.get(event + 1).unwrap_or(&models[0]) };
    }
}

/// The model of a run: for algorithms that look at their clocks, one for each event, for in a world
/// without time clocks show always the same.
fn models(plan: &Plan<AnyProcess>) -> Vec<Model<AnyProcess>> {
    let mut setup = Setup::new(&plan.algorithm, plan.group.clone(), plan.settings.clone());
    setup.timing = Timing::Asynchronous;
    setup.channels = if plan.network.reorder { Channels::Reorder } else { Channels::Fifo };
    let most = u8::MAX;
    setup.faults = Faults { crashes: most, recoveries: most, losses: most, duplicates: most };
    let mut sim = plan.set_up(Log::default());
    let mut inputs = vec![Vec::new(); plan.group.len()];
    let mut times = vec![Time::ZERO];
    while times.len() < EVENTS && sim.advance() {
        if let Some((place, Event::Input(input))) = std::mem::take(&mut sim.observer).event {
            inputs[place].push(input);
        }
        times.push(sim.now());
    }
    times.truncate(if plan.algorithm.reads_clock { EVENTS } else { 1 });
    let model = |at: &Time| {
        let clocks = vec![*at + CLOCK_START; plan.group.len()];
        Model { clocks, inputs: inputs.clone(), ..setup.model() }
    };
    times.iter().map(model).collect()
}

impl Mirror<'_> {
    /// Does in the world what has happened in the simulator.
    fn follow(&mut self, place: u8, event: Event, context: &str) {
        let action = match event {
            Event::Arrival { id, from } => {
                let link = (self.place(from), place);
                let letters = self.links.get_mut(&link).unwrap();
                let at = letters.iter().position(|letter| letter.id == id).unwrap();
                if letters[at].fate == Fate::Twin {
                    // It was to arrive twice, but to be doubled it would have to arrive at a process
                    // who is up; the first time has come to nothing.
                    letters[at].fate = Fate::Arrives;
                    assert!(!self.is_up(place), "{context}");
                    return;
                }
                assert_eq!(letters[at].fate, Fate::Arrives, "{context}");
                let Letter { msg, .. } = letters.remove(at);
                Action::Deliver { to: place, at: self.find(link, &msg, context) }
            }
            Event::Timer(timer) => {
                let timers = &self.world.slots[usize::from(place)].timers;
                let at = timers.iter().position(|armed| armed.timer == timer);
                let at = at.unwrap_or_else(|| panic!("{context}: {timer:?} is not set")) as u8;
                Action::Fire { place, at }
            }
            Event::Input(_) => Action::Input { place },
            Event::Crash => {
                self.counts.crashes += 1;
                Action::Crash { place }
            }
            Event::Recover => {
                self.counts.recoveries += 1;
                Action::Recover { place }
            }
        };
        self.act(action, context);
    }

    fn act(&mut self, action: Action, context: &str) {
        let mut possible = Vec::new();
        self.world.actions(&mut self.plain, &mut possible);
        assert!(possible.contains(&action), "{context}: {action:?} is not among {possible:?}");
        self.world.step(&mut self.plain, action);
    }

    fn place(&self, id: NodeId) -> u8 {
        self.plain.model.group.place(id).unwrap() as u8
    }

    fn is_up(&self, place: u8) -> bool {
        self.world.slots[usize::from(place)].process().is_some()
    }

    /// Where in its inbox a message is that may arrive.
    fn find(&self, (from, to): (u8, u8), msg: &AnyMsg, context: &str) -> u8 {
        let flights = &self.world.inboxes[usize::from(to)].flights;
        let fifo = self.plain.model.channels == Channels::Fifo;
        let mut all = flights.iter();
        let at = all.position(|flight| flight.from == from && (fifo || flight.msg == *msg));
        let at = at.unwrap_or_else(|| panic!("{context}: {msg:?} is not on its way"));
        assert_eq!(flights[at].msg, *msg, "{context}");
        at as u8
    }

    /// Takes note of what was sent; the simulator knows what will arrive twice.
    fn note<O: Observer<AnyProcess>>(
        &mut self,
        sim: &Sim<AnyProcess, O>,
        sent: Vec<(usize, NodeId, Letter)>,
    ) {
        if sent.is_empty() {
            return;
        }
        let on_the_way = sim.on_the_way();
        for (from, to, mut letter) in sent {
            let copies = on_the_way.iter().filter(|(id, ..)| *id == letter.id).count();
            assert_eq!(copies == 0, letter.fate == Fate::Doomed);
            if copies == 2 {
                letter.fate = Fate::Twin;
            }
            let link = (from as u8, self.place(to));
            self.links.entry(link).or_default().push(letter);
        }
    }

    /// Loses and doubles what can be lost and doubled by now.
    fn settle(&mut self, context: &str) {
        let fifo = self.plain.model.channels == Channels::Fifo;
        let links: Vec<(u8, u8)> = self.links.keys().copied().collect();
        for link in links {
            let (_, to) = link;
            let up = self.is_up(to);
            let mut at = 0;
            while let Some(letter) = self.links[&link].get(at).cloned() {
                let here = self.find_if(fifo && at > 0, link, &letter.msg, context);
                let letters = self.links.get_mut(&link).unwrap();
                match (letter.fate, here) {
                    (Fate::Doomed, Some(here)) => {
                        letters.remove(at);
                        self.counts.lost += 1;
                        // Who is down gets nothing, lost or not.
                        let lose = Action::Lose { to, at: here };
                        self.act(if up { lose } else { Action::Deliver { to, at: here } }, context);
                        continue;
                    }
                    (Fate::Twin, Some(here)) if up => {
                        letters[at].fate = Fate::Arrives;
                        letters.insert(at, Letter { fate: Fate::Arrives, ..letter });
                        self.counts.doubled += 1;
                        self.act(Action::Duplicate { to, at: here }, context);
                    }
                    _ => {}
                }
                at += 1;
            }
        }
    }

    /// The same as `find`, unless something else has to arrive before.
    fn find_if(&self, waits: bool, link: (u8, u8), msg: &AnyMsg, context: &str) -> Option<u8> {
        (!waits).then(|| self.find(link, msg, context))
    }

    /// Whether all is the same.
    fn check<O: Observer<AnyProcess>>(&self, sim: &Sim<AnyProcess, O>, context: &str) {
        let model = self.plain.model;
        let live: BTreeMap<NodeId, &AnyProcess> = sim.live().collect();
        for (id, slot) in model.group.ring().iter().zip(&self.world.slots) {
            assert_eq!(slot.process(), live.get(id).copied(), "{context}: {id}");
            let timers: Vec<AnyTimer> =
                slot.timers.iter().map(|armed| armed.timer.clone()).collect();
            assert_eq!(timers, sim.armed(*id), "{context}: {id}'s timers");
        }
        self.check_messages(sim, context);
        self.check_witness(sim, context);
    }

    /// What is on its way in the simulator, and what is still to be lost here; less what is still
    /// to be doubled here.
    fn check_messages<O: Observer<AnyProcess>>(&self, sim: &Sim<AnyProcess, O>, context: &str) {
        let mut expected: Vec<(u8, u8, u64, AnyMsg)> = Vec::new();
        let fate = |link: (u8, u8), id: u64| {
            let letters = self.links.get(&link).into_iter().flatten();
            letters.clone().find(|letter| letter.id == id).map(|letter| letter.fate)
        };
        for (id, from, to, msg) in sim.on_the_way() {
            let link = (self.place(from), self.place(to));
            let twin = fate(link, id) == Some(Fate::Twin);
            if !twin || !expected.iter().any(|(_, _, other, _)| *other == id) {
                expected.push((link.0, link.1, id, msg.clone()));
            }
        }
        for ((from, to), letters) in &self.links {
            let doomed = letters.iter().filter(|letter| letter.fate == Fate::Doomed);
            expected.extend(doomed.map(|letter| (*from, *to, letter.id, letter.msg.clone())));
        }
        let order = |(from, to, id, _): &(u8, u8, u64, AnyMsg)| (*to, *from, *id);
        expected.sort_by_key(order);
        let expected = expected.into_iter().map(|(from, to, _, msg)| (from, to, msg));
        let flights = self.world.inboxes.iter().flat_map(|inbox| {
            inbox.flights.iter().map(|flight| (flight.from, inbox.to, flight.msg.clone()))
        });
        let (mut expected, mut found): (Vec<_>, Vec<_>) = (expected.collect(), flights.collect());
        if self.plain.model.channels == Channels::Reorder {
            // The order means nothing, and is not kept.
            expected.sort_by_cached_key(key);
            found.sort_by_cached_key(key);
        }
        assert_eq!(found, expected, "{context}: messages");
    }

    /// What is broken about the past is broken for both.
    fn check_witness<O: Observer<AnyProcess>>(&self, sim: &Sim<AnyProcess, O>, context: &str) {
        let found = sim.violation().map(|violation| violation.name);
        let broken = self.world.witness.broken().map(|breach| breach.name);
        let of_states = self.plain.model.invariants.iter().any(|invariant| {
            Some(invariant.name) == found && !matches!(invariant.shape, Shape::Fenced(_))
        });
        if of_states {
            // The simulator remembers only what was broken first.
            return;
        }
        assert_eq!(broken, found, "{context}: what is broken");
    }
}

fn key((from, to, msg): &(u8, u8, AnyMsg)) -> (u8, u8, u64) {
    let mut hasher = DefaultHasher::new();
    msg.hash(&mut hasher);
    (*to, *from, hasher.finish())
}
