//! What can be done to a cluster while it runs, by a line or by a key.

use super::cluster::{Cluster, Condition};
use super::world::World;
use crate::asking::post;
use bellwether_api::json::{Decided, Partition, Transfer};
use std::collections::BTreeSet;

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Kill(u32),
    Pause(u32),
    Resume(u32),
    Revive(u32),
    /// Members of different sides do not reach each other. All members are on a side.
    Split(Vec<BTreeSet<u32>>),
    Heal,
    StepDown,
    Transfer(u32),
    Status,
    Quit,
}

/// What there is, for help and for complaints.
pub(crate) const COMMANDS: &str = "kill ID, pause ID, resume ID, revive ID, \
     partition 1,2|3,4,5, heal, step-down, transfer ID, status, quit";

impl Command {
    /// Reads a line, in a cluster of members 1 to `nodes`.
    pub(crate) fn parse(line: &str, nodes: u32) -> Result<Command, String> {
        let mut words = line.split_whitespace();
        let verb = words.next().unwrap_or_default();
        let rest: Vec<&str> = words.collect();
        let member = || match rest.as_slice() {
            [one] => id(one, nodes),
            _ => Err(format!("'{verb}' needs the number of one member: {verb} {nodes}")),
        };
        let alone = |command| match rest.as_slice() {
            [] => Ok(command),
            _ => Err(format!("'{verb}' stands alone; '{}' is too much", rest.join(" "))),
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
            _ => Err(format!("no command '{verb}'; there are {COMMANDS}")),
        }
    }
}

fn id(text: &str, nodes: u32) -> Result<u32, String> {
    match text.trim().parse::<u32>() {
        Ok(id) if (1..=nodes).contains(&id) => Ok(id),
        _ => Err(format!("there is no member '{text}'; there are 1 to {nodes}")),
    }
}

/// Reads `1,2|3,4,5`. Those who are not named are together on one further side.
fn sides(text: &str, nodes: u32) -> Result<Vec<BTreeSet<u32>>, String> {
    let mut sides: Vec<BTreeSet<u32>> = Vec::new();
    for part in text.split('|') {
        let mut side = BTreeSet::new();
        for name in part.split(',') {
            if part.is_empty() {
                return Err("name the members of each side: partition 1,2|3,4,5".to_owned());
            }
            let id = id(name, nodes)?;
            if sides.iter().any(|other| other.contains(&id)) || !side.insert(id) {
                return Err(format!("member {id} is named twice; it can be on one side only"));
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
        return Err("that is no partition: all members are on the same side".to_owned());
    }
    Ok(sides)
}

/// Does it, and says in words what was done or why not.
pub(crate) async fn carry_out(
    command: &Command,
    cluster: &mut Cluster,
    world: &mut World,
) -> Result<String, String> {
    match command {
        Command::Kill(id) => {
            let place = find(cluster, *id)?;
            if cluster.members[place].condition == Condition::Dead {
                return Err(format!("member {id} is dead already; revive {id} starts it again"));
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
            if cluster.members[place].condition != Condition::Paused {
                return Err(format!("member {id} is not paused"));
            }
            cluster.members[place].resume();
            Ok(format!("member {id} goes on"))
        }
        Command::Revive(id) => {
            let place = find(cluster, *id)?;
            if cluster.members[place].condition != Condition::Dead {
                return Err(format!("member {id} is not dead"));
            }
            cluster.revive(place).map_err(|failure| failure.to_string())?;
            world.revived(place);
            Ok(format!("started member {id} again"))
        }
        Command::Split(sides) => {
            world.split(sides);
            reconcile(cluster, world).await;
            Ok(format!("partition: {}", shown(sides)))
        }
        Command::Heal => {
            world.split(&[]);
            reconcile(cluster, world).await;
            Ok("everybody reaches everybody again".to_owned())
        }
        Command::StepDown => {
            let place = leader(cluster, world)?;
            let decided = post::<_, Decided>(&cluster.members[place].http, "/v1/step-down", &());
            decided.await.map(|decided| said(cluster, place, &decided)).map_err(|e| e.to_string())
        }
        Command::Transfer(to) => {
            let place = leader(cluster, world)?;
            let (http, body) = (&cluster.members[place].http, Transfer { to: *to });
            let decided = post::<_, Decided>(http, "/v1/transfer", &body).await;
            decided.map(|decided| said(cluster, place, &decided)).map_err(|e| e.to_string())
        }
        Command::Status => Ok(world.summary(cluster)),
        Command::Quit => Ok("ends".to_owned()),
    }
}

fn said(cluster: &Cluster, place: usize, decided: &Decided) -> String {
    format!("member {} {}", cluster.members[place].id, decided.decision)
}

fn find(cluster: &Cluster, id: u32) -> Result<usize, String> {
    cluster.place(id).ok_or_else(|| format!("there is no member {id}"))
}

fn running(cluster: &Cluster, id: u32) -> Result<usize, String> {
    let place = find(cluster, id)?;
    match cluster.members[place].condition {
        Condition::Running => Ok(place),
        Condition::Paused => Err(format!("member {id} is paused; resume {id} lets it go on")),
        Condition::Dead => Err(format!("member {id} is dead; revive {id} starts it again")),
    }
}

fn leader(cluster: &Cluster, world: &World) -> Result<usize, String> {
    let leader = world.leader().ok_or("nobody coordinates at the moment")?;
    running(cluster, leader)
}

fn shown(sides: &[BTreeSet<u32>]) -> String {
    let side = |side: &BTreeSet<u32>| side.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    sides.iter().map(side).collect::<Vec<_>>().join(" | ")
}

/// Tells every member that can hear it whom it does not reach.
pub(crate) async fn reconcile(cluster: &Cluster, world: &mut World) {
    for place in 0..cluster.members.len() {
        let member = &cluster.members[place];
        if member.condition == Condition::Running && !world.seats[place].told_blocked {
            let body = Partition { blocked: world.seats[place].blocked.clone() };
            let told = post::<_, Decided>(&member.http, "/dev/partition", &body).await;
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
    fn a_wrong_line_says_what_is_allowed() {
        for (line, fragment) in [
            ("klil 5", "step-down, transfer ID"),
            ("", "kill ID"),
            ("kill", "needs the number"),
            ("kill 6", "there are 1 to 5"),
            ("kill x", "there are 1 to 5"),
            ("heal 3", "stands alone"),
            ("partition", "name the members"),
            ("partition 1,2|", "name the members"),
            ("partition 1,2|2,3", "named twice"),
            ("partition 1,2,3,4,5", "no partition"),
            ("partition 1,,2|3", "there is no member ''"),
        ] {
            let complaint = Command::parse(line, 5).unwrap_err();
            assert!(complaint.contains(fragment), "{line}: {complaint}");
        }
    }
}
