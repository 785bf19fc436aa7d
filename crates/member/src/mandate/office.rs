//! The way to the mandate and what its holder does: asking, installing, leading, giving up.

use super::ledger::Ledger;
use super::types::{Epoch, Msg, Replica, Said, Sight, Timer, Version};
use super::voter::{Lease, Wish};
use super::{Cx, Mandate, relative};
use crate::clocks::Clocks;
use crate::config::Config;
use crate::event::Loss;
use bellwether_core::{NodeId, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// What a member has to do with the mandate, besides voting.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Role<S: Replica> {
    /// Nothing.
    #[default]
    Idle,
    /// M1: it asks for votes. Timer `Retry` runs.
    Asking(Bid<S>),
    /// M4: it has a majority of promises and spreads the state. Timer `Beat` runs. What it still
    /// holds of an earlier epoch (M10) goes on.
    Installing(Office<S>, Option<Held>),
    /// It leads. Timers `Beat` and `Lapse` run. Whether it holds the mandate is a matter of M6.
    Leading(Office<S>),
}

/// The attempt to get a mandate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Bid<S: Replica> {
    pub(super) epoch: Epoch,
    /// M9: whether a working leader is asked to hand over.
    claim: bool,
    pub(super) appointed: bool,
    promises: BTreeMap<NodeId, (Version, Option<Arc<S>>)>,
    /// Who answered WAIT, and whom it is bound to.
    waits: BTreeMap<NodeId, Option<NodeId>>,
    /// A voter that has promised this epoch, or a higher one, to another.
    refused: Option<Epoch>,
    /// Whether the epoch was raised since the last pause: once is haste, twice would be a race.
    raised: bool,
    /// M10: the mandate that this member still holds meanwhile.
    pub(super) held: Option<Held>,
}

/// What is left of a mandate while its holder moves to a higher epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Held {
    pub(super) epoch: Epoch,
    pub(super) until: Time,
}

/// A leader's books.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Office<S: Replica> {
    pub(super) epoch: Epoch,
    pub(super) appointed: bool,
    /// M6: when the mandate ends if nobody renews it.
    pub(super) until: Time,
    /// What each follower has acknowledged.
    acked: BTreeMap<NodeId, Acked>,
    /// M12 and M13: the changes.
    pub(super) ledger: Ledger<S>,
    /// Heartbeats until the followers are told again what is known of all.
    until_view: u32,
    /// Who was alive when they were last told.
    told: BTreeSet<NodeId>,
}

/// What a follower has acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Acked {
    /// When the latest message that it acknowledged was sent.
    sent: Time,
    /// When the latest acknowledgement came.
    heard: Time,
    /// How many changes it has.
    held: u64,
}

impl<S: Replica> Bid<S> {
    /// How many would vote for this, itself included.
    pub(super) fn answered(&self) -> usize {
        let waits = self.waits.keys().filter(|member| !self.promises.contains_key(member));
        self.promises.len() + waits.count()
    }

    /// What is left says whether it wins.
    pub(super) fn forget_what_decides_nothing(&mut self) {
        self.waits.clear();
        self.refused = self.refused.map(|_| Epoch::default());
        if relative::alike::<S>() {
            for promise in self.promises.values_mut() {
                *promise = (Version::default(), None);
            }
        }
    }
}

impl<S: Replica> Office<S> {
    fn new(epoch: Epoch, appointed: bool) -> Self {
        Office {
            epoch,
            appointed,
            until: Time::ZERO,
            acked: BTreeMap::new(),
            ledger: Ledger::default(),
            until_view: 0,
            told: BTreeSet::new(),
        }
    }

    /// M6: when the `needed` members that count and answered last were asked, if there are so many;
    /// the leader itself counts as asked now.
    fn renewed(&self, now: Time, needed: usize, counts: impl Fn(NodeId) -> bool) -> Option<Time> {
        let acked = self.acked.iter().filter(|(member, _)| counts(**member));
        let mut times: Vec<Time> = acked.map(|(_, acked)| acked.sent).chain([now]).collect();
        times.sort_unstable_by(|one, other| other.cmp(one));
        times.get(needed.max(1) - 1).copied()
    }

