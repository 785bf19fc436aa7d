//! What only a sequencer has to remember.

use super::super::Post;
use bellwether_core::SortedMap;

/// What a sequencer has numbered, and how far each member has got.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Numbering {
    /// How many messages of each member have a position, by place in the view.
    pub(super) numbered: Vec<u64>,
    /// Those that have overtaken others, by place and index (TS2).
    pub(super) waiting: SortedMap<(usize, u64), Post>,
    /// How far each member has got, by place.
    reached: Vec<u64>,
    /// How many have got just so far.
    levels: SortedMap<u64, u32>,
}

impl Numbering {
    /// A numbering in a view of this many members, which have all got this far.
    pub(super) fn new(members: usize, reached: u64) -> Box<Self> {
        Box::new(Numbering {
            numbered: vec![0; members],
            waiting: SortedMap::new(),
            reached: vec![reached; members],
            levels: SortedMap::from([(reached, members as u32)]),
        })
    }

    /// A member has got so far; says how far all have got.
    pub(super) fn reach(&mut self, place: usize, known: u64) -> u64 {
        let before = self.reached[place];
        if known > before {
            self.reached[place] = known;
            if let Some(left) = self.levels.get_mut(&before) {
                *left -= 1;
                if *left == 0 {
                    self.levels.remove(&before);
                }
            }
            *self.levels.entry(known).or_insert(0) += 1;
        }
        self.levels.keys().next().copied().unwrap_or(0)
    }
}
