//! The leader of a role, and every change with its reason: for programs that have to find the leader.
//!
//! It needs no session, and goes on whichever member is lost.
//!
//! ```sh
//! export BELLWETHER_ENDPOINTS=unix:/path/to/member-1.sock
//! cargo run -p bellwether --example who_leads -- primary
//! ```
#![allow(clippy::print_stdout, reason = "it shows what happens")]

use bellwether::{Client, Endpoints, Error};

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Error> {
    let role = std::env::args().nth(1).unwrap_or_else(|| "primary".to_owned());
    let client = Client::connect(Endpoints::from_env_or_default()?).await?;
    let mut observer = client.observe(&role).await?;
    while let Some(status) = observer.next().await {
        match &status.leader {
            Some(leader) => {
                let value = String::from_utf8_lossy(&leader.value);
                println!("{} leads '{role}' with '{value}': {}", leader.client, status.reason);
            }
            None => println!("'{role}' has no leader: {}", status.reason),
        }
    }
    Ok(())
}
