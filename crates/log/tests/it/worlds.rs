//! Every run of three members, within bounds: how many terms there may be, what may be asked for, how
//! often a member may crash, how far clocks go. Messages arrive in any order, any number of times or
//! never. `LONG=1` explores more of the worlds that are too large to be explored to their end.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may panic, and tell how far it is"
)]

use crate::machine::List;
use bellwether_check::{
    Action, Channels, Counterexample, Faults, Limits, Model, Plain, Report, Ticks, Timing, Verdict,
    check,
};
use bellwether_core::{
    Assumptions, Cluster, Context, Effect, Group, Invariant, Message, NodeId, Process, Time,
};
use bellwether_log::{
    self as log, Answer, Birth, Change, Config, Durability, Durable, Entry, HardState,
    LeaseSettings, Log, Members, Msg, Output, Payload, Position, Roster, Saved, Tail, Term, Timer,
};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

pub(crate) const TICK: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub(crate) struct Scope {
    pub(crate) config: Config,
    /// Steps that would lead to a term above this are not taken.
    terms: u64,
    /// The timers that fire; the others are late for ever.
    pub(crate) timers: &'static [Timer],
    pub(crate) flaw: Option<Flaw>,
    /// The commands in the state that all have at the beginning.
    pub(crate) commands: Range<u64>,
    /// What a folder is called that was emptied while its member was down, if that happens.
    pub(crate) wiped: Option<Birth>,
    /// P1 has a lease of its own.
    pub(crate) lease_of_p1: Option<Duration>,
    /// Whether members note what happened when.
    pub(crate) notes: bool,
    /// The member list that all have at the beginning, if it was ever changed; and who has voted for P1.
    pub(crate) list: Option<Arc<Members>>,
    pub(crate) voted: &'static [u32],
    /// An entry that these have after that, and that is not committed.
    pub(crate) pending: Option<(Payload<u64>, &'static [u32])>,
    /// A candidate asks for votes before its own is durable (S12).
    pub(crate) asks_early: bool,
    /// Messages of these kinds never arrive.
    pub(crate) lost: &'static [&'static str],
    /// Whether P1 and P2 do not hear each other.
    pub(crate) is_cut: bool,
    /// P1 counts what this learner acknowledges as if it were P2's (against G13).
    pub(crate) counts_learner: Option<NodeId>,
}

impl Scope {
    fn reaches(&self, one: NodeId, other: NodeId) -> bool {
        !self.is_cut || one == id(3) || other == id(3)
    }

    fn config_of(&self, member: NodeId) -> Config {
        let own = self.lease_of_p1.filter(|_| member == id(1));
        let leases = self.config.leases;
        let leases = LeaseSettings { lease: own.unwrap_or(leases.lease), ..leases };
        Config { leases, ..self.config.clone() }
    }
}

