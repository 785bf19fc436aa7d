//! What a process holds, field by field, for people.
//!
//! Every process can be shown with `{:?}`. That is a text for programmers; this reads it back and
//! makes fields of it, so that a viewer can say which of them a step has changed:
//!
//! ```text
//! Watched { election: Bully { incarnation: Incarnation(1), phase: Idle { coordinator: Some(P4) } }, ... }
//!
//! election.incarnation = 1
//! election.phase = Idle
//! election.phase.coordinator = P4
//! ```
//!
//! Nothing here knows an algorithm. Types have their own text only where the derived one would
//! puzzle a reader: readings of clocks, stamps, numbers of entries.

use crate::engine::CLOCK_START;
use bellwether_core::{NodeId, Time, micros};
use std::collections::BTreeMap;
use std::time::Duration;

/// The fields of a process and what they hold.
pub type Fields = BTreeMap<String, String>;

/// The fields of a process that is shown like this, in this group. What is around its heart and is
/// as it was in a `blank` process, one that has not even started, has not been used: it is left out.
pub(crate) fn fields(shown: &str, blank: &str, ring: &[NodeId]) -> Fields {
    let mut fields = Fields::new();
    match (read(shown), read(blank)) {
        (Some(Value::Named(_, values)), blank) => {
            let blank = blank.as_ref().and_then(Value::named).unwrap_or_default();
            let ring: Vec<String> = ring.iter().map(NodeId::to_string).collect();
            let ring = of_view(&values).unwrap_or(ring);
            let is_part = |part: &&str| values.iter().any(|(name, _)| name == part);
            let heart = PARTS.iter().copied().find(is_part);
            Spread { fields: &mut fields, ring: &ring, heart }.below("", &values, blank);
        }
        (Some(other), _) => drop(fields.insert("state".to_owned(), other.text())),
        (None, _) => drop(fields.insert("state".to_owned(), shown.to_owned())),
    }
    fields
}

/// What has to be done to the fields `before` to make those of now: the ones that are new or hold
/// something else, and those that are gone.
pub(crate) fn changes(before: &Fields, now: &Fields) -> BTreeMap<String, Option<String>> {
    let gone = before.keys().filter(|path| !now.contains_key(*path));
    let gone = gone.map(|path| (path.clone(), None));
    let new = now.iter().filter(|(path, value)| before.get(*path) != Some(value));
    gone.chain(new.map(|(path, value)| (path.clone(), Some(value.clone())))).collect()
}

/// The fields that hold a whole process or another part, of whatever type. That type is the same
/// all the time, so its name says nothing. The first that a process has is the one that it is about.
const PARTS: &[&str] = &["algorithm", "below", "process", "election", "detector", "clock"];

/// Types that are there for the compiler: what they hold says all.
const PLAIN: &[&str] =
    &["Some", "Incarnation", "Seq", "Epoch", "VectorClock", "Leg", "Cycle", "Tx"];

