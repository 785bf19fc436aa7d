//! Writing results: to a file all at once, or to the terminal.

use crate::Failure;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Where a result goes. It is opened before the work begins, so that a directory that cannot be
/// written to is noticed before the work and not after it.
#[derive(Debug)]
pub enum Target {
    /// Standard output.
    Terminal,
    /// A file.
    File {
        /// The flag that named it, for what there may be to complain about.
        flag: &'static str,
        /// Where it is.
        path: PathBuf,
        /// What is written on.
        sheet: Sheet,
    },
}

/// What is written on.
#[derive(Debug)]
pub enum Sheet {
    /// A file under another name, which takes its place only when it is complete: a result is
    /// never half written.
    Draft(NamedTempFile),
    /// A device or a pipe, which must not be replaced by a file.
    Device(File),
}

impl Target {
    /// The file that this flag names.
    pub fn file(flag: &'static str, path: &Path) -> Result<Self, Failure> {
        // A link stays one: what it points to is replaced.
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        match Sheet::open(&real) {
            Ok(sheet) => Ok(Target::File { flag, path: real, sheet }),
            Err(error) => Err(Failure::Write(flag, path.to_owned(), error)),
        }
    }

    /// The file that this flag names, or else standard output.
    pub fn file_or_terminal(flag: &'static str, path: Option<&Path>) -> Result<Self, Failure> {
        path.map_or(Ok(Target::Terminal), |path| Target::file(flag, path))
    }

    /// Writes the whole result.
    pub fn write(self, text: &str) -> Result<(), Failure> {
        match self {
            Target::Terminal => print(text),
            Target::File { flag, path, sheet } => {
                sheet.write(&path, text).map_err(|error| Failure::Write(flag, path.clone(), error))
            }
        }
    }
}

impl Sheet {
    fn open(path: &Path) -> io::Result<Self> {
        let present = fs::metadata(path).ok();
        if present.as_ref().is_some_and(fs::Metadata::is_dir) {
            return Err(ErrorKind::IsADirectory.into());
        }
        if present.as_ref().is_some_and(|found| !found.is_file()) {
            return OpenOptions::new().write(true).open(path).map(Sheet::Device);
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".bellwether-");
        // Not a secret, as the library thinks, but a file like any other.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let draft = builder.tempfile_in(folder)?;
        if let Some(present) = present {
            draft.as_file().set_permissions(present.permissions())?;
        }
        Ok(Sheet::Draft(draft))
    }

    fn write(self, path: &Path, text: &str) -> io::Result<()> {
        match self {
            Sheet::Device(mut device) => device.write_all(text.as_bytes()),
            Sheet::Draft(mut draft) => {
                draft.write_all(text.as_bytes())?;
                draft.persist(path).map_err(|error| error.error)?;
                Ok(())
            }
        }
    }
}

/// Writes to standard output.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::Closed,
        _ => Failure::Print(error),
    })
}

/// Writes a line to standard error. If even that fails there is nothing left to do.
pub fn complain(line: &str) {
    let _ = writeln!(io::stderr(), "{}", harmless(line));
}

/// The text without what a terminal would obey: control characters are shown by their names, but for
/// the ends of lines.
pub fn harmless(text: &str) -> std::borrow::Cow<'_, str> {
    let harmful = |c: char| c.is_control() && c != '\n';
    if !text.contains(harmful) {
        return text.into();
    }
    let each = text.chars().map(|c| match harmful(c) {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    });
    each.collect::<String>().into()
}

#[cfg(test)]
mod harmless_tests {
    use super::harmless;

    #[test]
    fn a_terminal_obeys_nothing_that_others_wrote() {
        assert_eq!(harmless("a\u{1b}[2Jb\r\n"), "a\\u{1b}[2Jb\\r\n");
        assert_eq!(harmless("täglich"), "täglich");
    }
}
