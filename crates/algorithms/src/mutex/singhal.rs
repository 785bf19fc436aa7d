//! Singhal's heuristic token algorithm ("A heuristically-aided algorithm for mutual exclusion in
//! distributed systems", 1989).
//!
//! A token, and a guess at where it is: a process that wants it asks only those that are likely to
//! have it or to get it, namely those of whose requests it has heard. The guesses are right because of
//! any two processes at least one asks the other; at the start they form a staircase.
//!
//! SV and SN are what a process knows of each other process: whether it is requesting, and the
//! number of its last request. SV of the process itself is its state: R requesting, E executing
//! (inside), H holding the idle token, N none of these. TSV and TSN are what the token knows.
//!
//! # Rules
//! * SG1 Start: sites are counted from the token's holder on. Each has `SV[j]` = R for those before
//!   it and N for those after it; the holder has H.
//! * SG2 To enter in H: enter. In N: `SV[i] := R`, `SN[i] := SN[i] + 1`, send REQUEST(i, `SN[i]`)
//!   to every j with `SV[j]` = R.
//! * SG3 REQUEST(i, s) at j is outdated if s <= `SN[i]`; as printed it is dropped then. Otherwise
//!   `SN[i] := s` and, in N or E, `SV[i] := R`.
//! * SG4 In R, if `SV[i]` is not R: `SV[i] := R` and send the own REQUEST to i.
//! * SG5 In H: `SV[i] := TSV[i] := R`, `TSN[i] := s`, `SV[j] := N`, and the token goes to i.
//! * SG6 The token comes: enter.
//! * SG7 To leave: `SV[i] := TSV[i] := N`. For each j the pair of SN, SV or TSN, TSV with the
//!   larger number overwrites the other; the token's, if they are equal. The token goes to the
//!   first j after i on the ring with `SV[j]` = R; if there is none, keep it, in H.
//! * SG8, the cure: a REQUEST is also outdated if the token is here and s <= `TSN[i]`. An outdated
//!   REQUEST is not dropped. In N: `SV[i] := R`. In R: as SG4. In E or H: send the own REQUEST,
//!   with its last number, to i. `SN[i]` stays as it is, so the token overwrites that R later on.
//!
//! # Why the cure
//! When i leaves, it sets `SV[j] := N` for a j that it has asked, because from then on j asks i: it
//! has its REQUEST, or will get it. As printed that fails if the token is faster. It comes to j by
//! way of others and tells it that the request is over; the REQUEST is outdated on arrival and
//! dropped, and neither asks the other any more. If now one of them keeps the token, the other
//! waits for ever. Causal delivery rules that out, but takes a matrix at each process.
//!
//! With SG8 no REQUEST is without effect, and two things hold at every moment:
//! * of any two processes one asks the other, or a REQUEST between them is on its way;
//! * every other process asks the holder of the token, or the holder knows of its request, or a
//!   REQUEST between the two is on its way.
//!
//! Only SG7 sets `SV[j] := N` at i, and then the REQUEST of i to j was sent before: to those with
//! `SV[j]` = R by SG2, to those that became R while i waited by SG4 and SG8. Those that became R
//! while i was inside stay so, because their requests are new to the token as well; that is why
//! TSN counts in SG8. The REQUEST that arrives at j makes j ask i, later if it is in N and at once
//! if it is in R. In E or H it is i that must ask j, and j tells it so. Hence the holder of the token
//! learns of a request that stays open; the token knows it from then on, and the ring order of SG7
//! lets at most n-1 others in before.
//!
//! The REQUEST that is sent in E or H is about a request that is over, or nearly. That does no
//! harm: when its sender leaves, the token has its number, and the next holder believes the token.
//!
//! # Assumes
//! Nothing about order or delays. Channels lose and double nothing. As printed it needs causal
//! order: with FIFO channels a process may starve.
//!
//! # Costs
//! If one asks at a time: nothing for the holder; for another, k REQUESTs and the token if k others
//! were inside since it was so itself. That is (n+1)/2 - 1/n on average if each is as likely to
//! ask. If all ask always: n. T between two entries. SG8 adds a message only for a REQUEST that the
//! token has overtaken: in runs with messages in random order less than one in ten entries, and
//! none if all messages take the same time.
//!
//! # Departures
//! SG8. Sites are counted from the holder, which need not be the first. The token counts entries.

