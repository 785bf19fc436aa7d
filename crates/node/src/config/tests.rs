use super::*;
use crate::config::units::size;
use crate::config::{Sessions, SocketAccess};
use bellwether_algorithms::election::any::Choice;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use tempfile::TempDir;

const GOOD: &str = r#"
cluster = "demo"
id = 2
data = "state"

[tls]
ca = "ca.pem"
certificate = "member-{id}.pem"
key = "/etc/member-{id}-key.pem"

[[member]]
id = 1
address = "host-1:7400"

[[member]]
id = 2
address = "host-2:7400"

[[member]]
id = 3
address = "host-3:7400"
"#;

/// Loads a text from a file named `bellwether.toml`.
fn load_text(text: &str, overrides: &Overrides) -> (TempDir, Result<Settings, ConfigError>) {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("bellwether.toml");
    std::fs::write(&file, text).unwrap();
    let loaded = load(&file, overrides);
    (folder, loaded)
}

fn good(text: &str) -> Settings {
    load_text(text, &Overrides::default()).1.unwrap()
}

/// The complaint, without the directory of the file.
fn complaint_over(text: &str, overrides: &Overrides) -> String {
    let (folder, loaded) = load_text(text, overrides);
    let error = loaded.unwrap_err().to_string();
    error.replace(&format!("{}/", folder.path().display()), "")
}

/// The good file with one line before everything else.
fn with(line: &str) -> String {
    format!("{line}{GOOD}")
}

/// Each text and the whole complaint about it.
#[track_caller]
fn refused(table: &[(String, &str)]) {
    for (text, expected) in table {
        let complaint = complaint_over(text, &Overrides::default());
        assert_eq!(complaint, *expected, "for\n{text}");
    }
}

#[test]
fn a_short_file_is_enough() {
    let (folder, loaded) = load_text(GOOD, &Overrides::default());
    let settings = loaded.unwrap();
    assert_eq!(settings.cluster, "demo");
    assert_eq!(settings.id, NodeId::new(2));
    assert_eq!(settings.listen.to_string(), "0.0.0.0:7400");
    assert_eq!(settings.http, Some(HTTP));
    assert_eq!(settings.data, folder.path().join("state"));
    assert_eq!(settings.tls.certificate, folder.path().join("member-2.pem"));
    assert_eq!(settings.tls.key, Path::new("/etc/member-2-key.pem"));
    assert_eq!((settings.choices.election.name(), settings.profile), ("bully", Profile::Default));
    assert_eq!(settings.choices, Choices::default());
    assert_eq!(settings.limits, Limits::default());
    assert_eq!(settings.socket, Some(folder.path().join("state/bellwether.sock")));
    assert_eq!(settings.socket, Some(settings.default_socket()));
    assert_eq!(settings.sessions, Sessions::default());
    assert!(settings.warnings.is_empty(), "{:?}", settings.warnings);
    assert!(settings.log_folder().ends_with("state/demo-2.log"));
}

/// Each of these settings makes a difference, and how it is written makes none.
#[test]
fn what_members_must_agree_on_is_named() {
    let agreed = |text: &str| {
        let settings = good(text);
        [settings.leases_agree(), settings.must_agree()].concat()
    };
    let plain = agreed(GOOD);
    let names: Vec<_> = plain.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["lease", "drift_ppm", "quorum", "election"]);
    let founders = |text: &str| good(text).founders_agree();
    assert_eq!(founders(GOOD), [("members", "1 2 3".to_owned())]);
    let special = GOOD.replace("host-1:7400\"", "host-1:7400\"\npriority = 7");
    let special = special.replace("host-3:7400\"", "elsewhere:7\"\nwitness = true");
    assert_eq!(founders(&special)[0].1, "1+7 2 3w");
    let lease = &plain[0].1;
    assert_eq!(agreed(&with(&format!("lease = \"{lease}\"\n"))), plain);
    let changes = ["lease = \"4s\"", "drift_ppm = 7", "quorum = \"none\"", "election = \"ring\""];
    for (place, change) in changes.into_iter().enumerate() {
        let other = agreed(&with(&format!("{change}\n")));
        let differ: Vec<_> = (0..4).filter(|place| other[*place] != plain[*place]).collect();
        assert_eq!(differ, [place], "{change}");
    }
}

