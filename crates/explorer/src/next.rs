//! What could happen next at a moment of a run.

use crate::Explorer;
use crate::run::{MayGoOn, Refused, play};
use crate::wire::{Choice, Next, NextRequest};
use bellwether_core::Time;
use bellwether_sim::Steer;

pub(crate) fn next(
    explorer: &Explorer,
    request: &NextRequest,
    may_go_on: MayGoOn<'_>,
) -> Result<Next, Refused> {
    let moment = Time::from_micros(request.after_us);
    let (_, played) = play(explorer, &request.scenario, Some(moment), may_go_on)?;
    let Some(next) = played.next else { return Ok(Next { choices: Vec::new() }) };
    let steers = next.choices();
    let commands = |is: &dyn Fn(&Steer) -> bool| -> Vec<String> {
        steers.iter().filter(|steer| is(steer)).map(ToString::to_string).collect()
    };
    let flying = next.flying.iter().map(|flying| {
        let name = (flying.from, flying.to, flying.number);
        Choice {
            node: flying.to.number(),
            from: Some(flying.from.number()),
            text: flying.text.clone(),
            commands: commands(&|steer| match steer {
                Steer::Deliver(from, to, number)
                | Steer::Lose(from, to, number)
                | Steer::Repeat(from, to, number) => (*from, *to, *number) == name,
                Steer::Fire(..) => false,
            }),
        }
    });
    let armed = next.armed.iter().map(|armed| Choice {
        node: armed.node.number(),
        from: None,
        text: armed.text.clone(),
        commands: vec![Steer::Fire(armed.node, armed.number).to_string()],
    });
    Ok(Next { choices: flying.chain(armed).collect() })
}

#[cfg(test)]
mod tests {
    use crate::wire::{Branch, Choice, NextRequest, RunRequest};
    use crate::{Explorer, scenario, with_member};

    fn choices(explorer: &Explorer, scenario: &str, after_us: u64) -> Vec<Choice> {
        let request = NextRequest { scenario: scenario.to_owned(), after_us };
        explorer.next(&request, &|| true).unwrap().choices
    }

    /// At every moment of every scenario, every choice that is offered can be taken, and leaves
    /// everything before it as it was.
    #[test]
    fn what_is_offered_can_happen_and_leaves_the_past_alone() {
        let explorer = Explorer::new(with_member().clone());
        let mut taken = 0;
        for path in [
            "election/bully-p1-to-p4.txt",
            "election/peterson-worked-run.txt",
            "mutex/lamport-crossing-requests.txt",
            "counterexample/bully-time-outs-lie.txt",
        ] {
            let text = scenario(path).unwrap();
            let run = |branch: Option<Branch>| {
                let request = RunRequest { scenario: text.to_owned(), branch };
                explorer.run(&request, &|| true)
            };
            let original = run(None).unwrap();
            let mut moments: Vec<u64> = original.events.iter().map(|event| event.us).collect();
            moments.dedup();
            for after_us in moments.into_iter().step_by(3) {
                for command in choices(&explorer, text, after_us).iter().flat_map(|c| &c.commands) {
                    let branch = Branch { after_us, command: command.clone() };
                    let other = run(Some(branch)).unwrap_or_else(|refused| {
                        panic!("{path} at {after_us}: {command}: {}", refused.error)
                    });
                    let same = original.events.iter().take_while(|e| e.us <= after_us).count();
                    let (before, then) = (&original.events[..same], &other.events[..same]);
                    assert_eq!(before, then, "{path} at {after_us}: {command}");
                    taken += 1;
                }
            }
        }
        assert!(taken > 50, "{taken}");
    }

    #[test]
    fn a_message_is_delivered_lost_or_repeated_and_a_timer_fires() {
        let explorer = Explorer::new(with_member().clone());
        let text = "cluster bully 1..3 coordinator=3 latency=10ms timeout=100ms\ncrash 3\nsuspect 1\nrun\n";
        let offered = choices(&explorer, text, 0);
        let all: Vec<&str> = offered.iter().flat_map(|c| &c.commands).map(String::as_str).collect();
        assert_eq!(
            all,
            [
                "deliver 1->2#0",
                "repeat 1->2#0",
                "lose 1->2#0",
                "deliver 1->3#0",
                "repeat 1->3#0",
                "lose 1->3#0",
                "fire 1#0"
            ],
            "{offered:?}"
        );
        for (command, expected) in [
            ("deliver 1->2#0", (Some(2), "receive", 1)),
            ("repeat 1->2#0", (Some(2), "receive", 1)),
            ("lose 1->2#0", (Some(2), "drop", 1)),
            ("fire 1#0", (Some(1), "timer", 1)),
        ] {
            let branch = Some(Branch { after_us: 0, command: command.to_owned() });
            let run = explorer.run(&RunRequest { scenario: text.to_owned(), branch }, &|| true);
            let run = run.unwrap();
            let first = run.events.iter().find(|event| event.us > 0).unwrap();
            let kind = serde_json::to_value(first).unwrap()["event"].clone();
            assert_eq!((first.node, kind.as_str().unwrap(), first.us), expected, "{command}");
        }
        let late = RunRequest {
            scenario: text.to_owned(),
            branch: Some(Branch { after_us: 50_000, command: "deliver 1->2#0".to_owned() }),
        };
        let refused = explorer.run(&late, &|| true).unwrap_err();
        assert!(refused.error.contains("not on its way"), "{}", refused.error);
    }
}
