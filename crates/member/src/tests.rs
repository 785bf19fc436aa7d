//! What the tests of several modules share.

use crate::{Choices, Config, Ranks};
use bellwether_algorithms::election::Bully;
use bellwether_core::Group;

/// Five equal members with a bully election, heartbeats of 100 ms and leases of half a second.
pub(crate) fn config() -> Config {
    let group = Group::numbered(5).unwrap();
    Config::new::<Bully>(&Choices::default(), Ranks::equal(&group), &group).unwrap()
}
