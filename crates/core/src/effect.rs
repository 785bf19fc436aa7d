//! Effects as data, for tests and for drivers that look before they act.

use crate::{Context, Effects, Group, Here, NodeId, Process, Time};
use std::ops::Range;
use std::time::Duration;

/// One thing that a handler asked for.
#[derive(Clone, Debug)]
pub enum Effect<P: Process> {
    /// A message leaves.
    Send(NodeId, P::Msg),
    /// A timer is armed.
    SetTimer(P::Timer, Range<Duration>),
    /// A timer is disarmed.
    CancelTimer(P::Timer),
    /// The application is told.
    Emit(P::Output),
}

/// Outputs of some processes cannot be compared, and then neither can their effects.
impl<P: Process<Output: PartialEq>> PartialEq for Effect<P> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Effect::Send(to, msg), Effect::Send(other, that)) => (to, msg) == (other, that),
            (Effect::SetTimer(timer, after), Effect::SetTimer(other, that)) => {
                (timer, after) == (other, that)
            }
            (Effect::CancelTimer(timer), Effect::CancelTimer(other)) => timer == other,
            (Effect::Emit(output), Effect::Emit(other)) => output == other,
            _ => false,
        }
    }
}

/// Collects effects in order; rules are not effects and are left out.
impl<P: Process> Effects<P> for Vec<Effect<P>> {
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
/// # fn example<P: Process>(process: &mut P, group: &Group, config: &P::Config) {
/// let effects = step(group, 0, config, |cx| process.on_start(None, cx));
/// # }
/// ```
pub fn step<P: Process>(
    group: &Group,
    place: usize,
    config: &P::Config,
    handler: impl FnOnce(&mut Context<'_, P>),
) -> Vec<Effect<P>> {
    let mut effects = Vec::new();
    let here = Here::new(group, place, Time::ZERO, false);
    handler(&mut Context::new(&here, config, &mut effects));
    effects
}
