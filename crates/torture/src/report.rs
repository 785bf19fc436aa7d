//! What a run came to, for people and for programs.

use super::args::{Engine, Setup, Work};
use super::check::Violation;
use super::figures::{Figures, Gap, Tally};
use super::history::History;
use super::plan::Kind;
use super::sequences::Sequence;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

/// The number of violations that are shown with their lines; one often causes many.
const SHOWN: usize = 5;

/// A time without a leader is listed with its faults from this length on.
const SHORTEST_US: u64 = 1_000_000;

pub(super) struct Report<'a> {
    pub(super) setup: &'a Setup,
    pub(super) figures: Figures,
    pub(super) violations: Vec<Violation>,
    pub(super) histories: &'a [History],
    /// Where everything is, if it is kept.
    pub(super) kept: Option<PathBuf>,
    /// The longest time without a leader, if it was a sequence.
    pub(super) gap: Option<Duration>,
    /// Kinds of faults that this machine cannot make, and why.
    pub(super) left_out: BTreeMap<Kind, String>,
}

fn ms(micros: u64) -> f64 {
    micros as f64 / 1_000.0
}

impl Report<'_> {
    pub(super) fn text(&self) -> String {
        let Setup { members, clients, length, seed, .. } = self.setup;
        let what = match self.sequence() {
            Some(sequence) => format!("sequence {}", sequence.letter),
            None => format!("{} of faults", shown(*length)),
        };
        let members = match self.setup.engine {
            Engine::Members => format!("{members} members"),
            Engine::Etcd => format!("{members} servers of etcd"),
        };
        let mut text = format!("{members}, {clients} clients, {what}, seed {seed}\n\n");
        self.rows(&mut text);
        match (self.gap, self.sequence()) {
            (Some(gap), Some(sequence)) => {
                let (gap, bound) = (gap.as_millis(), sequence.bound.as_millis());
                let _ = writeln!(text, "no leader      for {gap} ms at the longest, of {bound} ms");
            }
            _ => self.fault_rows(&mut text),
        }
        for violation in self.violations.iter().take(SHOWN) {
            let _ = write!(text, "\nVIOLATED {}", violation.show(self.histories));
        }
        let more = self.violations.len().saturating_sub(SHOWN);
        if more > 0 {
            let _ = writeln!(text, "\nand {more} more");
        }
        let _ = writeln!(text);
        if !self.violations.is_empty() {
            let (rest, faults) = (self.flags(), self.violations.len());
            let _ = writeln!(text, "{faults} violations; a similar run: bellwether torture {rest}");
        } else {
            let _ = writeln!(text, "no violation in the histories of the clients");
        }
        if let Some(kept) = &self.kept {
            let _ = writeln!(text, "histories and logs are in {}", kept.display());
        }
        text
    }

    fn sequence(&self) -> Option<&'static Sequence> {
        match self.setup.namespaces {
            Some(Work::Sequence(sequence)) => Some(sequence),
            Some(Work::Random) | None => None,
        }
    }

    fn flags(&self) -> String {
        let Setup { members, clients, length, seed, locks, roles, namespaces, .. } = self.setup;
        let Setup { faults, state, .. } = self.setup;
        let own = format!("--clients {clients} --seed {seed} --locks {locks} --roles {roles}");
        let own = if *state > 0 { format!("{own} --state {state}") } else { own };
        let faults: Vec<_> = faults.iter().map(|kind| kind.name()).collect();
        let faults = if faults.is_empty() { "none".to_owned() } else { faults.join(",") };
        let faults = format!("--members {members} --for {} --faults {faults}", shown(*length));
        match namespaces {
            None if self.setup.engine == Engine::Etcd => format!("--engine etcd {own} {faults}"),
            None => format!("{own} {faults}"),
            Some(Work::Random) => format!("--namespaces {own} {faults}"),
            Some(Work::Sequence(which)) => {
                format!("--namespaces --sequence {} {own}", which.letter)
            }
        }
    }

    fn rows(&self, text: &mut String) {
        let f = &self.figures;
        let [half, most, longest] = f.wait_us.map(ms);
        let mut row = |name: &str, value: String| {
            let _ = writeln!(text, "{name:<14} {value}");
        };
        row("operations", format!("{} of {} client processes", f.operations, f.clients));
        row("sessions", format!("{}, {} of them lost", f.sessions, f.sessions_lost));
        row(
            "grants",
            format!(
                "{}, {} after a wait, {} lost with their sessions, in {} terms",
                f.grants, f.waited, f.lost, f.terms
            ),
        );
        row("refused", format!("{} busy, {} timed out", f.busy, f.timed_out));
        row("deadlocks", f.deadlocks.to_string());
        row("roles", format!("{} hand-overs, {} proclamations", f.hand_overs, f.proclamations));
        row("looks", format!("{} found what was claimed", f.looks));
        row("waits", format!("p50 {half:.1} ms, p99 {most:.1} ms, longest {longest:.1} ms"));
        row("unavailable", format!("for {:.1} ms at the longest", ms(f.silence_us)));
        row("machine", format!("kept a thread waiting for up to {:.1} ms", ms(f.late_us)));
    }

    fn fault_rows(&self, text: &mut String) {
        let heads = ["fault", "happened", "bit", "no leader", "majority up", "no answer"];
        let [fault, happened, bit, leader, able, answer] = heads;
        let _ = writeln!(
            text,
            "\n{fault:<14} {happened:>8} {bit:>6} {leader:>12} {able:>12} {answer:>12}"
        );
        for kind in &self.setup.faults {
            let tally = self.figures.faults.get(kind).copied().unwrap_or_default();
            let Tally { happened, bit, leaderless_us, unled_us, silence_us } = tally;
            let [leaderless, unled, silence] = [leaderless_us, unled_us, silence_us].map(ms);
            let gaps = match kind.is_for_clients() || happened == 0 {
                true => format!("{:>38}", ""),
                false => format!("{leaderless:>9.0} ms {unled:>9.0} ms {silence:>9.0} ms"),
            };
            let note = match self.left_out.get(kind) {
                Some(why) => format!("   it was left out: {why}"),
                None if bit == 0 => "   never bit: it tested nothing".to_owned(),
                None => String::new(),
            };
            let row = format!("{:<14} {happened:>8} {bit:>6} {gaps}{note}", kind.name());
            let _ = writeln!(text, "{}", row.trim_end());
        }
        let longest = self.figures.longest.iter().filter(|gap| gap.span_us >= SHORTEST_US);
        for (index, gap) in longest.enumerate() {
            if index == 0 {
                let _ =
                    writeln!(text, "\nThe longest times without a leader, a majority being up:");
            }
            let (span, at) = (ms(gap.span_us), gap.from);
            let _ = writeln!(text, "{span:>9.0} ms at {at}: {}", gap.faults.join("; "));
        }
    }

    pub(super) fn json(&self) -> String {
        let f = &self.figures;
        let faults: Vec<_> = self
            .setup
            .faults
            .iter()
            .map(|kind| {
                let tally = f.faults.get(kind).copied().unwrap_or_default();
                serde_json::json!({
                    "kind": kind.name(), "happened": tally.happened, "bit": tally.bit,
                    "left_out": self.left_out.get(kind),
                    "longest_without_leader_ms": ms(tally.leaderless_us),
                    "longest_without_leader_with_majority_ms": ms(tally.unled_us),
                    "longest_without_answer_ms": ms(tally.silence_us),
                })
            })
            .collect();
        let gap = |gap: &Gap| serde_json::json!({ "from": gap.from, "ms": ms(gap.span_us), "faults": gap.faults });
        let gaps: Vec<_> = f.longest.iter().map(gap).collect();
        let violations: Vec<_> = self
            .violations
            .iter()
            .map(|violation| {
                serde_json::json!({
                    "rule": violation.rule, "what": violation.what,
                    "lines": violation.show(self.histories),
                })
            })
            .collect();
        let [half, most, longest] = f.wait_us.map(ms);
        let report = serde_json::json!({
            "engine": match self.setup.engine { Engine::Members => "members", Engine::Etcd => "etcd" },
            "members": self.setup.members, "clients": self.setup.clients,
            "seed": self.setup.seed, "length_ms": self.setup.length.as_millis() as u64,
            "processes": f.clients, "sessions": f.sessions, "sessions_lost": f.sessions_lost,
            "operations": f.operations, "grants": f.grants, "grants_lost": f.lost,
            "waited": f.waited, "busy": f.busy, "timed_out": f.timed_out, "deadlocks": f.deadlocks,
            "hand_overs": f.hand_overs, "proclamations": f.proclamations, "terms": f.terms,
            "looks": f.looks, "wait_ms": { "p50": half, "p99": most, "max": longest },
            "longest_silence_ms": ms(f.silence_us), "machine_late_ms": ms(f.late_us), "faults": faults,
            "longest_without_leader": gaps, "violations": violations,
            "kept": self.kept,
            "sequence": self.sequence().map(|sequence| serde_json::json!({
                "letter": sequence.letter, "bound_ms": sequence.bound.as_millis() as u64,
                "longest_without_leader_ms": self.gap.map(|gap| gap.as_millis() as u64),
            })),
        });
        format!("{report:#}\n")
    }
}

