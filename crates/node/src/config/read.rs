//! Reading TOML by hand, so that every complaint names the key, its line and what is allowed.

use super::problem::{Place, Problem};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The file's text and everything found wrong with it so far.
pub(crate) struct Reader<'t> {
    text: &'t str,
    pub(crate) problems: Vec<Problem>,
}

/// A value and where it was given.
#[derive(Clone, Debug)]
pub(crate) struct Given<T> {
    pub(crate) value: T,
    pub(crate) place: Place,
}

/// A table of the file, by its name.
#[derive(Clone, Copy)]
pub(crate) struct Section<'t> {
    name: &'static str,
    table: &'t DeTable<'t>,
    line: usize,
}

impl<'t> Reader<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Reader { text, problems: Vec::new() }
    }

    pub(crate) fn complain(&mut self, place: Place, key: impl Into<String>, what: String) {
        self.problems.push(Problem { place, key: key.into(), what });
    }

    /// Complains about what is no TOML.
    pub(crate) fn not_toml(&mut self, error: &toml::de::Error) {
        let place = error.span().map_or(Place::Missing, |span| Place::Line(self.line(&span)));
        let message = error.message().trim_end().replace('\n', "; ");
        self.complain(place, "", format!("this is not TOML: {message}"));
    }

    fn line(&self, span: &Range<usize>) -> usize {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        before.matches('\n').count() + 1
    }

    /// The whole file, which may have these keys.
    pub(crate) fn root(&mut self, table: &'t DeTable<'t>, keys: &[&str]) -> Section<'t> {
        self.section("", table, 1, keys)
    }

    fn section(
        &mut self,
        name: &'static str,
        table: &'t DeTable<'t>,
        line: usize,
        keys: &[&str],
    ) -> Section<'t> {
        let section = Section { name, table, line };
        for key in table.keys() {
            let written: &str = key.get_ref();
            if !keys.contains(&written) {
                let what = format!("unknown key; {}", nearest(written, keys));
                let place = Place::Line(self.line(&key.span()));
                self.complain(place, section.key(written), what);
            }
        }
        section
    }

    /// A table below the root, which may have these keys.
    pub(crate) fn table(
        &mut self,
        root: Section<'t>,
        name: &'static str,
        keys: &[&str],
    ) -> Option<Section<'t>> {
        let value = root.table.get(name)?;
        let line = self.line(&value.span());
        match value.get_ref() {
            DeValue::Table(table) => Some(self.section(name, table, line, keys)),
            other => {
                let what = format!("is {}, and should be a table: [{name}]", kind(other));
                self.complain(Place::Line(line), name, what);
                None
            }
        }
    }

    /// A list of tables below the root, each of which may have these keys.
    pub(crate) fn tables(
        &mut self,
        root: Section<'t>,
        name: &'static str,
        keys: &[&str],
    ) -> Vec<Section<'t>> {
        let Some(value) = root.table.get(name) else { return Vec::new() };
        let line = self.line(&value.span());
        let DeValue::Array(list) = value.get_ref() else {
            let what = format!("is {}; write one [[{name}]] for each", kind(value.get_ref()));
            self.complain(Place::Line(line), name, what);
            return Vec::new();
        };
        let mut sections = Vec::new();
        for element in list.iter() {
            let line = self.line(&element.span());
            match element.get_ref() {
                DeValue::Table(table) => sections.push(self.section(name, table, line, keys)),
                other => {
                    let what = format!("holds {}; write one [[{name}]] for each", kind(other));
                    self.complain(Place::Line(line), name, what);
                }
            }
        }
        sections
    }

    fn value(&self, section: Section<'t>, key: &str) -> Option<(&'t Spanned<DeValue<'t>>, Place)> {
        let value = section.table.get(key)?;
        Some((value, Place::Line(self.line(&value.span()))))
    }

    /// A text, if it is there.
    pub(crate) fn text(&mut self, section: Section<'t>, key: &str) -> Option<Given<String>> {
        let (value, place) = self.value(section, key)?;
        match value.get_ref() {
            DeValue::String(text) => Some(Given { value: text.to_string(), place }),
            other => {
                let what = format!("is {}, and should be a text in quotes", kind(other));
                self.complain(place, section.key(key), what);
                None
            }
        }
    }

    /// A text, or a whole number as a text: for sizes.
    pub(crate) fn text_or_number(
        &mut self,
        section: Section<'t>,
        key: &str,
    ) -> Option<Given<String>> {
        let (value, place) = self.value(section, key)?;
        match value.get_ref() {
            DeValue::Integer(number) => Some(Given { value: number.to_string(), place }),
            _ => self.text(section, key),
        }
    }

    /// A whole number within bounds, if it is there.
    pub(crate) fn number(
        &mut self,
        section: Section<'t>,
        key: &str,
        allowed: Range<u64>,
    ) -> Option<Given<u64>> {
        let (value, place) = self.value(section, key)?;
        let wanted = format!("a whole number from {} to {}", allowed.start, allowed.end - 1);
        let what = match value.get_ref() {
            DeValue::Integer(number) => {
                let plain = i128::from_str_radix(number.as_str(), number.radix()).ok();
                match plain.and_then(|plain| u64::try_from(plain).ok()) {
                    Some(plain) if allowed.contains(&plain) => {
                        return Some(Given { value: plain, place });
                    }
                    _ => format!("{number} is not {wanted}"),
                }
            }
            other => format!("is {}, and should be {wanted}", kind(other)),
        };
        self.complain(place, section.key(key), what);
        None
    }

    /// `true` or `false`, if it is there.
    pub(crate) fn truth(&mut self, section: Section<'t>, key: &str) -> Option<Given<bool>> {
        let (value, place) = self.value(section, key)?;
        match value.get_ref() {
            DeValue::Boolean(truth) => Some(Given { value: *truth, place }),
            other => {
                let what = format!("is {}, and should be true or false", kind(other));
                self.complain(place, section.key(key), what);
                None
            }
        }
    }

    /// Applies a parser, and complains in its words if it does not understand.
    pub(crate) fn parse<T>(
        &mut self,
        key: impl Into<String>,
        given: Option<Given<String>>,
        parser: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<Given<T>> {
        let given = given?;
        match parser(&given.value) {
            Ok(value) => Some(Given { value, place: given.place }),
            Err(what) => {
                self.complain(given.place, key, what);
                None
            }
        }
    }
}

