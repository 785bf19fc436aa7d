//! Time as width. Long silences are left out, and the axis says so.

use super::is_proper;
use super::model::{End, Model};
use super::room::width;
use bellwether_core::{Role, Time};

/// The width of a message's usual flight, where there is room.
const FLIGHT_PX: f64 = 104.0;
/// From this width on, a picture grows more slowly...
const WIDTH_EASY: f64 = 1300.0;
const GROWTH: f64 = 0.55;
/// ...and none is wider than this, whatever happens in it.
const WIDTH_MAX: f64 = 4800.0;
const WIDTH_MIN: f64 = 560.0;
/// A silence longer than this many flights is left out...
const SILENCE_MIN: f64 = 4.0;
/// ...and drawn as this many.
const SILENCE_SHOWN: f64 = 1.6;
/// Of a long stretch with nothing but overhead, each moment gets this many flights...
const QUIET_SHARE: f64 = 0.1;
/// ...and all of them together not more than this.
const QUIET_MAX: f64 = 6.0;
pub(super) const LABEL_SIZE: f64 = 11.0;
/// Labels on the axis are not closer than this.
const TICK_PX_MIN: f64 = 66.0;

/// Where each moment is on the picture.
pub(super) struct Axis {
    /// Moments in microseconds with their places; straight in between.
    knots: Vec<(u64, f64)>,
    pub(super) breaks: Vec<Break>,
    px_per_us: f64,
    /// The width of a usual flight.
    pub(super) flight_px: f64,
}

/// A long stretch in which the algorithm proper does nothing. It is shorter than it should be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Break {
    pub(super) from: Time,
    pub(super) to: Time,
    pub(super) left: f64,
    pub(super) right: f64,
    /// Whether really nothing happens, not even overhead.
    pub(super) silent: bool,
}

impl Axis {
    /// An axis that begins at `left`.
    pub(super) fn new(model: &Model<'_>, left: f64) -> Self {
        let (moments, overhead) = moments(model);
        let flight = usual_flight(model, &moments);
        // How many flights a gap is drawn as, and what is left out if that is not its real length.
        let shown = |from: u64, to: u64| {
            let flights = (to - from) as f64 / flight;
            let before = |end: u64| overhead.partition_point(|at| *at < end);
            match before(to) - before(from + 1) {
                _ if flights <= SILENCE_MIN => (flights, None),
                0 => (SILENCE_SHOWN, Some(true)),
                busy => {
                    let room = (busy as f64 * QUIET_SHARE).clamp(SILENCE_SHOWN, QUIET_MAX);
                    if room < flights { (room, Some(false)) } else { (flights, None) }
                }
            }
        };
        let flights: f64 = moments.windows(2).map(|pair| shown(pair[0], pair[1]).0).sum();
        let natural = flights * FLIGHT_PX;
        let eased = natural.min(WIDTH_EASY) + (natural - WIDTH_EASY).max(0.0) * GROWTH;
        let width = eased.clamp(WIDTH_MIN, WIDTH_MAX);
        // A short run is not stretched beyond what looks natural.
        let flight_px = (width / flights.max(0.01)).min(FLIGHT_PX * 2.2);
        let mut x = left;
        let mut knots = vec![(moments[0], x)];
        let mut breaks = Vec::new();
        for pair in moments.windows(2) {
            let (flights, left_out) = shown(pair[0], pair[1]);
            let right = x + flights * flight_px;
            if let Some(silent) = left_out {
                let [from, to] = [pair[0], pair[1]].map(Time::from_micros);
                breaks.push(Break { from, to, left: x, right, silent });
            }
            x = right;
            knots.push((pair[1], x));
        }
        Axis { knots, breaks, px_per_us: flight_px / flight, flight_px }
    }

    /// Where this moment is.
    pub(super) fn x(&self, at: Time) -> f64 {
        let us = at.as_micros();
        let next = self.knots.partition_point(|knot| knot.0 < us);
        match (next.checked_sub(1).map(|last| self.knots[last]), self.knots.get(next)) {
            (Some((us0, x0)), Some((us1, x1))) => {
                x0 + (x1 - x0) * ((us - us0) as f64 / (us1 - us0) as f64)
            }
            (None, Some((_, x))) => *x,
            (_, None) => self.right(),
        }
    }

    /// Where the last moment is.
    pub(super) fn right(&self) -> f64 {
        self.knots.last().map_or(0.0, |knot| knot.1)
    }

    /// The moments to label: round ones, and the beginnings of stretches that have no round one.
    pub(super) fn ticks(&self) -> Vec<Time> {
        let step = round_step(TICK_PX_MIN / self.px_per_us);
        let mut starts = vec![self.knots[0].0];
        starts.extend(self.breaks.iter().map(|silence| silence.to.as_micros()));
        let mut ends: Vec<_> = self.breaks.iter().map(|silence| silence.from.as_micros()).collect();
        ends.push(self.knots.last().map_or(0, |knot| knot.0));
        let mut ticks: Vec<Time> = Vec::new();
        let mut add = |us: u64| {
            let at = Time::from_micros(us);
            let half = |at| width(&label(at), LABEL_SIZE) / 2.0 + 5.0;
            let clear = |last: &Time| self.x(at) - self.x(*last) >= half(*last) + half(at);
            if ticks.last().is_none_or(clear) {
                ticks.push(at);
            }
        };
        for (start, end) in starts.into_iter().zip(ends) {
            let round = start.next_multiple_of(step);
            if round > end {
                add(roundest(start, end));
            } else {
                (round..=end).step_by(step as usize).for_each(&mut add);
            }
        }
        ticks
    }
}

