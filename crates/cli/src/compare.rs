//! `bellwether compare`: measured costs beside the textbook's formulas.

use crate::args::CompareArgs;
use crate::failure::{Failure, Verdict};
use crate::output::{Target, print};
use bellwether_sim::compare::{Case, cases_for, plot};
use comfy_table::{CellAlignment, Table, TableComponent, presets};
use rayon::prelude::*;
use serde_json::json;

/// A comparison of larger clusters would take minutes and show nothing new.
const MOST_NODES: u32 = 512;

pub(crate) fn run(args: &CompareArgs) -> Result<Verdict, Failure> {
    if args.family != "election" {
        let message = format!("no family '{}' to compare; there is: election", args.family);
        return Err(Failure::Input(message));
    }
    let (from, to) = range(&args.nodes)?;
    let target = args.svg.as_deref().map(|path| Target::file("svg", path)).transpose()?;
    let cases: Vec<Case> = (from..=to).into_par_iter().flat_map_iter(cases_for).collect();
    if let Some(target) = target {
        target.write(&plot(&cases))?;
    }
    let wrong = cases.iter().filter(|case| case.contradicts()).count();
    if args.json {
        let value = json!({
            "family": args.family,
            "nodes": { "from": from, "to": to },
            "disagreeing": wrong,
            "cases": cases,
        });
        print(&format!("{value:#}\n"))?;
    } else {
        print(&table(&cases, from, to))?;
        let summary = match wrong {
            0 => format!("{} cases: every exact formula and every bound holds\n", cases.len()),
            _ => format!("{} cases: {wrong} do not agree with their formula\n", cases.len()),
        };
        print(&summary)?;
    }
    Ok(if wrong == 0 { Verdict::Well } else { Verdict::Violated })
}

/// `3..64`, or one number.
fn range(text: &str) -> Result<(u32, u32), Failure> {
    let wrong =
        || Failure::flag("nodes", format!("'{text}' is no range; expected for example 3..64"));
    let number = |text: &str| text.parse::<u32>().map_err(|_| wrong());
    let (from, to) = match text.split_once("..") {
        Some((from, to)) => (number(from)?, number(to)?),
        None => (number(text)?, number(text)?),
    };
    match (from, to) {
        (0, _) => Err(Failure::flag(
            "nodes",
            format!("'{text}' begins with 0; an election needs at least 1 process"),
        )),
        (from, to) if from > to => {
            Err(Failure::flag("nodes", format!("'{text}' runs backwards; write {to}..{from}")))
        }
        (_, to) if to > MOST_NODES => {
            Err(Failure::flag("nodes", format!("at most {MOST_NODES} processes can be compared")))
        }
        range => Ok(range),
    }
}

/// A few sizes for the reader, and everything that does not agree.
fn table(cases: &[Case], from: u32, to: u32) -> String {
    let mut shown: Vec<u32> = [3, 5, 8, 16, 32, 64, 128, 256]
        .into_iter()
        .filter(|n| (from..=to).contains(n))
        .chain([from, to])
        .collect();
    shown.sort_unstable();
    shown.dedup();
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    table.remove_style(TableComponent::HorizontalLines);
    table.set_header(["algorithm", "case", "n", "formula", "expected", "measured", "judged", ""]);
    for index in [2, 4, 5] {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut rows: Vec<&Case> =
        cases.iter().filter(|case| shown.contains(&case.nodes) || !case.agrees).collect();
    rows.sort_by_key(|case| (case.algorithm, case.case, case.nodes));
    for case in rows {
        let verdict = match (case.agrees, case.contradicts()) {
            (true, _) => "agrees".to_owned(),
            (false, true) => "DIFFERS".to_owned(),
            (false, false) => format!("off by {:+.1} %", case.deviation_percent()),
        };
        table.add_row([
            case.algorithm.to_owned(),
            case.case.to_owned(),
            case.nodes.to_string(),
            case.formula.to_owned(),
            figure(case.expected.value()),
            figure(case.measured.value()),
            case.expected.judged().to_owned(),
            verdict,
        ]);
    }
    format!("{table}\n")
}

/// A count without a fraction, a mean with one digit of it.
fn figure(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}
