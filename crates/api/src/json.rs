//! What the HTTP API of a member says, as JSON.
//!
//! The daemon writes these types and the command line reads the same ones, so the two cannot
//! drift apart. A later version may add fields, and a reader ignores what it does not know: every
//! field that is not in the first version must be optional or have a default.

use crate::coordination::Deadlock;
mod membership;
mod reload;

pub use membership::{AddMember, ChangedMembers, Members, RefusedMember, RemoveMember, Suffrage};
pub use reload::{ChangedSetting, Reloaded};

use serde::{Deserialize, Serialize};

/// The kind of server that answers. Several kinds serve the same page, which has to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Here {
    /// What the server has for the page.
    pub serves: Serves,
    /// The version of the program.
    pub version: String,
}

/// What a server has for the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Serves {
    /// One member of a cluster, and the explorer.
    Member,
    /// The processes of a whole cluster, and the explorer: `bellwether up`.
    Up,
    /// The explorer and nothing else: `bellwether explore`.
    Explore,
}

impl Here {
    /// A server of this kind and of this version.
    pub fn new(serves: Serves) -> Self {
        Here { serves, version: env!("CARGO_PKG_VERSION").to_owned() }
    }
}

/// What one member says about itself and its cluster, at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Status {
    /// The cluster's name.
    pub cluster: String,
    /// The cluster's id, which tells clusters of the same name apart; none until the first coordinator has
    /// begun.
    #[serde(default)]
    pub cluster_id: Option<String>,
    /// The number of the member that answers.
    pub id: u32,
    /// The version of its program.
    pub version: String,
    /// Its operating-system process.
    pub pid: u32,
    /// The election that it takes part in.
    pub election: String,
    /// What it is doing.
    pub stance: Stance,
    /// The mandate that it knows of and that has not run out on its clock.
    pub mandate: Option<Mandate>,
    /// The member that the election or the mandate names. Without a mandate it may do nothing.
    pub coordinator: Option<u32>,
    /// Why there is no mandate, if there is none.
    pub why_no_mandate: Option<String>,
    /// How many members answered this one lately, itself included; known to a coordinator and to
    /// one that wants to be.
    pub reachable: Option<u32>,
    /// How many members must agree.
    pub needed: u32,
    /// How many members there are.
    pub configured: u32,
    /// How many of them vote.
    #[serde(default)]
    pub voters: u32,
    /// How many do not vote (yet).
    #[serde(default)]
    pub learners: u32,
    /// Whether it may lead now: no witness, its clock in order, with its log, and not just passed.
    pub eligible: bool,
    /// How often it has started.
    pub incarnation: u32,
    /// How long it has been running.
    pub uptime_ms: u64,
    /// The last change of the coordinator that it saw.
    pub last_change: Option<Change>,
    /// What an operator should know about the configuration or the state.
    pub warnings: Vec<String>,
    /// The state of its replicated log.
    #[serde(default)]
    pub log: Log,
    /// How long a mandate lasts when it is fresh.
    #[serde(default)]
    pub lease_full_ms: u64,
    /// Where `bellwether up` serves its dashboard, `host:port`, if that started this member.
    #[serde(default)]
    pub up: Option<String>,
}

/// The state of a member's replicated log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Log {
    /// The term of its last entry.
    pub last_term: u64,
    /// The index of its last entry.
    pub last_index: u64,
    /// The commit index: everything up to here is in the logs of a majority.
    pub commit_index: u64,
    /// How much of the log it has.
    pub completeness: Completeness,
    /// How many entries it lacks that its coordinator has.
    pub behind: u64,
    /// What its campaign waits for, if it does.
    pub waiting: Option<Waiting>,
}

/// How much of the log a member has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Completeness {
    /// Everything that it ever acknowledged.
    #[default]
    Whole,
    /// It knows that it lacks something, and receives it.
    Filling,
    /// A restart has forgotten its log, and no coordinator has answered yet.
    Lost,
}

