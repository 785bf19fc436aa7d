//! A member that serves clients: it replicates their sessions, locks and roles
//! ([coordination](bellwether_coordination)) by the log.
//!
//! # Rules
//! * D1 A member forwards its clients' requests to the coordinator that it follows, and the replies
//!   back to its clients. If it follows none it says so. A leader that does not serve yet keeps what comes
//!   until it does, because its followers announce it before that (D5), and clients ask only once. What is
//!   lost on the way is asked for again by the client.
//! * D2 A serving coordinator makes commands of requests and proposes them (G6). What comes of them,
//!   once they are committed, goes to where the session was last heard of. Commands go in batches:
//!   what comes while some are not committed goes when they are, all at once; but a few may always be
//!   under way, because a request that hands something on must not wait for one that comes.
//! * D3 A session lives for its TTL, by the coordinator's clock, from the last that was heard of its
//!   client. A new coordinator counts from when it began to serve. Then the session is ended, by a
//!   command like any other.
//! * D4 That a session lives is confirmed only while serving, and not once its end was proposed. The client
//!   counts from when it sent what is confirmed, so its own deadline lies before that of this
//!   coordinator, and of any later one.
//! * D5 A new coordinator is announced to all clients, and they ask again for all that is not
//!   answered. A member that neither leads nor follows announces that, too, so that its clients look
//!   for a member that does.
//! * D6 The holder hears first. A session that another ends, or a lock that is taken by force, stays with
//!   its holder at first. The holder's client is told, and from then on the session is not confirmed
//!   (D4). The command that passes on what it holds is proposed when the client has confirmed, by giving
//!   it back or closing the session, or when the client's deadline has passed (D3). A client that was
//!   told is told again whenever it asks. An operator may demand it at once: then the holder may still
//!   be at work when the next one begins, and only tokens help. This is not replicated: a new
//!   coordinator confirms the session again unless its client has heard, and then the client closes it.
//! * D7 Every request in a session carries its key. A request with another key is denied, and changes
//!   nothing: neither where the session's client is, nor when it was last heard of. What an operator
//!   wants shows no key. The member that takes it up has made sure of the operator, and says who it is;
//!   members believe each other.
//! * D8 Clients are served by the limits of the coordinator. It proposes them when it begins to serve, and again when
//!   they change, so that they change at the same entry of the log at all members.
//!
//! Reads look at committed entries only, and checks of tokens are answered only while serving.
//!
//! # Assumes
//! What the log assumes, and clients whose clocks keep to the bound.
//!
//! # Costs
//! One message to each follower and back for a batch of requests; one more of each for clients of a
//! follower.

mod sessions;
mod types;

pub use types::{Config, Conn, Input, Msg, Output, PASSING, Timer};

use crate::event::Event;
use crate::member::{self, Member};
use crate::status::{Stance, Status};
use bellwether_coordination::{Command, Coordination, Reply, Request};
use bellwether_core::{Assumptions, Context, Few, Here, NodeId, Process, Time};
use bellwether_log::{Durable, Index, Log, Position, Term};
use sessions::{Route, Sessions};
use std::collections::BTreeMap;
use std::time::Duration;

/// A member that serves clients.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Service {
    member: Member<Coordination>,
    /// What a coordinator knows of its clients, from when it begins to serve until it stops.
    sessions: Option<Sessions>,
    /// D5: the term of the coordinator that clients were told of; none if they were told that there is
    /// none.
    announced: Option<Term>,
    /// D1: what came for this leader before it began to serve, by the members that sent it.
    early: BTreeMap<NodeId, Vec<(Conn, Request)>>,
}

/// D1: a leader that does not serve yet keeps no more requests than this.
const EARLY_MAX: usize = 16_384;

type Cx<'a> = Context<'a, Service>;

impl Process for Service {
    type Msg = Msg;
    type Timer = Timer;
    type Input = Input;
    type Output = Output;
    type Durable = Durable<Coordination>;
    type Config = Config;

    const ASSUMES: Assumptions = Member::<Coordination>::ASSUMES;

    fn durable(&self) -> Durable<Coordination> {
        self.member.durable()
    }

    fn on_start(&mut self, saved: Option<Durable<Coordination>>, cx: &mut Cx<'_>) {
        self.step(cx, |member, cx| member.on_start(saved, cx));
    }

    fn on_input(&mut self, input: Input, cx: &mut Cx<'_>) {
        match input {
            Input::Member(input) => self.step(cx, |member, cx| member.on_input(input, cx)),
            Input::Requests(requests) => self.hear(cx.me(), requests, cx),
            Input::Reconfigured => self.limit(cx),
            // Who asked has looked first whether it may, and sees what comes of it.
            Input::Change(change, forced) => {
                self.step(cx, |member, cx| _ = member.change(&change, forced, cx));
            }
            Input::ChangeLeases(wanted) => {
                self.step(cx, |member, cx| member.change_leases(wanted, cx));
            }
        }
    }

