//! What the colours and signs mean; only those that the picture has.

use super::layout::Layout;
use super::lives::{cross, crown, hourglass, triangle};
use super::model::{End, Model, Sign};
use super::room::width;
use super::{colour, is_proper};
use bellwether_svg::{Anchor, MARGIN, Pen, Point, Px};

const SIZE: f64 = 11.5;
const ROW_PX: f64 = 22.0;
const SAMPLE_PX: f64 = 34.0;
const GAP_PX: f64 = 22.0;

/// A sample with its meaning, and where it goes.
pub(super) struct Item {
    sample: Sample,
    text: String,
    at: Point,
}

#[derive(Clone, Copy)]
enum Sample {
    Kind(usize),
    Overhead,
    Dropped,
    Coordinator,
    Elected,
    Inside,
    Waits,
    Crash,
    Recovery,
    Pause,
    Input,
    Output,
    Timer,
    Silence,
    Quiet,
}

/// What the legend explains, in rows that fit the picture. The signs begin a row of their own.
pub(super) fn items(model: &Model<'_>, layout: &Layout) -> Vec<Item> {
    let top = layout.bottom() + 48.0;
    let mut at = (MARGIN, top);
    let mut items = Vec::new();
    for group in [messages(model), signs(model, layout)] {
        if at.0 > MARGIN && !group.is_empty() {
            at = (MARGIN, at.1 + ROW_PX);
        }
        for (sample, text) in group {
            let wide = SAMPLE_PX + width(&text, SIZE) + GAP_PX;
            if at.0 > MARGIN && at.0 + wide > layout.width {
                at = (MARGIN, at.1 + ROW_PX);
            }
            items.push(Item { sample, text, at });
            at.0 += wide;
        }
    }
    items
}

/// The height of the picture with its legend.
pub(super) fn height(items: &[Item], layout: &Layout) -> f64 {
    items.last().map_or(layout.bottom() + 30.0, |item| item.at.1) + 22.0
}

fn messages(model: &Model<'_>) -> Vec<(Sample, String)> {
    let mut items = Vec::new();
    for (kind, count) in &model.kinds {
        let sample = colour(model, *kind).map_or(Sample::Overhead, Sample::Kind);
        items.push((sample, format!("{} \u{d7}{count}", kind.name)));
    }
    // Overhead comes after what the algorithm is about.
    items.sort_by_key(|(sample, _)| matches!(sample, Sample::Overhead));
    let dropped = |end: End| matches!(end, End::Dropped(..));
    let dropped = model.flights.iter().filter(|f| is_proper(f) && dropped(f.end)).count();
    if dropped > 0 {
        items.push((Sample::Dropped, format!("not delivered \u{d7}{dropped}")));
    }
    items
}

fn signs(model: &Model<'_>, layout: &Layout) -> Vec<(Sample, String)> {
    let has = |sign: Sign| model.marks.iter().any(|mark| mark.sign == sign);
    let breaks = |silent| layout.axis.breaks.iter().any(|stretch| stretch.silent == silent);
    let lives = &model.lives;
    let all = [
        (lives.iter().any(|life| !life.reigns.is_empty()), Sample::Coordinator, "coordinates"),
        (has(Sign::Elected), Sample::Elected, "learns the coordinator"),
        (
            lives.iter().any(|life| !life.stays.is_empty()),
            Sample::Inside,
            "in the section, entry #n",
        ),
        (lives.iter().any(|life| !life.waits.is_empty()), Sample::Waits, "waits for it"),
        (has(Sign::Output), Sample::Output, "output"),
        (has(Sign::Input), Sample::Input, "input"),
        (has(Sign::Timer), Sample::Timer, "time-out"),
        (lives.iter().any(|life| !life.downs.is_empty()), Sample::Crash, "crash"),
        (
            lives.iter().flat_map(|life| &life.downs).any(|span| span.to.is_some()),
            Sample::Recovery,
            "recovery",
        ),
        (lives.iter().any(|life| !life.pauses.is_empty()), Sample::Pause, "paused"),
        (breaks(true), Sample::Silence, "silence left out"),
        (breaks(false), Sample::Quiet, "overhead only, time compressed"),
    ];
    let there = all.into_iter().filter(|(there, ..)| *there);
    there.map(|(_, sample, text)| (sample, text.to_owned())).collect()
}

/// Draws the legend.
pub(super) fn draw(pen: &mut Pen, items: &[Item], layout: &Layout) {
    if let Some(first) = items.first() {
        let y = first.at.1 - 18.0;
        pen.line("grid", 1.0, (MARGIN, y), (layout.width - MARGIN, y));
    }
    for item in items {
        sample(pen, item.sample, item.at);
        let at = (item.at.0 + SAMPLE_PX, item.at.1 + SIZE * 0.36);
        pen.words("", Anchor::Start, SIZE, at, &item.text);
    }
}

fn sample(pen: &mut Pen, sample: Sample, (x, y): Point) {
    let middle = (x + 13.0, y);
    let arrow = |class: &str, head: &str, width: f64| {
        format!(
            "<path class=\"{class}\" stroke-width=\"{}\" d=\"M{x0} {y}L{x1} {y}\" \
             marker-end=\"url(#{head})\"/>\n",
            Px(width),
            x0 = Px(x),
            x1 = Px(x + 26.0),
            y = Px(y)
        )
    };
    match sample {
        Sample::Kind(index) => {
            pen.raw(&arrow(&format!("c{index}"), &format!("bw-a{index}"), 1.8));
        }
        Sample::Overhead => pen.raw(&arrow("overhead", "bw-ao", 1.0)),
        Sample::Dropped => {
            pen.line("life", 1.6, (x, y), (x + 20.0, y));
            pen.path("life", &cross((x + 20.0, y), 4.2), "");
        }
        Sample::Coordinator => {
            pen.bar("reign", (x, y - 6.0), (26.0, 12.0), 6.0);
            pen.path("crown", &crown((x + 6.0, y), 8.0), "");
        }
        Sample::Elected => pen.circle("crown", middle, 4.6, ""),
        Sample::Inside => {
            pen.bar("inside", (x, y - 6.0), (26.0, 12.0), 2.0);
            pen.words("entry said", Anchor::Middle, 10.0, (middle.0, y + 3.6), "#n");
        }
        Sample::Waits => pen.bar("waits", (x, y - 2.5), (26.0, 5.0), 0.0),
        Sample::Output => pen.circle("sign", middle, 3.6, ""),
        Sample::Input => pen.path("sign", &triangle((middle.0, y + 5.0), 5.0), ""),
        Sample::Timer => pen.path("sign", &hourglass(middle, 5.0), ""),
        Sample::Crash => {
            pen.bar("void", (middle.0, y - 6.0), (13.0, 12.0), 0.0);
            pen.path("fell", &cross(middle, 5.0), "");
        }
        Sample::Recovery => pen.circle("rose", middle, 5.0, ""),
        Sample::Pause => pen.hatched((x, y - 6.0), (26.0, 12.0)),
        Sample::Quiet => pen.bar("quiet", (x, y - 8.0), (26.0, 16.0), 0.0),
        Sample::Silence => {
            let zigzag = |x: f64| {
                let [l, r, a, b, c, d] =
                    [x - 2.0, x + 2.0, y - 8.0, y - 3.0, y + 3.0, y + 8.0].map(Px);
                format!("M{l} {a}L{r} {b}L{l} {c}L{r} {d}")
            };
            pen.path("torn", &(zigzag(middle.0 - 3.0) + &zigzag(middle.0 + 3.0)), "");
        }
    }
}
