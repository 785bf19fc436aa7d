//! Any election as one process: its configuration says which.
//!
//! A process with an election as a part, such as the production member, is one type and compiled
//! once, whichever election its operator chooses. In a trace the state, the messages and the timers
//! look like those of the chosen election.

use super::{Election, Incarnation, Input, Output, Watched};
use crate::definition::{Entry, Settings};
use bellwether_core::{
    Assumptions, Call, Channels, Context, Group, Kind, Message, NodeId, Process,
};
use serde::de::{DeserializeSeed, Deserializer};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;

/// What an [`AnyElection`] is configured with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Which election it is.
    pub choice: Choice,
    /// What all of them are configured with.
    pub common: super::Config,
}

impl Config {
    /// The configuration of the chosen election for these settings.
    pub fn new(choice: Choice, settings: &Settings, group: &Group) -> Self {
        Config { choice, common: choice.config(settings, group) }
    }
}

impl Choice {
    /// The election of this name.
    pub fn named(name: &str) -> Option<Choice> {
        Choice::ALL.iter().copied().find(|choice| choice.name() == name)
    }

    /// Its name, as the catalogue and configurations have it.
    pub fn name(self) -> &'static str {
        self.entry().name
    }
}

impl Default for Choice {
    fn default() -> Self {
        Choice::ALL[0]
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Before its start; the start makes it the one of its configuration.
impl Default for AnyElection {
    fn default() -> Self {
        AnyElection::from(Choice::default())
    }
}

/// A message as its own election writes it. It does not say which election that is: a format that
/// has another place for that, such as the member's, reads it back with [`Choice`] as the seed.
#[derive(Clone, Copy, Debug)]
pub struct Body<'a>(pub &'a Msg);

impl Process for AnyElection {
    type Msg = Msg;
    type Timer = Timer;
    type Input = Input;
    type Output = Output;
    type Durable = Incarnation;
    type Config = Config;

    /// What every one of them is content with; see [`Choice::entry`] for what each assumes.
    const ASSUMES: Assumptions = Assumptions::synchronous(Channels::Fifo);

    fn durable(&self) -> Incarnation {
        self.incarnation()
    }

    fn on_start(&mut self, saved: Option<Incarnation>, cx: &mut Context<'_, Self>) {
        *self = AnyElection::from(cx.config().choice);
        self.call(Call::Start(saved), cx);
    }

    fn on_input(&mut self, input: Input, cx: &mut Context<'_, Self>) {
        self.call(Call::Input(input), cx);
    }

    fn on_message(&mut self, from: NodeId, msg: Msg, cx: &mut Context<'_, Self>) {
        self.call(Call::Message(from, msg), cx);
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Context<'_, Self>) {
        self.call(Call::Timer(timer), cx);
    }
}

macro_rules! any {
    ($($module:ident::$election:ident),+ $(,)?) => {
        $(use super::$election;)+

        /// Which election.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "each has the name of its type")]
        pub enum Choice {
            $($election),+
        }

        impl Choice {
            /// All of them, the default first.
            pub const ALL: &'static [Choice] = &[$(Choice::$election),+];

            /// The names of all of them, in the same order.
            pub const NAMES: &'static [&'static str] =
                &[$(<$election as Election>::ENTRY.name),+];

            /// What the catalogue says about it.
            pub fn entry(self) -> Entry {
                match self {
                    $(Choice::$election => <$election as Election>::ENTRY),+
                }
            }

            fn config(self, settings: &Settings, group: &Group) -> super::Config {
                match self {
                    $(Choice::$election => Watched::<$election>::config(settings, group)),+
                }
            }
        }

        /// One of the elections.
        #[derive(Clone, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "each has the name of its type")]
        pub enum AnyElection {
            $($election($election)),+
        }

        /// A message of one of the elections.
        #[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[allow(missing_docs, reason = "each has the name of its election")]
        pub enum Msg {
            $($election(<$election as Process>::Msg)),+
        }

        /// A timer of one of the elections.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[allow(missing_docs, reason = "each has the name of its election")]
        pub enum Timer {
            $($election(<$election as Process>::Timer)),+
        }

        impl From<Choice> for AnyElection {
            /// The chosen election before its start.
            fn from(choice: Choice) -> Self {
                match choice {
                    $(Choice::$election => AnyElection::$election($election::default())),+
                }
            }
        }

        impl AnyElection {
            fn incarnation(&self) -> Incarnation {
                match self {
                    $(AnyElection::$election(election) => election.durable()),+
                }
            }

            fn call(&mut self, call: Call<Self>, cx: &mut Context<'_, Self>) {
                let config = &cx.config().common;
                match self {
                    $(AnyElection::$election(election) => {
                        let call = match call {
                            Call::Start(saved) => Call::Start(saved),
                            Call::Input(input) => Call::Input(input),
                            Call::Message(from, Msg::$election(msg)) => Call::Message(from, msg),
                            Call::Timer(Timer::$election(timer)) => Call::Timer(timer),
                            // Another election's, which means nothing to this one.
                            Call::Message(..) | Call::Timer(_) => return,
                        };
                        cx.delegate(config, Msg::$election, Timer::$election, |cx| {
                            call.make(election, cx);
                        });
                    })+
                }
            }
        }

        impl Msg {
            /// Whose message it is.
            pub fn choice(&self) -> Choice {
                match self {
                    $(Msg::$election(_) => Choice::$election),+
                }
            }
        }

        impl Message for Msg {
            fn kind(&self) -> Kind {
                match self {
                    $(Msg::$election(msg) => msg.kind()),+
                }
            }
        }

        impl Serialize for Body<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self.0 {
                    $(Msg::$election(msg) => msg.serialize(serializer)),+
                }
            }
        }

        impl<'de> DeserializeSeed<'de> for Choice {
            type Value = Msg;

            /// Reads the [`Body`] of a message of the chosen election.
            fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Msg, D::Error> {
                match self {
                    $(Choice::$election => {
                        Deserialize::deserialize(deserializer).map(Msg::$election)
                    })+
                }
            }
        }

        any!(@shown fmt::Display, Msg $($election)+);
        any!(@shown fmt::Debug, Msg $($election)+);
        any!(@shown fmt::Debug, Timer $($election)+);
        any!(@shown fmt::Debug, AnyElection $($election)+);
    };
    // As the election itself shows it.
    (@shown $format:path, $type:ident $($election:ident)+) => {
        impl $format for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $($type::$election(shown) => <_ as $format>::fmt(shown, f)),+
                }
            }
        }
    };
}

