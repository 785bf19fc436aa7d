//! G5 Pieces: fetching a newer log, entry by entry or as a snapshot in parts.

use crate::follow::Appended;
use crate::members::Roster;
use crate::message::{Body, Heartbeat, Msg, Place};
use crate::tail::Tail;
use crate::types::{Index, Output, Position, Timer};
use crate::{Cx, Log, Memory, Role, Whole};
use bellwether_core::{Machine, NodeId, Time};
use std::collections::VecDeque;
use std::sync::Arc;

/// A piece that was asked for, and the one after it if that was asked for, too.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Fetching<M: Machine> {
    pub(crate) from: NodeId,
    pub(crate) place: Place<M>,
    asked: Asked,
    ahead: Option<Asked>,
}

/// When a piece was asked for, and of how many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Asked {
    sent: Time,
    budget: u32,
}

/// A snapshot of which some parts have come.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Partial<M: Machine> {
    at: Position,
    roster: Roster,
    state: M,
    next: M::Cursor,
}

/// The parts of a snapshot as they came: for a store that writes them as they come.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Received<M: Machine> {
    /// Which snapshot.
    pub at: Position,
    /// The roster at this position.
    pub roster: Roster,
    /// The last pieces, the newest first: more than can come between two saves of a driver, because the
    /// next piece is asked for when the one before is saved.
    pub last: VecDeque<Piece<M>>,
    /// When all of them were there.
    pub complete: Option<Time>,
}

/// A piece of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Piece<M: Machine> {
    /// Where it begins.
    pub from: M::Cursor,
    /// What is in it.
    pub parts: Arc<[M::Part]>,
    /// Where the next one begins; none if there is none.
    pub next: Option<M::Cursor>,
}

impl<M: Machine> Received<M> {
    /// Up to where it has come; none if all of it has.
    pub fn reached(&self) -> Option<M::Cursor> {
        self.last.front().map_or_else(|| Some(M::Cursor::default()), |piece| piece.next.clone())
    }
}

/// How many pieces are kept for a store.
const KEPT_PIECES: usize = 3;

/// A state that is sent in parts: frozen, while the running one goes on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Snapshot<M: Machine> {
    pub(crate) at: Position,
    roster: Roster,
    state: Arc<M>,
    pub(crate) wanted: Time,
}

/// The receiver.
impl<M: Machine> Log<M> {
    /// Asks for the next piece, unless one is under way. What a leader has is worth more than what
    /// another member has.
    pub(crate) fn fetch_from(&mut self, from: NodeId, cx: &mut Cx<'_, M>) {
        let is_leader = self.is_led_by(from, cx.now());
        let under_way = self.fetch.as_ref().is_some_and(|f| f.from == from || !is_leader);
        if under_way || matches!(self.role, Role::Leader(..)) {
            return;
        }
        self.fetch_place(from, self.next_place(), cx);
    }

    /// A snapshot from its beginning, though this member has a log (S8).
    pub(crate) fn fetch_snapshot(&mut self, from: NodeId, cx: &mut Cx<'_, M>) {
        if self.fetch.as_ref().is_none_or(|f| matches!(f.place, Place::After(_))) {
            self.fetch_place(from, first_part(), cx);
        }
    }

    fn fetch_place(&mut self, from: NodeId, place: Place<M>, cx: &mut Cx<'_, M>) {
        cx.rule("G5");
        let asked = self.ask_for(from, place.clone(), 0, cx);
        self.fetch = Some(Fetching { from, place, asked, ahead: None });
        cx.set_timer(Timer::Fetch, self.leases(cx.config()).patience());
    }

    /// Asks for the piece that begins `ahead` bytes after a place.
    fn ask_for(&mut self, from: NodeId, place: Place<M>, ahead: u32, cx: &mut Cx<'_, M>) -> Asked {
        let (least, most) = cx.config().piece;
        self.budget = self.budget.clamp(least, most.max(least));
        let budget = self.budget;
        cx.send(from, Msg::Fetch { place, budget, ahead });
        Asked { sent: cx.now(), budget }
    }

    /// The piece before has come. The next one is on its way already, or is asked for now; and the one
    /// after it, so that the link is never idle for a round trip.
    fn fetch_on(
        &mut self,
        from: NodeId,
        place: Place<M>,
        under_way: Option<Asked>,
        cx: &mut Cx<'_, M>,
    ) {
        let asked = match under_way {
            Some(asked) => asked,
            None => self.ask_for(from, place.clone(), 0, cx),
        };
        let ahead = Some(self.ask_for(from, place.clone(), asked.budget, cx));
        self.fetch = Some(Fetching { from, place, asked, ahead });
        cx.set_timer(Timer::Fetch, self.leases(cx.config()).patience());
    }

