//! A referee at a simulated run.

use super::{CLOCK_START, Sim};
use crate::attendance::Attendance;
use crate::fault::FaultKind;
use crate::observer::Observer;
use bellwether_algorithms::referee::{Fact, Picture, Referee};
use bellwether_core::{NodeId, Process, Time};

impl<P: Process, O: Observer<P>> Sim<P, O> {
    /// Lets a referee hear all from now on; `clock` says what the clock of a process shows.
    pub fn attend(&mut self, referee: Box<dyn Referee<P>>, clock: fn(&P, Time) -> Option<Time>) {
        self.world.attendance = Some(Box::new(Attendance::new(referee, clock)));
    }

    /// What a referee has to say.
    pub fn facts(&self) -> Vec<Fact> {
        self.world.attendance.as_ref().map_or_else(Vec::new, |attendance| attendance.facts())
    }

    /// What a referee has to show.
    pub fn pictures(&self) -> Vec<Picture> {
        self.world.attendance.as_ref().map_or_else(Vec::new, |attendance| attendance.pictures())
    }

    /// Tells a referee that the run is over.
    pub(crate) fn close(&mut self) {
        let live: Vec<NodeId> = self.live().map(|(id, _)| id).collect();
        let now = self.world.now;
        if let Some(attendance) = &mut self.world.attendance {
            attendance.closes(now, &live);
            let broken = attendance.broken();
            self.violation = self.violation.take().or_else(|| broken.cloned());
        }
    }

    #[cold]
    pub(super) fn ask_referee(&mut self) {
        let broken = self.world.attendance.as_ref().and_then(|attendance| attendance.broken());
        if self.violation.is_none() && broken.is_some() {
            self.violation = broken.cloned();
        }
    }

    /// Lets the referee look at the clocks of all live processes.
    #[cold]
    pub(super) fn look_at_clocks(&mut self) {
        let now = self.world.now;
        let Some(attendance) = &mut self.world.attendance else { return };
        let (nodes, oddities) = (&self.nodes, &self.oddities);
        let right = now + CLOCK_START;
        let live = self.group.ring().iter().enumerate().filter(|(place, _)| nodes[*place].up);
        let live = live.map(|(place, id)| {
            let reading = oddities.get(&place).map_or(right, |oddity| oddity.shown(now));
            (*id, &nodes[place].process, reading)
        });
        attendance.looks(now, right, live);
        // Whoever drifts is seen to drift.
        if self.oddities.values().any(|oddity| oddity.drift_ppm != 0) {
            self.world.faults.bite(FaultKind::Drift);
        }
        self.violation = self.violation.take().or_else(|| attendance.broken().cloned());
    }
}
