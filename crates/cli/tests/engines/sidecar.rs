//! `--serve`: programs that ask over HTTP, on both engines.

use crate::common::command;
use crate::rig::{PATIENCE, Rig, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};

/// A sidecar that runs until this is dropped.
pub(crate) struct Sidecar {
    child: Child,
    address: String,
}

impl Sidecar {
    pub(crate) fn start(rig: &Rig, words: &str, folder: &Path, name: &str) -> Sidecar {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let address = format!("127.0.0.1:{port}");
        let child = command(words)
            .args([
                "--serve",
                &address,
                "--address",
                &rig.address(),
                "--ttl",
                &format!("{}ms", rig.short().as_millis()),
                "--grace",
                "500ms",
            ])
            .args(["--on-elected", &format!("echo $BELLWETHER_TOKEN >> elected-{name}")])
            .args(["--on-lost", &format!("echo $BELLWETHER_TOKEN >> lost-{name}")])
            .current_dir(folder)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Sidecar { child, address }
    }

    /// What it answers; nothing, if it does not.
    fn get(&self, path: &str) -> Option<(u16, Value)> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        let (head, body) = text.split_once("\r\n\r\n")?;
        Some((head.split(' ').nth(1)?.parse().ok()?, serde_json::from_str(body).ok()?))
    }

    pub(crate) fn status(&self) -> Option<u16> {
        self.get("/").map(|(status, _)| status)
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for Sidecar {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines(folder: &Path, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

pub(crate) async fn a_sidecar_tells_who_leads(rig: &mut Rig) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut one = Sidecar::start(rig, "campaign sidecar --value host-1", folder, "one");
    until("one leads", || one.status() == Some(200)).await;
    let other = Sidecar::start(rig, "campaign sidecar --value host-2", folder, "other");
    until("the other is ready", || other.get("/ready").is_some_and(|(status, _)| status == 200))
        .await;
    let (_, says) = one.get("/").unwrap();
    assert_eq!((&says["held"], &says["role"]), (&Value::Bool(true), &Value::from("sidecar")));
    let certain = says["certain_ms"].as_u64().unwrap();
    assert!((1..=2_000).contains(&certain), "{says}");
    let token = says["token"].as_u64().unwrap();
    until("the other knows", || {
        let answer = other.get("/");
        answer.is_some_and(|(status, says)| status == 409 && says["leader"]["token"] == token)
    })
    .await;
    assert_eq!(other.get("/").unwrap().1["leader"]["value"], "host-1");
    assert_eq!(other.get("/x").unwrap().0, 404);
    // Lines, from now on.
    let mut stream = TcpStream::connect(&one.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET /watch HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut watch = BufReader::new(stream).lines().map_while(Result::ok);
    let mut held = || {
        let line = watch.find(|line| line.starts_with('{')).expect("the stream ended");
        serde_json::from_str::<Value>(&line).unwrap()["held"].as_bool().unwrap()
    };
    assert!(held());
    one.signal(Signal::TERM);
    while held() {}
    until("the other leads", || other.status() == Some(200)).await;
    assert!(other.get("/").unwrap().1["token"].as_u64().unwrap() > token);
    assert!(one.child.wait().unwrap().success());
    assert_eq!(lines(folder, "elected-one"), [token.to_string()]);
    assert_eq!(lines(folder, "lost-one"), [token.to_string()]);
    until("its hook has run", || lines(folder, "elected-other").len() == 1).await;
}
