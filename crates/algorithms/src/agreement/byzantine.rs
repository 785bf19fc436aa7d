//! Byzantine generals: interactive consistency by oral messages (Lamport, Shostak and Pease, "The
//! Byzantine generals problem", 1982, algorithm OM(m)).
//!
//! Each of n processes has a private value. Up to m of them are traitors that may say anything to
//! any process. Every correct process fills a vector with one entry for each process, such that
//!
//! * the entries of correct processes are their true values (validity), and
//! * all correct processes have the same vector (consistency).
//!
//! OM(m) settles the value of one commander. Here every process is the commander of its own value,
//! all at the same time.
//!
//! # Rules
//! * B1 Round 1 begins T after the start, or with the first message that counts if that is sooner:
//!   tell all others the own value.
//! * B2 At the end of a round but the last: pass on each value that was heard in it to all that are
//!   not on its path yet, with the own name at the end of the path. For a message that did not
//!   come, nil is passed on.
//! * B3 A message counts if its path ends with its sender, has no process twice and not the
//!   receiver, and its round is not over. Of several by the same path the first counts. All else
//!   is ignored.
//! * B4 At the end of round m + 1, vote from the longest paths to the shortest: what a path says is
//!   the majority of what was heard by it and of what all its continuations by one more process
//!   say; nil without a majority.
//! * B5 A process that has crashed and comes back has missed rounds and stays outside: for the
//!   others it is one of the m.
//!
//! A traitor keeps B1 and B2, but what it says is up to its [`Strategy`].
//!
//! # Assumes
//! n >= 3m + 1 processes with at most m traitors, crashed ones included. A message that is sent at
//! the beginning of a round arrives before its end: by B1 no correct process begins later than one
//! delay after another, so T must be above two delays. The network prevents that a process sends in
//! another's name.
//!
//! # Costs
//! m + 1 rounds of T. For each commander M(n, m) = (n-1) (1 + M(n-1, m-1)) messages with M(n, 0) =
//! n-1, so M(4, 1) = 9, M(7, 2) = 156, M(10, 3) = 3609; n times that in all. Each value by each
//! path is a message of its own, as the paper counts them, although all that go to one receiver in
//! a round could travel together.
//!
//! # Departures
//! The paper has all begin at the same moment. Here they begin T after the start, and pull each
//! other along, for processes of the operating system do not all start at once. A message that is
//! early is kept: its path says where it belongs.

use super::byzantine_referee::Judge;
use super::strategies::{self, Lie, Strategy};
use super::{LONGEST_PATH, Path, Tree, Value};
use crate::cost::{Cost, Kinds, Script};
use crate::definition::{Algorithm, Definition, Entry, Settings, Topology};
use crate::options::{BadOption, Opt, member};
use bellwether_core::{
    Assumptions, Channels, Context, Goal, Group, Kind, Message, NodeId, Process, Timing,
};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// "By this path, this value has come to me."
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Oral {
    /// The commander, those who passed the value on, and the sender.
    pub path: Path,
    /// What the commander's value is said to be.
    pub value: Value,
}

impl Message for Oral {
    fn kind(&self) -> Kind {
        Kind::protocol(if self.path.round() == 1 { "VALUE" } else { "RELAY" })
    }
}

/// `VALUE(a)`, `RELAY(1: a)`: the sender knows from P1 that its value is a.
impl fmt::Display for Oral {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hops = self.path.hops();
        match hops.split_last() {
            None | Some((_, [])) => write!(f, "VALUE({})", self.value),
            Some((_, before)) => {
                let names: Vec<String> = before.iter().map(|id| id.number().to_string()).collect();
                write!(f, "RELAY({}: {})", names.join(","), self.value)
            }
        }
    }
}

/// The end of a round; of round 0 when the first one begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RoundEnds(pub u8);

/// What can be asked of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Input {
    /// If it is a traitor: to tell the lie with the next number from now on.
    Lie,
}

