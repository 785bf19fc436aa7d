use super::super::tests::{Crowd, Move, State, behaves, id, opening, random_opening};
use super::super::{Options, Tree};
use super::*;

const TREES: [Tree; 4] = [Tree::LINE, Tree::Star, Tree::Arity(2), Tree::Arity(3)];

/// How a view of n processes on this tree begins, with the token at this place.
fn planted(tree: Tree, n: u32, token: usize) -> Opening {
    let options = Options { tree, ..Options::default() };
    Opening { token: id(token as u32 + 1), options, ..opening(n) }
}

fn grown(tree: Tree, wants: &[u32], token: usize) -> Crowd<Raymond> {
    Crowd::open(planted(tree, wants.len() as u32, token), wants).unwrap()
}

fn beyond(number: u32, asked: bool) -> Holder {
    Holder::Beyond { neighbour: id(number), asked }
}

fn here(using: bool, entries: u64) -> Holder {
    Holder::Here { using, entries }
}

/// How many edges lie between two places.
fn distance(tree: Tree, from: usize, to: usize) -> u64 {
    tree.towards(from, to).map_or(0, |next| 1 + distance(tree, next, to))
}

impl Crowd<Raymond> {
    /// Delivers all that is on the way, until nothing is.
    fn settle(&mut self) {
        while let Some((from, to)) = self.channels.keys().next().copied() {
            self.make(Move::Deliver(from, to, 0)).unwrap();
        }
    }

    /// One process alone wants to enter, enters and leaves.
    fn visit(&mut self, place: usize) {
        self.make(Move::Request(place)).unwrap();
        self.settle();
        assert_eq!(self.applications[place].state, State::Inside);
        self.make(Move::Release(place)).unwrap();
        assert_eq!(self.channels.len(), 0, "no other process asked");
    }

    /// Where one comes to who follows HOLDER from this place.
    fn trail(&self, mut place: usize) -> usize {
        for _ in 0..self.processes.len() {
            match self.processes[place].holder {
                Holder::Beyond { neighbour, .. } => place = neighbour.number() as usize - 1,
                Holder::Here { .. } => return place,
                Holder::Unknown => break,
            }
        }
        panic!("HOLDER leads nowhere");
    }
}

#[test]
fn behaves_at_random() {
    behaves::<Raymond>();
}

#[test]
fn behaves_at_random_on_every_tree() {
    for tree in TREES {
        for seed in 0..400 {
            let n = 1 + (seed % 9) as u32;
            let mut opening = random_opening(n, seed);
            opening.options.tree = tree;
            let mut crowd = Crowd::<Raymond>::open(opening, &vec![3; n as usize]).unwrap();
            crowd.walk(seed).unwrap_or_else(|wrong| panic!("{tree}, seed {seed}: {wrong}"));
        }
    }
}

#[test]
fn rm1_an_idle_holder_enters_without_a_word() {
    let mut crowd = grown(Tree::LINE, &[2, 0], 0);
    for entries in 1..=2 {
        crowd.make(Move::Request(0)).unwrap();
        assert_eq!(crowd.processes[0].holder, here(true, entries));
        crowd.make(Move::Release(0)).unwrap();
    }
    assert_eq!(crowd.sent, 0);
}

#[test]
fn rm1_passes_the_token_on_with_the_number_of_entries() {
    let mut crowd = grown(Tree::LINE, &[1, 1], 0);
    crowd.visit(0);
    crowd.make(Move::Request(1)).unwrap();
    crowd.make(Move::Deliver(1, 0, 0)).unwrap();
    assert_eq!(crowd.channels[&(0, 1)], [Msg::Privilege { entries: 1 }]);
    assert_eq!(crowd.processes[0].holder, beyond(2, false));
}

#[test]
fn rm1_who_passes_it_on_with_others_waiting_asks_for_it_back() {
    let mut crowd = grown(Tree::Star, &[0, 1, 1], 0);
    crowd.make(Move::Request(1)).unwrap();
    crowd.make(Move::Request(2)).unwrap();
    crowd.make(Move::Deliver(1, 0, 0)).unwrap();
    crowd.make(Move::Deliver(2, 0, 0)).unwrap();
    assert_eq!(crowd.channels[&(0, 1)], [Msg::Privilege { entries: 0 }, Msg::Request]);
    assert_eq!(crowd.processes[0].holder, beyond(2, true));
    assert_eq!(crowd.processes[0].queue, [id(3)]);
}

