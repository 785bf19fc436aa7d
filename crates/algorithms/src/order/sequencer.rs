//! Total-order broadcast by a sequencer that may crash (the fixed sequencer of Amoeba: Kaashoek and
//! Tanenbaum, "Group communication in the Amoeba distributed operating system", 1991; with views, as
//! of Birman and Joseph, "Exploiting virtual synchrony in distributed systems", 1987).
//!
//! All processes deliver the same messages in the same order: the elected coordinator numbers them.
//! When it or any other process dies, the survivors agree on a [view](crate::views) and on the
//! messages before it. A message without a number is published again.
//!
//! # Rules
//! * TS1 To broadcast: keep the message until it is delivered, and send PUBLISH to the sequencer.
//! * TS2 PUBLISH at the sequencer: give it the next position and send ORDER to all other members.
//!   The messages of one process get their positions in the order in which it published them, so one
//!   that has overtaken another waits; one that comes twice is dropped.
//! * TS3 ORDER: deliver messages by position, without gaps; one that has overtaken another is held
//!   back.
//! * TS4 Now and then tell the sequencer how far messages are delivered here (SEEN). ORDER says how
//!   far they are delivered everywhere; all messages before that are forgotten.
//! * TS5 Uniform order, if it is asked for: tell the sequencer of every ORDER (ACK), and deliver only
//!   what all members have (STABLE).
//! * TS6 When a view ends, stop. The report says how many messages are delivered, and has all that
//!   are not forgotten.
//! * TS7 The next view begins with all messages that any survivor has, up to the first gap. Each member
//!   delivers those that it lacks (under TS5, once all have them) and publishes again what it has
//!   broadcast and not delivered.
//! * TS8 A process that has come back takes part from the next view on. It does not deliver what came
//!   before.
//!
//! # Why it is right
//! In a view one process gives the positions, so each position has one message. What a survivor
//! has delivered stands in its log or is forgotten because all have it, so it is before the first
//! gap, and the next view begins with it where it was. A message that is published again has no
//! position: its sender would have delivered it. The order is causal, too: who publishes has
//! delivered the cause, which has its position by then, or is its sender and has published it
//! before; and TS7 cuts at a gap, so no effect outlives its cause.
//!
//! # Uniformity
//! Without TS5 this is what the textbooks promise: all *survivors* deliver in one order. A sequencer
//! delivers at once what it numbers; if it dies, and its ORDER reaches the others when they have
//! stopped for the next view, it has delivered something that they will deliver later, or never.
//! Under TS5 a member delivers only messages that all have, so the order holds for the dead as well.
//!
//! # Assumes
//! Bounded delays with T above a round trip, and no loss: a process that is silent for T is dead.
//! Messages may overtake each other and arrive twice. At all times a process must live that has been
//! in a view; when all of these have died, those that come back begin with position 1. Under a
//! partition each side goes on by itself, and when it heals one side's order is dropped.
//!
//! # Costs
//! PUBLISH 1 and ORDER n-1 a broadcast; no PUBLISH if the sequencer broadcasts. Delivered after two
//! hops, by the sequencer after one. TS5 adds ACK n-1 and STABLE n-1, and two hops. SEEN is one
//! message of each member in sixteen ORDERs. Reports have what is not known to be everywhere: about
//! sixteen messages and those on the way.

mod msg;
mod numbering;
mod passage;
mod survivor;

pub use msg::{Body, Msg, Timer};
pub use survivor::{Opening, Report};

use super::{ANSWERS, Author, MessageId, Output, Post, Promises, answers, broadcasts};
use crate::cost::{Cost, Kinds, Rank};
use crate::definition::{Algorithm, Definition, Docs, Entry, Settings, Topology};
use crate::election::{self, Bully, Incarnation, Watched};
use crate::options::Opt;
use crate::show::{Item, ProcessView, Tone};
use crate::views::{self, Epoch, Views};
use bellwether_core::{
    Assumptions, Call, Channels, Context, Goal, Group, NodeId, Process, SortedMap,
};
use numbering::Numbering;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::time::Duration;