/// The members of the view that a process is in, if it is in one: places count among these.
fn of_view(values: &[(&str, Value<'_>)]) -> Option<Vec<String>> {
    let (_, views) = values.iter().find(|(name, _)| *name == "views")?;
    let Value::Tuple("Later", view) = views.field("present")? else { return None };
    let Value::List(ring) = view.first()?.field("group")?.field("ring")? else { return None };
    Some(ring.iter().map(Value::text).collect())
}

/// Where fields are collected.
struct Spread<'a> {
    fields: &'a mut Fields,
    /// Whom the places of a list belong to.
    ring: &'a [String],
    /// The part that it is all about. Around it, only what has been used is shown.
    heart: Option<&'a str>,
}

impl Spread<'_> {
    /// Adds what is below a path. `blank` is what that was at the very beginning.
    fn below(&mut self, path: &str, values: &[(&str, Value<'_>)], blank: &[(&str, Value<'_>)]) {
        for (name, value) in values {
            let blank = blank.iter().find(|(other, _)| other == name).map(|(_, value)| value);
            let is_heart = path.is_empty() && self.heart == Some(name);
            let is_dull = !value.is_word() && !is_heart && Some(value) == blank;
            if is_dull && (matches!(value, Value::Named(..)) || !self.is_in_heart(path)) {
                continue;
            }
            let path = match path {
                "" => (*name).to_owned(),
                // An election and its detector are called an election, too.
                _ if path.rsplit('.').next() == Some(name) => path.to_owned(),
                _ => format!("{path}.{name}"),
            };
            self.add(path, name, value, blank);
        }
    }

    fn is_in_heart(&self, path: &str) -> bool {
        self.heart.is_none_or(|heart| path.split(['.', '[']).next() == Some(heart))
    }

    /// Adds a field and what is below it.
    fn add(&mut self, path: String, field: &str, value: &Value<'_>, blank: Option<&Value<'_>>) {
        match value {
            _ if value.form().is_some() => self.say(path, value.text()),
            Value::Named(name, values) => {
                self.below(&path, values, blank.and_then(Value::named).unwrap_or_default());
                if !PARTS.contains(&field) && !is_called(name, field) {
                    self.say(path, (*name).to_owned());
                }
            }
            Value::Tuple(name, items) => match items.as_slice() {
                [] => {}
                // Which of several, or that it is there at all, is worth a word.
                [Value::Named(inner, values)] if items[0].form().is_none() => {
                    self.below(&path, values, &[]);
                    let word = if *name == "Some" { inner } else { name };
                    self.say(path, (*word).to_owned());
                }
                [item] if *name == "Some" || is_called(name, field) => {
                    self.add(path, field, item, None);
                }
                _ => self.say(path, value.text()),
            },
            // Nothing in it, nothing to say.
            Value::List(items) if items.is_empty() => {}
            Value::List(items) => match self.by_place(field, items) {
                Some(who) if who.is_empty() => {}
                Some(who) => self.say(path, format!("[{}]", who.join(", "))),
                None => self.say(path, value.text()),
            },
            Value::Map(items) if items.iter().all(|(_, item)| item.is_open()) => {
                for (key, item) in items {
                    self.below(
                        &format!("{path}[{}]", key.text()),
                        item.named().unwrap_or(&[]),
                        &[],
                    );
                }
            }
            Value::Map(_) | Value::Atom(_) => self.say(path, value.text()),
        }
    }

    fn say(&mut self, path: String, text: String) {
        self.fields.insert(path, text);
    }

    /// The names of those whom a list is about that speaks of places: of each whether, or of some
    /// in a queue.
    fn by_place(&self, field: &str, items: &[Value<'_>]) -> Option<Vec<String>> {
        let switches = |item: &Value<'_>| matches!(item, Value::Atom("true" | "false"));
        if items.len() == self.ring.len() && items.iter().all(switches) {
            let those = self.ring.iter().zip(items).filter(|(_, on)| **on == Value::Atom("true"));
            return Some(those.map(|(id, _)| id.clone()).collect());
        }
        let place =
            |item: &Value<'_>| self.ring.get(usize::try_from(item.number()?).ok()?).cloned();
        if field == "queue" { items.iter().map(place).collect() } else { None }
    }
}

/// Whether a field is called like the type of what it holds.
fn is_called(name: &str, field: &str) -> bool {
    name.eq_ignore_ascii_case(&field.replace('_', ""))
}

/// A value as its derived `Debug` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Value<'a> {
    /// `P3`, `12`, `true`, `Idle`, `10ms`.
    Atom(&'a str),
    /// `Idle { coordinator: None }`.
    Named(&'a str, Vec<(&'a str, Value<'a>)>),
    /// `Some(P4)`; a plain tuple has no name.
    Tuple(&'a str, Vec<Value<'a>>),
    /// `[1, 2]` or `{1, 2}`.
    List(Vec<Value<'a>>),
    /// `{P1: 3}`.
    Map(Vec<(Value<'a>, Value<'a>)>),
}

impl<'a> Value<'a> {
    /// The fields, if it has names for them.
    fn named(&self) -> Option<&[(&'a str, Value<'a>)]> {
        match self {
            Value::Named(_, values) => Some(values),
            _ => None,
        }
    }

    /// The field of this name.
    fn field(&self, name: &str) -> Option<&Value<'a>> {
        self.named()?.iter().find(|(field, _)| *field == name).map(|(_, value)| value)
    }

    /// Whether it has fields that are shown one by one.
    fn is_open(&self) -> bool {
        self.named().is_some() && self.form().is_none()
    }

    /// Whether it is one of several words, such as the name of a phase.
    fn is_word(&self) -> bool {
        let is_name = |text: &str| text.starts_with(|c: char| c.is_ascii_uppercase());
        matches!(self, Value::Atom(text) if *text != "None" && is_name(text))
    }

    /// On one line.
    fn text(&self) -> String {
        match self {
            _ if let Some(form) = self.form() => form,
            Value::Atom("None") => "none".to_owned(),
            Value::Atom("true") => "yes".to_owned(),
            Value::Atom("false") => "no".to_owned(),
            Value::Atom(text) => (*text).to_owned(),
            Value::Named(_, fields) => self.inline(fields),
            Value::Tuple(name, items) if PLAIN.contains(name) && items.len() == 1 => {
                items[0].text()
            }
            Value::Tuple("", items) => format!("({})", joined(items)),
            Value::Tuple(name, items) if items.len() == 1 => format!("{name} {}", items[0].text()),
            Value::Tuple(name, items) => format!("{name} ({})", joined(items)),
            Value::List(items) => format!("[{}]", joined(items)),
            Value::Map(items) => {
                let items =
                    items.iter().map(|(key, value)| format!("{}: {}", key.text(), value.text()));
                format!("{{{}}}", items.collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// The text of types whose derived one would puzzle a reader, or that belong together.
    fn form(&self) -> Option<String> {
        let (name, fields) = match self {
            Value::Tuple("Time", items) => return clock_reading(items.first()?.number()?),
            Value::Tuple("Offset", items) => return items.first()?.number().map(signed),
            Value::Tuple("Ppm", items) => return Some(format!("{}ppm", items.first()?.text())),
            Value::Named(name, fields) => (*name, fields),
            _ => return None,
        };
        let of = |index: usize| fields.get(index).map(|(_, value)| value.text());
        Some(match name {
            "Stamp" => format!("({}, {})", of(0)?, of(1)?),
            "SnapshotId" => format!("{}#{}", of(0)?, of(1)?),
            "Epoch" if of(0)? == "0" => of(0)?,
            "Epoch" => format!("{} by {}", of(0)?, of(1)?),
            "Sequence" => match self.field("view")?.field("number")?.text().as_str() {
                "0" => format!("#{}", of(1)?),
                view => format!("#{view}.{}", of(1)?),
            },
            "Numbers" => match self.field("beyond")? {
                Value::List(beyond) if beyond.is_empty() => of(0)?,
                beyond => format!("{} and {}", of(0)?, beyond.text()),
            },
            "Group" => self.field("ring")?.text(),
            "WaitForGraph" => edges(self.field("edges")?),
            "Question" | "Author" | "Session" | "MessageId" | "Post" => self.inline(fields),
            _ => return None,
        })
    }

    fn inline(&self, fields: &[(&str, Value<'_>)]) -> String {
        let fields = fields.iter().map(|(name, value)| format!("{name} {}", value.text()));
        format!("({})", fields.collect::<Vec<_>>().join(", "))
    }

    fn number(&self) -> Option<i64> {
        match self {
            Value::Atom(text) => text.parse().ok(),
            _ => None,
        }
    }
}

fn joined(items: &[Value<'_>]) -> String {
    items.iter().map(Value::text).collect::<Vec<_>>().join(", ")
}

/// Who waits for what, and what is held by whom.
fn edges(edges: &Value<'_>) -> String {
    let Value::Map(edges) = edges else { return "none".to_owned() };
    let edge = |(ends, _): &(Value<'_>, Value<'_>)| match ends {
        Value::Tuple("", ends) => ends.iter().map(Value::text).collect::<Vec<_>>().join(" -> "),
        other => other.text(),
    };
    edges.iter().map(edge).collect::<Vec<_>>().join(", ")
}

/// What a clock shows, counted from the beginning of the run: it began at some large number.
fn clock_reading(us: i64) -> Option<String> {
    let since = us.checked_sub(i64::try_from(micros(CLOCK_START)).ok()?)?;
    Some(if us == 0 { "0ms".to_owned() } else { signed(since).trim_start_matches('+').to_owned() })
}

/// Microseconds as a difference.
fn signed(us: i64) -> String {
    let sign = if us < 0 { '-' } else { '+' };
    format!("{sign}{}", Time::ZERO + Duration::from_micros(us.unsigned_abs()))
}

/// Reads a whole text; nothing if it is not what a derived `Debug` writes.
fn read(text: &str) -> Option<Value<'_>> {
    let mut reader = Reader { rest: text };
    let value = reader.value()?;
    reader.rest.is_empty().then_some(value)
}

/// Reads a value from the front of a text.
struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn value(&mut self) -> Option<Value<'a>> {
        if self.accept("[") {
            return self.items("]").map(Value::List);
        }
        if self.accept("{") {
            return self.set_or_map();
        }
        let name = self.word()?;
        if self.accept("(") {
            return self.items(")").map(|items| Value::Tuple(name, items));
        }
        if self.accept(" { ") {
            return self.fields().map(|fields| Value::Named(name, fields));
        }
        (!name.is_empty()).then_some(Value::Atom(name))
    }

    fn accept(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// All up to what may follow a word.
    fn word(&mut self) -> Option<&'a str> {
        if let Some(text) = self.rest.strip_prefix('"') {
            let mut escaped = false;
            let end = text.find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            })?;
            self.rest = &text[end + 1..];
            return Some(&text[..end]);
        }
        // One look at each letter: a state may be long.
        let bytes = self.rest.as_bytes();
        let ends = |at: &usize| {
            matches!(
                (bytes[*at], bytes.get(at + 1)),
                (b',' | b'(' | b')' | b']' | b'}', _)
                    | (b':', Some(b' '))
                    | (b' ', Some(b'{' | b'}'))
            )
        };
        let end = (0..bytes.len()).find(ends);
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        Some(word)
    }

    fn items(&mut self, end: &str) -> Option<Vec<Value<'a>>> {
        let mut items = Vec::new();
        while !self.accept(end) {
            items.push(self.value()?);
            self.separator(end)?;
        }
        Some(items)
    }

    fn set_or_map(&mut self) -> Option<Value<'a>> {
        let (mut set, mut map) = (Vec::new(), Vec::new());
        while !self.accept("}") {
            let item = self.value()?;
            if self.accept(": ") {
                map.push((item, self.value()?));
            } else {
                set.push(item);
            }
            self.separator("}")?;
        }
        match (set.is_empty(), map.is_empty()) {
            (_, true) => Some(Value::List(set)),
            (true, false) => Some(Value::Map(map)),
            (false, false) => None,
        }
    }

    fn fields(&mut self) -> Option<Vec<(&'a str, Value<'a>)>> {
        let mut fields = Vec::new();
        loop {
            let name = self.word()?;
            if !self.accept(": ") {
                return None;
            }
            fields.push((name, self.value()?));
            if self.accept(" }") {
                return Some(fields);
            }
            self.separator(" }")?;
        }
    }

    /// Either a comma, or the end, which is left there.
    fn separator(&mut self, end: &str) -> Option<()> {
        (self.accept(", ") || self.accept(",") || self.rest.starts_with(end)).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(shown: &str, blank: &str) -> Vec<String> {
        let ring: Vec<NodeId> = (1..=3).map(NodeId::new).collect();
        let fields = fields(shown, blank, &ring);
        fields.iter().map(|(path, value)| format!("{path} = {value}")).collect()
    }

    #[test]
    fn a_process_is_shown_field_by_field() {
        let shown = "Watched { election: Bully { incarnation: Incarnation(1), phase: Idle { \
                     coordinator: Some(P4) } }, detector: Detector { coordinator: None } }";
        let blank = "Watched { election: Bully { incarnation: Incarnation(0), phase: Idle { \
                     coordinator: None } }, detector: Detector { coordinator: None } }";
        let expected = [
            "election.incarnation = 1",
            "election.phase = Idle",
            "election.phase.coordinator = P4",
        ];
        assert_eq!(lines(shown, blank), expected);
        let waiting = shown.replace("Idle { coordinator: Some(P4) }", "AwaitingAnswer");
        assert_eq!(lines(&waiting, blank)[1], "election.phase = AwaitingAnswer");
    }

    #[test]
    fn values_are_written_for_people() {
        let shown = "A { a: Time(86400200000), b: Offset(-1500), c: [], d: {P1: 3}, e: Some(Lease \
                     { until: Time(86399000000) }), f: true, g: (P1, Stamp { time: 3, by: P2 }), \
                     h: [false, true, true], i: Some({P1, P2}), j: \"so, so\", k: Asking(P3), \
                     m: {P2: Peer { next: 1 }}, queue: [2, 0] }";
        let expected = [
            "a = 200ms",
            "b = -1.5ms",
            "d = {P1: 3}",
            "e = Lease",
            "e.until = -1000ms",
            "f = yes",
            "g = (P1, (3, P2))",
            "h = [P2, P3]",
            "i = [P1, P2]",
            "j = so, so",
            "k = Asking P3",
            "m[P2].next = 1",
            "queue = [P3, P1]",
        ];
        assert_eq!(lines(shown, ""), expected);
    }

    #[test]
    fn places_are_those_of_the_view() {
        let shown = "Guarded { algorithm: SuzukiKasami { token: Some(Token { queue: [1] }) }, views: \
                     Views { present: Later(View { group: Group { ring: [P2, P7], places: Table([0]) \
                     } }) } }";
        assert_eq!(lines(shown, "")[1], "algorithm.token.queue = [P7]");
    }

    #[test]
    fn only_changes_are_told() {
        let of = |pairs: &[(&str, &str)]| -> Fields {
            pairs.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect()
        };
        let (before, now) = (of(&[("a", "1"), ("b", "2")]), of(&[("a", "1"), ("c", "3")]));
        let changes = changes(&before, &now);
        let told: Vec<_> =
            changes.iter().map(|(path, to)| (path.as_str(), to.as_deref())).collect();
        assert_eq!(told, [("b", None), ("c", Some("3"))]);
    }

    #[test]
    fn a_text_of_another_form_is_shown_as_it_is() {
        assert_eq!(lines("A { b: ", ""), ["state = A { b: "]);
        assert_eq!(lines("Idle", ""), ["state = Idle"]);
        assert_eq!(lines("", ""), ["state = "]);
    }
}
