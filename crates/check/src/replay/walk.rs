//! Walking through a counterexample, and counting as the simulator counts.

use crate::model::{Channels, Model};
use crate::parts::{Slot, State};
use crate::plain::{Plain, step};
use crate::world::{Action, Call, World, clock};
use bellwether_core::{Process, Time, micros};
use bellwether_sim as sim;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

/// A moment of a run: 0 is the start, and every happening has one of its own, in their order.
pub(super) type Moment = usize;

/// All that happens in a run, in the simulator's terms but for the times.
#[derive(Debug)]
pub(super) struct Walk<P: Process> {
    /// What is done to the cluster, and when.
    pub(super) deeds: Vec<(Moment, sim::Action<P::Input>)>,
    /// The messages, in the order of sending.
    pub(super) letters: Vec<Letter<P::Msg>>,
    /// The timers, in the order of setting.
    pub(super) settings: Vec<Setting>,
    /// What clocks show from a moment on, by place; only where processes look at them.
    pub(super) clocks: Vec<(Moment, u8, Time)>,
    /// Every process after each of its steps.
    pub(super) steps: Vec<(usize, P)>,
    /// The first moment of the cycle.
    pub(super) loops_from: Option<Moment>,
    /// The last moment.
    pub(super) last: Moment,
    /// Whether nothing is left to happen by itself.
    pub(super) quiet: bool,
}

/// A message.
#[derive(Debug)]
pub(super) struct Letter<M> {
    pub(super) from: u8,
    pub(super) to: u8,
    /// Which one of its link.
    pub(super) number: u32,
    msg: M,
    pub(super) sent: Moment,
    /// How many ticks had passed.
    tick: usize,
    /// When its copies arrive.
    pub(super) arrivals: Vec<Moment>,
    /// How many copies are still on their way.
    pub(super) copies: u8,
    /// Whether the network has lost it.
    pub(super) lost: bool,
    /// When it became clear that it comes to nothing, because its receiver is down for good.
    pub(super) gone: Option<Moment>,
}

/// A timer that was set.
#[derive(Debug)]
pub(super) struct Setting {
    pub(super) place: u8,
    /// Which one of all that its process has set.
    pub(super) number: u32,
    pub(super) set: Moment,
    /// Its duration in microseconds, at least and at most.
    pub(super) low: u64,
    pub(super) high: u64,
    pub(super) end: End,
}

/// What becomes of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Fires(Moment),
    /// It is cancelled, set again, or lost in a crash.
    Stops(Moment),
    /// It is still to come.
    Waits,
}

/// Walks along a run.
struct Walker<'a, P: Process> {
    plain: Plain<'a, P>,
    world: World<Plain<'a, P>>,
    walk: Walk<P>,
    /// How many messages each link has had.
    sent: BTreeMap<(u8, u8), u32>,
    /// How many timers each process has set.
    set: Vec<u32>,
    /// The timers that are set, as indices.
    armed: BTreeMap<(u8, P::Timer), usize>,
    ticks: usize,
}

/// Walks the stem, then the cycle once, and then on to where it can be seen that the goal is missed.
pub(super) fn walk<P: Process>(model: &Model<P>, stem: &[Action], cycle: &[Action]) -> Walk<P> {
    let mut walker = Walker::new(model);
    stem.iter().for_each(|action| walker.act(*action));
    if !cycle.is_empty() {
        let first = walker.walk.last + 1;
        cycle.iter().for_each(|action| walker.act(*action));
        // Where only time passes, for ever, nothing happens any more.
        walker.walk.loops_from = (first <= walker.walk.last).then_some(first);
        let more = walker.leaves_goal(cycle);
        cycle[..more].iter().for_each(|action| walker.act(*action));
    }
    let World { slots, inboxes, .. } = &walker.world;
    walker.walk.quiet = inboxes.iter().all(|inbox| inbox.flights.is_empty())
        && slots.iter().all(|slot| slot.timers.is_empty());
    walker.walk
}

/// What each of these actions is called in the scenario language, if it has a name.
pub(super) fn names<P: Process>(
    model: &Model<P>,
    actions: &[Action],
    verb: &dyn Fn(&P::Input) -> String,
) -> Vec<Option<String>> {
    let mut walker = Walker::new(model);
    let name = |action: &Action| {
        let name = walker.name(*action, verb);
        walker.act(*action);
        name
    };
    actions.iter().map(name).collect()
}

