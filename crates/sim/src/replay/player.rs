//! The processes of a replayed run, and what lies between them.

use super::{Contradiction, Divergence, Happened, Open, Recorded, Replayed};
use crate::attendance::Attendance;
use crate::fault::{FaultCounts, FaultKind};
use crate::meter::Meter;
use crate::monitor::{Claims, Monitor, Violation};
use crate::observer::{Observer, Seen, Why};
use crate::plan::{Outcome, waiting};
use crate::tally::Tally;
use bellwether_algorithms::catalogue::Listed;
use bellwether_algorithms::definition::{MilestoneReader, Settings};
use bellwether_core::{
    AnyConfig, AnyDurable, AnyMsg, AnyOutput, AnyProcess, AnyTimer, Call, Cluster, Context,
    Effects, Group, Here, InFlight, Message, NodeId, Process, Role, Time, micros,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::Duration;

/// A message by its sender, the sender's life and its number in that life.
type Key = (NodeId, u64, u64);

pub(super) struct Player<'g, O> {
    algorithm: &'g Listed,
    group: &'g Group,
    detection: bool,
    config: AnyConfig,
    actors: Vec<Actor>,
    monitor: Monitor<AnyProcess>,
    violation: Option<Violation>,
    mail: Mail,
    /// When the user last did something to the cluster.
    last_action: Time,
    /// Whether the application asked for anything, and how much of it was work.
    asked: bool,
    work: u64,
    /// What outputs mean to the meter, where there are critical sections.
    reads: Option<MilestoneReader<AnyProcess>>,
    /// What a right clock showed when the run began.
    clock_start: Time,
    events: u64,
    observer: O,
}

/// What lies between the processes.
struct Mail {
    now: Time,
    tally: Tally,
    faults: FaultCounts,
    sent: u64,
    letters: BTreeMap<Key, Letter>,
    /// The messages whose arrival is in a journal.
    arriving: BTreeSet<Key>,
    /// The messages that do not arrive and of which it is not yet known why, by their ids.
    missing: BTreeMap<u64, Key>,
    meter: Meter,
    /// Who hears what the processes say, if anybody.
    attendance: Option<Attendance<AnyProcess>>,
    /// How long messages were on their way, and how many.
    hops_us: (u64, u64),
}

struct Letter {
    /// Whether it has arrived, or never will.
    arrived: bool,
    id: u64,
    to: usize,
    at: Time,
    msg: AnyMsg,
}

/// One process.
struct Actor {
    process: AnyProcess,
    up: bool,
    life: u64,
    /// How many messages it has sent in this life.
    sent: u64,
    claims: Claims,
    /// The timers that are set, with when each is due at the earliest.
    timers: BTreeMap<AnyTimer, Time>,
    /// When it last did something, and what its clock showed then.
    read: (Time, Time),
    /// When it was last made to go on.
    resumed: Option<Time>,
    paused: bool,
    /// What is durable after the last step, and what was before it. A process that is killed in a step
    /// may come back with either.
    durable: [Option<AnyDurable>; 2],
}

impl<'g, O: Observer<AnyProcess>> Player<'g, O> {
    pub(super) fn new(
        algorithm: &'g Listed,
        group: &'g Group,
        settings: &Settings,
        clock_start: Time,
        observer: O,
    ) -> Self {
        let config = algorithm.config(settings, group);
        let referee = algorithm.new_referee(&config, group);
        let mut actors = Vec::new();
        actors.resize_with(group.len(), || Actor {
            process: AnyProcess::default(),
            up: false,
            life: 0,
            sent: 0,
            claims: 0,
            timers: BTreeMap::new(),
            read: (Time::ZERO, Time::ZERO),
            resumed: None,
            paused: false,
            durable: [None, None],
        });
        Player {
            algorithm,
            group,
            detection: settings.detection,
            config,
            actors,
            monitor: Monitor::new(algorithm.invariants.clone()),
            violation: None,
            mail: Mail {
                now: Time::ZERO,
                tally: Tally::default(),
                faults: FaultCounts::default(),
                sent: 0,
                letters: BTreeMap::new(),
                arriving: BTreeSet::new(),
                missing: BTreeMap::new(),
                meter: Meter::default(),
                attendance: referee
                    .map(|referee| Attendance::new(referee, algorithm.clock_reader())),
                hops_us: (0, 0),
            },
            last_action: Time::ZERO,
            asked: false,
            work: 0,
            reads: algorithm.milestone_reader(),
            clock_start,
            events: 0,
            observer,
        }
    }

