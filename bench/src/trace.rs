//! `bellwether-bench trace`: where the time of one request goes, stage by stage.
//!
//! Client and members [mark](bellwether_net::stages) when a request passes each stage. There is one
//! client, so there is one request at a time, and the marks of all processes are put together by
//! time. The follower that counts is the one whose answer leaves first: with the coordinator's own
//! log it is a majority of three.

use crate::Outcome;
use crate::args::TraceArgs;
use crate::bellwether::{Bellwether, Launch, Usage, Way};
use crate::report::{Report, Table};
use crate::stats::percentile;
use bellwether_net::stages::{self, Mark, Stage};
use std::fmt::Write;

/// The width of the bars, in characters.
const WIDTH: f64 = 60.0;

/// Who reaches a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Client,
    Coordinator,
    Follower,
}

/// The stages of a request, in order; `None` is the beginning and the end, which the caller notes.
const WAY: [(Who, Option<Stage>, &str); 17] = [
    (Who::Client, None, "the application asks"),
    (Who::Client, Some(Stage::ClientWrites), "it writes the request"),
    (Who::Coordinator, Some(Stage::MemberReads), "it has read the request"),
    (Who::Coordinator, Some(Stage::LeavesQueue), "the request leaves the queue"),
    (Who::Coordinator, Some(Stage::HandlesInput), "it proposes"),
    (Who::Coordinator, Some(Stage::SendsMessage), "it writes the first APPEND"),
    (Who::Follower, Some(Stage::MessageRead), "it has read the APPEND"),
    (Who::Follower, Some(Stage::HandlesMessage), "it appends"),
    (Who::Follower, Some(Stage::SaveBegins), "its disk begins"),
    (Who::Follower, Some(Stage::SaveEnds), "its disk has synced"),
    (Who::Follower, Some(Stage::SendsMessage), "it writes the ACK"),
    (Who::Coordinator, Some(Stage::MessageRead), "it has read the ACK"),
    (Who::Coordinator, Some(Stage::HandlesMessage), "it counts the ACK: committed"),
    (Who::Coordinator, Some(Stage::Replies), "the reply is passed on"),
    (Who::Coordinator, Some(Stage::MemberWrites), "it writes the reply"),
    (Who::Client, Some(Stage::ClientReads), "it has read the reply"),
    (Who::Client, None, "the application goes on"),
];

/// What the processes noted.
struct Marks {
    client: Vec<Mark>,
    coordinator: Vec<Mark>,
    followers: Vec<Vec<Mark>>,
}

/// When one request reached each stage, in nanoseconds, and when the coordinator's own disk began and ended.
#[derive(Debug, PartialEq, Eq)]
struct Passed {
    at: Vec<Option<u64>>,
    own_disk: Option<(u64, u64)>,
}

/// The first mark of this stage from this time on, and before the end.
fn first(marks: &[Mark], stage: Stage, from: u64, until: u64) -> Option<u64> {
    let start = marks.partition_point(|mark| mark.at_ns < from);
    let in_time = marks[start..].iter().take_while(|mark| mark.at_ns <= until);
    in_time.filter(|mark| mark.stage == stage).map(|mark| mark.at_ns).next()
}

/// The last mark of this stage up to this time, and not before the beginning.
fn last(marks: &[Mark], stage: Stage, from: u64, until: u64) -> Option<u64> {
    let end = marks.partition_point(|mark| mark.at_ns <= until);
    let in_time = marks[..end].iter().rev().take_while(|mark| mark.at_ns >= from);
    in_time.filter(|mark| mark.stage == stage).map(|mark| mark.at_ns).next()
}

impl Marks {
    /// Follows one request; `None` if a mark is missing that every request has.
    fn follow(&self, (begun, ended): (u64, u64)) -> Option<Passed> {
        let own = |stage, from| first(&self.coordinator, stage, from, ended);
        let written = first(&self.client, Stage::ClientWrites, begun, ended)?;
        let read = own(Stage::MemberReads, written)?;
        let taken = own(Stage::LeavesQueue, read)?;
        let handled = own(Stage::HandlesInput, taken)?;
        let sent = own(Stage::SendsMessage, handled)?;
        let replied = own(Stage::Replies, sent)?;
        let follower = self.followers.iter().filter_map(|marks| {
            let read = first(marks, Stage::MessageRead, handled, replied)?;
            let handled = first(marks, Stage::HandlesMessage, read, replied)?;
            let begun = first(marks, Stage::SaveBegins, handled, replied);
            let synced = begun.and_then(|begun| first(marks, Stage::SaveEnds, begun, replied));
            let answered = first(marks, Stage::SendsMessage, synced.unwrap_or(handled), replied)?;
            Some((answered, [Some(read), Some(handled), begun, synced, Some(answered)]))
        });
        let (answered, follower) = follower.min_by_key(|(answered, _)| *answered)?;
        let counted = last(&self.coordinator, Stage::HandlesMessage, sent, replied)?;
        let heard = last(&self.coordinator, Stage::MessageRead, answered.min(counted), counted);
        let writes = own(Stage::MemberWrites, replied)?;
        let reads = first(&self.client, Stage::ClientReads, writes, ended)?;
        let disk = own(Stage::SaveBegins, handled)
            .and_then(|begin| Some((begin, own(Stage::SaveEnds, begin)?)));
        let mut at = vec![Some(begun), Some(written), Some(read), Some(taken), Some(handled)];
        at.push(Some(sent));
        at.extend(follower);
        at.extend([heard, Some(counted), Some(replied), Some(writes), Some(reads), Some(ended)]);
        Some(Passed { at, own_disk: disk })
    }
}

