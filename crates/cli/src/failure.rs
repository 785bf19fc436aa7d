//! Why a command could not be carried out.

use std::fmt;
use std::path::PathBuf;

/// What a command that was carried out has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Everything is as it should be.
    Well,
    /// Something that should hold does not.
    Violated,
}

/// What was wrong with what the user gave us.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The input makes no sense; the text says what, where and what to do.
    Input(String),
    /// A file cannot be read.
    Read(PathBuf, std::io::Error),
    /// A file cannot be written. Nothing was changed.
    Write(PathBuf, std::io::Error),
    /// Standard output was closed.
    Closed,
}

impl Failure {
    /// A flag's value that makes no sense.
    pub(crate) fn flag(flag: &str, message: impl fmt::Display) -> Self {
        Failure::Input(format!("--{flag}: {message}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Input(message) => f.write_str(message),
            Failure::Read(path, error) => write!(f, "cannot read {}: {error}", path.display()),
            Failure::Write(path, error) => write!(
                f,
                "cannot write {}: {error}; choose another --out (nothing was written)",
                path.display()
            ),
            Failure::Closed => f.write_str("standard output is closed"),
        }
    }
}
