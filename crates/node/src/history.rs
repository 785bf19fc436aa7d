//! What happened at this member: the last events, and the changes of the coordinator with their
//! reasons.
//!
//! Events come one by one from the member. A change of the coordinator takes several of them: a
//! suspicion, an election, a mandate. The reason of the change is the first reason among them, for
//! that is what an operator asks for the next morning.

use crate::wall;
use bellwether_api::json;
use bellwether_core::NodeId;
use bellwether_member::{Event, Loss, Reason};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// The number of events, and of changes, that are kept.
const KEPT: usize = 1_000;

/// The history of one member since it started.
#[derive(Debug)]
pub(crate) struct History {
    me: u32,
    records: Mutex<Records>,
    /// The number of the last event, for those who wait for the next.
    last: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Records {
    events: VecDeque<json::Event>,
    changes: VecDeque<json::Change>,
    seq: u64,
    tally: Tally,
    /// The leader that was last heard of.
    leader: Option<u32>,
    /// Why the next change will have happened.
    reason: Option<String>,
    /// What the member last said about too few members.
    shortage: Option<(usize, usize)>,
}

/// What is counted of the events, for metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Elections that this member began, by reason.
    pub(crate) elections: BTreeMap<&'static str, u64>,
    /// Changes of the coordinator that it saw.
    pub(crate) changes: u64,
    /// Mandates that it won.
    pub(crate) won: u64,
    /// Mandates that it lost, by reason.
    pub(crate) lost: BTreeMap<&'static str, u64>,
}

impl History {
    /// The empty history of this member.
    pub(crate) fn new(me: NodeId) -> Self {
        let (last, _) = watch::channel(0);
        History { me: me.number(), records: Mutex::default(), last }
    }

    fn records(&self) -> MutexGuard<'_, Records> {
        // Nothing is left half done if a holder panics.
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes an event that has just happened, and returns it as it will be told. A member without a
    /// mandate says so again and again: only the first time, and when the numbers change, is news. The
    /// same holds for one whose log contradicts its leader's.
    pub(crate) fn note(&self, event: &Event) -> Option<json::Event> {
        self.note_at(event, wall::now())
    }

    fn note_at(&self, event: &Event, at: String) -> Option<json::Event> {
        let mut records = self.records();
        if let Event::TooFew { heard, needed } = event
            && records.shortage == Some((*heard, *needed))
        {
            return None;
        }
        let again = |last: &json::Event| last.kind == "diverged";
        if matches!(event, Event::Diverged(_)) && records.events.back().is_some_and(again) {
            return None;
        }
        records.seq += 1;
        let noted = json::Event {
            seq: records.seq,
            at,
            kind: kind(event).to_owned(),
            term: term(event),
            leader: self.leader(event),
            text: format!("P{} {event}", self.me),
            reason: reason(event),
        };
        records.count(event);
        records.follow(self.me, event, &noted);
        keep(&mut records.events, noted.clone());
        drop(records);
        self.last.send_replace(noted.seq);
        Some(noted)
    }

    fn leader(&self, event: &Event) -> Option<u32> {
        match event {
            Event::Elected(leader) | Event::Follows(leader, _) => Some(leader.number()),
            Event::Won(_) | Event::Campaigning(_) => Some(self.me),
            _ => None,
        }
    }

    /// The events after this number that are still known.
    pub(crate) fn events_after(&self, seq: u64) -> Vec<json::Event> {
        self.records().events.iter().filter(|event| event.seq > seq).cloned().collect()
    }

    /// Tells when there are new events.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.last.subscribe()
    }

    /// The changes of the coordinator, the latest last.
    pub(crate) fn changes(&self) -> Vec<json::Change> {
        self.records().changes.iter().cloned().collect()
    }

    /// The latest change.
    pub(crate) fn last_change(&self) -> Option<json::Change> {
        self.records().changes.back().cloned()
    }

    /// How many members would agree and how many must, as the member last complained.
    pub(crate) fn shortage(&self) -> Option<(usize, usize)> {
        self.records().shortage
    }

    /// What was counted.
    pub(crate) fn tally(&self) -> Tally {
        self.records().tally.clone()
    }
}

fn keep<T>(list: &mut VecDeque<T>, element: T) {
    if list.len() == KEPT {
        list.pop_front();
    }
    list.push_back(element);
}

impl Records {
    fn count(&mut self, event: &Event) {
        match event {
            Event::Electing(reason) => {
                *self.tally.elections.entry(reason_word(reason)).or_default() += 1;
            }
            Event::Won(_) => self.tally.won += 1,
            Event::Lost(_, loss) => *self.tally.lost.entry(loss_word(loss)).or_default() += 1,
            _ => {}
        }
    }

