//! What members need to keep many sessions, each with a lock: memory, and time to restart.

use crate::Outcome;
use crate::bellwether::{Bellwether, Way, said, session};
use crate::report::{Aim, Figure, Limit, Table};
use bellwether::Lock;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// The most that the coordinator may take.
const MIB: f64 = 120.0;
/// The sessions share this many connections, as those of processes with many workers do.
const CONNECTIONS: usize = 50;
/// This many sessions of one connection begin at once.
const AT_ONCE: usize = 20;
/// After that, everything that was on its way has arrived.
const SETTLES: Duration = Duration::from_secs(2);

/// A restarted member is ready within this time, in milliseconds.
const READY_MS: f64 = 2_000.0;
/// How often a follower is restarted.
const RESTARTS: usize = 5;

/// Begins this many sessions, takes a lock with each, looks at the members' memory, and restarts one.
pub(crate) async fn measure(cluster: &mut Bellwether, sessions: usize) -> Outcome<Vec<Table>> {
    let before = cluster.memory_kib()?;
    let mut tasks = JoinSet::new();
    for place in 0..CONNECTIONS {
        let client = cluster.connect(Way::Unix).await?;
        let mine = sessions / CONNECTIONS + usize::from(place < sessions % CONNECTIONS);
        tasks.spawn(async move {
            let mut held: Vec<Lock> = Vec::with_capacity(mine);
            let mut at_once = JoinSet::new();
            for number in 0..mine {
                let client = client.clone();
                at_once.spawn(async move {
                    let session = session(&client, "bench[1]", crate::bellwether::TTL).await?;
                    session.lock(format!("bench/{place}/{number}")).await.map_err(said)
                });
                if at_once.len() >= AT_ONCE
                    && let Some(lock) = at_once.join_next().await
                {
                    held.push(lock.map_err(|error| error.to_string())??);
                }
            }
            while let Some(lock) = at_once.join_next().await {
                held.push(lock.map_err(|error| error.to_string())??);
            }
            Ok::<_, String>(held)
        });
    }
    let mut held = Vec::new();
    while let Some(locks) = tasks.join_next().await {
        held.push(locks.map_err(|error| error.to_string())??);
        eprintln!("memory: {} of {CONNECTIONS} connections have their sessions", held.len());
    }
    sleep(SETTLES).await;
    let after = cluster.memory_kib()?;
    let lost = held.iter().flatten().filter(|lock| !lock.is_held()).count();
    if lost > 0 {
        return Err(format!("{lost} of {sessions} locks were lost while they were counted"));
    }
    let mut ready = Vec::new();
    for _ in 0..RESTARTS {
        ready.push(cluster.restart_follower().await?.as_secs_f64() * 1e3);
        sleep(SETTLES).await;
    }
    let longest = ready.iter().copied().fold(0.0, f64::max);
    let restart = Table {
        title: format!(
            "from the start of a killed member with them to ready, {RESTARTS} times, ms"
        ),
        key: "restart",
        rows_are: "",
        columns: ["median", "longest"].map(str::to_owned).into(),
        rows: vec![("restart".to_owned(), vec![Some(Figure::median(ready)), Some(longest.into())])],
        digits: 0,
    };
    let mib = |kib: u64| Some((kib as f64 / 1024.0).into());
    let memory = Table {
        title: format!("memory with {sessions} sessions that hold a lock each, in MiB"),
        key: "memory",
        rows_are: "",
        columns: ["before", "with them"].map(str::to_owned).into(),
        rows: vec![
            ("coordinator".to_owned(), vec![mib(before.0), mib(after.0)]),
            ("follower".to_owned(), vec![mib(before.1), mib(after.1)]),
        ],
        digits: 1,
    };
    Ok(vec![memory, restart])
}

/// The aims that can be judged by these figures.
pub(crate) fn aims(tables: &[Table]) -> Vec<Aim> {
    let aims = [
        ("memory of the coordinator, MiB", "coordinator", "with them", MIB),
        ("restart of a member, ms", "restart", "longest", READY_MS),
    ];
    let aim = |(what, row, column, most): (&str, _, _, _)| {
        let is = tables.iter().find_map(|table| table.figure(row, column))?.clone();
        Some(Aim { what: what.to_owned(), is, limit: Limit::AtMost(most) })
    };
    aims.into_iter().filter_map(aim).collect()
}
