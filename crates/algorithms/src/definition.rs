//! What the laboratory knows of an algorithm beside its process.
//!
//! A [`Definition`] is a value: drivers ask it for everything that is not in [`Process`]. It needs
//! a name and a way to make a configuration; all other parts are optional, and each has a method
//! here that adds it:
//!
//! * what it can be asked for: [`verbs`](Definition::verbs), [`work`](Definition::work);
//! * how it is set: [`options`](Definition::options), [`checks`](Definition::checks);
//! * how it is judged: [`invariant`](Definition::invariant), [`goal`](Definition::goal),
//!   [`referee`](Definition::referee);
//! * what can be seen of its state: [`coordinator`](Definition::coordinator),
//!   [`members`](Definition::members), [`section`](Definition::section),
//!   [`clock`](Definition::clock), [`conserves`](Definition::conserves), [`view`](Definition::view);
//! * what it costs: [`costs`](Definition::costs).
//!
//! [`Definition::erase`] makes it the definition of an [`AnyProcess`], which is what catalogues
//! hold and most drivers take.

pub use crate::coding::Portable;
use crate::coding::postcard_coder;
use crate::cost::Cost;
pub use crate::entry::{
    Docs, Entry, Milestone, OWN_FAMILY, Quantity, Settings, Topology, head, head_len,
};
use crate::erase::Inner;
use crate::mutex::Status;
use crate::options::{BadOption, Opt};
use crate::referee::Referee;
use crate::show::{ProcessView, Scene};
use bellwether_core::{
    AnyProcess, Assumptions, Codec, Goal, Group, Invariant, NodeId, Process, Time,
};
use std::borrow::Cow;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

/// A process with a definition.
pub trait Algorithm: Process {
    /// What the laboratory knows of it.
    fn definition() -> Definition<Self>;
}

/// How long a goal may take, and a run without a goal lasts, unless the definition says otherwise.
const USUAL_SPAN: Duration = Duration::from_secs(60);

/// A function of one value.
type Of<V, T> = Box<dyn Fn(&V) -> T + Send + Sync>;
/// A function of the configuration and the group.
type InGroup<P, T> = Box<dyn Fn(&<P as Process>::Config, &Group) -> T + Send + Sync>;
/// A function of what a user has set.
type BySettings<T> = Box<dyn Fn(&Settings, &Group) -> T + Send + Sync>;
type Read<P> = Box<dyn Fn(&str) -> Option<<P as Process>::Input> + Send + Sync>;
type Settles<P> = Box<dyn Fn(&<P as Process>::Config, &Group, u64) -> Duration + Send + Sync>;
type Viewer<P> = Box<dyn Fn(&P, &<P as Process>::Config, &Scene<'_>) -> ProcessView + Send + Sync>;
type Members<P> = Box<dyn Fn(&P) -> &[NodeId] + Send + Sync>;

/// What an output means to a meter of critical sections.
pub type MilestoneReader<P> =
    Arc<dyn Fn(&<P as Process>::Output) -> Option<Milestone> + Send + Sync>;

/// What the clock that a process keeps shows when that of its machine shows a reading.
pub type ClockReader<P> = Arc<dyn Fn(&P, Time) -> Option<Time> + Send + Sync>;

/// What a definition says without the type of the process; every [`Definition`] dereferences to it.
#[derive(Clone)]
pub struct About {
    /// What it is called, and what is written about it.
    pub entry: Entry,
    /// What its processes need to be right.
    pub assumes: Assumptions,
    /// By how much clocks may gain or lose, in parts per million, where that matters.
    pub drift_ppm: u32,
    /// Whether its processes look at their clocks: what they do then depends on the time, not only
    /// on the order of events.
    pub reads_clock: bool,
    /// How many processes it is for, where only one number makes sense.
    pub nodes: Option<u32>,
    /// The options that only it has.
    pub options: &'static [Opt],
    /// The verbs that [`input`](Definition::input) knows. Where a verb takes more, it says so:
    /// `transfer:TO:AMOUNT`.
    pub verbs: &'static [&'static str],
    /// The kinds of messages in whose middle it is worth crashing.
    pub kinds: &'static [&'static str],
    /// What it is composed with: a name, and the text of the file that has its rules.
    pub beside: &'static [Docs],
    pub(crate) costs: Option<fn(u32) -> Vec<Cost>>,
    /// The text of a process before it has started.
    pub(crate) blank: String,
}

