//! The pages for readers: links lead somewhere, and commands print what is shown.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// All pages in Markdown, but for those of other people's packages.
fn pages() -> Vec<PathBuf> {
    let listed = Command::new("git").args(["ls-files", "*.md"]).current_dir(ROOT).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let pages: Vec<PathBuf> = listed.lines().map(|path| Path::new(ROOT).join(path)).collect();
    assert!(pages.len() > 20, "{pages:?}");
    pages
}

/// The lines of a page that are not in fenced blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fence && !fenced
    })
}

/// What can be linked to on a page: its headings, as GitHub names them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).filter_map(|line| line.strip_prefix('#'));
    headings
        .map(|heading| {
            let heading = heading.trim_start_matches('#').trim().to_lowercase();
            let kept = heading.chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

/// Where the links and pictures of a page lead.
fn links(text: &str) -> Vec<String> {
    let text = prose(text).collect::<Vec<_>>().join("\n");
    let ends = text.split("](").skip(1);
    ends.filter_map(|end| end.split(')').next()).map(|link| link.replace('\n', " ")).collect()
}

#[test]
fn every_link_and_picture_of_a_page_is_there() {
    let mut broken = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for link in links(&text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match path {
                "" => page.clone(),
                path => page.parent().unwrap().join(path),
            };
            let found = match anchor {
                "" => target.exists(),
                anchor => {
                    fs::read_to_string(&target).is_ok_and(|text| anchors(&text).contains(anchor))
                }
            };
            if !found {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "these lead nowhere:\n{}", broken.join("\n"));
}

#[test]
fn links_and_headings_are_found() {
    let page = "# The `k` key, and others\n[a](b.md#c) ![p](q.png)\n```\n# no\n[x](y)\n```\n";
    assert_eq!(links(page), ["b.md#c", "q.png"]);
    assert_eq!(anchors(page), BTreeSet::from(["the-k-key-and-others".to_owned()]));
}

/// A command of a page and what is shown below it.
struct Shown {
    page: PathBuf,
    command: String,
    lines: Vec<String>,
}

/// The commands in blocks of a terminal, on all pages.
fn commands() -> Vec<Shown> {
    let mut all = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        let blocks = text.split("```console\n").skip(1);
        for block in blocks.filter_map(|rest| rest.split("```").next()) {
            let mut commands: Vec<Shown> = Vec::new();
            for line in block.lines().map(str::trim_start) {
                match (line.strip_prefix("$ "), commands.last_mut()) {
                    (Some(command), _) => commands.push(Shown {
                        page: page.clone(),
                        command: command.to_owned(),
                        lines: Vec::new(),
                    }),
                    (None, Some(last)) => last.lines.push(line.to_owned()),
                    (None, None) => {}
                }
            }
            all.extend(commands);
        }
    }
    all
}

/// Whether this is a command of the laboratory. They print the same everywhere.
fn prints_the_same_everywhere(shown: &Shown) -> bool {
    let kinds = ["sim ", "check ", "compare "].map(|kind| format!("bellwether {kind}"));
    kinds.iter().any(|kind| shown.command.starts_with(kind))
}

/// What this test does not run: the page, how its commands begin, and the source of the test that runs them, or that shows
/// the same where the output differs from run to run.
const ELSEWHERE: [(&str, &str, &str, &str); 7] = [
    ("README.md", "bellwether up --plain", "crates/cli/tests/ops/pages.rs", "readme"),
    ("docs/coordination.md", "", "crates/cli/tests/ops/pages.rs", "coordination"),
    ("docs/operations.md", "", "crates/cli/tests/ops/pages.rs", "operations"),
    (
        "docs/http.md",
        "curl",
        "crates/cli/tests/ops/dashboard.rs",
        "what_makes_no_sense_is_refused_and_changes_nothing",
    ),
    (
        "docs/host.md",
        "bellwether host bully --nodes 4 --kill",
        "crates/cli/tests/lab/host.rs",
        "a_killed_coordinator_is_replaced_and_takes_over_again_when_it_is_revived",
    ),
    (
        "docs/host.md",
        "bellwether host bully --nodes 3 --timeout 300ms --stop",
        "crates/cli/tests/lab/host.rs",
        "a_stopped_coordinator_breaks_the_textbook_s_assumption_and_the_trace_shows_it",
    ),
    (
        "docs/your-own-process.md",
        "cargo run --release -- ",
        "examples/claimer/tests/it.rs",
        "it_prints_what_the_page_shows",
    ),
];

#[test]
fn every_command_of_a_page_is_run_by_a_test() {
    for (page, begins, source, test) in ELSEWHERE {
        let source = fs::read_to_string(Path::new(ROOT).join(source)).unwrap();
        assert!(source.contains(&format!("fn {test}()")), "{page}: there is no test {test}");
        let is_shown =
            |shown: &Shown| shown.page.ends_with(page) && shown.command.starts_with(begins);
        assert!(commands().iter().any(is_shown), "{page} has no command {begins}");
    }
    let run_elsewhere = |shown: &Shown| {
        ELSEWHERE.iter().any(|(page, begins, ..)| {
            shown.page.ends_with(page) && shown.command.starts_with(begins)
        })
    };
    let missing: Vec<_> = commands()
        .into_iter()
        .filter(|shown| !prints_the_same_everywhere(shown) && !run_elsewhere(shown))
        .map(|shown| format!("{}: $ {}", shown.page.display(), shown.command))
        .collect();
    assert!(missing.is_empty(), "no test runs these:\n{}", missing.join("\n"));
}

/// A line without what differs from run to run: seconds, rates and memory.
fn steady(line: &str) -> Vec<&str> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let unit = |word: &str| {
        let word = word.trim_end_matches([',', ';', '.']);
        ["s", "million", "MB", "MiB", "KiB", "GiB", "bytes"].contains(&word)
    };
    let key = |word: &str| {
        ["_s\":", "_per_second\":", "_rss_bytes\":"].iter().any(|end| word.ends_with(end))
    };
    let measured = |place: usize, word: &str| {
        let before = place.checked_sub(1).and_then(|before| words.get(before));
        word.starts_with(|c: char| c.is_ascii_digit())
            && (words.get(place + 1).is_some_and(|next| unit(next))
                || before.is_some_and(|before| key(before)))
    };
    words.iter().enumerate().map(|(i, word)| if measured(i, word) { "#" } else { *word }).collect()
}

/// Whether this was printed. A line of three dots stands for any lines.
fn matches(shown: &[Vec<&str>], printed: &[Vec<&str>]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((line, rest)) if *line == ["..."] => {
            (0..=printed.len()).any(|skipped| matches(rest, &printed[skipped..]))
        }
        Some((line, rest)) => printed.first() == Some(line) && matches(rest, &printed[1..]),
    }
}

