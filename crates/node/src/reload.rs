//! Reading the configuration and the certificate again while the member runs: by SIGHUP, or by `POST /v1/reload`.
//!
//! The file is read as at the start, with the same flags and environment over it. If anything is wrong with it or
//! with the certificate, nothing changes. Otherwise these take effect at once, and the rest is reported, because it
//! needs a restart:
//!
//! - the certificate, its key and the authorities: for new connections;
//! - `[sessions]`: a coordinator commits the limits, so that they change at one entry of the log for all members
//!   (D8); what is beyond a smaller limit stays until it ends;
//! - `log.level`.

use crate::about::About;
use crate::config::{Settings, load};
use crate::daemon::{Failure, identity};
use crate::{logs, wall};
use bellwether_api::json::{ChangedSetting, Reloaded};
use bellwether_member::service;
use std::collections::BTreeMap;
use std::time::Duration;

/// A certificate that ends within this time is warned of.
pub(crate) const WARNS_BEFORE: Duration = Duration::from_secs(14 * DAY);

const DAY: u64 = 86_400;

/// Whether this setting can change while the member runs.
fn is_live(key: &str) -> bool {
    let restart = ["sessions.connections_max"];
    (key.starts_with("sessions.") || key.starts_with("tls.") || key == "log.level")
        && !restart.contains(&key)
}

impl About {
    /// Reads the configuration again. If it fails, nothing has changed.
    pub(crate) async fn reload(&self, by: &str) -> Result<Reloaded, Failure> {
        let result = self.try_reload().await;
        match &result {
            Ok(reloaded) => {
                let changed: Vec<String> = reloaded.changed.iter().map(shown).collect();
                tracing::info!(
                    certificate_until = reloaded.certificate_until,
                    changed = changed.join("; "),
                    "configuration reloaded by {by}"
                );
                for setting in &reloaded.needs_restart {
                    tracing::warn!("needs a restart: {}", shown(setting));
                }
            }
            Err(failure) => {
                tracing::error!("not reloaded, nothing has changed (asked by {by}): {failure}");
            }
        }
        result
    }

    async fn try_reload(&self) -> Result<Reloaded, Failure> {
        let mut running = self.running_with.lock().await;
        let next = load(&running.file, &running.overrides)?;
        if (&next.cluster, next.id) != (&running.cluster, running.id) {
            return Err(Failure::Start(format!(
                "the configuration is now that of member {} of cluster '{}'; this is member {} of '{}'",
                next.id.number(),
                next.cluster,
                running.id.number(),
                running.cluster
            )));
        }
        let newer = identity(&next)?;
        self.identity.adopt(&newer);
        let (changed, needs_restart) = differences(&running, &next);
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
        running.sessions = next.sessions;
        running.tls = next.tls;
        running.log.level = next.log.level;
        let certificate_until = self.certificate_until();
        Ok(Reloaded { certificate_until, changed, needs_restart })
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

/// The settings that differ: those that can change now, and those that cannot.
fn differences(running: &Settings, next: &Settings) -> (Vec<ChangedSetting>, Vec<ChangedSetting>) {
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
    different.into_iter().partition(|setting| is_live(&setting.key))
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
