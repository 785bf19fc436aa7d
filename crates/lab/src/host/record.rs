//! What is left of a real run: the journals of its processes and the parent's own notes. Together
//! they are the run, and can be told again at any time.

use super::wire::Knobs;
use crate::own;
use crate::program::catalogue;
use bellwether_algorithms::catalogue::Listed;
use bellwether_core::{AnyProcess, Group, NodeId, Time};
use bellwether_net::Step;
use bellwether_net::journal::{self, JournalError};
use bellwether_shell::Failure;
use bellwether_sim::replay::{Happened, Recorded, Replay, Replayed};
use bellwether_sim::{Observer, Violation};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// The name and version of the parent's notes.
const SCHEMA: &str = "bellwether.host/1";
/// Where they are kept.
const NOTES: &str = "run.json";

/// The parent's notes. Times are in microseconds since the start of the machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) schema: String,
    pub(crate) algorithm: String,
    /// The members in ring order, with how many lives each has had.
    pub(crate) members: Vec<(u32, u64)>,
    pub(crate) settings: Knobs,
    /// When all had started. The run's own time counts from here.
    pub(crate) began_us: u64,
    /// What a right clock showed then.
    #[serde(default)]
    pub(crate) began_clock_us: u64,
    /// When it ended, unless it is still going on.
    pub(crate) ended_us: Option<u64>,
    /// Whether it was cut off because the journals grew and grew.
    pub(crate) storm: bool,
    pub(crate) deeds: Vec<Deed>,
}

/// Something that the parent did to a process.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Deed {
    pub(crate) at_us: u64,
    pub(crate) id: u32,
    pub(crate) life: u64,
    pub(crate) what: Did,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Did {
    Kill,
    Stop,
    Continue,
}

const JOURNAL: &str = "journal-";

/// The journal of a process in one of its lives.
pub(crate) fn journal_name(id: u32, life: u64) -> String {
    format!("{JOURNAL}{id}.{life}")
}

/// How large the journals in a directory are together, in bytes.
pub(crate) fn journalled(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let journals = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(JOURNAL));
    journals.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum()
}

impl Record {
    pub(crate) fn new(algorithm: &str, group: &Group, settings: Knobs) -> Self {
        Record {
            schema: SCHEMA.to_owned(),
            algorithm: algorithm.to_owned(),
            members: group.ring().iter().map(|id| (id.number(), 0)).collect(),
            settings,
            began_us: 0,
            began_clock_us: 0,
            ended_us: None,
            storm: false,
            deeds: Vec::new(),
        }
    }

    /// How many operating-system processes there were.
    pub(crate) fn processes(&self) -> u64 {
        self.members.iter().map(|(_, lives)| lives).sum()
    }

    /// How long it took, from the moment when all had started.
    pub(crate) fn length(&self) -> Time {
        let began = Time::from_micros(self.began_us);
        let ended = self.ended_us.map_or(began, Time::from_micros);
        Time::ZERO + ended.since(began)
    }

    /// Reads the notes of a run that was kept in this directory.
    pub(crate) fn load(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join(NOTES);
        let text = fs::read_to_string(&path).map_err(|error| Failure::Read(path.clone(), error))?;
        let damaged = |what: String| Failure::Input(format!("{}: {what}", path.display()));
        let record: Record = serde_json::from_str(&text)
            .map_err(|error| damaged(format!("these are not the notes of a run ({error})")))?;
        if record.schema != SCHEMA {
            let what = format!("its schema is '{}'; this version reads {SCHEMA}", record.schema);
            return Err(damaged(what));
        }
        if catalogue().get(&record.algorithm).is_none() {
            return Err(damaged(format!("no algorithm '{}' is known", record.algorithm)));
        }
        Ok(record)
    }

    pub(crate) fn save(&self, folder: &Path) -> Result<(), Failure> {
        let path = folder.join(NOTES);
        let text = serde_json::to_string_pretty(self).unwrap_or_default() + "\n";
        fs::write(&path, text).map_err(|error| Failure::Write("keep", path, error))
    }

