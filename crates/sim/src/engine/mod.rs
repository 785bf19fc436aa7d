//! The simulator itself: virtual time, one event after the other.

mod hearing;
mod mischief;
mod pace;
mod sink;
mod steer;

pub use self::mischief::CLOCK_START;
use crate::attendance::Attendance;
use crate::fault::{Action, ActiveCut, FaultCounts, FaultKind, Scheduled, Steer};
use crate::meter::{Meter, Refused, Sections};
use crate::monitor::{Monitor, Violation};
use crate::network::{Network, Oracle, Rate};
use crate::node::{Node, Oddity};
use crate::observer::{Observer, Seen, Why};
use crate::plan::FateEntry;
use crate::prefetch::{prefetch, roomy};
use crate::queue::Queue;
use crate::tally::Tally;
use bellwether_algorithms::definition::MilestoneReader;
use bellwether_core::{
    Call, Context, Goal, Group, Here, Invariant, Message, NodeId, Process, Role, Time,
};
use sink::Sink;
use std::collections::BTreeMap;
use std::fmt;

/// A cluster in virtual time.
///
/// The same group, configuration, network, seed and script give the same run, byte for byte.
#[derive(Debug)]
pub struct Sim<P: Process, O> {
    group: Group,
    config: P::Config,
    nodes: Vec<Node<P>>,
    oddities: BTreeMap<usize, Oddity<P>>,
    world: World<P>,
    monitor: Monitor<P>,
    goal: Option<Goal<P>>,
    script: Vec<Action<P::Input>>,
    /// How many of the script's actions are still to come.
    pending: usize,
    /// When the last action is or was.
    last_action: Time,
    violation: Option<Violation>,
    /// Whether a violation is only noted.
    keeps_going: bool,
    /// A run with more events or messages than this is cut off.
    most_events: u64,
    /// The observer.
    pub observer: O,
}

/// What a step can reach besides its own process.
#[derive(Debug)]
struct World<P: Process> {
    now: Time,
    /// When something last happened. A timer that was cancelled passes without anything happening.
    last: Time,
    queue: Queue<Event<P>>,
    oracle: Oracle,
    reorder: bool,
    cuts: Vec<ActiveCut>,
    rate: Option<Rate>,
    tally: Tally,
    faults: FaultCounts,
    sent: u64,
    /// Where a message goes that arrives too soon to be announced by the queue.
    receiver: u32,
    events: u64,
    /// Messages that move the algorithm on and are on the way; counted only if an observer asks, that
    /// is, if the run ends when its goal is reached.
    in_flight: Option<u64>,
    /// What happened to every message, if an observer wants to know.
    fates: Option<Vec<FateEntry>>,
    /// What was chosen to happen next, and could not.
    unsteered: Vec<Steer>,
    /// The books of critical sections, where there are any.
    meter: Option<Box<Metered<P>>>,
    /// Who hears what the processes say, if anybody.
    attendance: Option<Box<Attendance<P>>>,
    /// Whether something has happened that can have brought the goal about.
    stirred: bool,
}

/// A meter, and what outputs mean to it.
struct Metered<P: Process> {
    reads: MilestoneReader<P>,
    meter: Meter,
}

impl<P: Process> fmt::Debug for Metered<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.meter.fmt(f)
    }
}

/// This many processes are in the processor's cache anyway, and need not be fetched.
const FITS_THE_CACHE: usize = 4_096;

/// What can be in the queue.
#[derive(Clone, Debug)]
pub(crate) enum Event<P: Process> {
    Deliver {
        to: u32,
        from: NodeId,
        id: u64,
        msg: P::Msg,
    },
    Timer {
        place: u32,
        number: u32,
        timer: P::Timer,
    },
    /// The script's next action with this index.
    Act(u32),
    /// An event that a slow or paused process has kept waiting.
    Late(Box<Event<P>>),
}

/// Why a run stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Nothing is left to happen.
    Quiet,
    /// The script is over and the goal holds.
    Settled,
    /// The time limit was reached.
    TimeUp,
    /// An invariant was broken.
    Violated,
    /// There were more events than any sensible run has: a storm of messages that feeds itself.
    Storm,
}

impl<P: Process, O: Observer<P>> Sim<P, O> {
    /// A cluster in which every process has just started.
    pub fn new(
        group: Group,
        config: P::Config,
        network: &Network,
        seed: u64,
        invariants: Vec<Invariant<P>>,
        observer: O,
    ) -> Self {
        let mut sim = Sim::blank(group, config, network, seed, invariants, observer);
        sim.start();
        sim
    }

