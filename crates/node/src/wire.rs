//! How the member meets the network and the disk: its messages as protobuf, its log in a folder.

use crate::clients::RequestQueue;
use crate::codec::{self, LastEntries};
use crate::store::{HasLog, LogStore};
use bellwether_algorithms::election::any::Choice;
use bellwether_coordination::Coordination;
use bellwether_core::NodeId;
use bellwether_log::{Ack, Durability, Incarnation, Log, Msg as OfLog};
use bellwether_member::service::{Config, Input, Msg, Output};
use bellwether_member::{Event, Msg as Member, Service};
use bellwether_net::durable::{DurableError, Owner};
use bellwether_net::{Hint, Malformed, Membership, Opened, Payload, Protocol, View};
use std::path::Path;
use std::sync::Arc;
use std::task::Waker;

/// The protocol of the production member.
#[derive(Debug)]
pub struct Wire {
    /// Its election: messages of another one are refused.
    pub election: Choice,
    /// Whether the log is kept on disk.
    pub durability: Durability,
    /// Where the member meets its clients.
    pub(crate) requests: Arc<RequestQueue>,
    pub(crate) last_entries: LastEntries,
}

impl HasLog for Service {
    type Machine = Coordination;

    fn log(&self) -> &Log<Coordination> {
        Service::log(self)
    }
}

impl Wire {
    /// The name of the protocol, which data folders carry, too.
    pub(crate) const NAME: &str = "member/2";
}

impl Protocol for Wire {
    type Process = Service;
    type Store = LogStore<Coordination>;

    fn name(&self) -> &str {
        Wire::NAME
    }

    fn encode(&self, msg: &Msg) -> Payload {
        Payload::Member(self.last_entries.encode(msg).into())
    }

    fn decode(&self, payload: Payload) -> Result<Msg, Malformed> {
        match payload {
            Payload::Member(bytes) => codec::decode(self.election, &bytes).map_err(refused),
            Payload::Serde(_) => Err(Malformed::new("a hosted algorithm's message to a member")),
        }
    }

    fn supersedes(&self, newer: &Msg, older: &Msg) -> bool {
        match (newer, older) {
            (Msg::Member(Member::Log(newer)), Msg::Member(Member::Log(older))) => {
                replaces(newer, older)
            }
            (Msg::Member(Member::View(_)), Msg::Member(Member::View(_))) => true,
            _ => false,
        }
    }

    fn can_wait(&self, sender: &View<'_, Service>, to: NodeId, msg: &Msg) -> bool {
        let View { process, here, config, .. } = sender;
        // A heartbeat without entries saves nothing by waiting, and an alarm costs more than the write.
        let Msg::Member(Member::Log(OfLog::Append { entries, .. })) = msg else { return false };
        !entries.is_empty() && process.member().is_spare(to, here, &config.member)
    }

    fn may_precede_save(&self, store: &Self::Store, process: &Service, msg: &Msg) -> bool {
        let asks = matches!(msg, Msg::Member(Member::Log(OfLog::RequestVote { .. })));
        asks && store.lacks_only_a_promise(HasLog::log(process))
    }

    fn open(&self, path: &Path, owner: Owner) -> Result<Opened<Self>, DurableError> {
        LogStore::open(path, owner, self.durability)
    }

    fn cluster_id(&self, process: &Service, config: &Config) -> Option<u64> {
        process.log().cluster(&config.member.log).map(|id| id.number())
    }

    fn has_settings(&self, process: &Service) -> bool {
        process.log().committed_leases().is_some()
    }

    fn asked(&self, waker: Option<&Waker>) -> Option<Input> {
        self.requests.take(waker).map(Input::Requests)
    }

    /// What clients are told, in the order in which the member says it.
    fn pass_on(&self, output: Output) -> Option<Output> {
        match &output {
            Output::Replies(_) => {}
            Output::Coordinator(id, term) => {
                self.requests.announce(id.map(NodeId::number), term.number());
            }
            Output::Event(Event::Members { members, committed: true }) => {
                let seats = members.seats.iter();
                self.requests.know_members(
                    seats.map(|(id, seat)| (id.number(), seat.address.to_string())).collect(),
                );
            }
            Output::Event(Event::LeaseSettings(leases)) => self.requests.know_leases(*leases),
            Output::Event(_) | Output::Noted(_) => {}
        }
        match output {
            Output::Replies(replies) => {
                self.requests.deliver(replies);
                None
            }
            output => Some(output),
        }
    }

    fn members(&self, output: &Output) -> Option<Membership> {
        let Output::Event(Event::Members { members, committed }) = output else { return None };
        let seats = members.seats.iter();
        Some(Membership {
            members: seats.map(|(id, seat)| (*id, seat.address.to_string())).collect(),
            removed: members.removed.iter().map(|(id, birth)| (*id, birth.number())).collect(),
            is_final: *committed,
            has_changed: members.version > 0,
        })
    }

    fn folder(&self, process: &Service) -> u64 {
        process.log().birth().number()
    }

    /// The number of the greeting is that of the heartbeats (G15).
    fn ended(&self, peer: NodeId, instance: u64) -> Option<Input> {
        let ended = bellwether_member::Input::Ended(peer, Incarnation::new(instance));
        Some(Input::Member(ended))
    }

