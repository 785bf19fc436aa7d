//! What the picture shows, before anybody thinks of pixels.

use super::super::is_overhead;
use crate::observer::Why;
use crate::trace::{Letter, Trace, TraceEvent, What};
use bellwether_algorithms::mutex::{Sequence, Status};
use bellwether_core::{Kind, NodeId, Role, Time};
use std::collections::BTreeMap;

/// A trace, sorted by what it looks like.
pub(super) struct Model<'a> {
    /// The processes, from the highest down.
    pub(super) rows: Vec<NodeId>,
    /// By row.
    pub(super) lives: Vec<Life>,
    pub(super) flights: Vec<Flight<'a>>,
    pub(super) marks: Vec<Mark<'a>>,
    /// Rows and times at which a message of the algorithm proper came or went.
    pub(super) dots: Vec<(usize, Time)>,
    pub(super) notes: Vec<(Time, &'a str)>,
    /// The kinds of messages in the order in which they first appear, with how many were sent.
    pub(super) kinds: Vec<(Kind, u64)>,
    pub(super) end: Time,
    /// Whether this is about a critical section.
    pub(super) exclusive: bool,
    /// Whether it matters who coordinates.
    pub(super) coordinated: bool,
}

/// How one process fared.
#[derive(Default)]
pub(super) struct Life {
    /// When it took itself for the coordinator.
    pub(super) reigns: Vec<Span>,
    /// When it was down.
    pub(super) downs: Vec<Span>,
    /// When it stood still.
    pub(super) pauses: Vec<Span>,
    /// Whom it took for the coordinator at the end.
    pub(super) follows: Option<NodeId>,
    /// When it waited for the critical section.
    pub(super) waits: Vec<Span>,
    /// When it was inside.
    pub(super) stays: Vec<Stay>,
    /// What it had of the section at the end.
    pub(super) status: Status,
}

impl Life {
    pub(super) fn is_down(&self) -> bool {
        self.downs.last().is_some_and(|span| span.to.is_none())
    }
}

/// A stretch of time; open where it began before the trace, or was not over when it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) from: Option<Time>,
    pub(super) to: Option<Time>,
}

/// A visit to the critical section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stay {
    pub(super) span: Span,
    pub(super) number: Sequence,
}

/// A message under way.
pub(super) struct Flight<'a> {
    pub(super) letter: &'a Letter,
    pub(super) sent: Time,
    pub(super) end: End,
}

/// How a flight ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Arrived(Time),
    Dropped(Time, Why),
    /// The trace ends before it.
    OnItsWay,
}

/// A sign on a lifeline.
pub(super) struct Mark<'a> {
    pub(super) row: usize,
    pub(super) at: Time,
    pub(super) sign: Sign,
    pub(super) text: &'a str,
    /// Whether what its process says in the same step makes its words superfluous.
    pub(super) told: bool,
}

/// What a sign stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Input,
    /// A process says that it has found the coordinator.
    Elected,
    /// A process says that it asks for the section, enters it or leaves it.
    Section,
    Output,
    /// A timer that made the process do something that others notice.
    Timer,
}

impl<'a> Model<'a> {
    pub(super) fn new(trace: &'a Trace) -> Self {
        let mut rows = trace.header.ring.clone();
        rows.sort_unstable_by(|a, b| b.cmp(a));
        let mut builder = Builder {
            row_of: rows.iter().enumerate().map(|(row, id)| (*id, row)).collect(),
            began: vec![None; rows.len()],
            waiting: BTreeMap::new(),
            model: Model {
                lives: rows.iter().map(|_| Life::default()).collect(),
                rows,
                flights: Vec::new(),
                marks: Vec::new(),
                dots: Vec::new(),
                notes: Vec::new(),
                kinds: Vec::new(),
                end: trace.events.iter().map(|event| event.at).max().unwrap_or(Time::ZERO),
                exclusive: trace.header.family == "mutex",
                coordinated: true,
            },
        };
        for (id, coordinator) in trace.header.ring.iter().zip(&trace.header.coordinators) {
            builder.follow(builder.row_of[id], None, *coordinator);
        }
        for event in &trace.events {
            builder.add(event);
        }
        builder.model.dots.sort_unstable();
        builder.model.dots.dedup();
        builder.model.forget_idle_coordinators(trace.header.family, trace.header.algorithm);
        builder.model
    }

