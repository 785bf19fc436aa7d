//! Clocks over time: how far each is ahead, and how far they are apart.

use bellwether_algorithms::referee::Clocks;
use bellwether_algorithms::time::show;
use bellwether_core::Time;
use bellwether_svg::{Anchor, COLOURS, MARGIN, Pen, Px, Sheet, begin, heading};
use std::time::Duration;

const WIDTH: f64 = 960.0;
const LEFT: f64 = 96.0;
const RIGHT: f64 = 80.0;
const TOP: f64 = 84.0;
const LEADS: f64 = 220.0;
const GAP: f64 = 56.0;
const SPREAD: f64 = 130.0;
const BOTTOM: f64 = 44.0;
/// Lines' names keep so far apart.
const NAME: f64 = 13.0;

/// The picture.
pub(super) fn draw(clocks: &Clocks) -> Sheet {
    let height = TOP + LEADS + GAP + SPREAD + BOTTOM;
    let mut pen = Pen::default();
    begin(&mut pen, (WIDTH, height), &clocks.title, false);
    let about = "above each clock, below how far the outermost are apart, on a logarithmic scale";
    heading(&mut pen, &clocks.title, about);
    let points = clocks.lines.iter().flat_map(|(_, line)| line);
    let end = points.clone().map(|(at, _)| at.as_micros()).max().unwrap_or(0).max(1);
    let x = |at: Time| LEFT + at.as_micros() as f64 / end as f64 * (WIDTH - LEFT - RIGHT);
    let (least, most) = points
        .fold((0, 0), |(least, most), (_, lead)| (i64::min(least, *lead), i64::max(most, *lead)));
    time_axis(&mut pen, end, &x);
    leads(&mut pen, clocks, (least as f64, most as f64), &x);
    spread(&mut pen, clocks, &x);
    pen.raw("</svg>\n");
    Sheet { width: WIDTH, height, svg: pen.finish() }
}

/// A round step such that there are some five of them.
fn step(range: f64) -> f64 {
    let rough = (range / 5.0).max(1.0);
    let power = libm::pow(10.0, libm::floor(libm::log10(rough)));
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    steps.into_iter().find(|step| *step >= rough).unwrap_or(10.0 * power)
}

fn time_axis(pen: &mut Pen, end: u64, x: &impl Fn(Time) -> f64) {
    let step = (step(end as f64) as u64).max(1);
    let (bottom, upper) = (TOP + LEADS + GAP + SPREAD, TOP + LEADS);
    for at in (0..=end).step_by(step as usize) {
        let time = Time::from_micros(at);
        let at = x(time);
        pen.line("grid", 1.0, (at, TOP), (at, upper));
        pen.line("grid", 1.0, (at, upper + GAP), (at, bottom));
        pen.words("faint", Anchor::Middle, 11.0, (at, bottom + 18.0), &show(time - Time::ZERO));
    }
}

/// A span of microseconds in words, with its sign.
fn shown(us: f64) -> String {
    let sign = if us < 0.0 { "\u{2212}" } else { "" };
    format!("{sign}{}", show(Duration::from_micros(us.abs() as u64)))
}