    /// The snapshot that it receives, if it does.
    fn filling_at(&self) -> Option<Position> {
        match &self.memory {
            Memory::Filling(Some(partial)) => Some(partial.at),
            Memory::Filling(None) | Memory::Whole(_) => None,
        }
    }

    /// Where the next piece begins.
    fn next_place(&self) -> Place<M> {
        match &self.memory {
            Memory::Whole(whole) => Place::After(whole.tail.last()),
            Memory::Filling(Some(Partial { at, next, .. })) => {
                Place::Part { at: *at, cursor: next.clone() }
            }
            Memory::Filling(None) => first_part(),
        }
    }

    fn place_at(&self, index: Index) -> Option<Place<M>> {
        self.whole()?.tail.position_at(index).map(Place::After)
    }

    /// After the last entry that is known to be in that member's log too: what came from it as a leader,
    /// so that a lost piece does not cost those before it.
    fn known_place(&self, from: NodeId) -> Option<Place<M>> {
        let lease = self.lease.filter(|lease| lease.leader == from)?;
        self.place_at(lease.matched.max(self.commit().index))
    }

    /// No answer: a smaller piece, if it is from the leader; another supplier has its own reasons to
    /// be asked again.
    pub(crate) fn fetch_again(&mut self, cx: &mut Cx<'_, M>) {
        let Some(Fetching { from, place, .. }) = self.fetch.take() else { return };
        self.budget /= 2;
        if self.is_led_by(from, cx.now()) {
            match place {
                Place::After(_) => self.fetch_from(from, cx),
                Place::Part { .. } if self.whole().is_some() => self.fetch_snapshot(from, cx),
                Place::Part { .. } => self.fetch_from(from, cx),
            }
        }
    }

    /// Whether this member is bound to that leader. One that is gone has nothing to supply.
    fn is_led_by(&self, member: NodeId, now: Time) -> bool {
        self.lease.is_some_and(|lease| lease.leader == member && now < lease.until)
    }

    pub(crate) fn take_supply(
        &mut self,
        from: NodeId,
        beat: Option<Heartbeat>,
        last: Position,
        body: Body<M>,
        cx: &mut Cx<'_, M>,
    ) {
        if let Some(beat) = &beat
            && !self.accept(from, beat, cx)
        {
            return;
        }
        let is_sure = matches!(&self.role, Role::Candidate(campaign) if campaign.sure);
        let expected = self.fetch.as_ref().is_some_and(|f| f.from == from && f.answers(&body));
        // Only a newer log is adopted: a leader's always is, once it has begun.
        let is_newer = beat.is_some() || last > self.last() && last >= self.floor;
        if expected && is_newer && !is_sure && self.leader_state().is_none() {
            self.take_piece(from, beat.as_ref(), last, body, cx);
        }
        self.show_roster(cx);
        if let Some(beat) = &beat {
            self.acknowledge(from, beat, cx);
        }
    }

    fn take_piece(
        &mut self,
        from: NodeId,
        beat: Option<&Heartbeat>,
        last: Position,
        body: Body<M>,
        cx: &mut Cx<'_, M>,
    ) {
        let Some(fetch) = self.fetch.take() else { return };
        cx.cancel_timer(Timer::Fetch);
        self.judge_budget(fetch.asked.sent, cx);
        let snapshot = self.filling_at();
        let next = match body {
            Body::Entries { prev, entries } => match self.append(prev, &entries) {
                Appended::Matches(index) => {
                    match beat {
                        Some(beat) => self.match_to(index, beat, cx),
                        None => self.reach_floor(cx),
                    }
                    // All of it may have been here before: what contradicts comes later.
                    self.place_at(index).filter(|_| index > prev.index)
                }
                Appended::Gap => None,
                Appended::Diverges => {
                    return self.diverge(from, beat, cx);
                }
            },
            Body::Parts { at, roster, from: cursor, parts, next } => {
                let starts_over = matches!(fetch.place, Place::Part { .. });
                if !self.is_wanted(at, starts_over) {
                    return;
                }
                let gets_on = self.take_parts(from, (at, *roster, cursor), parts, next, cx);
                // A leader's snapshot is a prefix of its log.
                if let Some(beat) = beat
                    && self.whole().is_some()
                {
                    self.match_to(at.index, beat, cx);
                }
                gets_on.then(|| self.next_place())
            }
            Body::Mismatch { .. } => {
                let commit = Place::After(self.commit());
                if fetch.place == commit {
                    return self.diverge(from, beat, cx);
                }
                let place = self.known_place(from).filter(|known| *known != fetch.place);
                return self.fetch_place(from, place.unwrap_or(commit), cx);
            }
        };
        if let Some(place) = next.filter(|_| self.last() < last) {
            // What was asked for ahead continues this very log, or this very snapshot.
            let ahead = fetch.ahead.filter(|_| self.filling_at() == snapshot);
            self.fetch_on(from, place, ahead, cx);
        } else if self.last() >= last && beat.is_none() {
            cx.emit(Output::CaughtUp(from));
        }
        self.ask_with_newer_log(cx);
    }

