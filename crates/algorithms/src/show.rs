//! What is drawn of a process: its view, made of values.
//!
//! An algorithm says by [`Definition::view`](crate::definition::Definition::view) what a student
//! should see of a process at a moment: a phase in words, [marks](Mark) such as the token, and
//! [rows](Row) of labelled values. The page, its pictures and the SVG of the command line draw the
//! same [`ProcessView`]; none of them knows an algorithm.
//!
//! ```
//! use bellwether_algorithms::show::{Item, Mark, ProcessView};
//! use bellwether_core::NodeId;
//!
//! let view = ProcessView::new("waits for 1 reply")
//!     .mark(Mark::Token)
//!     .text("clock", 7)
//!     .queue("requests", [Item::of(NodeId::new(2)).note(5)]);
//! assert_eq!(view.rows.len(), 2);
//! ```

use bellwether_core::{Group, NodeId};
use serde::{Deserialize, Serialize};
use std::fmt::Display;

/// Where a view is made: in which group, and of which member.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// The group.
    pub group: &'a Group,
    /// Whose view it is.
    pub me: NodeId,
}

impl<'a> Scene<'a> {
    /// The members for which a list by place says yes.
    pub fn those(&self, by_place: &'a [bool]) -> impl Iterator<Item = NodeId> + use<'a> {
        self.each(by_place).filter(|(_, on)| **on).map(|(id, _)| id)
    }

    /// The members with what a list by place has of each.
    pub fn each<T>(&self, by_place: &'a [T]) -> impl Iterator<Item = (NodeId, &'a T)> + use<'a, T> {
        self.group.ring().iter().copied().zip(by_place)
    }
}

/// What is to be seen of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ProcessView {
    /// What it does, in a few words: `waits for 2 replies`; empty if there is nothing to say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub phase: String,
    /// What it has or is, as signs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// What it knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<Row>,
}

/// A sign beside a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// It has the token.
    Token,
    /// It takes part in an election.
    Participant,
    /// It is out of the race.
    Passive,
    /// It lies.
    Traitor,
    /// It is aborted to end a deadlock.
    Victim,
    /// It has recorded its state.
    Recorded,
    /// It is the clock that the others follow.
    Master,
    /// It has decided.
    Decided,
    /// It drives the device.
    Drives,
}

impl Mark {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Mark::Token => "token",
            Mark::Participant => "participant",
            Mark::Passive => "passive",
            Mark::Traitor => "traitor",
            Mark::Victim => "victim",
            Mark::Recorded => "recorded",
            Mark::Master => "clock master",
            Mark::Decided => "decided",
            Mark::Drives => "drives the device",
        }
    }
}

/// Something that a process knows, with a label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Row {
    /// What it is, in words.
    pub label: String,
    /// How it is drawn.
    pub shape: Shape,
    /// What it consists of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<Item>,
}

/// How a row is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// One value.
    Text,
    /// Items one behind the other; the first is next.
    Queue,
    /// Items in no order.
    Set,
    /// An arrow to another process.
    Pointer,
    /// One value for each process.
    Table,
    /// Lines below each other, each as far to the right as its depth says.
    Tree,
    /// Edges, each from its text to its target.
    Graph,
    /// Stretches of time beside each other, in microseconds.
    Ranges,
    /// A cut through the run, named by the label: it passes this process where the row appears. The
    /// items are what is recorded there, with amounts as notes.
    Cut,
}

/// How an item is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Tone {
    /// As usual.
    #[default]
    Plain,
    /// It is what counts: the own one, the chosen one.
    Strong,
    /// It is fulfilled.
    Good,
    /// It holds something up.
    Waits,
    /// It is wrong, or cast out.
    Bad,
    /// It does not count.
    Faint,
}

/// A part of a row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Item {
    /// What it says.
    pub text: String,
    /// What stands beside it in small: a time stamp.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// How it is meant.
    #[serde(default, skip_serializing_if = "is_plain")]
    pub tone: Tone,
    /// The process that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
    /// The target of an edge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// How deep it stands in a tree.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub depth: u32,
    /// From when to when, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<[i64; 2]>,
}

fn is_plain(tone: &Tone) -> bool {
    *tone == Tone::Plain
}

fn is_zero(depth: &u32) -> bool {
    *depth == 0
}

/// Text is made in one place: what shows every type anew takes more code.
fn shown(value: &dyn Display) -> String {
    value.to_string()
}

impl Item {
    /// Something to read.
    pub fn new(text: impl Display) -> Self {
        Item { text: shown(&text), ..Item::default() }
    }

