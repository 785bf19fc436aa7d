//! What those who observe are told, of which copy, and what they are not.

use super::*;
use bellwether_coordination::{
    Ask, Command, Ending, Limits, OnDeadlock, Policy, Secret, SessionId,
};
use tokio::sync::mpsc::error::TryRecvError;

struct Scene {
    role_watches: RoleWatches,
    coordination: Coordination,
    sequence: u64,
    number: u64,
}

impl Scene {
    fn new() -> Self {
        let (limits, on_deadlock) = (Limits { name: 8, ..Limits::default() }, OnDeadlock::Abort);
        let mut coordination = Coordination::default();
        coordination.apply(&Command::Begin { term: 1, limits, on_deadlock });
        Scene { role_watches: RoleWatches::default(), coordination, sequence: 0, number: 0 }
    }

    fn apply(&mut self, command: Command) {
        self.sequence += 1;
        self.coordination.apply(&command);
    }

    fn open(&mut self, client: &str) -> SessionId {
        let key = Secret(u128::from(self.sequence));
        self.apply(Command::Open { key, client: client.into(), ttl_ms: 10_000, at: 0 });
        self.coordination.session_of(key).unwrap()
    }

    fn ask(&mut self, session: SessionId, ask: Ask) {
        self.number += 1;
        let (number, at) = (self.number, self.number);
        self.apply(Command::Ask { session, number, forget_below: 0, ask, at });
    }

    fn campaign(&mut self, session: SessionId, value: &str) {
        let (role, value) = ("r".to_owned(), value.into());
        self.ask(session, Ask::Campaign { role, priority: 0, value, policy: Policy::FirstCome });
    }

    fn proclaim(&mut self, session: SessionId, value: &str) {
        self.ask(session, Ask::Proclaim { role: "r".into(), value: value.into() });
    }

    fn look(&self) {
        self.role_watches.tell(&self.coordination, (1, self.sequence));
    }
}

type Told = mpsc::Receiver<ToClient>;

fn next(told: &mut Told) -> Option<Observed> {
    match told.try_recv() {
        Ok(ToClient::Observed(observed)) => Some(observed),
        Ok(other) => panic!("{other:?}"),
        Err(TryRecvError::Empty) => None,
        Err(TryRecvError::Disconnected) => panic!("no news comes any more"),
    }
}

/// The values of the news, a dash where there is no leader.
fn values(told: &mut Told) -> Vec<String> {
    let value = |status: RoleStatus| match status.leader {
        Some(leader) => String::from_utf8(leader.value).unwrap(),
        None => "-".to_owned(),
    };
    std::iter::from_fn(|| next(told)).map(|observed| value(observed.result.unwrap())).collect()
}

#[test]
fn o1_how_it_stands_comes_first_and_then_every_change() {
    let mut scene = Scene::new();
    let (own, mut told) = mpsc::channel(64);
    let (one, two) = (scene.open("one"), scene.open("two"));
    scene.role_watches.observe((7, 1), "r".into(), &own);
    scene.look();
    let first = next(&mut told).unwrap();
    assert_eq!((first.number, first.result), (1, Ok(RoleStatus::default())));

    scene.campaign(one, "a");
    scene.look();
    scene.look();
    let observed = next(&mut told).unwrap();
    assert_eq!(observed.version, (1, scene.sequence));
    let status = observed.result.unwrap();
    let leader = status.leader.unwrap();
    assert_eq!((leader.session, leader.client.as_str(), leader.since), (one, "one", 1));
    assert_eq!((leader.value, status.at), (b"a".to_vec(), 1));
    assert_eq!(status.reason, "the first candidate");
    assert!(next(&mut told).is_none(), "the same is told once");

    // Several at once, in order; since when it leads does not change with the value.
    scene.proclaim(one, "b");
    scene.campaign(two, "c");
    scene.look();
    let status = next(&mut told).unwrap().result.unwrap();
    assert_eq!((status.leader.unwrap().since, status.at), (1, 2));
    assert!(next(&mut told).is_none(), "a candidate is no change");
    scene.proclaim(one, "d");
    scene.apply(Command::End { session: one, why: Ending::Died, at: 9 });
    scene.ask(two, Ask::Resign { role: "r".into() });
    scene.look();
    assert_eq!(values(&mut told), ["d", "c", "-"]);

    // Who comes later is told of the present only.
    let (own, mut later) = mpsc::channel(64);
    scene.role_watches.observe((8, 1), "r".into(), &own);
    scene.look();
    assert_eq!((values(&mut later), values(&mut told)), (vec!["-".to_owned()], vec![]));
}

