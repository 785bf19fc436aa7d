//! Ricart and Agrawala's second algorithm ("Author's response to 'On mutual exclusion in computer
//! networks'", 1983).
//!
//! Permission by a token. A process asks all others for it, because it does not know the holder. The
//! token remembers when each process had it last, and each process remembers the last request of each
//! other; together they tell which requests are still open.
//!
//! # Rules
//! * RI1 At the start all processes are in NO-TOKEN but one, which is in TOKEN-PRESENT.
//! * RI2 `token[k]` and `request[k]` are 0 for all k.
//! * RA1 To enter. In NO-TOKEN: send REQUEST with the clock's value to all others and wait for the
//!   token. Then, or with the token at once: TOKEN-HELD, enter.
//! * RH1 REQUEST(t) from j: `request[j] := max(request[j], t)`.
//! * RH2 If that comes in TOKEN-PRESENT, go on with RR2.
//! * RR1 To leave: TOKEN-PRESENT.
//! * RR2 The first k in the order i+1, ..., n, 1, ..., i-1 with `request[k] > token[k]` gets the
//!   token, after `token[i]` := the clock's value; NO-TOKEN. If there is none, the token stays.
//!
//! The token goes round and passes by no process that is known to wait, so none starves.
//!
//! # Assumes
//! Nothing about order or delays. Channels lose and double nothing.
//!
//! Lists of such algorithms ask for FIFO channels here, but nothing depends on them. What could
//! overtake is this: two requests of one process, of which RH1 keeps the newer; and the token a
//! request, when a process that the request of k has reached serves k, and k passes the token on to a
//! process that it has not reached. This late request is not above `token[k]`, and so not taken for an
//! open one. Conversely `request[k] > token[k]` only if k has asked since it had the token last, so
//! the token goes only to those that wait. And since each request reaches all processes in the end,
//! the holder then knows of it.
//!
//! # Costs
//! n an entry: n-1 REQUEST and one TOKEN; none for a holder. T between two entries.
//!
//! # Departures
//! RA1 in NO-TOKEN is a state of its own here, in which a process waits. The clock counts the own
//! requests and is not set by those of others: only values of the same clock are ever compared.

use super::costs;
use super::{Granted, Input, Mutex, Opening};
use crate::cost::Cost;
use crate::definition::{Entry, Topology};
use crate::show::{Item, ProcessView, Scene};
use bellwether_core::{Assumptions, Channels, Context, Kind, Message, NodeId, Process};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::mem;

/// What travels.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// "I want the token", with the value of my clock.
    Request(u64),
    /// The token.
    Token(Box<Token>),
}

/// The right to enter.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Token {
    /// `token[k]`: what the clock of each process showed when it had the token last, by place.
    held: Vec<u64>,
    /// How many entries there have been.
    entries: u64,
}

impl Message for Msg {
    fn kind(&self) -> Kind {
        Kind::protocol(match self {
            Msg::Request(_) => "REQUEST",
            Msg::Token(_) => "TOKEN",
        })
    }
}

impl fmt::Display for Msg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Msg::Request(clock) => write!(f, "REQUEST({clock})"),
            Msg::Token(_) => f.write_str("TOKEN"),
        }
    }
}

/// One process of Ricart and Agrawala's second algorithm.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RicartAgrawalaToken {
    clock: u64,
    /// `request[k]`: the newest request of each process that was heard of, by place.
    requests: Vec<u64>,
    state: State,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
enum State {
    /// NO-TOKEN, and none is wanted.
    #[default]
    NoToken,
    /// NO-TOKEN, but it was asked for.
    Waiting,
    /// TOKEN-PRESENT: here, and not used.
    Present(Box<Token>),
    /// TOKEN-HELD: in the section.
    Held(Box<Token>),
}

type Cx<'a> = Context<'a, RicartAgrawalaToken>;

impl Process for RicartAgrawalaToken {
    type Msg = Msg;
    type Timer = ();
    type Input = Input;
    type Output = Granted;
    type Durable = ();
    type Config = Opening;

    const ASSUMES: Assumptions = Assumptions::faultless(Channels::Any);

    fn durable(&self) {}

    fn on_start(&mut self, _: Option<()>, cx: &mut Cx<'_>) {
        let (opening, group) = (cx.config(), cx.group());
        cx.rule("RI2");
        self.requests = vec![0; group.len()];
        // Everybody knows of all open requests: they are the first of their processes.
        for place in opening.waiting.iter().filter_map(|id| group.place(*id)) {
            self.requests[place] = 1;
        }
        self.clock = self.requests[cx.place()];
        cx.rule("RI1");
        let waits = opening.is_waiting(cx.me());
        if opening.token != cx.me() {
            self.state = if waits { State::Waiting } else { State::NoToken };
            return;
        }
        let token = Box::new(Token { held: vec![0; group.len()], entries: 0 });
        if opening.is_inside(cx.me()) {
            self.state = State::Held(token);
        } else if waits {
            self.enter(token, cx);
        } else {
            self.state = State::Present(token);
            self.pass_on(cx);
        }
    }

