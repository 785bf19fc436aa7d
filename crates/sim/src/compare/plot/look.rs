//! What differs between the pictures of the families.

use super::style::{COLOURS, MORE_COLOURS};
use super::{Panel, Series, promised};
use crate::compare::Case;
use crate::workload::Load;

/// What a picture says besides the cases, and how it is laid out.
pub(super) struct Look {
    /// For those who cannot see it.
    pub(super) title: &'static str,
    pub(super) heading: &'static str,
    /// What is counted, in a sentence.
    pub(super) counts: &'static str,
    /// What is counted, in a word or two.
    pub(super) unit: &'static str,
    pub(super) colours: &'static [&'static str],
    /// What a large panel leaves to its right for labels.
    pub(super) labels: f64,
    /// Whether the scale may end between two powers of ten.
    pub(super) tight: bool,
    /// Whether a panel says who lives.
    about: bool,
    /// The loads that there are; none for elections.
    loads: Vec<Load>,
}

impl Look {
    pub(super) fn of(family: &str, cases: &[Case]) -> Self {
        let all = cases.iter().filter_map(|case| case.load);
        let mut loads: Vec<Load> = all.collect();
        loads.sort_by_key(|load| *load as u8);
        loads.dedup();
        if !loads.is_empty() {
            return Look::mutex(loads);
        }
        match family {
            "time" => Look::other(
                "What keeping time costs",
                "Messages for a round or for a sample, by number of processes n.",
            ),
            "order" => Look::other(
                "What an ordered broadcast costs",
                "Messages until everybody has delivered it, by number of processes n.",
            ),
            "snapshot" => Look::other(
                "What a snapshot costs",
                "Markers until the cut is complete, by number of processes n.",
            ),
            "deadlock" => Look::other(
                "What finding a deadlock costs",
                "Messages until a cycle over n sites is reported; confirming it is counted apart.",
            ),
            "agreement" => Look::other(
                "What agreement costs",
                "Messages until all correct processes have decided, by number of processes n.",
            ),
            "election" => Look::election(),
            _ => Look::other(
                "What a run costs",
                "Messages until it is over, by number of processes n.",
            ),
        }
    }

    fn other(heading: &'static str, counts: &'static str) -> Self {
        Look { title: heading, heading, counts, labels: 205.0, about: false, ..Look::election() }
    }

    fn election() -> Self {
        Look {
            title: "Messages of an election: formulas and measurements",
            heading: "What an election costs",
            counts: "Messages until everybody knows the coordinator, by number of processes n, of \
                     which k live; acknowledgements and failure detection apart.",
            unit: "messages",
            colours: COLOURS,
            labels: 270.0,
            tight: false,
            about: true,
            loads: Vec::new(),
        }
    }

    fn mutex(loads: Vec<Load>) -> Self {
        Look {
            title: "Messages for an entry into a critical section: formulas and measurements",
            heading: "What mutual exclusion costs",
            counts: "Messages for an entry into the critical section, by number of processes n; T \
                     is the time that one takes. What makes them survive crashes is counted apart.",
            unit: "messages per entry",
            colours: MORE_COLOURS,
            labels: 205.0,
            tight: true,
            about: true,
            loads,
        }
    }

    /// The large panels: for which load, with which heading, and their place in this width.
    pub(super) fn overviews(&self, width: f64) -> Vec<(Option<Load>, &'static str, f64, f64)> {
        let gap = 24.0;
        let count = self.loads.len().max(1) as f64;
        let each = (width - gap * (count - 1.0)) / count;
        let heading = |load| match load {
            Load::Light => "Light load: one asks at a time",
            Load::Saturated => "Saturated: all ask always",
            Load::Bursts => "Bursts",
            Load::Skewed => "Skewed",
        };
        if self.loads.is_empty() {
            return vec![(None, "The worst cases side by side", 0.0, width)];
        }
        let places = self.loads.iter().enumerate();
        places
            .map(|(index, load)| (Some(*load), heading(*load), index as f64 * (each + gap), each))
            .collect()
    }

    /// The load of the cases that are shown in grey behind those of another algorithm.
    pub(super) fn last_load(&self) -> Option<Load> {
        self.loads.last().copied()
    }

    /// A line about a panel.
    pub(super) fn about(&self, panel: &Panel<'_>) -> String {
        match (self.about, self.loads.is_empty()) {
            (false, _) => String::new(),
            (true, true) => who(panel).to_owned(),
            (true, false) => delay(panel),
        }
    }
}

/// Who lives in the panel's cases.
fn who(panel: &Panel<'_>) -> &'static str {
    let dead = |series: &Series<'_>| series.last().live < series.last().nodes;
    match (panel.series.iter().any(dead), panel.series.iter().all(dead)) {
        (_, true) => "coordinator dead, k = n − 1",
        (true, false) => "coordinator dead, unless said otherwise",
        (false, _) => "nobody dead, k = n",
    }
}

/// What costs nothing, and what lies between two entries.
fn delay(panel: &Panel<'_>) -> String {
    let mut about: Vec<String> = panel.free.iter().map(|case| format!("0 if {case}")).collect();
    let saturated = panel.stands_for(Some(Load::Saturated));
    if let Some(delay) = saturated.and_then(|series| series.last().delay.as_ref()) {
        about.push(format!("saturated: {} between two entries", promised(delay.formula)));
    }
    about.join("; ")
}
