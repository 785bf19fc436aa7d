//! How a simulated run is judged: by invariants, and by a referee.

use super::{CLOCK_START, Sim};
use crate::attendance::Attendance;
use crate::fault::FaultKind;
use crate::observer::Observer;
use bellwether_algorithms::definition::ClockReader;
use bellwether_algorithms::referee::{Fact, Picture, Referee};
use bellwether_core::{Cluster, InFlight, NodeId, Process};

impl<P: Process, O: Observer<P>> Sim<P, O> {
    /// Checks, after an event, what is claimed of the whole cluster, if anything is. In the middle
    /// of one, a message that has left the queue may not have arrived yet.
    #[inline(always)]
    pub(super) fn look_at_whole(&mut self) {
        if self.monitor.looks_at_whole() && self.violation.is_none() {
            self.check_whole();
        }
    }

    #[cold]
    fn check_whole(&mut self) {
        let live: Vec<_> = self.live().collect();
        let waiting = self.oddities.values().flat_map(|oddity| oddity.backlog.iter().flatten());
        let in_flight = self.world.queue.iter().chain(waiting);
        let in_flight = in_flight.filter_map(|event| self.letter(event));
        let in_flight: Vec<_> =
            in_flight.map(|(_, from, to, msg)| InFlight { from, to, msg }).collect();
        let cluster = Cluster { live: &live, in_flight: &in_flight };
        self.violation = self.monitor.whole(self.world.now, &cluster);
    }

    /// The process at `place` has made a move that may matter to an invariant.
    #[cold]
    pub(super) fn do_books(&mut self, place: usize) {
        let me = self.group.ring()[place];
        let at = self.world.now;
        let mut claims = self.nodes[place].claims;
        let look = |id: NodeId| {
            let place = self.group.place(id)?;
            let node = &self.nodes[place];
            let clock =
                self.oddities.get(&place).map_or(at + CLOCK_START, |oddity| oddity.shown(at));
            node.up.then_some((&node.process, clock))
        };
        let broken = self.monitor.moved(at, me, &mut claims, &look);
        self.nodes[place].claims = claims;
        if self.violation.is_none() {
            self.violation = broken;
        }
    }

    /// Lets a referee hear all from now on; `clock` says what the clock of a process shows.
    pub fn attend(&mut self, referee: Box<dyn Referee<P>>, clock: ClockReader<P>) {
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
        // A drift counts when the clock is read.
        if self.oddities.values().any(|oddity| oddity.drift_ppm != 0) {
            self.world.faults.bite(FaultKind::Drift);
        }
        self.violation = self.violation.take().or_else(|| attendance.broken().cloned());
    }
}