    fn on_input(&mut self, input: Input, cx: &mut Cx<'_>) {
        match input {
            Input::Request => self.request(cx),
            Input::Release => self.release(cx),
        }
    }

    #[inline]
    fn on_message(&mut self, from: NodeId, msg: Msg, cx: &mut Cx<'_>) {
        match msg {
            Msg::Request(clock) => self.requested(from, clock, cx),
            // A token of another group, or one that no process waits for: no process sends that.
            Msg::Token(token) => {
                if self.state == State::Waiting && token.held.len() == cx.group().len() {
                    self.enter(token, cx);
                }
            }
        }
    }

    fn on_timer(&mut self, (): (), _: &mut Cx<'_>) {}
}

impl RicartAgrawalaToken {
    /// RA1, as far as the waiting.
    fn request(&mut self, cx: &mut Cx<'_>) {
        match mem::take(&mut self.state) {
            State::NoToken => {
                cx.rule("RA1");
                self.state = State::Waiting;
                self.clock = self.clock.saturating_add(1);
                cx.others().for_each(|id| cx.send(id, Msg::Request(self.clock)));
            }
            State::Present(token) => self.enter(token, cx),
            // It has asked already.
            state => self.state = state,
        }
    }

    /// RA1, from the token on.
    fn enter(&mut self, mut token: Box<Token>, cx: &mut Cx<'_>) {
        cx.rule("RA1");
        token.entries = token.entries.saturating_add(1);
        cx.emit(Granted(token.entries));
        self.state = State::Held(token);
    }

    /// RH1 and RH2.
    #[inline]
    fn requested(&mut self, from: NodeId, clock: u64, cx: &mut Cx<'_>) {
        cx.rule("RH1");
        let Some(place) = cx.group().place(from) else { return };
        let Some(known) = self.requests.get_mut(place) else { return };
        *known = clock.max(*known);
        if matches!(self.state, State::Present(_)) {
            cx.rule("RH2");
            self.pass_on(cx);
        }
    }

    /// RR1.
    fn release(&mut self, cx: &mut Cx<'_>) {
        match mem::take(&mut self.state) {
            State::Held(token) => {
                cx.rule("RR1");
                self.state = State::Present(token);
                self.pass_on(cx);
            }
            state => self.state = state,
        }
    }

    /// RR2.
    fn pass_on(&mut self, cx: &mut Cx<'_>) {
        let State::Present(token) = &mut self.state else { return };
        cx.rule("RR2");
        let me = cx.place();
        let waits = |place: &usize| self.requests.get(*place) > token.held.get(*place);
        let Some(next) = (me + 1..self.requests.len()).chain(0..me).find(waits) else { return };
        token.held[me] = self.clock;
        if let State::Present(token) = mem::take(&mut self.state) {
            cx.send(cx.group().ring()[next], Msg::Token(token));
        }
    }
}

impl Mutex for RicartAgrawalaToken {
    const ENTRY: Entry = Entry {
        name: "ricart-agrawala-token",
        family: "mutex",
        title: "Ricart-Agrawala, second (token)",
        source: "Ricart and Agrawala, CACM 26(2), 1983",
        cost: "n an entry, 0 for an idle holder",
        assumes: <Self as Process>::ASSUMES,
        topology: Topology::Mesh,
        docs: essay!("ricart_agrawala_token.rs"),
        example: "mutex/ricart-agrawala-token-circular-search.txt",
    };

    const TOKEN: bool = true;

    fn costs(n: u32) -> Vec<Cost> {
        costs::broadcast(n)
    }

    fn has_token(&self) -> bool {
        matches!(self.state, State::Present(_) | State::Held(_))
    }

    fn view(&self, scene: &Scene<'_>) -> ProcessView {
        let token = match &self.state {
            State::Present(token) | State::Held(token) => Some(token),
            State::NoToken | State::Waiting => None,
        };
        let waits = matches!(self.state, State::Waiting);
        let view = ProcessView::new(if waits { "waits for the token" } else { "" })
            .table("latest request of", scene.each(&self.requests));
        let Some(token) = token else { return view };
        // In the order in which the token goes round: first those after the holder.
        let open = scene.each(&self.requests).zip(&token.held);
        let open: Vec<NodeId> =
            open.filter(|((_, asked), held)| asked > held).map(|((id, _), _)| id).collect();
        let me = scene.group.place(scene.me).unwrap_or(0);
        let round = (1..scene.group.len()).map(|step| scene.group.after(me, step));
        view.table("token: last held at", scene.each(&token.held))
            .queue("gets the token next", round.filter(|id| open.contains(id)).map(Item::of))
    }
}

#[cfg(test)]
#[path = "tests/ricart_agrawala_token.rs"]
mod tests;