#[test]
fn o1_of_very_many_changes_the_latest_are_told() {
    let mut scene = Scene::new();
    let (own, mut told) = mpsc::channel(64);
    let one = scene.open("one");
    scene.campaign(one, "a");
    scene.role_watches.observe((7, 1), "r".into(), &own);
    scene.look();
    assert_eq!(values(&mut told), ["a"]);
    (0..100).for_each(|value| scene.proclaim(one, &value.to_string()));
    scene.look();
    let all = values(&mut told);
    assert!((2..100).contains(&all.len()) && all.last().unwrap() == "99", "{all:?}");
}

#[test]
fn o3_a_client_that_takes_nothing_is_told_later() {
    let mut scene = Scene::new();
    let ((own, mut told), (quick, mut taken)) = (mpsc::channel(1), mpsc::channel(64));
    let one = scene.open("one");
    scene.campaign(one, "a");
    scene.role_watches.observe((7, 1), "r".into(), &own);
    scene.role_watches.observe((8, 1), "r".into(), &quick);
    scene.look();
    scene.proclaim(one, "b");
    scene.proclaim(one, "c");
    scene.look();
    assert_eq!(values(&mut taken), ["a", "b", "c"]);
    for expected in ["a", "b", "c"] {
        assert_eq!(values(&mut told), [expected]);
        scene.look();
    }
    assert!(next(&mut told).is_none() && next(&mut taken).is_none());
}

#[test]
fn who_has_gone_observes_nothing() {
    let scene = Scene::new();
    let (own, mut told) = mpsc::channel(64);
    {
        let mut watches = ConnectionWatches::new(&scene.role_watches, 7, own.clone());
        watches.observe(1, "r".into());
        watches.observe(2, "s".into());
        assert!(scene.role_watches.open.load(Ordering::Relaxed));
        watches.leave(1);
        scene.look();
        assert_eq!(next(&mut told).unwrap().number, 2);
        assert!(next(&mut told).is_none());
    }
    assert!(!scene.role_watches.open.load(Ordering::Relaxed), "no client observes any more");
    let inner = scene.role_watches.inner();
    assert!(inner.roles.is_empty() && inner.of.is_empty());
}

#[test]
fn what_cannot_be_is_refused() {
    let scene = Scene::new();
    let (own, mut told) = mpsc::channel(4 * OBSERVED_MAX as usize);
    for (number, role) in [(1, "longer than eight"), (2, "")] {
        scene.role_watches.observe((7, number), role.into(), &own);
        scene.look();
        let observed = next(&mut told).unwrap();
        assert_eq!((observed.number, observed.result), (number, Err(Refusal::InvalidName(8))));
    }
    for number in 0..=u64::from(OBSERVED_MAX) {
        scene.role_watches.observe((7, number), "r".into(), &own);
    }
    let refused = next(&mut told).unwrap();
    assert_eq!(refused.result, Err(Refusal::TooManyRequests(OBSERVED_MAX)));
    // Another connection has its own count, and the same number again is no further one.
    scene.role_watches.observe((8, 0), "r".into(), &own);
    scene.role_watches.observe((7, 0), "s".into(), &own);
    scene.look();
    let all: Vec<_> = std::iter::from_fn(|| next(&mut told)).collect();
    assert_eq!(all.len(), OBSERVED_MAX as usize + 1);
    assert!(all.iter().all(|observed| observed.result.is_ok()));
}
