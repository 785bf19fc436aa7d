//! The space-time diagram: one line per process, time to the right, messages as arrows.

mod axis;
mod clocks;
mod labels;
mod layout;
mod legend;
mod lives;
mod model;
mod pictures;
mod room;
mod sections;

pub use pictures::illustrated;

use crate::observer::Why;
use crate::trace::Trace;
use bellwether_core::{Kind, Role};
use bellwether_svg::{Anchor, COLOURS, Escaped, MARGIN, Pen, Point, Px, Sheet, begin};
use layout::Layout;
use model::{End, Flight, Model};
use room::Room;
use std::collections::BTreeMap;

/// A picture of the run, as an SVG that needs nothing else and suits light and dark pages.
///
/// Long silences are left out and the axis shows where. Words are put where there is room for
/// them; whatever a pointer rests on says the rest.
pub fn svg(trace: &Trace) -> String {
    sheet(trace).svg
}

fn sheet(trace: &Trace) -> Sheet {
    let model = Model::new(trace);
    let layout = Layout::new(&model);
    let mut room = Room::new(layout.width, layout.bottom());
    let mut pen = Pen::default();

    let items = legend::items(&model, &layout);
    let height = legend::height(&items, &layout);
    let about = format!("{}: space-time diagram of a run", trace.header.title);
    // Snapshots may be taken of an algorithm with critical sections.
    let sections = model.exclusive || model.lives.iter().any(|life| !life.stays.is_empty());
    begin(&mut pen, (layout.width, height), &about, sections);
    title(&mut pen, trace, &model);
    lives::quiet(&mut pen, &layout);
    lives::time(&mut pen, &layout);
    lives::notes(&mut pen, &model, &layout);
    lives::lifelines(&mut pen, &model, &layout, &mut room);
    lives::silences(&mut pen, &layout, &mut room);
    flights(&mut pen, &model, &layout, &mut room);
    lives::signs(&mut pen, &model, &layout);
    labels::labels(&mut pen, &model, &layout, &mut room);
    lives::names(&mut pen, &model, &layout);
    legend::draw(&mut pen, &items, &layout);
    pen.raw("</svg>\n");
    Sheet { width: layout.width, height, svg: pen.finish() }
}

fn title(pen: &mut Pen, trace: &Trace, model: &Model<'_>) {
    let header = &trace.header;
    pen.words("title", Anchor::Start, 19.0, (MARGIN, 34.0), header.title);
    let count = |role: Role| -> u64 {
        model.kinds.iter().filter(|(kind, _)| kind.role == role).map(|(_, count)| count).sum()
    };
    let plural = |count: u64, one: &str, many: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {many}"),
    };
    let mut about = vec![
        plural(model.rows.len() as u64, "process", "processes"),
        plural(count(Role::Protocol), "message", "messages"),
    ];
    let overhead = count(Role::Overhead) + count(Role::Repeat);
    if overhead > 0 {
        about.push(format!("{overhead} overhead"));
    }
    about.push(model.end.to_string());
    about.push(header.chance());
    pen.words("faint", Anchor::Start, 12.5, (MARGIN, 55.0), &about.join("  \u{b7}  "));
}

/// Overhead first, so that what matters is drawn over it. Of messages that fly together, each is
/// drawn a little beside the one before.
fn flights(pen: &mut Pen, model: &Model<'_>, layout: &Layout, room: &mut Room) {
    let mut together: BTreeMap<[String; 4], u32> = BTreeMap::new();
    for role in [Role::Overhead, Role::Repeat, Role::Protocol] {
        for flight in model.flights.iter().filter(|flight| flight.letter.kind.role == role) {
            let (from, to) = layout.flight(model, flight);
            let path = [from.0, from.1, to.0, to.1].map(|px| Px(px).to_string());
            let before = together.entry(path).or_default();
            let aside = f64::from((*before).min(3)) * 3.0 * layout.scale;
            *before += 1;
            room.draw(from, to);
            draw_flight(
                pen,
                model,
                layout,
                flight,
                ((from.0 + aside, from.1), (to.0 + aside, to.1)),
            );
        }
    }
}

fn draw_flight(
    pen: &mut Pen,
    model: &Model<'_>,
    layout: &Layout,
    flight: &Flight<'_>,
    (from, to): (Point, Point),
) {
    let letter = flight.letter;
    let overhead = letter.kind.role == Role::Overhead;
    let (class, head) = match colour(model, letter.kind) {
        Some(index) => (format!("c{index}"), format!("bw-a{index}")),
        None => ("overhead".to_owned(), "bw-ao".to_owned()),
    };
    let width = Px(if overhead { 1.0 } else { 1.8 } * layout.scale.max(0.5));
    let [x0, y0, x1, y1] = [from.0, from.1, to.0, to.1].map(Px);
    let shape = if letter.from == letter.to {
        let above = Px(from.1 - layout.row_px * 0.55);
        format!("M{x0} {y0}C{x0} {above} {x1} {above} {x1} {y1}")
    } else {
        format!("M{x0} {y0}L{x1} {y1}")
    };
    let arrived = matches!(flight.end, End::Arrived(_));
    let marker = if arrived { format!(" marker-end=\"url(#{head})\"") } else { String::new() };
    pen.raw(&format!(
        "<g class=\"flight\"><title>{}</title>\
         <path class=\"{class}\" stroke-width=\"{width}\" d=\"{shape}\"{marker}/>",
        Escaped(&about(flight))
    ));
    if let End::Dropped(..) = flight.end {
        let r = if overhead { 3.0 } else { 4.4 } * layout.scale;
        let [l, t, r, b] = [to.0 - r, to.1 - r, to.0 + r, to.1 + r].map(Px);
        let width = Px(2.0 * layout.scale.max(0.5));
        pen.raw(&format!(
            "<path class=\"{class} cross\" stroke-width=\"{width}\" d=\"M{l} {t}L{r} {b}M{l} {b}L{r} {t}\"/>"
        ));
    }
    pen.raw("</g>\n");
}

fn about(flight: &Flight<'_>) -> String {
    let letter = flight.letter;
    let end = match flight.end {
        End::Arrived(at) => format!("arrived {at}"),
        End::Dropped(at, Why::Down) => format!("receiver down at {at}"),
        End::Dropped(at, why) => format!("{} {at}", why.name()),
        End::OnItsWay => "on its way".to_owned(),
    };
    format!("{} \u{2192} {}  {} (sent {}, {end})", letter.from, letter.to, letter.text, flight.sent)
}

/// The colour of a kind: the kinds of the algorithm proper have one each, in the order in which
/// they appear.
fn colour(model: &Model<'_>, kind: Kind) -> Option<usize> {
    let mut proper = model.kinds.iter().filter(|(kind, _)| kind.role != Role::Overhead);
    proper.position(|(other, _)| *other == kind).map(|index| index % COLOURS)
}

/// Whether a flight's message belongs to the algorithm proper.
fn is_proper(flight: &Flight<'_>) -> bool {
    flight.letter.kind.role != Role::Overhead
}

#[cfg(test)]
mod tests;