    /// M13: how many changes as many members have as are needed; the leader has them all.
    pub(super) fn spread_to(&self, needed: usize, own: u64) -> u64 {
        let mut held: Vec<u64> = self.acked.values().map(|acked| acked.held).chain([own]).collect();
        held.sort_unstable_by(|one, other| other.cmp(one));
        held.get(needed.max(1) - 1).copied().unwrap_or_default()
    }

    /// How many followers have acknowledged more changes than this one, or as many and come before
    /// it.
    pub(super) fn ahead_of(&self, follower: NodeId) -> usize {
        let rank = |id: NodeId, held: u64| (Reverse(held), id);
        let own = rank(follower, self.acked.get(&follower).map_or(0, |acked| acked.held));
        self.acked.iter().filter(|(id, acked)| rank(**id, acked.held) < own).count()
    }

    pub(super) fn followers(&self) -> impl Iterator<Item = &NodeId> {
        self.acked.keys()
    }

    pub(super) fn heard(&self, member: NodeId) -> Option<Time> {
        self.acked.get(&member).map(|acked| acked.heard)
    }

    /// What is left says when the mandate ends, and will end with the next answer.
    pub(super) fn forget_what_decides_nothing(&mut self) {
        for acked in self.acked.values_mut() {
            acked.heard = acked.sent;
        }
        self.until_view = 0;
        self.told.clear();
        self.ledger.forget_who_was_supplied();
    }

    /// See [`Mandate::age`].
    pub(super) fn age(&mut self, by: Duration, now: Time, config: &Config) {
        self.until = relative::end(self.until, by, now);
        for acked in self.acked.values_mut() {
            acked.sent = relative::past(acked.sent, by, now, config);
            acked.heard = acked.sent;
        }
        // What is too old to count is as good as nothing; but for what the follower has (M13).
        if relative::alike::<S>() {
            self.acked.retain(|_, acked| now < acked.sent + config.reliance());
        }
    }

    pub(super) fn is_alive(&self, member: NodeId, now: Time, config: &Config) -> bool {
        self.heard(member).is_some_and(|at| now.since(at) <= config.suspect_after.1)
    }
}

impl<S: Replica> Mandate<S> {
    /// M1: asks for votes in an epoch above all that were seen.
    pub(super) fn ask(&mut self, claim: bool, appointed: bool, cx: &mut Cx<'_, S>) {
        match &mut self.role {
            // Whoever was in the way may be gone: ask again at once.
            Role::Asking(bid) => {
                bid.claim |= claim;
                bid.appointed |= appointed;
                let epoch = bid.epoch;
                self.ask_all(cx);
                self.ask_itself(epoch, cx);
            }
            Role::Idle => self.bid(claim, appointed, None, cx),
            Role::Installing(..) | Role::Leading(_) => {}
        }
    }

    fn bid(&mut self, claim: bool, appointed: bool, held: Option<Held>, cx: &mut Cx<'_, S>) {
        cx.rule("M1");
        let epoch = self.seen.max(self.voter.durable.promised).next();
        let raised = held.is_some();
        self.role = Role::Asking(Bid {
            epoch,
            claim,
            appointed,
            promises: BTreeMap::new(),
            waits: BTreeMap::new(),
            refused: None,
            raised,
            held,
        });
        cx.emit(Said::Asks(epoch));
        self.ask_all(cx);
        self.ask_itself(epoch, cx);
    }

    /// Asks all that have not promised, and sees to it that they are asked again.
    fn ask_all(&mut self, cx: &mut Cx<'_, S>) {
        let version = self.version();
        let Role::Asking(bid) = &self.role else { return };
        for member in cx.group().ring() {
            if *member != cx.me() && !bid.promises.contains_key(member) {
                cx.send(*member, Msg::Prepare { epoch: bid.epoch, version });
            }
        }
        let heartbeat = cx.config().heartbeat;
        cx.set_timer_within(Timer::Retry, heartbeat..2 * heartbeat);
    }

