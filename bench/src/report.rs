//! What was measured, for people and for programs.

use crate::Outcome;
use crate::args::{Peer, WhatArgs};
use crate::stats::{median, range};
use serde_json::{Value, json};
use std::fmt::Write;
use std::process::Command;

/// What was measured once, or the median of several rounds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure {
    pub(crate) is: f64,
    /// What each round gave, in order of time. Nothing if there is one only.
    rounds: Vec<f64>,
}

impl From<f64> for Figure {
    fn from(is: f64) -> Self {
        Figure { is, rounds: Vec::new() }
    }
}

impl Figure {
    /// The median of rounds.
    pub(crate) fn median(rounds: impl IntoIterator<Item = f64>) -> Self {
        let rounds: Vec<f64> = rounds.into_iter().collect();
        Figure { is: median(&rounds), rounds: if rounds.len() > 1 { rounds } else { Vec::new() } }
    }

    /// How often it contains the other one. The machine is not equally busy in all rounds, so the range is that of
    /// the ratios of the same rounds.
    pub(crate) fn per(&self, other: &Figure) -> Figure {
        let rounds = self.rounds.iter().zip(&other.rounds).map(|(own, other)| own / other);
        Figure { is: self.is / other.is, rounds: rounds.collect() }
    }

    /// The least and the most of all rounds.
    fn range(&self) -> Option<[f64; 2]> {
        (self.rounds.len() > 1).then(|| range(&self.rounds))
    }

    fn text(&self, digits: usize) -> String {
        let text = |figure: f64| format!("{figure:.digits$}");
        match self.range() {
            Some([least, most]) => format!("{} ({}-{})", text(self.is), text(least), text(most)),
            None => text(self.is),
        }
    }

    /// A number, or the median, the least and the most.
    fn json(&self) -> Value {
        match self.range() {
            Some([least, most]) => json!([self.is, least, most]),
            None => json!(self.is),
        }
    }
}

/// Figures in rows and columns. A figure that was not measured is missing.
pub(crate) struct Table {
    /// What the figures are.
    pub(crate) title: String,
    /// For programs.
    pub(crate) key: &'static str,
    /// What the first column has.
    pub(crate) rows_are: &'static str,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<(String, Vec<Option<Figure>>)>,
    /// Digits behind the point.
    pub(crate) digits: usize,
}

/// A figure that something is expected of.
pub(crate) struct Aim {
    pub(crate) what: String,
    pub(crate) is: Figure,
    pub(crate) limit: Limit,
}

/// What is expected.
#[derive(Clone, Copy)]
pub(crate) enum Limit {
    AtLeast(f64),
    AtMost(f64),
    /// No expectation: the figure is only reported.
    Unlimited,
}

impl Aim {
    fn met(&self) -> bool {
        match self.limit {
            Limit::AtLeast(least) => self.is.is >= least,
            Limit::AtMost(most) => self.is.is <= most,
            Limit::Unlimited => true,
        }
    }

    fn text(&self) -> String {
        let met = if self.met() { "met" } else { "MISSED" };
        let is = self.is.text(2);
        match self.limit {
            Limit::AtLeast(least) => format!("{is}; aim at least {least}: {met}"),
            Limit::AtMost(most) => format!("{is}; aim at most {most}: {met}"),
            Limit::Unlimited => is,
        }
    }
}

/// Everything.
#[derive(Default)]
pub(crate) struct Report {
    /// How it was measured.
    pub(crate) notes: Vec<String>,
    /// What was measured beside Bellwether, and asked for its version by its program.
    pub(crate) peers: Vec<Peer>,
    /// The versions of others.
    pub(crate) versions: Vec<String>,
    pub(crate) tables: Vec<Table>,
    pub(crate) aims: Vec<Aim>,
}

impl Report {
    /// Whether all aims are met.
    pub(crate) fn met(&self) -> bool {
        self.aims.iter().all(Aim::met)
    }

