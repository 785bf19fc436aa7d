//! Processes that exchange messages over real TLS on loopback.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::common::{Cluster, Input, Msg, Output, connected, heard, id, said, soon, until};
use bellwether_core::Message;
use bellwether_net::{Dropped, FaultsNotAllowed, Hint, PeerState};
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::sync::broadcast::error::RecvError;

#[tokio::test]
async fn messages_arrive_in_order() {
    let cluster = Cluster::new(3);
    let nodes = [1, 2, 3].map(|number| cluster.start(number));
    let mut outputs = nodes[2].outputs();
    for node in &nodes {
        connected(node, 2).await;
    }
    for (base, node) in [(0, &nodes[0]), (1000, &nodes[1])] {
        for part in 0..5 {
            let words = (0..100).map(|n| Msg::Say(base + part * 100 + n)).collect();
            assert!(node.input(Input::Send(id(3), words)).await);
        }
    }
    let mut next = [0, 1000];
    for _ in 0..1000 {
        let (from, msg) = heard(&mut outputs).await;
        let next = &mut next[from.number() as usize - 1];
        assert_eq!(msg, Msg::Say(*next), "from {from}");
        *next += 1;
    }
    let counters = nodes[0].counters();
    assert_eq!(counters.frames_out, 500);
    assert!(counters.dropped.is_empty(), "{counters:?}");
    let steps = nodes[2].inspect(|view| (view.me, view.process.count)).await;
    assert_eq!(steps, Some((id(3), 0)));
    for node in nodes {
        soon("the stop", node.stop()).await.unwrap();
    }
}

#[tokio::test]
async fn a_message_to_itself_arrives() {
    let cluster = Cluster::new(1);
    let node = cluster.start(1);
    let mut outputs = node.outputs();
    said(&mut outputs, Output::Started(None)).await;
    node.input(Input::Send(id(1), vec![Msg::Say(1), Msg::Say(2)])).await;
    assert_eq!(heard(&mut outputs).await, (id(1), Msg::Say(1)));
    assert_eq!(heard(&mut outputs).await, (id(1), Msg::Say(2)));
    node.input(Input::Send(id(9), vec![Msg::Say(3)])).await;
    until("the drop", || node.counters().dropped.get(&Dropped::NoSuchPeer) == Some(&1)).await;
}

#[tokio::test]
async fn timers_fire_in_the_order_of_their_deadlines() {
    let cluster = Cluster::new(1);
    let node = cluster.start(1);
    let mut outputs = node.outputs();
    for (timer, millis) in [(1, 60), (2, 20), (3, 40)] {
        node.input(Input::Timer(timer, Duration::from_millis(millis))).await;
    }
    node.input(Input::Block(Duration::from_millis(100))).await;
    let mut fired = Vec::new();
    while fired.len() < 3 {
        if let Output::Fired(timer) = soon("timers", outputs.recv()).await.unwrap().1 {
            fired.push(timer);
        }
    }
    assert_eq!(fired, [2, 3, 1]);
}

#[tokio::test]
async fn what_came_during_a_pause_is_heard_before_the_late_timers() {
    let cluster = Cluster::new(2);
    let nodes = [1, 2].map(|number| cluster.start(number));
    let mut outputs = nodes[0].outputs();
    connected(&nodes[1], 1).await;
    connected(&nodes[0], 1).await;
    // Both are in the same thread: the message is on its way when the first one blocks.
    nodes[0].input(Input::Timer(1, Duration::from_millis(5))).await;
    nodes[1].input(Input::Send(id(1), vec![Msg::Say(7)])).await;
    nodes[0].input(Input::Block(Duration::from_millis(100))).await;
    let mut seen = Vec::new();
    while seen.len() < 2 {
        match soon("both", outputs.recv()).await.unwrap().1 {
            Output::Received(..) => seen.push("heard"),
            Output::Fired(_) => seen.push("fired"),
            _ => {}
        }
    }
    assert_eq!(seen, ["heard", "fired"]);
}

#[tokio::test]
async fn a_restarted_peer_is_found_again() {
    let cluster = Cluster::new(2);
    let (one, two) = (cluster.start(1), cluster.start(2));
    let mut outputs = one.outputs();
    connected(&one, 1).await;
    two.stop().await.unwrap();
    said(&mut outputs, Output::Hint(id(2), Hint::Closed)).await;
    until("the loss", || one.peers()[0].outgoing.is_none()).await;

    let two = cluster.start(2);
    let mut heard_by_two = two.outputs();
    connected(&one, 1).await;
    connected(&two, 1).await;
    one.input(Input::Send(id(2), vec![Msg::Say(5)])).await;
    assert_eq!(heard(&mut heard_by_two).await, (id(1), Msg::Say(5)));
    two.input(Input::Send(id(1), vec![Msg::Say(6)])).await;
    assert_eq!(heard(&mut outputs).await, (id(2), Msg::Say(6)));
    assert!(one.counters().reconnects >= 1);
    assert_eq!(one.peers()[0].last_error, None);
}

