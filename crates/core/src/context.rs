//! What a handler is given: who it is, what is fixed, and where its effects go.

use crate::{Few, Group, NodeId, Process, Time};
use std::ops::Range;
use std::time::Duration;

/// Where a process's effects go; one implementation per driver.
///
/// It is a trait and not a list of effects so that the simulator can push straight into its event
/// queue and allocate nothing per event.
pub trait Effects<P: Process> {
    /// Sends a message. Sending to oneself is allowed and goes through the network like any other.
    fn send(&mut self, to: NodeId, msg: P::Msg);
    /// Arms a timer to fire after a delay that the driver draws from the range. An empty range
    /// `d..d` means exactly `d`.
    fn set_timer(&mut self, timer: P::Timer, after: Range<Duration>);
    /// Disarms a timer; nothing happens if it is not armed.
    fn cancel_timer(&mut self, timer: P::Timer);
    /// Tells the application something.
    fn emit(&mut self, output: P::Output);
    /// Says which numbered rule of the algorithm is being applied, for traces.
    fn rule(&mut self, rule: &'static str);
}

/// What a handler sees of the world for the duration of one call.
pub struct Context<'a, P: Process> {
    here: &'a Here<'a>,
    config: &'a P::Config,
    effects: &'a mut (dyn Effects<P> + 'a),
}

/// What is the same for a process and all its parts.
#[derive(Clone, Copy, Debug)]
pub struct Here<'a> {
    group: &'a Group,
    place: usize,
    me: NodeId,
    wants_rules: bool,
    now: Time,
}

impl<'a> Here<'a> {
    /// For drivers: the process at `place` of `group`, whose clock shows `now`; and whether
    /// anybody wants to know which rules it applies.
    #[inline]
    pub fn new(group: &'a Group, place: usize, now: Time, wants_rules: bool) -> Self {
        Here { group, place, me: group.ring()[place], wants_rules, now }
    }

    /// The same moment in a group of other names: for a part that knows the members by something
    /// else than their numbers. The places on the ring must be the same.
    pub fn renamed<'b>(&self, group: &'b Group) -> Here<'b> {
        Here::new(group, self.place, self.now, self.wants_rules)
    }

    /// The same moment in a smaller group, with places of its own; none if the process is not in
    /// it.
    pub fn within<'b>(&self, group: &'b Group) -> Option<Here<'b>> {
        let place = group.place(self.me)?;
        Some(Here { group, place, ..*self })
    }

    /// The process's own number.
    pub fn me(&self) -> NodeId {
        self.me
    }

    /// What its clock shows.
    pub fn now(&self) -> Time {
        self.now
    }

    /// All configured members.
    pub fn group(&self) -> &'a Group {
        self.group
    }
}

