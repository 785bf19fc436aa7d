//! What a member says about itself: its own status, put into the words of the HTTP API.

use crate::clients::{Quota, RequestQueue};
use crate::config::Settings;
use crate::coordination::Turns;
use crate::handle::Handle;
use crate::history::History;
use crate::operator::OperatorToken;
use axum::extract::FromRef;
use bellwether_api::json;
use bellwether_core::{NodeId, Time};
use bellwether_http::Origins;
use bellwether_log::ClusterId;
use bellwether_member::{Completeness, Health, LogStatus, MemberStatus, Stance, Status};
use bellwether_net::{Clock, Identity, PeerState};
use std::sync::Arc;
use std::time::Duration;

/// A member that does not answer within this time hangs.
pub(crate) const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

/// Everything that is known about this member.
pub(crate) struct About {
    pub(crate) settings: Settings,
    pub(crate) handle: Handle,
    pub(crate) history: Arc<History>,
    /// Where clients are served.
    pub(crate) requests: Arc<RequestQueue>,
    /// How many sessions each client has.
    pub(crate) quota: Arc<Quota>,
    /// What operators show over HTTP.
    pub(crate) operator: OperatorToken,
    /// Who makes a list now.
    pub(crate) turns: Arc<Turns>,
    /// Its certificate, which may be replaced.
    pub(crate) identity: Identity,
    /// The settings that are in force: those of the start, but for what was reloaded.
    pub(crate) running_with: tokio::sync::Mutex<Settings>,
    /// When it started, on the clock that all processes of the host share.
    pub(crate) started: Time,
}

impl FromRef<Arc<About>> for OperatorToken {
    fn from_ref(about: &Arc<About>) -> Self {
        about.operator
    }
}

impl About {
    /// What the member would say if asked now; `None` if it has ended or hangs.
    pub(crate) async fn ask(&self) -> Option<Status> {
        tokio::time::timeout(ANSWERS_WITHIN, self.handle.status()).await.ok().flatten()
    }

    /// Whose pages may read what it says: those of the members, and of the process that started
    /// them all, if one did.
    pub(crate) fn origins(&self) -> Origins {
        let members = self.settings.members.iter().filter_map(|peer| peer.http.as_deref());
        let addresses = self.settings.members.iter().map(|peer| peer.address.as_str());
        let names = self.settings.http_names.iter().map(String::as_str);
        Origins::new(members.chain(self.settings.up.as_deref())).known_as(addresses.chain(names))
    }

    /// How long it has been running.
    pub(crate) fn uptime(&self) -> Duration {
        Clock::shared().since(self.started)
    }

