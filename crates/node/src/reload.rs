//! Reading the configuration and the certificate again while the member runs: by SIGHUP, or by `POST /v1/reload`.
//!
//! The file is read as at the start, with the same flags and environment over it. If anything is wrong with it or
//! with the certificate, nothing changes. Otherwise these take effect at once, and the rest is reported, because it
//! needs a restart:
//!
//! - the certificate, its key and the authorities: for new connections;
//! - `[sessions]`: a coordinator commits the limits, so that they change at one entry of the log for all members
//!   (D8); what is beyond a smaller limit stays until it ends;
//! - `heartbeat`, `lease` and `drift_ppm`, if this member is the coordinator: it commits them, and they are in force
//!   for all members from then on, whatever the other configurations say (G16);
//! - `log.level`.

use crate::about::About;
use crate::config::{Sessions, Settings, load};
use crate::daemon::{Failure, identity};
use crate::{logs, wall};
use bellwether_api::json::{ChangedSetting, Reloaded};
use bellwether_member::{ChangeError, LeaseSettings, service};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// A certificate that ends within this time is warned of.
pub(crate) const WARNS_BEFORE: Duration = Duration::from_secs(14 * DAY);

const DAY: u64 = 86_400;

/// How long to try to commit settings. A majority has answered just before.
const COMMITTED_WITHIN: Duration = Duration::from_secs(2);

/// The pause between two looks.
const LOOKS: Duration = Duration::from_millis(5);

/// Why the configuration was not read again.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotReloaded {
    /// Something is wrong with it.
    #[error("{0}")]
    Wrong(#[from] Failure),
    /// Settings that all members share were not committed.
    #[error(
        "heartbeat, lease and drift_ppm were not committed in time, and it is not known whether they will be"
    )]
    NotCommitted,
}

/// When a setting that has changed takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    AtOnce,
    ByTheLog,
    AfterRestart,
}

fn effect(key: &str) -> Effect {
    match key {
        "heartbeat" | "lease" | "drift_ppm" => Effect::ByTheLog,
        "sessions.connections_max" => Effect::AfterRestart,
        "log.level" => Effect::AtOnce,
        _ if key.starts_with("sessions.") || key.starts_with("tls.") => Effect::AtOnce,
        _ => Effect::AfterRestart,
    }
}

impl About {
    /// Reads the configuration again. If it fails, nothing has changed.
    pub(crate) async fn reload(&self, by: &str) -> Result<Reloaded, NotReloaded> {
        let result = self.try_reload().await;
        match &result {
            Ok(reloaded) => {
                let changed: Vec<String> = reloaded.changed.iter().map(shown).collect();
                tracing::info!(
                    certificate_until = reloaded.certificate_until,
                    changed = changed.join("; "),
                    "configuration reloaded by {by}"
                );
                for setting in &reloaded.needs_coordinator {
                    tracing::warn!("takes effect when the coordinator reloads: {}", shown(setting));
                }
                for setting in &reloaded.needs_restart {
                    tracing::warn!("needs a restart: {}", shown(setting));
                }
                if let Some(warning) = self.certificate_warning() {
                    tracing::warn!("{warning}");
                }
            }
            Err(failure) => {
                tracing::error!("not reloaded, nothing has changed (asked by {by}): {failure}");
            }
        }
        result
    }

    async fn try_reload(&self) -> Result<Reloaded, NotReloaded> {
        let mut running = self.running_with.lock().await;
        let next = load(&running.file, &running.overrides).map_err(Failure::Config)?;
        if (&next.cluster, next.id) != (&running.cluster, running.id) {
            return Err(Failure::Start(format!(
                "the configuration is now that of member {} of cluster '{}'; this is member {} of '{}'",
                next.id.number(),
                next.cluster,
                running.id.number(),
                running.cluster
            ))
            .into());
        }
        let newer = identity(&next)?;
        let in_force = self.requests.leases();
        let before = Settings { choices: running.choices.with_leases(in_force), ..running.clone() };
        let mut different = differences(&before, &next);
        // It only gives heartbeat and lease, which are compared themselves.
        different.retain(|setting| setting.key != "profile");
        if (before.choices.election_timeout, next.choices.election_timeout) == (None, None) {
            // It follows the heartbeat.
            different.retain(|setting| setting.key != "election_timeout");
        }
        let mut of = |wanted| {
            different.extract_if(.., |setting| effect(&setting.key) == wanted).collect::<Vec<_>>()
        };
        let (mut changed, by_the_log) = (of(Effect::AtOnce), of(Effect::ByTheLog));
        let needs_restart = of(Effect::AfterRestart);
        let mut needs_coordinator = Vec::new();
        if !by_the_log.is_empty() {
            let is_committed = self.commit_leases(next.choices.leases()).await?;
            (if is_committed { &mut changed } else { &mut needs_coordinator }).extend(by_the_log);
        }
        self.identity.adopt(&newer);
        let (limits, on_deadlock) = (next.sessions.limits, next.sessions.on_deadlock);
        self.quota.limit(next.sessions.per_client, limits.sessions);
        let configure = move |config: &mut service::Config| {
            config.limits = limits;
            config.on_deadlock = on_deadlock;
        };
        if changed.iter().any(|setting| setting.key.starts_with("sessions.")) {
            // A member that has ended meanwhile needs no limits.
            self.handle.running.reconfigure(configure).await;
            self.handle.running.input(service::Input::Reconfigured).await;
        }
        logs::change_level(&next.log.level);
        running.sessions = Sessions { connections: running.sessions.connections, ..next.sessions };
        running.tls = next.tls;
        running.log.level = next.log.level;
        self.configured.send_replace(next.choices.leases());
        let certificate_until = self.certificate_until();
        Ok(Reloaded { certificate_until, changed, needs_coordinator, needs_restart })
    }

