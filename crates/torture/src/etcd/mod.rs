//! The same faults and checks on servers of etcd: what clients see there is written and checked as on members.

mod proxies;
mod servers;

use super::able::{Lateness, Stretches};
use super::args::Setup;
use super::check::Violation;
use super::conduct::{Conducted, FINISHES_WITHIN, LOOKS_EVERY, bar};
use super::faults::{Fault, next};
use super::field::{Field, Places};
use super::figures::Gaps;
use super::history::{History, now};
use super::plan::{Kind, Planned, plan};
use bellwether_core::Time;
use bellwether_net::Clock;
use bellwether_shell::Failure;
use indicatif::ProgressBar;
use proxies::Proxies;
use rustix::process::Signal;
use servers::Servers;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;
use tokio::time::sleep;

/// Without a leader by then there will be none.
const ELECTS_WITHIN: Duration = Duration::from_secs(60);
/// How long leases of killed clients may last: their TTL, which each change of etcd's leader begins again.
const FREE_WITHIN: Duration = Duration::from_secs(30);
/// All keys are below it.
const PREFIX: &str = "torture";

/// What makes a fault good again.
enum Remedy {
    Run(Vec<u32>),
    Resume(u32),
    Start(usize),
    Continue(usize),
    Join(usize),
}

/// Makes the faults.
struct Conductor<'a> {
    setup: &'a Setup,
    servers: Servers,
    proxies: Vec<Proxies>,
    field: Field,
    began: Time,
    faults: Vec<Fault>,
    /// What is wrong and has not been made good: until when, which fault, and how.
    wrong: Vec<(Duration, usize, Remedy)>,
    violations: Vec<Violation>,
    leaderless: Stretches,
    unled: Stretches,
    terms: BTreeSet<u64>,
    bar: ProgressBar,
}

/// Does everything: what happened, and what the clients have written.
pub(super) async fn run(
    setup: &Setup,
    folder: &Path,
    quiet: bool,
) -> Result<(Conducted, Vec<History>), Failure> {
    let lateness = Lateness::start()
        .map_err(|error| Failure::Input(format!("cannot start a thread: {error}")))?;
    let mut conductor = Conductor::start(setup, folder, quiet).await?;
    conductor.make_faults().await?;
    conductor.come_to_rest().await?;
    let histories = conductor.field.histories()?;
    let Conductor { faults, violations, leaderless, unled, terms, .. } = conductor;
    let gaps = Gaps { leaderless: leaderless.until(now()), unled: unled.until(now()) };
    let conducted = Conducted {
        faults,
        violations,
        gaps,
        late_us: lateness.longest_us(),
        gap: None,
        left_out: BTreeMap::new(),
        terms: Some(terms.len()),
    };
    Ok((conducted, histories))
}

impl<'a> Conductor<'a> {
    async fn start(setup: &'a Setup, folder: &Path, quiet: bool) -> Result<Self, Failure> {
        let servers = Servers::start(setup.members, folder)?;
        let unable = |error| Failure::Input(format!("cannot listen on 127.0.0.1: {error}"));
        let mut proxies = Vec::new();
        for _ in 0..setup.clients {
            proxies.push(Proxies::listen(&servers.ports()).await.map_err(unable)?);
        }
        let places = Places::etcd(proxies.iter().map(|proxies| address(&proxies.ports)).collect());
        let mut conductor = Conductor {
            setup,
            servers,
            proxies,
            field: Field::new(setup, folder, places)?,
            began: Clock::shared(),
            faults: Vec::new(),
            wrong: Vec::new(),
            violations: Vec::new(),
            leaderless: Stretches::default(),
            unled: Stretches::default(),
            terms: BTreeSet::new(),
            bar: bar(setup, quiet),
        };
        while conductor.servers.leader().is_none() {
            conductor.look().await;
            let died = conductor.violations.first().map(|violation| violation.what.clone());
            if died.is_some() || conductor.elapsed() > ELECTS_WITHIN {
                let why = died.unwrap_or_else(|| "is the machine very busy?".to_owned());
                return Err(Failure::Input(format!("etcd has no leader: {why}")));
            }
        }
        Ok(conductor)
    }

    fn elapsed(&self) -> Duration {
        Clock::shared().since(self.began)
    }

    async fn make_faults(&mut self) -> Result<(), Failure> {
        self.field.start_all()?;
        self.began = Clock::shared();
        let planned = plan(self.setup, &BTreeMap::new());
        let mut planned = planned.iter().peekable();
        let mut late = Vec::new();
        while self.elapsed() < self.setup.length {
            let elapsed = self.elapsed();
            self.make_good(elapsed)?;
            let mut due: Vec<Planned> = std::mem::take(&mut late);
            while let Some(next) = planned.next_if(|next| next.at <= elapsed) {
                due.push(next.clone());
            }
            for next in due {
                match next.kind.needs_coordinator() && self.servers.leader().is_none() {
                    true => late.push(next),
                    false => self.make(&next).await,
                }
            }
            self.look().await;
        }
        self.make_good(Duration::MAX)
    }

