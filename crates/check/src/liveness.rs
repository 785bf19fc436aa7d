//! Whether every run comes to its goal.

use crate::check::{Counterexample, Explorable};
use crate::explore::Explorer;
use crate::model::Model;

/// A run that never comes to its goal for good, if there is one.
pub(crate) fn lasso<P: Explorable>(
    _: &Model<P>,
    _: &mut Explorer<'_, P>,
) -> Option<Counterexample> {
    None
}
