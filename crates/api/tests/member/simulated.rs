//! Everything that elections and members really say to each other, in random runs with faults.

use crate::for_every_election;
use bellwether_algorithms::catalogue::Algorithm;
use bellwether_algorithms::election::{self, Election, Watched};
use bellwether_api::member::{decode, decode_durable, encode, encode_durable};
use bellwether_core::{Message, Process, Time};
use bellwether_duties::Duties;
use bellwether_member::steward::Msg;
use bellwether_member::{Member, Msg as OfMember, mandate};
use bellwether_sim::{Observer, Seen, chaos};
use std::collections::BTreeSet;
use std::marker::PhantomData;

/// Sends every message and all durable state on a journey, and remembers what kinds there were.
struct Journeys<E> {
    kinds: BTreeSet<&'static str>,
    election: PhantomData<E>,
}

impl<E> Default for Journeys<E> {
    fn default() -> Self {
        Journeys { kinds: BTreeSet::new(), election: PhantomData }
    }
}

impl<E: Election> Journeys<E> {
    fn travel(&mut self, msg: &Msg<E::Msg>) {
        self.kinds.insert(msg.kind().name);
        assert_eq!(decode::<E>(&encode::<E>(msg)).as_ref(), Ok(msg));
    }
}

impl<E: Election> Observer<Watched<E>> for Journeys<E> {
    const ACTIVE: bool = true;

    fn event(&mut self, _: Time, _: usize, event: Seen<'_, Watched<E>>) {
        if let Seen::Send { msg: election::Msg::Election(msg), .. } = event {
            self.travel(&Msg::Member(OfMember::Election(msg.clone())));
        }
    }

    fn stepped(&mut self, _: usize, _: &Watched<E>) {}
}

impl<E: Election> Observer<Member<E>> for Journeys<E> {
    const ACTIVE: bool = true;

    fn event(&mut self, _: Time, _: usize, event: Seen<'_, Member<E>>) {
        if let Seen::Send { msg, .. } = event {
            self.travel(&Msg::Member(match msg {
                OfMember::Election(msg) => OfMember::Election(msg.clone()),
                OfMember::Mandate(msg) => OfMember::Mandate(without_changes(msg)),
            }));
        }
    }

    fn stepped(&mut self, _: usize, member: &Member<E>) {
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

fn run<A: Algorithm, E: Election>(seeds: u64) -> BTreeSet<&'static str>
where
    Journeys<E>: Observer<A>,
{
    let mut kinds = BTreeSet::new();
    for seed in 0..seeds {
        let (_, seen) = chaos::random_plan::<A>(seed).run(Journeys::<E>::default());
        kinds.extend(seen.kinds);
    }
    kinds
}

/// The kinds of messages that an election sends, after each of them has travelled well.
pub(crate) fn kinds_sent<E: Election>() -> BTreeSet<&'static str> {
    run::<Watched<E>, E>(60)
}

#[test]
fn whatever_a_member_says_arrives() {
    fn check<E: Election>() {
        let kinds = run::<Member<E>, E>(20);
        // A hand-over needs an operator or a recovery at the right moment: the examples have it.
        for kind in ["PREPARE", "PROMISE", "WAIT", "SPREAD", "BEAT", "ACK"] {
            assert!(kinds.contains(kind), "{}: {kind} not in {kinds:?}", E::ENTRY.name);
        }
    }
    for_every_election!(check);
}
