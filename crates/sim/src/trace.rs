//! Traces: every event of a run with its time, its process and its logical stamps.

use crate::observer::{Observer, Seen, Why};
use crate::state::{self, Fields};
use bellwether_algorithms::catalogue::Listed;
use bellwether_algorithms::definition::Topology;
use bellwether_algorithms::mutex::{Status, Tree};
use bellwether_algorithms::show::{ProcessView, Scene};
use bellwether_algorithms::time::{Lamport, VectorClock};
use bellwether_core::{AnyConfig, AnyMsg, AnyProcess, Group, Kind, Message, NodeId, Time};
use std::collections::BTreeMap;

/// A recorded run.
#[derive(Clone, Debug)]
pub struct Trace {
    /// What ran.
    pub header: Header,
    /// What happened, in order.
    pub events: Vec<TraceEvent>,
}

impl Trace {
    /// What is drawn of each process that is up in the end, by name, if states were recorded and the
    /// algorithm says what to draw.
    pub fn views_in_the_end(&self) -> Vec<(String, ProcessView)> {
        let ring = self.header.ring.iter();
        let mut last: BTreeMap<NodeId, Option<&ProcessView>> =
            ring.copied().zip(self.header.views.iter().map(Option::as_ref)).collect();
        for event in &self.events {
            let Some(view) = event.node.and_then(|node| last.get_mut(&node)) else { continue };
            if event.what == What::Crash {
                *view = None;
            }
            *view = event.view.as_ref().or(*view);
        }
        last.into_iter().filter_map(|(id, view)| Some((id.to_string(), view?.clone()))).collect()
    }
}

/// What a trace is a trace of.
#[derive(Clone, Debug)]
pub struct Header {
    /// The algorithm's name on the command line.
    pub algorithm: &'static str,
    /// Its name in a sentence.
    pub title: &'static str,
    /// The family it belongs to.
    pub family: &'static str,
    /// Which processes talk to which.
    pub topology: Topology,
    /// The members in ring order. Vector stamps are in this order too.
    pub ring: Vec<NodeId>,
    /// The seed of the run.
    pub seed: u64,
    /// Whether real processes ran. Chance had no seed then.
    pub real: bool,
    /// Whom each member took for the coordinator at the beginning, in ring order.
    pub coordinators: Vec<Option<NodeId>>,
    /// Who is whose child, as pairs of parent and child, where the topology is a tree.
    pub tree: Vec<(NodeId, NodeId)>,
    /// The state of each member at the beginning, in ring order, if states were recorded.
    pub states: Vec<Fields>,
    /// What is drawn of each member at the beginning, in ring order, if states were recorded and the
    /// algorithm says what to draw.
    pub views: Vec<Option<ProcessView>>,
}

impl Header {
    /// What decided about all that is left to chance, in words.
    pub(crate) fn chance(&self) -> String {
        if self.real { "for real".to_owned() } else { format!("seed {}", self.seed) }
    }
}

/// One event.
#[derive(Clone, Debug)]
pub struct TraceEvent {
    /// Virtual time.
    pub at: Time,
    /// Where; `None` for what concerns the network as a whole.
    pub node: Option<NodeId>,
    /// Lamport's stamp.
    pub lamport: Lamport,
    /// The vector stamp, by place on the ring.
    pub vector: VectorClock,
    /// What.
    pub what: What,
    /// The rules that the algorithm applied in the step that this event began.
    pub rules: Vec<&'static str>,
    /// If the step that this event began changed whom the process takes for the coordinator:
    /// whom it takes for it now.
    pub coordinator: Option<Option<NodeId>>,
    /// If that step changed what the process has of the critical section: what it has now. A crash
    /// takes it away without saying so.
    pub section: Option<Status>,
    /// What that step changed in the state of the process, if states were recorded: the fields with
    /// what they hold now, or nothing if they are gone. A crash takes all of them away.
    pub state: BTreeMap<String, Option<String>>,
    /// If that step changed what is drawn of the process: what is drawn now.
    pub view: Option<ProcessView>,
}

impl TraceEvent {
    /// An event whose step has not changed anything yet.
    fn new(
        at: Time,
        node: Option<NodeId>,
        (lamport, vector): (Lamport, VectorClock),
        what: What,
    ) -> Self {
        let (rules, coordinator, section, state) = (Vec::new(), None, None, BTreeMap::new());
        let view = None;
        TraceEvent { at, node, lamport, vector, what, rules, coordinator, section, state, view }
    }
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The application asked for something.
    Input(String),
    /// A message left.
    Send(Letter),
    /// A message arrived.
    Receive(Letter),
    /// A message did not arrive.
    Drop(Letter, Why),
    /// A timer fired.
    Timer(String),
    /// The process told the application something.
    Output(String),
    /// The process stopped.
    Crash,
    /// The process started again.
    Recover,
    /// The process stands still.
    Pause,
    /// The process goes on.
    Resume,
    /// Something happened to the network or to a clock.
    Note(String),
}

