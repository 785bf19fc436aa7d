//! Who hears what all keepers have and tell, and remembers it.

use super::keeper::{Keeper, Log, Told};
use bellwether_algorithms::referee::{Breach, Fact, Referee};
use bellwether_core::{NodeId, Time};
use bellwether_member::mandate::{Epoch, Version};
use std::collections::{BTreeMap, BTreeSet};

/// What was had and told so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Auditor {
    /// Every version that anybody ever had.
    copies: BTreeMap<Version, Log>,
    /// Who has ever had a change that was not told yet.
    had: BTreeMap<u8, BTreeSet<NodeId>>,
    /// What was told, and in which epoch.
    told: BTreeSet<(u8, Epoch)>,
    /// What is claimed instead, to see that it can be found wrong.
    instead: Option<Instead>,
}

/// Something that is not so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Instead {
    /// Whatever a leader has done survives, told or not.
    NothingDoneIsLost,
    /// What was told in one epoch is never followed by another one.
    NothingFollows,
}

const COPIES: &str = "copies";
const LOST: &str = "nothing-lost";
const MAJORITY: &str = "majority";

impl Auditor {
    pub(crate) fn boxed(instead: Option<Instead>) -> Box<dyn Referee<Keeper>> {
        Box::new(Auditor { instead, ..Auditor::default() })
    }

    /// Whether the state with which an epoch began has all that was told in earlier ones.
    fn keeps(&self, version: Version, log: &Log) -> bool {
        let mut earlier = self.told.iter().filter(|(_, epoch)| *epoch < version.epoch);
        earlier.all(|(command, _)| log.0.contains(command))
    }

    fn has(&mut self, who: NodeId, version: Version, log: &Log) -> Result<(), Breach> {
        if self.copies.get(&version).is_some_and(|other| other != log) {
            return broken(COPIES, "two copies of one version are the same", who);
        }
        if !self.keeps(version, log) {
            return broken(LOST, "whatever was told is in the copy of every later mandate", who);
        }
        if self.instead == Some(Instead::NothingDoneIsLost)
            && self.copies.iter().any(|(older, had)| *older < version && !log.0.starts_with(&had.0))
        {
            return broken("done", "whatever was done stays done", who);
        }
        for command in &log.0 {
            if !self.told.iter().any(|(told, _)| told == command) {
                self.had.entry(*command).or_default().insert(who);
            }
        }
        self.copies.insert(version, log.clone());
        Ok(())
    }

    fn done(&mut self, who: NodeId, command: u8, epoch: Epoch) -> Result<(), Breach> {
        let had = self.had.remove(&command).unwrap_or_default().len();
        if had < 2 && !self.told.iter().any(|(told, _)| *told == command) {
            return broken(MAJORITY, "nothing is told that a majority did not have", who);
        }
        if self.instead == Some(Instead::NothingFollows)
            && self.told.iter().any(|(_, earlier)| *earlier < epoch)
        {
            return broken("follows", "nothing is told after an epoch in which something was", who);
        }
        self.told.insert((command, epoch));
        let mut later = self.copies.iter().filter(|(version, _)| version.epoch > epoch);
        if later.any(|(_, log)| !log.0.contains(&command)) {
            return broken(LOST, "whatever is told is in the copies of later mandates", who);
        }
        Ok(())
    }
}

fn broken(name: &'static str, text: &'static str, who: NodeId) -> Result<(), Breach> {
    Err(Breach { name, text, by: vec![who] })
}

impl Referee<Keeper> for Auditor {
    fn hears(&mut self, _: Time, who: NodeId, told: &Told) -> Result<(), Breach> {
        match told {
            Told::Has(version, log) => self.has(who, *version, log),
            Told::Done(command, epoch) => self.done(who, *command, *epoch),
            Told::Won(_) => Ok(()),
        }
    }

    fn claims(&self) -> Vec<&'static str> {
        vec![COPIES, LOST, MAJORITY]
    }

    fn facts(&self) -> Vec<Fact> {
        Vec::new()
    }
}
