//! A reliable link over a network that loses, doubles and reorders messages: numbers,
//! acknowledgements, retransmission.
//!
//! [`Reliable`] wraps any process and carries its messages, so that an algorithm that assumes FIFO
//! channels without loss can run where there are none. The process knows nothing of it: what it
//! sends is numbered and kept until it is acknowledged, and what arrives is handed over once and in
//! order.
//!
//! # Rules
//! * R1 Number the messages to each peer, and keep each until it is acknowledged. At most a window
//!   of them is under way; the others wait for their turn.
//! * R2 On a message: acknowledge it with the number that is expected next. If it has this number,
//!   hand it over, and after it those that came early. If it is early, keep it. If it was handed
//!   over before, drop it.
//! * R3 An acknowledgement covers all numbers before the one that is expected next.
//! * R4 If nothing was acknowledged for a while, send again all that is under way.
//! * R5 After a given number of tries without an answer, report the peer down and drop its messages.
//!   A later message to it begins a new session with new numbers.
//! * R6 A process that comes back begins new sessions. Messages of a session that is older than
//!   the last one heard of are dropped.
//! * R7 A message also says from which number on its sender keeps messages. A receiver that comes
//!   back takes up there: all before was acknowledged by its former life.
//!
//! # Assumes
//! A message that is sent again and again gets through at last, and the tries are enough for that:
//! then only a crashed peer is reported down. With loss p, all tries to a live peer fail with
//! probability (1 - (1-p)^2)^tries. The while of R4 is longer than a round trip, or else messages
//! are sent again for nothing. Only the number of its life survives a crash, so a message that was
//! under way to a former life may reach the next one, once more.
//!
//! # Costs
//! A message and an acknowledgement each, if nothing is lost. Memory per peer: a window of early
//! messages, and what the process has sent and the peer has not acknowledged, at most
//! [`MOST_WAITING`]; a peer that is further behind is reported down.
//!
//! # How it relates to the ring's link
//! [`election::link`](crate::election::link) is another thing with the same ingredients: it
//! acknowledges in order to find dead neighbours, and gives what one neighbour did not acknowledge
//! to the next one (L3). It sends nothing to the same process twice, for elections assume that
//! nothing is lost; here only the receiver itself will do.

use crate::show::{Item, ProcessView, Tone};
use bellwether_core::{
    Assumptions, Call, Channels, Context, Kind, Message, NodeId, Process, SortedMap, Timing,
};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

/// More messages than this never wait for one peer.
pub const MOST_WAITING: usize = 65_536;

/// Which beginning of a link's numbers this is. A later one is larger.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Session {
    /// The life of the sender.
    pub life: u32,
    /// How often it has reported the receiver down in this life.
    pub resets: u32,
}

/// What travels on a link.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg<M> {
    /// A message of the process.
    Carry {
        /// What its numbers belong to.
        session: Session,
        /// Its number.
        number: u64,
        /// The smallest number that its sender still keeps (R7).
        oldest: u64,
        /// Whether it was sent before.
        again: bool,
        /// The process's own message.
        body: M,
    },
    /// "I have all before this number."
    Ack {
        /// What the number belongs to.
        session: Session,
        /// The number that is expected next.
        next: u64,
    },
    /// A message of the process without any link, where that is switched off.
    Bare(M),
}

impl<M: Message> Message for Msg<M> {
    fn kind(&self) -> Kind {
        match self {
            Msg::Carry { again: true, .. } => Kind::repeat("RESEND"),
            Msg::Carry { body, .. } | Msg::Bare(body) => body.kind(),
            Msg::Ack { .. } => Kind::overhead("ACK"),
        }
    }
}

impl<M: fmt::Display> fmt::Display for Msg<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Msg::Carry { again: true, body, .. } => write!(f, "{body} (again)"),
            Msg::Carry { body, .. } | Msg::Bare(body) => body.fmt(f),
            Msg::Ack { next, .. } => write!(f, "ACK({next})"),
        }
    }
}

/// A timer of the process or of its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Timer<T> {
    /// The process's.
    Process(T),
    /// This peer has not acknowledged anything for a while.
    Again(NodeId),
}