#[test]
fn a_member_that_joins_founds_nothing_and_asks_others() {
    assert_eq!(good(GOOD).founders().voters().count(), 3);
    let joins = good(&with("join = true\n"));
    assert!(joins.join && joins.founders().seats.is_empty());
    assert_eq!(joins.members.len(), 3);
    let alone = GOOD.split("[[member]]").take(2).collect::<Vec<_>>().join("[[member]]");
    let alone = format!("join = true\n{}", alone.replace("id = 2", "id = 1"));
    let complaint = complaint_over(&alone, &Overrides::default());
    assert!(complaint.contains("join: there is no other member to ask"), "{complaint}");
}

#[test]
fn everything_can_be_said() {
    let text = with(
        "listen = \"127.0.0.1:7999\"\nhttp = \"off\"\nhttp_names = \"a.example, b\"\nelection = \"ring\"\nprofile = \"wide\"\n\
         heartbeat = \"1s\"\nlease = \"6s\"\ndrift_ppm = 200\nelection_timeout = \"800ms\"\n\
         preempt = \"after 30s\"\nquorum = \"majority\"\n\
         durability = \"memory\"\nproof_of_death = \"off\"\nlimits = { queue = 100, stale_after = \"2s\", greetings = 8 }\n\
         log = { format = \"json\", level = \"debug\" }\n",
    );
    let text = text.replace(
        "address = \"host-3:7400\"",
        "address = \"host-3:7400\"\npriority = 7\nwitness = true\nhttp = \"host-3:7480\"",
    );
    let settings = good(&text);
    assert_eq!((settings.listen.port(), settings.http), (7999, None));
    assert_eq!(settings.http_names, ["a.example", "b"]);
    assert_eq!((settings.choices.election.name(), settings.profile), ("ring", Profile::Wide));
    let choices = &settings.choices;
    assert_eq!((choices.heartbeat.as_secs(), choices.lease.as_secs()), (1, 6));
    assert_eq!(choices.election_timeout.map(|span| span.as_millis()), Some(800));
    assert_eq!(choices.drift_ppm, 200);
    assert!(!settings.proof_of_death && good(GOOD).proof_of_death);
    assert_eq!(settings.limits.queue, 100);
    assert_eq!(settings.choices.durability, Durability::Memory);
    assert_eq!((settings.log.format, settings.log.level.as_str()), (LogFormat::Json, "debug"));
    let third = &settings.members[2];
    assert_eq!((third.priority, third.witness), (7, true));
    assert_eq!(third.http.as_deref(), Some("host-3:7480"));
}

#[test]
fn what_is_printed_says_the_same() {
    let mut settings = good(GOOD);
    settings.http_names = vec!["a.example".to_owned(), "b".to_owned()];
    let again = good(&settings.to_string());
    assert_eq!(
        again,
        Settings { file: again.file.clone(), choices: again.choices.clone(), ..settings }
    );
}

#[test]
fn flags_are_stronger_than_the_file() {
    let flags = Overrides {
        id: Some("3".to_owned()),
        listen: Some("127.0.0.1:1234".to_owned()),
        http: Some("off".to_owned()),
        data: Some("elsewhere".to_owned()),
        election: Some("peterson".to_owned()),
        profile: Some("fast".to_owned()),
        log: Some("warn".to_owned()),
        log_format: Some("json".to_owned()),
        join: true,
        dev_faults: true,
    };
    let settings = load_text(GOOD, &flags).1.unwrap();
    assert_eq!((settings.id, settings.listen.port()), (NodeId::new(3), 1234));
    assert_eq!((settings.http, settings.choices.election.name()), (None, "peterson"));
    assert_eq!(settings.data, Path::new("elsewhere"));
    assert_eq!(settings.choices, Choices { election: Choice::Peterson, ..Choices::fast() });
    assert_eq!((settings.log.format, settings.log.level.as_str()), (LogFormat::Json, "warn"));
    assert!(settings.join);
    assert!(settings.dev_faults && settings.warnings[0].contains("development faults"));
}