impl<'a, P: Process> Walker<'a, P> {
    /// What an action is called that comes next.
    fn name(&self, action: Action, verb: &dyn Fn(&P::Input) -> String) -> Option<String> {
        let ring = self.plain.model.group.ring();
        let id = |place: u8| ring[usize::from(place)];
        let letter = |to, at| self.find(to, at).map(|index| &self.walk.letters[index]);
        match action {
            Action::Deliver { to, at } => {
                let Letter { from, number, copies, .. } = letter(to, at)?;
                let steer = if *copies > 1 { sim::Steer::Repeat } else { sim::Steer::Deliver };
                Some(steer(id(*from), id(to), *number).to_string())
            }
            Action::Lose { to, at } => {
                let Letter { from, number, .. } = letter(to, at)?;
                Some(sim::Steer::Lose(id(*from), id(to), *number).to_string())
            }
            Action::Fire { place, at } => {
                let timer = self.slot(place).timers.get(usize::from(at))?.timer.clone();
                let setting = &self.walk.settings[*self.armed.get(&(place, timer))?];
                Some(sim::Steer::Fire(id(place), setting.number).to_string())
            }
            Action::Input { place } => {
                let number = self.world.rest.asked[usize::from(place)];
                let input = self.plain.model.inputs[usize::from(place)].get(usize::from(number))?;
                Some(format!("{} {}", verb(input), id(place).number()))
            }
            Action::Crash { place } => Some(format!("crash {}", id(place).number())),
            Action::Recover { place } => Some(format!("recover {}", id(place).number())),
            // A second copy shows when it arrives.
            Action::Duplicate { .. } | Action::Tick { .. } => None,
        }
    }

    fn new(model: &'a Model<P>) -> Self {
        let mut plain = Plain { model };
        let world = plain.start();
        let nodes = model.group.len();
        let mut walker = Walker {
            plain,
            world,
            walk: Walk {
                deeds: Vec::new(),
                letters: Vec::new(),
                settings: Vec::new(),
                clocks: Vec::new(),
                steps: Vec::new(),
                loops_from: None,
                last: 0,
                quiet: false,
            },
            sent: BTreeMap::new(),
            set: vec![0; nodes],
            armed: BTreeMap::new(),
            ticks: 0,
        };
        for place in 0..nodes as u8 {
            walker.show_clock(place);
            let blank = Slot { place, state: State::Up(P::default()), timers: Vec::new() };
            walker.call(blank, Call::Start);
        }
        walker
    }

    /// After how many steps of the cycle the goal does not hold. A run that comes to its goal and
    /// leaves it again, for ever, is best ended there.
    fn leaves_goal(&mut self, cycle: &[Action]) -> usize {
        let Some(goal) = &self.plain.model.goal else { return 0 };
        let ring = self.plain.model.group.ring();
        let mut world = self.world.clone();
        for (steps, action) in cycle.iter().enumerate() {
            let slots = ring.iter().zip(&world.slots);
            let mut live = slots.filter_map(|(id, slot)| Some((*id, slot.process()?)));
            if !(goal.holds)(&mut live) {
                return steps;
            }
            world.step(&mut self.plain, *action);
        }
        0
    }

    fn act(&mut self, action: Action) {
        let ring = self.plain.model.group.ring();
        match action {
            Action::Deliver { to, at } => {
                self.walk.last += 1;
                let moment = self.walk.last;
                let Some(index) = self.find(to, at) else { return };
                let letter = &mut self.walk.letters[index];
                letter.copies -= 1;
                letter.arrivals.push(moment);
                let call = Call::Message(letter.from, letter.msg.clone());
                self.call_at(to, call);
            }
            Action::Fire { place, at } => {
                self.walk.last += 1;
                let timer = self.slot(place).timers[usize::from(at)].timer.clone();
                if let Some(index) = self.armed.remove(&(place, timer)) {
                    self.walk.settings[index].end = End::Fires(self.walk.last);
                }
                self.call_at(place, Call::Timer(at));
            }
            Action::Input { place } => {
                let number = self.world.rest.asked[usize::from(place)];
                let input = &self.plain.model.inputs[usize::from(place)][usize::from(number)];
                self.deed(sim::Action::Input(ring[usize::from(place)], input.clone()));
                self.call_at(place, Call::Input(number));
            }
            Action::Crash { place } => {
                self.deed(sim::Action::Crash(ring[usize::from(place)]));
                self.call_at(place, Call::Crash);
            }
            Action::Recover { place } => {
                self.deed(sim::Action::Recover(ring[usize::from(place)]));
                self.call_at(place, Call::Start);
            }
            Action::Lose { to, at } => {
                let Some(index) = self.find(to, at) else { return };
                let letter = &mut self.walk.letters[index];
                letter.copies -= 1;
                letter.lost = true;
            }
            Action::Duplicate { to, at } => {
                let Some(index) = self.find(to, at) else { return };
                self.walk.letters[index].copies += 1;
            }
            Action::Tick { place } => self.ticks += usize::from(place.is_none()),
        }
        self.world.step(&mut self.plain, action);
        self.forget_the_gone();
        if let Action::Tick { place } = action {
            self.show_clocks(place);
        }
    }

