//! Locks as clients see them: an [`Object`] for a program that records requests for locks.
//!
//! It is what a coordinator's locks claim to be, told once more and as simply as possible: holders and
//! a queue for each lock, requests in the order of coming, all of a request's locks at once or none,
//! a token with every grant that is larger than all before. That it shares no code with what it
//! judges is on purpose.
//!
//! # What is one operation
//! A request that waits is two. *Asking* puts it into its queues, and is done by the time of the
//! first answer, be it that it waits. That it *holds* is heard later; no client does it, it comes of
//! what others do. So the second one only looks whether it has come to pass.
//!
//! A session may be ended by the cluster, and no client hears when. That is an open operation of its
//! own ([`History::believed`]): it is done at some time after its client has last believed in
//! it, or never. All that the session asked for and has no answer to is open, too.
//!
//! # What is one object
//! By locality each lock could be judged alone, if every request were for one lock. A request for two
//! is one operation on both. Leaving such requests out would be wrong: those who find a lock busy
//! because one of them has it would have no reason. To judge each lock by its part of them would be
//! right but weak: that both were had in the same moment would not be looked at, nor would a queue
//! explain why a free lock is not given away. So locks that are asked for together, directly or by
//! others, are one object, and those objects are judged one by one.

use super::{Effort, Moment, Object, Operation, Verdict, decide};
use std::collections::{BTreeMap, BTreeSet};

/// A session, by any number that no other one has.
pub type Session = u64;

/// A request, by its place in a history.
pub type Request = usize;

/// How a lock is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// By one alone.
    Exclusive,
    /// Together with others that share it.
    Shared,
    /// This many permits.
    Permits {
        /// How many it takes.
        take: u32,
        /// How many there are.
        of: u32,
    },
}

/// A request for locks.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Asked {
    session: Session,
    /// Locks by number, each once.
    wants: Vec<(usize, Mode)>,
    wait: bool,
    /// Whether it was heard that it waits. Then it did so when it came.
    waited: bool,
    /// What it was granted by, as far as anybody has heard.
    token: Option<u64>,
}

impl Asked {
    fn mode(&self, lock: usize) -> Option<Mode> {
        self.wants.iter().find(|(name, _)| *name == lock).map(|(_, mode)| *mode)
    }
}

/// What is done to locks, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Op {
    /// The request takes its place, or what it wants.
    Ask(Request),
    /// It holds what it wants.
    Holds(Request),
    /// It does not wait, and this lock is not free for it.
    Busy(Request, usize),
    /// The session has this lock, or waits for it.
    Already(Session, usize),
    /// It waits, and stops so: it would wait for ever.
    Abort(Request),
    /// It is not to wait any longer. Whether it did not hold yet, if that is known.
    GiveUp(Request, Option<bool>),
    /// What it holds is given back.
    Release(Request),
    /// The session ends, and gives back all it has. Whether a client has heard of it.
    End(Session, bool),
    /// Whether the request's token is one by which something is held, if the answer is known.
    Check(Request, Option<bool>),
}

/// The state of locks.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Table {
    /// By lock: who holds it, and who waits for it in the order of coming.
    locks: BTreeMap<usize, (BTreeSet<Request>, Vec<Request>)>,
    /// The last token, at least.
    token: u64,
    /// Requests that were given up before they came.
    given_up: BTreeSet<Request>,
    /// Sessions that have ended.
    ended: BTreeSet<Session>,
}

impl Table {
    fn holds(&self, request: Request) -> bool {
        self.locks.values().any(|(holders, _)| holders.contains(&request))
    }

    fn waits(&self, request: Request) -> bool {
        self.locks.values().any(|(_, queue)| queue.contains(&request))
    }

    fn is_first(&self, lock: usize, request: Request) -> bool {
        self.locks.get(&lock).is_some_and(|(_, queue)| queue.first() == Some(&request))
    }
}

