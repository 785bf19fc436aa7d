//! The processes: their lifelines and what befalls them; and the time that passes meanwhile.

use super::axis::{LABEL_SIZE, label};
use super::layout::Layout;
use super::model::{Life, Model, Sign};
use super::room::Room;
use super::sections;
use bellwether_algorithms::mutex::Status;
use bellwether_core::{NodeId, Time};
use bellwether_svg::{Anchor, MARGIN, Pen, Point, Px};

/// The axis with its labels, and a line up from each.
pub(super) fn time(pen: &mut Pen, layout: &Layout) {
    let (top, bottom) = (layout.top(), layout.bottom());
    let ticks = layout.axis.ticks();
    for at in &ticks {
        let x = layout.x(*at);
        pen.line("grid", 1.0, (x, top), (x, bottom));
    }
    pen.line("axis", 1.2, (layout.left, bottom), (layout.right, bottom));
    for at in &ticks {
        let x = layout.x(*at);
        pen.line("axis", 1.2, (x, bottom), (x, bottom + 5.0));
        pen.words("faint", Anchor::Middle, LABEL_SIZE, (x, bottom + 19.0), &label(*at));
    }
}

/// Stretches with nothing but overhead are shaded: time runs faster there.
pub(super) fn quiet(pen: &mut Pen, layout: &Layout) {
    let (top, bottom) = (layout.top(), layout.bottom());
    for quiet in layout.axis.breaks.iter().filter(|stretch| !stretch.silent) {
        pen.bar("quiet", (quiet.left, top), (quiet.right - quiet.left, bottom - top), 0.0);
    }
}

/// Silences are left out: the paper is torn there.
pub(super) fn silences(pen: &mut Pen, layout: &Layout, room: &mut Room) {
    const HALF: f64 = 3.5;
    const TOOTH: f64 = 7.0;
    let (top, bottom) = (layout.top() + 2.0, layout.bottom() + 6.0);
    for silence in layout.axis.breaks.iter().filter(|stretch| stretch.silent) {
        let middle = silence.left + (silence.right - silence.left) * 0.53;
        let teeth = ((bottom - top) / TOOTH) as usize;
        let edge = |side: f64| {
            let point = move |tooth: usize| {
                let zigzag = if tooth.is_multiple_of(2) { -2.5 } else { 2.5 };
                (middle + side + zigzag, top + tooth as f64 * TOOTH)
            };
            (0..=teeth).map(point).collect::<Vec<Point>>()
        };
        let polyline = |points: &[Point]| {
            let points = points.iter().map(|(x, y)| format!("{} {}", Px(*x), Px(*y)));
            points.collect::<Vec<_>>().join("L")
        };
        let (left, mut right) = (edge(-HALF), edge(HALF));
        let lines = format!("M{}M{}", polyline(&left), polyline(&right));
        right.reverse();
        let inside = format!("M{}L{}Z", polyline(&left), polyline(&right));
        let skipped = Time::from_micros((silence.to - silence.from).as_micros() as u64);
        pen.path("torn-inside", &inside, &format!("{skipped} without a message"));
        pen.path("torn", &lines, "");
        for x in [middle - HALF, middle + HALF] {
            room.draw((x, top), (x, bottom));
        }
    }
}

/// What happened to the network: a dashed line through all processes, with its words on top.
pub(super) fn notes(pen: &mut Pen, model: &Model<'_>, layout: &Layout) {
    for ((at, text), lane) in model.notes.iter().zip(&layout.note_lanes) {
        let x = layout.x(*at);
        let top = lane.map_or(layout.top(), |lane| layout.note_y(lane) - 8.0);
        let shape = format!("M{x} {}L{x} {}", Px(top), Px(layout.bottom()), x = Px(x));
        pen.path("note", &shape, &format!("{at} {text}"));
        if let Some(lane) = lane {
            let at = (x + 5.0, layout.note_y(*lane));
            pen.words("noted halo", Anchor::Start, 11.0, at, text);
        }
    }
}

/// The lines themselves with their stretches: coordinating, down, standing still.
pub(super) fn lifelines(pen: &mut Pen, model: &Model<'_>, layout: &Layout, room: &mut Room) {
    for (row, life) in model.lives.iter().enumerate() {
        let y = layout.y(row);
        let half = (7.0 * layout.scale).max(2.5);
        for (x0, x1) in life.downs.iter().map(|span| layout.span(*span)) {
            pen.bar("void", (x0, y - half), (x1 - x0, 2.0 * half), 0.0);
        }
        let mut from = layout.left;
        for (x0, x1) in life.downs.iter().map(|span| layout.span(*span)) {
            pen.line("life", 1.6 * layout.scale, (from, y), (x0, y));
            pen.line("gone", 1.6 * layout.scale, (x0, y), (x1, y));
            from = x1;
        }
        if from < layout.right {
            pen.line("life", 1.6 * layout.scale, (from, y), (layout.right, y));
        }
        room.draw((layout.left, y), (layout.right, y));
        for (x0, x1) in life.reigns.iter().map(|span| layout.span(*span)) {
            pen.bar("reign", (x0, y - half), (x1 - x0, 2.0 * half), half.min((x1 - x0) / 2.0));
        }
        sections::bars(pen, layout, life, &model.rows[row].to_string(), y);
        for (x0, x1) in life.pauses.iter().map(|span| layout.span(*span)) {
            pen.hatched((x0, y - half), (x1 - x0, 2.0 * half));
        }
    }
}