    /// Most algorithms that are not about elections have no coordinator of their own. Some need the
    /// one of the election beside them only when a process crashes, so it is not drawn unless that
    /// election or its detector is at work.
    fn forget_idle_coordinators(&mut self, family: &str, algorithm: &str) {
        let elects = self.marks.iter().any(|mark| mark.sign == Sign::Elected)
            || self.kinds.iter().any(|(kind, _)| kind.role == Role::Overhead);
        let known = self.lives.iter().any(|life| life.follows.is_some() || !life.reigns.is_empty());
        let own = matches!(family, "time" | "order" | "deadlock") || algorithm == "central";
        let about_it = matches!(family, "election" | "member");
        self.coordinated = about_it || known && (elects || own);
        if !self.coordinated {
            self.lives.iter_mut().for_each(|life| life.reigns.clear());
        }
    }

    /// The row of a process; a stranger's messages end at the last row.
    pub(super) fn row(&self, id: NodeId) -> usize {
        self.rows.partition_point(|other| *other > id).min(self.rows.len() - 1)
    }
}

struct Builder<'a> {
    model: Model<'a>,
    row_of: BTreeMap<NodeId, usize>,
    /// For each row, the event that began the step it is in, until the step has had an effect.
    began: Vec<Option<&'a TraceEvent>>,
    /// The flights of messages that have not arrived, by the message's number.
    waiting: BTreeMap<u64, usize>,
}

impl<'a> Builder<'a> {
    fn add(&mut self, event: &'a TraceEvent) {
        if let What::Note(note) = &event.what {
            self.model.notes.push((event.at, note));
        }
        let Some(row) = event.node.and_then(|node| self.row_of.get(&node).copied()) else { return };
        let at = event.at;
        match &event.what {
            What::Send(letter) => self.send(row, at, letter),
            What::Receive(letter) => {
                self.land(letter, End::Arrived(at));
                if !is_overhead(letter) {
                    self.model.dots.push((row, at));
                }
            }
            What::Drop(letter, why) => self.land(letter, End::Dropped(at, *why)),
            What::Input(text) => self.mark(row, at, Sign::Input, inner(text)),
            What::Output(text) => self.output(row, at, text),
            What::Crash => {
                self.follow(row, Some(at), None);
                self.stand(row, at, Status::Idle);
                let life = &mut self.model.lives[row];
                close(&mut life.pauses, at);
                open(&mut life.downs, at);
            }
            What::Recover => close(&mut self.model.lives[row].downs, at),
            What::Pause => open(&mut self.model.lives[row].pauses, at),
            What::Resume => close(&mut self.model.lives[row].pauses, at),
            What::Timer(_) | What::Note(_) => {}
        }
        if let Some(coordinator) = event.coordinator {
            self.follow(row, Some(at), coordinator);
        }
        if let Some(status) = event.section {
            self.stand(row, at, status);
        }
        if !matches!(event.what, What::Send(_) | What::Output(_) | What::Drop(..)) {
            self.began[row] = Some(event);
        }
    }

    fn send(&mut self, row: usize, at: Time, letter: &'a Letter) {
        match self.model.kinds.iter_mut().find(|(kind, _)| *kind == letter.kind) {
            Some((_, count)) => *count += 1,
            None => self.model.kinds.push((letter.kind, 1)),
        }
        self.waiting.insert(letter.id, self.model.flights.len());
        self.model.flights.push(Flight { letter, sent: at, end: End::OnItsWay });
        if letter.kind.role != Role::Overhead {
            self.model.dots.push((row, at));
            self.mark_timer(row);
        }
    }

