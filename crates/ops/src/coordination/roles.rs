//! `bellwether roles`: leaders, candidates, and the reason of the last change.

use super::check::{self, CheckArgs};
use super::{below, clock, table};
use crate::watching::{self, AskArgs, Shown};
use bellwether_api::coordination::{Candidate, Coordination, Policy, Role};
use bellwether_shell::{Failure, Verdict};
use clap::Args;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

#[derive(Debug, Args)]
pub(crate) struct RolesArgs {
    #[command(flatten)]
    ask: AskArgs,
    #[command(flatten)]
    check: CheckArgs,
}

pub(crate) fn run(args: &RolesArgs) -> Result<Verdict, Failure> {
    match args.check.given() {
        Some(token) => check::run(&args.ask, "roles", "led", token),
        None => watching::run::<Roles>(&args.ask),
    }
}

/// The roles, as a member shows them.
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
struct Roles(Coordination);

impl Shown for Roles {
    const PATH: &'static str = "/v1/roles";

    fn table(&self) -> String {
        let mut table = table(&["role", "policy", "leader", "token", "value", "candidates"]);
        for role in &self.0.roles {
            let (leader, token, value) = match &role.leader {
                Some(leader) => {
                    let who = format!("{} ({})", leader.session, leader.client);
                    (who, leader.token.to_string(), leader.value.clone())
                }
                None => ("-".to_owned(), "-".to_owned(), String::new()),
            };
            let others = role.candidates.iter().filter(|candidate| !candidate.leads);
            let others: Vec<_> = others.map(|one| candidate(role, one)).collect();
            let others = if others.is_empty() { "-".to_owned() } else { others.join(", ") };
            table.add_row([
                role.name.clone(),
                policy(role.policy).to_owned(),
                leader,
                token,
                value,
                others,
            ]);
        }
        let mut text = format!("{table}\n");
        for role in &self.0.roles {
            if let Some(change) = role.history.first() {
                let who = change.leader.as_deref().unwrap_or("no leader");
                let at = clock(&change.at);
                let asked = role.leader.as_ref().is_some_and(|leader| leader.preempt_requested);
                let goes = if asked { "; it is asked to yield" } else { "" };
                let _ = writeln!(text, "{}: {who} since {at}: {}{goes}", role.name, change.reason);
            }
        }
        text + &below(&self.0)
    }

    fn is_coordinated(&self) -> bool {
        self.0.coordinator.is_some()
    }

    fn line(&self) -> String {
        let each = self.0.roles.iter().map(|role| {
            let leader = match &role.leader {
                Some(leader) => format!(
                    "{} ({}) by {}{}",
                    leader.session,
                    leader.client,
                    leader.token,
                    if leader.value.is_empty() {
                        String::new()
                    } else {
                        format!(" with '{}'", leader.value)
                    }
                ),
                None => "no leader".to_owned(),
            };
            let others = role.candidates.iter().filter(|candidate| !candidate.leads).count();
            format!("{}: {leader}, {others} waiting", role.name)
        });
        let each: Vec<_> = each.collect();
        if each.is_empty() { "no roles".to_owned() } else { each.join("; ") }
    }
}

fn policy(policy: Policy) -> &'static str {
    match policy {
        Policy::FirstCome => "first-come",
        Policy::Priority => "priority",
        Policy::Preempt => "preempt",
    }
}

fn candidate(role: &Role, candidate: &Candidate) -> String {
    let priority = match role.policy {
        Policy::FirstCome => String::new(),
        Policy::Priority | Policy::Preempt => format!(", priority {}", candidate.priority),
    };
    format!("{} ({}{priority})", candidate.session, candidate.client)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellwether_api::coordination::{Leader, RoleChange};

    #[test]
    fn a_role_shows_its_leader_and_why() {
        let candidate = |session: &str, priority, leads| Candidate {
            session: session.to_owned(),
            client: format!("job {session}"),
            priority,
            value: String::new(),
            since: String::new(),
            leads,
        };
        let role = Role {
            name: "cron".to_owned(),
            policy: Policy::Preempt,
            leader: Some(Leader {
                session: "s3.1".to_owned(),
                client: "job s3.1".to_owned(),
                token: 12_884_901_889,
                value: "host-a".to_owned(),
                preempt_requested: true,
            }),
            candidates: vec![candidate("s3.1", 1, true), candidate("s3.2", 5, false)],
            history: vec![RoleChange {
                at: "2026-11-16T09:30:00.125Z".to_owned(),
                leader: Some("s3.1".to_owned()),
                token: Some(12_884_901_889),
                value: "host-a".to_owned(),
                reason: "the first candidate".to_owned(),
            }],
        };
        let shown = Roles(Coordination { roles: vec![role], ..Coordination::default() });
        let text = shown.table();
        for fragment in [
            "cron",
            "12884901889",
            "priority 5",
            "cron: s3.1 since 09:30:00.125: the first candidate; it is asked to yield",
        ] {
            assert!(text.contains(fragment), "no '{fragment}' in\n{text}");
        }
        let line = "cron: s3.1 (job s3.1) by 12884901889 with 'host-a', 1 waiting";
        assert_eq!(shown.line(), line);
        assert_eq!(Roles(Coordination::default()).line(), "no roles");
    }
}
