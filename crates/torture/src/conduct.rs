//! From the start of the cluster to its end: load, faults, and whether everything comes to rest.

use super::able::{Lateness, Stretches};
use super::args::{Setup, Work};
use super::check::Violation;
use super::faults::{Fault, Ground, Remedy};
use super::field::{Field, Places};
use super::figures::Gaps;
use super::history::now;
use super::lab::Lab;
use super::plan::{Kind, Planned, plan};
use super::sequences::OWN;
use bellwether_api::coordination::Coordination;
use bellwether_core::Time;
use bellwether_net::Clock;
use bellwether_ops::cluster::{
    Cluster, Condition, Death, Link, Report, Shape, World, ask, get, reconcile,
};
use bellwether_shell::{Failure, complain};
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

/// A cluster that has no coordinator by then never will.
const ELECTS_WITHIN: Duration = Duration::from_secs(60);
/// How long clients may take to finish when nothing is wrong any more: they may have to wait for each
/// other.
pub(super) const FINISHES_WITHIN: Duration = Duration::from_secs(60);
/// How long sessions of killed clients may be there afterwards.
const FREE_WITHIN: Duration = Duration::from_secs(30);
/// What members say may be older by some tenths of a second; two that lead for longer both do.
const TWO_LEAD_US: u64 = 1_200_000;
/// How long a disk stays bad at the most until its member ends because of it, in microseconds.
const ENDS_WITHIN_US: u64 = 60_000_000;
/// How often to look at everything.
pub(super) const LOOKS_EVERY: Duration = Duration::from_millis(50);

/// Makes the faults.
pub(super) struct Conductor {
    pub(super) setup: Setup,
    pub(super) ground: Ground,
    reports: mpsc::Receiver<Report>,
    began: Time,
    faults: Vec<Fault>,
    /// What is wrong and has not been made good: which fault, and until when it lasts.
    wrong: Vec<(Duration, usize, Remedy)>,
    pub(super) violations: Vec<Violation>,
    /// When no member led.
    pub(super) leaderless: Stretches,
    /// The same while some member reached a majority that was up.
    pub(super) unled: Stretches,
    /// The process of each member that has last answered.
    answered: Vec<Option<u32>>,
    lateness: Lateness,
    /// Since when two members say that they lead; 0 when it has been told.
    two_lead_since: Option<u64>,
    /// By how much faults begin later than planned, because one had not bitten when it was to be over.
    held_up: Duration,
    /// Kinds of faults that this machine cannot make, and why.
    left_out: BTreeMap<Kind, String>,
    bar: ProgressBar,
}

/// What happened.
pub(super) struct Conducted {
    pub(super) faults: Vec<Fault>,
    pub(super) violations: Vec<Violation>,
    pub(super) gaps: Gaps,
    /// The longest time for which the machine kept a thread waiting.
    pub(super) late_us: u64,
    /// The longest time without a leader in a sequence.
    pub(super) gap: Option<Duration>,
    /// Kinds of faults that this machine cannot make, and why.
    pub(super) left_out: BTreeMap<Kind, String>,
    /// The number of terms, if tokens do not tell them.
    pub(super) terms: Option<usize>,
}

impl Conductor {
    /// Starts the cluster, and waits for its first coordinator.
    pub(super) async fn start(setup: &Setup, folder: &Path, quiet: bool) -> Result<Self, Failure> {
        let lab = setup.namespaces.as_ref().map(|work| Lab::start(setup, work, folder));
        let lab = lab.transpose()?;
        let shape = Shape {
            nodes: setup.members,
            election: "bully".to_owned(),
            // A frame takes longer where the switch is a process among others.
            profile: if lab.is_some() { "default" } else { "fast" },
            preempt: None,
            http_port: 0,
        };
        let never_slow = lab.as_ref().and_then(|lab| lab.disks.never_slow());
        let left_out: BTreeMap<Kind, String> = never_slow
            .filter(|_| setup.faults.contains(&Kind::DiskSlow))
            .map(|why| (Kind::DiskSlow, why.to_owned()))
            .into_iter()
            .collect();
        for (kind, why) in &left_out {
            complain(&format!("the fault {} is left out: {why}", kind.name()));
        }
        let hosts = lab.as_ref().map(Lab::hosts).unwrap_or_default();
        let cluster = Cluster::start_on(&shape, &hosts, Some(&folder.join("members")), None)?;
        let (sender, reports) = mpsc::channel(64);
        for (place, member) in cluster.members.iter().enumerate() {
            tokio::spawn(ask(place, Link::new(member.http.clone()), sender.clone()));
        }
        let field = Field::new(setup, folder, Places::members(&cluster))?;
        let world = World::new(setup.members);
        let mut conductor = Conductor {
            setup: setup.clone(),
            ground: Ground { cluster, world, field, lab },
            reports,
            began: Clock::shared(),
            faults: Vec::new(),
            wrong: Vec::new(),
            violations: Vec::new(),
            leaderless: Stretches::default(),
            unled: Stretches::default(),
            answered: vec![None; setup.members as usize],
            lateness: Lateness::start().map_err(|error| {
                Failure::Input(format!("cannot start a thread: {error}; are there too many?"))
            })?,
            two_lead_since: None,
            held_up: Duration::ZERO,
            left_out,
            bar: bar(setup, quiet),
        };
        conductor.ground.world.observe(&conductor.ground.cluster);
        match conductor.elected().await {
            true => Ok(conductor),
            false => {
                let died = conductor.violations.first().map(|violation| violation.what.clone());
                let why = died.unwrap_or_else(|| "is the machine very busy?".to_owned());
                let within = ELECTS_WITHIN.as_secs();
                Err(Failure::Input(format!("no coordinator within {within} s: {why}")))
            }
        }
    }

