//! Runs of the erased process that are compiled here, once: without an observer at full speed, and
//! recorded. A call of [`Plan::run`] is compiled where it stands, with all of the simulator.
//!
//! The erased process costs an allocation per message. Where a run has millions of them, that is
//! what the user waits for; so the algorithms that scale that far are compiled here a second time,
//! with their own types. Same seed, same run: `tests/it/erased.rs` compares both.

use crate::engine::{Ended, Sim};
use crate::fault::Scheduled;
use crate::observer::{Observer, Silent};
use crate::plan::{Outcome, Plan};
use crate::shrink::{Shrunk, shrink};
use crate::trace::Recorder;
use bellwether_algorithms::definition::Algorithm;
use bellwether_algorithms::election::{ChangRoberts, Watched};
use bellwether_algorithms::mutex::{Guarded, Raymond, SuzukiKasami};
use bellwether_core::{AnyProcess, Erasable, Process};
use std::fmt;
use std::sync::Arc;

/// The number of processes from which on the algorithm's own types pay.
const MANY: usize = 500;

/// Runs a plan, and says what came of it.
pub fn run(plan: &Plan<AnyProcess>) -> Outcome {
    plan.run(Silent).0
}

/// The same, recorded.
pub fn recorded(plan: &Plan<AnyProcess>, recorder: Recorder) -> (Outcome, Recorder) {
    plan.run(recorder)
}

/// [`shrink`], for a plan of the erased process.
pub fn shrunk(plan: &Plan<AnyProcess>, name: &str, most_runs: usize) -> Option<Shrunk<AnyProcess>> {
    shrink(plan, name, most_runs)
}

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

/// A recorded run in its three parts.
pub trait RecordedRun: SilentRun {
    /// The recorder.
    fn into_recorder(self: Box<Self>) -> Recorder;
}

/// Sets up a run that is recorded.
pub fn set_up_recorded(
    plan: &Plan<AnyProcess>,
    keep_going: bool,
    recorder: Recorder,
) -> Box<dyn RecordedRun> {
    Box::new(begun(plan.clone(), keep_going, recorder))
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
    Box::new(begun(plan, keep_going, Silent))
}

fn begun<P: Process, O: Observer<P>>(plan: Plan<P>, keep_going: bool, observer: O) -> Run<P, O> {
    let mut sim = plan.set_up(observer);
    if keep_going {
        sim.keep_going();
    }
    Run { plan, sim, ended: Ended::Quiet }
}

struct Run<P: Process, O> {
    plan: Plan<P>,
    sim: Sim<P, O>,
    ended: Ended,
}

impl RecordedRun for Run<AnyProcess, Recorder> {
    fn into_recorder(self: Box<Self>) -> Recorder {
        self.sim.observer
    }
}

impl<P: Process, O> fmt::Debug for Run<P, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Run of {}", self.plan.algorithm.name())
    }
}

impl<P: Process, O: Observer<P>> SilentRun for Run<P, O> {
    fn play(&mut self) {
        self.ended = self.plan.play(&mut self.sim);
    }

    fn judge(&mut self) -> Outcome {
        self.plan.judge(&mut self.sim, self.ended)
    }
}
