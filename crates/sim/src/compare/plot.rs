//! The comparison as a picture: SVG, written by hand.
//!
//! Both axes are logarithmic, so that a power of n is a straight line and its exponent the slope.
//! One large panel sets the worst cases side by side, or one for each load. Below, each algorithm has a panel of its
//! own with all its cases: a band from its best to its worst, the formulas as thin lines, the
//! measured figures as dots on them, and the other algorithms' worst cases in grey. Lines are
//! labelled where they end; there is no legend to look up.

mod axes;
mod look;
mod style;

use super::{Case, Expected, Rank};
use crate::workload::Load;
use axes::{Axes, Label, escape, spread};
use bellwether_algorithms::catalogue::Catalogue;
use look::Look;
use std::fmt::Write;
use style::{DARK, STYLE};

const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 40.0;
const HEAD: f64 = 100.0;
const OVERVIEW_HEIGHT: f64 = 370.0;
const PANEL_HEIGHT: f64 = 290.0;
const COLUMNS: usize = 3;
/// What a panel leaves above itself for its name, and to its right for labels.
const PANEL_HEAD: f64 = 44.0;
const PANEL_LABELS: f64 = 150.0;
const LINE: f64 = 11.5;

/// One case over all numbers of processes.
struct Series<'a> {
    name: &'a str,
    points: Vec<&'a Case>,
}

impl Series<'_> {
    fn last(&self) -> &Case {
        self.points[self.points.len() - 1]
    }

    fn is_bound(&self) -> bool {
        matches!(self.last().expected, Expected::AtMost(_))
    }

    fn reaches(&self) -> f64 {
        self.last().expected.value()
    }
}

/// All cases of one algorithm.
struct Panel<'a> {
    algorithm: &'a str,
    colour: usize,
    series: Vec<Series<'a>>,
    /// Cases that cost nothing at all, which have no place on a logarithmic axis.
    free: Vec<&'a str>,
}

impl<'a> Panel<'a> {
    /// What stands for the algorithm beside the others: the dearest of its worst cases; under a
    /// light load the average one.
    fn stands_for(&self, load: Option<Load>) -> Option<&Series<'a>> {
        let rank = if load == Some(Load::Light) { Rank::Average } else { Rank::Worst };
        let fits = |case: &Case| case.rank == rank && case.load == load;
        let fitting = self.series.iter().filter(|series| fits(series.last()));
        fitting.max_by(|one, other| one.reaches().total_cmp(&other.reaches()))
    }

    /// The least and the most that its cases promise for each number of processes. Where there is
    /// only a bound, the least is what was measured.
    fn band(&self) -> Vec<(u32, f64, f64)> {
        let mut band: Vec<(u32, f64, f64)> = Vec::new();
        for case in self.series.iter().flat_map(|series| &series.points) {
            let most = case.expected.value();
            let least = most.min(case.measured.value());
            match band.iter_mut().find(|(nodes, ..)| *nodes == case.nodes) {
                Some((_, low, high)) => (*low, *high) = (low.min(least), high.max(most)),
                None => band.push((case.nodes, least, most)),
            }
        }
        band.sort_unstable_by_key(|(nodes, ..)| *nodes);
        band
    }
}

/// Sorts cases into panels, in the catalogue's order.
fn panels<'a>(cases: &'a [Case], look: &Look, rank: impl Fn(&str) -> usize) -> Vec<Panel<'a>> {
    let mut panels: Vec<Panel<'_>> = Vec::new();
    for case in cases {
        let index = panels.iter().position(|panel| panel.algorithm == case.algorithm);
        let index = index.unwrap_or_else(|| {
            let (algorithm, colours) = (case.algorithm, look.colours.len());
            let colour = rank(algorithm) % colours;
            panels.push(Panel { algorithm, colour, series: Vec::new(), free: Vec::new() });
            panels.len() - 1
        });
        if case.expected.value() == 0.0 {
            let free = &mut panels[index].free;
            if !free.contains(&case.case) {
                free.push(case.case);
            }
            continue;
        }
        let all = &mut panels[index].series;
        match all.iter_mut().find(|series| series.name == case.case) {
            Some(series) => series.points.push(case),
            None => all.push(Series { name: case.case, points: vec![case] }),
        }
    }
    panels.retain(|panel| !panel.series.is_empty());
    for series in panels.iter_mut().flat_map(|panel| &mut panel.series) {
        series.points.sort_by_key(|case| case.nodes);
    }
    panels.sort_by_key(|panel| rank(panel.algorithm));
    panels
}

