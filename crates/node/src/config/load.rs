//! From the file's text to settings that make sense.

use super::problem::{ConfigError, Place};
use super::read::{Given, Reader, Section, nearest};
use super::units::{address, duration, listen, listen_for, preempt};
use super::{Limits, Log, LogFormat, Overrides, Peer, Profile, Settings, Tls};
use bellwether_algorithms::election::any::Choice;
use bellwether_core::{Group, NodeId};
use bellwether_member::{Choices, Config, Durability, Quorum, Ranks, Unfit};
use bellwether_net::check_cluster;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use toml::de::DeTable;

const ROOT: &[&str] = &[
    "cluster",
    "id",
    "listen",
    "http",
    "http_names",
    "operator_token",
    "socket",
    "socket_mode",
    "socket_group",
    "data",
    "election",
    "profile",
    "heartbeat",
    "lease",
    "drift_ppm",
    "election_timeout",
    "preempt",
    "quorum",
    "durability",
    "join",
    "proof_of_death",
    "tls",
    "log",
    "limits",
    "sessions",
    "member",
];
const TLS: &[&str] = &["ca", "certificate", "key"];
const LOG: &[&str] = &["format", "level"];
const LIMITS: &[&str] = &["frame", "queue", "stale_after", "greetings"];
const MEMBER: &[&str] = &["id", "address", "http", "priority", "witness"];

/// Where HTTP is served if nothing is said.
const HTTP: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 7480);

/// Ids are whole numbers below this.
const IDS: std::ops::Range<u64> = 0..(1 << 32);

/// Reads a configuration.
pub fn load(file: &Path, overrides: &Overrides) -> Result<Settings, ConfigError> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| ConfigError::Unreadable { path: file.to_owned(), error })?;
    let mut reader = Reader::new(&text);
    let wrong = |problems| ConfigError::Wrong { path: file.to_owned(), problems };
    let table = match DeTable::parse(&text) {
        Ok(table) => table.into_inner(),
        Err(error) => {
            reader.not_toml(&error);
            return Err(wrong(reader.problems));
        }
    };
    let settings =
        Loader { reader: &mut reader, file, overrides, warnings: Vec::new() }.settings(&table);
    match settings {
        Some(settings) if reader.problems.is_empty() => Ok(settings),
        _ => {
            reader.problems.sort_by_key(|problem| match problem.place {
                Place::Flag(..) => 0,
                Place::Missing => 1,
                Place::Line(line) => 1 + line,
            });
            Err(wrong(reader.problems))
        }
    }
}

pub(super) struct Loader<'r, 't> {
    pub(super) reader: &'r mut Reader<'t>,
    file: &'r Path,
    overrides: &'r Overrides,
    /// What is allowed and probably not meant.
    warnings: Vec<String>,
}

