//! A device that only the leader drives: the device refuses the commands of an old leader by their number.
//!
//! An election alone is not enough. A leader that was paused for longer than its lease still believes that it leads when it
//! goes on, and its next command may already be on its way. The device has the last word: it remembers the largest token that it
//! has seen and refuses smaller ones. Every leadership has a larger token than all before it.
//!
//! Start it in several terminals against `bellwether up`, stop the one that drives (Ctrl-Z), wait until another drives, and
//! let it go on (`fg`): its next command is refused.
//!
//! ```sh
//! BELLWETHER_ENDPOINTS=unix:/path/to/member-1.sock cargo run -p bellwether --example device
//! ```
#![allow(clippy::print_stdout, reason = "it shows what happens")]

use bellwether::{Client, Endpoints, Error, Leadership};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The device: here a file that all terminals share. A real one would be a valve, a disk or a database row.
struct Device {
    register: PathBuf,
}

impl Device {
    /// Does what the owner of this token wants, unless a larger one was here before. A real device compares and acts in one
    /// step, as a database does with `UPDATE ... WHERE token <= ?`.
    fn command(&self, token: u64) -> Result<(), u64> {
        let text = fs::read_to_string(&self.register).unwrap_or_default();
        let last = text.trim().parse().unwrap_or(0);
        if token < last {
            return Err(last);
        }
        fs::write(&self.register, token.to_string()).map_err(|_| last)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let client = Client::connect(Endpoints::from_env_or_default()?).await?;
    println!("campaigns for valve");
    client.lead("valve", drive).await
}

async fn drive(leadership: Arc<Leadership>) {
    let device = Device { register: std::env::temp_dir().join("bellwether-valve") };
    let token = leadership.token().0;
    println!("drives with token {token}");
    loop {
        match device.command(token) {
            Ok(()) => println!("the device obeys token {token}"),
            Err(last) => return println!("the device refuses token {token}: it has seen {last}"),
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}
