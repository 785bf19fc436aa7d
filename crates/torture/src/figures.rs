//! What there was: how much was done, how long it took, and which faults bit.

use super::check::{Book, Grant, Request};
use super::faults::Fault;
use super::history::{Event, History, Outcome, Way};
use super::plan::Kind;
use std::collections::{BTreeMap, BTreeSet};

/// The figures of a run. Spans are in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Figures {
    /// Processes that were clients.
    pub(super) clients: usize,
    pub(super) sessions: usize,
    /// Sessions that ended without being closed.
    pub(super) sessions_lost: usize,
    /// Everything that was asked of the cluster.
    pub(super) operations: usize,
    pub(super) grants: usize,
    /// Grants that were lost with their session.
    pub(super) lost: usize,
    /// Grants that had to be waited for.
    pub(super) waited: usize,
    pub(super) busy: usize,
    pub(super) timed_out: usize,
    pub(super) deadlocks: usize,
    pub(super) hand_overs: usize,
    pub(super) proclamations: usize,
    /// The number of terms in which something was granted.
    pub(super) terms: usize,
    /// How often it was seen at a look that something is held.
    pub(super) looks: usize,
    /// The waits for what was granted: half are shorter; 99 of 100 are; the longest.
    pub(super) wait_us: [u64; 3],
    /// The longest time without an answer of the cluster to any client.
    pub(super) silence_us: u64,
    /// What became of each kind of fault.
    pub(super) faults: BTreeMap<Kind, Tally>,
    /// The longest times without a leader although one member reached a majority, the longest first.
    pub(super) longest: Vec<Gap>,
    /// The longest time for which the machine kept a thread waiting that wanted to run.
    pub(super) late_us: u64,
}

/// A time without a leader, and what was wrong in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Gap {
    /// When it began, by the histories' clock.
    pub(super) from: u64,
    pub(super) span_us: u64,
    /// The faults at members that were there at some time of it, or shortly before it.
    pub(super) faults: Vec<String>,
}

/// The number of gaps that are listed with their faults.
const LISTED: usize = 5;

/// When no member led, from when to when, by the histories' clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Gaps {
    /// Whatever the reason.
    pub(super) leaderless: Vec<(u64, u64)>,
    /// While some member reached a majority that was up.
    pub(super) unled: Vec<(u64, u64)>,
}

/// What became of a kind of fault. Spans are the longest of those that are due to one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) happened: usize,
    pub(super) bit: usize,
    /// No member led.
    pub(super) leaderless_us: u64,
    /// No member led, although one reached a majority that was up.
    pub(super) unled_us: u64,
    /// No client had an answer.
    pub(super) silence_us: u64,
}

/// A stretch that begins at most this long before a fault may still be due to it, because it begins
/// with the last answer. In microseconds.
const BEFORE_US: u64 = 100_000;
/// The same for a stretch that begins after the fault is over: a member that comes back may take over.
const AFTER_US: u64 = 3_000_000;

/// Which fault a stretch is due to: of those that may be the cause the one that began last. And how
/// long it was from then on.
fn cause(faults: &[Fault], (from, until): (u64, u64)) -> Option<(Kind, u64)> {
    let may = |fault: &&Fault| {
        !fault.kind.is_for_clients()
            && fault.from <= from + BEFORE_US
            && from <= fault.until + AFTER_US
    };
    let fault = faults.iter().filter(may).max_by_key(|fault| fault.from)?;
    Some((fault.kind, until.saturating_sub(from.max(fault.from))))
}

/// The longest gaps with all faults that may have a part in them.
fn longest(faults: &[Fault], gaps: &[(u64, u64)]) -> Vec<Gap> {
    let mut gaps = gaps.to_vec();
    gaps.sort_by_key(|(from, until)| std::cmp::Reverse(until - from));
    gaps.truncate(LISTED);
    let during = |from: u64, until: u64| {
        let in_it = move |fault: &&Fault| {
            !fault.kind.is_for_clients() && fault.from < until && from < fault.until + AFTER_US
        };
        faults.iter().filter(in_it).map(|fault| format!("{}: {}", fault.kind.name(), fault.what))
    };
    let gap =
        |(from, until)| Gap { from, span_us: until - from, faults: during(from, until).collect() };
    gaps.into_iter().map(gap).collect()
}