/// What the laboratory knows of an algorithm beside its process `P`.
pub struct Definition<P: Process> {
    /// What it says without the type of the process.
    pub about: About,
    /// What must hold at every moment.
    pub invariants: Vec<Invariant<P>>,
    /// What must hold for good, some time after the last fault, if it has a goal.
    pub goal: Option<Goal<P>>,
    /// How its values travel.
    pub codec: Codec<P>,
    pub(crate) configure: BySettings<P::Config>,
    pub(crate) check: Option<BySettings<Result<(), BadOption>>>,
    pub(crate) read: Option<Read<P>>,
    pub(crate) write: Option<Of<P::Input, Cow<'static, str>>>,
    pub(crate) is_work: Option<Of<P::Input, bool>>,
    pub(crate) settles: Option<Settles<P>>,
    /// Without it, a run ends at the goal, or after the usual time if there is no goal.
    pub(crate) lasts: Option<Of<P::Config, Option<Duration>>>,
    pub(crate) referee: Option<InGroup<P, Box<dyn Referee<P>>>>,
    pub(crate) coordinator: Option<Of<P, Option<NodeId>>>,
    pub(crate) members: Option<Members<P>>,
    pub(crate) status: Option<Of<P, Option<Status>>>,
    /// Critical sections are measured if there is one.
    pub(crate) milestone: Option<MilestoneReader<P>>,
    pub(crate) clock: Option<ClockReader<P>>,
    pub(crate) quantity: Option<InGroup<P, Option<Quantity>>>,
    pub(crate) held: Option<Of<P, Option<u64>>>,
    pub(crate) carried: Option<Of<P::Msg, u64>>,
    pub(crate) note: Option<Of<P, String>>,
    /// Without it, nothing is drawn but the state's fields.
    pub(crate) view: Option<Viewer<P>>,
    /// The definition of the process inside, which is asked for what is not said here.
    pub(crate) inner: Option<Arc<dyn Inner<P>>>,
    pub(crate) variant: Option<Of<Settings, Result<Arc<Self>, BadOption>>>,
}

impl<P: Process> Deref for Definition<P> {
    type Target = About;

    fn deref(&self) -> &About {
        &self.about
    }
}

impl<P: Process> DerefMut for Definition<P> {
    fn deref_mut(&mut self) -> &mut About {
        &mut self.about
    }
}