/// The request reaches P2 first and waits there for the token that it is to take back.
#[test]
fn rm1_a_request_may_overtake_the_token() {
    let mut crowd = grown(Tree::Star, &[0, 1, 1], 0);
    for next in [Move::Request(1), Move::Request(2)] {
        crowd.make(next).unwrap();
    }
    for next in [Move::Deliver(1, 0, 0), Move::Deliver(2, 0, 0), Move::Deliver(0, 1, 1)] {
        crowd.make(next).unwrap();
    }
    assert_eq!(crowd.processes[1].queue, [id(2), id(1)]);
    crowd.make(Move::Deliver(0, 1, 0)).unwrap();
    assert_eq!(crowd.applications[1].state, State::Inside);
    crowd.make(Move::Release(1)).unwrap();
    assert_eq!(crowd.channels[&(1, 0)], [Msg::Privilege { entries: 1 }]);
}

#[test]
fn rm2_asks_once_for_all() {
    let mut crowd = grown(Tree::LINE, &[0, 1, 1], 0);
    crowd.make(Move::Request(1)).unwrap();
    crowd.make(Move::Request(2)).unwrap();
    crowd.make(Move::Deliver(2, 1, 0)).unwrap();
    assert_eq!(crowd.processes[1].queue, [id(2), id(3)]);
    assert_eq!(crowd.channels[&(1, 0)], [Msg::Request], "one, for itself and P3");
}

#[test]
fn rm4_serves_neighbours_in_the_order_of_their_requests() {
    let mut crowd = grown(Tree::Star, &[1, 1, 1, 1], 0);
    crowd.make(Move::Request(0)).unwrap();
    for place in [2, 3, 1] {
        crowd.make(Move::Request(place)).unwrap();
        crowd.make(Move::Deliver(place, 0, 0)).unwrap();
    }
    for place in [0, 2, 3, 1] {
        crowd.settle();
        assert_eq!(crowd.applications[place].state, State::Inside, "not the turn of {place}");
        crowd.make(Move::Release(place)).unwrap();
    }
}

#[test]
fn rm4_and_rm5_take_nothing_from_whom_it_cannot_come() {
    let mut line = grown(Tree::LINE, &[0, 1, 0], 0);
    let before = line.clone();
    line.post(2, 0, Msg::Request);
    line.post(2, 0, Msg::Privilege { entries: 7 });
    line.post(0, 1, Msg::Privilege { entries: 7 });
    assert_eq!(line.processes, before.processes, "no neighbour, a holder, and no process asked");
    line.make(Move::Request(1)).unwrap();
    line.post(2, 1, Msg::Privilege { entries: 7 });
    assert_eq!(line.processes[1].holder, beyond(1, true), "the token is on the other side");
}

impl Crowd<Raymond> {
    /// Delivers something that was never sent.
    fn post(&mut self, from: usize, to: usize, msg: Msg) {
        self.channels.entry((from, to)).or_default().push_front(msg);
        self.make(Move::Deliver(from, to, 0)).unwrap();
    }
}

#[test]
fn the_number_of_entries_does_not_overflow() {
    let group = bellwether_core::Group::numbered(2).unwrap();
    let mut p2 = Raymond::default();
    let opening = planted(Tree::LINE, 2, 0);
    let mut call = |handler: &dyn Fn(&mut Raymond, &mut Cx<'_>)| {
        bellwether_core::step(&group, 1, &opening, |cx| handler(&mut p2, cx))
    };
    call(&|p2, cx| p2.on_start(None, cx));
    call(&|p2, cx| p2.on_input(Input::Request, cx));
    let did = call(&|p2, cx| p2.on_message(id(1), Msg::Privilege { entries: u64::MAX }, cx));
    assert_eq!(did, [bellwether_core::Effect::Emit(Granted(u64::MAX))]);
}