#[test]
fn a_wrong_flag_is_named_with_its_variable() {
    let flag = |change: fn(&mut Overrides)| {
        let mut flags = Overrides::default();
        change(&mut flags);
        complaint_over(GOOD, &flags)
    };
    assert_eq!(
        flag(|flags| flags.id = Some("x".to_owned())),
        "--id (or BELLWETHER_ID): id: 'x' is not a whole number from 0 to 4294967295, or \"hostname\""
    );
    assert_eq!(
        flag(|flags| flags.id = Some("9".to_owned())),
        "--id (or BELLWETHER_ID): id: there is no [[member]] with id 9; there are 1, 2, 3"
    );
    assert_eq!(
        flag(|flags| flags.http = Some("on".to_owned())),
        "--http (or BELLWETHER_HTTP): http: 'on' is not an address to listen on; give an IP address \
         and a port: \"0.0.0.0:7400\", or \"off\""
    );
    assert_eq!(
        flag(|flags| flags.election = Some("bulli".to_owned())),
        format!(
            "--election (or BELLWETHER_ELECTION): election: 'bulli' is not one of {}; did you mean \
             'bully'?",
            Choice::NAMES.join(", ")
        )
    );
}

#[test]
fn what_clients_may_have_can_be_said() {
    let text = with(
        r#"socket = "/run/bw/{id}.sock"
sessions.max = 5
sessions.connections_max = 6
sessions.waiters_max = 7
sessions.requests_max = 8
sessions.name_max = 9
sessions.value_max = "1KiB"
sessions.bytes_max = "64MiB"
sessions.ttl_min = "20ms"
sessions.ttl_max = "2m"
sessions.on_deadlock = "report"
"#,
    );
    let settings = good(&text);
    assert_eq!(settings.socket.as_deref(), Some(Path::new("/run/bw/2.sock")));
    let expected = bellwether_coordination::Limits {
        sessions: 5,
        waiters: 7,
        requests: 8,
        name: 9,
        value: 1_024,
        ttl_min_ms: 20,
        ttl_max_ms: 120_000,
        bytes: 64 << 20,
        ..Default::default()
    };
    assert_eq!(settings.sessions.limits, expected);
    assert_eq!(settings.sessions.connections, 6);
    assert_eq!(settings.sessions.on_deadlock, bellwether_coordination::OnDeadlock::Report);
    let printed = load_text(&settings.to_string(), &Overrides::default()).1.unwrap();
    assert_eq!((printed.socket, printed.sessions), (settings.socket, settings.sessions));
    assert_eq!(good(&with("socket = \"off\"")).socket, None);
}

#[test]
fn who_may_connect_to_the_socket_can_be_said() {
    let access = |lines: &str| good(&with(lines)).socket_access;
    assert_eq!(good(GOOD).socket_access, SocketAccess { mode: 0o600, group: None });
    let group = Some(0);
    assert_eq!(access("socket_group = \"root\""), SocketAccess { mode: 0o660, group });
    assert_eq!(
        access("socket_group = 0\nsocket_mode = \"0620\""),
        SocketAccess { mode: 0o620, group }
    );
    let settings = good(&with("socket_group = 7\noperator_token = \"/run/bw/token\""));
    let printed = load_text(&settings.to_string(), &Overrides::default()).1.unwrap();
    assert_eq!(printed.socket_access, SocketAccess { mode: 0o660, group: Some(7) });
    assert_eq!(printed.operator_token, Path::new("/run/bw/token"));
    let usual = good(GOOD);
    assert_eq!(usual.operator_token, usual.data.join("operator.token"));
    refused(&[
        (
            with("socket_mode = \"0460\""),
            "bellwether.toml:1: socket_mode: '0460' is not a mode from \"0600\" to \"0777\" in which the \
             owner may read and write, such as \"0660\"",
        ),
        (
            with("socket_mode = \"rw\""),
            "bellwether.toml:1: socket_mode: 'rw' is not a mode from \"0600\" to \"0777\" in which the \
             owner may read and write, such as \"0660\"",
        ),
        (
            with("socket_group = \"no such group\""),
            "bellwether.toml:1: socket_group: there is no group 'no such group' in \
             /etc/group; give its number instead",
        ),
        (with("operator_token = \"\""), "bellwether.toml:1: operator_token: is empty; give a path"),
    ]);
}

