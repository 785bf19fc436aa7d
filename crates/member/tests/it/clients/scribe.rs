//! Writes down what users ask of locks and what they are told, in the order of real time, so that it can
//! be [judged](bellwether_linear) whether one lock table could have answered so.
//!
//! What a coordinator has said is said, whether it is heard or not: it has an end at the moment at which
//! the reply leaves.

use super::user::LOCKS;
use super::world::{Msg, Node, Observed, Site};
use bellwether_coordination::{
    self as coordination, Answer, Ask, Number, Refusal, Reply, SessionId, Want,
};
use bellwether_core::{NodeId, Time};
use bellwether_linear::locks::{History, Mode, Refused, Request};
use bellwether_log::Answer::Yes;
use bellwether_log::Msg::Vote;
use bellwether_member::{Completeness, Msg as Letter, Term, service};
use bellwether_sim::{Observer, Seen};
use std::collections::{BTreeMap, BTreeSet};

/// Writes a history.
#[derive(Debug, Default)]
pub(crate) struct Scribe {
    pub(crate) history: History,
    /// Counts what is written. Of two things at the same time one comes first.
    moment: u64,
    /// What a session's numbers stand for.
    requests: BTreeMap<(u64, Number), Request>,
    /// Where the others are written that are answered.
    others: BTreeMap<(u64, Number), usize>,
    /// What has its final answer.
    answered: BTreeSet<(u64, Number)>,
    /// Which session has which name.
    named: BTreeMap<SessionId, u64>,
    /// An answer that no request for locks should get.
    pub(crate) odd: Option<String>,
    /// Where checks of tokens are written, by their numbers.
    checks: BTreeMap<Number, usize>,
    /// How many checks were answered.
    pub(crate) checked: u64,
    /// The members, by place, that have forgotten what they acknowledged.
    lost: BTreeSet<usize>,
    /// The members that have the vote of one of these, in which term.
    voted: BTreeSet<(NodeId, Term)>,
    /// Whether one of them came to lead. It need not serve: others may take its log and serve after it.
    led: bool,
    /// Without disks: a member came to lead by such a vote, and a member served then, after a wait that no client's belief
    /// outlives (G9). What was done before may be forgotten, and some of it may not: sessions that were
    /// ended may be there again. What comes after this is another story. This many requests are asked in
    /// it.
    pub(crate) forgotten: Option<u64>,
}

impl Scribe {
    fn asks(&mut self, session: u64, number: Number, ask: &Ask) {
        let by = (session, number);
        let earlier = |earlier: &Number| self.requests.get(&(session, *earlier)).copied();
        match ask {
            Ask::Lock { wants, wait } => {
                let wants = wants.iter().map(want).collect();
                let request = self.history.asks(session, wants, *wait, self.moment);
                self.requests.insert(by, request);
            }
            Ask::Release(of) => {
                if let Some(request) = earlier(of) {
                    self.others.insert(by, self.history.releases(request, self.moment));
                }
            }
            Ask::GiveUp(of) => {
                if let Some(request) = earlier(of) {
                    self.others.insert(by, self.history.gives_up(request, self.moment));
                }
            }
            // Roles are no locks.
            Ask::Campaign { .. }
            | Ask::Resign { .. }
            | Ask::Proclaim { .. }
            | Ask::HandOver { .. } => {}
        }
    }

    fn answer(&mut self, session: u64, number: Number, result: &Result<Answer, Refusal>) {
        let (by, at) = ((session, number), self.moment);
        if let Err(Refusal::Forgotten(_)) = result {
            // It was given up meanwhile, and comes late: whatever became of it was said before.
            return;
        }
        let is_final = !matches!(result, Ok(Answer::Waits { .. }));
        if self.answered.contains(&by) || is_final && !self.answered.insert(by) {
            return;
        }
        if let Some(other) = self.others.get(&by) {
            return self.history.answered(*other, result.is_ok(), at);
        }
        let Some(request) = self.requests.get(&by).copied() else { return };
        match result {
            Ok(Answer::Waits { .. }) => self.history.waits(request, at),
            Ok(Answer::Granted(token)) => self.history.granted(request, token.0, at),
            Err(Refusal::Busy(lock)) => {
                self.history.refused(request, Refused::Busy(number_of(lock)), at);
            }
            Err(Refusal::AlreadyAsked(lock)) => {
                self.history.refused(request, Refused::Already(number_of(lock)), at);
            }
            Err(Refusal::Deadlock(_)) => self.history.refused(request, Refused::Deadlock, at),
            Err(Refusal::GaveUp) => self.history.refused(request, Refused::GivenUp, at),
            odd => self.odd = Some(format!("request {number} was answered by {odd:?}")),
        }
    }

