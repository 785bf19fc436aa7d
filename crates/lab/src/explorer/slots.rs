//! Plays the runs that pages ask for: a few at once, and each for a limited time.
//!
//! Every program that reaches the page can ask for runs. They must neither keep a member from its real work nor
//! take all memory, so few are played at a time, each has a deadline, and a queue that moves too
//! slowly is told to come back.

use axum::http::StatusCode;
use bellwether_explorer::{MayGoOn, Refused};
use bellwether_http::ErrorResponse;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// How many runs are played at once.
const PLAYED_AT_ONCE: usize = 2;
/// How many more may wait.
const WAITING_MAX: usize = 30;
/// How long they wait at most.
const WAITS_FOR: Duration = Duration::from_secs(10);
/// How long a run may be computed. Usual ones take milliseconds.
const COMPUTED_FOR: Duration = Duration::from_secs(10);

/// The places, for those who play and for those who may wait.
struct Slots {
    playing: Arc<Semaphore>,
    present: Arc<Semaphore>,
}

/// One for the whole process, however many servers it has.
static SLOTS: LazyLock<Slots> = LazyLock::new(|| Slots {
    playing: Arc::new(Semaphore::new(PLAYED_AT_ONCE)),
    present: Arc::new(Semaphore::new(PLAYED_AT_ONCE + WAITING_MAX)),
});

/// Computes an answer as soon as there is a place for it. It is JSON already: a long run takes its
/// time to be written down, and who writes it must have time.
pub(crate) async fn compute<A: Serialize>(
    answer: impl FnOnce(MayGoOn<'_>) -> Result<A, Refused> + Send + 'static,
) -> Result<Vec<u8>, ErrorResponse> {
    let busy = || {
        let hint = Some("try again in some seconds");
        let error = "too many runs are being computed";
        ErrorResponse::new(StatusCode::SERVICE_UNAVAILABLE, error, hint)
    };
    let present = SLOTS.present.clone().try_acquire_owned().map_err(|_| busy())?;
    let place = timeout(WAITS_FOR, SLOTS.playing.clone().acquire_owned()).await;
    let place = place.ok().and_then(Result::ok).ok_or_else(busy)?;
    let patience = Patience::default();
    let lasts = patience.0.clone();
    let mut played = spawn_blocking(move || {
        // Kept until the run is over, even if no client waits for it any more.
        let _places = (present, place);
        let answer = answer(&|| !lasts.load(Ordering::Relaxed)).map_err(refusal)?;
        serde_json::to_vec(&answer).map_err(|error| failed(&error.to_string()))
    });
    let played = match timeout(COMPUTED_FOR, &mut played).await {
        Ok(played) => played,
        Err(_) => {
            drop(patience);
            played.await
        }
    };
    played.unwrap_or_else(|error| Err(failed(&error.to_string())))
}

/// Ends a run that takes too long, or that no client waits for any more. True when it is at an end.
#[derive(Default)]
struct Patience(Arc<AtomicBool>);

impl Drop for Patience {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The same for HTTP.
fn refusal(Refused { status, error, hint }: Refused) -> ErrorResponse {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    ErrorResponse::new(status, error, hint.as_deref())
}

fn failed(why: &str) -> ErrorResponse {
    let hint = Some("this is a mistake of ours; please report it with the scenario");
    ErrorResponse::new(StatusCode::INTERNAL_SERVER_ERROR, format!("the run failed: {why}"), hint)
}