    pub(super) fn place(&self, at: Time, node: NodeId) -> Result<usize, Divergence> {
        let contradiction = Contradiction::Stranger;
        self.group.place(node).ok_or(Divergence { at, node, contradiction })
    }

    /// Notes beforehand which messages arrive.
    pub(super) fn expect(&mut self, event: &Recorded) {
        if let Some(key) = arrival(event) {
            self.mail.arriving.insert(key);
        }
    }

    /// Whether all that an event needs has happened.
    pub(super) fn can_happen(&self, event: &Recorded) -> bool {
        arrival(event).is_none_or(|key| self.mail.letters.contains_key(&key))
    }

    pub(super) fn never_sent(&self, event: &Recorded) -> Divergence {
        let contradiction = match &event.event {
            Happened::Step { call: Call::Message(from, msg), .. } => {
                Contradiction::NeverSent { from: *from, arrived: msg.to_string() }
            }
            _ => Contradiction::NotRunning,
        };
        Divergence { at: event.at, node: event.node, contradiction }
    }

    pub(super) fn play(&mut self, place: usize, event: Recorded) -> Result<(), Divergence> {
        let Recorded { at, node, event } = event;
        self.look_at_clocks(self.mail.now.max(at));
        self.mail.now = self.mail.now.max(at);
        let done = match event {
            Happened::Killed => {
                self.kill(place);
                Ok(())
            }
            Happened::Stopped => {
                self.stop(place);
                Ok(())
            }
            Happened::Continued => {
                self.go_on(place);
                Ok(())
            }
            Happened::Step { clock, call, origin } => self.take_step(place, clock, call, origin),
        };
        self.violation = self.violation.take().or_else(|| self.look_at_whole());
        done.map_err(|contradiction| Divergence { at, node, contradiction })
    }

    /// Lets the referee look at the clocks whenever it wanted to before this time. Between its
    /// steps a process's clock goes on as the right one does.
    fn look_at_clocks(&mut self, until: Time) {
        while let Some(attendance) = &mut self.mail.attendance
            && let Some(at) = attendance.next_look().filter(|at| *at < until)
        {
            let right = self.clock_start + at.since(Time::ZERO);
            let up = self.group.ring().iter().zip(&self.actors).filter(|(_, actor)| actor.up);
            let live = up.map(|(id, Actor { process, read: (when, clock), .. })| {
                (*id, process, *clock + at.since(*when))
            });
            attendance.looks(at, right, live);
            self.violation = self.violation.take().or_else(|| attendance.broken().cloned());
        }
    }

    fn take_step(
        &mut self,
        place: usize,
        clock: Time,
        call: Call<AnyProcess>,
        (life, seq): (u64, u64),
    ) -> Result<(), Contradiction> {
        match call {
            Call::Start(saved) => self.start(place, clock, life, saved),
            _ if !self.actors[place].up => Err(Contradiction::NotRunning),
            Call::Input(input) => {
                self.last_action = self.mail.now;
                self.asked = true;
                self.work += u64::from(self.algorithm.is_work(&input));
                self.see(place, Seen::Input(&input));
                self.step(place, clock, |process, cx| process.on_input(input, cx));
                Ok(())
            }
            Call::Message(from, msg) => self.deliver(place, clock, (from, life, seq), msg),
            Call::Timer(timer) => self.fire(place, clock, timer),
        }
    }

    fn start(
        &mut self,
        place: usize,
        clock: Time,
        life: u64,
        saved: Option<AnyDurable>,
    ) -> Result<(), Contradiction> {
        let actor = &mut self.actors[place];
        // It had been stopped in an orderly way, or died without anybody noticing.
        if actor.up {
            self.kill(place);
        }
        let actor = &mut self.actors[place];
        if !actor.durable.contains(&saved) {
            return Err(Contradiction::NotSaved { found: format!("{saved:?}") });
        }
        let again = actor.durable[0].is_some();
        (actor.up, actor.life, actor.sent) = (true, life, 0);
        actor.durable = [saved.clone(), saved.clone()];
        if again {
            self.last_action = self.mail.now;
            self.mail.faults.want(FaultKind::Recover);
            self.mail.faults.bite(FaultKind::Recover);
            self.monitor.recovered();
            self.see(place, Seen::Recover);
        }
        self.step(place, clock, |process, cx| process.on_start(saved, cx));
        Ok(())
    }

