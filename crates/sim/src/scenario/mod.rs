//! Scenarios: worked examples as readable scripts.
//!
//! A scenario is a text of paragraphs. A paragraph holds comments (`#`) and commands, and may end
//! with `---` and the story that the commands tell: messages sent, outcomes, faults. Running a
//! scenario plays it and compares the story; `docs/scenarios.md` has the whole language.
//!
//! ```text
//! # P4 coordinates; P1 and P4 fail; P2 notices. P3 must win.
//! cluster bully 1..4 coordinator=4 latency=10ms timeout=100ms
//! crash 1 4
//! suspect 2
//! ---
//! 0ms    P1 crashes
//! ...
//!
//! run
//! ---
//! ...
//!
//! expect coordinator 2 3 = 3
//! ```
//!
//! The tool can rewrite the story; `expect` lines are written by hand and never
//! touched, so that an update cannot bless a bug.

mod branch;
mod command;
mod expect;
mod grammar;
mod line;
mod next;
mod parse;
mod play;
mod refusals;
mod signs;
mod write;

pub use branch::{Branched, Unbranched, branch};
pub use command::{Command, Deed, Expectation, Mend, Setup, Span, Who};
pub use line::SyntaxError;
pub use next::{Armed, Flying, Next};
pub use parse::{COMMANDS, Paragraph, Scenario};
pub use play::{CutOff, Mismatch, Played, Ran, Staging};
pub use write::write;
