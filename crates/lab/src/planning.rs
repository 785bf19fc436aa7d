//! From flags to a plan.

use crate::args::{ClusterArgs, Order, RunArgs, SimArgs, Switch};
use crate::own;
use crate::work::{MOST_REQUESTS, in_words_of_sections};
use bellwether_algorithms::catalogue::Listed;
use bellwether_algorithms::definition::Settings;
use bellwether_algorithms::options::BadOption;
use bellwether_core::{AnyInput, AnyProcess, Group, NodeId, Time};
use bellwether_shell::Failure;
use bellwether_sim::{
    Action, Cut, Latency, Network, Plan, Scheduled, chaos, check_script, default_timeout, shuffled,
    units,
};
use std::collections::BTreeMap;
use std::time::Duration;

/// The largest cluster that may be asked for.
const MOST_NODES: usize = 10_000_000;

/// The plan that the flags describe, for one seed.
pub(crate) fn plan(
    algorithm: &Listed,
    args: &SimArgs,
    seed: u64,
) -> Result<Plan<AnyProcess>, Failure> {
    if args.chaos {
        let mut plan = chaos::random_plan(algorithm, seed);
        plan.until =
            args.until.as_deref().map(|text| flag("until", units::time(text))).transpose()?;
        return Ok(plan);
    }
    let run = &args.run;
    run.suits(algorithm)?;
    let too_many = |n| format!("{n} processes are too many; at most {MOST_NODES}");
    let arrange = |ring: &mut [NodeId]| match args.order.unwrap_or(Order::Ascending) {
        Order::Ascending => {}
        Order::Descending => ring.reverse(),
        Order::Shuffled => shuffled(ring, seed),
    };
    let group = run.cluster.group(algorithm.nodes.unwrap_or(5), MOST_NODES, too_many, arrange)?;
    let network = network(args, &group)?;
    let script = script(algorithm, args, &group)?;
    let usual = Usual {
        timeout: default_timeout(&network),
        section: network.latency.mean(),
        most_requests: MOST_REQUESTS,
    };
    let until = args.until.as_deref().map(|text| flag("until", units::time(text))).transpose()?;
    run.plan(algorithm, group, network, seed, script, until, &usual)
}

/// The defaults of a world.
pub(crate) struct Usual {
    pub(crate) timeout: Duration,
    /// How long a process stays in the critical section.
    pub(crate) section: Duration,
    pub(crate) most_requests: u64,
}

impl RunArgs {
    /// Refuses what the algorithm has no use for.
    pub(crate) fn suits(&self, algorithm: &Listed) -> Result<(), Failure> {
        self.work.suits(algorithm)?;
        self.work.section.refuse_elections(&[
            ("detect", !self.detect.is_empty()),
            ("all-start", self.all_start),
            ("detection on", self.cluster.detection == Some(Switch::On)),
        ])
    }

    /// The algorithm that the options make of the one that was named: it says what can be asked for.
    fn variant(&self, algorithm: &Listed) -> Result<Listed, Failure> {
        let options = self.own.options(algorithm)?;
        let settings = Settings { options, ..Settings::new(Duration::ZERO) };
        let variant = algorithm.variant(&settings);
        variant.map_err(|BadOption { option, why }| Failure::flag(option, why))
    }

    /// A plan of a run whose network and script are known.
    #[expect(clippy::too_many_arguments, reason = "a run has all these sides")]
    pub(crate) fn plan(
        &self,
        algorithm: &Listed,
        group: Group,
        network: Network,
        seed: u64,
        script: Vec<Scheduled<AnyInput>>,
        until: Option<Time>,
        usual: &Usual,
    ) -> Result<Plan<AnyProcess>, Failure> {
        let scripted = !self.detect.is_empty() || self.all_start;
        let faulty = network.loss > 0.0 || script.iter().any(|s| is_fault(&s.action));
        let textbook = self.work.section.textbook;
        // An election has nothing else to do; beside another algorithm watching costs messages, and
        // is worth them only if something can fail.
        let watches = !scripted && (algorithm.entry.elects() || faulty && !textbook);
        let coordinator = (!self.all_start).then(|| group.highest());
        let timeout = self.cluster.timeout(usual.timeout)?;
        let mut settings = self.cluster.settings(&group, coordinator, watches, faulty, timeout)?;
        settings.section = (usual.section, usual.section);
        self.work.section.apply(&mut settings)?;
        settings.options = self.own.options(algorithm)?;
        let algorithm = own::check(algorithm, &settings, &group)?;
        let mut plan = Plan { algorithm, group, settings, network, seed, script, until };
        self.work.add_jobs(&mut plan, usual.most_requests, !self.asked.ask.is_empty())?;
        Ok(plan)
    }
}