/// What a process says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// It is a traitor, and how it lies.
    Traitor(&'static str),
    /// It has filled its vector.
    Decided {
        /// One entry for each process, in ring order.
        vector: Vec<Value>,
        /// In how many rounds.
        rounds: u8,
        /// How many messages it has sent.
        sent: u64,
    },
    /// A traitor has nothing more to say.
    Done {
        /// How many messages it has sent.
        sent: u64,
    },
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Output::Traitor(how) => write!(f, "is a traitor: {how}"),
            Output::Decided { vector, .. } => write!(f, "decides on {}", in_brackets(vector)),
            Output::Done { sent } => write!(f, "has told its lies, {sent} messages"),
        }
    }
}

/// `(a, b, nil, d)`
pub(super) fn in_brackets(vector: &[Value]) -> String {
    let words: Vec<&str> = vector.iter().map(Value::as_str).collect();
    format!("({})", words.join(", "))
}

/// What is fixed for the whole run.
#[derive(Clone, Debug)]
pub struct Config {
    /// T: how long a round lasts.
    pub round: Duration,
    /// m.
    pub faults: u32,
    /// The private values, in ring order.
    pub values: Vec<Value>,
    /// All values that traitors may think of: at least two.
    pub vocabulary: Vec<Value>,
    /// Who lies, in ascending order.
    pub traitors: Vec<NodeId>,
    /// How they lie.
    pub strategy: Arc<dyn Strategy>,
    /// What random and numbered lies depend on besides.
    pub lie_seed: u64,
    /// Whose value is at stake, if not everybody's.
    pub commander: Option<NodeId>,
}

impl Config {
    /// m + 1.
    pub fn rounds(&self) -> u8 {
        u8::try_from(self.faults.saturating_add(1)).unwrap_or(u8::MAX)
    }

    /// Whether this process's value is at stake.
    pub fn commands(&self, id: NodeId) -> bool {
        self.commander.is_none_or(|commander| commander == id)
    }
}

/// How far a process has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Phase {
    /// It came back from a crash.
    #[default]
    Outside,
    /// In this round; 0 before the first.
    Round(u8),
    /// All rounds are over.
    Ended,
}

/// A process with a private value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Byzantine {
    phase: Phase,
    /// What it was told. Empty once it has decided.
    tree: Tree,
    /// What it has decided on.
    vector: Vec<Value>,
    sent: u64,
    /// How often a traitor was asked for its next lie.
    lies: u64,
}

impl Process for Byzantine {
    type Msg = Oral;
    type Timer = RoundEnds;
    type Input = Input;
    type Output = Output;
    type Durable = ();
    type Config = Config;

    const ASSUMES: Assumptions = Assumptions {
        timing: Timing::Synchronous,
        duplication: true,
        ..Assumptions::faultless(Channels::Any)
    };

    fn durable(&self) {}

    fn on_start(&mut self, saved: Option<()>, cx: &mut Context<'_, Self>) {
        if saved.is_some() {
            return cx.rule("B5");
        }
        let config = cx.config();
        self.phase = Phase::Round(0);
        self.tree = Tree::new(cx.group().len(), cx.place(), usize::from(config.rounds()));
        if config.traitors.contains(&cx.me()) {
            cx.emit(Output::Traitor(config.strategy.name()));
        }
        cx.set_timer(RoundEnds(0), config.round);
    }

    fn on_input(&mut self, Input::Lie: Input, cx: &mut Context<'_, Self>) {
        if cx.config().traitors.contains(&cx.me()) {
            self.lies += 1;
        }
    }

    fn on_message(&mut self, from: NodeId, Oral { path, value }: Oral, cx: &mut Context<'_, Self>) {
        let Phase::Round(round) = self.phase else { return };
        if path.sender() != from || path.round() < usize::from(round) {
            return cx.rule("B3");
        }
        let mut places = [0; LONGEST_PATH];
        for (place, hop) in places.iter_mut().zip(path.hops()) {
            let Some(known) = cx.group().place(*hop) else { return cx.rule("B3") };
            *place = known;
        }
        if !self.tree.put(&places[..path.round()], value) {
            return cx.rule("B3");
        }
        if round == 0 {
            cx.cancel_timer(RoundEnds(0));
            self.on_timer(RoundEnds(0), cx);
        }
    }

