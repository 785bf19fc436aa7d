//! JSON Lines, for programs.
//!
//! The first line says what ran, every other line is one event. The types here are the schema:
//! a program that reads traces can use them or generate their own from them. Fields are only ever added;
//! whatever else changes gets a new [`SCHEMA`].

use super::counted;
use crate::trace::{self, Trace, TraceEvent, What};
use bellwether_algorithms::mutex::Status;
use bellwether_algorithms::show::ProcessView;
use bellwether_core::{NodeId, Role};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// The name and version of the format, in the first line.
pub const SCHEMA: &str = "bellwether.trace/1";

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Header {
    /// [`SCHEMA`].
    pub schema: String,
    /// The algorithm's name on the command line.
    pub algorithm: String,
    /// Its name in a sentence.
    pub title: String,
    /// Which processes talk to which: `mesh` or `ring`.
    pub topology: String,
    /// The seed of the run.
    pub seed: u64,
    /// Whether real processes ran; absent if they were simulated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub real: bool,
    /// The members' numbers in ring order.
    pub nodes: Vec<u32>,
    /// Whom each member took for the coordinator at the beginning.
    pub coordinators: BTreeMap<u32, Option<u32>>,
    /// Who is whose child, as pairs of parent and child; absent unless the topology is a tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tree: Vec<[u32; 2]>,
    /// The state of each member at the beginning, field by field; absent unless states were
    /// recorded.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub states: BTreeMap<u32, BTreeMap<String, String>>,
    /// What is drawn of each member at the beginning; absent unless states were recorded and the
    /// algorithm says what to draw.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub views: BTreeMap<u32, ProcessView>,
}

/// Every other line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Event {
    /// Virtual time in microseconds.
    pub us: u64,
    /// Where; absent for what concerns the network as a whole. A message that does not arrive is
    /// an event at its receiver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
    /// Lamport's stamp. A message that does not arrive has the stamps of its sending.
    pub lamport: u64,
    /// The vector stamp: the counters that are not zero, by member.
    pub vector: BTreeMap<u32, u64>,
    /// What; its name is the field `event`.
    #[serde(flatten)]
    pub event: Kind,
    /// The rules that the algorithm applied in the step that this event began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// Present if that step changed whom the process takes for the coordinator: whom it takes for
    /// it now, or null. A crash forgets it without saying so.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "null_is_a_value"
    )]
    pub coordinator: Option<Option<u32>>,
    /// Present if that step changed what the process has of the critical section: `idle`, `waiting`
    /// or `inside`. A crash makes it idle without saying so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// Present if it is inside now: the number of the entry, such as `#3`, or `#1.3` in view 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// What that step changed in the state of the process: the fields with what they hold now, or
    /// null if they are gone. Absent if nothing changed or no states were recorded.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub state: BTreeMap<String, Option<String>>,
    /// What is drawn of the process from now on; absent if that has not changed or no states were
    /// recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<ProcessView>,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Kind {
    /// The application asked for something.
    Input {
        /// What for.
        text: String,
    },
    /// A message left.
    Send(Message),
    /// A message arrived.
    Receive(Message),
    /// A message did not arrive.
    Drop(Undelivered),
    /// A timer fired.
    Timer {
        /// Which.
        text: String,
    },
    /// The process told the application something.
    Output {
        /// What.
        text: String,
    },
    /// The process stopped.
    Crash,
    /// The process started again.
    Recover,
    /// The process stands still.
    Pause,
    /// The process goes on.
    Resume,
    /// Something happened to the network or to a clock.
    Note {
        /// What.
        text: String,
    },
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Message {
    /// Its number in the run: pairs its sending with its arrivals.
    pub id: u64,
    /// Who sent it.
    pub from: u32,
    /// Whom it was sent to.
    pub to: u32,
    /// What it counts as: the paper's word.
    pub kind: String,
    /// `protocol` if the algorithm's cost formula counts it, `overhead` if not.
    pub role: String,
    /// The message as a person reads it.
    pub text: String,
}

/// A message that did not arrive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Undelivered {
    /// The message.
    #[serde(flatten)]
    pub message: Message,
    /// `lost`, `cut` (by a partition) or `down` (the receiver was).
    pub why: String,
}

/// The trace as JSON Lines.
pub fn json(trace: &Trace) -> String {
    let mut out = String::new();
    line(&mut out, &header(&trace.header));
    for recorded in &trace.events {
        line(&mut out, &event(trace, recorded));
    }
    out
}

/// The same as values.
pub fn parts(trace: &Trace) -> (Header, Vec<Event>) {
    let events = trace.events.iter().map(|recorded| event(trace, recorded)).collect();
    (header(&trace.header), events)
}

fn line(out: &mut String, value: &impl Serialize) {
    // These types are plain data with string-like keys, which JSON can always say.
    out.push_str(&serde_json::to_string(value).unwrap_or_default());
    out.push('\n');
}

fn header(header: &trace::Header) -> Header {
    let number = |id: &NodeId| id.number();
    let members = header.ring.iter().zip(&header.coordinators);
    Header {
        schema: SCHEMA.to_owned(),
        algorithm: header.algorithm.to_owned(),
        title: header.title.to_owned(),
        topology: header.topology.name().to_owned(),
        seed: header.seed,
        real: header.real,
        nodes: header.ring.iter().map(number).collect(),
        coordinators: members
            .map(|(id, coordinator)| (id.number(), coordinator.as_ref().map(number)))
            .collect(),
        tree: header.tree.iter().map(|(above, below)| [above, below].map(number)).collect(),
        states: header.ring.iter().map(number).zip(header.states.iter().cloned()).collect(),
        views: header
            .ring
            .iter()
            .zip(&header.views)
            .filter_map(|(id, view)| Some((id.number(), view.clone()?)))
            .collect(),
    }
}

