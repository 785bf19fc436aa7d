//! An algorithm that says it does not look at clocks does the same whatever they show, and one that
//! says it does is not the same: [`Algorithm::READS_CLOCK`] is neither forgotten nor idle.

#![expect(clippy::unwrap_used, reason = "a helper that cannot go on fails its test")]

use bellwether_algorithms::catalogue::{Algorithm, ENTRIES, Settings, Visitor, visit};
use bellwether_core::{Call, Context, Effects, Group, Here, NodeId, Process, Time};
use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_millis(100);

/// What the processes of a run have asked for, and said.
struct World<P: Process> {
    me: usize,
    sent: VecDeque<(usize, NodeId, P::Msg)>,
    /// The one that was set first rings first, whatever it was set to: a clock must not matter.
    timers: VecDeque<(usize, P::Timer)>,
    said: Vec<String>,
}

impl<P: Process> Effects<P> for World<P> {
    fn send(&mut self, to: NodeId, msg: P::Msg) {
        self.sent.push_back((self.me, to, msg));
    }

    fn set_timer(&mut self, timer: P::Timer, _: Range<Duration>) {
        self.cancel_timer(timer);
        self.timers.push_back((self.me, timer));
    }

    fn cancel_timer(&mut self, timer: P::Timer) {
        self.timers.retain(|set| *set != (self.me, timer));
    }

    fn emit(&mut self, output: P::Output) {
        self.said.push(format!("P{} {output:?}", self.me + 1));
    }

    fn rule(&mut self, _: &'static str) {}
}

/// What a clock shows at a step of the run, at this place.
type Clock = fn(u64, usize) -> Time;

struct Run<A: Algorithm> {
    group: Group,
    config: A::Config,
    clock: Clock,
    steps: u64,
    processes: Vec<A>,
    world: World<A>,
}

impl<A: Algorithm> Run<A> {
    fn new(clock: Clock) -> Self {
        let group = Group::numbered(A::NODES.unwrap_or(4)).unwrap();
        let coordinator = group.ring().last().copied();
        let config = A::config(&Settings { coordinator, ..Settings::new(TIMEOUT) }, &group);
        let (sent, timers, said) = (VecDeque::new(), VecDeque::new(), Vec::new());
        let world = World { me: 0, sent, timers, said };
        let processes = vec![A::default(); group.len()];
        Run { group, config, clock, steps: 0, processes, world }
    }

    fn step(&mut self, place: usize, call: Call<A>) {
        self.steps += 1;
        self.world.me = place;
        let here = Here::new(&self.group, place, (self.clock)(self.steps, place), false);
        let mut cx = Context::new(&here, &self.config, &mut self.world);
        call.make(&mut self.processes[place], &mut cx);
    }

    /// Some messages and then a timer, a number of times: some algorithms never rest.
    fn go_on(&mut self) {
        for _ in 0..20 {
            for _ in 0..50 {
                let Some((from, to, msg)) = self.world.sent.pop_front() else { break };
                let Some(place) = self.group.place(to) else { continue };
                self.step(place, Call::Message(self.group.ring()[from], msg));
            }
            let Some((place, timer)) = self.world.timers.pop_front() else { break };
            self.step(place, Call::Timer(timer));
        }
    }

    /// All verbs at all processes. Gives the processes at the end, and what they said.
    fn play(mut self) -> (Vec<A>, Vec<String>) {
        for place in 0..self.group.len() {
            self.step(place, Call::Start(None));
        }
        self.go_on();
        for verb in A::VERBS {
            for place in 0..self.group.len() {
                if let Some(input) = A::input(verb) {
                    self.step(place, Call::Input(input));
                }
            }
            self.go_on();
        }
        (self.processes, self.world.said)
    }
}

#[test]
fn only_those_that_say_so_look_at_their_clocks() {
    struct Compare;
    impl Visitor for Compare {
        type Output = (bool, bool);
        fn visit<A: Algorithm>(self) -> (bool, bool) {
            let stopped = Run::<A>::new(|_, _| Time::ZERO).play();
            let clock = |step, place| Time::from_micros(step * (1_000 + 77 * place as u64));
            let runs = Run::<A>::new(clock).play();
            assert!(!stopped.1.is_empty(), "{} says nothing at all", A::ENTRY.name);
            (A::READS_CLOCK, stopped != runs)
        }
    }
    for entry in ENTRIES {
        let (says, does) = visit(entry.name, Compare).unwrap();
        assert_eq!(says, does, "{}: what it says of its clocks, and what it does", entry.name);
    }
}
