//! Committed bytes, so that members need room on their disks.
//!
//! A member allocates its log ahead, so a full disk harms it only after up to two segments (16 MiB) have
//! been written. A session that proclaims a value for a role that it does not lead is refused by the
//! state, after the request has been committed: it adds an entry and no state.

use super::conduct::LOOKS_EVERY;
use super::sequences::{OWN, open};
use bellwether_ops::cluster::{Address, Unanswered, post};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::sleep;

/// The size of a value, which is `value_max` of the members, and how many sessions send some.
const VALUE_BYTES: usize = 64 << 10;
const SESSIONS: usize = 4;
/// The TTL of the sessions. Nothing keeps them alive.
const TTL_MS: u64 = 10_000;

/// Commits bytes through these members, any of which may be down, until the tasks are dropped.
pub(super) fn commit(members: &[Address], tasks: &mut JoinSet<()>) {
    for _ in 0..SESSIONS {
        let members = members.to_vec();
        tasks.spawn(async move {
            for at in members.iter().cycle() {
                // It ends with a member that is down, and with every session.
                let _ = propose(at).await;
                sleep(LOOKS_EVERY).await;
            }
        });
    }
}

/// Proposes values for as long as they are refused for the reason that is wanted.
async fn propose(at: &Address) -> Result<(), Unanswered> {
    let session = open(at, TTL_MS).await?;
    let order = json!({ "session": session.id, "value": "v".repeat(VALUE_BYTES) });
    let path = format!("/v1/roles/{OWN}-of-none/proclaim");
    loop {
        match post::<_, Value>(at, &path, Some(&session.key), &order).await {
            Err(Unanswered::Refused(_, _, problem))
                if problem.code.as_deref() == Some("not-leader") => {}
            other => return other.map(drop),
        }
    }
}
