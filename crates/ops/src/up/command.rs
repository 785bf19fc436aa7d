//! What can be done to a cluster while it runs: by a line, by a key or by a page.

use super::cluster::{Cluster, Condition};
use super::world::World;
use crate::asking::Unanswered;
use bellwether_api::json::{Decided, Partition, Transfer, UpCommand};
use bellwether_node::parent::{Complaint, Fault};
use hyper::StatusCode;
use serde::Serialize;
use std::collections::BTreeSet;

/// Something to do to a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Kill the process of a member.
    Kill(u32),
    /// Stop the process of a member.
    Pause(u32),
    /// Let a paused member go on.
    Resume(u32),
    /// Start a dead member again.
    Revive(u32),
    /// Members of different sides do not reach each other. All members are on a side.
    Split(Vec<BTreeSet<u32>>),
    /// All members reach each other again.
    Heal,
    /// The coordinator hands its mandate over to the strongest of the others.
    StepDown,
    /// The coordinator hands its mandate over to this member.
    Transfer(u32),
    /// Show the coordinator, and what each member does.
    Status,
    /// End all members.
    Quit,
}

/// What there is, and what it does.
const COMMANDS: [(&str, &str); 10] = [
    ("kill ID", "kills the process of a member (SIGKILL)"),
    ("pause ID", "stops the process of a member (SIGSTOP)"),
    ("resume ID", "resumes a paused member (SIGCONT)"),
    ("revive ID", "restarts a dead member with its durable state"),
    ("partition 1,2|3,4,5", "members of different sides do not reach each other"),
    ("heal", "all members reach each other again"),
    ("step-down", "the coordinator hands over to the strongest other member"),
    ("transfer ID", "the coordinator hands over to this member"),
    ("status", "shows the coordinator, and what each member does"),
    ("quit", "ends all members"),
];

/// What there is, for help and for complaints.
pub(crate) fn usages() -> String {
    COMMANDS.map(|(usage, _)| usage).join(", ")
}

/// What a page may command: all but the end, which is for the terminal.
pub(crate) fn for_pages() -> Vec<UpCommand> {
    let allowed = COMMANDS.iter().filter(|(usage, _)| *usage != "quit");
    allowed
        .map(|(usage, about)| UpCommand { usage: (*usage).into(), about: (*about).into() })
        .collect()
}

fn unreadable(error: impl Into<String>, hint: impl Into<String>) -> Complaint {
    Complaint { fault: Fault::Unreadable, error: error.into(), hint: Some(hint.into()) }
}

fn senseless(error: impl Into<String>, hint: impl Into<String>) -> Complaint {
    Complaint { fault: Fault::Senseless, error: error.into(), hint: Some(hint.into()) }
}

impl Command {
    /// Reads a line, in a cluster of members 1 to `nodes`.
    pub(crate) fn parse(line: &str, nodes: u32) -> Result<Command, Complaint> {
        let mut words = line.split_whitespace();
        let verb = words.next().unwrap_or_default();
        let rest: Vec<&str> = words.collect();
        let member = || match rest.as_slice() {
            [one] => id(one, nodes),
            _ => {
                let error = format!("'{verb}' needs the number of one member");
                Err(unreadable(error, format!("for example {verb} {nodes}")))
            }
        };
        let alone = |command| match rest.as_slice() {
            [] => Ok(command),
            _ => {
                let error = format!("'{verb}' takes no arguments");
                Err(unreadable(error, format!("leave out '{}'", rest.join(" "))))
            }
        };
        match verb {
            "kill" => member().map(Command::Kill),
            "pause" => member().map(Command::Pause),
            "resume" => member().map(Command::Resume),
            "revive" => member().map(Command::Revive),
            "transfer" => member().map(Command::Transfer),
            "partition" => sides(&rest.concat(), nodes).map(Command::Split),
            "heal" => alone(Command::Heal),
            "step-down" => alone(Command::StepDown),
            "status" => alone(Command::Status),
            "quit" => alone(Command::Quit),
            _ => {
                let known = format!("there are {}", usages());
                Err(unreadable(format!("there is no command '{verb}'"), known))
            }
        }
    }
}

