//! The task that owns a process: one event, one handler call.
//!
//! After each call the store says whether something durable has changed. If not, the step's messages
//! and outputs leave at once. If so, they are kept; further events that are already here are
//! handled too, and what they ask for is kept as well; then all of it is saved at once, and what
//! was kept leaves in the order in which the handlers asked for it (group commit). A crash before
//! the end of the save is a crash before these steps: nothing of them was told. Timers are set and
//! cancelled at once. A message that may precede the save leaves at once, too, and its answers are
//! handled after the save. The save blocks the task on purpose: nothing of this process may go on before
//! it is done. If it fails the process ends, and the save is never tried again: after a failed sync
//! the system may report success for data that it has dropped.

use super::alarm::{Alarm, others_first};
use super::durable::DurableError;
use super::outbox::Queued;
use super::protocol::{Config, Durable, Input, Msg, Output, Protocol, Timer};
use super::roster::Roster;
use super::shared::{Arrival, Shared};
use super::stats::Dropped;
use super::step::{Journal, Step};
use super::store::{Store, Written};
use super::timers::Timers;
use super::traffic::Tap;
use crate::clock::Clock;
use crate::stages::{Stage, mark};
use bellwether_core::{Call, Context, Effect, Here, NodeId, Process, Time, micros};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;
use tokio::sync::{broadcast, mpsc};
use tokio::task::yield_now;
use tokio::time::sleep;

/// Why a process ended before it was told to.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RunError {
    /// Its durable state could not be written, so it may promise nothing more.
    #[error("stopped, because its state can no longer be made durable: {0}")]
    Durable(Arc<DurableError>),
    /// Its journal could not be written.
    #[error("stopped, because its journal cannot be written: {0}")]
    Journal(Arc<io::Error>),
    /// Its code failed.
    #[error("the process panicked; this is a bug in it or in the driver")]
    Panicked,
}

/// A process and its surroundings, as seen from inside its task.
#[derive(Debug)]
pub struct View<'a, P: Process> {
    /// The process.
    pub process: &'a P,
    /// Its configuration.
    pub config: &'a P::Config,
    /// Its place in the group, and its clock: what a context is made of.
    pub here: &'a Here<'a>,
    /// Its number.
    pub me: NodeId,
    /// What its clock shows now.
    pub now: Time,
}

/// Looks at a process.
pub(crate) type Look<P> = Box<dyn FnOnce(&View<'_, <P as Protocol>::Process>) + Send>;

/// Changes the configuration of a process.
pub(crate) type Change<P> = Box<dyn FnOnce(&mut Config<P>) + Send>;

/// What the application asks of the task.
pub(crate) enum Command<P: Protocol> {
    Input(Input<P>),
    Inspect(Look<P>),
    Reconfigure(Change<P>),
    Stop,
}

/// What comes next, and where from; see [`Step::origin`].
type Event<P> = (Call<<P as Protocol>::Process>, (u64, u64));

/// Whose turn it is: no source of events can starve another.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    Messages,
    Timers,
    Asked,
    Commands,
}

impl Turn {
    fn next(self) -> Self {
        match self {
            Turn::Messages => Turn::Timers,
            Turn::Timers => Turn::Asked,
            Turn::Asked => Turn::Commands,
            Turn::Commands => Turn::Messages,
        }
    }
}

/// The number of turns.
const SOURCES: usize = 4;
/// Timers and inputs come from nowhere else.
const NOWHERE: (u64, u64) = (0, 0);
/// The number of messages that are handled in one turn. More than one: a time-out is wrong if the message that
/// it waited for is already here.
const MESSAGES_PER_TURN: u32 = 32;
/// After this number of steps in a row the other tasks of this thread get a chance.
const STEPS_AT_ONCE: u32 = 128;
/// One save is for the changes of at most this many further steps, and waits for at most this long.
const STEPS_PER_SAVE: u32 = 128;
const SAVE_AFTER: Duration = Duration::from_millis(1);
/// A timer this late shows that the process was paused, or the machine.
const PAUSED: Duration = Duration::from_millis(20);
/// What arrived during a pause gets this long to come in before the late timers fire.
const CATCH_UP: Duration = Duration::from_millis(2);
pub(crate) struct Runner<P: Protocol> {
    pub(crate) shared: Arc<Shared<P>>,
    /// Who can be reached, as of this count of changes.
    pub(crate) roster: Arc<Roster<Msg<P>>>,
    pub(crate) changes: u64,
    pub(crate) process: P::Process,
    pub(crate) config: Config<P>,
    pub(crate) store: Option<P::Store>,
    pub(crate) journal: Option<Box<dyn Journal<P::Process>>>,
    pub(crate) inbox: mpsc::Receiver<Arrival<P>>,
    pub(crate) commands: mpsc::Receiver<Command<P>>,
    pub(crate) outputs: broadcast::Sender<(Time, Output<P>)>,
    pub(crate) tap: Tap,
    pub(crate) state: State<P>,
}