/// The requests of a history, which states speak of by number; and the tokens that were heard of those
/// that are judged together, in order.
struct Locks<'a>(&'a [Asked], Vec<u64>);

impl Object for Locks<'_> {
    type State = Table;
    type Op = Op;

    fn start(&self) -> Table {
        Table::default()
    }

    fn step(&self, table: &Table, op: &Op) -> Option<Table> {
        let session = match *op {
            // Any client may ask, at any time.
            Op::Check(request, held) => {
                let fits = held.is_none_or(|held| held == table.holds(request));
                return fits.then(|| table.clone());
            }
            Op::Already(session, _) | Op::End(session, _) => session,
            Op::Ask(request)
            | Op::Holds(request)
            | Op::Busy(request, _)
            | Op::Abort(request)
            | Op::GiveUp(request, _)
            | Op::Release(request) => self.0[request].session,
        };
        if table.ended.contains(&session) {
            return None;
        }
        match *op {
            Op::Holds(request) => table.holds(request).then(|| table.clone()),
            Op::Busy(request, lock) => {
                let mode = self.0[request].mode(lock)?;
                (!self.is_free(table, lock, mode)).then(|| table.clone())
            }
            Op::Already(session, lock) => {
                let (holders, queue) = table.locks.get(&lock)?;
                let its = |request: &Request| self.0[*request].session == session;
                (holders.iter().any(its) || queue.iter().any(its)).then(|| table.clone())
            }
            Op::Ask(request) => self.ask(table.clone(), request),
            Op::Abort(request) => {
                table.waits(request).then(|| table.clone()).and_then(|t| self.remove(t, request))
            }
            Op::Release(request) => {
                table.holds(request).then(|| table.clone()).and_then(|t| self.remove(t, request))
            }
            Op::GiveUp(request, done) => self.give_up(table.clone(), request, done),
            Op::End(session, heard) => self.end(table.clone(), session, heard),
            Op::Check(..) => None,
        }
    }

    fn only_looks(&self, op: &Op) -> bool {
        matches!(
            op,
            Op::Holds(_)
                | Op::Busy(..)
                | Op::Already(..)
                | Op::Check(..)
                | Op::GiveUp(_, Some(false))
        )
    }
}

