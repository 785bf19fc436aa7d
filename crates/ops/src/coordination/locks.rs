//! `bellwether locks`: holders and queues; and force-releasing a lock.

use super::check::{self, CheckArgs};
use super::{below, clock, escaped, table};
use crate::watching::{self, AskArgs, Shown, runtime};
use bellwether_api::coordination::{Coordination, Holder, Mode, Waiter};
use bellwether_api::orders::{Done, ForceOrder};
use bellwether_shell::{Failure, Verdict, print};
use clap::Args;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, IsTerminal};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct LocksArgs {
    #[command(flatten)]
    ask: AskArgs,
    #[command(flatten)]
    check: CheckArgs,
    /// Force-release this lock from the session that holds it. The session is told first; the next
    /// one gets the lock when the holder has stopped, or when its deadline has passed
    #[arg(long, value_name = "NAME", requires = "session", help_heading = "Force-release")]
    release: Option<String>,
    /// The session that holds the lock, as listed
    #[arg(long, value_name = "SESSION", requires = "release", help_heading = "Force-release")]
    session: Option<String>,
    /// Who you are and why; it is logged, and the session is told
    #[arg(
        long,
        value_name = "TEXT",
        requires = "release",
        default_value = "an operator",
        help_heading = "Force-release"
    )]
    reason: String,
    /// The file of the member's operator token: operator.token in its data folder [default: that of
    /// `bellwether up`]
    #[arg(
        long,
        value_name = "FILE",
        requires = "release",
        env = "BELLWETHER_OPERATOR_TOKEN",
        help_heading = "Force-release"
    )]
    operator_token: Option<PathBuf>,
    /// Do not ask for confirmation
    #[arg(long, requires = "release", help_heading = "Force-release")]
    yes: bool,
    /// Grant the lock to the next session at once. The holder may still be at work: the resource that
    /// the lock protects must check fencing tokens
    #[arg(long, requires = "release", help_heading = "Force-release")]
    now: bool,
}

pub(crate) fn run(args: &LocksArgs) -> Result<Verdict, Failure> {
    if let Some(token) = args.check.given() {
        return check::run(&args.ask, "locks", "held", token);
    }
    match (&args.release, &args.session) {
        (Some(lock), Some(session)) => force(args, lock, session),
        _ => watching::run::<Locks>(&args.ask),
    }
}

/// Force-releases a lock, if the operator confirms it.
fn force(args: &LocksArgs, lock: &str, session: &str) -> Result<Verdict, Failure> {
    if args.ask.watches() {
        return Err(Failure::flag(
            "watch",
            "it cannot be used with --release; leave one of them out",
        ));
    }
    let whom = args.ask.whom()?;
    if !args.yes && !confirmed(lock, session, args.now)? {
        print("nothing was done\n")?;
        return Ok(Verdict::Violated);
    }
    let order = ForceOrder { session: session.to_owned(), by: args.reason.clone(), now: args.now };
    let path = format!("/v1/locks/{}/force", escaped(lock));
    let token = args.operator_token.as_deref();
    let done: Done = runtime()?.block_on(whom.command(&path, token, &order))?;
    args.ask.print(&done, || format!("{}\n", done.done))
}

fn confirmed(lock: &str, session: &str, now: bool) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        let what = "it needs a confirmation, and standard input is not a terminal; add --yes";
        return Err(Failure::flag("release", what));
    }
    let then = match now {
        false => "whose command is stopped before the next session gets the lock",
        true => {
            "and the next session gets it at once. The command of this session may still be at work: \
             the resource that the lock protects must reject its token"
        }
    };
    print(&format!(
        "'{lock}' will be force-released from {session}, {then}.\nType yes to confirm: "
    ))?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(Failure::Print)?;
    Ok(answer.trim() == "yes")
}

/// The locks, as a member shows them.
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
struct Locks(Coordination);

impl Shown for Locks {
    const PATH: &'static str = "/v1/locks";

    fn table(&self) -> String {
        let mut table = table(&["lock", "", "session", "client", "mode", "token", "since"]);
        for lock in &self.0.locks {
            let mut name = match lock.permits {
                Some(of) => format!("{} ({} of {of} taken)", lock.name, lock.taken),
                None => lock.name.clone(),
            };
            for holder in &lock.holders {
                let Holder { session, client, mode, permits, token, since } = holder;
                table.add_row([
                    std::mem::take(&mut name),
                    "held".to_owned(),
                    session.clone(),
                    client.clone(),
                    how(*mode, *permits),
                    token.to_string(),
                    clock(since).to_owned(),
                ]);
            }
            for waiter in &lock.queue {
                let Waiter { session, client, mode, permits, behind, since } = waiter;
                table.add_row([
                    std::mem::take(&mut name),
                    format!("waits, position {}", behind + 1),
                    session.clone(),
                    client.clone(),
                    how(*mode, *permits),
                    "-".to_owned(),
                    clock(since).to_owned(),
                ]);
            }
        }
        format!("{table}\n{}", below(&self.0))
    }

    fn is_coordinated(&self) -> bool {
        self.0.coordinator.is_some()
    }

    fn line(&self) -> String {
        let each = self.0.locks.iter().map(|lock| {
            let holders: Vec<_> = lock.holders.iter().map(|one| one.session.as_str()).collect();
            let queue: Vec<_> = lock.queue.iter().map(|one| one.session.as_str()).collect();
            let waits = match queue.as_slice() {
                [] => String::new(),
                queue => format!(", then {}", queue.join(", ")),
            };
            format!("{}: {}{waits}", lock.name, holders.join(" and "))
        });
        let each: Vec<_> = each.collect();
        if each.is_empty() { "no locks".to_owned() } else { each.join("; ") }
    }
}

fn how(mode: Mode, permits: u32) -> String {
    match mode {
        Mode::Exclusive => "exclusive".to_owned(),
        Mode::Shared => "shared".to_owned(),
        Mode::Permits if permits == 1 => "1 permit".to_owned(),
        Mode::Permits => format!("{permits} permits"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellwether_api::coordination::Lock;

    #[test]
    fn a_lock_shows_its_holders_and_its_queue() {
        let holder = Holder {
            session: "s3.1".to_owned(),
            client: "migration".to_owned(),
            mode: Mode::Permits,
            permits: 2,
            token: 12_884_901_889,
            since: "2026-11-16T09:30:00.125Z".to_owned(),
        };
        let waiter = Waiter {
            session: "s3.2".to_owned(),
            client: "other".to_owned(),
            mode: Mode::Permits,
            permits: 1,
            behind: 0,
            since: "2026-11-16T09:30:01.000Z".to_owned(),
        };
        let lock = Lock {
            name: "slots".to_owned(),
            permits: Some(2),
            taken: 2,
            holders: vec![holder],
            queue: vec![waiter],
        };
        let shown = Locks(Coordination { locks: vec![lock], ..Coordination::default() });
        let text = shown.table();
        for fragment in [
            "slots (2 of 2 taken)",
            "held",
            "2 permits",
            "waits, position 1",
            "1 permit",
            "migration",
        ] {
            assert!(text.contains(fragment), "no '{fragment}' in\n{text}");
        }
        assert_eq!(shown.line(), "slots: s3.1, then s3.2");
    }

    #[test]
    fn any_name_is_a_part_of_an_address() {
        assert_eq!(escaped("db/täble 1?"), "db%2Ft%C3%A4ble%201%3F");
        assert_eq!(escaped("a-b_c.d~E9"), "a-b_c.d~E9");
    }
}
