//! Every kind of stranger is refused and counted, while two good processes go on.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::common::{
    CLUSTER, Cluster, Input, Msg, Outputs, Talk, connected, heard, id, soon, until,
};
use crate::common::{answer, framed, rejection, tls};
use bellwether_api::envelope::{self, Body, Envelope, Hello, Letter, Message, Payload};
use bellwether_net::{GREETING_MAX, Options, Reason, Running, certs};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// Two good processes of a group of three: the third number is free to be abused.
struct Scene {
    cluster: Cluster,
    one: Running<Talk>,
    two: Running<Talk>,
    by_one: Outputs,
    said: u64,
}

impl Scene {
    async fn new(change: impl FnOnce(&mut Options)) -> Self {
        let cluster = Cluster::new(3);
        let one = cluster.start_with(1, change);
        let two = cluster.start(2);
        let by_one = one.outputs();
        connected(&one, 1).await;
        connected(&two, 1).await;
        Scene { cluster, one, two, by_one, said: 0 }
    }

    fn refused(&self, reason: Reason) -> u64 {
        self.one.counters().refused.get(&reason).copied().unwrap_or(0)
    }

    /// Waits for the rejection, and checks that the good ones did not notice.
    async fn expect(&mut self, reason: Reason, times: u64) {
        until(reason.name(), || self.refused(reason) >= times).await;
        assert_eq!(self.refused(reason), times);
        self.said += 1;
        self.two.input(Input::Send(id(1), vec![Msg::Say(self.said)])).await;
        let said = self.said;
        while heard(&mut self.by_one).await != (id(2), Msg::Say(said)) {}
        assert_eq!(self.one.counters().reconnects + self.two.counters().reconnects, 0);
    }

    async fn tcp(&self) -> TcpStream {
        TcpStream::connect(&self.cluster.addresses[&id(1)]).await.unwrap()
    }

    /// A TLS connection to the first process with this certificate.
    async fn tls(&self, certificate: Option<&certs::Pair>) -> TlsStream<TcpStream> {
        tls(&self.cluster, certificate).await
    }

    fn pair(&self, number: u32) -> certs::Pair {
        certs::member(CLUSTER, &self.cluster.authority, id(number), 10).unwrap()
    }

    /// Greets as the third process, with changes.
    async fn greet(&self, change: impl FnOnce(&mut Hello)) -> TlsStream<TcpStream> {
        let mut tls = self.tls(Some(&self.pair(3))).await;
        tls.write_all(&framed(&greeting(change))).await.unwrap();
        tls
    }

    /// The same, and is let in.
    async fn enter(&self, instance: u64) -> TlsStream<TcpStream> {
        let mut tls = self.greet(|hello| hello.instance = instance).await;
        assert!(matches!(answer(&mut tls).await, Some(Body::Welcome(_))));
        tls
    }
}

fn greeting(change: impl FnOnce(&mut Hello)) -> Vec<u8> {
    let mut hello = Hello {
        version: envelope::VERSION,
        oldest: envelope::OLDEST,
        cluster: CLUSTER.into(),
        protocol: "talk".into(),
        from: 3,
        to: 1,
        life: 0,
        instance: 1,
        group: 0,
        settings: Vec::new(),
        cluster_id: 0,
        ..<_>::default()
    };
    change(&mut hello);
    Envelope::new(envelope::VERSION, Body::Hello(hello)).encode_to_vec()
}

fn letter(n: u64) -> Vec<u8> {
    let payload = Payload::Serde(postcard::to_stdvec(&Msg::Say(n)).unwrap().into());
    let letter = Letter { seq: n, life: 0, payload: Some(payload) };
    framed(&Envelope::new(envelope::VERSION, Body::Letter(letter)).encode_to_vec())
}

/// Waits until the other side closes.
async fn closed(tls: &mut TlsStream<TcpStream>) {
    let mut rest = Vec::new();
    let _ = soon("the end", tls.read_to_end(&mut rest)).await;
}

#[tokio::test]
async fn certificates_of_strangers() {
    let mut scene = Scene::new(|_| {}).await;
    let mut tls = scene.tls(None).await;
    closed(&mut tls).await;
    scene.expect(Reason::NoCertificate, 1).await;

    let stranger = certs::authority(CLUSTER, 10).unwrap();
    let pair = certs::member(CLUSTER, &stranger, id(3), 10).unwrap();
    let mut tls = scene.tls(Some(&pair)).await;
    closed(&mut tls).await;
    scene.expect(Reason::Tls, 1).await;

    // A member with a valid certificate that claims to be another.
    let mut tls = scene.tls(Some(&scene.pair(2))).await;
    tls.write_all(&framed(&greeting(|_| {}))).await.unwrap();
    assert_eq!(rejection(&mut tls).await.reason(), envelope::Reason::Identity);
    scene.expect(Reason::Identity, 1).await;
}

