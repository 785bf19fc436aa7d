//! Definitions of erased processes.

use crate::definition::{About, Definition, Milestone, Quantity, Settings};
use crate::mutex::Status;
use crate::options::BadOption;
use crate::referee::{Breach, Fact, Picture, Referee};
use crate::show::{ProcessView, Scene};
use bellwether_core::{
    AnyConfig, AnyDurable, AnyInput, AnyMsg, AnyOutput, AnyProcess, AnyTimer, Cluster, Codec,
    Coder, Erasable, Goal, Group, InFlight, Invariant, NodeId, Process, Shape, Time, Validity,
    blamed,
};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

impl<P: Erasable> Definition<P> {
    /// The same algorithm as an [`AnyProcess`]. A process, configuration or value of another type
    /// is treated as one about which there is nothing to say; no driver mixes them.
    pub fn erase(self) -> Definition<AnyProcess> {
        around(Arc::new(self))
    }
}

type Whole = Arc<dyn Inner<AnyProcess>>;

/// A closure that asks the definition inside.
macro_rules! ask {
    ($inner:ident, $closure:expr) => {{
        let $inner = $inner.clone();
        $closure
    }};
}

/// The definition around another one. It is compiled once: all that depends on the process inside is
/// asked through [`Inner`].
fn around(inner: Whole) -> Definition<AnyProcess> {
    let about = inner.about().clone();
    let config =
        ask!(inner, move |settings: &Settings, group: &Group| inner.configure(settings, group));
    let mut erased = Definition::assembled(about, codec(&inner), Box::new(config));
    let claims = (0..).map_while(|at| inner.claim(at));
    erased.invariants =
        claims.enumerate().map(|(at, claim)| invariant(&inner, at, claim)).collect();
    erased.goal = inner.goal().map(|Aim { name, text, at_rest }| {
        let holds = ask!(inner, move |live: Live<'_, '_, _>| {
            blamed(|| inner.holds(live), || format!("the goal '{name}' panicked"))
        });
        Goal::<AnyProcess>::new(name, text, holds).at_rest(at_rest)
    });
    if inner.has_section() {
        erased.milestone = Some(Arc::new(ask!(inner, move |output| inner.milestone_of(output))));
    }
    if inner.has_clock() {
        let clock = ask!(inner, move |process: &_, reading| inner.clock_of(process, reading));
        erased.clock = Some(Arc::new(clock));
    }
    erased.inner = Some(inner);
    erased
}

fn codec(inner: &Whole) -> Codec<AnyProcess> {
    Codec {
        msg: Coder::new(
            ask!(inner, move |msg: &_| inner.encode_msg(msg)),
            ask!(inner, move |bytes: &_| inner.decode_msg(bytes)),
        ),
        timer: Coder::new(
            ask!(inner, move |timer: &_| inner.encode_timer(timer)),
            ask!(inner, move |bytes: &_| inner.decode_timer(bytes)),
        ),
        input: Coder::new(
            ask!(inner, move |input: &_| inner.encode_input(input)),
            ask!(inner, move |bytes: &_| inner.decode_input(bytes)),
        ),
        durable: Coder::new(
            ask!(inner, move |durable: &_| inner.encode_durable(durable)),
            ask!(inner, move |bytes: &_| inner.decode_durable(bytes)),
        ),
    }
}

fn invariant(inner: &Whole, at: usize, claim: Claim) -> Invariant<AnyProcess> {
    let Claim { name, text, validity, form } = claim;
    let of = move |id| format!("the invariant '{name}' panicked while looking at {id}");
    let of_all = move || format!("the invariant '{name}' panicked");
    let shape = match form {
        Form::Each => Shape::Each(Arc::new(ask!(inner, move |id, process: &_| {
            blamed(|| inner.each(at, id, process), || of(id))
        }))),
        Form::AtMostOne => Shape::AtMostOne(Arc::new(ask!(inner, move |id, process: &_| {
            blamed(|| inner.key(at, id, process), || of(id))
        }))),
        Form::AtMostOneNow => {
            Shape::AtMostOneNow(Arc::new(ask!(inner, move |id, process: &_, now| {
                blamed(|| inner.key_now(at, id, process, now), || of(id))
            })))
        }
        Form::Fenced => Shape::Fenced(Arc::new(ask!(inner, move |id, process: &_, now| {
            blamed(|| inner.fence(at, id, process, now), || of(id))
        }))),
        Form::Whole => {
            Shape::Whole(Arc::new(ask!(inner, move |cluster: &Cluster<'_, AnyProcess>| {
                blamed(|| inner.whole(at, cluster), of_all)
            })))
        }
    };
    Invariant { name, text, validity, shape }
}

