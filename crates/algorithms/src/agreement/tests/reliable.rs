use super::*;
use crate::agreement::courier::{self, Courier, Letter};
use bellwether_core::{Effect, Group, step};
use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

type R = Reliable<Courier>;
type Effects = Vec<Effect<R>>;

const T: Duration = Duration::from_millis(30);

fn id(number: u32) -> NodeId {
    NodeId::new(number)
}

fn config() -> Config<()> {
    Config { process: (), pause: T, tries: 3, window: 2, bare: false }
}

fn session(life: u32, resets: u32) -> Session {
    Session { life, resets }
}

fn carry(number: u64, oldest: u64, again: bool) -> Msg<Letter> {
    let body = Letter { number: number.wrapping_add(1) };
    Msg::Carry { session: session(0, 0), number, oldest, again, body }
}

/// P1 of two.
struct One {
    group: Group,
    config: Config<()>,
    process: R,
}

impl One {
    fn new() -> Self {
        let mut one =
            One { group: Group::numbered(2).unwrap(), config: config(), process: R::default() };
        one.call(|process, cx| process.on_start(None, cx));
        one
    }

    fn call(&mut self, handler: impl FnOnce(&mut R, &mut Cx<'_, Courier>)) -> Effects {
        let process = &mut self.process;
        step(&self.group, 0, &self.config, |cx| handler(process, cx))
    }

    fn write(&mut self) -> Effects {
        self.call(|process, cx| process.on_input(courier::Input::Send(id(2)), cx))
    }

    fn hear(&mut self, msg: Msg<Letter>) -> Effects {
        self.call(|process, cx| process.on_message(id(2), msg, cx))
    }

    fn time_out(&mut self) -> Effects {
        self.call(|process, cx| process.on_timer(Timer::Again(id(2)), cx))
    }

    fn ack(&mut self, next: u64) -> Effects {
        self.hear(Msg::Ack { session: session(0, 0), next })
    }
}

fn wrote(number: u64) -> Effect<R> {
    Effect::Emit(Output::Process(courier::Output::Wrote { to: id(2), number }))
}

fn got(number: u64) -> Effect<R> {
    Effect::Emit(Output::Process(courier::Output::Got { from: id(2), number }))
}

fn arm() -> Effect<R> {
    Effect::SetTimer(Timer::Again(id(2)), T..T)
}

fn to_peer(msg: Msg<Letter>) -> Effect<R> {
    Effect::Send(id(2), msg)
}

fn ack(next: u64) -> Effect<R> {
    to_peer(Msg::Ack { session: session(0, 0), next })
}

#[test]
fn r1_numbers_messages_and_lets_a_window_of_them_go() {
    let mut one = One::new();
    assert_eq!(one.write(), [wrote(1), arm(), to_peer(carry(0, 0, false))]);
    assert_eq!(one.write(), [wrote(2), to_peer(carry(1, 0, false))]);
    assert_eq!(one.write(), [wrote(3)], "the window is full");
    assert_eq!(one.ack(1), [arm(), to_peer(carry(2, 1, false))]);
    assert!(!one.process.is_settled());
}

#[test]
fn r2_hands_over_once_and_in_order() {
    let mut one = One::new();
    assert_eq!(one.hear(carry(1, 0, false)), [ack(0)], "early");
    assert_eq!(one.hear(carry(2, 0, false)), [], "does not fit into the window");
    assert_eq!(one.hear(carry(0, 0, false)), [ack(2), got(1), got(2)]);
    let duplicate = Effect::Emit(Output::Duplicate { from: id(2) });
    assert_eq!(one.hear(carry(1, 0, true)), [ack(2), duplicate]);
    assert_eq!(one.hear(carry(2, 1, false)), [ack(3), got(3)]);
}

#[test]
fn r3_an_acknowledgement_covers_all_before() {
    let mut one = One::new();
    one.write();
    one.write();
    for (life, resets, next) in [(1, 0, 2), (0, 1, 2), (0, 0, 0), (0, 0, 3), (0, 0, u64::MAX)] {
        let msg = Msg::Ack { session: session(life, resets), next };
        assert_eq!(one.hear(msg), [], "life {life}, {resets} resets, next {next}");
    }
    assert_eq!(one.ack(2), [Effect::CancelTimer(Timer::Again(id(2)))]);
    assert!(one.process.is_settled());
    assert_eq!(one.ack(2), []);
}

#[test]
fn r4_sends_again_what_is_under_way() {
    let mut one = One::new();
    for _ in 0..3 {
        one.write();
    }
    let again = Effect::Emit(Output::Again { to: id(2), count: 2 });
    let expected = [to_peer(carry(0, 0, true)), to_peer(carry(1, 0, true)), again, arm()];
    assert_eq!(one.time_out(), expected);
    assert_eq!(carry(0, 0, true).kind(), Kind::repeat("RESEND"));
    assert_eq!(carry(0, 0, true).to_string(), "LETTER(1) (again)");
}

#[test]
fn r5_reports_a_peer_that_never_answers_and_begins_anew() {
    let mut one = One::new();
    for _ in 0..3 {
        one.write();
    }
    for _ in 0..3 {
        assert_eq!(one.time_out().len(), 4);
    }
    let down = Effect::Emit(Output::Down { peer: id(2), dropped: 3 });
    assert_eq!(one.time_out(), [Effect::CancelTimer(Timer::Again(id(2))), down]);
    assert!(one.process.is_settled());
    assert_eq!(one.time_out(), []);
    assert_eq!(one.ack(1), [], "too late");
    let fresh = Msg::Carry {
        session: session(0, 1),
        number: 0,
        oldest: 0,
        again: false,
        body: Letter { number: 4 },
    };
    assert_eq!(one.write(), [wrote(4), arm(), to_peer(fresh)]);
}

#[test]
fn r5_a_peer_that_is_far_behind_is_given_up() {
    let mut one = One::new();
    for _ in 0..MOST_WAITING {
        one.write();
    }
    let effects = one.write();
    let dropped = MOST_WAITING as u32;
    assert!(effects.contains(&Effect::Emit(Output::Down { peer: id(2), dropped })));
    assert_eq!(one.process.peers.get(&id(2)).unwrap().outward.kept.len(), 1);
}

#[test]
fn r6_a_new_life_has_numbers_of_its_own() {
    let mut one = One::new();
    let of_life = |life, number| Msg::Carry {
        session: session(life, 0),
        number,
        oldest: 0,
        again: false,
        body: Letter { number: number + 1 },
    };
    let acked = |life, next| to_peer(Msg::Ack { session: session(life, 0), next });
    assert_eq!(one.hear(of_life(1, 0)), [acked(1, 1), got(1)]);
    assert_eq!(one.hear(of_life(0, 1)), [], "of a life that is over");
    assert_eq!(one.hear(of_life(2, 0)), [acked(2, 1), got(1)]);

    one.write();
    let saved = one.process.durable();
    one.process = R::default();
    let effects = one.call(|process, cx| process.on_start(Some(saved), cx));
    assert_eq!(effects, [Effect::Emit(Output::Back)]);
    let effects = one.write();
    assert!(
        matches!(&effects[2], Effect::Send(_, Msg::Carry { session, number: 0, .. })
            if *session == Session { life: 1, resets: 0 }),
        "{effects:?}"
    );
}

#[test]
fn r7_a_process_that_comes_back_goes_on_where_its_former_life_ended() {
    let mut one = One::new();
    assert_eq!(one.hear(carry(5, 5, true)), [ack(6), got(6)]);
    // A late one from before must not make it wait for what will never come.
    let mut one = One::new();
    assert_eq!(one.hear(carry(1, 0, false)), [ack(0)]);
    assert_eq!(one.hear(carry(6, 5, true)), [ack(5)]);
    assert_eq!(one.hear(carry(5, 5, true)), [ack(7), got(6), got(7)]);
}

#[test]
fn nonsense_and_strangers_are_ignored() {
    let mut one = One::new();
    assert_eq!(one.hear(carry(3, 9, false)), [], "a number that is not kept any more");
    assert_eq!(one.hear(carry(u64::MAX, 0, false)), []);
    assert_eq!(one.hear(carry(u64::MAX, u64::MAX, false)), [], "the last number is never used");
    let input = courier::Input::Send(id(9));
    let effects = one.call(|process, cx| process.on_input(input, cx));
    assert_eq!(effects, [Effect::Emit(Output::Process(courier::Output::Unknown(id(9))))]);
}

#[test]
fn without_the_link_messages_go_as_they_are() {
    let mut one = One::new();
    one.config.bare = true;
    let bare = Msg::Bare(Letter { number: 1 });
    assert_eq!(one.write(), [wrote(1), to_peer(bare.clone())]);
    assert_eq!(one.hear(bare.clone()), [got(1)]);
    assert_eq!(one.hear(bare), [got(1)], "twice");
}

/// P1 writes to P2 over a network that may lose and double this many messages, in any order.
#[derive(Clone)]
struct Pair {
    processes: [R; 2],
    /// To whom, and what.
    under_way: Vec<(usize, Msg<Letter>)>,
    armed: bool,
    letters: u64,
    received: Vec<u64>,
    losses: u32,
    doubles: u32,
}

impl Pair {
    fn call(
        &mut self,
        place: usize,
        handler: impl FnOnce(&mut R, &mut Cx<'_, Courier>),
    ) -> Result<(), String> {
        let group = Group::numbered(2).unwrap();
        let process = &mut self.processes[place];
        for effect in step(&group, place, &config(), |cx| handler(process, cx)) {
            match effect {
                Effect::Send(to, msg) => self.under_way.push((group.place(to).unwrap(), msg)),
                Effect::SetTimer(..) => self.armed = true,
                Effect::CancelTimer(..) => self.armed = false,
                Effect::Emit(Output::Process(courier::Output::Got { number, .. })) => {
                    self.received.push(number);
                }
                Effect::Emit(Output::Down { .. }) => return Err("reported down".to_owned()),
                Effect::Emit(_) => {}
            }
        }
        let in_order: Vec<u64> = (1..=self.received.len() as u64).collect();
        if self.received == in_order { Ok(()) } else { Err(format!("{:?}", self.received)) }
    }

    fn deliver(&mut self, index: usize, keep: bool) -> Result<(), String> {
        let (to, msg) = self.under_way[index].clone();
        if !keep {
            self.under_way.remove(index);
        }
        let from = id(2 - to as u32);
        self.call(to, |process, cx| process.on_message(from, msg, cx))
    }

    /// All that can happen next. The timer is longer than any message is under way.
    fn next(&self) -> Result<Vec<Pair>, String> {
        let mut all = Vec::new();
        let mut branch = |change: &mut dyn FnMut(&mut Pair) -> Result<(), String>| {
            let mut pair = self.clone();
            change(&mut pair)?;
            all.push(pair);
            Ok::<(), String>(())
        };
        if self.letters > 0 {
            branch(&mut |pair| {
                pair.letters -= 1;
                pair.call(0, |p, cx| p.on_input(courier::Input::Send(id(2)), cx))
            })?;
        }
        for index in 0..self.under_way.len() {
            branch(&mut |pair| pair.deliver(index, false))?;
            if self.losses > 0 {
                branch(&mut |pair| {
                    pair.losses -= 1;
                    pair.under_way.remove(index);
                    Ok(())
                })?;
            }
            if self.doubles > 0 {
                branch(&mut |pair| {
                    pair.doubles -= 1;
                    pair.deliver(index, true)
                })?;
            }
        }
        if self.under_way.is_empty() && self.armed {
            branch(&mut |pair| {
                pair.armed = false;
                pair.call(0, |p, cx| p.on_timer(Timer::Again(id(2)), cx))
            })?;
        }
        Ok(all)
    }

    fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let mut under_way: Vec<String> =
            self.under_way.iter().map(|message| format!("{message:?}")).collect();
        under_way.sort();
        (&self.processes, under_way, self.armed, self.letters).hash(&mut hasher);
        (&self.received, self.losses, self.doubles).hash(&mut hasher);
        hasher.finish()
    }
}

/// Three letters with a window of two; up to two messages are lost and one is doubled, any of
/// them, letters and acknowledgements alike; all orders of delivery.
#[test]
fn every_order_of_loss_and_duplication_ends_with_all_letters_delivered_once() {
    let blank = Pair {
        processes: [R::default(), R::default()],
        under_way: Vec::new(),
        armed: false,
        letters: 3,
        received: Vec::new(),
        losses: 2,
        doubles: 1,
    };
    let mut seen = BTreeSet::new();
    let mut open = vec![blank];
    let mut ends = 0;
    while let Some(pair) = open.pop() {
        if !seen.insert(pair.fingerprint()) {
            continue;
        }
        let next = pair.next().unwrap();
        if next.is_empty() {
            assert_eq!(pair.received, [1, 2, 3]);
            assert!(pair.processes.iter().all(R::is_settled));
            ends += 1;
        }
        open.extend(next);
    }
    assert!(seen.len() > 1_000 && ends > 3, "{} states, {ends} ends", seen.len());
}