impl Locks<'_> {
    /// Whether a lock can be had like this beside those who hold it.
    fn admits(&self, table: &Table, lock: usize, mode: Mode) -> bool {
        let Some((holders, _)) = table.locks.get(&lock) else { return true };
        let mut held = holders.iter().filter_map(|request| self.0[*request].mode(lock));
        match mode {
            Mode::Exclusive => holders.is_empty(),
            Mode::Shared => held.all(|mode| mode == Mode::Shared),
            Mode::Permits { take, of } => {
                let taken = |mode| if let Mode::Permits { take, .. } = mode { take } else { of };
                held.map(taken).sum::<u32>() + take <= of
            }
        }
    }

    /// Whether it is had at once by one who comes now.
    fn is_free(&self, table: &Table, lock: usize, mode: Mode) -> bool {
        let queued = table.locks.get(&lock).is_some_and(|(_, queue)| !queue.is_empty());
        !queued && self.admits(table, lock, mode)
    }

    fn ask(&self, mut table: Table, request: Request) -> Option<Table> {
        let Asked { wants, wait, waited, token, .. } = &self.0[request];
        if table.given_up.remove(&request) {
            // It comes too late.
            return token.is_none().then_some(table);
        }
        if !wait && !wants.iter().all(|(lock, mode)| self.is_free(&table, *lock, *mode)) {
            return token.is_none().then_some(table);
        }
        for (lock, _) in wants {
            table.locks.entry(*lock).or_default().1.push(request);
        }
        self.grant(table).filter(|table| !waited || table.waits(request))
    }

    fn give_up(&self, mut table: Table, request: Request, done: Option<bool>) -> Option<Table> {
        let waits = table.waits(request);
        match done {
            Some(false) => (!waits).then_some(table),
            _ if waits => self.remove(table, request),
            Some(true) if table.holds(request) => None,
            Some(true) => {
                table.given_up.insert(request);
                Some(table)
            }
            // If it never comes, that is as if it had never been asked for.
            None => Some(table),
        }
    }

    fn end(&self, mut table: Table, session: Session, heard: bool) -> Option<Table> {
        let stays = |request: &Request| self.0[*request].session != session;
        let mut all = table.locks.values().flat_map(|(holders, queue)| holders.iter().chain(queue));
        if !heard && all.all(stays) {
            // If it asks for nothing more, that is as if it had not ended.
            return Some(table);
        }
        for (holders, queue) in table.locks.values_mut() {
            holders.retain(stays);
            queue.retain(stays);
        }
        table.given_up.retain(stays);
        table.ended.insert(session);
        self.grant(table)
    }

    /// Takes a request out of all that it holds or waits for.
    fn remove(&self, mut table: Table, request: Request) -> Option<Table> {
        for (holders, queue) in table.locks.values_mut() {
            holders.remove(&request);
            queue.retain(|waiting| *waiting != request);
        }
        self.grant(table)
    }

    /// Grants the request that is first in all its queues, until nothing can be given. If a
    /// token is known, it is larger than all before, and none that comes later may be smaller: so it
    /// is the next one that is known. Those who can be given something at the same time want
    /// different locks; who of them comes first is said by their tokens alone.
    fn grant(&self, mut table: Table) -> Option<Table> {
        while let Some(request) = self.grantable(&table) {
            let Asked { wants, token, .. } = &self.0[request];
            table.token = match *token {
                Some(token) => {
                    let before = self.1.partition_point(|known| *known <= table.token);
                    self.1.get(before).copied().filter(|next| *next == token)?
                }
                // Some number between the last one and the next.
                None => table.token,
            };
            for (lock, _) in wants {
                let (holders, queue) = table.locks.entry(*lock).or_default();
                queue.remove(0);
                holders.insert(request);
            }
        }
        table.locks.retain(|_, (holders, queue)| !holders.is_empty() || !queue.is_empty());
        Some(table)
    }

    fn grantable(&self, table: &Table) -> Option<Request> {
        let first = table.locks.values().filter_map(|(_, queue)| queue.first().copied());
        let can = |request: &Request| {
            let can = |(lock, mode): &(usize, Mode)| {
                table.is_first(*lock, *request) && self.admits(table, *lock, *mode)
            };
            self.0[*request].wants.iter().all(can)
        };
        first.filter(can).min_by_key(|request| self.0[*request].token)
    }
}

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It does not wait, and this lock was not free.
    Busy(usize),
    /// Its session has this lock, or waits for it.
    Already(usize),
    /// It would have waited for ever.
    Deadlock,
    /// Its client did not want it any longer. That is an operation of its own.
    GivenUp,
}

/// What clients asked of locks, and what they heard. It is written down in the order of time.
#[derive(Clone, Debug, Default)]
pub struct History {
    asked: Vec<Asked>,
    operations: Vec<Operation<Op>>,
    /// By request: the operation of asking.
    asking: Vec<usize>,
    /// By session: the operation of its end.
    ends: BTreeMap<Session, usize>,
}

/// A history that no locks can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// What is wrong, in words.
    pub text: String,
    /// Whether it is only that the search was given up.
    pub undecided: bool,
}

impl History {
    /// A session asks for locks, by their numbers.
    pub fn asks(
        &mut self,
        session: Session,
        wants: Vec<(usize, Mode)>,
        wait: bool,
        at: Moment,
    ) -> Request {
        let request = self.asked.len();
        self.asked.push(Asked { session, wants, wait, waited: false, token: None });
        let asking = self.add(Op::Ask(request), at);
        self.asking.push(asking);
        request
    }

