use super::super::causal::Causal;
use super::super::tests::{id, message};
use super::*;

/// A referee of three processes, and what happens in front of it.
struct Court(Box<dyn Referee<Causal>>);

impl Court {
    fn new(promises: Promises) -> Self {
        Court(promises.referee(&Group::numbered(3).unwrap()))
    }

    fn hears(&mut self, who: u32, output: Output) -> Result<(), &'static str> {
        self.0.hears(Time::from_micros(10_000), id(who), &output).map_err(|breach| breach.name)
    }

    fn broadcasts(&mut self, who: u32, count: u64) -> Result<(), &'static str> {
        self.hears(who, Output::Broadcast { id: message(who, count), answers: None })
    }

    fn delivers(&mut self, who: u32, (sender, count): (u32, u64)) -> Result<(), &'static str> {
        self.hears(who, Output::Delivered { id: message(sender, count), queue: 0 })
    }

    fn crashes(&mut self, who: u32) {
        self.0.crashed(Time::ZERO, id(who));
    }

    fn closes(&mut self, live: &[u32]) -> Result<(), Vec<NodeId>> {
        let live: Vec<NodeId> = live.iter().copied().map(id).collect();
        self.0.closes(Time::ZERO, &live).map_err(|breach| breach.by)
    }
}

#[test]
fn an_answer_before_its_question_is_found_even_by_way_of_a_third() {
    let mut court = Court::new(Promises::causal());
    court.broadcasts(1, 1).unwrap();
    court.delivers(1, (1, 1)).unwrap();
    court.delivers(2, (1, 1)).unwrap();
    court.broadcasts(2, 1).unwrap();
    court.delivers(2, (2, 1)).unwrap();
    assert_eq!(court.delivers(3, (2, 1)), Err("causal"));
}

#[test]
fn messages_without_a_cause_may_come_in_any_order_unless_there_is_one_order() {
    for (promises, judged) in
        [(Promises::causal(), Ok(())), (Promises::total(false), Err("one-order"))]
    {
        let mut court = Court::new(promises);
        court.broadcasts(1, 1).unwrap();
        court.broadcasts(2, 1).unwrap();
        court.delivers(1, (1, 1)).unwrap();
        assert_eq!(court.delivers(2, (2, 1)), judged);
    }
}

#[test]
fn the_second_message_of_a_process_may_not_come_first() {
    let mut court = Court::new(Promises::causal());
    court.broadcasts(1, 1).unwrap();
    court.broadcasts(1, 2).unwrap();
    assert_eq!(court.delivers(2, (1, 2)), Err("causal"));
}

#[test]
fn duplicates_and_inventions_are_found() {
    let mut court = Court::new(Promises::causal());
    assert_eq!(court.delivers(2, (1, 1)), Err("no-inventions"));
    court.broadcasts(1, 1).unwrap();
    court.delivers(2, (1, 1)).unwrap();
    assert_eq!(court.delivers(2, (1, 1)), Err("no-duplicates"));
    assert_eq!(court.broadcasts(1, 1), Err("no-inventions"));
    let fact = |name| court.0.facts().into_iter().find(|fact| fact.name == name).unwrap().text;
    assert_eq!(fact("violations"), "3");
}

#[test]
fn what_a_live_process_broadcasts_must_reach_all_that_live() {
    let mut court = Court::new(Promises::causal());
    court.broadcasts(1, 1).unwrap();
    court.delivers(1, (1, 1)).unwrap();
    court.delivers(2, (1, 1)).unwrap();
    assert_eq!(court.closes(&[1, 2, 3]), Err(vec![id(3)]));
    // What one of the living has delivered must reach all, from any sender.
    court.crashes(1);
    assert_eq!(court.closes(&[2, 3]), Err(vec![id(3)]));
    // What only the dead have seen need not.
    court.crashes(2);
    assert_eq!(court.closes(&[3]), Ok(()));
}

#[test]
fn what_only_the_dead_have_delivered_binds_none_unless_the_order_is_uniform() {
    for (uniform, judged) in [(false, Ok(())), (true, Err("one-order"))] {
        let mut court = Court::new(Promises::total(uniform));
        court.broadcasts(1, 1).unwrap();
        court.broadcasts(2, 1).unwrap();
        court.delivers(3, (1, 1)).unwrap();
        court.crashes(3);
        assert_eq!(court.delivers(2, (2, 1)), judged);
    }
}

#[test]
fn what_one_survivor_has_delivered_binds_all() {
    let mut court = Court::new(Promises::total(false));
    court.broadcasts(1, 1).unwrap();
    court.broadcasts(2, 1).unwrap();
    court.delivers(3, (1, 1)).unwrap();
    court.delivers(2, (1, 1)).unwrap();
    court.crashes(3);
    assert_eq!(court.delivers(1, (2, 1)), Err("one-order"));
}

