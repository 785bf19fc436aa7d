//! The mandate: an epoch and a lease, granted by a majority.
//!
//! An election says who *should* coordinate; in a partition it says so on both sides. The mandate
//! says whether that one *may*. It is the view change of viewstamped replication (Oki and Liskov
//! 1988; Liskov and Cowling 2012) with leader leases (Gray and Cheriton 1989), where the election
//! picks the primary. Every member is a voter (`voter.rs`); one may hold the office
//! (`office.rs`).
//!
//! # Rules
//! * M1 Who was elected asks all for their votes: PREPARE with an epoch above all that it has seen,
//!   again and again until it is answered.
//! * M2 A voter gives one PROMISE per epoch, for epochs above all that it has promised; it is
//!   durable before it leaves. To anything older it answers REFUSE with what it has promised.
//! * M3 A voter that is bound by an unexpired lease to another leader answers WAIT, keeps the
//!   request, and promises the moment it is free.
//! * M4 A majority of promises: adopt the newest copy of the state, SPREAD it; when a majority has
//!   acknowledged that, the mandate is won. PREPARE says how new the candidate's own copy is, so
//!   that only newer ones need to be sent. A follower that gets a BEAT and has not got the state
//!   of that epoch answers LACK, and gets it.
//! * M5 A voter that gets SPREAD or BEAT in an epoch not below its promise binds itself to the
//!   sender for one lease on its own clock, and answers ACK. (A leader in a higher epoch has a
//!   majority of promises, so whoever the voter was bound to before has no mandate any more.)
//! * M6 A leader holds the mandate until one lease, shortened by what clocks may drift apart, after
//!   it *sent* what the slowest member of its fastest majority has acknowledged. When that time
//!   has passed on its clock it does not hold it, even before it notices.
//! * M7 A leader that gives up stops first and then says RELEASE: whoever was bound to it is free
//!   at once. It may name a successor.
//! * M8 A voter that restarts has forgotten leases and copies. It neither promises nor binds itself
//!   until it has received a copy from a leader, or until one lease, and as long as anybody may
//!   still rely on what it forgot, has passed since its start: how long that is at most, it keeps
//!   on disk. At its very first start it has forgotten nothing. The copy must not be older than what
//!   it forgot, and a late SPREAD may be: so it is one of an epoch above all that it has promised, or
//!   one that was sent to this very start of it, because its LACK asked for that.
//! * M9 A stronger member that wants to take over from a working leader asks for votes as in M1.
//!   When a majority has answered, if only with WAIT, it sends CLAIM to the leader, which hands
//!   over by M7. So nobody gives up a working mandate for one that cannot win it.
//! * M10 A leader that is refused because a follower has promised a higher epoch, in vain, asks for
//!   votes in a still higher one; meanwhile its mandate goes on.
//! * M11 A member whose clock is known to [drift](crate::clocks) beyond the bound does not count
//!   for a lease.
//! * M12 A leader with a mandate changes the state: it numbers the changes of its epoch, makes each
//!   on its own copy and sends it to all in APPEND; they make it in the same order, and ACK says how
//!   many they have. Whoever misses some says so by LACK and gets them, or the whole state.
//! * M13 What comes of a change is told when a majority has it and the leader still holds its
//!   mandate; never otherwise. So by M4 no later leader can be without it.
//!
//! # Assumes
//! Clock rates within the bound; nothing else for safety: messages may be lost, repeated, late,
//! out of order, processes may stop, pause and come back. To win, a majority that can talk.
//!
//! # Costs
//! Two round trips from free voters to a mandate: PREPARE, PROMISE, SPREAD, ACK, n-1 of each. One
//! BEAT and one ACK per follower and heartbeat. A hand-over adds RELEASE: two and a half.

mod ledger;
mod office;
mod relative;
mod types;
mod voter;

pub use types::{Epoch, Input, Msg, Replica, Said, Sight, Timer, Version};
pub use voter::Durable;

use crate::clocks::{Clocks, Verdict};
use crate::config::Config;
use crate::event::Loss;
use crate::status::{ClockStatus, MandateStatus};
use bellwether_core::{Assumptions, Channels, Context, Here, NodeId, Process, Time, Timing};
use office::{Bid, Held, Office, Role};
use voter::{Lease, Vote, Voter, Wish};

/// One member's part in mandates.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mandate<S: Replica> {
    voter: Voter<S>,
    role: Role<S>,
    /// The highest epoch that anybody spoke of.
    seen: Epoch,
    /// Measured while this member leads.
    clocks: Clocks,
    /// What the leader last said of all members, and when that was.
    view: Option<(Time, Vec<Sight>)>,
    /// M13: what came of changes, until [`Mandate::take_done`]; empty between two steps.
    done: Vec<S::Outcome>,
}

