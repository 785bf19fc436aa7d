//! Whether the two generals attack together, and what each of them knows.

use super::two_generals::{Output, Role, TwoGenerals};
use crate::referee::{Breach, Fact, Referee};
use bellwether_core::{Group, NodeId, SortedMap, Time};
use serde_json::json;

/// Looks on from a hill.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Observer {
    generals: Option<[NodeId; 2]>,
    decisions: SortedMap<NodeId, Output>,
}

/// What is spelled out at most: "P1 knows that P2 knows that ..."
const SPELLED_OUT: u32 = 5;

impl Observer {
    pub(super) fn new(group: &Group) -> Self {
        let generals = match group.ring() {
            [first, second, ..] => Some([*first, *second]),
            _ => None,
        };
        Observer { generals, decisions: SortedMap::new() }
    }

    fn attackers(&self) -> Vec<NodeId> {
        let attacks = |(_, output): &(&NodeId, &Output)| matches!(output, Output::Attacks { .. });
        self.decisions.iter().filter(attacks).map(|(id, _)| *id).collect()
    }

    /// What a general can be sure of, and how deep that goes: 1 if he knows the plan, 2 if he
    /// knows that the other knows it, 3 if he knows that the other knows that he knows it.
    fn knowledge(&self, role: Role, me: NodeId, other: NodeId) -> (String, u32) {
        let heard = match self.decisions.get(&me) {
            Some(Output::Attacks { heard } | Output::Stays { heard }) => *heard,
            None => 0,
        };
        let depth = if role == Role::First { heard.max(1) } else { heard };
        let text = match depth {
            0 => format!("{me} knows of no plan"),
            _ if depth > SPELLED_OUT => format!("{me} knows of the plan {depth} deep"),
            _ => {
                let who = [me, other].into_iter().cycle().take(depth as usize);
                let knows: Vec<String> = who.map(|who| format!("{who} knows")).collect();
                format!("{} the plan", knows.join(" that "))
            }
        };
        (text, depth)
    }
}

impl Referee<TwoGenerals> for Observer {
    fn hears(&mut self, _: Time, who: NodeId, output: &Output) -> Result<(), Breach> {
        self.decisions.insert(who, *output);
        Ok(())
    }

    fn closes(&mut self, _: Time, _: &[NodeId]) -> Result<(), Breach> {
        let by = self.attackers();
        if self.generals.is_some() && by.len() == 1 {
            let text = "both generals attack, or none";
            return Err(Breach { name: "both-or-none", text, by });
        }
        Ok(())
    }

    fn claims(&self) -> Vec<&'static str> {
        vec!["both-or-none"]
    }

    fn facts(&self) -> Vec<Fact> {
        let Some([first, second]) = self.generals else { return Vec::new() };
        let attackers = self.attackers();
        let text = match attackers.as_slice() {
            [] => "nobody".to_owned(),
            [alone] => format!("{alone} alone"),
            _ => format!("{first} and {second}"),
        };
        let ids: Vec<u32> = attackers.iter().map(|id| id.number()).collect();
        let (one, depth) = self.knowledge(Role::First, first, second);
        let (two, other) = self.knowledge(Role::Second, second, first);
        vec![
            Fact { name: "attack", text, value: json!(ids) },
            Fact {
                name: "knowledge",
                text: format!("{one}; {two}"),
                value: json!({
                    first.number().to_string(): depth,
                    second.number().to_string(): other,
                }),
            },
        ]
    }
}
