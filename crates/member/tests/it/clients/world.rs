//! Members and users of them as processes of one simulation. The users come first in the group, so
//! that the strongest process is a member.

use super::user::{LOCKS, User};
use bellwether_coordination::{
    Answer, Ask, Coordination, Mode, Number, Outcome, Refusal, Reply, Request, SessionId,
};
use bellwether_core::{
    Assumptions, Context, Few, Group, Invariant, Kind, Message, NodeId, Process, Time,
};
use bellwether_member::service::{self, Output};
use bellwether_member::{Durable, Event, Service, Term};
use std::fmt;
use std::time::Duration;

pub(crate) type Site = Service;

/// What is fixed for a run.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) members: Group,
    pub(crate) service: service::Config,
    pub(crate) ttl: Duration,
    pub(crate) drift_ppm: u32,
    pub(crate) seed: u64,
}

/// A member or a user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    #[default]
    Blank,
    Member(Box<Site>),
    User(Box<Person>),
}

/// A user, and the member that it talks to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Person {
    pub(crate) user: User,
    life: u64,
    member: usize,
    pub(crate) quiet: bool,
}

impl Person {
    fn talks_to(&self, config: &Config) -> NodeId {
        let members = config.members.ring();
        members[self.member % members.len()]
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Msg {
    Members(service::Msg),
    Wants(Request),
    Says(Reply),
    Coordinator,
}

impl Message for Msg {
    fn kind(&self) -> Kind {
        match self {
            Msg::Members(msg) => msg.kind(),
            Msg::Wants(_) => Kind::overhead("WANT"),
            Msg::Says(_) => Kind::overhead("SAY"),
            Msg::Coordinator => Kind::overhead("ANNOUNCE"),
        }
    }

    fn weight(&self) -> usize {
        match self {
            Msg::Members(msg) => msg.weight(),
            Msg::Wants(_) | Msg::Says(_) | Msg::Coordinator => 128,
        }
    }
}

impl fmt::Display for Msg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Msg::Members(msg) => msg.fmt(f),
            other => write!(f, "{other:?}"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Timer {
    Member(service::Timer),
    Wake,
    Act,
}

/// What the outside may want.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    /// Of a member.
    Member(bellwether_member::Input),
    /// That users begin nothing new.
    Quiet,
}

/// What is told for the history. Users count their sessions themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Observed {
    Opened(u64, SessionId),
    Asks(u64, Number, Ask),
    Hears(u64, Number, Result<Answer, Refusal>),
    /// A coordinator has ended this session.
    Ended(SessionId),
    /// A user asks, with this number, whether the token of that request is still good.
    Checks(Number, u64, Number),
    /// This member serves.
    Won(Term),
}

impl fmt::Display for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Saved {
    Member(Box<Durable<Coordination>>),
    User(u64),
}

type Cx<'a> = Context<'a, Node>;

impl Process for Node {
    type Msg = Msg;
    type Timer = Timer;
    type Input = Input;
    type Output = Observed;
    type Durable = Saved;
    type Config = Config;

    const ASSUMES: Assumptions = Site::ASSUMES;

    fn durable(&self) -> Saved {
        match self {
            Node::Blank => Saved::User(0),
            Node::Member(site) => Saved::Member(Box::new(site.durable())),
            Node::User(person) => Saved::User(person.life),
        }
    }

    fn on_start(&mut self, saved: Option<Saved>, cx: &mut Cx<'_>) {
        if cx.config().members.contains(cx.me()) {
            *self = Node::Member(Box::default());
            let saved = match saved {
                Some(Saved::Member(durable)) => Some(*durable),
                _ => None,
            };
            return self.member(cx, |site, cx| site.on_start(saved, cx));
        }
        let life = match saved {
            Some(Saved::User(life)) => life + 1,
            _ => 0,
        };
        let Config { seed, ttl, drift_ppm, .. } = *cx.config();
        let user = User::new(cx.me().number(), life, seed, ttl, drift_ppm);
        *self = Node::User(Box::new(Person { user, life, member: 0, quiet: false }));
        cx.set_timer(Timer::Act, Duration::from_millis(1));
    }

