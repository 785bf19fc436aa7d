//! One process type for all algorithms.
//!
//! A driver that is generic over its process is compiled once for every algorithm. [`AnyProcess`]
//! is a [`Process`] that holds a process of any type, with messages, timers, inputs, outputs and
//! durable state of any type likewise, so a driver of it is compiled once. Its [`AnyConfig`] says
//! which process it is. It behaves exactly as the process inside: the same effects in the same
//! order, the same equality, hash and text.
//!
//! The price is an allocation for each message and timer and a virtual call for each step.
//!
//! [`AnyProcess::ASSUMES`](Process::ASSUMES) says nothing, because a constant cannot depend on the
//! process inside.

use crate::{
    Assumptions, Call, Channels, Cluster, Context, Effects, Goal, InFlight, Invariant, Kind,
    Message, NodeId, Process, Shape,
};
use std::any::Any;
use std::cmp::Ordering;
use std::fmt::{self, Debug, Display};
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

/// A process that can be erased: all its parts are owned and may be shared between threads.
pub trait Erasable:
    Process<
        Msg: Send + Sync + 'static,
        Timer: Send + Sync + 'static,
        Input: Send + Sync + 'static,
        Output: Send + Sync + 'static,
        Durable: Send + Sync + 'static,
        Config: Send + Sync + 'static,
    > + Send
    + Sync
    + 'static
{
}

impl<P> Erasable for P where
    P: Process<
            Msg: Send + Sync + 'static,
            Timer: Send + Sync + 'static,
            Input: Send + Sync + 'static,
            Output: Send + Sync + 'static,
            Durable: Send + Sync + 'static,
            Config: Send + Sync + 'static,
        > + Send
        + Sync
        + 'static
{
}

/// A process of any type. The default is blank; `on_start` makes it what its configuration says.
#[derive(Default)]
pub struct AnyProcess(Option<Box<dyn ErasedProcess>>);

/// Which process an [`AnyProcess`] is, and the configuration of that process.
#[derive(Clone)]
pub struct AnyConfig(Arc<dyn ErasedConfig>);

/// Something of an algorithm panicked: a handler of a process, an invariant, the referee. It is the
/// payload with which [`AnyProcess`] and [`blamed`] unwind, so that a driver that catches it can say
/// what happened; the panic hook has already shown where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panicked {
    /// What panicked, and over what: `P2 panicked while handling TOKEN from P1`.
    pub what: String,
    /// What the panic says.
    pub message: String,
}

impl Panicked {
    /// What unwinds with this payload. A part that panicked inside another one has said what it is
    /// already.
    pub fn new(payload: Box<dyn Any + Send>, what: impl FnOnce() -> String) -> Self {
        payload.downcast().map_or_else(
            |payload| Panicked { what: what(), message: text_of(&*payload) },
            |named: Box<Panicked>| *named,
        )
    }
}

/// What a panic says.
fn text_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a message").to_owned()
}

impl Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.message)
    }
}

impl std::error::Error for Panicked {}

/// Asks a part of an algorithm for something. If it panics, this unwinds as [`Panicked`].
pub fn blamed<T>(ask: impl FnOnce() -> T, what: impl FnOnce() -> String) -> T {
    catch_unwind(AssertUnwindSafe(ask))
        .unwrap_or_else(|payload| resume_unwind(Box::new(Panicked::new(payload, what))))
}

impl AnyProcess {
    /// A process of a known type as one of any type.
    pub fn new<P: Erasable>(process: P) -> Self {
        AnyProcess(Some(Box::new(process)))
    }

    /// The process inside, if it is of this type.
    pub fn downcast_ref<P: Erasable>(&self) -> Option<&P> {
        let inside: &dyn Any = self.0.as_deref()?;
        inside.downcast_ref()
    }

    fn call(&mut self, call: Call<AnyProcess>, cx: &mut Context<'_, AnyProcess>) {
        if let Some(process) = &mut self.0 {
            process.call(call, cx);
        }
    }
}

impl AnyConfig {
    /// The configuration of a process of type `P`.
    pub fn new<P: Erasable>(config: P::Config) -> Self {
        AnyConfig(Arc::new(Configured::<P>(config)))
    }

