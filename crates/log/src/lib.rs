//! A replicated log: what the leader does becomes entries, numbered by term and index; what a
//! majority holds is committed, and only that is applied, told, read or relied on.
//!
//! The log and its voting rule are Raft's (Ongaro and Ousterhout 2014; Ongaro's thesis): a member
//! votes only for a log that is not older than its own, and a leader commits entries of its own
//! term. Two things are from viewstamped replication revisited (Liskov and Cowling 2012, VRR): a
//! candidate may fetch a newer log from a voter, and members without disks recover by asking the
//! leader. Leases are Gray and Cheriton's (1989). An election outside of this crate says who
//! should campaign, so there are no random election time-outs here. [`safety`] says why it is safe.
//!
//! # Rules
//! * **G1 Terms.** A member promises a term once, to one candidate, and only terms above all that it
//!   has promised; the promise is durable before it is sent. A candidate whose log is on disk may ask for
//!   votes while its promise to itself is being made durable; it counts none before (S12). A message of a
//!   lower term is answered with what was promised, and nothing else happens. \[Raft §5.1, §5.2; VRR §4.2;
//!   Raft's candidates save first\]
//! * **G2 Campaign.** A candidate asks all members, itself included, whether they would vote for it
//!   (not `sure`), in a term above all that it knows. When a majority says yes, or will be free at a
//!   time that it names, the candidate asks for the votes themselves (`sure`) as soon as a majority
//!   is free, its own vote first. Nothing durable changes before that. A leader that is refused
//!   because of a higher term does the same beside leading, and leads on until a majority says yes.
//!   Two rounds without a majority end a campaign. A member that is told to *probe* asks the same question
//!   once a round, until a majority says yes or it hears a leader; a probe asks for no votes. \[Raft thesis
//!   §9.6, §3.10; the probe is our own\]
//! * **G3 Vote.** A voter says yes only to a candidate whose log is not older than its own, and only
//!   if it is not bound by a lease to another leader and not within one lease of its own restart. It
//!   says until when it is bound. A candidate whose log is older fetches what it lacks (G5). A
//!   majority of votes, its own among them, makes a leader. Its first entry is `Begin`, so from then
//!   on its log is newer than every other. \[Raft §5.4.1, §8; thesis §6.4.1; VRR §4.2\]
//! * **G4 Log.** A follower appends entries whose predecessor it has, drops its own entries that
//!   contradict them, and says how far its log matches the leader's. It never drops what it knows to
//!   be committed. \[Raft §5.3; VRR §4.1\]
//! * **G5 Pieces.** A member that sees that another one has a newer log fetches it: the entries after
//!   its own last one; if the other does not have it, after its commit index or what it knows to match
//!   this leader's log, piece by piece up to what contradicts; a snapshot in parts if the other has
//!   dropped those entries. Pieces are bounded by bytes. From the second one on the piece after the
//!   next is asked for, too, so that the link is not idle for a round trip. Only a newer log is
//!   adopted, from any member. A member that receives a snapshot drops its own state and remembers its
//!   position as its `floor`: it votes as if it had that log until it has one as new. \[VRR §5.2, §5.1;
//!   Raft §7; the floor is our own\]
//! * **G6 Commit.** An entry is committed when it is of the leader's own term (or before such a one),
//!   in the leader's own written log and in those of a majority. Only committed entries are applied;
//!   what comes of them is told while serving. \[Raft §5.4.2, §5.3; VRR §4.1; thesis §10.2.1\]
//! * **G7 Lease.** A follower that hears a leader of a term not below its promise is bound to it, by its own
//!   clock, for the lease that the message asks for, and never for less than it was bound to this leader in
//!   this term before. It says for how long, and whether its log holds everything that the message says is
//!   committed, and only then does the leader count the lease. A leader serves while a
//!   majority's leases, each counted from when the leader *sent* what is answered and shortened by
//!   what two clocks may drift apart, have not run out, and `Begin` is committed. A drifting clock
//!   does not count. A leader for which nothing advances for two leases gives up. \[Raft thesis §6.4.1,
//!   §6.2; VRR §6.3; the stall is our own\]
//! * **G8 Hand-over.** The leader invites a member, or agrees to a claim. The successor has a
//!   majority's answers first (G2). The leader takes no new entries until the successor has all of
//!   them, then stops serving, sends it YIELD, and nothing else. The permit names the leader's term
//!   and *generation*: it frees a voter from leases of that generation. After two heartbeats without
//!   a new leader the old one goes on in the same term with the next generation, and counts only
//!   leases of the new generation. A leader that ends for good yields to all. \[Raft thesis §3.10; the
//!   generation is our own\]
//! * **G9 Restart.** A member that restarts does not vote for the longest lease by which it may be bound: it has
//!   forgotten to whom. How long that is, is durable before it acknowledges. With a disk it has forgotten nothing else. Every ACK says which start it is from:
//!   what an earlier start acknowledged does not count once a later one is heard. Without a disk a
//!   restarted member is *lost* and counts for nothing until a leader has answered to this very start
//!   (`welcome`); the position of that leader's log is its `floor`, and it fills by G5. A lost member,
//!   and one that is asked for a vote below its floor, votes only with a wait: such a vote counts when
//!   a majority has voted and that long has passed since. The wait is the longest time for which a
//!   client may rely on what the member acknowledged. \[VRR §4.3; one answer is enough because terms
//!   and votes are durable\]
//! * **G10 Births.** ACKs and votes carry the sender's birth, which names its data folder. A vote
//!   counts only if the candidate knows no other birth of the voter, by its whole log. An ACK counts
//!   only if its birth is in the committed roster or in the `Begin` of this term, and no later entry
//!   names another. A leader that meets a birth that its log does not have enters it by `Joined`;
//!   until that is committed neither the old folder nor the new one counts. \[our own\]
//! * **G11 Members.** The member list is an entry, `Members`: who votes, who learns, and where each
//!   one listens. A member goes by the newest list in its log, committed or not; without one, by the
//!   list that the cluster was founded with. A candidate asks, and a candidate and a leader count,
//!   only the voters of their own list. A member that does not vote by its own list does not campaign.
//!   A voter answers every candidate. A member that does not vote by its own list answers only if its log
//!   names its folder (G10): so a member that was removed and begins again with an empty folder is not taken for
//!   the voter that it was. The first entry of the log, once it is committed, names the cluster: its id
//!   follows from the births in it. \[Raft thesis §4.1, §4.2.2; the exception is our own\]
//! * **G12 Changes.** Only a leader that has committed an entry of its own term changes the list. The list
//!   before must be committed too, and one voter at most comes or goes. From the step in which
//!   the leader appends the list, it counts entries and leases by it. It does not remove itself: it hands
//!   over first. A list of whose voters no majority works is refused, unless it is forced: before a voter
//!   leaves, the others must have answered what was sent after that was asked for. With
//!   `Durability::Memory` or `Quorum::None` the members are fixed. \[Raft thesis §4.1; Ongaro's
//!   correction on raft-dev, July 2015; one at a time as etcd does it, not joint majorities\]
//! * **G13 Learners.** A member that is added learns: it receives the log and counts for nothing. Unless it
//!   is to stay a learner, the leader promotes it, by a change of its own, when it holds everything that
//!   is committed, receives entries as they come, and its folder is admitted (G10). If it replaces
//!   another member, the leader removes the other when the promotion is committed. \[Raft thesis §4.2.1;
//!   etcd's learners\]
//! * **G14 Removal.** A list names the folders of the members that were removed. The leader that commits
//!   it tells them, and so does every member that they ask for a vote. A member that learns of its removal,
//!   in this way or from its own log, does nothing any more. If it comes back, it needs a new folder and to
//!   be added again. Until it knows, its campaigns fail: the others are bound to their leader (G3) and
//!   their logs are newer. \[Raft thesis §4.2.3, §4.2.2\]
//!
//! * **G15 Proof of death.** Every start of a member's process is an *incarnation*, and heartbeats name the
//!   leader's. A member that has proof that an incarnation has ended is bound to it no more, and not again by
//!   a late heartbeat of it. Nothing else changes: a later incarnation of the same member is not concerned. A
//!   candidate that was freed so says it with its request, and frees the voters. \[our own\]
//! * **G16 Lease settings.** How often heartbeats come, how long a lease lasts, and how far clocks may drift apart is
//!   an entry, `LeaseSettings`. A member goes by the newest one that it knows to be committed; without one, by its
//!   configuration. Only a leader that has committed an entry of its own term changes them, one change at a time. A
//!   leader asks for leases, and shortens them, by its settings. Its heartbeats are never further apart than a fifth of
//!   the leases that it counts. \[our own\]
//!
//! # Assumes
//! Clock rates within the bound; nothing else for safety: messages may be lost, repeated, late and
//! out of order, processes may stop, pause and come back. To make progress, a majority that can talk.
//!
//! # Costs
//! Three round trips from free voters to a serving leader, two if the first one happens while a lease runs
//! out. One HEARTBEAT and one ACK per follower and heartbeat; one APPEND and one ACK per follower and
//! batch of entries.