    pub(crate) fn group(&self) -> Result<Group, Failure> {
        let ring = self.members.iter().map(|(id, _)| NodeId::new(*id)).collect();
        Group::new(ring).map_err(|error| Failure::Input(format!("{NOTES}: {error}")))
    }

    /// The algorithm that ran: with its settings it may be a variant of the one that was named.
    pub(crate) fn variant(&self, algorithm: &Listed) -> Result<Listed, Failure> {
        own::check(algorithm, &self.settings.clone().into(), &self.group()?)
    }

    /// Tells the run up to `until_us`, from the journals in this directory.
    pub(crate) fn tell<O: Observer<AnyProcess>>(
        &self,
        algorithm: &Listed,
        folder: &Path,
        until_us: u64,
        observer: O,
    ) -> Result<Replayed<O>, Failure> {
        let mut events = self.events(algorithm, folder)?;
        events.retain(|event| event.at.as_micros() <= until_us);
        // All that happened before the run began, happened at its beginning, in that order.
        events.sort_by_key(|event| event.at);
        let began = Time::from_micros(self.began_us);
        let since = |at: Time| Time::ZERO + at.since(began);
        for event in &mut events {
            event.at = since(event.at);
        }
        let replay = Replay {
            algorithm: algorithm.clone(),
            group: self.group()?,
            settings: self.settings.clone().into(),
            events,
            ended: since(Time::from_micros(until_us)),
            clock_start: Time::from_micros(self.began_clock_us),
        };
        let mut told = replay.run(observer).map_err(|divergence| {
            Failure::Input(format!(
                "the journals contradict each other: {divergence}. Either {} does not always do \
                 the same when the same comes in, or a message was changed on its way",
                self.algorithm
            ))
        })?;
        if self.storm {
            let text = "the processes sent too many messages, and the run was cut off";
            let at = told.outcome.now;
            let storm = Violation { name: "storm", text, at, by: Vec::new() };
            told.outcome.violation.get_or_insert(storm);
        }
        Ok(told)
    }

    /// What all processes and the parent have noted. Of each process, it is in its order.
    fn events(&self, algorithm: &Listed, folder: &Path) -> Result<Vec<Recorded>, Failure> {
        let mut events = Vec::new();
        for (id, lives) in &self.members {
            for life in 1..=*lives {
                events.extend(self.life(algorithm, folder, *id, life)?);
            }
        }
        Ok(events)
    }

    fn life(
        &self,
        algorithm: &Listed,
        folder: &Path,
        id: u32,
        life: u64,
    ) -> Result<Vec<Recorded>, Failure> {
        let node = NodeId::new(id);
        let entries = match journal::read(&folder.join(journal_name(id, life)), &algorithm.codec) {
            Ok(entries) => entries,
            // It had not come so far.
            Err(JournalError::Io { error, .. }) if error.kind() == ErrorKind::NotFound => vec![],
            Err(error) => return Err(Failure::Input(error.to_string())),
        };
        let mut events: Vec<Recorded> = entries
            .into_iter()
            .map(|Step { at, clock, call, origin }| Recorded {
                at,
                node,
                event: Happened::Step { clock, call, origin },
            })
            .collect();
        for deed in self.deeds.iter().filter(|deed| (deed.id, deed.life) == (id, life)) {
            let mut at = Time::from_micros(deed.at_us);
            let mut place = events.partition_point(|event| event.at <= at);
            let event = match deed.what {
                // Nothing comes after it, also if the last step was written down while the
                // signal was under way.
                Did::Kill => {
                    place = events.len();
                    at = events.last().map_or(at, |last| last.at.max(at));
                    Happened::Killed
                }
                Did::Stop => Happened::Stopped,
                Did::Continue => Happened::Continued,
            };
            events.insert(place, Recorded { at, node, event });
        }
        Ok(events)
    }
}
