//! The catalogue, for tests of an algorithm by its name and of every algorithm of a family.

use bellwether_algorithms::catalogue::{Catalogue, Listed, catalogue};
use std::sync::LazyLock;
use std::thread;

pub(crate) static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(catalogue);

/// How many random schedules a test plays where one takes long. `make soak` plays more: it says how
/// many in the environment variable SCHEDULES.
pub(crate) fn schedules() -> u64 {
    let given = std::env::var("SCHEDULES").ok();
    given.map_or(2_000, |text| text.parse().expect("SCHEDULES is a number"))
}

/// The algorithm of this name.
pub(crate) fn listed(name: &str) -> &'static Listed {
    CATALOGUE.get(name).unwrap_or_else(|| panic!("the catalogue has no '{name}'"))
}

/// All algorithms of a family.
pub(crate) fn family(name: &str) -> Vec<&'static Listed> {
    let family: Vec<_> = CATALOGUE.iter().filter(|listed| listed.entry.family == name).collect();
    assert!(!family.is_empty(), "the catalogue has no family '{name}'");
    family
}

/// Checks every algorithm of a family, each in a thread of its name, and says which ones fail.
pub(crate) fn each_of(name: &str, check: impl Fn(&'static Listed) + Sync) {
    let check = &check;
    let failed: Vec<&str> = thread::scope(|scope| {
        let begin = |listed: &'static Listed| {
            let thread = thread::Builder::new().name(listed.name().to_owned());
            let thread = thread.spawn_scoped(scope, move || check(listed));
            (listed.name(), thread.expect("a thread can be started"))
        };
        let threads: Vec<_> = family(name).into_iter().map(begin).collect();
        threads.into_iter().filter_map(|(name, thread)| thread.join().err().map(|_| name)).collect()
    });
    assert!(failed.is_empty(), "these fail: {failed:?}");
}