/// An invariant without its predicate.
pub(crate) struct Claim {
    name: &'static str,
    text: &'static str,
    validity: Validity,
    form: Form,
}

enum Form {
    Each,
    AtMostOne,
    AtMostOneNow,
    Fenced,
    Whole,
}

/// A goal without its predicate.
pub(crate) struct Aim {
    name: &'static str,
    text: &'static str,
    at_rest: bool,
}

type Live<'l, 'p, P> = &'l mut dyn Iterator<Item = (NodeId, &'p P)>;

/// What the definition of the process inside says of erased values.
pub(crate) trait Inner<P: Process>: Send + Sync {
    fn about(&self) -> &About;
    fn configure(&self, settings: &Settings, group: &Group) -> P::Config;
    fn check(&self, settings: &Settings, group: &Group) -> Result<(), BadOption>;
    fn encode_msg(&self, msg: &P::Msg) -> Vec<u8>;
    fn decode_msg(&self, bytes: &[u8]) -> Result<P::Msg, String>;
    fn encode_timer(&self, timer: &P::Timer) -> Vec<u8>;
    fn decode_timer(&self, bytes: &[u8]) -> Result<P::Timer, String>;
    fn encode_input(&self, input: &P::Input) -> Vec<u8>;
    fn decode_input(&self, bytes: &[u8]) -> Result<P::Input, String>;
    fn encode_durable(&self, durable: &P::Durable) -> Vec<u8>;
    fn decode_durable(&self, bytes: &[u8]) -> Result<P::Durable, String>;
    /// The invariant at this place of the list.
    fn claim(&self, at: usize) -> Option<Claim>;
    fn each(&self, at: usize, id: NodeId, process: &P) -> bool;
    fn key(&self, at: usize, id: NodeId, process: &P) -> Option<u64>;
    fn key_now(&self, at: usize, id: NodeId, process: &P, now: Time) -> Option<u64>;
    fn fence(&self, at: usize, id: NodeId, process: &P, now: Time) -> Option<u128>;
    fn whole(&self, at: usize, cluster: &Cluster<'_, P>) -> bool;
    fn goal(&self) -> Option<Aim>;
    fn holds(&self, live: Live<'_, '_, P>) -> bool;
    fn has_section(&self) -> bool;
    fn milestone_of(&self, output: &P::Output) -> Option<Milestone>;
    fn has_clock(&self) -> bool;
    fn clock_of(&self, process: &P, reading: Time) -> Option<Time>;
    fn input(&self, verb: &str) -> Option<P::Input>;
    fn verb(&self, input: &P::Input) -> Cow<'static, str>;
    fn is_work(&self, input: &P::Input) -> bool;
    fn settling_time(&self, config: &P::Config, group: &Group, work: u64) -> Duration;
    fn duration(&self, config: &P::Config) -> Option<Duration>;
    fn new_referee(&self, config: &P::Config, group: &Group) -> Option<Box<dyn Referee<P>>>;
    fn coordinator_of(&self, process: &P) -> Option<NodeId>;
    fn members_of<'a>(&self, process: &'a P) -> &'a [NodeId];
    fn section_of(&self, process: &P) -> Option<Status>;
    fn quantity(&self, config: &P::Config, group: &Group) -> Option<Quantity>;
    fn held_by(&self, process: &P) -> Option<u64>;
    fn carried_by(&self, msg: &P::Msg) -> u64;
    fn note_of(&self, process: &P) -> String;
    fn view_of(&self, process: &P, config: &P::Config, scene: &Scene<'_>) -> Option<ProcessView>;
}

impl<P: Erasable> Inner<AnyProcess> for Definition<P> {
    fn about(&self) -> &About {
        &self.about
    }

    fn configure(&self, settings: &Settings, group: &Group) -> AnyConfig {
        AnyConfig::new::<P>(self.config(settings, group))
    }

