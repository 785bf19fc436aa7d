//! The requests at which clients are served: where their requests wait for the member, and its
//! replies for them.

use bellwether_coordination::{Reply, Request};
use bellwether_member::LeaseSettings;
use bellwether_member::service::PASSING;
use bellwether_net::stages::{Stage, mark};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use tokio::sync::Notify;

/// A client's connection. The numbers of one process begin somewhere at random, so that a reply to a
/// connection of an earlier start of this member finds no client.
pub(crate) type Conn = u64;

/// The most requests that may wait for the member; beyond that, connections are not read.
const REQUESTS_MAX: usize = 16_384;

/// The most notes that may wait for one client. A client that lets more pile up is disconnected: it asks
/// again for all that it has missed when it comes back.
const NOTES_MAX: usize = 16_384;

/// What a client is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    /// From the coordinator.
    Reply(Reply),
    /// The coordinator now.
    Coordinator(Coordinator),
    /// Where the members can be reached now.
    Members(Coordinator, Arc<Places>),
}

/// Members by number, and where each can be reached: `host:port`.
pub(crate) type Places = Vec<(u32, String)>;

/// The coordinator, if it is known, and its term; and how far clocks may be off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Coordinator {
    pub(crate) id: Option<u32>,
    pub(crate) term: u64,
    pub(crate) drift_ppm: u32,
}

/// Where clients and the member meet.
pub(crate) struct RequestQueue {
    inner: Mutex<Inner>,
    /// The requests were taken.
    taken: Notify,
}

struct Inner {
    next: Conn,
    requests: Vec<(Conn, Request)>,
    mailboxes: BTreeMap<Conn, Arc<Mailbox>>,
    announced: Option<Coordinator>,
    members: Arc<Places>,
    leases: LeaseSettings,
    /// Who wants to know of the next request: the member's task.
    waker: Option<Waker>,
}

/// What waits for one client.
struct Mailbox {
    notes: Mutex<Notes>,
    wake: Notify,
}

