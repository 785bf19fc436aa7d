//! What clients may have: the socket, and the table `[sessions]`.

use super::load::{Loader, unknown};
use super::read::{Given, Section};
use super::units::{duration, show_duration, show_size, size};
use super::{DEFAULT_SOCKET, DEFAULT_TOKEN, Sessions, SocketAccess};
use bellwether_api::client::{LARGEST_VALUE, LONGEST_NAME};
use bellwether_coordination::{LONGEST_TTL_MS, OnDeadlock};
use bellwether_core::NodeId;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(super) const SESSIONS: &[&str] = &[
    "max",
    "per_client_max",
    "connections_max",
    "waiters_max",
    "requests_max",
    "name_max",
    "value_max",
    "bytes_max",
    "ttl_min",
    "ttl_max",
    "on_deadlock",
];

/// What a TTL can be at all: shorter ones would end while a process waits for its turn.
const TTL: RangeInclusive<Duration> =
    Duration::from_millis(10)..=Duration::from_millis(LONGEST_TTL_MS);

/// Less memory for sessions, locks and roles would refuse a few hundred clients.
const SMALLEST_STATE: usize = 1 << 20;

impl<'t> Loader<'_, 't> {
    /// The inner option is whether there is a socket, the outer whether that makes sense.
    pub(super) fn socket(
        &mut self,
        root: Section<'t>,
        data: Option<&Path>,
        id: Option<NodeId>,
    ) -> Option<Option<PathBuf>> {
        match self.reader.text(root, "socket") {
            None => Some(data.map(|data| data.join(DEFAULT_SOCKET))),
            Some(given) if given.value == "off" => Some(None),
            Some(given) => self.path("socket", given, id).map(Some),
        }
    }

    /// Whether the member runs under a parent that proves its death.
    pub(super) fn proof_of_death(&mut self, root: Section<'t>) -> bool {
        let given = self.reader.text(root, "proof_of_death");
        let given = self.reader.parse("proof_of_death", given, |word| match word {
            "on" => Ok(true),
            "off" => Ok(false),
            _ => Err(format!("'{word}' is neither \"on\" nor \"off\"")),
        });
        given.is_none_or(|given| given.value)
    }

    /// The file of the operator token. Members that share a data directory share it.
    pub(super) fn operator_token(
        &mut self,
        root: Section<'t>,
        data: Option<&Path>,
        id: Option<NodeId>,
    ) -> Option<PathBuf> {
        match self.reader.text(root, "operator_token") {
            None => data.map(|data| data.join(DEFAULT_TOKEN)),
            Some(given) => self.path("operator_token", given, id),
        }
    }

    /// Who may connect to the socket. A group that is named may, if nothing else is said.
    pub(super) fn socket_access(&mut self, root: Section<'t>) -> Option<SocketAccess> {
        let given = self.reader.text_or_number(root, "socket_group");
        let named = given.is_some();
        let group = self.reader.parse("socket_group", given, group);
        let given = self.reader.text(root, "socket_mode");
        let is_given = given.is_some();
        let mode = self.reader.parse("socket_mode", given, mode);
        if named && group.is_none() || is_given && mode.is_none() {
            return None;
        }
        let usual = if named { 0o660 } else { 0o600 };
        let mode = mode.map_or(usual, |given| given.value);
        Some(SocketAccess { mode, group: group.map(|given| given.value) })
    }

    pub(super) fn sessions(&mut self, root: Section<'t>) -> Sessions {
        let mut sessions = Sessions::default();
        let Some(section) = self.reader.table(root, "sessions", SESSIONS) else { return sessions };
        if let Some(given) = self.reader.number(section, "connections_max", 1..1_000_001) {
            sessions.connections = given.value as usize;
        }
        if let Some(given) = self.reader.number(section, "per_client_max", 1..10_000_001) {
            sessions.per_client = given.value as u32;
        }
        let limits = &mut sessions.limits;
        let counts = [
            ("max", 1..10_000_001, &mut limits.sessions),
            ("waiters_max", 1..1_000_001, &mut limits.waiters),
            ("requests_max", 1..65_537, &mut limits.requests),
            ("name_max", 1..LONGEST_NAME as u64 + 1, &mut limits.name),
        ];
        for (key, allowed, limit) in counts {
            if let Some(given) = self.reader.number(section, key, allowed) {
                *limit = given.value as u32;
            }
        }
        let value = self.reader.text_or_number(section, "value_max");
        let value = self.reader.parse("sessions.value_max", value, |text| match size(text)? {
            bytes @ 0..=LARGEST_VALUE => Ok(bytes),
            _ => Err(format!("'{text}' is more than {}", show_size(LARGEST_VALUE))),
        });
        if let Some(given) = value {
            limits.value = given.value as u32;
        }
        let bytes = self.reader.text_or_number(section, "bytes_max");
        let bytes = self.reader.parse("sessions.bytes_max", bytes, |text| match size(text)? {
            bytes @ SMALLEST_STATE.. => Ok(bytes),
            _ => Err(format!("'{text}' is less than {}", show_size(SMALLEST_STATE))),
        });
        if let Some(given) = bytes {
            limits.bytes = given.value as u64;
        }
        let shortest = self.ttl(section, "ttl_min");
        let longest = self.ttl(section, "ttl_max");
        let millis = |given: &Given<Duration>| given.value.as_millis() as u64;
        limits.ttl_min_ms = shortest.as_ref().map_or(limits.ttl_min_ms, millis);
        limits.ttl_max_ms = longest.as_ref().map_or(limits.ttl_max_ms, millis);
        if let Some(given) = longest.or(shortest)
            && limits.ttl_min_ms > limits.ttl_max_ms
        {
            let [min, max] = [limits.ttl_min_ms, limits.ttl_max_ms].map(Duration::from_millis);
            let (min, max) = (show_duration(min), show_duration(max));
            let what =
                format!("ttl_min is {min} and ttl_max is {max}; the first must not be longer");
            self.reader.complain(given.place, "sessions.ttl_max", what);
        }
        let given = self.reader.text(section, "on_deadlock");
        let on_deadlock = self.reader.parse("sessions.on_deadlock", given, |name| match name {
            "abort" => Ok(OnDeadlock::Abort),
            "report" => Ok(OnDeadlock::Report),
            _ => Err(unknown(name, &["abort", "report"])),
        });
        sessions.on_deadlock = on_deadlock.map_or(sessions.on_deadlock, |given| given.value);
        sessions
    }

    /// Sessions are counted in whole milliseconds.
    fn ttl(&mut self, section: Section<'t>, key: &str) -> Option<Given<Duration>> {
        let given = self.reader.text(section, key);
        self.reader.parse(section.key(key), given, |text| {
            let span = duration(text)?;
            if !TTL.contains(&span) {
                let (from, to) = (show_duration(*TTL.start()), show_duration(*TTL.end()));
                return Err(format!("'{text}' is not from {from} to {to}"));
            }
            Ok(Duration::from_millis(span.as_millis() as u64))
        })
    }
}

