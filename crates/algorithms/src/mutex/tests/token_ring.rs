use super::super::Options;
use super::super::tests::{Crowd, Move, State, behaves, id, opening};
use super::*;
use bellwether_core::{Effect, Group, step};
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::time::Duration;

impl Crowd<TokenRing> {
    /// The token makes this many hops. A process that keeps it ends the walk.
    fn go_round(&mut self, hops: usize) {
        for _ in 0..hops {
            let Some((from, to)) = self.channels.keys().next().copied() else { return };
            self.make(Move::Deliver(from, to, 0)).unwrap();
        }
    }

    /// Where the token is, or is going.
    fn token_at(&self) -> usize {
        let here = self.processes.iter().position(TokenRing::has_token);
        here.or_else(|| self.channels.keys().next().map(|(_, to)| *to)).unwrap()
    }

    fn fingerprint_of(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.processes, &self.applications, &self.channels).hash(&mut hasher);
        hasher.finish()
    }
}

#[test]
fn behaves_at_random() {
    behaves::<TokenRing>();
}

#[test]
fn tr1_who_waits_keeps_the_token_and_enters() {
    let mut crowd = Crowd::<TokenRing>::new(&[0, 0, 1]);
    crowd.make(Move::Request(2)).unwrap();
    crowd.go_round(10);
    assert_eq!(crowd.applications[2].state, State::Inside);
    assert_eq!(crowd.processes[2].token, Some(1));
    assert_eq!(crowd.channels.len(), 0, "it does not go on");
}

#[test]
fn tr2_the_token_goes_round_and_the_ring_is_as_before() {
    for n in 2..=8 {
        let mut crowd = Crowd::<TokenRing>::new(&vec![0; n]);
        let before = crowd.fingerprint_of();
        for hop in 0..n {
            assert_eq!(crowd.token_at(), (1 + hop) % n);
            crowd.go_round(1);
        }
        assert_eq!(crowd.fingerprint_of(), before);
    }
}

#[test]
fn tr3_passes_the_token_on_when_it_leaves() {
    let mut crowd = Crowd::<TokenRing>::new(&[0, 1, 0]);
    crowd.make(Move::Request(1)).unwrap();
    crowd.go_round(1);
    crowd.make(Move::Release(1)).unwrap();
    assert_eq!(crowd.channels.keys().collect::<Vec<_>>(), [&(1, 2)]);
    crowd.go_round(2);
    assert_eq!(crowd.token_at(), 1, "all the way round, with the number of entries");
    let link::Msg::Carry { body, .. } = &crowd.channels[&(0, 1)][0] else { panic!() };
    assert_eq!(*body, Token { entries: 1, way: 0 });
}

#[test]
fn tr4_who_is_alone_keeps_the_token() {
    let mut crowd = Crowd::<TokenRing>::new(&[2]);
    for _ in 0..2 {
        assert!(crowd.processes[0].has_token());
        crowd.make(Move::Request(0)).unwrap();
        crowd.make(Move::Release(0)).unwrap();
    }
    assert_eq!((crowd.sent, crowd.entries), (0, 2));
}

/// Just passed on by P1, the token comes to the process d places after P1 in d hops: 1 to n-1, and
/// n for P1 itself.
#[test]
fn a_lone_request_waits_for_the_token_to_come_round() {
    for n in 2..=9 {
        for place in 0..n {
            let mut crowd = Crowd::<TokenRing>::new(&vec![1; n]);
            crowd.make(Move::Request(place)).unwrap();
            crowd.go_round(usize::MAX);
            assert_eq!(crowd.applications[place].state, State::Inside);
            assert_eq!(crowd.sent, if place == 0 { n } else { place } as u64);
        }
    }
}

#[test]
fn a_saturated_ring_costs_one_an_entry() {
    for n in 2..=9_u64 {
        let mut crowd = Crowd::<TokenRing>::new(&vec![9; n as usize]);
        (0..n as usize).for_each(|place| crowd.make(Move::Request(place)).unwrap());
        crowd.go_round(1);
        let sent = crowd.sent;
        for entry in 1..=5 * n {
            assert_eq!(crowd.entries, entry);
            assert_eq!(crowd.sent, sent + entry - 1);
            let place = crowd.token_at();
            crowd.make(Move::Release(place)).unwrap();
            crowd.make(Move::Request(place)).unwrap();
            crowd.go_round(1);
        }
    }
}