    fn on_timer(&mut self, RoundEnds(round): RoundEnds, cx: &mut Context<'_, Self>) {
        if self.phase != Phase::Round(round) {
            return;
        }
        let config = cx.config();
        if round == config.rounds() {
            return self.decide(cx);
        }
        self.phase = Phase::Round(round + 1);
        cx.set_timer(RoundEnds(round + 1), config.round);
        if round == 0 && !config.commands(cx.me()) {
            // Only the commander has something to say.
        } else if round == 0 {
            cx.rule("B1");
            let value = config.values.get(cx.place()).copied().unwrap_or_default();
            self.tell(Path::of(cx.me()), value, cx);
        } else {
            self.pass_on(usize::from(round), cx);
        }
    }
}

impl Byzantine {
    /// What it has decided on, in ring order; nothing before the end.
    pub fn vector(&self) -> &[Value] {
        &self.vector
    }

    /// Whether it takes no part, or has ended.
    pub fn has_ended(&self) -> bool {
        !matches!(self.phase, Phase::Round(_))
    }

    /// B2: what was heard in this round, to all that are not on its path.
    fn pass_on(&mut self, round: usize, cx: &mut Context<'_, Self>) {
        cx.rule("B2");
        let mut places = Vec::new();
        for rank in 0..self.tree.width(round) {
            let value = self.tree.value(round, rank);
            self.tree.path(round, rank, &mut places);
            let mut hops = places.iter().map(|place| cx.group().ring()[*place]);
            let Some(first) = hops.next().filter(|first| cx.config().commands(*first)) else {
                continue;
            };
            let heard = hops.try_fold(Path::of(first), |path, hop| path.by(hop));
            if let Some(path) = heard.and_then(|path| path.by(cx.me())) {
                self.tell(path, value, cx);
            }
        }
    }

    /// Sends a value by a path that ends here to all that are not on it. A traitor lies.
    fn tell(&mut self, path: Path, value: Value, cx: &mut Context<'_, Self>) {
        let config = cx.config();
        let lies = config.traitors.contains(&cx.me());
        let ring = cx.group().ring();
        let receivers = ring.iter().enumerate().filter(|(_, to)| !path.has(**to));
        for (rank, (place, to)) in receivers.enumerate() {
            let said = if lies {
                config.strategy.says(&Lie {
                    path,
                    to: *to,
                    place,
                    rank,
                    truth: value,
                    values: &config.vocabulary,
                    seed: config.lie_seed.saturating_add(self.lies),
                })
            } else {
                Some(value)
            };
            if let Some(value) = said {
                self.sent += 1;
                cx.send(*to, Oral { path, value });
            }
        }
    }

    /// B4.
    fn decide(&mut self, cx: &mut Context<'_, Self>) {
        cx.rule("B4");
        self.phase = Phase::Ended;
        let (sent, config) = (self.sent, cx.config());
        self.vector = self.tree.vote();
        let own = config.values.get(cx.place()).filter(|_| config.commands(cx.me()));
        let own = own.copied().unwrap_or_default();
        self.vector.insert(cx.place().min(self.vector.len()), own);
        self.tree = Tree::default();
        if config.traitors.contains(&cx.me()) {
            cx.emit(Output::Done { sent });
        } else {
            let vector = self.vector.clone();
            cx.emit(Output::Decided { vector, rounds: config.rounds(), sent });
        }
    }
}

/// M(n, m): how many messages one commander's value takes; none if that is beyond all counting.
pub fn messages(n: u64, m: u64) -> Option<u64> {
    let others = n.saturating_sub(1);
    if m == 0 || others == 0 {
        return Some(others);
    }
    messages(others, m - 1)?.checked_add(1)?.checked_mul(others)
}

/// The largest m for which there is room in a path.
const MOST_FAULTS: u32 = LONGEST_PATH as u32 - 1;
/// More messages than this are refused: the run would not end.
const MOST_MESSAGES: u64 = 20_000_000;