    /// Makes a fault, unless it cannot be made just now.
    async fn make(&mut self, planned: &Planned) {
        let (kind, draw, from) = (planned.kind, planned.draw, now());
        let mut fault = Fault::new(kind, from);
        let leader = self.servers.leader().map(|(id, _)| id);
        let remedy = match kind.is_for_clients() {
            true => self.hit_client(kind, draw, &mut fault).await,
            false => self.hit_servers(kind, draw, leader, &mut fault).await,
        };
        let Some(remedy) = remedy else { return };
        fault.coordinated = leader.is_some_and(|leader| fault.members.contains(&leader));
        fault.until = now();
        let until = self.elapsed() + (planned.until - planned.at);
        self.wrong.push((until, self.faults.len(), remedy));
        self.faults.push(fault);
    }

    async fn hit_servers(
        &mut self,
        kind: Kind,
        draw: u64,
        leader: Option<u32>,
        fault: &mut Fault,
    ) -> Option<Remedy> {
        let size = self.setup.members;
        let (any, how) = (1 + (draw % u64::from(size)) as u32, draw >> 32);
        let (hit, stops) = match kind {
            Kind::Kill => (BTreeSet::from([any]), false),
            Kind::Stop => (BTreeSet::from([any]), true),
            Kind::Coordinator => (BTreeSet::from([leader?]), how % 2 == 1),
            // A majority, or all of them.
            _ => (next(any, if how.is_multiple_of(3) { size } else { size / 2 + 1 }, size), false),
        };
        fault.members = hit.iter().copied().collect();
        if stops {
            let id = *hit.first()?;
            fault.what = format!("stopped server {id}");
            return self.servers.stop(id).then_some(Remedy::Resume(id));
        }
        for id in &hit {
            self.servers.send_kill(*id);
        }
        for id in &hit {
            self.servers.kill(*id).await;
        }
        fault.what = format!("killed {hit:?}");
        Some(Remedy::Run(fault.members.clone()))
    }

    async fn hit_client(&mut self, kind: Kind, draw: u64, fault: &mut Fault) -> Option<Remedy> {
        let chair = (draw % u64::from(self.field.size())) as usize;
        let name = self.field.name(chair);
        fault.client = Some(name.clone());
        match kind {
            Kind::ClientCut => {
                fault.what = format!("cut off {name}");
                self.proxies[chair].cut(true);
                Some(Remedy::Join(chair))
            }
            Kind::ClientKill => {
                fault.what = format!("killed {name}");
                self.field.kill(chair).await.then_some(Remedy::Start(chair))
            }
            _ => {
                fault.what = format!("stopped {name}");
                self.field.is_running(chair).then(|| {
                    self.field.signal(chair, Signal::STOP);
                    Remedy::Continue(chair)
                })
            }
        }
    }

    /// Makes good what has lasted long enough.
    fn make_good(&mut self, elapsed: Duration) -> Result<(), Failure> {
        while let Some(place) = self.wrong.iter().position(|(until, ..)| *until <= elapsed) {
            let (_, fault, remedy) = self.wrong.remove(place);
            match remedy {
                Remedy::Run(ids) => ids.into_iter().try_for_each(|id| self.servers.run(id))?,
                Remedy::Resume(id) => self.servers.resume(id),
                Remedy::Start(chair) => self.field.start(chair)?,
                Remedy::Continue(chair) => self.field.signal(chair, Signal::CONT),
                Remedy::Join(chair) => self.proxies[chair].cut(false),
            }
            self.faults[fault].until = now();
        }
        Ok(())
    }

    /// Looks at everything once, and waits a moment.
    async fn look(&mut self) {
        sleep(LOOKS_EVERY).await;
        let leader = self.servers.leader();
        self.terms.extend(leader.map(|(_, term)| term));
        self.leaderless.note(leader.is_none(), now());
        self.unled.note(leader.is_none() && self.servers.could_lead(), now());
        for what in self.servers.deaths() {
            self.violations.push(Violation::new("member-ended", what, &[]));
        }
        for what in self.field.deaths() {
            self.violations.push(Violation::new("client-ended", what, &[]));
        }
        self.bar.set_position(self.elapsed().min(self.setup.length).as_millis() as u64);
        self.bar.set_message(format!("{} faults", self.faults.len()));
    }

    /// Nothing is wrong any more: all clients finish, and nothing is left behind.
    async fn come_to_rest(&mut self) -> Result<(), Failure> {
        self.servers.heal()?;
        self.bar.set_message("all faults are undone; the clients finish");
        for what in self.field.finish(FINISHES_WITHIN).await {
            self.violations.push(Violation::new("finish", what, &[]));
        }
        let from = self.elapsed();
        while let Some(left) = self.servers.left().await {
            if self.elapsed() - from >= FREE_WITHIN {
                let within = FREE_WITHIN.as_secs();
                let what = format!("{within} s after all clients have ended, {left} are left");
                self.violations.push(Violation::new("left-behind", what, &[]));
                break;
            }
            self.look().await;
        }
        self.bar.finish_and_clear();
        Ok(())
    }
}

/// How a client reaches the servers.
fn address(ports: &[u16]) -> String {
    let hosts: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    format!("etcd://{}/{PREFIX}", hosts.join(","))
}
