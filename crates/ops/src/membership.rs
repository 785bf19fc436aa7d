//! `bellwether members add`, `promote`, `remove` and `replace`: changes of the member list.
//!
//! Only the coordinator changes the list, so the command finds it, and finds the next one if it hands over. To ask for
//! the same change twice is safe.

use crate::asking::{Unanswered, post};
use crate::watching::{self, AskArgs, runtime};
use crate::whom::Whom;
use bellwether_algorithms::options::duration;
use bellwether_api::json::{AddMember, ChangedMembers, Member, Members, RemoveMember, Suffrage};
use bellwether_node::config::member_address;
use bellwether_shell::{Failure, Verdict, complain, harmless, print};
use clap::{Args, Subcommand};
use hyper::StatusCode;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// What the command ends with if the list changed and what follows from it has not happened in time.
const UNFINISHED: u8 = 91;

/// The pause between two attempts, and between two looks.
const PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug, Args)]
pub(crate) struct MembersArgs {
    #[command(flatten)]
    ask: AskArgs,
    #[command(subcommand)]
    change: Option<Change>,
}

#[derive(Debug, Subcommand)]
enum Change {
    /// Add a member: it receives the log as a learner, and votes when it has caught up
    Add {
        /// Its number
        id: u32,
        /// Where the others reach it: HOST:PORT
        address: String,
        /// It stays a learner: it serves reads and watches, and never votes
        #[arg(long)]
        learner: bool,
        #[command(flatten)]
        how: How,
    },
    /// Make a learner a voter
    Promote {
        /// Its number
        id: u32,
        #[command(flatten)]
        how: How,
    },
    /// Remove a member; a coordinator hands over first
    Remove {
        /// Its number
        id: u32,
        /// Remove it even if too few of the voters that are left work: then the cluster may stop
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        how: How,
    },
    /// Add a member, and remove another one when the new one votes
    Replace {
        /// The number of the member that leaves
        old: u32,
        /// The number of the member that comes
        new: u32,
        /// Where the others reach the new one: HOST:PORT
        address: String,
        #[command(flatten)]
        how: How,
    },
}

#[derive(Debug, Args)]
struct How {
    /// The HTTP address of any member [default: those of `bellwether up`, or of an installed member: 127.0.0.1:7480]
    #[arg(long = "address", value_name = "HOST:PORT", env = "BELLWETHER_HTTP")]
    address_of_member: Option<String>,
    /// The file of the coordinator's operator token: operator.token in its data folder [default: that of
    /// `bellwether up`]
    #[arg(long, value_name = "FILE", env = "BELLWETHER_OPERATOR_TOKEN")]
    operator_token: Option<PathBuf>,
    /// How long to try, and to wait until the change is complete
    #[arg(long, value_name = "DURATION", default_value = "1m")]
    wait: String,
    /// Print JSON instead of a sentence
    #[arg(long)]
    json: bool,
}

/// What has to be so at the end.
enum Goal {
    /// The list has changed: nothing more.
    Listed,
    /// The list is without this member.
    Gone(u32),
    /// This member votes, and this one has left.
    Votes(u32, Option<u32>),
}

impl Goal {
    /// Whether it is so, as a member says.
    fn is_reached(&self, seen: &Members) -> bool {
        let find = |id| seen.members.iter().find(|member: &&Member| member.id == id);
        match *self {
            Goal::Listed => false,
            Goal::Gone(id) => find(id).is_none(),
            Goal::Votes(new, old) => {
                let is_changing = seen.waits_for.iter().any(|what| what.starts_with("a majority"));
                let votes = find(new).is_some_and(|member| member.suffrage == Suffrage::Voter);
                votes && old.is_none_or(|old| find(old).is_none()) && !is_changing
            }
        }
    }
}

pub(crate) fn run(args: &MembersArgs) -> Result<Verdict, Failure> {
    let Some(change) = &args.change else { return watching::run::<Members>(&args.ask) };
    match change {
        Change::Add { id, address, learner, how } => {
            let goal = if *learner { Goal::Listed } else { Goal::Votes(*id, None) };
            let body = addition(*id, address, *learner, None)?;
            carry_out(args, how, "/v1/members", &body, goal)
        }
        Change::Promote { id, how } => {
            let path = format!("/v1/members/{id}/promote");
            carry_out(args, how, &path, &(), Goal::Votes(*id, None))
        }
        Change::Remove { id, force, how } => {
            let path = format!("/v1/members/{id}/remove");
            carry_out(args, how, &path, &RemoveMember { force: *force }, Goal::Gone(*id))
        }
        Change::Replace { old, new, address, how } => {
            let body = addition(*new, address, false, Some(*old))?;
            carry_out(args, how, "/v1/members", &body, Goal::Votes(*new, Some(*old)))
        }
    }
}

fn addition(
    id: u32,
    address: &str,
    learner: bool,
    replaces: Option<u32>,
) -> Result<AddMember, Failure> {
    let address = member_address(address).map_err(|what| Failure::Exit(2, what))?;
    if replaces == Some(id) {
        let what = format!(
            "P{id} cannot replace itself; to give it another address, use `bellwether members add {id} {address}`"
        );
        return Err(Failure::Exit(2, what));
    }
    Ok(AddMember { id, address, learner, replaces, force: false })
}

