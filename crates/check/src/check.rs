//! A model, explored and judged.

use crate::explore::{End, Explorer, Progress};
use crate::limits::{Limit, Limits};
use crate::liveness::missed;
use crate::model::Model;
use crate::tables::Library;
use crate::world::Action;
use bellwether_algorithms::referee::Breach;
use bellwether_core::{AnyProcess, Erasable};

/// What came of a check.
#[derive(Clone, Debug)]
pub struct Report {
    /// What was found.
    pub verdict: Verdict,
    /// How much was explored.
    pub progress: Progress,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All that must hold holds, in every state and every run.
    Proved,
    /// It does not, and this is how.
    Violated(Counterexample),
    /// A limit came first. What was explored is right.
    Unfinished(Limit),
}

/// A run that is not as it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexample {
    /// What was broken, and by whom.
    pub breach: Breach,
    /// What happens, from the beginning.
    pub stem: Vec<Action>,
    /// What then happens again and again; nothing, if after the stem at most time goes on.
    pub cycle: Vec<Action>,
    /// Whether it is the goal that is missed.
    pub missed: bool,
}

/// Explores a model.
pub fn check<P: Erasable>(
    model: &Model<P>,
    limits: Limits,
    tell: &mut dyn FnMut(&Progress),
) -> Report {
    check_from(model, &[], limits, tell)
}

/// [`check_from`], for a model of the erased process: that is compiled here, once, for speed.
pub fn check_erased(
    model: &Model<AnyProcess>,
    begun: &[Action],
    limits: Limits,
    tell: &mut dyn FnMut(&Progress),
) -> Report {
    check_from(model, begun, limits, tell)
}

/// Explores all runs of a model that begin with these actions. They must be possible.
pub fn check_from<P: Erasable>(
    model: &Model<P>,
    begun: &[Action],
    limits: Limits,
    tell: &mut dyn FnMut(&Progress),
) -> Report {
    let library = Library::default();
    let mut explorer = Explorer::new(model, &library, limits, model.goal.is_some());
    let end = explorer.run(begun, tell);
    let mut verdict = match end {
        End::Limit(limit) => Verdict::Unfinished(limit),
        End::Broken(state, breach) => {
            let way = explorer.way_to(state);
            let stem = explorer.actions_along(&way);
            Verdict::Violated(Counterexample { breach, stem, cycle: Vec::new(), missed: false })
        }
        End::Complete => match missed(model, &mut explorer, limits.memory) {
            Ok(Some(found)) => Verdict::Violated(found),
            Ok(None) => Verdict::Proved,
            Err(limit) => Verdict::Unfinished(limit),
        },
    };
    if let Verdict::Violated(found) = &mut verdict {
        found.stem.splice(..0, begun.iter().copied());
    }
    Report { verdict, progress: explorer.progress }
}