/// What the task itself keeps.
pub(crate) struct State<P: Protocol> {
    timers: Timers<Timer<P>>,
    effects: Vec<Effect<P::Process>>,
    /// Messages and outputs of steps that are not saved, with the time of their steps.
    kept: Vec<(Time, Effect<P::Process>)>,
    /// Whether a step has changed something durable since the last save.
    unsaved: bool,
    /// Whether a message or an output has left since the other tasks of this thread had their turn.
    left: bool,
    alarm: Alarm,
    /// A command that must wait for the save: it would see, or end, what is not saved.
    postponed: Option<Command<P>>,
    /// Messages to itself, with their numbers.
    to_itself: VecDeque<(u64, Msg<P>)>,
    sent: u64,
    turn: Turn,
    in_turn: u32,
    at_once: u32,
    caught_up: Time,
}

impl<P: Protocol> State<P> {
    pub(crate) fn new() -> Self {
        State {
            timers: Timers::new(),
            effects: Vec::new(),
            kept: Vec::new(),
            unsaved: false,
            left: false,
            alarm: Alarm::default(),
            postponed: None,
            to_itself: VecDeque::new(),
            sent: 0,
            turn: Turn::Messages,
            in_turn: 0,
            at_once: 0,
            caught_up: Time::ZERO,
        }
    }
}

impl<P: Protocol> Runner<P> {
    /// Runs the process until it is told to stop, or no handle is left that could tell it anything.
    pub(crate) async fn run(&mut self, saved: Option<Durable<P>>) -> Result<(), RunError> {
        self.step((Call::Start(saved), (self.shared.life, 0)))?;
        self.save().await?;
        while let Some(event) = self.next().await {
            self.step(event)?;
            if self.state.unsaved {
                self.step_on()?;
                self.save().await?;
            }
        }
        Ok(())
    }

    /// Handles the events that are already here, so that one save is enough for all of them.
    fn step_on(&mut self) -> Result<(), RunError> {
        let begun = Clock::shared();
        for _ in 0..STEPS_PER_SAVE {
            if Clock::shared().since(begun) >= SAVE_AFTER {
                return Ok(());
            }
            match self.take_any() {
                Taken::Event(event) => self.step(event)?,
                Taken::Stop | Taken::Nothing => return Ok(()),
            }
        }
        Ok(())
    }

    /// Saves what is durable, and lets go what was kept for it.
    async fn save(&mut self) -> Result<(), RunError> {
        if !self.state.unsaved {
            return Ok(());
        }
        // The connections send what left before the first change while the disk works.
        if std::mem::take(&mut self.state.left) {
            others_first().await;
        }
        if let Some(store) = &mut self.store {
            mark(Stage::SaveBegins);
            let Written { bytes, took } = store.save(&self.process).map_err(|error| {
                tracing::error!("{error}");
                RunError::Durable(Arc::new(error))
            })?;
            mark(Stage::SaveEnds);
            self.shared.stats.count(|counters| {
                counters.durable_writes += 1;
                counters.durable_bytes += bytes;
                counters.durable_time += took;
            });
        }
        self.state.unsaved = false;
        let mut kept = std::mem::take(&mut self.state.kept);
        for (at, effect) in kept.drain(..) {
            self.perform(effect, at);
        }
        self.state.kept = kept;
        Ok(())
    }

    /// The next event; `None` when it is over.
    async fn next(&mut self) -> Option<Event<P>> {
        self.state.at_once += 1;
        if self.state.at_once > STEPS_AT_ONCE {
            self.state.at_once = 0;
            yield_now().await;
        }
        if let Some(command) = self.state.postponed.take() {
            match self.obey(command) {
                Taken::Event(event) => return Some(event),
                Taken::Stop => return None,
                Taken::Nothing => {}
            }
        }
        loop {
            self.catch_up().await;
            match self.take_any() {
                Taken::Event(event) => return Some(event),
                Taken::Stop => return None,
                Taken::Nothing => {}
            }
            self.state.at_once = 0;
            let now = self.shared.clock.now();
            self.state.alarm.set(now, self.state.timers.next());
            self.state.left = false;
            tokio::select! {
                biased;
                Some(arrival) = self.inbox.recv() => return Some(self.arrived(arrival)),
                input = asked(&self.shared.protocol) => return Some((Call::Input(input), NOWHERE)),
                command = self.commands.recv() => match self.obey(command.unwrap_or(Command::Stop)) {
                    Taken::Event(event) => return Some(event),
                    Taken::Stop => return None,
                    Taken::Nothing => {}
                },
                () = self.state.alarm.rings() => {}
            }
        }
    }

