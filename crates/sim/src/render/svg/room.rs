//! Where on the picture there is still room for words.

use bellwether_svg::Point;

const CELL_PX: f64 = 3.0;
/// Finding room is not worth more memory than this.
const CELLS_MAX: usize = 8_000_000;

/// What is drawn where, in small cells.
pub(super) struct Room {
    columns: usize,
    rows: usize,
    /// How many lines go through a cell.
    lines: Vec<u8>,
    /// Whether there are words.
    words: Vec<bool>,
}

/// A line of words: its middle, its direction (a unit vector), its width and height.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words {
    pub(super) middle: Point,
    pub(super) along: Point,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Room {
    pub(super) fn new(width: f64, height: f64) -> Self {
        let cells = |px: f64| (px / CELL_PX) as usize + 1;
        let (mut columns, mut rows) = (cells(width), cells(height));
        if columns.saturating_mul(rows) > CELLS_MAX {
            // Too large to read anyway: without cells, no words fit.
            (columns, rows) = (0, 0);
        }
        Room { columns, rows, lines: vec![0; columns * rows], words: vec![false; columns * rows] }
    }

    fn cell(&self, (x, y): Point) -> Option<usize> {
        if x < 0.0 || y < 0.0 {
            return None;
        }
        let (column, row) = ((x / CELL_PX) as usize, (y / CELL_PX) as usize);
        (column < self.columns && row < self.rows).then(|| row * self.columns + column)
    }

    /// A line is drawn.
    pub(super) fn draw(&mut self, from: Point, to: Point) {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let steps = ((dx * dx + dy * dy).sqrt() / CELL_PX * 1.5) as usize + 1;
        let mut last = None;
        for step in 0..=steps {
            let part = step as f64 / steps as f64;
            let cell = self.cell((from.0 + dx * part, from.1 + dy * part));
            if let Some(cell) = cell.filter(|_| cell != last) {
                self.lines[cell] = self.lines[cell].saturating_add(1);
            }
            last = cell;
        }
    }

    /// Takes the place for these words, if it is free of other words and not more than
    /// `crossings_max` of its cells have lines in them.
    pub(super) fn take(&mut self, words: Words, crossings_max: usize) -> bool {
        let mut cells: Vec<usize> = Vec::new();
        for point in words.points() {
            match self.cell(point) {
                Some(cell) if !self.words[cell] => cells.push(cell),
                _ => return false,
            }
        }
        cells.sort_unstable();
        cells.dedup();
        if cells.iter().filter(|cell| self.lines[**cell] > 0).count() > crossings_max {
            return false;
        }
        for cell in cells {
            self.words[cell] = true;
        }
        true
    }

    /// Keeps words out of a place, whatever is there already.
    pub(super) fn block(&mut self, place: Words) {
        for point in place.points() {
            if let Some(cell) = self.cell(point) {
                self.words[cell] = true;
            }
        }
    }
}

impl Words {
    fn points(&self) -> impl Iterator<Item = Point> {
        let Words { middle, along: (cos, sin), width, height } = *self;
        let count = |px: f64| (px / CELL_PX * 1.4) as i32 + 1;
        let (across, down) = (count(width), count(height));
        (0..=across).flat_map(move |i| {
            let u = (f64::from(i) / f64::from(across) - 0.5) * width;
            (0..=down).map(move |j| {
                let v = (f64::from(j) / f64::from(down) - 0.5) * height;
                (middle.0 + u * cos - v * sin, middle.1 + u * sin + v * cos)
            })
        })
    }
}

/// How wide words are, roughly: no two machines have the same fonts.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * 0.6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_clear_of_words_and_of_lines() {
        let mut room = Room::new(200.0, 100.0);
        let words = |x, y| Words { middle: (x, y), along: (1.0, 0.0), width: 40.0, height: 10.0 };
        assert!(room.take(words(50.0, 50.0), 0));
        assert!(!room.take(words(80.0, 50.0), 99), "overlaps the first");
        assert!(room.take(words(80.0, 70.0), 0));
        room.draw((150.0, 0.0), (150.0, 100.0));
        assert!(!room.take(words(150.0, 50.0), 0), "a line is in the way");
        assert!(room.take(words(150.0, 50.0), 9), "and may be crossed if need be");
        assert!(!room.take(words(195.0, 50.0), 0), "reaches over the edge");
    }

    #[test]
    fn a_place_is_kept_clear_even_if_something_is_there() {
        let mut room = Room::new(200.0, 100.0);
        let words = |x, width| Words { middle: (x, 50.0), along: (1.0, 0.0), width, height: 10.0 };
        assert!(room.take(words(80.0, 10.0), 0));
        room.block(words(0.0, 160.0));
        assert!(!room.take(words(30.0, 20.0), 99));
        assert!(room.take(words(110.0, 20.0), 0), "beside it there is room");
    }

    #[test]
    fn slanted_words_take_a_slanted_place() {
        let mut room = Room::new(200.0, 200.0);
        let slanted =
            Words { middle: (100.0, 100.0), along: (0.6, 0.8), width: 100.0, height: 8.0 };
        assert!(room.take(slanted, 0));
        let small = Words { along: (1.0, 0.0), width: 10.0, height: 8.0, ..slanted };
        assert!(!room.take(Words { middle: (124.0, 132.0), ..small }, 0));
        assert!(room.take(Words { middle: (124.0, 68.0), ..small }, 0));
    }
}