impl<S: Replica> Default for Mandate<S> {
    fn default() -> Self {
        Mandate {
            voter: Voter::default(),
            role: Role::default(),
            seen: Epoch::default(),
            clocks: Clocks::default(),
            view: None,
            done: Vec::new(),
        }
    }
}

type Cx<'a, S> = Context<'a, Mandate<S>>;

impl<S: Replica> Process for Mandate<S> {
    type Msg = Msg<S>;
    type Timer = Timer;
    type Input = Input;
    type Output = Said;
    type Durable = Durable;
    type Config = Config;

    const ASSUMES: Assumptions = Assumptions {
        timing: Timing::Asynchronous,
        channels: Channels::Any,
        loss: true,
        duplication: true,
        crashes: true,
        recoveries: true,
    };

    fn durable(&self) -> Durable {
        self.voter.durable
    }

    fn on_start(&mut self, saved: Option<Durable>, cx: &mut Cx<'_, S>) {
        self.voter.start(saved, cx.now(), cx.config());
        self.seen = self.voter.durable.promised;
    }

    fn on_input(&mut self, input: Input, cx: &mut Cx<'_, S>) {
        match input {
            Input::Ask { claim, appointed } => self.ask(claim, appointed, cx),
            Input::Desist => self.desist(cx),
            Input::HandOver { to, appointed } => self.hand_over(to, appointed, cx),
        }
    }

    fn on_message(&mut self, from: NodeId, msg: Msg<S>, cx: &mut Cx<'_, S>) {
        match msg {
            Msg::Prepare { epoch, version } => {
                cx.emit(Said::Courted(from));
                self.consider(Wish { candidate: from, epoch, version }, cx);
            }
            Msg::Promise { epoch, version, copy } => {
                self.count_promise(from, epoch, (version, copy), cx);
            }
            Msg::Wait { epoch, leader } => self.count_wait(from, epoch, leader, cx),
            Msg::Refuse { epoch, promised } => self.be_refused(epoch, promised, cx),
            Msg::Spread { epoch, sent, version, copy, appointed, start } => {
                if self.accept(from, epoch, cx) && self.makes_up(from, epoch, start, cx) {
                    self.voter.adopt(version, copy);
                    self.follow(from, epoch, sent, appointed, cx);
                }
            }
            Msg::Append { epoch, sent, appointed, after, commands } => {
                if self.accept(from, epoch, cx) && self.keep_up(from, epoch, after, cx) {
                    self.append(after, &commands);
                    self.follow(from, epoch, sent, appointed, cx);
                }
            }
            Msg::Beat { epoch, sent, appointed, view, sequence } => {
                if self.accept(from, epoch, cx) && self.keep_up(from, epoch, sequence, cx) {
                    if !view.is_empty() {
                        self.view = Some((cx.now(), view));
                    }
                    self.follow(from, epoch, sent, appointed, cx);
                }
            }
            Msg::Ack { epoch, sent, clock, held } => {
                self.count_ack(from, epoch, (sent, clock), held, cx);
            }
            Msg::Lack { epoch, held, start } => self.supply(from, epoch, held, start, cx),
            Msg::Claim { .. } => {
                if matches!(self.role, Role::Leading(_)) {
                    cx.emit(Said::Claimed(from));
                }
            }
            Msg::Release { epoch, to, appointed } => {
                if self.voter.unbind(from, epoch, to) {
                    cx.rule("M7");
                    self.become_free(cx);
                    cx.emit(Said::Released { by: from, to, appointed });
                }
            }
        }
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_, S>) {
        match timer {
            Timer::Free => self.become_free(cx),
            Timer::Retry => self.retry(cx),
            Timer::Beat => self.beat(cx),
            Timer::Lapse => self.lapse(cx),
        }
    }
}

