use super::super::tests::{Crowd, Move, State as Status, behaves, id, opening};
use super::*;
use bellwether_core::{Effect, Group, step};

type Three = Crowd<RicartAgrawalaToken>;

fn token(held: &[u64], entries: u64) -> Box<Token> {
    Box::new(Token { held: held.to_vec(), entries })
}

impl Three {
    fn do_all(&mut self, moves: &[Move]) {
        for next in moves {
            self.make(*next).unwrap();
        }
    }

    /// Delivers all requests that are on the way, but no token.
    fn spread(&mut self) {
        let requests = |crowd: &Self| {
            crowd.moves().into_iter().find(|next| match *next {
                Move::Deliver(from, to, i) => {
                    matches!(crowd.channels[&(from, to)][i], Msg::Request(_))
                }
                _ => false,
            })
        };
        while let Some(next) = requests(self) {
            self.make(next).unwrap();
        }
    }

    /// Where the token is going.
    fn heading(&self) -> Option<usize> {
        let on_the_way = |(_, channel): &(_, &std::collections::VecDeque<Msg>)| {
            channel.iter().any(|msg| matches!(msg, Msg::Token(_)))
        };
        self.channels.iter().find(on_the_way).map(|((_, to), _)| *to)
    }

    fn deliver_token(&mut self) {
        let next = self.moves().into_iter().find(|next| match *next {
            Move::Deliver(from, to, i) => matches!(self.channels[&(from, to)][i], Msg::Token(_)),
            _ => false,
        });
        self.make(next.unwrap()).unwrap();
    }
}

#[test]
fn behaves_at_random() {
    behaves::<RicartAgrawalaToken>();
}

#[test]
fn ri_one_has_the_token_and_all_is_zero() {
    let crowd = Three::new(&[0, 0, 0]);
    assert_eq!(crowd.processes[0].state, State::Present(token(&[0, 0, 0], 0)));
    assert!(crowd.processes[1..].iter().all(|p| p.state == State::NoToken));
    assert!(crowd.processes.iter().all(|p| p.requests == [0, 0, 0] && p.clock == 0));
}

#[test]
fn ra1_asks_all_others_with_its_clock_and_waits() {
    let mut crowd = Three::new(&[0, 1, 0]);
    crowd.make(Move::Request(1)).unwrap();
    assert_eq!(crowd.channels[&(1, 0)], [Msg::Request(1)]);
    assert_eq!(crowd.channels[&(1, 2)], [Msg::Request(1)]);
    assert_eq!(crowd.processes[1].state, State::Waiting);
}

#[test]
fn ra1_with_the_token_enters_without_a_word() {
    let mut crowd = Three::new(&[2, 0, 0]);
    for entries in 1..=2 {
        crowd.make(Move::Request(0)).unwrap();
        assert_eq!(crowd.processes[0].state, State::Held(token(&[0, 0, 0], entries)));
        crowd.make(Move::Release(0)).unwrap();
    }
    assert_eq!(crowd.sent, 0);
}

#[test]
fn rh1_keeps_the_newer_of_two_requests() {
    let mut crowd = Three::new(&[1, 2, 0]);
    // P1 hears of both at last, P3 of the second one first.
    crowd.do_all(&[Move::Request(1), Move::Deliver(1, 0, 0), Move::Deliver(0, 1, 0)]);
    crowd.do_all(&[Move::Release(1), Move::Request(0), Move::Deliver(0, 1, 0)]);
    crowd.do_all(&[Move::Request(1), Move::Deliver(1, 2, 1), Move::Deliver(1, 2, 0)]);
    assert_eq!(crowd.processes[2].requests, [0, 2, 0]);
}

#[test]
fn rh2_an_idle_holder_passes_the_token_on_at_once() {
    let mut crowd = Three::new(&[1, 1, 0]);
    crowd.do_all(&[Move::Request(0), Move::Release(0), Move::Request(1), Move::Deliver(1, 0, 0)]);
    assert_eq!(crowd.channels[&(0, 1)], [Msg::Token(token(&[0, 0, 0], 1))]);
    assert_eq!(crowd.processes[0].state, State::NoToken);
}

#[test]
fn rh2_a_holder_in_the_section_keeps_it() {
    let mut crowd = Three::new(&[1, 1, 0]);
    crowd.do_all(&[Move::Request(0), Move::Request(1), Move::Deliver(1, 0, 0)]);
    assert!(matches!(crowd.processes[0].state, State::Held(_)));
    assert_eq!(crowd.heading(), None);
}

#[test]
fn rr1_the_token_stays_if_none_waits() {
    let mut crowd = Three::new(&[0, 1, 0]);
    crowd.do_all(&[Move::Request(1), Move::Deliver(1, 0, 0), Move::Deliver(0, 1, 0)]);
    crowd.make(Move::Release(1)).unwrap();
    assert_eq!(crowd.processes[1].state, State::Present(token(&[0, 0, 0], 1)));
}

#[test]
fn rr2_writes_its_own_clock_into_the_token() {
    let mut crowd = Three::new(&[0, 1, 1]);
    crowd.do_all(&[Move::Request(1), Move::Deliver(1, 0, 0), Move::Deliver(0, 1, 0)]);
    crowd.do_all(&[Move::Request(2), Move::Deliver(2, 1, 0), Move::Release(1)]);
    assert_eq!(crowd.channels[&(1, 2)].back(), Some(&Msg::Token(token(&[0, 1, 0], 1))));
}