    fn on_message(&mut self, from: NodeId, msg: Self::Msg, cx: &mut Cx<'_>) {
        match msg {
            Msg::Member(msg) => self.step(cx, |member, cx| member.on_message(from, msg, cx)),
            Msg::Requests(requests) => self.hear(from, requests, cx),
            Msg::Replies { term, commit, replies } => {
                cx.rule("D1");
                self.step(cx, |member, cx| member.hear_commit(from, term, commit, cx));
                cx.emit(Output::Replies(replies));
            }
        }
    }

    fn on_timer(&mut self, timer: Self::Timer, cx: &mut Cx<'_>) {
        match timer {
            Timer::Member(timer) => self.step(cx, |member, cx| member.on_timer(timer, cx)),
            Timer::Sessions => self.end_the_silent(cx),
        }
    }
}

impl Service {
    /// Steps the member, and does what its news demand.
    fn step(
        &mut self,
        cx: &mut Cx<'_>,
        step: impl FnOnce(&mut Member<Coordination>, &mut Context<'_, Member<Coordination>>),
    ) {
        let config = cx.config();
        let news: Few<Event> = cx.part(&config.member, Msg::Member, Timer::Member, |cx| {
            step(&mut self.member, cx);
        });
        for event in news {
            match event {
                Event::Won(term) => self.begin(term, cx),
                Event::Lost(..) => self.close(cx),
                Event::Follows(leader, term) => {
                    self.close(cx);
                    cx.rule("D5");
                    self.announced = Some(term);
                    cx.emit(Output::Coordinator(Some(leader), term));
                }
                _ => {}
            }
            cx.emit(Output::Event(event));
        }
        self.announce_none(cx);
        self.hear_early(cx);
        self.tell(cx);
    }

    /// D1: it serves now, or leads no more.
    fn hear_early(&mut self, cx: &mut Cx<'_>) {
        if !self.early.is_empty() && !self.is_about_to_serve() {
            for (via, requests) in std::mem::take(&mut self.early) {
                self.hear(via, requests, cx);
            }
        }
    }

    /// Whether it leads, and has not begun to serve.
    fn is_about_to_serve(&self) -> bool {
        self.sessions.is_none() && self.member.log().leads().is_some()
    }

    /// D5: it does not know a coordinator any more.
    fn announce_none(&mut self, cx: &mut Cx<'_>) {
        if self.sessions.is_none()
            && self.member.leader().is_none()
            && let Some(term) = self.announced.take()
        {
            cx.rule("D5");
            cx.emit(Output::Coordinator(None, term));
        }
    }

    /// D3 and D5: it begins to serve.
    fn begin(&mut self, term: Term, cx: &mut Cx<'_>) {
        let mut sessions = Sessions::default();
        if let Some((_, coordination)) = self.member.state() {
            for (id, session) in coordination.sessions() {
                sessions.expect(*id, Duration::from_millis(session.ttl_ms), cx.now());
            }
        }
        sessions.watch(cx);
        self.sessions = Some(sessions);
        self.propose(vec![begin(term, cx.config())], cx);
        self.announced = Some(term);
        cx.rule("D5");
        cx.emit(Output::Coordinator(Some(cx.me()), term));
    }

    /// D8
    fn limit(&mut self, cx: &mut Cx<'_>) {
        if let Some(term) = self.serving(cx.now())
            && self.sessions.is_some()
        {
            cx.rule("D8");
            self.propose(vec![begin(term, cx.config())], cx);
            self.tell(cx);
        }
    }

    fn close(&mut self, cx: &mut Cx<'_>) {
        if self.sessions.take().is_some() {
            cx.cancel_timer(Timer::Sessions);
        }
    }

    /// D2: proposes these together with those that wait, if it is time. Whether it is.
    fn propose(&mut self, commands: Vec<Command>, cx: &mut Cx<'_>) -> bool {
        let config = cx.config();
        let log = self.member.log();
        let underway = log.takes_entries(cx.now()).then(|| log.underway());
        let Some(sessions) = &mut self.sessions else { return false };
        let Some(commands) = sessions.next_batch(commands, underway) else { return false };
        // A proposal does not change the leader: there are no events.
        let _: Few<Event> = cx.part(&config.member, Msg::Member, Timer::Member, |cx| {
            self.member.propose(commands, cx);
        });
        true
    }

    /// Requests of a member's clients.
    fn hear(&mut self, via: NodeId, requests: Vec<(Conn, Request)>, cx: &mut Cx<'_>) {
        if self.serving(cx.now()).is_some() && self.sessions.is_some() {
            cx.rule("D2");
            let commands = self.take_up(via, requests, cx);
            self.propose(commands, cx);
            return self.tell(cx);
        }
        let kept: usize = self.early.values().map(Vec::len).sum();
        if self.is_about_to_serve() && kept + requests.len() <= EARLY_MAX {
            cx.rule("D1");
            return self.early.entry(via).or_default().extend(requests);
        }
        match self.member.leader() {
            // A follower forwards its own clients' requests, but never what was forwarded to it: each
            // of two members may take the other for the coordinator.
            Some(leader) if leader != cx.me() && via == cx.me() => {
                cx.rule("D1");
                cx.send(leader, Msg::Requests(requests));
            }
            _ => {
                cx.rule("D1");
                let mut conns: Vec<Conn> = requests.into_iter().map(|(conn, _)| conn).collect();
                conns.dedup();
                let replies = conns.into_iter().map(|conn| (conn, Reply::NoCoordinator)).collect();
                self.say(via, replies, cx);
            }
        }
    }

    /// D2: the commands that come of what is wanted. What needs none is answered at once.
    fn take_up(
        &mut self,
        via: NodeId,
        requests: Vec<(Conn, Request)>,
        cx: &mut Cx<'_>,
    ) -> Vec<Command> {
        let at = cx.config().stamp(cx.now());
        let (Some(sessions), Some((_, coordination))) = (&mut self.sessions, self.member.state())
        else {
            return Vec::new();
        };
        let mut commands = Vec::with_capacity(requests.len());
        for (conn, request) in requests {
            let route = Route { via, conn };
            commands.extend(sessions.take_up(route, request, coordination, at, cx.now()));
        }
        commands
    }

    /// Sends and says what there is to tell, and proposes what has waited for that.
    fn tell(&mut self, cx: &mut Cx<'_>) {
        self.tell_committed(cx);
        while self.propose(Vec::new(), cx) {
            // A member that is alone has a majority at once.
            self.tell_committed(cx);
        }
    }

    fn tell_committed(&mut self, cx: &mut Cx<'_>) {
        let committed = self.member.take_committed(cx.now());
        let Some(sessions) = &mut self.sessions else { return };
        let ttl = |id| self.member.state()?.1.sessions().get(&id).map(|session| session.ttl_ms);
        for outcome in committed {
            if let Some(note) = sessions.report(outcome, ttl, cx.now()) {
                cx.emit(Output::Noted(note));
            }
        }
        if let Some((_, coordination)) = self.member.state() {
            for note in sessions.conclude(coordination) {
                cx.rule("D6");
                cx.emit(Output::Noted(note));
            }
        }
        sessions.watch(cx);
        for (via, replies) in sessions.take_replies() {
            self.say(via, replies, cx);
        }
    }

    fn say(&self, via: NodeId, replies: Vec<(Conn, Reply)>, cx: &mut Cx<'_>) {
        if via == cx.me() {
            cx.emit(Output::Replies(replies));
        } else {
            let commit = self.member.state().map_or(Index::ZERO, |(at, _)| at.index);
            let term = self.member.log().leads().unwrap_or_default();
            cx.send(via, Msg::Replies { term, commit, replies });
        }
    }

    /// D3.
    fn end_the_silent(&mut self, cx: &mut Cx<'_>) {
        let (at, now) = (cx.config().stamp(cx.now()), cx.now());
        let serving = self.serving(now).is_some();
        let Some(sessions) = &mut self.sessions else { return };
        if !serving {
            // It has stopped serving, or goes on in a moment.
            return cx.set_timer(Timer::Sessions, cx.config().member.log.leases.heartbeat);
        }
        let commands = sessions.end_the_silent(now, at);
        if !commands.is_empty() {
            cx.rule("D3");
            self.propose(commands, cx);
        }
        self.tell(cx);
    }
}

/// What others may know.
impl Service {
    /// The member.
    pub fn member(&self) -> &Member<Coordination> {
        &self.member
    }

