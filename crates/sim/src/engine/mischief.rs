//! What scripts do to a simulated cluster: crashes, pauses, cuts, wrong clocks, inputs.

use super::{Event, Sim};
use crate::fault::{Action, ActiveCut, FaultCounts, FaultKind};
use crate::node::{Oddity, Trap};
use crate::observer::{Observer, Seen};
use bellwether_algorithms::time::Offset;
use bellwether_core::{Call, NodeId, Process, Time, micros};
use std::collections::VecDeque;
use std::time::Duration;

/// What every right clock shows when a run begins: so large that a clock that is behind still shows
/// something, and does not stand still at zero.
pub const CLOCK_START: Duration = Duration::from_secs(24 * 3_600);

impl<P: Process, O: Observer<P>> Sim<P, O> {
    #[cold]
    pub(super) fn perform(&mut self, action: Action<P::Input>) {
        self.world.stirred = true;
        self.world.last = self.world.now;
        let place = |id: &NodeId| self.group.place(*id);
        match &action {
            Action::Crash(id) => place(id).map(|place| self.crash(place)),
            Action::CrashSending { node, kind, after } => place(node).map(|place| {
                let trap = Trap { kind: kind.clone(), left: *after, sprung: false };
                self.odd(place).trap = Some(trap);
            }),
            Action::Recover(id) => place(id).map(|place| self.recover(place)),
            Action::Wipe(id) => place(id).map(|place| {
                self.crash(place);
                self.odd(place).saved = None;
                self.world.faults.bite(FaultKind::Wipe);
            }),
            Action::Pause(id) => place(id).map(|place| self.pause(place)),
            Action::Resume(id) => place(id).map(|place| self.resume(place)),
            Action::Slow(id, span) => place(id).map(|place| self.odd(place).slow = *span),
            Action::Clock { node, offset_us, drift_ppm } => place(node).map(|place| {
                let oddity = self.odd(place);
                (oddity.offset_us, oddity.drift_ppm) = (*offset_us, *drift_ppm);
                let offset = Offset::from_micros(*offset_us);
                let note = format!("clock of {node} {offset} {drift_ppm:+}ppm");
                self.see(place, Seen::Note(&note));
            }),
            Action::Cut(cut) => {
                self.world.cuts.push(ActiveCut::new(cut, &self.group));
                self.see(0, Seen::Note(&cut.kind.to_string()));
                None
            }
            Action::Heal(name) => {
                self.heal(*name);
                None
            }
            Action::Calm => {
                self.world.oracle.calm();
                self.see(0, Seen::Note("calm"));
                None
            }
            Action::Steer(steer) => {
                self.steer(*steer);
                None
            }
            Action::Input(id, input) => place(id).map(|place| self.input(place, input.clone())),
            Action::InputAll(input) => {
                for place in 0..self.nodes.len() {
                    self.input(place, input.clone());
                }
                None
            }
        };
    }

    /// Mends a cut. The note says which if others are still there.
    fn heal(&mut self, name: u32) {
        let cuts = &mut self.world.cuts;
        let mended = cuts.extract_if(.., |active| active.cut.name == name);
        let mended: Vec<String> = mended.map(|active| active.cut.kind.to_string()).collect();
        match mended.first() {
            _ if self.world.cuts.is_empty() => self.see(0, Seen::Note("heal")),
            Some(cut) => self.see(0, Seen::Note(&format!("heal {cut}"))),
            None => {}
        }
    }

    fn input(&mut self, place: usize, input: P::Input) {
        let id = self.group.ring()[place];
        if let Some(oddity) = self.oddities.get_mut(&place)
            && let Some(backlog) = &mut oddity.backlog
        {
            // A paused process does nothing, whatever is asked: this waits like everything else.
            backlog.push_back(Event::Act(self.script.len() as u32));
            self.script.push(Action::Input(id, input));
            self.pending += 1;
            self.world.faults.bite(FaultKind::Pause);
        } else if self.nodes[place].up {
            self.see(place, Seen::Input(&input));
            self.step(place, Call::Input(input));
        }
    }

    pub(super) fn crash(&mut self, place: usize) {
        let node = &mut self.nodes[place];
        if !std::mem::take(&mut node.up) {
            return;
        }
        let process = std::mem::take(&mut node.process);
        node.timers.clear();
        self.monitor.died(self.group.ring()[place], &mut node.claims);
        let oddity = self.odd(place);
        oddity.saved = Some(process.durable());
        oddity.trap = None;
        let backlog = oddity.backlog.take();
        if let Some(metered) = &mut self.world.meter {
            metered.meter.died(place);
        }
        let (now, id) = (self.world.now, self.group.ring()[place]);
        if let Some(attendance) = &mut self.world.attendance {
            attendance.crashed(now, id);
        }
        self.world.faults.bite(FaultKind::Crash);
        self.see(place, Seen::Crash);
        // What waited for it is dropped like any other message to a stopped process.
        for event in backlog.into_iter().flatten() {
            self.handle_late(event);
        }
    }

