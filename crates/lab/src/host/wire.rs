//! What the parent and the processes that it starts say to each other: one JSON value a line.
//!
//! All paths are names of files in the directory that both work in.

use bellwether_algorithms::definition::Settings;
use bellwether_algorithms::mutex::Tree;
use bellwether_core::{NodeId, micros};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// Said to a process, in this order; the end of its input is the end of its life.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// What it is.
    Setup(Box<Setup>),
    /// It may start.
    Go,
    /// The application wants this; a verb of the algorithm.
    Input(String),
}

/// Said by a process, in this order; the last once for each input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// Where it listens.
    Port(u16),
    /// It has all that it needs, and a way to all others that are there.
    Ready,
    /// It has taken its first step.
    Started,
    /// It has taken the step that an input asked for.
    Taken,
}

/// What a process is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Setup {
    pub(crate) id: u32,
    pub(crate) life: u64,
    /// All members, in ring order.
    pub(crate) ids: Vec<u32>,
    /// Where each of them listens.
    pub(crate) addresses: BTreeMap<u32, String>,
    pub(crate) cluster: String,
    /// The directory of the certificates.
    pub(crate) certificates: String,
    /// Its durable file.
    pub(crate) data: String,
    pub(crate) journal: String,
    pub(crate) settings: Knobs,
    /// By how many microseconds its clock is off, and by how much it gains, in parts per million.
    pub(crate) clock: (i64, i64),
}

/// The settings of the algorithm in a form that can be written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Knobs {
    pub(crate) timeout_us: u64,
    pub(crate) coordinator: Option<u32>,
    pub(crate) detection: bool,
    pub(crate) acknowledge: bool,
    #[serde(default)]
    pub(crate) textbook: bool,
    /// How long a job keeps the critical section, from and to.
    #[serde(default)]
    pub(crate) section_us: (u64, u64),
    #[serde(default)]
    pub(crate) tree: Tree,
    #[serde(default)]
    pub(crate) options: BTreeMap<String, String>,
}

impl From<&Settings> for Knobs {
    fn from(settings: &Settings) -> Self {
        let Settings { timeout, coordinator, detection, acknowledge, textbook, section, .. } =
            settings;
        let options = settings.options.iter();
        Knobs {
            timeout_us: micros(*timeout),
            coordinator: coordinator.map(NodeId::number),
            detection: *detection,
            acknowledge: *acknowledge,
            textbook: *textbook,
            section_us: (micros(section.0), micros(section.1)),
            tree: settings.tree,
            options: options.map(|(name, value)| (name.into(), value.into())).collect(),
        }
    }
}

impl From<Knobs> for Settings {
    fn from(knobs: Knobs) -> Self {
        Settings {
            timeout: Duration::from_micros(knobs.timeout_us),
            coordinator: knobs.coordinator.map(NodeId::new),
            detection: knobs.detection,
            acknowledge: knobs.acknowledge,
            textbook: knobs.textbook,
            section: (
                Duration::from_micros(knobs.section_us.0),
                Duration::from_micros(knobs.section_us.1),
            ),
            tree: knobs.tree,
            options: knobs.options.into_iter().collect(),
        }
    }
}

/// A value as a line.
pub(crate) fn line(value: &impl Serialize) -> String {
    // These types are plain data with string-like keys, which JSON can always say.
    let mut line = serde_json::to_string(value).unwrap_or_default();
    line.push('\n');
    line
}
