//! One site: its locks, the transactions that are at home here, and a detector.
//!
//! # Rules
//! * L1 A transaction asks for one lock at a time (LOCK, to the resource's site, with a timestamp
//!   that no other request has). It gets it at once or waits in a queue; then GRANTED comes.
//! * L2 At its end a transaction gives back all its locks (RELEASE); one that waits takes its
//!   request back.
//! * L3 The site where a transaction waits tells the other sites where it holds something (WAITS),
//!   and again when it has ceased to (PROCEEDS), if the detector needs that.
//! * L4 A detector's suspicion is confirmed: all sites that have a part in the cycle, by a resource
//!   or as the home of a transaction, are asked whether their part stands (CONFIRM, CONFIRMED). If all
//!   do, it is a deadlock; if not, the detector is told which edges do not stand.
//! * L5 Of a deadlock the youngest is aborted: its home is told why (ABORT), and if it still waits
//!   by the same request, ends it by L2.
//!
//! # Why a confirmed cycle is real
//! An edge, with its label, stands once and without a break. Each edge of the suspicion stood at
//! some time before CONFIRM was sent, and each stands at some time after it; so when it was sent,
//! all stood at once. That is a deadlock, and it lasts until a transaction in it is aborted.
//!
//! # Assumes
//! FIFO channels that lose and double nothing. A site that crashes forgets its locks: transactions
//! that wait there, or for one at home there, wait for ever.
//!
//! # Costs
//! LOCK, GRANTED and RELEASE are the application's. A confirmation is CONFIRM and CONFIRMED for each
//! other site with a part in the cycle, and an ABORT.

use super::detector::{Detector, DetectorOutput, Event, Survey, Waiter};
use super::locks::{Locks, Request};
use super::names::{Cycle, Edge, Resource, Tx};
use super::output::{How, Output, Refusal};
use super::wire::{Msg, Timer};
use super::workload::{Deed, Jobs};
use bellwether_core::{Assumptions, Call, Context, NodeId, Process, SortedMap, SortedSet};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What a script can ask a site for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Input {
    /// Something with transactions.
    Deed(Deed),
    /// Something that the detector understands.
    Detector(Event),
}

/// What is fixed for the whole run.
#[derive(Clone, Debug)]
pub struct Config<C> {
    /// T.
    pub timeout: Duration,
    /// How jobs are.
    pub jobs: Jobs,
    /// Whether suspicions are confirmed (L4).
    pub confirm: bool,
    /// The detector's.
    pub detector: C,
}

/// A transaction at its home.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Own {
    /// When it began, by the logical clock.
    begun: u64,
    pub(super) held: SortedSet<Resource>,
    /// What it waits for, with the timestamp of the request.
    pub(super) pending: Option<(u64, Resource)>,
    /// The locks that it still wants, the next one last.
    wanted: Vec<Resource>,
    /// Whether it is a job.
    pub(super) job: bool,
}

/// A cycle that is being confirmed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Check {
    cycle: Cycle,
    /// Who has not answered.
    missing: SortedSet<NodeId>,
    /// What does not stand.
    fallen: Vec<Edge>,
}

/// One site.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Site<D> {
    /// The logical clock.
    clock: u64,
    /// Whether it has crashed and come back, and so has forgotten its locks.
    pub(super) reborn: bool,
    pub(super) locks: Locks,
    pub(super) own: SortedMap<Tx, Own>,
    /// How many jobs have begun.
    jobs: u32,
    detector: D,
    /// Cycles that the detector suspects, not looked at yet.
    suspicions: Vec<Cycle>,
    checks: SortedMap<u64, Check>,
    /// How many checks there have been.
    checked: u64,
}

type Cx<'a, D> = Context<'a, Site<D>>;

impl<D: Detector> Process for Site<D> {
    type Msg = Msg<D::Msg>;
    type Timer = Timer<D::Timer>;
    type Input = Input;
    type Output = Output;
    type Durable = D::Durable;
    type Config = Config<D::Config>;

    const ASSUMES: Assumptions = D::ASSUMES;

