//! Reading the configuration again.

use serde::{Deserialize, Serialize};

/// What came of reading the configuration again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Reloaded {
    /// Until when the member's certificate is valid, in UTC. It was read again, too.
    pub certificate_until: String,
    /// The settings that are in force now, and were not before.
    pub changed: Vec<ChangedSetting>,
    /// Those that all members share and that differ from what is in force. They take effect for all members when
    /// the coordinator reads its configuration again.
    pub needs_coordinator: Vec<ChangedSetting>,
    /// Those that differ from what the member runs with, and take effect when it is started again.
    pub needs_restart: Vec<ChangedSetting>,
}

/// A setting that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ChangedSetting {
    /// Its key with its section: `sessions.max`.
    pub key: String,
    /// What the member runs with, or ran with; absent if it was not set.
    pub from: Option<String>,
    /// What the configuration says; absent if it says nothing.
    pub to: Option<String>,
}