    /// A cluster in which no process has started yet; see [`Sim::start`].
    pub(crate) fn blank(
        group: Group,
        config: P::Config,
        network: &Network,
        seed: u64,
        invariants: Vec<Invariant<P>>,
        observer: O,
    ) -> Self {
        let mut faults = FaultCounts::default();
        for (wanted, kind) in [
            (network.loss > 0.0, FaultKind::Loss),
            (network.duplicate > 0.0, FaultKind::Duplicate),
            (network.reorder, FaultKind::Reorder),
            (network.rate.is_some(), FaultKind::Rate),
        ] {
            if wanted {
                faults.want(kind);
            }
        }
        let mut nodes = roomy(group.len());
        nodes.resize_with(group.len(), Node::default);
        Sim {
            nodes,
            oddities: BTreeMap::new(),
            world: World {
                now: Time::ZERO,
                last: Time::ZERO,
                queue: Queue::with_room(group.len()),
                oracle: Oracle::new(network, seed),
                reorder: network.reorder,
                cuts: Vec::new(),
                rate: network.rate.map(Rate::new),
                tally: Tally::default(),
                faults,
                sent: 0,
                receiver: 0,
                events: 0,
                in_flight: None,
                fates: None,
                unsteered: Vec::new(),
                meter: None,
                attendance: None,
                stirred: true,
            },
            monitor: Monitor::new(invariants),
            goal: None,
            script: Vec::new(),
            pending: 0,
            last_action: Time::ZERO,
            violation: None,
            keeps_going: false,
            most_events: u64::MAX,
            observer,
            group,
            config,
        }
    }

    /// Starts every process.
    pub(crate) fn start(&mut self) {
        for place in 0..self.nodes.len() {
            self.nodes[place].up = true;
            self.step(place, Call::Start(None));
        }
        self.look_at_whole();
    }

    /// Makes a run end as soon as the script is over and this holds, with no message of the
    /// algorithm on the way.
    pub fn stop_when(&mut self, goal: Goal<P>) {
        self.goal = Some(goal);
        self.world.in_flight.get_or_insert(0);
    }

    /// Measures critical sections from now on; `reads` says what an output means.
    pub fn measure(&mut self, reads: MilestoneReader<P>) {
        self.world.meter = Some(Box::new(Metered { reads, meter: Meter::default() }));
    }

    /// What the critical sections have come to, where they are [measured](Sim::measure).
    pub fn sections(&self) -> Option<Sections> {
        let hop = self.world.oracle.mean();
        self.world.meter.as_ref().map(|metered| metered.meter.sections(Some(hop)))
    }

    /// What processes were asked for and could not do, where sections are
    /// [measured](Sim::measure).
    pub fn refusals(&self) -> &[Refused] {
        self.world.meter.as_ref().map_or(&[], |metered| metered.meter.refusals())
    }

    /// Cuts a run off at this number of events, or of messages.
    pub fn stop_after(&mut self, events: u64) {
        self.most_events = events;
    }

    /// Makes a run go on after a violation; the first one is remembered.
    pub fn keep_going(&mut self) {
        self.keeps_going = true;
    }

    /// Adds actions to come. Of several at the same time, the first added comes first.
    pub fn schedule(&mut self, script: impl IntoIterator<Item = Scheduled<P::Input>>) {
        for Scheduled { at, action } in script {
            for kind in action.fault() {
                self.world.faults.want(kind);
            }
            self.world.queue.push(at.as_micros(), 0, Event::Act(self.script.len() as u32));
            self.script.push(action);
            self.pending += 1;
            self.last_action = self.last_action.max(at);
        }
    }

    /// Does something right now.
    pub fn act(&mut self, action: Action<P::Input>) {
        for kind in action.fault() {
            self.world.faults.want(kind);
        }
        self.last_action = self.last_action.max(self.world.now);
        self.perform(action);
        self.look_at_whole();
    }

    /// Runs until nothing is left to happen, the goal is reached, an invariant is broken or the
    /// time is up. A run that is over can be acted upon and run again.
    pub fn run(&mut self, until: Time) -> Ended {
        let ended = self.pass(until);
        if ended == Ended::TimeUp {
            self.world.last = until;
        }
        ended
    }

    /// The same as a step of a longer run: that its time is up is nothing that happens.
    pub(crate) fn pass(&mut self, until: Time) -> Ended {
        loop {
            let look = self.world.attendance.as_ref().and_then(|attendance| attendance.next_look());
            let Some(look) = look.filter(|look| *look <= until) else {
                return self.run_on(until);
            };
            let ended = self.run_on(look);
            if ended != Ended::TimeUp {
                return ended;
            }
            self.look_at_clocks();
        }
    }