    fn deliver(
        &mut self,
        place: usize,
        clock: Time,
        key: Key,
        msg: AnyMsg,
    ) -> Result<(), Contradiction> {
        let from = key.0;
        let arrived = || msg.to_string();
        let Some(letter) = self.mail.letters.get_mut(&key) else {
            return Err(Contradiction::NeverSent { from, arrived: arrived() });
        };
        if letter.to != place {
            let to = self.group.ring()[letter.to];
            return Err(Contradiction::Misdelivered { from, to, arrived: arrived() });
        }
        if letter.msg != msg {
            let sent = letter.msg.to_string();
            return Err(Contradiction::Altered { from, sent, arrived: arrived() });
        }
        letter.arrived = true;
        let (id, sent) = (letter.id, letter.at);
        let (sum, count) = self.mail.hops_us;
        self.mail.hops_us = (sum + micros(self.mail.now.since(sent)), count + 1);
        self.count(place, sent);
        self.see(place, Seen::Receive { id, from, msg: &msg });
        self.step(place, clock, |process, cx| process.on_message(from, msg, cx));
        Ok(())
    }

    fn fire(&mut self, place: usize, clock: Time, timer: AnyTimer) -> Result<(), Contradiction> {
        let Some(due) = self.actors[place].timers.remove(&timer) else {
            return Err(Contradiction::NotSet(format!("{timer:?}")));
        };
        self.count(place, due);
        self.see(place, Seen::Timer(&timer));
        self.step(place, clock, |process, cx| process.on_timer(timer, cx));
        Ok(())
    }

    /// Counts an event that could have happened from `since` on, and whether a pause held it up.
    fn count(&mut self, place: usize, since: Time) {
        self.events += 1;
        if self.actors[place].resumed.is_some_and(|resumed| since < resumed) {
            self.mail.faults.bite(FaultKind::Pause);
        }
    }

    fn kill(&mut self, place: usize) {
        let actor = &mut self.actors[place];
        if !std::mem::take(&mut actor.up) {
            return;
        }
        self.last_action = self.mail.now;
        actor.process = AnyProcess::default();
        actor.timers.clear();
        (actor.paused, actor.resumed) = (false, None);
        let me = self.group.ring()[place];
        self.monitor.died(me, &mut actor.claims);
        self.mail.meter.died(place);
        if let Some(attendance) = &mut self.mail.attendance {
            attendance.crashed(self.mail.now, me);
        }
        self.mail.faults.want(FaultKind::Crash);
        self.mail.faults.bite(FaultKind::Crash);
        self.see(place, Seen::Crash);
        // What was on the way to it is dropped; what it had not got out is lost with it.
        let missing = std::mem::take(&mut self.mail.missing);
        for (id, key) in missing {
            let why = match self.mail.letters.get(&key) {
                Some(letter) if letter.to == place => Why::Down,
                _ if key.0 == me => Why::Lost,
                _ => {
                    self.mail.missing.insert(id, key);
                    continue;
                }
            };
            self.events += u64::from(why == Why::Down);
            self.drop(key, why);
        }
    }

    fn drop(&mut self, key: Key, why: Why) {
        if let Some(Letter { arrived, id, to, msg, .. }) = self.mail.letters.get_mut(&key) {
            *arrived = true;
            let seen = Seen::Drop { id: *id, from: key.0, msg, why };
            if O::ACTIVE {
                self.observer.event(self.mail.now, *to, seen);
            }
        }
    }

    fn stop(&mut self, place: usize) {
        if self.actors[place].up && !self.actors[place].paused {
            self.actors[place].paused = true;
            self.last_action = self.mail.now;
            self.mail.faults.want(FaultKind::Pause);
            self.see(place, Seen::Pause);
        }
    }

    fn go_on(&mut self, place: usize) {
        let now = self.mail.now;
        if std::mem::take(&mut self.actors[place].paused) {
            self.actors[place].resumed = Some(now);
            self.last_action = now;
            self.see(place, Seen::Resume);
        }
    }