    fn ask_itself(&mut self, epoch: Epoch, cx: &mut Cx<'_, S>) {
        let version = self.version();
        self.consider(Wish { candidate: cx.me(), epoch, version }, cx);
    }

    /// How new its own copy is.
    fn version(&self) -> Version {
        self.voter.copy.as_ref().map(|(version, _)| *version).unwrap_or_default()
    }

    /// M1: once more, in a higher epoch if this one was refused.
    pub(super) fn retry(&mut self, cx: &mut Cx<'_, S>) {
        let needed = cx.config().needed(cx.group());
        let Role::Asking(bid) = &mut self.role else { return };
        let (claim, appointed, held) = (bid.claim, bid.appointed, bid.held);
        let heard = bid.answered().max(1);
        bid.raised = false;
        // Who does not answer any more is not counted for ever.
        bid.waits.retain(|member, _| *member == cx.me());
        if bid.refused.is_some() {
            return self.bid(claim, appointed, held, cx);
        }
        let epoch = bid.epoch;
        if heard < needed {
            cx.emit(Said::TooFew { heard, needed });
        }
        self.ask_all(cx);
        self.ask_itself(epoch, cx);
    }

    pub(super) fn count_promise(
        &mut self,
        from: NodeId,
        epoch: Epoch,
        copy: (Version, Option<Arc<S>>),
        cx: &mut Cx<'_, S>,
    ) {
        let needed = cx.config().needed(cx.group());
        let Role::Asking(bid) = &mut self.role else { return };
        if bid.epoch != epoch {
            return;
        }
        bid.promises.insert(from, copy);
        // Its own promise must be among them: it is what keeps its own voter from another.
        if bid.promises.len() >= needed && bid.promises.contains_key(&cx.me()) {
            self.install(cx);
        } else {
            self.claim(cx);
        }
    }

    pub(super) fn count_wait(
        &mut self,
        from: NodeId,
        epoch: Epoch,
        leader: Option<NodeId>,
        cx: &mut Cx<'_, S>,
    ) {
        let Role::Asking(bid) = &mut self.role else { return };
        if bid.epoch == epoch {
            bid.waits.insert(from, leader);
            self.claim(cx);
        }
    }

    /// M9: if a majority would follow and a leader stands in the way, asks it to hand over. What
    /// it answers is RELEASE or nothing; the question is asked again with the next round.
    fn claim(&mut self, cx: &mut Cx<'_, S>) {
        let needed = cx.config().needed(cx.group());
        let Role::Asking(bid) = &self.role else { return };
        let leader = bid.waits.values().flatten().next();
        if let Some(leader) = leader.filter(|_| bid.claim && bid.answered() == needed) {
            cx.rule("M9");
            cx.send(*leader, Msg::Claim { epoch: bid.epoch });
        }
    }

    pub(super) fn be_refused(&mut self, epoch: Epoch, promised: Epoch, cx: &mut Cx<'_, S>) {
        self.seen = self.seen.max(promised);
        match &mut self.role {
            Role::Idle => {}
            Role::Asking(bid) if bid.epoch == epoch => {
                // Somebody knew of a higher epoch: at once. Somebody else got this one: that is a
                // race, and whoever waits longer lets the other win.
                let race = promised == epoch || bid.raised;
                bid.refused = bid.refused.max(Some(promised));
                let (claim, appointed, held) = (bid.claim, bid.appointed, bid.held);
                if !race {
                    self.bid(claim, appointed, held, cx);
                    if let Role::Asking(bid) = &mut self.role {
                        bid.raised = true;
                    }
                }
            }
            Role::Asking(_) => {}
            Role::Installing(office, held) if office.epoch == epoch && promised > epoch => {
                let (appointed, held) = (office.appointed, *held);
                self.bid(false, appointed, held, cx);
            }
            Role::Leading(office) if office.epoch == epoch && promised > epoch => {
                cx.rule("M10");
                let held = Held { epoch, until: office.until };
                let appointed = office.appointed;
                self.bid(false, appointed, Some(held), cx);
            }
            Role::Installing(..) | Role::Leading(_) => {}
        }
    }