impl Section<'_> {
    /// A key's full name.
    pub(crate) fn key(&self, key: &str) -> String {
        if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) }
    }

    /// Where it begins.
    pub(crate) fn place(&self) -> Place {
        Place::Line(self.line)
    }
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a point",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// What may have been meant; all that is allowed if nothing is near.
pub(crate) fn nearest(written: &str, known: &[&str]) -> String {
    let near = known
        .iter()
        .map(|word| (distance(written, word), *word))
        .filter(|(distance, word)| *distance <= 1 + word.len() / 4)
        .min();
    match near {
        Some((_, word)) => format!("did you mean '{word}'?"),
        None => format!("allowed are {}", known.join(", ")),
    }
}

/// How many letters must be changed, added, removed or swapped with their neighbour.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut rows = vec![(0..=other.len()).collect::<Vec<_>>()];
    for i in 1..=one.len() {
        let mut row = vec![i];
        for j in 1..=other.len() {
            let changed = rows[i - 1][j - 1] + usize::from(one[i - 1] != other[j - 1]);
            let mut least = changed.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[one.len()][other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_typing_errors() {
        for (one, other, edits) in
            [("lease", "lease", 0), ("leese", "lease", 1), ("laese", "lease", 1), ("", "id", 2)]
        {
            assert_eq!(distance(one, other), edits, "{one} {other}");
        }
    }

    #[test]
    fn names_the_nearest_word_or_all() {
        let known = ["heartbeat", "lease", "id"];
        assert_eq!(nearest("hartbeat", &known), "did you mean 'heartbeat'?");
        assert_eq!(nearest("port", &known), "allowed are heartbeat, lease, id");
    }
}