    fn see(&mut self, place: usize, seen: Seen<'_, AnyProcess>) {
        if O::ACTIVE {
            self.observer.event(self.mail.now, place, seen);
        }
    }

    /// Calls a handler and finds out what it asks for.
    fn step(
        &mut self,
        place: usize,
        clock: Time,
        handler: impl FnOnce(&mut AnyProcess, &mut Context<'_, AnyProcess>),
    ) {
        let me = self.group.ring()[place];
        let actor = &mut self.actors[place];
        let mut sink = Sink {
            mail: &mut self.mail,
            observer: &mut self.observer,
            group: self.group,
            reads: self.reads.as_ref(),
            timers: &mut actor.timers,
            sent: &mut actor.sent,
            life: actor.life,
            place,
            me,
            unreachable: Vec::new(),
        };
        let here = Here::new(self.group, place, clock, O::ACTIVE);
        handler(&mut actor.process, &mut Context::new(&here, &self.config, &mut sink));
        let posted = sink.unreachable;
        if O::ACTIVE {
            self.observer.stepped(place, &actor.process);
        }
        let [after, before] = &mut actor.durable;
        *before = after.replace(actor.process.durable());
        let now = self.mail.now;
        actor.read = (now, clock);
        let mut claims = actor.claims;
        let look = |id: NodeId| {
            let Actor { up, process, read: (at, clock), .. } =
                &self.actors[self.group.place(id)?];
            up.then(|| (process, *clock + now.since(*at)))
        };
        let broken = self.monitor.moved(now, me, &mut claims, &look);
        self.actors[place].claims = claims;
        let heard = self.mail.attendance.as_ref().and_then(|attendance| attendance.broken());
        self.violation = self.violation.take().or(broken).or_else(|| heard.cloned());
        for (key, to) in posted {
            if !self.actors[to].up {
                self.events += 1;
                self.drop(key, Why::Down);
            } else if let Some(letter) = self.mail.letters.get(&key) {
                self.mail.missing.insert(letter.id, key);
            }
        }
    }

    /// Checks what is claimed of the whole cluster, once all of it has started.
    fn look_at_whole(&self) -> Option<Violation> {
        let started = || self.actors.iter().all(|actor| actor.durable[0].is_some());
        if !self.monitor.looks_at_whole() || !started() {
            return None;
        }
        let up = self.group.ring().iter().zip(&self.actors).filter(|(_, actor)| actor.up);
        let live: Vec<_> = up.map(|(id, actor)| (*id, &actor.process)).collect();
        let letters = self.mail.letters.iter().filter(|(_, letter)| !letter.arrived);
        let in_flight = letters.map(|((from, ..), letter)| InFlight {
            from: *from,
            to: self.group.ring()[letter.to],
            msg: &letter.msg,
        });
        let in_flight: Vec<_> = in_flight.collect();
        self.monitor.whole(self.mail.now, &Cluster { live: &live, in_flight: &in_flight })
    }

    /// The run is over.
    pub(super) fn finish(mut self, ended: Time) -> Replayed<O> {
        let ended = ended.max(self.mail.now);
        self.look_at_clocks(ended);
        let open = self.open();
        let live = self.group.ring().iter().zip(&self.actors).filter(|(_, actor)| actor.up);
        let live: Vec<NodeId> = live.map(|(id, _)| *id).collect();
        if let Some(attendance) = &mut self.mail.attendance {
            if open.moving == 0 {
                attendance.closes(ended, &live);
            }
            self.violation = self.violation.take().or_else(|| attendance.broken().cloned());
        }
        let algorithm = self.algorithm;
        let up = |(id, actor): (&NodeId, &Actor)| (*id, algorithm.coordinator_of(&actor.process));
        let live = || self.group.ring().iter().zip(&self.actors).filter(|(_, actor)| actor.up);
        let agreed = algorithm.agreed(live().map(|(id, actor)| (*id, &actor.process)));
        let at_rest = algorithm.goal.as_ref().is_none_or(|goal| goal.at_rest);
        // As of a simulated run: where something goes on for ever the goal is promised some time
        // after the last fault, and without when the application asked and nothing is left to
        // happen.
        let overdue =
            self.last_action + algorithm.settling_time(&self.config, self.group, self.work);
        let promised = (self.detection || !at_rest) && ended >= overdue
            || !self.detection && self.asked && open.is_quiet();
        let (sum, count) = self.mail.hops_us;
        let hop = sum.checked_div(count).map(Duration::from_micros);
        let unmet = algorithm.goal.as_ref().filter(|_| promised && !agreed).map(|goal| {
            let by = waiting(algorithm, live().map(|(id, actor)| (*id, &actor.process)));
            Violation { name: goal.name, text: goal.text, at: ended, by }
        });
        let outcome = Outcome {
            now: if open.is_quiet() { self.mail.now } else { ended },
            events: self.events,
            tally: self.mail.tally,
            faults: self.mail.faults,
            agreed,
            violation: self.violation.or(unmet),
            coordinators: live().map(up).collect(),
            sections: self.reads.is_some().then(|| self.mail.meter.sections(hop)),
            refusals: self.mail.meter.refusals().to_vec(),
            elects: algorithm.entry.elects(),
            facts: self.mail.attendance.as_ref().map_or_else(Vec::new, Attendance::facts),
            pictures: self.mail.attendance.as_ref().map_or_else(Vec::new, Attendance::pictures),
        };
        Replayed { outcome, observer: self.observer, open }
    }

    fn open(&self) -> Open {
        let letters = self.mail.missing.values().filter_map(|key| self.mail.letters.get(key));
        let moves = |letter: &&Letter| letter.msg.kind().role != Role::Overhead;
        Open {
            timers: self.actors.iter().map(|actor| actor.timers.len()).sum(),
            messages: letters.clone().count(),
            moving: letters.filter(moves).count(),
        }
    }
}

/// The message that arrives in this event, if one does.
fn arrival(event: &Recorded) -> Option<Key> {
    match &event.event {
        Happened::Step { call: Call::Message(from, _), origin: (life, seq), .. } => {
            Some((*from, *life, *seq))
        }
        _ => None,
    }
}

/// Where a replayed step's effects go.
struct Sink<'a, O> {
    mail: &'a mut Mail,
    observer: &'a mut O,
    group: &'a Group,
    reads: Option<&'a MilestoneReader<AnyProcess>>,
    timers: &'a mut BTreeMap<AnyTimer, Time>,
    sent: &'a mut u64,
    life: u64,
    place: usize,
    me: NodeId,
    /// The messages of this step whose arrival is in no journal, and their receivers.
    unreachable: Vec<(Key, usize)>,
}

