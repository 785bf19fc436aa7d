//! Everything that elections and members really say to each other, in random runs with faults.

use crate::for_every_election;
use bellwether_algorithms::catalogue::Algorithm;
use bellwether_algorithms::election::{self, Election, Watched};
use bellwether_api::member::{decode, decode_durable, encode, encode_durable};
use bellwether_core::{Message, Process, Time};
use bellwether_member::{Member, Msg};
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
            self.travel(&Msg::Election(msg.clone()));
        }
    }

    fn stepped(&mut self, _: usize, _: &Watched<E>) {}
}

impl<E: Election> Observer<Member<E>> for Journeys<E> {
    const ACTIVE: bool = true;

    fn event(&mut self, _: Time, _: usize, event: Seen<'_, Member<E>>) {
        if let Seen::Send { msg, .. } = event {
            self.travel(msg);
        }
    }

    fn stepped(&mut self, _: usize, member: &Member<E>) {
        let durable = member.durable();
        assert_eq!(decode_durable(&encode_durable(&durable)), Ok(durable));
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
