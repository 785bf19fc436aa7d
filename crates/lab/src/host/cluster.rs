//! The processes that the parent has started: giving them orders, signals and an end.

use super::record::{Deed, Did, Record, journal_name};
use super::wire::{Knobs, Order, Reply, Setup, line};
use bellwether_core::{AnyInput, AnyProcess, NodeId};
use bellwether_net::Clock;
use bellwether_shell::Failure;
use bellwether_sim::{Action, Plan, Scheduled};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc;

/// Nothing that a process is asked for before the run begins takes nearly so long.
const PATIENCE: Duration = Duration::from_secs(120);
/// The name that stands in the certificates.
pub(super) const CLUSTER: &str = "host";
/// The directory of the certificates, in that of the run.
pub(super) const CERTIFICATES: &str = "certificates";

/// All processes, live and dead.
pub(crate) struct Cluster {
    program: PathBuf,
    /// Where all files are, and where the processes run.
    folder: PathBuf,
    algorithm: &'static str,
    /// Whose clocks are off, and how.
    clocks: BTreeMap<NodeId, (i64, i64)>,
    members: Vec<Member>,
    hears: mpsc::UnboundedReceiver<(usize, u64, ProcessEvent)>,
    says: mpsc::UnboundedSender<(usize, u64, ProcessEvent)>,
    pub(crate) record: Record,
}

struct Member {
    id: u32,
    life: u64,
    /// 0 until it is known.
    port: u16,
    /// How many inputs it has been given in this life and not yet taken.
    asked: u32,
    running: Option<(Child, ChildStdin)>,
}

/// What a process is heard of.
enum ProcessEvent {
    Line(String),
    /// It has closed its output, which happens when it ends.
    End,
}

impl Cluster {
    /// A cluster of which nothing runs yet.
    pub(crate) fn new(plan: &Plan<AnyProcess>, folder: PathBuf) -> Result<Self, Failure> {
        let program = std::env::current_exe().map_err(|error| {
            Failure::Input(format!("cannot find the program itself to start it again: {error}"))
        })?;
        let member =
            |id: &NodeId| Member { id: id.number(), life: 0, port: 0, asked: 0, running: None };
        let (says, hears) = mpsc::unbounded_channel();
        let members = plan.group.ring().iter().map(member).collect();
        let clock = |scheduled: &Scheduled<AnyInput>| match scheduled.action {
            Action::Clock { node, offset_us, drift_ppm } => Some((node, (offset_us, drift_ppm))),
            _ => None,
        };
        let clocks = plan.script.iter().filter_map(clock).collect();
        let algorithm = plan.algorithm.name();
        let record = Record::new(algorithm, &plan.group, Knobs::from(&plan.settings));
        Ok(Cluster { program, folder, algorithm, clocks, members, hears, says, record })
    }

    /// Where all files are.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts all processes, so that they take their first steps together.
    pub(crate) async fn start(&mut self) -> Result<(), Failure> {
        let all: Vec<usize> = (0..self.members.len()).collect();
        for place in &all {
            self.spawn(*place)?;
        }
        for (place, reply) in self.replies(&all).await? {
            match reply {
                Reply::Port(port) => self.members[place].port = port,
                other => return Err(self.odd(place, &other)),
            }
        }
        self.begin(&all).await?;
        self.record.began_us = Clock::shared().as_micros();
        self.record.began_clock_us = Clock::system().now().as_micros();
        Ok(())
    }

    /// Starts a dead process again.
    pub(crate) async fn revive(&mut self, id: NodeId) -> Result<(), Failure> {
        let Some(place) = self.place(id) else { return Ok(()) };
        self.spawn(place)?;
        match self.replies(&[place]).await?.remove(&place) {
            Some(Reply::Port(port)) if port == self.members[place].port => {}
            other => return Err(self.odd(place, &other)),
        }
        self.begin(&[place]).await
    }

    /// Brings processes that listen to work.
    async fn begin(&mut self, places: &[usize]) -> Result<(), Failure> {
        for place in places {
            let setup = self.setup(*place);
            self.order(*place, &Order::Setup(Box::new(setup))).await?;
        }
        self.expect(places, &Reply::Ready).await?;
        for place in places {
            self.order(*place, &Order::Go).await?;
        }
        self.expect(places, &Reply::Started).await
    }

