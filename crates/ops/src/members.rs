//! `bellwether members`: the members, their health and their clocks.

use crate::coordination::table;
use crate::watching::Shown;
use bellwether_api::json::{Member, Members, RefusedMember, Suffrage};

impl Shown for Members {
    const PATH: &'static str = "/v1/members";

    fn table(&self) -> String {
        let mut table = table(&[
            "member",
            "role",
            "health",
            "heard",
            "link",
            "log",
            "clock offset",
            "clock rate",
            "address",
        ]);
        for member in &self.members {
            table.add_row(row(self, member));
        }
        let troubles: String = self.members.iter().flat_map(troubles).collect();
        let waits: String =
            self.waits_for.iter().map(|what| format!("the change waits for {what}\n")).collect();
        let refused: String = self.refused.iter().map(refused).collect();
        let (id, cluster) = (self.id, &self.cluster);
        format!("{table}\n{troubles}{waits}{refused}as seen by P{id} of cluster {cluster}\n")
    }

    fn is_coordinated(&self) -> bool {
        self.members.iter().any(|member| member.is_coordinator)
    }

    fn line(&self) -> String {
        let each = self.members.iter().map(|member| {
            let star = if member.is_coordinator { "*" } else { "" };
            let suffrage = match member.suffrage {
                Suffrage::Voter => String::new(),
                other => format!(" ({})", other.word()),
            };
            format!("P{}{star} {}{suffrage}", member.id, member.health.word())
        });
        each.collect::<Vec<_>>().join(", ")
    }
}

fn row(all: &Members, member: &Member) -> [String; 9] {
    let role = match (member.is_coordinator, member.witness, member.suffrage) {
        (true, ..) => "coordinator",
        (false, _, Suffrage::Learner) => "learner",
        (false, _, Suffrage::Joining) => "joining",
        (false, true, Suffrage::Voter) => "witness",
        (false, false, Suffrage::Voter) => "voter",
    };
    let heard = match member.heartbeat_age_ms {
        _ if member.id == all.id => "itself".to_owned(),
        Some(age) => format!("{age} ms"),
        None => "-".to_owned(),
    };
    let offset = match (member.clock_offset_us, member.clock_error_us) {
        (Some(offset), Some(error)) => {
            format!("{:+.2} ms ± {:.2}", offset as f64 / 1e3, error as f64 / 1e3)
        }
        _ => "-".to_owned(),
    };
    let rate = member
        .clock_rate_ppm
        .map_or("-".to_owned(), |rate| format!("{:+.1} ppm", rate.ppb as f64 / 1e3));
    [
        format!("P{}", member.id),
        format!("{role}{}", priority(member)),
        member.health.word().to_owned(),
        heard,
        if member.connected { "yes" } else { "no" }.to_owned(),
        log(member),
        offset,
        rate,
        member.address.clone(),
    ]
}

/// What is wrong with a member, a line each.
fn troubles(member: &Member) -> impl Iterator<Item = String> {
    let id = member.id;
    let link = member.trouble.as_ref().map(|trouble| format!("P{id}: {trouble}\n"));
    let clock = member.clock_drifts.then(|| format!("P{id}: its clock drifts too much to lead\n"));
    link.into_iter().chain(clock)
}

/// A process that called and is not in the list.
fn refused(RefusedMember { id, why, ago_ms }: &RefusedMember) -> String {
    format!("P{id} was refused {} s ago: {why}\n", ago_ms / 1_000)
}

/// Whether it has all entries, as far as the coordinator knows.
fn log(member: &Member) -> String {
    match member.behind {
        None => "-".to_owned(),
        Some(0) => "whole".to_owned(),
        Some(lacks) => format!("lacks {lacks}"),
    }
}

fn priority(member: &Member) -> String {
    match member.priority {
        0 => String::new(),
        priority => format!(", priority {priority}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellwether_api::json::{Health, Ppm};

    #[test]
    fn shows_who_coordinates_and_whose_clock_is_off() {
        let member = |id| Member {
            id,
            address: format!("host-{id}:7400"),
            http: None,
            priority: if id == 2 { 7 } else { 0 },
            witness: id == 1,
            health: Health::Alive,
            heartbeat_age_ms: Some(40),
            clock_offset_us: Some(-1_250),
            clock_error_us: Some(90),
            clock_rate_ppm: Some(Ppm { ppb: 812_500 }),
            clock_drifts: id == 2,
            connected: id != 2,
            trouble: (id == 2).then(|| "refused: lease is 3s there".to_owned()),
            behind: (id != 1).then(|| u64::from(id - 2) * 7),
            is_coordinator: id == 3,
            suffrage: if id == 4 { Suffrage::Joining } else { Suffrage::Voter },
            replaces: None,
        };
        let members = Members {
            cluster: "demo".to_owned(),
            id: 1,
            members: (1..=4).map(member).collect(),
            version: 3,
            waits_for: vec!["P4 to catch up before it votes: it lacks 14 entries".to_owned()],
            refused: vec![RefusedMember { id: 9, why: "it was removed".into(), ago_ms: 2_100 }],
        };
        let text = members.table();
        for fragment in [
            "coordinator",
            "witness",
            "priority 7",
            "-1.25 ms ± 0.09",
            "too much",
            "host-3:7400",
            "P2: refused: lease is 3s",
            "whole",
            "lacks 7",
            "joining",
            "the change waits for P4 to catch up",
            "P9 was refused 2 s ago: it was removed",
        ] {
            assert!(text.contains(fragment), "no '{fragment}' in\n{text}");
        }
        assert_eq!(members.line(), "P1 alive, P2 alive, P3* alive, P4 alive (joining)");
    }
}
