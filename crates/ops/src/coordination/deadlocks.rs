//! `bellwether deadlocks`: the cycles that were found, and the sessions that wait now.

use super::{below, clock, count, picture, table};
use crate::watching::{self, AskArgs, Shown, runtime};
use bellwether_api::coordination::Coordination;
use bellwether_shell::{Failure, Target, Verdict};
use clap::Args;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct DeadlocksArgs {
    #[command(flatten)]
    ask: AskArgs,
    /// Draw the current wait-for graph and the cycles that were found into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

pub(crate) fn run(args: &DeadlocksArgs) -> Result<Verdict, Failure> {
    let Some(path) = args.svg.as_deref() else {
        return watching::run::<Deadlocks>(&args.ask);
    };
    if args.ask.watches() {
        return Err(Failure::flag(
            "watch",
            "a picture is drawn once; use --watch or --svg, not both",
        ));
    }
    let target = Target::file("svg", path)?;
    let whom = args.ask.whom()?;
    let all: Deadlocks = runtime()?.block_on(whom.get(Deadlocks::PATH))?;
    target.write(&picture::draw(&all.0))?;
    args.ask.print(&all, || all.table())
}

/// The deadlocks, as a member shows them.
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
struct Deadlocks(Coordination);

impl Shown for Deadlocks {
    const PATH: &'static str = "/v1/deadlocks";

    fn table(&self) -> String {
        let mut text = String::new();
        for deadlock in &self.0.deadlocks {
            let end = match &deadlock.aborted {
                Some(session) => format!("the request of {session} was aborted"),
                None => "reported only: it lasts until one of the sessions gives up".to_owned(),
            };
            let size = count(deadlock.cycle.len(), "session", "sessions");
            let _ = writeln!(text, "{}  {size} in a cycle; {end}", deadlock.at);
            let next = deadlock.cycle.iter().cycle().skip(1);
            for (wait, next) in deadlock.cycle.iter().zip(next) {
                let _ = writeln!(
                    text,
                    "    {} ({}) waits for '{}' behind {} since {}",
                    wait.session,
                    wait.client,
                    wait.lock,
                    next.session,
                    clock(&wait.since)
                );
            }
        }
        if self.0.deadlocks.is_empty() {
            text += "no deadlock was found lately\n";
        }
        if self.0.waits.is_empty() {
            text += "no session waits\n";
        } else {
            let mut table = table(&["session", "waits for", "because of"]);
            for edge in &self.0.waits {
                table.add_row([&edge.from, &edge.to, &edge.lock]);
            }
            let _ = writeln!(text, "{table}");
        }
        text + &below(&self.0)
    }

    fn is_coordinated(&self) -> bool {
        self.0.coordinator.is_some()
    }

    fn line(&self) -> String {
        let found = count(self.0.deadlocks.len(), "deadlock", "deadlocks");
        let latest = match self.0.deadlocks.first() {
            Some(deadlock) => format!(", the latest at {}: {}", deadlock.at, deadlock.text),
            None => String::new(),
        };
        let waits = self.0.waits.iter();
        let waits: Vec<_> =
            waits.map(|edge| format!("{} -> {} ({})", edge.from, edge.to, edge.lock)).collect();
        let waits = if waits.is_empty() { "none".to_owned() } else { waits.join(", ") };
        format!("{found}{latest}; waiting: {waits}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coordination::picture::tests::two_in_a_cycle;

    #[test]
    fn a_cycle_is_told_by_name() {
        let shown = Deadlocks(two_in_a_cycle());
        let text = shown.table();
        for fragment in [
            "2 sessions in a cycle; the request of s3.2 was aborted",
            "s3.2 (second) waits for 'a' behind s3.1 since 09:30:02.000",
            "s3.1 (first) waits for 'b' behind s3.2 since 09:30:01.000",
            "because of",
        ] {
            assert!(text.contains(fragment), "no '{fragment}' in\n{text}");
        }
        assert!(shown.line().starts_with("1 deadlock, the latest at "), "{}", shown.line());
        assert!(shown.line().ends_with("waiting: s3.1 -> s3.2 (b)"), "{}", shown.line());
        let none = Deadlocks(Coordination::default());
        assert_eq!(none.line(), "0 deadlocks; waiting: none");
        assert!(none.table().contains("no deadlock was found lately\nno session waits"));
    }
}
