//! Everything that members really say to each other, in random runs with faults.

use bellwether_algorithms::definition::Algorithm;
use bellwether_algorithms::election::any::Choice;
use bellwether_core::{Message, Process, Time};
use bellwether_duties::Duties;
use bellwether_member::steward::Msg;
use bellwether_member::{Member, Msg as OfMember, mandate};
use bellwether_node::codec::{decode, decode_durable, encode, encode_durable};
use bellwether_sim::{Observer, Seen, chaos};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Sends every message and all durable state on a journey, and remembers what kinds there were.
struct Journeys {
    election: Choice,
    /// Of the election's messages.
    elections: BTreeSet<&'static str>,
    /// Of the mandate's messages.
    mandates: BTreeSet<&'static str>,
}

impl Observer<Member> for &mut Journeys {
    const ACTIVE: bool = true;

    fn event(&mut self, _: Time, _: usize, event: Seen<'_, Member>) {
        let Seen::Send { msg, .. } = event else { return };
        let (kinds, msg) = match msg {
            OfMember::Election(msg) => (&mut self.elections, OfMember::Election(msg.clone())),
            OfMember::Mandate(msg) => (&mut self.mandates, OfMember::Mandate(without_changes(msg))),
        };
        let msg = Msg::Member(msg);
        kinds.insert(msg.kind().name);
        assert_eq!(decode(self.election, &encode(&msg)), Ok(msg));
    }

    fn stepped(&mut self, _: usize, member: &Member) {
        let durable = member.durable();
        assert_eq!(decode_durable(&encode_durable(&durable)), Ok(durable));
    }
}

/// The same message between members that have duties, of which nobody has asked anything.
fn without_changes(msg: &mandate::Msg<()>) -> mandate::Msg<Duties> {
    use mandate::Msg as M;
    match msg.clone() {
        M::Prepare { epoch, version } => M::Prepare { epoch, version },
        M::Promise { epoch, version, copy } => {
            M::Promise { epoch, version, copy: copy.map(|_| Default::default()) }
        }
        M::Wait { epoch, leader } => M::Wait { epoch, leader },
        M::Refuse { epoch, promised } => M::Refuse { epoch, promised },
        M::Spread { epoch, sent, version, appointed, start, .. } => {
            M::Spread { epoch, sent, version, copy: Default::default(), appointed, start }
        }
        M::Append { .. } => unreachable!("there is nothing to change"),
        M::Beat { epoch, sent, appointed, view, sequence } => {
            M::Beat { epoch, sent, appointed, view, sequence }
        }
        M::Ack { epoch, sent, clock, held } => M::Ack { epoch, sent, clock, held },
        M::Lack { epoch, held, start } => M::Lack { epoch, held, start },
        M::Claim { epoch } => M::Claim { epoch },
        M::Release { epoch, to, appointed } => M::Release { epoch, to, appointed },
    }
}

fn run(election: Choice, seeds: u64) -> Journeys {
    let (elections, mandates) = (BTreeSet::new(), BTreeSet::new());
    let mut journeys = Journeys { election, elections, mandates };
    let member = Arc::new(Member::definition());
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
        let kinds = run(election, 20).mandates;
        // A hand-over needs an operator or a recovery at the right moment: the examples have it.
        for kind in ["PREPARE", "PROMISE", "WAIT", "SPREAD", "BEAT", "ACK"] {
            assert!(kinds.contains(kind), "{election}: {kind} not in {kinds:?}");
        }
    }
}