    fn check(&self, settings: &Settings, group: &Group) -> Result<(), BadOption> {
        self.check(settings, group)
    }

    fn encode_msg(&self, msg: &AnyMsg) -> Vec<u8> {
        // A value of another type has no bytes here; decoding refuses them.
        msg.downcast_ref().map_or_else(Vec::new, |msg| self.codec.msg.encode(msg))
    }

    fn decode_msg(&self, bytes: &[u8]) -> Result<AnyMsg, String> {
        self.codec.msg.decode(bytes).map(AnyMsg::new)
    }

    fn encode_timer(&self, timer: &AnyTimer) -> Vec<u8> {
        timer.downcast_ref().map_or_else(Vec::new, |timer| self.codec.timer.encode(timer))
    }

    fn decode_timer(&self, bytes: &[u8]) -> Result<AnyTimer, String> {
        self.codec.timer.decode(bytes).map(AnyTimer::new)
    }

    fn encode_input(&self, input: &AnyInput) -> Vec<u8> {
        input.downcast_ref().map_or_else(Vec::new, |input| self.codec.input.encode(input))
    }

    fn decode_input(&self, bytes: &[u8]) -> Result<AnyInput, String> {
        self.codec.input.decode(bytes).map(AnyInput::new)
    }

    fn encode_durable(&self, durable: &AnyDurable) -> Vec<u8> {
        durable.downcast_ref().map_or_else(Vec::new, |durable| self.codec.durable.encode(durable))
    }

    fn decode_durable(&self, bytes: &[u8]) -> Result<AnyDurable, String> {
        self.codec.durable.decode(bytes).map(AnyDurable::new)
    }

    fn claim(&self, at: usize) -> Option<Claim> {
        let Invariant { name, text, validity, shape } = self.invariants.get(at)?;
        let form = match shape {
            Shape::Each(_) => Form::Each,
            Shape::AtMostOne(_) => Form::AtMostOne,
            Shape::AtMostOneNow(_) => Form::AtMostOneNow,
            Shape::Fenced(_) => Form::Fenced,
            Shape::Whole(_) => Form::Whole,
        };
        Some(Claim { name, text, validity: *validity, form })
    }

    fn each(&self, at: usize, id: NodeId, process: &AnyProcess) -> bool {
        match (&self.invariants[at].shape, process.downcast_ref()) {
            (Shape::Each(holds), Some(process)) => holds(id, process),
            _ => true,
        }
    }

    fn key(&self, at: usize, id: NodeId, process: &AnyProcess) -> Option<u64> {
        match &self.invariants[at].shape {
            Shape::AtMostOne(key) => key(id, process.downcast_ref()?),
            _ => None,
        }
    }

    fn key_now(&self, at: usize, id: NodeId, process: &AnyProcess, now: Time) -> Option<u64> {
        match &self.invariants[at].shape {
            Shape::AtMostOneNow(key) => key(id, process.downcast_ref()?, now),
            _ => None,
        }
    }

    fn fence(&self, at: usize, id: NodeId, process: &AnyProcess, now: Time) -> Option<u128> {
        match &self.invariants[at].shape {
            Shape::Fenced(key) => key(id, process.downcast_ref()?, now),
            _ => None,
        }
    }

    fn whole(&self, at: usize, cluster: &Cluster<'_, AnyProcess>) -> bool {
        let Shape::Whole(holds) = &self.invariants[at].shape else { return true };
        let live = cluster.live.iter();
        let live: Vec<_> =
            live.filter_map(|(id, process)| Some((*id, process.downcast_ref()?))).collect();
        let in_flight = cluster.in_flight.iter().filter_map(|sent| {
            let InFlight { from, to, msg } = *sent;
            Some(InFlight { from, to, msg: msg.downcast_ref()? })
        });
        let in_flight: Vec<_> = in_flight.collect();
        holds(&Cluster { live: &live, in_flight: &in_flight })
    }

    fn goal(&self) -> Option<Aim> {
        let Goal { name, text, at_rest, .. } = *self.goal.as_ref()?;
        Some(Aim { name, text, at_rest })
    }