    /// The replicated log.
    pub fn log(&self) -> &Log<Coordination> {
        self.member.log()
    }

    /// The term in which this member serves when its clock shows `now`.
    pub fn serving(&self, now: Time) -> Option<Term> {
        self.member.serving(now)
    }

    /// What the member would say if asked now.
    pub fn status(&self, here: &Here<'_>, config: &Config) -> Status {
        self.member.status(here, &config.member)
    }

    /// What is committed, as far as this member knows, and its position. None while it receives a
    /// snapshot.
    pub fn coordination(&self) -> Option<(Position, &Coordination)> {
        self.member.state()
    }

    /// Whether it leads or follows.
    pub fn stance(&self, here: &Here<'_>, config: &Config) -> Stance {
        self.status(here, config).stance
    }

    /// An operator's wish, as an input.
    pub fn asked(input: member::Input) -> Input {
        Input::Member(input)
    }
}

/// The first command of a term, with the limits by which clients are served from then on. Repeated in its
/// term it changes the limits alone.
fn begin(term: Term, config: &Config) -> Command {
    let Config { limits, on_deadlock, .. } = *config;
    Command::Begin { term: u32::try_from(term.number()).unwrap_or(u32::MAX), limits, on_deadlock }
}

#[cfg(test)]
mod tests;