impl<'a, P: Process> Context<'a, P> {
    /// For drivers: the context of one call.
    #[inline]
    pub fn new(
        here: &'a Here<'a>,
        config: &'a P::Config,
        effects: &'a mut (dyn Effects<P> + 'a),
    ) -> Self {
        Context { here, config, effects }
    }

    /// The process's own number.
    #[inline]
    pub fn me(&self) -> NodeId {
        self.here.me
    }

    /// The process's own place on the ring.
    #[inline]
    pub fn place(&self) -> usize {
        self.here.place
    }

    /// The local clock, which may be wrong. Only algorithms about time should look.
    pub fn now(&self) -> Time {
        self.here.now
    }

    /// All configured members.
    #[inline]
    pub fn group(&self) -> &'a Group {
        self.here.group
    }

    /// All other members, in ring order.
    pub fn others(&self) -> impl Iterator<Item = NodeId> + use<'a, P> {
        let me = self.me();
        self.group().ring().iter().copied().filter(move |id| *id != me)
    }

    /// The configuration.
    #[inline]
    pub fn config(&self) -> &'a P::Config {
        self.config
    }

    /// Sends a message.
    #[inline]
    pub fn send(&mut self, to: NodeId, msg: P::Msg) {
        self.effects.send(to, msg);
    }

    /// Arms a timer to fire after exactly this long, replacing it if it is armed.
    pub fn set_timer(&mut self, timer: P::Timer, after: Duration) {
        self.effects.set_timer(timer, after..after);
    }

    /// Arms a timer to fire after a delay that the driver draws from the range.
    pub fn set_timer_within(&mut self, timer: P::Timer, after: Range<Duration>) {
        self.effects.set_timer(timer, after);
    }

    /// Disarms a timer.
    pub fn cancel_timer(&mut self, timer: P::Timer) {
        self.effects.cancel_timer(timer);
    }

    /// Tells the application something.
    pub fn emit(&mut self, output: P::Output) {
        self.effects.emit(output);
    }

    /// Marks this step with the rule that it applies.
    #[inline]
    pub fn rule(&mut self, rule: &'static str) {
        if self.here.wants_rules {
            self.effects.rule(rule);
        }
    }

    /// Steps a part whose outputs are the parent's own: wraps what it sends and arms in the
    /// parent's own types, and lets it speak for the parent.
    #[inline(always)]
    pub fn delegate<C: Process<Output = P::Output>>(
        &mut self,
        config: &C::Config,
        msg: impl Fn(C::Msg) -> P::Msg,
        timer: impl Fn(C::Timer) -> P::Timer,
        step: impl FnOnce(&mut Context<'_, C>),
    ) {
        let post = |to, part| Some((to, msg(part)));
        self.wrapped(self.here, config, post, timer, |parent, output| parent.emit(output), step);
    }

    /// Steps a part: wraps what it sends and arms in the parent's own types, and returns what it
    /// said. `msg` and `timer` are usually the parent's enum constructors.
    #[inline]
    pub fn part<C: Process>(
        &mut self,
        config: &C::Config,
        msg: impl Fn(C::Msg) -> P::Msg,
        timer: impl Fn(C::Timer) -> P::Timer,
        step: impl FnOnce(&mut Context<'_, C>),
    ) -> Few<C::Output> {
        let here = self.here;
        self.part_at(here, config, msg, timer, step)
    }

    /// Steps a part that lives elsewhere: in a smaller group, see [`Here::within`].
    #[inline]
    pub fn part_at<C: Process>(
        &mut self,
        here: &Here<'_>,
        config: &C::Config,
        msg: impl Fn(C::Msg) -> P::Msg,
        timer: impl Fn(C::Timer) -> P::Timer,
        step: impl FnOnce(&mut Context<'_, C>),
    ) -> Few<C::Output> {
        let mut said = Few::None;
        let post = |to, part| Some((to, msg(part)));
        self.wrapped(here, config, post, timer, |_, output| said.push(output), step);
        said
    }

    /// Steps a part that knows the members by other names: `names` is the same ring in its terms,
    /// and `post` turns what it sends into the parent's terms. A message to a name that `post`
    /// does not know is not sent.
    pub fn part_among<C: Process>(
        &mut self,
        names: &Group,
        config: &C::Config,
        post: impl Fn(NodeId, C::Msg) -> Option<(NodeId, P::Msg)>,
        timer: impl Fn(C::Timer) -> P::Timer,
        step: impl FnOnce(&mut Context<'_, C>),
    ) -> Few<C::Output> {
        let here = self.here.renamed(names);
        let mut said = Few::None;
        self.wrapped(&here, config, post, timer, |_, output| said.push(output), step);
        said
    }

    /// Steps a part among some of the group, which it knows by other names: `here` is in the smaller
    /// group, see [`Here::within`] and [`Here::renamed`].
    pub fn part_among_some<C: Process>(
        &mut self,
        here: &Here<'_>,
        config: &C::Config,
        post: impl Fn(NodeId, C::Msg) -> Option<(NodeId, P::Msg)>,
        timer: impl Fn(C::Timer) -> P::Timer,
        step: impl FnOnce(&mut Context<'_, C>),
    ) -> Few<C::Output> {
        let mut said = Few::None;
        self.wrapped(here, config, post, timer, |_, output| said.push(output), step);
        said
    }

    /// Steps a part. `post` and `timer` turn what it sends and arms into the parent's terms, and
    /// `hear` takes what it says.
    #[inline(always)]
    fn wrapped<C: Process>(
        &mut self,
        here: &Here<'_>,
        config: &C::Config,
        post: impl Fn(NodeId, C::Msg) -> Option<(NodeId, P::Msg)>,
        timer: impl Fn(C::Timer) -> P::Timer,
        hear: impl FnMut(&mut dyn Effects<P>, C::Output),
        step: impl FnOnce(&mut Context<'_, C>),
    ) {
        let mut wrap = Wrap::<P, _, _, _> { parent: &mut *self.effects, post, timer, hear };
        step(&mut Context { here, config, effects: &mut wrap });
    }

    /// Where and when this step happens.
    pub fn here(&self) -> &Here<'a> {
        self.here
    }
}

/// Turns a part's effects into its parent's.
struct Wrap<'s, 'a, P: Process, M, T, H> {
    parent: &'s mut (dyn Effects<P> + 'a),
    post: M,
    timer: T,
    hear: H,
}

impl<P, C, M, T, H> Effects<C> for Wrap<'_, '_, P, M, T, H>
where
    P: Process,
    C: Process,
    M: Fn(NodeId, C::Msg) -> Option<(NodeId, P::Msg)>,
    T: Fn(C::Timer) -> P::Timer,
    H: FnMut(&mut dyn Effects<P>, C::Output),
{
    #[inline(always)]
    fn send(&mut self, to: NodeId, msg: C::Msg) {
        if let Some((to, msg)) = (self.post)(to, msg) {
            self.parent.send(to, msg);
        }
    }

    fn set_timer(&mut self, timer: C::Timer, after: Range<Duration>) {
        self.parent.set_timer((self.timer)(timer), after);
    }

    fn cancel_timer(&mut self, timer: C::Timer) {
        self.parent.cancel_timer((self.timer)(timer));
    }

    fn emit(&mut self, output: C::Output) {
        (self.hear)(self.parent, output);
    }

    fn rule(&mut self, rule: &'static str) {
        self.parent.rule(rule);
    }
}
