//! What was once found to go wrong (the findings a to j), step by step, with clients at work.

use super::check::Violation;
use super::conduct::{Conductor, LOOKS_EVERY};
use super::history::now;
use super::lab::Lab;
use super::network::rule::{Port, Rule};
use bellwether_ops::cluster::{Address, Command, Condition, Unanswered, carry_out, get, post};
use bellwether_shell::Failure;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::sleep;

/// One of them.
#[derive(Debug)]
pub(super) struct Sequence {
    pub(super) letter: char,
    pub(super) members: u32,
    /// At most this many clients are at work.
    pub(super) clients_max: u32,
    /// How long there may be no leader at a time.
    pub(super) bound: Duration,
    /// Lines for the configuration of a member.
    pub(super) extra: fn(u32) -> &'static str,
    /// Steps, separated by semicolons.
    script: &'static str,
}

const fn sequence(letter: char, members: u32, seconds: u64, script: &'static str) -> Sequence {
    let bound = Duration::from_secs(seconds);
    Sequence { letter, members, clients_max: u32::MAX, bound, extra: |_| "", script }
}

impl Sequence {
    pub(super) fn limits_memory(&self) -> bool {
        self.script.contains("memory")
    }
}

/// All of them.
static SEQUENCES: [Sequence; 10] = [
    sequence(
        'a',
        5,
        4,
        "hold; kill 5; led; term 4; start 4; wait 1s; start 5; wait 4s; kill 5; wait 2s; kill 4; \
         wait 2s; start 4; wait 2s; start 5; wait 8s",
    ),
    // P1 gets no large changes; P2 restarts cut off from P3; then P3 and its clients are cut off. What
    // more clients have at P1 would not fit into its frames, and it could not vote.
    Sequence {
        clients_max: 1,
        extra: |id| match id {
            1 => "lease = \"2s\"\nlimits = { frame = \"4KiB\" }",
            _ => "lease = \"2s\"",
        },
        ..sequence('b', 3, 12, "keep 4s; cut 2-3; kill 2; start 2; wait 7s; isolate 3; wait 5s")
    },
    Sequence {
        extra: |id| if id == 3 { "lease = \"3s\"" } else { "" },
        ..sequence('c', 3, 6, "hold; isolate 3; wait 5s")
    },
    Sequence {
        extra: |_| "limits = { frame = \"64KiB\" }",
        ..sequence('d', 3, 6, "hold; values 60; kill 3; wait 6s; start 3; wait 5s")
    },
    sequence(
        'e',
        3,
        6,
        "fill 2000; hold; rate 1000000; wait 1s; kill 3; wait 10s; start 3; wait 5s",
    ),
    sequence('f', 3, 4, "hold; kill 3; led; kill 2; start 2; wait 6s"),
    sequence('g', 3, 6, "hold; isolate 3; force 3; wait 5s"),
    sequence(
        'h',
        5,
        5,
        "hold; links 1-3,2-3,4-3,5-3; wait 8s; heal; wait 2s; links 1-2,2-3,3-4,4-5; wait 8s; heal; \
         wait 2s; links 1-2,2-3,3-4,4-5,5-1; wait 8s; heal; wait 2s; \
         links 1-2,1-3,2-3,3-4,3-5,4-5; wait 8s; heal; wait 2s; loss 30; wait 8s; heal; wait 2s; \
         flap 5; wait 8s",
    ),
    sequence('i', 3, 6, "fill 5000; hold; memory 150; kill 3; wait 6s; start 3; wait 5s"),
    sequence(
        'j',
        3,
        12,
        // What the system of P3 still has to send must not reach P2.
        "cut 2-1,2-3; hold; kill 1; kill 3; empty 1; heal; cut 2-3; start 1; wait 4s; heal; start 3; \
         wait 5s",
    ),
];