/// The signs on the lifelines, over the messages.
pub(super) fn signs(pen: &mut Pen, model: &Model<'_>, layout: &Layout) {
    let scale = layout.scale;
    for (row, at) in &model.dots {
        pen.circle("dot", (layout.x(*at), layout.y(*row)), 2.7 * scale, "");
    }
    for mark in &model.marks {
        let (x, y) = (layout.x(mark.at), layout.y(mark.row));
        let title = format!("{} {} {}", mark.at, model.rows[mark.row], said(mark.sign, mark.text));
        match mark.sign {
            Sign::Elected => pen.circle("crown", (x, y), 4.6 * scale, &title),
            Sign::Output => pen.circle("sign", (x, y), 3.6 * scale, &title),
            Sign::Timer => pen.path("sign", &hourglass((x, y), 5.0 * scale), &title),
            Sign::Input => pen.path("sign", &triangle((x, y), 5.0 * scale), &title),
            // The ends of the bars say it.
            Sign::Section => {}
        }
    }
    for (row, life) in model.lives.iter().enumerate() {
        ups_and_downs(pen, layout, life, row, &model.rows[row].to_string());
    }
}

fn ups_and_downs(pen: &mut Pen, layout: &Layout, life: &Life, row: usize, name: &str) {
    let (y, scale) = (layout.y(row), layout.scale);
    for span in &life.downs {
        if let Some(at) = span.from {
            let title = format!("{at} {name} crashes");
            pen.path("fell", &cross((layout.x(at), y), 6.0 * scale), &title);
        }
        if let Some(at) = span.to {
            pen.circle("rose", (layout.x(at), y), 5.0 * scale, &format!("{at} {name} recovers"));
        }
    }
    for span in &life.reigns {
        // Beside the beginning, where that is the edge or the sign of a recovery.
        let aside = span.from.is_none() || life.downs.iter().any(|down| down.to == span.from);
        let x = layout.span(*span).0 + if aside { 11.0 * scale } else { 0.0 };
        let at = span.from.map_or_else(|| "from the start".to_owned(), |at| format!("from {at}"));
        let title = format!("{name} takes itself for the coordinator {at}");
        pen.path("crown", &crown((x, y), 9.0 * scale), &title);
    }
}

/// What a sign says in words.
pub(super) fn said(sign: Sign, text: &str) -> String {
    match sign {
        Sign::Input => format!("input {text}"),
        Sign::Timer => format!("timer {text}"),
        Sign::Elected | Sign::Output | Sign::Section => text.to_owned(),
    }
}

/// The names on the left and how each process ended on the right.
pub(super) fn names(pen: &mut Pen, model: &Model<'_>, layout: &Layout) {
    let size = (layout.row_px * 0.6).min(13.0);
    let width = layout.left - MARGIN - 14.0;
    for (row, (id, life)) in model.rows.iter().zip(&model.lives).enumerate() {
        let y = layout.y(row);
        let baseline = y + size * 0.36;
        if layout.row_px >= 28.0 {
            pen.bar("name", (MARGIN, y - 12.0), (width, 24.0), 6.0);
        }
        let middle = (MARGIN + width / 2.0, baseline);
        pen.words("title", Anchor::Middle, size, middle, &id.to_string());
        let outcome = outcome(model, *id, life);
        let class = if life.follows == Some(*id) { "title" } else { "faint" };
        pen.words(class, Anchor::Start, size.min(12.0), (layout.right + 10.0, baseline), &outcome);
    }
}

/// How a process ended: what it has of the section comes before whom it follows.
fn outcome(model: &Model<'_>, id: NodeId, life: &Life) -> String {
    if life.is_down() {
        return "down".to_owned();
    }
    match (life.status, life.follows) {
        (Status::Inside(number), _) => format!("inside ({number})"),
        (Status::Waiting, _) => "waits".to_owned(),
        (Status::Idle, _) if !model.coordinated => String::new(),
        (Status::Idle, Some(coordinator)) if coordinator == id => "coordinator".to_owned(),
        (Status::Idle, Some(coordinator)) => format!("follows {coordinator}"),
        (Status::Idle, None) => "no coordinator".to_owned(),
    }
}

/// A crown around a point; `r` is half its width.
pub(super) fn crown((x, y): Point, r: f64) -> String {
    let point = |dx: f64, dy: f64| format!("{} {}", Px(x + dx * r), Px(y + dy * r));
    let points = [
        point(-0.9, 0.75),
        point(-1.0, -0.55),
        point(-0.45, 0.0),
        point(0.0, -0.9),
        point(0.45, 0.0),
        point(1.0, -0.55),
        point(0.9, 0.75),
    ];
    format!("M{}Z", points.join("L"))
}

/// A cross around a point.
pub(super) fn cross((x, y): Point, r: f64) -> String {
    let [l, t, r, b] = [x - r, y - r, x + r, y + r].map(Px);
    format!("M{l} {t}L{r} {b}M{l} {b}L{r} {t}")
}

/// Something comes from outside: a triangle that stands on the line on its tip.
pub(super) fn triangle((x, y): Point, r: f64) -> String {
    let [l, right, top, x, y] = [x - r, x + r, y - 2.0 * r, x, y].map(Px);
    format!("M{x} {y}L{l} {top}L{right} {top}Z")
}

/// Time has run out.
pub(super) fn hourglass((x, y): Point, r: f64) -> String {
    let [l, right, t, b] = [x - 0.75 * r, x + 0.75 * r, y - r, y + r].map(Px);
    format!("M{l} {t}L{right} {t}L{l} {b}L{right} {b}Z")
}
