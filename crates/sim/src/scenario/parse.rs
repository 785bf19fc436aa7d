//! Reading scenarios: paragraphs, and the lines that set the cluster up.

use super::command::{Command, Setup, Span};
use super::line::{Line, Parsed, SyntaxError, Word};
use crate::network::Fate;
use crate::units;
use bellwether_algorithms::catalogue::Catalogue;
use bellwether_algorithms::definition::{Definition, Topology};
use bellwether_algorithms::mutex::UnknownTree;
use bellwether_algorithms::options::{BadOption, Opt};
use bellwether_core::{AnyProcess, Group, NodeId, Time, micros};
use std::collections::BTreeSet;
use std::time::Duration;

/// A scenario, ready to be played.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The cluster.
    pub setup: Setup,
    /// What happens to it.
    pub paragraphs: Vec<Paragraph>,
}

/// Some commands and the story that they are said to tell.
#[derive(Clone, Debug)]
pub struct Paragraph {
    /// The number of its first line.
    pub line: usize,
    /// The lines before `---`, as they are written.
    pub source: Vec<String>,
    /// The commands among them, with their line numbers. The set-up is not among them.
    pub commands: Vec<(usize, Command)>,
    /// The lines after `---`.
    pub story: Vec<String>,
    /// Where the story stands or, if there is none, where it would.
    pub story_line: usize,
}

impl Scenario {
    /// Reads a scenario of an algorithm of this catalogue.
    pub fn parse(catalogue: &Catalogue, text: &str) -> Parsed<Scenario> {
        Scenario::parse_up_to(catalogue, text, usize::MAX)
    }

    /// The same, if it has at most this many processes.
    pub fn parse_up_to(catalogue: &Catalogue, text: &str, nodes_max: usize) -> Parsed<Scenario> {
        let mut reader = Reader::new(Known { catalogue, nodes_max });
        for (index, source) in text.lines().enumerate() {
            reader.line(index + 1, source)?;
        }
        reader.end_paragraph();
        let Reader { setup, paragraphs, .. } = reader;
        let setup = setup.ok_or_else(|| SyntaxError {
            line: 1,
            column: 1,
            message: "a scenario needs a cluster: for example `cluster bully 1..4`".to_owned(),
            source: text.lines().next().unwrap_or_default().to_owned(),
        })?;
        Ok(Scenario { setup, paragraphs })
    }
}

impl Paragraph {
    /// What is written on one of its lines.
    pub(super) fn written(&self, line: usize) -> String {
        let index = line.checked_sub(self.line);
        index.and_then(|index| self.source.get(index)).cloned().unwrap_or_default()
    }
}

/// What a scenario may speak of.
struct Known<'a> {
    catalogue: &'a Catalogue,
    /// How many processes there may be.
    nodes_max: usize,
}

/// What has been read so far.
struct Reader<'a> {
    known: Known<'a>,
    setup: Option<Setup>,
    paragraphs: Vec<Paragraph>,
    current: Option<Paragraph>,
    /// Whether the current paragraph has come to its story.
    in_story: bool,
    /// Whether there has been a command: then the cluster is as it is.
    begun: bool,
    /// How late it is at least: the times of all `run for=` so far.
    passed: Time,
}

impl<'a> Reader<'a> {
    fn new(known: Known<'a>) -> Self {
        Reader {
            known,
            setup: None,
            paragraphs: Vec::new(),
            current: None,
            in_story: false,
            begun: false,
            passed: Time::ZERO,
        }
    }

    fn end_paragraph(&mut self) {
        self.paragraphs.extend(self.current.take());
        self.in_story = false;
    }

    fn line(&mut self, number: usize, source: &str) -> Parsed<()> {
        let trimmed = source.trim_end();
        if trimmed.is_empty() {
            self.end_paragraph();
            return Ok(());
        }
        let mut line = Line::new(number, source);
        if trimmed == "---" && self.current.is_none() {
            return line.error(1, "expected commands before their story");
        }
        let paragraph = self.current.get_or_insert_with(|| Paragraph {
            line: number,
            source: vec![],
            commands: vec![],
            story: vec![],
            story_line: number,
        });
        if self.in_story {
            paragraph.story.push(trimmed.to_owned());
            return Ok(());
        }
        paragraph.story_line = number + 1;
        if trimmed == "---" {
            self.in_story = true;
            return Ok(());
        }
        paragraph.source.push(trimmed.to_owned());
        let Some(verb) = line.take() else { return Ok(()) };
        match (verb.text, &mut self.setup) {
            ("cluster", None) => self.setup = Some(line.cluster(&self.known)?),
            ("cluster", Some(_)) => return line.error(verb.column, "there is a cluster already"),
            (verb_text, None) => {
                let message = format!("expected `cluster ALGORITHM IDS` before '{verb_text}'");
                return line.error(verb.column, message);
            }
            ("link" | "fate" | "timer", Some(_)) if self.begun => {
                let message = format!("'{}' belongs before the first command", verb.text);
                return line.error(verb.column, message);
            }
            ("link", Some(setup)) => line.link(setup)?,
            ("fate", Some(setup)) => line.fate(setup)?,
            ("timer", Some(setup)) => line.timer(setup)?,
            (_, Some(setup)) => {
                self.begun = true;
                let command = line.command(verb, setup)?;
                match &command {
                    Command::Do(_, Some(time)) | Command::Run(Span::Until(time))
                        if *time < self.passed =>
                    {
                        return line.too_late(*time, self.passed);
                    }
                    Command::Run(Span::For(span)) => self.passed = self.passed + *span,
                    _ => {}
                }
                paragraph.commands.push((number, command));
            }
        }
        line.end()
    }
}