/// What the process or its link says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Output<O> {
    /// The process's word.
    Process(O),
    /// Messages are sent again.
    Again {
        /// To whom.
        to: NodeId,
        /// How many.
        count: u32,
    },
    /// A message has arrived that had arrived before.
    Duplicate {
        /// From whom.
        from: NodeId,
    },
    /// A peer does not answer.
    Down {
        /// Who.
        peer: NodeId,
        /// How many messages to it are dropped.
        dropped: u32,
    },
    /// The process has come back from a crash.
    Back,
}

impl<O: fmt::Display> fmt::Display for Output<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Output::Process(output) => output.fmt(f),
            Output::Again { to, count: 1 } => write!(f, "sends a message to {to} again"),
            Output::Again { to, count } => write!(f, "sends {count} messages to {to} again"),
            Output::Duplicate { from } => write!(f, "drops a duplicate from {from}"),
            Output::Down { peer, dropped } => {
                write!(f, "reports {peer} down; {dropped} not delivered")
            }
            Output::Back => f.write_str("is back"),
        }
    }
}

/// What survives a crash.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Durable<D> {
    /// Which life this is.
    pub life: u32,
    /// The process's own.
    pub process: D,
}

/// What is fixed for the whole run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config<C> {
    /// The process's own.
    pub process: C,
    /// After how long messages are sent again.
    pub pause: Duration,
    /// How often, before the peer is reported down.
    pub tries: u32,
    /// How many messages are under way to one peer at most.
    pub window: u32,
    /// Whether there is no link at all.
    pub bare: bool,
}

/// A process behind reliable links.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reliable<P: Process> {
    process: P,
    life: u32,
    /// Those that were talked to, or have talked.
    peers: SortedMap<NodeId, Peer<P::Msg>>,
}

impl<P: Process> Default for Reliable<P> {
    fn default() -> Self {
        Reliable { process: P::default(), life: 0, peers: SortedMap::new() }
    }
}

/// The links to and from one peer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Peer<M> {
    outward: Outward<M>,
    inward: Inward<M>,
}

impl<M> Default for Peer<M> {
    fn default() -> Self {
        Peer {
            outward: Outward { resets: 0, oldest: 0, kept: VecDeque::new(), under_way: 0, vain: 0 },
            inward: Inward { session: None, next: 0, early: SortedMap::new() },
        }
    }
}

/// What goes to a peer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Outward<M> {
    resets: u32,
    /// The number of the first of `kept`.
    oldest: u64,
    /// What is not acknowledged, in order.
    kept: VecDeque<M>,
    /// How many of them have been sent. The timer runs if and only if it is not 0.
    under_way: usize,
    /// How often they were sent again without an acknowledgement.
    vain: u32,
}

/// What comes from a peer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Inward<M> {
    /// The last one heard of.
    session: Option<Session>,
    /// The number that is expected next.
    next: u64,
    /// Later ones, by number.
    early: SortedMap<u64, M>,
}

type Cx<'a, P> = Context<'a, Reliable<P>>;

impl<P: Process> Process for Reliable<P> {
    type Msg = Msg<P::Msg>;
    type Timer = Timer<P::Timer>;
    type Input = P::Input;
    type Output = Output<P::Output>;
    type Durable = Durable<P::Durable>;
    type Config = Config<P::Config>;

    const ASSUMES: Assumptions = Assumptions {
        timing: Timing::Synchronous,
        channels: Channels::Any,
        loss: true,
        duplication: true,
        crashes: P::ASSUMES.crashes,
        recoveries: P::ASSUMES.recoveries,
    };

    fn durable(&self) -> Self::Durable {
        Durable { life: self.life, process: self.process.durable() }
    }

    fn on_start(&mut self, saved: Option<Self::Durable>, cx: &mut Cx<'_, P>) {
        if let Some(saved) = &saved {
            cx.rule("R6");
            self.life = saved.life.saturating_add(1);
            cx.emit(Output::Back);
        }
        self.step(Call::Start(saved.map(|saved| saved.process)), cx);
    }