    /// It is heard that a request waits.
    pub fn waits(&mut self, request: Request, at: Moment) {
        self.asked[request].waited = true;
        self.operations[self.asking[request]].heard.get_or_insert(at);
    }

    /// It is heard that a request was granted.
    pub fn granted(&mut self, request: Request, token: u64, at: Moment) {
        let asking = &mut self.operations[self.asking[request]];
        asking.heard.get_or_insert(at);
        let asked = asking.asked;
        self.asked[request].token = Some(token);
        self.operations.push(Operation { op: Op::Holds(request), asked, heard: Some(at) });
    }

    /// It is heard that a request was refused.
    pub fn refused(&mut self, request: Request, why: Refused, at: Moment) {
        let asking = &mut self.operations[self.asking[request]];
        let asked = asking.asked;
        match why {
            Refused::Busy(lock) => (asking.op, asking.heard) = (Op::Busy(request, lock), Some(at)),
            Refused::Already(lock) => {
                let session = self.asked[request].session;
                (asking.op, asking.heard) = (Op::Already(session, lock), Some(at));
            }
            Refused::Deadlock => {
                asking.heard.get_or_insert(at);
                self.operations.push(Operation { op: Op::Abort(request), asked, heard: Some(at) });
            }
            // It may never have come.
            Refused::GivenUp => {}
        }
    }

    /// What a request holds is to be given back.
    pub fn releases(&mut self, request: Request, at: Moment) -> usize {
        self.add(Op::Release(request), at)
    }

    /// A request is not to wait any longer.
    pub fn gives_up(&mut self, request: Request, at: Moment) -> usize {
        self.add(Op::GiveUp(request, None), at)
    }

    /// It is asked whether a request that was granted still holds, by its token.
    pub fn checks(&mut self, request: Request, at: Moment) -> usize {
        self.add(Op::Check(request, None), at)
    }

    /// It is heard whether it does. Only the first answer counts.
    pub fn checked(&mut self, operation: usize, held: bool, at: Moment) {
        let Operation { op, heard, .. } = &mut self.operations[operation];
        if let (Op::Check(_, result @ None), None) = (op, &heard) {
            (*result, *heard) = (Some(held), Some(at));
        }
    }

    /// It is heard that this is done; or, for a request that was to be given up, that it did not wait.
    pub fn answered(&mut self, operation: usize, done: bool, at: Moment) {
        let operation = &mut self.operations[operation];
        operation.heard = Some(at);
        if let Op::GiveUp(_, result) = &mut operation.op {
            *result = Some(done);
        }
    }

    /// A client still believes in a session. Its end comes later, if it comes.
    pub fn believed(&mut self, session: Session, at: Moment) {
        match self.ends.get(&session) {
            Some(end) => self.operations[*end].asked = at,
            None => {
                let end = self.add(Op::End(session, false), at);
                self.ends.insert(session, end);
            }
        }
    }

    /// It is heard that a session has ended.
    pub fn ended(&mut self, session: Session, at: Moment) {
        if let Some(end) = self.ends.get(&session) {
            self.operations[*end].heard.get_or_insert(at);
            self.operations[*end].op = Op::End(session, true);
        }
    }

    fn add(&mut self, op: Op, at: Moment) -> usize {
        self.operations.push(Operation { op, asked: at, heard: None });
        self.operations.len() - 1
    }

    /// How many requests were granted.
    pub fn grants(&self) -> usize {
        self.asked.iter().filter(|asked| asked.token.is_some()).count()
    }