#[test]
fn who_joins_later_goes_on_from_there_and_has_no_gap() {
    let mut court = Court::new(Promises::total(false));
    for count in 1..=3 {
        court.broadcasts(1, count).unwrap();
        court.delivers(1, (1, count)).unwrap();
    }
    court.crashes(3);
    court.delivers(2, (1, 1)).unwrap();
    court.hears(3, Output::Joined { position: 1 }).unwrap();
    assert_eq!(court.closes(&[1, 2, 3]), Err(vec![id(2), id(3)]));
    court.delivers(3, (1, 2)).unwrap();
    court.delivers(3, (1, 3)).unwrap();
    court.delivers(2, (1, 2)).unwrap();
    court.delivers(2, (1, 3)).unwrap();
    assert_eq!(court.closes(&[1, 2, 3]), Ok(()));
    court.broadcasts(1, 4).unwrap();
    court.broadcasts(1, 5).unwrap();
    // The message before may be one that it need not deliver; but then it has to be before.
    assert_eq!(court.delivers(3, (1, 5)), Ok(()));
    assert_eq!(court.delivers(2, (1, 4)), Err("one-order"));
}

#[test]
fn who_joins_at_the_wrong_place_is_found() {
    let mut court = Court::new(Promises::total(false));
    for count in 1..=2 {
        court.broadcasts(1, count).unwrap();
        court.delivers(1, (1, count)).unwrap();
    }
    court.crashes(3);
    court.hears(3, Output::Joined { position: 0 }).unwrap();
    assert_eq!(court.delivers(3, (1, 2)), Err("causal"));
    assert_eq!(court.hears(3, Output::Joined { position: 2 }), Err("one-order"), "it has joined");
    // And a process that has not joined has no place in the order at all.
    court.crashes(3);
    court.broadcasts(2, 1).unwrap();
    assert_eq!(court.delivers(3, (2, 1)), Err("one-order"));
}

#[test]
fn facts_say_how_long_it_took_and_how_many_were_held_back() {
    let mut court = Court::new(Promises::causal());
    assert!(court.0.facts().iter().all(|fact| fact.name != "delay"));
    court.broadcasts(1, 1).unwrap();
    court.hears(2, Output::Held { id: message(1, 1), queue: 4 }).unwrap();
    court.delivers(1, (1, 1)).unwrap();
    let late = Output::Delivered { id: message(1, 1), queue: 2 };
    court.0.hears(Time::from_micros(25_500), id(2), &late).unwrap();
    let facts: Vec<(&str, String)> =
        court.0.facts().into_iter().map(|fact| (fact.name, fact.text)).collect();
    let expected = [
        ("broadcasts", "1"),
        ("deliveries", "2"),
        ("delay", "7.8 ms"),
        ("held-back", "4"),
        ("violations", "0"),
    ];
    assert_eq!(facts, expected.map(|(name, text)| (name, text.to_owned())));
}

/// Who explores all runs holds two of them for one if their referees are equal.
#[test]
fn those_who_have_heard_the_same_in_another_order_are_equal_and_judge_alike() {
    let hear = |first: u32| {
        let mut court = Court::new(Promises::causal());
        for who in [first, 3 - first] {
            court.broadcasts(who, 1).unwrap();
        }
        for who in [first, 3 - first] {
            court.delivers(1, (who, 1)).unwrap();
        }
        court.broadcasts(1, 2).unwrap();
        court
    };
    let (mut one, mut other) = (hear(1), hear(2));
    assert!(one.0 == other.0.boxed());
    for court in [&mut one, &mut other] {
        court.delivers(3, (2, 1)).unwrap();
        assert_eq!(court.delivers(3, (1, 2)), Err("causal"), "the first of P1 came before");
    }
}

#[test]
fn those_who_will_judge_otherwise_differ() {
    let hear = |knows: bool| {
        let mut court = Court::new(Promises::causal());
        court.broadcasts(1, 1).unwrap();
        if knows {
            court.delivers(2, (1, 1)).unwrap();
        }
        court.broadcasts(2, 1).unwrap();
        if !knows {
            court.delivers(2, (1, 1)).unwrap();
        }
        court
    };
    let (mut caused, mut free) = (hear(true), hear(false));
    assert!(caused.0 != free.0.boxed());
    assert_eq!(caused.delivers(3, (2, 1)), Err("causal"));
    assert_eq!(free.delivers(3, (2, 1)), Ok(()));
}
