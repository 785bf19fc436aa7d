use super::super::tests::{Crowd, Move, id, message};
use super::*;
use Move::{Broadcast, Deliver};
use bellwether_core::{Effect, step};
use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// Processes 1 to n, of which the largest numbers.
fn config(n: u32, answers: u32, uniform: bool) -> Config {
    let mut settings = Settings::new(Duration::from_millis(30));
    settings.coordinator = Some(id(n));
    settings.options.set("answers", &answers.to_string());
    if uniform {
        settings.options.set("uniform", "");
    }
    Sequencer::config(&settings, &Group::numbered(n).unwrap())
}

fn crowd(wants: &[u32], answers: u32, uniform: bool) -> Crowd<Sequencer> {
    Crowd::new(wants, config(wants.len() as u32, answers, uniform), Input::Broadcast, true)
}

fn after(wants: &[u32], uniform: bool, moves: &[Move]) -> Crowd<Sequencer> {
    let mut crowd = crowd(wants, 0, uniform);
    moves.iter().for_each(|next| crowd.make(*next).unwrap());
    crowd
}

#[test]
fn behaves_at_random() {
    let mut held = 0;
    for seed in 0..3_000_u64 {
        let (n, uniform) = (1 + seed % 6, seed % 4 == 0);
        let wants: Vec<u32> = (0..n).map(|place| (seed / 6 + place) as u32 % 4).collect();
        let mut crowd = crowd(&wants, seed as u32 % 3, uniform);
        crowd.walk(seed).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
        held += crowd.held;
        if uniform {
            assert!(crowd.processes.iter().all(|process| process.kept() == 0), "seed {seed}");
        }
    }
    assert!(held > 1_000, "only {held} were held back");
}

#[test]
fn behaves_in_every_way_in_any_order() {
    for (wants, uniform) in [
        (&[3][..], false),
        (&[2, 2], true),
        (&[1, 1, 1], false),
        (&[2, 1, 1], false),
        (&[1, 1, 0], true),
    ] {
        let states = crowd(wants, 0, uniform).explore().unwrap();
        assert!(wants.len() < 3 || states > 500, "only {states} states");
    }
}

#[test]
fn ts1_publishes_and_keeps_until_delivered() {
    let mut crowd = after(&[1, 0, 0], false, &[Broadcast(0)]);
    assert_eq!(crowd.processes[0].pending.len(), 1);
    assert_eq!(crowd.sent, 1);
    for next in [Deliver(0, 2, 0), Deliver(2, 0, 0)] {
        crowd.make(next).unwrap();
    }
    assert_eq!(crowd.delivered[0], [message(1, 1)]);
    assert!(crowd.processes[0].pending.is_empty());
}

#[test]
fn ts2_numbers_in_the_order_of_publishing_and_tells_all_others() {
    let publish = [Broadcast(0), Broadcast(0), Deliver(0, 2, 1)];
    let mut crowd = after(&[2, 0, 0], false, &publish);
    assert!(crowd.delivered[2].is_empty(), "the second has overtaken the first");
    crowd.make(Deliver(0, 2, 0)).unwrap();
    assert_eq!(crowd.delivered[2], [message(1, 1), message(1, 2)]);
    // A message is 1 PUBLISH and n-1 ORDERs.
    assert_eq!(crowd.sent, 6);
}

#[test]
fn ts2_the_sequencer_itself_needs_no_publish() {
    let crowd = after(&[0, 0, 1], false, &[Broadcast(2)]);
    assert_eq!((crowd.delivered[2].len(), crowd.sent), (1, 2));
}

#[test]
fn ts3_holds_back_what_has_overtaken_another() {
    let mut crowd = after(&[0, 0, 2], false, &[Broadcast(2), Broadcast(2), Deliver(2, 0, 1)]);
    assert_eq!((crowd.delivered[0].len(), crowd.held), (0, 1));
    crowd.make(Deliver(2, 0, 0)).unwrap();
    assert_eq!(crowd.delivered[0], [message(3, 1), message(3, 2)]);
}

#[test]
fn ts4_forgets_what_everybody_has() {
    let mut crowd = crowd(&[200, 0, 1], 0, false);
    crowd.make(Broadcast(2)).unwrap();
    for _ in 0..200 {
        crowd.make(Broadcast(0)).unwrap();
        while let Some(next) = crowd.moves().into_iter().find(|next| *next != Broadcast(0)) {
            crowd.make(next).unwrap();
        }
    }
    assert_eq!(crowd.processes[1].delivered(), 201);
    for process in &crowd.processes {
        let kept = process.kept() as u64;
        assert!(kept <= 2 * SEEN_EVERY, "{kept} are kept");
    }
}

#[test]
fn ts5_nobody_delivers_what_not_everybody_has() {
    let sent = [Broadcast(2), Deliver(2, 0, 0), Deliver(0, 2, 0)];
    let mut crowd = after(&[0, 0, 1], true, &sent);
    assert!(crowd.delivered.iter().all(Vec::is_empty));
    crowd.make(Deliver(2, 1, 0)).unwrap();
    assert!(crowd.delivered.iter().all(Vec::is_empty));
    // The last ACK arrives, and the sequencer says so.
    crowd.make(Deliver(1, 2, 0)).unwrap();
    assert_eq!(crowd.delivered[2], [message(3, 1)]);
    crowd.make(Deliver(2, 0, 0)).unwrap();
    assert_eq!(crowd.delivered[0], [message(3, 1)]);
    // ORDER, ACK and STABLE, n-1 each.
    assert_eq!(crowd.sent, 6);
}