    /// The configuration inside, if it is that of a process of this type.
    pub fn downcast_ref<P: Erasable>(&self) -> Option<&P::Config> {
        let inside: &dyn Any = &*self.0;
        inside.downcast_ref::<Configured<P>>().map(|configured| &configured.0)
    }
}

/// What [`AnyProcess`] needs of the process inside.
trait ErasedProcess: Value {
    fn boxed(&self) -> Box<dyn ErasedProcess>;
    fn equals(&self, other: &dyn ErasedProcess) -> bool;
    fn hash_into(&self, hasher: &mut dyn Hasher);
    fn durable(&self) -> AnyDurable;
    fn call(&mut self, call: Call<AnyProcess>, cx: &mut Context<'_, AnyProcess>);
}

impl<P: Erasable> ErasedProcess for P {
    fn boxed(&self) -> Box<dyn ErasedProcess> {
        Box::new(self.clone())
    }

    fn equals(&self, other: &dyn ErasedProcess) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref::<P>() == Some(self)
    }

    fn hash_into(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }

    fn durable(&self) -> AnyDurable {
        AnyDurable::new(Process::durable(self))
    }

    fn call(&mut self, call: Call<AnyProcess>, cx: &mut Context<'_, AnyProcess>) {
        // A call for a process of another type comes to nothing: no driver makes one.
        let Some(config) = cx.config().downcast_ref::<P>() else { return };
        let Some(call) = typed::<P>(call) else { return };
        let here = *cx.here();
        let event = Event::of(&call);
        let step = || call.make(self, &mut Context::new(&here, config, &mut Through(cx)));
        blamed(step, || format!("{} panicked while handling {}", here.me(), event.text()));
    }
}

/// The call with the values inside, if they are those of this process.
fn typed<P: Erasable>(call: Call<AnyProcess>) -> Option<Call<P>> {
    Some(match call {
        Call::Start(saved) => Call::Start(saved.and_then(AnyDurable::into_inner)),
        Call::Input(input) => Call::Input(input.into_inner()?),
        Call::Message(from, msg) => Call::Message(from, msg.into_inner()?),
        Call::Timer(timer) => Call::Timer(timer.into_inner()?),
    })
}

/// What is worth knowing of a call after a panic, at hardly any cost before it.
enum Event<P: Process> {
    Start { recovery: bool },
    Input(P::Input),
    Message(NodeId, Kind),
    Timer(P::Timer),
}

impl<P: Process> Event<P> {
    fn of(call: &Call<P>) -> Self {
        match call {
            Call::Start(saved) => Event::Start { recovery: saved.is_some() },
            Call::Input(input) => Event::Input(input.clone()),
            Call::Message(from, msg) => Event::Message(*from, msg.kind()),
            Call::Timer(timer) => Event::Timer(timer.clone()),
        }
    }
}

impl<P: Process> Event<P> {
    /// In words, which are put together in one place.
    fn text(&self) -> String {
        match self {
            Event::Start { recovery: false } => "its start".to_owned(),
            Event::Start { recovery: true } => "its recovery".to_owned(),
            Event::Input(input) => words("input", input),
            Event::Message(from, kind) => letter(*from, kind.name),
            Event::Timer(timer) => words("timer", timer),
        }
    }
}

fn letter(from: NodeId, kind: &str) -> String {
    format!("{kind} from {from}")
}

fn words(what: &str, value: &dyn Debug) -> String {
    format!("the {what} {value:?}")
}

/// Turns the effects of the process inside into erased ones.
struct Through<'s, 'a>(&'s mut Context<'a, AnyProcess>);

impl<P: Erasable> Effects<P> for Through<'_, '_> {
    fn send(&mut self, to: NodeId, msg: P::Msg) {
        self.0.send(to, AnyMsg::new(msg));
    }

    fn set_timer(&mut self, timer: P::Timer, after: Range<Duration>) {
        self.0.set_timer_within(AnyTimer::new(timer), after);
    }

    fn cancel_timer(&mut self, timer: P::Timer) {
        self.0.cancel_timer(AnyTimer::new(timer));
    }

    fn emit(&mut self, output: P::Output) {
        self.0.emit(AnyOutput::new(output));
    }

    fn rule(&mut self, rule: &'static str) {
        self.0.rule(rule);
    }
}