#[test]
fn commands_print_what_the_pages_show() {
    let shown: Vec<_> = commands()
        .into_iter()
        .filter(|shown| !shown.lines.is_empty() && prints_the_same_everywhere(shown))
        .collect();
    assert!(shown.len() > 15, "{}", shown.len());
    let mut wrong = Vec::new();
    for Shown { page, command, lines } in shown {
        let folder = tempfile::tempdir().unwrap();
        // A page shows what comes on a terminal, in the order in which it comes.
        let script = format!("{{ {command}; }} 2>&1").replace("bellwether ", "\"$BELLWETHER\" ");
        std::os::unix::fs::symlink(
            Path::new(ROOT).join("scenarios"),
            folder.path().join("scenarios"),
        )
        .unwrap();
        let output = Command::new("sh")
            .args(["-c", &script])
            .env("BELLWETHER", env!("CARGO_BIN_EXE_bellwether"))
            .current_dir(folder.path())
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let found: Vec<_> = printed.lines().map(steady).filter(|line| !line.is_empty()).collect();
        let wanted: Vec<_> =
            lines.iter().map(|line| steady(line)).filter(|line| !line.is_empty()).collect();
        if !matches(&wanted, &found) {
            let known = |line: &Vec<&str>| *line == ["..."] || found.contains(line);
            let other = wanted.iter().find(|line| !known(line)).map(|line| line.join(" "));
            let other = other.unwrap_or_else(|| "its lines in this order and no others".to_owned());
            wrong.push(format!("{}: $ {command}\n    shows: {other}", page.display()));
        }
    }
    assert!(wrong.is_empty(), "these print something else:\n\n{}", wrong.join("\n"));
}
