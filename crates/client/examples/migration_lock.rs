//! A migration that only one of many starting replicas may run; the others wait until it is done.
//!
//! ```sh
//! BELLWETHER_ENDPOINTS=unix:/path/to/member-1.sock cargo run -p bellwether --example migration_lock
//! ```
#![allow(clippy::print_stdout, reason = "it shows what happens")]

use bellwether::{Client, Endpoints, SessionOptions, Token};
use std::time::Duration;

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::connect(Endpoints::from_env_or_default()?).await?;
    let session = client.session(SessionOptions::named("replica")).await?;
    let lock = session.lock("schema/orders").timeout(Duration::from_secs(60)).await?;
    tokio::select! {
        () = migrate(lock.token()) => {
            lock.release().await?;
            println!("done; now the replica starts");
            Ok(())
        }
        // No other session can hold it before this: stop here, and let the next one go on.
        how = lock.lost() => Err(format!("lost 'schema/orders' in the middle: {how}").into()),
    }
}

/// Every step shows its token to the database, which refuses a smaller one than it has seen:
/// `UPDATE migration SET token = $1 WHERE token < $1`.
async fn migrate(token: Token) {
    for step in 1..=3 {
        println!("step {step} with token {token}");
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}
