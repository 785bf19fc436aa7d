//! Everything that members really send to each other, in random runs with faults.

use bellwether_algorithms::definition::Algorithm;
use bellwether_algorithms::election::any::Choice;
use bellwether_coordination::Coordination;
use bellwether_core::{Message, Time};
use bellwether_member::service::Msg;
use bellwether_member::{Member, Msg as OfMember};
use bellwether_node::codec::{decode, encode};
use bellwether_sim::{Observer, Seen, chaos};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Sends every message on a journey, and remembers what kinds there were.
struct Journeys {
    election: Choice,
    /// Of the election's messages.
    elections: BTreeSet<&'static str>,
    /// Of all other messages.
    others: BTreeSet<&'static str>,
}

impl Observer<Member<Coordination>> for &mut Journeys {
    const ACTIVE: bool = true;

    fn event(&mut self, _: Time, _: usize, event: Seen<'_, Member<Coordination>>) {
        let Seen::Send { msg, .. } = event else { return };
        let kinds = match msg {
            OfMember::Election(_) => &mut self.elections,
            OfMember::Log(_) | OfMember::Pass | OfMember::View(_) => &mut self.others,
        };
        let msg = Msg::Member(msg.clone());
        kinds.insert(msg.kind().name);
        assert_eq!(decode(self.election, &encode(&msg)), Ok(msg));
    }

    fn stepped(&mut self, _: usize, _: &Member<Coordination>) {}
}

fn run(election: Choice, seeds: u64) -> Journeys {
    let (elections, others) = (BTreeSet::new(), BTreeSet::new());
    let mut journeys = Journeys { election, elections, others };
    let member = Arc::new(Member::<Coordination>::definition());
    for seed in 0..seeds {
        let mut plan = chaos::random_plan(&member, seed);
        plan.settings.options.set("election", election.name());
        plan.run(&mut journeys);
    }
    journeys
}

/// The kinds of messages that an election sends, after each of them has travelled well.
pub(crate) fn kinds_sent(election: Choice) -> BTreeSet<&'static str> {
    run(election, 60).elections
}

#[test]
fn whatever_a_member_says_arrives() {
    for election in Choice::ALL.iter().copied() {
        let kinds = run(election, 20).others;
        // A hand-over needs an operator or a recovery at the right moment: the examples have it.
        for kind in ["REQUEST-VOTE", "VOTE", "APPEND", "HEARTBEAT", "ACK", "VIEW"] {
            assert!(kinds.contains(kind), "{election}: {kind} not in {kinds:?}");
        }
    }
}
