//! What is remembered of a run, because something is claimed about its past.

use crate::model::{Model, Ticks};
use bellwether_algorithms::referee::{Breach, Referee};
use bellwether_core::{Invariant, NodeId, Process, Shape, Time, Validity};
use std::collections::BTreeMap;

/// What is remembered of a run. Two states with the same processes and different memories are
/// different: what may be said next depends on what was said.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Witness<P: Process> {
    /// For each invariant about numbers that only grow: who has ever held which; nothing once it is
    /// claimed no more.
    owners: Vec<Option<BTreeMap<u128, NodeId>>>,
    /// Who hears what the processes say, if anybody does.
    referee: Option<Box<dyn Referee<P>>>,
    /// What was broken first, if anything was.
    broken: Option<Breach>,
}

/// What a process said in one step, and what it holds after it.
#[derive(Clone, Debug)]
pub struct Said<P: Process> {
    /// Who.
    pub who: NodeId,
    /// Whether it crashed.
    pub crashed: bool,
    /// Whether it has come back.
    pub recovered: bool,
    /// What it told the application.
    pub outputs: Vec<P::Output>,
    /// The numbers that it holds and that only grow: by invariant.
    pub fences: Vec<(usize, u128)>,
}

/// What a process holds.
type Held<P> = fn(NodeId, &P, Time) -> Option<u128>;

/// The invariants about numbers that only grow.
fn fenced<P: Process>(model: &Model<P>) -> impl Iterator<Item = (&Invariant<P>, Held<P>)> {
    model.invariants.iter().filter_map(|invariant| match invariant.shape {
        Shape::Fenced(held) => Some((invariant, held)),
        _ => None,
    })
}

impl<P: Process> Witness<P> {
    /// Nothing has happened yet.
    pub fn new(model: &Model<P>) -> Self {
        Witness {
            owners: fenced(model).map(|_| Some(BTreeMap::new())).collect(),
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

    /// Hears what came of a step, so many ticks after the beginning.
    pub(crate) fn hear(&mut self, model: &Model<P>, said: &Said<P>, now: Ticks) {
        let at = Time::ZERO + model.timing.tick().unwrap_or_default() * u32::from(now);
        if said.recovered {
            for (owners, (invariant, _)) in self.owners.iter_mut().zip(fenced(model)) {
                owners.take_if(|_| invariant.validity == Validity::UntilRecovery);
            }
        }
        for (index, number) in &said.fences {
            self.fence(model, *index, *number, said.who);
        }
        let Some(referee) = &mut self.referee else { return };
        if said.crashed {
            referee.crashed(at, said.who);
        }
        for output in &said.outputs {
            if let Err(breach) = referee.hears(at, said.who, output) {
                self.broken.get_or_insert(breach);
            }
        }
    }

    /// A number has one owner for ever, and one that is new is larger than all before it.
    fn fence(&mut self, model: &Model<P>, index: usize, number: u128, who: NodeId) {
        let Some(owners) = &mut self.owners[index] else { return };
        let last = owners.last_key_value().map(|(number, owner)| (*number, *owner));
        let rival = match owners.get(&number) {
            Some(owner) => (*owner != who).then_some(*owner),
            None => last.filter(|(larger, _)| *larger > number).map(|(_, owner)| owner),
        };
        owners.entry(number).or_insert(who);
        if let (Some(rival), Some((invariant, _))) = (rival, fenced(model).nth(index)) {
            let Invariant { name, text, .. } = invariant;
            self.broken.get_or_insert(Breach { name, text, by: vec![rival, who] });
        }
    }

    /// What is wrong with this as the end of a run, if anything.
    pub(crate) fn closes(&self, live: &[NodeId]) -> Option<Breach> {
        self.referee.clone()?.closes(Time::ZERO, live).err()
    }
}

impl<P: Process> Said<P> {
    /// This one has said nothing yet.
    pub(crate) fn nothing(who: NodeId) -> Self {
        Said { who, crashed: false, recovered: false, outputs: Vec::new(), fences: Vec::new() }
    }

    /// Whether there is nothing that a witness would remember.
    pub(crate) fn is_nothing(&self, model: &Model<P>) -> bool {
        let heard = self.crashed || !self.outputs.is_empty();
        let ends_claims = self.recovered
            && fenced(model).any(|(invariant, _)| invariant.validity == Validity::UntilRecovery);
        self.fences.is_empty() && !ends_claims && (model.referee.is_none() || !heard)
    }

    /// Looks at what the process holds after its step.
    pub(crate) fn look(&mut self, model: &Model<P>, process: &P, now: Time) {
        let held = fenced(model).map(|(_, held)| held(self.who, process, now)).enumerate();
        self.fences = held.filter_map(|(index, held)| Some((index, held?))).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::Setup;
    use bellwether_algorithms::catalogue::Settings;
    use bellwether_algorithms::mutex::{Guarded, TokenRing};
    use bellwether_core::Group;
    use std::time::Duration;

    type Ring = Guarded<TokenRing>;

    /// The numbers of entries only grow, until somebody comes back.
    #[test]
    fn a_claim_until_recovery_ends_with_it() {
        let ids = [1, 2].map(NodeId::new);
        let group = Group::new(ids.to_vec()).unwrap();
        let settings = Settings::new(Duration::from_millis(100));
        let model = Setup::new::<Ring>(group, settings).model::<Ring>();
        let enters = |who: NodeId, number: u128| {
            let fences = vec![(0, number)];
            Said::<Ring> { fences, ..Said::nothing(who) }
        };
        let back = Said::<Ring> { recovered: true, ..Said::nothing(ids[1]) };
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
