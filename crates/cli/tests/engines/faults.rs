//! What is promised on both engines while processes are stopped and killed.

use crate::cases::{contend, workers};
use crate::rig::{PATIENCE, Rig, TTL, session_of, until};
use crate::sidecar::Sidecar;
use bellwether::{Client, Endpoints, ErrorKind, Lost, SessionEnd};
use rustix::process::Signal;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

/// A client that does not run for longer than its TTL must not believe in its lock when it goes on. It is a thread with a
/// runtime of its own, which is blocked until another session holds the lock.
pub(crate) async fn a_paused_client_knows_that_it_has_lost(rig: &mut Rig) {
    let (address, ttl) = (rig.address(), rig.short());
    let ((holds, held), (resume, goes_on)) = (mpsc::channel(), mpsc::channel());
    let paused = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let endpoints = Endpoints::parse(&address, None, None).unwrap();
            let client = Client::connect(endpoints).await.unwrap();
            let session = session_of(&client, "paused", ttl).await;
            let lock = session.lock("paused").await.unwrap();
            assert!(lock.is_held() && lock.time_left() <= ttl);
            holds.send(lock.token()).unwrap();
            let () = goes_on.recv_timeout(PATIENCE).unwrap();
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
    assert!(asked.elapsed() + Duration::from_millis(500) > ttl, "after {:?}", asked.elapsed());
    resume.send(()).unwrap();
    assert!(lock.token() > before);
    lock.release().await.unwrap();
    paused.join().unwrap();
}

/// What is held stays held, and requests that were under way when the leader died are answered by the next one, each once.
pub(crate) async fn a_lost_leader_costs_no_lock(rig: &mut Rig) {
    let client = rig.client().await;
    let options =
        bellwether::SessionOptions { ttl: TTL, ..bellwether::SessionOptions::named("holder") };
    let holder = client.session(options.clone()).await.unwrap();
    let lock = holder.lock("survivor").await.unwrap();
    let mut observer = client.observe("survivor-role").await.unwrap();
    let (sessions, mut leader) = (workers(rig, TTL).await, 0);
    let killed = async {
        leader = rig.kill_leader();
        // A new one is granted something, and what was held is held.
        let opened = timeout(PATIENCE, client.session(options)).await;
        let other = opened.expect("no server opens it").unwrap();
        let second = other.lock("after the fall").timeout(PATIENCE).await.unwrap();
        assert!(second.token() > lock.token());
        assert!(lock.is_held(), "{lock:?}");
        assert_eq!(client.check_lock("survivor", lock.token()).await.unwrap(), holder.id());
        let role = other.campaign("survivor-role").timeout(PATIENCE).await.unwrap();
        let sees = async {
            let token = Some(role.token());
            while observer.next().await.unwrap().leader.map(|leader| leader.token) != token {}
        };
        timeout(PATIENCE, sees).await.expect("the observer does not go on");
    };
    contend(sessions, 4, killed).await;
    lock.release().await.unwrap();
    rig.restart(leader);
}

/// With two of three stopped nothing is granted, and a session ends on time for its holder, and for who asks a sidecar.
pub(crate) async fn a_minority_grants_nothing_and_a_sidecar_says_so(rig: &mut Rig) {
    let (client, ttl, folder) = (rig.client().await, rig.short(), tempfile::tempdir().unwrap());
    let holder = session_of(&client, "holder", ttl).await;
    let lock = holder.lock("cut off").await.unwrap();
    let sidecar = Arc::new(Sidecar::start(rig, "lock sidecar-lock", folder.path(), "one"));
    until("the sidecar holds its lock", || sidecar.status() == Some(200)).await;
    for place in [0, 1] {
        rig.signal(place, Signal::STOP);
    }
    let began = Instant::now();
    let asked = sidecar.clone();
    let says = std::thread::spawn(move || {
        while asked.status() == Some(200) {
            std::thread::sleep(Duration::from_millis(5));
        }
        (asked.status(), began.elapsed())
    });
    // One that connects now finds a server that follows no leader.
    let address = rig.servers().map(|_| rig.address());
    let alone = tokio::spawn(async move {
        let endpoints = Endpoints::parse(&address?, None, None).unwrap();
        Client::connect(endpoints.timeout(Duration::from_millis(100))).await.err()
    });
    let refused = holder.lock("another").timeout(ttl / 2).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Timeout, "{refused}");
    let lost = timeout(PATIENCE, lock.lost()).await.expect("it never hears of it");
    assert_eq!(lost, Lost::SessionEnded(SessionEnd::DeadlinePassed));
    let after = began.elapsed();
    assert!(after <= ttl + Duration::from_millis(500), "it was told after {after:?}");
    assert!(!lock.is_held());
    let (status, after) = says.join().unwrap();
    assert_eq!(status, Some(409));
    assert!(after <= ttl + Duration::from_millis(500), "the sidecar said so after {after:?}");
    if let Some(error) = alone.await.unwrap() {
        assert_eq!(error.kind(), ErrorKind::NoCoordinator, "{error}");
    }
    for place in [0, 1] {
        rig.signal(place, Signal::CONT);
    }
    // And then all is well again.
    until("the sidecar holds it again", || sidecar.status() == Some(200)).await;
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