fn carry_out(
    args: &MembersArgs,
    how: &How,
    path: &str,
    body: &impl Serialize,
    goal: Goal,
) -> Result<Verdict, Failure> {
    let wait = duration(&how.wait).map_err(|what| Failure::flag("wait", what))?;
    let mut whom = Whom::find(how.address_of_member.as_deref().or(args.ask.named()))?;
    let token = whom.operator_token(how.operator_token.as_deref())?;
    let done: ChangedMembers = runtime()?.block_on(async {
        let until = Instant::now() + wait;
        let done = command(&mut whom, path, token.as_deref(), (body, &goal), until).await?;
        reach(&mut whom, &goal, done.version, until).await?;
        Ok::<_, Failure>(done)
    })?;
    let text = match how.json {
        true => format!("{}\n", serde_json::to_string_pretty(&done).unwrap_or_default()),
        false => format!("{} (version {} of the list)\n", harmless(&done.done), done.version),
    };
    print(&text)?;
    Ok(Verdict::Well)
}

/// Whether the same may be asked again: of the next coordinator, or when the change before is complete.
fn passes(unanswered: &Unanswered) -> bool {
    let code = match unanswered {
        Unanswered::NoAnswer(..) => return true,
        // It hangs, or does not know yet whether the list is committed.
        Unanswered::Refused(_, StatusCode::SERVICE_UNAVAILABLE, _) => return true,
        Unanswered::Refused(_, _, problem) => problem.code.as_deref().unwrap_or_default(),
        Unanswered::Strange(..) | Unanswered::Engine(..) => return false,
    };
    matches!(code, "hands-over" | "not-coordinator" | "change-under-way")
}

/// Asks the member that is the coordinator.
async fn command(
    whom: &mut Whom,
    path: &str,
    token: Option<&str>,
    (body, goal): (&impl Serialize, &Goal),
    until: Instant,
) -> Result<ChangedMembers, Failure> {
    let mut maybe_done = false;
    loop {
        if let Ok(seen) = whom.get::<Members>("/v1/members").await {
            whom.learn(&seen);
        }
        let failure = match whom.coordinator().await {
            Err(failure @ Failure::Exit(70, _)) => failure,
            Err(failure) => return Err(failure),
            Ok((link, _)) => match post(link.address(), path, token, body).await {
                Ok(done) => return Ok(done),
                Err(unanswered) if passes(&unanswered) => {
                    maybe_done |=
                        !matches!(unanswered, Unanswered::Refused(_, StatusCode::CONFLICT, _));
                    unanswered.into()
                }
                // The attempt before, which was not answered, may have been carried out.
                Err(unanswered) if maybe_done => {
                    let seen: Members = whom.get("/v1/members").await?;
                    if !goal.is_reached(&seen) {
                        return Err(unanswered.into());
                    }
                    let done = "it was done by an attempt before".to_owned();
                    return Ok(ChangedMembers { done, version: seen.version });
                }
                Err(unanswered) => return Err(unanswered.into()),
            },
        };
        if Instant::now() + PAUSE >= until {
            return Err(match failure {
                Failure::Exit(70, why) if maybe_done => {
                    let what = format!(
                        "the change may have been made, and is not known to be committed: {why}"
                    );
                    Failure::Exit(UNFINISHED, what)
                }
                failure => failure,
            });
        }
        sleep(PAUSE).await;
    }
}

/// Waits for what follows by itself from this list, and says what it waits for.
async fn reach(whom: &mut Whom, goal: &Goal, version: u64, until: Instant) -> Result<(), Failure> {
    let Goal::Votes(new, _) = *goal else { return Ok(()) };
    let mut told = Vec::new();
    loop {
        let seen = whom.get::<Members>("/v1/members").await;
        if let Ok(seen) = &seen {
            whom.learn(seen);
            // A member that joins, or lags, does not know the list yet.
            if seen.version >= version && goal.is_reached(seen) {
                return Ok(());
            }
            if told != seen.waits_for {
                told.clone_from(&seen.waits_for);
                for what in &told {
                    complain(&format!("waits for {what}"));
                }
            }
        }
        if Instant::now() + PAUSE >= until {
            let what = format!(
                "the member list has changed, and P{new} does not vote yet; the change goes on by itself: see \
                 `bellwether members` for what it waits for, or wait longer with --wait"
            );
            return Err(Failure::Exit(UNFINISHED, what));
        }
        sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asking::Address;
    use bellwether_api::json::Problem;

    fn refused(status: StatusCode, code: Option<&str>) -> Unanswered {
        let problem = Problem {
            error: "no".to_owned(),
            hint: None,
            code: code.map(str::to_owned),
            deadlock: None,
        };
        Unanswered::Refused(Address::parse("127.0.0.1:7480").unwrap(), status, problem)
    }

    #[test]
    fn only_what_passes_is_tried_again() {
        let conflict = StatusCode::CONFLICT;
        for code in ["hands-over", "not-coordinator", "change-under-way"] {
            assert!(passes(&refused(conflict, Some(code))), "{code}");
        }
        for code in
            ["last-voter", "too-few-work", "address-taken", "votes-already", "members-fixed"]
        {
            assert!(!passes(&refused(conflict, Some(code))), "{code}");
        }
        assert!(passes(&refused(StatusCode::SERVICE_UNAVAILABLE, None)));
        assert!(!passes(&refused(StatusCode::UNAUTHORIZED, Some("no-operator-token"))));
    }
}