/// What can be asked of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Input {
    /// The application broadcasts its next message.
    Broadcast,
    /// The coordinator is suspected, or an election is wanted for another reason.
    Elect(election::Input),
}

/// What survives a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Durable {
    /// Which life this is, so that no message has the name of an earlier one.
    pub life: Incarnation,
    /// The election's.
    pub election: Incarnation,
    /// The largest epoch that was promised.
    pub promised: Epoch,
}

/// What is fixed for the whole run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How many answers follow a broadcast.
    pub answers: u32,
    /// Whether the order is to hold for the dead, too (TS5).
    pub uniform: bool,
    /// How the first view begins.
    pub opening: Opening,
    /// The election beside it.
    pub election: election::Config,
    /// How views are agreed upon.
    pub views: views::Config,
}

/// A member says how far it has got once in this many messages (TS4).
const SEEN_EVERY: u64 = 16;

/// One process of a sequenced broadcast.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sequencer {
    author: Author,
    /// Whether it knows what has been sent so far: not if it has recovered (TS8).
    joined: bool,
    /// What it has broadcast and not delivered (TS1).
    pending: VecDeque<Post>,
    /// How many it has published in this view.
    published: u64,
    /// How many messages are delivered; the position of the next.
    delivered: u64,
    /// All messages before this position are here, or were.
    known: u64,
    /// All members have all messages before this position.
    stable: u64,
    /// The position up to which it last reported that it has everything.
    reported: u64,
    /// The messages that are not stable or not delivered, by position.
    log: SortedMap<u64, Post>,
    /// How many of them are not delivered.
    queue: u32,
    /// What a sequencer needs besides, if this is the one of the view.
    numbering: Option<Box<Numbering>>,
    views: Views<Report>,
    election: Watched<Bully>,
    /// Messages of the next view, which has not begun here.
    early: Vec<(Epoch, NodeId, Body)>,
    /// How many take part in the view, and whether the coordinator watches over that.
    members: u32,
    watched: bool,
}

type Cx<'a> = Context<'a, Sequencer>;

impl Process for Sequencer {
    type Msg = Msg;
    type Timer = Timer;
    type Input = Input;
    type Output = Output;
    type Durable = Durable;
    type Config = Config;

    const ASSUMES: Assumptions = Assumptions::synchronous(Channels::Any);

    fn durable(&self) -> Durable {
        Durable {
            life: self.author.life,
            election: self.election.durable(),
            promised: self.views.durable(),
        }
    }

    fn on_start(&mut self, saved: Option<Durable>, cx: &mut Cx<'_>) {
        self.joined = !self.author.start(saved.map(|saved| saved.life));
        self.members = cx.group().len() as u32;
        self.watched = cx.config().views.watch.is_some();
        if self.joined && cx.config().opening.sequencer == cx.me() {
            self.numbering = Some(Numbering::new(cx.group().len(), 0));
        }
        self.agree(cx, Call::Start(saved.map(|saved| saved.promised)));
        self.elect(cx, Call::Start(saved.map(|saved| saved.election)));
    }

    fn on_input(&mut self, input: Input, cx: &mut Cx<'_>) {
        match input {
            Input::Broadcast => {
                self.broadcast(cx.config().answers, None, cx);
                self.deliver(cx);
            }
            Input::Elect(input) => self.elect(cx, Call::Input(input)),
        }
    }

    fn on_message(&mut self, from: NodeId, msg: Msg, cx: &mut Cx<'_>) {
        match msg {
            Msg::Order(epoch, body) => {
                if self.views.running() == Some(epoch) {
                    self.hear(from, body, cx);
                } else if self.views.awaits(epoch) {
                    self.early.push((epoch, from, body));
                }
            }
            Msg::Views(msg) => self.agree(cx, Call::Message(from, *msg)),
            Msg::Election(msg) => self.elect(cx, Call::Message(from, msg)),
        }
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_>) {
        match timer {
            Timer::Views(timer) => self.agree(cx, Call::Timer(timer)),
            Timer::Election(timer) => self.elect(cx, Call::Timer(timer)),
        }
    }
}

