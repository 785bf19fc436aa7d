//! Whatever the user gets wrong: exit code 2, nothing on standard output, and a message that says
//! what is wrong, where, and what to do about it.

#![expect(clippy::unwrap_used, reason = "a helper that cannot go on fails its test")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// A directory to make a mess in. It holds one file that must survive, and scenarios.
fn workshop() -> TempDir {
    let directory = TempDir::new().unwrap();
    for (name, text) in [
        ("precious", "do not touch"),
        ("typo.txt", "# A typing error.\ncluster bully 1..4 coordinator=4\n\n  crsh 1\nrun\n"),
        ("value.txt", "cluster bully 1..4 latency=10\nrun\n"),
        ("good.txt", "cluster bully 1..4 coordinator=4\ncrash 4\nrun\n"),
        ("bully", "not an algorithm and not a scenario"),
    ] {
        fs::write(directory.path().join(name), text).unwrap();
    }
    directory
}

fn bellwether(directory: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bellwether"));
    command.current_dir(directory).args(words).output().unwrap()
}

/// Runs a command that must be refused with a message that contains all of these.
#[track_caller]
fn refused_in(directory: &Path, words: &[&str], fragments: &[&str]) {
    let output = bellwether(directory, words);
    let complaint = String::from_utf8(output.stderr).unwrap();
    let context = format!("bellwether {}\n{complaint}", words.join(" "));
    assert_eq!(output.status.code(), Some(2), "{context}");
    assert!(output.stdout.is_empty(), "{context}");
    assert!(complaint.starts_with("error: "), "{context}");
    assert!(!complaint.contains("panicked"), "{context}");
    for fragment in fragments {
        assert!(complaint.contains(fragment), "no '{fragment}' in: {context}");
    }
}

/// A table of commands, each written as in a shell without quotes, and what must be said.
#[track_caller]
fn refused(table: &[(&str, &[&str])]) {
    let directory = workshop();
    for (line, fragments) in table {
        let words: Vec<&str> = line.split(' ').collect();
        refused_in(directory.path(), &words, fragments);
    }
    assert_unharmed(&directory);
}

/// Nothing was left behind and nothing changed.
#[track_caller]
fn assert_unharmed(directory: &TempDir) {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["bully", "good.txt", "precious", "typo.txt", "value.txt"]);
    assert_eq!(fs::read_to_string(directory.path().join("precious")).unwrap(), "do not touch");
}

#[test]
fn an_algorithm_that_is_not_there() {
    refused(&[
        ("sim bulli", &["no algorithm 'bulli'", "did you mean 'bully'?", "bellwether algorithms"]),
        ("sim chang-robert", &["did you mean 'chang-roberts'?"]),
        ("sim active_list", &["did you mean 'active-list'?"]),
        ("sim paxos-made-simple", &["no algorithm 'paxos-made-simple'", ".txt"]),
        ("compare clocks", &["no family 'clocks'", "election"]),
        ("simulate bully", &["simulate", "sim"]),
        ("sim", &["ALGORITHM|SCENARIO.txt"]),
    ]);
}

#[test]
fn a_group_that_is_none() {
    refused(&[
        ("sim bully --nodes 0", &["--nodes: 0 processes", "at least 1"]),
        ("sim bully --nodes -1", &["--nodes", "-1"]),
        ("sim bully --nodes many", &["--nodes", "many"]),
        ("sim bully --nodes 4294967295", &["--nodes: 4294967295", "at most 10000000"]),
        ("sim bully --nodes 4294967296", &["--nodes", "4294967296"]),
        ("sim bully --ids 1,2,2", &["--ids: id 2 appears twice"]),
        ("sim bully --ids 1,,2", &["--ids: '' is no id", "whole number"]),
        ("sim bully --ids 5..1", &["--ids: '5..1' runs backwards", "1..5"]),
        ("sim bully --ids 0..4294967295", &["--ids", "more than"]),
        ("sim bully --coordinator 9", &["--coordinator: there is no process 9", "1, 2, 3, 4, 5"]),
    ]);
}