#[test]
fn what_clients_cannot_have_is_named() {
    refused(&[
        (with("socket = \"\""), "bellwether.toml:1: socket: is empty; give a path"),
        (
            with("sessions = { max = 0 }"),
            "bellwether.toml:1: sessions.max: 0 is not a whole number from 1 to 10000000",
        ),
        (
            with("sessions = { per_client_max = 0 }"),
            "bellwether.toml:1: sessions.per_client_max: 0 is not a whole number from 1 to 10000000",
        ),
        (
            with("sessions = { maximum = 1 }"),
            "bellwether.toml:1: sessions.maximum: unknown key; allowed are max, per_client_max, \
             connections_max, waiters_max, requests_max, name_max, value_max, bytes_max, ttl_min, ttl_max, \
             on_deadlock",
        ),
        (
            with("sessions = { bytes_max = \"1KiB\" }"),
            "bellwether.toml:1: sessions.bytes_max: '1KiB' is less than 1MiB",
        ),
        (
            with("sessions = { value_max = \"1MiB\" }"),
            "bellwether.toml:1: sessions.value_max: '1MiB' is more than 64KiB",
        ),
        (
            with("sessions = { ttl_min = \"1ms\" }"),
            "bellwether.toml:1: sessions.ttl_min: '1ms' is not from 10ms to 60m",
        ),
        (
            with("sessions = { ttl_min = \"90s\" }"),
            "bellwether.toml:1: sessions.ttl_max: ttl_min is 90s and ttl_max is 1m; the first must \
             not be longer",
        ),
        (
            with("sessions = { on_deadlock = \"panic\" }"),
            "bellwether.toml:1: sessions.on_deadlock: 'panic' is not one of abort, report",
        ),
    ]);
}

#[test]
fn typing_errors_are_found_with_their_line() {
    refused(&[
        (
            with("hartbeat = \"1s\""),
            "bellwether.toml:1: hartbeat: unknown key; did you mean 'heartbeat'?",
        ),
        (
            GOOD.replace("ca = ", "cert = "),
            "bellwether.toml:6: tls.ca: is missing; name the PEM file\n       \
             bellwether.toml:7: tls.cert: unknown key; allowed are ca, certificate, key",
        ),
        (
            GOOD.replacen("address =", "adress =", 1),
            "bellwether.toml:11: member.address: this member has no address\n       \
             bellwether.toml:13: member.adress: unknown key; did you mean 'address'?",
        ),
        (
            with("election = \"buly\""),
            &format!(
                "bellwether.toml:1: election: 'buly' is not one of {}; did you mean 'bully'?",
                Choice::NAMES.join(", ")
            ),
        ),
        (with("quorum = \"all\""), "bellwether.toml:1: quorum: 'all' is not one of majority, none"),
        (
            with("profile = \"slow\""),
            "bellwether.toml:1: profile: 'slow' is not one of default, fast, wide",
        ),
        (
            with("preempt = \"sometimes\""),
            "bellwether.toml:1: preempt: 'sometimes' is not one of \"always\", \"never\", \"after 30s\"",
        ),
    ]);
}

#[test]
fn values_of_the_wrong_kind_are_found() {
    refused(&[
        (
            GOOD.replace("id = 2\ndata", "id = \"two\"\ndata"),
            "bellwether.toml:3: id: 'two' is not a whole number from 0 to 4294967295, or \"hostname\"",
        ),
        (
            GOOD.replace("id = 2\ndata", "id = -2\ndata"),
            "bellwether.toml:3: id: '-2' is not a whole number from 0 to 4294967295, or \"hostname\"",
        ),
        (
            GOOD.replace("\"demo\"", "7"),
            "bellwether.toml:2: cluster: is a whole number, and should be a text in quotes",
        ),
        (
            with("tls = 5").replace("[tls]", "[nls]"),
            "bellwether.toml:1: tls: is a whole number, and should be a table: [tls]\n       bellwether.toml:6: nls: unknown key; did you mean 'tls'?",
        ),
        (
            with("heartbeat = 100"),
            "bellwether.toml:1: heartbeat: is a whole number, and should be a text in quotes",
        ),
        (
            with("heartbeat = \"100\""),
            "bellwether.toml:1: heartbeat: '100' has no unit; give a span such as \"250us\", \
             \"100ms\", \"1.5s\" or \"2m\"",
        ),
        (
            with("limits = { queue = 3 }"),
            "bellwether.toml:1: limits.queue: 3 is not a whole number from 16 to 65536",
        ),
        (
            with("durability = \"tape\""),
            "bellwether.toml:1: durability: 'tape' is not one of disk, memory",
        ),
        (
            with("log = { level = \"loud\" }"),
            "bellwether.toml:1: log.level: 'loud' is not a level; give one of off, error, warn, info, \
             debug, trace, or levels by module: \"info,bellwether_net=debug\"",
        ),
        (
            format!("{GOOD}witness = \"yes\"\n"),
            "bellwether.toml:22: member.witness: is a text, and should be true or false",
        ),
    ]);
}

