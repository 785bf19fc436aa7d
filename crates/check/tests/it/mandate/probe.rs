//! The mandate as it is checked: the code of the member, step by step, and what it promised.

use bellwether_core::{Assumptions, Context, Effect, NodeId, Process};
use bellwether_member::mandate::{Durable, Epoch, Input, Mandate, Msg, Said, Timer};
use bellwether_member::{Choices, Config, Ranks};
use std::time::Duration;

/// One tick of a clock.
pub(crate) const TICK: Duration = Duration::from_millis(1);

/// All timers. Each may fire at any moment, whether it is set or not: that is more than can happen,
/// and all of it must be harmless. How often heartbeats are sent does not matter then.
pub(crate) const ALL: &[Timer] = &[Timer::Free, Timer::Retry, Timer::Beat, Timer::Lapse];

/// What is looked at, and with what.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    /// The member's own configuration.
    pub(crate) config: Config,
    /// Steps by which somebody would ask for an epoch above this are not taken.
    pub(crate) epochs: u64,
    /// The timers that fire. The others are late for ever.
    pub(crate) timers: &'static [Timer],
    /// What is done wrong.
    pub(crate) flaw: Option<Flaw>,
}

/// What a restart could do wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// It forgets what was promised.
    ForgetsPromises,
    /// It forgets that there was a lease, which it does, and that this matters (M8).
    ForgetsLeases,
}

impl Scope {
    /// Everything, with a lease of so many ticks, of which a leader relies on the first ones.
    pub(crate) fn new(lease: u32, reliance: u32, epochs: u64) -> Self {
        let group = super::group();
        let choices = Choices::default();
        let ranks = Ranks::equal(&group);
        let config = Config::new(&choices, ranks, &group);
        let config = Config { lease: TICK * lease, heartbeat: TICK, ..config.unwrap() };
        // A tick is far more than a clock can drift in a lease. So the bound is far off, too.
        let with = |drift_ppm| Config { drift_ppm, ..config.clone() };
        let fits = |config: &Config| config.reliance() == TICK * reliance;
        let config = (0..1_000_000).map(with).find(fits).unwrap();
        Scope { config, epochs, timers: ALL, flaw: None }
    }
}

/// A mandate, with what decides nothing left out, and whether it has broken a promise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Probe {
    pub(crate) mandate: Mandate<()>,
    pub(crate) broken: bool,
}

type Cx<'a> = Context<'a, Probe>;
type Step<'s> = dyn FnOnce(&mut Mandate<()>, &mut Context<'_, Mandate<()>>) + 's;

impl Probe {
    fn call(&mut self, config: &Config, cx: &mut Cx<'_>, step: Box<Step<'_>>) {
        let Scope { epochs, timers, .. } = cx.config();
        for timer in *timers {
            cx.set_timer(*timer, Duration::ZERO);
        }
        let (before, mut after) = (self.mandate.promises(), self.mandate.clone());
        let mut effects: Vec<Effect<Mandate<()>>> = Vec::new();
        step(&mut after, &mut Context::new(cx.here(), config, &mut effects));
        let beyond = |said: &Said| matches!(said, Said::Asks(epoch) if epoch.number() > *epochs);
        if effects.iter().any(|effect| matches!(effect, Effect::Emit(said) if beyond(said))) {
            return;
        }
        self.mandate = after;
        self.mandate.forget_what_decides_nothing();
        self.mandate.age(Duration::ZERO, cx.now(), config);
        let (mut follows, mut votes) = (None, Vec::new());
        for effect in effects {
            match effect {
                Effect::Send(to, mut msg) => {
                    if let Msg::Promise { epoch, .. } = msg {
                        votes.push((epoch, to));
                    }
                    msg.forget_what_decides_nothing();
                    cx.send(to, msg);
                }
                Effect::SetTimer(..) | Effect::CancelTimer(_) => {}
                Effect::Emit(said) => {
                    if let Said::Heard { leader, epoch } = said {
                        follows = Some((epoch, leader));
                    }
                    cx.emit(said);
                }
            }
        }
        self.broken |= !self.keeps(before, &votes, follows);
    }

    /// Whether it keeps what it promised before, if it now votes so and follows that leader.
    fn keeps(&self, before: Durable, votes: &[Vote], follows: Option<Vote>) -> bool {
        let now = self.mandate.promises();
        let vote = |durable: Durable| durable.promised_to.map(|to| (durable.promised, to));
        let grows = now.promised > before.promised;
        // Within an epoch a vote changes hands only if another has won it: then it was in vain.
        let stays =
            now.promised == before.promised && (vote(now) == vote(before) || vote(now) == follows);
        // Two votes may leave with one step: one for the candidate at hand, and one for a higher
        // epoch that had to wait for it.
        let is_new =
            |(epoch, to): &Vote| *epoch > before.promised || vote(before) == Some((*epoch, *to));
        let is_durable =
            |(epoch, to): &Vote| *epoch < now.promised || vote(now) == Some((*epoch, *to));
        let is_single = |(epoch, to): &Vote| votes.iter().all(|(e, t)| e != epoch || t == to);
        let fair = |vote: &Vote| is_new(vote) && is_durable(vote) && is_single(vote);
        (grows || stays) && votes.iter().all(fair)
    }
}

/// An epoch, and for whom.
type Vote = (Epoch, NodeId);

impl Process for Probe {
    type Msg = Msg<()>;
    type Timer = Timer;
    type Input = Input;
    type Output = Said;
    type Durable = Durable;
    type Config = Scope;

    const ASSUMES: Assumptions = <Mandate<()> as Process>::ASSUMES;

    fn durable(&self) -> Durable {
        self.mandate.durable()
    }

    fn on_start(&mut self, saved: Option<Durable>, cx: &mut Cx<'_>) {
        let Scope { config, flaw, .. } = cx.config();
        let mut config = config.clone();
        let mut remembered = saved;
        match flaw {
            None => {}
            Some(Flaw::ForgetsPromises) => {
                let forget =
                    |Durable { incarnation, .. }| Durable { incarnation, ..Durable::default() };
                remembered = saved.map(forget);
            }
            Some(Flaw::ForgetsLeases) => config.lease = Duration::ZERO,
        }
        self.call(&config, cx, Box::new(|mandate, cx| mandate.on_start(remembered, cx)));
        let Durable { promised, promised_to, .. } = self.mandate.promises();
        let same = |saved: &Durable| (saved.promised, saved.promised_to) == (promised, promised_to);
        self.broken = !saved.as_ref().is_none_or(same);
    }

    fn on_input(&mut self, input: Input, cx: &mut Cx<'_>) {
        let config = &cx.config().config;
        self.call(config, cx, Box::new(|mandate, cx| mandate.on_input(input, cx)));
    }

    fn on_message(&mut self, from: NodeId, msg: Msg<()>, cx: &mut Cx<'_>) {
        let config = &cx.config().config;
        self.call(config, cx, Box::new(|mandate, cx| mandate.on_message(from, msg, cx)));
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_>) {
        let config = &cx.config().config;
        self.call(config, cx, Box::new(|mandate, cx| mandate.on_timer(timer, cx)));
    }
}