impl ClusterArgs {
    /// Who takes part, up to this number, arranged on the ring.
    pub(crate) fn group(
        &self,
        usual: u32,
        most: usize,
        too_many: impl Fn(usize) -> String,
        arrange: impl FnOnce(&mut [NodeId]),
    ) -> Result<Group, Failure> {
        let (name, mut ring) = match &self.ids {
            Some(text) => ("ids", flag("ids", units::ids(text))?),
            None => {
                let nodes = self.nodes.unwrap_or(usual);
                if nodes as usize > most {
                    return Err(Failure::flag("nodes", too_many(nodes as usize)));
                }
                ("nodes", (1..=nodes).map(NodeId::new).collect())
            }
        };
        if ring.is_empty() {
            let what = "0 processes cannot elect a coordinator; give at least 1";
            return Err(Failure::flag(name, what));
        }
        if ring.len() > most {
            return Err(Failure::flag(name, too_many(ring.len())));
        }
        arrange(&mut ring);
        Group::new(ring).map_err(|error| Failure::flag(name, error))
    }

    /// T.
    pub(crate) fn timeout(&self, usual: Duration) -> Result<Duration, Failure> {
        match self.timeout.as_deref().map(|text| flag("timeout", units::duration(text))) {
            None => Ok(usual),
            Some(Ok(Duration::ZERO)) => Err(Failure::flag("timeout", "T must be above 0")),
            Some(timeout) => timeout,
        }
    }

    /// How the algorithm is set. By default this is the coordinator, and processes watch it
    /// or not.
    pub(crate) fn settings(
        &self,
        group: &Group,
        coordinator: Option<NodeId>,
        watches: bool,
        faulty: bool,
        timeout: Duration,
    ) -> Result<Settings, Failure> {
        let on = |switch: Switch| switch == Switch::On;
        let detection = self.detection.map_or(watches, on);
        let coordinator = match self.coordinator.as_deref() {
            None => coordinator,
            Some("none") => None,
            Some(text) => Some(flag("coordinator", units::member(text, group))?),
        };
        let largest = group.highest();
        // No process that watches its coordinator follows a smaller number than its own, not even at
        // first.
        if let Some(id) = coordinator.filter(|id| detection && *id < largest) {
            let message = format!(
                "{id} is not the largest, so {largest} would depose it at once; give {}, none, or \
                 --detection off",
                largest.number()
            );
            return Err(Failure::flag("coordinator", message));
        }
        let acknowledge = self.acknowledge.map_or(detection || faulty, on);
        Ok(Settings { coordinator, detection, acknowledge, ..Settings::new(timeout) })
    }
}

pub(crate) fn flag<T>(name: &str, parsed: Result<T, String>) -> Result<T, Failure> {
    parsed.map_err(|message| Failure::flag(name, message))
}

fn is_fault<I>(action: &Action<I>) -> bool {
    !action.is_input() && !matches!(action, Action::Clock { .. })
}

fn network(args: &SimArgs, group: &Group) -> Result<Network, Failure> {
    let latency = match &args.latency {
        Some(text) => flag("latency", units::latency(text))?,
        None => Latency::Fixed(Duration::from_millis(10)),
    };
    let mut network = Network::new(latency);
    for text in &args.link {
        let (way, latency) = assignment("link", text, "1->2=50ms")?;
        let (from, to) = way.split_once("->").ok_or_else(|| {
            Failure::flag("link", format!("'{way}' is no link; write for example 1->2=50ms"))
        })?;
        let link =
            (flag("link", units::member(from, group))?, flag("link", units::member(to, group))?);
        network.links.insert(link, flag("link", units::latency(latency))?);
    }
    network.reorder = args.reorder;
    if let Some(text) = &args.loss {
        network.loss = flag("loss", units::probability(text))?;
    }
    if let Some(text) = &args.duplicate {
        network.duplicate = flag("duplicate", units::probability(text))?;
    }
    Ok(network)
}

