//! What is known of a cluster, and what of it is news.
//!
//! Nothing here does anything: reports come in, and lines for people come out. Times are spans
//! since the cluster was started.

use super::cluster::{Cluster, Condition};
use bellwether_api::json::{
    Mandate, Member, Members, ProcessState, Stance, Status, Up, UpMember, UpNews,
};
use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write;
use std::time::Duration;

/// How many lines of history are kept.
const KEPT: usize = 200;
/// And how many of them pages are told.
const TOLD_TO_PAGES: usize = 100;
/// How long reports of a new coordinator are collected, so that the best reason is told.
const COLLECTS: Duration = Duration::from_millis(150);
/// How long a member is without a mandate before that is news. An ordinary change is quicker.
const BARE: Duration = Duration::from_millis(1_200);

/// The cluster as the parent sees it.
pub struct World {
    /// One for each member.
    pub seats: Vec<MemberState>,
    /// What has happened, the latest last.
    pub(crate) news: VecDeque<UpNews>,
    /// The latest mandate that was told of, and since when it is known.
    pub(crate) mandate: Option<(Mandate, Duration)>,
    /// A newer one: since when it is known, and what its reason is said to be.
    coming: Option<(Mandate, Duration, Vec<String>)>,
}

/// One member.
pub struct MemberState {
    pub(crate) id: u32,
    pub(crate) pid: Option<u32>,
    pub(crate) condition: Condition,
    /// What it said last, unless it does not answer.
    pub(crate) status: Option<Status>,
    /// How the coordinator sees it.
    pub(crate) seen: Option<Member>,
    /// The members that it is not to reach.
    pub(crate) blocked: Vec<u32>,
    /// Whether it has been told so.
    pub told_blocked: bool,
    /// Since when it has no mandate.
    bare_since: Option<Duration>,
    /// The reason that was told.
    bare_told: Option<String>,
}

impl World {
    /// A cluster of members 1 to `nodes`, of which nothing is known.
    #[must_use]
    pub fn new(nodes: u32) -> Self {
        let seat = |id| MemberState {
            id,
            pid: None,
            condition: Condition::Running,
            status: None,
            seen: None,
            blocked: Vec::new(),
            told_blocked: true,
            bare_since: None,
            bare_told: None,
        };
        let seats = (1..=nodes).map(seat).collect();
        World { seats, news: VecDeque::new(), mandate: None, coming: None }
    }

    /// Adds a line to the history.
    pub(crate) fn tell(&mut self, at: Duration, text: String) {
        if self.news.len() == KEPT {
            self.news.pop_front();
        }
        let seq = self.latest() + 1;
        let at_ms = u64::try_from(at.as_millis()).unwrap_or(u64::MAX);
        self.news.push_back(UpNews { seq, at_ms, text });
    }

    /// The number of the latest line of the history.
    pub(crate) fn latest(&self) -> u64 {
        self.news.back().map_or(0, |news| news.seq)
    }

    /// Takes over what is known of the processes.
    pub fn observe(&mut self, cluster: &Cluster) {
        for (seat, member) in self.seats.iter_mut().zip(&cluster.members) {
            seat.pid = member.pid();
            seat.condition = member.condition;
        }
    }

    /// A member was asked; `None` if it did not answer.
    pub fn report(&mut self, place: usize, now: Duration, status: Option<Status>) {
        let Some(seat) = self.seats.get_mut(place) else { return };
        if let Some(status) = &status {
            match status.mandate {
                Some(mandate) => {
                    seat.bare_since = None;
                    if seat.bare_told.take().is_some() {
                        let text = format!("member {} {}", seat.id, role(seat.id, mandate));
                        self.tell(now, text);
                    }
                    self.sees_mandate(mandate, now, status);
                }
                None => {
                    seat.bare_since.get_or_insert(now);
                }
            }
        }
        if let Some(seat) = self.seats.get_mut(place) {
            seat.status = status;
        }
    }