mod campaign;
mod change;
mod ended;
mod follow;
mod hand_over;
mod lead;
mod lease_settings;
mod members;
mod message;
mod restart;
pub mod safety;
mod status;
mod tail;
mod transfer;
mod types;
mod vote;

#[cfg(test)]
mod tests;

pub use members::{Change, ChangeError, Members, Roster, Seat, Suffrage};
pub use message::{Ack, Answer, Body, Ended, Entries, Heartbeat, Msg, Permit, Place};
pub use restart::{Durable, HardState, Saved};
pub use status::{Completeness, PeerReport, Report};
pub use tail::Tail;
pub use types::{
    Birth, ClusterId, Config, Durability, Entry, Incarnation, Index, Input, LeaseSettings, Loss,
    Misfit, Output, Payload, Portable, Position, Quorum, Term, Timer,
};

pub use bellwether_core::{Machine, Unsound};

/// The rules, as they stand at the top of this file: for pages that show them.
pub const DOCS: &str = include_str!("lib.rs");

use bellwether_core::{Assumptions, Channels, Context, NodeId, Process, Time, Timing};
use campaign::Campaign;
use lead::LeaderState;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use transfer::{Fetching, Partial, Snapshot};
pub use transfer::{Piece, Received};
use vote::Ask;

/// One member's part in the replicated log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Log<M: Machine> {
    /// G10: which data folder this is.
    birth: Birth,
    /// G9: how often a process has started with it.
    starts: u32,
    /// G1: the highest term that was promised, and to whom.
    promised: Term,
    vote: Option<NodeId>,
    /// G9: without a disk, the longest time for which a client may rely on what was acknowledged.
    longest_ttl_ms: u64,
    /// G5, G9: a position that the log had and has not reached again; zero if it has.
    floor: Position,
    /// Whether it keeps its log only in memory, so that a restart forgets it.
    forgets: bool,
    /// G9: a restart has forgotten what was acknowledged, and no leader has answered yet.
    lost: bool,
    memory: Memory<M>,
    lease: Option<Lease>,
    /// G9: one lease after a restart.
    no_vote_until: Option<Time>,
    /// G9: the longest lease that may still bind it.
    granted: Duration,
    /// G15: which start of the process this is; which ones of others have ended, the last of each that was
    /// heard of; and the leader whose end has freed this member.
    incarnation: Incarnation,
    ended: BTreeMap<NodeId, Incarnation>,
    freed_by: Option<Ended>,
    /// The highest term that any member spoke of.
    seen: Term,
    role: Role,
    fetch: Option<Fetching<M>>,
    /// G5: how many bytes to fetch next; zero before the first time.
    budget: u32,
    offer: Option<Snapshot<M>>,
    /// G5: with a disk, the pieces of a snapshot that have come.
    received: Option<Received<M>>,
    /// G7: members whose clocks do not count for leases.
    drifting: BTreeSet<NodeId>,
    /// G6: what came of committed commands, until [`Log::take_outcomes`].
    outcomes: Vec<M::Outcome>,
    /// G11: the member list that was told last, and whether it was committed.
    shown: Option<(Arc<Members>, bool)>,
    /// G16: the settings of leases that were told last, if they were of the log.
    shown_leases: Option<LeaseSettings>,
    /// G14: it is not a member any more.
    removed: bool,
}