#[test]
fn strangers_false_names_and_junk_do_no_harm() {
    let group = Group::numbered(3).unwrap();
    for (place, uniform) in [(0, false), (0, true), (2, false), (2, true)] {
        let config = config(3, 2, uniform);
        let mut process = Sequencer::default();
        step(&group, place, &config, |cx| process.on_start(None, cx));
        let numbers = [0, 1, 2, 17, u64::MAX - 1, u64::MAX];
        for index in 0..6_000 {
            let number = |salt: usize| numbers[(index / salt) % numbers.len()];
            let sender = 1 + (index / 5 % 3) as u32;
            let post = Post { id: message(sender, number(7)), answers: u32::MAX };
            let said = match index % 5 {
                0 => Said::Publish { index: number(3), post },
                1 => Said::Order { position: number(3), post, stable: number(11) },
                2 => Said::Seen(number(2)),
                3 => Said::Ack(number(2)),
                _ => Said::Stable(number(2)),
            };
            let from = id((index / 2 % 5) as u32);
            let msg = Msg::Order(Epoch::FIRST, said);
            step(&group, place, &config, |cx| process.on_message(from, msg, cx));
        }
    }
}

/// A cluster in which the sequencer dies at any moment, also in the middle of sending; then somebody
/// notices, an election is held, and a view begins. Messages arrive in any order, and time-outs run
/// out only when nothing is on the way: that is what bounded delays mean.
#[derive(Clone)]
struct Cluster {
    config: Config,
    processes: Vec<Option<Sequencer>>,
    wants: Vec<u32>,
    channels: BTreeMap<(usize, usize), Vec<Msg>>,
    timers: BTreeSet<(usize, Timer)>,
    delivered: Vec<Vec<MessageId>>,
    /// Who has noticed.
    suspected: bool,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Broadcast(usize),
    Arrive(usize, usize, usize),
    Fire(usize, Timer),
    Suspect(usize),
}

impl Cluster {
    fn new(wants: &[u32], uniform: bool) -> Self {
        let n = wants.len();
        let mut cluster = Cluster {
            config: config(n as u32, 0, uniform),
            processes: vec![Some(Sequencer::default()); n],
            wants: wants.to_vec(),
            channels: BTreeMap::new(),
            timers: BTreeSet::new(),
            delivered: vec![Vec::new(); n],
            suspected: false,
        };
        for place in 0..n {
            let effects = cluster.step(place, |process, cx| process.on_start(None, cx));
            cluster.carry_out(place, effects).unwrap();
        }
        cluster
    }

    fn group(&self) -> Group {
        Group::numbered(self.processes.len() as u32).unwrap()
    }

