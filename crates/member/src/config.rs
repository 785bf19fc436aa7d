//! What a member is configured with.

use crate::ranks::Ranks;
use bellwether_algorithms::definition::Settings;
use bellwether_algorithms::election::any;
use bellwether_core::{Group, NodeId};
use std::fmt;
use std::time::Duration;

/// Everything that is fixed while a member runs. All members of a cluster should agree on it; what
/// they must agree on for the mandate to be safe is `lease`, `drift_ppm` and `quorum`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Who is stronger than whom, and who only votes.
    pub ranks: Ranks,
    /// How often a coordinator shows that it lives.
    pub heartbeat: Duration,
    /// How long a follower promises not to follow another after it heard its coordinator.
    pub lease: Duration,
    /// By how much a member's clock may be too fast or too slow, in parts per million.
    pub drift_ppm: u32,
    /// How long a coordinator may be silent: at least and at most. The detector adapts in between.
    pub suspect_after: (Duration, Duration),
    /// What a stronger member does when a weaker one coordinates.
    pub preempt: Preempt,
    /// Whose agreement a mandate needs.
    pub quorum: Quorum,
    /// How long after a restart a member still keeps out of votes, besides the lease: as long as a
    /// client may believe in something that only this member remembered.
    pub amnesia: Duration,
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
    /// It takes over when the weaker one has coordinated in its sight for so long.
    After(Duration),
    /// A working coordinator stays.
    Never,
}

/// Whose agreement a mandate needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quorum {
    /// A majority of all configured members.
    Majority,
    /// Nobody's: the textbook's behaviour. In a partition every side has a coordinator.
    None,
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
    /// Which election says who should coordinate.
    pub election: any::Choice,
    /// How often a coordinator shows that it lives.
    pub heartbeat: Duration,
    /// How long followers stay with a silent coordinator.
    pub lease: Duration,
    /// The bound on wrong clock rates.
    pub drift_ppm: u32,
    /// T of the election: an answer that takes longer will not come. One heartbeat if not given.
    pub election_timeout: Option<Duration>,
    /// What a stronger member does when a weaker one coordinates.
    pub preempt: Preempt,
    /// Whose agreement a mandate needs.
    pub quorum: Quorum,
    /// See [`Config::amnesia`].
    pub amnesia: Duration,
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
            amnesia: Duration::ZERO,
        }
    }
}

impl Choices {
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
        let Choices { heartbeat, lease, drift_ppm, preempt, quorum, amnesia, .. } = *choices;
        let unfit = |key, why| Err(Unfit { key, why });
        if heartbeat < Duration::from_millis(1) {
            return unfit("heartbeat", format!("{heartbeat:?} is too short; at least 1ms"));
        }
        // Some beats may be lost or late before the coordinator is suspected, and one T must be left
        // of the lease for the election, or the lease would run out for nothing.
        if lease < heartbeat * 5 {
            let why = format!(
                "{lease:?} is less than five heartbeats of {heartbeat:?}; give at least {:?}",
                heartbeat * 5
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
            heartbeat,
            lease,
            drift_ppm,
            // Nobody can take over before the lease ends, so there is no hurry to suspect: only an
            // election must fit in between.
            suspect_after: (lease * 7 / 10, lease * 4 / 5),
            preempt,
            quorum,
            amnesia,
            patience: slowest + lease,
            election,
        })
    }

    /// How many members must agree.
    pub fn needed(&self, group: &Group) -> usize {
        match self.quorum {
            Quorum::Majority => group.len() / 2 + 1,
            Quorum::None => 1,
        }
    }

    /// How long a coordinator may rely on a lease, on its own clock, from the moment at which it
    /// asked for it. The follower's clock may be too fast and its own too slow, each by the bound.
    pub fn reliance(&self) -> Duration {
        let (million, drift) = (1_000_000_u128, u128::from(self.drift_ppm));
        let micros = self.lease.as_micros() * (million - drift) / (million + drift);
        // A clock is read in whole microseconds: one may be lost at either end of either clock.
        Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX).saturating_sub(4))
    }

    /// Whether this member may ever lead.
    pub fn may_lead(&self, id: NodeId) -> bool {
        !self.ranks.is_witness(id)
    }
}
