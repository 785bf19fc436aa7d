//! Writing SVG: numbers, text and the few shapes that the picture is made of.

use std::fmt::{self, Write as _};

/// A place on the picture, or a size: to the right and down, in pixels.
pub type Point = (f64, f64);

/// A length with at most one decimal: enough for a picture, and the same everywhere.
#[derive(Clone, Copy, Debug)]
pub struct Px(pub f64);

impl fmt::Display for Px {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (self.0 * 10.0).round() as i64;
        let sign = if tenths < 0 { "-" } else { "" };
        let (whole, tenth) = (tenths.unsigned_abs() / 10, tenths.unsigned_abs() % 10);
        match tenth {
            0 => write!(f, "{sign}{whole}"),
            _ => write!(f, "{sign}{whole}.{tenth}"),
        }
    }
}

/// Text that cannot be taken for markup.
#[derive(Debug)]
pub struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '&' => f.write_str("&amp;")?,
                '"' => f.write_str("&quot;")?,
                // XML has no way to say these.
                c if c.is_control() => f.write_char(' ')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// The picture so far.
#[derive(Debug, Default)]
pub struct Pen {
    out: String,
}

/// Writing to a string cannot fail, hence the discarded results.
impl Pen {
    /// Markup as it is.
    pub fn raw(&mut self, markup: &str) {
        self.out.push_str(markup);
    }

    /// The picture.
    pub fn finish(self) -> String {
        self.out
    }

    /// A straight line.
    pub fn line(&mut self, class: &str, width: f64, from: Point, to: Point) {
        let ((x0, y0), (x1, y1)) = (from, to);
        let [x0, y0, x1, y1] = [x0, y0, x1, y1].map(Px);
        let width = Px(width);
        let _ = writeln!(
            self.out,
            "<path class=\"{class}\" stroke-width=\"{width}\" d=\"M{x0} {y0}L{x1} {y1}\"/>"
        );
    }

    /// A shape, with what it says when a pointer rests on it; may be empty.
    pub fn path(&mut self, class: &str, shape: &str, title: &str) {
        let _ = write!(self.out, "<path class=\"{class}\" d=\"{shape}\"");
        self.close("path", title);
    }

    /// A rectangle with round corners.
    pub fn bar(&mut self, class: &str, from: Point, size: Point, round: f64) {
        self.told_bar(class, from, size, round, "");
    }

    /// A bar that says something when a pointer rests on it.
    pub fn told_bar(&mut self, class: &str, from: Point, size: Point, round: f64, title: &str) {
        let [x, y, w, h, r] = [from.0, from.1, size.0.max(0.0), size.1, round].map(Px);
        let _ = write!(
            self.out,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" rx=\"{r}\""
        );
        self.close("rect", title);
    }

    /// A hatched rectangle.
    pub fn hatched(&mut self, from: Point, size: Point) {
        let [x, y, w, h] = [from.0, from.1, size.0.max(0.0), size.1].map(Px);
        let _ = writeln!(
            self.out,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" fill=\"url(#bw-hatch)\"/>"
        );
    }

    /// A circle, with what it says when a pointer rests on it; may be empty.
    pub fn circle(&mut self, class: &str, at: Point, radius: f64, title: &str) {
        let [x, y, r] = [at.0, at.1, radius].map(Px);
        let _ = write!(self.out, "<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{r}\"");
        self.close("circle", title);
    }

    fn close(&mut self, element: &str, title: &str) {
        let _ = match title {
            "" => writeln!(self.out, "/>"),
            _ => writeln!(self.out, "><title>{}</title></{element}>", Escaped(title)),
        };
    }

    /// Words that begin or are centred at a point, as `anchor` says.
    pub fn words(&mut self, class: &str, anchor: Anchor, size: f64, at: Point, text: &str) {
        let [x, y, size] = [at.0, at.1, size].map(Px);
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let _ = writeln!(
            self.out,
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" font-size=\"{size}\"{anchor}>{}</text>",
            Escaped(text)
        );
    }

    /// Words along a slanted line, centred.
    pub fn slanted(&mut self, class: &str, size: f64, at: Point, along: Point, text: &str) {
        let [x, y, size] = [at.0, at.1, size].map(Px);
        // Thousandths of a unit vector: a matrix needs no angle, and so no trigonometry.
        let [cos, sin] = [along.0, along.1].map(|part| (part * 1000.0).round() as i64);
        let thousandths = |part: i64| {
            let sign = if part < 0 { "-" } else { "" };
            format!("{sign}{}.{:03}", part.unsigned_abs() / 1000, part.unsigned_abs() % 1000)
        };
        let (c, s, minus_s) = (thousandths(cos), thousandths(sin), thousandths(-sin));
        let _ = writeln!(
            self.out,
            "<text class=\"{class}\" font-size=\"{size}\" text-anchor=\"middle\" \
             transform=\"matrix({c} {s} {minus_s} {c} {x} {y})\">{}</text>",
            Escaped(text)
        );
    }
}

/// Which part of the words is at the given point.
#[derive(Clone, Copy, Debug)]
pub enum Anchor {
    /// They begin there.
    Start,
    /// They are centred there.
    Middle,
    /// They end there.
    End,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_text_is_harmless() {
        let shown = [0.0, 12.0, 3.12, -0.04, -2.55, 99.96].map(|px| Px(px).to_string());
        assert_eq!(shown, ["0", "12", "3.1", "0", "-2.6", "100"]);
        let text = Escaped("<a href=\"x\">&\u{1}").to_string();
        assert_eq!(text, "&lt;a href=&quot;x&quot;&gt;&amp; ");
    }
}