#[tokio::test]
async fn greetings_of_strangers() {
    let mut scene = Scene::new(|_| {}).await;
    type Change = fn(&mut Hello);
    let cases: [(Change, Reason, envelope::Reason, &str); 6] = [
        (|hello| hello.from = 9, Reason::UnknownId, envelope::Reason::UnknownId, "no member 9"),
        (|hello| hello.from = 1, Reason::UnknownId, envelope::Reason::UnknownId, "number 1"),
        (|hello| hello.cluster = "prod".into(), Reason::Cluster, envelope::Reason::Cluster, "prod"),
        (|hello| hello.to = 2, Reason::Recipient, envelope::Reason::Recipient, "member 2"),
        (
            |hello| hello.protocol = "member".into(),
            Reason::Protocol,
            envelope::Reason::Protocol,
            "`member`",
        ),
        (
            |hello| (hello.version, hello.oldest) = (99, 98),
            Reason::Version,
            envelope::Reason::Version,
            "98 to 99",
        ),
    ];
    for (change, reason, on_the_wire, word) in cases {
        let before = scene.refused(reason);
        let mut tls = scene.greet(change).await;
        let rejection = rejection(&mut tls).await;
        assert_eq!(rejection.reason(), on_the_wire);
        assert!(rejection.text.contains(word), "{}", rejection.text);
        assert_eq!((rejection.version, rejection.oldest), (envelope::VERSION, envelope::OLDEST));
        closed(&mut tls).await;
        scene.expect(reason, before + 1).await;
    }
}

#[tokio::test]
async fn a_duplicated_id() {
    let mut scene =
        Scene::new(|options| options.limits.duplicate_within = Duration::from_secs(60)).await;
    let mut first = scene.enter(1).await;
    let mut second = scene.greet(|hello| hello.instance = 2).await;
    assert_eq!(rejection(&mut second).await.reason(), envelope::Reason::Duplicate);
    scene.expect(Reason::Duplicate, 1).await;
    first.write_all(&letter(7)).await.unwrap();
    assert_eq!(heard(&mut scene.by_one).await, (id(3), Msg::Say(7)));

    // The same process comes back: its new connection replaces the old one.
    let mut again = scene.enter(1).await;
    closed(&mut first).await;
    again.write_all(&letter(8)).await.unwrap();
    assert_eq!(heard(&mut scene.by_one).await, (id(3), Msg::Say(8)));

    // It ends, and another one of its number may come.
    drop(again);
    scene.enter(3).await;
    scene.expect(Reason::Duplicate, 1).await;
}

#[tokio::test]
async fn a_silent_process_does_not_keep_its_successor_out() {
    let scene =
        Scene::new(|options| options.limits.duplicate_within = Duration::from_millis(10)).await;
    let mut first = scene.enter(1).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    scene.enter(2).await;
    closed(&mut first).await;
}

#[tokio::test]
async fn a_greeting_has_a_limit_of_its_own() {
    let mut scene = Scene::new(|options| options.limits.max_frame = 256 << 20).await;
    let large = (GREETING_MAX as u32 + 1).to_be_bytes();
    // It is refused before the rest of it comes.
    let mut tls = scene.tls(Some(&scene.pair(3))).await;
    tls.write_all(&large).await.unwrap();
    let refused = rejection(&mut tls).await;
    assert!(refused.text.contains("larger than allowed"), "{}", refused.text);
    scene.expect(Reason::TooLarge, 1).await;
    // A member that was let in may say more at once.
    let mut tls = scene.enter(1).await;
    tls.write_all(&large).await.unwrap();
    scene.expect(Reason::TooLarge, 1).await;
}

#[tokio::test]
async fn frames_that_are_none() {
    let mut scene = Scene::new(|options| options.limits.max_frame = 5000).await;
    // Too large, before and after the greeting.
    let mut tls = scene.tls(Some(&scene.pair(3))).await;
    tls.write_all(&[0, 1, 0, 0]).await.unwrap();
    closed(&mut tls).await;
    scene.expect(Reason::TooLarge, 1).await;
    let mut tls = scene.enter(1).await;
    tls.write_all(&u32::MAX.to_be_bytes()).await.unwrap();
    closed(&mut tls).await;
    scene.expect(Reason::TooLarge, 2).await;
    drop(tls);

    // Truncated.
    let mut tls = scene.enter(1).await;
    let whole = letter(1);
    tls.write_all(&whole[..whole.len() - 1]).await.unwrap();
    tls.shutdown().await.unwrap();
    closed(&mut tls).await;
    scene.expect(Reason::Malformed, 1).await;
    drop(tls);

    // No envelope, an envelope that is no letter, a letter that is no message.
    let greeting = framed(&greeting(|_| {}));
    let no_message = Letter { seq: 0, life: 0, payload: Some(Payload::Serde(vec![77; 3].into())) };
    let no_message = Envelope::new(envelope::VERSION, Body::Letter(no_message)).encode_to_vec();
    for (count, bytes) in [framed(&[255; 20]), greeting, framed(&no_message)].iter().enumerate() {
        let mut tls = scene.enter(1).await;
        tls.write_all(bytes).await.unwrap();
        closed(&mut tls).await;
        scene.expect(Reason::Malformed, 2 + count as u64).await;
    }

    // A letter where a greeting is due.
    let mut tls = scene.tls(Some(&scene.pair(3))).await;
    tls.write_all(&letter(1)).await.unwrap();
    assert_eq!(rejection(&mut tls).await.reason(), envelope::Reason::Malformed);
    scene.expect(Reason::Malformed, 5).await;
}