/// What a member could do wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// It says that its log is as new as can be (against G3).
    ClaimsANewLog,
    /// It forgets that it was bound before its restart (against G9).
    VotesAtOnce,
    /// It has forgotten what it acknowledged, and votes without a wait (against G9).
    VotesWithoutAWait,
    /// It asks for half of the wait only (against G9).
    WaitsHalf,
    /// It is bound for a lease of its own configuration, and says that it is for what was asked (against G7).
    BindsByItsOwnLease,
    /// After a restart it waits for a lease of its own configuration (against G9).
    ForgetsWhatItGranted,
    /// It counts votes before its own is durable (against S12).
    CountsBeforeItsOwnVote,
    /// It forgets in a crash what it does not know to be committed (against G9).
    LosesEntries,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Probe {
    pub(crate) log: Log<List>,
    /// When it last did something while it served.
    pub(crate) served: Option<Time>,
    /// When it became the leader.
    pub(crate) led: Option<Time>,
    /// Whether it has yielded, and whether nothing came of that.
    pub(crate) yielded: bool,
    pub(crate) failed: bool,
    /// S12: what is durable of the promise while the vote for itself is not.
    promise_on_disk: Option<(Term, Option<NodeId>)>,
    loses_entries: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Wish {
    Log(log::Input),
    Propose(u64),
    Remove(NodeId),
    /// Clocks keep to this bound: an entry like any other (G16).
    ChangeDrift(u32),
    /// Makes these the voters, whatever the rules say (against G12).
    Plant(&'static [u32]),
}

type Cx<'a> = Context<'a, Probe>;
type Step<'s> = dyn FnOnce(&mut Log<List>, &mut Context<'_, Log<List>>) + 's;

impl Probe {
    fn call(&mut self, cx: &mut Cx<'_>, step: Box<Step<'_>>) {
        let config = &cx.config().config_of(cx.me());
        let Scope { terms, timers, flaw, lost, .. } = cx.config();
        let mut after = self.log.clone();
        let mut effects: Vec<Effect<Log<List>>> = Vec::new();
        step(&mut after, &mut Context::new(cx.here(), config, &mut effects));
        let beyond = |effect: &Effect<Log<List>>| matches!(effect, Effect::Emit(Output::Asks(term)) if term.number() > *terms);
        if effects.iter().any(beyond) || after.promise().0.number() > *terms {
            return;
        }
        after.take_outcomes(cx.now());
        if cx.config().asks_early {
            self.ask_early(&after, cx.me(), *flaw);
        }
        if cx.config().notes {
            self.note(&after, &effects, cx.now());
        }
        self.log = after;
        for effect in effects {
            match effect {
                Effect::Send(to, _) if !cx.config().reaches(cx.me(), to) => {}
                Effect::Send(_, msg) if lost.contains(&msg.kind().name) => {}
                Effect::Send(to, mut msg) => {
                    distort(&mut msg, *flaw);
                    cx.send(to, msg);
                }
                Effect::SetTimer(timer, span) if timers.contains(&timer) => {
                    cx.set_timer_within(timer, span);
                }
                Effect::CancelTimer(timer) => cx.cancel_timer(timer),
                Effect::SetTimer(..) | Effect::Emit(_) => {}
            }
        }
    }
}

impl Probe {
    /// S12: a member handles nothing before the save of its last step has ended. A step that only promises
    /// to itself has sent its questions by then.
    fn ask_early(&mut self, after: &Log<List>, me: NodeId, flaw: Option<Flaw>) {
        let before = self.log.promise();
        let entries = |log: &Log<List>| log.written().map(|(_, tail)| tail.last());
        let is_own = after.promise() != before && after.promise().1 == Some(me);
        if is_own && entries(after) == entries(&self.log) {
            self.promise_on_disk = self.promise_on_disk.or(Some(before));
        } else if flaw != Some(Flaw::CountsBeforeItsOwnVote) {
            self.promise_on_disk = None;
        }
    }

    fn note(&mut self, after: &Log<List>, effects: &[Effect<Log<List>>], now: Time) {
        let emits = |what: fn(&Output) -> bool| {
            effects.iter().any(|effect| matches!(effect, Effect::Emit(output) if what(output)))
        };
        if after.serving(now).is_some() {
            self.served = Some(now);
        }
        if emits(|output| matches!(output, Output::Leads(_))) {
            self.led = Some(now);
        }
        self.failed |= self.yielded && emits(|o| matches!(o, Output::HandOverFailed(_)));
        self.yielded |= emits(|output| matches!(output, Output::HandingOver(_)));
    }
}

fn distort(msg: &mut Msg<List>, flaw: Option<Flaw>) {
    // What a follower's clock shows is for those who measure clocks.
    if let Msg::Ack(ack) = msg {
        ack.clock = Time::ZERO;
    }
    match (flaw, msg) {
        (Some(Flaw::ClaimsANewLog), Msg::RequestVote { last, .. }) => *last = Position::new(9, 9),
        (Some(Flaw::VotesWithoutAWait), Msg::Vote { answer: Answer::Yes { after }, .. }) => {
            *after = Duration::ZERO;
        }
        (Some(Flaw::WaitsHalf), Msg::Vote { answer: Answer::Yes { after }, .. }) => *after /= 2,
        _ => {}
    }
}

impl Process for Probe {
    type Msg = Msg<List>;
    type Timer = Timer;
    type Input = Wish;
    type Output = Output;
    type Durable = Durable<List>;
    type Config = Scope;

    const ASSUMES: Assumptions = Log::<List>::ASSUMES;

    fn durable(&self) -> Durable<List> {
        let mut durable = self.log.durable();
        if let Some((promised, vote)) = self.promise_on_disk {
            (durable.hard.promised, durable.hard.vote) = (promised, vote);
        }
        if self.loses_entries
            && let Saved::Whole { commit, tail, .. } = &mut durable.log
        {
            tail.cut_after::<List>(commit.index);
        }
        durable
    }

    fn on_start(&mut self, saved: Option<Durable<List>>, cx: &mut Cx<'_>) {
        let is_first = saved.is_none();
        let config = cx.config();
        let mut saved = saved.unwrap_or_else(|| founded(cx.me(), cx.group(), config));
        self.loses_entries = config.flaw == Some(Flaw::LosesEntries);
        let forgets = is_first || config.flaw == Some(Flaw::VotesAtOnce);
        let (own, voted) = (config.config_of(cx.me()), config.voted);
        let lease = if forgets { Duration::ZERO } else { own.leases.lease };
        let is_wiped = !is_first && config.wiped.is_some();
        if matches!(config.flaw, Some(Flaw::VotesAtOnce | Flaw::ForgetsWhatItGranted)) {
            saved.hard.granted = Duration::ZERO;
        }
        let leases = LeaseSettings { lease, ..own.leases };
        let own = Config { birth: config.wiped, ..own };
        let starting = Config { leases, ..own.clone() };
        let mut effects: Vec<Effect<Log<List>>> = Vec::new();
        let mut inner = Context::new(cx.here(), &starting, &mut effects);
        self.log.on_start(Some(saved).filter(|_| !is_wiped), &mut inner);
        let mut inner = Context::new(cx.here(), &own, &mut effects);
        // P1 already has the vote of P2 for the second term.
        if is_first && cx.me() == id(1) {
            self.log.on_input(log::Input::Campaign { claim: false, appointed: false }, &mut inner);
            for (sure, voter) in [false, true].iter().flat_map(|s| voted.iter().map(|v| (*s, *v))) {
                let answer = Answer::Yes { after: Duration::ZERO };
                let vote = Msg::Vote { term: Term::new(2), sure, answer, birth: Birth::new(1) };
                self.log.on_message(id(voter), vote, &mut inner);
            }
            for effect in effects {
                match effect {
                    Effect::Send(to, msg @ Msg::Append { .. }) if config.reaches(id(1), to) => {
                        cx.send(to, msg);
                    }
                    Effect::SetTimer(Timer::Write, span) => cx.set_timer_within(Timer::Write, span),
                    _ => {}
                }
            }
        }
    }

    fn on_input(&mut self, wish: Wish, cx: &mut Cx<'_>) {
        self.call(
            cx,
            Box::new(|log, cx| match wish {
                Wish::Log(input) => log.on_input(input, cx),
                Wish::Propose(command) => _ = log.propose(vec![command], cx),
                Wish::Remove(member) => _ = log.change(&Change::Remove(member), true, cx),
                Wish::ChangeDrift(drift_ppm) => {
                    let leases = log.leases(cx.config());
                    _ = log.change_leases(LeaseSettings { drift_ppm, ..leases }, cx);
                }
                Wish::Plant(voters) if log.leads().is_some() => {
                    let voters = voters.iter().map(|number| (id(*number), Arc::from("")));
                    log.plant_members(Members { version: 9, ..Members::founded(voters) }, cx);
                }
                Wish::Plant(_) => {}
            }),
        );
    }

    fn on_message(&mut self, from: NodeId, mut msg: Msg<List>, cx: &mut Cx<'_>) {
        let own = self.log.leases(&cx.config().config_of(cx.me())).lease_us();
        match (cx.config().flaw, &mut msg) {
            (Some(Flaw::BindsByItsOwnLease), Msg::Append { beat, .. }) => beat.lease_us = own,
            (Some(Flaw::BindsByItsOwnLease), Msg::Ack(ack)) => ack.lease_us = own,
            _ => {}
        }
        let is_miscounted = cx.config().counts_learner == Some(from) && matches!(msg, Msg::Ack(_));
        let from = if is_miscounted { id(2) } else { from };
        self.call(cx, Box::new(|log, cx| log.on_message(from, msg, cx)));
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_>) {
        self.call(cx, Box::new(|log, cx| log.on_timer(timer, cx)));
    }
}

/// What all have at the beginning: the first entry of a first term is committed and known to all, and
/// P2 has voted for P1 in the second.
fn founded(me: NodeId, group: &Group, scope: &Scope) -> Durable<List> {
    let (birth, commit) = (Birth::new(1), Position::new(1, 1));
    let births = group.ring().iter().map(|id| (*id, birth)).collect();
    let roster = Roster { births, members: scope.list.clone(), ..Roster::default() };
    let has_voted = scope.voted.contains(&me.number());
    let state = Arc::new(List { commands: scope.commands.clone().collect() });
    let mut tail = Tail::new(commit);
    if let Some((entry, _)) = scope.pending.as_ref().filter(|(_, who)| who.contains(&me.number())) {
        let (position, payload) = (Position::new(1, 2), entry.clone());
        tail.push::<List>(Arc::new(Entry { position, payload }));
    }
    let log = Saved::Whole { state, commit, roster, tail };
    let hard = HardState {
        birth,
        starts: 0,
        promised: Term::new(if has_voted { 2 } else { 1 }),
        vote: has_voted.then_some(id(1)),
        longest_ttl_ms: 0,
        floor: Position::ZERO,
        lost: false,
        keeps_log: true,
        granted: Duration::ZERO,
    };
    Durable { hard, log }
}

pub(crate) fn id(number: u32) -> NodeId {
    NodeId::new(number)
}

pub(crate) const CAMPAIGN: Wish =
    Wish::Log(log::Input::Campaign { claim: false, appointed: false });
pub(crate) const HAND_OVER: Wish =
    Wish::Log(log::Input::HandOver { to: NodeId::new(2), appointed: false });
pub(crate) const CRASH: Faults = Faults { crashes: 1, recoveries: 1, losses: 0, duplicates: 0 };

/// Clocks stand still and no lease binds: any order of votes, entries and crashes.
pub(crate) fn timeless(terms: u64) -> Model<Probe> {
    let config = Config { piece: (1_000_000, 1_000_000), ..Config::new(TICK, Duration::ZERO, 0) };
    let config = Config { stall: Some(TICK), ..config };
    let timers = &[Timer::Write];
    model(scope(config, terms, timers), Timing::Asynchronous, None)
}

/// Clocks that go on for a while, and come a tick apart; a lease of three ticks, of which the leader
/// relies on one.
pub(crate) fn timed(terms: u64, horizon: Ticks) -> Model<Probe> {
    let config = Config { piece: (1_000_000, 1_000_000), ..Config::new(TICK, TICK * 3, 500_000) };
    // A heartbeat and a round take no time: timers fire when they like.
    let leases = LeaseSettings { heartbeat: Duration::ZERO, ..config.leases };
    let config = Config { leases, stall: Some(TICK * 100), ..config };
    let timers = &[Timer::Write, Timer::HandOver];
    let timing = Timing::Drifting { tick: TICK, apart: 1 };
    model(scope(config, terms, timers), timing, Some(horizon))
}

/// Requests for pieces never arrive: a log grows only by entries that follow it.
pub(crate) fn without_fetching(mut model: Model<Probe>) -> Model<Probe> {
    model.config.lost = &["FETCH"];
    model
}

pub(crate) fn scope(config: Config, terms: u64, timers: &'static [Timer]) -> Scope {
    Scope {
        config,
        terms,
        timers,
        flaw: None,
        commands: 0..0,
        wiped: None,
        lease_of_p1: None,
        notes: false,
        list: None,
        voted: &[2],
        pending: None,
        asks_early: false,
        lost: &[],
        is_cut: false,
        counts_learner: None,
    }
}

pub(crate) fn model(scope: Scope, timing: Timing, horizon: Option<Ticks>) -> Model<Probe> {
    Model {
        group: Group::numbered(3).unwrap(),
        config: scope,
        timing,
        channels: Channels::Unreliable,
        faults: Faults::default(),
        inputs: Vec::new(),
        sides: Vec::new(),
        invariants: invariants(),
        goal: None,
        referee: None,
        reads_clock: horizon.is_some(),
        clocks: Vec::new(),
        horizon,
        aging: None,
        spent: Some(|probe, _, _, _, msg| is_spent(probe, msg)),
    }
}

/// Whether a message can make no difference any more, whenever it arrives: an answer to what is not
/// asked any more, and never will be, because later questions are about later terms.
/// A promise that a crash may undo does not count (S12).
fn is_spent(probe: &Probe, msg: &Msg<List>) -> bool {
    let log = &probe.log;
    let promised = probe.promise_on_disk.map_or(log.promise().0, |(term, _)| term);
    match msg {
        Msg::Vote { term, sure, .. } => *term <= promised && log.asks() != Some((*term, *sure)),
        Msg::Ack(ack) => {
            let may_lead = log.leads() == Some(ack.term) || log.asks() == Some((ack.term, true));
            ack.term <= promised && !may_lead
        }
        Msg::Refuse { term, .. } => *term <= promised && log.leads() != Some(*term),
        _ => false,
    }
}

fn invariants() -> Vec<Invariant<Probe>> {
    vec![
        Invariant::<Probe>::at_most_one(
            "one-leader",
            "a term has at most one leader",
            |_, probe| probe.log.leads().map(|term| term.number()),
        ),
        Invariant::<Probe>::at_most_one_now(
            "one-serving",
            "at most one member serves at any moment",
            |_, probe, now| probe.log.serving(now).map(|_| 0),
        ),
        Invariant::<Probe>::whole(
            "nothing-lost",
            "a leader has everything that was committed in its term or before",
            |cluster| {
                pairs(cluster).all(|(leader, other)| {
                    let Some((commit, _)) = other.state() else { return true };
                    let is_later = leader.leads().is_some_and(|term| commit.term <= term);
                    !is_later || has_all_of(leader, other)
                })
            },
        ),
        Invariant::<Probe>::whole(
            "agreement",
            "two members that have committed an index have committed the same entry",
            |cluster| {
                pairs(cluster).all(|(one, other)| {
                    let (Some((here, _)), Some((there, _))) = (one.state(), other.state()) else {
                        return true;
                    };
                    here.index > there.index || has_all_of(other, one)
                })
            },
        ),
    ]
}

/// Whether a log has everything that another member knows to be committed: the entry if it is kept, and
/// what came of it if a snapshot stands for it.
pub(crate) fn has_all_of(log: &Log<List>, other: &Log<List>) -> bool {
    let (Some((_, tail)), Some((_, state))) = (log.written(), log.state()) else { return false };
    let Some((commit, committed)) = other.state() else { return true };
    match commit.index < tail.base().index {
        true => state.commands.starts_with(&committed.commands),
        false => tail.has(commit),
    }
}

pub(crate) fn pairs<'a>(
    cluster: &'a Cluster<'_, Probe>,
) -> impl Iterator<Item = (&'a Log<List>, &'a Log<List>)> {
    let live = cluster.live;
    live.iter().flat_map(move |(_, a)| live.iter().map(move |(_, b)| (&a.log, &b.log)))
}

