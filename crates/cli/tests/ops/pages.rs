//! The pages about clusters: what their terminal blocks show is what the commands print.
//!
//! A page is read from top to bottom beside a real cluster:
//!
//! * `$ cat FILE` with lines below it makes that file.
//! * A command runs in a shell. One that goes on, such as a job, goes on until the end of the page.
//! * Lines without a command were printed by a command that was started beside the page.
//! * Numbers, times, ports, tokens, keys and names of sessions differ from run to run, so only their places are compared.
//!   Sessions, tokens and keys that a page shows are replaced in later commands by those that were printed.
//! * A line of three dots stands for any lines.

#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "these tests wait for real processes"
)]

use crate::common::{Up, command};
use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A command that has not printed what the page shows by then never will.
const PATIENCE: Duration = Duration::from_secs(40);

/// Behind the term stands why a member leads. That depends on which member was started or noticed something first.
const TERM: [&str; 2] = ["(term #): ", "in term #: "];

/// Commands that only look. What they show may take a moment to come about, so they are run until it has.
const LOOKS: [&str; 5] = ["status", "members", "roles", "locks", "deadlocks"];

/// The blocks of a terminal on a page, as they are written.
fn blocks(page: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(Path::new(ROOT).join(page)).unwrap();
    let blocks = text.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.map(|block| block.lines().map(str::to_owned).collect()).collect()
}

/// A line in which only the places of numbers are left, and the numbers.
fn shape(line: &str) -> (String, Vec<String>) {
    let (mut shape, mut numbers) = (String::new(), Vec::new());
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let hex = word >= 16 && rest[..word].chars().all(|c| c.is_ascii_hexdigit());
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let number = rest[..number].trim_end_matches('.').len();
        let taken = match (hex, first.is_ascii_digit()) {
            (true, _) => word,
            (false, true) => number,
            (false, false) => 0,
        };
        if taken > 0 {
            // A sign is a part of the number.
            if shape.ends_with(" +") || shape.ends_with(" -") {
                shape.pop();
            }
            let session =
                if shape.ends_with('s') && rest[..taken].contains('.') { "s" } else { "" };
            numbers.push(format!("{session}{}", &rest[..taken]));
            shape.push('#');
            rest = &rest[taken..];
            continue;
        }
        // The frame of a table is as wide as what is in it.
        if !"─═".contains(first) {
            shape.push(first);
        }
        rest = &rest[first.len_utf8()..];
    }
    let shape = shape.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = TERM.iter().find_map(|term| Some(shape.find(term)? + term.len()));
    (shape[..end.unwrap_or(shape.len())].to_owned(), numbers)
}

fn shapes<S: AsRef<str>>(lines: &[S]) -> Vec<String> {
    let all = lines.iter().map(|line| shape(line.as_ref()).0);
    all.filter(|shape| !shape.is_empty()).collect()
}

/// Whether this was printed; `more` if further lines may follow.
fn fits(shown: &[String], printed: &[String], more: bool) -> bool {
    match shown.split_first() {
        None => more || printed.is_empty(),
        Some((line, rest)) if line == "..." => {
            (0..=printed.len()).any(|skipped| fits(rest, &printed[skipped..], more))
        }
        Some((line, rest)) => printed.first() == Some(line) && fits(rest, &printed[1..], more),
    }
}

/// A command that was started, and the file that it prints to.
struct Started {
    child: Child,
    out: PathBuf,
}

impl Started {
    /// Ends the shell and all that it started.
    fn end(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
    }

    fn printed(&self) -> Vec<String> {
        fs::read_to_string(&self.out).unwrap().lines().map(str::to_owned).collect()
    }

