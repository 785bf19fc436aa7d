//! Suzuki and Kasami's broadcast algorithm ("A distributed mutual exclusion algorithm", 1985).
//!
//! A token with a queue of its own: a process that wants it tells all others, and the holder knows
//! from the numbers which of the requests that it has heard of are still open.
//!
//! # Rules
//! * K1 To enter without the token: `RN[i] := RN[i] + 1`, send `REQUEST(i, RN[i])` to all others
//!   and wait for the token. With the token: enter.
//! * K2 `REQUEST(j, s)`: `RN[j] := max(RN[j], s)`. An idle holder with `RN[j] = LN[j] + 1` sends
//!   the token to j. An outdated request, `s <= LN[j]`, does nothing.
//! * K3 To leave: `LN[i] := RN[i]`; every j that is not in Q with `RN[j] = LN[j] + 1` is appended
//!   to Q; if Q is not empty, the token goes to its head.
//!
//! # Assumes
//! Nothing about order or delays. Channels lose and double nothing.
//!
//! # Costs
//! n messages an entry, none for an idle holder; T between two entries.

use super::costs;
use super::{Granted, Input, Mutex, Opening};
use crate::cost::Cost;
use crate::definition::{Entry, Topology};
use crate::show::{Item, ProcessView, Scene};
use bellwether_core::{Assumptions, Channels, Context, Kind, Message, NodeId, Process};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fmt;

/// What travels.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// "I want the token", with how often I have wanted it.
    Request(u32),
    /// The token.
    Token(Box<Token>),
}

/// The right to enter.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Token {
    /// LN: the number of the last request of each process that was granted, by place.
    granted: Vec<u32>,
    /// Q: who gets it next, by place. FIFO: with a stack a process could starve.
    queue: VecDeque<u32>,
    /// Whether a place is in Q.
    queued: Vec<bool>,
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
            Msg::Request(number) => write!(f, "REQUEST({number})"),
            Msg::Token(_) => f.write_str("TOKEN"),
        }
    }
}

/// One process of Suzuki and Kasami.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SuzukiKasami {
    /// RN: the largest number of a request that was heard of, by place.
    requested: Vec<u32>,
    token: Option<Box<Token>>,
    inside: bool,
}

type Cx<'a> = Context<'a, SuzukiKasami>;

impl Process for SuzukiKasami {
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
        // Everybody knows of all open requests: they are the first of their processes.
        self.requested = vec![0; group.len()];
        for place in opening.queue().filter_map(|(id, _)| group.place(id)) {
            self.requested[place] = 1;
        }
        if opening.token == cx.me() {
            let mut token = Token {
                granted: vec![0; group.len()],
                queue: VecDeque::new(),
                queued: vec![false; group.len()],
                entries: 0,
            };
            for place in opening.waiting.iter().filter_map(|id| group.place(*id)) {
                token.append(place);
            }
            self.token = Some(Box::new(token));
            self.inside = opening.is_inside(cx.me());
            if !self.inside {
                self.pass_on(cx);
            }
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
            Msg::Request(number) => self.requested(from, number, cx),
            Msg::Token(token) if token.fits(cx.group().len()) => {
                self.token = Some(token);
                self.enter(cx);
            }
            // Of another group: no process sends that.
            Msg::Token(_) => {}
        }
    }

    fn on_timer(&mut self, (): (), _: &mut Cx<'_>) {}
}

impl SuzukiKasami {
    /// K1.
    fn request(&mut self, cx: &mut Cx<'_>) {
        cx.rule("K1");
        let me = cx.place();
        if let Some(number) = self.requested.get_mut(me) {
            *number = number.saturating_add(1);
            if self.token.is_none() {
                cx.others().for_each(|id| cx.send(id, Msg::Request(*number)));
                return;
            }
        }
        self.enter(cx);
    }

    fn enter(&mut self, cx: &mut Cx<'_>) {
        if let Some(token) = &mut self.token {
            self.inside = true;
            token.entries = token.entries.saturating_add(1);
            cx.emit(Granted(token.entries));
        }
    }

    /// K2.
    #[inline]
    fn requested(&mut self, from: NodeId, number: u32, cx: &mut Cx<'_>) {
        cx.rule("K2");
        let Some(place) = cx.group().place(from) else { return };
        let Some(known) = self.requested.get_mut(place) else { return };
        *known = number.max(*known);
        if let Some(token) = &mut self.token
            && !self.inside
            && token.misses(place, *known)
        {
            token.append(place);
            self.pass_on(cx);
        }
    }

    /// K3.
    fn release(&mut self, cx: &mut Cx<'_>) {
        cx.rule("K3");
        self.inside = false;
        let me = cx.place();
        if let Some(token) = &mut self.token {
            token.granted[me] = self.requested[me];
            for place in 0..self.requested.len() {
                if !token.queued[place] && token.misses(place, self.requested[place]) {
                    token.append(place);
                }
            }
            self.pass_on(cx);
        }
    }

    /// The token goes to the head of its queue, which may be this process itself.
    fn pass_on(&mut self, cx: &mut Cx<'_>) {
        let Some(place) = self.token.as_mut().and_then(|token| token.next()) else { return };
        let next = cx.group().ring()[place];
        if next == cx.me() {
            self.enter(cx);
        } else if let Some(token) = self.token.take() {
            cx.send(next, Msg::Token(token));
        }
    }
}

impl Token {
    /// Whether it is a token of a group of this size.
    fn fits(&self, members: usize) -> bool {
        self.granted.len() == members
            && self.queued.len() == members
            && self.queue.iter().all(|place| (*place as usize) < members)
    }

    /// Whether the request of this number has not been granted: `RN[j] = LN[j] + 1`.
    #[inline]
    fn misses(&self, place: usize, number: u32) -> bool {
        self.granted[place].checked_add(1) == Some(number)
    }

    fn append(&mut self, place: usize) {
        self.queue.push_back(place as u32);
        self.queued[place] = true;
    }

    fn next(&mut self) -> Option<usize> {
        let place = self.queue.pop_front()? as usize;
        self.queued[place] = false;
        Some(place)
    }
}

impl Mutex for SuzukiKasami {
    const ENTRY: Entry = Entry {
        name: "suzuki-kasami",
        family: "mutex",
        title: "Suzuki-Kasami",
        source: "Suzuki and Kasami, ACM TOCS 3(4), 1985",
        cost: "n an entry, 0 for an idle holder",
        assumes: <Self as Process>::ASSUMES,
        topology: Topology::Mesh,
        docs: essay!("suzuki_kasami.rs"),
        example: "mutex/suzuki-kasami-outdated-request.txt",
    };

    const TOKEN: bool = true;

    fn costs(n: u32) -> Vec<Cost> {
        costs::broadcast(n)
    }

    fn has_token(&self) -> bool {
        self.token.is_some()
    }

    fn view(&self, scene: &Scene<'_>) -> ProcessView {
        let view = ProcessView::new("").table("requests heard (RN)", scene.each(&self.requested));
        let Some(token) = &self.token else { return view };
        let next = token.queue.iter().filter_map(|place| scene.group.ring().get(*place as usize));
        view.table("token: requests granted (LN)", scene.each(&token.granted))
            .queue("token: waiting (Q)", next.map(|id| Item::of(*id)))
    }
}

#[cfg(test)]
#[path = "tests/suzuki_kasami.rs"]
mod tests;
