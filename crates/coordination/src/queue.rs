//! Who waits for a lock: usually no session, or one that gets it at once.

use crate::command::Mode;
use crate::ids::{Number, SessionId};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::VecDeque;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Index, RangeBounds};

/// A session that waits, by which request and how.
pub type Waiter = (SessionId, Number, Mode);

/// The sessions that wait for a lock, in the order of arrival.
///
/// A request goes through the queue also if it gets the lock at once. So the first one has its place here, and only
/// further ones are allocated. Equality, hash and serialised form are those of a list.
#[derive(Clone, Default)]
pub struct Queue(Form);

#[derive(Clone, Default)]
enum Form {
    #[default]
    None,
    One(Waiter),
    /// Two or more.
    #[allow(clippy::box_collection, reason = "it is rare, and makes all the others smaller")]
    Several(Box<VecDeque<Waiter>>),
}

impl Queue {
    /// How many wait.
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::None => 0,
            Form::One(_) => 1,
            Form::Several(several) => several.len(),
        }
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        matches!(self.0, Form::None)
    }

    /// The one at this place, from 0.
    pub fn get(&self, place: usize) -> Option<&Waiter> {
        match &self.0 {
            Form::One(one) if place == 0 => Some(one),
            Form::None | Form::One(_) => None,
            Form::Several(several) => several.get(place),
        }
    }

    /// The first one.
    pub fn front(&self) -> Option<&Waiter> {
        self.get(0)
    }

    /// All, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Waiter> + Clone {
        self.range(..)
    }

    /// Those at these places, in order.
    pub(crate) fn range(
        &self,
        places: impl RangeBounds<usize>,
    ) -> impl DoubleEndedIterator<Item = &Waiter> + Clone {
        let (one, several) = match &self.0 {
            Form::None => (None, None),
            Form::One(one) => (Some(one).filter(|_| places.contains(&0)), None),
            Form::Several(several) => (None, Some(several.range(places))),
        };
        one.into_iter().chain(several.into_iter().flatten())
    }

    /// One more waits.
    pub(crate) fn push_back(&mut self, waiter: Waiter) {
        match &mut self.0 {
            Form::None => self.0 = Form::One(waiter),
            Form::One(first) => self.0 = Form::Several(Box::new([*first, waiter].into())),
            Form::Several(several) => several.push_back(waiter),
        }
    }

    /// The one at this place waits no longer.
    pub(crate) fn remove(&mut self, place: usize) -> Option<Waiter> {
        match &mut self.0 {
            Form::One(one) if place == 0 => {
                let one = *one;
                self.0 = Form::None;
                Some(one)
            }
            Form::None | Form::One(_) => None,
            Form::Several(several) => {
                let removed = several.remove(place);
                if let [Some(last), None] = [several.front(), several.get(1)] {
                    self.0 = Form::One(*last);
                }
                removed
            }
        }
    }
}

/// Panics if there are fewer.
impl Index<usize> for Queue {
    type Output = Waiter;

    #[allow(clippy::expect_used, reason = "as the lists of std have it")]
    fn index(&self, place: usize) -> &Waiter {
        self.get(place).expect("a place in the queue")
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl PartialEq for Queue {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Queue {}

impl Hash for Queue {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_usize(self.len());
        self.iter().for_each(|waiter| waiter.hash(hasher));
    }
}

impl Serialize for Queue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut all = serializer.serialize_seq(Some(self.len()))?;
        self.iter().try_for_each(|waiter| all.serialize_element(waiter))?;
        all.end()
    }
}

impl<'de> Deserialize<'de> for Queue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut queue = Queue::default();
        Vec::deserialize(deserializer)?.into_iter().for_each(|waiter| queue.push_back(waiter));
        Ok(queue)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellwether_core::Draws;
    use std::hash::DefaultHasher;

    fn hashed(value: &impl Hash) -> u64 {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        hasher.finish()
    }

    #[test]
    fn it_is_in_every_respect_what_a_list_is() {
        for seed in 0..100 {
            let mut draws = Draws::new(seed);
            let (mut queue, mut list) = (Queue::default(), VecDeque::new());
            for number in 0..60 {
                if draws.below(2) == 0 {
                    let waiter = (SessionId(draws.below(9)), number, Mode::Shared);
                    queue.push_back(waiter);
                    list.push_back(waiter);
                } else {
                    let place = draws.below(1 + list.len() as u64) as usize;
                    assert_eq!(queue.remove(place), list.remove(place));
                }
                assert_eq!((queue.len(), queue.is_empty()), (list.len(), list.is_empty()));
                assert_eq!((queue.front(), queue.get(1)), (list.front(), list.get(1)));
                assert!(queue.iter().eq(&list) && queue.iter().rev().eq(list.iter().rev()));
                for from in 0..=list.len() {
                    assert!(queue.range(from..).eq(list.range(from..)));
                    assert!(queue.range(..from).eq(list.range(..from)));
                }
                assert!(list.iter().enumerate().all(|(place, waiter)| queue[place] == *waiter));
                assert_eq!(format!("{queue:?}"), format!("{list:?}"));
                assert_eq!(hashed(&queue), hashed(&list));
                let bytes = postcard::to_allocvec(&queue).unwrap();
                assert_eq!(bytes, postcard::to_allocvec(&list).unwrap());
                assert_eq!(postcard::from_bytes::<Queue>(&bytes), Ok(queue.clone()));
            }
        }
    }

    #[test]
    fn the_first_one_costs_no_more_than_itself() {
        assert_eq!(size_of::<Queue>(), size_of::<Waiter>());
    }
}
