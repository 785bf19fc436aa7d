//! The referee of ordered broadcasts. It judges only by what the processes say that they broadcast
//! and deliver.
//!
//! It keeps no clocks. All messages that a sender had broadcast or delivered before can have caused
//! its message: a list for each incarnation of a process, of which a message's past is the beginning.
//! The one order is a table from positions to messages: the first delivery at a position fills it in,
//! and all others must be the same.

use super::{MessageId, Output};
use crate::referee::{Breach, Fact, Referee};
use bellwether_core::{Group, NodeId, Process, SortedMap, SortedSet, Time, micros};
use serde_json::json;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

/// What an algorithm promises about order. All promise that what is broadcast by a live process is
/// delivered by all live processes, once, and not before what can have caused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Promises {
    /// Whether all deliver in one order.
    total: bool,
    /// Whether that goes for those that crash, too.
    uniform: bool,
}

impl Promises {
    /// Causal order only.
    pub fn causal() -> Self {
        Promises { total: false, uniform: false }
    }

    /// One order, for all that live; if `uniform`, also for what the dead have delivered before they
    /// died.
    pub fn total(uniform: bool) -> Self {
        Promises { total: true, uniform }
    }

    /// Who sees to it.
    pub fn referee<P: Process<Output = Output>>(self, group: &Group) -> Box<dyn Referee<P>> {
        Box::new(Order::new(self, group))
    }
}

const CREATED: Breach = Breach {
    name: "no-inventions",
    text: "only what was broadcast is delivered, and every broadcast has a name of its own",
    by: Vec::new(),
};
const TWICE: Breach =
    Breach { name: "no-duplicates", text: "no process delivers a message twice", by: Vec::new() };
const CAUSAL: Breach = Breach {
    name: "causal",
    text: "no message is delivered before one that can have caused it",
    by: Vec::new(),
};
const ONE_ORDER: Breach = Breach {
    name: "one-order",
    text: "all processes deliver the same messages in the same order, without gaps",
    by: Vec::new(),
};
const AGREEMENT: Breach = Breach {
    name: "all-deliver",
    text: "what a live process broadcasts or delivers is delivered by all live processes",
    by: Vec::new(),
};

/// A message, by its number in the order in which it was heard of.
type Number = usize;

/// The referee. Two are equal if they will judge alike: see [`Order::judged`].
#[derive(Clone, Debug)]
struct Order {
    promises: Promises,
    messages: Vec<Known>,
    numbers: BTreeMap<MessageId, Number>,
    /// What each life of a process has broadcast or delivered, in this order. The dead count, too:
    /// their messages may still be on the way.
    pasts: Vec<Vec<Number>>,
    /// The lives that go on.
    lives: SortedMap<NodeId, Life>,
    /// The one order, by position from 0.
    order: SortedMap<u64, Number>,
    deliveries: u64,
    delay_us: u64,
    held_back: u32,
    violations: u64,
}

/// What is known of a message.
#[derive(Clone, Debug)]
struct Known {
    at: Time,
    /// The life in which it was broadcast, and how much of its past came before.
    life: usize,
    past: usize,
    /// Its position in the one order, once it has one.
    position: Option<u64>,
}

/// A process, from one start to the next crash.
#[derive(Clone, Debug)]
struct Life {
    number: usize,
    delivered: Numbers,
    /// How much of the past of other lives is known to be delivered.
    checked: SortedMap<usize, usize>,
    /// From which position on it delivers, and the next. None for one that has come back and has
    /// not joined.
    span: Option<(u64, u64)>,
}

/// A set of messages.
#[derive(Clone, Debug, Default)]
struct Numbers(Vec<u64>);

impl Numbers {
    fn contains(&self, number: Number) -> bool {
        self.0.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Whether it was not there before.
    fn insert(&mut self, number: Number) -> bool {
        let (word, bit) = (number / 64, 1 << (number % 64));
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        let new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        new
    }
}

impl Order {
    fn new(promises: Promises, group: &Group) -> Self {
        let mut order = Order {
            promises,
            messages: Vec::new(),
            numbers: BTreeMap::new(),
            pasts: Vec::new(),
            lives: SortedMap::new(),
            order: SortedMap::new(),
            deliveries: 0,
            delay_us: 0,
            held_back: 0,
            violations: 0,
        };
        for id in group.ring() {
            order.begin_life(*id, Some((0, 0)));
        }
        order
    }

    fn begin_life(&mut self, who: NodeId, span: Option<(u64, u64)>) {
        let number = self.pasts.len();
        self.pasts.push(Vec::new());
        let (delivered, checked) = (Numbers::default(), SortedMap::new());
        self.lives.insert(who, Life { number, delivered, checked, span });
    }

    /// The life of a process; a new one if it has crashed.
    fn life(&mut self, who: NodeId) -> Option<&mut Life> {
        if !self.lives.contains_key(&who) {
            self.begin_life(who, None);
        }
        self.lives.get_mut(&who)
    }

