//! What an algorithm itself [claims](bellwether_algorithms::definition::Definition::costs) to cost.

use super::measure::{self, TIMEOUT};
use super::{Case, Claim, Expected, Rank};
use crate::{Action, Scheduled};
use bellwether_algorithms::catalogue::Listed;
use bellwether_algorithms::definition::{Cost, Settings};
use bellwether_core::{Group, NodeId, Time};

/// All that it claims, for processes 1 to n. An algorithm for another number of processes has no
/// cases.
pub fn claimed_cases_for(algorithm: &Listed, n: u32) -> Vec<Case> {
    let suits = algorithm.nodes.is_none_or(|nodes| nodes == n);
    let Some(group) = Group::numbered(n).ok().filter(|_| suits) else { return Vec::new() };
    let settings = Settings { coordinator: Some(group.highest()), ..Settings::new(TIMEOUT) };
    if algorithm.check(&settings, &group).is_err() {
        return Vec::new();
    }
    let case = |cost: &Cost| {
        let script = (cost.asks)(n).into_iter().filter_map(|(id, verb)| {
            let action = Action::Input(NodeId::new(id), algorithm.input(verb)?);
            Some(Scheduled { at: Time::ZERO, action })
        });
        let (group, settings) = (group.clone(), settings.clone());
        let (run, _) = measure::count_of(algorithm, group, settings, script.collect(), None);
        let messages = (cost.messages)(n);
        let claim = Claim {
            case: cost.case,
            rank: Rank::Other,
            nodes: n,
            live: n,
            formula: cost.formula,
            expected: match cost.at_most {
                true => Expected::AtMost(messages),
                false => Expected::Exact(messages),
            },
            parts: Vec::new(),
        };
        claim.judge(algorithm.name(), &[run])
    };
    algorithm.claimed_costs().iter().map(case).collect()
}