    fn step(
        &mut self,
        place: usize,
        call: impl FnOnce(&mut Sequencer, &mut Cx<'_>),
    ) -> Vec<Effect<Sequencer>> {
        let group = self.group();
        let Some(process) = &mut self.processes[place] else { return Vec::new() };
        step(&group, place, &self.config, |cx| call(process, cx))
    }

    fn carry_out(&mut self, place: usize, effects: Vec<Effect<Sequencer>>) -> Result<(), String> {
        for effect in effects {
            match effect {
                Effect::Send(to, msg) => {
                    let to = self.group().place(to).unwrap();
                    // What is sent to the dead is lost.
                    if self.processes[to].is_some() {
                        self.channels.entry((place, to)).or_default().push(msg);
                    }
                }
                Effect::SetTimer(timer, _) => drop(self.timers.insert((place, timer))),
                Effect::CancelTimer(timer) => drop(self.timers.remove(&(place, timer))),
                Effect::Emit(Output::Delivered { id, .. }) => self.deliver(place, id)?,
                Effect::Emit(_) => {}
            }
        }
        Ok(())
    }

    fn deliver(&mut self, place: usize, id: MessageId) -> Result<(), String> {
        let position = self.delivered[place].len();
        if self.delivered[place].contains(&id) {
            return Err(format!("place {place} delivers {id} twice"));
        }
        // The dead count only where the order is uniform; see `crash`.
        let other = |delivered: &Vec<MessageId>| delivered.get(position).is_some_and(|o| *o != id);
        if self.delivered.iter().any(other) {
            return Err(format!("place {place} delivers {id} in another order"));
        }
        self.delivered[place].push(id);
        Ok(())
    }

    fn crash(&mut self, place: usize) {
        self.processes[place] = None;
        self.timers.retain(|(at, _)| *at != place);
        self.channels.retain(|(_, to), _| *to != place);
        if !self.config.uniform {
            self.delivered[place].clear();
        }
    }

    fn events(&self) -> Vec<Event> {
        let n = self.processes.len();
        let mut events = Vec::new();
        for place in 0..n {
            if self.wants[place] > 0 && self.processes[place].is_some() {
                events.push(Event::Broadcast(place));
            }
        }
        for ((from, to), channel) in &self.channels {
            events.extend((0..channel.len()).map(|index| Event::Arrive(*from, *to, index)));
        }
        if self.channels.is_empty() {
            events.extend(self.timers.iter().map(|(place, timer)| Event::Fire(*place, *timer)));
            if self.processes[n - 1].is_none() && !self.suspected {
                events.extend((0..n - 1).map(Event::Suspect));
            }
        }
        events
    }

    fn begin(&mut self, event: Event) -> (usize, Vec<Effect<Sequencer>>) {
        match event {
            Event::Broadcast(place) => {
                self.wants[place] -= 1;
                (place, self.step(place, |p, cx| p.on_input(Input::Broadcast, cx)))
            }
            Event::Arrive(from, to, index) => {
                let channel = self.channels.get_mut(&(from, to)).unwrap();
                let msg = channel.remove(index);
                if channel.is_empty() {
                    self.channels.remove(&(from, to));
                }
                let sender = id(from as u32 + 1);
                (to, self.step(to, |process, cx| process.on_message(sender, msg, cx)))
            }
            Event::Fire(place, timer) => {
                self.timers.remove(&(place, timer));
                (place, self.step(place, |process, cx| process.on_timer(timer, cx)))
            }
            Event::Suspect(place) => {
                self.suspected = true;
                let input = Input::Elect(election::Input::Suspect);
                (place, self.step(place, |process, cx| process.on_input(input, cx)))
            }
        }
    }

    /// All that can come of an event: that it happens and, if the sequencer is the one that acts and
    /// may die, that it dies after each of the effects.
    fn outcomes(&self, event: Event) -> Result<Vec<Cluster>, String> {
        let mut after = self.clone();
        let (place, effects) = after.begin(event);
        let mut outcomes = Vec::new();
        if place == self.processes.len() - 1 {
            for done in 0..=effects.len() {
                // Only what is sent makes a difference.
                if done == effects.len() || matches!(effects[done], Effect::Send(..)) {
                    let mut dead = after.clone();
                    dead.carry_out(place, effects[..done].to_vec())?;
                    dead.crash(place);
                    outcomes.push(dead);
                }
            }
        }
        after.carry_out(place, effects)?;
        outcomes.push(after);
        Ok(outcomes)
    }

    /// How many states there are in all runs.
    fn explore(self) -> Result<(usize, usize), String> {
        let (mut seen, mut ends) = (BTreeSet::new(), 0);
        let mut open = vec![self];
        while let Some(cluster) = open.pop() {
            let mut hasher = DefaultHasher::new();
            (&cluster.processes, &cluster.wants, &cluster.channels).hash(&mut hasher);
            (&cluster.timers, &cluster.delivered, cluster.suspected).hash(&mut hasher);
            if !seen.insert(hasher.finish()) {
                continue;
            }
            let events = cluster.events();
            if events.is_empty() {
                ends += 1;
                cluster.judge()?;
            }
            for event in events {
                open.extend(cluster.outcomes(event)?);
            }
        }
        Ok((seen.len(), ends))
    }

    /// Everything that a live process broadcast is delivered by all live processes.
    fn judge(&self) -> Result<(), String> {
        let live = || (0..self.processes.len()).filter(|place| self.processes[*place].is_some());
        let first = live().next().unwrap();
        for place in live() {
            let process = self.processes[place].as_ref().unwrap();
            let all = self.delivered[place] == self.delivered[first];
            let own = self.delivered[place].iter().filter(|m| m.sender == id(place as u32 + 1));
            if !all || !process.pending.is_empty() || own.count() as u64 != process.author.count {
                return Err(format!("lost: {:?} {process:?}", self.delivered));
            }
        }
        Ok(())
    }
}

#[test]
fn ts7_whenever_the_sequencer_dies_nothing_is_lost_or_doubled_or_out_of_order() {
    for (wants, uniform) in [
        ([1, 1, 0], false),
        ([2, 1, 0], false),
        ([1, 1, 1], false),
        ([0, 2, 2], false),
        ([1, 1, 0], true),
        ([2, 1, 0], true),
        ([1, 1, 1], true),
    ] {
        let (states, ends) = Cluster::new(&wants, uniform).explore().unwrap();
        assert!(states > 500 && ends > 10, "only {states} states and {ends} ends");
    }
}

/// What the textbooks' order does not promise: that the dead have delivered the same.
#[test]
fn ts5_without_it_a_dead_sequencer_may_have_delivered_otherwise() {
    let mut cluster = Cluster::new(&[1, 0, 1], false);
    // As if the order were uniform: the dead are not forgotten.
    let mut delivered = vec![message(3, 1)];
    let (place, effects) = cluster.begin(Event::Broadcast(2));
    cluster.carry_out(place, effects[..1].to_vec()).unwrap();
    cluster.crash(place);
    cluster.delivered[place].append(&mut delivered);
    let wrong = cluster.explore().unwrap_err();
    assert!(wrong.contains("in another order"), "{wrong}");
}