/// In the line 1, 2, 3, 4 the token goes from one end to the other and turns every edge.
#[test]
fn the_edges_turn_round_with_the_token() {
    let mut crowd = grown(Tree::LINE, &[0, 0, 0, 1], 0);
    let holders = |crowd: &Crowd<Raymond>| crowd.processes.iter().map(|p| p.holder).collect();
    let before: Vec<Holder> = holders(&crowd);
    assert_eq!(before, [here(false, 0), beyond(1, false), beyond(2, false), beyond(3, false)]);
    crowd.visit(3);
    let after: Vec<Holder> = holders(&crowd);
    assert_eq!(after, [beyond(2, false), beyond(3, false), beyond(4, false), here(false, 1)]);
}

#[test]
fn a_lone_request_costs_twice_the_distance_and_turns_the_edges_to_itself() {
    for tree in TREES {
        for n in 1..=13 {
            for token in 0..n {
                for place in 0..n {
                    let mut crowd = grown(tree, &vec![1; n], token);
                    crowd.visit(place);
                    assert_eq!(crowd.sent, 2 * distance(tree, place, token), "{tree} of {n}");
                    for from in 0..n {
                        assert_eq!(crowd.trail(from), place);
                    }
                }
            }
        }
    }
}

/// With everybody always wanting, the token goes over each edge twice while all enter once.
#[test]
fn a_saturated_tree_costs_four_for_each_edge_in_each_round() {
    const ROUNDS: u64 = 20;
    for tree in TREES {
        for n in 2..=13_u64 {
            let mut crowd = grown(tree, &vec![1_000; n as usize], 0);
            let mut sent = Vec::new();
            while crowd.entries < n * (2 + ROUNDS) {
                // Everybody asks, everything arrives; only then does anybody leave.
                for place in 0..n as usize {
                    if crowd.applications[place].state == State::Idle {
                        crowd.make(Move::Request(place)).unwrap();
                    }
                }
                crowd.settle();
                if crowd.entries.is_multiple_of(n) {
                    sent.push(crowd.sent);
                }
                let inside = crowd.applications.iter().position(|a| a.state == State::Inside);
                crowd.make(Move::Release(inside.unwrap())).unwrap();
            }
            for round in sent.windows(2).skip(1) {
                assert_eq!(round[1] - round[0], 4 * (n - 1), "{tree} of {n}");
            }
        }
    }
}

#[test]
fn each_neighbour_is_in_the_queue_at_most_once() {
    for tree in TREES {
        for seed in 0..50_u64 {
            let mut crowd = grown(tree, &[2; 9], seed as usize % 9);
            let mut random: u64 = seed * 7919 + 13;
            while !crowd.is_served() {
                let moves = crowd.moves();
                random = random * 48_271 % 2_147_483_647;
                crowd.make(moves[random as usize % moves.len()]).unwrap();
                for process in &crowd.processes {
                    let mut queue: Vec<_> = process.queue.iter().collect();
                    queue.sort();
                    queue.dedup();
                    assert_eq!(queue.len(), process.queue.len(), "{process:?}");
                }
            }
        }
    }
}

#[test]
fn waits_and_is_inside_as_the_opening_says() {
    let waiting = vec![id(4), id(3)];
    let opening = Opening { inside: Some(id(2)), waiting, ..planted(Tree::LINE, 4, 1) };
    let mut crowd = Crowd::<Raymond>::open(opening, &[0; 4]).unwrap();
    assert_eq!(crowd.processes[1].holder, here(true, 0));
    assert_eq!(crowd.processes[2].queue, [id(3)]);
    assert_eq!(crowd.processes[3].queue, [id(4)]);
    crowd.settle();
    assert_eq!(crowd.entries, 0, "P2 is still inside");
    crowd.make(Move::Release(1)).unwrap();
    crowd.walk(1).unwrap();
    assert_eq!(crowd.entries, 2);
}

#[test]
fn a_hundred_thousand_processes_know_their_neighbours_only() {
    const N: usize = 100_000;
    assert!(size_of::<Raymond>() <= 64, "{} bytes", size_of::<Raymond>());
    for tree in [Tree::Arity(2), Tree::Star] {
        let mut crowd = grown(tree, &vec![1; N], N / 3);
        for place in [N - 1, 0, N / 2] {
            let cost = crowd.sent + 2 * distance(tree, place, crowd.trail(N / 3));
            crowd.visit(place);
            assert_eq!(crowd.sent, cost, "{tree}");
        }
        let largest = crowd.processes.iter().map(|p| p.queue.capacity()).max();
        assert!(largest <= Some(4), "{tree}: {largest:?}");
    }
}
