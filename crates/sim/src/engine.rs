//! The simulator itself: virtual time, one event after the other.

use crate::fault::{Action, ActiveCut, CutKind, FaultCounts, FaultKind, Scheduled};
use crate::monitor::{Monitor, Violation};
use crate::network::{Fate, Network, Oracle};
use crate::node::{Node, Oddity, Outgoing, Timers, Trap};
use crate::observer::{Observer, Seen, Why};
use crate::queue::Queue;
use crate::tally::Tally;
use bellwether_core::{
    Context, Effects, Goal, Group, Invariant, Message, NodeId, Process, Role, Time, micros,
};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::time::Duration;

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
    violation: Option<Violation>,
    /// Whether something has happened that can have brought the goal about.
    stirred: bool,
    /// Whoever looks on.
    pub observer: O,
}

/// What a step can reach besides its own process.
#[derive(Debug)]
struct World<P: Process> {
    now: Time,
    queue: Queue<Event<P>>,
    oracle: Oracle,
    reorder: bool,
    cuts: Vec<ActiveCut>,
    tally: Tally,
    faults: FaultCounts,
    sent: u64,
    events: u64,
    /// Messages of the algorithm proper that are on the way; counted only if somebody asks, that
    /// is, if the run ends when its goal is reached.
    in_flight: Option<u64>,
}

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
        let mut faults = FaultCounts::default();
        for (wanted, kind) in [
            (network.loss > 0.0, FaultKind::Loss),
            (network.duplicate > 0.0, FaultKind::Duplicate),
            (network.reorder, FaultKind::Reorder),
        ] {
            if wanted {
                faults.want(kind);
            }
        }
        let nodes = (0..group.len()).map(|_| Node::default()).collect();
        let mut sim = Sim {
            nodes,
            oddities: BTreeMap::new(),
            world: World {
                now: Time::ZERO,
                queue: Queue::new(),
                oracle: Oracle::new(network, seed),
                reorder: network.reorder,
                cuts: Vec::new(),
                tally: Tally::default(),
                faults,
                sent: 0,
                events: 0,
                in_flight: None,
            },
            monitor: Monitor::new(invariants),
            goal: None,
            script: Vec::new(),
            pending: 0,
            violation: None,
            stirred: true,
            observer,
            group,
            config,
        };
        for place in 0..sim.nodes.len() {
            sim.nodes[place].up = true;
            sim.monitor.born(false);
            sim.step(place, |process, cx| process.on_start(None, cx));
        }
        sim
    }

    /// Makes a run end as soon as the script is over and this holds, with no message of the
    /// algorithm on the way.
    pub fn stop_when(&mut self, goal: Goal<P>) {
        self.goal = Some(goal);
        self.world.in_flight.get_or_insert(0);
    }

    /// Adds actions to come. Of several at the same time, the first added comes first.
    pub fn schedule(&mut self, script: impl IntoIterator<Item = Scheduled<P::Input>>) {
        for Scheduled { at, action } in script {
            for kind in action.fault() {
                self.world.faults.want(kind);
            }
            self.world.queue.push(at.as_micros(), Event::Act(self.script.len() as u32));
            self.script.push(action);
            self.pending += 1;
        }
    }

    /// Does something right now.
    pub fn act(&mut self, action: Action<P::Input>) {
        for kind in action.fault() {
            self.world.faults.want(kind);
        }
        self.perform(action);
    }

    /// Runs until nothing is left to happen, the goal is reached, an invariant is broken or the
    /// time is up. A run that is over can be acted upon and run again.
    pub fn run(&mut self, until: Time) -> Ended {
        loop {
            if self.violation.is_some() {
                return Ended::Violated;
            }
            if self.stirred && self.is_settled() {
                return Ended::Settled;
            }
            let (nodes, group) = (&self.nodes, &self.group);
            let warm = |event: &Event<P>| {
                if let Event::Deliver { to, .. } = event {
                    nodes[*to as usize].warm();
                    std::hint::black_box(group.ring()[*to as usize]);
                }
            };
            if until < Time::MAX
                && self.world.queue.peek(warm).is_some_and(|at| at > until.as_micros())
            {
                self.world.now = until;
                return Ended::TimeUp;
            }
            let Some((at, event)) = self.world.queue.pop(warm) else { return Ended::Quiet };
            self.world.now = Time::from_micros(at);
            self.handle(event);
        }
    }

    #[inline]
    fn handle(&mut self, event: Event<P>) {
        match event {
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

    #[inline]
    fn deliver(&mut self, to: usize, from: NodeId, id: u64, msg: P::Msg) {
        self.world.events += 1;
        if let Some(in_flight) = &mut self.world.in_flight
            && msg.kind().role == Role::Protocol
        {
            // Those that were sent before anybody asked are not counted.
            *in_flight = in_flight.saturating_sub(1);
            self.stirred |= *in_flight == 0;
        }
        if (!self.world.cuts.is_empty() || !self.nodes[to].up) && self.is_lost(to, from, id, &msg) {
            return;
        }
        if O::ACTIVE {
            self.see(to, Seen::Receive { id, from, msg: &msg });
        }
        self.step(to, |process, cx| process.on_message(from, msg, cx));
    }

    /// Whether a message comes to nothing at its destination.
    #[cold]
    fn is_lost(&mut self, to: usize, from: NodeId, id: u64, msg: &P::Msg) -> bool {
        let cut = self.group.place(from).is_some_and(|from| self.world.is_cut(from, to));
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
        if !node.timers.fire(timer, number) {
            return;
        }
        self.world.events += 1;
        if O::ACTIVE {
            self.see(place, Seen::Timer(&timer));
        }
        self.step(place, |process, cx| process.on_timer(timer, cx));
    }

    /// Calls one handler of one process and lets its effects happen.
    #[inline]
    fn step(&mut self, place: usize, handler: impl FnOnce(&mut P, &mut Context<'_, P>)) {
        let node = &mut self.nodes[place];
        let me = self.group.ring()[place];
        self.monitor.before(me, &node.process);
        let oddity = if node.odd { self.oddities.get_mut(&place) } else { None };
        let now = match &oddity {
            Some(oddity) => oddity.reading(self.world.now, &mut self.world.faults),
            None => self.world.now,
        };
        let mut sink = Sink {
            world: &mut self.world,
            outgoing: &mut node.outgoing,
            timers: &mut node.timers,
            oddity,
            observer: &mut self.observer,
            group: &self.group,
            place,
            me,
            stirred: &mut self.stirred,
        };
        handler(
            &mut node.process,
            &mut Context::new(&self.group, place, &self.config, now, &mut sink),
        );
        if O::ACTIVE {
            self.observer.stepped(place, &node.process);
        }
        let broken = self.monitor.after(self.world.now, me, &node.process);
        self.violation = self.violation.take().or(broken);
        if node.odd {
            self.spring_trap(place);
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
        if self.pending > 0 || self.world.in_flight != Some(0) {
            return false;
        }
        self.stirred = false;
        (goal.holds)(&mut self.live())
    }

    fn see(&mut self, place: usize, seen: Seen<'_, P>) {
        if O::ACTIVE {
            self.observer.event(self.world.now, place, seen);
        }
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

    /// How many events have happened: messages that reached their destination and timers that
    /// fired.
    pub fn events(&self) -> u64 {
        self.world.events
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

/// Faults.
impl<P: Process, O: Observer<P>> Sim<P, O> {
    #[cold]
    fn perform(&mut self, action: Action<P::Input>) {
        self.stirred = true;
        let place = |id: &NodeId| self.group.place(*id);
        match &action {
            Action::Crash(id) => place(id).map(|place| self.crash(place)),
            Action::CrashSending { node, kind, after } => place(node).map(|place| {
                let trap = Trap { kind: kind.clone(), left: *after, sprung: false };
                self.odd(place).trap = Some(trap);
            }),
            Action::Recover(id) => place(id).map(|place| self.recover(place)),
            Action::Pause(id) => place(id).map(|place| self.pause(place)),
            Action::Resume(id) => place(id).map(|place| self.resume(place)),
            Action::Slow(id, span) => place(id).map(|place| self.odd(place).slow = *span),
            Action::Clock { node, offset_us, drift_ppm } => place(node).map(|place| {
                let oddity = self.odd(place);
                (oddity.offset_us, oddity.drift_ppm) = (*offset_us, *drift_ppm);
                let note = format!("clock {offset_us:+}us {drift_ppm:+}ppm");
                self.see(place, Seen::Note(&note));
            }),
            Action::Cut(cut) => {
                self.world.cuts.push(ActiveCut::new(cut, &self.group));
                self.see(0, Seen::Note(&describe(&cut.kind)));
                None
            }
            Action::Heal(name) => {
                self.world.cuts.retain(|cut| cut.name != *name);
                self.see(0, Seen::Note("heal"));
                None
            }
            Action::Input(id, input) => place(id).map(|place| self.input(place, input.clone())),
        };
    }

    fn input(&mut self, place: usize, input: P::Input) {
        if self.nodes[place].up {
            self.see(place, Seen::Input(&input));
            self.step(place, |process, cx| process.on_input(input, cx));
        }
    }

    fn crash(&mut self, place: usize) {
        let node = &mut self.nodes[place];
        if !std::mem::take(&mut node.up) {
            return;
        }
        let process = std::mem::take(&mut node.process);
        node.timers.clear();
        self.monitor.died(self.group.ring()[place], &process);
        let oddity = self.odd(place);
        oddity.saved = Some(process.durable());
        oddity.trap = None;
        let backlog = oddity.backlog.take();
        self.world.faults.bite(FaultKind::Crash);
        self.see(place, Seen::Crash);
        // What waited for it is dropped like any other message to a stopped process.
        for event in backlog.into_iter().flatten() {
            self.handle_late(event);
        }
    }

    fn recover(&mut self, place: usize) {
        if self.nodes[place].up {
            return;
        }
        let saved = self.odd(place).saved.take();
        self.nodes[place].up = true;
        self.world.faults.bite(FaultKind::Recover);
        self.monitor.born(true);
        self.see(place, Seen::Recover);
        self.step(place, |process, cx| process.on_start(saved, cx));
    }

    fn pause(&mut self, place: usize) {
        if self.nodes[place].up {
            self.odd(place).backlog.get_or_insert_with(VecDeque::new);
            self.see(place, Seen::Pause);
        }
    }

    fn resume(&mut self, place: usize) {
        if let Some(backlog) = self.odd(place).backlog.take() {
            self.see(place, Seen::Resume);
            let now = self.world.now.as_micros();
            for event in backlog {
                self.world.queue.push(now, Event::Late(Box::new(event)));
            }
        }
    }

    fn odd(&mut self, place: usize) -> &mut Oddity<P> {
        self.nodes[place].odd = true;
        self.oddities.entry(place).or_default()
    }

    /// Whether events for this process have to wait.
    #[cold]
    fn holds_up(&self, place: usize) -> bool {
        self.nodes[place].up
            && self
                .oddities
                .get(&place)
                .is_some_and(|oddity| oddity.backlog.is_some() || !oddity.slow.is_zero())
    }

    #[cold]
    fn hold_up(&mut self, place: usize, event: Event<P>) {
        let now = self.world.now;
        let oddity = self.odd(place);
        if let Some(backlog) = &mut oddity.backlog {
            backlog.push_back(event);
            self.world.faults.bite(FaultKind::Pause);
        } else {
            oddity.busy_until = oddity.busy_until.max(now) + oddity.slow;
            let until = oddity.busy_until.as_micros();
            self.world.queue.push(until, Event::Late(Box::new(event)));
            self.world.faults.bite(FaultKind::Slow);
        }
    }

    /// An event that has waited long enough; unless its process is paused by now.
    fn handle_late(&mut self, event: Event<P>) {
        let place = match &event {
            Event::Deliver { to, .. } => *to as usize,
            Event::Timer { place, .. } => *place as usize,
            Event::Act(_) | Event::Late(_) => return,
        };
        if let Some(oddity) = self.oddities.get_mut(&place)
            && let Some(backlog) = &mut oddity.backlog
        {
            return backlog.push_back(event);
        }
        match event {
            Event::Deliver { to, from, id, msg } => self.deliver(to as usize, from, id, msg),
            Event::Timer { place, number, timer } => self.fire(place as usize, number, timer),
            Event::Act(_) | Event::Late(_) => {}
        }
    }
}

/// A cut in the words of the command line.
pub(crate) fn describe(cut: &CutKind) -> String {
    let list =
        |ids: &[NodeId]| ids.iter().map(|id| id.number().to_string()).collect::<Vec<_>>().join(",");
    match cut {
        CutKind::Partition(sides) => {
            let sides: Vec<_> = sides.iter().map(|side| list(side)).collect();
            format!("partition {}", sides.join("|"))
        }
        CutKind::OneWay(from, to) => format!("cut {}>{}", list(from), list(to)),
    }
}

impl<P: Process> Oddity<P> {
    /// What the process's own clock shows.
    fn reading(&self, now: Time, faults: &mut FaultCounts) -> Time {
        if self.offset_us == 0 && self.drift_ppm == 0 {
            return now;
        }
        if self.offset_us != 0 {
            faults.bite(FaultKind::Offset);
        }
        let now = i128::from(now.as_micros());
        let gained = now * i128::from(self.drift_ppm) / 1_000_000;
        let reading = now + gained + i128::from(self.offset_us);
        Time::from_micros(u64::try_from(reading.max(0)).unwrap_or(u64::MAX))
    }

    /// How long a span of the process's own clock really is.
    fn real(&self, span_us: u64, faults: &mut FaultCounts) -> u64 {
        if self.drift_ppm == 0 {
            return span_us;
        }
        faults.bite(FaultKind::Drift);
        let rate = (1_000_000 + i128::from(self.drift_ppm)).max(1);
        u64::try_from(i128::from(span_us) * 1_000_000 / rate).unwrap_or(u64::MAX)
    }
}

impl<P: Process> World<P> {
    fn is_cut(&mut self, from: usize, to: usize) -> bool {
        match self.cuts.iter().find(|cut| cut.severs(from, to)) {
            Some(cut) => {
                self.faults.bite(cut.fault);
                true
            }
            None => false,
        }
    }

    #[inline]
    fn push(&mut self, at: u64, to: u32, from: NodeId, id: u64, msg: P::Msg) {
        if let Some(in_flight) = &mut self.in_flight
            && msg.kind().role == Role::Protocol
        {
            *in_flight += 1;
        }
        self.queue.push(at, Event::Deliver { to, from, id, msg });
    }
}

/// Where the effects of one step go.
struct Sink<'a, P: Process, O> {
    world: &'a mut World<P>,
    outgoing: &'a mut Outgoing,
    timers: &'a mut Timers<P::Timer>,
    oddity: Option<&'a mut Oddity<P>>,
    observer: &'a mut O,
    group: &'a Group,
    place: usize,
    me: NodeId,
    stirred: &'a mut bool,
}

impl<P: Process, O: Observer<P>> Sink<'_, P, O> {
    fn see(&mut self, place: usize, seen: Seen<'_, P>) {
        if O::ACTIVE {
            self.observer.event(self.world.now, place, seen);
        }
    }

    /// Whether the process has crashed earlier in this step.
    #[inline]
    fn is_dead(&self) -> bool {
        let trap = self.oddity.as_ref().and_then(|oddity| oddity.trap.as_ref());
        trap.is_some_and(|trap| trap.sprung)
    }

    /// Counts down to a crash in the middle of sending; says whether it is now.
    #[cold]
    fn approach_trap(&mut self, name: &str) -> bool {
        let trap = self.oddity.as_mut().and_then(|oddity| oddity.trap.as_mut());
        let Some(trap) = trap.filter(|trap| trap.kind == name) else { return false };
        match trap.left.checked_sub(1) {
            Some(left) => trap.left = left,
            None => trap.sprung = true,
        }
        trap.sprung
    }
}

impl<P: Process, O: Observer<P>> Effects<P> for Sink<'_, P, O> {
    #[inline]
    fn send(&mut self, to: NodeId, msg: P::Msg) {
        let kind = msg.kind();
        if self.oddity.is_some() && (self.is_dead() || self.approach_trap(kind.name)) {
            return;
        }
        // A message to somebody who is no member goes nowhere, as on a real network.
        let Some(target) = self.group.place_from(self.place, to) else { return };
        let world = &mut *self.world;
        let id = world.sent;
        world.sent += 1;
        world.tally.add(kind);
        if O::ACTIVE {
            self.observer.event(world.now, self.place, Seen::Send { id, to, msg: &msg });
        }
        let link = self.outgoing.link(target as u32);
        let number = link.count;
        link.count += 1;
        let why = match world.oracle.fate(self.me, to, number) {
            _ if !world.cuts.is_empty() && world.is_cut(self.place, target) => Why::Cut,
            Fate::Lost => {
                world.faults.bite(FaultKind::Loss);
                Why::Lost
            }
            Fate::Arrives(after) => {
                let mut at = world.now.as_micros().saturating_add(after);
                if at < link.latest {
                    if world.reorder {
                        world.faults.bite(FaultKind::Reorder);
                    } else {
                        at = link.latest;
                    }
                }
                link.latest = link.latest.max(at);
                return world.push(at, target as u32, self.me, id, msg);
            }
            Fate::Twice(first, second) => {
                world.faults.bite(FaultKind::Duplicate);
                for after in [first, second] {
                    let mut at = world.now.as_micros().saturating_add(after);
                    if !world.reorder {
                        at = at.max(link.latest);
                        link.latest = at;
                    }
                    world.push(at, target as u32, self.me, id, msg.clone());
                }
                return;
            }
        };
        *self.stirred = true;
        let (now, me) = (world.now, self.me);
        if O::ACTIVE {
            self.observer.event(now, target, Seen::Drop { id, from: me, msg: &msg, why });
        }
    }

    fn set_timer(&mut self, timer: P::Timer, after: Range<Duration>) {
        if self.is_dead() {
            return;
        }
        let number = self.timers.arm(timer);
        let (low, high) = (micros(after.start), micros(after.end));
        let mut span = self.world.oracle.timer(self.me, number, low, high);
        if let Some(oddity) = &self.oddity {
            span = oddity.real(span, &mut self.world.faults);
        }
        let at = self.world.now.as_micros().saturating_add(span);
        self.world.queue.push(at, Event::Timer { place: self.place as u32, number, timer });
    }

    fn cancel_timer(&mut self, timer: P::Timer) {
        self.timers.disarm(timer);
    }

    fn emit(&mut self, output: P::Output) {
        *self.stirred = true;
        if !self.is_dead() {
            self.see(self.place, Seen::Output(&output));
        }
    }

    fn rule(&mut self, rule: &'static str) {
        self.see(self.place, Seen::Rule(rule));
    }

    #[inline]
    fn wants_rules(&self) -> bool {
        O::ACTIVE
    }
}
