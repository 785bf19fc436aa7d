use super::*;
use crate::catalogue::catalogue;
use crate::definition::Settings;
use crate::order::{Causal, MessageId, Output, Promises};
use bellwether_core::Group;
use std::hash::DefaultHasher;

fn hash<P: Process>(referee: &dyn Referee<P>) -> u64 {
    let mut hasher = DefaultHasher::new();
    referee.hash(&mut hasher);
    hasher.finish()
}

fn referee() -> Box<dyn Referee<Causal>> {
    Promises::causal().referee(&Group::numbered(3).unwrap())
}

fn hear(referee: &mut dyn Referee<Causal>) {
    let sender = NodeId::new(2);
    let id = MessageId { sender, life: 0, count: 1 };
    referee.hears(Time::ZERO, sender, &Output::Broadcast { id, answers: None }).unwrap();
}

#[test]
fn a_clone_is_equal_and_hashes_alike_until_one_of_them_hears_something() {
    let mut heard = referee();
    let before = heard.clone();
    assert_eq!(heard, before);
    assert_eq!(hash(&*heard), hash(&*before));

    hear(&mut *heard);
    assert_ne!(heard, before);
    assert_ne!(hash(&*heard), hash(&*before));
    assert_eq!(before, referee(), "a clone does not hear what the other hears");

    let mut again = before.clone();
    hear(&mut *again);
    assert_eq!(heard, again, "referees that have heard the same are equal");
    assert_eq!(hash(&*heard), hash(&*again));
}

/// All that an author writes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Deaf;

impl<P: Process> Referee<P> for Deaf {
    fn hears(&mut self, _: Time, _: NodeId, _: &P::Output) -> Result<(), Breach> {
        Ok(())
    }

    fn claims(&self) -> Vec<&'static str> {
        vec![]
    }

    fn facts(&self) -> Vec<Fact> {
        Vec::new()
    }
}

#[test]
fn referees_of_different_types_differ() {
    let deaf: Box<dyn Referee<Causal>> = Box::new(Deaf);
    assert_eq!(deaf, deaf.clone());
    assert_ne!(deaf, referee());
    assert_ne!(referee(), deaf);
}

#[test]
fn every_referee_of_the_catalogue_is_a_value() {
    let mut families = std::collections::BTreeSet::new();
    for listed in catalogue().iter() {
        let group = Group::numbered(listed.nodes.unwrap_or(4)).unwrap();
        let config = listed.config(&Settings::new(Duration::from_millis(100)), &group);
        let Some(mut referee) = listed.new_referee(&config, &group) else { continue };
        assert_eq!(Some(&referee), listed.new_referee(&config, &group).as_ref(), "made twice");
        referee.crashed(Time::ZERO, NodeId::new(1));
        let clone = referee.clone();
        assert_eq!(referee, clone);
        assert_eq!(hash(&*referee), hash(&*clone));
        families.insert(listed.entry.family);
    }
    assert!(families.into_iter().eq([
        "agreement",
        "deadlock",
        "duty",
        "order",
        "snapshot",
        "time"
    ]));
}