/// Before the first start.
impl<M: Machine> Default for Log<M> {
    fn default() -> Self {
        Log {
            birth: Birth::default(),
            starts: 0,
            promised: Term::ZERO,
            vote: None,
            longest_ttl_ms: 0,
            floor: Position::ZERO,
            forgets: false,
            lost: false,
            memory: Memory::default(),
            lease: None,
            no_vote_until: None,
            granted: Duration::ZERO,
            incarnation: Incarnation::UNKNOWN,
            ended: BTreeMap::new(),
            freed_by: None,
            seen: Term::ZERO,
            role: Role::default(),
            fetch: None,
            budget: 0,
            offer: None,
            received: None,
            drifting: BTreeSet::new(),
            outcomes: Vec::new(),
            shown: None,
            shown_leases: None,
            removed: false,
        }
    }
}

/// What a member has of the log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Memory<M: Machine> {
    /// A prefix of some leader's log.
    Whole(Whole<M>),
    /// Nothing: it has dropped that and receives a snapshot; none of it before the first part.
    Filling(Option<Partial<M>>),
}

impl<M: Machine> Default for Memory<M> {
    fn default() -> Self {
        let tail = Tail::new(Position::ZERO);
        Memory::Whole(Whole::new(Arc::default(), Position::ZERO, Roster::new(), tail))
    }
}

