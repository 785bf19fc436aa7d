//! Finding the program of a job, before anything is asked for on its behalf.

use bellwether_shell::Failure;
use rustix::fs::{Access, access};
use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::path::Path;

/// There is no such program.
const NOT_FOUND: u8 = 127;
/// There is, but it cannot be run.
const NOT_RUNNABLE: u8 = 126;

/// Whether a program can be found and run, as a shell would.
pub(super) fn check(program: &OsStr) -> Result<(), Failure> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    check_in(program, &path)
}

fn check_in(program: &OsStr, path: &OsStr) -> Result<(), Failure> {
    let name = program.display();
    if program.as_encoded_bytes().contains(&b'/') {
        return match runnable(Path::new(program)) {
            Ok(()) => Ok(()),
            Err(error) => {
                let (code, why) = explain(&error);
                Err(Failure::Exit(code, format!("cannot run {name}: {why}; no request was made")))
            }
        };
    }
    let mut found = None;
    for folder in std::env::split_paths(path).filter(|_| !program.is_empty()) {
        match runnable(&folder.join(program)) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() != ErrorKind::NotFound => found = Some(error),
            _ => {}
        }
    }
    match found {
        Some(error) if explain(&error).0 == NOT_RUNNABLE => {
            let what = format!("cannot run {name}: {}; no request was made", explain(&error).1);
            Err(Failure::Exit(NOT_RUNNABLE, what))
        }
        _ => {
            let what = format!(
                "there is no program '{name}' in PATH; no request was made. Give its path, or a \
                 shell: sh -c '...'"
            );
            Err(Failure::Exit(NOT_FOUND, what))
        }
    }
}

fn runnable(path: &Path) -> io::Result<()> {
    let found = std::fs::metadata(path)?;
    if !found.is_file() {
        return Err(ErrorKind::IsADirectory.into());
    }
    Ok(access(path, Access::EXEC_OK)?)
}

/// The exit code for a program that cannot be run, as shells have it, and the reason.
pub(super) fn explain(error: &io::Error) -> (u8, String) {
    match error.kind() {
        ErrorKind::NotFound => (NOT_FOUND, "no such file, or no interpreter for it".to_owned()),
        ErrorKind::NotADirectory => (NOT_FOUND, "a part of the path is not a directory".to_owned()),
        ErrorKind::PermissionDenied => (NOT_RUNNABLE, "it is not executable".to_owned()),
        ErrorKind::IsADirectory => (NOT_RUNNABLE, "it is not a file".to_owned()),
        _ => (NOT_RUNNABLE, error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_cannot_be_run_is_told_as_shells_do() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path();
        for (name, mode) in [("tool", 0o755), ("text", 0o644)] {
            fs::write(path.join(name), "").unwrap();
            fs::set_permissions(path.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::create_dir(path.join("folder")).unwrap();
        let code = |program: &OsStr| match check_in(program, path.as_os_str()) {
            Ok(()) => 0,
            Err(failure) => failure.exit_code(),
        };
        for (name, expected) in [("tool", 0), ("folder", 126), ("none", 127), ("tool/x", 127)] {
            assert_eq!(code(path.join(name).as_os_str()), expected, "{name}");
        }
        for (name, expected) in [("tool", 0), ("none", 127), ("", 127)] {
            assert_eq!(code(OsStr::new(name)), expected, "{name}");
        }
        // To the superuser every mode is enough but none at all.
        assert_eq!(code(path.join("text").as_os_str()), 126);
        assert_eq!(code(OsStr::new("text")), 126);
    }
}