    /// The process as others see it.
    fn view<'a>(&'a self, here: &'a Here<'a>) -> View<'a, P::Process> {
        let (process, config, me) = (&self.process, &self.config, self.shared.me());
        View { process, config, here, me, now: here.now() }
    }

    /// Who can be reached now.
    fn know_peers(&mut self) -> Arc<Roster<Msg<P>>> {
        let changes = self.shared.changes.load(Ordering::Acquire);
        if changes != self.changes {
            (self.roster, self.changes) = (self.shared.roster(), changes);
        }
        self.roster.clone()
    }

    fn pass_turn(&mut self) {
        self.state.turn = self.state.turn.next();
        self.state.in_turn = 0;
    }

    /// Takes an event from any source, the one whose turn it is first. What must wait for a save is
    /// postponed and ends the search.
    fn take_any(&mut self) -> Taken<P> {
        for _ in 0..SOURCES {
            match self.take_turn() {
                Taken::Nothing if self.state.postponed.is_some() => return Taken::Nothing,
                Taken::Nothing => self.pass_turn(),
                taken => return taken,
            }
        }
        Taken::Nothing
    }

    /// Takes an event from the source whose turn it is. If there is none the turn is not passed on.
    fn take_turn(&mut self) -> Taken<P> {
        match self.state.turn {
            Turn::Messages => {
                if self.state.in_turn >= MESSAGES_PER_TURN {
                    return Taken::Nothing;
                }
                self.state.in_turn += 1;
                if let Some((seq, msg)) = self.state.to_itself.pop_front() {
                    let (from, life) = (self.shared.me(), self.shared.life);
                    return Taken::Event((Call::Message(from, msg), (life, seq)));
                }
                match self.inbox.try_recv() {
                    Ok(arrival) => Taken::Event(self.arrived(arrival)),
                    Err(_) => Taken::Nothing,
                }
            }
            Turn::Timers => {
                let due = self.state.timers.take_due(self.shared.clock.now());
                let Some(timer) = due else { return Taken::Nothing };
                self.pass_turn();
                Taken::Event((Call::Timer(timer), NOWHERE))
            }
            Turn::Asked => {
                let Some(input) = self.shared.protocol.asked(None) else { return Taken::Nothing };
                self.pass_turn();
                Taken::Event((Call::Input(input), NOWHERE))
            }
            Turn::Commands => {
                let command = match self.commands.try_recv() {
                    Ok(command) => command,
                    Err(mpsc::error::TryRecvError::Empty) => return Taken::Nothing,
                    Err(mpsc::error::TryRecvError::Disconnected) => Command::Stop,
                };
                match command {
                    Command::Inspect(_) | Command::Stop if self.state.unsaved => {
                        self.state.postponed = Some(command);
                        Taken::Nothing
                    }
                    command => {
                        let taken = self.obey(command);
                        if matches!(taken, Taken::Event(_)) {
                            self.pass_turn();
                        }
                        taken
                    }
                }
            }
        }
    }

    fn arrived(&mut self, arrival: Arrival<P>) -> Event<P> {
        match arrival {
            Arrival::Letter { from, life, seq, msg } => (Call::Message(from, msg), (life, seq)),
            Arrival::Hint(input) => (Call::Input(input), NOWHERE),
        }
    }

    fn obey(&mut self, command: Command<P>) -> Taken<P> {
        match command {
            Command::Stop => Taken::Stop,
            Command::Input(input) => Taken::Event((Call::Input(input), NOWHERE)),
            Command::Reconfigure(change) => {
                change(&mut self.config);
                Taken::Nothing
            }
            Command::Inspect(look) => {
                let roster = self.know_peers();
                let here = Here::new(&roster.group, roster.place, self.shared.clock.now(), false);
                look(&self.view(&here));
                Taken::Nothing
            }
        }
    }

    /// After a pause, lets in what has arrived meanwhile before the late timers fire: otherwise
    /// all others would look dead to a process that was itself asleep.
    async fn catch_up(&mut self) {
        let now = self.shared.clock.now();
        let late = self.state.timers.next().map_or(Duration::ZERO, |next| now.since(next));
        if late >= PAUSED && now.since(self.state.caught_up) >= PAUSED {
            sleep(CATCH_UP).await;
            self.state.caught_up = self.shared.clock.now();
            self.state.turn = Turn::Messages;
            self.state.in_turn = 0;
        }
    }

    /// One handler call, and then its effects, or those that need not wait for a save.
    fn step(&mut self, (call, origin): Event<P>) -> Result<(), RunError> {
        let now = self.shared.clock.now();
        match &call {
            Call::Input(_) => mark(Stage::HandlesInput),
            Call::Message(..) => mark(Stage::HandlesMessage),
            Call::Start(_) | Call::Timer(_) => {}
        }
        let call = match &mut self.journal {
            None => call,
            Some(journal) => {
                let step = Step { at: Clock::shared(), clock: now, call, origin };
                journal.record(&step).map_err(|error| RunError::Journal(Arc::new(error)))?;
                step.call
            }
        };
        if let Call::Message(from, msg) = &call
            && *from != self.shared.me()
        {
            self.tap.received(&self.shared, *from, msg, now);
        }
        let mut effects = std::mem::take(&mut self.state.effects);
        let roster = self.know_peers();
        let here = Here::new(&roster.group, roster.place, now, false);
        call.make(&mut self.process, &mut Context::new(&here, &self.config, &mut effects));
        self.shared.stats.count(|counters| counters.steps += 1);
        if let Some(id) = self.shared.protocol.cluster_id(&self.process, &self.config) {
            self.shared.cluster_id.store(id, Ordering::Relaxed);
        }
        let has_settings = self.shared.protocol.has_settings(&self.process);
        self.shared.has_settings.store(has_settings, Ordering::Relaxed);
        self.shared.folder.store(self.shared.protocol.folder(&self.process), Ordering::Relaxed);
        if !self.state.unsaved {
            let changed = |store: &P::Store| store.is_dirty(&self.process);
            self.state.unsaved = self.store.as_ref().is_some_and(changed);
        }
        for effect in effects.drain(..) {
            match effect {
                Effect::Send(_, ref msg) if self.state.unsaved && self.may_precede_save(msg) => {
                    self.perform(effect, now);
                }
                Effect::Send(..) | Effect::Emit(_) if self.state.unsaved => {
                    self.state.kept.push((now, effect));
                }
                effect => self.perform(effect, now),
            }
        }
        self.state.effects = effects;
        Ok(())
    }

    fn may_precede_save(&self, msg: &Msg<P>) -> bool {
        let may = |store| self.shared.protocol.may_precede_save(store, &self.process, msg);
        self.store.as_ref().is_some_and(may)
    }

    fn perform(&mut self, effect: Effect<P::Process>, now: Time) {
        match effect {
            Effect::Send(to, msg) => self.send(to, msg, now),
            Effect::SetTimer(timer, after) => self.state.timers.set(timer, now + draw(after)),
            Effect::CancelTimer(timer) => self.state.timers.cancel(&timer),
            Effect::Emit(output) => {
                self.state.left = true;
                if let Some(list) = self.shared.protocol.members(&output) {
                    self.shared.adopt(list);
                }
                if let Some(output) = self.shared.protocol.pass_on(output) {
                    // It fails when there is no listener, which is fine.
                    let _ = self.outputs.send((now, output));
                }
            }
        }
    }

    fn send(&mut self, to: NodeId, msg: Msg<P>, at: Time) {
        self.state.left = true;
        let seq = self.state.sent;
        self.state.sent += 1;
        if to == self.shared.me() {
            self.state.to_itself.push_back((seq, msg));
        } else if let Some(peer) = self.know_peers().peers.get(&to) {
            self.tap.sent(&self.shared, to, &msg, at);
            let (protocol, roster) = (&self.shared.protocol, &self.roster);
            let here = Here::new(&roster.group, roster.place, at, false);
            let can_wait = protocol.can_wait(&self.view(&here), to, &msg);
            let supersedes = |newer: &_, older: &_| protocol.supersedes(newer, older);
            peer.outbox.push(Queued { msg, seq, at, can_wait }, supersedes);
        } else {
            self.shared.stats.dropped(Dropped::NoSuchPeer, 1);
        }
    }
}

/// Waits for what is asked of the process.
async fn asked<P: Protocol>(protocol: &P) -> Input<P> {
    poll_fn(|cx| protocol.asked(Some(cx.waker())).map_or(Poll::Pending, Poll::Ready)).await
}

/// What a turn brought.
enum Taken<P: Protocol> {
    Event(Event<P>),
    Stop,
    Nothing,
}

/// A delay from the range; an empty range means its beginning.
fn draw(after: Range<Duration>) -> Duration {
    let (least, most) = (micros(after.start), micros(after.end));
    if most <= least { after.start } else { Duration::from_micros(rand::random_range(least..most)) }
}