#[tokio::test]
async fn a_refused_connection_is_hinted_at_once_and_not_again() {
    let mut cluster = Cluster::new(2);
    // A port that no process listens on: it was bound a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    cluster.addresses.insert(id(2), free.local_addr().unwrap().to_string());
    drop(free);
    let one = cluster.start(1);
    let mut outputs = one.outputs();
    said(&mut outputs, Output::Hint(id(2), Hint::Refused)).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    while let Ok((_, output)) = outputs.try_recv() {
        assert!(!matches!(output, Output::Hint(..)), "told again");
    }
    assert!(one.peers()[0].last_error.is_some());
}

#[tokio::test]
async fn what_is_queued_is_sent_before_a_stop() {
    let cluster = Cluster::new(2);
    let (one, two) = (cluster.start(1), cluster.start(2));
    let mut outputs = two.outputs();
    connected(&one, 1).await;
    connected(&two, 1).await;
    one.input(Input::Send(id(2), (0..500).map(Msg::Say).collect())).await;
    one.stop().await.unwrap();
    for n in 0..500 {
        assert_eq!(heard(&mut outputs).await, (id(1), Msg::Say(n)));
    }
}

#[tokio::test]
async fn dropping_the_last_handle_stops_the_process() {
    let cluster = Cluster::new(2);
    let (one, two) = (cluster.start(1), cluster.start(2));
    let mut outputs = one.outputs();
    connected(&one, 1).await;
    drop(two);
    said(&mut outputs, Output::Hint(id(2), Hint::Closed)).await;
}

#[tokio::test]
async fn a_newer_heartbeat_replaces_an_unsent_older_one() {
    let cluster = Cluster::new(2);
    let one = cluster.start_with(1, |options| options.limits.stale_after = Duration::from_secs(60));
    let words = [Msg::Beat(1), Msg::Say(1), Msg::Beat(2), Msg::Say(2), Msg::Beat(3)];
    one.input(Input::Send(id(2), words.to_vec())).await;
    let two = cluster.start(2);
    let mut outputs = two.outputs();
    for wanted in [Msg::Say(1), Msg::Say(2), Msg::Beat(3)] {
        assert_eq!(heard(&mut outputs).await.1, wanted);
    }
    assert_eq!(one.counters().dropped.get(&Dropped::Superseded), Some(&2));
}

#[tokio::test]
async fn old_messages_do_not_wait_for_a_peer_that_is_away() {
    let cluster = Cluster::new(2);
    let one = cluster.start_with(1, |options| {
        options.limits.stale_after = Duration::from_millis(20);
        options.limits.greeting_within = Duration::from_millis(200);
    });
    one.input(Input::Send(id(2), vec![Msg::Say(1), Msg::Say(2)])).await;
    until("them to be stale", || one.counters().dropped.get(&Dropped::Stale) == Some(&2)).await;
    let two = cluster.start(2);
    let mut outputs = two.outputs();
    connected(&one, 1).await;
    one.input(Input::Send(id(2), vec![Msg::Say(3)])).await;
    assert_eq!(heard(&mut outputs).await.1, Msg::Say(3));
}

#[tokio::test]
async fn a_peer_that_does_not_keep_up_is_disconnected_and_nothing_vanishes_silently() {
    let cluster = Cluster::new(2);
    let (one, two) = (cluster.start_with(1, |options| options.limits.queue = 8), cluster.start(2));
    let mut outputs = two.outputs();
    connected(&one, 1).await;
    connected(&two, 1).await;
    // All of one step, so that nothing can be sent in between.
    one.input(Input::Send(id(2), (0..20).map(Msg::Say).collect())).await;
    until("the overflow", || one.counters().dropped.contains_key(&Dropped::Overflow)).await;
    until("the new connection", || one.counters().reconnects == 1).await;
    connected(&one, 1).await;
    one.input(Input::Send(id(2), vec![Msg::Say(100)])).await;
    let mut arrived = 0;
    while heard(&mut outputs).await.1 != Msg::Say(100) {
        arrived += 1;
    }
    let dropped: u64 = one.counters().dropped.values().sum();
    assert_eq!(arrived + dropped, 20);
}

#[tokio::test]
async fn a_message_that_fits_in_no_frame_is_counted() {
    let cluster = Cluster::new(2);
    let change = |options: &mut bellwether_net::Options| options.limits.max_frame = 2000;
    let (one, two) = (cluster.start_with(1, change), cluster.start(2));
    let mut outputs = two.outputs();
    connected(&one, 1).await;
    let words = vec![Msg::Bulk(vec![0; 3000]), Msg::Bulk(vec![0; 1900])];
    one.input(Input::Send(id(2), words)).await;
    assert_eq!(heard(&mut outputs).await.1, Msg::Bulk(vec![0; 1900]));
    assert_eq!(one.counters().dropped.get(&Dropped::TooLarge), Some(&1));
}