    /// Something is done to the cluster.
    fn deed(&mut self, action: sim::Action<P::Input>) {
        self.walk.last += 1;
        self.walk.deeds.push((self.walk.last, action));
    }

    fn slot(&self, place: u8) -> &Slot<P> {
        &self.world.slots[usize::from(place)]
    }

    /// Which message this is that is somewhere in an inbox. Of several that are the same it does
    /// not matter which.
    fn find(&self, to: u8, at: u8) -> Option<usize> {
        let flight = self.world.inboxes[usize::from(to)].flights.get(usize::from(at))?;
        let (_, most) = self.plain.model.timing.delay();
        let left = |letter: &Letter<P::Msg>| {
            usize::from(most).saturating_sub(self.ticks - letter.tick) == usize::from(flight.most)
        };
        let ordered = self.plain.model.channels != Channels::Reorder;
        self.walk.letters.iter().position(|letter| {
            let on_its_way = letter.copies > 0 && (letter.from, letter.to) == (flight.from, to);
            on_its_way && (ordered || letter.msg == flight.msg && left(letter))
        })
    }

    fn call_at(&mut self, place: u8, call: Call<P::Msg>) {
        let slot = self.slot(place).clone();
        if slot.process().is_some() || matches!(call, Call::Start) {
            self.call(slot, call);
        }
    }

    /// Calls a process to see what it sends and which timers it sets.
    fn call(&mut self, mut slot: Slot<P>, call: Call<P::Msg>) {
        let place = slot.place;
        let clock = clock(&self.world.rest, usize::from(place));
        let moment = self.walk.last;
        let (settings, armed) = (&mut self.walk.settings, &mut self.armed);
        let count = &mut self.set[usize::from(place)];
        let mut tell = |timer: P::Timer, after: &Range<Duration>| {
            let (low, high) = (micros(after.start), micros(after.end));
            if let Some(old) = armed.insert((place, timer), settings.len()) {
                settings[old].end = End::Stops(moment);
            }
            let (number, high) = (*count, high.max(low));
            settings.push(Setting { place, number, set: moment, low, high, end: End::Waits });
            *count += 1;
        };
        let mut sends = Vec::new();
        step(self.plain.model, &mut slot, call, clock, &mut sends, &mut tell);
        armed.retain(|(whose, timer), index| {
            let set = *whose != place || slot.timers.iter().any(|armed| armed.timer == *timer);
            if !set {
                settings[*index].end = End::Stops(moment);
            }
            set
        });
        for (to, msg) in sends {
            self.send(place, to, msg);
        }
        if let State::Up(process) = slot.state {
            self.walk.steps.push((usize::from(place), process));
        }
    }

    fn send(&mut self, from: u8, to: u8, msg: P::Msg) {
        let sent = self.sent.entry((from, to)).or_default();
        let number = *sent;
        *sent += 1;
        // What cannot arrive is on its way all the same, and will come to nothing.
        let copies = u8::from(self.plain.model.reaches(usize::from(from), usize::from(to)));
        self.walk.letters.push(Letter {
            from,
            to,
            number,
            msg,
            sent: self.walk.last,
            tick: self.ticks,
            arrivals: Vec::new(),
            copies,
            lost: false,
            gone: None,
        });
    }

    /// What is on its way to those that never come back comes to nothing, whenever it arrives.
    fn forget_the_gone(&mut self) {
        if self.world.rest.left.recoveries > 0 {
            return;
        }
        let slots = &self.world.slots;
        for letter in &mut self.walk.letters {
            if letter.copies > 0 && slots[usize::from(letter.to)].process().is_none() {
                letter.copies = 0;
                letter.gone = Some(self.walk.last);
            }
        }
    }

    /// Clocks have gone on: all, or one.
    fn show_clocks(&mut self, place: Option<u8>) {
        if self.plain.model.reads_clock {
            self.walk.last += 1;
            let all = 0..self.world.slots.len() as u8;
            all.filter(|other| place.is_none_or(|place| place == *other))
                .for_each(|place| self.show_clock(place));
        }
    }

    fn show_clock(&mut self, place: u8) {
        let model = self.plain.model;
        if model.reads_clock {
            let ticks = clock(&self.world.rest, usize::from(place));
            let shows = model.reading(usize::from(place), ticks);
            self.walk.clocks.push((self.walk.last, place, shows));
        }
    }
}