    fn on_input(&mut self, input: Input, cx: &mut Cx<'_>) {
        self.look(cx.now());
        match (input, &mut *self) {
            (Input::Member(input), Node::Member(_)) => {
                let input = service::Input::Member(input);
                self.member(cx, |site, cx| site.on_input(input, cx));
            }
            (Input::Quiet, Node::User(person)) => person.quiet = true,
            _ => {}
        }
    }

    fn on_message(&mut self, from: NodeId, msg: Msg, cx: &mut Cx<'_>) {
        self.look(cx.now());
        match (msg, &mut *self) {
            (Msg::Members(msg), Node::Member(_)) => {
                self.member(cx, |site, cx| site.on_message(from, msg, cx));
            }
            (Msg::Wants(request), Node::Member(_)) => {
                let wants = service::Input::Requests(vec![(from.number().into(), request)]);
                self.member(cx, |site, cx| site.on_input(wants, cx));
            }
            (Msg::Says(reply), Node::User(person)) => {
                let mut told = Vec::new();
                let requests = person.user.receive(reply, cx.now(), &mut told);
                self.user(requests, told, cx);
            }
            // A client listens to the member that it talks to.
            (Msg::Coordinator, Node::User(person)) if from == person.talks_to(cx.config()) => {
                let requests = person.user.client.reconnected(cx.now());
                self.user(requests, Vec::new(), cx);
            }
            _ => {}
        }
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_>) {
        self.look(cx.now());
        match (timer, &mut *self) {
            (Timer::Member(timer), Node::Member(_)) => {
                self.member(cx, |site, cx| site.on_timer(timer, cx));
            }
            (Timer::Wake, Node::User(person)) => {
                let (news, mut requests) = person.user.client.wake(cx.now());
                let mut told = Vec::new();
                requests.extend(person.user.hear(news, cx.now(), &mut told));
                // A client that has to ask again may be talking to the wrong member.
                if person.user.draw(2) == 0 {
                    person.member += 1;
                    requests.extend(person.user.client.reconnected(cx.now()));
                }
                self.user(requests, told, cx);
            }
            (Timer::Act, Node::User(person)) => {
                let mut told = Vec::new();
                let requests = person.user.act(person.quiet, cx.now(), &mut told);
                let pause = Duration::from_micros(500 + person.user.draw(60_000));
                cx.set_timer(Timer::Act, pause);
                self.user(requests, told, cx);
            }
            _ => {}
        }
    }
}

impl Node {
    /// Steps a member, and passes on to the users what it says to them.
    fn member(&mut self, cx: &mut Cx<'_>, step: impl FnOnce(&mut Site, &mut Context<'_, Site>)) {
        let Node::Member(site) = self else { return };
        let config = cx.config();
        let Some(here) = cx.here().within(&config.members) else { return };
        let said: Few<Output> =
            cx.part_at(&here, &config.service, Msg::Members, Timer::Member, |cx| step(site, cx));
        for output in said {
            match output {
                Output::Replies(replies) => {
                    for (conn, reply) in replies {
                        let to = NodeId::new(u32::try_from(conn).unwrap_or_default());
                        cx.send(to, Msg::Says(reply));
                    }
                }
                Output::Coordinator(..) => {
                    for id in cx.group().ring() {
                        if !config.members.contains(*id) {
                            cx.send(*id, Msg::Coordinator);
                        }
                    }
                }
                Output::Noted(Outcome::Ended(session, _)) => cx.emit(Observed::Ended(session)),
                Output::Event(Event::Won(term)) => cx.emit(Observed::Won(term)),
                Output::Event(_) | Output::Noted(_) => {}
            }
        }
    }

    /// Sends what a user wants and tells what it has to tell.
    fn user(&mut self, requests: Vec<Request>, told: Vec<Observed>, cx: &mut Cx<'_>) {
        let Node::User(person) = self else { return };
        let to = person.talks_to(cx.config());
        for request in requests {
            cx.send(to, Msg::Wants(request));
        }
        for told in told {
            cx.emit(told);
        }
        match person.user.client.next_wake() {
            Some(at) => cx.set_timer(Timer::Wake, at.since(cx.now())),
            None => cx.cancel_timer(Timer::Wake),
        }
    }

