//! All algorithms by name.
//!
//! A [`Catalogue`] is a value: the textbooks' algorithms ([`catalogue`]), or those and some of your
//! own ([`Catalogue::with`]). To add an algorithm to the former, write its file and add its line to
//! the list in its family's `mod.rs`.

use crate::definition::{Algorithm, Definition};
use crate::snapshot::snapshots_of_any;
use crate::{agreement, deadlock, duty, election, mutex, order, time};
use bellwether_core::{AnyProcess, Erasable};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// An algorithm of a catalogue.
pub type Listed = Arc<Definition<AnyProcess>>;

/// Algorithms by name.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    listed: Vec<Listed>,
    /// Where in the list snapshots of all the others are, if there are any.
    snapshots: Option<usize>,
}

/// Why a catalogue cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadCatalogue {
    /// It lists nothing.
    Empty,
    /// Two algorithms have the same name.
    Twice(&'static str),
    /// A name cannot be typed as one word.
    InvalidName(&'static str),
    /// The name of an option cannot be a flag.
    InvalidOption {
        /// The algorithm.
        algorithm: &'static str,
        /// The option.
        option: &'static str,
    },
    /// An algorithm declares an option twice.
    OptionTwice {
        /// The algorithm.
        algorithm: &'static str,
        /// The option.
        option: &'static str,
    },
    /// Two algorithms declare an option, one with a value and one without.
    OptionDiffers {
        /// The option.
        option: &'static str,
        /// The algorithms.
        algorithms: [&'static str; 2],
    },
}

impl fmt::Display for BadCatalogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadCatalogue::Empty => {
                f.write_str("the catalogue lists no algorithm; add one with Catalogue::with")
            }
            BadCatalogue::Twice(name) => {
                write!(f, "two algorithms are called '{name}'; give one of them another name")
            }
            BadCatalogue::InvalidName(name) => write!(
                f,
                "'{name}' cannot be the name of an algorithm; use lower-case letters, digits and '-'"
            ),
            BadCatalogue::InvalidOption { algorithm, option } => write!(
                f,
                "{algorithm} declares the option '{option}', which cannot be a flag; use lower-case \
                 letters, digits and '-'"
            ),
            BadCatalogue::OptionTwice { algorithm, option } => {
                write!(f, "{algorithm} declares the option '{option}' twice; remove one of them")
            }
            BadCatalogue::OptionDiffers { option, algorithms: [one, other] } => write!(
                f,
                "{one} and {other} both declare the option '{option}', but only one of them with a \
                 value; rename one of them"
            ),
        }
    }
}

impl std::error::Error for BadCatalogue {}

impl Catalogue {
    /// A catalogue without any algorithm.
    pub fn empty() -> Self {
        Catalogue::default()
    }

    /// The same with one more algorithm.
    #[must_use]
    pub fn with<A: Algorithm + Erasable>(self) -> Self {
        self.with_definition(A::definition().erase())
    }

    /// The same with one more algorithm, by its definition.
    #[must_use]
    pub fn with_definition(mut self, definition: Definition<AnyProcess>) -> Self {
        self.listed.push(Arc::new(definition));
        if let Some(index) = self.snapshots {
            self.listed[index] = Arc::new(snapshots_of_any(&self.others(index)));
        }
        self
    }

    /// The same with snapshots of all its algorithms, those that are added later included.
    #[must_use]
    fn with_snapshots(mut self) -> Self {
        let index = self.listed.len();
        self.listed.push(Arc::new(snapshots_of_any(&self.listed)));
        self.snapshots = Some(index);
        self
    }

    /// All but the one at this index.
    fn others(&self, index: usize) -> Vec<Listed> {
        let listed = self.listed.iter().enumerate();
        listed.filter(|(place, _)| *place != index).map(|(_, listed)| listed.clone()).collect()
    }

    /// The algorithm of this name.
    pub fn get(&self, name: &str) -> Option<&Listed> {
        self.listed.iter().find(|listed| listed.name() == name)
    }