    fn recover(&mut self, place: usize) {
        if self.nodes[place].up {
            return;
        }
        let saved = self.odd(place).saved.take();
        self.nodes[place].up = true;
        self.world.faults.bite(FaultKind::Recover);
        self.monitor.recovered();
        self.see(place, Seen::Recover);
        self.step(place, Call::Start(saved));
    }

    fn pause(&mut self, place: usize) {
        if self.nodes[place].up {
            self.odd(place).backlog.get_or_insert_with(VecDeque::new);
            self.see(place, Seen::Pause);
        }
    }

    fn resume(&mut self, place: usize) {
        if let Some(backlog) = self.odd(place).backlog.take() {
            self.see(place, Seen::Resume);
            // At once, and before anything else that arrives now: no message overtakes another.
            for event in backlog {
                self.handle_late(event);
            }
        }
    }

    pub(super) fn odd(&mut self, place: usize) -> &mut Oddity<P> {
        self.nodes[place].odd = true;
        self.oddities.entry(place).or_default()
    }

    /// Whether events for this process have to wait.
    #[cold]
    pub(super) fn holds_up(&self, place: usize) -> bool {
        self.nodes[place].up
            && self.oddities.get(&place).is_some_and(|oddity| {
                oddity.backlog.is_some()
                    || !oddity.slow.is_zero()
                    || oddity.is_behind(self.world.now)
            })
    }

    #[cold]
    pub(super) fn hold_up(&mut self, place: usize, event: Event<P>) {
        let now = self.world.now;
        let oddity = self.odd(place);
        // What a slow process has not got round to yet comes before what arrives now, also if it
        // pauses or is slow no more.
        if !oddity.is_behind(now)
            && let Some(backlog) = &mut oddity.backlog
        {
            backlog.push_back(event);
            self.world.faults.bite(FaultKind::Pause);
        } else {
            oddity.busy_until = oddity.busy_until.max(now) + oddity.slow;
            let until = oddity.busy_until.as_micros();
            self.world.queue.push(until, place as u32, Event::Late(Box::new(event)));
            self.world.faults.bite(FaultKind::Slow);
        }
    }

    /// An event that has waited long enough; unless its process is paused by now.
    pub(super) fn handle_late(&mut self, event: Event<P>) {
        let place = match &event {
            Event::Deliver { to, .. } => *to as usize,
            Event::Timer { place, .. } => *place as usize,
            Event::Act(_) | Event::Late(_) => return self.handle(event),
        };
        if let Some(oddity) = self.oddities.get_mut(&place)
            && let Some(backlog) = &mut oddity.backlog
        {
            self.world.faults.bite(FaultKind::Pause);
            return backlog.push_back(event);
        }
        match event {
            Event::Deliver { to, from, id, msg } => self.deliver(to as usize, from, id, msg),
            Event::Timer { place, number, timer } => self.fire(place as usize, number, timer),
            Event::Act(_) | Event::Late(_) => {}
        }
    }
}

impl<P: Process> Oddity<P> {
    /// Whether a slow process has events that it has not got round to.
    fn is_behind(&self, now: Time) -> bool {
        self.busy_until > Time::ZERO && self.busy_until >= now
    }

    /// What the process's own clock shows when it acts.
    pub(super) fn reading(&self, now: Time, faults: &mut FaultCounts) -> Time {
        if self.offset_us != 0 {
            faults.bite(FaultKind::Offset);
        }
        self.shown(now)
    }

    /// What the process's own clock shows.
    pub(super) fn shown(&self, now: Time) -> Time {
        let now = i128::from((now + CLOCK_START).as_micros());
        let elapsed = now - i128::from(micros(CLOCK_START));
        let gained = elapsed * i128::from(self.drift_ppm) / 1_000_000;
        let reading = now + gained + i128::from(self.offset_us);
        Time::from_micros(u64::try_from(reading.max(0)).unwrap_or(u64::MAX))
    }

    /// How long a span of the process's own clock really is: so long that a timer never fires
    /// before its time on that clock.
    pub(super) fn real(&self, now: Time, span_us: u64, faults: &mut FaultCounts) -> u64 {
        if self.drift_ppm == 0 {
            return span_us;
        }
        faults.bite(FaultKind::Drift);
        let rate = (1_000_000 + i128::from(self.drift_ppm)).max(1);
        let span = i128::from(span_us) * 1_000_000;
        let real = u64::try_from((span + rate - 1) / rate).unwrap_or(u64::MAX);
        let shows = self.shown(now + Duration::from_micros(real));
        let due = self.shown(now) + Duration::from_micros(span_us);
        // Readings are whole microseconds, too.
        real.saturating_add(u64::from(shows < due))
    }
}
