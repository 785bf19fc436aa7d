//! What is to be seen of each process: a box for each, with its phase, its signs and its rows.

use crate::{Anchor, MARGIN, Pen, Sheet, begin, heading};
use bellwether_algorithms::show::{Item, ProcessView, Row, Shape, Tone};

const TOP: f64 = 68.0;
const WIDTH: f64 = 270.0;
const GAP: f64 = 12.0;
const LINE: f64 = 21.0;
/// How many boxes stand side by side.
const ACROSS: usize = 4;
/// About how wide a letter is, at the size of the rows.
const LETTER: f64 = 6.4;

/// A picture of what is to be seen of these processes, by their names.
#[must_use]
pub fn views(title: &str, processes: &[(String, ProcessView)]) -> Sheet {
    let across = processes.len().clamp(1, ACROSS);
    let width = 2.0 * MARGIN + across as f64 * (WIDTH + GAP) - GAP;
    let mut pen = Pen::default();
    let mut boxes = Pen::default();
    let mut top = TOP;
    for row in processes.chunks(across) {
        let lines: Vec<Vec<Line>> = row.iter().map(|(name, view)| lines(name, view)).collect();
        let longest = lines.iter().map(Vec::len).max().unwrap_or(0);
        let height = longest as f64 * LINE + 12.0;
        for (at, lines) in lines.iter().enumerate() {
            let left = MARGIN + at as f64 * (WIDTH + GAP);
            boxes.bar("sign", (left, top), (WIDTH, height), 6.0);
            for (number, line) in lines.iter().enumerate() {
                line.draw(&mut boxes, (left + 10.0, top + 20.0 + number as f64 * LINE));
            }
        }
        top += height + GAP;
    }
    let height = top + MARGIN - GAP;
    begin(&mut pen, (width, height), title, true);
    heading(&mut pen, title, "");
    pen.raw(&boxes.finish());
    pen.raw("</svg>\n");
    Sheet { width, height, svg: pen.finish() }
}

/// A line of a box.
struct Line {
    /// What it says at its beginning, and how.
    text: String,
    class: &'static str,
    /// How far it is moved to the right.
    indent: f64,
    /// What stands in frames after that.
    chips: Vec<Item>,
}

impl Line {
    fn new(class: &'static str, text: impl Into<String>) -> Self {
        Line { text: text.into(), class, indent: 0.0, chips: Vec::new() }
    }

    fn draw(&self, pen: &mut Pen, (x, y): (f64, f64)) {
        let mut x = x + self.indent;
        pen.words(self.class, Anchor::Start, 12.0, (x, y), &self.text);
        x += self.text.chars().count() as f64 * LETTER
            + if self.text.is_empty() { 0.0 } else { 6.0 };
        for chip in &self.chips {
            let words = chip_words(chip);
            let wide = words.chars().count() as f64 * LETTER + 8.0;
            let class = match chip.tone {
                Tone::Strong => "waits",
                Tone::Bad => "name c2",
                _ => "name",
            };
            pen.bar(class, (x, y - 13.0), (wide, 17.0), 3.0);
            pen.words("said", Anchor::Start, 12.0, (x + 4.0, y), &words);
            x += wide + 4.0;
        }
    }
}

fn chip_words(item: &Item) -> String {
    match (&item.to, item.note.as_str()) {
        (Some(to), "") => format!("{} → {to}", item.text),
        (Some(to), note) => format!("{} → {to} ({note})", item.text),
        (None, "") => item.text.clone(),
        (None, note) => format!("{} {note}", item.text),
    }
}

/// The lines of a process. Chips that have no room go to the next line.
fn lines(name: &str, view: &ProcessView) -> Vec<Line> {
    let marks: Vec<&str> = view.marks.iter().map(|mark| mark.name()).collect();
    let marks = if marks.is_empty() { String::new() } else { format!(" ({})", marks.join(", ")) };
    let mut lines = vec![Line::new("said", format!("{name}{marks}"))];
    if !view.phase.is_empty() {
        lines.push(Line::new("c0-text", view.phase.clone()));
    }
    for row in &view.rows {
        row_lines(row, &mut lines);
    }
    lines
}

fn row_lines(row: &Row, lines: &mut Vec<Line>) {
    let label = format!("{}:", row.label);
    match row.shape {
        Shape::Text | Shape::Pointer => {
            let words: Vec<String> = row.items.iter().map(chip_words).collect();
            let arrow = if row.shape == Shape::Pointer { "→ " } else { "" };
            lines.push(Line::new("faint", format!("{label} {arrow}{}", words.join(", "))));
        }
        Shape::Tree => {
            lines.push(Line::new("faint", label));
            lines.extend(row.items.iter().map(|item| {
                let class = if item.tone == Tone::Bad { "c2-text" } else { "dot" };
                let indent = 10.0 + 14.0 * f64::from(item.depth);
                Line { indent, ..Line::new(class, chip_words(item)) }
            }));
        }
        Shape::Ranges => {
            lines.push(Line::new("faint", label));
            lines.extend(row.items.iter().map(|item| {
                let [from, to] = item.range.unwrap_or_default().map(|us| us as f64 / 1000.0);
                let class = if item.tone == Tone::Bad { "c2-text" } else { "dot" };
                let text = format!("{} {from} to {to} ms {}", item.text, item.note);
                Line { indent: 10.0, ..Line::new(class, text) }
            }));
        }
        Shape::Queue | Shape::Set | Shape::Table | Shape::Graph | Shape::Cut => {
            let text = if row.items.is_empty() { format!("{label} empty") } else { label };
            let mut line = Line::new("faint", text);
            let mut room = WIDTH - 20.0 - line.text.chars().count() as f64 * LETTER - 6.0;
            for item in &row.items {
                let wide = chip_words(item).chars().count() as f64 * LETTER + 12.0;
                if wide > room {
                    let next = Line { indent: 10.0, ..Line::new("faint", "") };
                    lines.push(std::mem::replace(&mut line, next));
                    room = WIDTH - 30.0;
                }
                room -= wide;
                line.chips.push(item.clone());
            }
            lines.push(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_has_the_phase_the_marks_and_a_line_for_each_row() {
        use bellwether_algorithms::show::Mark;
        let view = ProcessView::new("waits for 2 replies")
            .mark(Mark::Token)
            .text("clock", 5)
            .queue("queue", [Item::new("P2").note(3), Item::new("P1").note(4)]);
        let sheet = views("In the end", &[("P1".to_owned(), view)]);
        for words in ["P1 (token)", "waits for 2 replies", "clock: 5", "queue:", "P2 3", "P1 4"] {
            assert!(sheet.svg.contains(&format!(">{words}<")), "{words} in\n{}", sheet.svg);
        }
    }

    #[test]
    fn chips_that_have_no_room_go_to_the_next_line() {
        let many = (1..=20).map(|n| Item::new(format!("P{n}")));
        let view = ProcessView::new("").queue("queue", many);
        let drawn = lines("P1", &view);
        assert!(drawn.len() > 3);
        assert_eq!(drawn.iter().map(|line| line.chips.len()).sum::<usize>(), 20);
    }
}
