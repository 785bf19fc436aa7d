//! `backup`, `restore` and `inspect` as an operator meets them, with real members.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(clippy::disallowed_methods, reason = "a test looks again after a while")]

use crate::common::{call, kill_member, learn, process_of};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Members on this host, one configuration for all of them.
struct Place {
    folder: TempDir,
    http: Vec<String>,
}

impl Place {
    fn new(members: u32) -> Place {
        let folder = TempDir::new().unwrap();
        // All ports are drawn before one of them is free again.
        let bound: Vec<TcpListener> =
            (0..2 * members).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let addresses: Vec<String> =
            bound.iter().map(|bound| bound.local_addr().unwrap().to_string()).collect();
        drop(bound);
        let (listen, http) = addresses.split_at(members as usize);
        let mut config = String::from(
            "cluster = \"demo\"\nid = 1\noperator_token = \"operator.token\"\ndata = \"data/{id}\"\n\
             [tls]\nca = \"ca.pem\"\ncertificate = \"member-{id}.pem\"\nkey = \"member-{id}-key.pem\"\n",
        );
        for (place, (listen, http)) in listen.iter().zip(http).enumerate() {
            let id = place + 1;
            config +=
                &format!("[[member]]\nid = {id}\naddress = \"{listen}\"\nhttp = \"{http}\"\n");
        }
        fs::write(folder.path().join("node.toml"), config).unwrap();
        // Each cluster has its own: the keys of sessions are kept by it.
        let port: u32 = http[0].rsplit_once(':').unwrap().1.parse().unwrap();
        fs::write(folder.path().join("operator.token"), format!("{port:032x}\n")).unwrap();
        learn(http, &folder.path().join("operator.token"));
        let place = Place { http: http.to_vec(), folder };
        let made = place.run(&format!("certs --cluster demo --ids 1..{members} --out ."));
        assert!(made.status.success(), "{}", text(&made.stderr));
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bellwether"));
        for variable in ["CONFIG", "ID", "LISTEN", "HTTP", "DATA", "LOG", "OPERATOR_TOKEN"] {
            command.env_remove(format!("BELLWETHER_{variable}"));
        }
        command.env_remove("NOTIFY_SOCKET").env("XDG_RUNTIME_DIR", self.folder.path());
        command.current_dir(self.folder.path()).args(line.split(' ')).stdin(Stdio::null());
        command
    }