    /// Sees whether the event changes the coordinator.
    fn follow(&mut self, me: u32, event: &Event, noted: &json::Event) {
        match event {
            // A second attempt has the reason of the first.
            Event::Electing(
                Reason::Called
                | Reason::Stuck
                | Reason::Absent(_)
                | Reason::Passed(_)
                | Reason::Asked,
            ) if self.reason.is_some() => {}
            Event::Electing(reason) => self.reason = Some(reason.to_string()),
            Event::Won(_) => self.change(Some(me), noted),
            Event::Follows(leader, _) => self.change(Some(leader.number()), noted),
            Event::Lost(_, loss) => {
                let handed_over = matches!(loss, Loss::HandedOver(_) | Loss::Superseded(_));
                self.reason = Some(match loss {
                    Loss::HandedOver(_) => format!("P{me} handed over"),
                    loss => loss.to_string(),
                });
                if !handed_over {
                    self.change(None, noted);
                }
            }
            Event::TooFew { heard, needed } => {
                self.shortage = Some((*heard, *needed));
                if self.leader.is_some() {
                    self.change(None, noted);
                }
            }
            _ => {}
        }
    }

    fn change(&mut self, to: Option<u32>, noted: &json::Event) {
        let from = self.leader;
        let reason = self.reason.take().unwrap_or_else(|| match (from, to) {
            (None, Some(_)) => "it was already the coordinator".to_owned(),
            (Some(from), Some(to)) if from == to => "it renewed its mandate".to_owned(),
            (Some(from), Some(_)) => format!("it took over from P{from}"),
            (_, None) => "too few members agree".to_owned(),
        });
        if to.is_some() {
            self.shortage = None;
        }
        self.leader = to;
        self.tally.changes += 1;
        let at = noted.at.clone();
        keep(
            &mut self.changes,
            json::Change { seq: noted.seq, at, from, to, term: noted.term, reason },
        );
    }
}

fn kind(event: &Event) -> &'static str {
    match event {
        Event::Electing(_) => "electing",
        Event::Elected(_) => "elected",
        Event::Campaigning(_) => "campaigning",
        Event::Won(_) => "won",
        Event::Lost(..) => "lost",
        Event::Follows(..) => "follows",
        Event::TooFew { .. } => "unmandated",
        Event::Passed => "passed",
        Event::Waiting { .. } => "waiting",
        Event::HandOverFailed(_) => "hand-over-failed",
        Event::Filling(_) => "filling",
        Event::Recovered => "log-complete",
        Event::Joined(_) => "joined",
        Event::Diverged(_) => "diverged",
        Event::Drifting { .. } => "drifting",
        Event::Steady(_) => "steady",
        Event::Members { .. } => "members",
        Event::LeaseSettings(_) => "lease-settings",
        Event::Removed => "removed",
        Event::Declined(_) => "declined",
    }
}

fn term(event: &Event) -> Option<u64> {
    match event {
        Event::Campaigning(term)
        | Event::Won(term)
        | Event::Lost(term, _)
        | Event::Follows(_, term) => Some(term.number()),
        _ => None,
    }
}

fn reason(event: &Event) -> Option<String> {
    match event {
        Event::Electing(reason) => Some(reason.to_string()),
        Event::Lost(_, loss) => Some(loss.to_string()),
        Event::Declined(decline) => Some(decline.to_string()),
        Event::TooFew { heard, needed } => {
            Some(format!("{heard} of the {needed} members needed agree"))
        }
        _ => None,
    }
}

/// A reason as a label, without its numbers.
fn reason_word(reason: &Reason) -> &'static str {
    match reason {
        Reason::Alone => "alone",
        Reason::Recovered => "recovered",
        Reason::Silent(..) => "silent",
        Reason::Broken(..) => "broken",
        Reason::Ended(_) => "ended",
        Reason::Resigned(_) => "resigned",
        Reason::Absent(_) => "absent",
        Reason::Stuck => "stuck",
        Reason::Lapsed => "lapsed",
        Reason::Passed(_) => "passed",
        Reason::Called => "called",
        Reason::Asked => "asked",
    }
}