impl Process for AnyProcess {
    type Msg = AnyMsg;
    type Timer = AnyTimer;
    type Input = AnyInput;
    type Output = AnyOutput;
    type Durable = AnyDurable;
    type Config = AnyConfig;

    const ASSUMES: Assumptions = Assumptions::faultless(Channels::Fifo);

    fn durable(&self) -> AnyDurable {
        self.0.as_ref().map_or_else(|| AnyDurable::new(()), |process| process.durable())
    }

    fn on_start(&mut self, saved: Option<AnyDurable>, cx: &mut Context<'_, Self>) {
        self.0 = Some(cx.config().0.blank());
        self.call(Call::Start(saved), cx);
    }

    fn on_input(&mut self, input: AnyInput, cx: &mut Context<'_, Self>) {
        self.call(Call::Input(input), cx);
    }

    fn on_message(&mut self, from: NodeId, msg: AnyMsg, cx: &mut Context<'_, Self>) {
        self.call(Call::Message(from, msg), cx);
    }

    fn on_timer(&mut self, timer: AnyTimer, cx: &mut Context<'_, Self>) {
        self.call(Call::Timer(timer), cx);
    }
}

impl Clone for AnyProcess {
    fn clone(&self) -> Self {
        AnyProcess(self.0.as_ref().map(|process| process.boxed()))
    }
}

/// As the process inside.
impl Debug for AnyProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => f.write_str("Blank"),
            Some(process) => Debug::fmt(process, f),
        }
    }
}

impl PartialEq for AnyProcess {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(this), Some(other)) => this.equals(&**other),
            _ => false,
        }
    }
}

impl Eq for AnyProcess {}

impl Hash for AnyProcess {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        if let Some(process) = &self.0 {
            process.hash_into(hasher);
        }
    }
}

trait ErasedConfig: Value {
    fn blank(&self) -> Box<dyn ErasedProcess>;
}

struct Configured<P: Process>(P::Config);

impl<P: Process> Debug for Configured<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<P: Erasable> ErasedConfig for Configured<P> {
    fn blank(&self) -> Box<dyn ErasedProcess> {
        Box::new(P::default())
    }
}

impl Debug for AnyConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A value of any type that can be shown and shared.
trait Value: Any + Debug + Send + Sync {}

impl<T: Any + Debug + Send + Sync> Value for T {}

/// What erased values of all kinds have in common. A value is shared and counted, so that a copy
/// costs no allocation.
macro_rules! any_value {
    ($(#[$doc:meta])* $name:ident of $erased:ident: $($bound:tt)+) => {
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $name(Arc<dyn $erased>);

        impl $name {
            /// A value of a known type as one of any type.
            pub fn new<T: $($bound)+ + Send + Sync + 'static>(value: T) -> Self {
                $name(Arc::new(value))
            }

            /// The value inside, if it is of this type.
            pub fn downcast_ref<T: 'static>(&self) -> Option<&T> {
                let inside: &dyn Any = &*self.0;
                inside.downcast_ref()
            }

            /// The value inside, if it is of this type; copied only if it is shared.
            pub fn into_inner<T: Clone + Send + Sync + 'static>(self) -> Option<T> {
                let inside: Arc<dyn Any + Send + Sync> = self.0;
                inside.downcast().ok().map(Arc::unwrap_or_clone)
            }
        }

        /// As the value inside.
        impl Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                Debug::fmt(&*self.0, f)
            }
        }
    };
}

/// Equality and hash of erased values whose trait has `equals` and `hash_into`.
macro_rules! compares {
    ($name:ident) => {
        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.0.equals(&*other.0)
            }
        }

        impl Eq for $name {}

        impl Hash for $name {
            fn hash<H: Hasher>(&self, hasher: &mut H) {
                self.0.hash_into(hasher);
            }
        }
    };
}

any_value! {
    /// What any process is asked for.
    AnyInput of Value: Clone + Debug
}

any_value! {
    /// What any process says.
    AnyOutput of ErasedOutput: Clone + Debug + Display
}

trait ErasedOutput: Value + Display {}

impl<T: Debug + Display + Send + Sync + 'static> ErasedOutput for T {}

impl Display for AnyOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(&*self.0, f)
    }
}

