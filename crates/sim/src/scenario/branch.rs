//! Making a run go another way from some moment on.
//!
//! A run is described by its scenario, so a branch is another scenario: the same lines, with one
//! more. Everything up to and including a given microsecond stays exactly as it was, because the
//! line is put where it cannot disturb it: among the commands of the very `run` during which that
//! microsecond passed, with a time just after it. Put before an earlier `run` it would prolong that
//! one, for a run lasts until all that was announced has happened.
//!
//! A run that ended because an invariant was broken is made to go on.

use super::command::{Command, Deed, Mend, Setup};
use super::line::{Line, SyntaxError, comment_start};
use super::parse::Scenario;
use super::play::Played;
use bellwether_algorithms::catalogue::Catalogue;
use bellwether_core::Time;
use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

/// A scenario that goes another way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branched {
    /// Its text. Stories and expectations are left out: they were about the other way.
    pub text: String,
    /// The line that is new.
    pub line: usize,
}

/// Why a scenario cannot go another way like that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unbranched {
    /// The scenario itself is wrong.
    Scenario(SyntaxError),
    /// The command is wrong.
    Command(SyntaxError),
    /// The command is none that changes the run.
    NoDeed(String),
    /// The command has a time of its own.
    Timed(String),
}

impl Unbranched {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Unbranched::Scenario(_) => "correct the scenario",
            Unbranched::Command(_) | Unbranched::NoDeed(_) => {
                "give one line that does something, such as `crash 3`, `cut 1<>2`, `heal` or \
                 `start 2`"
            }
            Unbranched::Timed(_) => "leave `at=` out: it happens at the moment of the branch",
        }
    }
}

impl fmt::Display for Unbranched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unbranched::Scenario(error) => write!(f, "{error}"),
            Unbranched::Command(SyntaxError { message, source, .. }) => {
                write!(f, "`{source}`: {message}")
            }
            Unbranched::NoDeed(command) => write!(f, "`{command}` does nothing to a run"),
            Unbranched::Timed(command) => write!(f, "`{command}` has a time of its own"),
        }
    }
}

impl std::error::Error for Unbranched {}

/// The scenario of this `text`, which was `played`, with a command that happens right after all
/// events of the microsecond `after`.
pub fn branch(
    catalogue: &Catalogue,
    text: &str,
    played: &Played,
    after: Time,
    command: &str,
) -> Result<Branched, Unbranched> {
    let scenario = Scenario::parse(catalogue, text).map_err(Unbranched::Scenario)?;
    let deed = read(command, &scenario.setup)?;
    let commands: Vec<&(usize, Command)> =
        scenario.paragraphs.iter().flat_map(|paragraph| &paragraph.commands).collect();
    let over = played.broken.filter(|broken| *broken <= after);
    let during = match over {
        // Those that follow did nothing any more, but will now.
        Some(broken) => played.runs.iter().find(|run| broken <= run.to),
        // The last that had begun by then: runs follow upon each other without a gap.
        None => played.runs.iter().rfind(|run| run.from <= after).filter(|run| after < run.to),
    };
    let when = over.unwrap_or(after) + Duration::from_micros(1);
    let spot = match during {
        Some(run) => Spot::Before(place_in(run.line, when, &commands)),
        None => Spot::End,
    };
    let text = if over.is_some() { keep_going(text) } else { text.to_owned() };
    Ok(write(&text, &commands, &deed, command.trim(), spot, when))
}