    fn hint(&self, peer: NodeId, hint: Hint) -> Option<Input> {
        let hint = match hint {
            Hint::Refused => bellwether_member::Hint::Refused,
            Hint::Closed => bellwether_member::Hint::Closed,
            Hint::Removed => bellwether_member::Hint::Removed,
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
/// later heartbeat of the same term, or the answer to a later one.
fn replaces(newer: &OfLog<Coordination>, older: &OfLog<Coordination>) -> bool {
    match (newer, older) {
        (
            OfLog::Append { beat, entries, .. },
            OfLog::Append { beat: before, entries: earlier, .. },
        ) => {
            let are_heartbeats = entries.is_empty() && earlier.is_empty();
            are_heartbeats && beat.term == before.term && beat.sent >= before.sent
        }
        (OfLog::Ack(ack), OfLog::Ack(before)) => says_more(ack, before),
        _ => false,
    }
}

fn says_more(ack: &Ack, before: &Ack) -> bool {
    ack.term == before.term
        && (ack.start, ack.birth) == (before.start, before.birth)
        && ack.sent >= before.sent
        && ack.matched >= before.matched
        && ack.holds >= before.holds
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellwether_core::Time;
    use bellwether_log::{
        Birth, Entries, Entry, Heartbeat, Incarnation, Index, Payload as Says, Position, Term,
    };
    use bellwether_member::Choices;

    fn beat(term: u64, sent: u64) -> Heartbeat {
        Heartbeat {
            term: Term::new(term),
            generation: 0,
            sent: Time::from_micros(sent),
            commit: Index::ZERO,
            last: Position::ZERO,
            appointed: false,
            welcome: None,
            incarnation: Incarnation::UNKNOWN,
            lease_us: 500_000,
        }
    }

    fn heartbeat(term: u64, sent: u64) -> OfLog<Coordination> {
        let (beat, prev) = (beat(term, sent), Position::ZERO);
        OfLog::Append { beat, prev, entries: Arc::new([]) }
    }

    fn ack(sent: u64, matched: u64) -> Ack {
        Ack {
            term: Term::new(2),
            sent: Time::from_micros(sent),
            clock: Time::ZERO,
            matched: Index::new(matched),
            holds: true,
            start: 1,
            lost: false,
            birth: Birth::new(1),
            lease_us: 500_000,
        }
    }

    #[test]
    fn only_a_newer_heartbeat_replaces_an_older_one() {
        assert!(replaces(&heartbeat(2, 20), &heartbeat(2, 10)));
        assert!(!replaces(&heartbeat(2, 10), &heartbeat(2, 20)), "it is older");
        assert!(!replaces(&heartbeat(3, 20), &heartbeat(2, 10)), "it is of another term");
        assert!(!replaces(&heartbeat(2, 20), &OfLog::Claim { term: Term::new(2) }));
        let member = NodeId::new(1);
        let payload = Says::Joined { member, birth: Birth::new(1) };
        let entry = Arc::new(Entry { position: Position::new(2, 1), payload });
        let (beat, prev) = (beat(2, 10), Position::ZERO);
        let append = OfLog::Append { beat, prev, entries: Arc::new([entry]) };
        assert!(!replaces(&heartbeat(2, 20), &append), "entries are not repeated");
    }

    #[test]
    fn only_an_acknowledgement_that_says_more_replaces_another() {
        assert!(says_more(&ack(20, 5), &ack(10, 5)) && !says_more(&ack(10, 5), &ack(20, 5)));
        assert!(!says_more(&ack(20, 4), &ack(10, 5)), "the older one tells of more entries");
        assert!(!says_more(&Ack { holds: false, ..ack(20, 5) }, &ack(10, 5)), "it grants no lease");
        assert!(!says_more(&Ack { start: 2, ..ack(20, 5) }, &ack(10, 5)), "of another start");
        assert!(!replaces(&OfLog::Ack(ack(20, 5)), &heartbeat(2, 10)));
    }

    #[test]
    fn what_is_packed_once_is_the_same_for_all_followers_and_another_list_is_packed_again() {
        let last = LastEntries::default();
        let member = NodeId::new(1);
        let entry = |birth| {
            let payload = Says::Joined { member, birth: Birth::new(birth) };
            Arc::new(Entry { position: Position::new(2, 1), payload })
        };
        let append = |sent, entries: &Entries<Coordination>| {
            let (beat, prev, entries) = (beat(2, sent), Position::ZERO, entries.clone());
            Msg::Member(Member::Log(OfLog::Append { beat, prev, entries }))
        };
        let (one, other, none): (
            Entries<Coordination>,
            Entries<Coordination>,
            Entries<Coordination>,
        ) = ([entry(1)].into(), [entry(2)].into(), [].into());
        for (sent, entries) in (0..).zip([&one, &one, &other, &one, &none, &other]) {
            let msg = append(sent, entries);
            assert_eq!(last.encode(&msg), codec::encode(&msg));
        }
    }

    #[test]
    fn a_message_and_a_hint_survive_the_journey() {
        let requests = RequestQueue::new(Choices::default().leases());
        let (election, last_entries) = (Choice::Bully, LastEntries::default());
        let wire = Wire { election, durability: Durability::Disk, requests, last_entries };
        let msg = Msg::Member(Member::Log(OfLog::Claim { term: Term::new(7) }));
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
