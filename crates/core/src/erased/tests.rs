//! What is erased behaves as what is inside.

use super::*;
use crate::{Effect, Group, step};

/// Passes what it hears on to its successor; 13 is bad luck.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Relay {
    heard: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Number(u32);

impl Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NUMBER({})", self.0)
    }
}

impl Message for Number {
    fn kind(&self) -> Kind {
        Kind::protocol("NUMBER")
    }
}

impl Process for Relay {
    type Msg = Number;
    type Timer = u8;
    type Input = u32;
    type Output = String;
    type Durable = usize;
    type Config = u32;
    const ASSUMES: Assumptions = Assumptions::faultless(Channels::Any);

    fn durable(&self) -> usize {
        self.heard.len()
    }

    fn on_start(&mut self, saved: Option<usize>, cx: &mut Context<'_, Self>) {
        self.heard = vec![0; saved.unwrap_or(0)];
        cx.set_timer(1, Duration::from_secs(1));
    }

    fn on_input(&mut self, input: u32, cx: &mut Context<'_, Self>) {
        self.on_message(cx.me(), Number(input), cx);
    }

    fn on_message(&mut self, _: NodeId, Number(number): Number, cx: &mut Context<'_, Self>) {
        assert_ne!(number, 13, "bad luck");
        self.heard.push(number);
        cx.send(cx.group().after(cx.place(), 1), Number(number + cx.config()));
        cx.emit(format!("heard {number}"));
    }

    fn on_timer(&mut self, timer: u8, cx: &mut Context<'_, Self>) {
        cx.cancel_timer(timer);
    }
}

fn started(saved: Option<AnyDurable>) -> (AnyProcess, AnyConfig, Group) {
    let (group, config) = (Group::numbered(2).unwrap(), AnyConfig::new::<Relay>(7));
    let mut process = AnyProcess::default();
    let mut effects = Vec::<Recorded>::new();
    let here = crate::Here::new(&group, 0, crate::Time::ZERO, false);
    process.on_start(saved, &mut Context::new(&here, &config, &mut effects));
    assert_eq!(effects, ["timer 1"]);
    (process, config, group)
}

type Recorded = String;

impl Effects<AnyProcess> for Vec<Recorded> {
    fn send(&mut self, to: NodeId, msg: AnyMsg) {
        self.push(format!("{to} {msg}"));
    }
    fn set_timer(&mut self, timer: AnyTimer, _: Range<Duration>) {
        self.push(format!("timer {timer:?}"));
    }
    fn cancel_timer(&mut self, timer: AnyTimer) {
        self.push(format!("cancel {timer:?}"));
    }
    fn emit(&mut self, output: AnyOutput) {
        self.push(output.to_string());
    }
    fn rule(&mut self, _: &'static str) {}
}

fn call(process: &mut AnyProcess, call: Call<AnyProcess>) -> Vec<Recorded> {
    let (_, config, group) = started(None);
    let mut effects = Vec::new();
    let here = crate::Here::new(&group, 0, crate::Time::ZERO, false);
    call.make(process, &mut Context::new(&here, &config, &mut effects));
    effects
}

#[test]
fn an_erased_process_does_what_the_process_does() {
    let (mut any, ..) = started(None);
    let effects = call(&mut any, Call::Message(NodeId::new(2), AnyMsg::new(Number(5))));
    assert_eq!(effects, ["P2 NUMBER(12)", "heard 5"]);
    assert_eq!(call(&mut any, Call::Timer(AnyTimer::new(1u8))), ["cancel 1"]);
    let mut typed = Relay::default();
    let group = Group::numbered(2).unwrap();
    let typed_effects = step(&group, 0, &7, |cx| typed.on_message(NodeId::new(2), Number(5), cx));
    let sent = Effect::Send(NodeId::new(2), Number(12));
    assert_eq!(typed_effects, [sent, Effect::Emit("heard 5".to_owned())]);
    assert_eq!(any, AnyProcess::new(typed.clone()));
    assert_eq!(format!("{any:?}"), format!("{typed:?}"));
    assert_ne!(any, started(None).0);
}

#[test]
fn what_was_durable_comes_back() {
    let (mut any, ..) = started(None);
    call(&mut any, Call::Input(AnyInput::new(5u32)));
    let saved = Process::durable(&any);
    assert_eq!(saved.downcast_ref(), Some(&1usize));
    let (again, ..) = started(Some(saved));
    assert_eq!(again.downcast_ref(), Some(&Relay { heard: vec![0] }));
}

#[test]
fn values_of_another_type_come_to_nothing() {
    let (mut any, ..) = started(None);
    assert!(call(&mut any, Call::Input(AnyInput::new("five"))).is_empty());
    assert_eq!(any, started(None).0);
    assert_ne!(AnyDurable::new(1u8), AnyDurable::new(1u16));
}

#[test]
fn timers_are_in_the_order_of_those_inside() {
    let mut timers = [3u8, 1, 2].map(AnyTimer::new);
    timers.sort();
    assert_eq!(timers, [1u8, 2, 3].map(AnyTimer::new));
}

#[test]
fn a_panic_says_who_and_what() {
    let (mut any, ..) = started(None);
    let unlucky = Call::Message(NodeId::new(2), AnyMsg::new(Number(13)));
    let panic = catch_unwind(AssertUnwindSafe(|| call(&mut any, unlucky))).unwrap_err();
    let panicked = panic.downcast_ref::<Panicked>().unwrap();
    assert_eq!(panicked.what, "P1 panicked while handling NUMBER from P2");
    assert!(panicked.message.contains("bad luck"), "{panicked}");
}