    /// Waits until it has ended, or has printed at least this.
    fn prints(&mut self, shown: &[String]) -> Result<Vec<String>, String> {
        let until = Instant::now() + PATIENCE;
        loop {
            // Looked at first: what it printed at its end is not missed.
            let ended = self.child.try_wait().unwrap().is_some();
            let printed = self.printed();
            let fit = fits(shown, &shapes(&printed), !ended);
            if fit && (ended || !shown.is_empty()) {
                return Ok(printed);
            }
            if ended || Instant::now() > until {
                return Err(printed.join("\n"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A page that is being read.
struct Reader {
    folder: tempfile::TempDir,
    environment: Vec<(String, String)>,
    /// Assignments that the page has made in its shell.
    variables: String,
    /// What the page shows, and what it is here.
    known: BTreeMap<String, String>,
    running: Vec<Started>,
    wrong: Vec<String>,
}

impl Reader {
    fn new(environment: &[(&str, &str)]) -> Self {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Reader {
            folder: tempfile::tempdir().unwrap(),
            environment: environment.iter().map(own).collect(),
            variables: String::new(),
            known: BTreeMap::new(),
            running: Vec::new(),
            wrong: Vec::new(),
        }
    }

    /// The text with what is known instead of what the page shows, the longest first.
    fn here(&self, text: &str) -> String {
        let mut known: Vec<_> = self.known.iter().collect();
        known.sort_by_key(|(shown, _)| std::cmp::Reverse(shown.len()));
        let mut text = text.to_owned();
        // By way of marks, so that nothing is replaced twice.
        for (place, (shown, _)) in known.iter().enumerate() {
            text = text.replace(shown.as_str(), &format!("\u{1}{place}\u{2}"));
        }
        for (place, (_, here)) in known.iter().enumerate() {
            text = text.replace(&format!("\u{1}{place}\u{2}"), here);
        }
        text
    }

    fn start(&mut self, script: &str) -> Started {
        let out = self.folder.path().join(format!("out-{}", self.running.len()));
        let file = File::create(&out).unwrap();
        let script = format!("{}\n{}", self.variables, self.here(script));
        let child = Command::new("sh")
            .args(["-c", &script])
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .process_group(0)
            .spawn()
            .unwrap();
        Started { child, out }
    }

    /// Starts a command beside the page, and waits for its first line, if it prints one.
    fn beside(&mut self, script: &str, first: &str) {
        let mut started = self.start(script);
        let wanted = if first.is_empty() { Vec::new() } else { shapes(&[first]) };
        if !wanted.is_empty()
            && let Err(printed) = started.prints(&wanted)
        {
            self.wrong.push(format!("beside the page: {script}\n  printed:\n{printed}"));
        }
        self.running.push(started);
    }

    /// Waits until this is printed by a command: what `$(...)` would give.
    fn ask(&mut self, script: &str) -> String {
        let mut started = self.start(script);
        started.child.wait().unwrap();
        let printed = started.printed().join("\n");
        self.running.push(started);
        printed
    }

    /// Learns what stands for the numbers of the page.
    fn learn(&mut self, shown: &[String], printed: &[String]) {
        let mut printed = printed.iter();
        for line in shown {
            let (wanted, theirs) = shape(line);
            if wanted.is_empty() || wanted == "..." {
                continue;
            }
            let Some(ours) = printed.find(|line| shape(line).0 == wanted) else { return };
            for (theirs, ours) in theirs.into_iter().zip(shape(ours).1) {
                if theirs.len() >= 10 || theirs.starts_with('s') {
                    self.known.insert(theirs, ours);
                }
            }
        }
    }

    /// Reads one block.
    fn read(&mut self, block: &[String]) {
        let mut steps: Vec<(String, Vec<String>)> = Vec::new();
        for line in block {
            match (line.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => steps.push((command.to_owned(), Vec::new())),
                (None, Some((_, lines))) => lines.push(line.clone()),
                (None, None) => steps.push((String::new(), vec![line.clone()])),
            }
        }
        let mut before = String::new();
        for (command, shown) in steps {
            if command.is_empty() {
                let wanted = shapes(&shown);
                let seen =
                    |one: &Started| shapes(&one.printed()).iter().any(|line| wanted.contains(line));
                let until = Instant::now() + PATIENCE;
                while !self.running.iter().any(seen) && Instant::now() < until {
                    std::thread::sleep(Duration::from_millis(20));
                }
                if !self.running.iter().any(seen) {
                    self.wrong.push(format!("nothing printed: {}", shown.join("\n")));
                }
                continue;
            }
            if let Some(file) = command.strip_prefix("cat ").filter(|_| !shown.is_empty()) {
                let path = self.folder.path().join(file);
                fs::write(&path, self.here(&shown.join("\n")) + "\n").unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
                continue;
            }
            if let Some(first) = command.strip_suffix(" &") {
                // People need a moment until they have typed the next one.
                before = format!("{first} & sleep 0.7; ");
                continue;
            }
            let assignment = command.split_once('=').is_some_and(|(name, _)| {
                name.chars().all(|c| c.is_ascii_uppercase()) && shown.is_empty()
            });
            if assignment {
                self.variables = format!("{}{}\n", self.variables, self.here(&command));
                continue;
            }
            let waits = if before.is_empty() { "" } else { "; wait" };
            let script = format!("{}{command}{waits}", std::mem::take(&mut before));
            let looks = LOOKS.iter().any(|word| script.starts_with(&format!("bellwether {word}")));
            let repeats = looks && !script.contains("--release");
            let until = Instant::now() + PATIENCE;
            let (started, printed) = loop {
                let mut started = self.start(&script);
                let printed = started.prints(&shapes(&shown));
                if printed.is_ok() || !repeats || Instant::now() > until {
                    break (started, printed);
                }
                self.running.push(started);
                std::thread::sleep(Duration::from_millis(200));
            };
            match printed {
                Ok(printed) => self.learn(&shown, &printed),
                Err(printed) => self.wrong.push(format!(
                    "$ {command}\n  shows:\n{}\n  printed:\n{printed}",
                    shown.join("\n")
                )),
            }
            self.running.push(started);
        }
    }

    /// Says what was wrong, when all is over.
    fn end(mut self) {
        for started in &mut self.running {
            started.end();
        }
        assert!(
            self.wrong.is_empty(),
            "the page shows something else:\n\n{}",
            self.wrong.join("\n\n")
        );
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        for started in &mut self.running {
            started.end();
        }
    }
}

/// Where the program is found by its name.
fn path_of_program() -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_bellwether"));
    format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap())
}

#[test]
fn coordination() {
    let runtime = tempfile::tempdir().unwrap();
    fs::set_permissions(runtime.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let mut up = Up::start_in(runtime.path(), "--nodes 5");
    up.until(&["member 5 is the coordinator in term"]);
    let path = path_of_program();
    let mut page =
        Reader::new(&[("PATH", &path), ("XDG_RUNTIME_DIR", runtime.path().to_str().unwrap())]);
    page.known.insert("127.0.0.1:7480".to_owned(), up.members[0].clone());
    let blocks = blocks("docs/coordination.md");
    for block in &blocks {
        let has = |text: &str| block.iter().any(|line| line.contains(text));
        if has("campaign primary --priority 1") {
            let other = "sleep 1; bellwether campaign primary --priority 5 --preempt --value host-b -- ./job";
            page.beside(other, "");
        } else if has("# while another migration runs") {
            fs::write(page.folder.path().join("first"), "#!/bin/sh\nsleep 4\n").unwrap();
            page.beside("bellwether lock migrations -- sh ./first", "");
            page.ask("until bellwether locks | grep -q migrations; do sleep 0.1; done");
        } else if has("--wait 200ms") {
            page.beside("exec bellwether lock migrations --name 'migrate[1]' -- sleep 60", "");
            page.ask("until bellwether locks | grep -q migrations; do sleep 0.1; done");
        } else if has("--release reports") {
            page.beside("bellwether lock reports -- sleep 60", "");
            let found = page.ask("until bellwether locks | grep reports; do sleep 0.1; done");
            let words =
                found.split_whitespace().find(|word| word.starts_with('s') && word.contains('.'));
            page.known.insert("s2.11".to_owned(), words.unwrap().to_owned());
        } else if has("--check db --token") {
            let token = page.here("4294967297");
            page.variables = format!("TOKEN={token}\n");
        }
        page.read(block);
    }
    assert!(blocks.len() >= 12, "{}", blocks.len());
    page.end();
    drop(up);
}

/// What these blocks show takes a broken disk, a partition, another cluster or a wrong configuration; the test named
/// shows it instead.
const STAGED: [(&str, &str); 7] = [
    ("lease is 3s at P1", "finding_c_a_lease_of_its_own"),
    ("cannot be used: at byte", "what_cannot_be_used_at_the_start_ends_with_3"),
    ("grep -E 'coordinator|change'", "the_next_takes_over_from_a_killed_coordinator"),
    ("without a mandate", "what_a_minority_shows_ends_with_70"),
    ("File too large", "a_disk_that_takes_no_more_ends_a_member_with_4"),
    (
        "bellwether inspect",
        "a_data_folder_is_inspected_while_its_member_runs_and_when_it_is_damaged",
    ),
    ("demo.bak", "three_members_are_restored_as_a_new_cluster_with_larger_tokens"),
];

#[test]
fn operations() {
    let path = path_of_program();
    let mut page = Reader::new(&[("PATH", &path)]);
    let tests = sources(&Path::new(ROOT).join("crates/cli/tests/ops"));
    let missing = STAGED.iter().find(|(_, test)| !tests.contains(&format!("fn {test}()")));
    assert_eq!(missing, None);
    for (shown, listener) in (1..=5).flat_map(|id| {
        let free = || std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        [(format!("127.0.0.1:740{id}"), free()), (format!("127.0.0.1:748{id}"), free())]
    }) {
        page.known.insert(shown, listener.local_addr().unwrap().to_string());
    }
    let member_1 = page.known["127.0.0.1:7481"].clone();
    page.known.insert("127.0.0.1:7480".to_owned(), member_1);
    for block in &blocks("docs/operations.md") {
        let has = |text: &str| block.iter().any(|line| line.contains(text));
        if STAGED.iter().any(|(text, _)| has(text)) {
            continue;
        }
        if !has("$ bellwether node --config demo.toml") {
            page.read(block);
            continue;
        }
        // The page leaves out what is the same for the other members.
        let member = |id: u32| {
            let lines = ["[[member]]", &format!("id = {id}")].map(str::to_owned);
            let (address, http) = (format!("127.0.0.1:740{id}"), format!("127.0.0.1:748{id}"));
            let rest = [format!("address = \"{address}\""), format!("http = \"{http}\"")];
            lines.into_iter().chain(rest).collect::<Vec<_>>()
        };
        let node = block.iter().position(|line| line.starts_with("$ bellwether node")).unwrap();
        let mut whole = block[..node].to_vec();
        assert_eq!(whole.pop().as_deref(), Some("..."), "the configuration ends in three dots");
        whole.extend((2..=5).flat_map(member));
        page.read(&whole);
        for id in 2..=5 {
            let line = format!("bellwether node --config demo.toml --id {id}");
            page.beside(&format!("exec {line} --http 127.0.0.1:748{id}"), "");
        }
        page.read(
            &block[node..].iter().map(|line| line.replacen("$ ", "$ exec ", 1)).collect::<Vec<_>>(),
        );
        page.ask("until bellwether status --address 127.0.0.1:7483 | grep -q 'P5 in term'; do sleep 0.1; done");
    }
    page.end();
}

/// In this block the reader types, too. What follows from a line may come in another order, with other lines between.
#[test]
fn readme() {
    let blocks = blocks("README.md");
    let block = blocks.iter().find(|block| block[0] == "$ bellwether up --plain").unwrap();
    let typed =
        |line: &str| ["kill ", "partition ", "heal"].iter().any(|word| line.starts_with(word));
    let mut up = command("up --plain --for 120s");
    let mut up = up.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut keyboard = up.stdin.take().unwrap();
    let mut screen = BufReader::new(up.stdout.take().unwrap()).lines();
    let (mut wanted, mut lines) = (Vec::new(), block[1..].iter().peekable());
    while let Some(line) = lines.next() {
        match (typed(line), line.trim()) {
            (true, _) => writeln!(keyboard, "{line}").unwrap(),
            (false, "...") => {}
            (false, _) => wanted.push(shape(line).0),
        }
        // All that the line before has caused is waited for.
        if lines.peek().is_none_or(|next| typed(next)) {
            while !wanted.is_empty() {
                let Some(Ok(printed)) = screen.next() else { break };
                wanted.retain(|wanted| *wanted != shape(&printed).0);
            }
        }
    }
    let _ = up.kill();
    let _ = up.wait();
    assert!(wanted.is_empty(), "this was not printed: {wanted:?}");
}

/// All sources of a crate.
fn sources(folder: &Path) -> String {
    let mut all = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all += &sources(&path);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            all += &fs::read_to_string(path).unwrap();
        }
    }
    all
}

/// The names in a row of the table of promises, with the crate behind each group of them.
fn named(row: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for group in row.split("), ").map(|group| group.trim_end_matches([')', ' ', '|'])) {
        let Some((names, of)) = group.rsplit_once(" (") else { continue };
        let names = names.split('`').skip(1).step_by(2);
        found.extend(names.map(|name| (of.to_owned(), name.to_owned())));
    }
    found
}

#[test]
fn the_tests_that_promises_name_are_there() {
    let page = fs::read_to_string(Path::new(ROOT).join("docs/coordination.md")).unwrap();
    let (_, table) = page.split_once("| promise | test |\n| --- | --- |\n").unwrap();
    let rows: Vec<_> = table.lines().take_while(|line| line.starts_with('|')).collect();
    let mut crates: BTreeMap<String, String> = BTreeMap::new();
    let mut missing = Vec::new();
    for row in &rows {
        let (_, tests) = row.trim_matches(['|', ' ']).rsplit_once(" | ").unwrap();
        // One promise is measured, not tested.
        let names = if tests.starts_with("`bellwether bench") { Vec::new() } else { named(tests) };
        assert!(!names.is_empty() || tests.contains("bench"), "no test in {row}");
        for (of, name) in names {
            let folder = Path::new(ROOT).join("crates").join(&of);
            let text = crates.entry(of.clone()).or_insert_with(|| sources(&folder));
            if !text.contains(&format!("fn {name}()")) {
                missing.push(format!("{name} ({of})"));
            }
        }
    }
    assert!(rows.len() > 20, "{}", rows.len());
    assert!(missing.is_empty(), "there are no such tests: {missing:?}");
}

#[test]
fn only_places_of_numbers_count() {
    let line =
        " cron   s1.1 (job[1888])  4294967297 │ 0.5 ms, key ae79a85212224923c31931a19661bbbb.";
    let why = shape("last change 02:35Z: from none to P5 (term 1): P4 handed over").0;
    assert_eq!(why, "last change #:#Z: from none to P# (term #): ");
    let (shape, numbers) = shape(line);
    assert_eq!(shape, "cron s# (job[#]) # │ # ms, key #.");
    assert_eq!(numbers[..3], ["s1.1", "1888", "4294967297"].map(str::to_owned));
    let lines = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    assert!(fits(&lines("a ... c"), &lines("a b b c"), false));
    assert!(!fits(&lines("a"), &lines("a b"), false) && fits(&lines("a"), &lines("a b"), true));
}