/// Minutes in milliseconds are hard to read.
pub(super) fn label(at: Time) -> String {
    let us = at.as_micros();
    if us < 10_000_000 || !us.is_multiple_of(10_000) {
        return at.to_string();
    }
    let hundredths = format!("{:02}", us / 10_000 % 100);
    let fraction = hundredths.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{}{point}{fraction}s", us / 1_000_000)
}

/// The number from `start` to `end` with the most zeros at its end.
fn roundest(start: u64, end: u64) -> u64 {
    let mut best = start;
    let mut decade: u64 = 10;
    while let Some(round) = start.checked_next_multiple_of(decade).filter(|round| *round <= end) {
        best = round;
        decade = decade.saturating_mul(10);
    }
    best
}

/// The moments at which something happens, and those that have only overhead, both in order. The
/// first of all and the last of all are among the former.
fn moments(model: &Model<'_>) -> (Vec<u64>, Vec<u64>) {
    let (mut moments, mut overhead) = (vec![0], Vec::new());
    for flight in &model.flights {
        let moments = if is_proper(flight) { &mut moments } else { &mut overhead };
        moments.push(flight.sent.as_micros());
        if let End::Arrived(at) | End::Dropped(at, _) = flight.end {
            moments.push(at.as_micros());
        }
    }
    overhead.sort_unstable();
    overhead.dedup();
    if !model.flights.iter().any(is_proper) {
        moments.append(&mut overhead);
    }
    moments.extend(overhead.last());
    moments.extend(model.marks.iter().map(|mark| mark.at.as_micros()));
    moments.extend(model.notes.iter().map(|note| note.0.as_micros()));
    for life in &model.lives {
        for span in life.reigns.iter().chain(&life.downs).chain(&life.pauses) {
            moments.extend([span.from, span.to].into_iter().flatten().map(Time::as_micros));
        }
    }
    moments.sort_unstable();
    moments.dedup();
    (moments, overhead)
}

/// How long a message is under way, as a rule: the median, of the algorithm's own if there are any.
fn usual_flight(model: &Model<'_>, moments: &[u64]) -> f64 {
    let spans = |role: Role| {
        let mut spans: Vec<u64> = Vec::new();
        for flight in model.flights.iter().filter(|flight| flight.letter.kind.role == role) {
            if let End::Arrived(at) = flight.end
                && at > flight.sent
            {
                spans.push(at.as_micros() - flight.sent.as_micros());
            }
        }
        spans.sort_unstable();
        spans.get(spans.len() / 2).copied()
    };
    let gap = || moments.windows(2).map(|pair| pair[1] - pair[0]).min();
    spans(Role::Protocol).or_else(|| spans(Role::Overhead)).or_else(gap).unwrap_or(1).max(1) as f64
}

/// The least of 1, 2, 5, 10, 20, ... that is not below `least`.
fn round_step(least: f64) -> u64 {
    let mut decade: u64 = 1;
    loop {
        for factor in [1, 2, 5] {
            let step = decade.saturating_mul(factor);
            if step as f64 >= least || step == u64::MAX {
                return step;
            }
        }
        decade = decade.saturating_mul(10);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::sample;
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::from_micros(ms * 1000)
    }

    #[test]
    fn leaves_out_a_silence_and_labels_round_times() {
        let trace = sample::bully();
        let axis = Axis::new(&Model::new(&trace), 50.0);
        let [silence] = axis.breaks.as_slice() else { panic!("one silence") };
        assert_eq!((silence.from, silence.to), (ms(20), ms(110)));
        assert_eq!(axis.ticks(), [0, 10, 20, 110, 120].map(ms));
        assert_eq!(axis.x(Time::ZERO), 50.0);
        assert!(axis.x(ms(110)) - axis.x(ms(20)) < 2.0 * axis.flight_px);
        let mut last = 0.0;
        for at in 0..=120 {
            assert!(axis.x(ms(at)) > last, "time goes to the right");
            last = axis.x(ms(at));
        }
    }

    #[test]
    fn never_exceeds_its_greatest_width() {
        let trace = sample::crowd(64);
        let axis = Axis::new(&Model::new(&trace), 0.0);
        assert!(axis.right() <= WIDTH_MAX + 0.01);
        let trace = sample::nothing();
        assert_eq!(Axis::new(&Model::new(&trace), 9.0).right(), 9.0);
    }

    #[test]
    fn steps_are_round() {
        assert_eq!(
            [(118_385, 119_000), (20, 110), (7, 7)].map(|(a, b)| roundest(a, b)),
            [119_000, 100, 7]
        );
        assert_eq!([0.3, 1.5, 3.0, 700.0, 5000.0].map(round_step), [1, 2, 5, 1000, 5000]);
    }

    #[test]
    fn long_times_are_in_seconds() {
        let shown = [0, 2_500_000, 12_000_000, 12_500_000, 12_345_678];
        let shown = shown.map(|us| label(Time::from_micros(us)));
        assert_eq!(shown, ["0ms", "2500ms", "12s", "12.5s", "12345.678ms"]);
    }
}
