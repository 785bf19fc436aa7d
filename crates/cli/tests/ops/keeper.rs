//! Who ends a command with all that it started, when one of the processes around it is killed or
//! stopped: `bellwether`, its keeper, the command, and what the command has started.
//!
//! Each of them happens in two worlds: with a cgroup for the command, where this user may make one,
//! and without.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(clippy::disallowed_methods, reason = "a test looks again after a while")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

use crate::common::{Up, command};
use crate::running::{Cluster, Running, pid};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::Path;
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
    /// All processes of the command.
    family: Vec<Pid>,
}

impl Watched {
    /// Runs a script that tells this many numbers. Nothing if this user cannot have
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
            World::Bare => without_cgroups(inner),
        });
        let family: Vec<Pid> = (0..told).map(|_| pid(&command.line())).collect();
        let cgroup =
            fs::read_to_string(format!("/proc/{}/cgroup", family[told - 1].as_raw_nonzero()));
        if cgroup.unwrap().contains("/bellwether-") != (world == World::Cgroup) {
            eprintln!("skipped: this user cannot have a command in the world {world:?}");
            return None;
        }
        Some(Watched { keeper: children(command.child.id())[0], family, command })
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

/// The same command where no cgroup v2 is mounted. Only the superuser can take one away; for others
/// there may be none that they can use.
fn without_cgroups(inner: Command) -> Command {
    let points = cgroup_mounts();
    let apart = Command::new("unshare").args(["--mount", "true"]).output();
    if points.is_empty() || !apart.is_ok_and(|tried| tried.status.success()) {
        return inner;
    }
    let shell = after(&format!("umount -l {} && exec \"$@\"", points.join(" ")), inner);
    let mut outer = Command::new("unshare");
    outer.arg("--mount");
    put_behind(outer, shell)
}

/// A shell that does something first and then becomes the command.
fn after(script: &str, inner: Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh"]);
    put_behind(shell, inner)
}

fn put_behind(mut outer: Command, inner: Command) -> Command {
    outer.arg(inner.get_program()).args(inner.get_args());
    outer.current_dir(inner.get_current_dir().unwrap());
    for (name, value) in inner.get_envs() {
        value.map(|value| outer.env(name, value));
    }
    outer
}

/// Where cgroup v2 is mounted.
fn cgroup_mounts() -> Vec<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let cgroups = mounts.lines().filter(|line| line.contains(" - cgroup2 "));
    cgroups.filter_map(|line| Some(line.split(' ').nth(4)?.to_owned())).collect()
}

fn children(of: u32) -> Vec<Pid> {
    let listed = fs::read_to_string(format!("/proc/{of}/task/{of}/children")).unwrap();
    listed.split_whitespace().map(pid).collect()
}

#[track_caller]
fn wait_until(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..2_000 {
        if holds() {
            return;
        }
        sleep(Duration::from_millis(10));
    }
    panic!("this did not become true in time: {what}");
}

