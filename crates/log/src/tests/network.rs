//! Messages come from the network: any of them may arrive at any time, and none may do harm.

use super::*;
use crate::{Body, Change, Members, Permit, Roster, Seat, Suffrage};

struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    /// Mostly small, sometimes absurd.
    fn number(&mut self) -> u64 {
        match self.below(12) {
            0 => u64::MAX - self.below(2),
            _ => self.below(6),
        }
    }

    fn position(&mut self) -> Position {
        at(self.number(), self.number())
    }

    fn time(&mut self) -> Time {
        match self.below(6) {
            0 => Time::MAX,
            1 => Time::ZERO,
            _ => Time::from_micros(1_000_000_000 + self.below(3_000_000)),
        }
    }

    fn span(&mut self) -> Duration {
        if self.below(6) == 0 { Duration::MAX } else { ms(self.below(600)) }
    }

    fn beat(&mut self) -> Heartbeat {
        Heartbeat {
            term: Term::new(self.number()),
            generation: self.number() as u32,
            sent: self.time(),
            commit: Index::new(self.number()),
            last: self.position(),
            appointed: false,
            welcome: Some(self.number() as u32),
            incarnation: Incarnation::new(self.number()),
            lease_us: self.below(600_000) as u32,
        }
    }

    fn entries(&mut self, prev: Position) -> crate::Entries<Words> {
        let entry = |dice: &mut Dice, offset: u64| {
            let position = match dice.below(8) {
                0 => dice.position(),
                _ => at(prev.term.number(), prev.index.number().wrapping_add(1 + offset)),
            };
            let payload = match dice.below(6) {
                0 => Payload::Joined {
                    member: id(1 + dice.below(4) as u32),
                    birth: Birth::new(dice.below(3)),
                },
                2 => Payload::Members(Arc::new(dice.members())),
                3 => Payload::LeaseSettings(LeaseSettings {
                    heartbeat: dice.span(),
                    lease: dice.span(),
                    drift_ppm: dice.number() as u32,
                }),
                1 => Payload::Begin {
                    leader: id(2),
                    births: vec![(id(2), Birth::new(dice.below(3)))],
                },
                _ => Payload::Command(dice.below(20) as u8),
            };
            Arc::new(Entry { position, payload })
        };
        let count = self.below(4);
        (0..count).map(|offset| entry(self, offset)).collect::<Vec<_>>().into()
    }

    /// Lists with some of four members, some of them removed.
    fn members(&mut self) -> Members {
        let mut members = Members { version: self.number(), ..Members::default() };
        for number in 1..=4 {
            let suffrage = [Suffrage::Voter, Suffrage::Learner, Suffrage::Joining];
            let suffrage = suffrage[self.below(3) as usize];
            let replaces = (self.below(4) == 0).then(|| id(1 + self.below(5) as u32));
            let seat = Seat { suffrage, address: "".into(), replaces };
            match self.below(6) {
                0 => drop(members.removed.insert(id(number), Birth::new(self.below(3)))),
                1 => {}
                _ => drop(members.seats.insert(id(number), seat)),
            }
        }
        members
    }

    fn roster(&mut self) -> Roster {
        let births = [(id(2), Birth::new(self.below(3)))].into();
        let members = (self.below(3) == 0).then(|| Arc::new(self.members()));
        Roster { births, members, ..Roster::default() }
    }

    fn place(&mut self) -> Place<Words> {
        match self.below(2) {
            0 => Place::After(self.position()),
            _ => Place::Part { at: self.position(), cursor: self.number() as usize },
        }
    }

    fn body(&mut self) -> Body<Words> {
        let prev = self.position();
        match self.below(4) {
            0 => Body::Mismatch { after: prev },
            1 => Body::Parts {
                at: prev,
                roster: Box::new(self.roster()),
                from: self.below(2) as usize,
                parts: vec![self.below(20) as u8],
                next: (self.below(2) == 0).then(|| self.number() as usize),
            },
            _ => Body::Entries { prev, entries: self.entries(prev) },
        }
    }

    fn answer(&mut self) -> Answer {
        match self.below(5) {
            0 => Answer::Wait { leader: Some(id(2)), left: self.span() },
            1 => Answer::Behind { last: self.position() },
            2 => Answer::No { promised: Term::new(self.number()) },
            _ => Answer::Yes { after: self.span() },
        }
    }

    fn msg(&mut self) -> Msg<Words> {
        let term = Term::new(self.number());
        match self.below(11) {
            0 => {
                let permit = Permit { leader: id(2), term, generation: self.number() as u32 };
                let (last, sure) = (self.position(), self.below(2) == 0);
                Msg::RequestVote { term, last, sure, permit: Some(permit), ended: None }
            }
            1 => {
                let (answer, sure) = (self.answer(), self.below(2) == 0);
                Msg::Vote { term, sure, answer, birth: Birth::new(self.below(3)) }
            }
            2 => {
                let prev = self.position();
                Msg::Append { beat: self.beat(), prev, entries: self.entries(prev) }
            }
            3 => Msg::Ack(Ack {
                term,
                sent: self.time(),
                clock: self.time(),
                matched: Index::new(self.number()),
                holds: self.below(2) == 0,
                start: self.number() as u32,
                lost: self.below(4) == 0,
                birth: Birth::new(self.below(3)),
                lease_us: self.below(600_000) as u32,
            }),
            4 => Msg::Refuse { term, promised: Term::new(self.number()) },
            5 => Msg::Fetch {
                place: self.place(),
                budget: self.number() as u32,
                ahead: self.number() as u32,
            },
            6 => {
                let beat = (self.below(2) == 0).then(|| self.beat());
                Msg::Supply { beat, last: self.position(), body: self.body() }
            }
            7 => Msg::Claim { term },
            8 => Msg::Invite { term, appointed: false },
            9 => Msg::Removed { birth: Birth::new(self.below(60)) },
            _ => {
                let to = [None, Some(id(1)), Some(id(3))][self.below(3) as usize];
                Msg::Yield { term, generation: self.number() as u32, to, appointed: false }
            }
        }
    }
}

