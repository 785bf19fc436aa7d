//! What is remembered of a run, because something is claimed about its past.

use crate::model::{Model, Ticks};
use bellwether_algorithms::referee::{Breach, Referee};
use bellwether_core::Validity::UntilRecovery;
use bellwether_core::{Fence, Invariant, NodeId, Process, Shape, Time, blamed};

/// What is remembered of a run. Two states with the same processes and different memories are
/// different: what may be said next depends on what was said.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Witness<P: Process> {
    /// For each invariant about numbers that only grow: who has held which. Nothing where it is no
    /// longer claimed.
    fences: Vec<Option<Fence>>,
    /// Who hears what the processes say, if anybody does.
    referee: Option<Box<dyn Referee<P>>>,
    /// What was broken first, if anything was.
    broken: Option<Breach>,
}

/// What a process said in one step, and what it holds after it.
#[derive(Clone, Debug)]
pub struct Observation<P: Process> {
    /// Who.
    pub who: NodeId,
    /// Whether it crashed.
    pub crashed: bool,
    /// Whether it came back from a crash.
    pub recovered: bool,
    /// What it told the application.
    pub outputs: Vec<P::Output>,
    /// The numbers that it holds or does not: one for each invariant about numbers that only grow.
    /// Empty if it has held none before and after.
    pub fences: Vec<Option<u128>>,
}

/// What a process holds.
type Held<P> = dyn Fn(NodeId, &P, Time) -> Option<u128> + Send + Sync;

/// The invariants about numbers that only grow.
fn fenced<P: Process>(model: &Model<P>) -> impl Iterator<Item = (&Invariant<P>, &Held<P>)> {
    model.invariants.iter().filter_map(|invariant| match &invariant.shape {
        Shape::Fenced(held) => Some((invariant, &**held)),
        _ => None,
    })
}

impl<P: Process> Witness<P> {
    /// Nothing has happened yet.
    pub fn new(model: &Model<P>) -> Self {
        Witness {
            fences: fenced(model).map(|_| Some(Fence::default())).collect(),
            referee: model.referee.clone(),
            broken: None,
        }
    }

    /// What was broken, if anything was.
    pub fn broken(&self) -> Option<&Breach> {
        self.broken.as_ref()
    }

    /// Who hears what the processes say, if anybody does.
    pub fn referee(&self) -> Option<&dyn Referee<P>> {
        self.referee.as_deref()
    }

    /// Hears what came of a step, this many ticks after the beginning.
    pub(crate) fn hear(&mut self, model: &Model<P>, observed: &Observation<P>, now: Ticks) {
        let at = Time::ZERO + model.timing.tick().unwrap_or_default() * u32::from(now);
        if observed.recovered {
            let over = |(invariant, _): (&Invariant<P>, _)| invariant.validity == UntilRecovery;
            let fences = self.fences.iter_mut().zip(fenced(model).map(over));
            fences.filter(|(_, over)| *over).for_each(|(fence, _)| *fence = None);
        }
        for (index, number) in observed.fences.iter().enumerate() {
            self.fence(model, index, *number, observed.who);
        }
        let Some(referee) = &mut self.referee else { return };
        if observed.crashed {
            referee.crashed(at, observed.who);
        }
        for output in &observed.outputs {
            let heard = blamed(
                || referee.hears(at, observed.who, output),
                || format!("the referee panicked while hearing {}", observed.who),
            );
            if let Err(breach) = heard {
                self.broken.get_or_insert(breach);
            }
        }
    }

    fn fence(&mut self, model: &Model<P>, index: usize, number: Option<u128>, who: NodeId) {
        let rival = self.fences[index].as_mut().and_then(|fence| fence.hold(who, number));
        if let (Some(rival), Some((invariant, _))) = (rival, fenced(model).nth(index)) {
            let Invariant { name, text, .. } = invariant;
            self.broken.get_or_insert(Breach { name, text, by: vec![rival, who] });
        }
    }

    /// What is wrong with this as the end of a run, if anything.
    pub(crate) fn closes(&self, live: &[NodeId]) -> Option<Breach> {
        let mut referee = self.referee.clone()?;
        let close = || referee.closes(Time::ZERO, live);
        blamed(close, || "the referee panicked while closing the run".to_owned()).err()
    }
}

impl<P: Process> Observation<P> {
    /// Nothing yet.
    pub(crate) fn nothing(who: NodeId) -> Self {
        Observation {
            who,
            crashed: false,
            recovered: false,
            outputs: Vec::new(),
            fences: Vec::new(),
        }
    }

    /// Whether there is nothing that a witness would remember.
    pub(crate) fn is_nothing(&self, model: &Model<P>) -> bool {
        let heard = self.crashed || !self.outputs.is_empty();
        self.fences.is_empty() && (model.referee.is_none() || !heard)
    }

    /// Looks at what the process holds after its step; nothing if it has crashed. If it had
    /// something before the step, it may be that it has let go of it.
    pub(crate) fn look(&mut self, model: &Model<P>, process: Option<&P>, now: Time, had: bool) {
        let held = |held: &Held<P>| held(self.who, process?, now);
        self.fences = fenced(model).map(|(_, of)| held(of)).collect();
        // What runs out by itself is noticed at the next step, whatever that is.
        let may_have = had || self.recovered || model.reads_clock;
        if !may_have && self.fences.iter().all(Option::is_none) {
            self.fences.clear();
        }
    }
}

/// Whether a process holds a number that only grows.
pub(crate) fn holds<P: Process>(model: &Model<P>, who: NodeId, process: &P, now: Time) -> bool {
    fenced(model).any(|(_, held)| held(who, process, now).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::Setup;
    use bellwether_algorithms::catalogue::catalogue;
    use bellwether_algorithms::definition::Settings;
    use bellwether_core::{AnyProcess, Group};
    use std::time::Duration;

    /// The numbers of entries only grow, until a process comes back.
    #[test]
    fn a_claim_until_recovery_ends_with_it() {
        let ids = [1, 2].map(NodeId::new);
        let group = Group::new(ids.to_vec()).unwrap();
        let settings = Settings::new(Duration::from_millis(100));
        let catalogue = catalogue();
        let ring = catalogue.get("token-ring").unwrap();
        let model = Setup::new(ring, group, settings).model();
        let enters = |who: NodeId, number: u128| {
            let fences = vec![Some(number)];
            Observation::<AnyProcess> { fences, ..Observation::nothing(who) }
        };
        let back = Observation::<AnyProcess> {
            recovered: true,
            fences: vec![None],
            ..Observation::nothing(ids[1])
        };
        assert!(!back.is_nothing(&model));
        let mut witness = Witness::new(&model);
        witness.hear(&model, &enters(ids[0], 5), 0);
        let mut after = witness.clone();
        witness.hear(&model, &enters(ids[1], 4), 0);
        assert_eq!(witness.broken().map(|breach| breach.name), Some("sequence"));
        after.hear(&model, &back, 0);
        after.hear(&model, &enters(ids[1], 4), 0);
        assert_eq!(after.broken(), None);
    }
}
