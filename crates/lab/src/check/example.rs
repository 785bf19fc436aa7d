//! A counterexample as a run of the simulator.

use super::args::Shape;
use crate::replay as words;
use crate::sim::{rendered, story};
use bellwether_algorithms::referee::Picture;
use bellwether_check::{Counterexample, Setup, replay, scenario};
use bellwether_core::Time;
use bellwether_shell::Failure;
use bellwether_sim::{Recorder, Trace, silent};

/// A counterexample as a run of the simulator.
pub(crate) struct Example {
    trace: Trace,
    pictures: Vec<Picture>,
    /// The same as a scenario.
    pub(crate) scenario: String,
    /// From when to when it goes round, if it does.
    pub(crate) round: Option<(Time, Time)>,
    /// Whether the simulator comes to the same verdict.
    pub(crate) confirmed: bool,
}

impl Example {
    pub(crate) fn new(setup: &Setup, found: &Counterexample) -> Self {
        let replay = replay(setup, &found.stem, &found.cycle);
        let recorder = Recorder::new(&replay.plan.algorithm, &replay.plan.group, replay.plan.seed)
            .with_tree(replay.plan.settings.tree);
        let (outcome, recorder) = silent::recorded(&replay.plan, recorder);
        Example {
            trace: recorder.into_trace(),
            pictures: outcome.pictures,
            scenario: scenario(&replay, &format!("Found by {}", words::bare())),
            round: replay.loops_from.map(|from| (from, replay.ends)),
            confirmed: replay.exact && replay.confirm(&found.breach).is_ok(),
        }
    }

    /// What happens, for people.
    pub(crate) fn story(&self) -> String {
        story(&self.trace)
    }

    /// All that happens, in this form.
    pub(crate) fn shown(&self, shape: Shape) -> Result<String, Failure> {
        match shape.format() {
            Some(format) => rendered(&self.trace, &self.pictures, format),
            None => Ok(self.scenario.clone()),
        }
    }
}