/// What a line of a scenario begins with, unless it begins with a verb of the algorithm.
pub const COMMANDS: [&str; 20] = [
    "cluster",
    "link",
    "fate",
    "timer",
    "crash",
    "recover",
    "pause",
    "resume",
    "slow",
    "partition",
    "cut",
    "heal",
    "calm",
    "clock",
    "deliver",
    "lose",
    "repeat",
    "fire",
    "run",
    "expect",
];

/// The lines of the set-up.
impl Line<'_> {
    fn cluster(&mut self, known: &Known<'_>) -> Parsed<Setup> {
        let name = self.need("an algorithm's name")?;
        let Some(algorithm) = known.catalogue.get(name.text) else {
            let names: Vec<&str> = known.catalogue.iter().map(|listed| listed.name()).collect();
            let message = format!("no algorithm '{}'; expected {}", name.text, names.join(", "));
            return self.error(name.column, message);
        };
        let group = self.read("ids such as 1..4 or 3,5,0,1", |text| {
            let ids = units::ids(text)?;
            if ids.len() > known.nodes_max {
                let (count, most) = (ids.len(), known.nodes_max);
                return Err(format!(
                    "{count} processes are too many here; at most {most} are shown"
                ));
            }
            Group::new(ids).map_err(|error| error.to_string())
        })?;
        let mut setup = Setup::new(algorithm.clone(), group);
        let mut given = BTreeSet::new();
        while let Some(word) = self.take() {
            let (key, value) = word.assignment().unwrap_or((word.text, word));
            if !given.insert(key) {
                return self.error(word.column, format!("'{key}' is given twice"));
            }
            self.setting(word, value, &mut setup, algorithm)?;
        }
        let settings = setup.settings();
        let checked = algorithm.variant(&settings).and_then(|variant| {
            variant.check(&settings, &setup.group)?;
            Ok(variant)
        });
        match checked {
            Ok(variant) => Ok(Setup { algorithm: variant, ..setup }),
            Err(BadOption { option, why }) => {
                self.error(self.column_of(option).unwrap_or(name.column), why)
            }
        }
    }

    /// `latency=10ms` or `reorder`; `value` is what follows the equals sign.
    fn setting(
        &self,
        word: Word<'_>,
        value: Word<'_>,
        setup: &mut Setup,
        algorithm: &Definition<AnyProcess>,
    ) -> Parsed<()> {
        let on_tree = algorithm.entry.topology == Topology::Tree;
        let network = &mut setup.network;
        match word.assignment().map(|(key, _)| key) {
            None if word.text == "reorder" => network.reorder = true,
            None if word.text == "keep-going" => setup.keeps_going = true,
            None if word.text == "textbook" && algorithm.has_section() => setup.textbook = true,
            Some("section") if algorithm.has_section() => {
                setup.section = Some(self.value(value, units::span)?);
            }
            Some("tree") if on_tree => {
                setup.tree =
                    self.value(value, |text| text.parse().map_err(|e: UnknownTree| e.to_string()))?;
            }
            Some("latency") => network.latency = self.value(value, units::latency)?,
            Some("loss") => network.loss = self.value(value, units::probability)?,
            Some("duplicate") => network.duplicate = self.value(value, units::probability)?,
            Some("timeout") => setup.timeout = Some(self.value(value, timeout)?),
            Some("seed") => setup.seed = self.value(value, seed)?,
            Some("detection") => setup.detection = self.value(value, on_off)?,
            Some("acknowledge") => setup.acknowledge = self.value(value, on_off)?,
            Some("show") => setup.overhead = self.value(value, all_or_protocol)?,
            Some("coordinator") => {
                setup.coordinator = self.value(value, |text| none_or(text, &setup.group))?;
            }
            key if let Some(option) =
                algorithm.options.iter().find(|option| option.name == key.unwrap_or(word.text)) =>
            {
                match (key, option.value) {
                    (None, None) => setup.options.set(option.name, ""),
                    (Some(_), Some(_)) => setup
                        .options
                        .set(option.name, &self.value(value, |text| Ok(text.to_owned()))?),
                    (None, Some(value)) => {
                        let message = format!("expected a value: {}={value}", option.name);
                        return self.error(word.column, message);
                    }
                    (Some(_), None) => {
                        let message = format!("'{}' takes no value", option.name);
                        return self.error(word.column, message);
                    }
                };
            }
            _ => {
                let own: Vec<String> = algorithm.options.iter().map(show_option).collect();
                let sections = if algorithm.has_section() { "section=, " } else { "" };
                let tree = if on_tree { "tree=, " } else { "" };
                let textbook = if algorithm.has_section() { "textbook, " } else { "" };
                let message = format!(
                    "'{}' is no setting of a cluster of {}; expected coordinator=, latency=, \
                     timeout=, seed=, loss=, duplicate=, detection=, acknowledge=, {sections}\
                     {tree}{}show=, {textbook}keep-going or reorder",
                    word.text,
                    algorithm.name(),
                    own.concat()
                );
                return self.error(word.column, message);
            }
        }
        Ok(())
    }

    fn link(&mut self, setup: &mut Setup) -> Parsed<()> {
        let word = self.need("a link such as 1->2")?;
        let link = self.value(word, |text| link(text, &setup.group))?;
        let Some(latency) = self.option("latency", units::latency)? else {
            return self.incomplete("latency=10ms");
        };
        match setup.network.links.insert(link, latency) {
            None => Ok(()),
            Some(_) => self.error(word.column, format!("link {} is given twice", word.text)),
        }
    }

    fn fate(&mut self, setup: &mut Setup) -> Parsed<()> {
        let word = self.need("a message such as 1->2#0")?;
        let message = self.value(word, |text| message(text, &setup.group))?;
        let fate = self.read("lost, 30ms or 10ms,30ms", fate)?;
        match setup.network.fates.insert(message, fate) {
            None => Ok(()),
            Some(_) => self.error(word.column, format!("the fate of {} is given twice", word.text)),
        }
    }

    fn timer(&mut self, setup: &mut Setup) -> Parsed<()> {
        let word = self.need("a timer such as 3#0")?;
        let timer = self.value(word, |text| timer(text, &setup.group))?;
        let after = self.read("when it fires after its setting, such as 35ms", units::duration)?;
        match setup.network.timers.insert(timer, micros(after)) {
            None => Ok(()),
            Some(_) => self.error(word.column, format!("timer {} is given twice", word.text)),
        }
    }
}

