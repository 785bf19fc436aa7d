//! Clients under load: of whatever they are clients, they do the same.

use crate::Outcome;
use crate::process::now_us;
use crate::{bellwether, etcd, redis, zookeeper};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// A client that has not come to its end by then never will.
const PATIENCE: Duration = Duration::from_secs(30);

/// A client of one lock.
pub(crate) enum Client {
    Etcd(Box<etcd::Client>),
    Redis(redis::Client),
    Zookeeper(zookeeper::Client),
    Bellwether(bellwether::Client),
}

impl Client {
    async fn lock(&mut self) -> Outcome<()> {
        match self {
            Client::Etcd(client) => client.lock().await,
            Client::Redis(client) => client.lock().await,
            Client::Zookeeper(client) => client.lock().await,
            Client::Bellwether(client) => client.lock().await,
        }
    }

    async fn unlock(&mut self) -> Outcome<()> {
        match self {
            Client::Etcd(client) => client.unlock().await,
            Client::Redis(client) => client.unlock().await,
            Client::Zookeeper(client) => client.unlock().await,
            Client::Bellwether(client) => client.unlock().await,
        }
    }

    pub(crate) async fn close(self) -> Outcome<()> {
        match self {
            Client::Etcd(client) => client.close().await,
            Client::Redis(_) => Ok(()),
            Client::Zookeeper(client) => client.close().await,
            Client::Bellwether(client) => client.close().await,
        }
    }
}

/// Locks and unlocks with all clients at once, each its own lock; pairs a second.
pub(crate) async fn pairs(
    clients: Vec<Client>,
    warm_up: Duration,
    length: Duration,
) -> Outcome<f64> {
    let (over, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let mut tasks = JoinSet::new();
    for mut client in clients {
        let (over, done) = (over.clone(), done.clone());
        tasks.spawn(async move {
            while !over.load(Ordering::Relaxed) {
                client.lock().await?;
                client.unlock().await?;
                done.fetch_add(1, Ordering::Relaxed);
            }
            client.close().await
        });
    }
    sleep(warm_up).await;
    let (from, before) = (now_us(), done.load(Ordering::Relaxed));
    sleep(length).await;
    let (until, after) = (now_us(), done.load(Ordering::Relaxed));
    over.store(true, Ordering::Relaxed);
    finish(tasks).await?;
    Ok((after - before) as f64 / (until - from) as f64 * 1e6)
}

/// Locks and unlocks this often with each client, all at once; the clients.
pub(crate) async fn some_pairs(clients: Vec<Client>, each: usize) -> Outcome<Vec<Client>> {
    let mut tasks: JoinSet<Outcome<Client>> = JoinSet::new();
    for mut client in clients {
        tasks.spawn(async move {
            for _ in 0..each {
                client.lock().await?;
                client.unlock().await?;
            }
            Ok(client)
        });
    }
    let mut clients = Vec::new();
    while let Some(joined) = tasks.join_next().await {
        clients.push(joined.map_err(|error| error.to_string())??);
    }
    Ok(clients)
}

/// What the clients of one lock share.
struct Baton {
    over: AtomicBool,
    counts: AtomicBool,
    /// When the last holder began to give it back.
    released_us: AtomicU64,
}

/// Lets all clients want the same lock all the time; from a release to the next grant, in
/// microseconds, in order. The clock starts right before the holder asks to give it back, and
/// stops when the next one knows that it holds it.
pub(crate) async fn hand_offs(
    clients: Vec<Client>,
    warm_up: Duration,
    length: Duration,
) -> Outcome<Vec<f64>> {
    let baton = Arc::new(Baton {
        over: AtomicBool::new(false),
        counts: AtomicBool::new(false),
        released_us: AtomicU64::new(0),
    });
    let mut tasks = JoinSet::new();
    for mut client in clients {
        let baton = baton.clone();
        tasks.spawn(async move {
            let mut spans = Vec::new();
            while !baton.over.load(Ordering::Relaxed) {
                client.lock().await?;
                let (granted, released) = (now_us(), baton.released_us.load(Ordering::Relaxed));
                if released > 0 && baton.counts.load(Ordering::Relaxed) {
                    spans.push(granted.saturating_sub(released) as f64);
                }
                baton.released_us.store(now_us(), Ordering::Relaxed);
                client.unlock().await?;
            }
            client.close().await?;
            Ok(spans)
        });
    }
    sleep(warm_up).await;
    baton.counts.store(true, Ordering::Relaxed);
    sleep(length).await;
    baton.counts.store(false, Ordering::Relaxed);
    baton.over.store(true, Ordering::Relaxed);
    let mut spans: Vec<f64> = finish(tasks).await?.into_iter().flatten().collect();
    spans.sort_by(f64::total_cmp);
    if spans.is_empty() { Err("the lock was never handed on".to_owned()) } else { Ok(spans) }
}

/// Waits for all of them; the first error counts.
async fn finish<T: 'static>(mut tasks: JoinSet<Outcome<T>>) -> Outcome<Vec<T>> {
    let all = async {
        let mut results = Vec::new();
        while let Some(joined) = tasks.join_next().await {
            results.push(joined.map_err(|error| error.to_string())??);
        }
        Ok(results)
    };
    let late = |_| format!("a client does not come to an end within {} s", PATIENCE.as_secs());
    timeout(PATIENCE, all).await.map_err(late)?
}
