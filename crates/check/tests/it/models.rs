//! Models for tests: of algorithms by their names, of processes with and without their types. And
//! what referees may use to tell a test how runs end.

use bellwether_algorithms::catalogue::{Listed, catalogue};
use bellwether_algorithms::definition::Definition;
use bellwether_check::{Model, Setup};
use bellwether_core::{AnyConfig, AnyInput, AnyProcess, Erasable, Invariant, Process};
use bellwether_member::Member;
use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

/// The algorithm of this name, of the catalogue or the member.
pub(crate) fn listed(name: &str) -> Listed {
    let catalogue = catalogue().with::<Member>();
    catalogue.get(name).unwrap_or_else(|| panic!("no algorithm '{name}'")).clone()
}

/// The same model as that of the setup, but of processes `P`.
pub(crate) fn typed<P: Process>(setup: &Setup, definition: Definition<P>) -> Model<P> {
    let erased = setup.model();
    let config = definition.config(&setup.settings, &erased.group);
    let same = |input: &AnyInput| definition.input(&setup.algorithm.verb(input));
    let inputs = erased.inputs.iter().map(|inputs| inputs.iter().filter_map(same).collect());
    Model {
        inputs: inputs.collect(),
        referee: definition.new_referee(&config, &erased.group),
        config,
        timing: erased.timing,
        channels: erased.channels,
        faults: erased.faults,
        sides: erased.sides,
        reads_clock: definition.reads_clock,
        goal: definition.goal.filter(|_| setup.liveness),
        invariants: definition.invariants,
        clocks: erased.clocks,
        horizon: erased.horizon,
        aging: None,
        spent: None,
        group: erased.group,
    }
}

/// The same model of erased processes, without a referee.
pub(crate) fn erase<P: Erasable>(model: Model<P>) -> Model<AnyProcess> {
    let erase = |inputs: Vec<P::Input>| inputs.into_iter().map(AnyInput::new).collect();
    Model {
        inputs: model.inputs.into_iter().map(erase).collect(),
        invariants: model.invariants.into_iter().map(Invariant::erase).collect(),
        goal: model.goal.map(|goal| goal.erase()),
        config: AnyConfig::new::<P>(model.config),
        referee: None,
        group: model.group,
        timing: model.timing,
        channels: model.channels,
        faults: model.faults,
        sides: model.sides,
        reads_clock: model.reads_clock,
        clocks: model.clocks,
        horizon: model.horizon,
        aging: None,
        spent: None,
    }
}

/// What all copies of a referee note down together. It makes no difference between them.
#[derive(Clone, Debug)]
pub(crate) struct Notes<T>(Arc<Mutex<BTreeSet<T>>>);

impl<T: Clone + Ord> Notes<T> {
    /// None yet.
    pub(crate) fn new() -> Self {
        Notes(Arc::default())
    }

    /// Adds some.
    pub(crate) fn extend(&self, notes: impl IntoIterator<Item = T>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(notes);
    }

    /// All of them.
    pub(crate) fn all(&self) -> BTreeSet<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl<T> PartialEq for Notes<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> Eq for Notes<T> {}

impl<T> Hash for Notes<T> {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
