//! Counting messages by kind.

use bellwether_core::{Kind, Role};
use std::collections::BTreeMap;

/// How many messages of each kind were sent.
///
/// There are a handful of kinds, and they are met in every event: a short list that is searched
/// from the front beats any map.
#[derive(Clone, Debug, Default)]
pub struct Tally(Vec<(Kind, u64)>);

impl Tally {
    #[inline]
    pub(crate) fn add(&mut self, kind: Kind) {
        for (known, count) in &mut self.0 {
            // The same literal nearly always has the same address.
            if std::ptr::eq(known.name, kind.name) && known.role == kind.role {
                *count += 1;
                return;
            }
        }
        self.add_slowly(kind);
    }

    #[cold]
    fn add_slowly(&mut self, kind: Kind) {
        match self.0.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count += 1,
            None => self.0.push((kind, 1)),
        }
    }

    /// All kinds, in the order in which they were first sent.
    pub fn iter(&self) -> impl Iterator<Item = (Kind, u64)> + '_ {
        self.0.iter().copied()
    }

    /// How many messages of the algorithm proper, by name: what the cost formulas count.
    pub fn protocol(&self) -> BTreeMap<&'static str, u64> {
        self.of(|role| role == Role::Protocol)
    }

    /// How many other messages, by name: repeated ones, acknowledgements, the detector's.
    pub fn overhead(&self) -> BTreeMap<&'static str, u64> {
        self.of(|role| role != Role::Protocol)
    }

    fn of(&self, wanted: impl Fn(Role) -> bool) -> BTreeMap<&'static str, u64> {
        let kinds = self.0.iter().filter(|(kind, _)| wanted(kind.role));
        kinds.map(|(kind, count)| (kind.name, *count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_by_name_and_role() {
        let mut tally = Tally::default();
        for _ in 0..3 {
            tally.add(Kind::protocol("OK"));
        }
        tally.add(Kind::overhead("OK"));
        // Another address, the same name.
        tally.add(Kind::protocol(String::from("OK").leak()));
        tally.add(Kind::repeat("RESEND"));
        assert_eq!(tally.protocol(), BTreeMap::from([("OK", 4)]));
        assert_eq!(tally.overhead(), BTreeMap::from([("OK", 1), ("RESEND", 1)]));
    }
}