    fn sees_mandate(&mut self, mandate: Mandate, now: Duration, status: &Status) {
        let known = self.mandate.map_or(0, |(known, _)| known.term);
        if mandate.term <= known {
            return;
        }
        let coming = self.coming.as_ref().map_or(0, |(coming, ..)| coming.term);
        if mandate.term > coming {
            self.coming = Some((mandate, now, Vec::new()));
        }
        let Some((coming, _, reasons)) = &mut self.coming else { return };
        if mandate.term == coming.term {
            let change = status.last_change.as_ref();
            let change = change.filter(|change| change.term == Some(mandate.term));
            reasons.extend(change.map(|change| change.reason.clone()));
        }
    }

    /// The coordinator's view of all members.
    pub(crate) fn members(&mut self, members: &Members) {
        for seat in &mut self.seats {
            seat.seen = members.members.iter().find(|member| member.id == seat.id).cloned();
        }
    }

    /// Time passes: tells what has become certain.
    pub(crate) fn tick(&mut self, now: Duration) {
        if let Some((mandate, since, reasons)) =
            self.coming.take_if(|(_, since, _)| now.saturating_sub(*since) >= COLLECTS)
        {
            self.mandate = Some((mandate, since));
            let reason = best(reasons);
            let Mandate { leader, term, .. } = mandate;
            let text = format!("member {leader} is the coordinator in term {term}: {reason}");
            self.tell(now, text);
        }
        let mut lines = Vec::new();
        for seat in &mut self.seats {
            let Some(status) = &seat.status else { continue };
            let Some(why) = &status.why_no_mandate else { continue };
            let long = seat.bare_since.is_some_and(|since| now.saturating_sub(since) >= BARE);
            // That an election is under way is told once; who agrees, whenever it changes.
            let new = match &seat.bare_told {
                None => true,
                Some(told) => told != why && why.contains("needed"),
            };
            if long && new && seat.condition == Condition::Running {
                lines.push(format!("member {} has no mandate: {why}", seat.id));
                seat.bare_told = Some(why.clone());
            }
        }
        for line in lines {
            self.tell(now, line);
        }
    }

    /// A member has no process any more.
    pub fn lost(&mut self, place: usize) {
        if let Some(seat) = self.seats.get_mut(place) {
            (seat.status, seat.bare_since, seat.bare_told) = (None, None, None);
        }
    }

    /// A member has a new process, which reaches all members until it is told.
    pub fn revived(&mut self, place: usize) {
        if let Some(seat) = self.seats.get_mut(place) {
            seat.told_blocked = seat.blocked.is_empty();
        }
    }

    /// From now on members of different sides are not to reach each other.
    pub fn split(&mut self, sides: &[BTreeSet<u32>]) {
        let ids: Vec<u32> = self.seats.iter().map(|seat| seat.id).collect();
        for seat in &mut self.seats {
            let own = sides.iter().find(|side| side.contains(&seat.id));
            let beyond = |id: &u32| own.is_some_and(|side| !side.contains(id));
            let blocked: Vec<u32> = ids.iter().copied().filter(beyond).collect();
            seat.told_blocked &= blocked == seat.blocked;
            seat.blocked = blocked;
        }
    }

    /// Whether the first member is kept from the second.
    pub fn is_blocked(&self, from: u32, to: u32) -> bool {
        self.seats.iter().any(|seat| seat.id == from && seat.blocked.contains(&to))
    }

    /// Brings what pages are told up to date; whether that changed anything.
    pub(crate) fn publish(&self, cluster: &Cluster, up: &mut Up) -> bool {
        let members = self.seats.iter().zip(&cluster.members).map(|(seat, member)| UpMember {
            id: seat.id,
            http: member.http.to_string(),
            pid: member.pid(),
            process: match member.condition {
                Condition::Running => ProcessState::Running,
                Condition::Paused => ProcessState::Paused,
                Condition::Dead => ProcessState::Dead,
            },
            cut_off_from: seat.blocked.clone(),
        });
        let (members, partition): (Vec<_>, _) = (members.collect(), self.sides());
        let told = up.news.last().map_or(0, |news| news.seq);
        let same = up.members == members && up.partition == partition && told == self.latest();
        if !same {
            let from = self.news.len().saturating_sub(TOLD_TO_PAGES);
            up.news = self.news.range(from..).cloned().collect();
            (up.members, up.partition) = (members, partition);
        }
        !same
    }