    /// A message that the network doubled has one flight for each copy.
    fn land(&mut self, letter: &'a Letter, end: End) {
        let Some(index) = self.waiting.get(&letter.id).copied() else { return };
        let flight = &mut self.model.flights[index];
        if flight.end == End::OnItsWay {
            flight.end = end;
        } else {
            let sent = flight.sent;
            self.model.flights.push(Flight { letter, sent, end });
        }
    }

    fn output(&mut self, row: usize, at: Time, text: &'a str) {
        let now = self.began[row].and_then(|event| event.coordinator).flatten();
        let found = text.starts_with("elected")
            || now.is_some_and(|coordinator| text.ends_with(&coordinator.to_string()));
        self.mark_timer(row);
        if self.model.exclusive {
            self.hush_cause(row, at);
        }
        let moved = self.began[row].is_some_and(|event| event.section.is_some());
        let sign = match text {
            _ if found => Sign::Elected,
            text if moved && text.contains("the section") => Sign::Section,
            _ => Sign::Output,
        };
        self.mark(row, at, sign, text);
    }

    /// What an application asks for and what its process then says are nearly the same words.
    fn hush_cause(&mut self, row: usize, at: Time) {
        let cause = |mark: &&mut Mark<'_>| {
            mark.row == row && matches!(mark.sign, Sign::Input | Sign::Timer)
        };
        let now = self.model.marks.iter_mut().rev().take_while(|mark| mark.at == at);
        now.filter(cause).for_each(|mark| mark.told = true);
    }

    /// A timer is worth a sign once its step has an effect.
    fn mark_timer(&mut self, row: usize) {
        if let Some(TraceEvent { what: What::Timer(text), at, .. }) = self.began[row] {
            self.mark(row, *at, Sign::Timer, inner(text));
        }
    }

    fn mark(&mut self, row: usize, at: Time, sign: Sign, text: &'a str) {
        let known = self.model.marks.iter().rev().take_while(|mark| mark.at == at);
        if !known.into_iter().any(|mark| (mark.row, mark.sign, mark.text) == (row, sign, text)) {
            self.model.marks.push(Mark { row, at, sign, text, told: false });
        }
    }

    /// The process at `row` asks for the section, enters it, leaves it or is torn out of it.
    fn stand(&mut self, row: usize, at: Time, status: Status) {
        let life = &mut self.model.lives[row];
        close(&mut life.waits, at);
        if let Some(stay) = life.stays.last_mut().filter(|stay| stay.span.to.is_none()) {
            stay.span.to = Some(at);
        }
        match status {
            Status::Idle => {}
            Status::Waiting => open(&mut life.waits, at),
            Status::Inside(number) => {
                life.stays.push(Stay { span: Span { from: Some(at), to: None }, number });
            }
        }
        life.status = status;
    }

    /// The process at `row` takes another one, or no process, for the coordinator.
    fn follow(&mut self, row: usize, at: Option<Time>, coordinator: Option<NodeId>) {
        let me = self.model.rows[row];
        let life = &mut self.model.lives[row];
        let (was, is) = (life.follows == Some(me), coordinator == Some(me));
        life.follows = coordinator;
        match (was, is) {
            (false, true) => life.reigns.push(Span { from: at, to: None }),
            (true, false) => {
                if let Some(reign) = life.reigns.last_mut() {
                    reign.to = at;
                }
            }
            _ => {}
        }
    }
}

fn open(spans: &mut Vec<Span>, at: Time) {
    if spans.last().is_none_or(|span| span.to.is_some()) {
        spans.push(Span { from: Some(at), to: None });
    }
}

fn close(spans: &mut [Span], at: Time) {
    if let Some(span) = spans.last_mut().filter(|span| span.to.is_none()) {
        span.to = Some(at);
    }
}