fn loss_word(loss: &Loss) -> &'static str {
    match loss {
        Loss::Lapsed => "lapsed",
        Loss::HandedOver(_) => "handed-over",
        Loss::GivenUp => "given-up",
        Loss::Superseded(_) => "superseded",
        Loss::Stalled => "stalled",
        Loss::Removed => "removed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellwether_member::{Decline, Term};
    use std::time::Duration;

    fn played(events: &[Event]) -> History {
        let history = History::new(NodeId::new(3));
        for (second, event) in events.iter().enumerate() {
            history.note_at(event, format!("{second}"));
        }
        history
    }

    /// From, to, term, reason.
    type Seen = (Option<u32>, Option<u32>, Option<u64>, String);

    fn changes(events: &[Event]) -> Vec<Seen> {
        let changes = played(events).changes();
        changes.into_iter().map(|c| (c.from, c.to, c.term, c.reason)).collect()
    }

    const P4: NodeId = NodeId::new(4);
    const P5: NodeId = NodeId::new(5);

    #[test]
    fn a_change_has_the_reason_of_the_suspicion() {
        let silent = Reason::Silent(P5, Duration::from_millis(312));
        let seen = changes(&[
            Event::Follows(P5, Term::new(7)),
            Event::Electing(silent),
            Event::Electing(Reason::Called),
            Event::Elected(P4),
            Event::Electing(Reason::Absent(P4)),
            Event::Follows(P4, Term::new(8)),
        ]);
        let reason = "suspected P5 after 312 ms without a heartbeat".to_owned();
        assert_eq!(seen[0], (None, Some(5), Some(7), "it was already the coordinator".to_owned()));
        assert_eq!(seen[1], (Some(5), Some(4), Some(8), reason));
        assert_eq!(seen.len(), 2);
    }

    #[test]
    fn a_lost_mandate_is_a_change_to_none_and_a_hand_over_is_not() {
        let lapsed = changes(&[
            Event::Won(Term::new(1)),
            Event::Lost(Term::new(1), Loss::Lapsed),
            Event::TooFew { heard: 1, needed: 2 },
        ]);
        let reason = "too few members answered within the lease".to_owned();
        assert_eq!(lapsed[1], (Some(3), None, Some(1), reason));
        assert_eq!(lapsed.len(), 2);
        let handed = changes(&[
            Event::Won(Term::new(1)),
            Event::Lost(Term::new(1), Loss::HandedOver(P5)),
            Event::Follows(P5, Term::new(2)),
        ]);
        assert_eq!(handed[1], (Some(3), Some(5), Some(2), "P3 handed over".to_owned()));
    }

    #[test]
    fn a_follower_cut_off_with_the_minority_says_that_no_member_leads() {
        let history = played(&[
            Event::Follows(P5, Term::new(7)),
            Event::Electing(Reason::Silent(P5, Duration::from_millis(300))),
            Event::Campaigning(Term::new(8)),
            Event::TooFew { heard: 2, needed: 3 },
        ]);
        let last = history.last_change().unwrap();
        assert_eq!((last.from, last.to), (Some(5), None));
        assert!(last.reason.contains("300 ms"), "{}", last.reason);
        assert_eq!(history.shortage(), Some((2, 3)));
        history.note(&Event::Follows(P5, Term::new(7)));
        assert_eq!(history.shortage(), None);
    }

    #[test]
    fn what_is_said_again_and_again_is_noted_once() {
        let short = |heard| Event::TooFew { heard, needed: 3 };
        let history = played(&[short(1), short(1), short(2), short(2), short(1)]);
        let noted: Vec<_> =
            history.events_after(0).into_iter().map(|event| event.reason.unwrap()).collect();
        let said = |heard| format!("{heard} of the 3 members needed agree");
        assert_eq!(noted, [said(1), said(2), said(1)]);
    }

    #[test]
    fn old_events_are_forgotten_and_the_rest_told_in_order() {
        let history = History::new(P4);
        for _ in 0..KEPT + 5 {
            history.note(&Event::Declined(Decline::NoSuccessor));
        }
        let all = history.events_after(0);
        assert_eq!((all.len(), all[0].seq), (KEPT, 6));
        assert_eq!(history.events_after(KEPT as u64 + 3).len(), 2);
        assert_eq!(*history.watch().borrow(), KEPT as u64 + 5);
        assert_eq!(all[0].kind, "declined");
        assert_eq!(all[0].text, "P4 declined: no other member could lead now");
    }

    #[test]
    fn elections_are_counted_by_reason() {
        let history = played(&[
            Event::Electing(Reason::Alone),
            Event::Electing(Reason::Alone),
            Event::Electing(Reason::Silent(P5, Duration::ZERO)),
            Event::Won(Term::new(1)),
            Event::Lost(Term::new(1), Loss::GivenUp),
        ]);
        let tally = history.tally();
        assert_eq!(tally.elections, BTreeMap::from([("alone", 2), ("silent", 1)]));
        assert_eq!((tally.won, tally.changes), (1, 2));
        assert_eq!(tally.lost, BTreeMap::from([("given-up", 1)]));
    }
}