/// How many states are looked at.
fn most() -> u64 {
    if std::env::var_os("LONG").is_some() { 100_000_000 } else { 600_000 }
}

fn explore(name: &str, model: &Model<Probe>, states: u64) -> Verdict {
    let report = check(model, limits(states), &mut |_| {});
    let is_proved = report.verdict == Verdict::Proved;
    eprintln!("{name}: {:?}, finished {is_proved}", report.progress);
    report.verdict
}

/// Our invariants look at members, and at no message.
fn limits(states: u64) -> Limits {
    let limits = Limits { threads: 2, memory: 6 << 30, ..Limits::default() };
    Limits { states, members_only: true, ..limits }
}

/// Explores a world with and without what may be left out because no invariant looks at messages: each member has the
/// same states, and the same is found, by fewer steps.
pub(crate) fn compare(model: &Model<Probe>) {
    let all = Limits { members_only: false, ..limits(10_000_000) };
    let [fewer, all] = [limits(10_000_000), all].map(|limits| check(model, limits, &mut |_| {}));
    let found = |report: &Report| match &report.verdict {
        Verdict::Violated(found) => Some(found.breach.name),
        Verdict::Proved => None,
        Verdict::Unfinished(limit) => panic!("{limit:?}"),
    };
    assert_eq!(found(&fewer), found(&all));
    assert!(fewer.progress.steps < all.progress.steps, "{:?} {:?}", fewer.progress, all.progress);
    if found(&all).is_none() {
        assert_eq!(fewer.progress.local_states, all.progress.local_states);
    }
}

