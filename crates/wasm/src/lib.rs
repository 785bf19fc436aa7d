//! The explorer as a WebAssembly module, for a page without a server.
//!
//! The page's worker (`web/src/api/worker.ts`) makes room for a request with [`room`], writes it
//! there, and calls [`ask`]. The request is a path, a line feed, and a body in JSON, as they would
//! travel by HTTP. [`ask`] returns the status; [`answer`] and [`answer_len`] say where the body of
//! the answer is, until the next request.
//!
//! A panic ends the module: there is nothing to unwind to. Its message is the answer then, and the
//! worker starts another module for what comes next.

#![allow(
    unsafe_code,
    reason = "exported functions keep their names, which could clash with others"
)]

use bellwether_algorithms::catalogue::catalogue;
use bellwether_explorer::{Answer, Explorer};
use bellwether_member::Member;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// The algorithms of the command line.
static EXPLORER: LazyLock<Explorer> = LazyLock::new(|| {
    std::panic::set_hook(Box::new(|panic| *lock(&ANSWER) = panic.to_string().into_bytes()));
    Explorer::new(catalogue().with::<Member>())
});

static REQUEST: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static ANSWER: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// There is one thread, so the lock is always free.
fn lock(bytes: &Mutex<Vec<u8>>) -> MutexGuard<'_, Vec<u8>> {
    bytes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes room for a request of this length in bytes, and returns its address.
#[unsafe(no_mangle)]
pub extern "C" fn room(bytes: usize) -> *mut u8 {
    let mut request = lock(&REQUEST);
    request.clear();
    request.resize(bytes, 0);
    request.as_mut_ptr()
}

/// Answers the request, and returns the status as HTTP has it.
#[unsafe(no_mangle)]
pub extern "C" fn ask() -> u32 {
    let request = std::mem::take(&mut *lock(&REQUEST));
    let end = request.iter().position(|byte| *byte == b'\n').unwrap_or(request.len());
    let path = String::from_utf8_lossy(&request[..end]);
    let body = request.get(end + 1..).unwrap_or_default();
    let Answer { status, body } = EXPLORER.answer(&path, body, &|| true);
    *lock(&ANSWER) = body;
    u32::from(status)
}

/// Where the body of the answer is.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    lock(&ANSWER).as_ptr()
}

/// How many bytes the body of the answer has.
#[unsafe(no_mangle)]
pub extern "C" fn answer_len() -> usize {
    lock(&ANSWER).len()
}