/// Too few members remember what was acknowledged: a campaign waits until clients rely on it no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Waiting {
    /// The return of these members would end the wait.
    pub members: Vec<u32>,
    /// How long it lasts at most.
    pub left_ms: u64,
}

/// What a member is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Stance {
    /// It has just started and listens for a coordinator.
    Listening,
    /// An election is under way, or its winner has not shown itself.
    Electing,
    /// It was elected and has no mandate yet.
    Campaigning,
    /// It holds the mandate.
    Leading,
    /// It follows a coordinator with a mandate.
    Following,
}

impl Stance {
    /// The word for it, as in the JSON.
    pub fn word(self) -> &'static str {
        match self {
            Stance::Listening => "listening",
            Stance::Electing => "electing",
            Stance::Campaigning => "campaigning",
            Stance::Leading => "leading",
            Stance::Following => "following",
        }
    }
}

/// A mandate as one member sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Mandate {
    /// The member that holds it.
    pub leader: u32,
    /// Its term. Each term has one leader, and terms only grow.
    pub term: u64,
    /// How long it lasts without another heartbeat.
    pub lease_ms: u64,
    /// Whether an operator appointed the leader, so that stronger members leave it alone.
    pub appointed: bool,
}

/// One member, as another one sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Member {
    /// Its number.
    pub id: u32,
    /// Where the others reach it.
    pub address: String,
    /// Where its HTTP API is, if the configuration says so.
    pub http: Option<String>,
    /// Members with higher values are preferred; among equals, those with higher numbers.
    pub priority: u32,
    /// Whether it votes and never leads.
    pub witness: bool,
    /// Whether it lives, as far as is known.
    pub health: Health,
    /// How long ago it was last heard.
    pub heartbeat_age_ms: Option<u64>,
    /// By how much its clock is ahead of the average of all members.
    pub clock_offset_us: Option<i64>,
    /// How wrong that may be.
    pub clock_error_us: Option<u64>,
    /// By how much its clock gains against the average, in parts per million.
    pub clock_rate_ppm: Option<Ppm>,
    /// Whether its clock runs at a rate beyond the bound, so that it may not lead.
    pub clock_drifts: bool,
    /// Whether messages can be sent to it: there is a connection. Always true for the member that answers.
    pub connected: bool,
    /// What went wrong last with the connection to it, while there is none.
    pub trouble: Option<String>,
    /// How many entries of the log it lacks, as far as the coordinator knows.
    #[serde(default)]
    pub behind: Option<u64>,
    /// Whether it is the coordinator, as the member that answers sees it.
    pub is_coordinator: bool,
    /// Whether it counts.
    #[serde(default)]
    pub suffrage: Suffrage,
    /// The member that leaves when this one votes.
    #[serde(default)]
    pub replaces: Option<u32>,
}

/// Parts per million, kept in whole parts per billion so that it compares exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ppm {
    /// The same in parts per billion.
    pub ppb: i64,
}

impl Serialize for Ppm {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.ppb as f64 / 1_000.0)
    }
}

impl<'de> Deserialize<'de> for Ppm {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ppm = f64::deserialize(deserializer)?;
        Ok(Ppm { ppb: (ppm * 1_000.0).round() as i64 })
    }
}

#[cfg(feature = "schema")]
impl utoipa::PartialSchema for Ppm {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        f64::schema()
    }
}

#[cfg(feature = "schema")]
impl utoipa::ToSchema for Ppm {}

/// Whether a member lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// Heard lately.
    Alive,
    /// Not heard for longer than is usual.
    Silent,
    /// Nothing is known: there is no coordinator, or it has not reported yet.
    Unknown,
}

impl Health {
    /// The word for it, as in the JSON.
    pub fn word(self) -> &'static str {
        match self {
            Health::Alive => "alive",
            Health::Silent => "silent",
            Health::Unknown => "unknown",
        }
    }
}