impl Figures {
    pub(super) fn of(book: &Book, histories: &[History], faults: &[Fault], gaps: &Gaps) -> Self {
        let mut figures = Figures {
            clients: histories.len(),
            grants: book.grants.len(),
            waited: book.grants.iter().filter(|grant| queued(grant, book)).count(),
            operations: book.requests.len(),
            ..Figures::default()
        };
        let terms: BTreeSet<u64> = book.grants.iter().map(|grant| grant.token >> 32).collect();
        figures.terms = terms.len();
        let mut answers = Vec::new();
        for line in histories.iter().flat_map(|history| &history.lines) {
            figures.count(&line.event);
            if is_answer(&line.event) {
                answers.push(line.at);
            }
        }
        answers.sort_unstable();
        let spans = answers.windows(2).map(|pair| pair[1] - pair[0]);
        figures.silence_us = spans.max().unwrap_or_default();
        figures.wait_us = waits(book);
        for fault in faults {
            let tally = figures.faults.entry(fault.kind).or_default();
            tally.happened += 1;
            tally.bit += usize::from(bites(fault, book, histories));
        }
        figures.longest = longest(faults, &gaps.unled);
        let caused = |stretch: &(u64, u64)| cause(faults, *stretch);
        for (kind, span) in gaps.leaderless.iter().filter_map(caused) {
            let tally = figures.faults.entry(kind).or_default();
            tally.leaderless_us = tally.leaderless_us.max(span);
        }
        for (kind, span) in gaps.unled.iter().filter_map(caused) {
            let tally = figures.faults.entry(kind).or_default();
            tally.unled_us = tally.unled_us.max(span);
        }
        // To the end, if no answer came any more.
        answers.extend(histories.iter().flat_map(|h| &h.lines).map(|line| line.at).max());
        let silences = answers.windows(2).filter_map(|pair| cause(faults, (pair[0], pair[1])));
        for (kind, span) in silences {
            let tally = figures.faults.entry(kind).or_default();
            tally.silence_us = tally.silence_us.max(span);
        }
        figures
    }

    fn count(&mut self, event: &Event) {
        match event {
            Event::Opened { .. } => self.sessions += 1,
            Event::SessionEnded { .. } => self.sessions_lost += 1,
            Event::Lost { .. } => self.lost += 1,
            Event::Looked { .. } => self.looks += 1,
            Event::Answered { outcome, .. } => match outcome {
                Outcome::Busy => self.busy += 1,
                Outcome::TimedOut => self.timed_out += 1,
                Outcome::Deadlock { .. } => self.deadlocks += 1,
                Outcome::Granted { .. }
                | Outcome::SessionEnded { .. }
                | Outcome::Refused { .. } => {}
            },
            Event::HandedOver { error: None, .. } => self.hand_overs += 1,
            Event::Proclaimed { error: None, .. } => self.proclamations += 1,
            Event::Opens { .. }
            | Event::GivesBack { how: Way::Asks, .. }
            | Event::HandsOver { .. }
            | Event::Proclaims { .. }
            | Event::Closes { .. } => self.operations += 1,
            _ => {}
        }
    }
}

fn queued(grant: &Grant, book: &Book) -> bool {
    book.requests[grant.request].queued.is_some()
}

/// Whether the cluster has said something: not what a client decides by itself.
fn is_answer(event: &Event) -> bool {
    match event {
        Event::Opened { .. }
        | Event::Waits { .. }
        | Event::LeadsAgain { .. }
        | Event::HandedOver { error: None, .. }
        | Event::Proclaimed { error: None, .. } => true,
        Event::Answered { outcome, .. } => {
            matches!(outcome, Outcome::Granted { .. } | Outcome::Busy | Outcome::Deadlock { .. })
        }
        _ => false,
    }
}

fn waits(book: &Book) -> [u64; 3] {
    let wait = |grant: &Grant| grant.answered - book.requests[grant.request].invoked;
    let mut waits: Vec<u64> = book.grants.iter().map(wait).collect();
    waits.sort_unstable();
    let at = |percent: usize| {
        let place = (waits.len() * percent).div_ceil(100).saturating_sub(1);
        waits.get(place).copied().unwrap_or_default()
    };
    [at(50), at(99), at(100)]
}

/// Whether a fault had an effect. A fault of a member has one if that member was the coordinator, or if
/// a client that is connected to it had asked for something that was not answered; one that hits
/// frames or ends members does if there were some. One that hits a client does if that held something, or waited for an answer.
fn bites(fault: &Fault, book: &Book, histories: &[History]) -> bool {
    let met = |request: &Request| {
        let answered = request.answer.as_ref().map_or(u64::MAX, |(at, ..)| *at);
        request.invoked <= fault.until && answered >= fault.from
    };
    match (fault.hits, &fault.client) {
        (Some(0), _) => return false,
        (Some(_), None) => return true,
        (Some(_), Some(_)) | (None, _) => {}
    }
    if let Some(client) = &fault.client {
        let own = |request: &Request| histories[request.history()].name == *client;
        let held = |grant: &Grant| {
            let until = grant.held.map_or(grant.answered, |(until, _)| until);
            own(&book.requests[grant.request])
                && grant.answered <= fault.from
                && until >= fault.from
        };
        return book.requests.iter().any(|request| own(request) && met(request))
            || book.grants.iter().any(held);
    }
    let through = |request: &Request| request.via.is_some_and(|via| fault.members.contains(&via));
    fault.coordinated || book.requests.iter().any(|request| through(request) && met(request))
}