    fn durable(&self) -> D::Durable {
        self.detector.durable()
    }

    fn on_start(&mut self, saved: Option<D::Durable>, cx: &mut Cx<'_, D>) {
        self.reborn = saved.is_some();
        self.step(cx, Call::Start(saved));
        self.settle(cx);
    }

    fn on_input(&mut self, input: Input, cx: &mut Cx<'_, D>) {
        match input {
            Input::Deed(deed) => {
                if let Err(refusal) = self.perform(deed, cx) {
                    cx.emit(Output::Refused(refusal));
                }
            }
            Input::Detector(event) => self.tell(event, cx),
        }
        self.settle(cx);
    }

    fn on_message(&mut self, from: NodeId, msg: Self::Msg, cx: &mut Cx<'_, D>) {
        match msg {
            Msg::Lock { tx, begun, label, name, elsewhere } => {
                self.asked(name, Request { tx, begun, label, elsewhere }, cx);
            }
            Msg::Granted { tx, label, resource } => self.granted(tx, label, resource, cx),
            Msg::Release { tx } => self.released(tx, cx),
            Msg::Unlock { tx, name } => self.let_go(name, tx, cx),
            Msg::Waits { tx, label } => self.tell(Event::Away(tx, label, from), cx),
            Msg::Proceeds { tx, label } => self.tell(Event::Back(tx, label), cx),
            Msg::Confirm { check, edges } => {
                cx.rule("L4");
                let fallen = self.fallen(&edges, cx.me());
                cx.send(from, Msg::Confirmed { check, fallen });
            }
            Msg::Confirmed { check, fallen } => self.confirmed(from, check, fallen, cx),
            Msg::Abort { label, cycle } => self.sentenced(label, cycle, cx),
            Msg::Detector(msg) => self.step(cx, Call::Message(from, msg)),
        }
        self.settle(cx);
    }

    fn on_timer(&mut self, timer: Self::Timer, cx: &mut Cx<'_, D>) {
        match timer {
            Timer::Next(tx) => self.go_on(tx, cx),
            Timer::GiveUp(tx) => {
                if self.own.get(&tx).is_some_and(|own| own.pending.is_some()) {
                    self.end(tx, How::GaveUp, cx);
                }
            }
            Timer::Detector(timer) => self.step(cx, Call::Timer(timer)),
        }
        self.settle(cx);
    }
}

impl<D: Detector> Site<D> {
    /// The detector.
    pub fn detector(&self) -> &D {
        &self.detector
    }

    /// Does what a script says.
    fn perform(&mut self, deed: Deed, cx: &mut Cx<'_, D>) -> Result<(), Refusal> {
        let named = |number| Tx { number, home: cx.me() };
        match deed {
            Deed::Work => {
                let tx = self.next_job(cx);
                let wanted = cx.config().jobs.locks_of(tx, cx.group());
                self.begin(tx, Own { wanted, job: true, ..Own::default() }, cx);
                self.go_on(tx, cx);
            }
            Deed::Begin(number) if self.own.contains_key(&named(number)) => {
                return Err(Refusal::Begun(named(number)));
            }
            Deed::Begin(number) => self.begin(named(number), Own::default(), cx),
            Deed::Lock(number, resource) => {
                let tx = named(number);
                if !cx.group().contains(resource.site) {
                    return Err(Refusal::NoSite(resource));
                }
                match self.own.get(&tx) {
                    None => self.begin(tx, Own::default(), cx),
                    Some(Own { pending: Some((_, other)), .. }) => {
                        return Err(Refusal::Waits(tx, *other));
                    }
                    Some(own) if own.held.contains(&resource) => {
                        return Err(Refusal::Has(tx, resource));
                    }
                    Some(_) => {}
                }
                self.request(tx, resource, cx);
            }
            Deed::Unlock(number, resource) => self.unlock(named(number), resource, cx)?,
            Deed::Commit(number) => match self.own.get(&named(number)) {
                None => return Err(Refusal::NotBegun(named(number))),
                Some(Own { pending: Some((_, resource)), .. }) => {
                    return Err(Refusal::Waits(named(number), *resource));
                }
                Some(_) => self.end(named(number), How::Committed, cx),
            },
            Deed::Abort(number) if !self.own.contains_key(&named(number)) => {
                return Err(Refusal::NotBegun(named(number)));
            }
            Deed::Abort(number) => self.end(named(number), How::GaveUp, cx),
        }
        Ok(())
    }