/// An option in a list of them.
fn show_option(option: &Opt) -> String {
    format!("{}{}, ", option.name, if option.value.is_some() { "=" } else { "" })
}

pub(super) fn none_or(text: &str, group: &Group) -> Result<Option<NodeId>, String> {
    if text == "none" { Ok(None) } else { units::member(text, group).map(Some) }
}

pub(super) fn number<N: std::str::FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| format!("'{text}' is not a whole number"))
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("'{text}' is no seed; expected a whole number"))
}

fn timeout(text: &str) -> Result<Duration, String> {
    match units::duration(text)? {
        Duration::ZERO => Err("T must be above 0".to_owned()),
        timeout => Ok(timeout),
    }
}

fn on_off(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("'{text}' is not 'on' or 'off'")),
    }
}

fn all_or_protocol(text: &str) -> Result<bool, String> {
    match text {
        "all" => Ok(true),
        "protocol" => Ok(false),
        _ => Err(format!("'{text}' is not 'all' or 'protocol'")),
    }
}

fn link(text: &str, group: &Group) -> Result<(NodeId, NodeId), String> {
    let (from, to) =
        text.split_once("->").ok_or_else(|| format!("'{text}' is no link; write 1->2"))?;
    Ok((units::member(from, group)?, units::member(to, group)?))
}

pub(super) fn message(text: &str, group: &Group) -> Result<(NodeId, NodeId, u32), String> {
    let (way, count) = text
        .split_once('#')
        .ok_or_else(|| format!("'{text}' is no message; write 1->2#0 for the first from 1 to 2"))?;
    let (from, to) = link(way, group)?;
    Ok((from, to, number(count)?))
}

pub(super) fn timer(text: &str, group: &Group) -> Result<(NodeId, u32), String> {
    let (who, count) = text
        .split_once('#')
        .ok_or_else(|| format!("'{text}' is no timer; write 3#0 for the first that 3 sets"))?;
    Ok((units::member(who, group)?, number(count)?))
}

fn fate(text: &str) -> Result<Fate, String> {
    let after = |text| units::duration(text).map(micros);
    match text.split_once(',') {
        _ if text == "lost" => Ok(Fate::Lost),
        Some((first, second)) => Ok(Fate::Twice(after(first)?, after(second)?)),
        None => Ok(Fate::Arrives(after(text)?)),
    }
}
