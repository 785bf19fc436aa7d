//! What a run came to, for people and for programs.

use super::args::Setup;
use super::check::Violation;
use super::figures::Figures;
use super::history::History;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

/// So many violations are shown with their lines; one often causes many.
const SHOWN: usize = 5;

pub(super) struct Report<'a> {
    pub(super) setup: &'a Setup,
    pub(super) figures: Figures,
    pub(super) violations: Vec<Violation>,
    pub(super) histories: &'a [History],
    /// Where everything is, if it is kept.
    pub(super) kept: Option<PathBuf>,
}

fn ms(micros: u64) -> f64 {
    micros as f64 / 1_000.0
}

impl Report<'_> {
    pub(super) fn text(&self) -> String {
        let Setup { members, clients, length, seed, .. } = self.setup;
        let mut text = format!(
            "{members} members, {clients} clients, {} of faults, seed {seed}\n\n",
            shown(*length)
        );
        self.rows(&mut text);
        self.fault_rows(&mut text);
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
            let _ = writeln!(text, "nothing is wrong with what the clients saw");
        }
        if let Some(kept) = &self.kept {
            let _ = writeln!(text, "histories and logs are in {}", kept.display());
        }
        text
    }

    fn flags(&self) -> String {
        let Setup { members, clients, length, seed, faults, locks, roles } = self.setup;
        let faults: Vec<_> = faults.iter().map(|kind| kind.name()).collect();
        let faults = if faults.is_empty() { "none".to_owned() } else { faults.join(",") };
        format!(
            "--members {members} --clients {clients} --for {} --seed {seed} --locks {locks} \
             --roles {roles} --faults {faults}",
            shown(*length)
        )
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
                "{}, {} after a wait, {} lost with their sessions, in {} epochs",
                f.grants, f.waited, f.lost, f.epochs
            ),
        );
        row("refused", format!("{} busy, {} waited for in vain", f.busy, f.in_vain));
        row("deadlocks", f.deadlocks.to_string());
        row("roles", format!("{} hand-overs, {} proclamations", f.hand_overs, f.proclamations));
        row("looks", format!("{} found what was claimed", f.looks));
        row("waits", format!("p50 {half:.1} ms, p99 {most:.1} ms, longest {longest:.1} ms"));
        row("unavailable", format!("for {:.1} ms at the longest", ms(f.silence_us)));
    }

    fn fault_rows(&self, text: &mut String) {
        let _ = writeln!(text, "\n{:<14} {:>8} {:>6}", "fault", "happened", "bit");
        for kind in &self.setup.faults {
            let (happened, bit) = self.figures.faults.get(kind).copied().unwrap_or_default();
            let note = if bit == 0 { "   it tested nothing" } else { "" };
            let _ = writeln!(text, "{:<14} {happened:>8} {bit:>6}{note}", kind.name());
        }
    }

    pub(super) fn json(&self) -> String {
        let f = &self.figures;
        let faults: Vec<_> = self
            .setup
            .faults
            .iter()
            .map(|kind| {
                let (happened, bit) = f.faults.get(kind).copied().unwrap_or_default();
                serde_json::json!({ "kind": kind.name(), "happened": happened, "bit": bit })
            })
            .collect();
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
            "members": self.setup.members, "clients": self.setup.clients,
            "seed": self.setup.seed, "length_ms": self.setup.length.as_millis() as u64,
            "processes": f.clients, "sessions": f.sessions, "sessions_lost": f.sessions_lost,
            "operations": f.operations, "grants": f.grants, "grants_lost": f.lost,
            "waited": f.waited, "busy": f.busy, "in_vain": f.in_vain, "deadlocks": f.deadlocks,
            "hand_overs": f.hand_overs, "proclamations": f.proclamations, "epochs": f.epochs,
            "looks": f.looks, "wait_ms": { "p50": half, "p99": most, "max": longest },
            "longest_silence_ms": ms(f.silence_us), "faults": faults, "violations": violations,
            "kept": self.kept,
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
    use super::super::plan::Kind;
    use super::*;

    #[test]
    fn a_violation_comes_with_its_lines_and_a_command() {
        let faults = vec![Kind::Kill, Kind::ClientStop];
        let (length, seed) = (Duration::from_secs(90), 7);
        let setup = Setup { members: 3, clients: 2, length, seed, faults, locks: 4, roles: 0 };
        let histories = [told("client-1.1", "10 asks 1 x exclusive; 20 granted 1 5")];
        let mut figures = Figures::default();
        figures.faults.insert(Kind::Kill, (3, 2));
        let violation = Violation::new("fifo", "so", &[Place { history: 0, line: 1 }]);
        let kept = Some(PathBuf::from("kept"));
        let violations = vec![violation; SHOWN + 2];
        let mut report = Report { setup: &setup, figures, violations, histories: &histories, kept };
        let text = report.text();
        for part in [
            "3 members, 2 clients, 90s of faults, seed 7\n",
            "VIOLATED fifo: so\n  client-1.1\n",
            "and 2 more\n",
            "torture --members 3 --clients 2 --for 90s --seed 7 --locks 4 --roles 0 --faults \
             kill,client-stop\n",
            "histories and logs are in kept\n",
            "client-stop           0      0   it tested nothing\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        report.violations.clear();
        assert!(report.text().contains("nothing is wrong"));
        let json: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
        assert_eq!(json["faults"][0]["bit"], 2);
    }
}
