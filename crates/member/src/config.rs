//! What a member is configured with.

use crate::ranks::Ranks;
use bellwether_algorithms::definition::Settings;
use bellwether_algorithms::election::any;
use bellwether_core::{Group, NodeId};
use bellwether_log::{self as log, Durability, LeaseSettings, Quorum};
use std::fmt;
use std::time::Duration;

/// Everything that is fixed while a member runs. All members of a cluster should agree on it; they must
/// agree on the log's lease, drift bound and quorum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Which member is stronger than which, and which ones only vote.
    pub ranks: Ranks,
    /// Heartbeats, leases, quorum and durability.
    pub log: log::Config,
    /// How long a leader may be silent: at least and at most. The detector adapts in between.
    pub suspect_after: (Duration, Duration),
    /// What a stronger member does when a weaker one leads.
    pub preempt: Preempt,
    /// How long an election, and the take-over after it, may last before it is held again.
    pub patience: Duration,
    /// Which election it is, and that election's own settings.
    pub election: any::Config,
}

/// What a member that comes back does about a weaker coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preempt {
    /// It takes over at once, as the textbook's bully does.
    Always,
    /// It takes over when the weaker coordinator has led for this long in its view.
    After(Duration),
    /// A working coordinator stays.
    Never,
}

/// Why these times do not fit together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    /// Which of them is wrong.
    pub key: &'static str,
    /// What is wrong, and what would be right.
    pub why: String,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.why)
    }
}

impl std::error::Error for Unfit {}

/// What an operator chooses; the rest of a [`Config`] follows from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choices {
    /// The election that names the coordinator.
    pub election: any::Choice,
    /// How often a coordinator shows that it lives.
    pub heartbeat: Duration,
    /// How long followers stay with a silent coordinator.
    pub lease: Duration,
    /// The bound on wrong clock rates.
    pub drift_ppm: u32,
    /// T of the election: an answer that takes longer will not come. One heartbeat if not given.
    pub election_timeout: Option<Duration>,
    /// What a stronger member does while a weaker one is the coordinator.
    pub preempt: Preempt,
    /// Whose agreement a leader needs.
    pub quorum: Quorum,
    /// Whether the log survives a restart.
    pub durability: Durability,
}

impl Default for Choices {
    /// A coordinator that dies is replaced within half a second.
    fn default() -> Self {
        Choices {
            election: any::Choice::default(),
            heartbeat: Duration::from_millis(100),
            lease: Duration::from_millis(500),
            drift_ppm: 500,
            election_timeout: None,
            preempt: Preempt::Always,
            quorum: Quorum::Majority,
            durability: Durability::Disk,
        }
    }
}

impl Choices {
    /// The settings of leases.
    pub fn leases(&self) -> LeaseSettings {
        let Choices { heartbeat, lease, drift_ppm, .. } = *self;
        LeaseSettings { heartbeat, lease, drift_ppm }
    }

    /// The same with other settings of leases.
    pub fn with_leases(&self, leases: LeaseSettings) -> Self {
        let LeaseSettings { heartbeat, lease, drift_ppm } = leases;
        Choices { heartbeat, lease, drift_ppm, ..self.clone() }
    }

    /// Fast take-over on a quiet local network: a tenth of a second.
    pub fn fast() -> Self {
        Choices {
            heartbeat: Duration::from_millis(20),
            lease: Duration::from_millis(100),
            ..Choices::default()
        }
    }

    /// Patience for networks with long or uneven delays.
    pub fn wide() -> Self {
        Choices {
            heartbeat: Duration::from_millis(500),
            lease: Duration::from_secs(3),
            ..Choices::default()
        }
    }
}

/// The largest bound on clock rates that leaves anything of a lease: a tenth.
pub const MOST_DRIFT_PPM: u32 = 100_000;

impl Config {
    /// The configuration for these choices.
    pub fn new(choices: &Choices, ranks: Ranks, group: &Group) -> Result<Config, Unfit> {
        let Choices { heartbeat, lease, drift_ppm, preempt, quorum, durability, .. } = *choices;
        let unfit = |key, why| Err(Unfit { key, why });
        if heartbeat < Duration::from_millis(1) {
            return unfit("heartbeat", format!("{heartbeat:?} is too short; at least 1ms"));
        }
        // Some beats may be lost or late before the coordinator is suspected, and one T must be left
        // of the lease for the election, or the lease would run out for nothing.
        if lease < heartbeat.saturating_mul(5) {
            let why = format!(
                "{lease:?} is less than five heartbeats of {heartbeat:?}; give at least {:?}",
                heartbeat.saturating_mul(5)
            );
            return unfit("lease", why);
        }
        if lease > Duration::from_secs(600) {
            return unfit("lease", format!("{lease:?} is too long; at most 10 minutes"));
        }
        if drift_ppm > MOST_DRIFT_PPM {
            let why = format!("{drift_ppm} is too much; at most {MOST_DRIFT_PPM}");
            return unfit("drift_ppm", why);
        }
        let timeout = choices.election_timeout.unwrap_or(heartbeat);
        if timeout.is_zero() {
            return unfit("election_timeout", "T must be above 0".to_owned());
        }
        let settings = Settings { detection: true, acknowledge: true, ..Settings::new(timeout) };
        let mut election = any::Config::new(choices.election, &settings, group);
        // The member has a detector of its own.
        let detection = election.common.detection.take();
        let slowest = detection.map_or(timeout, |detection| detection.patience);
        Ok(Config {
            ranks,
            log: log::Config {
                quorum,
                durability,
                ..log::Config::new(heartbeat, lease, drift_ppm)
            },
            // No member can take over before the lease ends, so there is no hurry to suspect: only an
            // election must fit in between.
            suspect_after: (lease * 7 / 10, lease * 4 / 5),
            preempt,
            patience: slowest + lease,
            election,
        })
    }

    /// G16: the log has these settings of leases. The times of the member and of its election follow them. The log
    /// itself knows them.
    pub fn adopt(
        &mut self,
        leases: LeaseSettings,
        choices: &Choices,
        group: &Group,
    ) -> Result<(), Unfit> {
        let next = Config::new(&choices.with_leases(leases), self.ranks.clone(), group)?;
        *self = Config { log: self.log.clone(), ..next };
        Ok(())
    }

    /// Whether this member may ever lead.
    pub fn may_lead(&self, id: NodeId) -> bool {
        !self.ranks.is_witness(id)
    }
}
