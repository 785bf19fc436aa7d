use super::super::tests::{Crowd, Move, State as App, behaves, id, opening};
use super::*;
use Move::{Deliver, Release, Request};
use bellwether_core::{Effect, Group, step};
use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

fn printed(wants: &[u32]) -> Crowd<Singhal> {
    let mut opening = opening(wants.len() as u32);
    opening.options.as_printed = true;
    Crowd::open(opening, wants).unwrap()
}

#[test]
fn behaves_at_random() {
    behaves::<Singhal>();
}

/// In every state of three. Without any one clause of SG8 a process starves here.
#[test]
fn of_any_two_one_asks_the_other_and_all_ask_the_holder() {
    let mut seen = BTreeSet::new();
    let mut open = vec![Crowd::<Singhal>::new(&[2, 2, 2])];
    while let Some(crowd) = open.pop() {
        let mut hasher = DefaultHasher::new();
        (&crowd.processes, &crowd.applications, &crowd.channels).hash(&mut hasher);
        if !seen.insert(hasher.finish()) {
            continue;
        }
        for (i, j) in [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)] {
            assert!(is_asked(&crowd, i, j), "{i} and {j} of {crowd:?}");
        }
        let moves = crowd.moves();
        assert!(!moves.is_empty() || crowd.is_served(), "starved: {crowd:?}");
        for next in moves {
            let mut crowd = crowd.clone();
            crowd.make(next).unwrap();
            open.push(crowd);
        }
    }
    assert!(seen.len() > 10_000);
}

/// Whether what the module says of any two processes, and of the token's holder, holds of `i`,
/// which may be the holder, and `j`.
fn is_asked(crowd: &Crowd<Singhal>, i: usize, j: usize) -> bool {
    let (this, that) = (&crowd.processes[i], &crowd.processes[j]);
    let on_the_way = [(i, j), (j, i)].iter().any(|pair| {
        let messages = crowd.channels.get(pair).into_iter().flatten();
        messages.into_iter().any(|msg| matches!(msg, Msg::Request(_)))
    });
    let knows = match &this.state {
        State::None | State::Requesting => this.known[j].requesting,
        State::Executing(token) | State::Holding(token) => {
            let newest = match this.known[j].number > token.known[j].number {
                true => this.known[j],
                false => token.known[j],
            };
            newest.requesting
        }
    };
    on_the_way || knows || that.known[i].requesting
}

/// P1 of 1, 2, 3 in this state, with these numbers of requests and those of the others that are R.
fn first(state: State, numbers: [u32; 3], requesting: &[usize]) -> Singhal {
    Singhal { state, known: knowing(numbers, requesting) }
}

fn knowing(numbers: [u32; 3], requesting: &[usize]) -> Vec<Known> {
    let known = |place| Known { number: numbers[place], requesting: requesting.contains(&place) };
    (0..3).map(known).collect()
}

fn token(numbers: [u32; 3], requesting: &[usize]) -> Box<Token> {
    Box::new(Token { known: knowing(numbers, requesting), entries: 7 })
}