    /// The sides of the partition that holds, if one does.
    fn sides(&self) -> Vec<Vec<u32>> {
        if self.seats.iter().all(|seat| seat.blocked.is_empty()) {
            return Vec::new();
        }
        let ids = || self.seats.iter().map(|seat| seat.id);
        let side = |seat: &MemberState| ids().filter(|id| !seat.blocked.contains(id)).collect();
        let sides: BTreeSet<Vec<u32>> = self.seats.iter().map(side).collect();
        sides.into_iter().collect()
    }

    /// The member that holds a mandate by what the members say now: that of the highest term.
    pub fn leader(&self) -> Option<u32> {
        self.current().map(|mandate| mandate.leader)
    }

    /// The members that say that they lead.
    pub fn leaders(&self) -> Vec<u32> {
        let running = self.seats.iter().filter(|seat| seat.condition == Condition::Running);
        let statuses = running.filter_map(|seat| seat.status.as_ref());
        let leading = statuses.filter(|status| status.stance == Stance::Leading);
        leading.map(|status| status.id).collect()
    }

    /// The mandate of the highest term that a member that answers knows of.
    pub(crate) fn current(&self) -> Option<Mandate> {
        let statuses = self.seats.iter().filter(|seat| seat.condition == Condition::Running);
        let mandates = statuses.filter_map(|seat| seat.status.as_ref()?.mandate);
        mandates.max_by_key(|mandate| mandate.term)
    }

    /// Everything in a few lines.
    pub(crate) fn summary(&self, cluster: &Cluster) -> String {
        let mut text = match self.current() {
            Some(mandate) => {
                format!("member {} is the coordinator in term {}", mandate.leader, mandate.term)
            }
            None => "no coordinator".to_owned(),
        };
        for (seat, member) in self.seats.iter().zip(&cluster.members) {
            let pid = member.pid().map_or("-".to_owned(), |pid| pid.to_string());
            let _ = write!(text, "\n  {:>3}  pid {pid:<8} {}", seat.id, seat.word());
            if let Some(why) = seat.status.as_ref().and_then(|s| s.why_no_mandate.as_ref()) {
                let _ = write!(text, ", no mandate: {why}");
            }
        }
        text
    }
}

impl MemberState {
    /// Whether it is on a side without a majority.
    pub(crate) fn is_cut_off(&self, nodes: usize) -> bool {
        (nodes - self.blocked.len()) * 2 <= nodes
    }

    /// Its state in a word.
    pub(crate) fn word(&self) -> &'static str {
        match (self.condition, &self.status) {
            (Condition::Dead, _) => "dead",
            (Condition::Paused, _) => "paused",
            (Condition::Running, None) => "starting",
            (Condition::Running, Some(status)) => match status.stance {
                Stance::Leading | Stance::Following if status.mandate.is_none() => "no mandate",
                stance => stance.word(),
            },
        }
    }
}

fn role(id: u32, mandate: Mandate) -> String {
    let Mandate { leader, term, .. } = mandate;
    if leader == id {
        format!("leads in term {term}")
    } else {
        format!("follows member {leader} in term {term}")
    }
}

/// The reason that says most: members that only heard of a change know less of it.
fn best(reasons: Vec<String>) -> String {
    let rank = |reason: &String| match reason {
        reason if reason.contains("already") || reason.starts_with("it ") => 0,
        reason if reason.contains("called") => 1,
        reason if reason.contains("without a heartbeat") => 3,
        _ => 2,
    };
    let best = reasons.into_iter().max_by_key(rank);
    best.unwrap_or_else(|| "the members do not say why".to_owned())
}