/// Runs a cluster with one client, follows its requests, and says where their time went.
pub(crate) async fn run(args: &TraceArgs) -> Outcome<bool> {
    let folder = args.what.folder()?;
    let launch = Launch { stages: true, ..Launch::default() };
    let program = &args.what.bellwether;
    let cluster = Bellwether::launch(program, folder.path(), &args.durability, launch).await?;
    let mut client = cluster.client(Way::Unix, "bench/0").await?;
    for _ in 0..args.warm_up {
        client.lock().await?;
        client.unlock().await?;
    }
    stages::record();
    let before = cluster.usage()?;
    let mut requests = Vec::with_capacity(2 * args.pairs);
    for _ in 0..args.pairs {
        let begun = stages::now_ns();
        client.lock().await?;
        let held = stages::now_ns();
        client.unlock().await?;
        requests.extend([(begun, held), (held, stages::now_ns())]);
    }
    let used: Vec<Usage> =
        cluster.usage()?.iter().zip(&before).map(|(now, before)| now.since(before)).collect();
    client.close().await?;
    let own = stages::take();
    let coordinator = cluster.coordinator_place();
    let mut members = cluster.end_with_stages().await?;
    let marks = Marks { client: own, coordinator: members.remove(coordinator), followers: members };
    let passed: Vec<Passed> = requests.iter().filter_map(|span| marks.follow(*span)).collect();
    if passed.len() * 2 < requests.len() {
        let (some, all) = (passed.len(), requests.len());
        return Err(format!("only {some} of {all} requests have the marks of all stages"));
    }
    let rows = rows(&passed);
    let mut report = Report { notes: notes(args, &requests, passed.len()), ..Report::default() };
    report.tables.push(table(&rows));
    report.tables.push(usage(&used, coordinator, args.pairs));
    report.publish(&args.what)?;
    if !args.what.json {
        print!("\n{}", flame(&rows));
    }
    Ok(true)
}

fn notes(args: &TraceArgs, requests: &[(u64, u64)], followed: usize) -> Vec<String> {
    let length = requests.last().map_or(0, |r| r.1) - requests.first().map_or(0, |r| r.0);
    let rate = args.pairs as f64 / (length as f64 / 1e9);
    vec![format!(
        "one client, by the coordinator's Unix socket, durability \"{}\": {} pairs, {rate:.0} a \
         second; {followed} of {} requests have the marks of all stages",
        args.durability,
        args.pairs,
        requests.len()
    )]
}

/// A stage as it is shown: microseconds from the request's beginning, and since the stage before.
#[derive(Debug, PartialEq)]
struct Row {
    name: String,
    at: f64,
    step: f64,
    step_p90: f64,
}

/// Medians over all requests. The coordinator's own disk, which works beside the rest, is last.
fn rows(passed: &[Passed]) -> Vec<Row> {
    let us = |ns: u64| ns as f64 / 1e3;
    let row = |name: String, mut at: Vec<f64>, mut steps: Vec<f64>| {
        at.sort_by(f64::total_cmp);
        steps.sort_by(f64::total_cmp);
        let p =
            |of: &[f64], hundredths| if of.is_empty() { 0.0 } else { percentile(of, hundredths) };
        Row { name, at: p(&at, 50), step: p(&steps, 50), step_p90: p(&steps, 90) }
    };
    let mut rows = Vec::new();
    for (place, (who, _, name)) in WAY.iter().enumerate() {
        let (mut at, mut steps) = (Vec::new(), Vec::new());
        for request in passed {
            let Some(reached) = request.at[place] else { continue };
            let begun = request.at[0].unwrap_or(reached);
            let before = request.at[..place].iter().rev().find_map(|at| *at).unwrap_or(reached);
            at.push(us(reached.saturating_sub(begun)));
            steps.push(us(reached.saturating_sub(before)));
        }
        if !at.is_empty() {
            let who = match who {
                Who::Client => "client",
                Who::Coordinator => "coordinator",
                Who::Follower => "follower",
            };
            rows.push(row(format!("{who}: {name}"), at, steps));
        }
    }
    let disks = passed.iter().filter_map(|request| Some((request.at[0]?, request.own_disk?)));
    let (at, steps): (Vec<f64>, Vec<f64>) = disks
        .map(|(begun, (from, until))| (us(until.saturating_sub(begun)), us(until - from)))
        .unzip();
    if !at.is_empty() {
        rows.push(row("beside: coordinator's own disk".to_owned(), at, steps));
    }
    rows
}

