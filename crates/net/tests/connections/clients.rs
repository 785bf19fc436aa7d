//! Clients come to the members' address and are handed over; no caller is taken for another.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::common::{CLUSTER, Cluster, Talk, framed, id, rejection, soon, tls, until};
use bellwether_api::envelope::{self, Body, ClientHello, ClientWelcome, Envelope, Hello, Message};
use bellwether_net::frame::Frames;
use bellwether_net::{
    ClientConnection, ClientIdentity, NoConnection, Reason, Running, certs, frame,
};
use bytes::BytesMut;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;

const WITHIN: Duration = Duration::from_secs(30);

/// One member of two that serves clients.
fn member(cluster: &Cluster) -> (Running<Talk>, mpsc::Receiver<ClientConnection>) {
    let (clients, served) = mpsc::channel(4);
    (cluster.start_with(1, |options| options.clients = Some(clients)), served)
}

fn pair(cluster: &Cluster) -> certs::Pair {
    certs::client(CLUSTER, &cluster.authority, "app", 10).unwrap()
}

fn identity(cluster: &Cluster, pair: &certs::Pair) -> ClientIdentity {
    let ca = &cluster.authority.certificate;
    ClientIdentity::from_pem(ca, &pair.certificate, &pair.key).unwrap()
}

fn hello(cluster: &str) -> Vec<u8> {
    let hello = ClientHello {
        version: envelope::VERSION,
        oldest: envelope::OLDEST,
        cluster: cluster.into(),
        client: "job 7".into(),
    };
    framed(&Envelope::new(envelope::VERSION, Body::ClientHello(hello)).encode_to_vec())
}

async fn refused(running: &Running<Talk>, reason: Reason) {
    until(reason.name(), || running.counters().refused.contains_key(&reason)).await;
}

#[tokio::test]
async fn a_client_is_handed_over_with_all_that_it_said() {
    let cluster = Cluster::new(2);
    let (_member, mut served) = member(&cluster);
    let client = identity(&cluster, &pair(&cluster));
    assert_eq!((client.cluster(), client.name()), (CLUSTER, "app"));
    let address = &cluster.addresses[&id(1)];
    let (mut stream, who) = soon("a connection", client.connect(address, WITHIN)).await.unwrap();
    assert_eq!(who, id(1));

    // Greeting and first frames in one write: what was read too far must not be lost.
    let mut bytes = hello(CLUSTER);
    bytes.extend(framed(b"one"));
    bytes.extend(framed(b"two"));
    stream.write_all(&bytes).await.unwrap();
    let mut guest = soon("the client", served.recv()).await.unwrap();
    assert_eq!((guest.name.as_str(), guest.version), ("app", envelope::VERSION));
    assert_eq!(guest.hello.client, "job 7");
    let mut heard = Vec::new();
    while heard.len() < 2 {
        let take = |content: &[u8]| {
            heard.push(content.to_vec());
            Ok(())
        };
        soon("its frames", guest.frames.each(take)).await.unwrap();
    }
    assert_eq!(heard, [b"one", b"two"]);

    let welcome = ClientWelcome { member: 1, ..ClientWelcome::default() };
    let welcome = Envelope::new(guest.version, Body::ClientWelcome(welcome));
    let mut bytes = BytesMut::new();
    assert!(frame::put(&welcome, usize::MAX, &mut bytes));
    frame::write(&mut guest.out, &bytes, WITHIN).await.unwrap();
    let mut frames = Frames::new(stream, 1 << 20, WITHIN);
    let (answer, _) = soon("a welcome", frames.next()).await.unwrap().unwrap();
    assert_eq!(answer, welcome);
    drop(guest);
    assert!(soon("the end", frames.next()).await.unwrap().is_none());
}

#[tokio::test]
async fn a_client_cannot_speak_as_a_member() {
    let cluster = Cluster::new(2);
    let (member, mut served) = member(&cluster);
    let mut stream = tls(&cluster, Some(&pair(&cluster))).await;
    let hello = Hello {
        version: envelope::VERSION,
        oldest: envelope::OLDEST,
        cluster: CLUSTER.into(),
        protocol: "talk".into(),
        from: 2,
        to: 1,
        ..Hello::default()
    };
    let hello = Envelope::new(envelope::VERSION, Body::Hello(hello)).encode_to_vec();
    stream.write_all(&framed(&hello)).await.unwrap();
    assert_eq!(rejection(&mut stream).await.reason(), envelope::Reason::Identity);
    refused(&member, Reason::Identity).await;
    assert!(served.try_recv().is_err());
}

#[tokio::test]
async fn a_member_cannot_speak_as_a_client() {
    let cluster = Cluster::new(2);
    let (member, mut served) = member(&cluster);
    let own = certs::member(CLUSTER, &cluster.authority, id(2), 10).unwrap();
    let mut stream = tls(&cluster, Some(&own)).await;
    stream.write_all(&hello(CLUSTER)).await.unwrap();
    let rejection = rejection(&mut stream).await;
    assert_eq!(rejection.reason(), envelope::Reason::Identity);
    assert!(rejection.text.contains("--client"), "{}", rejection.text);
    refused(&member, Reason::Identity).await;
    assert!(served.try_recv().is_err());
    // Nor does it load as one.
    let ca = &cluster.authority.certificate;
    let error = ClientIdentity::from_pem(ca, &own.certificate, &own.key).unwrap_err().to_string();
    assert!(error.contains("member-2.test.bellwether") && error.contains("--client"), "{error}");
}

#[tokio::test]
async fn a_strangers_client_is_refused() {
    let cluster = Cluster::new(2);
    let (member, mut served) = member(&cluster);
    let stranger = certs::authority(CLUSTER, 10).unwrap();
    let own = certs::client(CLUSTER, &stranger, "app", 10).unwrap();
    let mut stream = tls(&cluster, Some(&own)).await;
    let _ = stream.write_all(&hello(CLUSTER)).await;
    refused(&member, Reason::Tls).await;

    // One of another cluster of the same authority.
    let own = certs::client("prod", &cluster.authority, "app", 10);
    assert!(own.is_err(), "the authority's name says for which cluster it signs");
    let mut stream = tls(&cluster, Some(&pair(&cluster))).await;
    stream.write_all(&hello("prod")).await.unwrap();
    assert_eq!(rejection(&mut stream).await.reason(), envelope::Reason::Cluster);
    assert!(served.try_recv().is_err());
}

#[tokio::test]
async fn a_client_does_not_believe_a_stranger() {
    let (cluster, other) = (Cluster::new(2), Cluster::new(2));
    let (_member, _served) = member(&other);
    let client = identity(&cluster, &pair(&cluster));
    let address = &other.addresses[&id(1)];
    let refused = soon("a connection", client.connect(address, WITHIN)).await;
    assert!(matches!(refused, Err(NoConnection::Tls(_))), "{refused:?}");

    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = closed.local_addr().unwrap().to_string();
    drop(closed);
    let refused = soon("a connection", client.connect(&address, WITHIN)).await;
    assert!(matches!(refused, Err(NoConnection::Unreachable(_))), "{refused:?}");
}

#[tokio::test]
async fn clients_are_refused_where_no_service_takes_them() {
    let cluster = Cluster::new(2);
    let member = cluster.start(1);
    let mut stream = tls(&cluster, Some(&pair(&cluster))).await;
    stream.write_all(&hello(CLUSTER)).await.unwrap();
    let rejection = rejection(&mut stream).await;
    assert_eq!(rejection.reason(), envelope::Reason::Protocol);
    assert!(rejection.text.contains("no clients"), "{}", rejection.text);
    refused(&member, Reason::Protocol).await;
}