    /// M4, first half.
    fn install(&mut self, cx: &mut Cx<'_, S>) {
        let Role::Asking(bid) = std::mem::take(&mut self.role) else { return };
        cx.rule("M4");
        cx.cancel_timer(Timer::Retry);
        let newest = bid.promises.into_values().max_by_key(|(version, _)| *version);
        // A voter does not send what the candidate has.
        let own = || self.voter.copy.clone().unwrap_or_default().1;
        let state = newest.and_then(|(_, copy)| copy).unwrap_or_else(own);
        self.voter.adopt(Version { epoch: bid.epoch, sequence: 0 }, state);
        self.role = Role::Installing(Office::new(bid.epoch, bid.appointed), bid.held);
        self.clocks = Clocks::default();
        // Its own voter is bound like everybody's, so that it does not leave its followers alone
        // for the first stranger that asks.
        let (leader, until) = (cx.me(), cx.now() + cx.config().lease);
        self.voter.bind(Lease { leader, epoch: bid.epoch, until, appointed: bid.appointed });
        self.spread(cx);
    }

    /// M4: sends the state with which the epoch begins.
    fn spread(&mut self, cx: &mut Cx<'_, S>) {
        let Role::Installing(Office { epoch, appointed, .. }, _) = self.role else { return };
        let (version, copy) = self.voter.copy.clone().unwrap_or_default();
        let sent = cx.now();
        for member in cx.group().ring() {
            if *member != cx.me() {
                let (copy, start) = (copy.clone(), None);
                cx.send(*member, Msg::Spread { epoch, sent, version, copy, appointed, start });
            }
        }
        self.beat_later(cx);
    }

    /// A heartbeat for everybody.
    pub(super) fn beat(&mut self, cx: &mut Cx<'_, S>) {
        let view = self.view_to_tell(cx);
        let (Role::Installing(office, _) | Role::Leading(office)) = &self.role else { return };
        let Office { epoch, appointed, .. } = *office;
        let (sent, sequence) = (cx.now(), self.voter.held(epoch).unwrap_or_default());
        for member in cx.group().ring() {
            if *member != cx.me() {
                let view = view.clone();
                cx.send(*member, Msg::Beat { epoch, sent, appointed, view, sequence });
            }
        }
        self.beat_later(cx);
    }

    fn beat_later(&mut self, cx: &mut Cx<'_, S>) {
        cx.set_timer(Timer::Beat, cx.config().heartbeat);
        // Where this member's own vote is enough, nobody's answer renews the mandate.
        self.renew(cx);
    }

    pub(super) fn count_ack(
        &mut self,
        from: NodeId,
        epoch: Epoch,
        (sent, clock): (Time, Time),
        held: u64,
        cx: &mut Cx<'_, S>,
    ) {
        let now = cx.now();
        let (Role::Installing(office, _) | Role::Leading(office)) = &mut self.role else { return };
        // What was sent in the future was not sent by this process.
        if office.epoch != epoch || sent > now {
            return;
        }
        let acked = office.acked.entry(from).or_insert(Acked { sent, heard: now, held });
        acked.sent = sent.max(acked.sent);
        acked.heard = now;
        // What it has it keeps: within an epoch a copy only grows.
        acked.held = held.max(acked.held);
        if self.clocks.read(from, sent, clock, now) {
            self.judge_clocks(cx);
        }
        self.renew(cx);
    }

    /// M6 and M11: how long the mandate lasts with what is acknowledged; and M4, second half.
    fn renew(&mut self, cx: &mut Cx<'_, S>) {
        let (needed, now) = (cx.config().needed(cx.group()), cx.now());
        let (Role::Installing(office, _) | Role::Leading(office)) = &mut self.role else { return };
        let clocks = &self.clocks;
        let renewed = office.renewed(now, needed, |member| !clocks.drifts(member));
        office.until = renewed.map_or(Time::ZERO, |asked| asked + cx.config().reliance());
        let (epoch, until) = (office.epoch, office.until);
        if now >= until {
            return;
        }
        cx.set_timer(Timer::Lapse, until.since(now));
        if let Role::Installing(office, _) = &self.role {
            cx.rule("M4");
            self.role = Role::Leading(office.clone());
            cx.emit(Said::Won(epoch));
        }
        self.settle(needed);
    }