    fn on_input(&mut self, input: P::Input, cx: &mut Cx<'_, P>) {
        self.step(Call::Input(input), cx);
    }

    fn on_message(&mut self, from: NodeId, msg: Self::Msg, cx: &mut Cx<'_, P>) {
        match msg {
            Msg::Carry { session, number, oldest, body, .. } => {
                for body in self.receive(from, session, number, oldest, body, cx) {
                    self.step(Call::Message(from, body), cx);
                }
            }
            Msg::Ack { session, next } => self.acknowledged(from, session, next, cx),
            Msg::Bare(body) => self.step(Call::Message(from, body), cx),
        }
    }

    fn on_timer(&mut self, timer: Self::Timer, cx: &mut Cx<'_, P>) {
        match timer {
            Timer::Process(timer) => self.step(Call::Timer(timer), cx),
            Timer::Again(peer) => self.try_again(peer, cx),
        }
    }
}

impl<P: Process> Reliable<P> {
    /// The process behind the links.
    pub fn process(&self) -> &P {
        &self.process
    }

    /// Whether all that was sent is acknowledged or given up.
    pub fn is_settled(&self) -> bool {
        self.peers.values().all(|peer| peer.outward.kept.is_empty())
    }

    /// Steps the process; what it sends goes by the links.
    fn step(&mut self, call: Call<P>, cx: &mut Cx<'_, P>) {
        let mail = RefCell::new(Vec::new());
        let post = |to, msg| {
            mail.borrow_mut().push((to, msg));
            None
        };
        let (config, group) = (&cx.config().process, cx.group());
        let process = &mut self.process;
        let said = cx.part_among(group, config, post, Timer::Process, |cx| call.make(process, cx));
        for output in said {
            cx.emit(Output::Process(output));
        }
        for (to, body) in mail.into_inner() {
            self.send(to, body, cx);
        }
    }

    /// R1.
    fn send(&mut self, to: NodeId, body: P::Msg, cx: &mut Cx<'_, P>) {
        if cx.config().bare {
            return cx.send(to, Msg::Bare(body));
        }
        if !cx.group().contains(to) {
            return;
        }
        cx.rule("R1");
        let outward = &mut self.peers.entry(to).or_default().outward;
        if outward.kept.len() >= MOST_WAITING {
            self.report_down(to, cx);
        }
        self.peers.entry(to).or_default().outward.kept.push_back(body);
        self.fill_window(to, cx);
    }

    /// Sends what the window has room for.
    fn fill_window(&mut self, to: NodeId, cx: &mut Cx<'_, P>) {
        let window = cx.config().window.max(1) as usize;
        let Some(Peer { outward, .. }) = self.peers.get_mut(&to) else { return };
        let session = Session { life: self.life, resets: outward.resets };
        if outward.under_way == 0 && !outward.kept.is_empty() {
            cx.set_timer(Timer::Again(to), cx.config().pause);
        }
        let oldest = outward.oldest;
        while let Some(body) = outward.kept.get(outward.under_way) {
            if outward.under_way >= window {
                break;
            }
            let number = oldest + outward.under_way as u64;
            let body = body.clone();
            cx.send(to, Msg::Carry { session, number, oldest, again: false, body });
            outward.under_way += 1;
        }
    }

    /// R2: takes a message, and returns what is to be handed over.
    fn receive(
        &mut self,
        from: NodeId,
        session: Session,
        number: u64,
        oldest: u64,
        body: P::Msg,
        cx: &mut Cx<'_, P>,
    ) -> Vec<P::Msg> {
        let window = u64::from(cx.config().window.max(1));
        let inward = &mut self.peers.entry(from).or_default().inward;
        // The last number there is would leave none to expect next.
        let nonsense = number < oldest || number == u64::MAX;
        if inward.session > Some(session) || nonsense {
            cx.rule("R6");
            return Vec::new();
        }
        if inward.session < Some(session) {
            if oldest > 0 {
                cx.rule("R7");
            }
            *inward = Inward { session: Some(session), next: oldest, early: SortedMap::new() };
        }
        if oldest > inward.next {
            cx.rule("R7");
            inward.next = oldest;
            inward.early = inward.early.split_off(&oldest);
        }
        if number.saturating_sub(inward.next) >= window {
            // It does not fit, and will be sent again.
            return Vec::new();
        }
        cx.rule("R2");
        let known = number < inward.next || inward.early.contains_key(&number);
        let mut ready = Vec::new();
        if !known {
            inward.early.insert(number, body);
            while let Some(body) = inward.early.remove(&inward.next) {
                inward.next += 1;
                ready.push(body);
            }
        }
        cx.send(from, Msg::Ack { session, next: inward.next });
        if known {
            cx.emit(Output::Duplicate { from });
        }
        ready
    }

