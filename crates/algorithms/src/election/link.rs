//! The link to the next live process on a ring.
//!
//! The rings of the texts send to "the successor", and "if the successor is down, to the next one
//! and so on until a running process is found". This part does that: each message is acknowledged
//! by the neighbour, and a neighbour that does not acknowledge within T is skipped. It is used by
//! every ring election, so none of them says a word about dead neighbours.
//!
//! # Rules
//! * L1 A message goes to the nearest process that is not skipped, and is kept until it is
//!   acknowledged.
//! * L2 Every message that arrives is acknowledged; one that arrived before is not delivered
//!   again.
//! * L3 No acknowledgement within T: the neighbour is dead. It is skipped, and all that it did not
//!   acknowledge goes to the next one, in order. A process that is left alone sends to itself.
//! * L4 A recovered process says HELLO to all. A process that skips it or has it as neighbour sends
//!   to it again, first of all what its earlier incarnation did not acknowledge.
//! * L5 A message that has made more hops than the ring has places has lost its owner and is
//!   dropped: no process is left to take it off the ring.
//!
//! # Assumes
//! T above a round trip. Otherwise a slow neighbour is taken for dead and the ring closes without
//! it until it is heard from.
//!
//! # Costs
//! One ACK per hop and one RESEND per probe of a dead neighbour, counted as overhead. Where
//! nothing can fail, acknowledgements may be switched off ([`Config::acknowledge`]).

use bellwether_core::{Assumptions, Channels, Context, Kind, Message, NodeId, Process};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// What travels on a link.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg<M> {
    /// A message of the algorithm.
    Carry {
        /// To acknowledge it by, and to know it again.
        seq: Seq,
        /// How far it has come.
        leg: Leg,
        /// The algorithm's own message.
        body: M,
    },
    /// "I have it."
    Ack {
        /// Which.
        seq: Seq,
    },
    /// "I am back", from a recovered process to all.
    Hello,
}

/// How many hops a message has made with this one, and whether it was sent to a dead neighbour
/// before. Packed, so that a small message travels in two registers instead of through memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Leg(u32);

impl Leg {
    const AGAIN: u32 = 1 << 31;

    /// The leg after this many hops.
    pub const fn new(hops: u32, again: bool) -> Self {
        Leg(if again { hops | Leg::AGAIN } else { hops })
    }

    /// Hops, with this one.
    pub const fn hops(self) -> u32 {
        self.0 & !Leg::AGAIN
    }

    /// Whether it was sent to a dead neighbour before.
    pub const fn again(self) -> bool {
        self.0 & Leg::AGAIN != 0
    }
}

/// Numbers a link's messages. Different lives of a process are far apart in it, so that a message
/// of the new life is never taken for one of the old.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Seq(u32);

const SEQS_PER_LIFE: u32 = 1 << 24;

impl<M: Message> Message for Msg<M> {
    fn kind(&self) -> Kind {
        match self {
            Msg::Carry { leg, .. } if leg.again() => Kind::repeat("RESEND"),
            Msg::Carry { body, .. } => body.kind(),
            Msg::Ack { .. } => Kind::overhead("ACK"),
            Msg::Hello => Kind::overhead("HELLO"),
        }
    }
}

impl<M: fmt::Display> fmt::Display for Msg<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Msg::Carry { leg, body, .. } if leg.again() => write!(f, "{body} (again)"),
            Msg::Carry { body, .. } => body.fmt(f),
            Msg::Ack { .. } => f.write_str("ACK"),
            Msg::Hello => f.write_str("HELLO"),
        }
    }
}

/// T for the oldest message that is not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AckTimeout;

/// What the algorithm wants sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Forward<M> {
    /// The message.
    pub body: M,
    /// Hops that it has made already; 0 for a message of this process's own.
    pub hops: u32,
}

/// What arrived for the algorithm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrived<M> {
    /// The message.
    pub body: M,
    /// Hops that it has made; to be given back when it is passed on.
    pub hops: u32,
}

impl<M: fmt::Display> fmt::Display for Arrived<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.body.fmt(f)
    }
}

/// Which way round, how patient, and whether neighbours can fail at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Which way the link goes.
    pub direction: Direction,
    /// T.
    pub timeout: Duration,
    /// Whether messages are acknowledged.
    pub acknowledge: bool,
}

/// Which way round a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Towards the successor, the next in the group's order.
    Clockwise,
    /// Towards the predecessor.
    Counter,
}

/// One process's end of the ring's links in one direction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Link<M> {
    /// How many of the nearest neighbours are held for dead. Invariant: below the group's size.
    skipped: u32,
    /// The number of the next message.
    next: Seq,
    /// Sent to the present neighbour and not acknowledged, oldest first. The timer runs if and
    /// only if it is not empty. Hardly ever more than two, so a list will do.
    unacknowledged: Vec<(Seq, Forward<M>)>,
    /// What came lately from the process that sent last.
    received: ReceiveWindow,
}