impl Singhal {
    /// As P1 of 1, 2, 3.
    fn act(&mut self, handler: impl FnOnce(&mut Self, &mut Cx<'_>)) -> Vec<Effect<Self>> {
        self.act_at(0, handler)
    }

    fn act_at(
        &mut self,
        place: usize,
        handler: impl FnOnce(&mut Self, &mut Cx<'_>),
    ) -> Vec<Effect<Self>> {
        let group = Group::numbered(3).unwrap();
        step(&group, place, &opening(3), |cx| handler(self, cx))
    }

    fn hear(&mut self, from: u32, number: u32) -> Vec<Effect<Self>> {
        self.act(|p1, cx| p1.on_message(id(from), Msg::Request(number), cx))
    }

    fn receive(&mut self, token: Box<Token>) -> Vec<Effect<Self>> {
        self.act(|p1, cx| p1.on_message(id(2), Msg::Token(token), cx))
    }
}

fn asks(to: u32, number: u32) -> Effect<Singhal> {
    Effect::Send(id(to), Msg::Request(number))
}

fn passes(to: u32, token: Box<Token>) -> Effect<Singhal> {
    Effect::Send(id(to), Msg::Token(token))
}

/// For each place, those that it asks.
fn stairs(crowd: &Crowd<Singhal>) -> Vec<Vec<usize>> {
    let asked = |process: &Singhal| {
        let numbered = process.known.iter().enumerate();
        numbered.filter(|(_, known)| known.requesting).map(|(place, _)| place).collect()
    };
    crowd.processes.iter().map(asked).collect()
}

#[test]
fn sg1_a_staircase() {
    let crowd = Crowd::<Singhal>::new(&[0; 4]);
    assert_eq!(stairs(&crowd), [vec![], vec![0], vec![0, 1], vec![0, 1, 2]]);
    assert!(crowd.processes[0].has_token());
    assert!(!crowd.processes[1].has_token());
}

#[test]
fn sg1_a_later_staircase_starts_at_the_holder() {
    let mut opening = opening(4);
    opening.token = id(3);
    opening.inside = Some(id(3));
    opening.waiting = vec![id(1)];
    let mut crowd = Crowd::<Singhal>::open(opening, &[0; 4]).unwrap();
    assert_eq!(stairs(&crowd), [vec![2, 3], vec![0, 2, 3], vec![], vec![2]]);
    assert!(matches!(crowd.processes[2].state, State::Executing(_)));
    assert_eq!(crowd.processes[0].state, State::Requesting);
    assert_eq!(crowd.sent, 2);
    crowd.walk(1).unwrap();
    assert_eq!(crowd.entries, 1);
}

#[test]
fn sg2_asks_those_that_are_r() {
    let mut p1 = first(State::None, [4, 2, 2], &[2]);
    assert_eq!(p1.act(Singhal::request), [asks(3, 5)]);
    assert_eq!(p1, first(State::Requesting, [5, 2, 2], &[2]));
}

#[test]
fn sg2_an_idle_holder_enters() {
    let mut p1 = first(State::Holding(token([4, 2, 2], &[])), [4, 2, 2], &[]);
    assert_eq!(p1.act(Singhal::request), [Effect::Emit(Granted(8))]);
    assert!(matches!(p1.state, State::Executing(_)));
}

#[test]
fn sg3_notes_a_request() {
    for state in [State::None, State::Executing(token([4, 2, 2], &[]))] {
        let mut p1 = first(state.clone(), [4, 2, 2], &[]);
        assert_eq!(p1.hear(2, 3), []);
        assert_eq!(p1, first(state, [4, 3, 2], &[1]));
    }
}

#[test]
fn sg4_a_waiting_process_asks_every_new_one() {
    let mut p1 = first(State::Requesting, [5, 2, 2], &[]);
    assert_eq!(p1.hear(2, 3), [asks(2, 5)]);
    assert_eq!(p1, first(State::Requesting, [5, 3, 2], &[1]));
    assert_eq!(p1.hear(2, 4), [], "it has been asked");
}

#[test]
fn sg5_an_idle_holder_passes_the_token_on() {
    let mut p1 = first(State::Holding(token([4, 2, 2], &[])), [4, 2, 2], &[]);
    assert_eq!(p1.hear(2, 3), [passes(2, token([4, 3, 2], &[1]))]);
    assert_eq!(p1, first(State::None, [4, 3, 2], &[1]));
}

#[test]
fn sg6_enters_with_the_token() {
    let mut p1 = first(State::Requesting, [5, 2, 2], &[1]);
    assert_eq!(p1.receive(token([4, 3, 2], &[])), [Effect::Emit(Granted(8))]);
    assert!(p1.has_token());
}

#[test]
fn sg7_the_newer_overwrites_the_older() {
    // P1 knows more of P2, the token of P3; of itself P1 does.
    let inside = State::Executing(token([4, 2, 6], &[0]));
    let mut p1 = first(inside, [5, 3, 5], &[1, 2]);
    assert_eq!(p1.act(Singhal::release), [passes(2, token([5, 3, 6], &[1]))]);
    assert_eq!(p1, first(State::None, [5, 3, 6], &[1]));
}

#[test]
fn sg7_without_requests_the_holder_keeps_the_token() {
    // What came by the staircase or by SG8 has no newer number, and is forgotten.
    let mut p1 = first(State::Executing(token([4, 2, 2], &[])), [5, 2, 2], &[1, 2]);
    assert_eq!(p1.act(Singhal::release), []);
    assert_eq!(p1, first(State::Holding(token([5, 2, 2], &[])), [5, 2, 2], &[]));
}

#[test]
fn sg7_the_next_on_the_ring_is_first() {
    for (place, waiting, next) in [(0, [1, 2], 2), (1, [0, 2], 3), (2, [0, 1], 1)] {
        let mut process = first(State::Executing(token([5; 3], &waiting)), [5; 3], &[]);
        let effects = process.act_at(place, Singhal::release);
        assert_eq!(effects, [passes(next, token([5; 3], &waiting))]);
        assert_eq!(process, first(State::None, [5; 3], &waiting), "and it knows who waits");
    }
}

#[test]
fn sg8_an_outdated_request_makes_one_ask_its_sender() {
    let mut p1 = first(State::None, [4, 2, 2], &[]);
    assert_eq!(p1.hear(2, 2), []);
    assert_eq!(p1, first(State::None, [4, 2, 2], &[1]));
    assert_eq!(p1.act(Singhal::request), [asks(2, 5)]);

    let mut p1 = first(State::Requesting, [5, 2, 2], &[]);
    assert_eq!(p1.hear(2, 1), [asks(2, 5)]);
    assert_eq!(p1, first(State::Requesting, [5, 2, 2], &[1]));
    assert_eq!(p1.hear(2, 2), [], "it has been asked");
}

#[test]
fn sg8_the_holder_of_the_token_tells_the_sender_to_ask() {
    let token = token([4, 2, 2], &[]);
    for state in [State::Executing(token.clone()), State::Holding(token)] {
        let mut p1 = first(state, [4, 2, 2], &[]);
        let before = p1.clone();
        assert_eq!(p1.hear(2, 2), [asks(2, 4)]);
        assert_eq!(p1, before);
    }
}

#[test]
fn sg8_the_token_may_know_better() {
    let mut p1 = first(State::Executing(token([4, 2, 2], &[])), [5, 0, 2], &[]);
    let before = p1.clone();
    assert_eq!(p1.hear(2, 2), [asks(2, 5)]);
    assert_eq!(p1, before);
    assert_eq!(p1.hear(2, 3), [], "but this is news to the token");
    assert!(p1.known[1].requesting);
}

/// The shortest of those runs: P3's REQUEST to P2 is slow, and the token comes to P2 by way of P1
/// and P2's own REQUEST to it.
const STARVING: [Move; 15] = [
    Request(1),
    Request(2),
    Deliver(2, 0, 0), // REQUEST
    Request(0),
    Deliver(0, 2, 0), // TOKEN: P3 enters
    Release(2),
    Deliver(0, 2, 0), // REQUEST: P3 sends the token back
    Request(2),
    Deliver(2, 0, 0), // TOKEN: P1 enters
    Release(0),
    Deliver(1, 0, 0), // REQUEST
    Deliver(0, 1, 0), // TOKEN: P2 enters
    Release(1),
    Deliver(2, 0, 0), // REQUEST of P3's second wish, where the token is no more
    Deliver(2, 1, 0), // REQUEST of its first: outdated
];

#[test]
fn known_failure_as_printed_an_outdated_request_is_dropped() {
    let mut crowd = printed(&[1, 1, 2]).with_channels(Channels::Fifo);
    for next in STARVING {
        crowd.make(next).unwrap();
    }
    assert_eq!(crowd.moves(), []);
    assert!(matches!(crowd.processes[1].state, State::Holding(_)));
    assert_eq!(crowd.applications[2].state, App::Waiting);
}

#[test]
fn sg8_saves_the_starving_run() {
    let mut crowd = Crowd::<Singhal>::new(&[1, 1, 2]).with_channels(Channels::Fifo);
    for next in STARVING {
        crowd.make(next).unwrap();
    }
    // P2 tells P3 to ask it; P3 does so, and gets the token.
    for next in [Deliver(1, 2, 0), Deliver(2, 1, 0), Deliver(1, 2, 0), Release(2)] {
        crowd.make(next).unwrap();
    }
    assert!(crowd.is_served());
}

#[test]
fn one_at_a_time_costs_one_more_than_those_that_came_since() {
    let n = 9;
    let mut crowd = Crowd::<Singhal>::new(&vec![1_000; n]);
    let mut recent: Vec<usize> = (0..n).collect();
    for round in 0..1_000_usize {
        let place = (round * round / 3 + round) % n;
        let rank = recent.iter().position(|other| *other == place).unwrap();
        recent[..=rank].rotate_right(1);
        let before = crowd.sent;
        crowd.make(Request(place)).unwrap();
        while let Some(next) = crowd.moves().into_iter().find(|next| !matches!(next, Request(_))) {
            crowd.make(next).unwrap();
        }
        let cost = if rank == 0 { 0 } else { rank as u64 + 1 };
        assert_eq!(crowd.sent - before, cost, "round {round}");
    }
    assert_eq!(crowd.entries, 1_000);
}

#[test]
fn alone() {
    let mut crowd = Crowd::<Singhal>::new(&[5]);
    crowd.walk(1).unwrap();
    assert_eq!((crowd.entries, crowd.sent), (5, 0));
}

#[test]
fn nothing_from_the_network_does_harm() {
    let mut p1 = first(State::Requesting, [5, 2, 2], &[1]);
    let before = p1.clone();
    let short = Box::new(Token { known: vec![Known::default(); 2], entries: 0 });
    assert_eq!(p1.receive(short), []);
    assert_eq!(p1.hear(1, 9), [], "from itself");
    assert_eq!(p1.hear(4, 9), [], "from a stranger");
    assert_eq!(p1, before);

    let mut huge = token([u32::MAX; 3], &[]);
    huge.entries = u64::MAX;
    p1.receive(huge);
    for _ in 0..2 {
        p1.act(Singhal::release);
        p1.act(Singhal::request);
    }
    assert_eq!(p1.hear(2, u32::MAX), [asks(2, u32::MAX)]);

    let mut idle = first(State::None, [5, 2, 2], &[]);
    assert_eq!(idle.receive(token([5, 2, 2], &[])), [], "it has not asked");
    assert!(!idle.has_token());

    let mut blank = Singhal::default();
    blank.hear(2, 1);
    blank.act(Singhal::request);
    blank.act(Singhal::release);
    blank.receive(Box::new(Token { known: Vec::new(), entries: 0 }));
    assert_eq!(blank, Singhal::default());
}
