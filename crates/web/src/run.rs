//! Playing a scenario for the page.

use crate::refusal::Refusal;
use crate::wire::{Count, Fact, Outcome, Run, RunRequest, Violation};
use axum::http::StatusCode;
use bellwether_algorithms::catalogue::{Algorithm, Registry, Visitor};
use bellwether_core::{NodeId, Role};
use bellwether_member::WithMember;
use bellwether_sim::render::json;
use bellwether_sim::scenario::{Played, Scenario};

/// Plays what a page asks for.
pub(crate) fn run(request: &RunRequest) -> Result<Run, Refusal> {
    let scenario = Scenario::parse_in::<WithMember>(&request.scenario)
        .map_err(|error| Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string(), None))?;
    // The parser accepts only algorithms that there are.
    let played = scenario.play_in::<WithMember>().ok_or_else(|| {
        let error = format!("no algorithm '{}'", scenario.setup.algorithm);
        Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, error, None)
    })?;
    let (header, events) = json::parts(&played.trace);
    Ok(Run {
        scenario: request.scenario.clone(),
        header,
        events,
        outcome: outcome(&scenario, &played),
        remarks: played.mismatches.iter().map(ToString::to_string).collect(),
    })
}

fn outcome(scenario: &Scenario, played: &Played) -> Outcome {
    let outcome = &played.outcome;
    let number = |id: NodeId| id.number();
    let counts = outcome.tally.iter().map(|(kind, sent)| Count {
        kind: kind.name.to_owned(),
        role: json::role(kind.role).to_owned(),
        sent,
    });
    let mut messages: Vec<Count> = counts.collect();
    messages.sort_by_key(|count| (count.role != json::role(Role::Protocol), count.kind.clone()));
    Outcome {
        us: outcome.now.as_micros(),
        messages,
        agreed: outcome.agreed,
        goal: WithMember::visit(&scenario.setup.algorithm, Goal).unwrap_or_default().to_owned(),
        violation: outcome.violation.as_ref().map(|violation| Violation {
            name: violation.name.to_owned(),
            text: violation.text.to_owned(),
            us: violation.at.as_micros(),
            by: violation.by.iter().copied().map(number).collect(),
        }),
        coordinators: outcome
            .coordinators
            .iter()
            .map(|(id, whom)| (id.number(), whom.map(number)))
            .collect(),
        facts: outcome
            .facts
            .iter()
            .map(|fact| Fact { name: fact.name.to_owned(), text: fact.text.clone() })
            .collect(),
        costs: Vec::new(),
    }
}

struct Goal;

impl Visitor for Goal {
    type Output = &'static str;

    fn visit<A: Algorithm>(self) -> &'static str {
        A::goal().text
    }
}
