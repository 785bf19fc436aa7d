//! Jobs that must run on one host of many: whoever leads runs them.
//!
//! Start it on several hosts, or in several terminals against `bellwether up`; kill the one that leads.
//!
//! ```sh
//! BELLWETHER_ENDPOINTS=unix:/path/to/member-1.sock cargo run -p bellwether --example cron_leader
//! ```
#![allow(clippy::print_stdout, reason = "it shows what happens")]

use bellwether::{Client, Endpoints, Error, ErrorKind, Leadership, SessionOptions};
use std::time::Duration;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let client = Client::connect(Endpoints::from_env_or_default()?).await?;
    loop {
        let options = SessionOptions { ttl: Duration::from_secs(3), ..SessionOptions::default() };
        // A session that was lost is gone for good: begin another one, and stand again.
        match lead(&client, options).await {
            Err(error) if error.kind() == ErrorKind::SessionEnded => println!("{error}"),
            result => return result,
        }
    }
}

async fn lead(client: &Client, options: SessionOptions) -> Result<(), Error> {
    let session = client.session(options).await?;
    println!("{} stands for cron", session.id());
    let leadership = session.campaign("cron").await?;
    println!("{} leads by token {}", session.id(), leadership.token());
    tokio::select! {
        () = run_jobs(&leadership) => {}
        how = leadership.lost() => println!("leads no more: {how}"),
    }
    leadership.resign().await
}

/// It is dropped in the middle when the leadership is lost, so it stops at its next `await`: a job that
/// must not stop there has to look at `time_left` before it begins.
async fn run_jobs(leadership: &Leadership) {
    for minute in 1.. {
        println!("run {minute}, by token {}", leadership.token());
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}
