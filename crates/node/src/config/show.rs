//! The effective configuration as a file that says the same.

use super::units::{show_duration, show_preempt};
use super::{Log, Settings, SocketAccess, Tls};
use bellwether_member::{Durability, Quorum};
use std::fmt;
use std::path::Path;

/// TOML that would give the same settings again, every default spelled out.
impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let choices = &self.choices;
        writeln!(f, "cluster = {}", quoted(&self.cluster))?;
        writeln!(f, "id = {}", self.id.number())?;
        writeln!(f, "listen = \"{}\"", self.listen)?;
        match self.http {
            Some(http) => writeln!(f, "http = \"{http}\"")?,
            None => writeln!(f, "http = \"off\"")?,
        }
        writeln!(f, "http_names = {}", quoted(&self.http_names.join(", ")))?;
        writeln!(f, "operator_token = {}", path(&self.operator_token))?;
        match &self.socket {
            Some(socket) => writeln!(f, "socket = {}", path(socket))?,
            None => writeln!(f, "socket = \"off\"")?,
        }
        let SocketAccess { mode, group } = self.socket_access;
        writeln!(f, "socket_mode = \"{mode:04o}\"")?;
        if let Some(group) = group {
            writeln!(f, "socket_group = \"{group}\"")?;
        }
        writeln!(f, "data = {}", path(&self.data))?;
        writeln!(f, "election = \"{}\"", choices.election)?;
        writeln!(f, "profile = \"{}\"", self.profile.name())?;
        writeln!(f, "heartbeat = \"{}\"", show_duration(choices.heartbeat))?;
        writeln!(f, "lease = \"{}\"", show_duration(choices.lease))?;
        writeln!(f, "drift_ppm = {}", choices.drift_ppm)?;
        let timeout = choices.election_timeout.unwrap_or(choices.heartbeat);
        writeln!(f, "election_timeout = \"{}\"", show_duration(timeout))?;
        writeln!(f, "preempt = \"{}\"", show_preempt(choices.preempt))?;
        let quorum = match choices.quorum {
            Quorum::Majority => "majority",
            Quorum::None => "none",
        };
        writeln!(f, "quorum = \"{quorum}\"")?;
        let durability = match choices.durability {
            Durability::Disk => "disk",
            Durability::Memory => "memory",
        };
        writeln!(f, "durability = \"{durability}\"")?;
        writeln!(f, "join = {}", self.join)?;
        let proof = if self.proof_of_death { "on" } else { "off" };
        writeln!(f, "proof_of_death = \"{proof}\"")?;
        let Tls { ca, certificate, key } = &self.tls;
        writeln!(f, "\n[tls]\nca = {}\ncertificate = {}", path(ca), path(certificate))?;
        writeln!(f, "key = {}", path(key))?;
        let Log { format, level } = &self.log;
        writeln!(f, "\n[log]\nformat = \"{}\"\nlevel = {}", format.name(), quoted(level))?;
        writeln!(f, "\n[limits]\nqueue = {}", self.limits.queue)?;
        writeln!(f, "stale_after = \"{}\"", show_duration(self.limits.stale_after))?;
        writeln!(f, "greetings = {}", self.limits.greetings)?;
        write!(f, "\n{}", self.sessions)?;
        for peer in &self.members {
            writeln!(f, "\n[[member]]\nid = {}", peer.id.number())?;
            writeln!(f, "address = {}", quoted(&peer.address))?;
            if let Some(http) = &peer.http {
                writeln!(f, "http = {}", quoted(http))?;
            }
            writeln!(f, "priority = {}\nwitness = {}", peer.priority, peer.witness)?;
        }
        Ok(())
    }
}

fn path(path: &Path) -> String {
    quoted(&path.display().to_string())
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}
