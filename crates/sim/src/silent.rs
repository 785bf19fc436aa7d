//! Runs without an observer, at full speed.
//!
//! The erased process costs an allocation per message. Where a run has millions of them, that is
//! what the user waits for; so the algorithms that scale that far are compiled here a second time,
//! with their own types. Same seed, same run: `tests/it/erased.rs` compares both.

use crate::engine::{Ended, Sim};
use crate::fault::Scheduled;
use crate::observer::Silent;
use crate::plan::{Outcome, Plan};
use bellwether_algorithms::definition::Algorithm;
use bellwether_algorithms::election::{ChangRoberts, Watched};
use bellwether_algorithms::mutex::{Guarded, Raymond, SuzukiKasami};
use bellwether_core::{AnyProcess, Erasable, Process};
use std::fmt;
use std::sync::Arc;

/// The number of processes from which on the algorithm's own types pay.
const MANY: usize = 500;

/// A run in its three parts, so that each can be measured.
pub trait SilentRun: fmt::Debug {
    /// Plays the run to its end.
    fn play(&mut self);

    /// What came of it.
    fn judge(&mut self) -> Outcome;
}

/// Sets up a run of this plan, over the algorithm's own types if it is large and one of those that
/// are compiled so.
pub fn set_up(plan: &Plan<AnyProcess>, keep_going: bool) -> Box<dyn SilentRun> {
    let many = (plan.group.len() >= MANY).then_some(plan);
    many.and_then(|plan| {
        None.or_else(|| typed::<Watched<ChangRoberts>>(plan, keep_going))
            .or_else(|| typed::<Guarded<SuzukiKasami>>(plan, keep_going))
            .or_else(|| typed::<Guarded<Raymond>>(plan, keep_going))
    })
    .unwrap_or_else(|| begin(plan.clone(), keep_going))
}

/// The same if the plan is one of this algorithm.
fn typed<A: Algorithm + Erasable>(
    plan: &Plan<AnyProcess>,
    keep_going: bool,
) -> Option<Box<dyn SilentRun>> {
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
    Some(begin(plan, keep_going))
}

fn begin<P: Process + 'static>(plan: Plan<P>, keep_going: bool) -> Box<dyn SilentRun> {
    let mut sim = plan.set_up(Silent);
    if keep_going {
        sim.keep_going();
    }
    Box::new(Run { plan, sim, ended: Ended::Quiet })
}

struct Run<P: Process> {
    plan: Plan<P>,
    sim: Sim<P, Silent>,
    ended: Ended,
}

impl<P: Process> fmt::Debug for Run<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Run of {}", self.plan.algorithm.name())
    }
}

impl<P: Process> SilentRun for Run<P> {
    fn play(&mut self) {
        self.ended = self.plan.play(&mut self.sim);
    }

    fn judge(&mut self) -> Outcome {
        self.plan.judge(&mut self.sim, self.ended)
    }
}
