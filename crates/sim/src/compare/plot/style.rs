//! The picture's colours and type.

/// Okabe and Ito's colours, which everybody can tell apart, in the order in which they are used.
pub(super) const COLOURS: &[&str] =
    &["#d55e00", "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#8c8c8c"];

/// For larger families: two more instead of the grey, which is that of the lines behind.
pub(super) const MORE_COLOURS: &[&str] =
    &["#d55e00", "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#8861c6", "#97683a"];

/// How it looks on paper.
pub(super) const STYLE: &str = "
  text { font-family: 'Helvetica Neue', Helvetica, Arial, sans-serif; font-size: 10px; fill: #1d1f24 }
  .paper { fill: #ffffff }
  .h1 { font-size: 21px; font-weight: 600 }
  .h2 { font-size: 13.5px; font-weight: 600 }
  .note { font-size: 12px; fill: #5c626d }
  .h3 { font-size: 12px; font-weight: 600 }
  .small { font-size: 9.5px; font-weight: 400; fill: #5c626d }
  .tick { fill: #5c626d }
  .end { text-anchor: end }
  .mid { text-anchor: middle }
  .grid { stroke: #e6e8ec; stroke-width: 1; fill: none }
  .fine { stroke: #f2f3f5; stroke-width: 1; fill: none }
  .context { stroke: #c9cdd4; stroke-width: 1; fill: none }
  .line { stroke-width: 1.1; fill: none; stroke-linejoin: round }
  .bound { stroke-dasharray: 5 3 }
  .lead { stroke-width: 0.8; fill: none; stroke-opacity: 0.65 }
  .band { fill-opacity: 0.13 }
  .wrong { stroke: #e00000; stroke-width: 1.6; fill: none }
";

/// What is different on a dark screen.
pub(super) const DARK: &str = "
  @media (prefers-color-scheme: dark) {
    text { fill: #e8eaee }
    .paper { fill: #15171c }
    .note, .small, .tick { fill: #a2a9b5 }
    .grid { stroke: #2d313a }
    .fine { stroke: #21242b }
    .context { stroke: #4a505c }
    .band { fill-opacity: 0.22 }
    .wrong { stroke: #ff5050 }
  }
";
