//! How the member meets the network: its messages as protobuf, its durable state in a file.

use crate::codec;
use bellwether_algorithms::election::any::Choice;
use bellwether_core::NodeId;
use bellwether_duties::Duties;
use bellwether_member::Msg as Member;
use bellwether_member::mandate::Msg as Mandate;
use bellwether_member::steward::{Input, Msg};
use bellwether_member::{Durable, Steward};
use bellwether_net::{Hint, Malformed, Payload, Protocol, View};

/// The protocol of the production member.
#[derive(Clone, Copy, Debug)]
pub struct Wire {
    /// Its election: messages of another one are refused.
    pub election: Choice,
}

impl Protocol for Wire {
    type Process = Steward;

    fn name(&self) -> &str {
        "member"
    }

    fn encode(&self, msg: &Msg) -> Payload {
        Payload::Member(codec::encode(msg).into())
    }

    fn decode(&self, payload: Payload) -> Result<Msg, Malformed> {
        match payload {
            Payload::Member(bytes) => codec::decode(self.election, &bytes).map_err(refused),
            Payload::Serde(_) => Err(Malformed::new("a hosted algorithm's message to a member")),
        }
    }

    fn supersedes(&self, newer: &Msg, older: &Msg) -> bool {
        match (newer, older) {
            (Msg::Member(Member::Mandate(newer)), Msg::Member(Member::Mandate(older))) => {
                replaces(newer, older)
            }
            _ => false,
        }
    }

    fn can_wait(&self, sender: &View<'_, Steward>, to: NodeId, msg: &Msg) -> bool {
        let View { process, here, config, .. } = sender;
        let change = matches!(msg, Msg::Member(Member::Mandate(Mandate::Append { .. })));
        change && process.member().is_spare(to, here, &config.member)
    }

    fn encode_durable(&self, durable: &Durable) -> Vec<u8> {
        codec::encode_durable(durable)
    }

    fn decode_durable(&self, bytes: &[u8]) -> Result<Durable, Malformed> {
        codec::decode_durable(bytes).map_err(Malformed::new)
    }

    fn hint(&self, peer: NodeId, hint: Hint) -> Option<Input> {
        let hint = match hint {
            Hint::Refused => bellwether_member::Hint::Refused,
            Hint::Closed => bellwether_member::Hint::Closed,
        };
        Some(Input::Member(bellwether_member::Input::Hint(peer, hint)))
    }
}

/// What a member of a neighbouring version may have sent is no reason to close its connection.
fn refused(malformed: codec::Malformed) -> Malformed {
    match malformed.is_harmless() {
        true => Malformed::foreign(malformed),
        false => Malformed::new(malformed),
    }
}

/// Whether an older message that still waits says nothing that the newer one does not say better: a
/// later heartbeat of the same mandate, or the answer to a later one. A heartbeat that carries what
/// the leader knows of all members is replaced only by another that does.
fn replaces(newer: &Mandate<Duties>, older: &Mandate<Duties>) -> bool {
    match (newer, older) {
        (
            Mandate::Beat { epoch, sent, view, .. },
            Mandate::Beat { epoch: before, sent: earlier, view: seen, .. },
        ) => epoch == before && sent >= earlier && (seen.is_empty() || !view.is_empty()),
        (
            Mandate::Ack { epoch, sent, held, .. },
            Mandate::Ack { epoch: before, sent: earlier, held: less, .. },
        ) => epoch == before && sent >= earlier && held >= less,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellwether_core::Time;
    use bellwether_member::Epoch;
    use bellwether_member::mandate::Sight;

    fn beat(epoch: u64, sent: u64, view: Vec<Sight>) -> Mandate<Duties> {
        let (epoch, sent) = (Epoch::new(epoch), Time::from_micros(sent));
        Mandate::Beat { epoch, sent, appointed: false, view, sequence: 0 }
    }

    #[test]
    fn only_a_newer_heartbeat_replaces_an_older_one() {
        let plain = |epoch, sent| beat(epoch, sent, Vec::new());
        assert!(replaces(&plain(2, 20), &plain(2, 10)));
        assert!(!replaces(&plain(2, 10), &plain(2, 20)), "it is older");
        assert!(!replaces(&plain(3, 20), &plain(2, 10)), "it is of another mandate");
        assert!(!replaces(
            &plain(2, 20),
            &Mandate::Prepare { epoch: Epoch::new(2), version: Default::default() }
        ));
        let ack = |sent, held| Mandate::<Duties>::Ack {
            epoch: Epoch::new(2),
            sent: Time::from_micros(sent),
            clock: Time::ZERO,
            held,
        };
        assert!(replaces(&ack(20, 5), &ack(10, 5)) && !replaces(&ack(10, 5), &ack(20, 5)));
        assert!(!replaces(&ack(20, 4), &ack(10, 5)), "it has told of more");
        assert!(!replaces(&ack(20, 5), &plain(2, 10)));
    }

    #[test]
    fn a_heartbeat_with_news_waits_for_one_with_newer_news() {
        let sight = Sight { member: NodeId::new(1), heard_ms: Some(5), clock: None };
        let (plain, news) = (beat(2, 20, Vec::new()), beat(2, 10, vec![sight]));
        assert!(!replaces(&plain, &news));
        assert!(replaces(&beat(2, 20, vec![sight]), &news));
        assert!(replaces(&beat(2, 20, vec![sight]), &plain));
    }

    #[test]
    fn a_message_and_a_hint_survive_the_journey() {
        let wire = Wire { election: Choice::Bully };
        let msg = Msg::Member(Member::Mandate(Mandate::Claim { epoch: Epoch::new(7) }));
        assert_eq!(wire.decode(wire.encode(&msg)), Ok(msg));
        assert!(wire.decode(Payload::Member(vec![0xff; 9].into())).is_err());
        assert!(wire.decode(Payload::Serde(vec![1].into())).is_err());
        let hint = wire.hint(NodeId::new(5), Hint::Closed);
        use bellwether_member::Input as Asked;
        let closed = Asked::Hint(NodeId::new(5), bellwether_member::Hint::Closed);
        let closed = Input::Member(closed);
        assert_eq!(format!("{hint:?}"), format!("{:?}", Some(closed)));
    }
}
