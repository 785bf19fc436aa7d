//! Which of all that must hold is looked at.

use super::args::CheckArgs;
use bellwether_algorithms::catalogue::Listed;
use bellwether_algorithms::referee::{Breach, Fact, Referee};
use bellwether_check::Model;
use bellwether_core::{AnyOutput, AnyProcess, NodeId, Time};
use bellwether_shell::Failure;
use std::sync::Arc;

/// Leaves in the model only what `--property` names. Returns the names of all that is left.
pub(crate) fn choose(
    algorithm: &Listed,
    args: &CheckArgs,
    model: &mut Model<AnyProcess>,
) -> Result<Vec<&'static str>, Failure> {
    let goal = algorithm.goal.as_ref().map(|goal| goal.name);
    // What clocks show at every moment is looked at in simulated runs only.
    let referee = model.referee.as_deref().filter(|referee| referee.looks_every().is_none());
    let claims = referee.map(|referee| referee.claims()).unwrap_or_default();
    let states = model.invariants.iter().map(|invariant| invariant.name);
    let mut known: Vec<&str> = states.chain(claims.iter().copied()).collect();
    known.extend(goal);
    known.dedup();
    for name in &args.property {
        if !known.contains(&name.as_str()) {
            let message = format!(
                "{} has no property '{name}'; it has {}",
                algorithm.name(),
                known.join(", ")
            );
            return Err(Failure::flag("property", message));
        }
        if Some(name.as_str()) == goal && args.safety {
            return Err(Failure::Input(format!(
                "--safety and --property {name} contradict each other: that is what must happen; \
                 leave one of them out"
            )));
        }
        if Some(name.as_str()) == goal && model.goal.is_none() {
            let message = format!(
                "runs of {} are followed only up to --until, and may come to '{name}' later; \
                 leave it out",
                algorithm.name()
            );
            return Err(Failure::flag("property", message));
        }
    }
    let wanted = |name: &str| args.property.is_empty() || args.property.iter().any(|w| w == name);
    model.invariants.retain(|invariant| wanted(invariant.name));
    model.goal = model.goal.take().filter(|goal| wanted(goal.name));
    let heard: Vec<&'static str> = claims.into_iter().filter(|name| wanted(name)).collect();
    if !args.property.is_empty() {
        let referee = model.referee.take().filter(|_| !heard.is_empty());
        model.referee = referee.map(|whole| -> Box<dyn Referee<AnyProcess>> {
            Box::new(Only { whole, claims: heard.clone().into() })
        });
    }
    let mut names: Vec<&str> = model.invariants.iter().map(|invariant| invariant.name).collect();
    names.extend(heard);
    names.extend(model.goal.as_ref().map(|goal| goal.name));
    if names.is_empty() {
        let name = algorithm.name();
        let why = match algorithm.reads_clock {
            true => "what it claims is about what clocks show at every moment of long runs",
            false => "without its goal it claims nothing",
        };
        return Err(Failure::Input(format!(
            "check: there is nothing to decide about {name}: {why}; see `bellwether sim {name}`"
        )));
    }
    Ok(names)
}

/// A referee of whose claims only some are wanted.
#[derive(Clone, Debug, Eq)]
struct Only {
    whole: Box<dyn Referee<AnyProcess>>,
    claims: Arc<[&'static str]>,
}

// Derived, it would move what is in the box.
impl PartialEq for Only {
    fn eq(&self, other: &Self) -> bool {
        *self.whole == *other.whole && self.claims == other.claims
    }
}

impl std::hash::Hash for Only {
    fn hash<H: std::hash::Hasher>(&self, hasher: &mut H) {
        self.whole.hash(hasher);
    }
}

impl Only {
    fn wanted(&self, judged: Result<(), Breach>) -> Result<(), Breach> {
        judged.or_else(|breach| match self.claims.contains(&breach.name) {
            true => Err(breach),
            false => Ok(()),
        })
    }
}

impl Referee<AnyProcess> for Only {
    fn hears(&mut self, at: Time, who: NodeId, output: &AnyOutput) -> Result<(), Breach> {
        let judged = self.whole.hears(at, who, output);
        self.wanted(judged)
    }

    fn crashed(&mut self, at: Time, who: NodeId) {
        self.whole.crashed(at, who);
    }

    fn closes(&mut self, at: Time, live: &[NodeId]) -> Result<(), Breach> {
        let judged = self.whole.closes(at, live);
        self.wanted(judged)
    }

    fn claims(&self) -> Vec<&'static str> {
        self.claims.to_vec()
    }

    fn facts(&self) -> Vec<Fact> {
        self.whole.facts()
    }
}