    fn run_on(&mut self, until: Time) -> Ended {
        loop {
            if self.violation.is_some() && !self.keeps_going {
                return Ended::Violated;
            }
            if self.world.events.max(self.world.sent) >= self.most_events {
                return Ended::Storm;
            }
            if self.goal.is_some() && self.world.stirred && self.is_settled() {
                return Ended::Settled;
            }
            if until < Time::MAX && self.world.queue.peek().is_some_and(|at| at > until.as_micros())
            {
                self.world.now = until;
                return Ended::TimeUp;
            }
            let Some((at, event)) = self.world.queue.pop() else { return Ended::Quiet };
            if self.nodes.len() > FITS_THE_CACHE {
                self.world.queue.look_ahead(|place| {
                    prefetch(&self.nodes[place as usize]);
                    prefetch(&self.group.ring()[place as usize]);
                });
            }
            self.world.now = Time::from_micros(at);
            self.handle(event);
            self.look_at_whole();
        }
    }

    #[inline(always)]
    fn handle(&mut self, event: Event<P>) {
        match event {
            Event::Deliver { to, id, .. }
                if self.nodes[to as usize].odd && self.is_gone(to as usize, id) => {}
            Event::Deliver { to, .. }
                if self.nodes[to as usize].odd && self.holds_up(to as usize) =>
            {
                self.hold_up(to as usize, event);
            }
            Event::Deliver { to, from, id, msg } => self.deliver(to as usize, from, id, msg),
            Event::Timer { place, .. }
                if self.nodes[place as usize].odd && self.holds_up(place as usize) =>
            {
                self.hold_up(place as usize, event);
            }
            Event::Timer { place, number, timer } => self.fire(place as usize, number, timer),
            Event::Act(index) => {
                self.pending -= 1;
                self.perform(self.script[index as usize].clone());
            }
            Event::Late(event) => self.handle_late(*event),
        }
    }

    #[inline(always)]
    fn deliver(&mut self, to: usize, from: NodeId, id: u64, msg: P::Msg) {
        self.world.events += 1;
        self.world.last = self.world.now;
        self.land(&msg);
        if (!self.world.cuts.is_empty() || !self.nodes[to].up) && self.is_lost(to, from, id, &msg) {
            return;
        }
        if O::ACTIVE {
            self.see(to, Seen::Receive { id, from, msg: &msg });
        }
        self.step(to, Call::Message(from, msg));
    }

    /// A message is not on its way any more.
    #[inline(always)]
    fn land(&mut self, msg: &P::Msg) {
        if let Some(in_flight) = &mut self.world.in_flight
            && msg.kind().role != Role::Overhead
        {
            // Those that were sent before anybody asked are not counted.
            *in_flight = in_flight.saturating_sub(1);
            self.world.stirred |= *in_flight == 0;
        }
    }

    /// Whether a message comes to nothing at its destination.
    #[cold]
    fn is_lost(&mut self, to: usize, from: NodeId, id: u64, msg: &P::Msg) -> bool {
        let cut = self.group.place(from).is_some_and(|from| self.world.is_cut(from, to, msg));
        let why = if cut { Why::Cut } else { Why::Down };
        let lost = cut || !self.nodes[to].up;
        if lost {
            self.see(to, Seen::Drop { id, from, msg, why });
        }
        lost
    }

    fn fire(&mut self, place: usize, number: u32, timer: P::Timer) {
        let node = &mut self.nodes[place];
        // A crash has disarmed all timers, so a stopped process has none.
        if !node.timers.fire(&timer, number) {
            return;
        }
        self.world.events += 1;
        self.world.last = self.world.now;
        if O::ACTIVE {
            self.see(place, Seen::Timer(&timer));
        }
        self.step(place, Call::Timer(timer));
    }

    /// Calls one handler of one process and lets its effects happen.
    #[inline(always)]
    fn step(&mut self, place: usize, call: Call<P>) {
        let node = &mut self.nodes[place];
        let me = self.group.ring()[place];
        let oddity = if node.odd { self.oddities.get_mut(&place) } else { None };
        let now = match &oddity {
            Some(oddity) => oddity.reading(self.world.now, &mut self.world.faults),
            None => self.world.now + CLOCK_START,
        };
        let mut sink = Sink {
            world: &mut self.world,
            outgoing: &mut node.outgoing,
            timers: &mut node.timers,
            timers_set: &mut node.timers_set,
            oddity,
            observer: &mut self.observer,
            group: &self.group,
            place,
            me,
        };
        let here = Here::new(&self.group, place, now, O::ACTIVE);
        call.make(&mut node.process, &mut Context::new(&here, &self.config, &mut sink));
        if O::ACTIVE {
            self.observer.stepped(place, &node.process);
        }
        if !self.monitor.is_idle(me, &node.process, now, node.claims) {
            self.do_books(place);
        }
        if self.world.attendance.is_some() {
            self.ask_referee();
        }
        if self.nodes[place].odd {
            self.spring_trap(place);
        }
        if self.nodes.len() > FITS_THE_CACHE {
            prefetch(&self.nodes[self.world.receiver as usize]);
        }
    }