fn id(text: &str, nodes: u32) -> Result<u32, Complaint> {
    match text.trim().parse::<u32>() {
        Ok(id) if (1..=nodes).contains(&id) => Ok(id),
        _ => Err(Complaint {
            fault: Fault::NoSuchMember,
            error: format!("there is no member '{text}'"),
            hint: Some(format!("there are 1 to {nodes}")),
        }),
    }
}

/// Reads `1,2|3,4,5`. Members that are not named are together on one further side.
fn sides(text: &str, nodes: u32) -> Result<Vec<BTreeSet<u32>>, Complaint> {
    let mut sides: Vec<BTreeSet<u32>> = Vec::new();
    let example = "for example partition 1,2|3,4,5";
    for part in text.split('|') {
        if part.is_empty() {
            return Err(unreadable("name the members of each side", example));
        }
        let mut side = BTreeSet::new();
        for name in part.split(',') {
            let id = id(name, nodes)?;
            if sides.iter().any(|other| other.contains(&id)) || !side.insert(id) {
                let error = format!("member {id} is named twice");
                return Err(unreadable(error, "it can be on one side only"));
            }
        }
        sides.push(side);
    }
    let rest: BTreeSet<u32> =
        (1..=nodes).filter(|id| !sides.iter().any(|side| side.contains(id))).collect();
    if !rest.is_empty() {
        sides.push(rest);
    }
    if sides.len() < 2 {
        let error = "this is not a partition: all members are on the same side";
        return Err(unreadable(error, example));
    }
    Ok(sides)
}

/// Does it, and says in words what was done or why not.
pub async fn carry_out(
    command: &Command,
    cluster: &mut Cluster,
    world: &mut World,
) -> Result<String, Complaint> {
    match command {
        Command::Kill(id) => {
            let place = find(cluster, *id)?;
            if cluster.members[place].condition == Condition::Dead {
                let hint = format!("revive {id} starts it again");
                return Err(senseless(format!("member {id} is dead already"), hint));
            }
            cluster.kill(place).await;
            world.lost(place);
            Ok(format!("killed member {id}"))
        }
        Command::Pause(id) => {
            let member = running(cluster, *id)?;
            cluster.members[member].pause();
            Ok(format!("paused member {id}"))
        }
        Command::Resume(id) => {
            let place = find(cluster, *id)?;
            match cluster.members[place].condition {
                Condition::Paused => {}
                Condition::Running => {
                    let hint = format!("pause {id} stops it");
                    return Err(senseless(format!("member {id} is not paused"), hint));
                }
                Condition::Dead => return Err(dead(*id)),
            }
            cluster.members[place].resume();
            Ok(format!("resumed member {id}"))
        }
        Command::Revive(id) => {
            let place = find(cluster, *id)?;
            if cluster.members[place].condition != Condition::Dead {
                let hint = format!("kill {id} ends it");
                return Err(senseless(format!("member {id} is not dead"), hint));
            }
            let failed = |failure: bellwether_shell::Failure| {
                let error = failure.to_string();
                Complaint { fault: Fault::Failed, error, hint: None }
            };
            cluster.revive(place).map_err(failed)?;
            world.revived(place);
            Ok(format!("restarted member {id}"))
        }
        Command::Split(sides) => {
            world.split(sides);
            reconcile(cluster, world).await;
            Ok(format!("partition: {}", shown(sides)))
        }
        Command::Heal => {
            world.split(&[]);
            reconcile(cluster, world).await;
            Ok("all members reach each other again".to_owned())
        }
        Command::StepDown => hand_over(cluster, world, "/v1/step-down", &()).await,
        Command::Transfer(to) => {
            hand_over(cluster, world, "/v1/transfer", &Transfer { to: *to }).await
        }
        Command::Status => Ok(world.summary(cluster)),
        Command::Quit => Ok("ends".to_owned()),
    }
}

