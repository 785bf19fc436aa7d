//! Where a step's effects go: straight into the event queue.

use super::{Event, World};
use crate::fault::FaultKind;
use crate::network::{Fate, Fires};
use crate::node::{Oddity, Outgoing, Timers};
use crate::observer::{Observer, Seen, Why};
use bellwether_core::{Effects, Group, Message, NodeId, Process, micros};
use std::ops::Range;
use std::time::Duration;

/// Where the effects of one step go.
pub(super) struct Sink<'a, P: Process, O> {
    pub(super) world: &'a mut World<P>,
    pub(super) outgoing: &'a mut Outgoing,
    pub(super) timers: &'a mut Timers<P::Timer>,
    pub(super) timers_set: &'a mut u32,
    pub(super) oddity: Option<&'a mut Oddity<P>>,
    pub(super) observer: &'a mut O,
    pub(super) group: &'a Group,
    pub(super) place: usize,
    pub(super) me: NodeId,
}

impl<P: Process, O: Observer<P>> Sink<'_, P, O> {
    fn see(&mut self, place: usize, seen: Seen<'_, P>) {
        if O::ACTIVE {
            self.observer.event(self.world.now, place, seen);
        }
    }

    /// Whether the process has crashed earlier in this step.
    #[inline]
    fn is_dead(&self) -> bool {
        let trap = self.oddity.as_ref().and_then(|oddity| oddity.trap.as_ref());
        trap.is_some_and(|trap| trap.sprung)
    }

    /// Counts down to a crash in the middle of sending; says whether it is now.
    #[cold]
    fn approach_trap(&mut self, name: &str) -> bool {
        let trap = self.oddity.as_mut().and_then(|oddity| oddity.trap.as_mut());
        let Some(trap) = trap.filter(|trap| trap.kind == name) else { return false };
        match trap.left.checked_sub(1) {
            Some(left) => trap.left = left,
            None => trap.sprung = true,
        }
        trap.sprung
    }
}

impl<P: Process, O: Observer<P>> Effects<P> for Sink<'_, P, O> {
    #[inline]
    fn send(&mut self, to: NodeId, msg: P::Msg) {
        let kind = msg.kind();
        if self.oddity.is_some() && (self.is_dead() || self.approach_trap(kind.name)) {
            return;
        }
        // A message to a process that is no member goes nowhere, as on a real network.
        let Some(target) = self.group.place_from(self.place, to) else { return };
        let world = &mut *self.world;
        let id = world.sent;
        world.sent += 1;
        world.tally.add(kind);
        if O::ACTIVE {
            self.observer.event(world.now, self.place, Seen::Send { id, to, msg: &msg });
        }
        let link = self.outgoing.link(target as u32);
        let number = link.count;
        link.count += 1;
        let mut fate = world.oracle.fate(self.me, to, number);
        if let Some(fates) = &mut world.fates {
            fates.push(((self.me, to, number), fate));
        }
        if let Some(rate) = &mut world.rate {
            let wait = rate.carry((self.place, target), msg.weight(), world.now);
            if wait > 0 {
                world.faults.bite(FaultKind::Rate);
            }
            fate = fate.later(wait);
        }
        let why = match fate {
            _ if !world.cuts.is_empty() && world.is_cut(self.place, target, &msg) => Why::Cut,
            Fate::Lost => {
                world.faults.bite(FaultKind::Loss);
                Why::Lost
            }
            Fate::Arrives(after) => {
                let mut at = world.now.as_micros().saturating_add(after);
                if at < link.latest {
                    if world.reorder {
                        world.faults.bite(FaultKind::Reorder);
                    } else {
                        at = link.latest;
                    }
                }
                link.latest = link.latest.max(at);
                return world.push(at, target as u32, self.me, id, msg, kind.role);
            }
            Fate::Twice(first, second) => {
                world.faults.bite(FaultKind::Duplicate);
                let before = link.latest;
                for after in [first, second] {
                    let mut at = world.now.as_micros().saturating_add(after);
                    if !world.reorder {
                        at = at.max(link.latest);
                    } else if at < before {
                        world.faults.bite(FaultKind::Reorder);
                    }
                    link.latest = link.latest.max(at);
                    world.push(at, target as u32, self.me, id, msg.clone(), kind.role);
                }
                return;
            }
        };
        world.stirred = true;
        let (now, me) = (world.now, self.me);
        if O::ACTIVE {
            self.observer.event(now, target, Seen::Drop { id, from: me, msg: &msg, why });
        }
    }

    fn set_timer(&mut self, timer: P::Timer, after: Range<Duration>) {
        if self.is_dead() {
            return;
        }
        let number = *self.timers_set;
        *self.timers_set = number.wrapping_add(1);
        self.timers.arm(timer.clone(), number);
        let (low, high) = (micros(after.start), micros(after.end));
        let world = &mut *self.world;
        let span = match (world.oracle.timer(self.me, number, low, high), &self.oddity) {
            (Fires::AsSet(span), Some(oddity)) => oddity.real(world.now, span, &mut world.faults),
            (Fires::AsSet(span), None) | (Fires::AsGiven(span), _) => span,
        };
        let at = world.now.as_micros().saturating_add(span);
        let place = self.place as u32;
        world.queue.push(at, place, Event::Timer { place, number, timer });
    }

    fn cancel_timer(&mut self, timer: P::Timer) {
        self.timers.disarm(&timer);
    }

    fn emit(&mut self, output: P::Output) {
        self.world.stirred = true;
        if self.is_dead() {
            return;
        }
        self.see(self.place, Seen::Output(&output));
        let (now, node) = (self.world.now, self.me);
        if let Some(attendance) = &mut self.world.attendance {
            attendance.hears(now, node, &output);
        }
        if let Some(metered) = &mut self.world.meter
            && let Some(milestone) = (metered.reads)(&output)
        {
            metered.meter.note(now, self.place, node, milestone);
        }
    }

    fn rule(&mut self, rule: &'static str) {
        self.see(self.place, Seen::Rule(rule));
    }
}
