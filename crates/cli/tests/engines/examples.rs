//! The client crate's examples, which differ by the address only.

use crate::rig::{PATIENCE, Rig};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

/// An example that runs until this is dropped.
struct Example {
    child: Child,
    lines: Receiver<String>,
}

/// Where an example is, if examples were built.
fn built(name: &str) -> Option<PathBuf> {
    let program = std::env::current_exe().unwrap();
    let path = program.parent()?.parent()?.join("examples").join(name);
    path.exists().then_some(path)
}

impl Example {
    fn start(rig: &Rig, name: &str, words: &[&str]) -> Option<Example> {
        let mut child = Command::new(built(name)?)
            .args(words)
            .env("BELLWETHER_ENDPOINTS", rig.address())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Some(Example { child, lines })
    }

    /// Reads on until a line contains this.
    fn says(&self, words: &str) {
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|_| panic!("it never says '{words}'"));
            if line.contains(words) {
                return;
            }
        }
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) async fn the_examples_run_by_the_address_alone(rig: &mut Rig) {
    let names = ["migration_lock", "cron_leader", "who_leads"];
    if let Some(name) = names.into_iter().find(|name| built(name).is_none()) {
        eprintln!(
            "skipped: the example {name} is not built; cargo build --workspace --examples builds it"
        );
        return;
    }
    let start = |name, words: &[&str]| Example::start(rig, name, words).unwrap();
    let mut migration = start("migration_lock", &[]);
    let observer = start("who_leads", &["cron"]);
    observer.says("'cron' has no leader");
    let leader = start("cron_leader", &[]);
    leader.says("run 1, by token");
    observer.says("leads 'cron'");
    migration.says("step 3 with token");
    migration.says("done; now the replica starts");
    assert!(migration.child.wait().unwrap().success());
}