    /// Does everything.
    pub(super) async fn conduct(&mut self) -> Result<Conducted, Failure> {
        self.fill().await?;
        self.ground.field.start_all()?;
        self.began = Clock::shared();
        if let Some(Work::Sequence(sequence)) = self.setup.namespaces {
            let gap = Some(self.perform(sequence).await?);
            return Ok(Conducted { gap, ..self.finish().await? });
        }
        let planned = plan(&self.setup, &self.left_out);
        let mut planned = planned.iter().peekable();
        // What waits for a coordinator.
        let mut late = Vec::new();
        loop {
            let elapsed = self.elapsed();
            self.make_good(elapsed).await?;
            if elapsed >= self.setup.length {
                break;
            }
            let mut due: Vec<Planned> = std::mem::take(&mut late);
            let now = elapsed.saturating_sub(self.held_up);
            while let Some(next) = planned.next_if(|next| next.at <= now) {
                due.push(next.clone());
            }
            for next in due {
                let leads = self.ground.world.leader().is_some();
                match next.kind.needs_coordinator() && !leads {
                    true => late.push(next),
                    false => self.make(&next).await,
                }
            }
            let ends = self.wrong.iter().map(|(until, ..)| *until);
            let begins = planned.peek().map(|next| next.at + self.held_up);
            let due = ends.chain(begins).min().unwrap_or(self.setup.length);
            self.watch(due.saturating_sub(self.elapsed()).min(LOOKS_EVERY)).await;
        }
        self.finish().await
    }

    async fn finish(&mut self) -> Result<Conducted, Failure> {
        self.come_to_rest().await?;
        let faults = std::mem::take(&mut self.faults);
        let violations = std::mem::take(&mut self.violations);
        let (leaderless, unled) = (self.leaderless.until(now()), self.unled.until(now()));
        let (gaps, late_us) = (Gaps { leaderless, unled }, self.lateness.longest_us());
        let left_out = std::mem::take(&mut self.left_out);
        Ok(Conducted { faults, violations, gaps, late_us, gap: None, left_out, terms: None })
    }

    /// Makes a fault, which lasts as long as it was to.
    async fn make(&mut self, planned: &Planned) {
        let until = self.elapsed() + (planned.until - planned.at);
        if let Some((fault, remedy)) = self.ground.make(planned).await {
            self.wrong.push((until, self.faults.len(), remedy));
            self.faults.push(fault);
        }
    }

    pub(super) fn elapsed(&self) -> Duration {
        Clock::shared().since(self.began)
    }

    /// Makes good what has lasted long enough.
    async fn make_good(&mut self, elapsed: Duration) -> Result<(), Failure> {
        for (until, fault, remedy) in &mut self.wrong {
            let lasts = now().saturating_sub(self.faults[*fault].from);
            let is_over = *until <= elapsed && elapsed < self.setup.length;
            if is_over && self.ground.is_to_bite(remedy) && lasts < ENDS_WITHIN_US {
                let later = elapsed + LOOKS_EVERY;
                self.held_up += later - *until;
                *until = later;
            }
        }
        while let Some(place) = self.wrong.iter().position(|(until, ..)| *until <= elapsed) {
            let (_, fault, remedy) = self.wrong.remove(place);
            self.faults[fault].until = now();
            self.faults[fault].hits = self.ground.undo(remedy).await?;
        }
        Ok(())
    }