    /// R3.
    fn acknowledged(&mut self, from: NodeId, session: Session, next: u64, cx: &mut Cx<'_, P>) {
        let life = self.life;
        let Some(Peer { outward, .. }) = self.peers.get_mut(&from) else { return };
        let new = next.saturating_sub(outward.oldest);
        let is_ours = session == Session { life, resets: outward.resets };
        if !is_ours || new == 0 || new > outward.under_way as u64 {
            return;
        }
        cx.rule("R3");
        outward.kept.drain(..new as usize);
        outward.oldest = next;
        outward.under_way -= new as usize;
        outward.vain = 0;
        if outward.under_way == 0 {
            cx.cancel_timer(Timer::Again(from));
        } else {
            cx.set_timer(Timer::Again(from), cx.config().pause);
        }
        self.fill_window(from, cx);
    }

    /// R4.
    fn try_again(&mut self, to: NodeId, cx: &mut Cx<'_, P>) {
        let Some(Peer { outward, .. }) = self.peers.get_mut(&to) else { return };
        if outward.under_way == 0 {
            return;
        }
        if outward.vain >= cx.config().tries {
            return self.report_down(to, cx);
        }
        cx.rule("R4");
        outward.vain += 1;
        let session = Session { life: self.life, resets: outward.resets };
        let oldest = outward.oldest;
        for (number, body) in (oldest..).zip(outward.kept.iter().take(outward.under_way)) {
            let body = body.clone();
            cx.send(to, Msg::Carry { session, number, oldest, again: true, body });
        }
        cx.emit(Output::Again { to, count: outward.under_way as u32 });
        cx.set_timer(Timer::Again(to), cx.config().pause);
    }

    /// R5.
    fn report_down(&mut self, peer: NodeId, cx: &mut Cx<'_, P>) {
        cx.rule("R5");
        let Some(Peer { outward, .. }) = self.peers.get_mut(&peer) else { return };
        let dropped = outward.kept.len() as u32;
        let resets = outward.resets.saturating_add(1);
        *outward = Outward { resets, ..Peer::default().outward };
        cx.cancel_timer(Timer::Again(peer));
        cx.emit(Output::Down { peer, dropped });
    }

    /// For each peer, what is not acknowledged yet, and what has come too early.
    pub(super) fn view(&self) -> ProcessView {
        let mut view = ProcessView::new("");
        for (peer, Peer { outward, inward }) in &self.peers {
            let kept = (outward.oldest..).zip(&outward.kept).enumerate();
            let kept = kept.map(|(at, (number, msg))| {
                let waits = at >= outward.under_way;
                Item::new(msg).note(format!("no. {number}")).tone_if(waits, Tone::Faint)
            });
            let tries = format!("{} tries to {peer} without an answer", outward.vain);
            view = view
                .set(&format!("not acknowledged by {peer}"), kept)
                .text_of("repeated", (outward.vain > 0).then_some(tries))
                .text_of(
                    &format!("expects from {peer}"),
                    inward.session.map(|_| format!("no. {}", inward.next)),
                )
                .set(
                    &format!("too early from {peer}"),
                    inward.early.keys().map(|n| Item::new(format!("no. {n}")).tone(Tone::Waits)),
                );
        }
        view
    }
}

#[cfg(test)]
#[path = "tests/reliable.rs"]
mod tests;