/// The broadcast itself, within a view.
impl Sequencer {
    /// How many messages are delivered, or were before this process joined.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// How many messages are kept because not everybody is known to have them.
    pub fn kept(&self) -> usize {
        self.log.len()
    }

    /// The members of the view, and its sequencer.
    fn view<'v, 'a: 'v>(&'v self, cx: &Cx<'a>) -> (&'v Group, NodeId) {
        match self.views.view() {
            None => (cx.group(), cx.config().opening.sequencer),
            Some(view) => (&view.group, view.opening.sequencer),
        }
    }

    fn send(&self, to: NodeId, body: Body, cx: &mut Cx<'_>) {
        if let Some(epoch) = self.views.running() {
            cx.send(to, Msg::Order(epoch, body));
        }
    }

    fn send_all(&self, body: Body, cx: &mut Cx<'_>) {
        let Some(epoch) = self.views.running() else { return };
        let ((group, _), me) = (self.view(cx), cx.me());
        for id in group.ring().iter().filter(|id| **id != me) {
            cx.send(*id, Msg::Order(epoch, body));
        }
    }

    /// TS1.
    fn broadcast(&mut self, answers: u32, to: Option<MessageId>, cx: &mut Cx<'_>) {
        cx.rule("TS1");
        let post = self.author.write(cx.me(), answers);
        cx.emit(Output::Broadcast { id: post.id, answers: to });
        self.pending.push_back(post);
        self.publish(post, cx);
    }

    /// What is broadcast while no view goes on is published when the next one begins.
    fn publish(&mut self, post: Post, cx: &mut Cx<'_>) {
        if self.views.running().is_none() {
            return;
        }
        if self.numbering.is_some() {
            return self.number(post, cx);
        }
        let (_, sequencer) = self.view(cx);
        self.published = self.published.saturating_add(1);
        self.send(sequencer, Body::Publish { index: self.published, post }, cx);
    }

    fn hear(&mut self, from: NodeId, body: Body, cx: &mut Cx<'_>) {
        let (group, sequencer) = self.view(cx);
        let place = group.place(from).filter(|_| from != cx.me());
        match (body, place) {
            (Body::Publish { index, post }, Some(place)) if post.id.sender == from => {
                self.published_by(place, index, post, cx);
            }
            (Body::Order { position, post, stable }, _) if from == sequencer => {
                self.ordered(position, post, cx);
                self.learn(stable);
            }
            (Body::Seen(known) | Body::Ack(known), Some(place)) => self.reached(place, known, cx),
            (Body::Stable(stable), _) if from == sequencer => {
                cx.rule("TS5");
                self.learn(stable);
            }
            _ => {}
        }
        self.deliver(cx);
    }

    /// TS2: a member wants a message to be numbered.
    fn published_by(&mut self, place: usize, index: u64, post: Post, cx: &mut Cx<'_>) {
        let Some(numbering) = &mut self.numbering else { return };
        if index <= numbering.numbered[place] {
            return;
        }
        numbering.waiting.insert((place, index), post);
        while let Some(numbering) = &mut self.numbering
            && let Some(next) = numbering.waiting.remove(&(place, numbering.numbered[place] + 1))
        {
            numbering.numbered[place] += 1;
            self.number(next, cx);
        }
    }

    /// TS2: gives a message the next position.
    fn number(&mut self, post: Post, cx: &mut Cx<'_>) {
        cx.rule("TS2");
        let (position, stable) = (self.known, self.stable);
        self.keep(position, post);
        self.known = position.saturating_add(1);
        self.send_all(Body::Order { position, post, stable }, cx);
        if let Some(place) = self.view(cx).0.place(cx.me()) {
            self.reached(place, self.known, cx);
        }
    }

    fn keep(&mut self, position: u64, post: Post) {
        if self.log.insert(position, post).is_none() {
            self.queue = self.queue.saturating_add(1);
        }
    }

    /// TS3: a message has its position.
    fn ordered(&mut self, position: u64, post: Post, cx: &mut Cx<'_>) {
        if position < self.known || self.log.contains_key(&position) {
            return;
        }
        cx.rule("TS3");
        self.keep(position, post);
        if position > self.known {
            return cx.emit(Output::Held { id: post.id, queue: self.queue });
        }
        while self.log.contains_key(&self.known) {
            self.known += 1;
        }
        self.tell(cx);
    }

    /// TS4 and TS5: says how far one has got, if it is time.
    fn tell(&mut self, cx: &mut Cx<'_>) {
        let (_, sequencer) = self.view(cx);
        if cx.config().uniform {
            self.reported = self.known;
            self.send(sequencer, Body::Ack(self.known), cx);
        } else if self.known - self.reported >= SEEN_EVERY {
            self.reported = self.known;
            self.send(sequencer, Body::Seen(self.known), cx);
        }
    }

    /// TS4 and TS5: a member says how far it has got.
    fn reached(&mut self, place: usize, known: u64, cx: &mut Cx<'_>) {
        let known = known.min(self.known);
        let Some(numbering) = &mut self.numbering else { return };
        let stable = numbering.reach(place, known);
        if stable > self.stable {
            self.stable = stable;
            if cx.config().uniform {
                cx.rule("TS5");
                self.send_all(Body::Stable(stable), cx);
            }
        }
    }

    /// TS4: all have got so far, and this process too, or it would not be all.
    fn learn(&mut self, stable: u64) {
        self.stable = self.stable.max(stable.min(self.known));
    }

    /// TS3: delivers what may be delivered, and forgets what may be forgotten.
    fn deliver(&mut self, cx: &mut Cx<'_>) {
        if self.views.running().is_none() {
            return;
        }
        // An answer may get its position at once.
        while self.delivered < if cx.config().uniform { self.stable } else { self.known } {
            let Some(post) = self.log.get(&self.delivered).copied() else { break };
            cx.rule("TS3");
            // A message that is delivered as it comes was not held back.
            let queue = self.queue.saturating_sub(u32::from(!cx.config().uniform));
            cx.emit(Output::Delivered { id: post.id, queue });
            self.delivered += 1;
            self.queue = self.queue.saturating_sub(1);
            if post.id.sender == cx.me() {
                self.pending.retain(|own| own.id != post.id);
            }
            if post.answerer(cx.group()) == Some(cx.me()) {
                let left = post.answers.min(cx.config().answers).saturating_sub(1);
                self.broadcast(left, Some(post.id), cx);
            }
        }
        let forgotten = self.stable.min(self.delivered);
        while self.log.first_key_value().is_some_and(|(position, _)| *position < forgotten) {
            self.log.pop_first();
        }
    }
}

