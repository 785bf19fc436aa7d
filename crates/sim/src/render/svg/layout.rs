//! Where everything goes.

use super::axis::Axis;
use super::model::{End, Flight, Model, Span};
use super::room::width;
use bellwether_core::Time;
use bellwether_svg::{MARGIN, Point};

/// From where the lifelines begin to the first moment: what was so before is drawn there.
const BEFORE_PX: f64 = 36.0;
/// From the last moment to where the lifelines end.
const AFTER_PX: f64 = 84.0;
/// Room for how each process ended.
const OUTCOME_PX: f64 = 128.0;
const WIDTH_MIN: f64 = 760.0;
const NOTE_LANE_PX: f64 = 16.0;
const NOTE_LANES_MAX: usize = 4;

/// Sizes and places.
pub(super) struct Layout {
    pub(super) axis: Axis,
    /// Where the lifelines begin and end.
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) width: f64,
    /// The first lifeline's height, and the distance to the next.
    first: f64,
    pub(super) row_px: f64,
    pub(super) rows: usize,
    /// How large things are: 1 where there is room, less in crowded pictures.
    pub(super) scale: f64,
    /// The lane of each note, or none where there is no room for its words.
    pub(super) note_lanes: Vec<Option<usize>>,
}

impl Layout {
    pub(super) fn new(model: &Model<'_>) -> Self {
        let rows = model.rows.len();
        let row_px = match rows {
            0..=8 => 62.0,
            9..=12 => 50.0,
            13..=20 => 40.0,
            21..=40 => 28.0,
            41..=80 => 20.0,
            _ => 12.0,
        };
        let scale = if row_px >= 40.0 { 1.0 } else { 0.45 + 0.5 * (row_px - 12.0) / 28.0 };
        let names = model.rows.iter().map(|id| id.to_string().len()).max().unwrap_or(2) as f64;
        let left = MARGIN + names * 9.0 + 38.0;
        let axis = Axis::new(model, left + BEFORE_PX);
        let right = axis.right() + AFTER_PX;
        let note_lanes = note_lanes(model, &axis);
        let lanes = note_lanes.iter().flatten().max().map_or(0, |lane| lane + 1);
        let first = 92.0 + lanes as f64 * NOTE_LANE_PX + row_px * 0.2;
        let width = (right + OUTCOME_PX).max(WIDTH_MIN);
        Layout { axis, left, right, width, first, row_px, rows, scale, note_lanes }
    }

    pub(super) fn y(&self, row: usize) -> f64 {
        self.first + row as f64 * self.row_px
    }

    pub(super) fn x(&self, at: Time) -> f64 {
        self.axis.x(at)
    }

    /// Above the first lifeline.
    pub(super) fn top(&self) -> f64 {
        self.first - 16.0 - self.row_px * 0.2
    }

    /// Where the axis is.
    pub(super) fn bottom(&self) -> f64 {
        self.y(self.rows.max(1) - 1) + 20.0 + self.row_px * 0.3
    }

    pub(super) fn note_y(&self, lane: usize) -> f64 {
        self.top() - 4.0 - lane as f64 * NOTE_LANE_PX
    }

    /// Where a stretch of time begins and ends.
    pub(super) fn span(&self, span: Span) -> (f64, f64) {
        (span.from.map_or(self.left, |at| self.x(at)), span.to.map_or(self.right, |at| self.x(at)))
    }

    /// Where a message flies from and to. One that the network loses flies half of the way.
    pub(super) fn flight(&self, model: &Model<'_>, flight: &Flight<'_>) -> (Point, Point) {
        use crate::observer::Why;
        let [y0, y1] = [flight.letter.from, flight.letter.to].map(|id| self.y(model.row(id)));
        let x0 = self.x(flight.sent);
        let usual = x0 + self.axis.flight_px;
        let (x1, part) = match flight.end {
            End::Arrived(at) | End::Dropped(at, Why::Down) => (self.x(at), 1.0),
            End::Dropped(at, _) if at > flight.sent => (self.x(at), 0.5),
            End::Dropped(..) => (usual, 0.5),
            End::OnItsWay => {
                // It leaves the picture on its way.
                let x1 = usual.max(self.right);
                (x1, (self.right - x0) / (x1 - x0) * 0.9)
            }
        };
        ((x0, y0), (x0 + (x1 - x0) * part, y0 + (y1 - y0) * part))
    }
}

/// Notes that are close together go one above the other.
fn note_lanes(model: &Model<'_>, axis: &Axis) -> Vec<Option<usize>> {
    let mut taken = [f64::MIN; NOTE_LANES_MAX];
    let mut lanes = Vec::new();
    for (at, text) in &model.notes {
        let x = axis.x(*at);
        let lane = taken.iter().position(|until| *until <= x);
        if let Some(lane) = lane {
            taken[lane] = x + width(text, 11.0) + 14.0;
        }
        lanes.push(lane);
    }
    lanes
}