    /// A user looks at its clock before it does anything.
    fn look(&mut self, now: Time) {
        if let Node::User(person) = self {
            person.user.look(now);
        }
    }

    pub(crate) fn person(&self) -> Option<&Person> {
        match self {
            Node::User(person) => Some(person),
            _ => None,
        }
    }

    pub(crate) fn site(&self) -> Option<&Site> {
        match self {
            Node::Member(site) => Some(site),
            _ => None,
        }
    }
}

/// Holds this lock, alone.
fn alone<const LOCK: usize>(_: NodeId, node: &Node, now: Time) -> Option<u64> {
    let whole = |mode| matches!(mode, Mode::Exclusive | Mode::Permits { take: 2, .. });
    node.person()?.user.holds(LOCKS[LOCK], now, whole).map(|_| 0)
}

fn token<const LOCK: usize>(_: NodeId, node: &Node, now: Time) -> Option<u128> {
    node.person()?.user.holds(LOCKS[LOCK], now, |_| true).map(|token| token.0.into())
}

/// Holds this lock alone, or is the user `WHO` and shares it: the two must not be at once.
fn beside<const LOCK: usize, const WHO: u32>(id: NodeId, node: &Node, now: Time) -> Option<u64> {
    let shares = |mode| matches!(mode, Mode::Shared | Mode::Permits { take: 1, .. });
    alone::<LOCK>(id, node, now).or_else(|| {
        let user = &node.person()?.user;
        user.holds(LOCKS[LOCK], now, shares).filter(|_| id == NodeId::new(WHO)).map(|_| 0)
    })
}

/// What must hold at every moment. The simulator watches eight at a time, so each run has one half of
/// them, by its seed.
pub(crate) fn invariants(seed: u64) -> Vec<Invariant<Node>> {
    type Key<T> = fn(NodeId, &Node, Time) -> Option<T>;
    let once = |name, key: Key<u64>| {
        let text = "never two holders whose deadlines have not passed";
        Invariant::at_most_one_now(name, text, key)
    };
    let fenced = |name, key: Key<u128>| Invariant::fenced(name, "tokens only grow", key);
    let mut invariants = vec![
        once("one-holder-a", alone::<0>),
        fenced("tokens-a", token::<0>),
        Invariant::each(
            "nothing-lost",
            "no acknowledged grant is lost, and no session is ended while its client lives",
            |_, node: &Node| node.person().is_none_or(|p| p.user.wronged.is_none()),
        ),
    ];
    invariants.extend(if seed.is_multiple_of(2) {
        [
            once("one-holder-c1", beside::<2, 1>),
            once("one-holder-c2", beside::<2, 2>),
            once("one-holder-c3", beside::<2, 3>),
            once("one-leader", |_, node, now| node.person()?.user.leading(now).map(|_| 0)),
            fenced("tokens-r", |_, node, now| Some(node.person()?.user.leading(now)?.0.into())),
        ]
    } else {
        [
            once("permits-d1", beside::<3, 1>),
            once("permits-d2", beside::<3, 2>),
            once("permits-d3", beside::<3, 3>),
            fenced("tokens-b", token::<1>),
            once("one-serving", |_, node, now| node.site()?.serving(now).map(|_| 0)),
        ]
    });
    invariants
}

/// Whether everything that was asked for is answered, and everything that was held is given back.
/// A candidate may campaign for ever.
pub(crate) fn all_answered<'a>(nodes: impl Iterator<Item = (NodeId, &'a Node)>) -> bool {
    let mut people = nodes.filter_map(|(_, node)| node.person());
    people.all(|person| {
        let mut open = person.user.open.values();
        let answered = open.all(|ask| matches!(ask, Ask::Campaign { .. }));
        person.quiet && answered && person.user.held.is_empty()
    })
}
