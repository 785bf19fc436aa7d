//! A member and what it does for clients: the [duties](bellwether_duties) under the mandate.
//!
//! # Rules
//! * D1 A member passes on what its clients want to the coordinator that it follows, and what that
//!   one says back to them. If it follows nobody it says so. What is lost on the way is asked for
//!   again by the client.
//! * D2 A coordinator with a mandate makes commands of what is wanted and proposes them (M12). What
//!   comes of them, once a majority has them (M13), goes to where the session was last heard of.
//!   Changes go in batches: what comes while some are on their way to a majority goes when they have
//!   arrived, all at once; but a few may always be on their way, for whoever hands something on must not
//!   wait for whoever comes.
//! * D3 A session lives for its TTL, by the coordinator's clock, from the last that was heard of its
//!   client. A new coordinator counts from the moment of its mandate. Then the session is ended, by
//!   a command like any other.
//! * D4 That a session lives is confirmed only while the mandate holds. The client counts from when
//!   it sent what is confirmed, so its own deadline lies before that of this coordinator, and of any
//!   later one.
//! * D5 Whoever coordinates anew is announced to all clients, and they ask again for all that is
//!   not answered.
//!
//! # Assumes
//! What the mandate assumes, and clients whose clocks keep to the bound.
//!
//! # Costs
//! Two messages to each follower and back for a batch of requests, however many are in it; one more
//! of each for clients of a member that does not coordinate.

mod desk;
mod types;

pub use types::{Config, Conn, Input, Msg, Output, Timer};

use crate::event::Event;
use crate::mandate::{Durable, Epoch, Replica, Version};
use crate::member::{self, Member};
use crate::status::{Stance, Status};
use bellwether_core::{Assumptions, Context, Few, Here, NodeId, Process, Time};
use bellwether_duties::{Command, Duties, Reply, Request, Said};
use desk::{Desk, Route};
use std::time::Duration;

impl Replica for Duties {
    type Command = Command;
    type Outcome = Said;

    fn apply(&mut self, command: Command) -> Vec<Said> {
        Duties::apply(self, command)
    }

    /// Clients rely on their sessions.
    fn reliance(&self) -> Duration {
        Duration::from_millis(self.longest_ttl_ms().unwrap_or_default())
    }
}

/// A member with duties.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Steward {
    member: Member<Duties>,
    /// What a coordinator has to know of its clients. There is one only under a mandate.
    desk: Option<Desk>,
}

type Cx<'a> = Context<'a, Steward>;

impl Process for Steward {
    type Msg = Msg;
    type Timer = Timer;
    type Input = Input;
    type Output = Output;
    type Durable = Durable;
    type Config = Config;

    const ASSUMES: Assumptions = Member::<Duties>::ASSUMES;

    fn durable(&self) -> Durable {
        self.member.durable()
    }

    fn on_start(&mut self, saved: Option<Durable>, cx: &mut Cx<'_>) {
        self.step(cx, |member, cx| member.on_start(saved, cx));
    }

    fn on_input(&mut self, input: Input, cx: &mut Cx<'_>) {
        match input {
            Input::Member(input) => self.step(cx, |member, cx| member.on_input(input, cx)),
            Input::Wants(wants) => self.hear(cx.me(), wants, cx),
        }
    }