const VIEWS: Docs = ("views", essay!("../views/mod.rs"));

impl Sequencer {
    /// How far messages are delivered, and what waits for its turn.
    fn shown(&self) -> ProcessView {
        let early = self.log.range_from(&self.delivered);
        ProcessView::new(if self.numbering.is_some() { "the sequencer" } else { "" })
            .text("delivered up to position", self.delivered)
            .set("sent, not delivered yet", self.pending.iter().map(|post| Item::new(post.id)))
            .set(
                "held back",
                early.map(|(position, post)| {
                    Item::new(post.id).note(format!("position {}", position + 1)).tone(Tone::Waits)
                }),
            )
    }
}

impl Algorithm for Sequencer {
    fn definition() -> Definition<Self> {
        let entry = Entry {
            name: "total-order-sequencer",
            family: "order",
            title: "Total-order broadcast, sequenced",
            source: "after Kaashoek and Tanenbaum, ICDCS 1991",
            cost: "n a broadcast; n-1 by the sequencer",
            assumes: Self::ASSUMES,
            topology: Topology::Mesh,
            docs: essay!("sequencer.rs"),
            example: "order/total-order-sequencer-two-senders.txt",
        };
        let kinds =
            &["ORDER", "PUBLISH", "VIEW", "PROPOSE", "REPORT", "COORDINATOR", "ACK", "STABLE"];
        Definition::<Self>::new(entry, Self::config)
            .beside(&[VIEWS, election::DOCS, election::DETECTOR_DOCS])
            .options(&[
                ANSWERS,
                Opt {
                    name: "uniform",
                    value: None,
                    help: "Deliver only what all members have, so that the order holds for the \
                           dead, too",
                },
            ])
            .checks(|settings, _| answers(settings).map(drop))
            .verbs(
                &["broadcast", "work", "suspect", "start"],
                |verb| match verb {
                    "broadcast" | "work" => Some(Input::Broadcast),
                    verb => election::Input::of(verb).map(Input::Elect),
                },
                |input| match input {
                    Input::Broadcast => "broadcast".into(),
                    Input::Elect(input) => input.verb().into(),
                },
            )
            .work(|input| matches!(input, Input::Broadcast))
            .kinds(kinds)
            .goal(Self::goal())
            .settles_within(Self::settles_within)
            .view(|process, _, _| process.shown())
            .referee(|config, group| Promises::total(config.uniform).referee(group))
            .coordinator(|process| process.election.coordinator())
            .members(|process| process.views.view().map_or(&[], |view| view.group.ring()))
            .costs(costs)
    }
}

