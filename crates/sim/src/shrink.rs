//! Making a failing run small: delta debugging over faults and deliveries.
//!
//! First everything that chance decided is written down: the fate of each message becomes a piece
//! of the schedule, like each fault. Then pieces are removed as long as the run still fails in
//! the same way (Zeller and Hildebrandt's ddmin): whole halves first, then quarters, down to
//! single pieces. A message without a written fate simply takes its usual time. A timer that is
//! said to lie is a piece too; what chance decides about the others stays with the seed.

use crate::fault::Scheduled;
use crate::network::{Fate, Latency, Network};
use crate::observer::Silent;
use crate::plan::{FateEntry, Plan};
use bellwether_core::{NodeId, Process, micros};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What is left of a failing run.
#[derive(Debug)]
pub struct Shrunk<P: Process> {
    /// A run that fails in the same way.
    pub plan: Plan<P>,
    /// How many faults, inputs, deliveries and lying timers the original had.
    pub pieces_before: usize,
    /// How many are left.
    pub pieces_after: usize,
    /// How many runs it took.
    pub runs: usize,
}

/// A piece of a schedule that may be removed.
#[derive(Clone)]
enum Piece<I> {
    Action(Scheduled<I>),
    Fate(FateEntry),
    /// A timer by its process and number, and when it fires.
    Timer((NodeId, u32), u64),
}

/// Shrinks a run that violates `name`, in at most this many runs. `None` if the run does not fail
/// once its fates are written down.
pub fn shrink<P: Process>(plan: &Plan<P>, name: &str, most_runs: usize) -> Option<Shrunk<P>> {
    let spelled = plan.spell_out();
    let usual = usual_latency(&plan.network);
    let mut network = Network::new(Latency::Fixed(usual));
    network.reorder = plan.network.reorder;
    let base = Plan { network, script: Vec::new(), ..spelled.clone() };
    let unusual = |entry: &FateEntry| entry.1 != Fate::Arrives(micros(usual));
    let fates = spelled.network.fates.into_iter().filter(unusual).map(Piece::Fate);
    let timers = spelled.network.timers.into_iter();
    let timers = timers.map(|(timer, after)| Piece::Timer(timer, after));
    let actions = spelled.script.into_iter().map(Piece::Action);
    let mut pieces: Vec<Piece<P::Input>> = actions.chain(fates).chain(timers).collect();
    let pieces_before = pieces.len();
    let mut runs = 0;
    let mut fails = |pieces: &[Piece<P::Input>]| {
        runs += 1;
        // A run in which something panics instead is another failure.
        let run = AssertUnwindSafe(|| assemble(&base, pieces).run(Silent).0.violation);
        catch_unwind(run).is_ok_and(|broken| broken.is_some_and(|broken| broken.name == name))
    };
    if !fails(&pieces) {
        return None;
    }
    let mut budget = most_runs;
    let mut size = pieces.len().div_ceil(2).max(1);
    loop {
        let before = pieces.len();
        let mut start = 0;
        while start < pieces.len() && budget > 0 {
            budget -= 1;
            let end = (start + size).min(pieces.len());
            let rest: Vec<_> = pieces[..start].iter().chain(&pieces[end..]).cloned().collect();
            if fails(&rest) {
                pieces = rest;
            } else {
                start = end;
            }
        }
        // Single pieces are tried again until none of them can go.
        if budget == 0 || size == 1 && pieces.len() == before {
            break;
        }
        size = size.div_ceil(2);
    }
    let plan = assemble(&base, &pieces);
    Some(Shrunk { plan, pieces_before, pieces_after: pieces.len(), runs })
}

/// The time that most messages take, as near as matters.
fn usual_latency(network: &Network) -> std::time::Duration {
    match network.latency {
        Latency::Fixed(span) | Latency::Exponential(span) | Latency::LogNormal(span, _) => span,
        Latency::Uniform(low, high) => (low + high) / 2,
    }
}

fn assemble<P: Process>(base: &Plan<P>, pieces: &[Piece<P::Input>]) -> Plan<P> {
    let mut plan = base.clone();
    for piece in pieces {
        match piece {
            Piece::Action(scheduled) => plan.script.push(scheduled.clone()),
            Piece::Fate((message, fate)) => {
                plan.network.fates.insert(*message, *fate);
            }
            Piece::Timer(timer, after) => {
                plan.network.timers.insert(*timer, *after);
            }
        }
    }
    plan
}