#[test]
fn a_process_that_is_not_there_or_cannot_do_it() {
    let members = "the members are 1, 2, 3, 4, 5";
    refused(&[
        ("sim bully --crash 9", &["--crash: there is no process 9", members]),
        ("sim bully --crash x", &["--crash: 'x' is no id"]),
        ("sim bully --recover 9@1s", &["--recover: there is no process 9", members]),
        ("sim bully --pause 9@1s..2s", &["--pause: there is no process 9", members]),
        ("sim bully --detect 9", &["--detect: there is no process 9", members]),
        ("sim bully --link 1->9=5ms", &["--link: there is no process 9", members]),
        (
            "sim bully --crash 3@5ms --recover 3@1ms",
            &["--recover 3@1ms", "P3 cannot recover at 1ms", "not down"],
        ),
        ("sim bully --recover 3@1s", &["--recover 3@1s", "P3 cannot recover", "not down"]),
        ("sim bully --recover 3", &["--recover: '3' needs a time: 3@1s"]),
        ("sim bully --crash 3 --crash 3@5s", &["--crash 3@5s", "it crashed at 0ms"]),
        ("sim bully --crash 1,1", &["--crash 1,1", "it crashed at 0ms"]),
        ("sim bully --crash 3 --detect 3@1s", &["--detect 3@1s", "it crashed at 0ms"]),
        ("sim bully --crash 3 --pause 3@1s..2s", &["--pause 3@1s..2s", "it crashed at 0ms"]),
        ("sim bully --pause 3@1s..4s --pause 3@2s..3s", &["--pause 3@2s..3s", "paused already"]),
    ]);
}

#[test]
fn times_that_run_backwards() {
    refused(&[
        ("sim bully --pause 3@2s..1s", &["--pause: '3@2s..1s'", "1000ms", "2000ms"]),
        ("sim bully --pause 3@2s..2s", &["--pause", "not after its beginning"]),
        ("sim bully --pause 3@2s", &["--pause: '3@2s'", "a beginning and an end", "3@1s..2s"]),
        ("sim bully --partition 1|2@2s..1s", &["--partition: '1|2@2s..1s'", "not after"]),
        ("sim bully --slow 1=5ms@2s..1s", &["--slow", "not after its beginning"]),
        ("sim bully --latency 20ms..5ms", &["--latency: '20ms..5ms' runs backwards", "5ms..20ms"]),
        ("compare election --nodes 9..3", &["--nodes: '9..3' runs backwards", "3..9"]),
    ]);
}

#[test]
fn durations_that_are_none() {
    let directory = workshop();
    let example = "250us, 10ms, 1.5s or 2m";
    for duration in ["10", "10x", "-5ms", "1e9s", "", "ms", "1.s", "5 ms", "ten"] {
        for flag in ["--timeout", "--latency", "--until"] {
            let shown = format!("{flag}: '{duration}'");
            let words = ["sim", "bully", flag, duration];
            refused_in(directory.path(), &words, &[&shown, example]);
        }
        let crash = format!("3@{duration}");
        let shown = format!("'{duration}'");
        refused_in(directory.path(), &["sim", "bully", "--crash", &crash], &[&shown, example]);
    }
    refused(&[
        ("sim bully --timeout 99999999999s", &["--timeout", "longer than a year"]),
        ("sim bully --timeout 99999999999999999999999s", &["--timeout"]),
        ("sim bully --timeout 0", &["--timeout: T must be above 0"]),
        ("sim bully --latency pareto:10ms", &["'pareto'", "lognormal:10ms,0.5"]),
        ("sim bully --latency lognormal:10ms", &["a median and a sigma"]),
        ("sim bully --latency lognormal:10ms,nan", &["sigma 'nan'"]),
    ]);
}

#[test]
fn absurd_numbers() {
    refused(&[
        ("sim bully --seeds 0", &["--seeds: 0 seeds", "at least 1"]),
        ("sim bully --seeds -1", &["--seeds", "-1"]),
        ("sim bully --seed 18446744073709551616", &["--seed", "18446744073709551616"]),
        ("sim bully --seed 5 --seeds 18446744073709551615", &["--seeds: there are not that many"]),
        ("sim bully --loss 1.5", &["--loss: '1.5'", "from 0 to 1"]),
        ("sim bully --loss -0.1", &["--loss: '-0.1'", "from 0 to 1"]),
        ("sim bully --loss nan", &["--loss: 'nan'", "from 0 to 1"]),
        ("sim bully --loss inf", &["--loss: 'inf'", "from 0 to 1"]),
        ("sim bully --duplicate 2", &["--duplicate: '2'", "from 0 to 1"]),
        ("sim bully --offset 1", &["--offset: '1' has no '='", "1=+200ms"]),
        ("sim bully --offset 1=5", &["--offset: '5' has no unit"]),
        ("sim bully --drift 1=5", &["--drift: '5'", "50ppm"]),
        ("sim bully --drift 1=-9999999ppm", &["--drift"]),
        ("sim bully --slow 3@1s..2s", &["--slow: '3' has no '='", "3=20ms@1s..2s"]),
        ("sim bully --link 1-2=5ms", &["--link: '1-2' is no link", "1->2=50ms"]),
        ("sim bully --nodes 10000 --trace text", &["--trace", "at most 2000", "--quiet"]),
        ("compare election --nodes 0..3", &["--nodes", "at least 1"]),
        ("compare election --nodes a..b", &["--nodes: 'a..b' is no range", "3..64"]),
        ("compare election --nodes 3..100000", &["--nodes", "at most 512"]),
    ]);
}