fn table(rows: &[Row]) -> Table {
    Table {
        title: "stage of a request, microseconds: median from its beginning, median and 90th \
                percentile of the step"
            .to_owned(),
        key: "stages",
        rows_are: "stage",
        columns: ["reached", "step", "step p90"].map(str::to_owned).into(),
        rows: rows
            .iter()
            .map(|row| {
                let figures = [row.at, row.step, row.step_p90];
                (row.name.clone(), figures.map(|figure| Some(figure.into())).to_vec())
            })
            .collect(),
        digits: 1,
    }
}

fn usage(used: &[Usage], coordinator: usize, pairs: usize) -> Table {
    let of = |count: u64, unit: f64| Some((count as f64 / unit / pairs as f64).into());
    Table {
        title: "a pair of lock and unlock takes of each member".to_owned(),
        key: "usage",
        rows_are: "member",
        columns: ["processor us", "sleeps", "preempted"].map(str::to_owned).into(),
        rows: (0..used.len())
            .map(|place| {
                let name = if place == coordinator { "coordinator" } else { "follower" };
                let Usage { processor_ns, sleeps, preempted } = used[place];
                let row = vec![of(processor_ns, 1e3), of(sleeps, 1.0), of(preempted, 1.0)];
                (format!("{name} P{}", place + 1), row)
            })
            .collect(),
        digits: 1,
    }
}

/// The steps as bars, one below the other: where a bar begins, the one before it ends.
fn flame(rows: &[Row]) -> String {
    let end = rows.iter().map(|row| row.at).fold(0.0, f64::max).max(1.0);
    let names = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for row in rows {
        let place = |at: f64| (at / end * WIDTH).round() as usize;
        let (from, until) = (place((row.at - row.step).max(0.0)), place(row.at));
        let bar = "#".repeat(until.saturating_sub(from).max(1));
        let _ = writeln!(text, "{:<names$} |{}{bar} {:.0}", row.name, " ".repeat(from), row.step);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(of: &[(u64, Stage)]) -> Vec<Mark> {
        of.iter().map(|(at_ns, stage)| Mark { at_ns: at_ns * 1_000, stage: *stage }).collect()
    }

    /// A request in 100 us. One follower answers after 50, and the other one after the reply.
    fn example() -> Marks {
        let follower = |from: u64| {
            marks(&[
                (from, Stage::MessageRead),
                (from + 1, Stage::HandlesMessage),
                (from + 2, Stage::SaveBegins),
                (from + 22, Stage::SaveEnds),
                (from + 25, Stage::SendsMessage),
            ])
        };
        Marks {
            client: marks(&[(3, Stage::ClientWrites), (97, Stage::ClientReads)]),
            coordinator: marks(&[
                (10, Stage::MemberReads),
                (11, Stage::LeavesQueue),
                (12, Stage::HandlesInput),
                (16, Stage::SendsMessage),
                (17, Stage::SendsMessage),
                (18, Stage::SaveBegins),
                (48, Stage::SaveEnds),
                (60, Stage::MessageRead),
                (61, Stage::HandlesMessage),
                (62, Stage::Replies),
                (63, Stage::MemberWrites),
            ]),
            followers: vec![follower(40), follower(25)],
        }
    }

    #[test]
    fn a_request_is_followed_by_the_follower_that_answers_first() {
        let passed = example().follow((0, 100_000)).unwrap();
        let at: Vec<u64> = passed.at.iter().flatten().map(|ns| ns / 1_000).collect();
        assert_eq!(at, [0, 3, 10, 11, 12, 16, 25, 26, 27, 47, 50, 60, 61, 62, 63, 97, 100]);
        assert_eq!(passed.own_disk, Some((18_000, 48_000)));
        assert_eq!(WAY.len(), passed.at.len());
    }

    #[test]
    fn a_request_without_its_marks_is_left_out() {
        assert_eq!(example().follow((64_000, 100_000)), None);
    }

    #[test]
    fn steps_add_up_to_the_whole() {
        let passed = vec![example().follow((0, 100_000)).unwrap()];
        let rows = rows(&passed);
        let (disk, way) = rows.split_last().unwrap();
        assert_eq!(way.iter().map(|row| row.step).sum::<f64>(), 100.0);
        assert_eq!((disk.at, disk.step), (48.0, 30.0));
        assert_eq!(flame(&rows).lines().count(), rows.len());
    }
}