    pub(crate) fn status(&self, status: &Status) -> json::Status {
        json::Status {
            cluster: self.settings.cluster.clone(),
            cluster_id: self.handle.running.cluster_id().map(|id| ClusterId::new(id).to_string()),
            id: self.settings.id.number(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            election: self.settings.choices.election.to_string(),
            stance: stance(status.stance),
            mandate: status.mandate.map(|mandate| json::Mandate {
                leader: mandate.leader.number(),
                term: mandate.term.number(),
                lease_ms: millis(mandate.lease_left),
                appointed: mandate.appointed,
            }),
            coordinator: status.coordinator.map(|id| id.number()),
            why_no_mandate: self.why_no_mandate(status),
            reachable: status.reachable.map(|count| count as u32),
            needed: status.needed as u32,
            configured: status.members.len() as u32,
            eligible: status.eligible,
            incarnation: status.incarnation,
            uptime_ms: millis(self.uptime()),
            last_change: self.history.last_change(),
            warnings: self.warnings(status),
            log: self.log(&status.log),
            lease_full_ms: millis(self.settings.choices.lease),
            up: self.settings.up.clone(),
        }
    }

    fn log(&self, log: &LogStatus) -> json::Log {
        let now = self.handle.running.clock().now();
        let waiting = |(members, until): &(Vec<NodeId>, Time)| json::Waiting {
            members: members.iter().map(|id| id.number()).collect(),
            left_ms: millis(until.since(now)),
        };
        json::Log {
            last_term: log.last.term.number(),
            last_index: log.last.index.number(),
            commit_index: log.commit.index.number(),
            completeness: match log.completeness {
                Completeness::Whole => json::Completeness::Whole,
                Completeness::Filling => json::Completeness::Filling,
                Completeness::Lost => json::Completeness::Lost,
            },
            behind: log.behind,
            waiting: log.waiting.as_ref().map(waiting),
        }
    }

    /// Why no member may do anything now, if that is so.
    pub(crate) fn why_no_mandate(&self, status: &Status) -> Option<String> {
        if status.mandate.is_some() {
            return None;
        }
        if let Some(waiting) = self.log(&status.log).waiting {
            let members: Vec<String> = waiting.members.iter().map(|id| format!("P{id}")).collect();
            return Some(format!(
                "it waits for {}, or {} ms: clients may still rely on sessions that the members have forgotten",
                members.join(" or "),
                waiting.left_ms
            ));
        }
        let asked = status.reachable.map(|heard| (heard, status.needed));
        let short = asked.or_else(|| self.history.shortage());
        let reason = match (status.stance, short) {
            (_, Some((heard, needed))) if heard < needed => {
                format!("{heard} of the {needed} members needed agree")
            }
            (Stance::Listening, _) => "it has just started and listens for a coordinator".into(),
            (Stance::Campaigning, _) => {
                "it was elected and asks the other members for the mandate".into()
            }
            _ => "an election is under way".into(),
        };
        Some(reason)
    }

    fn warnings(&self, status: &Status) -> Vec<String> {
        let mut warnings = self.settings.warnings.clone();
        warnings.extend(self.certificate_warning());
        for member in &status.members {
            if member.clock.is_some_and(|clock| clock.drifts) {
                let bound = self.settings.choices.drift_ppm;
                let id = member.id;
                warnings.push(format!(
                    "the clock of {id} drifts by more than the bound of {bound} ppm: it may not lead"
                ));
            }
        }
        warnings
    }

    pub(crate) fn members(&self, status: &Status) -> json::Members {
        let connected = self.handle.running.peers();
        let members = self.settings.members.iter().map(|peer| {
            let seen = status.members.iter().find(|member| member.id == peer.id);
            let clock = seen.and_then(|member| member.clock);
            let own = peer.id == self.settings.id;
            let link = connected.iter().find(|other| other.id == peer.id);
            json::Member {
                id: peer.id.number(),
                address: peer.address.clone(),
                http: peer.http.clone(),
                priority: peer.priority,
                witness: peer.witness,
                health: seen.map_or(json::Health::Unknown, health),
                heartbeat_age_ms: seen.and_then(|member| member.heard).map(millis),
                clock_offset_us: clock.map(|clock| clock.offset_us),
                clock_error_us: clock.map(|clock| clock.error_us),
                clock_rate_ppm: clock.and_then(|clock| clock.rate_ppb).map(|ppb| json::Ppm { ppb }),
                clock_drifts: clock.is_some_and(|clock| clock.drifts),
                connected: own || link.is_some_and(up),
                trouble: link.filter(|link| !up(link)).and_then(|link| link.last_error.clone()),
                behind: seen.and_then(|member| member.behind),
                is_coordinator: status.coordinator == Some(peer.id),
            }
        });
        json::Members {
            cluster: self.settings.cluster.clone(),
            id: self.settings.id.number(),
            members: members.collect(),
        }
    }

    /// Whether it is of use: it serves, or follows and holds everything that is committed.
    pub(crate) fn ready(&self, status: &Status) -> json::Probe {
        let log = &status.log;
        let Some(mandate) = &status.mandate else {
            let why = self.why_no_mandate(status).unwrap_or_default();
            return json::Probe { ok: false, why: format!("no mandate: {why}") };
        };
        let (leader, term) = (mandate.leader, mandate.term);
        let (ok, why) = if leader == self.settings.id {
            (true, format!("holds the mandate of term {term}"))
        } else if log.is_complete {
            (true, format!("follows {leader} in term {term}"))
        } else {
            let lacks = match log.completeness {
                Completeness::Whole => format!("it lacks {} entries", log.behind.max(1)),
                Completeness::Filling => "it receives a snapshot".to_owned(),
                Completeness::Lost => "it has forgotten its log".to_owned(),
            };
            (false, format!("follows {leader} in term {term}, and {lacks}"))
        };
        json::Probe { ok, why }
    }
}

fn up(peer: &PeerState) -> bool {
    peer.outgoing.is_some()
}

pub(crate) fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

fn health(member: &MemberStatus) -> json::Health {
    match member.health {
        Health::Alive => json::Health::Alive,
        Health::Silent => json::Health::Silent,
        Health::Unknown => json::Health::Unknown,
    }
}

fn stance(stance: Stance) -> json::Stance {
    match stance {
        Stance::Listening => json::Stance::Listening,
        Stance::Electing => json::Stance::Electing,
        Stance::Campaigning => json::Stance::Campaigning,
        Stance::Leading => json::Stance::Leading,
        Stance::Following => json::Stance::Following,
    }
}