#[test]
fn what_is_missing_is_named() {
    refused(&[
        (
            GOOD.replace("cluster = \"demo\"", ""),
            "bellwether.toml: cluster: is missing; give the cluster a name: cluster = \"demo\"",
        ),
        (
            GOOD.replace("id = 2\ndata", "data"),
            "bellwether.toml: id: is missing; say which of the members this is: id = 1, --id or \
             BELLWETHER_ID; or \"hostname\"",
        ),
        (
            GOOD.replace("data = \"state\"", ""),
            "bellwether.toml: data: is missing; name the directory of the durable state: data = \
             \"/var/lib/bellwether\"",
        ),
        (
            GOOD.replacen("address = \"host-1:7400\"", "", 1),
            "bellwether.toml:11: member.address: this member has no address",
        ),
        (
            "cluster = \"demo\"\nid = 1\ndata = \"x\"\n".to_owned(),
            "bellwether.toml: member: is missing; list every member, this one too: [[member]] with \
             id and address\n       \
             bellwether.toml: tls: is missing; members talk over mutual TLS: [tls] with ca, \
             certificate and key (`bellwether certs` makes some for development)",
        ),
    ]);
}

#[test]
fn what_contradicts_itself_is_named() {
    refused(&[
        (
            GOOD.replace("id = 2\ndata", "id = 9\ndata"),
            "bellwether.toml:3: id: there is no [[member]] with id 9; there are 1, 2, 3",
        ),
        (
            GOOD.replace("id = 3\n", "id = 1\n"),
            "bellwether.toml:20: member.id: 1 is given twice; every member needs a number of its own",
        ),
        (
            GOOD.replace("host-3:7400", "host-1:7400"),
            "bellwether.toml:21: member.address: member 1 has 'host-1:7400' already; every member \
             has its own",
        ),
        (
            GOOD.replace("host-3:7400", "host-3"),
            "bellwether.toml:21: member.address: 'host-3' is not a name or an IP address with a \
             port: \"host-1:7400\"",
        ),
        (
            GOOD.replace(":7400\"\n", ":7400\"\nwitness = true\n"),
            "bellwether.toml: member.witness: every member is a witness, so no member may lead; at \
             least one must not be a witness",
        ),
        (
            with("lease = \"300ms\""),
            "bellwether.toml:1: lease: 300ms is less than five heartbeats of 100ms; give at least \
             500ms",
        ),
        (
            with("heartbeat = \"1s\""),
            "bellwether.toml:1: lease: 500ms is less than five heartbeats of 1s; give at least 5s",
        ),
        (
            with("drift_ppm = 200000"),
            "bellwether.toml:1: drift_ppm: 200000 is too much; at most 100000",
        ),
        (
            GOOD.replace("\"demo\"", "\"My Cluster\""),
            "bellwether.toml:2: cluster: cluster name `My Cluster` is not usable: it must be 1 to \
             40 lower-case letters, digits and inner hyphens",
        ),
    ]);
}

#[test]
fn several_mistakes_are_told_at_once() {
    let text = with("profile = \"slow\"\nlisten = \"here\"\n").replace("host-3:7400", "host-3");
    let complaint = complaint_over(&text, &Overrides::default());
    let keys: Vec<_> = complaint.lines().map(|line| line.trim().split(": ").nth(1)).collect();
    assert_eq!(keys, [Some("profile"), Some("listen"), Some("member.address")], "{complaint}");
}

