//! `bellwether-bench candidate`: a process that campaigns for a role, and is killed when it leads.
//!
//! It says `stands` when it is about to stand, and `leads` with the time when it leads.

use crate::args::{CandidateArgs, Peer};
use crate::etcd::said;
use crate::process::now_us;
use crate::{Outcome, bellwether};
use ::bellwether::Endpoints;
use std::io::Write;
use std::time::Duration;
use tokio::time::{interval, sleep};

/// The lease of a candidate in etcd, in seconds.
pub(crate) const LEASE_S: i64 = 1;
/// What it stands for.
const ROLE: &str = "bench/role";

/// Stands, and never ends by itself.
pub(crate) async fn run(args: &CandidateArgs) -> Outcome<()> {
    match args.peer {
        Peer::Etcd => etcd(&args.endpoints).await,
        Peer::Redis => Err("Redis has no roles".to_owned()),
        Peer::Zookeeper => Err("roles of ZooKeeper are not measured".to_owned()),
        Peer::Bellwether => bellwether(args).await,
    }
}

async fn etcd(endpoints: &[String]) -> Outcome<()> {
    let mut client = etcd_client::Client::connect(endpoints, None).await.map_err(said)?;
    let lease = client.lease_grant(LEASE_S, None).await.map_err(said)?;
    if lease.ttl() != LEASE_S {
        return Err(format!("etcd gives a lease of {} s, not of {LEASE_S} s", lease.ttl()));
    }
    let (mut keeper, mut kept) = client.lease_keep_alive(lease.id()).await.map_err(said)?;
    tokio::spawn(async move {
        // As often as etcd's own client does it.
        let mut ticks = interval(Duration::from_secs(LEASE_S as u64) / 3);
        loop {
            ticks.tick().await;
            if keeper.keep_alive().await.is_err() || kept.message().await.is_err() {
                return;
            }
        }
    });
    say("stands");
    client.campaign(ROLE, "me", lease.id()).await.map_err(said)?;
    let since = now_us();
    say(&format!("leads {since}"));
    forever().await
}

/// On members of ours, or on etcd by our client crate.
async fn bellwether(args: &CandidateArgs) -> Outcome<()> {
    let endpoints = args.endpoints.join(",");
    let endpoints = Endpoints::parse(&endpoints, None, None).map_err(bellwether::said)?;
    let client = ::bellwether::Client::connect(endpoints).await.map_err(bellwether::said)?;
    let session = bellwether::session(&client, "candidate", Duration::from_secs(args.ttl)).await?;
    say("stands");
    let leadership = session.campaign(ROLE).await.map_err(bellwether::said)?;
    let since = now_us();
    say(&format!("leads {since}"));
    let how = leadership.lost().await;
    Err(format!("the role was lost: {how}"))
}

fn say(words: &str) {
    let mut out = std::io::stdout().lock();
    // The one who listens may be gone; then this process is killed soon.
    let _ = writeln!(out, "{words}").and_then(|()| out.flush());
}

async fn forever() -> ! {
    loop {
        sleep(Duration::from_secs(3_600)).await;
    }
}