    fn spawn(&mut self, place: usize) -> Result<(), Failure> {
        let member = &mut self.members[place];
        member.life += 1;
        member.asked = 0;
        let (id, life) = (member.id, member.life);
        let cannot = |error: std::io::Error| {
            Failure::Input(format!("cannot start a process for P{id}: {error}"))
        };
        let stderr = File::create(self.folder.join(errors_name(id, life))).map_err(cannot)?;
        let mut child = Command::new(&self.program)
            .args(["host-process", self.algorithm, &member.port.to_string()])
            .current_dir(&self.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr)
            // Ctrl-C is for the parent, which then ends its children.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(cannot)?;
        self.record.members[place].1 = life;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let Some((stdin, stdout)) = pipes else { return Ok(()) };
        let says = self.says.clone();
        tokio::spawn(async move {
            let mut lines = BufReader::new(stdout).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                // The receiver is gone when the run is over.
                let _ = says.send((place, life, ProcessEvent::Line(line)));
            }
            let _ = says.send((place, life, ProcessEvent::End));
        });
        member.running = Some((child, stdin));
        Ok(())
    }

    fn setup(&self, place: usize) -> Setup {
        let Member { id, life, .. } = self.members[place];
        let address = |member: &Member| (member.id, format!("127.0.0.1:{}", member.port));
        Setup {
            id,
            life,
            ids: self.members.iter().map(|member| member.id).collect(),
            addresses: self.members.iter().map(address).collect(),
            cluster: CLUSTER.to_owned(),
            certificates: CERTIFICATES.to_owned(),
            data: format!("state-{id}"),
            journal: journal_name(id, life),
            settings: self.record.settings.clone(),
            clock: self.clocks.get(&NodeId::new(id)).copied().unwrap_or_default(),
        }
    }

    fn place(&self, id: NodeId) -> Option<usize> {
        self.members.iter().position(|member| member.id == id.number())
    }

    /// Waits until each of these processes has said this.
    async fn expect(&mut self, places: &[usize], wanted: &Reply) -> Result<(), Failure> {
        for (place, reply) in self.replies(places).await? {
            if reply != *wanted {
                return Err(self.odd(place, &reply));
            }
        }
        Ok(())
    }

    /// Waits for one line of each of these processes.
    async fn replies(&mut self, places: &[usize]) -> Result<BTreeMap<usize, Reply>, Failure> {
        let mut replies = BTreeMap::new();
        let wait = async {
            while replies.len() < places.len() {
                match self.hear().await {
                    Ok((place, reply)) if places.contains(&place) => {
                        replies.insert(place, reply);
                    }
                    Ok((place, _)) => self.taken(place),
                    Err(place) => return Some(place),
                }
            }
            None
        };
        match tokio::time::timeout(PATIENCE, wait).await {
            Ok(None) => Ok(replies),
            Ok(Some(place)) => Err(self.post_mortem(place).await),
            Err(_) => Err(Failure::Input(format!(
                "the processes did not get ready within {} s; the machine is too busy for this many",
                PATIENCE.as_secs()
            ))),
        }
    }

    fn odd(&self, place: usize, said: &impl std::fmt::Debug) -> Failure {
        Failure::Input(format!("the process of P{} said {said:?}", self.members[place].id))
    }

    /// A process has ended by itself, which it must not.
    async fn post_mortem(&mut self, place: usize) -> Failure {
        let member = &mut self.members[place];
        let status = match &mut member.running {
            Some((child, _)) => {
                // It has closed its output; if it has not ended, it does so now.
                let _ = child.start_kill();
                child.wait().await.map_or_else(|error| error.to_string(), |s| s.to_string())
            }
            None => "it was not running".to_owned(),
        };
        member.running = None;
        let errors = self.folder.join(errors_name(member.id, member.life));
        let errors = fs::read_to_string(errors).unwrap_or_default();
        let said = match errors.trim() {
            "" => String::new(),
            errors => format!(". It said: {}", errors.trim_start_matches("error: ")),
        };
        Failure::Input(format!("the process of P{} ended by itself ({status}){said}", member.id))
    }

    /// Returns when a process ends by itself, with what is known of it.
    pub(crate) async fn death(&mut self) -> Failure {
        loop {
            match self.hear().await {
                Ok((place, _)) => self.taken(place),
                Err(place) => return self.post_mortem(place).await,
            }
        }
    }

    /// What a running process says next; the place of one that has ended, or that cannot be
    /// understood.
    async fn hear(&mut self) -> Result<(usize, Reply), usize> {
        while let Some((place, life, heard)) = self.hears.recv().await {
            let member = &self.members[place];
            // The last words of a process that was killed.
            if member.life != life || member.running.is_none() {
                continue;
            }
            let ProcessEvent::Line(line) = heard else { return Err(place) };
            return serde_json::from_str(&line).map(|reply| (place, reply)).map_err(|_| place);
        }
        // It cannot be: this end holds a sender too.
        std::future::pending().await
    }

    fn taken(&mut self, place: usize) {
        let asked = &mut self.members[place].asked;
        *asked = asked.saturating_sub(1);
    }

    async fn order(&mut self, place: usize, order: &Order) -> Result<(), Failure> {
        let Some((_, stdin)) = &mut self.members[place].running else { return Ok(()) };
        if stdin.write_all(line(order).as_bytes()).await.is_err() {
            return Err(self.post_mortem(place).await);
        }
        Ok(())
    }

    /// Asks a process for something, if it is alive.
    pub(crate) async fn input(&mut self, id: NodeId, verb: &str) -> Result<(), Failure> {
        let Some(place) = self.place(id) else { return Ok(()) };
        self.members[place].asked += u32::from(self.members[place].running.is_some());
        self.order(place, &Order::Input(verb.to_owned())).await
    }

    /// Whether a live process has still to do what it was asked for.
    pub(crate) fn is_busy(&self) -> bool {
        self.members.iter().any(|member| member.running.is_some() && member.asked > 0)
    }

    /// Sends a signal to a process. Its number is its own until it has been waited for.
    fn signal(&self, place: usize, signal: Signal) -> Option<Pid> {
        let (child, _) = self.members[place].running.as_ref()?;
        let pid = Pid::from_raw(i32::try_from(child.id()?).ok()?)?;
        kill_process(pid, signal).ok().map(|()| pid)
    }

    fn note(&mut self, place: usize, at_us: u64, what: Did) {
        let Member { id, life, .. } = self.members[place];
        self.record.deeds.push(Deed { at_us, id, life, what });
    }

    /// A SIGKILL.
    pub(crate) async fn kill(&mut self, id: NodeId) {
        let Some(place) = self.place(id) else { return };
        let at_us = Clock::shared().as_micros();
        if self.signal(place, Signal::KILL).is_some() {
            self.note(place, at_us, Did::Kill);
        }
        if let Some((mut child, _)) = self.members[place].running.take() {
            let _ = child.wait().await;
        }
    }

    /// A SIGSTOP; returns when it has taken effect.
    pub(crate) async fn stop(&mut self, id: NodeId) {
        let Some(place) = self.place(id) else { return };
        let Some(pid) = self.signal(place, Signal::STOP) else { return };
        self.note(place, Clock::shared().as_micros(), Did::Stop);
        let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        for _ in 0..100 {
            match waitid(WaitId::Pid(pid), options) {
                Ok(None) => tokio::time::sleep(Duration::from_millis(1)).await,
                _ => break,
            }
        }
        if let Some(deed) = self.record.deeds.last_mut() {
            deed.at_us = Clock::shared().as_micros();
        }
    }

    /// A SIGCONT.
    pub(crate) fn go_on(&mut self, id: NodeId) {
        let Some(place) = self.place(id) else { return };
        let at_us = Clock::shared().as_micros();
        if self.signal(place, Signal::CONT).is_some() {
            self.note(place, at_us, Did::Continue);
        }
    }

    /// Ends the run: what happens from now on is no part of it, and no process is left.
    pub(crate) async fn end(&mut self) {
        self.record.ended_us.get_or_insert(Clock::shared().as_micros());
        for place in 0..self.members.len() {
            self.signal(place, Signal::KILL);
        }
        for member in &mut self.members {
            if let Some((mut child, _)) = member.running.take() {
                let _ = child.wait().await;
            }
        }
    }
}

/// Where a process's standard error goes.
fn errors_name(id: u32, life: u64) -> String {
    format!("errors-{id}.{life}")
}
