//! Writing results: to a file all at once, or to the terminal.

use crate::failure::Failure;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Where a result goes. A file is opened before the work begins, under another name, and takes
/// its place only when it is complete: a result is never half written, and a directory that
/// cannot be written to is noticed before the work and not after it.
#[derive(Debug)]
pub(crate) enum Target {
    Terminal,
    File(PathBuf, NamedTempFile),
}

impl Target {
    pub(crate) fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else { return Ok(Target::Terminal) };
        let failed = |error| Failure::Write(path.to_owned(), error);
        if path.is_dir() {
            return Err(failed(std::io::Error::from(ErrorKind::IsADirectory)));
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let file = tempfile::Builder::new().prefix(".bellwether-").tempfile_in(folder);
        Ok(Target::File(path.to_owned(), file.map_err(failed)?))
    }

    pub(crate) fn write(self, text: &str) -> Result<(), Failure> {
        match self {
            Target::Terminal => print(text),
            Target::File(path, mut file) => {
                let failed = |error| Failure::Write(path.clone(), error);
                file.write_all(text.as_bytes()).map_err(failed)?;
                share(&file).map_err(failed)?;
                file.persist(&path).map_err(|error| failed(error.error))?;
                Ok(())
            }
        }
    }
}

/// Gives a temporary file, which only its owner may read, the permissions of an ordinary one.
#[cfg(unix)]
fn share(file: &NamedTempFile) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn share(_: &NamedTempFile) -> std::io::Result<()> {
    Ok(())
}

/// Writes to standard output.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|_| Failure::Closed)
}

/// Writes a line to standard error. If even that fails there is nobody left to tell.
pub(crate) fn complain(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
