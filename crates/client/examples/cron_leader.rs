//! Jobs that must run on one host of many: the leader runs them.
//!
//! Start it on several hosts, or in several terminals against `bellwether up`; kill the one that leads.
//!
//! ```sh
//! BELLWETHER_ENDPOINTS=unix:/path/to/member-1.sock cargo run -p bellwether --example cron_leader
//! ```
#![allow(clippy::print_stdout, reason = "it shows what happens")]

use bellwether::{Client, Endpoints, Error, Leadership};
use std::sync::Arc;
use std::time::Duration;

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Error> {
    let client = Client::connect(Endpoints::from_env_or_default()?).await?;
    println!("campaigns for cron");
    client.lead("cron", run_jobs).await
}

/// It is dropped when leadership is lost, so it stops at its next `await`: a job that must not stop there has to look at
/// `time_left` before it begins.
async fn run_jobs(leadership: Arc<Leadership>) {
    println!("{} leads", leadership.session().id());
    for run in 1.. {
        println!("run {run}, by token {}", leadership.token());
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}
