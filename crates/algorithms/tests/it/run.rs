//! A run of all processes of an algorithm by hand: every verb at every process.

use bellwether_algorithms::definition::{Definition, Settings};
use bellwether_core::{Call, Context, Effects, Group, Here, NodeId, Process, Time};
use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

/// Settings with a coordinator, for algorithms that need one.
pub(crate) fn settings(group: &Group) -> Settings {
    let coordinator = group.ring().last().copied();
    Settings { coordinator, ..Settings::new(Duration::from_millis(100)) }
}

/// The group that an algorithm runs in.
pub(crate) fn group<P: Process>(definition: &Definition<P>) -> Group {
    Group::numbered(definition.nodes.unwrap_or(4)).unwrap()
}

/// A verb with something in place of what it takes: `transfer:2:3` for `transfer:TO:AMOUNT`.
pub(crate) fn spell_out(verb: &str) -> String {
    verb.replace("TO", "2").replace("AMOUNT", "3")
}

/// What the processes of a run have asked for, and said.
pub(crate) struct World<P: Process> {
    me: usize,
    pub(crate) sent: VecDeque<(usize, NodeId, P::Msg)>,
    /// The one that was set first rings first, whatever it was set to: a clock must not matter.
    pub(crate) timers: VecDeque<(usize, P::Timer)>,
    pub(crate) said: Vec<(usize, P::Output)>,
}

impl<P: Process> Effects<P> for World<P> {
    fn send(&mut self, to: NodeId, msg: P::Msg) {
        self.sent.push_back((self.me, to, msg));
    }

    fn set_timer(&mut self, timer: P::Timer, _: Range<Duration>) {
        self.cancel_timer(timer.clone());
        self.timers.push_back((self.me, timer));
    }

    fn cancel_timer(&mut self, timer: P::Timer) {
        self.timers.retain(|(place, set)| (*place, set) != (self.me, &timer));
    }

    fn emit(&mut self, output: P::Output) {
        self.said.push((self.me, output));
    }

    fn rule(&mut self, _: &'static str) {}
}

/// What a clock shows at a step of the run, at this place.
pub(crate) type Clock = fn(u64, usize) -> Time;

pub(crate) struct Run<'a, P: Process> {
    pub(crate) definition: &'a Definition<P>,
    pub(crate) group: Group,
    pub(crate) config: P::Config,
    clock: Clock,
    steps: u64,
    /// By place. Before a process has started, there is nothing to ask of it.
    pub(crate) processes: Vec<P>,
    pub(crate) world: World<P>,
}

impl<'a, P: Process> Run<'a, P> {
    pub(crate) fn new(definition: &'a Definition<P>, clock: Clock) -> Self {
        let group = group(definition);
        let config = definition.config(&settings(&group), &group);
        let (sent, timers, said) = (VecDeque::new(), VecDeque::new(), Vec::new());
        let world = World { me: 0, sent, timers, said };
        let processes = vec![P::default(); group.len()];
        Run { definition, group, config, clock, steps: 0, processes, world }
    }

    /// Whether all processes have started.
    pub(crate) fn has_begun(&self) -> bool {
        self.steps >= self.group.len() as u64
    }

    /// What the clock at this place shows now.
    pub(crate) fn now(&self, place: usize) -> Time {
        (self.clock)(self.steps, place)
    }

    /// All verbs at all processes. `look` sees the run after every step, and at which place that
    /// was.
    pub(crate) fn play(mut self, mut look: impl FnMut(&Self, usize)) -> Self {
        for place in 0..self.group.len() {
            self.step(place, Call::Start(None), &mut look);
        }
        self.go_on(&mut look);
        for verb in self.definition.verbs {
            for place in 0..self.group.len() {
                if let Some(input) = self.definition.input(&spell_out(verb)) {
                    self.step(place, Call::Input(input), &mut look);
                }
            }
            self.go_on(&mut look);
        }
        self
    }

    /// Some messages and then a timer, a number of times: some algorithms never rest.
    fn go_on(&mut self, look: &mut impl FnMut(&Self, usize)) {
        for _ in 0..20 {
            for _ in 0..50 {
                let Some((from, to, msg)) = self.world.sent.pop_front() else { break };
                let Some(place) = self.group.place(to) else { continue };
                self.step(place, Call::Message(self.group.ring()[from], msg), look);
            }
            let Some((place, timer)) = self.world.timers.pop_front() else { break };
            self.step(place, Call::Timer(timer), look);
        }
    }

    fn step(&mut self, place: usize, call: Call<P>, look: &mut impl FnMut(&Self, usize)) {
        self.steps += 1;
        self.world.me = place;
        let here = Here::new(&self.group, place, (self.clock)(self.steps, place), false);
        let mut cx = Context::new(&here, &self.config, &mut self.world);
        call.make(&mut self.processes[place], &mut cx);
        look(self, place);
    }
}
