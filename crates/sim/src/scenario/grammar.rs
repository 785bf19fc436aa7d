//! Reading commands and expectations.

use super::command::{Command, Deed, Expectation, Mend, Setup, Span, Who};
use super::line::{Line, Parsed, Word};
use super::parse::{message, none_or, number, timer};
use crate::fault::{CutKind, Steer};
use crate::units;
use bellwether_core::{Group, NodeId};
use std::collections::BTreeMap;

impl Line<'_> {
    /// The rest of a line that is no set-up.
    pub(super) fn command(&mut self, verb: Word<'_>, setup: &Setup) -> Parsed<Command> {
        let group = &setup.group;
        let deed = match verb.text {
            "run" => return self.span().map(Command::Run),
            "expect" => return self.expectation(setup).map(Command::Expect),
            "crash" if self.look(1) == Some("sending") => self.crash_sending(group)?,
            "crash" => Deed::Crash(self.members(group)?),
            "recover" => Deed::Recover(self.members(group)?),
            "pause" => Deed::Pause(self.members(group)?),
            "resume" => Deed::Resume(self.members(group)?),
            "slow" => {
                let node = self.member(group)?;
                match self.option("by", units::duration)? {
                    Some(span) => Deed::Slow(node, span),
                    None => return self.incomplete("by=10ms"),
                }
            }
            "partition" => Deed::Cut(self.partition(group)?),
            "cut" => Deed::Cut(self.cut(group)?),
            "heal" if self.accept("partition") => Deed::Heal(Mend::Same(self.partition(group)?)),
            "heal" if self.accept("cut") => Deed::Heal(Mend::Same(self.cut(group)?)),
            "heal" => Deed::Heal(match self.look(0) {
                Some(word) if !word.contains('=') => {
                    Mend::Number(self.read("a cut's number", number)?)
                }
                _ => Mend::All,
            }),
            "calm" => Deed::Calm,
            "clock" => {
                let node = self.member(group)?;
                let offset = self.option("offset", units::offset)?;
                let drift = self.option("drift", units::drift)?;
                if offset.is_none() && drift.is_none() {
                    return self.incomplete("offset=+200ms or drift=50ppm");
                }
                Deed::Clock(node, offset.unwrap_or(0), drift.unwrap_or(0))
            }
            "deliver" | "lose" | "repeat" => {
                let (from, to, number) =
                    self.read("a message such as 1->2#0", |text| message(text, group))?;
                let steer = match verb.text {
                    "deliver" => Steer::Deliver,
                    "lose" => Steer::Lose,
                    _ => Steer::Repeat,
                };
                Deed::Steer(steer(from, to, number))
            }
            "fire" => {
                let (node, number) = self.read("a timer such as 3#0", |text| timer(text, group))?;
                Deed::Steer(Steer::Fire(node, number))
            }
            input if setup.algorithm.input(input).is_some() => {
                Deed::Input(input.to_owned(), self.who(group)?)
            }
            other => {
                let inputs = setup.algorithm.verbs;
                let message = format!(
                    "no command '{other}'; expected crash, recover, pause, resume, slow, \
                     partition, cut, heal, calm, clock, deliver, lose, repeat, fire, {}, run or expect",
                    inputs.join(", ")
                );
                return self.error(verb.column, message);
            }
        };
        let at = self.option("at", units::time)?;
        Ok(Command::Do(deed, at))
    }

    fn partition(&mut self, group: &Group) -> Parsed<CutKind> {
        self.read("sides such as 1,2|3,4", |text| units::partition(text, group))
    }

    fn cut(&mut self, group: &Group) -> Parsed<CutKind> {
        self.read("a cut such as 1>2 or 1<>2", |text| units::cut(text, group))
    }

    fn span(&mut self) -> Parsed<Span> {
        if let Some(span) = self.option("for", units::duration)? {
            return Ok(Span::For(span));
        }
        Ok(self.option("until", units::time)?.map_or(Span::Over, Span::Until))
    }

    fn crash_sending(&mut self, group: &Group) -> Parsed<Deed> {
        let node = self.member(group)?;
        self.accept("sending");
        let what = "a kind of message such as COORDINATOR";
        let kind = self.need(what)?;
        if kind.text.contains('=') {
            return self.error(kind.column, format!("expected {what}"));
        }
        let after = self.option("after", number)?.unwrap_or(0);
        Ok(Deed::CrashSending(node, kind.text.to_owned(), after))
    }

    fn expectation(&mut self, setup: &Setup) -> Parsed<Expectation> {
        let group = &setup.group;
        let subject = self.need("what to expect")?;
        let has_section = setup.algorithm.has_section();
        Ok(match subject.text {
            "inside" | "waiting" | "entries" | "regenerations" | "refusals" if !has_section => {
                let message = format!(
                    "{} has no critical section, so '{}' means nothing here",
                    setup.algorithm.name(),
                    subject.text
                );
                return self.error(subject.column, message);
            }
            "inside" => Expectation::Inside(self.members_or_none(group)?),
            "waiting" => Expectation::Waiting(self.members_or_none(group)?),
            "entries" => Expectation::Entries(self.read("a number", number)?),
            "regenerations" => Expectation::Regenerations(self.read("a number", number)?),
            "refusals" => Expectation::Refusals(self.read("a number", number)?),
            "coordinator" => {
                let who = self.who(group)?;
                self.equals()?;
                let whom = self.read("an id or none", |text| none_or(text, group))?;
                Expectation::Coordinator(who, whom)
            }
            "members" => {
                let node = self.member(group)?;
                self.equals()?;
                let list = self.read("ids such as 2,3, or none", |text| match text {
                    "none" => Ok(Vec::new()),
                    _ => members(text, group),
                })?;
                Expectation::Members(node, list)
            }
            "fact" => {
                let name = self.need("what the fact is about")?.text.to_owned();
                Expectation::Fact(name, self.rest())
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
                let sections = "inside, waiting, entries, regenerations, refusals, ";
                let message = format!(
                    "cannot expect '{other}'; expected coordinator, members, messages, overhead, fact, \
                     {}agreement, disagreement or violation",
                    if has_section { sections } else { "" }
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

    /// `ELECTION=3 OK=1`, or `none`.
    fn counts(&mut self) -> Parsed<BTreeMap<String, u64>> {
        let mut counts = BTreeMap::new();
        if self.accept("none") {
            return Ok(counts);
        }
        let mut next = self.need("counts such as ELECTION=3, or none").map(Some)?;
        while let Some(word) = next {
            let Some((kind, value)) = word.assignment() else {
                return self.error(word.column, format!("expected {}=NUMBER", word.text));
            };
            if counts.insert(kind.to_owned(), self.value(value, number)?).is_some() {
                return self.error(word.column, format!("{kind} is given twice"));
            }
            next = self.take();
        }
        Ok(counts)
    }

    fn member(&mut self, group: &Group) -> Parsed<NodeId> {
        self.read("an id", |text| units::member(text, group))
    }

    /// Ids and ranges of them, up to the first word that is neither.
    fn members(&mut self, group: &Group) -> Parsed<Vec<NodeId>> {
        let mut found = Vec::new();
        while found.is_empty() || self.look(0).is_some_and(|text| !text.contains('=')) {
            found.extend(self.read("an id", |text| members(text, group))?);
        }
        Ok(found)
    }

    /// Ids, or `none`.
    fn members_or_none(&mut self, group: &Group) -> Parsed<Vec<NodeId>> {
        if self.accept("none") { Ok(Vec::new()) } else { self.members(group) }
    }

    /// Ids, or `all`.
    fn who(&mut self, group: &Group) -> Parsed<Who> {
        if self.accept("all") { Ok(Who::All) } else { self.members(group).map(Who::These) }
    }
}

/// `2`, `2,3` or `0..6`.
fn members(text: &str, group: &Group) -> Result<Vec<NodeId>, String> {
    let ids = units::ids(text)?;
    match ids.iter().find(|id| !group.contains(**id)) {
        Some(stranger) => units::member(&stranger.number().to_string(), group).map(|id| vec![id]),
        None => Ok(ids),
    }
}