#[tokio::test]
async fn random_bytes_instead_of_tls() {
    let mut scene = Scene::new(|_| {}).await;
    for round in 0..20 {
        let bytes: Vec<u8> = (0..500).map(|_| rand::random()).collect();
        let mut tcp = scene.tcp().await;
        // TLS would wait for the rest of a record of this length.
        let _ = tcp.write_all(&bytes).await;
        let _ = tcp.shutdown().await;
        let mut rest = Vec::new();
        let _ = soon("the end", tcp.read_to_end(&mut rest)).await;
        scene.expect(Reason::Tls, round + 1).await;
    }
}

#[tokio::test]
async fn slow_strangers() {
    let mut scene = Scene::new(|options| {
        options.limits.greeting_within = Duration::from_secs(1);
        options.limits.stalled_after = Duration::from_millis(300);
    })
    .await;
    // One says nothing, one dribbles, one never finishes its greeting, one its first message.
    let silent = scene.tcp().await;
    scene.expect(Reason::Slow, 1).await;
    drop(silent);
    let mut dribbling = scene.tcp().await;
    // The beginning of a TLS record of 512 bytes with a client's first message in it.
    let beginning = [22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3];
    soon("the end of the dribbling", async {
        for byte in beginning.into_iter().chain(std::iter::repeat(0)) {
            let _ = dribbling.write_all(&[byte]).await;
            tokio::time::sleep(Duration::from_millis(20)).await;
            if scene.refused(Reason::Slow) == 2 {
                break;
            }
        }
    })
    .await;
    let mut tls = scene.tls(Some(&scene.pair(3))).await;
    tls.write_all(&framed(&greeting(|_| {}))[..10]).await.unwrap();
    closed(&mut tls).await;
    scene.expect(Reason::Slow, 3).await;
    let mut tls = scene.enter(1).await;
    tls.write_all(&letter(1)[..6]).await.unwrap();
    closed(&mut tls).await;
    scene.expect(Reason::Slow, 4).await;
    // Silence after the greeting is no fault.
    let mut quiet = scene.enter(1).await;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    quiet.write_all(&letter(9)).await.unwrap();
    assert_eq!(heard(&mut scene.by_one).await, (id(3), Msg::Say(9)));
}

/// A large piece of a log takes long on a slow link. The sender is known, and something keeps coming.
#[tokio::test]
async fn a_slow_link_is_no_reason_to_close_a_members_connection() {
    let mut scene =
        Scene::new(|options| options.limits.stalled_after = Duration::from_millis(300)).await;
    let mut tls = scene.enter(1).await;
    let payload = Payload::Serde(postcard::to_stdvec(&Msg::Bulk(vec![7; 20])).unwrap().into());
    let letter = Letter { seq: 1, life: 0, payload: Some(payload) };
    let bytes = framed(&Envelope::new(envelope::VERSION, Body::Letter(letter)).encode_to_vec());
    for part in bytes.chunks(bytes.len().div_ceil(10)) {
        tls.write_all(part).await.unwrap();
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
    assert_eq!(heard(&mut scene.by_one).await, (id(3), Msg::Bulk(vec![7; 20])));
    assert_eq!(scene.refused(Reason::Slow), 0);
}

#[tokio::test]
async fn a_crowd_of_strangers_does_not_keep_a_member_out() {
    let mut scene = Scene::new(|options| {
        options.limits.ungreeted = 8;
        options.limits.greeting_within = Duration::from_secs(60);
    })
    .await;
    let mut crowd = Vec::new();
    for _ in 0..40 {
        crowd.push(scene.tcp().await);
    }
    until("the crowd to thin out", || scene.refused(Reason::Overflow) >= 32).await;
    let mut member = scene.enter(1).await;
    member.write_all(&letter(5)).await.unwrap();
    assert_eq!(heard(&mut scene.by_one).await, (id(3), Msg::Say(5)));
    scene.expect(Reason::Overflow, 33).await;
}