    /// M6: the mandate has run out, or has been renewed meanwhile.
    pub(super) fn lapse(&mut self, cx: &mut Cx<'_, S>) {
        let now = cx.now();
        match &mut self.role {
            Role::Idle => {}
            Role::Leading(office) => {
                if now < office.until {
                    return cx.set_timer(Timer::Lapse, office.until.since(now));
                }
                cx.rule("M6");
                self.retire(Loss::Lapsed, cx);
            }
            // M10 took too long: what was held is over, the bid goes on.
            Role::Asking(Bid { held, .. }) | Role::Installing(_, held) => {
                if let Some(Held { epoch, until }) = *held {
                    if now < until {
                        return cx.set_timer(Timer::Lapse, until.since(now));
                    }
                    *held = None;
                    cx.emit(Said::Lost(epoch, Loss::Lapsed));
                    self.become_free(cx);
                }
            }
        }
    }

    /// Stops asking, unless there is something to keep.
    pub(super) fn desist(&mut self, cx: &mut Cx<'_, S>) {
        if let Role::Asking(Bid { held: None, .. }) = self.role {
            self.retire(Loss::GivenUp, cx);
        }
    }

    /// M7. What is left of an earlier epoch (M10) is given up, too.
    pub(super) fn hand_over(&mut self, to: Option<NodeId>, appointed: bool, cx: &mut Cx<'_, S>) {
        let epoch = match &self.role {
            Role::Installing(office, _) | Role::Leading(office) => office.epoch,
            Role::Asking(Bid { held: Some(held), .. }) => held.epoch,
            Role::Asking(_) | Role::Idle => return self.desist(cx),
        };
        cx.rule("M7");
        self.voter.unbind(cx.me(), epoch, to);
        self.retire(to.map_or(Loss::GivenUp, Loss::HandedOver), cx);
        for member in cx.group().ring() {
            if *member != cx.me() {
                cx.send(*member, Msg::Release { epoch, to, appointed });
            }
        }
        cx.emit(Said::Released { by: cx.me(), to, appointed });
    }

    /// Has nothing to do with the mandate any more, and says so if it had it.
    pub(super) fn retire(&mut self, loss: Loss, cx: &mut Cx<'_, S>) {
        for timer in [Timer::Retry, Timer::Beat, Timer::Lapse] {
            cx.cancel_timer(timer);
        }
        let lost = match std::mem::take(&mut self.role) {
            Role::Leading(office) => Some(office.epoch),
            Role::Asking(Bid { held, .. }) | Role::Installing(_, held) => held.map(|h| h.epoch),
            Role::Idle => None,
        };
        if let Some(epoch) = lost {
            cx.emit(Said::Lost(epoch, loss));
        }
        self.become_free(cx);
    }

    /// What the followers are to be told of all members: when somebody came or went, and now and
    /// then.
    fn view_to_tell(&mut self, cx: &Cx<'_, S>) -> Vec<Sight> {
        let (now, me) = (cx.now(), cx.me());
        let beats_a_second = Duration::from_secs(1).as_micros() / cx.config().heartbeat.as_micros();
        let Role::Leading(office) = &mut self.role else { return Vec::new() };
        let alive: BTreeSet<NodeId> = office
            .acked
            .keys()
            .copied()
            .filter(|m| office.is_alive(*m, now, cx.config()))
            .collect();
        if office.until_view > 0 && alive == office.told {
            office.until_view -= 1;
            return Vec::new();
        }
        office.until_view = beats_a_second as u32;
        office.told = alive;
        let clocks = &self.clocks;
        let sight = |member: &NodeId| {
            let ago = office.heard(*member).map(|at| now.since(at));
            let ago = if *member == me { Some(Duration::ZERO) } else { ago };
            Sight {
                member: *member,
                heard_ms: ago.map(|ago| u32::try_from(ago.as_millis()).unwrap_or(u32::MAX)),
                clock: clocks.status(me, *member),
            }
        };
        cx.group().ring().iter().map(sight).collect()
    }
}
