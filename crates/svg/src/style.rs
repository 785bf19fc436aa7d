//! Colours and symbols.
//!
//! The colours are Okabe and Ito's, which the colour-blind can tell apart. Orange is kept for the
//! coordinator. Every rule has plain colours for a light background, and the same again for a dark
//! one: converters and older viewers know neither variables nor media queries and still show the
//! light picture.

use std::fmt::Write as _;

/// How many kinds of messages get a colour of their own before the colours begin again.
pub const COLOURS: usize = 6;

/// For each colour: lines on light and on dark, words on light and on dark.
const PALETTE: [[&str; 4]; COLOURS] = [
    ["#0072b2", "#4ea8e0", "#005c91", "#7cc0ec"],
    ["#009e73", "#2fc69a", "#00704f", "#5ed8b4"],
    ["#d55e00", "#ff8a3d", "#a84a00", "#ffa566"],
    ["#cc79a7", "#e39bc4", "#97467a", "#edb6d4"],
    ["#56b4e9", "#8fd3ff", "#20719f", "#a9dcff"],
    ["#222222", "#e8e8e8", "#222222", "#e8e8e8"],
];

/// A selector, a property, and its values on light and on dark.
const RULES: &[[&str; 4]] = &[
    [".paper", "fill", "#ffffff", "#12161c"],
    ["text", "fill", "#1d2733", "#e6ebf1"],
    [".faint", "fill", "#64717f", "#9aa7b5"],
    [".halo", "stroke", "#ffffff", "#12161c"],
    [".grid", "stroke", "#edf0f3", "#222932"],
    [".axis", "stroke", "#8b97a5", "#76838f"],
    [".torn-inside", "fill", "#ffffff", "#12161c"],
    [".quiet", "fill", "#f3f6f9", "#181e26"],
    [".torn", "stroke", "#b4bec9", "#4a5663"],
    [".life", "stroke", "#5d6b7a", "#8996a4"],
    [".gone", "stroke", "#b9c2cc", "#47525e"],
    [".void", "fill", "#e9ecf0", "#222830"],
    [".reign", "fill", "#fbdc9a", "#6b4d0c"],
    [".reign", "stroke", "#e69f00", "#e69f00"],
    [".crown", "fill", "#f5b61c", "#ffc43a"],
    [".crown", "stroke", "#7a5200", "#12161c"],
    [".fell", "stroke", "#b3261e", "#ff7b72"],
    [".rose", "fill", "#009e73", "#2fc69a"],
    [".rose", "stroke", "#ffffff", "#12161c"],
    [".hatch", "stroke", "#8b97a5", "#76838f"],
    [".name", "fill", "#eef2f6", "#222a34"],
    [".name", "stroke", "#c3ccd6", "#46525f"],
    [".note", "stroke", "#a0468a", "#e39bc4"],
    [".noted", "fill", "#87346f", "#edb6d4"],
    [".dot", "fill", "#3b4754", "#c3ced9"],
    [".sign", "fill", "#ffffff", "#12161c"],
    [".sign", "stroke", "#3b4754", "#c3ced9"],
    [".overhead", "stroke", "#a3adb8", "#5c6874"],
    [".overhead-head", "fill", "#a3adb8", "#5c6874"],
];

/// The same for critical sections, which only some pictures have. Sky blue is the farthest from the
/// coordinator's orange.
const SECTION_RULES: &[[&str; 4]] = &[
    [".inside", "fill", "#56b4e9", "#56b4e9"],
    [".inside", "stroke", "#005c91", "#c9e8fc"],
    [".waits", "fill", "#d3eaf9", "#1b3d55"],
    [".waits", "stroke", "#56b4e9", "#4a93c4"],
    [".entry", "fill", "#06283d", "#06283d"],
];

/// What does not depend on the background.
const SHAPES: &str = "\
.bw text{font-family:system-ui,-apple-system,'Segoe UI','Helvetica Neue',Arial,sans-serif}\
.bw path{fill:none}.bw .title{font-weight:650}.bw .said{font-weight:600}\
.bw .halo{stroke-width:3px;stroke-linejoin:round;paint-order:stroke}\
.bw .life{stroke-linecap:round}\
.bw .gone{stroke-dasharray:2 5;stroke-linecap:round}\
.bw .grid{stroke-width:1}\
.bw .axis{stroke-width:1.2}\
.bw .torn,.bw .reign{stroke-width:1}\
.bw .crown{stroke-width:1;stroke-linejoin:round}\
.bw .fell{stroke-width:2.4;stroke-linecap:round}\
.bw .hatch{stroke-width:1.4}\
.bw .note{stroke-width:1.2;stroke-dasharray:6 4}\
.bw .sign{stroke-width:1.4}\
.bw .overhead{stroke-dasharray:4 3}\
.bw .cross{stroke-dasharray:none;stroke-linecap:round}";

/// The style sheet and the symbols that the picture uses by name. They mean the same in every
/// picture, so that several on one page do not disturb each other.
pub(crate) fn head(sections: bool) -> String {
    let extra = if sections { SECTION_RULES } else { &[] };
    let mut out = format!("<style>{SHAPES}{}", sheet(0, extra));
    let dark = sheet(1, extra);
    let _ = write!(out, "@media (prefers-color-scheme:dark){{{dark}}}</style><defs>");
    for index in 0..COLOURS {
        out.push_str(&arrowhead(&format!("bw-a{index}"), &format!("c{index}-head")));
    }
    out.push_str(&arrowhead("bw-ao", "overhead-head"));
    out.push_str(
        "<pattern id=\"bw-hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">\
         <path class=\"hatch\" d=\"M-1 7L7-1M-4 4L4-4M2 10L10 2\"/></pattern></defs>\n",
    );
    out
}

fn arrowhead(id: &str, class: &str) -> String {
    format!(
        "<marker id=\"{id}\" viewBox=\"0 0 10 8\" refX=\"9.4\" refY=\"4\" markerWidth=\"6\" \
         markerHeight=\"4.8\" orient=\"auto\"><path class=\"{class}\" d=\"M0 0L10 4L0 8L2.4 4Z\"/>\
         </marker>"
    )
}

fn sheet(dark: usize, extra: &[[&str; 4]]) -> String {
    let mut out = String::new();
    for [selector, property, values @ ..] in RULES.iter().chain(extra) {
        let _ = write!(out, ".bw {selector}{{{property}:{}}}", values[dark]);
    }
    for (index, colours) in PALETTE.iter().enumerate() {
        let (line, words) = (colours[dark], colours[2 + dark]);
        let _ = write!(
            out,
            ".bw .c{index}{{stroke:{line}}}.bw .c{index}-head{{fill:{line}}}\
             .bw .c{index}-text{{fill:{words}}}"
        );
    }
    out
}
