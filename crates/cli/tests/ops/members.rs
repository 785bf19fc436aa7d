//! Members that come and go while clients work, with real processes.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(clippy::disallowed_methods, reason = "a test looks again after a while")]

use crate::common::{call, kill_member, learn, process_of};
use bellwether::{Client, Endpoints, ErrorKind, SessionOptions};
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::net::TcpListener;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tempfile::TempDir;

/// Members on this host. The configuration of each lists the first one and itself.
struct Place {
    folder: TempDir,
    addresses: Vec<String>,
    http: Vec<String>,
}

impl Place {
    fn new(members: usize) -> Place {
        let folder = TempDir::new().unwrap();
        // All ports are drawn before one of them is free again.
        let bound: Vec<TcpListener> =
            (0..2 * members).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let all: Vec<String> =
            bound.iter().map(|bound| bound.local_addr().unwrap().to_string()).collect();
        drop(bound);
        let (addresses, http) = (all[..members].to_vec(), all[members..].to_vec());
        let port: u32 = http[0].rsplit_once(':').unwrap().1.parse().unwrap();
        fs::write(folder.path().join("operator.token"), format!("{port:032x}\n")).unwrap();
        learn(&http, &folder.path().join("operator.token"));
        let place = Place { folder, addresses, http };
        for id in 1..=members {
            let mut config = format!(
                "cluster = \"demo\"\nid = {id}\nhttp = \"{}\"\noperator_token = \"operator.token\"\n\
                 data = \"data/{id}\"\nsocket = \"{id}.sock\"\njoin = {}\n[tls]\nca = \"ca.pem\"\n\
                 certificate = \"member-{id}.pem\"\nkey = \"member-{id}-key.pem\"\n",
                place.http[id - 1],
                id > 1
            );
            for listed in [1, id].iter().take(id.min(2)) {
                config += &format!(
                    "[[member]]\nid = {listed}\naddress = \"{}\"\nhttp = \"{}\"\n",
                    place.addresses[listed - 1],
                    place.http[listed - 1]
                );
            }
            fs::write(place.folder.path().join(format!("{id}.toml")), config).unwrap();
        }
        let made =
            place.run(&format!("certs --cluster demo --ids 1..{members} --client app --out ."));
        assert!(made.status.success(), "{}", text(&made.stderr));
        place
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bellwether"));
        for variable in ["CONFIG", "ID", "LISTEN", "HTTP", "DATA", "LOG", "JOIN", "ENDPOINTS"] {
            command.env_remove(format!("BELLWETHER_{variable}"));
        }
        command.env("BELLWETHER_OPERATOR_TOKEN", "operator.token");
        command.env_remove("NOTIFY_SOCKET").env("XDG_RUNTIME_DIR", self.folder.path());
        command.current_dir(self.folder.path()).args(line.split_whitespace()).stdin(Stdio::null());
        command
    }

    fn run(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    /// Runs `bellwether members`, through this member.
    #[track_caller]
    fn members(&self, via: usize, words: &str) -> String {
        let line = format!("members {words} --address {}", self.http[via - 1]);
        let output = self.run(&line);
        let complaint = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "bellwether {line}\n{complaint}");
        text(&output.stdout)
    }

