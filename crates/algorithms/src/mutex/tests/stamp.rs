//! What the tests of the algorithms by logical time share.

use super::super::tests::{Crowd, Move, State, opening, random_opening};
use super::super::{Input, Mutex};
use super::*;
use bellwether_core::{Group, step};
use std::collections::{BTreeMap, VecDeque};

#[test]
fn places_are_ordered_like_stamps() {
    let stamp = |time, by| Stamp { time, by: NodeId::new(by) };
    let ascending = [stamp(0, 7), stamp(1, 0), stamp(1, u32::MAX), stamp(2, 1), stamp(u64::MAX, 3)];
    for pair in ascending.windows(2) {
        assert!(pair[0] < pair[1] && pair[0].place() < pair[1].place(), "{pair:?}");
    }
}

/// A generator of numbers that look random.
pub(in super::super) fn random(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed;
    move |below| {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        (state >> 33) as usize % below
    }
}

/// Makes moves at random until nothing is left to be done or on the way.
pub(in super::super) fn finish<M: Mutex>(crowd: &mut Crowd<M>, seed: u64) {
    let mut random = random(seed);
    loop {
        let moves = crowd.moves();
        if moves.is_empty() {
            break;
        }
        crowd.make(moves[random(moves.len())]).unwrap();
    }
    assert!(crowd.is_served());
}

/// Every entry costs exactly this many messages for each other process, at any load.
pub(in super::super) fn costs<M: Mutex>(messages: u64) {
    for n in 1..=8 {
        for (seed, wants) in [vec![3; n], (0..n as u32).collect()].iter().enumerate() {
            let mut crowd = Crowd::<M>::new(wants);
            finish(&mut crowd, seed as u64);
            assert_eq!(crowd.entries, wants.iter().map(|wants| u64::from(*wants)).sum::<u64>());
            assert_eq!(crowd.sent, crowd.entries * messages * (n as u64 - 1), "{n}: {wants:?}");
        }
    }
}

/// A crowd, and the latest request that each of its processes can know of.
struct Watch<M: Mutex> {
    crowd: Crowd<M>,
    /// Whether a message tells what its sender knows.
    tells: fn(&M::Msg) -> bool,
    known: Vec<u64>,
    /// What the messages on the way tell.
    carried: BTreeMap<(usize, usize), VecDeque<u64>>,
    /// Where the request of each process stood before the last move.
    places: Vec<Option<u64>>,
}

impl<M: Mutex> Watch<M> {
    fn new(crowd: Crowd<M>, open: u64, tells: fn(&M::Msg) -> bool) -> Self {
        let known = vec![open; crowd.processes.len()];
        let places = crowd.processes.iter().map(Mutex::place).collect();
        Watch { crowd, tells, known, carried: BTreeMap::new(), places }
    }

    fn make(&mut self, next: Move) {
        self.crowd.make(next).unwrap();
        let places: Vec<_> = self.crowd.processes.iter().map(Mutex::place).collect();
        let mover = match next {
            Move::Request(place) => {
                let time = places[place].unwrap() >> 32;
                assert!(time > self.known[place], "{time} after {}", self.known[place]);
                self.known[place] = time;
                place
            }
            Move::Release(place) => place,
            Move::Deliver(from, to, index) => {
                let carried = self.carried.get_mut(&(from, to)).unwrap().remove(index).unwrap();
                self.known[to] = self.known[to].max(carried);
                to
            }
        };
        for ((from, to), channel) in &self.crowd.channels {
            let carried = self.carried.entry((*from, *to)).or_default();
            for msg in channel.range(carried.len()..) {
                assert_eq!(*from, mover);
                carried.push_back(if (self.tells)(msg) { self.known[mover] } else { 0 });
            }
        }
        for (place, application) in self.crowd.applications.iter().enumerate() {
            assert_eq!(places[place].is_some(), application.state != State::Idle);
            let moved = matches!(next, Move::Request(p) | Move::Release(p) if p == place);
            assert!(moved || places[place] == self.places[place], "a request changed its place");
            if application.state == State::Inside {
                assert_eq!(places.iter().flatten().min(), places[place].as_ref());
            }
        }
        self.places = places;
    }
}

/// A request keeps the place that it was given when it was made, later than all that its maker had
/// been told of; and the process inside has the first place of all.
pub(in super::super) fn keeps_order<M: Mutex>(tells: fn(&M::Msg) -> bool) {
    for seed in 0..500_u64 {
        let mut random = random(seed);
        let n = 1 + random(5) as u32;
        let opening = if seed % 2 == 0 { opening(n) } else { random_opening(n, seed) };
        let open = opening.queue().count() as u64;
        let wants: Vec<u32> = (0..n).map(|_| random(4) as u32).collect();
        let mut watch = Watch::new(Crowd::<M>::open(opening, &wants).unwrap(), open, tells);
        loop {
            let moves = watch.crowd.moves();
            if moves.is_empty() {
                break;
            }
            watch.make(moves[random(moves.len())]);
        }
        assert!(watch.crowd.is_served());
    }
}

/// No message and no input makes it panic, whatever it says and whenever it comes. Numbers are
/// from both ends of their range.
pub(in super::super) fn junk<M: Mutex>(make: fn(&mut dyn FnMut() -> u64) -> M::Msg) {
    for seed in 0..200 {
        let mut random = random(seed);
        let n = 1 + random(4) as u32;
        let (group, opening) = (Group::numbered(n).unwrap(), random_opening(n, seed));
        let mut process = M::default();
        step(&group, 0, &opening, |cx| process.on_start(None, cx));
        for _ in 0..100 {
            let msg = make(&mut || match random(2) {
                0 => random(4) as u64,
                _ => u64::MAX - random(4) as u64,
            });
            let from = NodeId::new(random(n as usize + 2) as u32);
            let input = random(4);
            step(&group, 0, &opening, |cx| match input {
                0 => process.on_input(Input::Request, cx),
                1 => process.on_input(Input::Release, cx),
                _ => process.on_message(from, msg, cx),
            });
        }
    }
}