#[tokio::test]
async fn a_development_partition_swallows_messages_both_ways_and_heals() {
    let cluster = Cluster::new(2);
    let one = cluster.start_with(1, |options| options.dev_faults = true);
    let two = cluster.start(2);
    let (mut by_one, mut by_two) = (one.outputs(), two.outputs());
    connected(&one, 1).await;
    connected(&two, 1).await;
    assert_eq!(two.partition(BTreeSet::from([id(1)])), Err(FaultsNotAllowed));
    one.partition(BTreeSet::from([id(2)])).unwrap();
    one.input(Input::Send(id(2), vec![Msg::Say(1)])).await;
    two.input(Input::Send(id(1), vec![Msg::Say(2)])).await;
    until("both to vanish", || one.counters().dropped.get(&Dropped::Partition) == Some(&2)).await;
    one.partition(BTreeSet::new()).unwrap();
    one.input(Input::Send(id(2), vec![Msg::Say(3)])).await;
    two.input(Input::Send(id(1), vec![Msg::Say(4)])).await;
    assert_eq!(heard(&mut by_two).await.1, Msg::Say(3));
    assert_eq!(heard(&mut by_one).await.1, Msg::Say(4));
    assert_eq!(one.counters().reconnects, 0);
}

#[tokio::test]
async fn an_onlooker_sees_what_passes_and_how_much_it_missed() {
    let cluster = Cluster::new(2);
    let one = cluster.start_with(1, |options| options.dev_faults = true);
    let two = cluster.start(2);
    let mut outputs = two.outputs();
    connected(&one, 1).await;
    connected(&two, 1).await;
    // There is no listener: nothing of this is kept.
    one.input(Input::Send(id(2), vec![Msg::Say(1)])).await;
    assert_eq!(heard(&mut outputs).await, (id(1), Msg::Say(1)));
    let (mut near, mut far) = (one.traffic(), two.traffic());
    // What it says to itself does not pass.
    one.input(Input::Send(id(1), vec![Msg::Say(2)])).await;
    one.input(Input::Send(id(2), vec![Msg::Say(3)])).await;
    for onlooker in [&mut near, &mut far] {
        let seen = soon("the message", onlooker.recv()).await.unwrap();
        assert_eq!((seen.from, seen.to, seen.text), (id(1), id(2), Msg::Say(3).to_string()));
        assert_eq!((seen.kind, seen.cut), (Msg::Say(3).kind(), false));
    }
    one.partition(BTreeSet::from([id(2)])).unwrap();
    one.input(Input::Send(id(2), vec![Msg::Say(4)])).await;
    assert!(soon("the cut message", near.recv()).await.unwrap().cut);
    one.partition(BTreeSet::new()).unwrap();
    for part in 0..30 {
        let words = (0..100).map(|n| Msg::Say(part * 100 + n)).collect();
        one.input(Input::Send(id(2), words)).await;
    }
    let all_sent = one.inspect(|_| ()).await;
    assert_eq!(all_sent, Some(()));
    let lagged = soon("the lag", near.recv()).await.unwrap_err();
    let RecvError::Lagged(missed) = lagged else { panic!("{lagged}") };
    assert!(missed > 1_000, "{missed}");
    one.stop().await.unwrap();
    while let Ok(seen) = soon("the end", near.recv()).await {
        assert_eq!(seen.from, id(1));
    }
}

/// Finding c: each of the two refuses the other, and each can tell both values.
#[tokio::test]
async fn processes_with_different_settings_refuse_each_other() {
    let cluster = Cluster::new(2);
    let with = |number, lease: &str| {
        let settings = vec![("lease", lease.to_owned()), ("quorum", "majority".to_owned())];
        cluster.start_with(number, |options| options.settings = settings)
    };
    let (one, two) = (with(1, "500ms"), with(2, "3s"));
    for (process, text) in [
        (&one, "P1 and P2 must have the same configuration: lease is 500ms at P1 and 3s at P2"),
        (&two, "P2 and P1 must have the same configuration: lease is 3s at P2 and 500ms at P1"),
    ] {
        until("it is refused", || {
            let PeerState { outgoing, incoming, last_error, .. } = process.peers().remove(0);
            assert_eq!((outgoing, incoming), (None, None));
            last_error.is_some_and(|error| error.contains(text))
        })
        .await;
    }
    two.stop().await.unwrap();
    let two = with(2, "500ms");
    connected(&one, 1).await;
    connected(&two, 1).await;
    assert_eq!(one.peers()[0].last_error, None);
}
