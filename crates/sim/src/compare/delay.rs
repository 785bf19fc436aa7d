//! The synchronisation delay: how long the critical section stands empty although somebody waits.

use super::measure::Run;
use super::{Case, Claim, Expected, Figure};
use crate::workload::Load;
use serde::ser::{Serialize, SerializeStruct, Serializer};

/// A formula for what lies between the section's being left and the next entry, in hops: messages
/// that follow upon each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Delay {
    /// As text; T is the time that a message takes.
    pub formula: &'static str,
    /// The same in hops.
    pub expected: Expected,
    /// What was measured; see [`Case::measured`].
    pub measured: Figure,
    /// Whether they agree.
    pub agrees: bool,
}

/// What is claimed for entries into a critical section, before they are measured.
pub(super) struct SectionClaim {
    pub(super) load: Load,
    pub(super) messages: Claim,
    /// In hops, if somebody waits.
    pub(super) delay: Option<(&'static str, Expected)>,
}

impl SectionClaim {
    /// Judges entries by it.
    pub(super) fn judge(self, algorithm: &'static str, runs: &[Run]) -> Case {
        let mut case = self.messages.judge(algorithm, runs);
        case.load = Some(self.load);
        case.delay = self.delay.map(|(formula, promised)| {
            // An entry without a delay is one too few, and no mean is exact then.
            let hops: Vec<u64> = runs.iter().filter_map(|run| run.delay).collect();
            let (expected, holds) = promised.judge(&hops);
            let agrees = holds && hops.len() == runs.len();
            Delay { formula, expected, measured: expected.figure(&hops), agrees }
        });
        case.agrees &= case.delay.as_ref().is_none_or(|delay| delay.agrees);
        case
    }
}

impl Serialize for Delay {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Delay", 5)?;
        fields.serialize_field("formula", self.formula)?;
        fields.serialize_field("expected_hops", &self.expected)?;
        fields.serialize_field("judged", self.expected.judged())?;
        fields.serialize_field("measured_hops", &self.measured)?;
        fields.serialize_field("agrees", &self.agrees)?;
        fields.end()
    }
}
