//! A run of the simulator as a path through the checker's world.
//!
//! The simulator says when things happen; the checker only wants to know in which order. So the
//! events of a trace, one after the other, are actions of the checker, and what the checker explores
//! from there on is what else could have happened. Times are forgotten: messages take any time and
//! timers fire at any moment, so this is the world in which time-outs may lie.

use crate::model::{Channels, Faults, Timing};
use crate::plain::Plain;
use crate::setup::Setup;
use crate::world::{Action, World};
use bellwether_algorithms::catalogue::Listed;
use bellwether_algorithms::definition::Settings;
use bellwether_core::{AnyProcess, Group, NodeId, Time};
use bellwether_sim::{Letter, Trace, TraceEvent, What, Why};
use std::collections::BTreeMap;

/// A run as far as it was followed.
#[derive(Clone, Debug)]
pub struct Followed {
    /// The world in which it happens, with one more of every fault that the algorithm survives.
    pub setup: Setup,
    /// What has happened.
    pub actions: Vec<Action>,
}

/// Why a run cannot be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfollowed {
    /// Its processes look at their clocks, of which the order of events says nothing.
    Clocks,
    /// Something happens that the checker's world does not have, by this time.
    Unknown(Time),
    /// It has more processes or more messages at a time than the checker numbers.
    Large,
}

/// More processes than this have more states than any budget.
const NODES_MAX: usize = 8;

/// Follows a recorded run up to and including all events of a microsecond. `verbs` are the inputs
/// that the run may have had, as the scenario says them.
pub fn follow(
    algorithm: &Listed,
    group: &Group,
    settings: &Settings,
    reorder: bool,
    trace: &Trace,
    verbs: &[String],
    upto: Time,
) -> Result<Followed, Unfollowed> {
    if algorithm.reads_clock {
        return Err(Unfollowed::Clocks);
    }
    if group.len() > NODES_MAX {
        return Err(Unfollowed::Large);
    }
    let mut setup = Setup::new(algorithm, group.clone(), settings.clone());
    setup.timing = Timing::Asynchronous;
    setup.channels = if reorder { Channels::Reorder } else { Channels::Fifo };
    setup.liveness = false;
    setup.asks = asks(algorithm, trace, verbs)?;
    setup.faults = faults(algorithm, &trace.events, upto);
    let model = setup.model();
    let mut plain = Plain { model: &model };
    let world = plain.start();
    let mut follower = Follower { plain, world, actions: Vec::new(), group, left: copies(trace) };
    for event in trace.events.iter().take_while(|event| event.at <= upto) {
        follower.follow(event)?;
    }
    let actions = follower.actions;
    Ok(Followed { setup, actions })
}

/// What was asked of whom, in order, in the whole run: what comes later may come sooner.
fn asks(
    algorithm: &Listed,
    trace: &Trace,
    verbs: &[String],
) -> Result<Vec<(NodeId, String)>, Unfollowed> {
    let known =
        verbs.iter().filter_map(|verb| Some((format!("{:?}", algorithm.input(verb)?), verb)));
    let known: BTreeMap<String, &String> = known.collect();
    let asked = trace.events.iter().filter_map(|event| match (&event.what, event.node) {
        (What::Input(text), Some(node)) => {
            let verb = known.get(text).copied().or_else(|| verbs.iter().find(|verb| *verb == text));
            Some(verb.map(|verb| (node, verb.clone())).ok_or(Unfollowed::Unknown(event.at)))
        }
        _ => None,
    });
    asked.collect()
}

/// The faults so far, and one more of each kind that the algorithm survives.
fn faults(algorithm: &Listed, events: &[TraceEvent], upto: Time) -> Faults {
    let mut faults = Faults::default();
    let mut heard = BTreeMap::new();
    for event in events.iter().take_while(|event| event.at <= upto) {
        let count = match &event.what {
            What::Crash => &mut faults.crashes,
            What::Recover => &mut faults.recoveries,
            What::Drop(_, Why::Lost | Why::Cut) => &mut faults.losses,
            What::Receive(letter) if heard.insert(letter.id, ()).is_some() => {
                &mut faults.duplicates
            }
            _ => continue,
        };
        *count = count.saturating_add(1);
    }
    let assumes = algorithm.assumes;
    faults.crashes = faults.crashes.saturating_add(u8::from(assumes.crashes));
    faults.losses = faults.losses.saturating_add(u8::from(assumes.loss));
    faults.duplicates = faults.duplicates.saturating_add(u8::from(assumes.duplication));
    faults
}

/// How often each message arrives.
fn copies(trace: &Trace) -> BTreeMap<u64, u32> {
    let mut copies = BTreeMap::new();
    for event in &trace.events {
        if let What::Receive(letter) = &event.what {
            *copies.entry(letter.id).or_default() += 1;
        }
    }
    copies
}

/// Follows a run.
struct Follower<'a> {
    plain: Plain<'a, AnyProcess>,
    world: World<Plain<'a, AnyProcess>>,
    actions: Vec<Action>,
    group: &'a Group,
    /// How often each message is still to arrive.
    left: BTreeMap<u64, u32>,
}

impl Follower<'_> {
    fn follow(&mut self, event: &TraceEvent) -> Result<(), Unfollowed> {
        let unknown = Unfollowed::Unknown(event.at);
        let place = event.node.and_then(|node| self.group.place(node)).map(|place| place as u8);
        let action = match (&event.what, place) {
            (What::Input(_), Some(place)) => Action::Input { place },
            (What::Crash, Some(place)) => Action::Crash { place },
            (What::Recover, Some(place)) => Action::Recover { place },
            (What::Timer(text), Some(place)) => {
                let timers = &self.world.slots[usize::from(place)].timers;
                let found = timers.iter().position(|armed| format!("{:?}", armed.timer) == *text);
                Action::Fire { place, at: found.ok_or(unknown)? as u8 }
            }
            (What::Receive(letter), Some(to)) => {
                let at = self.flight(letter, to).ok_or(unknown)?;
                let left = self.left.entry(letter.id).or_default();
                *left = left.saturating_sub(1);
                if *left > 0 {
                    self.act(Action::Duplicate { to, at });
                }
                Action::Deliver { to, at }
            }
            (What::Drop(letter, Why::Down), Some(to)) => {
                Action::Deliver { to, at: self.flight(letter, to).ok_or(unknown)? }
            }
            (What::Drop(letter, Why::Lost | Why::Cut), Some(to)) => {
                Action::Lose { to, at: self.flight(letter, to).ok_or(unknown)? }
            }
            // What a step sends and says comes of the step. A pause only makes things late.
            (What::Send(_) | What::Output(_) | What::Pause | What::Resume | What::Note(_), _) => {
                return Ok(());
            }
            _ => return Err(unknown),
        };
        let mut possible = Vec::new();
        self.world.actions(&mut self.plain, &mut possible);
        if !possible.contains(&action) {
            return Err(unknown);
        }
        self.act(action);
        Ok(())
    }

    fn act(&mut self, action: Action) {
        self.world.step(&mut self.plain, action);
        self.actions.push(action);
    }

    /// Where in its receiver's inbox a message is.
    fn flight(&self, letter: &Letter, to: u8) -> Option<u8> {
        let from = self.group.place(letter.from)? as u8;
        let flights = &self.world.inboxes[usize::from(to)].flights;
        let found = flights
            .iter()
            .position(|flight| flight.from == from && flight.msg.to_string() == letter.text);
        found.map(|at| at as u8)
    }
}