/// Which of its family an algorithm is, so that it has its colour in every picture.
fn rank_in_family(catalogue: &Catalogue, name: &str, last: usize) -> usize {
    let family = catalogue.get(name).map(|listed| listed.entry.family);
    let mut relatives = catalogue.iter().filter(|listed| Some(listed.entry.family) == family);
    relatives.position(|listed| listed.name() == name).unwrap_or(last)
}

/// Draws cases of algorithms of this catalogue, of any number of processes, as one picture.
pub fn plot(catalogue: &Catalogue, cases: &[Case]) -> String {
    let first = cases.first().and_then(|case| catalogue.get(case.algorithm));
    let look = Look::of(first.map_or("", |listed| listed.entry.family), cases);
    let panels =
        panels(cases, &look, |name| rank_in_family(catalogue, name, look.colours.len() - 1));
    let rows = panels.len().div_ceil(COLUMNS);
    let height = HEAD + OVERVIEW_HEIGHT + rows as f64 * PANEL_HEIGHT + 12.0;
    let mut svg = String::new();
    // Writing to a string cannot fail.
    let _ = write_head(&mut svg, &look, height, cases);
    if panels.is_empty() {
        let none = if cases.is_empty() { "No cases." } else { "No case costs a message." };
        let _ = writeln!(svg, r#"<text class="note" x="{MARGIN}" y="{HEAD}">{none}</text>"#);
    } else {
        let scale = Axes::covering(cases, look.tight);
        for (load, heading, left, width) in look.overviews(WIDTH - 2.0 * MARGIN) {
            let axes = scale.placed(
                MARGIN + left + 34.0,
                HEAD + 26.0,
                width - 34.0 - look.labels,
                OVERVIEW_HEIGHT - 76.0,
            );
            let x = MARGIN + left;
            let _ = write_overview(&mut svg, &look, &axes, x, (load, heading), &panels);
        }
        for (index, panel) in panels.iter().enumerate() {
            let _ = write_panel(&mut svg, &look, &scale, &panels, panel, index);
        }
    }
    svg.push_str("</svg>\n");
    svg
}

fn write_head(svg: &mut String, look: &Look, height: f64, cases: &[Case]) -> std::fmt::Result {
    writeln!(
        svg,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">"#
    )?;
    writeln!(svg, "<title>{}</title>", look.title)?;
    svg.push_str("<style>");
    svg.push_str(STYLE);
    for (index, colour) in look.colours.iter().enumerate() {
        writeln!(svg, "  .s{index} {{ stroke: {colour} }} .f{index} {{ fill: {colour} }}")?;
    }
    svg.push_str(DARK);
    writeln!(svg, "</style>")?;
    writeln!(svg, r#"<rect class="paper" width="{WIDTH}" height="{height}"/>"#)?;
    let agree = cases.iter().filter(|case| case.agrees).count();
    let verdict = match cases.len() - agree {
        0 => format!("all {agree} cases agree"),
        wrong => format!("{wrong} of {} cases disagree (ringed red)", cases.len()),
    };
    writeln!(svg, r#"<text class="h1" x="{MARGIN}" y="40">{}</text>"#, look.heading)?;
    let notes = [
        look.counts.to_owned(),
        format!(
            "Lines: formulas (dashed: upper bounds). Dots: measured in the simulator; {verdict}."
        ),
    ];
    for (note, y) in notes.iter().zip([60, 76]) {
        writeln!(svg, r#"<text class="note" x="{MARGIN}" y="{y}">{note}</text>"#)?;
    }
    Ok(())
}

fn write_overview(
    svg: &mut String,
    look: &Look,
    axes: &Axes,
    x: f64,
    (load, heading): (Option<Load>, &str),
    panels: &[Panel<'_>],
) -> std::fmt::Result {
    let y = HEAD + 10.0;
    writeln!(svg, r#"<text class="h2" x="{x}" y="{y:.1}">{heading}</text>"#)?;
    axes.write_grid(svg, Some(look.unit))?;
    let mut labels = Vec::new();
    for panel in panels {
        let Some(worst) = panel.stands_for(load) else { continue };
        write_line(svg, axes, worst, panel.colour)?;
        // Lines that coincide show their dots by turns.
        let dots = Dots { radius: 2.6, apart: 24.0, skip: 7.0 * panel.colour as f64 % 24.0 };
        write_dots(svg, axes, worst, panel, &dots)?;
        labels.push(Label {
            at: axes.y(worst.reaches()),
            title: panel.algorithm.to_owned(),
            beside: promise(worst),
            below: Vec::new(),
            colour: panel.colour,
        });
    }
    write_labels(svg, axes, labels, true)
}

fn write_panel(
    svg: &mut String,
    look: &Look,
    scale: &Axes,
    panels: &[Panel<'_>],
    panel: &Panel<'_>,
    index: usize,
) -> std::fmt::Result {
    let gap = 24.0;
    let width = (WIDTH - 2.0 * MARGIN - gap * (COLUMNS - 1) as f64) / COLUMNS as f64;
    let left = MARGIN + (index % COLUMNS) as f64 * (width + gap);
    let top = HEAD + OVERVIEW_HEIGHT + (index / COLUMNS) as f64 * PANEL_HEIGHT;
    let axes = scale.placed(
        left + 34.0,
        top + PANEL_HEAD,
        width - 34.0 - PANEL_LABELS,
        PANEL_HEIGHT - PANEL_HEAD - 42.0,
    );
    writeln!(
        svg,
        r#"<text class="h2 f{}" x="{left:.1}" y="{:.1}">{}</text>"#,
        panel.colour,
        top + 16.0,
        escape(panel.algorithm)
    )?;
    writeln!(
        svg,
        r#"<text class="small" x="{left:.1}" y="{:.1}">{}</text>"#,
        top + 30.0,
        look.about(panel)
    )?;
    axes.write_grid(svg, None)?;
    for other in panels.iter().filter(|other| other.algorithm != panel.algorithm) {
        if let Some(worst) = other.stands_for(look.last_load()) {
            let points = worst.points.iter().map(|case| (case.nodes, case.expected.value()));
            writeln!(svg, r#"<path class="context" d="{}"/>"#, axes.path(points))?;
        }
    }
    let band = panel.band();
    let there = band.iter().map(|(nodes, _, most)| (*nodes, *most));
    let back = band.iter().rev().map(|(nodes, least, _)| (*nodes, *least));
    let outline = axes.path(there.chain(back));
    writeln!(svg, r#"<path class="band f{}" d="{outline}Z"/>"#, panel.colour)?;
    for series in &panel.series {
        write_line(svg, &axes, series, panel.colour)?;
    }
    for series in &panel.series {
        let dots = Dots { radius: 1.9, apart: 7.5, skip: 0.0 };
        write_dots(svg, &axes, series, panel, &dots)?;
    }
    write_labels(svg, &axes, panel_labels(&axes, panel), false)
}

/// One label per formula, with the cases that it is for.
fn panel_labels(axes: &Axes, panel: &Panel<'_>) -> Vec<Label> {
    let mut labels: Vec<Label> = Vec::new();
    for series in &panel.series {
        let formula = promise(series);
        match labels.iter_mut().find(|label| label.title == formula) {
            Some(label) => label.below.push(series.name.to_owned()),
            None => labels.push(Label {
                at: axes.y(series.reaches()),
                title: formula,
                beside: String::new(),
                below: vec![series.name.to_owned()],
                colour: panel.colour,
            }),
        }
    }
    labels
}

/// A series' formula in print.
fn promise(series: &Series<'_>) -> String {
    let sign = if series.is_bound() { "≤ " } else { "" };
    format!("{sign}{}", promised(series.last().formula))
}

/// A formula in print.
fn promised(formula: &str) -> String {
    let signs = [
        ("ceil(log2 k)", "⌈log₂ k⌉"),
        ("floor(log2 k)", "⌊log₂ k⌋"),
        ("^2", "²"),
        ("-", "−"),
        ("*", "·"),
        ("H(k)", "Hₖ"),
        ("floor(log2 n)", "⌊log₂ n⌋"),
        (" x ", " × "),
    ];
    signs.iter().fold(formula.to_owned(), |text, (from, to)| text.replace(from, to))
}

fn write_line(
    svg: &mut String,
    axes: &Axes,
    series: &Series<'_>,
    colour: usize,
) -> std::fmt::Result {
    let bound = if series.is_bound() { " bound" } else { "" };
    let path = axes.path(series.points.iter().map(|case| (case.nodes, case.expected.value())));
    writeln!(svg, r#"<path class="line{bound} s{colour}" d="{path}"/>"#)
}

/// How dots are drawn: how large, how long the stretches are of which each has one, and where the
/// stretches begin.
struct Dots {
    radius: f64,
    apart: f64,
    skip: f64,
}

/// The measured figures; where they would touch, only some, but all that are wrong.
fn write_dots(
    svg: &mut String,
    axes: &Axes,
    series: &Series<'_>,
    panel: &Panel<'_>,
    Dots { radius, apart, skip }: &Dots,
) -> std::fmt::Result {
    let mut last = (None, f64::NEG_INFINITY);
    for case in &series.points {
        let (x, y) = (axes.x(case.nodes), axes.y(case.measured.value()));
        // The first of each stretch has room.
        let stretch = Some(((x - axes.left - skip) / apart).floor());
        if (stretch == last.0 || x - last.1 < 3.0 * radius) && case.agrees {
            continue;
        }
        last = (stretch, x);
        let (colour, nodes) = (panel.colour, case.nodes);
        let title = format!(
            "{}, {}, n = {nodes}: {} (formula {})",
            escape(panel.algorithm),
            escape(series.name),
            number(case.measured.value()),
            number(case.expected.value()),
        );
        writeln!(
            svg,
            r#"<circle class="f{colour}" cx="{x:.1}" cy="{y:.1}" r="{radius}"><title>{title}</title></circle>"#
        )?;
        if !case.agrees {
            let ring = radius + 2.5;
            writeln!(svg, r#"<circle class="wrong" cx="{x:.1}" cy="{y:.1}" r="{ring}"/>"#)?;
        }
    }
    Ok(())
}

fn number(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

/// Labels to the right of the panel, as near to their lines' ends as they can be.
fn write_labels(
    svg: &mut String,
    axes: &Axes,
    mut labels: Vec<Label>,
    large: bool,
) -> std::fmt::Result {
    labels.sort_by(|one, other| one.at.total_cmp(&other.at));
    let first = if large { 15.0 } else { LINE };
    let height = |label: &Label| first + label.below.len() as f64 * LINE + 3.0;
    let tops = spread(&labels, height, axes.top - 10.0, axes.bottom() + 18.0);
    let right = axes.right();
    for (label, top) in labels.iter().zip(tops) {
        let (middle, colour) = (top + height(label) / 2.0, label.colour);
        let (start, bend, x) = (right + 4.0, right + 14.0, right + 23.0);
        let lead = format!("M{start:.1} {:.1}L{bend:.1} {middle:.1}h5", label.at);
        writeln!(svg, r#"<path class="lead s{colour}" d="{lead}"/>"#)?;
        let class = if large { format!("h3 f{colour}") } else { String::new() };
        let y = top + first - 2.0;
        let (title, beside) = (escape(&label.title), escape(&label.beside));
        writeln!(
            svg,
            r#"<text class="{class}" x="{x:.1}" y="{y:.1}">{title} <tspan class="small">{beside}</tspan></text>"#
        )?;
        for (line, number) in label.below.iter().zip(1..) {
            let (y, line) = (y + f64::from(number) * LINE, escape(line));
            writeln!(svg, r#"<text class="small" x="{x:.1}" y="{y:.1}">{line}</text>"#)?;
        }
    }
    Ok(())
}
