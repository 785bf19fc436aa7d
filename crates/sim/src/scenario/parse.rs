//! Reading scenarios, with errors that say where and what was expected.

use super::command::{Command, Deed, Expectation, Setup};
use crate::network::Fate;
use crate::units;
use bellwether_algorithms::catalogue::{Algorithm, ENTRIES, Visitor, visit};
use bellwether_core::{Group, NodeId, micros};
use std::collections::BTreeMap;
use std::fmt;

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
    /// The lines before `---`, as they are written.
    pub source: Vec<String>,
    /// The commands among them, with their line numbers. The set-up is not among them.
    pub commands: Vec<(usize, Command)>,
    /// The lines after `---`, and the number of the first of them.
    pub story: Vec<String>,
    /// Where the story stands or, if there is none, where it would.
    pub story_line: usize,
}

/// What is wrong with a scenario, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The line, counted from 1.
    pub line: usize,
    /// The column, counted from 1.
    pub column: usize,
    /// What is wrong and what was expected.
    pub message: String,
    /// The line itself.
    pub source: String,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SyntaxError { line, column, message, source } = self;
        write!(f, "{line}:{column}: {message}\n  {source}\n  {:>column$}", "^")
    }
}

impl std::error::Error for SyntaxError {}

/// A word and where it stands.
#[derive(Clone, Copy, Debug)]
struct Word<'a> {
    column: usize,
    text: &'a str,
}

/// The words of one line, read from left to right.
struct Line<'a> {
    number: usize,
    source: &'a str,
    words: Vec<Word<'a>>,
    next: usize,
}

type Parsed<T> = Result<T, SyntaxError>;

impl Scenario {
    /// Reads a scenario.
    pub fn parse(text: &str) -> Parsed<Scenario> {
        let mut setup: Option<Setup> = None;
        let mut paragraphs = Vec::new();
        let mut current: Option<(Paragraph, bool)> = None;
        for (index, source) in text.lines().enumerate() {
            if source.trim().is_empty() {
                paragraphs.extend(current.take().map(|(paragraph, _)| paragraph));
                continue;
            }
            let (paragraph, in_story) =
                current.get_or_insert_with(|| (Paragraph::new(index + 1), false));
            if *in_story {
                paragraph.story.push(source.trim_end().to_owned());
                continue;
            }
            if source.trim_end() == "---" {
                *in_story = true;
                paragraph.story_line = index + 2;
                continue;
            }
            paragraph.source.push(source.trim_end().to_owned());
            paragraph.story_line = index + 2;
            let mut line = Line::new(index + 1, source);
            if line.words.is_empty() {
                continue;
            }
            if let Some(command) = line.statement(&mut setup)? {
                paragraph.commands.push((index + 1, command));
            }
            line.end()?;
        }
        paragraphs.extend(current.take().map(|(paragraph, _)| paragraph));
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
    fn new(line: usize) -> Self {
        Paragraph { source: vec![], commands: vec![], story: vec![], story_line: line }
    }
}

impl<'a> Line<'a> {
    fn new(number: usize, source: &'a str) -> Self {
        // A sharp sign inside a word, as in `fate 1->2#0`, belongs to the word.
        let code = &source[..comment_start(source).unwrap_or(source.len())];
        let mut words = Vec::new();
        let mut rest = code;
        let mut column = 1;
        while let Some(start) = rest.find(|c: char| !c.is_whitespace()) {
            let skipped = rest[..start].chars().count();
            rest = &rest[start..];
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            words.push(Word { column: column + skipped, text: &rest[..end] });
            column += skipped + rest[..end].chars().count();
            rest = &rest[end..];
        }
        Line { number, source, words, next: 0 }
    }

    fn error<T>(&self, column: usize, message: impl Into<String>) -> Parsed<T> {
        Err(SyntaxError {
            line: self.number,
            column,
            message: message.into(),
            source: self.source.trim_end().to_owned(),
        })
    }

