//! The command that repeats a run.

/// Flags that say how a run is shown or how many there are, but not what happens in it; and
/// whether a value follows.
const NOT_THE_RUN: [(&str, bool); 14] = [
    ("--seed", true),
    ("--seeds", true),
    ("--trace", true),
    ("--out", true),
    ("--states", false),
    ("--keep", true),
    ("--save", true),
    ("--quiet", false),
    ("--json", false),
    ("--threads", true),
    ("--max-states", true),
    ("--max-memory", true),
    ("--max-depth", true),
    ("--reduction", true),
];

/// This very command line, for one seed.
pub(crate) fn command(seed: u64) -> String {
    format!("{} --seed {seed}", bare())
}

/// This very command line, without what only says how its result is shown.
pub(crate) fn bare() -> String {
    from_words(crate::program::name(), std::env::args().skip(1))
}

fn from_words(mut command: String, words: impl Iterator<Item = String>) -> String {
    let mut words = words.peekable();
    while let Some(word) = words.next() {
        let name = word.split('=').next().unwrap_or(&word);
        if let Some((_, takes_value)) = NOT_THE_RUN.iter().find(|(flag, _)| *flag == name) {
            if *takes_value && name == word {
                words.next();
            }
            continue;
        }
        command.push(' ');
        command.push_str(&quoted(&word));
    }
    command
}

/// A word as a shell must be given it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=.,:@/+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_what_happens_and_drops_how_it_is_shown() {
        let words = [
            "sim",
            "bully",
            "--nodes",
            "5",
            "--seeds=100",
            "--seed",
            "3",
            "--json",
            "--partition",
            "1,2|3,4,5@1s..2s",
            "--out",
            "x.svg",
            "--trace=svg",
            "--states",
            "--keep",
            "run",
        ];
        assert_eq!(
            from_words("bellwether".to_owned(), words.iter().map(|word| (*word).to_owned())),
            "bellwether sim bully --nodes 5 --partition '1,2|3,4,5@1s..2s'"
        );
    }
}
