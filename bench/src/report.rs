//! What was measured, for people and for programs.

use crate::Outcome;
use crate::args::WhatArgs;
use serde_json::{Value, json};
use std::fmt::Write;
use std::process::Command;

/// Figures in rows and columns. A figure that was not measured is missing.
pub(crate) struct Table {
    /// What the figures are.
    pub(crate) title: String,
    /// For programs.
    pub(crate) key: &'static str,
    /// What the first column has.
    pub(crate) rows_are: &'static str,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<(String, Vec<Option<f64>>)>,
    /// Digits behind the point.
    pub(crate) digits: usize,
}

/// A figure that something is expected of.
pub(crate) struct Aim {
    pub(crate) what: String,
    pub(crate) is: f64,
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
            Limit::AtLeast(least) => self.is >= least,
            Limit::AtMost(most) => self.is <= most,
            Limit::Unlimited => true,
        }
    }

    fn text(&self) -> String {
        let met = if self.met() { "met" } else { "MISSED" };
        match self.limit {
            Limit::AtLeast(least) => format!("{:.2}; aim at least {least}: {met}", self.is),
            Limit::AtMost(most) => format!("{:.2}; aim at most {most}: {met}", self.is),
            Limit::Unlimited => format!("{:.2}", self.is),
        }
    }
}

/// Everything.
#[derive(Default)]
pub(crate) struct Report {
    /// How it was measured.
    pub(crate) notes: Vec<String>,
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
        file["version"] = said(Command::new(&what.bellwether).arg("--version")).into();
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
                json!({ "what": aim.what, "is": aim.is, "limit": limit, "met": aim.met() })
            })
            .collect();
        json!({ "notes": self.notes, "tables": tables, "aims": aims, "met": self.met() })
    }
}

impl Table {
    /// A figure, if it was measured.
    pub(crate) fn figure(&self, row: &str, column: &str) -> Option<f64> {
        let place = self.columns.iter().position(|name| name == column)?;
        let (_, figures) = self.rows.iter().find(|(name, _)| name == row)?;
        figures.get(place).copied().flatten()
    }

    fn text(&self) -> String {
        let cell = |figure: &Option<f64>| match figure {
            Some(figure) => format!("{figure:.*}", self.digits),
            None => "-".to_owned(),
        };
        let head = self.rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let head = head.max(self.rows_are.len());
        let mut text = format!("{}\n{:<head$}", self.title, self.rows_are);
        for column in &self.columns {
            let _ = write!(text, "  {column:>10}");
        }
        text.push('\n');
        for (name, figures) in &self.rows {
            let _ = write!(text, "{name:<head$}");
            for (figure, column) in figures.iter().zip(&self.columns) {
                let _ = write!(text, "  {:>1$}", cell(figure), column.len().max(10));
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
                .map(|(column, figure)| (column.clone(), json!(figure)))
                .collect();
            (name.clone(), Value::Object(row))
        });
        // The same in order.
        let lines = self.rows.iter().map(|(name, figures)| {
            let figures = figures.iter().map(|figure| json!(figure));
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
    let places = ["--bellwether", "--etcd", "--redis", "--dir", "--figures"];
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
        let aim = |is, limit| Aim { what: "x".to_owned(), is, limit };
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
            rows: vec![("16".to_owned(), vec![Some(1234.5), None])],
            digits: 0,
        };
        let text = "pairs\nclients        etcd  bellwether unix\n\
                    16             1234                -\n";
        assert_eq!(table.text(), text);
    }
}