/// The same scenario, but it goes on after an invariant is broken.
fn keep_going(text: &str) -> String {
    let line = |source: &str| {
        if source.split_whitespace().next() != Some("cluster") {
            return source.to_owned();
        }
        let (code, comment) = source.split_at(comment_start(source).unwrap_or(source.len()));
        let space = if comment.is_empty() { "" } else { "  " };
        format!("{} keep-going{space}{comment}", code.trim_end())
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Where the new line goes.
enum Spot {
    /// Before the line of this number.
    Before(usize),
    /// After everything, at once, and with one more `run`.
    End,
}

/// Reads the command by itself.
fn read(command: &str, setup: &Setup) -> Result<Deed, Unbranched> {
    let shown = || command.trim().to_owned();
    // A sharp sign inside a word, as in `deliver 1->2#0`, is no comment.
    if command.contains(['\n', '\r']) || comment_start(command).is_some() {
        return Err(Unbranched::NoDeed(shown()));
    }
    let mut line = Line::new(1, command);
    let Some(verb) = line.take() else { return Err(Unbranched::NoDeed(shown())) };
    let command = line.command(verb, setup).map_err(Unbranched::Command)?;
    line.end().map_err(Unbranched::Command)?;
    match command {
        Command::Do(deed, None) => Ok(deed),
        Command::Do(_, Some(_)) => Err(Unbranched::Timed(shown())),
        Command::Run(_) | Command::Expect(_) => Err(Unbranched::NoDeed(shown())),
    }
}

/// Before which of the commands that belong to the `run` on this line something is to stand that
/// happens then: after all that happens earlier, because what `heal` mends depends on the order.
fn place_in(run: usize, when: Time, commands: &[&(usize, Command)]) -> usize {
    let mut place = run;
    let earlier = commands.iter().rev().skip_while(|(line, _)| *line >= run);
    for (line, command) in earlier {
        match command {
            Command::Do(_, Some(at)) if *at > when => place = *line,
            Command::Expect(_) => {}
            Command::Do(..) | Command::Run(_) => break,
        }
    }
    place
}

fn write(
    text: &str,
    commands: &[&(usize, Command)],
    deed: &Deed,
    command: &str,
    spot: Spot,
    when: Time,
) -> Branched {
    let lines_of = |wanted: fn(&Command) -> bool| -> BTreeSet<usize> {
        commands.iter().filter(|(_, command)| wanted(command)).map(|(line, _)| *line).collect()
    };
    let expectations = lines_of(|command| matches!(command, Command::Expect(_)));
    let before = match spot {
        Spot::Before(line) => line,
        Spot::End => usize::MAX,
    };
    // A cut has the number of its place among the cuts. One more moves those that follow.
    let is_cut = |command: &&&(usize, Command)| matches!(command.1, Command::Do(Deed::Cut(_), _));
    let number = 1 + commands.iter().filter(is_cut).filter(|(line, _)| *line < before).count();
    let heals = |command: &Command| matches!(command, Command::Do(Deed::Heal(Mend::Number(_)), _));
    let shifted = if let Deed::Cut(_) = deed { lines_of(heals) } else { BTreeSet::new() };
    let mut lines: Vec<String> = Vec::new();
    let mut new_line = None;
    let mut in_story = false;
    for (index, source) in text.lines().enumerate() {
        let (number_here, source) = (index + 1, source.trim_end());
        if number_here == before {
            lines.push(format!("{command} at={when}"));
            new_line = Some(lines.len());
        }
        in_story = !source.is_empty() && (in_story || source == "---");
        // A comment on a line of its own tells what came of the original.
        let is_comment = source.trim_start().starts_with('#');
        if in_story || is_comment || expectations.contains(&number_here) {
            continue;
        }
        // What is left out must not leave a hole.
        if source.is_empty() && lines.last().is_none_or(String::is_empty) {
            continue;
        }
        let moved = number_here > before && shifted.contains(&number_here);
        lines.push(if moved { renumber(source, number) } else { source.to_owned() });
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    if let Spot::End = spot {
        lines.extend([String::new(), command.to_owned()]);
        new_line = Some(lines.len());
        lines.push("run".to_owned());
    }
    Branched { text: lines.join("\n") + "\n", line: new_line.unwrap_or(lines.len()) }
}

/// The line `heal N`, of a scenario that has one more cut, with the number `new`.
fn renumber(source: &str, new: usize) -> String {
    let verb = "heal";
    let Some(start) = source.find(verb).map(|start| start + verb.len()) else {
        return source.to_owned();
    };
    let rest = source[start..].trim_start();
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    match rest[..end].parse::<usize>() {
        Ok(number) if number >= new => {
            format!("{} {}{}", &source[..start], number + 1, &rest[end..])
        }
        _ => source.to_owned(),
    }
}
