//! `--check NAME --token T`: whether a lock or role is held by this token.

use super::escaped;
use crate::watching::{AskArgs, runtime};
use bellwether_api::orders::Bearer;
use bellwether_shell::{Failure, Verdict};
use clap::Args;

#[derive(Debug, Args)]
#[command(next_help_heading = "Tokens")]
pub(super) struct CheckArgs {
    /// Check whether this lock or role is held by the token; exit code 82: it is not, and never will be again
    #[arg(long, value_name = "NAME", requires = "token")]
    check: Option<String>,
    /// The token to check, a number as in BELLWETHER_TOKEN
    #[arg(long, value_name = "TOKEN", requires = "check", allow_negative_numbers = true)]
    token: Option<String>,
}

impl CheckArgs {
    /// What is to be checked, if anything is.
    pub(super) fn given(&self) -> Option<(&str, &str)> {
        self.check.as_deref().zip(self.token.as_deref())
    }
}

/// Asks. `kind` is `locks` or `roles`, and `held` how that is said.
pub(super) fn run(
    ask: &AskArgs,
    kind: &str,
    held: &str,
    (name, token): (&str, &str),
) -> Result<Verdict, Failure> {
    if ask.watches() {
        return Err(Failure::flag(
            "watch",
            "a token is checked once; use --watch or --check, not both",
        ));
    }
    let Ok(token) = token.parse::<u64>() else {
        let what = format!("'{token}' is not a token; give a whole number such as 8589934602");
        return Err(Failure::flag("token", what));
    };
    let path = format!("/v1/{kind}/{}/tokens/{token}", escaped(name));
    let bearer: Bearer = runtime()?.block_on(ask.whom()?.get(&path))?;
    let text = format!("'{name}' is {held} by {} with token {token}\n", bearer.session);
    ask.print(&bearer, || text)
}