/// The sequences of these letters.
pub(super) fn find(text: &str) -> Result<Vec<&'static Sequence>, String> {
    if text == "all" {
        return Ok(SEQUENCES.iter().collect());
    }
    let letters = text.chars().filter(|letter| !matches!(letter, ',' | ' '));
    let known = |letter: char| {
        let found = SEQUENCES.iter().find(|sequence| sequence.letter == letter);
        found.ok_or_else(|| format!("no sequence '{letter}'; there are a to j, or all"))
    };
    let found: Vec<_> = letters.map(known).collect::<Result<_, _>>()?;
    if found.is_empty() { Err("name some of a to j, or all".to_owned()) } else { Ok(found) }
}

/// Something to do.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    Kill(u32),
    /// A SIGTERM, and its end is waited for.
    Term(u32),
    Start(u32),
    Wait(Duration),
    /// Wait until a member leads.
    Led,
    /// Take a lock for a minute; at every look the leader must know of it.
    Hold,
    /// Lead a role with a value of 4 kB, then take a lock, and keep both as long as the leader of now
    /// answers, with this TTL.
    Keep(Duration),
    /// Sessions with a lock each.
    Fill(u64),
    /// The session that holds leads roles with a value of 4 kB each.
    Values(u64),
    /// Cuts these links.
    Cut(Vec<(Port, Port)>),
    /// Cuts all links between members but these.
    Links(Vec<(Port, Port)>),
    /// Cuts a member off, with half of the clients.
    Isolate(Port),
    Rate(u64),
    Loss(u64),
    Flap(Port),
    /// Takes the lock that is held away by force, at this member; it must not seem to be done.
    Force(u32),
    /// Limits members to this percentage of the memory that they use now.
    Memory(u64),
    /// Deletes what a member has on its disk.
    Empty(u32),
    Heal,
}

fn step(text: &str) -> Option<Step> {
    let (verb, rest) = text.split_once(' ').unwrap_or((text, ""));
    let number = || rest.parse::<u32>().ok();
    let pairs = || {
        let pair = |text: &str| {
            let (a, b) = text.split_once('-')?;
            Some((a.parse().ok()?, b.parse().ok()?))
        };
        rest.split(',').map(pair).collect::<Option<Vec<(Port, Port)>>>()
    };
    let step = match verb {
        "kill" => Step::Kill(number()?),
        "term" => Step::Term(number()?),
        "start" => Step::Start(number()?),
        "wait" => Step::Wait(bellwether_algorithms::options::duration(rest).ok()?),
        "led" => Step::Led,
        "hold" => Step::Hold,
        "keep" => Step::Keep(bellwether_algorithms::options::duration(rest).ok()?),
        "fill" => Step::Fill(rest.parse().ok()?),
        "values" => Step::Values(rest.parse().ok()?),
        "cut" => Step::Cut(pairs()?),
        "links" => Step::Links(pairs()?),
        "isolate" => Step::Isolate(rest.parse().ok()?),
        "rate" => Step::Rate(rest.parse().ok()?),
        "loss" => Step::Loss(rest.parse().ok()?),
        "flap" => Step::Flap(rest.parse().ok()?),
        "force" => Step::Force(number()?),
        "memory" => Step::Memory(rest.parse().ok()?),
        "empty" => Step::Empty(number()?),
        "heal" => Step::Heal,
        _ => return None,
    };
    Some(step)
}

/// The TTL of sessions that hold a lock for a sequence.
const TTL_MS: u64 = 60_000;
/// The TTL of sessions of `--state`, which must outlive the run.
const STATE_TTL_MS: u64 = 3_600_000;
/// What all that belongs to sequences is called: it is there when clients have ended.
pub(super) const OWN: &str = "sequence";
/// The number of requests at a time that fill the state.
const AT_A_TIME: u64 = 16;
/// How often a step that needs a leader is tried.
const TRIES: usize = 50;

/// A session, and its key.
#[derive(Clone)]
pub(super) struct Opened {
    pub(super) id: String,
    pub(super) key: String,
}

/// A lock that a session holds.
struct Held {
    session: Opened,
    token: u64,
    /// Until when the session believes in it, by the histories' clock.
    until: Arc<AtomicU64>,
}