elections!(any!);

#[cfg(test)]
mod tests {
    use super::super::tests::{Fixture, T, config, id};
    use super::super::{bully, chang_roberts, link};
    use super::*;
    use crate::catalogue::catalogue;
    use bellwether_core::Effect;

    fn blank(choice: Choice) -> Fixture<AnyElection> {
        Fixture::blank(2, Config { choice, common: config() })
    }

    #[test]
    fn every_election_of_the_catalogue_can_be_chosen() {
        let catalogue = catalogue();
        let listed = catalogue.iter().filter(|listed| listed.entry.family == "election");
        let names: Vec<_> = listed.map(|listed| listed.name()).collect();
        assert_eq!(Choice::NAMES, names);
        for (choice, name) in Choice::ALL.iter().zip(names) {
            assert_eq!(Choice::named(name), Some(*choice));
        }
        assert_eq!(Choice::named("bulli"), None);
        assert_eq!(Choice::default(), Choice::Bully);
    }

    #[test]
    fn it_assumes_what_its_elections_assume() {
        let all = Choice::ALL.iter().map(|choice| choice.entry().assumes);
        for assumes in all {
            assert_eq!(Assumptions { channels: Channels::Fifo, ..assumes }, AnyElection::ASSUMES);
        }
    }

    #[test]
    fn it_does_what_the_chosen_election_does() {
        let mut any = blank(Choice::Bully);
        assert_eq!(any.start(None), []);
        let mut alone = Fixture::<Bully>::at(2);
        let wrap = |effect| match effect {
            Effect::Send(to, msg) => Effect::Send(to, Msg::Bully(msg)),
            Effect::SetTimer(timer, after) => Effect::SetTimer(Timer::Bully(timer), after),
            Effect::CancelTimer(timer) => Effect::CancelTimer(Timer::Bully(timer)),
            Effect::Emit(output) => Effect::Emit(output),
        };
        let same = |any: Vec<Effect<AnyElection>>, alone: Vec<Effect<Bully>>| {
            assert!(!any.is_empty());
            assert_eq!(any, alone.into_iter().map(wrap).collect::<Vec<_>>());
        };
        same(any.input(Input::Start), alone.input(Input::Start));
        same(any.deliver(3, Msg::Bully(bully::Msg::Ok)), alone.deliver(3, bully::Msg::Ok));
        let late = bully::Timer::Victory;
        same(any.fire(Timer::Bully(late)), alone.fire(late));
        assert_eq!(any.process, AnyElection::Bully(alone.process.clone()));
        same(any.recover(), alone.recover());
    }

    #[test]
    fn what_is_meant_for_another_election_is_ignored() {
        let mut ring = blank(Choice::Ring);
        ring.start(None);
        let before = ring.process.clone();
        assert_eq!(ring.deliver(3, Msg::Bully(bully::Msg::Election)), []);
        assert_eq!(ring.fire(Timer::Bully(bully::Timer::Answer)), []);
        assert_eq!(ring.process, before);
    }

    #[test]
    fn the_configuration_is_that_of_the_watched_election() {
        let settings = Settings { detection: true, ..Settings::new(T) };
        let group = Group::numbered(5).unwrap();
        let bully = Watched::<Bully>::config(&settings, &group);
        let rings = Watched::<HirschbergSinclair>::config(&settings, &group);
        assert_eq!(Config::new(Choice::Bully, &settings, &group).common, bully);
        assert_eq!(Config::new(Choice::HirschbergSinclair, &settings, &group).common, rings);
        assert_ne!(bully, rings, "one takes longer than the other");
    }

    #[test]
    fn a_message_looks_like_that_of_its_election() {
        let body = chang_roberts::Body::Election(id(4));
        let (seq, leg) = (link::Seq::default(), link::Leg::new(1, false));
        let carry = link::Msg::Carry { seq, leg, body };
        let msg = Msg::ChangRoberts(carry.clone());
        assert_eq!(msg.choice(), Choice::ChangRoberts);
        assert_eq!(msg.kind(), carry.kind());
        assert_eq!(msg.to_string(), carry.to_string());
        assert_eq!(format!("{msg:?}"), format!("{carry:?}"));
        let json = serde_json::to_value(Body(&msg)).unwrap();
        assert_eq!(json, serde_json::to_value(&carry).unwrap());
        assert_eq!(Choice::ChangRoberts.deserialize(&json).unwrap(), msg);
        assert!(Choice::Bully.deserialize(&json).is_err());
    }
}
