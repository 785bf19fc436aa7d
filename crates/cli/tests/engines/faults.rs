//! What is promised on both engines while processes are stopped and killed.

use crate::rig::{PATIENCE, Rig, TTL, session};
use bellwether::{Client, Endpoints, ErrorKind, Lost, SessionEnd};
use rustix::process::Signal;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

/// A client that does not run for longer than its TTL must not believe in its lock when it goes on. It is a thread with a
/// runtime of its own, which is blocked.
pub(crate) async fn a_paused_client_knows_that_it_has_lost(rig: &mut Rig) {
    let address = rig.address();
    let (holds, held) = mpsc::channel();
    let paused = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let endpoints = Endpoints::parse(&address, None, None).unwrap();
            let client = Client::connect(endpoints).await.unwrap();
            let session = session(&client, "paused").await;
            let lock = session.lock("paused").await.unwrap();
            assert!(lock.is_held() && lock.time_left() <= TTL);
            holds.send(lock.token()).unwrap();
            std::thread::sleep(2 * TTL);
            // Nothing has run that could have told it.
            assert!(!lock.is_held());
            assert_eq!(lock.time_left(), Duration::ZERO);
            let lost = timeout(PATIENCE, lock.lost()).await.expect("it never hears of it");
            assert!(matches!(lost, Lost::SessionEnded(_)), "{lost}");
        });
    });
    let other = rig.session("other").await;
    let before = held.recv_timeout(PATIENCE).unwrap();
    let asked = Instant::now();
    let lock = other.lock("paused").timeout(PATIENCE).await.unwrap();
    // Members see a process's death, and etcd nothing: here the process lives.
    assert!(asked.elapsed() + Duration::from_millis(500) > TTL, "after {:?}", asked.elapsed());
    assert!(lock.token() > before);
    lock.release().await.unwrap();
    paused.join().unwrap();
}

pub(crate) async fn a_lost_leader_costs_no_lock(rig: &mut Rig) {
    let client = rig.client().await;
    let options =
        bellwether::SessionOptions { ttl: 5 * TTL, ..bellwether::SessionOptions::named("holder") };
    let holder = client.session(options.clone()).await.unwrap();
    let lock = holder.lock("survivor").await.unwrap();
    let mut observer = client.observe("survivor-role").await.unwrap();
    let leader = rig.kill_leader();
    // A new one is granted something, and what was held is held.
    let other =
        timeout(PATIENCE, client.session(options)).await.expect("no server opens it").unwrap();
    let second = other.lock("after the fall").timeout(PATIENCE).await.unwrap();
    assert!(second.token() > lock.token());
    assert!(lock.is_held(), "{lock:?}");
    assert_eq!(client.check_lock("survivor", lock.token()).await.unwrap(), holder.id());
    let role = other.campaign("survivor-role").timeout(PATIENCE).await.unwrap();
    let sees = async {
        while observer.next().await.unwrap().leader.map(|leader| leader.token) != Some(role.token())
        {
        }
    };
    timeout(PATIENCE, sees).await.expect("the observer does not go on");
    lock.release().await.unwrap();
    rig.restart(leader);
}

/// With two of three stopped nothing is granted, and a session ends on time for its holder.
pub(crate) async fn a_minority_grants_nothing(rig: &mut Rig) {
    let client = rig.client().await;
    let holder = session(&client, "holder").await;
    let lock = holder.lock("cut off").await.unwrap();
    for place in [0, 1] {
        rig.signal(place, Signal::STOP);
    }
    let began = Instant::now();
    let refused = holder.lock("another").timeout(TTL / 2).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Timeout, "{refused}");
    let lost = timeout(PATIENCE, lock.lost()).await.expect("it never hears of it");
    assert_eq!(lost, Lost::SessionEnded(SessionEnd::DeadlinePassed));
    let after = began.elapsed();
    assert!(after <= TTL + Duration::from_millis(500), "it was told after {after:?}");
    assert!(!lock.is_held());
    for place in [0, 1] {
        rig.signal(place, Signal::CONT);
    }
    // And then all is well again.
    let again = async {
        loop {
            let options = bellwether::SessionOptions::named("again");
            if let Ok(session) = client.session(options).await {
                return session;
            }
            sleep(Duration::from_millis(100)).await;
        }
    };
    let again = timeout(PATIENCE, again).await.expect("it does not recover");
    let next = again.lock("cut off").timeout(PATIENCE).await.unwrap();
    assert!(next.token() > lock.token());
    next.release().await.unwrap();
}
