//! What transactions do: as a script says, or as chance would have it.
//!
//! A job (`work`) is a transaction that takes some locks one after the other, works for a while
//! with each, and gives all back at the end. Which locks follows from the site and the number of
//! the job alone, so that a run is the same every time.

use super::names::{Resource, Tx, number};
use crate::cost::Script;
use crate::definition::Settings;
use crate::options::{BadOption, Opt, duration};
use bellwether_core::Group;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::time::Duration;

const RESOURCES: Opt = Opt {
    name: "resources",
    value: Some("N"),
    help: "How many resources each site has for jobs to lock (default 2)",
};
const LOCKS: Opt = Opt {
    name: "locks",
    value: Some("N"),
    help: "How many locks a job takes, one after the other (default 3)",
};
const HOLD: Opt = Opt {
    name: "hold",
    value: Some("TIME"),
    help: "How long a job works with each lock, or from and to: 5ms, 1ms..9ms (default T/4..2T)",
};
const PATIENCE: Opt = Opt {
    name: "patience",
    value: Some("TIME"),
    help: "A quarter of the jobs give up after waiting for a lock for this long (default: never)",
};
const UNCONFIRMED: Opt = Opt {
    name: "unconfirmed",
    value: None,
    help: "Abort a victim at once, without asking whether the cycle still stands",
};

/// One cycle over all sites: transaction i is at home at site i, holds the resource there, and asks
/// for that of the next site, each a fixed number of time-outs after the one before. The transactions have
/// these numbers, in the order in which they wait for each other, and one of them must be aborted.
/// Only the detector's own messages count; the locks' and the confirmation's are overhead.
pub(super) fn cycle(numbers: &[u32], apart: u32) -> Script {
    let sites = numbers.len() as u32;
    let lock = |number, site| format!("lock:T{number}:S{site}.a");
    let homes = || (1..).zip(numbers);
    let script = homes()
        .fold(Script::of(sites), |script, (home, number)| script.ask(home, &lock(number, home)));
    let script = homes().fold(script, |script, (home, number)| {
        script.ask_at(1 + apart * (home - 1), home, &lock(number, home % sites + 1))
    });
    Script { finds: Some(("transactions", "aborted", 1)), ..script }
}

/// The options that all detectors have.
pub(super) const OPTIONS: &[Opt] = &[RESOURCES, LOCKS, HOLD, PATIENCE, UNCONFIRMED];

/// The same with those of the centralised one.
pub(super) const CENTRAL_OPTIONS: &[Opt] = &[
    RESOURCES,
    LOCKS,
    HOLD,
    PATIENCE,
    UNCONFIRMED,
    Opt {
        name: "interval",
        value: Some("TIME"),
        help: "How often the coordinator looks for deadlocks (default 4T; 0: only when asked)",
    },
    Opt {
        name: "unlabelled",
        value: None,
        help: "Believe every edge that any site reports, without comparing timestamps",
    },
];

/// The verbs that all detectors have.
pub(super) const VERBS: &[&str] =
    &["work", "begin:T1", "lock:T1:S2.a", "unlock:T1:S2.a", "commit:T1", "abort:T1"];

/// The same with those of the centralised one.
pub(super) const CENTRAL_VERBS: &[&str] = &[
    "work",
    "begin:T1",
    "lock:T1:S2.a",
    "unlock:T1:S2.a",
    "commit:T1",
    "abort:T1",
    "detect",
    "suspect",
    "start",
];

/// What a script can have a site do. Transactions are those at home there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Deed {
    /// One more job.
    Work,
    /// This transaction begins.
    Begin(u32),
    /// It asks for a lock; if it has not begun, it does.
    Lock(u32, Resource),
    /// It gives a lock back before its end.
    Unlock(u32, Resource),
    /// It ends, and gives back all its locks.
    Commit(u32),
    /// The same, because it has changed its mind.
    Abort(u32),
}

impl Deed {
    pub(super) fn parse(verb: &str) -> Option<Self> {
        let mut parts = verb.split(':');
        let name = parts.next()?;
        if name == "work" {
            return parts.next().is_none().then_some(Deed::Work);
        }
        let tx = number(parts.next()?.strip_prefix('T')?)?;
        let resource = parts.next().map(Resource::parse);
        let deed = match (name, resource) {
            ("begin", None) => Deed::Begin(tx),
            ("lock", Some(Some(resource))) => Deed::Lock(tx, resource),
            ("unlock", Some(Some(resource))) => Deed::Unlock(tx, resource),
            ("commit", None) => Deed::Commit(tx),
            ("abort", None) => Deed::Abort(tx),
            _ => return None,
        };
        parts.next().is_none().then_some(deed)
    }

    pub(super) fn verb(self) -> Cow<'static, str> {
        match self {
            Deed::Work => Cow::Borrowed("work"),
            Deed::Begin(tx) => Cow::Owned(format!("begin:T{tx}")),
            Deed::Lock(tx, resource) => Cow::Owned(format!("lock:T{tx}:{resource}")),
            Deed::Unlock(tx, resource) => Cow::Owned(format!("unlock:T{tx}:{resource}")),
            Deed::Commit(tx) => Cow::Owned(format!("commit:T{tx}")),
            Deed::Abort(tx) => Cow::Owned(format!("abort:T{tx}")),
        }
    }
}

/// How jobs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jobs {
    /// How many resources each site has for them.
    pub resources: u32,
    /// How many locks each takes.
    pub locks: u32,
    /// How long some of them wait at most.
    pub patience: Option<Duration>,
    /// How long they work with each lock before they ask for the next, from and to.
    pub hold: (Duration, Duration),
}