/// P3 of 5 is inside while all others ask, in the order 2, 1, 5, 4. They are served in the order in
/// which they stand behind P3: 4, 5, 1, 2.
#[test]
fn rr2_searches_in_a_circle() {
    let opening = Opening { token: id(3), inside: Some(id(3)), ..opening(5) };
    let mut crowd = Three::open(opening, &[1, 1, 0, 1, 1]).unwrap();
    for place in [1, 0, 4, 3] {
        crowd.make(Move::Request(place)).unwrap();
    }
    crowd.spread();
    crowd.make(Move::Release(2)).unwrap();
    for place in [3, 4, 0, 1] {
        assert_eq!(crowd.heading(), Some(place));
        crowd.deliver_token();
        assert_eq!(crowd.applications[place].state, Status::Inside);
        crowd.make(Move::Release(place)).unwrap();
    }
    assert!(crowd.is_served());
}

/// The circle goes on from where the token is: who asks again at once is not next again.
#[test]
fn rr2_who_asks_again_waits_for_the_others() {
    let mut crowd = Three::new(&[0, 2, 1]);
    crowd.do_all(&[Move::Request(1), Move::Request(2)]);
    crowd.spread();
    crowd.deliver_token();
    crowd.make(Move::Release(1)).unwrap();
    crowd.make(Move::Request(1)).unwrap();
    crowd.spread();
    assert_eq!(crowd.heading(), Some(2));
}

/// What FIFO would be for: P2 is served through P1 and gives the token to P3, which hears of P2's
/// old request only then.
#[test]
fn a_request_that_the_token_overtakes_is_not_served_again() {
    let mut crowd = Three::new(&[0, 1, 1]);
    crowd.do_all(&[Move::Request(1), Move::Deliver(1, 0, 0), Move::Deliver(0, 1, 0)]);
    crowd.do_all(&[Move::Request(2), Move::Deliver(2, 1, 0), Move::Release(1)]);
    crowd.do_all(&[Move::Deliver(1, 2, 1), Move::Release(2)]);
    assert_eq!(crowd.channels[&(1, 2)], [Msg::Request(1)], "it is late");
    crowd.make(Move::Deliver(1, 2, 0)).unwrap();
    assert_eq!(crowd.processes[2].requests, [0, 1, 0]);
    assert!(matches!(crowd.processes[2].state, State::Present(_)), "and has been served");
}

#[test]
fn an_entry_costs_n_or_nothing() {
    for seed in 0..500_u64 {
        let n = 1 + seed % 7;
        let mut crowd = Three::new(&vec![3; n as usize]);
        let (mut random, mut asked) = (seed * 7919 + 13, 0);
        while !crowd.is_served() {
            let moves = crowd.moves();
            random = random * 48_271 % 2_147_483_647;
            let next = moves[random as usize % moves.len()];
            if let Move::Request(place) = next {
                asked += u64::from(!crowd.processes[place].has_token());
            }
            crowd.make(next).unwrap();
        }
        assert_eq!(crowd.sent, n * asked, "seed {seed}");
        assert_eq!(crowd.entries, 3 * n);
    }
}

#[test]
fn waits_and_is_inside_as_the_opening_says() {
    let waiting = vec![id(4), id(2)];
    let opening = Opening { token: id(3), inside: Some(id(3)), waiting, ..opening(4) };
    let mut crowd = Three::open(opening.clone(), &[0; 4]).unwrap();
    assert_eq!(crowd.processes[0].requests, [0, 1, 0, 1]);
    assert_eq!(crowd.processes[1].state, State::Waiting);
    assert_eq!(crowd.sent, 0, "all know of all requests");
    crowd.make(Move::Release(2)).unwrap();
    assert_eq!(crowd.heading(), Some(3));
    let idle = Opening { inside: None, ..opening.clone() };
    assert_eq!(Three::open(idle, &[0; 4]).unwrap().heading(), Some(3), "at once");
    let own = Opening { inside: None, token: id(2), ..opening };
    let crowd = Three::open(own, &[0; 4]).unwrap();
    assert_eq!(crowd.applications[1].state, Status::Inside, "who has it need not search");
}

/// What no process of the group sends does no harm.
#[test]
fn takes_no_token_that_does_not_fit_and_no_clock_too_far() {
    let group = Group::numbered(3).unwrap();
    let opening = opening(3);
    let mut p2 = RicartAgrawalaToken::default();
    let mut call = |handler: &dyn Fn(&mut RicartAgrawalaToken, &mut Cx<'_>)| {
        step(&group, 1, &opening, |cx| handler(&mut p2, cx))
    };
    let get = |from: u32, msg: Msg| {
        move |p: &mut RicartAgrawalaToken, cx: &mut Cx<'_>| p.on_message(id(from), msg.clone(), cx)
    };
    call(&|p, cx| p.on_start(None, cx));
    assert_eq!(call(&get(1, Msg::Token(token(&[0, 0, 0], 0)))), [], "no process waits for it");
    call(&|p, cx| p.on_input(Input::Request, cx));
    assert_eq!(call(&get(1, Msg::Token(token(&[0, 0], 0)))), []);
    assert_eq!(call(&get(9, Msg::Request(1))), []);
    assert_eq!(call(&get(2, Msg::Request(u64::MAX))), []);
    let far = Msg::Token(token(&[u64::MAX; 3], u64::MAX));
    assert_eq!(call(&get(1, far)), [Effect::Emit(Granted(u64::MAX))]);
    assert_eq!(call(&get(3, Msg::Request(u64::MAX))), []);
    assert_eq!(call(&|p, cx| p.on_input(Input::Release, cx)), [], "no request is above that");
    assert!(p2.has_token());
}
