//! Logarithmic axes, and labels that keep out of each other's way.

use super::super::Case;
use std::fmt::Write;

/// A rectangle with a logarithmic scale on both sides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axes {
    pub(super) left: f64,
    pub(super) top: f64,
    width: f64,
    height: f64,
    /// The numbers of processes that are shown.
    nodes: (f64, f64),
    /// The numbers of messages, as powers of ten.
    messages: (f64, f64),
}

impl Axes {
    /// A scale on which all cases have room; it ends at a power of ten or, if it is to be tight, at
    /// twice or five times one.
    pub(super) fn covering(cases: &[Case], tight: bool) -> Self {
        let nodes = cases.iter().map(|case| f64::from(case.nodes).max(1.0));
        let values = cases.iter().flat_map(|case| [case.expected.value(), case.measured.value()]);
        let (first, last) = range(nodes);
        let (least, most) = range(values.filter(|value| *value > 0.0));
        let (floor, mut ceiling) = (libm::log10(least).floor(), libm::log10(most).ceil());
        let ends = [2.0, 5.0].map(|part| ceiling - 1.0 + libm::log10(part));
        if let Some(end) = ends.into_iter().find(|end| tight && *end >= libm::log10(most)) {
            ceiling = end;
        }
        // One number of processes alone still needs a width; labels stand to its right.
        let nodes = if first < last { (first, last) } else { (last / 1.5, last) };
        let messages = (floor, ceiling.max(floor + 1.0));
        Axes { left: 0.0, top: 0.0, width: 1.0, height: 1.0, nodes, messages }
    }

    /// The same scale elsewhere.
    pub(super) fn placed(&self, left: f64, top: f64, width: f64, height: f64) -> Self {
        Axes { left, top, width, height, ..*self }
    }

    pub(super) fn x(&self, nodes: u32) -> f64 {
        let (first, last) = (libm::log2(self.nodes.0), libm::log2(self.nodes.1));
        let along = (libm::log2(f64::from(nodes.max(1))) - first) / (last - first);
        self.left + along * self.width
    }

    /// Numbers below the scale, such as none at all, are drawn on its edge.
    pub(super) fn y(&self, messages: f64) -> f64 {
        let (floor, ceiling) = self.messages;
        let up = (libm::log10(messages.max(1e-9)).max(floor) - floor) / (ceiling - floor);
        self.bottom() - up * self.height
    }

    pub(super) fn right(&self) -> f64 {
        self.left + self.width
    }

    pub(super) fn bottom(&self) -> f64 {
        self.top + self.height
    }

    /// A path through these points.
    pub(super) fn path(&self, points: impl Iterator<Item = (u32, f64)>) -> String {
        let mut path = String::new();
        for (nodes, messages) in points {
            let verb = if path.is_empty() { 'M' } else { 'L' };
            // Writing to a string cannot fail.
            let _ = write!(path, "{verb}{:.1} {:.1}", self.x(nodes), self.y(messages));
        }
        path
    }

