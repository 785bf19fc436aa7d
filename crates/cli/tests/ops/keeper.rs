//! Who ends a command with all that it started, when one of the processes around it is killed or
//! stopped: `bellwether`, its keeper, the command, and what the command has started.
//!
//! Each of them happens in two worlds: with a cgroup for the command, where this user may make one,
//! and without.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::common::{Up, command};
use crate::running::{Cluster, Running, pid};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

/// A command that starts one process in its group, one in a session of its own and one that has lost
/// its parent, and tells all four numbers. None of them listens to SIGTERM.
const FAMILY: &str = "trap '' TERM; sleep 1000 & echo $!; setsid sh -c 'echo $$; exec sleep 1000' & \
                      (setsid sh -c 'echo $$; exec sleep 1000' &); echo $$; while :; do wait; done";

/// Where the command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum World {
    /// In a cgroup of its own.
    Cgroup,
    /// Where there is no cgroup v2.
    Bare,
}

/// What is watched in a test.
struct Watched {
    command: Running,
    keeper: Pid,
    /// All processes of the command, itself last.
    family: Vec<Pid>,
}

impl Watched {
    /// Runs a script that tells this many numbers, its own last. Nothing if this user cannot have
    /// such a world.
    fn start(
        cluster: &Cluster,
        world: World,
        words: &str,
        script: &str,
        told: usize,
    ) -> Option<Watched> {
        let inner = cluster.command(words, script);
        let mut command = Running::of(match world {
            World::Cgroup => inner,
            World::Bare => without_cgroups(inner)?,
        });
        let family: Vec<Pid> = (0..told).map(|_| pid(&command.line())).collect();
        let cgroup =
            fs::read_to_string(format!("/proc/{}/cgroup", family[told - 1].as_raw_nonzero()));
        if cgroup.unwrap().contains("/bellwether-") != (world == World::Cgroup) {
            assert_eq!(world, World::Cgroup, "a cgroup where there are none");
            return None;
        }
        let keepers =
            fs::read_to_string(format!("/proc/{0}/task/{0}/children", command.child.id()));
        Some(Watched { keeper: pid(&keepers.unwrap()), family, command })
    }

    fn all_live(&self) -> bool {
        self.family.iter().all(|pid| Up::lives(*pid))
    }

    #[track_caller]
    fn all_dead(&self) {
        let left: Vec<_> = self.family.iter().filter(|pid| Up::lives(**pid)).collect();
        assert!(left.is_empty(), "{left:?} of {:?} outlive their lock", self.family);
    }

    /// Waits for the end of the command, and kills it with all that is left if that does not come.
    #[track_caller]
    fn ends_with(&mut self, code: i32) {
        for _ in 0..2_000 {
            if let Some(status) = self.command.child.try_wait().unwrap() {
                assert_eq!(status.code(), Some(code));
                return;
            }
            sleep(Duration::from_millis(10));
        }
        panic!("the command does not end");
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // Only if the test has failed before.
        for pid in self.family.iter().filter(|pid| Up::lives(**pid)) {
            let _ = kill_process(*pid, Signal::KILL);
        }
        if self.command.child.try_wait().is_ok_and(|status| status.is_none()) {
            let _ = kill_process(self.keeper, Signal::KILL);
        }
    }
}

/// The same command where no cgroup v2 is mounted. Only the superuser can take one away.
fn without_cgroups(inner: Command) -> Option<Command> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let cgroups = mounts.lines().filter(|line| line.contains(" - cgroup2 "));
    let points: Vec<_> = cgroups.filter_map(|line| line.split(' ').nth(4)).collect();
    if points.is_empty() {
        return Some(inner);
    }
    let unmount = format!("umount -l {} && exec \"$@\"", points.join(" "));
    let mut outer = Command::new("unshare");
    outer.args(["--mount", "sh", "-c", &unmount, "sh"]).arg(inner.get_program());
    outer.args(inner.get_args()).current_dir(inner.get_current_dir().unwrap());
    for (name, value) in inner.get_envs() {
        value.map(|value| outer.env(name, value));
    }
    Command::new("unshare").args(["--mount", "true"]).status().unwrap().success().then_some(outer)
}

/// Plays a test in both worlds, as far as this user can have them.
fn in_both_worlds(test: impl Fn(&Cluster, World) -> Option<()>) {
    let cluster = Cluster::start(3);
    for world in [World::Bare, World::Cgroup] {
        if test(&cluster, world).is_none() {
            eprintln!("skipped for {world:?}: this user cannot make or leave a cgroup here");
        }
    }
    cluster.end();
}

/// One that waits for the same lock.
fn next(cluster: &Cluster) -> Running {
    let mut next = cluster.spawn("lock db", "echo next");
    next.until("waits for 'db'");
    next
}

#[test]
fn a_keeper_that_is_killed_takes_everything_with_it_before_the_next_begins() {
    in_both_worlds(|cluster, world| {
        let mut first = Watched::start(cluster, world, "lock db --ttl 60s", FAMILY, 4)?;
        let mut next = next(cluster);
        assert!(first.all_live());
        kill_process(first.keeper, Signal::KILL).unwrap();
        assert_eq!(next.line(), "next");
        first.all_dead();
        first.command.until("the keeper of the command was killed");
        first.ends_with(137);
        Some(())
    });
}

#[test]
fn a_keeper_that_is_stopped_does_not_keep_a_command_alive_beyond_its_deadline() {
    in_both_worlds(|cluster, world| {
        let mut first =
            Watched::start(cluster, world, "lock db --ttl 60s --grace 100ms", FAMILY, 4)?;
        let mut next = next(cluster);
        kill_process(first.keeper, Signal::STOP).unwrap();
        // What ends the session's time at once: an operator takes the lock away.
        let locks = format!("locks --json --address {}", cluster.up.members[0]);
        let locks: serde_json::Value =
            serde_json::from_slice(&command(&locks).output().unwrap().stdout).unwrap();
        let session = locks["locks"][0]["holders"][0]["session"].as_str().unwrap();
        let force = format!("locks --release db --session {session} --yes --reason stuck");
        let force = format!("{force} --address {}", cluster.up.members[0]);
        command(&force).output().unwrap();
        first.ends_with(72);
        first.all_dead();
        assert_eq!(next.line(), "next");
        Some(())
    });
}

#[test]
fn a_keeper_that_is_stopped_does_not_keep_a_command_from_ending() {
    in_both_worlds(|cluster, world| {
        let words = "lock db --ttl 60s --grace 100ms";
        let mut first = Watched::start(cluster, world, words, FAMILY, 4)?;
        kill_process(first.keeper, Signal::STOP).unwrap();
        first.command.signal(Signal::TERM);
        first.ends_with(137);
        first.all_dead();
        Some(())
    });
}