    /// A number that no job of any site has.
    fn next_job(&mut self, cx: &Cx<'_, D>) -> Tx {
        let sites = cx.group().len() as u32;
        let number = self.jobs.wrapping_mul(sites).wrapping_add(cx.place() as u32 + 1);
        self.jobs = self.jobs.wrapping_add(1);
        Tx { number, home: cx.me() }
    }

    fn tick(&mut self) -> u64 {
        self.clock = self.clock.saturating_add(1);
        self.clock
    }

    fn begin(&mut self, tx: Tx, own: Own, cx: &mut Cx<'_, D>) {
        let begun = self.tick();
        self.own.insert(tx, Own { begun, ..own });
        cx.emit(Output::Begun(tx));
    }

    /// A job asks for its next lock or, if it has all, ends.
    fn go_on(&mut self, tx: Tx, cx: &mut Cx<'_, D>) {
        let Some(own) = self.own.get_mut(&tx).filter(|own| own.pending.is_none()) else { return };
        match own.wanted.pop() {
            Some(resource) => self.request(tx, resource, cx),
            None => self.end(tx, How::Committed, cx),
        }
    }

    /// L1, at home.
    fn request(&mut self, tx: Tx, resource: Resource, cx: &mut Cx<'_, D>) {
        let label = self.tick();
        let Some(own) = self.own.get_mut(&tx) else { return };
        cx.rule("L1");
        own.pending = Some((label, resource));
        let elsewhere: SortedSet<NodeId> = own.held.iter().map(|held| held.site).collect();
        let elsewhere = elsewhere.into_iter().filter(|site| *site != resource.site).collect();
        let (begun, name) = (own.begun, resource.name);
        if let Some(patience) = cx.config().jobs.patience_of(tx).filter(|_| own.job) {
            cx.set_timer(Timer::GiveUp(tx), patience);
        }
        if resource.site == cx.me() {
            self.asked(name, Request { tx, begun, label, elsewhere }, cx);
        } else {
            cx.send(resource.site, Msg::Lock { tx, begun, label, name, elsewhere });
        }
    }

    /// L1, at the resource's site.
    fn asked(&mut self, name: u32, request: Request, cx: &mut Cx<'_, D>) {
        cx.rule("L1");
        let resource = Resource { site: cx.me(), name };
        self.clock = self.clock.max(request.label);
        let Request { tx, begun, label, .. } = request;
        let elsewhere = request.elsewhere.clone();
        let Some(holder) = self.locks.request(name, request) else {
            self.tell(Event::Holds(name, Some(tx)), cx);
            return self.grant(tx, label, resource, cx);
        };
        cx.emit(Output::Waits { tx, label, resource, holder });
        if D::NEEDS_NOTES {
            self.note(&elsewhere, || Msg::Waits { tx, label }, cx);
        }
        let elsewhere = !elsewhere.is_empty();
        self.tell(Event::Waits(Waiter { tx, begun, label, name, elsewhere }), cx);
    }

    /// L3.
    fn note(&self, sites: &[NodeId], msg: impl Fn() -> Msg<D::Msg>, cx: &mut Cx<'_, D>) {
        for site in sites {
            cx.rule("L3");
            cx.send(*site, msg());
        }
    }

    fn grant(&mut self, tx: Tx, label: u64, resource: Resource, cx: &mut Cx<'_, D>) {
        cx.emit(Output::Granted { tx, resource });
        if tx.home == cx.me() {
            self.granted(tx, label, resource, cx);
        } else {
            cx.send(tx.home, Msg::Granted { tx, label, resource });
        }
    }