/// More would make a run unreadable, and a senseless number overflow.
const MOST: u32 = 1_000;

impl Jobs {
    pub(super) fn read(settings: &Settings) -> Result<Self, BadOption> {
        let options = &settings.options;
        let count = |option: &'static str, default| {
            let why = || format!("must be from 1 to {MOST}");
            match options.number::<u32>(option, default)? {
                count @ 1..=MOST => Ok(count),
                _ => Err(BadOption { option, why: why() }),
            }
        };
        Ok(Jobs {
            resources: count("resources", 2)?,
            locks: count("locks", 3)?,
            hold: options.read("hold", span)?.unwrap_or_else(|| usual_hold(settings)),
            patience: options.read("patience", duration)?,
        })
    }

    /// With the defaults in place of what cannot be read.
    pub(super) fn read_or_default(settings: &Settings) -> Self {
        let plain = Settings { options: Default::default(), ..settings.clone() };
        let hold = usual_hold(settings);
        let default = || Jobs { resources: 2, locks: 3, hold, patience: None };
        Jobs::read(settings).or_else(|_| Jobs::read(&plain)).unwrap_or_else(|_| default())
    }

    /// The locks of a transaction, in the order in which it takes them; the last comes first here.
    pub(super) fn locks_of(&self, tx: Tx, group: &Group) -> Vec<Resource> {
        let all = group.len() as u64 * u64::from(self.resources);
        let mut taken: Vec<u64> = Vec::new();
        for index in 0..u64::from(self.locks).min(all) {
            let mut choice = mix(key(tx) ^ index.wrapping_mul(0xD6E8_FEB8_6659_FD93)) % all;
            while taken.contains(&choice) {
                choice = (choice + 1) % all;
            }
            taken.push(choice);
        }
        let resource = |choice: u64| Resource {
            site: group.ring()[(choice % group.len() as u64) as usize],
            name: (choice / group.len() as u64) as u32,
        };
        taken.into_iter().rev().map(resource).collect()
    }

    /// How long a transaction waits at most.
    pub(super) fn patience_of(&self, tx: Tx) -> Option<Duration> {
        self.patience.filter(|_| mix(key(tx)).is_multiple_of(4))
    }
}

fn usual_hold(settings: &Settings) -> (Duration, Duration) {
    (settings.timeout / 4, settings.timeout.saturating_mul(2))
}

/// `5ms` or `1ms..9ms`.
fn span(text: &str) -> Result<(Duration, Duration), String> {
    let Some((from, to)) = text.split_once("..") else {
        let exact = duration(text)?;
        return Ok((exact, exact));
    };
    let (from, to) = (duration(from)?, duration(to)?);
    if from > to {
        return Err(format!("'{text}' ends before it begins; expected the smaller time first"));
    }
    Ok((from, to))
}

fn key(tx: Tx) -> u64 {
    u64::from(tx.number) << 32 | u64::from(tx.home.number())
}

/// SplitMix64's mixing function.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ value >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ value >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ value >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellwether_core::NodeId;
    use std::collections::BTreeSet;

    #[test]
    fn deeds_are_read_as_they_are_written() {
        for verb in ["work", "begin:T2", "lock:T2:S1.a", "unlock:T2:S1.b", "commit:T2", "abort:T2"]
        {
            assert_eq!(Deed::parse(verb).unwrap().verb(), verb);
        }
        let wrong =
            ["", "lock", "lock:T2", "lock:2:S1.a", "lock:T2:1a", "begin:T2:S1.a", "work:T2"];
        for verb in wrong.into_iter().chain(["lock:T2:S1.a:b", "commit:T", "commit:T+2"]) {
            assert_eq!(Deed::parse(verb), None, "{verb}");
        }
    }

    #[test]
    fn options_are_read_or_refused_with_a_reason() {
        let ms = Duration::from_millis;
        let read = |name: &str, value: &str| {
            let mut settings = Settings::new(ms(100));
            settings.options.set(name, value);
            Jobs::read(&settings)
        };
        assert_eq!(read("hold", "1ms..9ms").unwrap().hold, (ms(1), ms(9)));
        assert_eq!(read("hold", "5ms").unwrap().hold, (ms(5), ms(5)));
        assert_eq!(read("locks", "7").unwrap().locks, 7);
        for (name, value) in [("hold", "9ms..1ms"), ("hold", "5"), ("locks", "0"), ("locks", "-1")]
        {
            assert_eq!(read(name, value).unwrap_err().option, name, "{value}");
        }
        assert_eq!(read("resources", "1001").unwrap_err().why, "must be from 1 to 1000");
    }

    #[test]
    fn a_job_takes_different_locks_and_jobs_take_different_ones() {
        let group = Group::numbered(3).unwrap();
        let hold = (Duration::ZERO, Duration::ZERO);
        let jobs = Jobs { resources: 2, locks: 3, hold, patience: None };
        let mut all = BTreeSet::new();
        for number in 0..50 {
            let tx = Tx { number, home: NodeId::new(1) };
            let locks = jobs.locks_of(tx, &group);
            assert_eq!(locks.iter().collect::<BTreeSet<_>>().len(), 3);
            all.insert(locks);
        }
        assert!(all.len() > 25, "{}", all.len());
        let greedy = Jobs { locks: 1_000, ..jobs };
        assert_eq!(greedy.locks_of(Tx { number: 1, home: NodeId::new(2) }, &group).len(), 6);
    }
}