fn shown(span: Duration) -> String {
    match (span.as_secs(), span.subsec_nanos()) {
        (seconds, 0) => format!("{seconds}s"),
        _ => bellwether_algorithms::options::show(span),
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::Place;
    use super::super::check::tests::told;
    use super::*;

    #[test]
    fn a_violation_comes_with_its_lines_and_a_command() {
        let faults = vec![Kind::Kill, Kind::ClientStop, Kind::DiskSlow];
        let (length, seed) = (Duration::from_secs(90), 7);
        let (members, clients, locks, roles, state, namespaces) = (3, 2, 4, 0, 0, None);
        let engine = Engine::Members;
        let setup = Setup {
            engine,
            members,
            clients,
            length,
            seed,
            faults,
            locks,
            roles,
            state,
            namespaces,
        };
        let histories = [told("client-1.1", "10 asks 1 x exclusive; 20 granted 1 5")];
        let mut figures = Figures::default();
        let (leaderless_us, unled_us, silence_us) = (400_000, 300_000, 500_000);
        let tally = Tally { happened: 3, bit: 2, leaderless_us, unled_us, silence_us };
        figures.faults.insert(Kind::Kill, tally);
        let faults = vec!["kill: member 3".to_owned(), "loss: member 2".to_owned()];
        figures.longest = vec![Gap { from: 7, span_us: 4_138_000, faults }];
        let violation = Violation::new("fifo", "so", &[Place { history: 0, line: 1 }]);
        let kept = Some(PathBuf::from("kept"));
        let violations = vec![violation; SHOWN + 2];
        let (histories, gap) = (&histories, None);
        let left_out = BTreeMap::from([(Kind::DiskSlow, "no loop device".to_owned())]);
        let mut report =
            Report { setup: &setup, figures, violations, histories, kept, gap, left_out };
        let text = report.text();
        for part in [
            "3 members, 2 clients, 90s of faults, seed 7\n",
            "VIOLATED fifo: so\n  client-1.1\n",
            "and 2 more\n",
            "torture --clients 2 --seed 7 --locks 4 --roles 0 --members 3 --for 90s --faults \
             kill,client-stop,disk-slow\n",
            "histories and logs are in kept\n",
            "kill                  3      2       400 ms       300 ms       500 ms\n",
            "     4138 ms at 7: kill: member 3; loss: member 2\n",
            "client-stop           0      0                                          never bit: it tested nothing\n",
            "disk-slow             0      0                                          it was left out: no loop device\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        report.violations.clear();
        assert!(report.text().contains("no violation"));
        let json: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
        assert_eq!(json["faults"][0]["bit"], 2);
        assert_eq!(json["faults"][2]["left_out"], "no loop device");
        assert_eq!(json["longest_without_leader"][0]["faults"][1], "loss: member 2");
    }
}