    /// If the process crashed in the middle of this step, that is now.
    fn spring_trap(&mut self, place: usize) {
        let trap = self.oddities.get_mut(&place).and_then(|oddity| oddity.trap.as_mut());
        if trap.is_some_and(|trap| trap.sprung) {
            self.crash(place);
        }
    }

    fn is_settled(&mut self) -> bool {
        let Some(goal) = &self.goal else { return false };
        let busy = goal.at_rest && self.world.in_flight != Some(0);
        if self.pending > 0 || busy || self.is_disturbed() {
            return false;
        }
        self.world.stirred = false;
        (goal.holds)(&mut self.live())
    }

    /// Whether links are cut or processes are paused, so that what holds now need not last.
    fn is_disturbed(&self) -> bool {
        !self.world.cuts.is_empty()
            || self
                .oddities
                .values()
                .any(|oddity| oddity.backlog.is_some() || oddity.trap.is_some())
    }

    fn see(&mut self, place: usize, seen: Seen<'_, P>) {
        if O::ACTIVE {
            self.observer.event(self.world.now, place, seen);
        }
    }

    /// Whether the run ends when its goal is reached.
    pub(crate) fn has_goal(&self) -> bool {
        self.goal.is_some()
    }

    /// The time of the last action: of the script, or done directly.
    pub(crate) fn last_scheduled(&self) -> Time {
        self.last_action
    }

    /// From now on, writes down what happens to every message.
    pub(crate) fn log_fates(&mut self) {
        self.world.fates.get_or_insert_default();
    }

    /// What happened to the messages since [`Sim::log_fates`].
    pub(crate) fn fates(&self) -> impl Iterator<Item = FateEntry> + '_ {
        self.world.fates.iter().flatten().copied()
    }

    /// The group.
    pub fn group(&self) -> &Group {
        &self.group
    }

    /// The configuration.
    pub fn config(&self) -> &P::Config {
        &self.config
    }

    /// Virtual time.
    pub fn now(&self) -> Time {
        self.world.now
    }

    /// When something last happened, or the limit of a run that reached it. Cancelled timers may
    /// have passed since.
    pub fn last_event(&self) -> Time {
        self.world.last
    }

    /// How many events have happened: messages that reached their destination and timers that
    /// fired.
    pub fn events(&self) -> u64 {
        self.world.events
    }

    /// How much has happened: events or, if there are more of them, messages that were sent.
    pub(crate) fn activity(&self) -> u64 {
        self.world.events.max(self.world.sent)
    }

    /// The messages that were sent.
    pub fn tally(&self) -> &Tally {
        &self.world.tally
    }

    /// The faults that happened.
    pub fn faults(&self) -> &FaultCounts {
        &self.world.faults
    }

    /// The first violation, if there was one.
    pub fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    /// The live processes, in ring order.
    pub fn live(&self) -> impl Iterator<Item = (NodeId, &P)> {
        let nodes = self.group.ring().iter().zip(&self.nodes);
        nodes.filter(|(_, node)| node.up).map(|(id, node)| (*id, &node.process))
    }

    /// A process, live or not.
    pub fn process(&self, id: NodeId) -> Option<&P> {
        Some(&self.nodes[self.group.place(id)?].process)
    }
}

impl<P: Process> World<P> {
    fn is_cut(&mut self, from: usize, to: usize, msg: &P::Msg) -> bool {
        match self.cuts.iter().find(|cut| cut.stops(from, to, msg)) {
            Some(cut) => {
                self.faults.bite(cut.fault);
                true
            }
            None => false,
        }
    }

    #[inline(always)]
    fn push(&mut self, at: u64, to: u32, from: NodeId, id: u64, msg: P::Msg, role: Role) {
        if let Some(in_flight) = &mut self.in_flight
            && role != Role::Overhead
        {
            *in_flight += 1;
        }
        if self.queue.is_passed(at) {
            self.receiver = to;
        }
        self.queue.push(at, to, Event::Deliver { to, from, id, msg });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellwether_algorithms::election::{ChangRoberts, Watched};

    /// A million processes fetch one of these per event; see [`crate::node`].
    #[test]
    fn a_process_on_a_ring_fits_into_two_cache_lines() {
        assert_eq!(size_of::<Node<Watched<ChangRoberts>>>(), 128);
    }
}