impl<P> Definition<P>
where
    P: Process<Msg: Portable, Timer: Portable, Input: Portable, Durable: Portable>,
{
    /// An algorithm with this entry, and how its configuration is made of a user's settings.
    pub fn new(
        entry: Entry,
        configure: impl Fn(&Settings, &Group) -> P::Config + Send + Sync + 'static,
    ) -> Self {
        let codec = Codec {
            msg: postcard_coder(),
            timer: postcard_coder(),
            input: postcard_coder(),
            durable: postcard_coder(),
        };
        Definition::with_codec(entry, codec, configure)
    }

    /// An algorithm with this name, whose configuration is always the same.
    pub fn named(name: &'static str) -> Self
    where
        P::Config: Default,
    {
        Definition::new(Entry::new(name, P::ASSUMES), |_, _| P::Config::default())
    }
}

impl<P: Process> Definition<P> {
    /// An algorithm whose values travel by a codec of its own.
    pub fn with_codec(
        entry: Entry,
        codec: Codec<P>,
        configure: impl Fn(&Settings, &Group) -> P::Config + Send + Sync + 'static,
    ) -> Self {
        let about = About {
            entry,
            assumes: P::ASSUMES,
            drift_ppm: 0,
            reads_clock: false,
            nodes: None,
            options: &[],
            verbs: &[],
            kinds: &[],
            beside: &[],
            costs: None,
            blank: blank(&P::default()),
        };
        Definition::assembled(about, codec, Box::new(configure))
    }

    pub(crate) fn assembled(
        about: About,
        codec: Codec<P>,
        configure: BySettings<P::Config>,
    ) -> Self {
        Definition {
            about,
            invariants: Vec::new(),
            goal: None,
            codec,
            configure,
            check: None,
            read: None,
            write: None,
            is_work: None,
            settles: None,
            lasts: None,
            referee: None,
            coordinator: None,
            members: None,
            status: None,
            milestone: None,
            clock: None,
            quantity: None,
            held: None,
            carried: None,
            note: None,
            view: None,
            inner: None,
            variant: None,
        }
    }
}

fn blank(process: &dyn fmt::Debug) -> String {
    format!("{process:?}")
}

/// The optional parts.
impl<P: Process> Definition<P> {
    /// What it can be asked for: the verbs, the input that a verb stands for, and the verb that
    /// stands for an input. A verb is one word, which may have parts: `transfer:2:50`.
    pub fn verbs(
        mut self,
        verbs: &'static [&'static str],
        read: impl Fn(&str) -> Option<P::Input> + Send + Sync + 'static,
        write: impl Fn(&P::Input) -> Cow<'static, str> + Send + Sync + 'static,
    ) -> Self {
        self.verbs = verbs;
        self.read = Some(Box::new(read));
        self.write = Some(Box::new(write));
        self
    }

    /// Which inputs ask for something that takes its time, so that a run with many of them may be
    /// long.
    pub fn work(mut self, is_work: impl Fn(&P::Input) -> bool + Send + Sync + 'static) -> Self {
        self.is_work = Some(Box::new(is_work));
        self
    }

    /// The options that only it has. Each is a flag of the commands and a setting of scenarios.
    pub fn options(mut self, options: &'static [Opt]) -> Self {
        self.options = options;
        self
    }

    /// Whether it can do anything with these settings in this group. Drivers ask before they ask
    /// for a configuration.
    pub fn checks(
        mut self,
        check: impl Fn(&Settings, &Group) -> Result<(), BadOption> + Send + Sync + 'static,
    ) -> Self {
        self.check = Some(Box::new(check));
        self
    }

    /// The only number of processes that makes sense.
    pub fn nodes(mut self, nodes: u32) -> Self {
        self.nodes = Some(nodes);
        self
    }

    /// What it is composed with, whose rules belong to its own.
    pub fn beside(mut self, beside: &'static [Docs]) -> Self {
        self.beside = beside;
        self
    }

    /// The kinds of messages in whose middle it is worth crashing.
    pub fn kinds(mut self, kinds: &'static [&'static str]) -> Self {
        self.kinds = kinds;
        self
    }

    /// Its processes look at their clocks, which may gain or lose this many parts per million.
    pub fn reads_clock(mut self, drift_ppm: u32) -> Self {
        self.reads_clock = true;
        self.drift_ppm = drift_ppm;
        self
    }

    /// What must hold at every moment.
    pub fn invariant(mut self, invariant: Invariant<P>) -> Self {
        self.invariants.push(invariant);
        self
    }

    /// The same for several invariants.
    pub fn invariants(mut self, invariants: Vec<Invariant<P>>) -> Self {
        self.invariants.extend(invariants);
        self
    }

    /// What must hold for good, some time after the last fault. A run with detection ends there.
    pub fn goal(mut self, goal: Goal<P>) -> Self {
        self.goal = Some(goal);
        self
    }

    /// How long after the last fault the goal may still be open, given the number of inputs that
    /// are [work](Definition::work); a minute, unless this says otherwise.
    pub fn settles_within(
        mut self,
        settles: impl Fn(&P::Config, &Group, u64) -> Duration + Send + Sync + 'static,
    ) -> Self {
        self.settles = Some(Box::new(settles));
        self
    }

    /// How long a run lasts unless the user says otherwise, where it would go on for ever: clocks
    /// are never done.
    pub fn lasts(
        mut self,
        lasts: impl Fn(&P::Config) -> Option<Duration> + Send + Sync + 'static,
    ) -> Self {
        self.lasts = Some(Box::new(lasts));
        self
    }

    /// Makes the referee of a run, which hears all outputs, judges them and sums them up.
    pub fn referee(
        mut self,
        referee: impl Fn(&P::Config, &Group) -> Box<dyn Referee<P>> + Send + Sync + 'static,
    ) -> Self {
        self.referee = Some(Box::new(referee));
        self
    }

    /// The process that a process takes for the coordinator, if any.
    pub fn coordinator(
        mut self,
        coordinator: impl Fn(&P) -> Option<NodeId> + Send + Sync + 'static,
    ) -> Self {
        self.coordinator = Some(Box::new(coordinator));
        self
    }

    /// The processes that a process knows to be alive, where the algorithm finds that out.
    pub fn members(mut self, members: impl Fn(&P) -> &[NodeId] + Send + Sync + 'static) -> Self {
        self.members = Some(Box::new(members));
        self
    }

    /// What a process has of the critical section, and what an output means to a meter of it.
    pub fn section(
        mut self,
        status: impl Fn(&P) -> Status + Send + Sync + 'static,
        milestone: impl Fn(&P::Output) -> Option<Milestone> + Send + Sync + 'static,
    ) -> Self {
        self.status = Some(Box::new(move |process: &P| Some(status(process))));
        self.milestone = Some(Arc::new(milestone));
        self
    }

    /// What the clock that a process keeps shows when that of its machine shows a reading, where
    /// the algorithm is about clocks.
    pub fn clock(
        mut self,
        clock: impl Fn(&P, Time) -> Option<Time> + Send + Sync + 'static,
    ) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// What there is always the same amount of, in processes and on the way, so that a snapshot can
    /// be judged by its sum: how much there is in all, how much a process holds (none if nothing is
    /// promised of the amount in its state), and how much a message carries.
    pub fn conserves(
        mut self,
        total: impl Fn(&P::Config, &Group) -> Option<Quantity> + Send + Sync + 'static,
        held: impl Fn(&P) -> Option<u64> + Send + Sync + 'static,
        carried: impl Fn(&P::Msg) -> u64 + Send + Sync + 'static,
    ) -> Self {
        self.quantity = Some(Box::new(total));
        self.held = Some(Box::new(held));
        self.carried = Some(Box::new(carried));
        self
    }

    /// A word or two about the state of a process, for pictures.
    pub fn note(mut self, note: impl Fn(&P) -> String + Send + Sync + 'static) -> Self {
        self.note = Some(Box::new(note));
        self
    }

    /// What is drawn of a process: see [`show`](crate::show).
    pub fn view(
        mut self,
        view: impl Fn(&P, &P::Config, &Scene<'_>) -> ProcessView + Send + Sync + 'static,
    ) -> Self {
        self.view = Some(Box::new(view));
        self
    }

    /// What it claims to cost for processes 1 to n, n at least 1. `compare` measures it.
    pub fn costs(mut self, costs: fn(u32) -> Vec<Cost>) -> Self {
        self.costs = Some(costs);
        self
    }
}

