//! The bank, or any algorithm of the catalogue, as one process: which of them it is, the
//! configuration says.
//!
//! Snapshots of any algorithm by its name would otherwise need a second type, and a second build of
//! every driver, for each. The catalogue hands its list to [`anything`], which makes of it a process
//! with a variant for each, and of their messages, timers and so on likewise. An algorithm that is
//! added to the catalogue is here too, without a word.
//!
//! An input is a word, which the algorithm reads when it comes: which algorithm that is, is not
//! known before.

use super::Bank;
use super::bank::{self, is_ring};
use crate::catalogue::{Algorithm, Entry, Settings, Topology};
use crate::options::{BadOption, Opt};
use crate::referee::{Breach, Fact, Picture, Referee};
use bellwether_core::{Call, Context, Effects, NodeId, Process, Time};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::time::Duration;

/// What is asked of an algorithm, as the scenario or the command line has it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Word(pub String);

/// The options that there are, whatever runs.
pub(crate) const OPTIONS: &[Opt] = &[
    Opt {
        name: "over",
        value: Some("NAME"),
        help: "what snapshots are taken of: bank, or any other algorithm; bank if not given",
    },
    bank::BALANCE_OPTION,
    Opt {
        name: "channels",
        value: Some("WHICH"),
        help: "mesh: from everybody to everybody; ring: from each to the next, for what sends \
               nothing elsewhere; mesh if not given",
    },
];

/// The name of what runs.
pub(crate) fn over(settings: &Settings) -> &str {
    settings.options.text("over").unwrap_or(Bank::ENTRY.name)
}

/// The settings for what runs. Acknowledgements would go round the wrong way.
pub(crate) fn settings_below(settings: &Settings) -> Settings {
    let acknowledge = settings.acknowledge && !is_ring(settings);
    Settings { acknowledge, ..settings.clone() }
}

/// Whether these settings can be, with an algorithm of this entry.
pub(crate) fn check(settings: &Settings, entry: &Entry) -> Result<(), BadOption> {
    let refuse = |why: String| Err(BadOption { option: "channels", why });
    let circles = entry.topology == Topology::Ring || entry.name == Bank::ENTRY.name;
    match settings.options.text("channels") {
        None | Some("mesh") => Ok(()),
        Some("ring") if !circles => {
            let name = entry.name;
            refuse(format!("{name} sends messages to others than the next on the ring; use mesh"))
        }
        Some("ring") if settings.detection => {
            refuse("with detection, messages do not keep to the ring; use mesh".to_owned())
        }
        Some("ring") => Ok(()),
        Some(other) => refuse(format!("'{other}' is neither mesh nor ring")),
    }
}

/// The refusal of an algorithm that is not there.
pub(crate) fn unknown(name: &str, names: &[&str]) -> BadOption {
    let why =
        format!("there is no algorithm '{name}' to run below; it can be {}", names.join(", "));
    BadOption { option: "over", why }
}

/// How what one of the variants sends, arms and says becomes the whole's.
pub(crate) struct Wrap<C: Process, A: Process> {
    pub(crate) msg: fn(C::Msg) -> A::Msg,
    pub(crate) timer: fn(C::Timer) -> A::Timer,
    pub(crate) output: fn(C::Output) -> A::Output,
}

/// Lets a variant do something.
pub(crate) fn call<C: Process, A: Process>(
    process: &mut C,
    config: &C::Config,
    call: Call<C>,
    wrap: Wrap<C, A>,
    cx: &mut Context<'_, A>,
) {
    let here = *cx.here();
    let mut inside = Inside { cx, wrap };
    call.make(process, &mut Context::new(&here, config, &mut inside));
}

/// Where a variant's effects go.
struct Inside<'s, 'a, C: Process, A: Process> {
    cx: &'s mut Context<'a, A>,
    wrap: Wrap<C, A>,
}

impl<C: Process, A: Process> Effects<C> for Inside<'_, '_, C, A> {
    fn send(&mut self, to: NodeId, msg: C::Msg) {
        self.cx.send(to, (self.wrap.msg)(msg));
    }

    fn set_timer(&mut self, timer: C::Timer, after: Range<Duration>) {
        self.cx.set_timer_within((self.wrap.timer)(timer), after);
    }

    fn cancel_timer(&mut self, timer: C::Timer) {
        self.cx.cancel_timer((self.wrap.timer)(timer));
    }

    fn emit(&mut self, output: C::Output) {
        self.cx.emit((self.wrap.output)(output));
    }

