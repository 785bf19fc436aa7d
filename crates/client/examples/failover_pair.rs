//! A primary and a standby: the one with the higher priority serves whenever it is there.
//!
//! The standby takes over when the primary is lost, and yields when it is back.
//!
//! ```sh
//! export BELLWETHER_ENDPOINTS=unix:/path/to/member-1.sock
//! cargo run -p bellwether --example failover_pair -- 10    # the primary
//! cargo run -p bellwether --example failover_pair -- 5     # the standby
//! ```
#![allow(clippy::print_stdout, reason = "it shows what happens")]

use bellwether::{Client, Endpoints, Error, SessionOptions};
use std::time::Duration;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let priority = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(0);
    let client = Client::connect(Endpoints::from_env_or_default()?).await?;
    let name = format!("priority {priority}");
    let session = client.session(SessionOptions::named(&name)).await?;
    loop {
        println!("{name} stands by");
        let campaign = session.campaign("primary").priority(priority).preempt().value(&name);
        let leadership = campaign.await?;
        println!("{name} serves, by token {}", leadership.token());
        tokio::select! {
            () = serve() => {}
            () = leadership.preempt_requested() => {
                // The role stays with this process until it resigns: finish the work under way first.
                println!("{name} yields");
                leadership.resign().await?;
            }
            how = leadership.lost() => {
                println!("{name} has lost it: {how}");
                return Ok(());
            }
        }
    }
}

async fn serve() {
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}
