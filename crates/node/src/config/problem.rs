//! What is wrong with a configuration: where, what, and what would be right.

use std::fmt;
use std::path::PathBuf;

/// Where a value was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// This line of the file.
    Line(usize),
    /// Nowhere: it is missing.
    Missing,
    /// On the command line or in the environment, by this flag and this variable.
    Flag(&'static str, &'static str),
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub place: Place,
    /// The key, with its section: `tls.ca`.
    pub key: String,
    /// What is wrong, and what is allowed.
    pub what: String,
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration {}: {error}", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// It can, and this is wrong with it.
    #[error("{}", Listed { path, problems })]
    Wrong {
        /// Which file.
        path: PathBuf,
        /// Everything that was found; never empty.
        problems: Vec<Problem>,
    },
}

struct Listed<'a> {
    path: &'a PathBuf,
    problems: &'a [Problem],
}

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Problem { place, key, what }) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n       ")?;
            }
            let path = self.path.display();
            match place {
                Place::Line(line) => write!(f, "{path}:{line}: ")?,
                Place::Missing => write!(f, "{path}: ")?,
                Place::Flag(flag, variable) => write!(f, "{flag} (or {variable}): ")?,
            }
            if key.is_empty() {
                f.write_str(what)?;
            } else {
                write!(f, "{key}: {what}")?;
            }
        }
        Ok(())
    }
}