/// The voter.
impl<S: Replica> Mandate<S> {
    /// M2 and M3.
    fn consider(&mut self, wish: Wish, cx: &mut Cx<'_, S>) {
        let Wish { candidate, epoch, .. } = wish;
        self.seen = self.seen.max(epoch);
        let holds = self.holds(cx.now()).is_some();
        let vote = self.voter.consider(cx.me(), wish, cx.now(), holds);
        match vote {
            Vote::Promise => {
                cx.rule("M2");
                self.yield_to(epoch, candidate, cx);
                let (version, copy) = self.voter.copy.clone().unwrap_or_default();
                let copy = Some(copy).filter(|_| version > wish.version);
                if candidate == cx.me() {
                    self.count_promise(candidate, epoch, (version, copy), cx);
                } else {
                    cx.send(candidate, Msg::Promise { epoch, version, copy });
                }
            }
            Vote::Wait(leader) => {
                cx.rule("M3");
                // Its own mandate ends with `Lapse`; everything else that binds it has its time.
                if let Some(at) = self.voter.free_at().filter(|at| *at > cx.now()) {
                    cx.set_timer(Timer::Free, at.since(cx.now()));
                }
                if candidate == cx.me() {
                    self.count_wait(candidate, epoch, leader, cx);
                } else {
                    cx.send(candidate, Msg::Wait { epoch, leader });
                }
            }
            Vote::Refuse(promised) => {
                cx.rule("M2");
                if candidate == cx.me() {
                    self.be_refused(epoch, promised, cx);
                } else {
                    cx.send(candidate, Msg::Refuse { epoch, promised });
                }
            }
        }
    }

    /// M3: what bound the voter may be over; the request that waited is looked at again.
    fn become_free(&mut self, cx: &mut Cx<'_, S>) {
        if let Some(wish) = self.voter.pending.take() {
            self.consider(wish, cx);
        }
    }

    /// M5: whether the sender leads; if not, it is told so.
    fn accept(&mut self, leader: NodeId, epoch: Epoch, cx: &mut Cx<'_, S>) -> bool {
        self.seen = self.seen.max(epoch);
        let accepted = self.voter.accepts(epoch);
        if accepted {
            // Whoever waits for the vote asks again. Giving up what this member had must not give
            // it the vote now: to follow this leader would be to go back on it.
            self.voter.pending = None;
            self.yield_to(epoch, leader, cx);
        } else {
            cx.rule("M2");
            let promised = self.voter.durable.promised;
            cx.send(leader, Msg::Refuse { epoch, promised });
        }
        accepted
    }

    /// M5.
    fn follow(
        &mut self,
        leader: NodeId,
        epoch: Epoch,
        sent: Time,
        appointed: bool,
        cx: &mut Cx<'_, S>,
    ) {
        cx.rule("M5");
        let until = cx.now() + cx.config().lease;
        self.voter.bind(Lease { leader, epoch, until, appointed });
        let held = self.voter.held(epoch).unwrap_or_default();
        cx.send(leader, Msg::Ack { epoch, sent, clock: cx.now(), held });
        cx.emit(Said::Heard { leader, epoch });
    }

    /// M4 and M12: whether it can follow this leader, because it has the state of the epoch; what
    /// it lacks of the first so many changes it asks for.
    fn keep_up(&self, leader: NodeId, epoch: Epoch, so_far: u64, cx: &mut Cx<'_, S>) -> bool {
        let held = self.voter.held(epoch);
        if held.is_none_or(|held| held < so_far) {
            cx.rule(if held.is_none() { "M8" } else { "M12" });
            let start = self.voter.lost_its_copy(cx.now());
            cx.send(leader, Msg::Lack { epoch, held, start });
        }
        held.is_some()
    }

    /// M8: whether a copy, sent to that start of this member or to nobody in particular, has all that
    /// it may have forgotten. If not, one is asked for that has.
    fn makes_up(&self, from: NodeId, epoch: Epoch, to: Option<u32>, cx: &mut Cx<'_, S>) -> bool {
        let start = self.voter.lost_its_copy(cx.now());
        if start.is_none() || to == start || epoch > self.voter.durable.promised {
            return true;
        }
        cx.rule("M8");
        cx.send(from, Msg::Lack { epoch, held: None, start });
        false
    }

    /// M12: makes the changes that it has not made yet, unless it lacks some before them.
    fn append(&mut self, after: u64, commands: &[S::Command]) {
        let Some((version, _)) = &self.voter.copy else { return };
        let Some(known) = version.sequence.checked_sub(after) else { return };
        let known = usize::try_from(known).unwrap_or(usize::MAX);
        for command in commands.iter().skip(known) {
            self.voter.apply(command.clone());
        }
    }

    /// Another member leads, or may, in an epoch above this member's own: that is over.
    fn yield_to(&mut self, epoch: Epoch, other: NodeId, cx: &mut Cx<'_, S>) {
        let own = match &self.role {
            Role::Idle => return,
            // A bid in a lower epoch has lost; one in a higher may still win.
            Role::Asking(bid) => bid.epoch,
            Role::Installing(office, _) | Role::Leading(office) => office.epoch,
        };
        if other == cx.me() || epoch <= own {
            return;
        }
        self.retire(Loss::Superseded(epoch), cx);
    }
}