    /// All algorithms, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Listed> {
        self.listed.iter()
    }

    /// The names of all families, in the order of their first algorithms.
    pub fn families(&self) -> Vec<&'static str> {
        let mut families = Vec::new();
        for listed in &self.listed {
            if !families.contains(&listed.entry.family) {
                families.push(listed.entry.family);
            }
        }
        families
    }

    /// Whether it can be used: a command checks this before anything runs.
    pub fn check(&self) -> Result<(), BadCatalogue> {
        if self.listed.is_empty() {
            return Err(BadCatalogue::Empty);
        }
        let mut names = BTreeSet::new();
        for listed in &self.listed {
            let name = listed.name();
            if !is_word(name) {
                return Err(BadCatalogue::InvalidName(name));
            }
            if !names.insert(name) {
                return Err(BadCatalogue::Twice(name));
            }
            for (index, option) in listed.options.iter().enumerate() {
                if !is_word(option.name) {
                    let option = option.name;
                    return Err(BadCatalogue::InvalidOption { algorithm: name, option });
                }
                if listed.options[..index].iter().any(|other| other.name == option.name) {
                    let option = option.name;
                    return Err(BadCatalogue::OptionTwice { algorithm: name, option });
                }
                let differs = |other: &&Listed| {
                    let has_value = option.value.is_some();
                    let mut options = other.options.iter();
                    options.any(|o| o.name == option.name && o.value.is_some() != has_value)
                };
                if let Some(other) = self.listed.iter().find(differs) {
                    let algorithms = [name, other.name()];
                    return Err(BadCatalogue::OptionDiffers { option: option.name, algorithms });
                }
            }
        }
        Ok(())
    }
}

/// Whether a name can be typed as one word.
fn is_word(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !name.is_empty() && !name.starts_with('-') && name.chars().all(is_letter)
}

/// The textbooks' algorithms, family by family, and snapshots of any of them.
pub fn catalogue() -> Catalogue {
    let families = [
        election::listed,
        mutex::listed,
        time::listed,
        order::listed,
        deadlock::listed,
        agreement::listed,
        duty::listed,
    ];
    families.iter().fold(Catalogue::empty(), |all, family| family(all)).with_snapshots()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::Settings;
    use crate::options::Opt;
    use crate::snapshot::Bank;
    use std::time::Duration;

    #[test]
    fn the_textbooks_catalogue_is_sound_and_has_everything_by_name() {
        let catalogue = catalogue();
        assert_eq!(catalogue.check(), Ok(()));
        for listed in catalogue.iter() {
            assert_eq!(catalogue.get(listed.name()).map(|found| found.name()), Some(listed.name()));
        }
        assert!(catalogue.get("bulli").is_none());
        assert_eq!(catalogue.iter().last().map(|listed| listed.name()), Some("chandy-lamport"));
    }

    #[test]
    fn snapshots_can_be_taken_of_what_is_added() {
        let catalogue = catalogue();
        let mut settings = Settings::new(Duration::from_millis(10));
        settings.options.set("over", "bank-of-mine");
        let snapshots = |catalogue: &Catalogue| {
            catalogue
                .get("chandy-lamport")
                .unwrap()
                .variant(&settings)
                .map(|variant| variant.name())
        };
        assert!(snapshots(&catalogue).is_err());
        let mut mine = Bank::definition().erase();
        mine.entry.name = "bank-of-mine";
        assert_eq!(snapshots(&catalogue.with_definition(mine)), Ok("chandy-lamport"));
    }

    #[test]
    fn what_cannot_be_used_is_refused() {
        const SWITCH: Opt = Opt { name: "answers", value: None, help: "" };
        let bank = |name| {
            let mut bank = Bank::definition().erase();
            bank.entry.name = name;
            bank
        };
        let with = |definition| catalogue().with_definition(definition).check().unwrap_err();
        assert_eq!(Catalogue::empty().check(), Err(BadCatalogue::Empty));
        assert_eq!(with(bank("bully")), BadCatalogue::Twice("bully"));
        for name in ["My Process", "", "-x"] {
            assert_eq!(with(bank(name)), BadCatalogue::InvalidName(name));
        }
        for option in ["two words", "", "-x", "a=b", "drop_rate"] {
            let options = [Opt { name: option, ..SWITCH }];
            let invalid = BadCatalogue::InvalidOption { algorithm: "own", option };
            assert_eq!(with(bank("own").options(Vec::from(options).leak())), invalid);
        }
        let twice = BadCatalogue::OptionTwice { algorithm: "bank", option: "answers" };
        assert_eq!(
            Catalogue::empty().with_definition(bank("bank").options(&[SWITCH; 2])).check(),
            Err(twice)
        );
        let algorithms = ["causal-broadcast", "bank"];
        let differs = BadCatalogue::OptionDiffers { option: "answers", algorithms };
        assert_eq!(with(bank("bank").options(&[SWITCH])), differs);
    }
}