impl<'t> Loader<'_, 't> {
    /// The settings, unless a problem is noted.
    fn settings(&mut self, table: &'t DeTable<'t>) -> Option<Settings> {
        let root = self.reader.root(table, ROOT);
        let cluster = self.cluster(root);
        let members = self.members(root);
        let id = self.id(root, &members);
        let (listen, http) = (self.listen(root, id, &members), self.http(root));
        let http_names = self.http_names(root);
        let (profile, choices) = self.choices(root, &members);
        let data = self.data(root, id);
        let proof_of_death = self.proof_of_death(root);
        let tls = self.tls(root, id);
        let log = self.log(root);
        let limits = self.limits(root);
        let operator_token = self.operator_token(root, data.as_deref(), id);
        let socket = self.socket(root, data.as_deref(), id);
        let socket_access = self.socket_access(root);
        let sessions = self.sessions(root);
        let join = self.join(root, &members);
        let mut settings = Settings {
            file: self.file.to_owned(),
            overrides: self.overrides.clone(),
            cluster: cluster?,
            id: id?,
            listen: listen?,
            http: http?,
            http_names,
            operator_token: operator_token?,
            socket: socket?,
            socket_access: socket_access?,
            data: data?,
            profile,
            choices: choices?,
            proof_of_death,
            tls: tls?,
            log: log?,
            limits,
            sessions,
            join,
            members,
            dev_faults: self.overrides.dev_faults,
            up: None,
            warnings: Vec::new(),
        };
        settings.warnings = warnings(&settings);
        settings.warnings.append(&mut self.warnings);
        Some(settings)
    }

    fn missing<T>(&mut self, key: &str, what: &str) -> Option<T> {
        self.reader.complain(Place::Missing, key, format!("is missing; {what}"));
        None
    }

    /// What a flag says, or else what the file says.
    fn text(
        &mut self,
        section: Option<Section<'t>>,
        key: &str,
        flag: &Option<String>,
        names: (&'static str, &'static str),
    ) -> Option<Given<String>> {
        let given = section.and_then(|section| self.reader.text(section, key));
        let place = Place::Flag(names.0, names.1);
        flag.clone().map(|value| Given { value, place }).or(given)
    }

    fn cluster(&mut self, root: Section<'t>) -> Option<String> {
        let Some(given) = self.reader.text(root, "cluster") else {
            if !self.has_problem("cluster") {
                self.missing::<()>("cluster", "give the cluster a name: cluster = \"demo\"");
            }
            return None;
        };
        let check = |name: &str| check_cluster(name).map_err(|error| error.to_string());
        let place = given.place;
        let name = given.value.clone();
        self.reader.parse("cluster", Some(Given { value: given.value, place }), check)?;
        Some(name)
    }

    fn has_problem(&self, key: &str) -> bool {
        self.reader.problems.iter().any(|problem| problem.key == key)
    }

    fn id(&mut self, root: Section<'t>, members: &[Peer]) -> Option<NodeId> {
        let from_file = self.reader.text_or_number(root, "id");
        let flag = self.overrides.id.clone();
        let place = Place::Flag("--id", "BELLWETHER_ID");
        let given = flag.map(|value| Given { value, place }).or(from_file);
        let given = self.reader.parse("id", given, |text| own_id(text, &host_name()));
        let Some(Given { value, place }) = given else {
            if !self.has_problem("id") {
                let what = "say which of the members this is: id = 1, --id or BELLWETHER_ID; or \"hostname\"";
                self.missing::<()>("id", what);
            }
            return None;
        };
        let id = NodeId::new(value);
        if !members.is_empty() && !members.iter().any(|peer| peer.id == id) {
            let known: Vec<_> = members.iter().map(|peer| peer.id.number().to_string()).collect();
            let what =
                format!("there is no [[member]] with id {value}; there are {}", known.join(", "));
            self.reader.complain(place, "id", what);
            return None;
        }
        Some(id)
    }

    fn join(&mut self, root: Section<'t>, members: &[Peer]) -> bool {
        let given = self.reader.truth(root, "join").is_some_and(|given| given.value);
        let join = given || self.overrides.join;
        if join && members.len() == 1 {
            let what = "there is no other member to ask; list some members of the cluster as [[member]], with id and \
                        address";
            let place =
                if given { Place::Missing } else { Place::Flag("--join", "BELLWETHER_JOIN") };
            self.reader.complain(place, "join", what.to_owned());
        }
        join
    }

    fn members(&mut self, root: Section<'t>) -> Vec<Peer> {
        let sections = self.reader.tables(root, "member", MEMBER);
        if sections.is_empty() && !self.has_problem("member") {
            let what = "list every member, this one too: [[member]] with id and address";
            self.missing::<()>("member", what);
        }
        let mut members: Vec<Peer> = Vec::new();
        let mut complete = true;
        for section in sections {
            match self.member(section, &members) {
                Some(peer) => members.push(peer),
                None => complete = false,
            }
        }
        if complete && !members.is_empty() && members.iter().all(|peer| peer.witness) {
            let what = "every member is a witness, so no member may lead; at least one must not be a witness";
            self.reader.complain(Place::Missing, "member.witness", what.to_owned());
        }
        members
    }

    fn member(&mut self, section: Section<'t>, others: &[Peer]) -> Option<Peer> {
        let before = self.reader.problems.len();
        let id = self.reader.number(section, "id", IDS);
        let place = self.reader.text(section, "address");
        let place = self.reader.parse("member.address", place, address);
        let http = self.reader.text(section, "http");
        let http = self.reader.parse("member.http", http, address);
        let priority = self.reader.number(section, "priority", 0..(1 << 32));
        let witness = self.reader.truth(section, "witness");
        for (key, there) in [("id", id.is_some()), ("address", place.is_some())] {
            if !there && self.reader.problems.len() == before {
                let what = format!("this member has no {key}");
                self.reader.complain(section.place(), section.key(key), what);
            }
        }
        let (id, place) = (id?, place?);
        let peer = Peer {
            id: NodeId::new(id.value as u32),
            address: place.value,
            http: http.map(|given| given.value),
            priority: priority.map_or(0, |given| given.value as u32),
            witness: witness.is_some_and(|given| given.value),
        };
        if others.iter().any(|other| other.id == peer.id) {
            let what =
                format!("{} is given twice; every member needs a number of its own", id.value);
            self.reader.complain(id.place, "member.id", what);
        }
        if let Some(other) = others.iter().find(|other| other.address == peer.address) {
            let (address, number) = (&peer.address, other.id.number());
            let what = format!("member {number} has '{address}' already; every member has its own");
            self.reader.complain(place.place, "member.address", what);
        }
        Some(peer)
    }

    fn listen(
        &mut self,
        root: Section<'t>,
        id: Option<NodeId>,
        members: &[Peer],
    ) -> Option<SocketAddr> {
        let names = ("--listen", "BELLWETHER_LISTEN");
        let given = self.text(Some(root), "listen", &self.overrides.listen, names);
        if given.is_some() {
            return self.reader.parse("listen", given, listen).map(|given| given.value);
        }
        let own = members.iter().find(|peer| Some(peer.id) == id)?;
        listen_for(&own.address)
    }

    /// The inner option is whether HTTP is served, the outer whether that makes sense.
    fn http(&mut self, root: Section<'t>) -> Option<Option<SocketAddr>> {
        let names = ("--http", "BELLWETHER_HTTP");
        let given = self.text(Some(root), "http", &self.overrides.http, names);
        match given {
            None => Some(Some(HTTP)),
            Some(given) if given.value == "off" => Some(None),
            Some(given) => {
                let parser =
                    |text: &str| listen(text).map_err(|what| format!("{what}, or \"off\""));
                Some(Some(self.reader.parse("http", Some(given), parser)?.value))
            }
        }
    }

    /// Names with commas between them.
    fn http_names(&mut self, root: Section<'t>) -> Vec<String> {
        let given = self.reader.text(root, "http_names");
        let names = self.reader.parse("http_names", given, |text| {
            let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
            let fit = |name: &str| {
                let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
                match name.chars().all(fits) {
                    true => Ok(name.to_owned()),
                    false => Err(format!(
                        "'{name}' is not the name of a host; write names without ports, with commas \
                         between them"
                    )),
                }
            };
            names.map(fit).collect::<Result<Vec<_>, _>>()
        });
        names.map(|given| given.value).unwrap_or_default()
    }

    fn choices(&mut self, root: Section<'t>, members: &[Peer]) -> (Profile, Option<Choices>) {
        let before = self.reader.problems.len();
        let names = ("--election", "BELLWETHER_ELECTION");
        let given = self.text(Some(root), "election", &self.overrides.election, names);
        let election = self.reader.parse("election", given, |name| {
            Choice::named(name).ok_or_else(|| unknown(name, Choice::NAMES))
        });
        let names = ("--profile", "BELLWETHER_PROFILE");
        let given = self.text(Some(root), "profile", &self.overrides.profile, names);
        let profile = self.reader.parse("profile", given, |name| {
            [Profile::Default, Profile::Fast, Profile::Wide]
                .into_iter()
                .find(|profile| profile.name() == name)
                .ok_or_else(|| unknown(name, &["default", "fast", "wide"]))
        });
        let profile = profile.map_or(Profile::Default, |given| given.value);
        let mut choices = profile.choices();
        choices.election = election.map_or_else(Choice::default, |given| given.value);
        let mut places = BTreeMap::new();
        for key in ["heartbeat", "lease", "election_timeout"] {
            let given = self.reader.text(root, key);
            let Some(span) = self.reader.parse(key, given, duration) else { continue };
            places.insert(key, span.place);
            match key {
                "heartbeat" => choices.heartbeat = span.value,
                "lease" => choices.lease = span.value,
                _ => choices.election_timeout = Some(span.value),
            }
        }
        if let Some(drift) = self.reader.number(root, "drift_ppm", 0..(1 << 32)) {
            places.insert("drift_ppm", drift.place);
            choices.drift_ppm = drift.value as u32;
        }
        let given = self.reader.text(root, "preempt");
        if let Some(given) = self.reader.parse("preempt", given, preempt) {
            choices.preempt = given.value;
        }
        let given = self.reader.text(root, "quorum");
        let quorum = self.reader.parse("quorum", given, |name| match name {
            "majority" => Ok(Quorum::Majority),
            "none" => Ok(Quorum::None),
            _ => Err(unknown(name, &["majority", "none"])),
        });
        if let Some(given) = quorum {
            choices.quorum = given.value;
        }
        let given = self.reader.text(root, "durability");
        let durability = self.reader.parse("durability", given, |name| match name {
            "disk" => Ok(Durability::Disk),
            "memory" => Ok(Durability::Memory),
            _ => Err(unknown(name, &["disk", "memory"])),
        });
        if let Some(given) = durability {
            choices.durability = given.value;
        }
        if self.reader.problems.len() > before {
            return (profile, None);
        }
        if let Err(unfit) = fit(&choices, members) {
            // A time-out that the profile gave is wrong because of the one that was set.
            let place = places.get(unfit.key).or(places.values().next());
            let place = place.copied().unwrap_or(Place::Missing);
            self.reader.complain(place, unfit.key, unfit.why);
            return (profile, None);
        }
        (profile, Some(choices))
    }

    fn data(&mut self, root: Section<'t>, id: Option<NodeId>) -> Option<PathBuf> {
        let names = ("--data", "BELLWETHER_DATA");
        match self.text(Some(root), "data", &self.overrides.data, names) {
            Some(given) => self.path("data", given, id),
            None if self.has_problem("data") => None,
            None => self.missing(
                "data",
                "name the directory of the durable state: data = \"/var/lib/bellwether\"",
            ),
        }
    }

    /// A path of the file is relative to the file, and one of a flag to where the user is. `{id}`
    /// is the member's number, so that all members can share one file.
    pub(super) fn path(
        &mut self,
        key: &str,
        given: Given<String>,
        id: Option<NodeId>,
    ) -> Option<PathBuf> {
        if given.value.is_empty() {
            self.reader.complain(given.place, key, "is empty; give a path".to_owned());
            return None;
        }
        let number = id.map_or_else(String::new, |id| id.number().to_string());
        let path = PathBuf::from(given.value.replace("{id}", &number));
        Some(match (given.place, self.file.parent()) {
            (Place::Line(_), Some(folder)) => folder.join(path),
            _ => path,
        })
    }

    fn tls(&mut self, root: Section<'t>, id: Option<NodeId>) -> Option<Tls> {
        let Some(section) = self.reader.table(root, "tls", TLS) else {
            if !self.has_problem("tls") {
                let what = "members talk over mutual TLS: [tls] with ca, certificate and key \
                            (`bellwether certs` makes some for development)";
                self.missing::<()>("tls", what);
            }
            return None;
        };
        let mut paths = Vec::new();
        for key in TLS {
            let name = section.key(key);
            match self.reader.text(section, key) {
                Some(given) => paths.extend(self.path(&name, given, id)),
                None if self.has_problem(&name) => {}
                None => {
                    let what = "is missing; name the PEM file".to_owned();
                    self.reader.complain(section.place(), name, what);
                }
            }
        }
        let [ca, certificate, key] = <[PathBuf; 3]>::try_from(paths).ok()?;
        Some(Tls { ca, certificate, key })
    }

    fn log(&mut self, root: Section<'t>) -> Option<Log> {
        let section = self.reader.table(root, "log", LOG);
        let names = ("--log-format", "BELLWETHER_LOG_FORMAT");
        let given = self.text(section, "format", &self.overrides.log_format, names);
        let format = self.reader.parse("log.format", given, |name| match name {
            "text" => Ok(LogFormat::Text),
            "json" => Ok(LogFormat::Json),
            _ => Err(unknown(name, &["text", "json"])),
        });
        let names = ("--log", "BELLWETHER_LOG");
        let given = self.text(section, "level", &self.overrides.log, names);
        let level = self
            .reader
            .parse("log.level", given, |text| crate::logs::check(text).map(|()| text.to_owned()));
        Some(Log {
            format: format.map_or(LogFormat::Text, |given| given.value),
            level: level.map_or_else(|| "info".to_owned(), |given| given.value),
        })
    }

    fn limits(&mut self, root: Section<'t>) -> Limits {
        let mut limits = Limits::default();
        let Some(section) = self.reader.table(root, "limits", LIMITS) else { return limits };
        // Version 0.1 had it. A file that sets it is still good.
        if self.reader.text_or_number(section, "frame").is_some() {
            self.warnings.push(
                "limits.frame has no effect: state travels in pieces; remove the line".to_owned(),
            );
        }
        if let Some(given) = self.reader.number(section, "queue", 16..65_537) {
            limits.queue = given.value as usize;
        }
        let stale = self.reader.text(section, "stale_after");
        if let Some(given) = self.reader.parse("limits.stale_after", stale, duration) {
            limits.stale_after = given.value;
        }
        if let Some(given) = self.reader.number(section, "greetings", 4..4_097) {
            limits.greetings = given.value as usize;
        }
        limits
    }
}

