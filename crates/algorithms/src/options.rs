//! What can be set about one algorithm and means nothing to the others.
//!
//! An algorithm declares its [options](crate::definition::Definition::options); each is then a flag of `sim` and `host` and a setting of a scenario's cluster, without a word about it
//! elsewhere. They travel as text, and the algorithm reads them.

use bellwether_core::{Group, NodeId, Time, micros};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// An option that an algorithm has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opt {
    /// Its name: `--name` on the command line, `name=` in a scenario.
    pub name: &'static str,
    /// What stands for its value in the help, or nothing for a switch, which has none.
    pub value: Option<&'static str>,
    /// What it means, in a sentence, with its default.
    pub help: &'static str,
}

/// An option that cannot be used as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadOption {
    /// Which; or another setting, such as `nodes`.
    pub option: &'static str,
    /// What is wrong, and what would be right.
    pub why: String,
}

impl fmt::Display for BadOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.option, self.why)
    }
}

impl std::error::Error for BadOption {}

/// The options that were given, by name. A switch that is on has an empty value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options(BTreeMap<String, String>);

impl Options {
    /// Sets one; says whether it was set before.
    pub fn set(&mut self, name: &str, value: &str) -> bool {
        self.0.insert(name.to_owned(), value.to_owned()).is_some()
    }

    /// All that are given.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The text of one.
    pub fn text(&self, option: &'static str) -> Option<&str> {
        self.0.get(option).map(String::as_str)
    }

    /// Whether a switch is on.
    pub fn is_on(&self, option: &'static str) -> bool {
        self.0.contains_key(option)
    }

    /// Reads one with `parse`.
    pub fn read<T>(
        &self,
        option: &'static str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, BadOption> {
        let parsed = self.text(option).map(parse).transpose();
        parsed.map_err(|why| BadOption { option, why })
    }

    /// A duration, or a default.
    pub fn duration(&self, option: &'static str, default: Duration) -> Result<Duration, BadOption> {
        Ok(self.read(option, duration)?.unwrap_or(default))
    }

    /// A whole number, or a default.
    pub fn number<N: std::str::FromStr>(
        &self,
        option: &'static str,
        default: N,
    ) -> Result<N, BadOption> {
        let parse =
            |text: &str| text.parse().map_err(|_| format!("'{text}' is not a whole number here"));
        Ok(self.read(option, parse)?.unwrap_or(default))
    }

    /// A list of members, `1,4`; without it, none.
    pub fn members(&self, option: &'static str, group: &Group) -> Result<Vec<NodeId>, BadOption> {
        let parse = |text: &str| text.split(',').map(|text| member(text, group)).collect();
        Ok(self.read(option, parse)?.unwrap_or_default())
    }
}

impl FromIterator<(String, String)> for Options {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(options: I) -> Self {
        Options(options.into_iter().collect())
    }
}

/// No span and no time may exceed this; it keeps all arithmetic far from overflow.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// `10ms`, `1.5s`, `250us`, `2m`; `0` needs no unit.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wanted = "a duration such as 250us, 10ms, 1.5s or 2m";
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let micros_per_unit: u64 = match unit {
        "us" => 1,
        "ms" => 1_000,
        "s" => 1_000_000,
        "m" | "min" => 60_000_000,
        "" if number == "0" => 1,
        "" => return Err(format!("'{text}' has no unit; expected {wanted}")),
        _ => return Err(format!("'{text}' is not {wanted}")),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let scaled = |digits: &str| digits.parse::<u64>().ok();
    let whole = scaled(whole).and_then(|whole| whole.checked_mul(micros_per_unit));
    let fraction = match fraction {
        "" if number.contains('.') => None,
        "" => Some(0),
        _ if fraction.len() > 9 => None,
        _ => scaled(fraction)
            .and_then(|digits| digits.checked_mul(micros_per_unit))
            .map(|scaled| scaled / 10u64.pow(fraction.len() as u32)),
    };
    let total = whole.zip(fraction).and_then(|(whole, fraction)| whole.checked_add(fraction));
    match total.map(Duration::from_micros) {
        Some(span) if span > LONGEST => Err(format!("'{text}' is longer than a year")),
        Some(span) => Ok(span),
        None => Err(format!("'{text}' is not {wanted}")),
    }
}

/// A duration in the words of [`duration`].
pub fn show(span: Duration) -> String {
    Time::from_micros(micros(span)).to_string()
}

/// One id.
pub fn id(text: &str) -> Result<NodeId, String> {
    text.parse()
        .map(NodeId::new)
        .map_err(|_| format!("'{text}' is no id; expected a whole number from 0 to {}", u32::MAX))
}

/// `1..4` (both ends included) or `3,5,0,1,4,6`.
pub fn ids(text: &str) -> Result<Vec<NodeId>, String> {
    const MOST: u32 = 10_000_000;
    if let Some((first, last)) = text.split_once("..") {
        let (first, last) = (id(first)?.number(), id(last)?.number());
        return match last.checked_sub(first) {
            None => Err(format!("'{text}' runs backwards; write {last}..{first}")),
            Some(steps) if steps >= MOST => Err(format!("'{text}' are more than {MOST} processes")),
            Some(_) => Ok((first..=last).map(NodeId::new).collect()),
        };
    }
    text.split(',').map(id).collect()
}

/// An id that must be a member.
pub fn member(text: &str, group: &Group) -> Result<NodeId, String> {
    let id = id(text)?;
    if group.contains(id) {
        return Ok(id);
    }
    let ids: Vec<String> = group.ascending().take(9).map(|id| id.number().to_string()).collect();
    let (shown, more) = if group.len() > 8 {
        (ids[..8].join(", "), format!(", ... {}", group.highest().number()))
    } else {
        (ids.join(", "), String::new())
    };
    Err(format!("there is no process {}; the members are {shown}{more}", id.number()))
}
