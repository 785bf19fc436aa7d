//! `bellwether-bench reads`: checks of fencing tokens a second.
//!
//! The coordinator answers a check under its lease, by what is committed: no entry of the log and no
//! message to another member belongs to it.

use crate::Outcome;
use crate::args::ReadsArgs;
use crate::bellwether::{Bellwether, Launch, TTL, Way, said, session};
use crate::process::now_us;
use crate::report::{Aim, Figure, Limit, Report, Table};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// Checks a second that are asked of 64 clients.
const ASKED: f64 = 200_000.0;

/// Checks tokens with this many clients, each with a lock and a connection of its own.
async fn checks(cluster: &Bellwether, clients: usize, length: Duration) -> Outcome<f64> {
    let (over, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let mut tasks: JoinSet<Outcome<()>> = JoinSet::new();
    for place in 0..clients {
        let client = cluster.connect(Way::Unix).await?;
        let (over, done) = (over.clone(), done.clone());
        tasks.spawn(async move {
            let name = format!("bench/{place}");
            let session = session(&client, &name, TTL).await?;
            let held = session.lock(name.as_str()).await.map_err(said)?;
            let token = held.token();
            while !over.load(Ordering::Relaxed) {
                client.check_lock(&name, token).await.map_err(said)?;
                done.fetch_add(1, Ordering::Relaxed);
            }
            held.release().await.map_err(said)?;
            session.close().await;
            Ok(())
        });
    }
    sleep(length / 4).await;
    let (from, before) = (now_us(), done.load(Ordering::Relaxed));
    sleep(length).await;
    let (until, after) = (now_us(), done.load(Ordering::Relaxed));
    over.store(true, Ordering::Relaxed);
    while let Some(joined) = tasks.join_next().await {
        joined.map_err(|error| error.to_string())??;
    }
    Ok((after - before) as f64 / (until - from) as f64 * 1e6)
}

/// Measures; whether the aim is met.
pub(crate) async fn run(args: &ReadsArgs) -> Outcome<bool> {
    let length = Duration::try_from_secs_f64(args.length).map_err(|error| error.to_string())?;
    let folder = args.what.folder()?;
    let program = &args.what.bellwether;
    let cluster = Bellwether::launch(program, folder.path(), "disk", Launch::default()).await?;
    let mut rows = Vec::new();
    for clients in &args.clients {
        let mut rates = Vec::new();
        for _ in 0..args.rounds {
            let before = cluster.usage()?;
            let rate = checks(&cluster, *clients, length).await?;
            let used = cluster.usage()?;
            // Of the members that do not coordinate, all their work is for the log and for heartbeats.
            let place = cluster.coordinator_place();
            let busy = used[place].since(&before[place]).processor_ns as f64 / 1e9;
            eprintln!("{clients} clients: {rate:.0} checks a second; coordinator {busy:.2} s");
            rates.push(rate);
        }
        rows.push((clients.to_string(), vec![Some(Figure::median(rates))]));
    }
    cluster.end().await;
    let table = Table {
        title: "checks of fencing tokens a second, by the coordinator's Unix socket".to_owned(),
        key: "reads",
        rows_are: "clients",
        columns: vec!["checks".to_owned()],
        rows,
        digits: 0,
    };
    let aim = table.figure("64", "checks").map(|is| Aim {
        what: "checks a second, 64 clients".to_owned(),
        is: is.clone(),
        limit: Limit::AtLeast(ASKED),
    });
    let report =
        Report { aims: aim.into_iter().collect(), tables: vec![table], ..Report::default() };
    report.publish(&args.what)?;
    Ok(report.met())
}