/// Acknowledgements count where the order is uniform. What tells the sequencer now and then what may
/// be forgotten is overhead.
fn costs(n: u32) -> Vec<Cost> {
    let others = u64::from(n) - 1;
    let kinds: [Kinds; 3] = [&["ORDER"], &["ACK"], &["STABLE"]];
    let [order, ack, stable] = kinds.map(|kinds| (kinds, "n-1", others));
    let publish: (Kinds, _, _) = (&["PUBLISH"], "1", 1);
    let own = [(publish.0, "0", 0), order];
    let own = Cost::sum("the sequencer broadcasts", "n-1", &own, [broadcasts(n, [n])]);
    let mut costs = vec![own.rank(Rank::Best)];
    if n > 1 {
        let one = || broadcasts(n, [1]);
        let member = Cost::sum("a member broadcasts", "1 + (n-1)", &[publish, order], [one()]);
        let (case, parts) = ("uniform, a member broadcasts", [publish, order, ack, stable]);
        let uniform = Cost::sum(case, "1 + 3(n-1)", &parts, [one().set("uniform", "")]);
        costs.extend([member.rank(Rank::Worst), uniform]);
    }
    costs
}

impl Sequencer {
    fn config(settings: &Settings, group: &Group) -> Config {
        let Settings { timeout, detection, coordinator, .. } = *settings;
        Config {
            answers: answers(settings).unwrap_or(0),
            uniform: settings.options.is_on("uniform"),
            opening: Opening::first(coordinator.unwrap_or_else(|| group.highest())),
            election: Watched::<Bully>::config(settings, group),
            views: views::Config { timeout, watch: detection.then_some(timeout), coordinator },
        }
    }

    fn goal() -> Goal<Self> {
        Goal::<Self>::new(
            "delivered",
            "everything that was broadcast is delivered by every live process, and all are in \
             one view",
            |processes| {
                let (mut live, mut members) = (0, None);
                let (mut view, mut delivered) = (None, None);
                for (_, process) in processes {
                    live += 1;
                    let running = process.views.running();
                    let astray = process.watched
                        && (running.is_none() || *view.get_or_insert(running) != running);
                    if astray || !process.pending.is_empty() || process.queue > 0 {
                        return false;
                    }
                    if process.joined
                        && *delivered.get_or_insert(process.delivered) != process.delivered
                    {
                        return false;
                    }
                    members = members.or(process.watched.then_some(process.members));
                }
                members.is_none_or(|members| members == live)
            },
        )
    }

    /// After the last fault come an election and a view, perhaps twice; then a chain of answers,
    /// each of which takes four messages at most.
    fn settles_within(config: &Config, group: &Group, _: u64) -> Duration {
        let timeout = config.views.timeout;
        Watched::<Bully>::settles_within(&config.election, group, 0)
            .saturating_add(timeout.saturating_mul(24))
            .saturating_add(timeout.saturating_mul(4).saturating_mul(config.answers))
    }
}

#[cfg(test)]
#[path = "tests/sequencer.rs"]
mod tests;
