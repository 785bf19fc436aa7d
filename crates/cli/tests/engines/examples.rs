//! The client crate's examples on both engines: the address is all that differs. Each is a process of its own, which is
//! this program once more.

#[path = "../../../client/examples/cron_leader.rs"]
mod cron_leader;
#[path = "../../../client/examples/migration_lock.rs"]
mod migration_lock;
#[path = "../../../client/examples/who_leads.rs"]
mod who_leads;

use crate::rig::{PATIENCE, Rig};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

/// Says to this program which example it is.
const EXAMPLE: &str = "BELLWETHER_TEST_EXAMPLE";

/// Runs an example, if this process is one.
pub(crate) fn run() -> bool {
    let Ok(name) = std::env::var(EXAMPLE) else { return false };
    match name.as_str() {
        "cron_leader" => cron_leader::main().unwrap(),
        "migration_lock" => migration_lock::main().unwrap(),
        _ => who_leads::main().unwrap(),
    }
    true
}

/// An example that runs until this is dropped.
struct Example {
    child: Child,
    lines: Receiver<String>,
}

impl Example {
    fn start(rig: &Rig, name: &str) -> Example {
        let program = std::env::current_exe().unwrap();
        let mut child = Command::new(program)
            // Its first argument is a filter of tests, and for one example the role that it observes.
            .args(["members", "--exact", "--nocapture"])
            .env(EXAMPLE, name)
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
        Example { child, lines }
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
    let mut migration = Example::start(rig, "migration_lock");
    let observer = Example::start(rig, "who_leads");
    observer.says("'members' has no leader");
    let leader = Example::start(rig, "cron_leader");
    leader.says("run 1, by token");
    let role = rig.session("leader").await.campaign("members").await.unwrap();
    observer.says("leads 'members'");
    role.resign().await.unwrap();
    migration.says("step 3 with token");
    migration.says("done; now the replica starts");
    assert!(migration.child.wait().unwrap().success());
}