    /// A piece should take from a quarter of a heartbeat to a half: so a heartbeat never waits long
    /// behind one, on a link of any bandwidth.
    fn judge_budget(&mut self, sent: Time, cx: &Cx<'_, M>) {
        let (took, heartbeat) = (cx.now().since(sent), self.leases(cx.config()).heartbeat);
        if took <= heartbeat / 4 {
            self.budget = self.budget.saturating_mul(2);
        } else if took > heartbeat / 2 {
            self.budget /= 2;
        }
    }

    /// Whether a snapshot leads further than what it has; if it asked for one, it needs one.
    fn is_wanted(&self, at: Position, asked_for: bool) -> bool {
        self.whole().is_none_or(|whole| asked_for || at.index > whole.commit.index)
    }

    /// Whether it got on.
    fn take_parts(
        &mut self,
        from: NodeId,
        (at, roster, cursor): (Position, Roster, M::Cursor),
        parts: Vec<M::Part>,
        next: Option<M::Cursor>,
        cx: &mut Cx<'_, M>,
    ) -> bool {
        let continues = |partial: &Partial<M>| {
            partial.at == at && partial.next == cursor && partial.roster == roster
        };
        let goes_on = matches!(&self.memory, Memory::Filling(Some(p)) if continues(p));
        if !goes_on {
            if cursor != M::Cursor::default() {
                return false;
            }
            self.begin_filling(from, at, roster, cx);
        }
        let Memory::Filling(slot) = &mut self.memory else { return false };
        let Some(mut partial) = slot.take() else { return false };
        // A snapshot that does not get on would be fetched for ever.
        let gets_on = next.as_ref().is_none_or(|next| *next > cursor);
        let came: Option<Arc<[M::Part]>> = self.received.is_some().then(|| parts.as_slice().into());
        if !gets_on || partial.state.absorb(parts).is_err() {
            return false;
        }
        if let (Some(received), Some(parts)) = (&mut self.received, came) {
            received.last.truncate(KEPT_PIECES - 1);
            received.last.push_front(Piece { from: cursor, parts, next: next.clone() });
        }
        match next {
            Some(next) => {
                partial.next = next;
                *slot = Some(partial);
                true
            }
            None => self.end_filling(partial, cx),
        }
    }

    /// Drops what it has, and remembers how far that went.
    fn begin_filling(&mut self, from: NodeId, at: Position, roster: Roster, cx: &mut Cx<'_, M>) {
        cx.rule("G5");
        let was_whole = self.whole().is_some();
        self.floor = self.position();
        if let Some(lease) = &mut self.lease {
            lease.matched = Default::default();
        }
        let next = M::Cursor::default();
        self.received = (!self.forgets).then(|| Received {
            at,
            roster: roster.clone(),
            last: VecDeque::new(),
            complete: None,
        });
        self.memory = Memory::Filling(Some(Partial { at, roster, state: M::default(), next }));
        if was_whole {
            cx.emit(Output::Filling { from, floor: self.floor });
        }
    }

    fn end_filling(&mut self, partial: Partial<M>, cx: &mut Cx<'_, M>) -> bool {
        let Partial { at, roster, state, .. } = partial;
        let Ok(state) = state.complete() else { return false };
        if let Some(received) = &mut self.received {
            received.complete = Some(cx.now());
        }
        self.memory = Memory::Whole(Whole::new(Arc::new(state), at, roster, Tail::new(at)));
        self.know_term(at.term);
        self.rely_on_all();
        self.reach_floor(cx);
        true
    }

    /// For a store: the snapshot that comes, or has just come.
    pub fn received(&self) -> Option<&Received<M>> {
        self.received.as_ref()
    }

    /// A snapshot that was complete long ago is saved.
    pub(crate) fn forget_received(&mut self, cx: &Cx<'_, M>) {
        let heartbeat = self.leases(cx.config()).heartbeat;
        let is_over = |complete: Time| complete + heartbeat <= cx.now();
        self.received.take_if(|received| received.complete.is_some_and(is_over));
    }