    /// Whether all of it can have happened, for each object in this many steps; and what it took to find
    /// out, in all and for the one that took most.
    ///
    /// # Errors
    /// If it cannot have happened, or if that was not found out.
    pub fn check(&self, most: u64) -> Result<(Effort, u64), Contradiction> {
        let (mut all, mut longest) = (Effort::default(), 0);
        for part in self.parts() {
            let (verdict, effort) = decide(&self.locks(&part), &part, most);
            all.operations += effort.operations;
            all.steps += effort.steps;
            longest = longest.max(effort.steps);
            match verdict {
                Verdict::Possible { .. } => {}
                Verdict::Undecided => {
                    let all: Vec<String> = part.iter().map(|one| self.tell(one)).collect();
                    let text = format!("undecided after {most} steps:\n  {}", all.join("\n  "));
                    return Err(Contradiction { text, undecided: true });
                }
                Verdict::Impossible { order, state, stuck } => {
                    let told = |places: &[usize]| {
                        let lines = places.iter().map(|place| self.tell(&part[*place]));
                        lines.collect::<Vec<_>>().join("\n  ")
                    };
                    let (done, stuck) = (told(&order), told(&stuck));
                    let text =
                        format!("after\n  {done}\nin {state:?}\nnone leads on of\n  {stuck}");
                    return Err(Contradiction { text, undecided: false });
                }
            }
        }
        Ok((all, longest))
    }

    fn locks(&self, part: &[Operation<Op>]) -> Locks<'_> {
        let token = |operation: &Operation<Op>| match operation.op {
            Op::Ask(request) => self.asked[request].token,
            _ => None,
        };
        let mut tokens: Vec<u64> = part.iter().filter_map(token).collect();
        tokens.sort_unstable();
        Locks(&self.asked, tokens)
    }

    fn tell(&self, operation: &Operation<Op>) -> String {
        let Operation { op, asked, heard } = operation;
        let heard = heard.map_or("?".to_owned(), |at| at.to_string());
        let request = match op {
            Op::Ask(request) => format!(" {:?}", self.asked[*request]),
            _ => String::new(),
        };
        format!("{asked}..{heard} {op:?}{request}")
    }

    /// The operations of each object. Those that cannot matter are left out: the end of a session that
    /// asked for nothing there.
    fn parts(&self) -> Vec<Vec<Operation<Op>>> {
        let object = self.objects();
        let object_of = |lock: &usize| object.get(lock).copied().unwrap_or(*lock);
        let first = |request: &Request| self.asked[*request].wants.first().map(|(lock, _)| *lock);
        let mut parts: BTreeMap<usize, Vec<Operation<Op>>> = BTreeMap::new();
        let mut sessions: BTreeSet<(usize, Session)> = BTreeSet::new();
        for operation in &self.operations {
            let lock = match &operation.op {
                Op::End(..) => continue,
                Op::Already(_, lock) | Op::Busy(_, lock) => Some(*lock),
                Op::Ask(request)
                | Op::Holds(request)
                | Op::Abort(request)
                | Op::GiveUp(request, _)
                | Op::Check(request, _)
                | Op::Release(request) => first(request),
            };
            let Some(part) = lock.map(|lock| object_of(&lock)) else { continue };
            if let Op::Ask(request) = operation.op {
                sessions.insert((part, self.asked[request].session));
            }
            parts.entry(part).or_default().push(operation.clone());
        }
        for (part, session) in sessions {
            let end = self.ends.get(&session).map(|end| self.operations[*end].clone());
            parts.entry(part).or_default().extend(end);
        }
        parts.into_values().collect()
    }

    /// For each lock, the smallest one that it makes one object with.
    fn objects(&self) -> BTreeMap<usize, usize> {
        let mut object = BTreeMap::new();
        for Asked { wants, .. } in &self.asked {
            let of = |lock: &usize| object.get(lock).copied().unwrap_or(*lock);
            let all: BTreeSet<usize> = wants.iter().map(|(lock, _)| of(lock)).collect();
            let Some(least) = all.first().copied() else { continue };
            for (lock, _) in wants {
                object.entry(*lock).or_insert(least);
            }
            object.values_mut().filter(|of| all.contains(of)).for_each(|of| *of = least);
        }
        object
    }
}