    /// Prints it, and keeps it in a file if that is asked for.
    pub(crate) fn publish(&self, what: &WhatArgs) -> Outcome<()> {
        if what.json {
            println!("{:#}", self.json());
        } else {
            print!("{}", self.text());
        }
        let Some(path) = &what.figures else { return Ok(()) };
        let mut file = self.json();
        file["command"] = command().into();
        file["machine"] = machine().into();
        file["day"] = said(Command::new("date").args(["-u", "+%F"])).into();
        let mut versions = versions(what, &self.peers);
        versions.extend(self.versions.iter().cloned());
        file["version"] = versions.join(", ").into();
        std::fs::write(path, format!("{file:#}\n")).map_err(|error| {
            format!("cannot write {}: {error}; choose another file (--figures)", path.display())
        })
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for note in &self.notes {
            let _ = writeln!(text, "{note}");
        }
        for table in &self.tables {
            let _ = write!(text, "\n{}", table.text());
        }
        if !self.aims.is_empty() {
            text.push('\n');
        }
        let width = self.aims.iter().map(|aim| aim.what.len()).max().unwrap_or(0);
        for aim in &self.aims {
            let _ = writeln!(text, "{:<width$}  {}", aim.what, aim.text());
        }
        text
    }

    fn json(&self) -> Value {
        let tables: serde_json::Map<String, Value> =
            self.tables.iter().map(|table| (table.key.to_owned(), table.json())).collect();
        let aims: Vec<Value> = self
            .aims
            .iter()
            .map(|aim| {
                let limit = match aim.limit {
                    Limit::AtLeast(least) => json!({ "at_least": least }),
                    Limit::AtMost(most) => json!({ "at_most": most }),
                    Limit::Unlimited => Value::Null,
                };
                json!({ "what": aim.what, "is": aim.is.json(), "limit": limit, "met": aim.met() })
            })
            .collect();
        json!({ "notes": self.notes, "tables": tables, "aims": aims, "met": self.met() })
    }
}

impl Table {
    /// A figure, if it was measured.
    pub(crate) fn figure(&self, row: &str, column: &str) -> Option<&Figure> {
        let place = self.columns.iter().position(|name| name == column)?;
        let (_, figures) = self.rows.iter().find(|(name, _)| name == row)?;
        figures.get(place)?.as_ref()
    }

    fn text(&self) -> String {
        let cell = |figure: &Option<Figure>| match figure {
            Some(figure) => figure.text(self.digits),
            None => "-".to_owned(),
        };
        let lines: Vec<(&str, Vec<String>)> = self
            .rows
            .iter()
            .map(|(name, figures)| (name.as_str(), figures.iter().map(cell).collect()))
            .collect();
        let head = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let head = head.max(self.rows_are.len());
        let width = |place: usize| {
            let cells = lines.iter().filter_map(|(_, cells)| cells.get(place)).map(String::len);
            cells.chain([self.columns[place].len(), 10]).max().unwrap_or(10)
        };
        let mut text = format!("{}\n{:<head$}", self.title, self.rows_are);
        for (place, column) in self.columns.iter().enumerate() {
            let _ = write!(text, "  {column:>0$}", width(place));
        }
        text.push('\n');
        for (name, cells) in &lines {
            let _ = write!(text, "{name:<head$}");
            for (place, cell) in cells.iter().enumerate() {
                let _ = write!(text, "  {cell:>0$}", width(place));
            }
            text.push('\n');
        }
        text
    }

    fn json(&self) -> Value {
        let rows = self.rows.iter().map(|(name, figures)| {
            let row: serde_json::Map<String, Value> = self
                .columns
                .iter()
                .zip(figures)
                .map(|(column, figure)| (column.clone(), json!(figure.as_ref().map(|f| f.is))))
                .collect();
            (name.clone(), Value::Object(row))
        });
        // The same in order, each with its range.
        let lines = self.rows.iter().map(|(name, figures)| {
            let figures = figures.iter().map(|figure| json!(figure.as_ref().map(Figure::json)));
            Value::Array(std::iter::once(json!(name)).chain(figures).collect())
        });
        json!({
            "title": self.title,
            "columns": self.columns,
            "lines": lines.collect::<Vec<_>>(),
            "rows": rows.collect::<serde_json::Map<_, _>>(),
        })
    }
}

/// The command line without what names places of this machine.
fn command() -> String {
    let places = ["--bellwether", "--etcd", "--redis", "--zookeeper", "--dir", "--figures"];
    let mut words = vec!["bellwether-bench".to_owned()];
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        if places.contains(&arg.as_str()) {
            args.next();
        } else if !places.iter().any(|place| arg.starts_with(&format!("{place}="))) {
            words.push(arg);
        }
    }
    words.join(" ")
}

