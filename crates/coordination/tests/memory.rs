//! What the state takes in memory, and what a frozen copy of it adds. An allocator that counts is for a
//! whole process, so this is a process of its own.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(unsafe_code, reason = "an allocator is unsafe to write; this one only counts")]
#![allow(clippy::print_stdout, reason = "the figures are for people")]

use bellwether_coordination::{
    Ask, Command, Coordination, Cursor, Limits, Mode, OnDeadlock, Policy, Secret, SessionId, Want,
};
use bellwether_core::Machine;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: all is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller keeps to the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps to the contract.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn now() -> usize {
    NOW.load(Ordering::Relaxed)
}

/// Sessions, each of which holds a lock, waits for one and has an answer.
fn grown(sessions: u64, clients: impl Fn(u64) -> Vec<Ask>) -> Coordination {
    let mut coordination = Coordination::default();
    let (limits, on_deadlock) = (Limits::default(), OnDeadlock::Abort);
    coordination.apply(&Command::Begin { term: 0, limits, on_deadlock });
    for key in 1..=sessions {
        let client = format!("client {key}");
        coordination.apply(&Command::Open {
            key: Secret(key.into()),
            client,
            ttl_ms: 10_000,
            at: 0,
        });
        for (number, ask) in (1..).zip(clients(key)) {
            let session = SessionId(key);
            coordination.apply(&Command::Ask { session, number, forget_below: 0, ask, at: 0 });
        }
    }
    coordination
}

fn lock(name: String) -> Ask {
    Ask::Lock { wants: vec![Want { name: name.into(), mode: Mode::Exclusive }].into(), wait: true }
}

fn campaign(role: String) -> Ask {
    Ask::Campaign { role, priority: 0, value: vec![1; 64], policy: Policy::FirstCome }
}

fn a_take_over(what: &str, bound: f64, clients: impl Fn(u64) -> Vec<Ask>) {
    const SESSIONS: u64 = 50_000;
    let empty = now();
    let mut state = Arc::new(grown(SESSIONS, clients));
    let resident = now() - empty;
    MOST.store(now(), Ordering::Relaxed);
    let frozen = Arc::clone(&state);
    let (session, number) = (SessionId(7), 100);
    let ask = lock("one more".to_owned());
    let command = Command::Ask { session, number, forget_below: 0, ask, at: 0 };
    Arc::make_mut(&mut state).apply(&command);
    // Pieces are cut from the frozen one meanwhile. They add what they hold, whatever the state is.
    let mut cursor = Some(Cursor::default());
    for _ in 0..4 {
        cursor = cursor.and_then(|from| frozen.cut(&from, 64 << 10).1);
    }
    let most = MOST.load(Ordering::Relaxed) - empty;
    let share = most as f64 / resident as f64;
    let counted = frozen.bytes() as f64 / resident as f64;
    println!(
        "{what}: {} bytes a session, {share:.3} times that while frozen, {counted:.2} by its own count",
        resident as u64 / SESSIONS
    );
    assert!(share <= bound, "{what}: {share:.3}");
    assert!((0.8..=1.6).contains(&counted), "{what}: {counted:.2}");
    let requests = |state: &Coordination| state.sessions()[&session].requests.len();
    assert!(requests(&frozen) < requests(&state), "the frozen one stays as it was");
}

/// Finding i. One test, because others would be counted, too.
#[test]
fn i_a_take_over_needs_no_second_copy() {
    a_take_over("one lock", 1.3, |key| vec![lock(format!("jobs/{key}"))]);
    a_take_over("a lock, a wait and an answer", 1.3, |key| {
        vec![lock(format!("jobs/{key}")), lock(format!("pool/{}", key % 100)), Ask::Release(9)]
    });
    a_take_over("a role", 1.3, |key| vec![campaign(format!("role/{}", key % 1_000))]);
    // A session that has nothing is hardly larger than its places in the maps; but then 200,000 of them
    // take 70 MB.
    a_take_over("nothing", 1.5, |_| Vec::new());
}
