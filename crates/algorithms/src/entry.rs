//! What definitions are made of: what is written about an algorithm, what a user can set, and what
//! can be seen of a run.

use crate::mutex::{Refusal, Tree};
use crate::options::Options;
use bellwether_core::{Assumptions, NodeId};
use std::time::Duration;

/// What an algorithm is called, and what is written about it.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name on the command line.
    pub name: &'static str,
    /// The family it belongs to.
    pub family: &'static str,
    /// Its name in a sentence.
    pub title: &'static str,
    /// Who published it, and where.
    pub source: &'static str,
    /// What it costs, in messages.
    pub cost: &'static str,
    /// What the algorithm needs to be right, as it was published. What is put around it may need
    /// more, or bear more: see
    /// [`About::assumes`](crate::definition::About::assumes).
    pub assumes: Assumptions,
    /// Which processes talk to which, for pictures.
    pub topology: Topology,
    /// The documentation at the head of its file, which says what it is about and has its rules:
    /// [`essay!`](crate::essay). More of the file does no harm.
    pub docs: &'static str,
    /// The scenario that introduces it, below `scenarios/`.
    pub example: &'static str,
}

/// The family of algorithms that name none.
pub const OWN_FAMILY: &str = "own";

impl Entry {
    /// An entry with a name and nothing else to say.
    pub const fn new(name: &'static str, assumes: Assumptions) -> Self {
        Entry {
            name,
            family: OWN_FAMILY,
            title: name,
            source: "",
            cost: "",
            assumes,
            topology: Topology::Mesh,
            docs: "",
            example: "",
        }
    }

    /// Whether it is an election and nothing else.
    pub fn elects(&self) -> bool {
        matches!(self.family, "election" | "member")
    }
}

/// Which processes talk to which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// Every process to every other.
    Mesh,
    /// Each to its neighbours.
    Ring,
    /// Each to its parent and its children.
    Tree,
}

impl Topology {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Topology::Mesh => "mesh",
            Topology::Ring => "ring",
            Topology::Tree => "tree",
        }
    }
}

/// What a user can set, in terms that every family shares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// T: an answer that takes longer will not come.
    pub timeout: Duration,
    /// The coordinator at the beginning, if there is one.
    pub coordinator: Option<NodeId>,
    /// Whether processes watch their coordinator. Without it, elections start only where a script
    /// says so, and the textbook's counts are exact.
    pub detection: bool,
    /// Whether a ring's messages are acknowledged, so that dead neighbours are found and skipped.
    pub acknowledge: bool,
    /// Whether an algorithm is run just as its paper has it, without what makes it survive
    /// crashes. Only mutual exclusion makes a difference.
    pub textbook: bool,
    /// How long a job keeps the critical section, from and to.
    pub section: (Duration, Duration),
    /// The shape of the tree, for algorithms on one.
    pub tree: Tree,
    /// What only this algorithm knows about.
    pub options: Options,
}

impl Settings {
    /// The usual settings: no coordinator, no detection, no acknowledgements.
    pub fn new(timeout: Duration) -> Self {
        Settings {
            timeout,
            coordinator: None,
            detection: false,
            acknowledge: false,
            textbook: false,
            section: (timeout, timeout),
            tree: Tree::default(),
            options: Options::default(),
        }
    }
}

/// What happens to a critical section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Milestone {
    /// It was asked for.
    Requested,
    /// It was entered.
    Entered,
    /// It was left.
    Left,
    /// Its token was lost and regenerated.
    Minted,
    /// What was asked for cannot be done.
    Refused(Refusal),
}

/// Something of which there is always the same amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quantity {
    /// What it is, in a word.
    pub name: &'static str,
    /// Where it is while it is not on the way: `in accounts`.
    pub place: &'static str,
    /// How much of it there is.
    pub total: u64,
}

/// A name, and the head of the file that has its rules.
pub type Docs = (&'static str, &'static str);

/// How long the documentation at the head of a file is, in bytes.
#[doc(hidden)]
#[must_use]
pub const fn head_len(source: &str) -> usize {
    let source = source.as_bytes();
    let (mut at, mut line) = (0, 0);
    while at < source.len() {
        if at < line + 3 && source[at] != b"//!"[at - line] {
            return line;
        }
        at += 1;
        if source[at - 1] == b'\n' {
            line = at;
        }
    }
    if at < line + 3 { line } else { at }
}

/// The first bytes of a file.
#[doc(hidden)]
#[must_use]
pub const fn head<const LEN: usize>(source: &str) -> [u8; LEN] {
    let mut head = [0; LEN];
    head.copy_from_slice(source.as_bytes().split_at(LEN).0);
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_a_file_is_its_documentation() {
        const NONE: &str = "// A comment.\n//! Too late.\n";
        for (source, docs) in [
            ("//! A title.\n//!\n//! Text.\n\nuse std::fmt;\n", "//! A title.\n//!\n//! Text.\n"),
            ("//! Ends\n//", "//! Ends\n"),
            ("//! Nothing else", "//! Nothing else"),
            (NONE, ""),
            ("", ""),
        ] {
            assert_eq!(&source[..head_len(source)], docs);
        }
        assert_eq!(&head::<4>(NONE), b"// A");
    }

    #[test]
    fn an_essay_is_the_head_of_its_file() {
        let essay = essay!("entry.rs");
        assert!(include_str!("entry.rs").starts_with(essay));
        assert!(essay.starts_with("//! What definitions are made of") && essay.ends_with("run.\n"));
    }
}
