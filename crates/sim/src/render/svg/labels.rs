//! Words beside the arrows and signs, where they do not get in each other's way.

use super::layout::Layout;
use super::lives::said;
use super::model::{Mark, Model, Sign};
use super::room::{Room, Words, width};
use super::{colour, is_proper, sections};
use bellwether_svg::{Anchor, Pen, Point};

const SIZE: f64 = 11.0;
/// Below this distance of lifelines there is no room for words.
const ROW_PX_MIN: f64 = 19.0;
/// A message that says more than this is cut short; its tooltip says all.
const CHARS_MAX: usize = 26;

/// First the entries to the section and who was elected, then the messages, then the rest; last
/// what the bars of the section already say.
pub(super) fn labels(pen: &mut Pen, model: &Model<'_>, layout: &Layout, room: &mut Room) {
    if layout.row_px < ROW_PX_MIN {
        return;
    }
    let size = SIZE * layout.scale.max(0.72);
    keep_signs_clear(model, layout, room);
    sections::numbers(pen, model, layout, room);
    let elected = |mark: &&Mark<'_>| mark.sign == Sign::Elected;
    for mark in model.marks.iter().filter(elected) {
        label_mark(pen, layout, room, mark, size, &[0, 14]);
    }
    label_flights(pen, model, layout, room, size);
    let section = |mark: &&Mark<'_>| mark.sign == Sign::Section;
    let rest = |mark: &&Mark<'_>| !elected(mark) && !section(mark) && !mark.told;
    for mark in model.marks.iter().filter(rest) {
        label_mark(pen, layout, room, mark, size, &[0, 4]);
    }
    for mark in model.marks.iter().filter(section) {
        label_mark(pen, layout, room, mark, size, &[0]);
    }
}

/// Words are not written over crowns, crosses and other signs, nor beyond the lifelines' ends.
fn keep_signs_clear(model: &Model<'_>, layout: &Layout, room: &mut Room) {
    let side = 9.0 * layout.scale;
    let clear = |room: &mut Room, (x, y): Point| {
        room.block(Words { middle: (x, y), along: (1.0, 0.0), width: side, height: side });
    };
    for (row, life) in model.lives.iter().enumerate() {
        let y = layout.y(row);
        for span in life.reigns.iter().chain(&life.downs) {
            clear(room, (layout.span(*span).0, y));
        }
    }
    let ends = [(0.0, layout.left), (layout.right + 8.0, layout.width)];
    for row in 0..model.rows.len() {
        for (left, right) in ends {
            let middle = ((left + right) / 2.0, layout.y(row));
            let (width, height) = (right - left - 2.0, layout.row_px * 0.9);
            room.block(Words { middle, along: (1.0, 0.0), width, height });
        }
    }
    for mark in &model.marks {
        let up = if mark.sign == Sign::Input { 6.0 * layout.scale } else { 0.0 };
        clear(room, (layout.x(mark.at), layout.y(mark.row) - up));
    }
}

fn label_mark(
    pen: &mut Pen,
    layout: &Layout,
    room: &mut Room,
    mark: &Mark<'_>,
    size: f64,
    crossings: &[usize],
) {
    let (x, y) = (layout.x(mark.at), layout.y(mark.row));
    let text = said(mark.sign, mark.text);
    let wide = width(&text, size);
    let (near, far) = (9.0 * layout.scale, 14.0 * layout.scale + 2.0);
    let places = [(near, -far), (near, far), (-near - wide, -far), (-near - wide, far)];
    // What is said of a section belongs over its bar, not before it.
    let places = if mark.sign == Sign::Section { &places[..2] } else { &places[..] };
    for crossings_max in crossings {
        for (dx, dy) in places {
            let (left, y) = (x + dx, y + dy);
            let middle = (left + wide / 2.0, y);
            let words = Words { middle, along: (1.0, 0.0), width: wide + 4.0, height: size };
            if room.take(words, *crossings_max) {
                let class = if mark.sign == Sign::Elected { "said halo" } else { "faint halo" };
                return pen.words(class, Anchor::Start, size, (left, y + size * 0.36), &text);
            }
        }
    }
}

fn label_flights(pen: &mut Pen, model: &Model<'_>, layout: &Layout, room: &mut Room, size: f64) {
    // Those that find a clear place go first; the others may cross a line or two.
    let mut waiting: Vec<_> = model.flights.iter().filter(|flight| is_proper(flight)).collect();
    for crossings_max in [0, 4] {
        waiting.retain(|flight| {
            let (from, to) = layout.flight(model, flight);
            let Some(class) = colour(model, flight.letter.kind) else { return false };
            let class = format!("c{class}-text halo");
            let placed = wordings(flight.letter.kind.name, &flight.letter.text)
                .into_iter()
                .find_map(|text| {
                    let words = place(room, from, to, width(&text, size), size, crossings_max)?;
                    Some((words, text))
                });
            if let Some((words, text)) = &placed {
                let (cos, sin) = words.along;
                let drop = size * 0.36;
                let baseline = (words.middle.0 - sin * drop, words.middle.1 + cos * drop);
                pen.slanted(&class, size, baseline, words.along, text);
            }
            placed.is_none()
        });
    }
}

/// What to write: all of it, or what the colour does not already say.
fn wordings(kind: &str, text: &str) -> Vec<String> {
    let short = |text: &str| match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}\u{2026}", &text[..end]),
        None => text.to_owned(),
    };
    let mut wordings = vec![short(text)];
    if let Some(rest) = text.strip_prefix(kind).map(str::trim).filter(|rest| !rest.is_empty()) {
        wordings.push(short(rest));
    }
    wordings
}

/// Looks for a place along an arrow, on either side of it.
fn place(
    room: &mut Room,
    from: Point,
    to: Point,
    wide: f64,
    size: f64,
    crossings_max: usize,
) -> Option<Words> {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = (dx * dx + dy * dy).sqrt();
    // Words longer than their arrow, or nearly upright, belong to nothing that a reader can see.
    if length < wide + 22.0 || dx < length * 0.2 {
        return None;
    }
    let along = (dx / length, dy / length);
    let slack = (length - wide - 20.0) / length / 2.0;
    for side in [-1.0, 1.0] {
        for shift in [0.0, -0.5, 0.5, -1.0, 1.0] {
            let part = 0.5 + shift * slack;
            let off = side * (size * 0.5 + 2.6);
            let middle = (from.0 + dx * part - along.1 * off, from.1 + dy * part + along.0 * off);
            let words = Words { middle, along, width: wide, height: size * 0.72 };
            if room.take(words, crossings_max) {
                return Some(words);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowded_message_says_only_what_its_colour_does_not() {
        assert_eq!(wordings("ELECTION", "ELECTION [2,3]"), ["ELECTION [2,3]", "[2,3]"]);
        assert_eq!(wordings("OK", "OK"), ["OK"]);
        let long = format!("ELECTION {}", "1,".repeat(40));
        assert!(wordings("ELECTION", &long).iter().all(|text| text.chars().count() <= 27));
    }

    #[test]
    fn words_stay_on_their_arrow() {
        let mut room = Room::new(300.0, 300.0);
        let (from, to) = ((20.0, 50.0), (180.0, 170.0));
        room.draw(from, to);
        let words = place(&mut room, from, to, 60.0, 11.0, 0).expect("there is room");
        assert_eq!(words.along, (0.8, 0.6));
        assert!(place(&mut room, from, (60.0, 80.0), 60.0, 11.0, 0).is_none(), "too short");
        assert!(place(&mut room, from, (25.0, 250.0), 60.0, 11.0, 0).is_none(), "too steep");
    }
}
