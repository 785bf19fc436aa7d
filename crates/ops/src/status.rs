//! `bellwether status`: the coordinator, since when and why.

use crate::watching::Shown;
use bellwether_api::json::{Change, Completeness, Log, Status};
use std::fmt::Write;
use std::time::Duration;

impl Shown for Status {
    const PATH: &'static str = "/v1/status";

    fn table(&self) -> String {
        let mut text = String::new();
        let mut row = |name: &str, value: String| {
            let _ = writeln!(text, "{name:<12} {value}");
        };
        let election = &self.election;
        let id = self.cluster_id.as_ref().map_or(String::new(), |id| format!(", id {id}"));
        row("cluster", format!("{}, {} members, {election}{id}", self.cluster, self.configured));
        row("coordinator", coordinator(self));
        let agree = match self.reachable {
            Some(heard) => format!("{heard} answer, "),
            None => String::new(),
        };
        let learners = match self.learners {
            0 => String::new(),
            learners => format!(" of {} voters, {learners} without a vote", self.voters),
        };
        row("members", format!("{agree}{} must agree{learners}", self.needed));
        let may = if self.eligible { "" } else { ", may not lead" };
        row(
            "this member",
            format!(
                "P{}, {}{may}, running for {}",
                self.id,
                self.stance.word(),
                up(self.uptime_ms)
            ),
        );
        row("log", log(&self.log));
        if let Some(change) = &self.last_change {
            row("last change", changed(change));
        }
        row(
            "process",
            format!("{}, start {}, version {}", self.pid, self.incarnation, self.version),
        );
        for warning in &self.warnings {
            row("warning", warning.clone());
        }
        text
    }

    fn is_coordinated(&self) -> bool {
        self.mandate.is_some()
    }

    fn line(&self) -> String {
        format!("P{} is {}; coordinator {}", self.id, self.stance.word(), brief(self))
    }
}

/// How far the log is, and what is missing.
fn log(log: &Log) -> String {
    let missing = match (log.completeness, log.behind) {
        (Completeness::Filling, _) => ", receives a snapshot".to_owned(),
        (Completeness::Lost, _) => ", forgotten in a restart".to_owned(),
        (Completeness::Whole, 0) => String::new(),
        (Completeness::Whole, lacks) => format!(", lacks {lacks} entries"),
    };
    format!("{} entries, {} committed{missing}", log.last_index, log.commit_index)
}

fn coordinator(status: &Status) -> String {
    match (&status.mandate, status.coordinator) {
        (Some(mandate), _) => {
            let appointed = if mandate.appointed { ", appointed" } else { "" };
            format!("{}{appointed}, lease for another {} ms", brief(status), mandate.lease_ms)
        }
        (None, Some(_)) | (None, None) => brief(status),
    }
}

/// The same without what changes all the time.
fn brief(status: &Status) -> String {
    let why = status.why_no_mandate.as_deref().unwrap_or("the member does not say why");
    match (&status.mandate, status.coordinator) {
        (Some(mandate), _) => format!("P{} in term {}", mandate.leader, mandate.term),
        (None, Some(named)) => format!("P{named} without a mandate: {why}"),
        (None, None) => format!("none: {why}"),
    }
}

pub(crate) fn changed(change: &Change) -> String {
    let who = |id: Option<u32>| id.map_or("none".to_owned(), |id| format!("P{id}"));
    let term = change.term.map_or(String::new(), |term| format!(" (term {term})"));
    let (from, to) = (who(change.from), who(change.to));
    let way = match change.from == change.to {
        true => format!("{to} again"),
        false => format!("from {from} to {to}"),
    };
    format!("{}: {way}{term}: {}", change.at, change.reason)
}

/// A span as people say it.
fn up(millis: u64) -> String {
    let span = Duration::from_millis(millis);
    match span.as_secs() {
        0..60 => format!("{:.1} s", span.as_secs_f64()),
        seconds @ 60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds @ 3_600..86_400 => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
        seconds => format!("{} d {} h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellwether_api::json::{Mandate, Stance};

    fn status() -> Status {
        Status {
            cluster: "demo".to_owned(),
            id: 3,
            version: "0.1.0".to_owned(),
            pid: 4711,
            election: "bully".to_owned(),
            stance: Stance::Following,
            mandate: Some(Mandate { leader: 5, term: 7, lease_ms: 412, appointed: false }),
            coordinator: Some(5),
            why_no_mandate: None,
            reachable: None,
            needed: 3,
            configured: 6,
            voters: 5,
            learners: 1,
            eligible: true,
            incarnation: 2,
            uptime_ms: 192_000,
            last_change: None,
            warnings: vec!["mind the gap".to_owned()],
            log: Log { last_index: 12, commit_index: 9, behind: 3, ..Log::default() },
            lease_full_ms: 500,
            up: None,
            cluster_id: None,
        }
    }

    #[test]
    fn a_follower_names_its_coordinator() {
        let text = status().table();
        for fragment in [
            "demo, 6 members, bully",
            "P5 in term 7, lease for another 412 ms",
            "3 must agree",
            "P3, following, running for 3 min 12 s",
            "log          12 entries, 9 committed, lacks 3 entries",
            "warning      mind the gap",
        ] {
            assert!(text.contains(fragment), "no '{fragment}' in\n{text}");
        }
        assert_eq!(status().line(), "P3 is following; coordinator P5 in term 7");
    }

    #[test]
    fn a_minority_says_that_it_has_no_mandate() {
        let lost = Status {
            mandate: None,
            stance: Stance::Campaigning,
            coordinator: Some(3),
            why_no_mandate: Some("2 of the 3 members needed agree".to_owned()),
            reachable: Some(2),
            eligible: false,
            ..status()
        };
        let text = lost.table();
        for fragment in [
            "P3 without a mandate: 2 of the 3 members needed agree",
            "2 answer, 3 must agree",
            "campaigning, may not lead",
        ] {
            assert!(text.contains(fragment), "no '{fragment}' in\n{text}");
        }
    }

    #[test]
    fn a_change_tells_its_reason() {
        let change = Change {
            seq: 9,
            at: "2026-11-16T09:30:00.125Z".to_owned(),
            from: Some(5),
            to: None,
            term: Some(7),
            reason: "too few members answered within the lease".to_owned(),
        };
        assert_eq!(
            changed(&change),
            "2026-11-16T09:30:00.125Z: from P5 to none (term 7): too few members answered \
             within the lease"
        );
    }

    #[test]
    fn a_coordinator_that_comes_back_is_not_its_own_successor() {
        let at = "2026-11-16T09:30:00.125Z".to_owned();
        let (from, to, reason) = (Some(5), Some(5), "it renewed its mandate".to_owned());
        let change = Change { seq: 9, at, from, to, term: Some(8), reason };
        let text = "2026-11-16T09:30:00.125Z: P5 again (term 8): it renewed its mandate";
        assert_eq!(changed(&change), text);
    }

    #[test]
    fn spans_are_short() {
        for (millis, text) in [
            (1_500, "1.5 s"),
            (61_000, "1 min 1 s"),
            (7_260_000, "2 h 1 min"),
            (90_000_000, "1 d 1 h"),
        ] {
            assert_eq!(up(millis), text);
        }
    }
}