/// Asks the coordinator to let another one take over.
async fn hand_over(
    cluster: &Cluster,
    world: &World,
    path: &str,
    body: &impl Serialize,
) -> Result<String, Complaint> {
    let member = &cluster.members[leader(cluster, world)?];
    let decided: Decided = cluster.command(member, path, body).await.map_err(declined)?;
    Ok(format!("member {} {}", member.id, decided.decision))
}

/// A member was asked to do something, and did not.
fn declined(unanswered: Unanswered) -> Complaint {
    match unanswered {
        Unanswered::Refused(_, StatusCode::CONFLICT | StatusCode::NOT_FOUND, problem) => {
            Complaint { fault: Fault::Senseless, error: problem.error, hint: problem.hint }
        }
        other => Complaint { fault: Fault::Failed, error: other.to_string(), hint: None },
    }
}

fn dead(id: u32) -> Complaint {
    senseless(format!("member {id} is dead"), format!("revive {id} starts it again"))
}

fn find(cluster: &Cluster, id: u32) -> Result<usize, Complaint> {
    let none = || Complaint {
        fault: Fault::NoSuchMember,
        error: format!("there is no member {id}"),
        hint: None,
    };
    cluster.place(id).ok_or_else(none)
}

fn running(cluster: &Cluster, id: u32) -> Result<usize, Complaint> {
    let place = find(cluster, id)?;
    match cluster.members[place].condition {
        Condition::Running => Ok(place),
        Condition::Paused => {
            let hint = format!("resume {id} lets it go on");
            Err(senseless(format!("member {id} is paused"), hint))
        }
        Condition::Dead => Err(dead(id)),
    }
}

fn leader(cluster: &Cluster, world: &World) -> Result<usize, Complaint> {
    let none = || senseless("there is no coordinator at the moment", "wait until there is one");
    running(cluster, world.leader().ok_or_else(none)?)
}

fn shown(sides: &[BTreeSet<u32>]) -> String {
    let side = |side: &BTreeSet<u32>| side.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    sides.iter().map(side).collect::<Vec<_>>().join(" | ")
}

/// Tells every member that can hear it which members it does not reach.
pub async fn reconcile(cluster: &Cluster, world: &mut World) {
    for place in 0..cluster.members.len() {
        let member = &cluster.members[place];
        if member.condition == Condition::Running && !world.seats[place].told_blocked {
            let body = Partition { blocked: world.seats[place].blocked.clone() };
            let told = cluster.command::<_, Decided>(member, "/dev/partition", &body).await;
            world.seats[place].told_blocked = told.is_ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_command() {
        assert_eq!(Command::parse("kill 5", 5), Ok(Command::Kill(5)));
        assert_eq!(Command::parse("  step-down ", 5), Ok(Command::StepDown));
        let split = Command::parse("partition 1,2|3,4,5", 5);
        let sides = vec![BTreeSet::from([1, 2]), BTreeSet::from([3, 4, 5])];
        assert_eq!(split, Ok(Command::Split(sides)));
        let rest = vec![BTreeSet::from([3]), BTreeSet::from([1, 2])];
        assert_eq!(Command::parse("partition 3", 3), Ok(Command::Split(rest)));
    }

    #[test]
    fn every_command_that_is_told_of_can_be_read() {
        for (usage, _) in COMMANDS {
            assert!(Command::parse(&usage.replace("ID", "2"), 5).is_ok(), "{usage}");
        }
        assert!(for_pages().iter().all(|command| command.usage != "quit"));
    }

    #[test]
    fn a_wrong_line_says_what_is_allowed() {
        for (line, fragment) in [
            ("klil 5", "step-down, transfer ID"),
            ("", "kill ID"),
            ("kill", "needs the number"),
            ("kill 6", "there are 1 to 5"),
            ("kill x", "there are 1 to 5"),
            ("heal 3", "takes no arguments"),
            ("partition", "name the members"),
            ("partition 1,2|", "name the members"),
            ("partition 1,2|2,3", "named twice"),
            ("partition 1,2,3,4,5", "not a partition"),
            ("partition 1,,2|3", "there is no member ''"),
        ] {
            let complaint = Command::parse(line, 5).unwrap_err().to_string();
            assert!(complaint.contains(fragment), "{line}: {complaint}");
        }
    }
}