    fn on_message(&mut self, from: NodeId, msg: Self::Msg, cx: &mut Cx<'_>) {
        match msg {
            Msg::Member(msg) => self.step(cx, |member, cx| member.on_message(from, msg, cx)),
            Msg::Wants(wants) => self.hear(from, wants, cx),
            Msg::Says(replies) => {
                cx.rule("D1");
                cx.emit(Output::Says(replies));
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

impl Steward {
    /// Steps the member, and does what its news demand.
    fn step(
        &mut self,
        cx: &mut Cx<'_>,
        step: impl FnOnce(&mut Member<Duties>, &mut Context<'_, Member<Duties>>),
    ) {
        let config = cx.config();
        let news: Few<Event> = cx.part(&config.member, Msg::Member, Timer::Member, |cx| {
            step(&mut self.member, cx);
        });
        for event in news {
            match event {
                Event::Won(epoch) => self.begin(epoch, cx),
                Event::Lost(..) => self.close(cx),
                Event::Follows(leader, epoch) => {
                    self.close(cx);
                    cx.rule("D5");
                    cx.emit(Output::Coordinator(Some(leader), epoch));
                }
                _ => {}
            }
            cx.emit(Output::Event(event));
        }
        self.tell(cx);
    }

    /// D3 and D5: the mandate is new.
    fn begin(&mut self, epoch: Epoch, cx: &mut Cx<'_>) {
        let mut desk = Desk::default();
        if let Some((_, duties)) = self.member.copy() {
            for (id, session) in duties.sessions() {
                desk.expect(*id, Duration::from_millis(session.ttl_ms), cx.now());
            }
        }
        desk.watch(cx);
        self.desk = Some(desk);
        let Config { limits, on_deadlock, .. } = *cx.config();
        let epoch_of_tokens = u32::try_from(epoch.number()).unwrap_or(u32::MAX);
        let begin = Command::Begin { epoch: epoch_of_tokens, limits, on_deadlock };
        self.propose(vec![begin], cx);
        cx.rule("D5");
        cx.emit(Output::Coordinator(Some(cx.me()), epoch));
    }

    fn close(&mut self, cx: &mut Cx<'_>) {
        if self.desk.take().is_some() {
            cx.cancel_timer(Timer::Sessions);
        }
    }

    /// D2: proposes these together with those that wait, if it is time. Whether it is.
    fn propose(&mut self, commands: Vec<Command>, cx: &mut Cx<'_>) -> bool {
        let config = cx.config();
        let holds = self.holds(cx.now()).is_some();
        let underway = self.member.underway(cx.here(), &config.member);
        let Some(desk) = &mut self.desk else { return false };
        let underway = holds.then_some(underway);
        let Some(commands) = desk.next_batch(commands, underway) else { return false };
        // A proposal changes nothing about who leads: there is no news.
        let _: Few<Event> = cx.part(&config.member, Msg::Member, Timer::Member, |cx| {
            self.member.propose(commands, cx);
        });
        true
    }

    /// Somebody's clients want something.
    fn hear(&mut self, via: NodeId, wants: Vec<(Conn, Request)>, cx: &mut Cx<'_>) {
        if self.holds(cx.now()).is_some() && self.desk.is_some() {
            cx.rule("D2");
            let commands = self.take_up(via, wants, cx);
            self.propose(commands, cx);
            return self.tell(cx);
        }
        match self.member.leader() {
            // Who does not coordinate passes on, but never what was passed on to it: it may be the
            // other's coordinator and the other its own.
            Some(leader) if leader != cx.me() && via == cx.me() => {
                cx.rule("D1");
                cx.send(leader, Msg::Wants(wants));
            }
            _ => {
                cx.rule("D1");
                let mut conns: Vec<Conn> = wants.into_iter().map(|(conn, _)| conn).collect();
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
        wants: Vec<(Conn, Request)>,
        cx: &mut Cx<'_>,
    ) -> Vec<Command> {
        let at = cx.config().stamp(cx.now());
        let (Some(desk), Some((_, duties))) = (&mut self.desk, self.member.copy()) else {
            return Vec::new();
        };
        let mut commands = Vec::with_capacity(wants.len());
        for (conn, request) in wants {
            let route = Route { via, conn };
            commands.extend(desk.take_up(route, request, duties, at, cx.now()));
        }
        commands
    }

    /// Sends and says what there is to tell, and proposes what has waited for that.
    fn tell(&mut self, cx: &mut Cx<'_>) {
        self.tell_what_is_done(cx);
        while self.propose(Vec::new(), cx) {
            // Who is alone has a majority at once.
            self.tell_what_is_done(cx);
        }
    }

    fn tell_what_is_done(&mut self, cx: &mut Cx<'_>) {
        let done = self.member.take_done();
        let Some(desk) = &mut self.desk else { return };
        let ttl = |id| self.member.copy()?.1.sessions().get(&id).map(|session| session.ttl_ms);
        for said in done {
            if let Some(note) = desk.report(said, ttl, cx.now()) {
                cx.emit(Output::Noted(note));
            }
        }
        desk.watch(cx);
        for (via, replies) in desk.take_replies() {
            self.say(via, replies, cx);
        }
    }

    fn say(&self, via: NodeId, replies: Vec<(Conn, Reply)>, cx: &mut Cx<'_>) {
        if via == cx.me() {
            cx.emit(Output::Says(replies));
        } else {
            cx.send(via, Msg::Says(replies));
        }
    }

    /// D3.
    fn end_the_silent(&mut self, cx: &mut Cx<'_>) {
        let (at, now) = (cx.config().stamp(cx.now()), cx.now());
        let holds = self.holds(now).is_some();
        let Some(desk) = &mut self.desk else { return };
        if !holds {
            // It is over, or will go on in a moment.
            return cx.set_timer(Timer::Sessions, cx.config().member.heartbeat);
        }
        let commands = desk.end_the_silent(now, at);
        if !commands.is_empty() {
            cx.rule("D3");
            self.propose(commands, cx);
        }
        self.tell(cx);
    }
}

/// What others may know.
impl Steward {
    /// The member.
    pub fn member(&self) -> &Member<Duties> {
        &self.member
    }

    /// The epoch of the mandate that this member holds when its clock shows `now`.
    pub fn holds(&self, now: Time) -> Option<Epoch> {
        self.member.holds(now)
    }

    /// What the member would say if asked now.
    pub fn status(&self, here: &Here<'_>, config: &Config) -> Status {
        self.member.status(here, &config.member)
    }

    /// This member's copy of what the coordinator keeps for clients, and how new it is. There is
    /// none after a restart until the coordinator has sent one.
    pub fn duties(&self) -> Option<(Version, &Duties)> {
        self.member.copy()
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

#[cfg(test)]
mod tests;