impl Algorithm for Byzantine {
    fn definition() -> Definition<Self> {
        let entry = Entry {
            name: "byzantine",
            family: "agreement",
            title: "Byzantine generals (oral messages)",
            source: "Lamport, Shostak and Pease, The Byzantine generals problem, 1982",
            cost: "n M(n,m), M(n,m) = (n-1)(1 + M(n-1,m-1)); m+1 rounds",
            assumes: Self::ASSUMES,
            topology: Topology::Mesh,
            docs: essay!("byzantine.rs"),
            example: "agreement/byzantine-four-one-traitor.txt",
        };
        Definition::<Self>::new(entry, Self::config)
            .options(Self::OPTIONS)
            .checks(Self::check)
            .verbs(&["lie"], |verb| (verb == "lie").then_some(Input::Lie), |_| "lie".into())
            .kinds(&["VALUE", "RELAY"])
            .goal(Goal::new(
                "decided",
                "every live process that took part from the beginning has its vector",
                |processes| processes.map(|(_, process)| process).all(Self::has_ended),
            ))
            .settles_within(|config, _, _| {
                config.round.saturating_mul(u32::from(config.rounds()).saturating_add(3))
            })
            .referee(|config, group| Box::new(Judge::new(config, group)))
            .view(view::view)
            .costs(costs)
    }
}

/// Runs with more messages than this are not compared.
const MOST_COMPARED: u64 = 200_000;

/// OM(m) for every m that n processes bear, without traitors and with as many as they bear, which
/// lie in two ways. Each process is the commander of its own value, and each takes M(n, m) messages.
/// The counts do not depend on what traitors say, as long as they say something.
fn costs(n: u32) -> Vec<Cost> {
    let titles = [
        ["m = 0", ""],
        ["m = 1", "m = 1, a traitor"],
        ["m = 2", "m = 2, 2 traitors"],
        ["m = 3", "m = 3, 3 traitors"],
        ["m = 4", "m = 4, 4 traitors"],
    ];
    let count = u64::from(n);
    let mut costs = Vec::new();
    for (m, [honest, treacherous]) in (0..=(count - 1) / 3).zip(titles) {
        let all = messages(count, m).and_then(|each| each.checked_mul(count));
        let Some(all) = all.filter(|all| *all <= MOST_COMPARED) else { break };
        let values = count * (count - 1);
        let parts: [(Kinds, _, _); 2] =
            [(&["VALUE"], "n(n-1)", values), (&["RELAY"], "n (M(n,m) - (n-1))", all - values)];
        let run = || Script::of(n).set("faults", m);
        costs.push(Cost::sum(honest, "n M(n,m)", &parts, [run()]));
        if m > 0 {
            let liars: Vec<String> = (1..=m).map(|id| id.to_string()).collect();
            let runs = ["two-faced", "colluding"]
                .map(|lie| run().set("traitors", liars.join(",")).set("strategy", lie));
            costs.push(Cost::sum(treacherous, "n M(n,m)", &parts, runs));
        }
    }
    costs
}

impl Byzantine {
    const OPTIONS: &'static [Opt] = &[
        Opt {
            name: "traitors",
            value: Some("IDS"),
            help: "The traitors: 3 or 1,4; none by default",
        },
        Opt {
            name: "strategy",
            value: Some("NAME"),
            help: "How traitors lie: silent, random, two-faced (default), colluding or numbered",
        },
        Opt {
            name: "values",
            value: Some("LIST"),
            help: "The private values in ring order, as many as processes; a,b,c,... by default",
        },
        Opt {
            name: "faults",
            value: Some("M"),
            help: "m: how many traitors the algorithm allows for; by default as many as there \
                   are, and at least 1 where n >= 4",
        },
        Opt {
            name: "lie-seed",
            value: Some("N"),
            help: "The seed of the lies of random and numbered traitors; 0 by default",
        },
        Opt {
            name: "commander",
            value: Some("ID"),
            help: "Settle only the value of this process; by default, of all processes",
        },
        Opt {
            name: "force",
            value: None,
            help: "Run although n < 3m+1 or traitors outnumber m, and see what happens",
        },
    ];

    fn check(settings: &Settings, group: &Group) -> Result<(), BadOption> {
        let config = read(settings, group)?;
        let n = group.len() as u64;
        let (m, lying) = (config.faults, config.traitors.len() as u32);
        let given = |option: &&'static str| settings.options.text(option).is_some();
        let option = ["faults", "traitors"].into_iter().find(given).unwrap_or("nodes");
        let refuse = |option, why| Err(BadOption { option, why });
        if m > MOST_FAULTS {
            return refuse(option, format!("m = {m} is too many; at most {MOST_FAULTS}"));
        }
        let all = messages(n, u64::from(m)).and_then(|each| each.checked_mul(n));
        if all.is_none_or(|all| all > MOST_MESSAGES) {
            let count = all.map_or("endlessly many".to_owned(), |all| all.to_string());
            let why = format!(
                "OM({m}) among {n} processes takes {count} messages; at most {MOST_MESSAGES}"
            );
            return refuse(option, why);
        }
        if settings.options.is_on("force") {
            return Ok(());
        }
        if n < 3 * u64::from(m) + 1 {
            let why = format!(
                "{}: n >= 3m+1 asks for {}; --force shows what happens",
                bears(group.len(), m),
                3 * m + 1
            );
            return refuse(option, why);
        }
        if lying > m {
            let why = format!(
                "{lying} traitors, but m = {m}; give --faults {lying}, or --force to see what \
                 happens"
            );
            return refuse("faults", why);
        }
        Ok(())
    }

    fn config(settings: &Settings, group: &Group) -> Config {
        read(settings, group).unwrap_or_else(|_| default_config(settings.timeout, group))
    }
}