    /// A process.
    pub fn of(id: NodeId) -> Self {
        Item { node: Some(id.number()), ..Item::new(id) }
    }

    /// An edge of a graph.
    pub fn edge(from: impl Display, to: impl Display) -> Self {
        Item { to: Some(shown(&to)), ..Item::new(from) }
    }

    /// A stretch of time, in microseconds.
    pub fn range(text: impl Display, from: i64, to: i64) -> Self {
        Item { range: Some([from, to]), ..Item::new(text) }
    }

    /// What stands beside it.
    #[must_use]
    pub fn note(self, note: impl Display) -> Self {
        Item { note: shown(&note), ..self }
    }

    /// How it is meant.
    #[must_use]
    pub fn tone(self, tone: Tone) -> Self {
        Item { tone, ..self }
    }

    /// The same, if something is so.
    #[must_use]
    pub fn tone_if(self, is_so: bool, tone: Tone) -> Self {
        if is_so { self.tone(tone) } else { self }
    }

    /// How deep it stands in a tree.
    #[must_use]
    pub fn depth(self, depth: u32) -> Self {
        Item { depth, ..self }
    }
}

impl ProcessView {
    /// What a process does, in words.
    pub fn new(phase: impl Display) -> Self {
        ProcessView { phase: shown(&phase), ..ProcessView::default() }
    }

    /// Adds a sign.
    #[must_use]
    pub fn mark(mut self, mark: Mark) -> Self {
        self.marks.push(mark);
        self
    }

    /// Adds a sign, if something is so.
    #[must_use]
    pub fn mark_if(self, is_so: bool, mark: Mark) -> Self {
        if is_so { self.mark(mark) } else { self }
    }

    /// Adds a row. A row without items is left out, unless it is a queue: that it is empty says
    /// something.
    #[must_use]
    pub fn row(self, label: &str, shape: Shape, items: impl IntoIterator<Item = Item>) -> Self {
        // Every caller has an iterator of its own. Pushing is the least code for each.
        let mut all = Vec::new();
        for item in items {
            all.push(item);
        }
        self.with(label, shape, all)
    }

    fn with(mut self, label: &str, shape: Shape, items: Vec<Item>) -> Self {
        if !items.is_empty() || shape == Shape::Queue {
            self.rows.push(Row { label: label.to_owned(), shape, items });
        }
        self
    }

    /// Adds a value.
    #[must_use]
    pub fn text(self, label: &str, text: impl Display) -> Self {
        self.with(label, Shape::Text, vec![Item::new(text)])
    }

    /// Adds a value, if there is one.
    #[must_use]
    pub fn text_of(self, label: &str, text: Option<impl Display>) -> Self {
        self.row(label, Shape::Text, text.map(Item::new))
    }

    /// Adds a queue, the next item first.
    #[must_use]
    pub fn queue(self, label: &str, items: impl IntoIterator<Item = Item>) -> Self {
        self.row(label, Shape::Queue, items)
    }

    /// Adds a set.
    #[must_use]
    pub fn set(self, label: &str, items: impl IntoIterator<Item = Item>) -> Self {
        self.row(label, Shape::Set, items)
    }

    /// Adds an arrow to another process, if it points anywhere.
    #[must_use]
    pub fn pointer(self, label: &str, to: Option<NodeId>) -> Self {
        self.row(label, Shape::Pointer, to.map(Item::of))
    }

    /// Adds a table with a value for each process.
    #[must_use]
    pub fn table<T: Display>(
        self,
        label: &str,
        values: impl IntoIterator<Item = (NodeId, T)>,
    ) -> Self {
        let items = values.into_iter().map(|(id, value)| Item::of(id).note(value));
        self.row(label, Shape::Table, items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_without_items_is_left_out_unless_it_is_a_queue() {
        let view = ProcessView::new("").set("nobody", []).queue("empty", []).pointer("none", None);
        let labels: Vec<&str> = view.rows.iter().map(|row| row.label.as_str()).collect();
        assert_eq!(labels, ["empty"]);
    }

    #[test]
    fn what_is_as_usual_is_not_written() {
        let row = ProcessView::new("idle").set("known", [Item::of(NodeId::new(2))]);
        let json = serde_json::to_string(&row).unwrap();
        assert_eq!(
            json,
            r#"{"phase":"idle","rows":[{"label":"known","shape":"set","items":[{"text":"P2","node":2}]}]}"#
        );
    }
}