/// The number of this member: it is given, or is the number at the end of the host's name.
fn own_id(text: &str, host: &str) -> Result<u32, String> {
    if text != "hostname" {
        let wrong =
            |_| format!("'{text}' is not a whole number from 0 to {}, or \"hostname\"", u32::MAX);
        return text.parse::<u32>().map_err(wrong);
    }
    // Of a full name, only the first label is the host's own.
    let label = host.split('.').next().unwrap_or(host);
    let digits = label.bytes().rev().take_while(u8::is_ascii_digit).count();
    label[label.len() - digits..].parse().map_err(|_| {
        format!("the name of this host, '{host}', does not end with a number; give the id itself")
    })
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// A word that is none of these.
pub(super) fn unknown(word: &str, known: &[&str]) -> String {
    let hint = nearest(word, known);
    let all = known.join(", ");
    if hint.contains(&all) {
        format!("'{word}' is not one of {all}")
    } else {
        format!("'{word}' is not one of {all}; {hint}")
    }
}

/// Whether the time-outs fit together, for this election.
fn fit(choices: &Choices, members: &[Peer]) -> Result<(), Unfit> {
    // Duplicates are complained of elsewhere.
    let Ok(group) = Group::new(members.iter().map(|peer| peer.id).collect()) else {
        return Ok(());
    };
    Config::new(choices, Ranks::equal(&group), &group).map(|_| ())
}

/// What is allowed and probably not wanted.
fn warnings(settings: &Settings) -> Vec<String> {
    let mut warnings = Vec::new();
    let members = settings.members.len();
    if settings.choices.quorum == Quorum::None {
        warnings.push(
            "quorum = \"none\": each side of a partition has its own coordinator, \
             so two members may lead at once; use \"majority\" for anything that \
             matters"
                .to_owned(),
        );
    } else if settings.join {
        // Its list only says whom to ask.
    } else if members < 3 {
        warnings.push(format!(
            "{members} member{}: the loss of one member stops the cluster; 3 members survive the loss of one",
            if members == 1 { "" } else { "s" }
        ));
    } else if members.is_multiple_of(2) {
        warnings.push(format!(
            "{members} members survive no more failures than {}, and an even split stops both \
             sides; use an odd number",
            members - 1
        ));
    }
    if members > 9 {
        warnings
            .push(format!("{members} members: every mandate asks all of them; 3 to 7 are usual"));
    }
    if let Some(http) = settings.http
        && !http.ip().is_loopback()
    {
        warnings.push(format!(
            "http = \"{http}\" can be reached from other hosts and is not encrypted: the \
             network sees session keys and the operator token"
        ));
    }
    let mode = |path: &Path| std::fs::metadata(path).map_or(0, |found| found.mode());
    if mode(&settings.data) & 0o022 != 0 {
        warnings.push(format!(
            "data = \"{}\" can be written by other users: they can make this member forget what it has \
             promised; chmod go-w",
            settings.data.display()
        ));
    }
    if mode(&settings.tls.key) & 0o007 != 0 {
        warnings.push(format!(
            "key = \"{}\" can be read by other users: they can speak as this member; chmod o-rwx",
            settings.tls.key.display()
        ));
    }
    if mode(&settings.operator_token) & 0o077 != 0 {
        warnings.push(format!(
            "operator_token = \"{}\" can be read by other users: they can command this member; chmod go-rwx",
            settings.operator_token.display()
        ));
    }
    if settings.dev_faults {
        warnings.push(
            "development faults are enabled: operators can cut this member off and crash it over HTTP"
                .to_owned(),
        );
    }
    warnings
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