    /// A lock has come. If it comes too late, its site has been told, or will be.
    fn granted(&mut self, tx: Tx, label: u64, resource: Resource, cx: &mut Cx<'_, D>) {
        let Some(own) = self.own.get_mut(&tx) else { return };
        if own.pending != Some((label, resource)) {
            return;
        }
        own.pending = None;
        own.held.insert(resource);
        cx.cancel_timer(Timer::GiveUp(tx));
        if own.job {
            let (from, to) = cx.config().jobs.hold;
            cx.set_timer_within(Timer::Next(tx), from..to);
        }
    }

    /// L2, at home.
    fn end(&mut self, tx: Tx, how: How, cx: &mut Cx<'_, D>) {
        let Some(own) = self.own.remove(&tx) else { return };
        cx.rule("L2");
        cx.cancel_timer(Timer::GiveUp(tx));
        cx.cancel_timer(Timer::Next(tx));
        cx.emit(Output::Ended { tx, how });
        let pending = own.pending.map(|(_, resource)| resource);
        let sites: SortedSet<NodeId> = own.held.iter().chain(&pending).map(|r| r.site).collect();
        for site in sites {
            if site == cx.me() {
                self.released(tx, cx);
            } else {
                cx.send(site, Msg::Release { tx });
            }
        }
    }

    /// L2, at a site where the transaction holds something or waits.
    fn released(&mut self, tx: Tx, cx: &mut Cx<'_, D>) {
        cx.rule("L2");
        if let Some(request) = self.locks.withdraw(tx) {
            self.ceased(&request, cx);
        }
        for name in self.locks.held_by(tx) {
            self.let_go(name, tx, cx);
        }
    }

    /// A resource goes to the next in its queue.
    fn let_go(&mut self, name: u32, tx: Tx, cx: &mut Cx<'_, D>) {
        let Some(next) = self.locks.release(name, tx) else { return };
        if let Some(request) = &next {
            self.ceased(request, cx);
        }
        self.tell(Event::Holds(name, next.as_ref().map(|request| request.tx)), cx);
        if let Some(request) = next {
            let resource = Resource { site: cx.me(), name };
            self.grant(request.tx, request.label, resource, cx);
        }
    }

    fn ceased(&mut self, request: &Request, cx: &mut Cx<'_, D>) {
        let Request { tx, label, .. } = *request;
        if D::NEEDS_NOTES {
            self.note(&request.elsewhere, || Msg::Proceeds { tx, label }, cx);
        }
        self.tell(Event::Ceases(tx, label), cx);
    }

    fn unlock(&mut self, tx: Tx, resource: Resource, cx: &mut Cx<'_, D>) -> Result<(), Refusal> {
        let own = self.own.get_mut(&tx).ok_or(Refusal::NotBegun(tx))?;
        if let Some((_, other)) = own.pending {
            return Err(Refusal::Waits(tx, other));
        }
        if !own.held.remove(&resource) {
            return Err(Refusal::HasNot(tx, resource));
        }
        cx.emit(Output::Unlocked { tx, resource });
        if resource.site == cx.me() {
            self.let_go(resource.name, tx, cx);
        } else {
            cx.send(resource.site, Msg::Unlock { tx, name: resource.name });
        }
        Ok(())
    }

    fn tell(&mut self, event: Event, cx: &mut Cx<'_, D>) {
        self.step(cx, Call::Input(event));
    }

    /// Steps the detector.
    fn step(&mut self, cx: &mut Cx<'_, D>, call: Call<D>) {
        let config = &cx.config().detector;
        let detector = &mut self.detector;
        let outputs = cx.part(config, Msg::Detector, Timer::Detector, |cx| call.make(detector, cx));
        for output in outputs {
            match output {
                // Looked at when this step is over: what follows may change the locks again.
                DetectorOutput::Suspects(cycle) => self.suspicions.push(cycle),
                DetectorOutput::Asks => {
                    let survey = self.survey(cx.me());
                    self.tell(Event::Survey(survey), cx);
                }
                DetectorOutput::Election(output) => cx.emit(Output::Election(output)),
            }
        }
    }

