//! Why a command could not be carried out.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// What a command that was carried out has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything is as it should be.
    Well,
    /// Something that should hold does not.
    Violated,
    /// A limit was reached before that was known.
    Unfinished,
}

/// What was wrong with what the user gave us.
#[derive(Debug)]
pub enum Failure {
    /// The input makes no sense; the text says what, where and what to do.
    Input(String),
    /// A file cannot be read.
    Read(PathBuf, std::io::Error),
    /// The file that a flag names cannot be written. Nothing was changed.
    Write(&'static str, PathBuf, std::io::Error),
    /// Standard output does not take what we print.
    Print(std::io::Error),
    /// The reader of our output has closed it.
    Closed,
    /// The command has an exit code of its own for this.
    Exit(u8, String),
    /// The command has an exit code and nothing to say: that of a job that it ran.
    Silent(u8),
}

impl Failure {
    /// A flag's value that makes no sense.
    pub fn flag(flag: &str, message: impl fmt::Display) -> Self {
        Failure::Input(format!("--{flag}: {message}"))
    }

    /// The exit code that it ends with.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Exit(code, _) | Failure::Silent(code) => *code,
            _ => 2,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Input(message) => f.write_str(message),
            Failure::Read(path, error) => {
                write!(f, "cannot read {}: {}", path.display(), reason(error))
            }
            Failure::Write(flag, path, error) => write!(
                f,
                "--{flag}: cannot write {}: {}; choose another file (nothing was written)",
                path.display(),
                reason(error)
            ),
            Failure::Print(error) => {
                write!(f, "cannot write to standard output: {}", reason(error))
            }
            Failure::Closed => f.write_str("standard output is closed"),
            Failure::Exit(_, message) => f.write_str(message),
            Failure::Silent(code) => write!(f, "ends with {code}"),
        }
    }
}

/// The value of a flag that is a whole number within these bounds.
pub fn whole_number(flag: &str, text: &str, allowed: RangeInclusive<u64>) -> Result<u64, Failure> {
    text.parse().ok().filter(|number| allowed.contains(number)).ok_or_else(|| {
        let (from, to) = (allowed.start(), allowed.end());
        Failure::flag(flag, format!("'{text}' is not a whole number from {from} to {to}"))
    })
}

/// The error in words of our own where we have some: the library's name our temporary file, which
/// is not what the user asked for.
fn reason(error: &std::io::Error) -> String {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::NotFound => "no such file or directory".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::IsADirectory => "it is a directory".to_owned(),
        ErrorKind::NotADirectory => "a part of the path is not a directory".to_owned(),
        _ => error.to_string(),
    }
}