    fn run(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    #[track_caller]
    fn works(&self, line: &str) -> String {
        let output = self.run(line);
        assert_eq!(output.status.code(), Some(0), "bellwether {line}\n{}", text(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    #[track_caller]
    fn refused(&self, line: &str, code: i32, fragments: &[&str]) {
        let output = self.run(line);
        let complaint = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "bellwether {line}\n{complaint}");
        for fragment in fragments {
            assert!(complaint.contains(fragment), "no '{fragment}' in: {line}\n{complaint}");
        }
    }

    /// Starts a member with this data folder.
    fn start(&self, id: u32, data: &str) -> Member {
        let log = self.path(&format!("log-{data}-{id}"));
        let line = format!("node --config node.toml --id {id} --data {data}/{id} --log info");
        let mut command = self.command(&line);
        let listen = fs::read_to_string(self.path("node.toml")).unwrap();
        let own = listen.lines().filter_map(|line| line.strip_prefix("address = "));
        let listen = own.map(|text| text.trim_matches('"').to_owned()).nth(id as usize - 1);
        command.args(["--listen", &listen.unwrap(), "--http", &self.http[id as usize - 1]]);
        command.stderr(File::create(&log).unwrap());
        Member { child: command.spawn().unwrap(), log }
    }

    /// Asks a member until its answer is right. What is waited for comes, unless there is a bug.
    #[track_caller]
    fn until(&self, id: u32, path: &str, fine: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        for _ in 0..1_500 {
            if let Ok((_, answer)) = call(&self.http[id as usize - 1], "GET", path, &Value::Null) {
                if fine(&answer) {
                    return answer;
                }
                last = answer;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("P{id} never says the right thing at {path}; last: {last:#}");
    }

    /// The coordinator that all of these know, and the id of their cluster.
    #[track_caller]
    fn settled(&self, members: &[u32]) -> (u32, String) {
        let led =
            |status: &Value| status["mandate"].is_object() && status["cluster_id"].is_string();
        let of = |id: &u32| {
            let status = self.until(*id, "/v1/status", led);
            let leader = status["mandate"]["leader"].as_u64().unwrap() as u32;
            (leader, status["cluster_id"].as_str().unwrap().to_owned())
        };
        let all: Vec<(u32, String)> = members.iter().map(of).collect();
        assert!(all.windows(2).all(|two| two[0].1 == two[1].1), "{all:?}");
        all.into_iter().next_back().unwrap()
    }

    fn post(&self, id: u32, path: &str, body: &Value) -> Value {
        let mut last = None;
        for _ in 0..100 {
            let answer = call(&self.http[id as usize - 1], "POST", path, body);
            if let Ok((200, answer)) = answer {
                return answer;
            }
            last = Some(answer);
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("P{id} does not do {path}: {last:?}");
    }

    fn lock(&self, id: u32, session: &str, name: &str) -> u64 {
        let body = json!({ "locks": [{ "name": name }], "wait_ms": 0 });
        let held = self.post(id, &format!("/v1/sessions/{session}/locks"), &body);
        held["token"].as_u64().unwrap_or_else(|| panic!("{held}"))
    }

    fn open(&self, id: u32) -> String {
        let body = json!({ "client": "test", "ttl_ms": 60_000 });
        self.post(id, "/v1/sessions", &body)["session"].as_str().unwrap().to_owned()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A member that runs until it is ended, and then at once.
struct Member {
    child: Child,
    log: PathBuf,
}

impl Member {
    /// Waits for a line that contains these.
    #[track_caller]
    fn logs(&self, fragments: &[&str]) {
        for _ in 0..1_500 {
            let log = BufReader::new(File::open(&self.log).unwrap());
            if log.lines().map_while(Result::ok).any(|l| fragments.iter().all(|f| l.contains(f))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut all = String::new();
        File::open(&self.log).unwrap().read_to_string(&mut all).unwrap();
        panic!("no line with {fragments:?} in:\n{all}");
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        kill_member(&mut self.child);
    }
}

#[test]
fn three_members_are_restored_as_a_new_cluster_with_larger_tokens() {
    let place = Place::new(3);
    let old: Vec<Member> = (1..=3).map(|id| place.start(id, "old")).collect();
    let (leader, former) = place.settled(&[1, 2, 3]);
    let session = place.open(leader);
    let first = place.lock(leader, &session, "jobs");

    // Any member names the coordinator, which is asked.
    let follower = (1..=3).find(|id| *id != leader).unwrap();
    let address = &place.http[follower as usize - 1];
    let backup = format!("backup --address {address} --out b.bak");
    place.refused(&backup, 77, &["operator token"]);
    assert!(!place.path("b.bak").exists());
    let said = place.works(&format!("{backup} --operator-token operator.token"));
    assert!(said.contains(&format!("P{leader}")) && said.contains(&former), "{said}");
    assert!(said.contains("1 session, 1 lock, 0 roles"), "{said}");
    let mode = fs::metadata(place.path("b.bak")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let later = place.lock(leader, &session, "after the backup");
    assert!(later > first);
    drop(old);

    // Each member is restored by itself, and all of them agree.
    let restored: Vec<Value> = (1..=3)
        .map(|id| {
            let line = format!("restore b.bak --data new/{id} --id {id} --json");
            parsed(&place.works(&line))
        })
        .collect();
    let id = restored[0]["cluster_id"].as_str().unwrap().to_owned();
    assert!(restored.iter().all(|each| each["cluster_id"] == id.as_str()), "{restored:?}");
    assert_eq!(restored[0]["restored_from"], former.as_str());
    assert_ne!(id, former);
    let floor = restored[0]["token_floor"].as_u64().unwrap();
    assert!(floor > later);

    let new: Vec<Member> = (1..=2).map(|id| place.start(id, "new")).collect();
    let (leader, now) = place.settled(&[1, 2]);
    assert_eq!(now, id);
    let locks = place.until(leader, "/v1/locks", |all| all["locks"][0]["name"] == "jobs");
    assert_eq!(locks["locks"][0]["holders"][0]["session"], session.as_str());
    assert_eq!(locks["locks"][0]["holders"][0]["token"], first);
    assert_eq!(locks["locks"].as_array().unwrap().len(), 1, "only what was in the backup");
    let token = place.lock(leader, &place.open(leader), "after the restore");
    assert!(token > floor, "{token} {floor}");

    // A member of the former cluster is refused, with both ids.
    let stray = place.start(3, "old");
    let ids = [id.as_str(), former.as_str()];
    let trouble = |all: &Value| {
        let text = all["members"][2]["trouble"].as_str().unwrap_or_default();
        ids.iter().all(|id| text.contains(id))
    };
    place.until(1, "/v1/members", trouble);
    new[0].logs(&["connection refused", "cluster id", ids[0], ids[1]]);
    stray.logs(&["refused", "cluster id", ids[0], ids[1]]);
    let status = place.until(3, "/v1/status", |status| status["cluster_id"] == former.as_str());
    assert!(status["mandate"].is_null(), "{status}");
    drop(stray);
    let third = place.start(3, "new");
    assert_eq!(place.settled(&[1, 2, 3]).1, id);

    // After a restart of all, the folders still say it.
    drop((new, third));
    let again: Vec<Member> = (1..=3).map(|id| place.start(id, "new")).collect();
    assert_eq!(place.settled(&[1, 2, 3]).1, id);
    drop(again);
}

#[test]
fn a_data_folder_is_inspected_while_its_member_runs_and_when_it_is_damaged() {
    let place = Place::new(1);
    place.refused("inspect .", 3, &["holds no log folder", "'data' in its configuration"]);
    place.refused("inspect nowhere", 3, &["nowhere", "No such file"]);
    let member = place.start(1, "data");
    let (leader, cluster) = place.settled(&[1]);
    let session = place.open(leader);
    let token = place.lock(leader, &session, "jobs");
    let found = parsed(&place.works("inspect data/1 --json"));
    let folder = &found["folders"][0];
    let process = process_of(&member.child).unwrap();
    assert_eq!(folder["used_by"], process.as_raw_nonzero().get());
    assert_eq!((&folder["member"], &folder["cluster"]), (&json!(1), &json!("demo")));
    assert_eq!(folder["cluster_id"], cluster.as_str());
    assert_eq!((&folder["term"], &folder["vote"]), (&json!(1), &json!(1)));
    drop(member);

    // Stopped, it says what is committed as far as the last write told.
    let before = modified(&place.path("data/1/demo-1.log"));
    let text = place.works("inspect data/1");
    for wanted in ["P1 of cluster demo", &cluster, "1, voted for P1", "session", "last token"] {
        assert!(text.contains(wanted), "no '{wanted}' in:\n{text}");
    }
    assert!(!text.contains("in use"), "{text}");
    assert_eq!(before, modified(&place.path("data/1/demo-1.log")), "nothing was written");

    // Started again, it commits all of it, and the folder says so after the next entry.
    let member = place.start(1, "data");
    place.settled(&[1]);
    place.lock(1, &session, "more");
    drop(member);
    let found = parsed(&place.works("inspect data/1/demo-1.log --json"));
    let folder = &found["folders"][0];
    assert_eq!((&folder["sessions"], &folder["starts"]), (&json!(1), &json!(2)));
    assert!(folder["last_token"].as_u64().unwrap() >= token, "{folder}");

    let segment = place.path("data/1/demo-1.log/0000000000000001.seg");
    let mut bytes = fs::read(&segment).unwrap();
    let begin = bytes.iter().position(|byte| *byte == 0).unwrap();
    bytes[begin.max(200)] ^= 0x55;
    fs::write(&segment, bytes).unwrap();
    let output = place.run("inspect data/1");
    assert_eq!(output.status.code(), Some(3), "{}", text_of(&output));
    assert!(
        text_of(&output).contains("damaged") && text_of(&output).contains("at byte"),
        "{}",
        text_of(&output)
    );
}

fn text_of(output: &Output) -> String {
    text(&output.stdout) + &text(&output.stderr)
}

/// The names, sizes and times of the files of a folder.
fn modified(folder: &Path) -> Vec<String> {
    let mut all: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let about = entry.metadata().unwrap();
            format!("{:?} {} {:?}", entry.file_name(), about.len(), about.modified().unwrap())
        })
        .collect();
    all.sort();
    all
}

#[test]
fn a_file_that_is_no_whole_backup_and_a_folder_in_use_are_refused() {
    let place = Place::new(1);
    let none = "backup --operator-token operator.token --out b.bak --address";
    place.refused(&format!("{none} {}", place.http[0]), 69, &["no member answers"]);
    let member = place.start(1, "data");
    place.settled(&[1]);
    let session = place.open(1);
    let token = place.lock(1, &session, "jobs");
    place.works(&format!("{none} {}", place.http[0]));
    let whole = fs::read(place.path("b.bak")).unwrap();
    let shown = parsed(&place.works("inspect b.bak --json"));
    assert_eq!((&shown["cluster"], &shown["locks"]), (&json!("demo"), &json!(1)));
    assert_eq!(shown["last_token"], token);
    assert!(place.works("inspect b.bak").contains(&format!("1 lock, 0 roles; last token {token}")));
    let other =
        format!("{} --address {}", none.replace(" --out b.bak --address", ""), place.http[0]);
    symlink("/dev/null", place.path("device.bak")).unwrap();
    place.refused(&format!("{other} --out device.bak"), 2, &["device.bak", "it is a device"]);
    assert!(
        fs::symlink_metadata(place.path("device.bak")).unwrap().is_symlink(),
        "it was replaced"
    );
    place.refused(
        &format!("{} --out no/where.bak", none.replace(" --out b.bak --address", "")),
        2,
        &["--out", "no/where.bak"],
    );
    drop(member);

    let line = "restore x.bak --data new --id 1";
    let with = |bytes: &[u8]| fs::write(place.path("x.bak"), bytes).unwrap();
    place.refused(line, 3, &["x.bak", "No such file", "`bellwether backup` wrote"]);
    with(b"rubbish");
    place.refused(line, 3, &["at byte 0: it is not a snapshot", "Name a file that"]);
    place.refused("inspect x.bak", 3, &["at byte 0: it is not a snapshot"]);
    with(b"");
    place.refused(line, 3, &["x.bak", "Name a file that"]);
    with(&whole[..whole.len() - 1]);
    place.refused(line, 3, &["it is truncated", "use another backup"]);
    let mut bytes = whole.clone();
    let middle = whole.len() - 30;
    bytes[middle] ^= 1;
    with(&bytes);
    place.refused(line, 3, &["x.bak", "use another backup"]);
    let mut bytes = whole.clone();
    bytes[8] = 99;
    with(&bytes);
    place.refused(line, 3, &["it has format 99", "Use the version of bellwether that wrote it"]);
    assert!(!place.path("new").exists(), "nothing was made");

    with(&whole);
    place.refused(&format!("{line} --token-floor 1"), 2, &["--token-floor 1", &token.to_string()]);
    place.refused(&format!("{line} --token-floor many"), 2, &["--token-floor", "'many'"]);
    place.refused(&format!("{line} --cluster a.b"), 2, &["--cluster"]);
    place.refused("restore x.bak --data data/1 --id 1", 3, &["data/1", "not empty", "demo-1.log"]);
    // The same file with another floor is another cluster.
    let floor = (9_u64 << 32) + 5;
    let given = parsed(&place.works(&format!("{line} --token-floor {floor} --json")));
    assert!(given["token_floor"].as_u64().unwrap() >= floor, "{given}");
    place.refused(line, 3, &["not empty"]);
    let usual = parsed(&place.works("restore x.bak --data usual --id 1 --json"));
    assert_ne!(given["cluster_id"], usual["cluster_id"]);
    let same = parsed(&place.works("restore x.bak --data same --id 1 --json"));
    assert_eq!(same["cluster_id"], usual["cluster_id"]);
}