    fn broadcast(&mut self, at: Time, who: NodeId, id: MessageId) -> Result<(), Breach> {
        let number = self.messages.len();
        let Some(life) = self.life(who).map(|life| life.number) else { return Ok(()) };
        let past = self.pasts[life].len();
        self.pasts[life].push(number);
        self.messages.push(Known { at, life, past, position: None });
        if id.sender != who || self.numbers.insert(id, number).is_some() {
            return Err(by(CREATED, [who]));
        }
        Ok(())
    }

    fn delivered(&mut self, at: Time, who: NodeId, id: MessageId) -> Result<(), Breach> {
        let Some(number) = self.numbers.get(&id).copied() else {
            return Err(by(CREATED, [who]));
        };
        self.deliveries += 1;
        self.delay_us += micros(at.since(self.messages[number].at));
        let Some(life) = self.life(who) else { return Ok(()) };
        if !life.delivered.insert(number) {
            return Err(by(TWICE, [who]));
        }
        let past = life.number;
        self.pasts[past].push(number);
        self.judge_causes(who, number)?;
        if self.promises.total { self.judge_position(who, number) } else { Ok(()) }
    }

    /// Whether all that can have caused a message is delivered here. It is enough to look at what
    /// its sender had seen: what caused that was looked at when the sender delivered it. And what
    /// was delivered here once stays so, so nothing is looked at twice.
    fn judge_causes(&mut self, who: NodeId, number: Number) -> Result<(), Breach> {
        let Some(life) = self.lives.get_mut(&who) else { return Ok(()) };
        let Known { life: sender, past, .. } = self.messages[number];
        let checked = life.checked.entry(sender).or_insert(0);
        let start = life.span.map_or(u64::MAX, |(start, _)| start);
        for cause in self.pasts[sender].iter().take(past).skip(*checked) {
            // A process that joined later need not deliver what came before; no process may know where that is.
            let position = self.messages[*cause].position;
            let skipped = start > 0 && position.is_none_or(|position| position < start);
            if !skipped && !life.delivered.contains(*cause) {
                return Err(by(CAUSAL, [who]));
            }
        }
        *checked = past.max(*checked);
        Ok(())
    }

    /// Whether a message has the position in which it is delivered here.
    fn judge_position(&mut self, who: NodeId, number: Number) -> Result<(), Breach> {
        let Some(Life { span: Some((_, next)), .. }) = self.lives.get_mut(&who) else {
            return Err(by(ONE_ORDER, [who]));
        };
        let position = *next;
        *next += 1;
        let there = *self.order.entry(position).or_insert(number);
        let place = *self.messages[number].position.get_or_insert(position);
        if there != number || place != position {
            let reached = |life: &Life| life.span.is_some_and(|(_, next)| next > position);
            let others = self.lives.iter().filter(|(_, life)| reached(life));
            return Err(by(ONE_ORDER, others.map(|(id, _)| *id)));
        }
        Ok(())
    }

    /// Forgets what only the dead have delivered, if nothing is promised about that, or if no process
    /// is left who knows of it.
    fn forget(&mut self) {
        let known = self.lives.values().filter_map(|life| life.span).map(|(_, next)| next).max();
        let void = match known {
            None => self.order.split_off(&0),
            Some(_) if self.promises.uniform => return,
            Some(known) => self.order.split_off(&known),
        };
        for number in void.into_values() {
            self.messages[number].position = None;
        }
    }

    /// Whether all that goes on have delivered what they should.
    fn judge_agreement(&self, live: &[NodeId]) -> Result<(), Breach> {
        let taking_part: Vec<(NodeId, &Life)> = live
            .iter()
            .filter_map(|id| self.lives.get(id).map(|life| (*id, life)))
            .filter(|(_, life)| life.span.is_some())
            .collect();
        let alive = |number: usize| taking_part.iter().any(|(_, life)| life.number == number);
        let alive: Vec<bool> = (0..self.pasts.len()).map(alive).collect();
        for (number, message) in self.messages.iter().enumerate() {
            let has = |life: &Life| life.delivered.contains(number);
            if !alive[message.life] && !taking_part.iter().any(|(_, life)| has(life)) {
                continue;
            }
            let due = |life: &Life| match (life.span, message.position) {
                (Some((start, _)), Some(position)) => start <= position,
                _ => true,
            };
            let missing: Vec<NodeId> = taking_part
                .iter()
                .filter(|(_, life)| due(life) && !has(life))
                .map(|(id, _)| *id)
                .collect();
            if !missing.is_empty() {
                return Err(by(AGREEMENT, missing));
            }
        }
        Ok(())
    }

