//! A world of the processes themselves: the meaning of [`Players`], easy to look at.

use crate::model::{Channels, Model, Ticks, Timing, Whose};
use crate::parts::{self, Armed, Arrival, Flight, Inbox, Past, Rest, Slot, State};
use crate::witness::{Observation, Witness, holds};
use crate::world::{
    Call, Change, Players, Reaction, Reacts, Taken, World, first_clocks, is_causal,
};
use bellwether_core::{Context, Effects, Here, NodeId, Process};
use std::iter;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// The players themselves.
#[derive(Debug)]
pub struct Plain<'a, P: Process> {
    /// What they play.
    pub model: &'a Model<P>,
}

/// A world as it is at the beginning, before anybody has started.
fn blank<P: Process>(model: &Model<P>) -> World<Plain<'_, P>> {
    let nodes = model.group.len();
    let slot = |place: usize| {
        let state = State::Up(P::default());
        Arc::new(Slot { place: place as u8, state, timers: Vec::new() })
    };
    let inbox = |place: usize| Arc::new(Inbox { to: place as u8, flights: Vec::new() });
    let past = if is_causal(model) { vec![0; nodes * nodes] } else { Past::new() };
    World {
        slots: (0..nodes).map(slot).collect(),
        inboxes: (0..nodes).map(inbox).collect(),
        pasts: if is_causal(model) {
            iter::repeat_n(Arc::new(past), nodes).collect()
        } else {
            Vec::new()
        },
        rest: Arc::new(Rest {
            left: model.faults,
            asked: vec![0; nodes],
            clocks: first_clocks(model),
        }),
        witness: Arc::new(Witness::new(model)),
    }
}

impl<'a, P: Process> Plain<'a, P> {
    /// The world after everybody has started.
    pub fn start(&mut self) -> World<Plain<'a, P>> {
        let mut world = blank(self.model);
        for place in 0..self.model.group.len() {
            world.react(self, place as u8, Call::Start);
        }
        world
    }
}