    #[track_caller]
    fn refused(&self, words: &str, code: i32, fragment: &str) {
        let line = format!("members {words} --wait 0s --address {}", self.http[0]);
        let output = self.run(&line);
        let complaint = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "bellwether {line}\n{complaint}");
        assert!(complaint.contains(fragment), "no '{fragment}' in: {line}\n{complaint}");
    }

    fn start(&self, id: usize) -> Member {
        let log = self.folder.path().join(format!("log-{id}"));
        let mut command = self.command(&format!("node --config {id}.toml --log info"));
        command.stderr(File::options().create(true).append(true).open(log).unwrap());
        Member { child: command.spawn().unwrap() }
    }

    fn log(&self, id: usize) -> String {
        fs::read_to_string(self.folder.path().join(format!("log-{id}"))).unwrap()
    }

    /// Asks a member until its answer is right. What is waited for comes, unless there is a bug.
    #[track_caller]
    fn until(&self, id: usize, path: &str, fine: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        for _ in 0..1_500 {
            if let Ok((_, answer)) = call(&self.http[id - 1], "GET", path, &Value::Null) {
                if fine(&answer) {
                    return answer;
                }
                last = answer;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("P{id} never says the right thing at {path}; last: {last:#}\n{}", self.log(id));
    }

    fn leader(&self, via: usize) -> usize {
        let led = |status: &Value| status["mandate"].is_object();
        self.until(via, "/v1/status", led)["mandate"]["leader"].as_u64().unwrap() as usize
    }

    /// The members that vote, as one of them says.
    #[track_caller]
    fn voters(&self, via: usize, wanted: &[usize]) {
        self.until(via, "/v1/members", |seen| {
            let members = seen["members"].as_array().unwrap().iter();
            let votes = members.filter(|member| member["suffrage"] == "voter");
            let mut ids: Vec<_> = votes.map(|member| member["id"].as_u64().unwrap()).collect();
            ids.sort_unstable();
            ids == wanted.iter().map(|id| *id as u64).collect::<Vec<_>>()
        });
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A member that runs until it is ended, and then at once.
struct Member {
    child: Child,
}

impl Member {
    /// Waits for its end.
    #[track_caller]
    fn exits(&mut self, code: i32) {
        for _ in 0..1_500 {
            if let Some(status) = self.child.try_wait().unwrap() {
                return assert_eq!(status.code(), Some(code));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("it does not exit");
    }

    fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        kill_member(&mut self.child);
    }
}

/// A client that locks and unlocks without end, over TLS. It is given the address of the first member alone.
struct Load {
    locked: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<u64, bellwether::Error>>,
}

impl Load {
    fn start(place: &Place) -> Load {
        let (locked, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let endpoints =
            Endpoints::tls([&place.addresses[0]], place.folder.path(), Some("app")).unwrap();
        let thread = std::thread::spawn({
            let (locked, stop) = (locked.clone(), stop.clone());
            move || {
                let mut runtime = tokio::runtime::Builder::new_current_thread();
                runtime.enable_all().build().unwrap().block_on(async {
                    let client = Client::connect(endpoints).await?;
                    let ttl = Duration::from_secs(30);
                    let options = SessionOptions { ttl, ..SessionOptions::named("load") };
                    let session = client.session(options).await?;
                    let mut largest = 0;
                    while !stop.load(Ordering::Relaxed) {
                        let lock = match session.lock("load").await {
                            Ok(lock) => lock,
                            Err(error) if passes(&error) => continue,
                            Err(error) => return Err(error),
                        };
                        assert!(lock.token().0 > largest, "tokens grow");
                        largest = lock.token().0;
                        match lock.release().await {
                            Err(error) if !passes(&error) => return Err(error),
                            _ => locked.fetch_add(1, Ordering::Relaxed),
                        };
                    }
                    Ok(largest)
                })
            }
        });
        Load { locked, stop, thread }
    }

    /// Waits until it has locked more.
    #[track_caller]
    fn goes_on(&self) {
        let before = self.locked.load(Ordering::Relaxed);
        for _ in 0..3_000 {
            if self.locked.load(Ordering::Relaxed) > before + 5 {
                return;
            }
            assert!(!self.thread.is_finished(), "the client has failed");
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the client gets no locks any more");
    }

    /// Ends it. It has had no error that does not pass.
    fn end(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap().unwrap()
    }
}

/// While all members are down a client can only try again.
fn passes(error: &bellwether::Error) -> bool {
    matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::NoCoordinator)
}

#[test]
fn a_cluster_grows_replaces_every_member_and_shrinks_while_a_client_works() {
    let place = Place::new(4);
    let mut one = place.start(1);
    assert_eq!(place.leader(1), 1);
    let load = Load::start(&place);
    load.goes_on();

    // A member that joins waits, and says for what.
    let mut two = place.start(2);
    let waits = place.until(2, "/v1/status", |status| status["why_no_mandate"].is_string());
    let add = format!("`bellwether members add 2 {}` adds it", place.addresses[1]);
    assert!(waits["why_no_mandate"].as_str().unwrap().contains(&add), "{waits}");
    // The new member itself asks the others for the coordinator.
    place.members(2, &format!("add 2 {}", place.addresses[1]));
    let mut three = place.start(3);
    // Any member names the coordinator.
    place.members(2, &format!("add 3 {}", place.addresses[2]));
    place.voters(3, &[1, 2, 3]);
    load.goes_on();

    // One is replaced: the first, which is all that the configurations know.
    let mut four = place.start(4);
    place.members(2, &format!("replace 1 4 {}", place.addresses[3]));
    one.exits(5);
    assert!(place.log(1).contains("was removed from the cluster"), "{}", place.log(1));
    place.voters(2, &[2, 3, 4]);
    load.goes_on();

    // It is refused from then on, and knows why.
    place.start(1).exits(5);
    let shown = (2..=4).map(|id| place.members(id, "")).collect::<String>();
    assert!(shown.contains("P1 was refused") && shown.contains("was removed"), "{shown}");

    // All are killed at once. They go by the list in their logs: each configuration has the first member, and itself.
    for member in [&two, &three, &four] {
        kill_process(process_of(&member.child).unwrap(), Signal::KILL).unwrap();
    }
    for member in [&mut two, &mut three, &mut four] {
        member.child.wait().unwrap();
    }
    (two, three, four) = (place.start(2), place.start(3), place.start(4));
    place.leader(2);
    place.voters(2, &[2, 3, 4]);
    load.goes_on();

    // The coordinator goes.
    let leader = place.leader(2);
    let via = (2..=4).find(|id| *id != leader).unwrap();
    place.members(via, &format!("remove {leader}"));
    [&mut two, &mut three, &mut four][leader - 2].exits(5);
    load.goes_on();

    // The next coordinator goes, too: one member is left.
    let leader = place.leader(via);
    let last = (2..=4).find(|id| *id == leader).unwrap();
    let other = place.until(last, "/v1/members", |seen| {
        seen["members"].as_array().is_some_and(|members| members.len() == 2)
    });
    let other = other["members"].as_array().unwrap().iter();
    let other = other.map(|member| member["id"].as_u64().unwrap() as usize);
    let other = other.into_iter().find(|id| *id != last).unwrap();
    place.members(last, &format!("remove {other}"));
    load.goes_on();
    let tokens = load.end();

    // The one that is left is killed, and needs no other.
    let mut all = [two, three, four];
    assert!(all[last - 2].is_running());
    all[last - 2] = {
        kill_member(&mut all[last - 2].child);
        place.start(last)
    };
    assert_eq!(place.leader(last), last);
    place.voters(last, &[last]);
    let body = json!({ "client": "test", "ttl_ms": 10_000 });
    let address = &place.http[last - 1];
    let session = call(address, "POST", "/v1/sessions", &body).unwrap().1["session"].clone();
    let path = format!("/v1/sessions/{}/locks", session.as_str().unwrap());
    let lock = call(address, "POST", &path, &json!({ "locks": [{ "name": "load" }] })).unwrap().1;
    assert!(lock["token"].as_u64().unwrap() > tokens, "{lock} {tokens}");
}

#[test]
fn a_learner_serves_reads_and_a_change_that_cannot_be_is_refused_with_its_reason() {
    let place = Place::new(3);
    let (_one, mut two) = (place.start(1), place.start(2));
    assert_eq!(place.leader(1), 1);
    let own = place.addresses[0].clone();
    place.refused("remove 1", 88, "no voter would be left");
    place.refused("remove 9", 86, "P9 is not a member");
    place.refused(&format!("add 2 {own}"), 87, "P1 has this address");
    place.refused("add 2 nowhere", 2, "host-1:7400");
    place.refused(&format!("add 1 {own} --learner"), 93, "P1 votes, and cannot become a learner");
    place.refused("replace 1 1 host:7400", 2, "P1 cannot replace itself");

    place.members(1, &format!("add 2 {} --learner", place.addresses[1]));
    place.until(2, "/readyz", |probe| probe["ok"] == true);
    let body = json!({ "client": "test", "ttl_ms": 60_000 });
    // What a client asks of a learner goes to the coordinator, and the learner shows what came of it.
    let open = call(&place.http[1], "POST", "/v1/sessions", &body).unwrap().1;
    let session = open["session"].as_str().unwrap().to_owned();
    place.until(2, "/v1/sessions", |seen| seen.to_string().contains(&session));
    let status = place.until(2, "/v1/status", |status| status["learners"] == 1);
    assert_eq!((&status["needed"], &status["voters"]), (&json!(1), &json!(1)));
    assert!(place.members(2, "").contains("learner"));
    let metrics = place.run(&format!("status --address {}", place.http[0]));
    assert!(text(&metrics.stdout).contains("1 must agree of 1 voters, 1 without a vote"));

    place.members(1, "promote 2");
    place.voters(1, &[1, 2]);
    let _three = place.start(3);
    // A learner that is added again without --learner is to vote.
    for flag in [" --learner", ""] {
        place.members(1, &format!("add 3 {}{flag}", place.addresses[2]));
    }
    place.voters(3, &[1, 2, 3]);
    kill_member(&mut two.child);
    let led = |status: &Value| status["mandate"]["leader"].as_u64().is_some_and(|id| id != 2);
    place.until(1, "/v1/status", led);
    // It has answered within a lease, perhaps, and answers nothing more.
    let other = if place.leader(1) == 1 { 3 } else { 1 };
    let only_one = "only 1 of the voters that would be left work";
    place.refused(&format!("remove {other}"), 89, only_one);
    // The dead one may go.
    place.members(1, "remove 2");
    place.voters(1, &[1, 3]);
}