impl<O: Observer<AnyProcess>> Sink<'_, O> {
    fn see(&mut self, seen: Seen<'_, AnyProcess>) {
        if O::ACTIVE {
            self.observer.event(self.mail.now, self.place, seen);
        }
    }
}

impl<O: Observer<AnyProcess>> Effects<AnyProcess> for Sink<'_, O> {
    fn send(&mut self, to: NodeId, msg: AnyMsg) {
        let key = (self.me, self.life, *self.sent);
        *self.sent += 1;
        // A message to a process that is no member goes nowhere, as in the simulator.
        let Some(target) = self.group.place(to) else { return };
        let id = self.mail.sent;
        self.mail.sent += 1;
        self.mail.tally.add(msg.kind());
        self.see(Seen::Send { id, to, msg: &msg });
        if !self.mail.arriving.contains(&key) {
            self.unreachable.push((key, target));
        }
        let at = self.mail.now;
        self.mail.letters.insert(key, Letter { arrived: false, id, to: target, at, msg });
    }

    fn set_timer(&mut self, timer: AnyTimer, after: Range<Duration>) {
        self.timers.insert(timer, self.mail.now + after.start);
    }

    fn cancel_timer(&mut self, timer: AnyTimer) {
        self.timers.remove(&timer);
    }

    fn emit(&mut self, output: AnyOutput) {
        self.see(Seen::Output(&output));
        if let Some(attendance) = &mut self.mail.attendance {
            attendance.hears(self.mail.now, self.me, &output);
        }
        if let Some(milestone) = self.reads.and_then(|reads| reads(&output)) {
            let now = self.mail.now;
            self.mail.meter.note(now, self.place, self.me, milestone);
        }
    }

    fn rule(&mut self, rule: &'static str) {
        self.see(Seen::Rule(rule));
    }
}