/// Keeps a session alive at one member, as long as it answers.
async fn keep(at: Address, session: Opened, ttl_ms: u64, until: Arc<AtomicU64>) {
    let path = format!("/v1/sessions/{}/keep-alive", session.id);
    while now() < until.load(Ordering::Relaxed) {
        let sent = now();
        if post::<_, Value>(&at, &path, Some(&session.key), &Value::Null).await.is_ok() {
            until.store(sent + ttl_ms * 1_000, Ordering::Relaxed);
        }
        sleep(LOOKS_EVERY * 4).await;
    }
}

pub(super) async fn open(at: &Address, ttl_ms: u64) -> Result<Opened, Unanswered> {
    let opened: Value =
        post(at, "/v1/sessions", None, &json!({ "client": OWN, "ttl_ms": ttl_ms })).await?;
    let text = |field: &str| opened[field].as_str().unwrap_or_default().to_owned();
    Ok(Opened { id: text("session"), key: text("key") })
}

/// Opens a session that holds a lock: its name, and its token.
async fn hold(at: &Address, lock: String, ttl_ms: u64) -> Result<(Opened, u64), Unanswered> {
    let session = open(at, ttl_ms).await?;
    let token = take(at, &session, lock).await?;
    Ok((session, token))
}

/// Takes a lock; its token.
async fn take(at: &Address, session: &Opened, lock: String) -> Result<u64, Unanswered> {
    let order = json!({ "locks": [{ "name": lock }] });
    let path = format!("/v1/sessions/{}/locks", session.id);
    let granted: Value = post(at, &path, Some(&session.key), &order).await?;
    Ok(granted["token"].as_u64().unwrap_or_default())
}

/// Leads some roles, to be known by values of 4 kB.
async fn values(at: &Address, session: &Opened, count: u64) -> Result<(), Unanswered> {
    for role in 0..count {
        let order = json!({ "session": session.id, "value": "v".repeat(4_096) });
        let path = format!("/v1/roles/{OWN}-{role}/campaign");
        let _: Value = post(at, &path, Some(&session.key), &order).await?;
    }
    Ok(())
}

/// Opens sessions with a lock each.
async fn fill(at: &Address, count: u64, ttl_ms: u64) -> Result<(), Unanswered> {
    let part = |first: u64| {
        let at = at.clone();
        async move {
            for number in (first..count).step_by(AT_A_TIME as usize) {
                hold(&at, format!("{OWN}-{number}"), ttl_ms).await?;
            }
            Ok(())
        }
    };
    let parts: Vec<_> = (0..AT_A_TIME).map(|first| tokio::spawn(part(first))).collect();
    for part in parts {
        part.await.unwrap_or(Ok(()))?;
    }
    Ok(())
}

impl Conductor {
    /// Makes the state as large as it is to be from the start.
    pub(super) async fn fill(&mut self) -> Result<(), Failure> {
        let count = self.setup.state;
        if count == 0 {
            return Ok(());
        }
        let unable = |why: Unanswered| Failure::flag("state", format!("cannot fill it: {why}"));
        fill(&self.leader().await?, count, STATE_TTL_MS).await.map_err(unable)
    }

    /// Does all steps, and looks whether a member leads and knows what is held. The longest time
    /// without a leader.
    pub(super) async fn perform(&mut self, sequence: &Sequence) -> Result<Duration, Failure> {
        let from = now();
        let mut held = None;
        // Clients are at work before anything happens.
        self.pass(Duration::from_secs(1), &mut held).await;
        for text in sequence.script.split(';').map(str::trim) {
            let unknown = || Failure::Input(format!("no step '{text}'"));
            self.take(step(text).ok_or_else(unknown)?, &mut held).await?;
        }
        let met = self.leaderless.until(now()).into_iter();
        let gap = met.map(|(began, until)| until.saturating_sub(began.max(from))).max();
        let gap = Duration::from_micros(gap.unwrap_or_default());
        if gap > sequence.bound {
            let what = format!("no leader for {gap:.1?}; the bound is {:?}", sequence.bound);
            self.violations.push(Violation::new("gap", what, &[]));
        }
        Ok(gap)
    }