    fn holds(&self, live: Live<'_, '_, AnyProcess>) -> bool {
        self.agreed(live.filter_map(|(id, process)| Some((id, process.downcast_ref()?))))
    }

    fn has_section(&self) -> bool {
        self.milestone.is_some()
    }

    fn milestone_of(&self, output: &AnyOutput) -> Option<Milestone> {
        self.milestone.as_ref()?(output.downcast_ref()?)
    }

    fn has_clock(&self) -> bool {
        self.clock.is_some()
    }

    fn clock_of(&self, process: &AnyProcess, reading: Time) -> Option<Time> {
        self.clock.as_ref()?(process.downcast_ref()?, reading)
    }

    fn input(&self, verb: &str) -> Option<AnyInput> {
        self.input(verb).map(AnyInput::new)
    }

    fn verb(&self, input: &AnyInput) -> Cow<'static, str> {
        input.downcast_ref().map_or(Cow::Borrowed(""), |input| self.verb(input))
    }

    fn is_work(&self, input: &AnyInput) -> bool {
        input.downcast_ref().is_some_and(|input| self.is_work(input))
    }

    fn settling_time(&self, config: &AnyConfig, group: &Group, work: u64) -> Duration {
        let config = config.downcast_ref::<P>();
        config.map_or(Duration::ZERO, |config| self.settling_time(config, group, work))
    }

    fn duration(&self, config: &AnyConfig) -> Option<Duration> {
        self.duration(config.downcast_ref::<P>()?)
    }

    fn new_referee(
        &self,
        config: &AnyConfig,
        group: &Group,
    ) -> Option<Box<dyn Referee<AnyProcess>>> {
        let referee = self.new_referee(config.downcast_ref::<P>()?, group)?;
        Some(Box::new(Hearing(referee)))
    }

    fn coordinator_of(&self, process: &AnyProcess) -> Option<NodeId> {
        self.coordinator_of(process.downcast_ref()?)
    }

    fn members_of<'a>(&self, process: &'a AnyProcess) -> &'a [NodeId] {
        process.downcast_ref().map_or(&[], |process| self.members_of(process))
    }

    fn section_of(&self, process: &AnyProcess) -> Option<Status> {
        self.section_of(process.downcast_ref()?)
    }

    fn quantity(&self, config: &AnyConfig, group: &Group) -> Option<Quantity> {
        self.quantity(config.downcast_ref::<P>()?, group)
    }

    fn held_by(&self, process: &AnyProcess) -> Option<u64> {
        self.held_by(process.downcast_ref()?)
    }

    fn carried_by(&self, msg: &AnyMsg) -> u64 {
        msg.downcast_ref().map_or(0, |msg| self.carried_by(msg))
    }

    fn note_of(&self, process: &AnyProcess) -> String {
        process.downcast_ref().map_or_else(String::new, |process| self.note_of(process))
    }

    fn view_of(
        &self,
        process: &AnyProcess,
        config: &AnyConfig,
        scene: &Scene<'_>,
    ) -> Option<ProcessView> {
        self.view_of(process.downcast_ref()?, config.downcast_ref::<P>()?, scene)
    }
}

/// The referee of the process inside at a run of erased ones.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Hearing<P: Erasable>(Box<dyn Referee<P>>);

impl<P: Erasable> Referee<AnyProcess> for Hearing<P> {
    fn hears(&mut self, at: Time, who: NodeId, output: &AnyOutput) -> Result<(), Breach> {
        output.downcast_ref().map_or(Ok(()), |output| self.0.hears(at, who, output))
    }

    fn crashed(&mut self, at: Time, who: NodeId) {
        self.0.crashed(at, who);
    }

    fn looks_every(&self) -> Option<Duration> {
        self.0.looks_every()
    }

    fn looks(&mut self, at: Time, right: Time, clocks: &[(NodeId, Time)]) -> Result<(), Breach> {
        self.0.looks(at, right, clocks)
    }

    fn closes(&mut self, at: Time, live: &[NodeId]) -> Result<(), Breach> {
        self.0.closes(at, live)
    }

    fn claims(&self) -> Vec<&'static str> {
        self.0.claims()
    }

    fn facts(&self) -> Vec<Fact> {
        self.0.facts()
    }

    fn pictures(&self) -> Vec<Picture> {
        self.0.pictures()
    }
}
