//! The frames between clients and members: all of them survive the journey, and nothing that is no
//! frame does harm.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod frames;
mod golden;
mod hostile;

/// A plain xorshift: the same draws in every run.
pub(crate) struct Draws(pub(crate) u64);

impl Draws {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// A number of any size, zero and the largest among them.
    pub(crate) fn number(&mut self) -> u64 {
        match self.below(8) {
            0 => 0,
            1 => u64::MAX,
            _ => self.next() >> self.below(64),
        }
    }

    pub(crate) fn small(&mut self) -> u32 {
        self.number() as u32
    }

    pub(crate) fn text(&mut self) -> String {
        const LETTERS: [&str; 6] = ["a", "Z", "/", "é", "\u{1f411}", "\0"];
        (0..self.below(9)).map(|_| LETTERS[self.below(LETTERS.len())]).collect()
    }

    pub(crate) fn bytes(&mut self) -> Vec<u8> {
        (0..self.below(20)).map(|_| self.next() as u8).collect()
    }

    pub(crate) fn some<T>(&mut self, draw: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (self.below(2) == 0).then(|| draw(self))
    }

    pub(crate) fn list<T>(&mut self, mut draw: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(5)).map(|_| draw(self)).collect()
    }
}
