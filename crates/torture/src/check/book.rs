//! Requests and grants, as the histories tell of them.

use super::super::history::{Event, History, Mode, Outcome, Refused, Want};
use super::{Place, Violation};
use std::collections::{BTreeMap, BTreeSet};

/// All that was asked for and granted.
#[derive(Debug, Default)]
pub(in super::super) struct Book {
    pub(in super::super) requests: Vec<Request>,
    pub(in super::super) grants: Vec<Grant>,
    pub(super) proclamations: Vec<Proclamation>,
    /// The roles that a client wanted to hand over.
    pub(super) handed_over: BTreeSet<String>,
}

/// Something that was asked for.
#[derive(Debug)]
pub(in super::super) struct Request {
    pub(super) place: Place,
    pub(super) session: String,
    pub(super) wants: Vec<Want>,
    pub(in super::super) via: Option<u32>,
    pub(in super::super) invoked: u64,
    /// Since when it is known that it waits.
    pub(in super::super) queued: Option<u64>,
    pub(in super::super) answer: Option<(u64, Outcome, Place)>,
}

impl Request {
    /// The history that it is in.
    pub(in super::super) fn history(&self) -> usize {
        self.place.history
    }
}

/// Something that was granted.
#[derive(Debug)]
pub(in super::super) struct Grant {
    pub(in super::super) request: usize,
    pub(super) place: Place,
    pub(in super::super) token: u64,
    /// It was granted after this moment,
    pub(super) invoked: u64,
    /// and before this one.
    pub(in super::super) answered: u64,
    /// The last look that found it held, if one did.
    pub(in super::super) held: Option<(u64, Place)>,
}

/// What a leader wanted the world to know.
#[derive(Debug)]
pub(super) struct Proclamation {
    pub(super) grant: usize,
    pub(super) place: Place,
    pub(super) invoked: u64,
    pub(super) done: Option<bool>,
}

/// What is known of a request of the history that is being read.
#[derive(Clone, Copy, Default)]
struct Known {
    request: usize,
    grant: Option<usize>,
    /// Since when another grant may follow: the role is being handed over.
    hands_over: Option<u64>,
    proclaims: Option<usize>,
}

impl Book {
    /// Reads all histories, and complains of what makes no sense.
    pub(super) fn of(histories: &[History]) -> (Self, Vec<Violation>) {
        let (mut book, mut violations) = (Book::default(), Vec::new());
        for (index, history) in histories.iter().enumerate() {
            let mut known = BTreeMap::new();
            let mut before = 0;
            for (line, entry) in history.lines.iter().enumerate() {
                let place = Place { history: index, line };
                if entry.at < before {
                    let what = format!("the clock of {} went back", history.name);
                    violations.push(Violation::new("history", what, &[place]));
                }
                before = entry.at;
                if book.take(place, entry.at, &entry.event, &mut known).is_none() {
                    let what = format!(
                        "{} reports an answer to a request that it never made",
                        history.name
                    );
                    violations.push(Violation::new("history", what, &[place]));
                }
            }
        }
        (book, violations)
    }

    /// Takes a line in; `None` if it does not fit those before.
    fn take(
        &mut self,
        place: Place,
        at: u64,
        event: &Event,
        all: &mut BTreeMap<u64, Known>,
    ) -> Option<()> {
        match event {
            Event::Asks { ask, session, wants, via, .. } => {
                let (session, wants) = (session.clone(), wants.clone());
                let known = Known { request: self.requests.len(), ..Known::default() };
                let (queued, answer, via) = (None, None, *via);
                let request = Request { place, session, wants, via, invoked: at, queued, answer };
                self.requests.push(request);
                all.insert(*ask, known).is_none().then_some(())
            }
            Event::Waits { ask, .. } => {
                self.requests[all.get(ask)?.request].queued.get_or_insert(at);
                Some(())
            }
            Event::Answered { ask, outcome } => {
                let known = all.get_mut(ask)?;
                let request = &mut self.requests[known.request];
                let fresh = request.answer.is_none();
                request.answer = Some((at, outcome.clone(), place));
                let invoked = request.invoked;
                if let Outcome::Granted { token } = outcome {
                    known.grant = Some(self.grants.len());
                    let (request, answered, token) = (known.request, at, *token);
                    let held = None;
                    self.grants.push(Grant { request, place, token, invoked, answered, held });
                }
                fresh.then_some(())
            }
            Event::Looked { ask } => {
                let grant = all.get(ask)?.grant?;
                self.grants[grant].held = Some((at, place));
                Some(())
            }
            Event::HandsOver { ask, .. } => {
                let known = all.get_mut(ask)?;
                known.hands_over = Some(at);
                let names = self.requests[known.request].wants.iter().map(|want| want.name.clone());
                self.handed_over.extend(names);
                Some(())
            }
            Event::LeadsAgain { ask, token } => {
                let known = all.get_mut(ask)?;
                let invoked = known.hands_over.take()?;
                known.grant = Some(self.grants.len());
                let (request, answered, token) = (known.request, at, *token);
                let held = None;
                self.grants.push(Grant { request, place, token, invoked, answered, held });
                Some(())
            }
            Event::Proclaims { ask } => {
                let known = all.get_mut(ask)?;
                let (grant, invoked, done) = (known.grant?, at, None);
                known.proclaims = Some(self.proclamations.len());
                self.proclamations.push(Proclamation { grant, place, invoked, done });
                Some(())
            }
            Event::Proclaimed { ask, error } => {
                let proclaims = all.get_mut(ask)?.proclaims.take()?;
                self.proclamations[proclaims].done = Some(error.is_none());
                Some(())
            }
            Event::GivesBack { ask, .. }
            | Event::GaveBack { ask, .. }
            | Event::Lost { ask, .. }
            | Event::HandedOver { ask, .. } => all.get(ask)?.grant.map(|_| ()),
            Event::Begins { .. }
            | Event::Opens { .. }
            | Event::Opened { .. }
            | Event::NotOpened { .. }
            | Event::SessionEnded { .. }
            | Event::Closes { .. }
            | Event::Closed { .. }
            | Event::Done => Some(()),
        }
    }

    /// The grants of each lock and role, by the moment at which they were heard of; and how.
    pub(super) fn by_name(&self) -> BTreeMap<&str, Vec<(&Grant, Mode)>> {
        let mut names: BTreeMap<&str, Vec<(&Grant, Mode)>> = BTreeMap::new();
        for grant in &self.grants {
            for want in &self.requests[grant.request].wants {
                names.entry(&want.name).or_default().push((grant, want.mode));
            }
        }
        for grants in names.values_mut() {
            grants.sort_by_key(|(grant, _)| grant.answered);
        }
        names
    }
}

/// Whether an error is only that the session is over.
pub(super) fn is_over(error: &Refused) -> bool {
    matches!(error, Refused::SessionEnded(_))
}
