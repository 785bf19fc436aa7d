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
use bellwether_log::{ClusterId, Seat, Suffrage};
use bellwether_member::{
    Completeness, Health, LeaseSettings, LogStatus, MemberStatus, Stance, Status,
};
use bellwether_net::{Clock, Identity, PeerState};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

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
    /// The settings of leases that the configuration says, as it was read last.
    pub(crate) configured: watch::Sender<LeaseSettings>,
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
            voters: counted(status, |suffrage| suffrage == Suffrage::Voter),
            learners: counted(status, |suffrage| suffrage != Suffrage::Voter),
            eligible: status.eligible,
            incarnation: status.incarnation,
            uptime_ms: millis(self.uptime()),
            last_change: self.history.last_change(),
            warnings: self.warnings(status),
            log: self.log(&status.log),
            lease_full_ms: millis(self.requests.leases().lease),
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
        let me = self.settings.id;
        if status.list.as_ref().is_some_and(|list| !list.contains(me)) {
            let (id, address) = (me.number(), self.own_address());
            return Some(format!(
                "it is not in the member list: `bellwether members add {id} {address}` adds it"
            ));
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
        warnings.extend(self.leases_warning());
        for member in &status.members {
            if member.clock.is_some_and(|clock| clock.drifts) {
                let bound = self.requests.leases().drift_ppm;
                let id = member.id;
                warnings.push(format!(
                    "the clock of {id} drifts by more than the bound of {bound} ppm: it may not lead"
                ));
            }
        }
        warnings
    }

    /// Where the others reach this member, as far as its configuration says.
    fn own_address(&self) -> &str {
        self.settings.peer(self.settings.id).map_or("ADDRESS", |peer| &peer.address)
    }

    /// Where the HTTP API of a member is: as it says, or as the configuration of this one does.
    pub(crate) fn http_of(&self, id: NodeId) -> Option<String> {
        let configured = || self.settings.peer(id)?.http.clone();
        let peers = self.handle.running.peers();
        peers.into_iter().find(|peer| peer.id == id).and_then(|peer| peer.http).or_else(configured)
    }

    /// The members by the list that this one goes by, those of the configuration first. One that joins shows whom it
    /// asks.
    fn listed(&self, status: &Status) -> Vec<(NodeId, Seat)> {
        let configured = || self.settings.members.iter().map(|peer| (peer.id, &peer.address));
        let Some(list) = status.list.as_ref().filter(|list| !list.seats.is_empty()) else {
            let seat = |(id, address): (NodeId, &String)| match id == self.settings.id {
                true if self.settings.join => {
                    (id, Seat { suffrage: Suffrage::Learner, ..Seat::voter(address) })
                }
                _ => (id, Seat::voter(address)),
            };
            return configured().map(seat).collect();
        };
        let known = configured().map(|(id, _)| id);
        let others = list.seats.keys().copied().filter(|id| self.settings.peer(*id).is_none());
        let seat = |id| Some((id, list.seats.get(&id)?.clone()));
        known.chain(others).filter_map(seat).collect()
    }

    pub(crate) fn members(&self, status: &Status) -> json::Members {
        let connected = self.handle.running.peers();
        let listed = self.listed(status);
        let members = listed.iter().map(|(id, place)| {
            let id = *id;
            let configured = self.settings.peer(id);
            let seen = status.members.iter().find(|member| member.id == id);
            let clock = seen.and_then(|member| member.clock);
            let own = id == self.settings.id;
            let link = connected.iter().find(|other| other.id == id);
            let http = link.and_then(|link| link.http.clone());
            json::Member {
                id: id.number(),
                address: place.address.to_string(),
                http: http.or_else(|| configured?.http.clone()),
                priority: configured.map_or(0, |peer| peer.priority),
                witness: configured.is_some_and(|peer| peer.witness),
                health: seen.map_or(json::Health::Unknown, health),
                heartbeat_age_ms: seen.and_then(|member| member.heard).map(millis),
                clock_offset_us: clock.map(|clock| clock.offset_us),
                clock_error_us: clock.map(|clock| clock.error_us),
                clock_rate_ppm: clock.and_then(|clock| clock.rate_ppb).map(|ppb| json::Ppm { ppb }),
                clock_drifts: clock.is_some_and(|clock| clock.drifts),
                connected: own || link.is_some_and(up),
                trouble: link.filter(|link| !up(link)).and_then(|link| link.last_error.clone()),
                behind: seen.and_then(|member| member.behind),
                is_coordinator: status.coordinator == Some(id),
                suffrage: match place.suffrage {
                    Suffrage::Voter => json::Suffrage::Voter,
                    Suffrage::Learner => json::Suffrage::Learner,
                    Suffrage::Joining => json::Suffrage::Joining,
                },
                replaces: place.replaces.map(NodeId::number),
            }
        });
        let members: Vec<json::Member> = members.collect();
        let now = self.handle.running.clock().now();
        let is_listed = |id: &NodeId| listed.iter().any(|(member, _)| member == id);
        let strangers = self.handle.running.strangers();
        let refused = strangers.into_iter().filter(|(id, _)| !is_listed(id));
        json::Members {
            cluster: self.settings.cluster.clone(),
            id: self.settings.id.number(),
            version: status.list.as_ref().map_or(0, |list| list.version),
            waits_for: waits_for(status, &members),
            refused: refused
                .map(|(id, stranger)| json::RefusedMember {
                    id: id.number(),
                    why: stranger.why,
                    ago_ms: millis(now.since(stranger.at)),
                })
                .collect(),
            members,
        }
    }

    /// Whether it is of use: it serves, or follows, holds everything that is committed, and may vote. An operator who restarts one
    /// member after the other goes on when this one is ready: it must be able to take over then, or to vote for who does.
    pub(crate) fn ready(&self, status: &Status) -> json::Probe {
        let log = &status.log;
        let Some(mandate) = &status.mandate else {
            let why = self.why_no_mandate(status).unwrap_or_default();
            return json::Probe { ok: false, why: format!("no mandate: {why}") };
        };
        let (leader, term) = (mandate.leader, mandate.term);
        let (ok, why) = if leader == self.settings.id {
            (true, format!("holds the mandate of term {term}"))
        } else if log.is_complete && !log.may_vote {
            let why = "has just restarted: it may vote when one lease has passed";
            (false, format!("follows {leader} in term {term}, and {why}"))
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

/// How many members have such a vote.
pub(crate) fn counted(status: &Status, fits: impl Fn(Suffrage) -> bool) -> u32 {
    let seats = status.list.iter().flat_map(|list| list.seats.values());
    seats.filter(|seat| fits(seat.suffrage)).count() as u32
}

/// What a change of the members that is under way waits for.
fn waits_for(status: &Status, members: &[json::Member]) -> Vec<String> {
    let mut waits = Vec::new();
    if let Some(list) = status.list.as_ref().filter(|_| status.is_changing) {
        waits.push(format!("a majority of the voters to have the member list {}", list.version));
    }
    for member in members {
        let id = member.id;
        if member.suffrage == json::Suffrage::Joining {
            let lacks = match (member.behind, &member.trouble) {
                (_, Some(trouble)) => format!("it is not connected: {trouble}"),
                (Some(0), None) => "it has all entries".to_owned(),
                (Some(lacks), None) => format!("it lacks {lacks} entries"),
                (None, None) => "it has not answered yet".to_owned(),
            };
            waits.push(format!("P{id} to catch up before it votes: {lacks}"));
        } else if let Some(old) = member.replaces
            && members.iter().any(|member| member.id == old)
        {
            waits.push(format!("P{old} to leave, because P{id} votes in its place"));
        }
    }
    waits
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