/// The state at the commit index, and the entries after the base, which is not after the commit
/// index.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Whole<M: Machine> {
    state: Arc<M>,
    commit: Position,
    /// G10, G11: at the commit index.
    roster: Roster,
    tail: Tail<M::Command>,
    /// G6: the log is durable up to here. Below the last index only at a leader, between proposing
    /// and writing.
    written: Index,
    /// G11: the newest member list, and where it is if it is among the entries.
    newest: Option<(Index, Arc<Members>)>,
}

/// G7: what binds a follower.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Lease {
    leader: NodeId,
    term: Term,
    generation: u32,
    incarnation: Incarnation,
    until: Time,
    appointed: bool,
    /// G4: up to here the own log is known to match this leader's.
    matched: Index,
    /// What the leader last said is committed, and the position of its log.
    commit: Index,
    last: Position,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
enum Role {
    #[default]
    Follower,
    Candidate(Campaign),
    /// G2: with a campaign for a higher term if it was refused.
    Leader(Box<LeaderState>, Option<Campaign>),
}

type Cx<'a, M> = Context<'a, Log<M>>;

impl<M: Machine> Process for Log<M> {
    type Msg = Msg<M>;
    type Timer = Timer;
    type Input = Input;
    type Output = Output;
    type Durable = Durable<M>;
    type Config = Config;

    const ASSUMES: Assumptions = Assumptions {
        timing: Timing::Asynchronous,
        channels: Channels::Any,
        loss: true,
        duplication: true,
        crashes: true,
        recoveries: true,
    };

    fn durable(&self) -> Durable<M> {
        self.saved()
    }

    fn on_start(&mut self, saved: Option<Durable<M>>, cx: &mut Cx<'_, M>) {
        self.start(saved, cx.now(), cx.config());
        self.show_roster(cx);
    }