/// `3 processes bear no traitor`
fn bears(n: usize, m: u32) -> String {
    let plural = if n == 1 { "" } else { "es" };
    match n.saturating_sub(1) / 3 {
        0 => format!("{n} process{plural} bear no traitor"),
        1 => format!("{n} processes bear 1 traitor, not {m}"),
        most => format!("{n} processes bear {most} traitors, not {m}"),
    }
}

fn default_config(round: Duration, group: &Group) -> Config {
    let values: Vec<Value> = (0..group.len()).map(letter).collect();
    Config {
        round,
        faults: u32::from(group.len() >= 4),
        vocabulary: vocabulary(&values),
        values,
        traitors: Vec::new(),
        strategy: Arc::new(strategies::TwoFaced),
        lie_seed: 0,
        commander: None,
    }
}

fn read(settings: &Settings, group: &Group) -> Result<Config, BadOption> {
    let options = &settings.options;
    let mut config = default_config(settings.timeout, group);
    let mut traitors = options.members("traitors", group)?;
    traitors.sort_unstable();
    if let Some(pair) = traitors.windows(2).find(|pair| pair[0] == pair[1]) {
        let why = format!("{} is named twice", pair[0]);
        return Err(BadOption { option: "traitors", why });
    }
    if let Some(strategy) = options.read("strategy", |name| {
        let known = strategies::NAMES.join(", ");
        strategies::named(name).ok_or_else(|| format!("no strategy '{name}'; expected {known}"))
    })? {
        config.strategy = strategy;
    }
    let values = options.read("values", |text| {
        let words: Result<Vec<Value>, _> = text.split(',').map(Value::new).collect();
        let words = words.map_err(|bad| bad.to_string())?;
        if words.len() != group.len() {
            let (given, n) = (words.len(), group.len());
            return Err(format!("{given} values for {n} processes; give one for each"));
        }
        Ok(words)
    })?;
    if let Some(values) = values {
        config.vocabulary = vocabulary(&values);
        config.values = values;
    }
    config.faults = options.number("faults", config.faults.max(traitors.len() as u32))?;
    config.lie_seed = options.number("lie-seed", 0)?;
    config.traitors = traitors;
    config.commander = options.read("commander", |text| member(text, group))?;
    Ok(config)
}

/// a, b, ... z, a1, b1, ...
fn letter(place: usize) -> Value {
    let letter = char::from(b'a' + (place % 26) as u8);
    let round = place / 26;
    let text = if round == 0 { letter.to_string() } else { format!("{letter}{round}") };
    Value::new(&text).unwrap_or_default()
}

/// The different values, and more if there are not two.
fn vocabulary(values: &[Value]) -> Vec<Value> {
    let mut words: Vec<Value> = Vec::new();
    for value in values.iter().copied().chain([letter(0), letter(1)]) {
        if !words.contains(&value) && (words.len() < 2 || values.contains(&value)) {
            words.push(value);
        }
    }
    words
}

#[path = "byzantine_view.rs"]
mod view;

#[cfg(test)]
#[path = "tests/byzantine.rs"]
mod tests;