#[derive(Default)]
struct Notes {
    queue: VecDeque<Note>,
    full: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing here panics while it holds a lock; if it did, what it left is still good.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RequestQueue {
    /// One without clients, of a member with these settings of leases.
    pub(crate) fn new(leases: LeaseSettings) -> Arc<RequestQueue> {
        // Room enough to count up for ever.
        let next = (bellwether_net::draw() as Conn) >> 2;
        let (requests, mailboxes) = (Vec::new(), BTreeMap::new());
        let members = Arc::default();
        let (announced, waker) = (None, None);
        let inner = Inner { next, requests, mailboxes, announced, members, leases, waker };
        Arc::new(RequestQueue { inner: Mutex::new(inner), taken: Notify::new() })
    }

    /// Takes all requests, if there are any. If not, this waker is woken with the first one. The task behind it then
    /// stands in line after the connections that have something to read now, and finds their requests, too:
    /// what goes to a majority together costs as much as one.
    pub(crate) fn take(&self, waker: Option<&Waker>) -> Option<Vec<(Conn, Request)>> {
        let mut inner = lock(&self.inner);
        if inner.requests.is_empty() {
            if let Some(waker) = waker {
                let known = inner.waker.as_ref().is_some_and(|known| known.will_wake(waker));
                if !known {
                    inner.waker = Some(waker.clone());
                }
            }
            return None;
        }
        let requests = mem::take(&mut inner.requests);
        let was_full = requests.len() >= REQUESTS_MAX;
        drop(inner);
        if was_full {
            self.taken.notify_waiters();
        }
        mark(Stage::LeavesQueue);
        Some(requests)
    }

    /// Waits for requests and takes all.
    #[cfg(test)]
    pub(crate) async fn next(&self) -> Vec<(Conn, Request)> {
        use std::task::Poll;
        std::future::poll_fn(|cx| self.take(Some(cx.waker())).map_or(Poll::Pending, Poll::Ready))
            .await
    }

    /// Adds requests, and wakes the member's task if these are the first.
    fn add(&self, requests: impl IntoIterator<Item = (Conn, Request)>) {
        let mut inner = lock(&self.inner);
        let are_first = inner.requests.is_empty();
        inner.requests.extend(requests);
        if are_first && let Some(waker) = &inner.waker {
            waker.wake_by_ref();
        }
    }

    /// Gives replies to the clients that are still there.
    pub(crate) fn deliver(&self, replies: Vec<(Conn, Reply)>) {
        mark(Stage::Replies);
        let inner = lock(&self.inner);
        for (conn, reply) in replies {
            if let Some(mailbox) = inner.mailboxes.get(&conn) {
                mailbox.put(Note::Reply(reply));
            }
        }
    }

    /// Announces the coordinator to all clients, and to those that connect later.
    pub(crate) fn announce(&self, coordinator: Option<u32>, term: u64) {
        let mut inner = lock(&self.inner);
        let news = Coordinator { id: coordinator, term, drift_ppm: inner.leases.drift_ppm };
        inner.announced = Some(news);
        for mailbox in inner.mailboxes.values() {
            mailbox.put(Note::Coordinator(news));
        }
    }

    /// Tells the clients that stay where the members can be reached, if it is news.
    pub(crate) fn know_members(&self, members: Places) {
        let mut inner = lock(&self.inner);
        if *inner.members == members {
            return;
        }
        inner.members = Arc::new(members);
        let Some(coordinator) = inner.announced else { return };
        for (_, mailbox) in inner.mailboxes.iter().filter(|(conn, _)| **conn & PASSING == 0) {
            mailbox.put(Note::Members(coordinator, inner.members.clone()));
        }
    }

    /// Tells all clients how far clocks may be off, if it is news (G16).
    pub(crate) fn know_leases(&self, leases: LeaseSettings) {
        let mut inner = lock(&self.inner);
        if inner.leases == leases {
            return;
        }
        inner.leases = leases;
        let Some(announced) = &mut inner.announced else { return };
        announced.drift_ppm = leases.drift_ppm;
        let news = *announced;
        for mailbox in inner.mailboxes.values() {
            mailbox.put(Note::Coordinator(news));
        }
    }

    /// The settings of leases in force.
    pub(crate) fn leases(&self) -> LeaseSettings {
        lock(&self.inner).leases
    }

    /// Where the members can be reached.
    pub(crate) fn members(&self) -> Arc<Places> {
        lock(&self.inner).members.clone()
    }

    /// The coordinator that was announced last.
    pub(crate) fn coordinator(&self) -> Coordinator {
        let inner = lock(&self.inner);
        let drift_ppm = inner.leases.drift_ppm;
        inner.announced.unwrap_or(Coordinator { drift_ppm, ..Coordinator::default() })
    }

    /// A client comes that stays and listens. It is told the coordinator first, if it is known.
    pub(crate) fn open(self: &Arc<Self>) -> Visitor {
        self.admit(0)
    }

    /// Something comes for one request and its answer.
    pub(crate) fn open_passing(self: &Arc<Self>) -> Visitor {
        self.admit(PASSING)
    }

    fn admit(self: &Arc<Self>, kind: Conn) -> Visitor {
        let mut inner = lock(&self.inner);
        let conn = inner.next | kind;
        inner.next = inner.next.wrapping_add(1);
        let mailbox = Arc::new(Mailbox { notes: Mutex::default(), wake: Notify::new() });
        if let Some(news) = inner.announced {
            mailbox.put(Note::Coordinator(news));
        }
        inner.mailboxes.insert(conn, mailbox.clone());
        Visitor { conn, requests: self.clone(), mailbox }
    }

    /// How many clients there are.
    #[cfg(test)]
    pub(crate) fn visitors(&self) -> usize {
        lock(&self.inner).mailboxes.len()
    }

    /// Waits until the member keeps up with what was asked.
    pub(crate) async fn room(&self) {
        while lock(&self.inner).requests.len() >= REQUESTS_MAX {
            let taken = self.taken.notified();
            tokio::pin!(taken);
            // What is taken from here on is not missed.
            taken.as_mut().enable();
            if lock(&self.inner).requests.len() < REQUESTS_MAX {
                return;
            }
            taken.await;
        }
    }
}

impl fmt::Debug for RequestQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RequestQueue")
    }
}

impl Mailbox {
    fn put(&self, note: Note) {
        let mut notes = lock(&self.notes);
        if notes.full {
            return;
        }
        if notes.queue.len() >= NOTES_MAX {
            *notes = Notes { queue: VecDeque::new(), full: true };
        } else {
            notes.queue.push_back(note);
        }
        drop(notes);
        self.wake.notify_one();
    }
}

/// A client at the requests. When it is dropped, the client has gone.
pub(crate) struct Visitor {
    /// The number of its connection.
    pub(crate) conn: Conn,
    requests: Arc<RequestQueue>,
    mailbox: Arc<Mailbox>,
}

impl Visitor {
    /// Asks for something.
    pub(crate) fn submit(&self, request: Request) {
        self.requests.add([(self.conn, request)]);
    }

    /// Asks for all of these.
    pub(crate) fn submit_all(&self, requests: &mut Vec<Request>) {
        if requests.is_empty() {
            return;
        }
        self.requests.add(requests.drain(..).map(|request| (self.conn, request)));
    }

    /// Waits for the next note; `None` if too many waited, and the client is disconnected. May be
    /// cancelled: nothing is lost.
    pub(crate) async fn next(&self) -> Option<Note> {
        self.pick(VecDeque::pop_front).await
    }

    /// Waits for notes and takes all that are there; `false` if too many waited, and the client is
    /// sent away. May be cancelled: nothing is lost.
    pub(crate) async fn take(&self, all: &mut VecDeque<Note>) -> bool {
        let pick = |queue: &mut VecDeque<Note>| (!queue.is_empty()).then(|| all.append(queue));
        self.pick(pick).await.is_some()
    }

    /// Waits until something is picked of the notes; `None` if the client is sent away.
    async fn pick<T>(&self, mut pick: impl FnMut(&mut VecDeque<Note>) -> Option<T>) -> Option<T> {
        loop {
            {
                let mut notes = lock(&self.mailbox.notes);
                if notes.full {
                    return None;
                }
                if let Some(picked) = pick(&mut notes.queue) {
                    return Some(picked);
                }
            }
            self.mailbox.wake.notified().await;
        }
    }
}

