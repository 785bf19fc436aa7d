//! Checking what a scenario expects.

use super::command::{Expectation, Who};
use super::play::Stage;
use crate::meter::Sections;
use bellwether_algorithms::mutex::Status;
use bellwether_core::{AnyProcess, NodeId};
use std::collections::{BTreeMap, BTreeSet};

impl Stage<'_> {
    /// Whether it is as expected; if not, how it is.
    pub(super) fn check(&self, expectation: &Expectation) -> Result<(), String> {
        match expectation {
            Expectation::Coordinator(Who::All, whom) => {
                self.sim.live().try_for_each(|(id, process)| self.follows(id, process, *whom))
            }
            Expectation::Coordinator(Who::These(ids), whom) => {
                ids.iter().try_for_each(|id| self.follows(*id, self.live(*id)?, *whom))
            }
            Expectation::Members(id, expected) => self.check_members(*id, expected),
            Expectation::Fact(name, expected) => self.check_fact(name, expected),
            Expectation::Messages(expected) => check_counts(&self.sim.tally().protocol(), expected),
            Expectation::Overhead(expected) => check_counts(&self.sim.tally().overhead(), expected),
            Expectation::Agreement(expected) => match (self.agreed(), expected) {
                (true, false) => Err(format!("agreement: {}", self.beliefs())),
                (false, true) => Err(format!("no agreement: {}", self.beliefs())),
                _ => Ok(()),
            },
            Expectation::Violation(expected) => {
                let found = self.violation().map(|violation| violation.name);
                if found == expected.as_deref() {
                    Ok(())
                } else {
                    Err(format!("violation {}", found.unwrap_or("none")))
                }
            }
            Expectation::Inside(expected) => {
                self.check_status(|status| matches!(status, Status::Inside(_)), expected)
            }
            Expectation::Waiting(expected) => {
                self.check_status(|status| status == Status::Waiting, expected)
            }
            Expectation::Entries(expected) => {
                same(self.sections().entries, *expected, "entry", "entries")
            }
            Expectation::Regenerations(expected) => {
                let found = self.sections().token_regenerations;
                same(found, *expected, "regeneration", "regenerations")
            }
            Expectation::Refusals(expected) => {
                same(self.sim.refusals().len() as u64, *expected, "refusal", "refusals")
            }
        }
    }

    fn sections(&self) -> Sections {
        self.sim.sections().unwrap_or_default()
    }

    /// Whether just the expected ones stand like that.
    fn check_status(
        &self,
        wanted: impl Fn(Status) -> bool,
        expected: &[NodeId],
    ) -> Result<(), String> {
        let stands = |process: &AnyProcess| self.algorithm.section_of(process).is_some_and(&wanted);
        let found: BTreeSet<NodeId> =
            self.sim.live().filter(|(_, process)| stands(process)).map(|(id, _)| id).collect();
        if found == expected.iter().copied().collect() {
            return Ok(());
        }
        Err(list(found))
    }

    fn live(&self, id: NodeId) -> Result<&AnyProcess, String> {
        let found = self.sim.live().find(|(live, _)| *live == id);
        found.map(|(_, process)| process).ok_or_else(|| format!("{id} is down"))
    }

    fn check_fact(&self, name: &str, expected: &str) -> Result<(), String> {
        let facts = self.sim.facts();
        match facts.iter().find(|fact| fact.name == name) {
            // Lines are joined, as the words of the expectation are.
            Some(fact) => match fact.text.split_whitespace().collect::<Vec<_>>().join(" ") {
                found if found == expected => Ok(()),
                found => Err(format!("fact {name} {found}")),
            },
            None => {
                let names: Vec<&str> = facts.iter().map(|fact| fact.name).collect();
                Err(format!("nothing about '{name}'; there is: {}", names.join(", ")))
            }
        }
    }

    fn check_members(&self, id: NodeId, expected: &[NodeId]) -> Result<(), String> {
        let mut found = self.algorithm.members_of(self.live(id)?).to_vec();
        let mut expected = expected.to_vec();
        found.sort_unstable();
        expected.sort_unstable();
        if found == expected {
            return Ok(());
        }
        Err(list(found))
    }

    fn follows(
        &self,
        id: NodeId,
        process: &AnyProcess,
        whom: Option<NodeId>,
    ) -> Result<(), String> {
        let found = self.algorithm.coordinator_of(process);
        if found == whom {
            Ok(())
        } else {
            Err(format!("{id} takes {} for the coordinator", name(found)))
        }
    }

    /// What each live process has: the section or, where there is none, a coordinator.
    fn beliefs(&self) -> String {
        let belief = |process: &AnyProcess| match self.algorithm.section_of(process) {
            Some(Status::Idle) => "idle".to_owned(),
            Some(Status::Waiting) => "waiting".to_owned(),
            Some(Status::Inside(_)) => "inside".to_owned(),
            None => name(self.algorithm.coordinator_of(process)),
        };
        let beliefs = self.sim.live().map(|(id, process)| format!("{id}: {}", belief(process)));
        beliefs.collect::<Vec<_>>().join(", ")
    }
}

fn same(found: u64, expected: u64, one: &str, many: &str) -> Result<(), String> {
    match found {
        _ if found == expected => Ok(()),
        1 => Err(format!("1 {one}")),
        _ => Err(format!("{found} {many}")),
    }
}

fn list(ids: impl IntoIterator<Item = NodeId>) -> String {
    let shown: Vec<String> = ids.into_iter().map(|id| id.number().to_string()).collect();
    if shown.is_empty() { "none".to_owned() } else { shown.join(",") }
}

fn name(id: Option<NodeId>) -> String {
    id.map_or_else(|| "none".to_owned(), |id| id.to_string())
}

fn check_counts(
    found: &BTreeMap<&'static str, u64>,
    expected: &BTreeMap<String, u64>,
) -> Result<(), String> {
    let same = found.len() == expected.len()
        && found.iter().all(|(kind, count)| expected.get(*kind) == Some(count));
    if same {
        return Ok(());
    }
    let shown: Vec<String> = found.iter().map(|(kind, count)| format!("{kind}={count}")).collect();
    Err(if shown.is_empty() { "none".to_owned() } else { shown.join(" ") })
}
