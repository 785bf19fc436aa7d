//! From the start of the cluster to its end: load, faults, and whether everything comes to rest.

use super::args::Setup;
use super::check::Violation;
use super::faults::{Fault, Ground, Remedy};
use super::field::Field;
use super::history::now;
use super::plan::{Planned, plan};
use bellwether_api::duties::Duties;
use bellwether_core::Time;
use bellwether_net::Clock;
use bellwether_ops::cluster::{
    Cluster, Condition, Link, Report, Shape, World, ask, get, reconcile,
};
use bellwether_shell::Failure;
use indicatif::{ProgressBar, ProgressStyle};
use std::path::Path;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

/// A cluster that has no coordinator by then never will.
const ELECTS_WITHIN: Duration = Duration::from_secs(60);
/// How long clients may take to finish when nothing is wrong any more. A lost majority is waited for
/// until the longest session could be over, and clients may have to wait for each other.
const FINISHES_WITHIN: Duration = Duration::from_secs(60);
/// How long sessions of killed clients may be there afterwards.
const FREE_WITHIN: Duration = Duration::from_secs(30);
/// How often to look at everything.
const LOOKS_EVERY: Duration = Duration::from_millis(50);

/// Whoever makes the faults.
pub(super) struct Conductor {
    setup: Setup,
    pub(super) ground: Ground,
    reports: mpsc::Receiver<Report>,
    began: Time,
    faults: Vec<Fault>,
    /// What is wrong and has not been made good: which fault, and until when it lasts.
    wrong: Vec<(Duration, usize, Remedy)>,
    violations: Vec<Violation>,
    bar: ProgressBar,
}

/// What happened.
pub(super) struct Conducted {
    pub(super) faults: Vec<Fault>,
    pub(super) violations: Vec<Violation>,
}

impl Conductor {
    /// Starts the cluster, and waits for its first coordinator.
    pub(super) async fn start(setup: &Setup, folder: &Path, quiet: bool) -> Result<Self, Failure> {
        let shape = Shape {
            nodes: setup.members,
            election: "bully".to_owned(),
            profile: "fast",
            preempt: None,
            http_port: 0,
        };
        let cluster = Cluster::start(&shape, Some(&folder.join("members")), None)?;
        let (sender, reports) = mpsc::channel(64);
        for (place, member) in cluster.members.iter().enumerate() {
            tokio::spawn(ask(place, Link::new(member.http.clone()), sender.clone()));
        }
        let field = Field::new(setup, folder, &cluster)?;
        let world = World::new(setup.members);
        let mut conductor = Conductor {
            setup: setup.clone(),
            ground: Ground { cluster, world, field },
            reports,
            began: Clock::shared(),
            faults: Vec::new(),
            wrong: Vec::new(),
            violations: Vec::new(),
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
        self.ground.field.start_all()?;
        self.began = Clock::shared();
        let planned = plan(&self.setup);
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
            while let Some(next) = planned.next_if(|next| next.at <= elapsed) {
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
            let begins = planned.peek().map(|next| next.at);
            let due = ends.chain(begins).min().unwrap_or(self.setup.length);
            self.watch(due.saturating_sub(self.elapsed()).min(LOOKS_EVERY)).await;
        }
        self.come_to_rest().await?;
        let faults = std::mem::take(&mut self.faults);
        Ok(Conducted { faults, violations: std::mem::take(&mut self.violations) })
    }

    /// Makes a fault, which lasts as long as it was to.
    async fn make(&mut self, planned: &Planned) {
        let until = self.elapsed() + (planned.until - planned.at);
        if let Some((fault, remedy)) = self.ground.make(planned).await {
            self.wrong.push((until, self.faults.len(), remedy));
            self.faults.push(fault);
        }
    }

    fn elapsed(&self) -> Duration {
        Clock::shared().since(self.began)
    }

    /// Makes good what has lasted long enough.
    async fn make_good(&mut self, elapsed: Duration) -> Result<(), Failure> {
        while let Some(place) = self.wrong.iter().position(|(until, ..)| *until <= elapsed) {
            let (_, fault, remedy) = self.wrong.remove(place);
            self.faults[fault].until = now();
            self.ground.undo(remedy).await?;
        }
        Ok(())
    }

    /// Looks at everything for so long.
    async fn watch(&mut self, span: Duration) {
        let reports = async {
            while let Some((place, status, _)) = self.reports.recv().await {
                let Ground { cluster, world, .. } = &mut self.ground;
                let member = &cluster.members[place];
                // An answer may be older than the death of who gave it.
                let own = status.as_ref().is_none_or(|status| Some(status.pid) == member.pid());
                if own && member.condition == Condition::Running {
                    world.report(place, Clock::shared().since(self.began), status);
                }
                if !world.seats[place].told_blocked {
                    reconcile(cluster, world).await;
                }
            }
        };
        let _ = timeout(span.max(Duration::from_millis(1)), reports).await;
        for (id, words) in self.ground.cluster.deaths() {
            self.ground.world.lost(id as usize - 1);
            let what = format!("member {id} ended by itself, {words}");
            self.violations.push(Violation::new("member-ended", what, &[]));
        }
        for what in self.ground.field.deaths() {
            self.violations.push(Violation::new("client-ended", what, &[]));
        }
        self.ground.world.observe(&self.ground.cluster);
        self.bar.set_position(self.elapsed().min(self.setup.length).as_millis() as u64);
        self.bar.set_message(format!("{} faults", self.faults.len()));
    }

    /// Waits for a coordinator; whether there is one, and everybody lives.
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

    /// Nothing is wrong any more: everybody finishes, and nothing is left behind.
    async fn come_to_rest(&mut self) -> Result<(), Failure> {
        self.make_good(Duration::MAX).await?;
        self.ground.heal().await?;
        self.bar.set_message("everything is made good; the clients finish");
        let finishing = self.ground.field.finish(FINISHES_WITHIN).await;
        for what in finishing {
            self.violations.push(Violation::new("finish", what, &[]));
        }
        if let Some(left) = self.left_behind().await {
            let within = FREE_WITHIN.as_secs();
            let what = format!("{within} s after all clients have ended there is still {left}");
            self.violations.push(Violation::new("left-behind", what, &[]));
        }
        self.watch(LOOKS_EVERY).await;
        self.bar.finish_and_clear();
        self.ground.cluster.end().await;
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
        let duties: Duties = match get(address, path).await {
            Ok(duties) => duties,
            Err(error) => return Some(format!("no answer: {error}")),
        };
        all.extend(duties.sessions.iter().map(|s| format!("{} of {}", s.session, s.client)));
        all.extend(duties.locks.iter().map(|lock| format!("the lock '{}'", lock.name)));
        let led = duties.roles.iter().filter(|role| role.leader.is_some());
        all.extend(led.map(|role| format!("a leader of '{}'", role.name)));
    }
    (!all.is_empty()).then(|| all.join(", "))
}

fn bar(setup: &Setup, quiet: bool) -> ProgressBar {
    if quiet {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{elapsed} [{wide_bar}] {msg}");
    ProgressBar::new(setup.length.as_millis() as u64)
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