    /// All that this site knows.
    fn survey(&self, me: NodeId) -> Survey {
        let waiting = self.own.iter().filter_map(|(tx, own)| Some((*tx, own.pending?.0)));
        let held = |(tx, own): (&Tx, &Own)| {
            let tx = *tx;
            own.held.iter().map(move |resource| (tx, *resource)).collect::<Vec<_>>()
        };
        let holding = self.own.iter().flat_map(held).filter(|(_, resource)| resource.site != me);
        Survey {
            edges: self.locks.edges(me).collect(),
            waiting: waiting.collect(),
            holding: holding.collect(),
        }
    }

    /// Looks after what the detector suspects.
    fn settle(&mut self, cx: &mut Cx<'_, D>) {
        while let Some(cycle) = self.suspicions.pop() {
            if !cx.config().confirm {
                self.condemn(cycle, cx);
                continue;
            }
            cx.rule("L4");
            let mut missing = cycle.sites();
            missing.remove(&cx.me());
            self.checked += 1;
            for site in &missing {
                let edges = cycle.edges().to_vec();
                cx.send(*site, Msg::Confirm { check: self.checked, edges });
            }
            let fallen = self.fallen(cycle.edges(), cx.me());
            self.checks.insert(self.checked, Check { cycle, missing, fallen });
            self.conclude(self.checked, cx);
        }
    }

    /// Those of these edges that do not stand, as far as is known here.
    fn fallen(&self, edges: &[Edge], me: NodeId) -> Vec<Edge> {
        edges.iter().filter(|edge| !self.stands(edge, me)).copied().collect()
    }

    fn stands(&self, edge: &Edge, me: NodeId) -> bool {
        let waits = |own: &Own| own.pending == Some((edge.label, edge.resource));
        let holds = |own: &Own| own.held.contains(&edge.resource);
        (edge.resource.site != me || self.locks.stands(edge))
            && (edge.waiter.home != me || self.own.get(&edge.waiter).is_some_and(waits))
            && (edge.holder.home != me || self.own.get(&edge.holder).is_some_and(holds))
    }

    fn confirmed(&mut self, from: NodeId, number: u64, fallen: Vec<Edge>, cx: &mut Cx<'_, D>) {
        if let Some(check) = self.checks.get_mut(&number) {
            check.missing.remove(&from);
            check.fallen.extend(fallen);
            self.conclude(number, cx);
        }
    }

    /// L4, when all have answered.
    fn conclude(&mut self, number: u64, cx: &mut Cx<'_, D>) {
        if !self.checks.get(&number).is_some_and(|check| check.missing.is_empty()) {
            return;
        }
        let Some(Check { cycle, fallen, .. }) = self.checks.remove(&number) else { return };
        cx.rule("L4");
        if fallen.is_empty() {
            self.condemn(cycle, cx);
        } else {
            cx.emit(Output::Refuted(cycle));
            self.tell(Event::Refuted(fallen), cx);
        }
    }

    /// L5, where the deadlock was found.
    fn condemn(&mut self, cycle: Cycle, cx: &mut Cx<'_, D>) {
        cx.rule("L5");
        cx.emit(Output::Found(cycle.clone()));
        let Edge { waiter, label, .. } = cycle.victim();
        if waiter.home == cx.me() {
            self.sentenced(label, cycle, cx);
        } else {
            cx.send(waiter.home, Msg::Abort { label, cycle });
        }
    }

    /// L5, at the victim's home.
    fn sentenced(&mut self, label: u64, cycle: Cycle, cx: &mut Cx<'_, D>) {
        let victim = cycle.victim().waiter;
        let pending = self.own.get(&victim).and_then(|own| own.pending);
        if pending.is_some_and(|(pending, _)| pending == label) {
            cx.rule("L5");
            self.end(victim, How::Victim(cycle), cx);
        }
    }
}

#[cfg(test)]
#[path = "tests/site.rs"]
mod tests;
