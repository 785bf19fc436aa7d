//! Whether the correct processes agree, and on what.
//!
//! It knows all traitors and all values, which no process does. It only compares the vectors that
//! processes report with these values and with each other.

use super::Value;
use super::byzantine::{Byzantine, Config, Output, in_brackets, messages};
use crate::referee::{Breach, Fact, Referee};
use bellwether_core::{Group, NodeId, SortedMap, SortedSet, Time};
use serde_json::{Map, Value as Json, json};

/// Judges a run of [`Byzantine`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Judge {
    ring: Vec<NodeId>,
    values: Vec<Value>,
    commander: Option<NodeId>,
    faults: u32,
    strategy: &'static str,
    traitors: SortedSet<NodeId>,
    crashed: SortedSet<NodeId>,
    vectors: SortedMap<NodeId, Vec<Value>>,
    sent: u64,
    rounds: u8,
}

impl Judge {
    pub(super) fn new(config: &Config, group: &Group) -> Self {
        Judge {
            ring: group.ring().to_vec(),
            values: config.values.clone(),
            commander: config.commander,
            faults: config.faults,
            strategy: config.strategy.name(),
            traitors: config.traitors.iter().copied().collect(),
            crashed: SortedSet::new(),
            vectors: SortedMap::new(),
            sent: 0,
            rounds: 0,
        }
    }

    /// Who need not be right.
    fn is_faulty(&self, id: NodeId) -> bool {
        self.traitors.contains(&id) || self.crashed.contains(&id)
    }

    /// Whether its value is at stake.
    fn commands(&self, id: NodeId) -> bool {
        self.commander.is_none_or(|commander| commander == id)
    }

    /// The correct processes that have decided, with their vectors, in ring order.
    fn correct(&self) -> impl Iterator<Item = (NodeId, &Vec<Value>)> {
        let correct = self.ring.iter().filter(|id| !self.is_faulty(**id));
        correct.filter_map(|id| Some((*id, self.vectors.get(id)?)))
    }

    /// The correct processes that have a false value for a correct one.
    fn deceived(&self) -> Vec<NodeId> {
        let is_right = |vector: &[Value]| {
            let entries = self.ring.iter().zip(&self.values).zip(vector);
            vector.len() == self.ring.len()
                && entries
                    .filter(|((id, _), _)| !self.is_faulty(**id) && self.commands(**id))
                    .all(|((_, truth), entry)| truth == entry)
        };
        self.correct().filter(|(_, vector)| !is_right(vector)).map(|(id, _)| id).collect()
    }

    /// Two correct processes that differ.
    fn divided(&self) -> Option<[NodeId; 2]> {
        let (first, vector) = self.correct().next()?;
        let (other, _) = self.correct().find(|(_, other)| *other != vector)?;
        Some([first, other])
    }
}

impl Referee<Byzantine> for Judge {
    fn hears(&mut self, _: Time, who: NodeId, output: &Output) -> Result<(), Breach> {
        match output {
            Output::Traitor(_) => {}
            Output::Decided { vector, rounds, sent } => {
                self.vectors.insert(who, vector.clone());
                self.rounds = self.rounds.max(*rounds);
                self.sent += sent;
            }
            Output::Done { sent } => self.sent += sent,
        }
        Ok(())
    }

    fn crashed(&mut self, _: Time, who: NodeId) {
        self.crashed.insert(who);
    }

    /// At the end, so that all vectors are known when one of them is found wrong.
    fn closes(&mut self, _: Time, _: &[NodeId]) -> Result<(), Breach> {
        if let Some(by) = self.divided() {
            let text = "all correct processes have the same vector";
            return Err(Breach { name: "consistency", text, by: by.to_vec() });
        }
        let by = self.deceived();
        if !by.is_empty() {
            let text = "the entries of correct processes are their true values";
            return Err(Breach { name: "validity", text, by });
        }
        Ok(())
    }

    fn claims(&self) -> Vec<&'static str> {
        vec!["consistency", "validity"]
    }

    fn facts(&self) -> Vec<Fact> {
        let n = self.ring.len() as u64;
        let words = |vector: &[Value]| -> Json {
            vector.iter().map(|v| if v.is_nil() { Json::Null } else { json!(v.as_str()) }).collect()
        };
        let lines: Vec<String> =
            self.correct().map(|(id, vector)| format!("{id} {}", in_brackets(vector))).collect();
        let by_id: Map<String, Json> =
            self.correct().map(|(id, vector)| (id.number().to_string(), words(vector))).collect();
        let agreed = match (self.correct().next(), self.divided()) {
            (Some((_, vector)), None) => (in_brackets(vector), words(vector)),
            (None, _) => ("no process has one yet".to_owned(), Json::Null),
            (_, Some([one, other])) => (format!("{one} and {other} differ"), Json::Null),
        };
        let names = |ids: &SortedSet<NodeId>| -> Vec<String> {
            ids.iter().map(NodeId::to_string).collect()
        };
        let mut faulty = Vec::new();
        if !self.traitors.is_empty() {
            faulty.push(format!("{} ({})", names(&self.traitors).join(", "), self.strategy));
        }
        if !self.crashed.is_empty() {
            faulty.push(format!("{} (crashed)", names(&self.crashed).join(", ")));
        }
        let numbers =
            |ids: &SortedSet<NodeId>| -> Vec<u32> { ids.iter().map(|id| id.number()).collect() };
        let each = messages(n, u64::from(self.faults)).unwrap_or(u64::MAX);
        let commanders = if self.commander.is_some() { 1 } else { n };
        let all = each.saturating_mul(commanders);
        vec![
            Fact { name: "vectors", text: lines.join("\n"), value: Json::Object(by_id) },
            Fact { name: "agreed", text: agreed.0, value: agreed.1 },
            Fact {
                name: "faulty",
                text: if faulty.is_empty() { "nobody".to_owned() } else { faulty.join(", ") },
                value: json!({
                    "traitors": numbers(&self.traitors),
                    "strategy": self.strategy,
                    "crashed": numbers(&self.crashed),
                }),
            },
            Fact { name: "rounds", text: format!("{}", self.rounds), value: json!(self.rounds) },
            Fact {
                name: "oral-messages",
                text: format!("{} of {commanders} x M({n},{}) = {all}", self.sent, self.faults),
                value: json!({ "sent": self.sent, "each": each, "all": all }),
            },
        ]
    }
}
