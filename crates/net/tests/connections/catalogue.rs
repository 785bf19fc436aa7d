//! A catalogue algorithm runs over the network without any code of its own for that.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::common::{Cluster, id, soon};
use bellwether_algorithms::definition::{Algorithm, Settings};
use bellwether_algorithms::election::{Bully, Watched};
use bellwether_core::Call;
use bellwether_net::{Coded, Journal, Payload, Protocol, Step, start_with_journal};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

type Election = Watched<Bully>;

/// What a journal is told of a message: who sent it, in which life, as which of its messages.
type Received = Arc<Mutex<Vec<(u32, u64, u64)>>>;

struct Notes(Received);

impl Journal<Election> for Notes {
    fn record(&mut self, step: &Step<Election>) -> io::Result<()> {
        if let (Call::Message(from, _), (life, seq)) = (&step.call, step.origin) {
            self.0.lock().unwrap().push((from.number(), life, seq));
        }
        Ok(())
    }
}

#[tokio::test]
async fn three_processes_elect_the_largest_and_then_the_next() {
    let cluster = Cluster::new(3);
    let settings = Settings {
        detection: true,
        acknowledge: true,
        ..Settings::new(Duration::from_millis(300))
    };
    let heard = Received::default();
    let mut nodes: Vec<_> = (1..=3)
        .map(|number| {
            let config = Election::definition().config(&settings, &cluster.group);
            let mut options = cluster.options(number);
            options.life = 4;
            let journal: Box<dyn Journal<Election>> = Box::new(Notes(heard.clone()));
            let protocol = Coded::new("host/bully", Election::definition().codec);
            start_with_journal(protocol, config, options, Some(journal)).unwrap()
        })
        .collect();
    for node in &nodes {
        node.input(Election::definition().input("start").unwrap()).await;
    }
    let agree = async |nodes: &[bellwether_net::Running<_>], wanted: u32| {
        for node in nodes {
            let follows = async || {
                node.inspect(|view: &bellwether_net::View<'_, Election>| {
                    Election::definition().coordinator_of(view.process)
                })
                .await
                .unwrap()
            };
            while follows().await != Some(id(wanted)) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    };
    soon("the first election", agree(&nodes, 3)).await;
    nodes.pop().unwrap().stop().await.unwrap();
    soon("the second election", agree(&nodes, 2)).await;

    let heard = heard.lock().unwrap();
    assert!(heard.iter().all(|(_, life, _)| *life == 4));
    let mut names = heard.clone();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), heard.len(), "a message was named or delivered twice");
}

#[test]
fn nonsense_is_no_message() {
    let protocol = Coded::new("host/bully", Election::definition().codec);
    assert_eq!(protocol.name(), "host/bully");
    assert!(protocol.decode(Payload::Serde(vec![255; 9].into())).is_err());
    assert!(protocol.decode(Payload::Member(vec![].into())).is_err());
    let durable = <Election as bellwether_core::Process>::durable(&Election::default());
    let mut bytes = protocol.encode_durable(&durable);
    assert_eq!(protocol.decode_durable(&bytes).unwrap(), durable);
    bytes.push(0);
    assert!(protocol.decode_durable(&bytes).is_err(), "something was left over");
}