/// The permissions of a socket: as `chmod` has them, in octal digits. To connect, one must be able to
/// write.
fn mode(text: &str) -> Result<u32, String> {
    let octal = text.len() <= 4 && text.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
    match u32::from_str_radix(text, 8) {
        Ok(mode) if octal && mode <= 0o777 && mode & 0o600 == 0o600 => Ok(mode),
        _ => Err(format!(
            "'{text}' is not a mode from \"0600\" to \"0777\" in which the owner may read and write, \
             such as \"0660\""
        )),
    }
}

/// The number of a group, which is given by its number or its name.
fn group(text: &str) -> Result<u32, String> {
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    let groups = std::fs::read_to_string("/etc/group").unwrap_or_default();
    let found = groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        let number = (fields.next() == Some(text)).then(|| fields.nth(1)).flatten()?;
        number.parse().ok()
    });
    found
        .ok_or_else(|| format!("there is no group '{text}' in /etc/group; give its number instead"))
}

/// The table, every default spelled out.
impl fmt::Display for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sessions { limits, on_deadlock, connections, per_client } = self;
        writeln!(f, "[sessions]\nmax = {}\nper_client_max = {per_client}", limits.sessions)?;
        writeln!(f, "connections_max = {connections}")?;
        writeln!(f, "waiters_max = {}\nrequests_max = {}", limits.waiters, limits.requests)?;
        writeln!(f, "name_max = {}", limits.name)?;
        writeln!(f, "value_max = \"{}\"", show_size(limits.value as usize))?;
        writeln!(f, "bytes_max = \"{}\"", show_size(limits.bytes as usize))?;
        for (key, ms) in [("ttl_min", limits.ttl_min_ms), ("ttl_max", limits.ttl_max_ms)] {
            writeln!(f, "{key} = \"{}\"", show_duration(Duration::from_millis(ms)))?;
        }
        let on_deadlock = match on_deadlock {
            OnDeadlock::Abort => "abort",
            OnDeadlock::Report => "report",
        };
        writeln!(f, "on_deadlock = \"{on_deadlock}\"")
    }
}