/// A message in a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    /// The message's number in the run: pairs its sending with its arrivals.
    pub id: u64,
    /// Who sent it.
    pub from: NodeId,
    /// Whom it was sent to.
    pub to: NodeId,
    /// What it counts as.
    pub kind: Kind,
    /// The message as the algorithm shows it; begins with the paper's word.
    pub text: String,
}

/// Records a run.
#[derive(Clone, Debug)]
pub struct Recorder {
    trace: Trace,
    clocks: Vec<(Lamport, VectorClock)>,
    /// The stamps of messages that have not arrived yet. They are kept for good, because a
    /// duplicate may arrive at any time.
    letters: BTreeMap<u64, (Lamport, VectorClock)>,
    coordinators: Vec<Option<NodeId>>,
    sections: Vec<Status>,
    /// For each process, the event that began the step it is in.
    began: Vec<Option<usize>>,
    /// What each process holds, if an observer wants to know.
    states: Option<Vec<Fields>>,
    /// What is drawn of each process, if states are recorded.
    views: Vec<Option<ProcessView>>,
    group: Group,
    config: Option<AnyConfig>,
    algorithm: Listed,
}

impl Recorder {
    /// A recorder for a run of this algorithm.
    pub fn new(algorithm: &Listed, group: &Group, seed: u64) -> Self {
        let (n, entry) = (group.len(), &algorithm.entry);
        let header = Header {
            algorithm: entry.name,
            title: entry.title,
            family: entry.family,
            topology: entry.topology,
            ring: group.ring().to_vec(),
            seed,
            real: false,
            coordinators: vec![None; n],
            tree: Vec::new(),
            states: Vec::new(),
            views: vec![None; n],
        };
        Recorder {
            trace: Trace { header, events: Vec::new() },
            clocks: vec![(Lamport::default(), VectorClock::new(n)); n],
            letters: BTreeMap::new(),
            coordinators: vec![None; n],
            sections: vec![Status::Idle; n],
            began: vec![None; n],
            states: None,
            views: vec![None; n],
            group: group.clone(),
            config: None,
            algorithm: algorithm.clone(),
        }
    }

    /// A recorder for a run of real processes, which is being told again.
    pub fn real(algorithm: &Listed, group: &Group) -> Self {
        let mut recorder = Recorder::new(algorithm, group, 0);
        recorder.trace.header.real = true;
        recorder
    }

    /// Says who is whose child, if the topology is a tree at all.
    #[must_use]
    pub fn with_tree(mut self, tree: Tree) -> Self {
        let header = &mut self.trace.header;
        if header.topology == Topology::Tree {
            let edge = |child: usize| Some((header.ring[tree.parent(child)?], header.ring[child]));
            header.tree = (0..header.ring.len()).filter_map(edge).collect();
        }
        self
    }

    /// Records what every process of this configuration holds, and what is drawn of it, too.
    #[must_use]
    pub fn with_states(mut self, config: AnyConfig) -> Self {
        self.config = Some(config);
        let blank = vec![Fields::new(); self.trace.header.ring.len()];
        self.trace.header.states = blank.clone();
        self.states = Some(blank);
        self
    }

    /// Whether an input is shown by its verb, or as the process has it.
    fn says_verbs(&self) -> bool {
        let entry = &self.algorithm.entry;
        !entry.elects() && entry.family != "mutex"
    }

    /// What has been recorded so far.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// What has been recorded.
    pub fn into_trace(self) -> Trace {
        self.trace
    }

    fn letter(&self, id: u64, from: NodeId, to: NodeId, msg: &AnyMsg) -> Letter {
        Letter { id, from, to, kind: msg.kind(), text: msg.to_string() }
    }

    /// Adds an event of the process at `place` and counts it on its clocks.
    fn record(&mut self, at: Time, place: usize, what: What) {
        let (lamport, vector) = &mut self.clocks[place];
        if let What::Receive(letter) = &what
            && let Some((sent, knowledge)) = self.letters.get(&letter.id)
        {
            lamport.receive(*sent);
            // All stamps of a trace are of its own group.
            let _ = vector.merge(knowledge);
        } else {
            lamport.tick();
        }
        vector.tick(place);
        let stamps = (*lamport, vector.clone());
        if let What::Send(letter) = &what {
            self.letters.insert(letter.id, stamps.clone());
        }
        let begins = !matches!(what, What::Send(_) | What::Output(_));
        let node = Some(self.trace.header.ring[place]);
        let event = TraceEvent::new(at, node, stamps, what);
        self.push(event, begins.then_some(place));
    }