impl<M> Default for Link<M> {
    fn default() -> Self {
        Link {
            skipped: 0,
            next: Seq(0),
            unacknowledged: Vec::new(),
            received: ReceiveWindow::NOTHING,
        }
    }
}

/// A sliding window over the numbers of one sender, for L2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ReceiveWindow {
    from: NodeId,
    newest: Seq,
    /// Bit i: `newest - i` has come.
    window: u32,
}

impl ReceiveWindow {
    /// From no particular process.
    const NOTHING: ReceiveWindow =
        ReceiveWindow { from: NodeId::new(0), newest: Seq(0), window: 0 };
}

/// A process that has a link of its own: its messages and timers are the link's.
pub trait Carrier<M>: Process<Msg = Msg<M>, Timer = AckTimeout> {}

impl<M, P: Process<Msg = Msg<M>, Timer = AckTimeout>> Carrier<M> for P {}

/// What a process does with its end of the ring. The link acts in the process's own context; it
/// is a process itself only for those that need several.
impl<M: Message> Link<M> {
    /// The beginning of a life; the number of the last one if there was one.
    pub fn start<P: Carrier<M>>(
        &mut self,
        last_life: Option<u32>,
        config: &Config,
        cx: &mut Context<'_, P>,
    ) {
        let Some(life) = last_life else { return };
        self.next = Seq(life.wrapping_add(1).wrapping_mul(SEQS_PER_LIFE));
        if config.acknowledge {
            cx.rule("L4");
            let me = cx.me();
            for other in cx.group().ring().iter().filter(|other| **other != me) {
                cx.send(*other, Msg::Hello);
            }
        }
    }

    /// L1: sends a message that has made this many hops.
    #[inline(always)]
    pub fn send<P: Carrier<M>>(
        &mut self,
        body: M,
        hops: u32,
        config: &Config,
        cx: &mut Context<'_, P>,
    ) {
        let to = self.neighbour(config, cx);
        let hops = hops.saturating_add(1);
        let seq = self.next;
        self.next = Seq(seq.0.wrapping_add(1));
        if config.acknowledge && to != cx.me() {
            if self.unacknowledged.is_empty() {
                cx.set_timer(AckTimeout, config.timeout);
            }
            self.unacknowledged.push((seq, Forward { body: body.clone(), hops }));
        }
        cx.send(to, Msg::Carry { seq, leg: Leg::new(hops, false), body });
    }

    /// Takes what the network brings; returns what it brings for the algorithm.
    #[inline(always)]
    pub fn receive<P: Carrier<M>>(
        &mut self,
        from: NodeId,
        msg: Msg<M>,
        config: &Config,
        cx: &mut Context<'_, P>,
    ) -> Option<Arrived<M>> {
        match msg {
            Msg::Carry { seq, leg, body } => {
                // L2 and L5.
                if config.acknowledge && from != cx.me() {
                    cx.send(from, Msg::Ack { seq });
                }
                let hops = leg.hops();
                let wanted = self.is_new(from, seq) && hops as usize <= cx.group().len();
                wanted.then_some(Arrived { body, hops })
            }
            Msg::Ack { seq } => {
                self.acknowledged(from, seq, config, cx);
                None
            }
            Msg::Hello => {
                self.welcome(from, config, cx);
                None
            }
        }
    }

    /// L3.
    pub fn time_out<P: Carrier<M>>(&mut self, config: &Config, cx: &mut Context<'_, P>) {
        cx.rule("L3");
        self.skipped += 1;
        self.resend(config, cx);
    }

    /// Whether all others are skipped, or there are none: what is sent comes back.
    pub fn is_alone<P: Process>(&self, config: &Config, cx: &Context<'_, P>) -> bool {
        self.neighbour(config, cx) == cx.me()
    }

    /// Ends the wait for an acknowledgement; or, if it comes late, ends the skipping.
    fn acknowledged<P: Carrier<M>>(
        &mut self,
        from: NodeId,
        seq: Seq,
        config: &Config,
        cx: &mut Context<'_, P>,
    ) {
        if from != self.neighbour(config, cx) {
            // Too late, but a sign of life.
            return self.welcome(from, config, cx);
        }
        // Nearly always the first: what is sent in order is mostly acknowledged in order.
        if let Some(index) = self.unacknowledged.iter().position(|(sent, _)| *sent == seq) {
            self.unacknowledged.remove(index);
        }
        self.wait(config, cx);
    }

    /// L4.
    fn welcome<P: Carrier<M>>(&mut self, from: NodeId, config: &Config, cx: &mut Context<'_, P>) {
        let nearer = distance(from, config, cx).saturating_sub(1);
        if nearer <= self.skipped {
            cx.rule("L4");
            self.skipped = nearer;
            self.resend(config, cx);
        }
    }

    /// Sends all that is not acknowledged to the present neighbour, in order.
    fn resend<P: Carrier<M>>(&mut self, config: &Config, cx: &mut Context<'_, P>) {
        let to = self.neighbour(config, cx);
        for (seq, Forward { body, hops }) in &self.unacknowledged {
            let leg = Leg::new(*hops, true);
            cx.send(to, Msg::Carry { seq: *seq, leg, body: body.clone() });
        }
        if to == cx.me() {
            self.unacknowledged.clear();
        }
        self.wait(config, cx);
    }