    /// One past the last word.
    fn end_column(&self) -> usize {
        self.words.last().map_or(1, |word| word.column + word.text.chars().count() + 1)
    }

    fn take(&mut self) -> Option<Word<'a>> {
        let word = self.words.get(self.next).copied();
        self.next += usize::from(word.is_some());
        word
    }

    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.next).map(|word| word.text)
    }

    fn need(&mut self, what: &str) -> Parsed<Word<'a>> {
        match self.take() {
            Some(word) => Ok(word),
            None => self.error(self.end_column(), format!("expected {what}")),
        }
    }

    /// Reads the next word with `parse`.
    fn read<T>(&mut self, what: &str, parse: impl Fn(&str) -> Result<T, String>) -> Parsed<T> {
        let word = self.need(what)?;
        parse(word.text).or_else(|message| self.error(word.column, message))
    }

    /// Reads `key=value` if the next word is that.
    fn option<T>(
        &mut self,
        key: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Parsed<Option<T>> {
        let value = self.peek().and_then(|word| word.strip_prefix(key)?.strip_prefix('='));
        let Some(value) = value else { return Ok(None) };
        let word = self.need(key)?;
        let column = word.column + key.chars().count() + 1;
        parse(value).map(Some).or_else(|message| self.error(column, message))
    }

    fn end(&self) -> Parsed<()> {
        match self.words.get(self.next) {
            None => Ok(()),
            Some(word) => self.error(word.column, format!("'{}' is not expected here", word.text)),
        }
    }

    /// A whole line: part of the set-up, or a command.
    fn statement(&mut self, setup: &mut Option<Setup>) -> Parsed<Option<Command>> {
        let verb = self.need("a command")?;
        match (verb.text, setup) {
            ("cluster", setup @ None) => {
                *setup = Some(self.cluster()?);
                Ok(None)
            }
            ("cluster", Some(_)) => self.error(verb.column, "there is a cluster already"),
            (_, None) => self.error(
                verb.column,
                format!("expected `cluster ALGORITHM IDS` before '{}'", verb.text),
            ),
            ("link", Some(setup)) => {
                let link = self.read("a link such as 1->2", |text| link(text, &setup.group))?;
                let Some(latency) = self.option("latency", units::latency)? else {
                    return self.error(self.end_column(), "expected latency=10ms");
                };
                setup.network.links.insert(link, latency);
                Ok(None)
            }
            ("fate", Some(setup)) => {
                let message =
                    self.read("a message such as 1->2#0", |text| message(text, &setup.group))?;
                let fate = self.read("lost, 30ms or 10ms,30ms", fate)?;
                setup.set_fate(message, fate);
                Ok(None)
            }
            (_, Some(setup)) => self.command(verb, setup).map(Some),
        }
    }

    fn cluster(&mut self) -> Parsed<Setup> {
        let name = self.need("an algorithm's name")?;
        if !ENTRIES.iter().any(|entry| entry.name == name.text) {
            let names: Vec<_> = ENTRIES.iter().map(|entry| entry.name).collect();
            let message = format!("no algorithm '{}'; expected {}", name.text, names.join(", "));
            return self.error(name.column, message);
        }
        let group = self.read("ids such as 1..4 or 3,5,0,1", |text| {
            Group::new(units::ids(text)?).map_err(|error| error.to_string())
        })?;
        let mut setup = Setup::new(name.text, group);
        while let Some(word) = self.words.get(self.next).copied() {
            if let Some(latency) = self.option("latency", units::latency)? {
                setup.network.latency = latency;
            } else if let Some(timeout) = self.option("timeout", units::duration)? {
                setup.timeout = Some(timeout);
            } else if let Some(seed) = self.option("seed", |text| {
                text.parse().map_err(|_| format!("'{text}' is no seed; expected a whole number"))
            })? {
                setup.seed = seed;
            } else if let Some(loss) = self.option("loss", units::probability)? {
                setup.network.loss = loss;
            } else if let Some(duplicate) = self.option("duplicate", units::probability)? {
                setup.network.duplicate = duplicate;
            } else if let Some(detection) = self.option("detection", on_off)? {
                setup.detection = detection;
            } else if let Some(acknowledge) = self.option("acknowledge", on_off)? {
                setup.acknowledge = acknowledge;
            } else if let Some(coordinator) =
                self.option("coordinator", |text| nobody_or(text, &setup.group))?
            {
                setup.coordinator = coordinator;
            } else if let Some(all) = self.option("show", |text| match text {
                "all" => Ok(true),
                "protocol" => Ok(false),
                _ => Err(format!("'{text}' is not 'all' or 'protocol'")),
            })? {
                setup.overhead = all;
            } else if word.text == "reorder" {
                self.next += 1;
                setup.network.reorder = true;
            } else {
                let message = format!(
                    "'{}' is no setting of a cluster; expected coordinator=, latency=, timeout=, \
                     seed=, loss=, duplicate=, detection=, acknowledge=, show= or reorder",
                    word.text
                );
                return self.error(word.column, message);
            }
        }
        Ok(setup)
    }

    fn command(&mut self, verb: Word<'a>, setup: &Setup) -> Parsed<Command> {
        let group = &setup.group;
        let deed = match verb.text {
            "run" => {
                let span = self.option("for", units::duration)?;
                return Ok(Command::Run(span));
            }
            "expect" => return self.expectation(setup).map(Command::Expect),
            "crash" if self.words.get(2).is_some_and(|word| word.text == "sending") => {
                let node = self.member(group)?;
                self.next += 1;
                let kind = self.need("a kind of message such as COORDINATOR")?.text.to_owned();
                let after = self.option("after", count)?.unwrap_or(0);
                Deed::CrashSending(node, kind, after as u32)
            }
            "crash" => Deed::Crash(self.members(group)?),
            "recover" => Deed::Recover(self.members(group)?),
            "pause" => Deed::Pause(self.members(group)?),
            "resume" => Deed::Resume(self.members(group)?),
            "slow" => {
                let node = self.member(group)?;
                match self.option("by", units::duration)? {
                    Some(span) => Deed::Slow(node, span),
                    None => return self.error(self.end_column(), "expected by=10ms"),
                }
            }
            "partition" => {
                Deed::Cut(self.read("sides such as 1,2|3,4", |text| units::partition(text, group))?)
            }
            "cut" => Deed::Cut(
                self.read("a one-way cut such as 1>2", |text| units::one_way(text, group))?,
            ),
            "heal" => Deed::Heal,
            "clock" => {
                let node = self.member(group)?;
                let offset = self.option("offset", units::offset)?.unwrap_or(0);
                let drift = self.option("drift", units::drift)?.unwrap_or(0);
                Deed::Clock(node, offset, drift)
            }
            input if knows_input(&setup.algorithm, input) => {
                Deed::Input(input.to_owned(), self.members(group)?)
            }
            other => {
                let message = format!(
                    "no command '{other}'; expected crash, recover, pause, resume, slow, \
                     partition, cut, heal, clock, suspect, start, run or expect"
                );
                return self.error(verb.column, message);
            }
        };
        let at = self.option("at", units::time)?;
        Ok(Command::Do(deed, at))
    }

    fn expectation(&mut self, setup: &Setup) -> Parsed<Expectation> {
        let group = &setup.group;
        let subject = self.need("what to expect")?;
        Ok(match subject.text {
            "coordinator" => {
                let nodes = self.members(group)?;
                self.equals()?;
                let whom = self.read("an id or none", |text| nobody_or(text, group))?;
                Expectation::Coordinator(nodes, whom)
            }
            "members" => {
                let node = self.member(group)?;
                self.equals()?;
                Expectation::Members(node, self.read("ids such as 2,3", units::ids)?)
            }
            "messages" => Expectation::Messages(self.counts()?),
            "overhead" => Expectation::Overhead(self.counts()?),
            "agreement" => Expectation::Agreement(true),
            "disagreement" => Expectation::Agreement(false),
            "violation" => {
                let name = self.need("an invariant's name, or none")?.text;
                Expectation::Violation((name != "none").then(|| name.to_owned()))
            }
            other => {
                let message = format!(
                    "cannot expect '{other}'; expected coordinator, members, messages, overhead, \
                     agreement, disagreement or violation"
                );
                return self.error(subject.column, message);
            }
        })
    }

    fn equals(&mut self) -> Parsed<()> {
        match self.need("=")? {
            Word { text: "=", .. } => Ok(()),
            word => self.error(word.column, format!("expected '=' instead of '{}'", word.text)),
        }
    }

    /// `ELECTION=3 OK=1`, possibly none at all.
    fn counts(&mut self) -> Parsed<BTreeMap<String, u64>> {
        let mut counts = BTreeMap::new();
        while let Some(word) = self.take() {
            let Some((kind, number)) = word.text.split_once('=') else {
                return self.error(word.column, format!("expected {}=NUMBER", word.text));
            };
            match count(number) {
                Ok(number) => counts.insert(kind.to_owned(), number),
                Err(message) => return self.error(word.column + kind.len() + 1, message),
            };
        }
        Ok(counts)
    }

    fn member(&mut self, group: &Group) -> Parsed<NodeId> {
        self.read("an id", |text| units::member(text, group))
    }

    /// One id or several, or `all`; up to the first word that is none.
    fn members(&mut self, group: &Group) -> Parsed<Vec<NodeId>> {
        if self.peek() == Some("all") {
            self.next += 1;
            return Ok(group.ring().to_vec());
        }
        let mut members = vec![self.member(group)?];
        while self.peek().is_some_and(|text| text != "=" && !text.contains('=')) {
            members.push(self.member(group)?);
        }
        Ok(members)
    }
}