#[test]
fn the_number_can_be_that_of_the_host() {
    for (host, number) in [("member-2", 2), ("db3", 3), ("member-12.bellwether.svc", 12), ("7", 7)]
    {
        assert_eq!(own_id("hostname", host), Ok(number), "{host}");
    }
    for host in ["localhost", "member-", "member-2a", "a.b2", "h99999999999", ""] {
        let error = own_id("hostname", host).unwrap_err();
        assert!(error.contains("does not end with a number"), "{host}: {error}");
    }
    assert_eq!(own_id("2", "member-3"), Ok(2));
}

#[test]
fn what_is_no_toml_is_told_with_its_line() {
    let complaint = complaint_over("cluster = \"demo\"\nid 2\n", &Overrides::default());
    assert!(complaint.starts_with("bellwether.toml:2: this is not TOML: "), "{complaint}");
    let missing = load(Path::new("no/such.toml"), &Overrides::default()).unwrap_err();
    assert!(missing.to_string().starts_with("cannot read the configuration no/such.toml: "));
}

#[test]
fn warns_of_what_is_allowed_and_hardly_wanted() {
    let warned = |text: &str, fragment: &str| {
        let warnings = good(text).warnings;
        assert!(warnings.iter().any(|text| text.contains(fragment)), "{fragment}: {warnings:?}");
    };
    let third = "[[member]]\nid = 3\naddress = \"host-3:7400\"\n";
    let fourth = "[[member]]\nid = 4\naddress = \"host-4:7400\"\n";
    warned(&GOOD.replace(third, ""), "2 members: the loss of one member stops the cluster");
    warned(&format!("{GOOD}{fourth}"), "4 members survive no more failures than 3");
    warned(&with("quorum = \"none\""), "two members may lead at once");
    warned(&with("limits = { frame = \"64KiB\" }"), "limits.frame has no effect");
    warned(&with("http = \"0.0.0.0:7480\""), "is not encrypted");
}

/// What is packaged: a file beside the crates.
fn packaged(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(name);
    std::fs::read_to_string(path).unwrap()
}

/// Finding i of issue 19: members of the packaged unit were killed for memory. A snapshot needs 1.3
/// times the state at most, and the process itself 64 MiB.
#[test]
fn i_the_unit_fits_its_limits() {
    let unit = packaged("bellwether.service");
    let most = unit.lines().find_map(|line| line.strip_prefix("MemoryMax=")).unwrap();
    let most = size(&format!("{most}iB")).unwrap() as u64;
    let example = packaged("bellwether.toml");
    let shown = example.lines().find_map(|line| line.strip_prefix("# bytes_max = \"")).unwrap();
    let shown = size(shown.split('"').next().unwrap()).unwrap() as u64;
    let state = Sessions::default().limits.bytes;
    assert_eq!(shown, state, "the example shows another default");
    let needed = state + state * 3 / 10 + (64 << 20);
    assert!(needed <= most, "MemoryMax is {most}, and {needed} bytes may be needed");
}

#[test]
fn warns_of_files_that_others_may_touch() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::create_dir(path("state")).unwrap();
    for name in ["key.pem", "state/operator.token"] {
        std::fs::write(path(name), "").unwrap();
    }
    std::fs::write(path("bellwether.toml"), GOOD.replace("/etc/member-{id}-key.pem", "key.pem"))
        .unwrap();
    let warnings = |data, key| {
        let files = [("state", data), ("key.pem", key), ("state/operator.token", key & 0o704)];
        for (name, mode) in files {
            std::fs::set_permissions(path(name), Permissions::from_mode(mode)).unwrap();
        }
        load(&path("bellwether.toml"), &Overrides::default()).unwrap().warnings
    };
    assert_eq!(warnings(0o755, 0o640), [""; 0]);
    assert!(warnings(0o775, 0o600)[0].contains("can be written by other users"));
    let both = warnings(0o700, 0o644);
    assert!(both[0].contains("can be read by other users"), "{both:?}");
    assert!(both[1].contains("they can command this member"), "{both:?}");
}