fn leads(pen: &mut Pen, clocks: &Clocks, (least, most): (f64, f64), x: &impl Fn(Time) -> f64) {
    let range = (most - least).max(2.0);
    let (floor, range) = (least - range * 0.04, range * 1.08);
    let y = |lead: f64| TOP + LEADS - (lead - floor) / range * LEADS;
    let step = step(range);
    let mut at = (libm::floor(floor / step) + 1.0) * step;
    while at <= floor + range {
        pen.line("grid", 1.0, (LEFT, y(at)), (WIDTH - RIGHT, y(at)));
        pen.words("faint", Anchor::End, 11.0, (LEFT - 8.0, y(at) + 4.0), &shown(at));
        at += step;
    }
    if let Some((from, bound)) = clocks.bound {
        let (left, top) = (x(from), y(bound as f64).max(TOP));
        let size = (WIDTH - RIGHT - left, y(-bound as f64).min(TOP + LEADS) - top);
        pen.told_bar("void", (left, top), size, 0.0, "where a clock that was set must be");
    }
    pen.line("axis", 1.2, (LEFT, y(0.0)), (WIDTH - RIGHT, y(0.0)));
    pen.words("faint", Anchor::Start, 11.5, (LEFT, TOP - 8.0), "ahead by");
    let mut names: Vec<(f64, String, usize)> = Vec::new();
    for (index, (id, line)) in clocks.lines.iter().enumerate() {
        let colour = index % COLOURS;
        let mut shape = String::new();
        for (at, lead) in line {
            let verb = if shape.is_empty() { 'M' } else { 'L' };
            shape.push_str(&format!("{verb}{} {}", Px(x(*at)), Px(y(*lead as f64))));
        }
        pen.raw(&format!("<path class=\"c{colour}\" stroke-width=\"1.8\" d=\"{shape}\"/>\n"));
        let last = line.last().map_or(0.0, |(_, lead)| *lead as f64);
        names.push((y(last), id.to_string(), colour));
    }
    names.sort_by(|one, other| one.0.total_cmp(&other.0));
    let middle = names.iter().map(|(at, ..)| *at).sum::<f64>() / names.len().max(1) as f64;
    let mut next = f64::MIN;
    // Those that end together are listed round their middle.
    let together = names
        .first()
        .zip(names.last())
        .is_some_and(|(first, last)| last.0 - first.0 < NAME * (names.len() as f64 - 1.0));
    if together {
        next = (middle - NAME * (names.len() as f64 - 1.0) / 2.0).max(TOP);
    }
    for (at, name, colour) in names {
        let at = if together { next } else { at.max(next) };
        let class = format!("c{colour}-text");
        pen.words(&class, Anchor::Start, 11.5, (WIDTH - RIGHT + 8.0, at + 4.0), &name);
        next = at + NAME;
    }
}

/// On a logarithmic scale: it may begin with minutes and end with microseconds.
fn spread(pen: &mut Pen, clocks: &Clocks, x: &impl Fn(Time) -> f64) {
    let spreads: Vec<(Time, f64)> =
        clocks.spread.iter().map(|(at, spread)| (*at, (*spread as f64).max(1.0))).collect();
    let values = spreads.iter().map(|(_, spread)| *spread);
    let (least, most) = values
        .fold((f64::MAX, 1.0_f64), |(least, most), value| (value.min(least), value.max(most)));
    let floor = libm::floor(libm::log10(least.min(most)));
    let ceiling = libm::ceil(libm::log10(most)).max(floor + 1.0);
    let (top, bottom) = (TOP + LEADS + GAP, TOP + LEADS + GAP + SPREAD);
    let y = |us: f64| bottom - (libm::log10(us) - floor) / (ceiling - floor) * SPREAD;
    for decade in floor as i32..=ceiling as i32 {
        let value = libm::pow(10.0, f64::from(decade));
        pen.line("grid", 1.0, (LEFT, y(value)), (WIDTH - RIGHT, y(value)));
        pen.words("faint", Anchor::End, 11.0, (LEFT - 8.0, y(value) + 4.0), &shown(value));
    }
    pen.words("faint", Anchor::Start, 11.5, (LEFT, top - 8.0), "apart by");
    let mut shape = String::new();
    for (at, spread) in &spreads {
        let verb = if shape.is_empty() { 'M' } else { 'L' };
        shape.push_str(&format!("{verb}{} {}", Px(x(*at)), Px(y(*spread))));
    }
    pen.raw(&format!("<path class=\"c5\" stroke-width=\"1.8\" d=\"{shape}\"/>\n"));
    pen.line("axis", 1.2, (MARGIN.max(LEFT), bottom), (WIDTH - RIGHT, bottom));
}