    /// G16: commits settings of leases, if this member is the coordinator; false if it is not.
    async fn commit_leases(&self, wanted: LeaseSettings) -> Result<bool, NotReloaded> {
        let until = Instant::now() + COMMITTED_WITHIN;
        let mut is_proposed = false;
        while Instant::now() < until {
            match self.handle.may_change_leases(wanted).await {
                Some(Ok(false)) => return Ok(true),
                Some(Ok(true)) if !is_proposed => {
                    is_proposed = self.handle.change_leases(wanted).await.is_some();
                }
                Some(Err(ChangeError::NotServing)) if !is_proposed => return Ok(false),
                // They are not committed yet, or those of an earlier change are not.
                Some(Ok(true) | Err(_)) => {}
                None => break,
            }
            sleep(LOOKS).await;
        }
        Err(NotReloaded::NotCommitted)
    }

    /// What to say of settings of leases that are not those of the configuration.
    pub(crate) fn leases_warning(&self) -> Option<String> {
        let (configured, in_force) = (*self.configured.borrow(), self.requests.leases());
        let shown = |LeaseSettings { heartbeat, lease, drift_ppm }: LeaseSettings| {
            format!("heartbeat {heartbeat:?}, lease {lease:?}, drift_ppm {drift_ppm}")
        };
        (configured != in_force).then(|| {
            format!(
                "the configuration says {}, and the cluster goes by {}: make the configuration the same, or reload it \
                 at the coordinator",
                shown(configured),
                shown(in_force)
            )
        })
    }

    /// Until when the certificate is valid.
    pub(crate) fn certificate_until(&self) -> String {
        wall::shown(self.identity.expires())
    }

    /// What to say of a certificate that ends soon.
    pub(crate) fn certificate_warning(&self) -> Option<String> {
        let left = wall::until(self.identity.expires());
        let days = left.as_secs() / DAY;
        (left < WARNS_BEFORE).then(|| {
            format!(
                "the certificate is valid until {} ({days} days left): replace its files, then reload with SIGHUP",
                self.certificate_until()
            )
        })
    }
}

fn shown(ChangedSetting { key, from, to }: &ChangedSetting) -> String {
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
    format!("{key} from {} to {}", text(from), text(to))
}

/// The settings that differ.
fn differences(running: &Settings, next: &Settings) -> Vec<ChangedSetting> {
    let (before, mut after) = (entries(running), entries(next));
    let mut different = Vec::new();
    for (key, from) in before {
        let to = after.remove(&key);
        if to.as_ref() != Some(&from) {
            different.push(ChangedSetting { key, from: Some(from), to });
        }
    }
    different.extend(after.into_iter().map(|(key, to)| ChangedSetting {
        key,
        from: None,
        to: Some(to),
    }));
    different
}

/// Every setting by its key, as the effective configuration shows it.
fn entries(settings: &Settings) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    if let Ok(table) = settings.to_string().parse::<toml::Table>() {
        for (key, value) in table {
            flatten(key, value, &mut found);
        }
    }
    found
}

fn flatten(key: String, value: toml::Value, found: &mut BTreeMap<String, String>) {
    match value {
        toml::Value::Table(table) => {
            for (inner, value) in table {
                flatten(format!("{key}.{inner}"), value, found);
            }
        }
        toml::Value::Array(list) => {
            for (index, value) in list.into_iter().enumerate() {
                flatten(format!("{key}[{index}]"), value, found);
            }
        }
        value => {
            found.insert(key, value.to_string());
        }
    }
}
