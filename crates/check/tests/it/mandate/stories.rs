//! What must be possible: a proof of a model in which nothing happens is worth nothing.

use super::probe::Probe;
use bellwether_algorithms::referee::{Breach, Fact, Referee};
use bellwether_core::{NodeId, Time};
use bellwether_member::Loss;
use bellwether_member::mandate::{Epoch, Said};

/// Something that happens in some runs, told as one event after the other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Story {
    events: Vec<Event>,
    /// How many of them have happened.
    told: usize,
}

/// An event of a story.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Event {
    /// That member wins this epoch.
    Wins(u32, u64),
    /// Its mandate runs out.
    Lapses(u32),
    /// It gives it up.
    GivesUp(u32),
    /// It crashes.
    Crashes(u32),
    /// It wins this epoch without having lost the one before.
    MovesTo(u32, u64),
}

impl Story {
    pub(crate) fn boxed(events: &[Event]) -> Box<dyn Referee<Probe>> {
        Box::new(Story { events: events.to_vec(), told: 0 })
    }

    fn happens(&mut self, event: Event) -> Result<(), Breach> {
        let Some(next) = self.events.get(self.told) else { return Ok(()) };
        match (*next, event) {
            (next, event) if next == event => self.told += 1,
            (Event::MovesTo(who, to), Event::Wins(winner, epoch))
                if (who, to) == (winner, epoch) =>
            {
                self.told += 1;
            }
            // Then it did not keep what it had.
            (Event::MovesTo(who, _), Event::Lapses(loser) | Event::GivesUp(loser))
                if who == loser =>
            {
                self.told = 0;
            }
            _ => {}
        }
        if self.told < self.events.len() {
            return Ok(());
        }
        Err(Breach { name: "story", text: "all of it has happened", by: Vec::new() })
    }
}

impl Referee<Probe> for Story {
    fn hears(&mut self, _: Time, who: NodeId, said: &Said) -> Result<(), Breach> {
        let who = who.number();
        let number = |epoch: &Epoch| epoch.number();
        match said {
            Said::Won(epoch) => self.happens(Event::Wins(who, number(epoch))),
            Said::Lost(_, Loss::GivenUp | Loss::HandedOver(_)) => self.happens(Event::GivesUp(who)),
            Said::Lost(..) => self.happens(Event::Lapses(who)),
            _ => Ok(()),
        }
    }

    fn crashed(&mut self, _: Time, who: NodeId) {
        // A story does not end with a crash.
        let _ = self.happens(Event::Crashes(who.number()));
    }

    fn claims(&self) -> Vec<&'static str> {
        vec!["story"]
    }

    fn facts(&self) -> Vec<Fact> {
        Vec::new()
    }
}