    /// Where the member is that leads, after some time if need be.
    async fn leader(&mut self) -> Result<Address, Failure> {
        for _ in 0..TRIES {
            let leader = self.ground.world.leaders().last().copied();
            if let Some(place) = leader.and_then(|id| self.ground.cluster.place(id)) {
                return Ok(self.ground.cluster.members[place].http.clone());
            }
            self.watch(LOOKS_EVERY * 2).await;
        }
        Err(Failure::Input("the sequence cannot go on: no member leads".to_owned()))
    }

    async fn take(&mut self, step: Step, held: &mut Option<Held>) -> Result<(), Failure> {
        let refused = |why: Unanswered| Failure::Input(format!("the sequence cannot go on: {why}"));
        match step {
            Step::Kill(id) => self.order(Command::Kill(id)).await,
            Step::Start(id) => self.order(Command::Revive(id)).await,
            Step::Term(id) => {
                let place = id as usize - 1;
                self.ground.cluster.members[place].signal(Signal::TERM);
                // A member has two seconds to hand over.
                for _ in 0..TRIES {
                    self.ground.cluster.deaths();
                    if self.ground.cluster.members[place].condition == Condition::Dead {
                        break;
                    }
                    sleep(LOOKS_EVERY).await;
                }
                self.order(Command::Kill(id)).await;
                self.ground.world.lost(place);
            }
            Step::Wait(span) => self.pass(span, held).await,
            Step::Led => drop(self.leader().await?),
            Step::Hold => {
                let at = self.leader().await?;
                let until = Arc::new(AtomicU64::new(now() + TTL_MS * 1_000));
                let (session, token) = hold(&at, OWN.to_owned(), TTL_MS).await.map_err(refused)?;
                *held = Some(Held { session, token, until });
            }
            Step::Keep(ttl) => {
                let at = self.leader().await?;
                let ttl_ms = ttl.as_millis() as u64;
                let until = Arc::new(AtomicU64::new(now() + ttl_ms * 1_000));
                let session = open(&at, ttl_ms).await.map_err(refused)?;
                values(&at, &session, 1).await.map_err(refused)?;
                let token = take(&at, &session, OWN.to_owned()).await.map_err(refused)?;
                tokio::spawn(keep(at, session.clone(), ttl_ms, until.clone()));
                *held = Some(Held { session, token, until });
            }
            Step::Fill(count) => {
                fill(&self.leader().await?, count, TTL_MS).await.map_err(refused)?;
            }
            Step::Values(count) => {
                let (at, session) = (self.leader().await?, held.as_ref().map(|held| &held.session));
                let session =
                    session.ok_or_else(|| Failure::Input("nothing is held".to_owned()))?;
                values(&at, session, count).await.map_err(refused)?;
            }
            Step::Force(id) => self.force(id, held).await,
            Step::Memory(percent) => {
                let groups = self.ground.lab.iter().map(|lab| &lab.groups);
                for (groups, id) in
                    groups.flat_map(|g| (1..=self.setup.members).map(move |id| (g, id)))
                {
                    groups.limit_memory(id, percent).map_err(|why| {
                        Failure::Input(format!("the sequence cannot limit memory: {why}"))
                    })?;
                }
            }
            Step::Heal => self.ground.heal_links(),
            Step::Empty(_)
            | Step::Cut(_)
            | Step::Links(_)
            | Step::Isolate(_)
            | Step::Rate(_)
            | Step::Loss(_)
            | Step::Flap(_) => {
                if let Some(lab) = &mut self.ground.lab {
                    arrange(lab, &step);
                }
            }
        }
        Ok(())
    }

    async fn order(&mut self, command: Command) {
        let _ = carry_out(&command, &mut self.ground.cluster, &mut self.ground.world).await;
        self.ground.world.observe(&self.ground.cluster);
    }