/// The changes of the coordinator that a member saw since its start, the latest last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct History {
    /// The member that answers.
    pub id: u32,
    /// The changes. Old ones are forgotten.
    pub changes: Vec<Change>,
}

/// One change of the coordinator, as one member saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Change {
    /// The number of the event that made it, as in the stream of events.
    pub seq: u64,
    /// When, by the wall clock of the member (RFC 3339, UTC).
    pub at: String,
    /// The coordinator before, if there was one.
    pub from: Option<u32>,
    /// The coordinator now; absent if there is no mandate.
    pub to: Option<u32>,
    /// The term of the new mandate, or of the one that ended.
    pub term: Option<u64>,
    /// Why.
    pub reason: String,
}

/// Something that happened at a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Event {
    /// Counts the events of this member since it started, from 1.
    pub seq: u64,
    /// When, by the wall clock of the member (RFC 3339, UTC).
    pub at: String,
    /// What kind of event it is: `electing`, `elected`, `campaigning`, `won`, `lost`, `follows`,
    /// `unmandated`, `passed`, `waiting`, `hand-over-failed`, `filling`, `log-complete`, `joined`,
    /// `diverged`, `drifting`, `steady`, `members`, `removed`, `declined`.
    pub kind: String,
    /// The mandate that it is about.
    pub term: Option<u64>,
    /// The coordinator that it is about.
    pub leader: Option<u32>,
    /// What happened, in words.
    pub text: String,
    /// Why, in words, where there is a reason.
    pub reason: Option<String>,
}

/// What came of a request to change something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Decided {
    /// What was decided, in words. It happens within the next moments.
    pub decision: String,
    /// The next coordinator, if it is decided.
    pub successor: Option<u32>,
}

/// The member that the mandate is handed over to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// The number of the member.
    pub to: u32,
}

/// Members that a member must not reach, for experiments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Partition {
    /// Nothing is sent to these members and nothing heard from them. None: all is well again.
    pub blocked: Vec<u32>,
}

/// Everything that a dashboard shows of a member, at one moment: the data of the stream
/// `/v1/watch`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Overview {
    /// What the member says about itself.
    pub status: Status,
    /// What it says about all members.
    pub members: Vec<Member>,
    /// The changes of the coordinator that this listener has not been told yet, the latest last.
    /// The first glance of a stream has all that are known.
    pub changes: Vec<Change>,
    /// The same for events.
    pub events: Vec<Event>,
}

/// Messages between members that one of them sent or received: the data of the stream
/// `/v1/messages`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Messages {
    /// The member that reports them.
    pub id: u32,
    /// The messages since the last time, in the order in which they were sent or received.
    pub messages: Vec<Message>,
    /// How many more messages this listener was too slow for.
    pub missed: u64,
}

/// A message between two members, or several of the same kind that are not worth a line each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Message {
    /// When, by the wall clock of the member that tells of it (RFC 3339, UTC); of several, the
    /// last.
    pub at: String,
    /// The sender.
    pub from: u32,
    /// The receiver.
    pub to: u32,
    /// Its kind, in the word of the paper: `ELECTION`, `BEAT`.
    pub kind: String,
    /// The message with what it carries: `CLAIM(3)`; of several, the last.
    pub text: String,
    /// Whether the member that reports it sent or received it.
    pub direction: Direction,
    /// Whether it belongs to the heartbeats, which are there whatever happens. Those of the same
    /// moment are told together.
    pub overhead: bool,
    /// Whether a partition made for an experiment swallows it.
    pub cut: bool,
    /// How many messages this line counts.
    pub count: u64,
}

/// Which way a message went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Sent by the member that reports it.
    Sent,
    /// Received by it.
    Received,
}

/// A whole cluster that `bellwether up` started, as its parent sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Up {
    /// The members, by number.
    pub members: Vec<UpMember>,
    /// The sides of the partition that holds: members of different sides do not reach each other.
    /// None: all members reach each other.
    pub partition: Vec<Vec<u32>>,
    /// What has happened, in words, the latest last. Old lines are forgotten.
    pub news: Vec<UpNews>,
    /// What can be commanded.
    pub commands: Vec<UpCommand>,
}

