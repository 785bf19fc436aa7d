//! An algorithm that says it does not look at clocks does the same whatever they show, and one that
//! says it does is not the same: `reads_clock` is neither forgotten nor idle.

use crate::run::{Clock, Run};
use bellwether_algorithms::catalogue::catalogue;
use bellwether_core::Time;

#[test]
fn only_those_that_say_so_look_at_their_clocks() {
    for listed in catalogue().iter() {
        let play = |clock: Clock| {
            let run = Run::new(listed, clock).play(|_, _| {});
            (run.processes, format!("{:?}", run.world.said))
        };
        let stopped = play(|_, _| Time::ZERO);
        let runs = play(|step, place| Time::from_micros(step * (1_000 + 77 * place as u64)));
        let name = listed.name();
        assert_ne!(stopped.1, "[]", "{name} says nothing at all");
        let (says, does) = (listed.reads_clock, stopped != runs);
        assert_eq!(says, does, "{name}: what it says of its clocks, and what it does");
    }
}
