//! Critical sections: a bar on the lifeline of the process inside, with the number of the entry, and
//! a thin one of a process that waits.

use super::layout::Layout;
use super::model::{Life, Model, Span};
use super::room::{Room, Words, width};
use bellwether_core::Time;
use bellwether_svg::{Anchor, Pen};

/// A visit that takes no time can be seen all the same.
const WIDTH_MIN: f64 = 9.0;
const SIZE: f64 = 10.0;

/// The bars of one lifeline. That of a coordinator shows its golden band around them.
pub(super) fn bars(pen: &mut Pen, layout: &Layout, life: &Life, name: &str, y: f64) {
    let half = (2.5 * layout.scale).max(1.2);
    for span in &life.waits {
        let (x0, x1) = layout.span(*span);
        let title = format!("{name} waits for the section {}", during(*span));
        pen.told_bar("waits", (x0, y - half), (x1 - x0, 2.0 * half), 0.0, &title);
    }
    let half = (6.0 * layout.scale).max(2.0);
    for stay in &life.stays {
        let (x0, wide) = place(layout, stay.span);
        let title = format!("{name} is in the section ({}) {}", stay.number, during(stay.span));
        pen.told_bar("inside", (x0, y - half), (wide, 2.0 * half), 2.0, &title);
    }
}

/// The number of each entry: on its bar if it fits there, or else beside it.
pub(super) fn numbers(pen: &mut Pen, model: &Model<'_>, layout: &Layout, room: &mut Room) {
    let size = SIZE * layout.scale.max(0.72);
    for (row, life) in model.lives.iter().enumerate() {
        let y = layout.y(row);
        for stay in &life.stays {
            let text = stay.number.to_string();
            let wide = width(&text, size);
            let (x0, bar) = place(layout, stay.span);
            let on_bar = bar >= wide + 12.0 && layout.scale == 1.0;
            let far = 6.0 * layout.scale + size * 0.5 + 2.0;
            // The lifeline itself goes through what is written on it.
            let (spots, lines) = if on_bar {
                let slack = (bar - wide - 12.0) / 2.0;
                let spot = |part: f64| (x0 + bar / 2.0 + slack * part, y);
                (vec![spot(0.0), spot(-0.5), spot(0.5), spot(-1.0), spot(1.0)], wide / 3.0 + 2.0)
            } else {
                let (middle, after) = (x0 + bar / 2.0, x0 + bar + wide / 2.0 + 3.0);
                (
                    vec![(middle, y - far), (middle, y + far), (after, y - far), (after, y + far)],
                    0.0,
                )
            };
            let (class, apart) = if on_bar { ("entry said", 0.0) } else { ("said halo", 6.0) };
            let found = [lines as usize, usize::MAX].into_iter().find_map(|crossings_max| {
                spots.iter().copied().find(|middle| {
                    let along = (1.0, 0.0);
                    let (width, height) = (wide + apart, size * 0.72);
                    room.take(Words { middle: *middle, along, width, height }, crossings_max)
                })
            });
            if let Some((x, y)) = found {
                pen.words(class, Anchor::Middle, size, (x, y + size * 0.36), &text);
            }
        }
    }
}

/// Where a bar begins, and how wide it is. One of no time is around its moment.
fn place(layout: &Layout, span: Span) -> (f64, f64) {
    let (x0, x1) = layout.span(span);
    let more = (WIDTH_MIN - (x1 - x0)).max(0.0);
    (x0 - more / 2.0, x1 - x0 + more)
}

fn during(span: Span) -> String {
    let from = span.from.unwrap_or(Time::ZERO);
    match span.to {
        Some(to) => format!("from {from} to {to}"),
        None => format!("from {from} on"),
    }
}