impl Drop for Visitor {
    fn drop(&mut self) {
        lock(&self.requests.inner).mailboxes.remove(&self.conn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellwether_coordination::{Secret, SessionId};
    use bellwether_member::Choices;
    use tokio::task::yield_now;

    fn close(number: u64) -> Request {
        Request::Close { session: SessionId(number), key: Secret(number.into()) }
    }

    fn kept(number: u64) -> Reply {
        Reply::KeptAlive { session: SessionId(number), sent: 0 }
    }

    #[tokio::test]
    async fn what_is_asked_at_the_same_time_is_taken_together() {
        let requests = RequestQueue::new(Choices::default().leases());
        let (one, other) = (requests.open(), requests.open());
        let asked = [(one.conn, close(1)), (other.conn, close(2))];
        let member = tokio::spawn({
            let requests = requests.clone();
            async move { requests.next().await }
        });
        yield_now().await;
        // Two connections have something to read at the same time.
        let read = |visitor: Visitor, number| async move {
            visitor.submit(close(number));
            visitor
        };
        let (first, second) = (tokio::spawn(read(one, 1)), tokio::spawn(read(other, 2)));
        assert_eq!(member.await.unwrap(), asked);
        let (one, _other) = (first.await.unwrap(), second.await.unwrap());
        one.submit_all(&mut vec![close(3), close(4)]);
        assert_eq!(requests.take(None).unwrap().len(), 2);
        assert_eq!(requests.take(None), None);
    }

    #[tokio::test]
    async fn replies_find_those_who_are_still_there() {
        let requests = RequestQueue::new(Choices::default().leases());
        let (one, other) = (requests.open(), requests.open());
        let gone = other.conn;
        drop(other);
        assert_eq!(requests.visitors(), 1);
        requests.deliver(vec![(gone, kept(1)), (one.conn, kept(2)), (one.conn, kept(3))]);
        assert_eq!(one.next().await, Some(Note::Reply(kept(2))));
        let mut all = VecDeque::new();
        assert!(one.take(&mut all).await);
        assert_eq!(all, [Note::Reply(kept(3))]);
    }

    #[tokio::test]
    async fn all_clients_hear_of_the_coordinator_also_those_that_come_later() {
        let requests = RequestQueue::new(Choices::default().leases());
        let early = requests.open();
        requests.announce(Some(3), 7);
        let late = requests.open();
        let news = Coordinator { id: Some(3), term: 7, drift_ppm: 500 };
        assert_eq!(early.next().await, Some(Note::Coordinator(news)));
        assert_eq!(late.next().await, Some(Note::Coordinator(news)));
        assert_eq!(requests.coordinator(), news);
    }

    #[tokio::test]
    async fn clients_that_stay_hear_once_where_the_members_are_now() {
        let requests = RequestQueue::new(Choices::default().leases());
        requests.know_members(vec![(1, "a:1".into())]);
        requests.announce(Some(1), 7);
        let news = Coordinator { id: Some(1), term: 7, drift_ppm: 500 };
        let (stays, passes) = (requests.open(), requests.open_passing());
        assert_eq!(stays.next().await, Some(Note::Coordinator(news)));
        for _ in 0..2 {
            requests.know_members(vec![(2, "b:1".into())]);
        }
        requests.announce(Some(2), 8);
        let moved = Note::Members(news, Arc::new(vec![(2, "b:1".into())]));
        assert_eq!(stays.next().await, Some(moved));
        let next = Coordinator { id: Some(2), term: 8, drift_ppm: 500 };
        assert_eq!(stays.next().await, Some(Note::Coordinator(next)));
        assert_eq!(passes.next().await, Some(Note::Coordinator(news)));
        assert_eq!(passes.next().await, Some(Note::Coordinator(next)));
    }

    #[tokio::test]
    async fn one_that_takes_nothing_is_sent_away() {
        let requests = RequestQueue::new(Choices::default().leases());
        let slow = requests.open();
        requests.deliver((0..NOTES_MAX as u64).map(|n| (slow.conn, kept(n))).collect());
        assert_eq!(slow.next().await, Some(Note::Reply(kept(0))));
        requests.deliver(vec![(slow.conn, kept(1)), (slow.conn, kept(2))]);
        assert_eq!(slow.next().await, None);
        assert!(!slow.take(&mut VecDeque::new()).await);
    }

    #[tokio::test]
    async fn no_client_is_read_while_too_much_waits() {
        let requests = RequestQueue::new(Choices::default().leases());
        let one = requests.open();
        requests.room().await;
        one.submit_all(&mut (0..REQUESTS_MAX as u64).map(close).collect());
        let waiting = tokio::spawn({
            let requests = requests.clone();
            async move { requests.room().await }
        });
        yield_now().await;
        assert!(!waiting.is_finished());
        assert_eq!(requests.take(None).unwrap().len(), REQUESTS_MAX);
        waiting.await.unwrap();
    }
}
