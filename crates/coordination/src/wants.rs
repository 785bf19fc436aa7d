//! The locks that a request is for: usually one.

use crate::command::Want;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::ops::Deref;
use std::slice;
use std::sync::Arc;

/// The locks of a request, each named once.
///
/// The only one is inside, several are shared between copies: of a request that waits in many queues there are copies in
/// the log and in snapshots. Equality, hash and serialised form are those of a list.
#[derive(Clone)]
pub struct Wants(Form);

#[derive(Clone)]
enum Form {
    One(Want),
    /// None, or two and more.
    Several(Arc<[Want]>),
}

impl Deref for Wants {
    type Target = [Want];

    fn deref(&self) -> &[Want] {
        match &self.0 {
            Form::One(one) => slice::from_ref(one),
            Form::Several(several) => several,
        }
    }
}

impl From<Vec<Want>> for Wants {
    fn from(mut wants: Vec<Want>) -> Self {
        match (wants.pop(), wants.is_empty()) {
            (Some(only), true) => Wants(Form::One(only)),
            (last, _) => {
                wants.extend(last);
                Wants(Form::Several(wants.into()))
            }
        }
    }
}

impl From<&[Want]> for Wants {
    fn from(wants: &[Want]) -> Self {
        match wants {
            [only] => Wants(Form::One(only.clone())),
            several => Wants(Form::Several(several.into())),
        }
    }
}

impl FromIterator<Want> for Wants {
    fn from_iter<I: IntoIterator<Item = Want>>(wants: I) -> Self {
        Vec::from_iter(wants).into()
    }
}

impl<'a> IntoIterator for &'a Wants {
    type Item = &'a Want;
    type IntoIter = slice::Iter<'a, Want>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Debug for Wants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl PartialEq for Wants {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Wants {}

impl std::hash::Hash for Wants {
    fn hash<H: std::hash::Hasher>(&self, hasher: &mut H) {
        (**self).hash(hasher);
    }
}

impl Serialize for Wants {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Wants {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Wants::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Mode;
    use std::hash::{DefaultHasher, Hash, Hasher};

    fn hashed(value: &impl Hash) -> u64 {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        hasher.finish()
    }

    #[test]
    fn they_are_in_every_respect_what_a_list_is() {
        for count in 0..4 {
            let want = |number: u32| Want { name: number.to_string().into(), mode: Mode::Shared };
            let list: Vec<Want> = (0..count).map(want).collect();
            let wants = Wants::from(list.clone());
            assert_eq!(wants, Wants::from(&list[..]));
            assert!(wants.iter().eq(&list) && (&wants).into_iter().eq(&list));
            assert_eq!(format!("{wants:?}"), format!("{list:?}"));
            assert_eq!(hashed(&wants), hashed(&list));
            let bytes = postcard::to_allocvec(&wants).unwrap();
            assert_eq!(bytes, postcard::to_allocvec(&list).unwrap());
            assert_eq!(postcard::from_bytes::<Wants>(&bytes), Ok(wants));
        }
    }

    #[test]
    fn the_only_one_costs_no_more_than_itself() {
        assert_eq!(size_of::<Wants>(), size_of::<Want>());
    }
}
