//! The elections by name: from a word in a configuration to a type.

use bellwether_algorithms::election::{
    ActiveList, Bully, ChangRoberts, Election, HirschbergSinclair, Peterson, Ring,
};

/// Something to be done with an election once its type is known.
pub trait Visitor {
    /// What comes of it.
    type Output;
    /// Does it.
    fn visit<E: Election>(self) -> Self::Output;
}

macro_rules! elections {
    ($($election:ty),+ $(,)?) => {
        /// Their names, the default first.
        pub const NAMES: &[&str] = &[$(<$election as Election>::ENTRY.name),+];

        /// Visits the election of this name, if there is one.
        pub fn visit<V: Visitor>(name: &str, visitor: V) -> Option<V::Output> {
            $(if name == <$election as Election>::ENTRY.name {
                return Some(visitor.visit::<$election>());
            })+
            None
        }
    };
}

elections![Bully, Ring, ActiveList, ChangRoberts, HirschbergSinclair, Peterson];

#[cfg(test)]
mod tests {
    use super::*;
    use bellwether_algorithms::catalogue::ENTRIES;

    struct Name;
    impl Visitor for Name {
        type Output = &'static str;
        fn visit<E: Election>(self) -> &'static str {
            E::ENTRY.name
        }
    }

    #[test]
    fn every_election_of_the_catalogue_can_be_chosen() {
        let catalogue = ENTRIES.iter().filter(|entry| entry.family == "election");
        for entry in catalogue {
            assert_eq!(visit(entry.name, Name), Some(entry.name));
        }
        assert_eq!(visit("bulli", Name), None);
    }
}
