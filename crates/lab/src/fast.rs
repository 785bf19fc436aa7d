//! Runs of many processes that nobody looks at, over the algorithm's own types.
//!
//! The erased process costs an allocation per message. Where a run has millions of them, that is
//! what the user waits for; so the algorithms that scale that far are compiled here a second time,
//! with their own types. Same seed, same run: `crates/sim/tests/it/erased.rs` compares both.

use crate::report::Cost;
use crate::sim::measured;
use bellwether_algorithms::definition::Algorithm;
use bellwether_algorithms::election::{ChangRoberts, Watched};
use bellwether_algorithms::mutex::{Guarded, Raymond, SuzukiKasami};
use bellwether_core::{AnyProcess, Erasable};
use bellwether_sim::{Outcome, Plan, Scheduled, Silent};
use std::sync::Arc;

/// The number of processes from which on the second build pays.
const MANY: usize = 500;

/// Runs a plan over the algorithm's own types and measures what it takes; nothing if it is not one
/// of those that are compiled here, or too small.
pub(crate) fn perform(plan: &Plan<AnyProcess>, keep_going: bool) -> Option<(Outcome, Cost)> {
    if plan.group.len() < MANY {
        return None;
    }
    typed::<Watched<ChangRoberts>>(plan, keep_going)
        .or_else(|| typed::<Guarded<SuzukiKasami>>(plan, keep_going))
        .or_else(|| typed::<Guarded<Raymond>>(plan, keep_going))
}

/// The same if the plan is one of this algorithm.
fn typed<A: Algorithm + Erasable>(
    plan: &Plan<AnyProcess>,
    keep_going: bool,
) -> Option<(Outcome, Cost)> {
    plan.algorithm.config(&plan.settings, &plan.group).downcast_ref::<A>()?;
    let inputs = plan.script.iter().map(|Scheduled { at, action }| {
        let action = action.clone().try_map(|input| input.into_inner::<A::Input>())?;
        Some(Scheduled { at: *at, action })
    });
    let plan = Plan {
        algorithm: Arc::new(A::definition()),
        group: plan.group.clone(),
        settings: plan.settings.clone(),
        network: plan.network.clone(),
        seed: plan.seed,
        script: inputs.collect::<Option<_>>()?,
        until: plan.until,
    };
    let (outcome, cost, Silent) = measured(&plan, Silent, keep_going);
    Some((outcome, cost))
}
