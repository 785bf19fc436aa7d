//! What need not be done, because it was done elsewhere (Godefroid's sleep sets).
//!
//! If P1 takes a message and P2 takes another, the order makes no difference: both ways lead to the
//! same state. Of the two ways one is enough. So when a state has been left by P1's step and is then
//! left by P2's, P1's step is put to sleep in the state after P2's: what comes of it has been seen
//! already. It wakes up as soon as P1 does anything else, or anything happens that concerns more than
//! one process. A crash concerns one process, and all other crashes.
//!
//! All states are still visited, and at the same distance from the beginning: for every way to a
//! state, one with the same steps in another order is left. Only steps are saved. Where a state is
//! reached in several ways, a step may stay asleep only if all of them agree; one that has to be
//! woken up later is done then.
//!
//! Steps of different processes are independent, except when a referee hears them: the
//! order may matter to it.
//!
//! A sleeping step must be known again in another state, in a few bits. Every process has some of 64,
//! and a step has one of them by what it is: the message and its sender, the timer, the input, the
//! crash. Two steps may get the same bit. As a step that sleeps stays possible, both are possible
//! then, and a search sees that the bit does not tell which of them sleeps: then neither does.

use crate::model::{Channels, Model};
use bellwether_core::Process;

/// What may be left out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reduction {
    /// Which steps can sleep, if any may.
    pub(crate) bits: Option<Bits>,
    /// Whether there are [steps](crate::World::narrow) that come before all others.
    pub(crate) narrow: bool,
}

impl Reduction {
    /// As much as possible in this model, or nothing.
    pub(crate) fn of<P: Process>(model: &Model<P>, reduce: bool, members_only: bool) -> Reduction {
        let stays = model.channels == Channels::Unreliable;
        // That leaves out states with fewer messages, which an invariant might look for.
        let narrow = reduce && stays && (members_only || !model.looks_at_whole());
        let bits = (reduce && !stays).then(|| Bits::of(model)).flatten();
        Reduction { bits, narrow }
    }
}

/// Which bits are whose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bits {
    nodes: u32,
    /// How many bits a process has.
    each: u32,
}

/// What a step is, as far as bits can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// A process takes a message, or its timer fires: which, as a number.
    Some(u32),
    /// The application asks for something.
    Input,
    /// A process stops.
    Crash,
}

/// A step that can sleep.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// Its bit.
    pub(crate) bit: u64,
    /// The bits of steps that depend on it.
    pub(crate) same: u64,
}

impl Bits {
    /// For the processes of a model; none if there are too many.
    pub(crate) fn of<P: Process>(model: &Model<P>) -> Option<Bits> {
        Bits::new(u32::try_from(model.group.len()).ok()?)
    }

    fn new(nodes: u32) -> Option<Bits> {
        let each = u64::BITS.checked_div(nodes)?;
        // One for crashes, one for inputs, and some for the others.
        (each >= 4).then_some(Bits { nodes, each })
    }

    /// The step of a process with this mark.
    pub(crate) fn step(self, place: u8, mark: Mark) -> Step {
        let place = u32::from(place);
        let first = place * self.each;
        let same = (u64::MAX >> (u64::BITS - self.each)) << first;
        match mark {
            Mark::Some(which) => Step { bit: 1 << (first + 2 + which % (self.each - 2)), same },
            Mark::Input => Step { bit: 1 << (first + 1), same },
            Mark::Crash => {
                // One crash may use up what is left for another.
                let crashes = (0..self.nodes).fold(0, |all, place| all | 1 << (place * self.each));
                Step { bit: 1 << first, same: same | crashes }
            }
        }
    }
}

/// Which of these bits belong to more than one of the steps that are possible in a state.
pub(crate) fn ambiguous(steps: &[Option<Step>]) -> u64 {
    let (mut once, mut twice) = (0, 0);
    for step in steps.iter().flatten() {
        twice |= once & step.bit;
        once |= step.bit;
    }
    twice
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_a_process_depend_on_each_other_only() {
        for nodes in 1..=16 {
            let bits = Bits::new(nodes).unwrap();
            let marks = [Mark::Input, Mark::Some(0), Mark::Some(7), Mark::Some(u32::MAX)];
            for place in 0..nodes as u8 {
                for mark in marks {
                    let step = bits.step(place, mark);
                    assert_eq!(step.same & step.bit, step.bit);
                    for other in (0..nodes as u8).filter(|other| *other != place) {
                        for mark in [Mark::Crash, Mark::Input, Mark::Some(3)] {
                            assert_eq!(step.same & bits.step(other, mark).bit, 0);
                        }
                    }
                }
            }
        }
        assert!(Bits::new(17).is_none() && Bits::new(0).is_none());
    }

    #[test]
    fn crashes_depend_on_each_other() {
        let bits = Bits::new(4).unwrap();
        let (one, two) = (bits.step(0, Mark::Crash), bits.step(3, Mark::Crash));
        assert_ne!(one.bit, two.bit);
        assert_eq!(one.same & two.bit, two.bit);
    }

    #[test]
    fn a_bit_that_two_steps_share_tells_nothing() {
        let bits = Bits::new(4).unwrap();
        let step = |which| Some(bits.step(1, Mark::Some(which)));
        assert_eq!(ambiguous(&[step(0), None, step(1)]), 0);
        let shared = step(0).unwrap().bit;
        assert_eq!(ambiguous(&[step(0), step(1), step(14)]), shared);
    }
}