/// What the flags want to happen, each with the flag that asked for it.
pub(crate) struct Script {
    pub(crate) actions: Vec<Scheduled<AnyInput>>,
    pub(crate) flags: Vec<String>,
}

impl Script {
    pub(crate) fn new() -> Self {
        Script { actions: Vec::new(), flags: Vec::new() }
    }

    pub(crate) fn add(&mut self, flag: &str, text: &str, at: Time, action: Action<AnyInput>) {
        self.actions.push(Scheduled { at, action });
        self.flags.push(format!("--{flag} {text}"));
    }

    /// `1,4@2s`: something happens to each of these, at the beginning unless it needs a time.
    pub(crate) fn add_each(
        &mut self,
        name: &str,
        texts: &[String],
        group: &Group,
        needs_time: bool,
        action: impl Fn(NodeId) -> Action<AnyInput>,
    ) -> Result<(), Failure> {
        for text in texts {
            let (ids, at) = ids_at(name, text, group)?;
            if needs_time && at.is_none() {
                return Err(Failure::flag(name, format!("'{text}' needs a time: {text}@1s")));
            }
            for id in ids {
                self.add(name, text, at.unwrap_or_default(), action(id));
            }
        }
        Ok(())
    }

    /// `3@1s..2s`: this process stands still.
    pub(crate) fn add_pauses(
        &mut self,
        name: &str,
        texts: &[String],
        group: &Group,
    ) -> Result<(), Failure> {
        for text in texts {
            let (id, from, to) = window(name, text, "3@1s..2s")?;
            let id = flag(name, units::member(id, group))?;
            self.add(name, text, from, Action::Pause(id));
            self.add(name, text, to, Action::Resume(id));
        }
        Ok(())
    }

    /// Adds what the shared flags ask for. All of it must be possible, which is told in the words of
    /// the command, and come before the end.
    pub(crate) fn finish(
        mut self,
        algorithm: &Listed,
        args: &RunArgs,
        group: &Group,
        end: Option<Time>,
        in_our_words: impl Fn(&str) -> String,
    ) -> Result<Vec<Scheduled<AnyInput>>, Failure> {
        for (id, (offset_us, drift_ppm)) in clocks(&args.asked.offset, &args.asked.drift, group)? {
            let clock = Action::Clock { node: id, offset_us, drift_ppm };
            self.add("offset/--drift", &id.number().to_string(), Time::ZERO, clock);
        }
        let algorithm = &args.variant(algorithm)?;
        let known = |verb: &str| {
            algorithm.input(verb).ok_or_else(|| {
                let name = algorithm.name();
                Failure::Input(format!("{name} knows no '{verb}'; leave the flag out"))
            })
        };
        if !args.detect.is_empty() {
            let input = known("suspect")?;
            let suspect = |id| Action::Input(id, input.clone());
            self.add_each("detect", &args.detect, group, false, suspect)?;
        }
        args.work.deeds(algorithm, group, &mut self)?;
        own::asks(algorithm, &args.asked.ask, group, &mut self)?;
        let Script { mut actions, flags } = self;
        check_script(&actions).map_err(|impossible| {
            let flag = &flags[impossible.index];
            let why = in_words_of_sections(flag, &in_our_words(&impossible.why));
            Failure::Input(format!("{flag}: {why}"))
        })?;
        let late = |scheduled: &Scheduled<AnyInput>| end.is_some_and(|end| scheduled.at > end);
        if let (Some(index), Some(end)) = (actions.iter().position(late), end) {
            let message = format!("{}: the run ends before that, at {end} (--for)", flags[index]);
            return Err(Failure::Input(message));
        }
        if args.all_start {
            let input = known("start")?;
            actions.push(Scheduled { at: Time::ZERO, action: Action::InputAll(input) });
        }
        Ok(actions)
    }
}