    /// Grid and numbers; in a large panel also the axes' names, of which one says what is counted.
    pub(super) fn write_grid(&self, svg: &mut String, counted: Option<&str>) -> std::fmt::Result {
        let (left, right, top, bottom) = (self.left, self.right(), self.top, self.bottom());
        for decade in self.messages.0 as i32..=self.messages.1 as i32 {
            let value = 10f64.powi(decade);
            for minor in [2.0, 5.0] {
                if f64::from(decade) + libm::log10(minor) < self.messages.1 + 0.01 {
                    let y = self.y(minor * value);
                    writeln!(svg, r#"<path class="fine" d="M{left:.1} {y:.1}H{right:.1}"/>"#)?;
                }
            }
            let y = self.y(value);
            writeln!(svg, r#"<path class="grid" d="M{left:.1} {y:.1}H{right:.1}"/>"#)?;
            let (x, y) = (left - 6.0, y + 3.5);
            let value = grouped(value);
            writeln!(svg, r#"<text class="tick end" x="{x:.1}" y="{y:.1}">{value}</text>"#)?;
        }
        for nodes in self.ticks() {
            let x = self.x(nodes);
            writeln!(svg, r#"<path class="grid" d="M{x:.1} {top:.1}V{bottom:.1}"/>"#)?;
            let y = bottom + 14.0;
            writeln!(svg, r#"<text class="tick mid" x="{x:.1}" y="{y:.1}">{nodes}</text>"#)?;
        }
        let (x, y) = (left + self.width / 2.0, bottom + 29.0);
        let name = if counted.is_some() { "processes n" } else { "n" };
        writeln!(svg, r#"<text class="tick mid" x="{x:.1}" y="{y:.1}">{name}</text>"#)?;
        if let Some(counted) = counted {
            let (x, y) = (left + 6.0, top + 12.0);
            writeln!(svg, r#"<text class="tick" x="{x:.1}" y="{y:.1}">{counted}</text>"#)?;
        }
        Ok(())
    }

    /// The powers of two, and both ends where they do not touch one.
    fn ticks(&self) -> Vec<u32> {
        let (first, last) = (self.nodes.0.ceil() as u32, self.nodes.1.floor() as u32);
        let powers = (0..32).map(|power| 1u32 << power);
        let mut ticks: Vec<u32> = powers.filter(|power| (first..=last).contains(power)).collect();
        for end in [first, last] {
            if ticks.iter().all(|tick| (self.x(*tick) - self.x(end)).abs() > 15.0) {
                ticks.push(end);
            }
        }
        ticks
    }
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::MAX, 1.0), |(least, most), value| (value.min(least), value.max(most)))
}

/// Digits in threes, from ten thousand on.
fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    if digits.len() < 5 {
        return digits;
    }
    let (head, tail) = digits.split_at(digits.len() - 3);
    format!("{head}\u{202f}{tail}")
}

/// What stands at a line's end.
#[derive(Clone, Debug)]
pub(super) struct Label {
    /// Where the line ends.
    pub(super) at: f64,
    /// What it is about.
    pub(super) title: String,
    /// More on the same line.
    pub(super) beside: String,
    /// More on lines of their own.
    pub(super) below: Vec<String>,
    pub(super) colour: usize,
}

/// The top of each label, such that none overlaps the next, all lie between `top` and `bottom` if
/// they fit, and each is as near to its line as that allows. Labels come sorted.
pub(super) fn spread(
    labels: &[Label],
    height: impl Fn(&Label) -> f64,
    top: f64,
    bottom: f64,
) -> Vec<f64> {
    // Labels that touch form a block, which moves as one: its place is the mean of what its
    // labels want. A block that then touches the one before is merged with it.
    struct Block {
        wanted: f64,
        count: f64,
        height: f64,
    }
    impl Block {
        fn top(&self, top: f64, bottom: f64) -> f64 {
            (self.wanted / self.count).min(bottom - self.height).max(top)
        }
    }
    let mut blocks: Vec<Block> = Vec::new();
    for label in labels {
        let height = height(label);
        let mut block = Block { wanted: label.at - height / 2.0, count: 1.0, height };
        while let Some(before) = blocks.pop() {
            if before.top(top, bottom) + before.height <= block.top(top, bottom) {
                blocks.push(before);
                break;
            }
            block = Block {
                wanted: before.wanted + block.wanted - block.count * before.height,
                count: before.count + block.count,
                height: before.height + block.height,
            };
        }
        blocks.push(block);
    }
    let mut tops = Vec::new();
    let mut rest = labels.iter();
    for block in blocks {
        let mut next = block.top(top, bottom);
        for label in rest.by_ref().take(block.count as usize) {
            tops.push(next);
            next += height(label);
        }
    }
    tops
}

/// Text that is safe in XML.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_apart_and_stay_near() {
        let places = [10.0, 12.0, 13.0, 60.0, 99.0];
        let label = |at| Label {
            at,
            title: String::new(),
            beside: String::new(),
            below: Vec::new(),
            colour: 0,
        };
        let labels: Vec<Label> = places.into_iter().map(label).collect();
        let tops = spread(&labels, |_| 10.0, 0.0, 100.0);
        assert!(tops.windows(2).all(|pair| pair[0] + 10.0 <= pair[1] + 1e-9), "{tops:?}");
        // Three crowd round their mean but for the edge, one is free, the last is kept inside.
        assert_eq!(tops, [0.0, 10.0, 20.0, 55.0, 90.0]);
    }
}
