//! The operator token: what lets a program or a page command a member over HTTP.
//!
//! Every user of a host reaches its loopback interface, so an address proves nothing. A file does: the
//! member makes the token at its first start, and only its own user may read the file. Members that are
//! configured with the same file have the same token.

use bellwether_coordination::{NoSecret, Secret};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A member's operator token.
#[derive(Clone, Copy, Debug)]
pub struct OperatorToken(Secret);

/// Why there is no operator token.
#[derive(Debug, thiserror::Error)]
pub enum NoToken {
    /// The file cannot be read, or not be made.
    #[error("cannot {what} the operator token {}: {error}; {}", path.display(), advice(error))]
    Io {
        /// What was tried: `read` or `make`.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// There is something else in the file.
    #[error(
        "{} holds no operator token: {error}; name the file that the member made ('operator_token'). If \
         that file is damaged, move it away: the member makes a new one at its next start",
        path.display()
    )]
    Strange {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: NoSecret,
    },
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "only the member's own user may: run this as that user",
        io::ErrorKind::NotFound => "name the file that the member made ('operator_token')",
        _ => "choose another file ('operator_token')",
    }
}

impl OperatorToken {
    /// The token in a file.
    pub fn read(path: &Path) -> Result<OperatorToken, NoToken> {
        let failed = |error| NoToken::Io { what: "read", path: path.to_owned(), error };
        let text = fs::read_to_string(path).map_err(failed)?;
        let secret = text.trim_end().parse();
        secret.map(OperatorToken).map_err(|error| NoToken::Strange { path: path.to_owned(), error })
    }

    /// The token in a file, which is made if it is not there.
    pub fn read_or_make(path: &Path) -> Result<OperatorToken, NoToken> {
        if !path.exists() {
            let failed = |error| NoToken::Io { what: "make", path: path.to_owned(), error };
            make(path).map_err(failed)?;
        }
        OperatorToken::read(path)
    }

    /// Whether this is the token.
    pub fn matches(self, shown: Secret) -> bool {
        self.0.matches(shown)
    }

    /// The token in letters, to be shown to a member. Nothing else may see it.
    pub fn hex(self) -> String {
        self.0.hex()
    }
}

/// Makes a file with a new token, unless another process is faster.
fn make(path: &Path) -> io::Result<()> {
    let draft = path.with_extension(format!("{:032x}", bellwether_net::draw()));
    let written =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft).and_then(
            |mut file| {
                writeln!(file, "{}", Secret(bellwether_net::draw()).hex())?;
                file.sync_all()
            },
        );
    // Unlike a rename, this does not replace the token of another.
    let made = written.and_then(|()| match fs::hard_link(&draft, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    });
    let _ = fs::remove_file(&draft);
    made
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    fn folder() -> tempfile::TempDir {
        tempfile::TempDir::new().unwrap()
    }

    #[test]
    fn a_token_is_made_once_and_for_its_owner_alone() {
        let folder = folder();
        let path = folder.path().join("operator.token");
        assert!(OperatorToken::read(&path).unwrap_err().to_string().contains("cannot read"));
        let first = OperatorToken::read_or_make(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        let again = OperatorToken::read_or_make(&path).unwrap();
        assert!(again.matches(first.hex().parse().unwrap()));
        assert!(!again.matches(Secret(0)));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no draft is left");
        assert!(!format!("{first:?}").contains(&first.hex()), "it is not for logs");
    }

    #[test]
    fn members_that_start_together_have_one_token() {
        let folder = folder();
        let path = folder.path().join("operator.token");
        let start = || OperatorToken::read_or_make(&path).unwrap().hex();
        let tokens: Vec<String> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..8).map(|_| scope.spawn(start)).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert!(tokens.iter().all(|token| *token == tokens[0]), "{tokens:?}");
    }

    #[test]
    fn a_file_with_something_else_is_not_replaced() {
        let folder = folder();
        let path = folder.path().join("operator.token");
        fs::write(&path, "letmein\n").unwrap();
        let complaint = OperatorToken::read_or_make(&path).unwrap_err().to_string();
        assert!(complaint.contains("thirty-two hexadecimal digits"), "{complaint}");
        assert!(!complaint.contains("letmein"), "{complaint}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "letmein\n");
    }
}
