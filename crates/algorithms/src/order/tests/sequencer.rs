use super::super::tests::{Crowd, Move, id, message};
use super::*;
use Move::{Broadcast, Deliver};
use bellwether_core::step;

/// Processes 1 to n, of which the largest numbers.
fn config(n: u32, answers: u32, uniform: bool) -> Config {
    let mut settings = Settings::new(Duration::from_millis(30));
    settings.coordinator = Some(id(n));
    settings.options.set("answers", &answers.to_string());
    if uniform {
        settings.options.set("uniform", "");
    }
    Sequencer::config(&settings, &Group::numbered(n).unwrap())
}

fn crowd(wants: &[u32], answers: u32, uniform: bool) -> Crowd<Sequencer> {
    Crowd::new(wants, config(wants.len() as u32, answers, uniform), Input::Broadcast, true)
}

fn after(wants: &[u32], uniform: bool, moves: &[Move]) -> Crowd<Sequencer> {
    let mut crowd = crowd(wants, 0, uniform);
    moves.iter().for_each(|next| crowd.make(*next).unwrap());
    crowd
}

#[test]
fn behaves_at_random() {
    let mut held = 0;
    for seed in 0..3_000_u64 {
        let (n, uniform) = (1 + seed % 6, seed % 4 == 0);
        let wants: Vec<u32> = (0..n).map(|place| (seed / 6 + place) as u32 % 4).collect();
        let mut crowd = crowd(&wants, seed as u32 % 3, uniform);
        crowd.walk(seed).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
        held += crowd.held;
        if uniform {
            assert!(crowd.processes.iter().all(|process| process.kept() == 0), "seed {seed}");
        }
    }
    assert!(held > 1_000, "only {held} were held back");
}

#[test]
fn ts1_publishes_and_keeps_until_delivered() {
    let mut crowd = after(&[1, 0, 0], false, &[Broadcast(0)]);
    assert_eq!(crowd.processes[0].pending.len(), 1);
    assert_eq!(crowd.sent, 1);
    for next in [Deliver(0, 2, 0), Deliver(2, 0, 0)] {
        crowd.make(next).unwrap();
    }
    assert_eq!(crowd.delivered[0], [message(1, 1)]);
    assert!(crowd.processes[0].pending.is_empty());
}

#[test]
fn ts2_numbers_in_the_order_of_publishing_and_tells_all_others() {
    let publish = [Broadcast(0), Broadcast(0), Deliver(0, 2, 1)];
    let mut crowd = after(&[2, 0, 0], false, &publish);
    assert!(crowd.delivered[2].is_empty(), "the second has overtaken the first");
    crowd.make(Deliver(0, 2, 0)).unwrap();
    assert_eq!(crowd.delivered[2], [message(1, 1), message(1, 2)]);
    // A message is 1 PUBLISH and n-1 ORDERs.
    assert_eq!(crowd.sent, 6);
}

#[test]
fn ts2_the_sequencer_itself_needs_no_publish() {
    let crowd = after(&[0, 0, 1], false, &[Broadcast(2)]);
    assert_eq!((crowd.delivered[2].len(), crowd.sent), (1, 2));
}

#[test]
fn ts3_holds_back_what_has_overtaken_another() {
    let mut crowd = after(&[0, 0, 2], false, &[Broadcast(2), Broadcast(2), Deliver(2, 0, 1)]);
    assert_eq!((crowd.delivered[0].len(), crowd.held), (0, 1));
    crowd.make(Deliver(2, 0, 0)).unwrap();
    assert_eq!(crowd.delivered[0], [message(3, 1), message(3, 2)]);
}

#[test]
fn ts4_forgets_what_all_have() {
    let mut crowd = crowd(&[200, 0, 1], 0, false);
    crowd.make(Broadcast(2)).unwrap();
    for _ in 0..200 {
        crowd.make(Broadcast(0)).unwrap();
        while let Some(next) = crowd.moves().into_iter().find(|next| *next != Broadcast(0)) {
            crowd.make(next).unwrap();
        }
    }
    assert_eq!(crowd.processes[1].delivered(), 201);
    for process in &crowd.processes {
        let kept = process.kept() as u64;
        assert!(kept <= 2 * SEEN_EVERY, "{kept} are kept");
    }
}

#[test]
fn ts5_no_process_delivers_what_not_all_have() {
    let sent = [Broadcast(2), Deliver(2, 0, 0), Deliver(0, 2, 0)];
    let mut crowd = after(&[0, 0, 1], true, &sent);
    assert!(crowd.delivered.iter().all(Vec::is_empty));
    crowd.make(Deliver(2, 1, 0)).unwrap();
    assert!(crowd.delivered.iter().all(Vec::is_empty));
    // The last ACK arrives, and the sequencer says so.
    crowd.make(Deliver(1, 2, 0)).unwrap();
    assert_eq!(crowd.delivered[2], [message(3, 1)]);
    crowd.make(Deliver(2, 0, 0)).unwrap();
    assert_eq!(crowd.delivered[0], [message(3, 1)]);
    // ORDER, ACK and STABLE, n-1 each.
    assert_eq!(crowd.sent, 6);
}

#[test]
fn strangers_false_names_and_junk_do_no_harm() {
    let group = Group::numbered(3).unwrap();
    for (place, uniform) in [(0, false), (0, true), (2, false), (2, true)] {
        let config = config(3, 2, uniform);
        let mut process = Sequencer::default();
        step(&group, place, &config, |cx| process.on_start(None, cx));
        let numbers = [0, 1, 2, 17, u64::MAX - 1, u64::MAX];
        for index in 0..6_000 {
            let number = |salt: usize| numbers[(index / salt) % numbers.len()];
            let sender = 1 + (index / 5 % 3) as u32;
            let post = Post { id: message(sender, number(7)), answers: u32::MAX };
            let said = match index % 5 {
                0 => Body::Publish { index: number(3), post },
                1 => Body::Order { position: number(3), post, stable: number(11) },
                2 => Body::Seen(number(2)),
                3 => Body::Ack(number(2)),
                _ => Body::Stable(number(2)),
            };
            let from = id((index / 2 % 5) as u32);
            let msg = Msg::Order(Epoch::FIRST, said);
            step(&group, place, &config, |cx| process.on_message(from, msg, cx));
        }
    }
}