    /// Waits for acknowledgements as long as some are due.
    fn wait<P: Carrier<M>>(&self, config: &Config, cx: &mut Context<'_, P>) {
        if self.unacknowledged.is_empty() {
            cx.cancel_timer(AckTimeout);
        } else {
            cx.set_timer(AckTimeout, config.timeout);
        }
    }

    /// The nearest process that is not skipped; itself if all others are.
    #[inline]
    fn neighbour<P: Process>(&self, config: &Config, cx: &Context<'_, P>) -> NodeId {
        let steps = self.skipped as usize + 1;
        match config.direction {
            Direction::Clockwise => cx.group().after(cx.place(), steps),
            Direction::Counter => cx.group().before(cx.place(), steps),
        }
    }

    /// Whether this is the first time that the message comes; remembers it.
    #[inline]
    fn is_new(&mut self, from: NodeId, seq: Seq) -> bool {
        let received = &mut self.received;
        let fresh = ReceiveWindow { from, newest: seq, window: 1 };
        if received.from != from {
            *received = fresh;
            return true;
        }
        let ahead = seq.0.wrapping_sub(received.newest.0);
        let behind = received.newest.0.wrapping_sub(seq.0);
        if behind < 32 {
            let bit = 1 << behind;
            let new = received.window & bit == 0;
            received.window |= bit;
            new
        } else {
            let window = received.window.checked_shl(ahead).unwrap_or(0) | 1;
            *received = ReceiveWindow { window, ..fresh };
            true
        }
    }
}

/// How many steps along the link's direction another process stands.
fn distance<P: Process>(other: NodeId, config: &Config, cx: &Context<'_, P>) -> u32 {
    let n = cx.group().len();
    let Some(place) = cx.group().place(other) else { return u32::MAX };
    let steps = match config.direction {
        Direction::Clockwise => place + n - cx.place(),
        Direction::Counter => cx.place() + n - place,
    };
    (steps % n) as u32
}

impl<M: Message> Process for Link<M> {
    type Msg = Msg<M>;
    type Timer = AckTimeout;
    type Input = Forward<M>;
    type Output = Arrived<M>;
    /// Which life this is; see [`Seq`].
    type Durable = u32;
    type Config = Config;

    const ASSUMES: Assumptions = Assumptions::synchronous(Channels::Any);

    fn durable(&self) -> u32 {
        self.next.0 / SEQS_PER_LIFE
    }

    fn on_start(&mut self, saved: Option<u32>, cx: &mut Context<'_, Self>) {
        self.start(saved, cx.config(), cx);
    }

    fn on_input(&mut self, Forward { body, hops }: Forward<M>, cx: &mut Context<'_, Self>) {
        self.send(body, hops, cx.config(), cx);
    }

    fn on_message(&mut self, from: NodeId, msg: Msg<M>, cx: &mut Context<'_, Self>) {
        if let Some(arrived) = self.receive(from, msg, cx.config(), cx) {
            cx.emit(arrived);
        }
    }

    fn on_timer(&mut self, AckTimeout: AckTimeout, cx: &mut Context<'_, Self>) {
        self.time_out(cx.config(), cx);
    }
}

/// An election whose processes talk through one link, clockwise.
///
/// The provided methods are the whole of what such an election needs of its link; it implements
/// what it does with the messages that arrive.
pub trait Rider:
    Process<Msg = Msg<Self::Body>, Timer = AckTimeout, Config = super::Config>
{
    /// What goes round.
    type Body: Message;

    /// Its end of the ring.
    fn link(&mut self) -> &mut Link<Self::Body>;

    /// A message has come round to this process.
    fn on_arrival(&mut self, arrived: Arrived<Self::Body>, cx: &mut Context<'_, Self>);

    /// The beginning of a life; the number of the last one if there was one.
    fn mount(&mut self, last_life: Option<u32>, cx: &mut Context<'_, Self>) {
        let config = &cx.config().clockwise;
        self.link().start(last_life, config, cx);
    }

    /// Sends a message on: with the hops it arrived with, or 0 for one of this process's own.
    #[inline(always)]
    fn forward(&mut self, body: Self::Body, hops: u32, cx: &mut Context<'_, Self>) {
        let config = &cx.config().clockwise;
        self.link().send(body, hops, config, cx);
    }

    /// Takes what the network brings.
    #[inline(always)]
    fn ride(&mut self, from: NodeId, msg: Msg<Self::Body>, cx: &mut Context<'_, Self>) {
        let config = &cx.config().clockwise;
        if let Some(arrived) = self.link().receive(from, msg, config, cx) {
            self.on_arrival(arrived, cx);
        }
    }

    /// The neighbour has not answered.
    fn skip(&mut self, cx: &mut Context<'_, Self>) {
        let config = &cx.config().clockwise;
        self.link().time_out(config, cx);
    }
}

#[cfg(test)]
#[path = "tests/link.rs"]
mod tests;