const TIMERS: [Timer; 7] = [
    Timer::Ask,
    Timer::Wait,
    Timer::Heartbeat,
    Timer::Lapse,
    Timer::Write,
    Timer::Fetch,
    Timer::HandOver,
];

#[test]
fn no_message_at_any_time_does_harm() {
    let sound = Log::<Words>::invariants().into_iter().find(|i| i.name == "sound").unwrap();
    let bellwether_core::Shape::Each(sound) = sound.shape else { panic!() };
    for seed in 0..3_000 {
        let mut dice = Dice(seed);
        let durability = if dice.below(2) == 0 { Durability::Disk } else { Durability::Memory };
        let tiny =
            Config { durability, keep_bytes: 40, push_bytes: 50, piece: (1, 60), ..config() };
        let mut one = One::of([1, 3, 5][dice.below(3) as usize], 1, tiny);
        for _ in 0..80 {
            match dice.below(12) {
                0 => drop(one.campaign()),
                1 | 2 => drop(one.fire(TIMERS[dice.below(7) as usize])),
                3 => one.pass(ms(dice.below(300))),
                4 => drop(one.call(|log, cx| _ = log.propose(vec![1, 2], cx))),
                5 if dice.below(6) == 0 => one.restart(),
                7 if dice.below(4) == 0 => {
                    let change = Change::Remove(id(1 + dice.below(4) as u32));
                    let forced = dice.below(2) == 0;
                    drop(one.call(|log, cx| _ = log.change(&change, forced, cx)));
                }
                8 if dice.below(4) == 0 => {
                    let wanted = LeaseSettings { lease: dice.span(), ..config().leases };
                    drop(one.call(|log, cx| _ = log.change_leases(wanted, cx)));
                }
                6 if dice.below(4) == 0 => {
                    drop(one.input(Input::HandOver { to: id(2), appointed: false }));
                }
                _ => {
                    let (from, msg) = (1 + dice.below(6) as u32, dice.msg());
                    assert!(!msg.to_string().is_empty() && msg.weight() > 0);
                    one.get(from, msg);
                    let whole = one.log.whole();
                    let newest = whole.map(|whole| whole.newest.clone());
                    let scanned = whole.cloned().map(crate::Whole::rescanned);
                    // Where a committed list was is forgotten with its entry.
                    let commit = whole.map_or(Index::ZERO, |whole| whole.commit.index);
                    let place = |found: Option<Option<(Index, Arc<Members>)>>| {
                        found.flatten().map(|(at, list)| (at.max(commit), list))
                    };
                    assert_eq!(place(newest), place(scanned), "seed {seed}");
                }
            }
            assert!(sound(id(1), &one.log), "seed {seed}: {:?}", one.log);
        }
    }
}
