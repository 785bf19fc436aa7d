//! Protobuf by hand, so that the tests do not ask the code under test what is right.

use serde_json::Value as Json;

/// A number in base 128.
pub(crate) fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 128 {
        bytes.push(number as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// A field that is a number.
pub(crate) fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

/// A field that is a message, text or bytes.
pub(crate) fn block(field: u64, content: &[u8]) -> Vec<u8> {
    [varint(field << 3 | 2), varint(content.len() as u64), content.to_vec()].concat()
}

/// The number and content of the one block that these bytes are.
pub(crate) fn unblock(bytes: &[u8]) -> (u64, Vec<u8>) {
    let (tag, rest) = take_varint(bytes);
    let (length, content) = take_varint(rest);
    assert_eq!((tag & 7, content.len() as u64), (2, length), "one block and no more");
    (tag >> 3, content.to_vec())
}

/// The fields of a message, each with its number and all its bytes.
pub(crate) fn fields(mut bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let (tag, rest) = take_varint(bytes);
        let (value, rest) = take_varint(rest);
        let rest = if tag & 7 == 2 { &rest[value as usize..] } else { rest };
        fields.push((tag >> 3, bytes[..bytes.len() - rest.len()].to_vec()));
        bytes = rest;
    }
    fields
}

fn take_varint(bytes: &[u8]) -> (u64, &[u8]) {
    let length = bytes.iter().position(|byte| byte & 128 == 0).unwrap() + 1;
    let digits = bytes[..length].iter().rev();
    (digits.fold(0, |number, byte| number << 7 | u64::from(byte & 127)), &bytes[length..])
}

/// The message Value of the .proto file.
pub(crate) fn value(json: &Json) -> Vec<u8> {
    match json {
        Json::Null => number(1, 1),
        Json::Bool(boolean) => number(2, u64::from(*boolean)),
        Json::Number(natural) => number(3, natural.as_u64().unwrap()),
        Json::String(text) => block(5, text.as_bytes()),
        Json::Array(items) => {
            let items: Vec<_> = items.iter().map(|item| block(1, &value(item))).collect();
            block(6, &items.concat())
        }
        Json::Object(entries) => {
            let mut entries: Vec<_> = entries.iter().collect();
            entries.sort_by_key(|(name, _)| name.as_str());
            let field = |(name, inner): (&String, &Json)| {
                block(1, &[block(1, name.as_bytes()), block(2, &value(inner))].concat())
            };
            let entries: Vec<_> = entries.into_iter().map(field).collect();
            block(7, &entries.concat())
        }
    }
}

/// A member's message that is the election's.
pub(crate) fn election(algorithm: &str, body: &Json) -> Vec<u8> {
    block(11, &[block(1, algorithm.as_bytes()), block(2, &value(body))].concat())
}