any_value! {
    /// The durable state of any process.
    AnyDurable of ErasedDurable: Clone + Debug + Eq + Hash
}

/// A value that can be compared with others of its type.
trait ErasedDurable: Value {
    fn equals(&self, other: &dyn Any) -> bool;
    fn hash_into(&self, hasher: &mut dyn Hasher);
}

impl<T: Debug + Eq + Hash + Send + Sync + 'static> ErasedDurable for T {
    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<T>() == Some(self)
    }

    fn hash_into(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }
}

compares!(AnyDurable);

any_value! {
    /// A timer of any process.
    AnyTimer of ErasedTimer: Clone + Debug + Eq + Ord + Hash
}

trait ErasedTimer: ErasedDurable {
    /// Timers of two types are in no order; only one process has them, so that never matters.
    fn compare(&self, other: &dyn Any) -> Ordering;
}

impl<T: Debug + Eq + Ord + Hash + Send + Sync + 'static> ErasedTimer for T {
    fn compare(&self, other: &dyn Any) -> Ordering {
        other.downcast_ref::<T>().map_or(Ordering::Equal, |other| self.cmp(other))
    }
}

compares!(AnyTimer);

impl PartialOrd for AnyTimer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for AnyTimer {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.compare(&*other.0)
    }
}

any_value! {
    /// A message of any process.
    AnyMsg of ErasedMessage: Message
}

trait ErasedMessage: ErasedDurable + Display {
    fn kind(&self) -> Kind;
    fn weight(&self) -> usize;
}

impl<M: Message + Send + Sync + 'static> ErasedMessage for M {
    fn kind(&self) -> Kind {
        Message::kind(self)
    }

    fn weight(&self) -> usize {
        Message::weight(self)
    }
}

compares!(AnyMsg);

impl Display for AnyMsg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(&*self.0, f)
    }
}

impl Message for AnyMsg {
    fn kind(&self) -> Kind {
        self.0.kind()
    }

    fn weight(&self) -> usize {
        self.0.weight()
    }
}

impl<P: Erasable> Invariant<P> {
    /// The same claim about erased processes.
    pub fn erase(self) -> Invariant<AnyProcess> {
        let Invariant { name, text, validity, shape } = self;
        let shape = match shape {
            Shape::Each(holds) => Shape::Each(Arc::new(move |id, process: &AnyProcess| {
                process.downcast_ref().is_none_or(|process| holds(id, process))
            })),
            Shape::AtMostOne(key) => Shape::AtMostOne(Arc::new(move |id, process: &AnyProcess| {
                process.downcast_ref().and_then(|process| key(id, process))
            })),
            Shape::AtMostOneNow(key) => {
                Shape::AtMostOneNow(Arc::new(move |id, process: &AnyProcess, now| {
                    process.downcast_ref().and_then(|process| key(id, process, now))
                }))
            }
            Shape::Fenced(key) => Shape::Fenced(Arc::new(move |id, process: &AnyProcess, now| {
                process.downcast_ref().and_then(|process| key(id, process, now))
            })),
            Shape::Whole(holds) => {
                Shape::Whole(Arc::new(move |cluster: &Cluster<'_, AnyProcess>| {
                    let live = cluster.live.iter();
                    let live: Vec<_> = live
                        .filter_map(|(id, process)| Some((*id, process.downcast_ref()?)))
                        .collect();
                    let in_flight = cluster.in_flight.iter().filter_map(|sent| {
                        let InFlight { from, to, msg } = *sent;
                        Some(InFlight { from, to, msg: msg.downcast_ref()? })
                    });
                    let in_flight: Vec<_> = in_flight.collect();
                    holds(&Cluster { live: &live, in_flight: &in_flight })
                }))
            }
        };
        Invariant { name, text, validity, shape }
    }
}

impl<P: Erasable> Goal<P> {
    /// The same goal of erased processes.
    pub fn erase(self) -> Goal<AnyProcess> {
        let Goal { name, text, at_rest, holds } = self;
        let erased = Goal::new(name, text, move |live| {
            let mut live =
                live.filter_map(|(id, process)| Some((id, AnyProcess::downcast_ref(process)?)));
            holds(&mut live)
        });
        Goal { at_rest, ..erased }
    }
}

#[cfg(test)]
mod tests;
