//! Effects as data, for tests and for drivers that look before they act.

use crate::{Context, Effects, Group, Here, NodeId, Process, Time};
use std::ops::Range;
use std::time::Duration;

/// One thing that a handler asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect<P: Process>
where
    P::Output: PartialEq,
{
    /// A message leaves.
    Send(NodeId, P::Msg),
    /// A timer is armed.
    SetTimer(P::Timer, Range<Duration>),
    /// A timer is disarmed.
    CancelTimer(P::Timer),
    /// The application is told.
    Emit(P::Output),
}

/// Collects effects in order; rules are not effects and are left out.
impl<P: Process> Effects<P> for Vec<Effect<P>>
where
    P::Output: PartialEq,
{
    fn send(&mut self, to: NodeId, msg: P::Msg) {
        self.push(Effect::Send(to, msg));
    }
    fn set_timer(&mut self, timer: P::Timer, after: Range<Duration>) {
        self.push(Effect::SetTimer(timer, after));
    }
    fn cancel_timer(&mut self, timer: P::Timer) {
        self.push(Effect::CancelTimer(timer));
    }
    fn emit(&mut self, output: P::Output) {
        self.push(Effect::Emit(output));
    }
    fn rule(&mut self, _: &'static str) {}
}

/// Runs one handler call of the process at `place` and returns what it asked for.
///
/// ```
/// # use bellwether_core::*;
/// # fn example<P: Process>(process: &mut P, group: &Group, config: &P::Config) where P::Output: PartialEq {
/// let effects = step(group, 0, config, |cx| process.on_start(None, cx));
/// # }
/// ```
pub fn step<P: Process>(
    group: &Group,
    place: usize,
    config: &P::Config,
    handler: impl FnOnce(&mut Context<'_, P>),
) -> Vec<Effect<P>>
where
    P::Output: PartialEq,
{
    let mut effects = Vec::new();
    let here = Here::new(group, place, Time::ZERO, false);
    handler(&mut Context::new(&here, config, &mut effects));
    effects
}