/// The timer of a part without the part's name: `Answer` of `Election(Answer)`.
fn inner(text: &str) -> &str {
    let part = text.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    let is_word =
        |part: &&str| part.starts_with(char::is_uppercase) && part.contains(char::is_lowercase);
    part.filter(is_word).map_or(text, inner)
}

#[cfg(test)]
mod tests {
    use super::super::super::sample;
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::from_micros(ms * 1000)
    }

    #[test]
    fn follows_each_process_through_the_run() {
        let trace = sample::bully();
        let model = Model::new(&trace);
        assert_eq!(model.rows, [4, 3, 2, 1].map(NodeId::new));
        let [p4, p3, p2, p1] = model.lives.as_slice() else { panic!("four rows") };
        assert_eq!(p4.reigns, [Span { from: None, to: Some(Time::ZERO) }]);
        assert_eq!(p3.reigns, [Span { from: Some(ms(110)), to: None }]);
        assert_eq!(p2.follows, Some(NodeId::new(3)));
        assert!(p1.is_down() && p4.is_down() && !p2.is_down());
        let lost = |end: End| matches!(end, End::Dropped(_, Why::Down));
        assert_eq!(model.flights.len(), 6);
        assert_eq!(model.flights.iter().filter(|flight| lost(flight.end)).count(), 3);
    }

    #[test]
    fn a_doubled_message_flies_twice() {
        let trace = sample::stormy();
        let model = Model::new(&trace);
        let sent: u64 = model.kinds.iter().map(|(_, count)| count).sum();
        assert_eq!(model.flights.len() as u64, sent + 1);
        assert_eq!(model.lives[0].downs, [Span { from: Some(ms(300)), to: Some(ms(1600)) }]);
        assert_eq!(model.lives[3].pauses, [Span { from: Some(ms(500)), to: Some(ms(650)) }]);
    }

    #[test]
    fn a_visit_lasts_until_the_process_leaves_or_crashes() {
        let trace = sample::central();
        let model = Model::new(&trace);
        let span = |from, to: Option<u64>| Span { from: Some(ms(from)), to: to.map(ms) };
        let visits = |row: usize| -> Vec<(Span, String)> {
            let stays = model.lives[row].stays.iter();
            stays.map(|stay| (stay.span, stay.number.to_string())).collect()
        };
        let [_, p3, p2, p1] = model.lives.as_slice() else { panic!("four rows") };
        assert_eq!(visits(3), [(span(20, Some(50)), "#1".to_owned())]);
        assert_eq!(p1.waits, [span(0, Some(20))]);
        assert_eq!(visits(2), [(span(70, Some(80)), "#2".to_owned())], "a crash ends it");
        assert_eq!((p2.status, p2.waits.as_slice()), (Status::Idle, &[span(5, Some(70))][..]));
        assert_eq!((p3.status, p3.waits.as_slice()), (Status::Waiting, &[span(75, None)][..]));
        assert!(p3.stays.is_empty());
    }

    #[test]
    fn who_coordinates_is_drawn_where_it_matters() {
        let coordinated = |trace: &Trace| {
            let model = Model::new(trace);
            let reigns = model.lives.iter().any(|life| !life.reigns.is_empty());
            assert!(model.coordinated || !reigns);
            model.coordinated
        };
        assert!(coordinated(&sample::bully()));
        assert!(coordinated(&sample::nothing()), "an election without messages is one");
        assert!(coordinated(&sample::central()), "the algorithm has a coordinator");
        assert!(!coordinated(&sample::lamport(false)), "no process needs one");
        assert!(coordinated(&sample::lamport(true)), "there is an election beside it");
    }

    #[test]
    fn a_timers_name_is_its_own() {
        assert_eq!(inner("Election(Answer)"), "Answer");
        assert_eq!(inner("Election(Link(Retry))"), "Retry");
        assert_eq!(inner("Retry(P3)"), "Retry(P3)");
    }
}