/// Explores all of it.
pub(crate) fn prove(name: &str, model: &Model<Probe>) {
    match explore(name, model, most()) {
        Verdict::Proved => {}
        Verdict::Violated(found) => panic!("{name}: {}", tell(model, &found)),
        Verdict::Unfinished(limit) => panic!("{name}: {limit:?}"),
    }
}

pub(crate) fn refute(name: &str, model: &Model<Probe>) -> &'static str {
    // It ends with what it finds.
    match explore(name, model, most().max(10_000_000)) {
        Verdict::Violated(found) => found.breach.name,
        other => panic!("{name}: {other:?}"),
    }
}

fn tell(model: &Model<Probe>, found: &Counterexample) -> String {
    let mut plain = Plain { model };
    let mut world = plain.start();
    let mut lines = vec![format!("{:?}", found.breach)];
    for action in &found.stem {
        lines.push(match *action {
            Action::Deliver { to, at } => {
                let flight = &world.inboxes[usize::from(to)].flights[usize::from(at)];
                format!("place {to} gets {} from place {}", flight.msg, flight.from)
            }
            other => format!("{other:?}"),
        });
        world.step(&mut plain, *action);
    }
    lines.join("\n")
}

/// P1 leads, and P2 campaigns.
pub(crate) fn two_campaign() -> Vec<Vec<Wish>> {
    vec![vec![], vec![CAMPAIGN], vec![]]
}

/// Members keep their logs in memory only, and clients rely for ever on what is in it.
pub(crate) fn in_memory() -> Model<Probe> {
    let mut model = timeless(3);
    (model.config.config.durability, model.config.commands) = (Durability::Memory, 0..1);
    Model { inputs: two_campaign(), faults: CRASH, ..model }
}
