//! Real processes are watched here: `sleep` is one that ends when it is killed.

use super::*;
use bellwether_coordination::Ending;
use bellwether_member::Choices;
use std::process::{Child, Command};

const SESSION: SessionId = SessionId(7);
const KEY: Secret = Secret(8);

fn process() -> Child {
    Command::new("sleep").arg("1000").spawn().unwrap()
}

fn kill(mut process: Child) {
    process.kill().unwrap();
    process.wait().unwrap();
}

struct Scene {
    requests: Arc<RequestQueue>,
    process_watcher: Arc<ProcessWatcher>,
    _teller: JoinSet<()>,
}

impl Scene {
    fn new() -> Self {
        Scene::with(AGAIN)
    }

    fn with(again: Duration) -> Self {
        let requests = RequestQueue::new(Choices::default().leases());
        let mut _teller = JoinSet::new();
        let process_watcher = ProcessWatcher::start_with(&requests, again, &mut _teller);
        Scene { requests, process_watcher, _teller }
    }

    /// Waits until the coordinator is told of a death, and answers.
    async fn death(&self, answers: bool) -> SessionId {
        let told = tokio::time::timeout(Duration::from_secs(30), self.requests.next());
        let told = told.await.expect("no death is reported");
        let [(conn, Request::Died { session, .. })] = told[..] else { panic!("{told:?}") };
        if answers {
            let why = Some(Ending::Died);
            self.requests.deliver(vec![(conn, Reply::Ended { session, why })]);
        }
        session
    }

    /// How many processes are watched, and how many sessions are known.
    fn counts(&self) -> (usize, usize) {
        let state = self.process_watcher.state();
        assert_eq!(state.by_pid.len(), state.processes.len());
        (state.processes.len(), state.sessions.len() + state.orphans.len())
    }

    async fn until(&self, counts: (usize, usize)) {
        let so = async {
            while self.counts() != counts {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let so = tokio::time::timeout(Duration::from_secs(30), so).await;
        assert!(so.is_ok(), "{:?}, not {counts:?}", self.counts());
    }

    /// Nothing is asked, even after a while of doing everything else.
    async fn silence(&self) {
        let told = tokio::time::timeout(2 * AGAIN, self.requests.next()).await;
        assert!(told.is_err(), "{told:?}");
    }
}

#[tokio::test]
async fn v2_a_death_is_told_until_it_is_known() {
    let scene = Scene::new();
    let process = process();
    let owner = scene.process_watcher.meet(process.id()).unwrap();
    owner.uses(SESSION, KEY);
    assert_eq!(scene.counts(), (1, 1));
    kill(process);
    assert_eq!(scene.death(false).await, SESSION);
    assert_eq!(scene.death(true).await, SESSION, "it was not answered");
    scene.until((0, 0)).await;
    scene.silence().await;
    drop(owner);
}

#[tokio::test]
async fn v2_also_when_its_connection_is_gone() {
    let scene = Scene::new();
    let process = process();
    let owner = scene.process_watcher.meet(process.id()).unwrap();
    owner.uses(SESSION, KEY);
    drop(owner);
    scene.silence().await;
    assert_eq!(scene.counts(), (1, 1));
    kill(process);
    assert_eq!(scene.death(true).await, SESSION);
    scene.until((0, 0)).await;
}

#[tokio::test]
async fn v2_and_at_once_to_a_new_coordinator() {
    let scene = Scene::with(Duration::from_secs(3600));
    let process = process();
    let owner = scene.process_watcher.meet(process.id()).unwrap();
    owner.uses(SESSION, KEY);
    kill(process);
    assert_eq!(scene.death(false).await, SESSION);
    scene.requests.announce(None, 1);
    scene.requests.announce(Some(2), 2);
    assert_eq!(scene.death(true).await, SESSION);
    scene.until((0, 0)).await;
}

#[tokio::test]
async fn v1_all_who_share_a_session_must_be_dead() {
    let scene = Scene::new();
    let (parent, child, other) = (process(), process(), process());
    let owner = scene.process_watcher.meet(parent.id()).unwrap();
    owner.shares(SESSION, KEY, child.id()).unwrap();
    let second = scene.process_watcher.meet(other.id()).unwrap();
    second.uses(SESSION, KEY);
    drop(second);
    kill(parent);
    kill(other);
    scene.until((1, 1)).await;
    scene.silence().await;
    kill(child);
    assert_eq!(scene.death(true).await, SESSION);
}

#[tokio::test]
async fn v3_a_process_without_a_session_here_is_not_watched() {
    let scene = Scene::new();
    let process = process();
    let (one, two) = (
        scene.process_watcher.meet(process.id()).unwrap(),
        scene.process_watcher.meet(process.id()).unwrap(),
    );
    assert_eq!(scene.counts(), (1, 0), "it is one process");
    drop(one);
    assert_eq!(scene.counts(), (1, 0));
    two.uses(SESSION, KEY);
    two.lost(SESSION);
    assert_eq!(scene.counts(), (1, 0));
    drop(two);
    assert_eq!(scene.counts(), (0, 0));
    kill(process);
    scene.silence().await;
}

#[tokio::test]
async fn a_process_that_is_not_there_is_named() {
    let scene = Scene::new();
    let (here, gone) = (process(), process());
    let pid = gone.id();
    kill(gone);
    assert!(scene.process_watcher.meet(pid).is_err());
    let owner = scene.process_watcher.meet(here.id()).unwrap();
    for pid in [pid, 0, u32::MAX] {
        let error = owner.shares(SESSION, KEY, pid).unwrap_err();
        assert!(error.contains(&format!("no process {pid}")), "{error}");
    }
    assert_eq!(scene.counts(), (1, 0), "nothing has changed");
    kill(here);
}

/// More comes for the watcher than its mailbox holds: it goes on with another one.
#[tokio::test]
async fn v2_a_mailbox_that_overflows_does_not_end_the_watch() {
    let scene = Scene::new();
    let overflow = || (0..20_000).for_each(|term| scene.requests.announce(None, term));
    overflow();
    let process = process();
    let owner = scene.process_watcher.meet(process.id()).unwrap();
    owner.uses(SESSION, KEY);
    kill(process);
    assert_eq!(scene.death(false).await, SESSION);
    // While it waits for an answer, too.
    overflow();
    assert_eq!(scene.death(true).await, SESSION);
    scene.until((0, 0)).await;
    assert_eq!(scene.requests.visitors(), 1);
}

#[tokio::test]
async fn v3_who_guesses_a_key_touches_nothing_of_others() {
    let scene = Scene::new();
    let (owner, thief) = (process(), process());
    let owns = scene.process_watcher.meet(owner.id()).unwrap();
    let guesses = scene.process_watcher.meet(thief.id()).unwrap();
    let wrong = Secret(9);
    owns.uses(SESSION, KEY);
    guesses.uses(SESSION, wrong);
    kill(thief);
    // The coordinator is told with the key that was used, and denies it.
    let told = scene.requests.next().await;
    let [(conn, Request::Died { session: SESSION, key })] = told[..] else { panic!("{told:?}") };
    assert!(key.matches(wrong));
    scene.requests.deliver(vec![(conn, Reply::Denied { session: SESSION, key })]);
    scene.until((1, 1)).await;
    // The death of the owner is still seen.
    kill(owner);
    let told = scene.requests.next().await;
    assert!(matches!(told[..], [(_, Request::Died { key: KEY, .. })]), "{told:?}");
}