    /// Whether a member that has forgotten what it acknowledged votes: for another, or for itself.
    fn look_at(&mut self, place: usize, site: &Site) {
        let me = NodeId::new(place as u32 + 1);
        if let Some(term) = site.log().leads() {
            if self.lost.remove(&place) {
                self.voted.insert((me, term));
            }
            self.led |= self.voted.contains(&(me, term));
        }
        match site.log().completeness() {
            Completeness::Whole => self.lost.remove(&place),
            Completeness::Filling | Completeness::Lost => self.lost.insert(place),
        };
    }

    /// A coordinator says something to a client.
    fn says(&mut self, reply: &Reply) {
        if let Reply::Checked { number, result } = reply
            && let Some(check) = self.checks.remove(number)
        {
            self.checked += 1;
            return self.history.checked(check, result.is_ok(), self.moment);
        }
        let Some(session) = reply.session().and_then(|id| self.named.get(&id)).copied() else {
            return;
        };
        match reply {
            Reply::Answered { number, result, .. } => self.answer(session, *number, result),
            Reply::Ended { .. } => self.history.ended(session, self.moment),
            _ => {}
        }
    }
}

fn number_of(lock: &str) -> usize {
    LOCKS.iter().position(|name| *name == lock).unwrap()
}

fn want(want: &Want) -> (usize, Mode) {
    let mode = match want.mode {
        coordination::Mode::Exclusive => Mode::Exclusive,
        coordination::Mode::Shared => Mode::Shared,
        coordination::Mode::Permits { take, of } => Mode::Permits { take, of },
    };
    (number_of(&want.name), mode)
}

impl Observer<Node> for Scribe {
    const ACTIVE: bool = true;

    fn event(&mut self, _: Time, place: usize, event: Seen<'_, Node>) {
        if let Some(more) = &mut self.forgotten {
            *more += u64::from(matches!(event, Seen::Output(Observed::Asks(..))));
            return;
        }
        self.moment += 1;
        match event {
            Seen::Output(Observed::Opened(session, id)) => drop(self.named.insert(*id, *session)),
            Seen::Output(Observed::Asks(session, number, ask)) => self.asks(*session, *number, ask),
            Seen::Output(Observed::Hears(session, number, result)) => {
                self.answer(*session, *number, result);
            }
            Seen::Output(Observed::Ended(id)) => {
                if let Some(session) = self.named.get(id) {
                    self.history.ended(*session, self.moment);
                }
            }
            Seen::Output(Observed::Checks(number, session, request)) => {
                if let Some(request) = self.requests.get(&(*session, *request)) {
                    self.checks.insert(*number, self.history.checks(*request, self.moment));
                }
            }
            Seen::Output(Observed::Won(term)) => {
                let me = NodeId::new(place as u32 + 1);
                self.forgotten = (self.led || self.voted.contains(&(me, *term))).then_some(0);
            }
            Seen::Send {
                msg: Msg::Members(service::Msg::Member(Letter::Log(msg))), to, ..
            } => {
                // G9: below its floor a member has forgotten, too. Then its vote names a wait.
                let voted = match msg {
                    Vote { term, sure: true, answer: Yes { after }, .. } => {
                        Some((to, *term)).filter(|_| self.lost.contains(&place) || !after.is_zero())
                    }
                    _ => None,
                };
                self.voted.extend(voted);
            }
            Seen::Send { msg: Msg::Says(reply), .. } => self.says(reply),
            Seen::Send { msg: Msg::Members(service::Msg::Replies { replies, .. }), .. } => {
                replies.iter().for_each(|(_, reply)| self.says(reply));
            }
            _ => {}
        }
    }

    fn stepped(&mut self, place: usize, node: &Node) {
        if self.forgotten.is_some() {
            return;
        }
        if let Some(site) = node.site() {
            self.look_at(place, site);
        } else if let Some(session) = node.person().and_then(|person| person.user.believes_in()) {
            self.moment += 1;
            self.history.believed(session, self.moment);
        }
    }
}