use super::costs::{Count, REQUEST, TOKEN, all_ask, holder_asks};
use super::{Granted, Input, Mutex, Opening};
use crate::cost::Expected::ExactMean;
use crate::cost::{Cost, Entries, Load, Rank};
use crate::definition::{Entry, Topology};
use crate::rings::mixed;
use crate::show::{Item, ProcessView, Scene, Tone};
use bellwether_core::{Assumptions, Channels, Context, Kind, Message, NodeId, Process};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What travels.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// "I want the token", with how often I have wanted it.
    Request(u32),
    /// The token.
    Token(Box<Token>),
}

/// What is known of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Known {
    /// SN or TSN: the number of its last request.
    number: u32,
    /// SV or TSV: whether it is R.
    requesting: bool,
}

/// The right to enter.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Token {
    /// TSN and TSV, by place.
    known: Vec<Known>,
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

/// One process of Singhal's heuristic algorithm.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Singhal {
    state: State,
    /// SN and SV, by place. Those that are R are asked. Of this process only the number counts.
    known: Vec<Known>,
}

/// SV of the process itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
enum State {
    /// N.
    #[default]
    None,
    /// R: all with SV = R have been asked.
    Requesting,
    /// E.
    Executing(Box<Token>),
    /// H.
    Holding(Box<Token>),
}

type Cx<'a> = Context<'a, Singhal>;

impl Process for Singhal {
    type Msg = Msg;
    type Timer = ();
    type Input = Input;
    type Output = Granted;
    type Durable = ();
    type Config = Opening;

    const ASSUMES: Assumptions = Assumptions::faultless(Channels::Any);

    fn durable(&self) {}

    fn on_start(&mut self, _: Option<()>, cx: &mut Cx<'_>) {
        self.climb(cx);
        if cx.config().is_waiting(cx.me()) {
            self.request(cx);
        }
    }

    fn on_input(&mut self, input: Input, cx: &mut Cx<'_>) {
        match input {
            Input::Request => self.request(cx),
            Input::Release => self.release(cx),
        }
    }

    fn on_message(&mut self, from: NodeId, msg: Msg, cx: &mut Cx<'_>) {
        match msg {
            Msg::Request(number) => self.requested(from, number, cx),
            Msg::Token(token)
                if self.state == State::Requesting && token.known.len() == self.known.len() =>
            {
                cx.rule("SG6");
                self.enter(token, cx);
            }
            // Of another group, or not asked for: no process sends that.
            Msg::Token(_) => {}
        }
    }

    fn on_timer(&mut self, (): (), _: &mut Cx<'_>) {}
}

impl Singhal {
    /// SG1.
    fn climb(&mut self, cx: &mut Cx<'_>) {
        cx.rule("SG1");
        let (opening, group) = (cx.config(), cx.group());
        let n = group.len();
        let holder = group.place(opening.token).unwrap_or(0);
        let step = |place: usize| (place + n - holder) % n;
        let mine = step(cx.place());
        self.known =
            (0..n).map(|place| Known { number: 0, requesting: step(place) < mine }).collect();
        self.state = if opening.token != cx.me() {
            State::None
        } else {
            let token = Box::new(Token { known: vec![Known::default(); n], entries: 0 });
            match opening.is_inside(cx.me()) {
                true => State::Executing(token),
                false => State::Holding(token),
            }
        };
    }

    /// SG2.
    fn request(&mut self, cx: &mut Cx<'_>) {
        cx.rule("SG2");
        match std::mem::take(&mut self.state) {
            State::Holding(token) => self.enter(token, cx),
            State::None => {
                let Some(own) = self.known.get_mut(cx.place()) else { return };
                self.state = State::Requesting;
                // The token may have brought any number.
                own.number = own.number.saturating_add(1);
                for (id, known) in cx.group().ring().iter().zip(&self.known) {
                    if known.requesting {
                        self.ask(*id, cx);
                    }
                }
            }
            // It has asked already.
            other => self.state = other,
        }
    }

    fn ask(&self, id: NodeId, cx: &mut Cx<'_>) {
        let number = self.known.get(cx.place()).map_or(0, |own| own.number);
        cx.send(id, Msg::Request(number));
    }

    fn enter(&mut self, mut token: Box<Token>, cx: &mut Cx<'_>) {
        token.entries = token.entries.saturating_add(1);
        cx.emit(Granted(token.entries));
        self.state = State::Executing(token);
    }

    fn requested(&mut self, from: NodeId, number: u32, cx: &mut Cx<'_>) {
        let known = self.known.len();
        let place = cx.group().place(from).filter(|place| *place < known && *place != cx.place());
        let Some(place) = place else { return };
        let as_printed = cx.config().options.as_printed;
        if number > self.newest(place, as_printed) {
            cx.rule("SG3");
            self.known[place].number = number;
            self.heard(place, from, cx);
        } else if !as_printed {
            cx.rule("SG8");
            match self.state {
                State::None | State::Requesting => self.note(place, from, cx),
                State::Executing(_) | State::Holding(_) => self.ask(from, cx),
            }
        }
    }