/// Where a comment starts: a `#` at the beginning of a word.
fn comment_start(source: &str) -> Option<usize> {
    let mut before = ' ';
    for (index, c) in source.char_indices() {
        if c == '#' && before.is_whitespace() {
            return Some(index);
        }
        before = c;
    }
    None
}

fn on_off(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("'{text}' is not 'on' or 'off'")),
    }
}

fn nobody_or(text: &str, group: &Group) -> Result<Option<NodeId>, String> {
    if text == "none" { Ok(None) } else { units::member(text, group).map(Some) }
}

fn count(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("'{text}' is not a whole number"))
}

fn link(text: &str, group: &Group) -> Result<(NodeId, NodeId), String> {
    let (from, to) =
        text.split_once("->").ok_or_else(|| format!("'{text}' is no link; write 1->2"))?;
    Ok((units::member(from, group)?, units::member(to, group)?))
}

fn message(text: &str, group: &Group) -> Result<(NodeId, NodeId, u32), String> {
    let (way, number) = text
        .split_once('#')
        .ok_or_else(|| format!("'{text}' is no message; write 1->2#0 for the first from 1 to 2"))?;
    let (from, to) = link(way, group)?;
    let number = number.parse().map_err(|_| format!("'{number}' is not a whole number"))?;
    Ok((from, to, number))
}

fn fate(text: &str) -> Result<Fate, String> {
    if text == "lost" {
        return Ok(Fate::Lost);
    }
    match text.split_once(',') {
        Some((first, second)) => {
            Ok(Fate::Twice(micros(units::duration(first)?), micros(units::duration(second)?)))
        }
        None => units::duration(text).map(|after| Fate::Arrives(micros(after))),
    }
}

/// Whether an algorithm has an input of this name.
fn knows_input(algorithm: &str, verb: &str) -> bool {
    struct Knows<'a>(&'a str);
    impl Visitor for Knows<'_> {
        type Output = bool;
        fn visit<A: Algorithm>(self) -> bool {
            A::input(self.0).is_some()
        }
    }
    visit(algorithm, Knows(verb)).unwrap_or(false)
}