#[cfg(test)]
mod tests {
    use super::super::check::check;
    use super::super::check::tests::told;
    use super::*;

    fn fault(kind: Kind, members: &[u32], client: Option<&str>, from: u64, until: u64) -> Fault {
        let (what, client) = (String::new(), client.map(str::to_owned));
        let (members, coordinated, hits) = (members.to_vec(), false, None);
        Fault { kind, what, members, coordinated, client, from, until, hits }
    }

    #[test]
    fn what_was_done_is_counted() {
        let a = "10 asks 1 x exclusive; 20 granted 1 5; 21 looked 1; 30 gives 1; 40 gave 1";
        let b = "10 asks 1 y exclusive; 12 waits 1; 50 granted 1 6; 51 lost 1 expired; \
                 60 asks 2 x exclusive; 70 busy 2";
        let histories = [told("a", a), told("b", b)];
        let figures = Figures::of(&check(&histories).0, &histories, &[], &Gaps::default());
        assert_eq!((figures.operations, figures.grants, figures.waited), (4, 2, 1));
        assert_eq!((figures.busy, figures.lost, figures.looks), (1, 1, 1));
        assert_eq!(figures.wait_us, [10, 40, 40]);
        assert_eq!(figures.silence_us, 30);
    }

    #[test]
    fn a_gap_is_due_to_the_last_fault_before_it() {
        const S: u64 = 1_000_000;
        let kill = fault(Kind::Kill, &[1], None, 10 * S, 12 * S);
        let faults = [kill, fault(Kind::Loss, &[1], None, 11 * S, 13 * S)];
        assert_eq!(cause(&faults, (10 * S - 50_000, 12 * S)), Some((Kind::Kill, 2 * S)));
        assert_eq!(cause(&faults, (12 * S, 20 * S)), Some((Kind::Loss, 8 * S)));
        assert_eq!(cause(&faults, (14 * S, 15 * S)), Some((Kind::Loss, S)));
        assert_eq!(cause(&faults, (5 * S, 6 * S)), None, "before all");
        assert_eq!(cause(&faults, (17 * S, 18 * S)), None, "long after all");
    }

    #[test]
    fn the_longest_gaps_come_with_all_faults_that_overlap() {
        const S: u64 = 1_000_000;
        let kill = fault(Kind::Kill, &[1], None, 10 * S, 12 * S);
        let loss = fault(Kind::Loss, &[2], None, 11 * S, 13 * S);
        let client = fault(Kind::ClientStop, &[], Some("a"), 10 * S, 13 * S);
        let gaps = [(30 * S, 31 * S), (10 * S, 12 * S), (14 * S, 14 * S + 5)];
        let found = longest(&[kill, loss, client], &gaps);
        let kinds = |gap: &Gap| gap.faults.iter().map(|f| f[..4].to_owned()).collect::<Vec<_>>();
        assert_eq!(found.iter().map(|gap| gap.span_us).collect::<Vec<_>>(), [2 * S, S, 5]);
        assert_eq!(
            found.iter().map(kinds).collect::<Vec<_>>(),
            [
                vec!["kill".to_owned(), "loss".to_owned()],
                vec![],
                vec!["kill".to_owned(), "loss".to_owned()],
            ]
        );
    }

    #[test]
    fn a_fault_bites_who_is_there() {
        let a = "10 asks 1 x exclusive; 20 granted 1 5; 60 looked 1; 70 gives 1; 80 gave 1";
        let histories = [told("a", a)];
        let book = check(&histories).0;
        let bit = |fault: Fault| bites(&fault, &book, &histories);
        // All requests go through member 1.
        assert!(bit(fault(Kind::Kill, &[1], None, 15, 30)));
        assert!(!bit(fault(Kind::Kill, &[2], None, 15, 30)));
        assert!(!bit(fault(Kind::Kill, &[1], None, 25, 30)));
        assert!(bit(Fault { coordinated: true, ..fault(Kind::Kill, &[2], None, 25, 30) }));
        assert!(bit(fault(Kind::ClientStop, &[], Some("a"), 50, 55)));
        assert!(!bit(fault(Kind::ClientStop, &[], Some("a"), 65, 66)));
        assert!(!bit(fault(Kind::ClientStop, &[], Some("b"), 50, 55)));
    }
}