/// The versions of Bellwether and of its peers.
fn versions(what: &WhatArgs, peers: &[Peer]) -> Vec<String> {
    let mut all = Vec::new();
    if what.has(Peer::Bellwether) {
        all.push(said(Command::new(&what.bellwether).arg("--version")));
    }
    for peer in peers.iter().filter(|peer| what.has(**peer)) {
        all.push(match peer {
            Peer::Etcd => {
                said(Command::new(&what.etcd).arg("--version")).replace("etcd Version:", "etcd")
            }
            Peer::Redis => redis_version(&said(Command::new(&what.redis).arg("--version"))),
            Peer::Zookeeper | Peer::Bellwether => continue,
        });
    }
    all
}

/// The number in what Redis says, which also names how it was built.
fn redis_version(said: &str) -> String {
    let number = said.split_whitespace().find_map(|word| word.strip_prefix("v="));
    format!("Redis {}", number.unwrap_or("of unknown version"))
}

/// What a program says in its first line.
fn said(command: &mut Command) -> String {
    let output = command.output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).lines().next().unwrap_or("unknown").to_owned()
}

/// The machine, and how busy it was: the length of its queue of ready processes in the last minute.
fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let model = read("/proc/cpuinfo");
    let model = model.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let kernel = read("/proc/sys/kernel/osrelease");
    let load = read("/proc/loadavg");
    format!(
        "{cores} cores of {}, Linux {}, load {}",
        model.map_or("an unknown processor", |(_, model)| model),
        kernel.split('-').next().unwrap_or_default().trim(),
        load.split(' ').next().unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_missed_aim_is_enough() {
        let aim = |is: f64, limit| Aim { what: "x".to_owned(), is: is.into(), limit };
        let report = |aims| Report { aims, ..Report::default() };
        assert!(report(vec![]).met());
        let fine = || aim(10.0, Limit::AtLeast(10.0));
        assert!(
            report(vec![fine(), aim(0.1, Limit::AtMost(0.1)), aim(9.0, Limit::Unlimited)]).met()
        );
        assert!(!report(vec![fine(), aim(9.9, Limit::AtLeast(10.0))]).met());
        assert!(!report(vec![fine(), aim(0.11, Limit::AtMost(0.1))]).met());
        assert!(!report(vec![aim(f64::NAN, Limit::AtMost(0.1))]).met(), "nothing was measured");
    }

    #[test]
    fn figures_stand_below_their_columns() {
        let table = Table {
            title: "pairs".to_owned(),
            key: "pairs",
            rows_are: "clients",
            columns: vec!["etcd".to_owned(), "bellwether unix".to_owned()],
            rows: vec![("16".to_owned(), vec![Some(1234.5.into()), None])],
            digits: 0,
        };
        let text = "pairs\nclients        etcd  bellwether unix\n\
                    16             1234                -\n";
        assert_eq!(table.text(), text);
    }

    #[test]
    fn a_median_is_shown_and_kept_with_its_range() {
        let table = Table {
            title: "pairs".to_owned(),
            key: "pairs",
            rows_are: "",
            columns: vec!["a".to_owned(), "b".to_owned(), "c".to_owned()],
            rows: vec![(
                "x".to_owned(),
                vec![Some(Figure::median([3.0, 1.0, 2.0])), Some(Figure::median([7.0])), None],
            )],
            digits: 1,
        };
        assert_eq!(table.text().lines().last(), Some("x  2.0 (1.0-3.0)         7.0           -"));
        let json = table.json();
        assert_eq!(json["lines"], json!([["x", [2.0, 1.0, 3.0], 7.0, null]]));
        assert_eq!(json["rows"]["x"], json!({ "a": 2.0, "b": 7.0, "c": null }));
    }

    #[test]
    fn redis_says_more_than_its_version() {
        let said = "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=1";
        assert_eq!(redis_version(said), "Redis 7.0.15");
    }

    #[test]
    fn a_ratio_has_the_range_of_the_rounds_ratios() {
        // The second round was twice as slow for both.
        let (own, other) = (Figure::median([30.0, 20.0, 36.0]), Figure::median([10.0, 5.0, 9.0]));
        let aim = Aim { what: "x".to_owned(), is: own.per(&other), limit: Limit::AtLeast(4.0) };
        assert_eq!(aim.text(), "3.33 (3.00-4.00); aim at least 4: MISSED");
        let once = own.per(&8.0.into());
        assert_eq!((once.is, once.range()), (3.75, None));
    }
}