    fn push(&mut self, event: TraceEvent, begins: Option<usize>) {
        if let Some(place) = begins {
            self.began[place] = Some(self.trace.events.len());
        }
        self.trace.events.push(event);
    }

    /// The process at `place` holds this now.
    fn hold(&mut self, place: usize, now: Fields) {
        let Some(states) = &mut self.states else { return };
        let before = std::mem::replace(&mut states[place], now);
        let now = &states[place];
        match self.began[place] {
            // Several steps may belong to one event, as when a paused process goes on.
            Some(index) => {
                let changes = state::changes(&before, now);
                self.trace.events[index].state.extend(changes);
            }
            None => self.trace.header.states[place] = now.clone(),
        }
    }

    /// This is drawn of the process at `place` now.
    fn draw(&mut self, place: usize, process: &AnyProcess) {
        let Some(config) = &self.config else { return };
        let scene = Scene { group: &self.group, me: self.trace.header.ring[place] };
        let now = self.algorithm.view_of(process, config, &scene);
        if self.views[place] == now {
            return;
        }
        self.views[place].clone_from(&now);
        match self.began[place] {
            Some(index) => self.trace.events[index].view = now,
            None => self.trace.header.views[place] = now,
        }
    }

    /// Adds something that is no event of any process. A message that is dropped keeps the stamps
    /// of its sending.
    fn remark(&mut self, at: Time, place: usize, what: What) {
        let stamps = match &what {
            What::Drop(letter, _) => self.letters.get(&letter.id).cloned(),
            _ => None,
        };
        let stamps = stamps.unwrap_or_else(|| {
            (Lamport::default(), VectorClock::new(self.trace.header.ring.len()))
        });
        let node = match &what {
            What::Drop(..) => Some(self.trace.header.ring[place]),
            _ => None,
        };
        let event = TraceEvent::new(at, node, stamps, what);
        self.push(event, None);
    }
}

impl Observer<AnyProcess> for Recorder {
    const ACTIVE: bool = true;

    fn event(&mut self, at: Time, place: usize, seen: Seen<'_, AnyProcess>) {
        let me = self.trace.header.ring[place];
        let what = match seen {
            Seen::Rule(rule) => {
                if let Some(index) = self.began[place] {
                    self.trace.events[index].rules.push(rule);
                }
                return;
            }
            Seen::Note(note) => return self.remark(at, place, What::Note(note.to_owned())),
            Seen::Drop { id, from, msg, why } => {
                let letter = self.letter(id, from, me, msg);
                return self.remark(at, place, What::Drop(letter, why));
            }
            Seen::Send { id, to, msg } => What::Send(self.letter(id, me, to, msg)),
            Seen::Receive { id, from, msg } => What::Receive(self.letter(id, from, me, msg)),
            // Families with verbs of more than one part say them as a script does.
            Seen::Input(input) if self.says_verbs() => {
                What::Input(self.algorithm.verb(input).into_owned())
            }
            Seen::Input(input) => What::Input(format!("{input:?}")),
            Seen::Timer(timer) => What::Timer(format!("{timer:?}")),
            Seen::Output(output) => What::Output(output.to_string()),
            Seen::Crash => What::Crash,
            Seen::Recover => What::Recover,
            Seen::Pause => What::Pause,
            Seen::Resume => What::Resume,
        };
        if what == What::Crash {
            self.coordinators[place] = None;
            self.sections[place] = Status::Idle;
        }
        let crashed = what == What::Crash;
        self.record(at, place, what);
        if crashed {
            self.hold(place, Fields::new());
            self.views[place] = None;
        }
    }

    fn stepped(&mut self, place: usize, process: &AnyProcess) {
        if self.states.is_some() {
            let (ring, blank) = (&self.trace.header.ring, self.algorithm.blank());
            self.hold(place, state::fields(&format!("{process:?}"), blank, ring));
            self.draw(place, process);
        }
        let began = self.began[place];
        let section = self.algorithm.section_of(process).unwrap_or_default();
        if std::mem::replace(&mut self.sections[place], section) != section
            && let Some(index) = began
        {
            self.trace.events[index].section = Some(section);
        }
        let coordinator = self.algorithm.coordinator_of(process);
        if std::mem::replace(&mut self.coordinators[place], coordinator) == coordinator {
            return;
        }
        match began {
            Some(index) => self.trace.events[index].coordinator = Some(coordinator),
            None => self.trace.header.coordinators[place] = coordinator,
        }
    }
}