fn script(
    algorithm: &Listed,
    args: &SimArgs,
    group: &Group,
) -> Result<Vec<Scheduled<AnyInput>>, Failure> {
    let mut script = Script::new();
    script.add_each("crash", &args.crash, group, false, Action::Crash)?;
    script.add_each("recover", &args.recover, group, true, Action::Recover)?;
    script.add_pauses("pause", &args.pause, group)?;
    for text in &args.slow {
        let (what, from, to) = window("slow", text, "3=20ms@1s..2s")?;
        let (id, span) = assignment("slow", what, "3=20ms@1s..2s")?;
        let id = flag("slow", units::member(id, group))?;
        let span = flag("slow", units::duration(span))?;
        script.add("slow", text, from, Action::Slow(id, span));
        script.add("slow", text, to, Action::Slow(id, Duration::ZERO));
    }
    let mut name = 0;
    for text in &args.partition {
        let (sides, from, to) = window("partition", text, "1,2|3,4,5@1s..2s")?;
        let kind = flag("partition", units::partition(sides, group))?;
        name += 1;
        script.add("partition", text, from, Action::Cut(Cut { name, kind }));
        script.add("partition", text, to, Action::Heal(name));
    }
    for text in &args.cut {
        let (way, from, to) = window("cut", text, "1,2>3@1s..2s")?;
        let kind = flag("cut", units::cut(way, group))?;
        name += 1;
        script.add("cut", text, from, Action::Cut(Cut { name, kind }));
        script.add("cut", text, to, Action::Heal(name));
    }
    script.finish(algorithm, &args.run, group, None, str::to_owned)
}

/// How far clocks are off at first, in microseconds, and by how much they gain, in parts per
/// million.
pub(crate) fn clocks(
    offsets: &[String],
    drifts: &[String],
    group: &Group,
) -> Result<BTreeMap<NodeId, (i64, i64)>, Failure> {
    let mut clocks: BTreeMap<NodeId, (i64, i64)> = BTreeMap::new();
    for text in offsets {
        let (id, offset) = assignment("offset", text, "1=+200ms")?;
        let id = flag("offset", units::member(id, group))?;
        clocks.entry(id).or_default().0 = flag("offset", units::offset(offset))?;
    }
    for text in drifts {
        let (id, drift) = assignment("drift", text, "3=50ppm")?;
        let id = flag("drift", units::member(id, group))?;
        clocks.entry(id).or_default().1 = flag("drift", units::drift(drift))?;
    }
    Ok(clocks)
}

/// `1,4@2s`: who, and when if it says so.
pub(crate) fn ids_at(
    name: &str,
    text: &str,
    group: &Group,
) -> Result<(Vec<NodeId>, Option<Time>), Failure> {
    let (ids, at) = match text.split_once('@') {
        Some((ids, at)) => (ids, Some(flag(name, units::time(at))?)),
        None => (text, None),
    };
    let ids = flag(name, units::ids(ids))?;
    for id in &ids {
        flag(name, units::member(&id.number().to_string(), group))?;
    }
    Ok((ids, at))
}

/// `WHAT@FROM..TO`.
fn window<'a>(name: &str, text: &'a str, example: &str) -> Result<(&'a str, Time, Time), Failure> {
    let parts = text.rsplit_once('@').and_then(|(what, span)| Some((what, span.split_once("..")?)));
    let Some((what, (from, to))) = parts else {
        let message = format!("'{text}' needs a beginning and an end: {example}");
        return Err(Failure::flag(name, message));
    };
    let (from, to) = (flag(name, units::time(from))?, flag(name, units::time(to))?);
    if from >= to {
        let message = format!("'{text}' ends at {to}, not after its beginning at {from}");
        return Err(Failure::flag(name, message));
    }
    Ok((what, from, to))
}

fn assignment<'a>(name: &str, text: &'a str, example: &str) -> Result<(&'a str, &'a str), Failure> {
    text.split_once('=').ok_or_else(|| {
        Failure::flag(name, format!("'{text}' has no '='; write for example {example}"))
    })
}