    /// The largest number of this process's requests that is known here.
    fn newest(&self, place: usize, as_printed: bool) -> u32 {
        let own = self.known[place].number;
        match &self.state {
            State::Executing(token) | State::Holding(token) if !as_printed => {
                own.max(token.known[place].number)
            }
            _ => own,
        }
    }

    /// A fresh request: SG3, SG4 and SG5.
    fn heard(&mut self, place: usize, from: NodeId, cx: &mut Cx<'_>) {
        self.note(place, from, cx);
        match std::mem::take(&mut self.state) {
            State::Holding(mut token) => {
                cx.rule("SG5");
                token.known[place] = self.known[place];
                cx.send(from, Msg::Token(token));
            }
            other => self.state = other,
        }
    }

    /// SG3 and SG4: to be asked from now on.
    fn note(&mut self, place: usize, from: NodeId, cx: &mut Cx<'_>) {
        let noted = std::mem::replace(&mut self.known[place].requesting, true);
        if !noted && self.state == State::Requesting {
            cx.rule("SG4");
            self.ask(from, cx);
        }
    }

    /// SG7.
    fn release(&mut self, cx: &mut Cx<'_>) {
        cx.rule("SG7");
        let me = cx.place();
        let mut token = match std::mem::take(&mut self.state) {
            State::Executing(token) => token,
            other => {
                self.state = other;
                return;
            }
        };
        self.known[me].requesting = false;
        token.known[me].requesting = false;
        for (known, token) in self.known.iter_mut().zip(&mut token.known) {
            if known.number > token.number {
                *token = *known;
            } else {
                *known = *token;
            }
        }
        let n = self.known.len();
        match (me + 1..me + n).find(|place| self.known[place % n].requesting) {
            Some(place) => cx.send(cx.group().ring()[place % n], Msg::Token(token)),
            None => self.state = State::Holding(token),
        }
    }
}

impl Mutex for Singhal {
    const ENTRY: Entry = Entry {
        name: "singhal",
        family: "mutex",
        title: "Singhal, heuristic",
        source: "Singhal, IEEE Trans. Computers 38(5), 1989; with a cure",
        cost: "0 to n an entry: (n+1)/2 - 1/n on average at light load, n saturated",
        assumes: <Self as Process>::ASSUMES,
        topology: Topology::Mesh,
        docs: essay!("singhal.rs"),
        example: "mutex/singhal-staircase.txt",
    };

    const TOKEN: bool = true;

    /// A requester asks those that were inside since it was so itself. Whatever happened before,
    /// there is one requester for each number of them from 0 to n-1, so the mean over all is always
    /// the same.
    fn costs(n: u32) -> Vec<Cost> {
        let count = u64::from(n);
        let before = mixed(n);
        let asks = |id| Entries::new(Load::Alone, [id]).after(&before);
        let mean = |sum| ExactMean { sum, runs: count };
        let sum = mean((count - 1) * (count + 2) / 2);
        let average = Cost::new("average requester", "(n+1)/2 - 1/n", sum, (1..=n).map(asks))
            .rank(Rank::Average)
            .parts([
                (REQUEST, "(n-1)/2", mean(count * (count - 1) / 2)),
                (TOKEN, "1 - 1/n", mean(count - 1)),
            ]);
        let mut costs = vec![holder_asks(n), average];
        if n > 1 {
            let each: [Count; 2] = [(REQUEST, "n-1", count - 1), (TOKEN, "1", 1)];
            // The first of those before has been away for longest.
            let longest = Cost::sum("longest away asks", "n", &each, [asks(before[0])]);
            costs.extend([longest.rank(Rank::Worst), all_ask(n, "n", &each)]);
        }
        costs
    }

    fn has_token(&self) -> bool {
        matches!(self.state, State::Executing(_) | State::Holding(_))
    }

    fn view(&self, scene: &Scene<'_>) -> ProcessView {
        let waits = matches!(self.state, State::Requesting);
        let asked =
            scene.each(&self.known).filter(|(id, known)| known.requesting && *id != scene.me);
        let (label, tone) =
            if waits { ("has asked", Tone::Waits) } else { ("would ask", Tone::Plain) };
        ProcessView::new(if waits { "waits for the token" } else { "" })
            .set(label, asked.map(|(id, _)| Item::of(id).tone(tone)))
            .table("last request of", scene.each(&self.known).map(|(id, known)| (id, known.number)))
    }
}

#[cfg(test)]
#[path = "tests/singhal.rs"]
mod tests;