    /// Looks at everything for this long.
    pub(super) async fn watch(&mut self, span: Duration) {
        let reports = async {
            while let Some((place, status, _)) = self.reports.recv().await {
                let Ground { cluster, world, .. } = &mut self.ground;
                let member = &cluster.members[place];
                // An answer may be older than the death of who gave it.
                let own = status.as_ref().is_none_or(|status| Some(status.pid) == member.pid());
                if own && member.condition == Condition::Running {
                    if let (Some(status), Some(answered)) = (&status, self.answered.get_mut(place))
                    {
                        *answered = Some(status.pid);
                    }
                    world.report(place, Clock::shared().since(self.began), status);
                }
                if !world.seats[place].told_blocked {
                    reconcile(cluster, world).await;
                }
                let leaders = world.leaders();
                self.leaderless.note(leaders.is_empty(), now());
                let could_lead = self.ground.could_lead(&self.answered);
                self.unled.note(leaders.is_empty() && could_lead, now());
                let since = *self.two_lead_since.get_or_insert(now());
                if leaders.len() < 2 {
                    self.two_lead_since = None;
                } else if now() - since > TWO_LEAD_US && since > 0 {
                    self.two_lead_since = Some(0);
                    let what = format!("members {leaders:?} lead at the same time");
                    self.violations.push(Violation::new("two-leaders", what, &[]));
                }
            }
        };
        let _ = timeout(span.max(Duration::from_millis(1)), reports).await;
        for Death { id, code, words } in self.ground.cluster.deaths() {
            self.ground.world.lost(id as usize - 1);
            if self.ground.lab.as_mut().is_some_and(|lab| lab.disks.ended(id, code)) {
                continue;
            }
            let what = format!("member {id} exited unexpectedly, {words}");
            self.violations.push(Violation::new("member-ended", what, &[]));
        }
        for what in self.ground.field.deaths() {
            self.violations.push(Violation::new("client-ended", what, &[]));
        }
        self.ground.world.observe(&self.ground.cluster);
        self.bar.set_position(self.elapsed().min(self.setup.length).as_millis() as u64);
        self.bar.set_message(format!("{} faults", self.faults.len()));
    }

    /// Waits for a coordinator; whether there is one, and all members live.
    async fn elected(&mut self) -> bool {
        let from = self.elapsed();
        while self.elapsed() - from < ELECTS_WITHIN && self.violations.is_empty() {
            self.watch(LOOKS_EVERY).await;
            if self.ground.world.leader().is_some() {
                return true;
            }
        }
        false
    }

    /// Nothing is wrong any more: all clients finish, and nothing is left behind.
    async fn come_to_rest(&mut self) -> Result<(), Failure> {
        self.make_good(Duration::MAX).await?;
        self.ground.heal().await?;
        self.bar.set_message("all faults are undone; the clients finish");
        // A time without a leader ends when there is one, not when the clients have finished.
        let healed = self.elapsed();
        while self.ground.world.leader().is_none() && self.elapsed() - healed < FREE_WITHIN {
            self.watch(LOOKS_EVERY).await;
        }
        let finishing = self.ground.field.finish(FINISHES_WITHIN).await;
        for what in finishing {
            self.violations.push(Violation::new("finish", what, &[]));
        }
        if let Some(left) = self.left_behind().await {
            let within = FREE_WITHIN.as_secs();
            let what = format!("{within} s after all clients have ended, {left} is left");
            self.violations.push(Violation::new("left-behind", what, &[]));
        }
        self.watch(LOOKS_EVERY).await;
        self.bar.finish_and_clear();
        self.ground.cluster.end().await;
        // Before the folder is removed in which it has mounts.
        self.ground.lab = None;
        Ok(())
    }

    /// What the coordinator still knows of clients when it should know nothing; or that there is no
    /// coordinator.
    async fn left_behind(&mut self) -> Option<String> {
        let from = self.elapsed();
        loop {
            self.watch(LOOKS_EVERY).await;
            let leader = self.ground.world.leader();
            let left = match leader.and_then(|id| self.ground.cluster.place(id)) {
                None => Some("no coordinator".to_owned()),
                Some(place) => left(&self.ground.cluster, place).await,
            };
            if left.is_none() || self.elapsed() - from >= FREE_WITHIN {
                return left;
            }
            sleep(LOOKS_EVERY).await;
        }
    }
}

async fn left(cluster: &Cluster, place: usize) -> Option<String> {
    let address = &cluster.members[place].http;
    let mut all = Vec::new();
    for path in ["/v1/sessions", "/v1/locks", "/v1/roles"] {
        let coordination: Coordination = match get(address, path).await {
            Ok(coordination) => coordination,
            Err(error) => return Some(format!("no answer: {error}")),
        };
        let sessions = coordination.sessions.iter().filter(|session| session.client != OWN);
        all.extend(sessions.map(|s| format!("{} of {}", s.session, s.client)));
        let locks = coordination.locks.iter().filter(|lock| !lock.name.starts_with(OWN));
        all.extend(locks.map(|lock| format!("the lock '{}'", lock.name)));
        let led = coordination.roles.iter().filter(|role| role.leader.is_some());
        let led = led.filter(|role| !role.name.starts_with(OWN));
        all.extend(led.map(|role| format!("a leader of '{}'", role.name)));
    }
    (!all.is_empty()).then(|| all.join(", "))
}

pub(super) fn bar(setup: &Setup, quiet: bool) -> ProgressBar {
    if quiet {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{elapsed} [{wide_bar}] {msg}");
    ProgressBar::new(setup.length.as_millis() as u64)
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