    /// G5: has it the log again that it once had?
    pub(crate) fn reach_floor(&mut self, cx: &mut Cx<'_, M>) {
        if self.floor > Position::ZERO && self.whole().is_some() && self.last() >= self.floor {
            self.floor = Position::ZERO;
            cx.emit(Output::Recovered);
            self.rely_on_state();
        }
    }
}

fn first_part<M: Machine>() -> Place<M> {
    Place::Part { at: Position::ZERO, cursor: M::Cursor::default() }
}

impl<M: Machine> Fetching<M> {
    /// Whether this is the piece, or a snapshot instead of it.
    fn answers(&self, body: &Body<M>) -> bool {
        match (&self.place, body) {
            (Place::After(wanted), Body::Entries { prev, .. }) => wanted == prev,
            (Place::After(wanted), Body::Mismatch { after }) => wanted == after,
            (Place::After(_), Body::Parts { from, .. }) => *from == M::Cursor::default(),
            (Place::Part { at, cursor }, Body::Parts { at: sent, from, .. }) => {
                at == sent && cursor == from || *from == M::Cursor::default()
            }
            (Place::Part { .. }, Body::Entries { .. } | Body::Mismatch { .. }) => false,
        }
    }
}

/// The supplier.
impl<M: Machine> Log<M> {
    /// Sends the piece at a place; or the piece that begins `ahead` bytes later, if there is one.
    pub(crate) fn supply(
        &mut self,
        to: NodeId,
        place: Place<M>,
        (budget, ahead): (u32, u32),
        cx: &mut Cx<'_, M>,
    ) {
        let place = match ahead {
            0 => place,
            ahead => match self.skip(place, ahead as usize) {
                Some(place) => place,
                None => return,
            },
        };
        let (least, most) = cx.config().piece;
        let budget = budget.clamp(least, most.max(least)) as usize;
        let Some(whole) = self.whole() else { return };
        let last = whole.tail.last();
        let body = match place {
            Place::After(position) if whole.tail.has(position) => {
                let entries = whole.tail.after::<M>(position.index, budget).into();
                Body::Entries { prev: position, entries }
            }
            Place::After(position) if position.index >= whole.tail.base().index => {
                Body::Mismatch { after: position }
            }
            Place::After(_) => self.cut_parts(Position::ZERO, M::Cursor::default(), budget, cx),
            Place::Part { at, cursor } => self.cut_parts(at, cursor, budget, cx),
        };
        cx.rule("G5");
        if let Body::Entries { entries, .. } = &body {
            let reached = entries.last().map_or(last, |entry| entry.position);
            self.note_supplied(to, reached, cx.now());
        }
        let beat = self.beat_for(to, cx.now(), cx.config());
        cx.send(to, Msg::Supply { beat, last, body });
    }

    /// Where the piece after one of this size begins. None if there is none: the answer to the request
    /// for the first one says what to do next.
    fn skip(&self, place: Place<M>, bytes: usize) -> Option<Place<M>> {
        match place {
            Place::After(position) => {
                let tail = &self.whole()?.tail;
                let skipped = tail.after::<M>(tail.has(position).then_some(position.index)?, bytes);
                let reached = skipped.last()?.position;
                (reached < tail.last()).then_some(Place::After(reached))
            }
            Place::Part { at, cursor } => {
                let offer = self.offer.as_ref().filter(|offer| offer.at == at)?;
                let (_, next) = offer.state.cut(&cursor, bytes);
                Some(Place::Part { at, cursor: next? })
            }
        }
    }

    /// Parts of the snapshot that was asked for, if it is still there; else the first ones of another.
    fn cut_parts(
        &mut self,
        at: Position,
        cursor: M::Cursor,
        budget: usize,
        cx: &Cx<'_, M>,
    ) -> Body<M> {
        let Some(offer) = self.freeze(cx.now()) else { return Body::Mismatch { after: at } };
        let cursor = if offer.at == at { cursor } else { M::Cursor::default() };
        let (parts, next) = offer.state.cut(&cursor, budget);
        let roster = Box::new(offer.roster.clone());
        Body::Parts { at: offer.at, roster, from: cursor, parts, next }
    }

    /// The snapshot that is offered. One whose next entry is not kept any more is of no use.
    fn freeze(&mut self, now: Time) -> Option<&Snapshot<M>> {
        let Memory::Whole(whole) = &self.memory else { return None };
        let offer = self.offer.take().filter(|offer| whole.tail.has(offer.at));
        let offer = offer.unwrap_or_else(|| Snapshot {
            at: whole.commit,
            roster: whole.roster.clone(),
            state: whole.state.clone(),
            wanted: now,
        });
        Some(self.offer.insert(Snapshot { wanted: now, ..offer }))
    }
}