    /// Watches for a span. A leader that does not know what is held has forgotten it.
    async fn pass(&mut self, span: Duration, held: &mut Option<Held>) {
        let until = self.elapsed() + span;
        while self.elapsed() < until {
            self.watch(LOOKS_EVERY * 2).await;
            let Some(Held { session, token, until }) = &held else { continue };
            let leader = self.ground.world.leaders().last().copied();
            let Some(leader) = leader.and_then(|id| self.ground.cluster.place(id)) else {
                continue;
            };
            let member = &self.ground.cluster.members[leader];
            if gone(&member.http, *token).await && now() < until.load(Ordering::Relaxed) {
                let what =
                    format!("P{} leads and has forgotten the lock of {}", member.id, session.id);
                self.violations.push(Violation::new("forgotten", what, &[]));
                *held = None;
            }
        }
    }

    /// Forces a lock away at a member that is cut off, which must not say that it is gone.
    async fn force(&mut self, id: u32, held: &mut Option<Held>) {
        let Some(Held { session, token, .. }) = held.take() else { return };
        let at = self.ground.cluster.members[id as usize - 1].http.clone();
        let (to, order) = (at.clone(), json!({ "session": session.id, "by": OWN }));
        let operator = self.ground.cluster.operator.hex();
        tokio::spawn(async move {
            let path = format!("/v1/locks/{OWN}/force");
            let _ = post::<_, Value>(&to, &path, Some(&operator), &order).await;
        });
        for _ in 0..10 {
            self.watch(LOOKS_EVERY).await;
            if gone(&at, token).await {
                let what = format!("P{id} reports a release that is not committed");
                self.violations.push(Violation::new("uncommitted", what, &[]));
                return;
            }
        }
    }
}

/// Whether a member says that the lock is not held by this token, and never will be.
async fn gone(at: &Address, token: u64) -> bool {
    let said = get::<Value>(at, &format!("/v1/locks/{OWN}/tokens/{token}")).await;
    matches!(said, Err(Unanswered::Refused(_, _, problem)) if problem.code.as_deref() == Some("stale-token"))
}

fn arrange(lab: &mut Lab, step: &Step) {
    let plain = Rule::default();
    let every = lab.all_but(&[]);
    let both = |pairs: &[(Port, Port)]| {
        pairs.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]).collect::<BTreeSet<_>>()
    };
    let cut = Rule { cut: true, ..plain };
    match step {
        Step::Cut(pairs) => lab.keep(cut, both(pairs)),
        Step::Links(pairs) => lab.keep(cut, lab.all_but(pairs)),
        // Every second client goes with it.
        Step::Isolate(id) => lab.keep(cut, lab.around(&[*id].into(), 0x5555_5555_5555_5555)),
        Step::Rate(rate) => lab.keep(Rule { bits_per_second: Some(*rate), ..plain }, every),
        Step::Loss(percent) => lab.keep(Rule { loss_percent: *percent, ..plain }, every),
        Step::Flap(id) => {
            let flap = Some(Duration::from_millis(700));
            let own = every.into_iter().filter(|(a, b)| a == id || b == id).collect();
            lab.keep(Rule { flap, ..plain }, own);
        }
        Step::Empty(id) => lab.disks.empty(*id),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_can_be_read() {
        for sequence in &SEQUENCES {
            for text in sequence.script.split(';').map(str::trim) {
                assert!(step(text).is_some(), "{}: {text}", sequence.letter);
            }
        }
        assert_eq!(step("cut 2-3,1-2"), Some(Step::Cut(vec![(2, 3), (1, 2)])));
        assert_eq!(step("cut 2"), None);
    }

    #[test]
    fn sequences_are_found_by_their_letters() {
        let letters = |text| find(text).map(|all| all.iter().map(|s| s.letter).collect::<String>());
        assert_eq!(letters("all").as_deref(), Ok("abcdefghij"));
        assert_eq!(letters("f,a").as_deref(), Ok("fa"));
        assert!(letters("k").unwrap_err().contains("no sequence 'k'"));
        assert!(letters("").is_err());
    }
}
