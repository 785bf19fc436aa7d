//! What could go wrong from a moment of a run on.
//!
//! The checker follows the run to that moment, in a world in which messages take any time and timers
//! fire at any moment, and looks for the shortest way to a broken invariant. The way is a branch of
//! the run: which message arrives next, which timer fires, who crashes.

use crate::Explorer;
use crate::run::{MayGoOn, Refused, grown, play};
use crate::wire::{Branch, NextRequest, Wrong};
use bellwether_check::{Limits, Unfollowed, Verdict, check_erased, commands, follow};
use bellwether_core::Time;
use bellwether_sim::scenario::{Command, Deed, Scenario};

/// How many states are looked at: a second or two in a browser.
const STATES_MAX: u64 = 60_000;
/// How much memory they may take.
const MEMORY_MAX: u64 = 256 << 20;

pub(crate) fn wrong(
    explorer: &Explorer,
    request: &NextRequest,
    may_go_on: MayGoOn<'_>,
) -> Result<Wrong, Refused> {
    let (scenario, played) = play(explorer, &request.scenario, None, may_go_on)?;
    let upto = Time::from_micros(request.after_us);
    let nothing = |text: String, states| Wrong { text, command: None, states };
    if let Some(broken) = played.outcome.violation.as_ref().filter(|broken| broken.at <= upto) {
        let text = format!("{} is violated already: choose an earlier moment.", broken.name);
        return Ok(nothing(text, 0));
    }
    let setup = &scenario.setup;
    let followed = follow(
        &setup.algorithm,
        &setup.group,
        &setup.settings(),
        setup.network.reorder,
        &played.trace,
        &verbs(&scenario),
        upto,
    );
    let followed = match followed {
        Ok(followed) => followed,
        Err(why) => return Ok(nothing(unfollowed(why), 0)),
    };
    let model = followed.setup.model();
    let limits = Limits { threads: 1, states: STATES_MAX, memory: MEMORY_MAX, ..Limits::default() };
    let report = check_erased(&model, &followed.actions, limits, &mut |_| {});
    let states = report.progress.states;
    let found = match report.verdict {
        Verdict::Violated(found) => found,
        Verdict::Proved => {
            let text = "Nothing: whatever happens from here on, no invariant is violated.";
            return Ok(nothing(text.to_owned(), states));
        }
        Verdict::Unfinished(_) => {
            let depth = report.progress.depth;
            let text = format!("Nothing within {depth} steps; the search ended at its limit.");
            return Ok(nothing(text, states));
        }
    };
    let command = commands(&followed.setup, &found.stem, followed.actions.len()).join("; ");
    let beyond = followed.setup.beyond(&setup.algorithm.assumes);
    let beyond = match beyond.is_empty() {
        true => String::new(),
        false => format!(" The search allows {}.", beyond.join(" and ")),
    };
    let (name, claim) = (found.breach.name, found.breach.text);
    let steps = found.stem.len() - followed.actions.len();
    let branch = Branch { after_us: request.after_us, command: command.clone() };
    let shown = grown(explorer, &request.scenario, &played, &branch, may_go_on)
        .is_ok_and(|(_, _, played)| played.outcome.violation.is_some_and(|v| v.name == name));
    if !shown {
        let text = format!(
            "{name} can be violated in {steps} steps ({claim}), but not before other events of this \
             run happen. Try an earlier moment.{beyond}"
        );
        return Ok(nothing(text, states));
    }
    let text = format!("{name} can be violated in {steps} steps: {claim}.{beyond}");
    Ok(Wrong { text, command: Some(command), states })
}

/// The inputs that a run may have had, as its scenario says them.
fn verbs(scenario: &Scenario) -> Vec<String> {
    let commands = scenario.paragraphs.iter().flat_map(|paragraph| &paragraph.commands);
    let said = commands.filter_map(|(_, command)| match command {
        Command::Do(Deed::Input(verb, _), _) => Some(verb.clone()),
        _ => None,
    });
    let mut verbs: Vec<String> = said.collect();
    verbs.sort_unstable();
    verbs.dedup();
    verbs
}

fn unfollowed(why: Unfollowed) -> String {
    match why {
        Unfollowed::Clocks => {
            "Not known: these processes read their clocks, and the search has no clocks.".to_owned()
        }
        Unfollowed::Large => "Not known: too many processes for a search.".to_owned(),
        Unfollowed::Unknown(at) => {
            format!("Not known: at {at} something happens that the search does not have.")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::RunRequest;
    use crate::with_member;

    fn ask(scenario: &str, after_us: u64) -> Wrong {
        let explorer = Explorer::new(with_member().clone());
        let request = NextRequest { scenario: scenario.to_owned(), after_us };
        explorer.wrong(&request, &|| true).unwrap()
    }

    #[test]
    fn a_time_out_that_lies_makes_two_coordinators() {
        let text = "cluster bully 1..3 coordinator=3 latency=10ms timeout=100ms\nsuspect 1\nrun\n";
        let wrong = ask(text, 0);
        assert!(wrong.text.starts_with("one-coordinator can be violated in "), "{wrong:?}");
        assert!(wrong.text.contains("time-outs that lie"), "{wrong:?}");
        let command = wrong.command.unwrap();
        let explorer = Explorer::new(with_member().clone());
        let branch = Some(Branch { after_us: 0, command });
        let run =
            explorer.run(&RunRequest { scenario: text.to_owned(), branch }, &|| true).unwrap();
        assert_eq!(run.outcome.violation.unwrap().name, "one-coordinator");
    }

    #[test]
    fn where_nothing_can_go_wrong_it_says_so() {
        let text = "cluster chang-roberts 1..3 coordinator=none latency=10ms detection=off acknowledge=off\nstart 1\nrun\n";
        let wrong = ask(text, 10_000);
        assert_eq!(
            (wrong.command, &*wrong.text),
            (None, "Nothing: whatever happens from here on, no invariant is violated.")
        );
        assert!(wrong.states > 3, "{}", wrong.states);
    }

    #[test]
    fn what_cannot_be_searched_is_said() {
        let clocks = "cluster berkeley 1..3 latency=10ms\nrun until=1s\n";
        assert!(ask(clocks, 0).text.contains("clocks"), "{:?}", ask(clocks, 0));
    }
}
