//! From flags to what is to be run and done to it.

use super::args::HostArgs;
use crate::planning::{Script, Usual, flag};
use bellwether_algorithms::catalogue::Listed;
use bellwether_core::AnyProcess;
use bellwether_shell::Failure;
use bellwether_sim::workload::Downtime;
use bellwether_sim::{Action, Latency, Network, Plan, units};
use std::time::Duration;

/// Every process is a real one, with connections to all others.
const MOST_NODES: usize = 64;

/// Loopback answers within a millisecond, but on a busy machine a process may have to wait for its
/// turn.
const TIMEOUT: Duration = Duration::from_millis(200);

/// How long a message takes at most when a workload is planned. A busy machine takes longer now and
/// then; the next request then comes too early for once, which does no harm. With T instead, a
/// hundred requests one by one would take minutes.
const HOP: Duration = Duration::from_millis(2);

/// How long a process stays in the critical section by default.
const SECTION: Duration = Duration::from_millis(1);

/// Requests are told to a process through a pipe, which holds some thousands of them; a stopped
/// process reads none.
const MOST_REQUESTS: u64 = 2_000;

/// Real time is random enough; who asks is the same every time.
const SEED: u64 = 0;

/// A real run to come. Its network is what a workload is planned for.
pub(crate) fn plan(algorithm: &Listed, args: &HostArgs) -> Result<Plan<AnyProcess>, Failure> {
    let too_many = |_| {
        format!(
            "at most {MOST_NODES} processes can be hosted on one machine; `bellwether sim` runs \
             millions"
        )
    };
    let cluster = &args.run.cluster;
    let group = cluster.group(algorithm.nodes.unwrap_or(5), MOST_NODES, too_many, |_| {})?;
    let until = args.length.as_deref().map(|text| flag("for", units::time(text))).transpose()?;
    args.run.suits(algorithm)?;
    let mut script = Script::new();
    script.add_each("kill", &args.kill, &group, false, Action::Crash)?;
    script.add_each("revive", &args.revive, &group, true, Action::Recover)?;
    script.add_pauses("stop", &args.stop, &group)?;
    let script = script.finish(algorithm, &args.run, &group, until, in_our_words)?;
    let network = Network::new(Latency::Uniform(Duration::ZERO, HOP));
    let usual = Usual { timeout: TIMEOUT, section: SECTION, most_requests: MOST_REQUESTS };
    let mut plan = args.run.plan(algorithm, group, network, SEED, script, until, &usual)?;
    plan.script.retain(|scheduled| until.is_none_or(|end| scheduled.at <= end));
    // A stable sort: of several at the same time, the first given comes first.
    plan.script.sort_by_key(|scheduled| scheduled.at);
    Ok(plan)
}

/// How many of the inputs are work for a process that is there.
pub(crate) fn work(plan: &Plan<AnyProcess>) -> u64 {
    Downtime::of(&plan.script).work(&plan.algorithm, &plan.script, &plan.group)
}

/// The simulator's processes crash and pause; ours are killed and stopped.
fn in_our_words(why: &str) -> String {
    let why = why.replace("cannot crash", "cannot be killed");
    let why = why.replace("cannot recover", "cannot be revived");
    let why = why.replace("cannot pause", "cannot be stopped");
    why.replace("it crashed at", "it was killed at").replace("it is paused", "it is stopped")
}