    fn count<T>(&mut self, judged: Result<T, Breach>) -> Result<T, Breach> {
        self.violations += u64::from(judged.is_err());
        judged
    }
}

/// All that judging depends on, whatever the order in which it was heard: no counts, no moments,
/// and sets instead of lists.
#[derive(PartialEq, Eq, Hash)]
struct Judged {
    promises: Promises,
    messages: Vec<(MessageId, Kept)>,
    lives: Vec<(NodeId, ProcessRecord)>,
    order: Vec<(u64, MessageId)>,
}

/// What judging needs to know of a message.
#[derive(PartialEq, Eq, Hash)]
struct Kept {
    causes: SortedSet<MessageId>,
    position: Option<u64>,
    /// Whether the life in which it was broadcast goes on.
    goes_on: bool,
}

/// What judging needs to know of a process.
#[derive(PartialEq, Eq, Hash)]
struct ProcessRecord {
    delivered: SortedSet<MessageId>,
    seen: SortedSet<MessageId>,
    span: Option<(u64, u64)>,
    /// What is not looked at again, where that makes a difference: for one that joined later.
    checked: SortedMap<usize, usize>,
}

impl Order {
    fn judged(&self) -> Judged {
        let mut ids = vec![None; self.messages.len()];
        self.numbers.iter().for_each(|(id, number)| ids[*number] = Some(*id));
        let named = |numbers: &mut dyn Iterator<Item = &Number>| -> SortedSet<MessageId> {
            numbers.filter_map(|number| ids[*number]).collect()
        };
        let kept = |number: Number| {
            let Known { life, past, position, .. } = self.messages[number];
            let causes = named(&mut self.pasts[life].iter().take(past));
            let goes_on = self.lives.values().any(|other| other.number == life);
            Kept { causes, position, goes_on }
        };
        let record = |life: &Life| {
            let numbers: Vec<Number> = (0..self.messages.len()).collect();
            let delivered = |number: &&Number| life.delivered.contains(**number);
            let joined = life.span.is_none_or(|(start, _)| start > 0);
            ProcessRecord {
                delivered: named(&mut numbers.iter().filter(delivered)),
                seen: named(&mut self.pasts[life.number].iter()),
                span: life.span,
                checked: if joined { life.checked.clone() } else { SortedMap::new() },
            }
        };
        let order = self.order.iter().filter_map(|(at, number)| Some((*at, ids[*number]?)));
        Judged {
            promises: self.promises,
            messages: self.numbers.iter().map(|(id, number)| (*id, kept(*number))).collect(),
            lives: self.lives.iter().map(|(id, life)| (*id, record(life))).collect(),
            order: order.collect(),
        }
    }
}

impl PartialEq for Order {
    fn eq(&self, other: &Self) -> bool {
        self.judged() == other.judged()
    }
}

impl Eq for Order {}

impl Hash for Order {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.judged().hash(hasher);
    }
}

fn by(breach: Breach, ids: impl IntoIterator<Item = NodeId>) -> Breach {
    Breach { by: ids.into_iter().collect(), ..breach }
}

impl<P: Process<Output = Output>> Referee<P> for Order {
    fn hears(&mut self, at: Time, who: NodeId, output: &Output) -> Result<(), Breach> {
        let judged = match *output {
            Output::Broadcast { id, .. } => self.broadcast(at, who, id),
            Output::Delivered { id, queue } => {
                self.held_back = self.held_back.max(queue);
                self.delivered(at, who, id)
            }
            Output::Held { queue, .. } => {
                self.held_back = self.held_back.max(queue);
                Ok(())
            }
            // Who takes part already would leave something out.
            Output::Joined { position } => match self.life(who) {
                Some(life) if life.span.is_none() => {
                    life.span = Some((position, position));
                    Ok(())
                }
                _ => Err(by(ONE_ORDER, [who])),
            },
            Output::Malformed { .. }
            | Output::Outside
            | Output::View { .. }
            | Output::Election(_) => Ok(()),
        };
        self.count(judged)
    }

    fn crashed(&mut self, _: Time, who: NodeId) {
        self.lives.remove(&who);
        if self.promises.total {
            self.forget();
        }
    }

    fn closes(&mut self, _: Time, live: &[NodeId]) -> Result<(), Breach> {
        let judged = self.judge_agreement(live);
        self.count(judged)
    }

    fn claims(&self) -> Vec<&'static str> {
        let mut claims = vec![CREATED.name, TWICE.name, CAUSAL.name, AGREEMENT.name];
        claims.extend(self.promises.total.then_some(ONE_ORDER.name));
        claims
    }

    fn facts(&self) -> Vec<Fact> {
        let count = |name, count: u64| Fact { name, text: count.to_string(), value: json!(count) };
        // In tenths, so that the text is the same on every machine.
        let delay = |deliveries: u64| {
            let tenths = (self.delay_us / 50 / deliveries).div_ceil(2);
            (format!("{}.{} ms", tenths / 10, tenths % 10), json!(tenths as f64 / 10.0))
        };
        let mut facts = vec![
            count("broadcasts", self.messages.len() as u64),
            count("deliveries", self.deliveries),
        ];
        if self.deliveries > 0 {
            let (text, value) = delay(self.deliveries);
            facts.push(Fact { name: "delay", text, value });
        }
        facts.push(count("held-back", u64::from(self.held_back)));
        facts.push(count("violations", self.violations));
        facts
    }
}

#[cfg(test)]
#[path = "tests/referee.rs"]
mod tests;