impl<P: Process> Players for Plain<'_, P> {
    type Process = P;
    type Slot = Arc<Slot<P>>;
    type Inbox = Arc<Inbox<P::Msg>>;
    type Past = Arc<Past>;
    type Msg = P::Msg;
    type Rest = Arc<Rest>;
    type Witness = Arc<Witness<P>>;
    type Observation = Arc<Observation<P>>;

    fn model(&self) -> &Model<P> {
        self.model
    }

    fn is_up(&mut self, slot: &Arc<Slot<P>>) -> bool {
        slot.process().is_some()
    }

    fn timers(&mut self, slot: &Arc<Slot<P>>, found: &mut Vec<Arrival>) {
        for (at, armed) in slot.timers.iter().enumerate() {
            if armed.least == 0 {
                found.push(Arrival { at: at as u8, urgent: armed.most == 0 });
            }
        }
    }

    fn arrivals(&mut self, inbox: &Arc<Inbox<P::Msg>>, found: &mut Vec<Arrival>) {
        inbox.arrivals(self.model.group.len(), self.model.channels, found);
    }

    fn rest(&mut self, rest: &Arc<Rest>) -> Arc<Rest> {
        Arc::clone(rest)
    }

    fn set_rest(&mut self, rest: Rest) -> Arc<Rest> {
        Arc::new(rest)
    }

    fn call(&mut self, slot: &Arc<Slot<P>>, call: Call<P::Msg>, clock: Ticks) -> Reacts<Self> {
        let mut slot = Slot::clone(slot);
        let mut sends = Vec::new();
        // Who does not look at the clock does the same at any time.
        let clock = if self.model.reads_clock { clock } else { 0 };
        let observed = step(self.model, &mut slot, call, clock, &mut sends, &mut |_, _| {});
        Reaction { slot: Arc::new(slot), sends: sends.into(), observed: Arc::new(observed) }
    }

    fn hear(
        &mut self,
        witness: &Arc<Witness<P>>,
        observed: &Arc<Observation<P>>,
        now: Ticks,
    ) -> Self::Witness {
        if observed.is_nothing(self.model) {
            return Arc::clone(witness);
        }
        let mut witness = Witness::clone(witness);
        witness.hear(self.model, observed, now);
        Arc::new(witness)
    }

    fn elapse_slot(&mut self, slot: &Arc<Slot<P>>) -> Arc<Slot<P>> {
        let mut slot = Slot::clone(slot);
        slot.elapse();
        if let (Some(aging), State::Up(process)) = (&self.model.aging, &mut slot.state) {
            let now = self.model.reading(usize::from(slot.place), 0);
            let tick = self.model.timing.tick().unwrap_or_default();
            (aging.process)(process, &self.model.config, now, tick);
        }
        Arc::new(slot)
    }

    fn elapse_inbox(&mut self, inbox: &Arc<Inbox<P::Msg>>) -> Arc<Inbox<P::Msg>> {
        let mut inbox = Inbox::clone(inbox);
        inbox.elapse();
        Arc::new(inbox)
    }

    fn age(&mut self, inbox: &Arc<Inbox<P::Msg>>, place: u8) -> Arc<Inbox<P::Msg>> {
        let Some(aging) = &self.model.aging else { return Arc::clone(inbox) };
        let tick = self.model.timing.tick().unwrap_or_default();
        let now = self.model.reading(usize::from(place), 0);
        let mut aged = Inbox { to: inbox.to, flights: Vec::new() };
        for flight in &inbox.flights {
            let mut flight = flight.clone();
            for (who, whose) in [(flight.from, Whose::Sender), (inbox.to, Whose::Receiver)] {
                if who == place {
                    (aging.msg)(&mut flight.msg, whose, &self.model.config, now, tick);
                }
            }
            aged.post(flight, self.model.channels);
        }
        Arc::new(aged)
    }

    fn purge(&mut self, inbox: &Arc<Inbox<P::Msg>>, slot: &Arc<Slot<P>>) -> Arc<Inbox<P::Msg>> {
        let ring = self.model.group.ring();
        let (Some(spent), Some(process)) = (self.model.spent, slot.process()) else {
            return Arc::clone(inbox);
        };
        let now = self.model.reading(usize::from(slot.place), 0);
        let is_spent = |flight: &Flight<P::Msg>| {
            spent(process, &self.model.config, now, ring[usize::from(flight.from)], &flight.msg)
        };
        if !inbox.flights.iter().any(is_spent) {
            return Arc::clone(inbox);
        }
        let mut inbox = Inbox::clone(inbox);
        inbox.flights.retain(|flight| !is_spent(flight));
        Arc::new(inbox)
    }

    fn take(
        &mut self,
        inbox: &Arc<Inbox<P::Msg>>,
        at: u8,
    ) -> Taken<Arc<Inbox<P::Msg>>, Arc<Past>, P::Msg> {
        let mut inbox = Inbox::clone(inbox);
        let at = usize::from(at);
        let Flight { from, msg, past, .. } = match self.model.channels {
            Channels::Unreliable => inbox.flights[at].clone(),
            _ => inbox.flights.remove(at),
        };
        Taken { inbox: Arc::new(inbox), from, msg, past: Arc::new(past) }
    }

    fn post(
        &mut self,
        inbox: &Arc<Inbox<P::Msg>>,
        from: u8,
        msg: P::Msg,
        past: Option<&Arc<Past>>,
    ) -> Arc<Inbox<P::Msg>> {
        let mut inbox = Inbox::clone(inbox);
        let (least, most) = self.model.timing.delay();
        let past = past.map(|past| Past::clone(past)).unwrap_or_default();
        inbox.post(Flight { from, msg, least, most, past }, self.model.channels);
        Arc::new(inbox)
    }

    fn double(&mut self, inbox: &Arc<Inbox<P::Msg>>, at: u8) -> Arc<Inbox<P::Msg>> {
        let mut inbox = Inbox::clone(inbox);
        let copy = inbox.flights[usize::from(at)].clone();
        inbox.flights.insert(usize::from(at), copy);
        Arc::new(inbox)
    }

    fn is_empty(&mut self, inbox: &Arc<Inbox<P::Msg>>) -> bool {
        inbox.flights.is_empty()
    }

    fn past(&mut self, past: &Arc<Past>, change: Change) -> Arc<Past> {
        let mut past = Past::clone(past);
        parts::change(&mut past, change);
        Arc::new(past)
    }

    fn pasts(&mut self, inbox: &Arc<Inbox<P::Msg>>, change: Change) -> Arc<Inbox<P::Msg>> {
        let mut inbox = Inbox::clone(inbox);
        for flight in &mut inbox.flights {
            parts::change(&mut flight.past, change);
        }
        Arc::new(inbox)
    }

    fn merge(&mut self, mine: &Arc<Past>, theirs: &Arc<Past>) -> Arc<Past> {
        let mut past = Past::clone(mine);
        parts::merge(&mut past, theirs);
        Arc::new(past)
    }
}