/// Plays a test in both worlds, as far as this user can have them.
fn in_both_worlds(test: impl Fn(&Cluster, World) -> Option<()>) {
    let cluster = Cluster::start(3);
    for world in [World::Bare, World::Cgroup] {
        test(&cluster, world);
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
        first.command.until("was killed; end bellwether instead");
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

/// The deadline by the clock: nothing is heard of the cluster any more.
#[test]
fn a_command_whose_keeper_is_stopped_is_dead_at_its_deadline() {
    for world in [World::Bare, World::Cgroup] {
        let mut cluster = Cluster::start(3);
        let words = "lock db --ttl 5s --grace 100ms";
        let Some(mut first) = Watched::start(&cluster, world, words, FAMILY, 4) else { continue };
        kill_process(first.keeper, Signal::STOP).unwrap();
        for id in 1..=3 {
            cluster.up.say(&format!("kill {id}"));
        }
        first.ends_with(72);
        first.all_dead();
        cluster.end();
    }
}

#[test]
fn bellwether_that_is_killed_or_stopped_is_replaced_by_its_keeper() {
    in_both_worlds(|cluster, world| {
        for signal in [Signal::KILL, Signal::STOP] {
            let words = "lock db --ttl 5s --grace 100ms";
            let mut first = Watched::start(cluster, world, words, FAMILY, 4)?;
            let mut next = next(cluster);
            first.command.signal(signal);
            assert_eq!(next.line(), "next");
            first.all_dead();
            first.command.signal(Signal::CONT);
            first.command.code();
        }
        Some(())
    });
}

#[test]
fn what_is_killed_or_stopped_within_a_command_does_not_keep_the_rest_alive() {
    in_both_worlds(|cluster, world| {
        for signal in [Signal::KILL, Signal::STOP] {
            for place in 0..4 {
                let words = "lock db --ttl 60s --grace 50ms";
                let mut first = Watched::start(cluster, world, words, FAMILY, 4)?;
                kill_process(first.family[place], signal).unwrap();
                first.command.signal(Signal::TERM);
                first.ends_with(137);
                first.all_dead();
            }
        }
        Some(())
    });
}

/// A process that starts its successor and ends, again and again, is never long among the children of
/// the same process.
#[test]
fn a_chain_of_daemons_does_not_get_away() {
    const CHAIN: &str = "echo '[ -e stop ] || setsid sh chain & echo >> links' > chain; rm -f links stop; \
                         sh chain; echo $$; exec sleep 1000";
    in_both_worlds(|cluster, world| {
        let mut first = Watched::start(cluster, world, "lock db --ttl 60s", CHAIN, 1)?;
        let links =
            || fs::metadata(cluster.folder.path().join("links")).map_or(0, |file| file.len());
        let before = links();
        wait_until("the chain goes on", || links() > before + 10);
        kill_process(first.keeper, Signal::KILL).unwrap();
        first.ends_with(137);
        let after = links();
        sleep(Duration::from_millis(200));
        let gone_on = links() - after;
        fs::write(cluster.folder.path().join("stop"), "").unwrap();
        assert_eq!(gone_on, 0, "the chain outlives its lock");
        Some(())
    });
}

/// A shell that has started something else and then becomes `bellwether` leaves it a child that is not
/// of its command.
#[test]
fn what_was_there_before_the_command_is_left_alone() {
    in_both_worlds(|cluster, world| {
        let inner = match world {
            World::Cgroup => cluster.command("lock db --ttl 60s", FAMILY),
            World::Bare => without_cgroups(cluster.command("lock db --ttl 60s", FAMILY)),
        };
        let outer = after("sleep 1000 & echo $!; exec \"$@\"", inner);
        let mut command = Running::of(outer);
        let stranger = pid(&command.line());
        let family: Vec<Pid> = (0..4).map(|_| pid(&command.line())).collect();
        let all = children(command.child.id());
        let keeper = all.into_iter().find(|child| *child != stranger).unwrap();
        let mut first = Watched { command, keeper, family };
        kill_process(keeper, Signal::KILL).unwrap();
        first.ends_with(137);
        first.all_dead();
        let left_alone = Up::lives(stranger);
        let _ = kill_process(stranger, Signal::KILL);
        assert!(left_alone, "it was none of the command's");
        Some(())
    });
}

/// Where a command has a cgroup, nothing is left of it afterwards, whatever ends first.
#[test]
fn no_cgroup_is_left_behind() {
    let cluster = Cluster::start(3);
    let bellwether = env!("CARGO_BIN_EXE_bellwether");
    let script = format!(
        "grep 0:: /proc/self/cgroup; {bellwether} lock inner -- sh -c 'grep 0:: /proc/self/cgroup; echo $$; \
         exec sleep 1000'"
    );
    for signal in [Signal::TERM, Signal::KILL] {
        let mut command = cluster.spawn("lock db --ttl 60s --grace 100ms", &script);
        let mut outermost = None;
        let inner = loop {
            let line = command.line();
            let Some((_, path)) = line.split_once("::") else { break line };
            let name = |part: &&str| part.starts_with("bellwether-");
            outermost = outermost.or(path.split('/').find(name).map(str::to_owned));
        };
        let Some(outermost) = outermost else {
            eprintln!("skipped: this user cannot make a cgroup here");
            break;
        };
        let below = |mount: &String| cgroup_below(Path::new(mount), &outermost);
        assert!(cgroup_mounts().iter().any(below));
        command.signal(signal);
        command.code();
        wait_until("the inner command is dead", || !Up::lives(pid(&inner)));
        wait_until("its cgroup is gone", || !cgroup_mounts().iter().any(below));
    }
    cluster.end();
}

/// Whether there is a cgroup of this name.
fn cgroup_below(folder: &Path, name: &str) -> bool {
    let below = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders = below.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.any(|entry| entry.file_name() == *name || cgroup_below(&entry.path(), name))
}

/// The deadline that counts is the last one that it was told, not the one that it knew before.
#[test]
fn a_keeper_that_goes_on_hears_first_what_it_was_told_meanwhile() {
    in_both_worlds(|cluster, world| {
        let words = "lock db --ttl 3s --grace 1s";
        let script = "trap 'echo ended; exit 9' TERM; echo $$; while :; do sleep 0.01; done";
        let mut first = Watched::start(cluster, world, words, script, 1)?;
        kill_process(first.keeper, Signal::STOP).unwrap();
        sleep(Duration::from_secs(4));
        kill_process(first.keeper, Signal::CONT).unwrap();
        sleep(Duration::from_millis(500));
        assert!(first.all_live(), "it was killed although its session lives");
        first.command.signal(Signal::TERM);
        assert_eq!(first.command.line(), "ended");
        first.ends_with(9);
        Some(())
    });
}
