//! A list that is nearly always empty or of length one.

/// What a part said during one step: nothing, one thing, rarely more.
///
/// A `Vec` would allocate whenever a part says anything at all; this allocates only from the
/// second item on, so a step through nested parts stays free of allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Few<T> {
    /// Nothing.
    None,
    /// One item.
    One(T),
    /// Several, in order.
    Many(Vec<T>),
}

impl<T> Few<T> {
    /// Adds an item at the end.
    #[inline]
    pub fn push(&mut self, item: T) {
        if let Few::None = self {
            *self = Few::One(item);
        } else {
            self.push_more(item);
        }
    }

    #[cold]
    fn push_more(&mut self, item: T) {
        *self = match std::mem::replace(self, Few::None) {
            Few::None => Few::One(item),
            Few::One(first) => Few::Many(vec![first, item]),
            Few::Many(mut items) => {
                items.push(item);
                Few::Many(items)
            }
        };
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Few::None => 0,
            Few::One(_) => 1,
            Few::Many(items) => items.len(),
        }
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Iterates over [`Few`] by value.
#[derive(Debug)]
pub enum IntoIter<T> {
    /// At most one item is left.
    Short(Option<T>),
    /// From the allocated form.
    Long(std::vec::IntoIter<T>),
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;
    #[inline]
    fn next(&mut self) -> Option<T> {
        match self {
            IntoIter::Short(item) => item.take(),
            IntoIter::Long(items) => items.next(),
        }
    }
}

impl<T> IntoIterator for Few<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;
    #[inline]
    fn into_iter(self) -> IntoIter<T> {
        match self {
            Few::None => IntoIter::Short(None),
            Few::One(item) => IntoIter::Short(Some(item)),
            Few::Many(items) => IntoIter::Long(items.into_iter()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_order_through_every_form() {
        let mut few = Few::None;
        assert!(few.is_empty());
        for n in 0..5 {
            few.push(n);
            assert_eq!(few.len(), n + 1);
        }
        assert_eq!(few.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    }
}