    fn on_input(&mut self, input: Input, cx: &mut Cx<'_, M>) {
        if self.removed {
            return;
        }
        match input {
            Input::Campaign { claim, appointed } => self.be_asked_to_campaign(claim, appointed, cx),
            Input::Probe => self.probe(cx),
            Input::Desist => self.desist(cx),
            Input::HandOver { to, appointed } => self.hand_over(to, appointed, false, cx),
            Input::Resign { to } => self.resign(to, cx),
            Input::Ended(member, incarnation) => self.learn_end(Ended { member, incarnation }, cx),
            Input::Drifts(member, true) => drop(self.drifting.insert(member)),
            Input::Drifts(member, false) => drop(self.drifting.remove(&member)),
        }
    }

    fn on_message(&mut self, from: NodeId, msg: Msg<M>, cx: &mut Cx<'_, M>) {
        if from == cx.me() || !cx.group().contains(from) || self.removed {
            return;
        }
        match msg {
            Msg::RequestVote { term, last, sure, permit, ended } => {
                if let Some(ended) = ended {
                    self.learn_end(ended, cx);
                }
                self.be_asked_for_a_vote(from, Ask { term, last, sure, permit }, cx);
            }
            Msg::Vote { term, sure, answer, birth } => {
                self.count_vote(from, (term, sure), answer, birth, cx);
            }
            Msg::Append { beat, prev, entries } => self.hear_append(from, beat, prev, &entries, cx),
            Msg::Ack(ack) => self.count_ack(from, ack, cx),
            Msg::Refuse { term, promised } => self.be_refused(term, promised, cx),
            Msg::Fetch { place, budget, ahead } => {
                self.supply(from, place, (budget, ahead), cx);
            }
            Msg::Supply { beat, last, body } => self.take_supply(from, beat, last, body, cx),
            Msg::Claim { .. } => self.hear_claim(from, cx),
            Msg::Invite { term, appointed } => self.hear_invite(from, term, appointed, cx),
            Msg::Yield { term, generation, to, appointed } => {
                let permit = Permit { leader: from, term, generation };
                self.hear_yield(permit, to, appointed, cx);
            }
            Msg::Removed { birth } if birth == self.birth => self.be_removed(cx),
            Msg::Removed { .. } => {}
        }
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_, M>) {
        if self.removed {
            return;
        }
        match timer {
            Timer::Ask => self.end_round(cx),
            Timer::Wait => self.tally(cx),
            Timer::Heartbeat => self.heartbeat(cx),
            Timer::Lapse => self.lapse(cx),
            Timer::Write => self.write(cx),
            Timer::Fetch => self.fetch_again(cx),
            Timer::HandOver => self.end_hand_over(cx),
        }
    }
}

/// What all parts use.
impl<M: Machine> Log<M> {
    fn whole(&self) -> Option<&Whole<M>> {
        match &self.memory {
            Memory::Whole(whole) => Some(whole),
            Memory::Filling(_) => None,
        }
    }

    fn whole_mut(&mut self) -> Option<&mut Whole<M>> {
        match &mut self.memory {
            Memory::Whole(whole) => Some(whole),
            Memory::Filling(_) => None,
        }
    }

    /// The position of the log that it has; zero if it has none.
    fn last(&self) -> Position {
        self.whole().map_or(Position::ZERO, |whole| whole.tail.last())
    }

    /// G3, G5: the position that it votes by.
    fn position(&self) -> Position {
        self.last().max(self.floor)
    }

    fn commit(&self) -> Position {
        self.whole().map_or(Position::ZERO, |whole| whole.commit)
    }

    fn leader_state(&self) -> Option<&LeaderState> {
        match &self.role {
            Role::Leader(state, _) => Some(state),
            Role::Follower | Role::Candidate(_) => None,
        }
    }

    fn leader_state_mut(&mut self) -> Option<&mut LeaderState> {
        match &mut self.role {
            Role::Leader(state, _) => Some(state),
            Role::Follower | Role::Candidate(_) => None,
        }
    }
}