#[test]
fn waits_and_is_inside_as_the_opening_says() {
    let waiting = vec![id(2), id(4)];
    let opening = Opening { token: id(3), inside: Some(id(3)), waiting, ..opening(4) };
    let mut crowd = Crowd::<TokenRing>::open(opening, &[0; 4]).unwrap();
    assert_eq!((crowd.sent, crowd.token_at()), (0, 2));
    crowd.make(Move::Release(2)).unwrap();
    crowd.go_round(10);
    assert_eq!((crowd.entries, crowd.token_at()), (1, 3));
}

/// The textbook's ring: dead neighbours are bypassed after T.
#[derive(Debug)]
struct Textbook {
    group: Group,
    opening: Opening,
    processes: Vec<Option<TokenRing>>,
    applications: Vec<State>,
    channels: BTreeMap<(usize, usize), Vec<link::Msg<Token>>>,
    /// Who waits for an acknowledgement, and so keeps a copy of the token.
    timers: BTreeSet<usize>,
    entries: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Request(usize),
    Release(usize),
    Deliver(usize, usize, usize),
    TimeOut(usize),
    Crash(usize),
}

impl Textbook {
    fn new(n: usize) -> Self {
        let options = Options { bypass: Some(Duration::from_millis(100)), ..Options::default() };
        let mut ring = Textbook {
            group: Group::numbered(n as u32).unwrap(),
            opening: Opening { options, ..opening(n as u32) },
            processes: vec![Some(TokenRing::default()); n],
            applications: vec![State::Idle; n],
            channels: BTreeMap::new(),
            timers: BTreeSet::new(),
            entries: 0,
        };
        (0..n).for_each(|place| ring.call(place, |process, cx| process.on_start(None, cx)));
        ring
    }

