//! A private value: a short word.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The longest word, in bytes.
const LONGEST: usize = 15;

/// A process's private value, or nil: a word of up to 15 bytes.
///
/// It is kept in place and not on the heap, because a tree has thousands of them.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Value {
    /// The word, filled up with zeros; all zeros for nil.
    bytes: [u8; LONGEST],
    /// How many of them are the word.
    length: u8,
}

/// Why a text is no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadValue {
    /// There is nothing.
    Empty,
    /// It is too long.
    Long(String),
    /// It is `nil`, or has a character that would make a vector hard to read.
    Reserved(String),
}

impl fmt::Display for BadValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadValue::Empty => f.write_str("a value is missing; expected a word such as a"),
            BadValue::Long(text) => {
                write!(f, "'{text}' is too long for a value; at most {LONGEST} bytes")
            }
            BadValue::Reserved(text) if text == "nil" => {
                f.write_str("'nil' stands for no value; choose another word")
            }
            BadValue::Reserved(text) => {
                write!(f, "'{text}' is no value; expected a word of letters, digits, '-' or '_'")
            }
        }
    }
}

impl std::error::Error for BadValue {}

impl Value {
    /// No value: what stands for a message that did not come, and for a vote without a majority.
    pub const NIL: Value = Value { bytes: [0; LONGEST], length: 0 };

    /// The value of this name.
    pub fn new(text: &str) -> Result<Self, BadValue> {
        let is_plain = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        if text.is_empty() {
            return Err(BadValue::Empty);
        }
        if text == "nil" || !text.chars().all(is_plain) {
            return Err(BadValue::Reserved(text.to_owned()));
        }
        let mut bytes = [0; LONGEST];
        let Some(room) = bytes.get_mut(..text.len()) else {
            return Err(BadValue::Long(text.to_owned()));
        };
        room.copy_from_slice(text.as_bytes());
        Ok(Value { bytes, length: text.len() as u8 })
    }

    /// Whether it is nil.
    pub fn is_nil(self) -> bool {
        self == Value::NIL
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        let word = self.bytes.get(..usize::from(self.length)).unwrap_or_default();
        if self.is_nil() { "nil" } else { std::str::from_utf8(word).unwrap_or_default() }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<Value> for String {
    fn from(value: Value) -> String {
        if value.is_nil() { String::new() } else { value.as_str().to_owned() }
    }
}

/// From a message: nothing at all is nil.
impl TryFrom<String> for Value {
    type Error = BadValue;

    fn try_from(text: String) -> Result<Self, BadValue> {
        if text.is_empty() { Ok(Value::NIL) } else { Value::new(&text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_a_short_word() {
        for text in ["a", "attack", "exactly15bytes_", "ü"] {
            assert_eq!(Value::new(text).unwrap().to_string(), text);
        }
        assert_eq!(Value::new(""), Err(BadValue::Empty));
        assert!(matches!(Value::new("nil"), Err(BadValue::Reserved(_))));
        assert!(matches!(Value::new("a b"), Err(BadValue::Reserved(_))));
        assert!(matches!(Value::new("sixteen-bytes-xx"), Err(BadValue::Long(_))));
        assert_eq!(Value::NIL.to_string(), "nil");
    }

    #[test]
    fn it_travels_as_text() {
        for value in [Value::NIL, Value::new("attack").unwrap()] {
            let text = serde_json::to_string(&value).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        }
        assert!(serde_json::from_str::<Value>("\"far too long to be a value\"").is_err());
    }
}
