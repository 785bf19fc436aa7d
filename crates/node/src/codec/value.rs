//! Any serde type as self-describing protobuf, by way of JSON's data model.
//!
//! Struct fields and variants travel by name, so a receiver finds what it knows, ignores what it
//! does not, and an option that is left out is `None`. Whole numbers are exact up to 64 bits;
//! fractions have no form on the wire.

use super::generated::value::Of;
use super::generated::{Field, Fields, List, Value};
use super::malformed::Malformed;
use serde::Serialize;
use serde::de::DeserializeSeed;
use serde_json::Value as Json;

/// How deeply lists and fields may be nested. The catalogue's deepest messages need five.
pub(super) const DEEPEST: usize = 16;

/// A message as a value, if it can be one that the other end accepts.
pub(super) fn from_message<M: Serialize>(msg: &M) -> Option<Value> {
    from_json(serde_json::to_value(msg).ok()?, DEEPEST)
}

/// The message that a value is, read with this seed.
pub(super) fn to_message<'de, S: DeserializeSeed<'de>>(
    seed: S,
    value: Value,
) -> Result<S::Value, Malformed> {
    let json = to_json(value, DEEPEST)?;
    seed.deserialize(json).map_err(|error| Malformed::misfit(&error))
}

fn from_json(json: Json, depth: usize) -> Option<Value> {
    let of = match json {
        Json::Null => Of::Null(true),
        Json::Bool(value) => Of::Boolean(value),
        Json::Number(number) => match number.as_u64() {
            Some(natural) => Of::Natural(natural),
            None => Of::Negative(number.as_i64()?),
        },
        Json::String(text) => Of::Text(text),
        Json::Array(items) => {
            let inner = depth.checked_sub(1)?;
            let items = items.into_iter().map(|item| from_json(item, inner));
            Of::List(List { items: items.collect::<Option<_>>()? })
        }
        Json::Object(entries) => {
            let inner = depth.checked_sub(1)?;
            let field = |(name, value)| Some(Field { name, value: Some(from_json(value, inner)?) });
            let mut fields: Vec<Field> = entries.into_iter().map(field).collect::<Option<_>>()?;
            // Whether the map is ordered is up to a feature of the JSON crate; bytes must not be.
            fields.sort_by(|a, b| a.name.cmp(&b.name));
            Of::Fields(Fields { fields })
        }
    };
    Some(Value { of: Some(of) })
}

fn to_json(value: Value, depth: usize) -> Result<Json, Malformed> {
    let inner = || depth.checked_sub(1).ok_or(Malformed::TooDeep);
    // Without a known form it may be one that a newer version has added.
    Ok(match value.of.ok_or(Malformed::Unknown)? {
        Of::Null(_) => Json::Null,
        Of::Boolean(value) => Json::Bool(value),
        Of::Natural(number) => Json::from(number),
        Of::Negative(number) => Json::from(number),
        Of::Text(text) => Json::String(text),
        Of::List(List { items }) => {
            let inner = inner()?;
            let items = items.into_iter().map(|item| to_json(item, inner));
            Json::Array(items.collect::<Result<_, _>>()?)
        }
        Of::Fields(Fields { fields }) => {
            let inner = inner()?;
            let entry = |Field { name, value }| {
                let value = value.ok_or(Malformed::Missing("election.body: a field's value"))?;
                Ok((name, to_json(value, inner)?))
            };
            Json::Object(fields.into_iter().map(entry).collect::<Result<_, _>>()?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::marker::PhantomData;

    #[test]
    fn numbers_survive_exactly() {
        for number in [0, 1, (1 << 53) + 1, i64::MAX as u64, u64::MAX] {
            let value = from_message(&number).unwrap();
            assert_eq!(value.of, Some(Of::Natural(number)));
            assert_eq!(to_message(PhantomData::<u64>, value), Ok(number));
        }
        for number in [-1, -(1 << 53) - 1, i64::MIN] {
            let value = from_message(&number).unwrap();
            assert_eq!(value.of, Some(Of::Negative(number)));
            assert_eq!(to_message(PhantomData::<i64>, value), Ok(number));
        }
    }

    #[test]
    fn every_form_survives() {
        let json = json!([null, true, false, 3, -3, "text", [], {}, {"b": [1], "a": {"c": null}}]);
        let value = from_json(json.clone(), DEEPEST).unwrap();
        assert_eq!(to_json(value, DEEPEST), Ok(json));
    }

    #[test]
    fn fields_are_sorted_whatever_their_order() {
        #[derive(Serialize)]
        struct Backwards {
            c: u8,
            b: u8,
            a: u8,
        }
        let Some(Value { of: Some(Of::Fields(Fields { fields })) }) =
            from_message(&Backwards { c: 3, b: 2, a: 1 })
        else {
            panic!("a struct is fields");
        };
        let names: Vec<_> = fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c"]);
    }

    #[test]
    fn fractions_have_no_form() {
        assert_eq!(from_message(&0.5), None);
        assert_eq!(from_message(&vec![1.0]), None);
    }

    #[test]
    fn nesting_is_bounded_both_ways() {
        let nested = |depth| (0..depth).fold(json!(7), |inner, _| json!([inner]));
        let deepest = from_json(nested(DEEPEST), DEEPEST).unwrap();
        assert_eq!(to_json(deepest.clone(), DEEPEST), Ok(nested(DEEPEST)));
        assert_eq!(from_json(nested(DEEPEST + 1), DEEPEST), None);
        let deeper = Value { of: Some(Of::List(List { items: vec![deepest] })) };
        assert_eq!(to_json(deeper, DEEPEST), Err(Malformed::TooDeep));
    }

    #[test]
    fn a_field_without_a_value_is_refused() {
        let fields = vec![Field { name: "a".to_owned(), value: None }];
        let value = Value { of: Some(Of::Fields(Fields { fields })) };
        assert!(matches!(to_json(value, DEEPEST), Err(Malformed::Missing(_))));
    }

    #[test]
    fn an_unknown_form_is_of_a_newer_version() {
        assert_eq!(to_json(Value { of: None }, DEEPEST), Err(Malformed::Unknown));
    }
}