/// One member's process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct UpMember {
    /// Its number.
    pub id: u32,
    /// Where its HTTP API is: `host:port`.
    pub http: String,
    /// Its operating-system process, if there is one.
    pub pid: Option<u32>,
    /// What has been done to its process.
    pub process: ProcessState,
    /// The members that it does not reach because of the partition.
    pub cut_off_from: Vec<u32>,
}

/// What has been done to a member's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ProcessState {
    /// It runs.
    Running,
    /// It was stopped, and goes on when it is resumed.
    Paused,
    /// There is no process.
    Dead,
}

/// A line of what has happened to a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct UpNews {
    /// Counts the lines, from 1.
    pub seq: u64,
    /// When, since the cluster was started.
    pub at_ms: u64,
    /// What.
    pub text: String,
}

/// A command that `bellwether up` takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct UpCommand {
    /// How it is written: `kill ID`.
    pub usage: String,
    /// What it does.
    pub about: String,
}

/// A command for a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct UpOrder {
    /// A line as `bellwether up --plain` reads it: `kill 5`, `partition 1,2|3,4,5`.
    pub command: String,
}

/// What was done to a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct UpDone {
    /// In words.
    pub done: String,
    /// How the cluster is now.
    pub up: Up,
}

/// Why a request was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Problem {
    /// What is wrong.
    pub error: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// A word for what is wrong that does not change, for programs: `busy`, `deadlock`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The cycle, if the request was aborted because of a deadlock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadlock: Option<Box<Deadlock>>,
}

/// Whether a member lives, or is ready for work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Probe {
    /// Whether it is.
    pub ok: bool,
    /// Why, or why not.
    pub why: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_survives_the_journey() {
        for ppb in [0, 1, -1, 12_345, -500_000, 100_000_000] {
            let text = serde_json::to_string(&Ppm { ppb }).unwrap();
            assert_eq!(serde_json::from_str::<Ppm>(&text).unwrap(), Ppm { ppb }, "{text}");
        }
        assert_eq!(serde_json::to_string(&Ppm { ppb: -1_500 }).unwrap(), "-1.5");
    }

    #[test]
    fn a_reader_ignores_what_it_does_not_know() {
        let text = r#"{"leader": 3, "term": 9, "lease_ms": 400, "appointed": false, "new": 1}"#;
        let mandate: Mandate = serde_json::from_str(text).unwrap();
        assert_eq!(mandate, Mandate { leader: 3, term: 9, lease_ms: 400, appointed: false });
    }

    #[test]
    fn a_request_with_a_typing_error_is_refused() {
        assert!(serde_json::from_str::<Transfer>(r#"{"to": 3}"#).is_ok());
        assert!(serde_json::from_str::<Transfer>(r#"{"to": 3, "form": 4}"#).is_err());
    }

    #[test]
    fn a_status_of_an_older_member_is_understood() {
        let text = r#"{"cluster": "c", "id": 1, "version": "0.1.0", "pid": 1, "election": "bully",
            "stance": "listening", "mandate": null, "coordinator": null, "why_no_mandate": null,
            "reachable": null, "needed": 2, "configured": 3, "eligible": true, "incarnation": 1,
            "uptime_ms": 5, "last_change": null, "warnings": []}"#;
        let status: Status = serde_json::from_str(text).unwrap();
        assert_eq!((status.lease_full_ms, status.up), (0, None));
    }

    #[test]
    fn words_are_those_of_the_json() {
        for stance in [Stance::Listening, Stance::Electing, Stance::Campaigning] {
            assert_eq!(serde_json::to_value(stance).unwrap(), stance.word());
        }
        for health in [Health::Alive, Health::Silent, Health::Unknown] {
            assert_eq!(serde_json::to_value(health).unwrap(), health.word());
        }
    }
}