#[test]
fn partitions_that_are_none() {
    refused(&[
        ("sim bully --partition 1,9|2@1s..2s", &["--partition: there is no process 9"]),
        ("sim bully --partition 1,2|2,3@1s..2s", &["--partition: process 2 is on two sides"]),
        ("sim bully --partition 1,2,3,4,5@1s..2s", &["all processes on one side", "1,2|3,4,5"]),
        ("sim bully --partition 1,2|3", &["--partition", "a beginning and an end"]),
        ("sim bully --partition |@1s..2s", &["--partition: '' is no id"]),
        ("sim bully --cut 1-2@1s..2s", &["--cut: '1-2' is no cut", "1,2>3"]),
    ]);
}

#[test]
fn scenarios_that_cannot_be_read() {
    refused(&[
        ("sim typo.txt", &["typo.txt:4:3: ", "crsh", "expected", "crash", "run", "  crsh 1"]),
        ("sim value.txt", &["value.txt:1:", "'10' has no unit", "latency=10"]),
        ("sim missing.txt", &["cannot read missing.txt: no such file"]),
        ("sim no/such/place", &["cannot read no/such/place: no such file"]),
        ("sim .", &["no algorithm '.'"]),
    ]);
}

#[test]
fn flags_that_contradict_each_other() {
    refused(&[
        ("sim bully --nodes 5 --ids 1,2", &["--nodes", "cannot be used with", "--ids"]),
        ("sim bully --order shuffled --ids 1,2", &["--order", "cannot be used with", "--ids"]),
        ("sim bully --json --trace text", &["--json and --trace", "--out FILE"]),
        ("sim bully --quiet --trace text", &["--quiet and --trace", "--out FILE"]),
        ("sim bully --seeds 5 --trace text", &["--seeds and --trace", "--seed"]),
        ("sim bully --seeds 5 --save x", &["--seeds", "cannot be used with", "--save"]),
        ("sim bully --out x", &["--trace"]),
        ("sim bully --trace text --out x --save x", &["--out and --save name the same file"]),
        ("sim bully --chaos --nodes 5", &["--chaos", "leave out --nodes"]),
        ("sim bully --chaos --crash 3", &["--chaos", "leave out --crash"]),
        ("sim good.txt --nodes 5", &["--nodes", "change good.txt instead"]),
        ("sim good.txt --seed 5", &["--seed", "change good.txt instead"]),
        ("sim good.txt --chaos", &["--chaos", "change good.txt instead"]),
    ]);
}

#[test]
fn files_that_cannot_be_written() {
    refused(&[
        ("sim bully --trace svg --out .", &["--out: cannot write .: it is a directory", "another"]),
        (
            "sim bully --trace svg --out missing/x.svg",
            &[
                "--out: cannot write missing/x.svg: no such file or directory",
                "nothing was written",
            ],
        ),
        ("sim bully --trace svg --out precious/x", &["--out: cannot write precious/x"]),
        ("sim bully --save missing/x.txt", &["--save: cannot write missing/x.txt"]),
        ("sim good.txt --trace text --out missing/x", &["--out: cannot write missing/x"]),
        ("compare election --nodes 3 --svg missing/x", &["--svg: cannot write missing/x"]),
    ]);
}

#[test]
fn a_run_that_cannot_start_leaves_the_file_as_it_was() {
    refused(&[
        ("sim bully --crash 9 --trace text --out precious", &["there is no process 9"]),
        ("sim typo.txt --trace text --out precious", &["typo.txt:4:3"]),
        // One of two files can be written: neither is.
        ("sim bully --trace text --out precious --save missing/x", &["--save"]),
    ]);
}

#[test]
fn an_algorithms_name_is_not_taken_for_a_file() {
    let directory = workshop();
    let output = bellwether(directory.path(), &["sim", "bully", "--crash", "5", "--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    refused_in(directory.path(), &["sim", "./bully"], &["./bully:1:1"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_bellwether"));
    let output = command.args(["algorithms"]).stdout(full).output().unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{complaint}");
    assert!(complaint.contains("cannot write to standard output: "), "{complaint}");
}