    fn rule(&mut self, rule: &'static str) {
        self.cx.rule(rule);
    }
}

/// A process of which `C` is a variant.
pub(crate) trait Whole<C: Process>: Process {
    /// What of the whole's outputs is the variant's.
    fn own(output: &Self::Output) -> Option<&C::Output>;
}

/// A variant's own referee at a run of the whole.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Hearing<C: Process>(pub(crate) Box<dyn Referee<C>>);

impl<C: Process + 'static, A: Whole<C>> Referee<A> for Hearing<C> {
    fn hears(&mut self, at: Time, who: NodeId, output: &A::Output) -> Result<(), Breach> {
        A::own(output).map_or(Ok(()), |output| self.0.hears(at, who, output))
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

/// Makes the process of a list of algorithms.
macro_rules! anything {
    // Each type gets a name for its variants: a macro cannot make names of types.
    (@name [$($named:tt)*] [] [$($spare:ident)*]) => {
        $crate::snapshot::anything::anything!(@make $($named)*);
    };
    (@name [$($named:tt)*] [$first:ty, $($rest:ty,)*] [$name:ident $($spare:ident)*]) => {
        $crate::snapshot::anything::anything!(
            @name [$($named)* ($name $first)] [$($rest,)*] [$($spare)*]
        );
    };
    (@make $(($name:ident $algorithm:ty))+) => {
        /// The names of all that can run.
        pub const NAMES: &[&str] = &[$(<$algorithm as Algorithm>::ENTRY.name),+];

        /// One of the algorithms, once it has started.
        #[derive(Clone, Default, PartialEq, Eq, Hash)]
        #[allow(missing_docs, clippy::large_enum_variant, reason = "one for each algorithm")]
        pub enum Anything {
            #[default]
            Blank,
            $($name($algorithm)),+
        }

        /// A message of one of them.
        #[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[allow(missing_docs, clippy::large_enum_variant, reason = "one for each algorithm")]
        pub enum Msg {
            $($name(<$algorithm as Process>::Msg)),+
        }

        /// A timer of one of them.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[allow(missing_docs, reason = "one for each algorithm")]
        pub enum Timer {
            $($name(<$algorithm as Process>::Timer)),+
        }

        /// What one of them says.
        #[derive(Clone)]
        #[allow(missing_docs, clippy::large_enum_variant, reason = "one for each algorithm")]
        pub enum Output {
            /// It has no such verb.
            Unknown(Word, &'static str, &'static [&'static str]),
            $($name(<$algorithm as Process>::Output)),+
        }

        /// What survives a crash of one of them.
        #[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[allow(missing_docs, clippy::large_enum_variant, reason = "one for each algorithm")]
        pub enum Durable {
            Blank,
            $($name(<$algorithm as Process>::Durable)),+
        }

        /// The configuration of one of them.
        #[allow(missing_docs, clippy::large_enum_variant, reason = "one for each algorithm")]
        pub enum Config {
            $($name(<$algorithm as Process>::Config)),+
        }

        impl fmt::Debug for Anything {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    Anything::Blank => f.write_str("Blank"),
                    $(Anything::$name(process) => process.fmt(f)),+
                }
            }
        }

        impl fmt::Debug for Msg {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Msg::$name(msg) => fmt::Debug::fmt(msg, f)),+
                }
            }
        }

        impl fmt::Display for Msg {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Msg::$name(msg) => fmt::Display::fmt(msg, f)),+
                }
            }
        }

        impl Message for Msg {
            fn kind(&self) -> Kind {
                match self {
                    $(Msg::$name(msg) => msg.kind()),+
                }
            }
        }

        impl fmt::Debug for Output {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    Output::Unknown(word, ..) => f.debug_tuple("Unknown").field(word).finish(),
                    $(Output::$name(output) => fmt::Debug::fmt(output, f)),+
                }
            }
        }

        impl fmt::Display for Output {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    Output::Unknown(Word(word), name, verbs) => {
                        write!(f, "does nothing: {name} does not know '{word}'")?;
                        match verbs {
                            [] => Ok(()),
                            verbs => write!(f, ", only {}", verbs.join(", ")),
                        }
                    }
                    $(Output::$name(output) => fmt::Display::fmt(output, f)),+
                }
            }
        }

        impl fmt::Debug for Config {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Config::$name(config) => config.fmt(f)),+
                }
            }
        }

        impl Process for Anything {
            type Msg = Msg;
            type Timer = Timer;
            type Input = Word;
            type Output = Output;
            type Durable = Durable;
            type Config = Config;

            const ASSUMES: Assumptions = Assumptions::faultless(Channels::Fifo);

            fn durable(&self) -> Durable {
                match self {
                    Anything::Blank => Durable::Blank,
                    $(Anything::$name(process) => Durable::$name(process.durable())),+
                }
            }

            fn on_start(&mut self, saved: Option<Durable>, cx: &mut Context<'_, Self>) {
                match cx.config() {
                    $(Config::$name(config) => {
                        let saved = match saved {
                            Some(Durable::$name(saved)) => Some(saved),
                            _ => None,
                        };
                        let mut process = <$algorithm>::default();
                        let wrap =
                            Wrap { msg: Msg::$name, timer: Timer::$name, output: Output::$name };
                        call(&mut process, config, Call::Start(saved), wrap, cx);
                        *self = Anything::$name(process);
                    })+
                }
            }

            fn on_input(&mut self, word: Word, cx: &mut Context<'_, Self>) {
                match (self, cx.config()) {
                    $((Anything::$name(process), Config::$name(config)) => {
                        let wrap =
                            Wrap { msg: Msg::$name, timer: Timer::$name, output: Output::$name };
                        match <$algorithm as Algorithm>::input(&word.0) {
                            Some(input) => call(process, config, Call::Input(input), wrap, cx),
                            None => cx.emit(Output::Unknown(
                                word,
                                <$algorithm as Algorithm>::ENTRY.name,
                                <$algorithm as Algorithm>::VERBS,
                            )),
                        }
                    })+
                    _ => {}
                }
            }

            fn on_message(&mut self, from: NodeId, msg: Msg, cx: &mut Context<'_, Self>) {
                match (self, msg, cx.config()) {
                    $((Anything::$name(process), Msg::$name(msg), Config::$name(config)) => {
                        let wrap =
                            Wrap { msg: Msg::$name, timer: Timer::$name, output: Output::$name };
                        call(process, config, Call::Message(from, msg), wrap, cx);
                    })+
                    // Of another algorithm: nobody sends that.
                    _ => {}
                }
            }

            fn on_timer(&mut self, timer: Timer, cx: &mut Context<'_, Self>) {
                match (self, timer, cx.config()) {
                    $((Anything::$name(process), Timer::$name(timer), Config::$name(config)) => {
                        let wrap =
                            Wrap { msg: Msg::$name, timer: Timer::$name, output: Output::$name };
                        call(process, config, Call::Timer(timer), wrap, cx);
                    })+
                    _ => {}
                }
            }
        }

        impl Algorithm for Anything {
            const ENTRY: Entry = Entry {
                name: "anything",
                family: "snapshot",
                title: "Any algorithm",
                source: "the catalogue",
                cost: "as that algorithm",
                assumes: <Self as Process>::ASSUMES,
                topology: Topology::Mesh,
            };

            // READS_CLOCK stays false: a type cannot tell which of them will run, and most do not.
            const OPTIONS: &'static [Opt] = OPTIONS;
            const VERBS: &'static [&'static str] = &[];
            const KINDS: &'static [&'static str] = &[];

            fn check(settings: &Settings, group: &Group) -> Result<(), BadOption> {
                let name = over(settings);
                $(if name == <$algorithm as Algorithm>::ENTRY.name {
                    check(settings, &<$algorithm as Algorithm>::ENTRY)?;
                    return <$algorithm as Algorithm>::check(&settings_below(settings), group);
                })+
                Err(unknown(name, NAMES))
            }

            fn config(settings: &Settings, group: &Group) -> Config {
                let (name, settings) = (over(settings), settings_below(settings));
                $(if name == <$algorithm as Algorithm>::ENTRY.name {
                    return Config::$name(<$algorithm as Algorithm>::config(&settings, group));
                })+
                // It was refused; the bank is the default.
                Config::A0(<Bank as Algorithm>::config(&settings, group))
            }

            /// A word that some algorithm knows.
            fn input(verb: &str) -> Option<Word> {
                let known = false $(|| <$algorithm as Algorithm>::input(verb).is_some())+;
                known.then(|| Word(verb.to_owned()))
            }

            fn verb(input: &Word) -> Cow<'static, str> {
                Cow::Owned(input.0.clone())
            }

            fn coordinator(&self) -> Option<NodeId> {
                match self {
                    Anything::Blank => None,
                    $(Anything::$name(process) => process.coordinator()),+
                }
            }

            fn members(&self) -> &[NodeId] {
                match self {
                    Anything::Blank => &[],
                    $(Anything::$name(process) => process.members()),+
                }
            }

            /// That of whichever runs. Some of them never rest, so this one cannot ask for it;
            /// see [`Subject::rests`].
            fn goal() -> Goal<Self> {
                Goal {
                    name: "goal",
                    text: "what runs has reached its goal",
                    at_rest: false,
                    holds: |processes| {
                        let live: Vec<(NodeId, &Self)> = processes.collect();
                        match live.first() {
                            None | Some((_, Anything::Blank)) => true,
                            $(Some((_, Anything::$name(_))) => {
                                let mut live = live.iter().filter_map(|(id, any)| match any {
                                    Anything::$name(process) => Some((*id, process)),
                                    _ => None,
                                });
                                (<$algorithm as Algorithm>::goal().holds)(&mut live)
                            })+
                        }
                    },
                }
            }

            fn settles_within(config: &Config, group: &Group, work: u64) -> Duration {
                match config {
                    $(Config::$name(config) => {
                        <$algorithm as Algorithm>::settles_within(config, group, work)
                    })+
                }
            }

            fn is_work(Word(verb): &Word) -> bool {
                false $(|| <$algorithm as Algorithm>::input(verb)
                    .is_some_and(|input| <$algorithm as Algorithm>::is_work(&input)))+
            }

            fn section(&self) -> Option<Standing> {
                match self {
                    Anything::Blank => None,
                    $(Anything::$name(process) => process.section()),+
                }
            }

            fn milestone(output: &Output) -> Option<Milestone> {
                match output {
                    Output::Unknown(..) => None,
                    $(Output::$name(output) => <$algorithm as Algorithm>::milestone(output)),+
                }
            }

            fn referee(config: &Config, group: &Group) -> Option<Box<dyn Referee<Self>>> {
                match config {
                    $(Config::$name(config) => {
                        let referee = <$algorithm as Algorithm>::referee(config, group)?;
                        Some(Box::new(Hearing(referee)))
                    })+
                }
            }

            fn clock(&self, reading: Time) -> Option<Time> {
                match self {
                    Anything::Blank => None,
                    $(Anything::$name(process) => process.clock(reading)),+
                }
            }

            fn lasts(config: &Config) -> Option<Duration> {
                match config {
                    $(Config::$name(config) => <$algorithm as Algorithm>::lasts(config)),+
                }
            }
        }

        $(impl Whole<$algorithm> for Anything {
            fn own(output: &Output) -> Option<&<$algorithm as Process>::Output> {
                match output {
                    Output::$name(output) => Some(output),
                    _ => None,
                }
            }
        })+

        impl Subject for Anything {
            fn quantity(config: &Config, group: &Group) -> Option<Quantity> {
                match config {
                    $(Config::$name(config) => quantity::<$algorithm>(config, group)),+
                }
            }

            fn held(&self) -> Option<u64> {
                match self {
                    Anything::Blank => None,
                    $(Anything::$name(process) => held(process)),+
                }
            }

            fn carried(msg: &Msg) -> u64 {
                match msg {
                    $(Msg::$name(msg) => carried(msg)),+
                }
            }

            fn note(&self) -> String {
                match self {
                    Anything::Blank => String::new(),
                    $(Anything::$name(process) => note(process)),+
                }
            }

            fn routes(settings: &Settings) -> Routes {
                Bank::routes(settings)
            }

            fn rests(&self) -> bool {
                match self {
                    Anything::Blank => false,
                    $(Anything::$name(_) => <$algorithm as Algorithm>::goal().at_rest),+
                }
            }
        }
    };
    ($($algorithm:ty),+ $(,)?) => {
        $crate::snapshot::anything::anything!(
            @name [] [$crate::snapshot::Bank, $($algorithm,)+] [
                A0 A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11 A12 A13 A14 A15 A16 A17 A18 A19 A20 A21
                A22 A23 A24 A25 A26 A27 A28 A29 A30 A31 A32 A33 A34 A35 A36 A37 A38 A39 A40 A41
                A42 A43 A44 A45 A46 A47 A48 A49 A50 A51 A52 A53 A54 A55 A56 A57 A58 A59 A60 A61
            ]
        );
    };
}

pub(crate) use anything;

#[cfg(test)]
#[path = "tests/anything.rs"]
mod tests;