impl Definition<AnyProcess> {
    /// Which algorithm these settings make of it, where a setting names another algorithm that it
    /// is wrapped around.
    pub fn variants(
        mut self,
        variant: impl Fn(&Settings) -> Result<Arc<Self>, BadOption> + Send + Sync + 'static,
    ) -> Self {
        self.variant = Some(Box::new(variant));
        self
    }
}

/// What this definition says, or else the one inside, or else what is usual.
macro_rules! said {
    ($self:ident.$own:ident($($given:expr),*), $inner:ident($($asked:expr),*), $usual:expr) => {
        match (&$self.$own, &$self.inner) {
            (Some(own), _) => own($($given),*),
            (None, Some(inner)) => inner.$inner($($asked),*),
            (None, None) => $usual,
        }
    };
}

/// What drivers ask.
impl<P: Process> Definition<P> {
    /// Its name on the command line.
    pub fn name(&self) -> &'static str {
        self.entry.name
    }

    /// The algorithm that these settings make of it; itself, for nearly all.
    pub fn variant(self: &Arc<Self>, settings: &Settings) -> Result<Arc<Self>, BadOption> {
        self.variant.as_ref().map_or_else(|| Ok(self.clone()), |variant| variant(settings))
    }

    /// Whether it can do anything with these settings in this group.
    pub fn check(&self, settings: &Settings, group: &Group) -> Result<(), BadOption> {
        said!(self.check(settings, group), check(settings, group), Ok(()))
    }

    /// The configuration for these settings. Options that [`check`](Definition::check) refuses
    /// count as not given.
    pub fn config(&self, settings: &Settings, group: &Group) -> P::Config {
        (self.configure)(settings, group)
    }

    /// The input that a verb stands for, if it knows the verb.
    pub fn input(&self, verb: &str) -> Option<P::Input> {
        said!(self.read(verb), input(verb), None)
    }

    /// The verb that stands for an input.
    pub fn verb(&self, input: &P::Input) -> Cow<'static, str> {
        said!(self.write(input), verb(input), Cow::Borrowed(""))
    }

    /// Whether an input is work.
    pub fn is_work(&self, input: &P::Input) -> bool {
        said!(self.is_work(input), is_work(input), false)
    }

    /// Whether the goal holds for these live processes; without a goal, always.
    pub fn agreed<'a>(&self, mut live: impl Iterator<Item = (NodeId, &'a P)>) -> bool
    where
        P: 'a,
    {
        self.goal.as_ref().is_none_or(|goal| (goal.holds)(&mut live))
    }

    /// How long after the last fault the goal may still be open.
    pub fn settling_time(&self, config: &P::Config, group: &Group, work: u64) -> Duration {
        said!(self.settles(config, group, work), settling_time(config, group, work), USUAL_SPAN)
    }

    /// How long a run lasts unless the user says otherwise; until the goal, if this is `None`.
    pub fn duration(&self, config: &P::Config) -> Option<Duration> {
        let usual = self.goal.is_none().then_some(USUAL_SPAN);
        said!(self.lasts(config), duration(config), usual)
    }

    /// A new referee for a run.
    pub fn new_referee(&self, config: &P::Config, group: &Group) -> Option<Box<dyn Referee<P>>> {
        match (&self.referee, &self.inner) {
            (Some(referee), _) => Some(referee(config, group)),
            (None, Some(inner)) => inner.new_referee(config, group),
            (None, None) => None,
        }
    }

    /// The process that a process takes for the coordinator.
    pub fn coordinator_of(&self, process: &P) -> Option<NodeId> {
        said!(self.coordinator(process), coordinator_of(process), None)
    }

    /// The processes that a process knows to be alive.
    pub fn members_of<'a>(&self, process: &'a P) -> &'a [NodeId] {
        said!(self.members(process), members_of(process), &[])
    }

    /// Whether it is about a critical section.
    pub fn has_section(&self) -> bool {
        self.milestone.is_some()
    }

    /// What a process has of the critical section, where there is one.
    pub fn section_of(&self, process: &P) -> Option<Status> {
        said!(self.status(process), section_of(process), None)
    }

    /// What outputs mean to a meter of critical sections, where there are any.
    pub fn milestone_reader(&self) -> Option<MilestoneReader<P>> {
        self.milestone.clone()
    }

    /// What the clock that a process keeps shows at a reading of its machine's.
    pub fn clock_reader(&self) -> ClockReader<P> {
        self.clock.clone().unwrap_or_else(|| Arc::new(|_, _| None))
    }

    /// What there is always the same amount of.
    pub fn quantity(&self, config: &P::Config, group: &Group) -> Option<Quantity> {
        said!(self.quantity(config, group), quantity(config, group), None)
    }

    /// How much of it a process has.
    pub fn held_by(&self, process: &P) -> Option<u64> {
        said!(self.held(process), held_by(process), None)
    }

    /// How much of it a message carries.
    pub fn carried_by(&self, msg: &P::Msg) -> u64 {
        said!(self.carried(msg), carried_by(msg), 0)
    }

    /// A word or two about the state of a process.
    pub fn note_of(&self, process: &P) -> String {
        said!(self.note(process), note_of(process), String::new())
    }

    /// What is drawn of a process, if it says so.
    pub fn view_of(
        &self,
        process: &P,
        config: &P::Config,
        scene: &Scene<'_>,
    ) -> Option<ProcessView> {
        match (&self.view, &self.inner) {
            (Some(view), _) => Some(view(process, config, scene)),
            (None, Some(inner)) => inner.view_of(process, config, scene),
            (None, None) => None,
        }
    }

    /// What it claims to cost for this number of processes, if it claims anything.
    pub fn claimed_costs(&self) -> Option<fn(u32) -> Vec<Cost>> {
        self.costs
    }

    /// How the state of a process looks before it has started.
    pub fn blank(&self) -> &str {
        &self.blank
    }
}

impl<P: Process> fmt::Debug for Definition<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Definition").field(&self.entry.name).finish()
    }
}