/// Calls a process: what becomes of it, what it sends and what it says. Tells of every timer that
/// it sets, also of those that it stops in the same step.
pub(crate) fn step<P: Process>(
    model: &Model<P>,
    slot: &mut Slot<P>,
    call: Call<P::Msg>,
    clock: Ticks,
    sends: &mut Vec<(u8, P::Msg)>,
    tell: &mut dyn FnMut(P::Timer, &Range<Duration>),
) -> Observation<P> {
    let place = usize::from(slot.place);
    let who = model.group.ring()[place];
    let now = model.reading(place, clock);
    let had = slot.process().is_some_and(|process| holds(model, who, process, now));
    let mut observed = Observation::nothing(who);
    let saved = match (&slot.state, &call) {
        (State::Down(saved), Call::Start) => Some(saved.clone()),
        (State::Up(process), Call::Crash) => {
            slot.state = State::Down(process.durable());
            slot.timers.clear();
            observed.crashed = true;
            observed.look(model, None, now, had);
            return observed;
        }
        _ => None,
    };
    if saved.is_some() {
        slot.state = State::Up(P::default());
        observed.recovered = true;
    }
    let State::Up(process) = &mut slot.state else { return observed };
    let fired = match call {
        Call::Timer(at) => Some(slot.timers.remove(usize::from(at)).timer),
        _ => None,
    };
    let Slot { timers, .. } = slot;
    let mut sink = Sink { model, timers, sends, outputs: &mut observed.outputs, tell };
    let here = Here::new(&model.group, place, now, false);
    let mut cx = Context::new(&here, &model.config, &mut sink);
    match call {
        Call::Start => process.on_start(saved, &mut cx),
        Call::Message(from, msg) => {
            process.on_message(model.group.ring()[usize::from(from)], msg, &mut cx);
        }
        Call::Input(number) => {
            let input = model.inputs[place][usize::from(number)].clone();
            process.on_input(input, &mut cx);
        }
        Call::Timer(_) => {
            if let Some(timer) = fired {
                process.on_timer(timer, &mut cx);
            }
        }
        Call::Crash => {}
    }
    observed.look(model, Some(process), now, had);
    observed
}

/// Where the effects of one step go.
struct Sink<'a, P: Process> {
    model: &'a Model<P>,
    timers: &'a mut Vec<Armed<P::Timer>>,
    sends: &'a mut Vec<(u8, P::Msg)>,
    outputs: &'a mut Vec<P::Output>,
    tell: &'a mut dyn FnMut(P::Timer, &Range<Duration>),
}

impl<P: Process> Effects<P> for Sink<'_, P> {
    fn send(&mut self, to: NodeId, msg: P::Msg) {
        // A message to a process that is no member goes nowhere.
        if let Some(place) = self.model.group.place(to) {
            self.sends.push((place as u8, msg));
        }
    }

    fn set_timer(&mut self, timer: P::Timer, after: Range<Duration>) {
        (self.tell)(timer.clone(), &after);
        let (least, mut most) = self.model.timing.ticks(&after);
        // Where a timer may be late, nothing says how late.
        if matches!(self.model.timing, Timing::Drifting { .. }) {
            most = least;
        }
        let place = self.timers.binary_search_by(|other| other.timer.cmp(&timer));
        let armed = Armed { timer, least, most };
        match place {
            Ok(at) => self.timers[at] = armed,
            Err(at) => self.timers.insert(at, armed),
        }
    }

    fn cancel_timer(&mut self, timer: P::Timer) {
        self.timers.retain(|other| other.timer != timer);
    }

    fn emit(&mut self, output: P::Output) {
        self.outputs.push(output);
    }

    fn rule(&mut self, _: &'static str) {}
}
