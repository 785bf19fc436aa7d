//! An algorithm is one file and one line.
//!
//! The test copies what the laboratory is compiled from, adds an election with its file and its line,
//! builds the laboratory there and looks for the election in everything that lists algorithms. The
//! copy shares the target directory, so that no dependency is compiled again, and is kept, so that a
//! second run compiles only what has changed.

use super::readme::with_tables;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// What is copied: the whole workspace, for a part of it would have other features, and its
/// dependencies would be compiled again.
const COPIED: [&str; 6] =
    ["Cargo.toml", "Cargo.lock", "crates", "examples", "scenarios", "web/openapi"];
const FILE: &str = "crates/algorithms/src/election/roll_call.rs";
const LIST: &str = "crates/algorithms/src/election/mod.rs";
const LAST: &str = "            peterson::Peterson,\n";
const LINE: &str = "            roll_call::RollCall,\n";

/// All files below a path, relative to the root.
fn files(root: &Path, path: &Path, found: &mut Vec<PathBuf>) {
    let whole = root.join(path);
    if whole.is_dir() {
        for entry in fs::read_dir(whole).unwrap() {
            files(root, &path.join(entry.unwrap().file_name()), found);
        }
    } else {
        found.push(path.to_owned());
    }
}

/// Writes a file unless it has this content, so that cargo compiles only what has changed.
fn put(path: &Path, content: &[u8]) {
    if fs::read(path).ok().as_deref() != Some(content) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

/// Makes `copy` the same as the repository, but for one file and one line.
fn add_an_algorithm(root: &Path, copy: &Path) {
    let list = |root: &Path| {
        let mut found = Vec::new();
        COPIED.iter().for_each(|path| files(root, Path::new(path), &mut found));
        found.sort();
        found
    };
    let originals = list(root);
    for path in &originals {
        let mut content = fs::read(root.join(path)).unwrap();
        if path == Path::new(LIST) {
            let text = String::from_utf8(content).unwrap();
            assert_eq!(text.matches(LAST).count(), 1, "{LIST} has another last election");
            content = text.replace(LAST, &format!("{LAST}{LINE}")).into_bytes();
        }
        put(&copy.join(path), &content);
    }
    put(&copy.join(FILE), include_bytes!("one_file/roll_call.rs"));
    // Without the page.
    fs::create_dir_all(copy.join("web/dist")).unwrap();
    let mut more = list(copy);
    for gone in more.extract_if(.., |path| !originals.contains(path) && path != Path::new(FILE)) {
        fs::remove_file(copy.join(gone)).unwrap();
    }
    // That is all.
    more.retain(|path| fs::read(root.join(path)).ok() != fs::read(copy.join(path)).ok());
    assert_eq!(more, [LIST, FILE].map(PathBuf::from));
    let [before, after] = [root, copy].map(|root| fs::read_to_string(root.join(LIST)).unwrap());
    assert_eq!(after.lines().count(), before.lines().count() + 1);
    assert_eq!(after.replace(LINE, ""), before);
}

/// Builds the laboratory's program in the copy.
fn build(copy: &Path) -> PathBuf {
    // CARGO_TARGET_TMPDIR is the folder tmp of the target directory.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    // What is run once is not worth optimising. And no other build asks for this level of debugging:
    // cargo must not take a crate of the copy for the same crate of the repository.
    for folder in fs::read_dir(copy.join("crates")).unwrap() {
        let name = folder.unwrap().file_name().into_string().unwrap();
        let set = format!("--config=profile.dev.package.bellwether-{name}");
        build.args([format!("{set}.opt-level=0"), format!("{set}.debug='line-directives-only'")]);
    }
    build
        .args("build --quiet --offline --locked --workspace --example laboratory".split(' '))
        .current_dir(copy)
        .env("CARGO_TARGET_DIR", target);
    // What cargo says to this test about its package would make a dependency be compiled again.
    for (name, _) in std::env::vars_os() {
        let about = |prefix| name.to_str().is_some_and(|name| name.starts_with(prefix));
        if about("CARGO_MANIFEST_") || about("CARGO_PKG_") {
            build.env_remove(name);
        }
    }
    let built = build.output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    target.join("debug/examples/laboratory")
}

/// A server that ends with the test.
struct Explorer(Child);

impl Drop for Explorer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What the explorer's page is told of the catalogue.
fn explored(program: &Path) -> Value {
    let mut command = Command::new(program);
    command.args(["explore", "--listen", "127.0.0.1:0"]).stdout(Stdio::piped());
    let mut explorer = Explorer(command.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(explorer.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.split("http://").nth(1).unwrap().split('/').next().unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("GET /v1/explore/catalogue HTTP/1.1\r\nHost: {address}\r\n");
    write!(stream, "{request}Connection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[test]
fn an_algorithm_is_one_file_and_one_line() {
    let root = Path::new(ROOT).canonicalize().unwrap();
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("one-file");
    add_an_algorithm(&root, &copy);
    let program = build(&copy);
    let said = |line: &str| {
        let output = Command::new(&program).args(line.split(' ')).output().unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{line}\n{complaint}\n{text}");
        text
    };
    let json = |line: &str| -> Value { serde_json::from_str(&said(line)).unwrap() };

    let catalogue = said("algorithms --json");
    assert!(catalogue.contains("\"roll-call\"") && said("algorithms").contains("roll-call"));
    // The check of docs/algorithms.md fails until its tables are rewritten.
    let tables = fs::read_to_string(root.join("docs/algorithms.md")).unwrap();
    let line =
        "| `roll-call` | Roll call | 2n(n-1), however many start | mesh | any | ARCHITECTURE.md |";
    assert_eq!(with_tables(&tables, &catalogue).matches(line).count(), 1);
    assert!(!tables.contains(line));

    let run = "sim roll-call --nodes 3 --crash 3 --detect 1";
    assert!(said(run).contains("P1 -> P2  CALL"));
    assert_eq!(json(&format!("{run} --json"))["coordinator"]["1"], 2);
    assert!(said("sim roll-call --nodes 4 --all-start --trace mermaid").contains("CALL"));
    assert_eq!(json("sim roll-call --chaos --seeds 20 --json")["agreed"], 20);
    assert!(said("check roll-call --nodes 3 --crashes 1 --safety").contains("proved"));
    let over = "sim chandy-lamport --over roll-call --ask 1=snapshot@10ms --json";
    assert_eq!(json(over)["violations"].as_array().map(Vec::len), Some(0));

    let compared = json("compare election --nodes 5 --json");
    let cases = compared["cases"].as_array().unwrap();
    let ours: Vec<&Value> = cases.iter().filter(|case| case["algorithm"] == "roll-call").collect();
    assert_eq!(ours.len(), 1);
    assert_eq!((&ours[0]["measured"], &ours[0]["agrees"]), (&40.into(), &true.into()));

    let host = "host roll-call --nodes 3 --kill 3 --detect 1 --timeout 300ms --json";
    assert_eq!(json(host)["coordinator"]["1"], 2);

    let page = explored(&program);
    let listed = page["algorithms"].as_array().unwrap();
    let ours = listed.iter().find(|algorithm| algorithm["name"] == "roll-call").unwrap();
    assert!(ours["rules"].to_string().contains("send CALL to all others"), "{ours}");
}