/// What others may know.
impl<S: Replica> Mandate<S> {
    /// M6: the epoch of the mandate that this member holds when its clock shows `now`.
    pub fn holds(&self, now: Time) -> Option<Epoch> {
        self.held().filter(|held| now < held.until).map(|held| held.epoch)
    }

    /// The mandate that this member holds or held, and until when.
    fn held(&self) -> Option<Held> {
        match &self.role {
            Role::Idle => None,
            Role::Asking(Bid { held, .. }) | Role::Installing(_, held) => *held,
            Role::Leading(Office { epoch, until, .. }) => {
                Some(Held { epoch: *epoch, until: *until })
            }
        }
    }

    /// The mandate that this member knows of and that has not run out here.
    pub fn status(&self, here: &Here<'_>) -> Option<MandateStatus> {
        let now = here.now();
        if let Some(Held { epoch, until }) = self.held().filter(|held| now < held.until) {
            let (leader, appointed) = (here.me(), self.is_appointed());
            return Some(MandateStatus { leader, epoch, lease_left: until.since(now), appointed });
        }
        let lease = self.voter.lease.filter(|lease| now < lease.until)?;
        let Lease { leader, epoch, until, appointed } = lease;
        Some(MandateStatus { leader, epoch, lease_left: until.since(now), appointed })
    }

    /// Whether this member wants or has the mandate.
    pub fn is_idle(&self) -> bool {
        matches!(self.role, Role::Idle)
    }

    /// Whether this member leads, whether or not its mandate has just run out.
    pub fn leading(&self) -> Option<Epoch> {
        match &self.role {
            Role::Leading(office) => Some(office.epoch),
            _ => None,
        }
    }

    /// Whether it was an operator who chose the leader: this member, or the one that it follows.
    pub fn is_appointed(&self) -> bool {
        match &self.role {
            Role::Leading(office) | Role::Installing(office, Some(_)) => office.appointed,
            Role::Asking(Bid { appointed, held: Some(_), .. }) => *appointed,
            _ => self.voter.lease.is_some_and(|lease| lease.appointed),
        }
    }

    /// How many members answered lately, this one included: whoever leads or asks knows.
    pub fn reachable(&self, here: &Here<'_>, config: &Config) -> Option<usize> {
        match &self.role {
            Role::Idle => None,
            Role::Asking(bid) => Some(bid.answered().max(1)),
            Role::Installing(office, _) | Role::Leading(office) => {
                let alive = |id: &&NodeId| office.is_alive(**id, here.now(), config);
                Some(1 + office.followers().filter(alive).count())
            }
        }
    }

    /// When a leader last heard a follower.
    pub fn heard(&self, member: NodeId) -> Option<Time> {
        match &self.role {
            Role::Installing(office, _) | Role::Leading(office) => office.heard(member),
            _ => None,
        }
    }

    /// Whether a leader has heard this follower lately.
    pub fn is_alive(&self, member: NodeId, here: &Here<'_>, config: &Config) -> bool {
        match &self.role {
            Role::Installing(office, _) | Role::Leading(office) => {
                office.is_alive(member, here.now(), config)
            }
            _ => false,
        }
    }

    /// A member's clock, as this member measured it or as the leader said.
    pub fn clock(&self, me: NodeId, member: NodeId) -> Option<ClockStatus> {
        match &self.role {
            Role::Leading(_) => self.clocks.status(me, member),
            _ => self.sight(member).and_then(|(_, sight)| sight.clock),
        }
    }

    /// What the leader last said of a member, and when it said so.
    pub fn sight(&self, member: NodeId) -> Option<(Time, Sight)> {
        let (at, view) = self.view.as_ref()?;
        let sight = view.iter().find(|sight| sight.member == member)?;
        Some((*at, *sight))
    }

    /// This member's copy of the state, and how new it is: nothing after a restart until one
    /// comes.
    pub fn copy(&self) -> Option<(Version, &S)> {
        self.voter.copy.as_ref().map(|(version, copy)| (*version, &**copy))
    }

    /// M13: what came of changes in this step. The parent takes it after every step.
    pub fn take_done(&mut self) -> Vec<S::Outcome> {
        std::mem::take(&mut self.done)
    }

    /// How often this member has started, and what it has promised.
    pub fn promises(&self) -> Durable {
        self.voter.durable
    }

    fn judge_clocks(&mut self, cx: &mut Cx<'_, S>) {
        for verdict in self.clocks.judge(cx.me(), cx.config().drift_ppm) {
            cx.emit(match verdict {
                Verdict::Drifts(member, rate) => Said::Drifts(member, rate),
                Verdict::Steady(member) => Said::Steady(member),
            });
        }
    }
}

#[cfg(test)]
mod tests;