    fn call(&mut self, place: usize, handler: impl FnOnce(&mut TokenRing, &mut Cx<'_>)) {
        let Some(process) = &mut self.processes[place] else { return };
        for effect in step(&self.group, place, &self.opening, |cx| handler(process, cx)) {
            match effect {
                Effect::Send(to, msg) => {
                    let to = self.group.place(to).unwrap();
                    if self.processes[to].is_some() {
                        self.channels.entry((place, to)).or_default().push(msg);
                    }
                }
                Effect::Emit(Granted(number)) => {
                    assert!(!self.applications.contains(&State::Inside), "two inside");
                    assert_eq!(self.applications[place], State::Waiting);
                    self.applications[place] = State::Inside;
                    self.entries += 1;
                    assert_eq!(number, self.entries);
                }
                Effect::SetTimer(..) => drop(self.timers.insert(place)),
                Effect::CancelTimer(_) => drop(self.timers.remove(&place)),
            }
        }
    }

    /// What can happen without anybody wanting anything or dying, what is most urgent first.
    fn steps(&self) -> Vec<Step> {
        let inside = self.applications.iter().position(|state| *state == State::Inside);
        let mut steps: Vec<Step> = inside.map(Step::Release).into_iter().collect();
        for ((from, to), channel) in &self.channels {
            steps.extend((0..channel.len()).map(|index| Step::Deliver(*from, *to, index)));
        }
        // T is longer than a round trip.
        let in_time =
            |place: usize| !self.channels.keys().any(|(from, to)| *from == place || *to == place);
        steps.extend(self.timers.iter().copied().filter(|p| in_time(*p)).map(Step::TimeOut));
        steps
    }

    fn make(&mut self, step: Step) {
        match step {
            Step::Request(place) => {
                self.applications[place] = State::Waiting;
                self.call(place, |process, cx| process.on_input(Input::Request, cx));
            }
            Step::Release(place) => {
                self.applications[place] = State::Idle;
                self.call(place, |process, cx| process.on_input(Input::Release, cx));
            }
            Step::Deliver(from, to, index) => {
                let channel = self.channels.get_mut(&(from, to)).unwrap();
                let msg = channel.remove(index);
                if channel.is_empty() {
                    self.channels.remove(&(from, to));
                }
                let sender = self.group.ring()[from];
                self.call(to, |process, cx| process.on_message(sender, msg, cx));
            }
            Step::TimeOut(place) => {
                self.timers.remove(&place);
                self.call(place, |process, cx| process.on_timer(AckTimeout, cx));
            }
            Step::Crash(place) => {
                self.processes[place] = None;
                self.applications[place] = State::Idle;
                self.timers.remove(&place);
                self.channels.retain(|(_, to), _| *to != place);
            }
        }
    }

    fn has_token(&self, place: usize) -> bool {
        self.processes[place].as_ref().is_some_and(TokenRing::has_token)
    }
}

#[test]
fn tr2_bypasses_a_dead_neighbour_after_t() {
    let mut ring = Textbook::new(3);
    ring.make(Step::Crash(1));
    ring.make(Step::Request(2));
    assert_eq!(ring.steps(), [Step::TimeOut(0)], "P1 has sent the token to P2, which is dead");
    ring.make(Step::TimeOut(0));
    ring.make(Step::Deliver(0, 2, 0));
    assert_eq!(ring.applications[2], State::Inside);
}

#[test]
fn tr4_who_is_left_alone_keeps_the_token_and_is_quiet() {
    let mut ring = Textbook::new(3);
    // The token is with P3 when the others have died.
    ring.make(Step::Request(2));
    for next in [Step::Deliver(0, 1, 0), Step::Deliver(1, 2, 0)] {
        ring.make(next);
    }
    ring.make(Step::Crash(0));
    ring.make(Step::Crash(1));
    ring.make(Step::Release(2));
    ring.make(Step::TimeOut(2));
    ring.make(Step::TimeOut(2));
    ring.make(Step::Deliver(2, 2, 0));
    assert!(ring.has_token(2));
    assert_eq!(ring.steps(), []);
    ring.make(Step::Request(2));
    ring.make(Step::Release(2));
    assert_eq!((ring.entries, ring.steps()), (2, vec![]), "without a word");
}

/// P2 is alive but slow: P1 has waited for its ACK until T was over. There are two tokens for a while.
#[test]
fn tr5_a_second_token_is_dropped_where_the_first_has_been() {
    let mut ring = Textbook::new(3);
    ring.make(Step::Request(1));
    ring.make(Step::Deliver(0, 1, 0));
    ring.make(Step::TimeOut(0));
    assert_eq!(ring.applications[1], State::Inside);
    ring.make(Step::Deliver(0, 2, 0));
    assert_eq!(ring.processes[2].as_ref().map(|process| process.way), Some(2));
    ring.make(Step::Release(1));
    let there = ring.channels.get(&(2, 0)).cloned();
    ring.make(Step::Deliver(1, 2, 0));
    assert_eq!(ring.processes[2].as_ref().map(|process| process.way), Some(2));
    assert_eq!(ring.channels.get(&(2, 0)).cloned(), there, "P3 has passed on one");
}

/// P1 holds P2 for dead and itself for alone, until P2's ACK comes after all.
#[test]
fn tr4_a_late_sign_of_life_sets_the_token_going_again() {
    let mut ring = Textbook::new(2);
    ring.make(Step::Deliver(0, 1, 0));
    ring.make(Step::TimeOut(0));
    ring.make(Step::Deliver(0, 0, 0));
    assert!(ring.has_token(0), "alone");
    ring.make(Step::Deliver(1, 0, 0));
    assert!(!ring.has_token(0), "not alone");
    let way = |place: usize| ring.processes[place].as_ref().map(|process| process.way);
    assert_eq!((way(0), way(1)), (Some(2), Some(1)));
}

/// What no process of the group sends does no harm.
#[test]
fn a_token_from_afar_overflows_nothing() {
    for bypass in [None, Some(Duration::from_millis(100))] {
        let group = Group::numbered(2).unwrap();
        let options = Options { bypass, ..Options::default() };
        let opening = Opening { options, ..opening(2) };
        let mut p2 = TokenRing::default();
        let mut call = |handler: &dyn Fn(&mut TokenRing, &mut Cx<'_>)| {
            step(&group, 1, &opening, |cx| handler(&mut p2, cx))
        };
        call(&|p2, cx| p2.on_start(None, cx));
        call(&|p2, cx| p2.on_input(Input::Request, cx));
        let (seq, leg) = (Seq::default(), Leg::new(1, false));
        let body = Token { entries: u64::MAX, way: u64::MAX };
        let token = link::Msg::Carry { seq, leg, body };
        let did = call(&|p2, cx| p2.on_message(id(1), token.clone(), cx));
        assert_eq!(did.last(), Some(&Effect::Emit(Granted(u64::MAX))));
        for msg in [link::Msg::Ack { seq }, link::Msg::Hello] {
            call(&|p2, cx| p2.on_message(id(1), msg.clone(), cx));
        }
        call(&|p2, cx| p2.on_message(id(9), token.clone(), cx));
        assert_eq!(p2.token, Some(u64::MAX));
    }
}