fn event(trace: &Trace, event: &TraceEvent) -> Event {
    let section = event.section.map(|status| match status {
        Status::Idle => "idle",
        Status::Waiting => "waiting",
        Status::Inside(_) => "inside",
    });
    let entry = match event.section {
        Some(Status::Inside(sequence)) => Some(sequence.to_string()),
        _ => None,
    };
    Event {
        us: event.at.as_micros(),
        node: event.node.map(NodeId::number),
        lamport: event.lamport.value(),
        vector: counted(trace, event).map(|(id, count)| (id.number(), count)).collect(),
        event: kind(&event.what),
        rules: event.rules.iter().map(|rule| (*rule).to_owned()).collect(),
        coordinator: event.coordinator.map(|coordinator| coordinator.map(NodeId::number)),
        section: section.map(str::to_owned),
        entry,
        state: event.state.clone(),
        view: event.view.clone(),
    }
}

fn kind(what: &What) -> Kind {
    match what {
        What::Input(text) => Kind::Input { text: text.clone() },
        What::Send(letter) => Kind::Send(message(letter)),
        What::Receive(letter) => Kind::Receive(message(letter)),
        What::Drop(letter, why) => {
            Kind::Drop(Undelivered { message: message(letter), why: why.name().to_owned() })
        }
        What::Timer(text) => Kind::Timer { text: text.clone() },
        What::Output(text) => Kind::Output { text: text.clone() },
        What::Crash => Kind::Crash,
        What::Recover => Kind::Recover,
        What::Pause => Kind::Pause,
        What::Resume => Kind::Resume,
        What::Note(text) => Kind::Note { text: text.clone() },
    }
}

fn message(letter: &trace::Letter) -> Message {
    Message {
        id: letter.id,
        from: letter.from.number(),
        to: letter.to.number(),
        kind: letter.kind.name.to_owned(),
        role: role(letter.kind.role).to_owned(),
        text: letter.text.clone(),
    }
}

/// A message's role in a word.
pub fn role(role: Role) -> &'static str {
    match role {
        Role::Protocol => "protocol",
        Role::Repeat => "repeat",
        Role::Overhead => "overhead",
    }
}

/// Tells a field that is null from one that is absent.
fn null_is_a_value<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<u32>>, D::Error> {
    Deserialize::deserialize(from).map(Some)
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn keys_come_in_a_fixed_order_and_only_where_they_say_something() {
        let lines = json(&sample::bully());
        let lines: Vec<_> = lines.lines().collect();
        for (index, expected) in [
            r#"{"schema":"bellwether.trace/1","algorithm":"bully","title":"Bully","topology":"mesh","seed":7,"nodes":[1,2,3,4],"coordinators":{"1":4,"2":4,"3":4,"4":4}}"#,
            r#"{"us":0,"node":1,"lamport":1,"vector":{"1":1},"event":"crash"}"#,
            r#"{"us":0,"node":4,"lamport":1,"vector":{"4":1},"event":"crash"}"#,
            r#"{"us":0,"node":2,"lamport":1,"vector":{"2":1},"event":"input","text":"Suspect","rules":["R1"],"coordinator":null}"#,
        ]
        .iter()
        .enumerate()
        {
            assert_eq!(lines[index], *expected);
        }
        let drop = r#"{"us":10000,"node":4,"lamport":4,"vector":{"2":4},"event":"drop","id":1,"from":2,"to":4,"kind":"ELECTION","role":"protocol","text":"ELECTION","why":"down"}"#;
        assert!(lines.contains(&drop), "{lines:#?}");
    }

    #[test]
    fn what_a_process_has_of_the_section_is_said_when_it_changes() {
        let lines = json(&sample::central());
        let said: Vec<_> = lines.lines().filter(|line| line.contains(r#","section":"#)).collect();
        let changes = [
            (1, r#""section":"waiting"}"#),
            (2, r#""section":"waiting"}"#),
            (1, r##""section":"inside","entry":"#1"}"##),
            (1, r#""section":"idle"}"#),
            (2, r##""section":"inside","entry":"#2"}"##),
            (3, r#""section":"waiting"}"#),
        ];
        assert_eq!(said.len(), changes.len(), "{said:#?}");
        for (line, (node, end)) in said.iter().zip(changes) {
            assert!(line.contains(&format!(r#""node":{node},"#)) && line.ends_with(end), "{line}");
        }
        assert!(!json(&sample::stormy()).contains("section"), "an election has none");
    }

    #[test]
    fn reads_back_what_it_wrote() {
        for trace in [sample::bully(), sample::stormy(), sample::nothing(), sample::central()] {
            let text = json(&trace);
            let mut lines = text.lines();
            let first: Header = serde_json::from_str(lines.next().unwrap()).unwrap();
            assert_eq!(first, header(&trace.header));
            let events: Vec<Event> =
                lines.map(|line| serde_json::from_str(line).unwrap()).collect();
            let recorded: Vec<_> = trace.events.iter().map(|e| event(&trace, e)).collect();
            assert_eq!(events, recorded);
        }
    }
}
