//! One line of a scenario: its words, and errors that say where.

use bellwether_core::Time;
use std::fmt;

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

pub(super) type Parsed<T> = Result<T, SyntaxError>;

/// A word and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    pub(super) column: usize,
    pub(super) text: &'a str,
}

impl<'a> Word<'a> {
    /// `key=value`, and where the value stands.
    pub(super) fn assignment(&self) -> Option<(&'a str, Word<'a>)> {
        let (key, text) = self.text.split_once('=')?;
        Some((key, Word { column: self.column + key.chars().count() + 1, text }))
    }
}

/// The words of one line, read from left to right.
pub(super) struct Line<'a> {
    number: usize,
    source: &'a str,
    words: Vec<Word<'a>>,
    next: usize,
}

impl<'a> Line<'a> {
    pub(super) fn new(number: usize, source: &'a str) -> Self {
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

    pub(super) fn error<T>(&self, column: usize, message: impl Into<String>) -> Parsed<T> {
        Err(SyntaxError {
            line: self.number,
            column,
            message: message.into(),
            source: self.source.trim_end().to_owned(),
        })
    }

    /// The error of a line that ends too early.
    pub(super) fn incomplete<T>(&self, what: &str) -> Parsed<T> {
        let end = self.words.last().map_or(1, |word| word.column + word.text.chars().count() + 1);
        self.error(end, format!("expected {what}"))
    }

    /// The error of a line whose last word names a time that is past.
    pub(super) fn too_late<T>(&self, time: Time, passed: Time) -> Parsed<T> {
        let word = self.next.checked_sub(1).and_then(|last| self.words.get(last));
        let column = word.and_then(Word::assignment).map_or(1, |(_, value)| value.column);
        self.error(column, format!("{time} is past: by now it is {passed}, by the `run`s before"))
    }

    pub(super) fn take(&mut self) -> Option<Word<'a>> {
        let word = self.words.get(self.next).copied();
        self.next += usize::from(word.is_some());
        word
    }

    /// The word this many places ahead.
    pub(super) fn look(&self, ahead: usize) -> Option<&'a str> {
        self.words.get(self.next + ahead).map(|word| word.text)
    }

    /// Takes the next word if it is this one.
    pub(super) fn accept(&mut self, text: &str) -> bool {
        let there = self.look(0) == Some(text);
        self.next += usize::from(there);
        there
    }

    pub(super) fn need(&mut self, what: &str) -> Parsed<Word<'a>> {
        match self.take() {
            Some(word) => Ok(word),
            None => self.incomplete(what),
        }
    }

    /// Reads the next word with `parse`.
    pub(super) fn read<T>(
        &mut self,
        what: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Parsed<T> {
        let word = self.need(what)?;
        self.value(word, parse)
    }

    /// Reads a word that is already taken.
    pub(super) fn value<T>(
        &self,
        word: Word<'_>,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Parsed<T> {
        if word.text.is_empty() {
            return self.error(word.column, "expected a value after '='");
        }
        parse(word.text).or_else(|message| self.error(word.column, message))
    }

    /// Reads `key=value` if the next word is that.
    pub(super) fn option<T>(
        &mut self,
        key: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Parsed<Option<T>> {
        let next = self.words.get(self.next).and_then(Word::assignment);
        let Some((_, value)) = next.filter(|(name, _)| *name == key) else { return Ok(None) };
        self.next += 1;
        self.value(value, parse).map(Some)
    }

    /// All that follows, as one text.
    pub(super) fn rest(&mut self) -> String {
        let mut words = Vec::new();
        while let Some(word) = self.take() {
            words.push(word.text);
        }
        words.join(" ")
    }

    /// Where `key=value`, or the word `key`, stands.
    pub(super) fn column_of(&self, key: &str) -> Option<usize> {
        let is_it = |word: &&Word<'_>| match word.assignment() {
            Some((name, _)) => name == key,
            None => word.text == key,
        };
        self.words.iter().find(is_it).map(|word| match word.assignment() {
            Some((_, value)) => value.column,
            None => word.column,
        })
    }

    /// Nothing may follow.
    pub(super) fn end(&self) -> Parsed<()> {
        match self.words.get(self.next) {
            None => Ok(()),
            Some(word) => self.error(word.column, format!("'{}' is not expected here", word.text)),
        }
    }
}

/// Where a comment starts: a `#` at the beginning of a word.
pub(super) fn comment_start(source: &str) -> Option<usize> {
    let mut before = ' ';
    for (index, c) in source.char_indices() {
        if c == '#' && before.is_whitespace() {
            return Some(index);
        }
        before = c;
    }
    None
}
