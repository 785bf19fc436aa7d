//! `bellwether compare`: measured costs beside the textbook's formulas.

use crate::args::CompareArgs;
use bellwether_algorithms::catalogue::Catalogue;
use bellwether_shell::{Failure, Target, Verdict, print};
use bellwether_sim::compare::{Case, family_cases_for, plot};
use bellwether_sim::workload::Load;
use comfy_table::{CellAlignment, Table, TableComponent, presets};
use rayon::prelude::*;
use serde_json::{Value, json};

/// How a family is compared.
struct Family<'a> {
    name: &'a str,
    /// The default numbers of processes.
    nodes: &'static str,
    /// A comparison of larger clusters would take minutes and show nothing new.
    most_nodes: u32,
    /// The family as one that needs something.
    instance: &'static str,
}

impl<'a> Family<'a> {
    /// The family of this name, if there is something to compare in it.
    fn named(name: &'a str, catalogue: &Catalogue) -> Result<Self, Failure> {
        let comparable = |family: &&str| {
            let mut relatives = catalogue.iter().filter(|listed| listed.entry.family == *family);
            relatives.any(|listed| listed.claimed_costs().is_some())
        };
        let families: Vec<&str> = catalogue.families().into_iter().filter(comparable).collect();
        if !families.contains(&name) {
            let known = families.join(", ");
            let message = format!("no family '{name}' to compare; there are: {known}");
            return Err(Failure::Input(message));
        }
        let (nodes, most_nodes, instance) = match name {
            "election" => ("3..64", 512, "an election"),
            "mutex" => ("2..64", 128, "mutual exclusion"),
            "time" => ("2..32", 128, "keeping time"),
            "order" => ("2..32", 128, "an ordered broadcast"),
            "snapshot" => ("2..32", 128, "a snapshot"),
            // All arrangements are tried, and messages grow with a power of the processes.
            "deadlock" => ("2..8", 9, "a deadlock over sites"),
            "agreement" => ("2..10", 10, "agreement"),
            _ => ("2..32", 128, "a run"),
        };
        Ok(Family { name, nodes, most_nodes, instance })
    }

    fn is_mutex(&self) -> bool {
        self.name == "mutex"
    }
}

pub(crate) fn run(args: &CompareArgs, catalogue: &Catalogue) -> Result<Verdict, Failure> {
    let family = &Family::named(&args.family, catalogue)?;
    let (from, to) = range(args.nodes.as_deref().unwrap_or(family.nodes), family)?;
    let load = args.load.as_deref().map(|load| load_of(load, family)).transpose()?;
    let target = args.svg.as_deref().map(|path| Target::file("svg", path)).transpose()?;
    let cases_for = |n| family_cases_for(catalogue, family.name, n, load);
    let cases: Vec<Case> = (from..=to).into_par_iter().flat_map_iter(cases_for).collect();
    if let Some(target) = target {
        target.write(&plot(catalogue, &cases))?;
    }
    let wrong = cases.iter().filter(|case| case.contradicts()).count();
    if args.json {
        let mut value = json!({
            "family": args.family,
            "nodes": { "from": from, "to": to },
            "disagreeing": wrong,
            "cases": cases,
        });
        if family.is_mutex() {
            value["load"] = load.map_or(Value::Null, |load| load.to_string().into());
        }
        print(&format!("{value:#}\n"))?;
    } else {
        print(&table(&cases, (from, to), family))?;
        let summary = match wrong {
            0 => format!("{} cases: every exact formula and every bound holds\n", cases.len()),
            _ => format!("{} cases: {wrong} do not agree with their formula\n", cases.len()),
        };
        print(&summary)?;
    }
    Ok(if wrong == 0 { Verdict::Well } else { Verdict::Violated })
}

/// A load for which there are formulas.
fn load_of(text: &str, family: &Family<'_>) -> Result<Load, Failure> {
    if !family.is_mutex() {
        let message = "only mutual exclusion knows loads; leave it out, or compare mutex";
        return Err(Failure::flag("load", message));
    }
    let load = text.parse::<Load>().map_err(|error| Failure::flag("load", error))?;
    match load {
        Load::Light | Load::Saturated => Ok(load),
        Load::Bursts | Load::Skewed => Err(Failure::flag(
            "load",
            format!("no formula says what {load} cost; there are formulas for light and saturated"),
        )),
    }
}

/// `3..64`, or one number.
fn range(text: &str, family: &Family<'_>) -> Result<(u32, u32), Failure> {
    let example = family.nodes;
    let wrong =
        || Failure::flag("nodes", format!("'{text}' is no range; expected for example {example}"));
    let number = |text: &str| text.parse::<u32>().map_err(|_| wrong());
    let (from, to) = match text.split_once("..") {
        Some((from, to)) => (number(from)?, number(to)?),
        None => (number(text)?, number(text)?),
    };
    let (most, instance) = (family.most_nodes, family.instance);
    match (from, to) {
        (0, _) => Err(Failure::flag(
            "nodes",
            format!("'{text}' begins with 0; {instance} needs at least 1 process"),
        )),
        (from, to) if from > to => {
            Err(Failure::flag("nodes", format!("'{text}' runs backwards; write {to}..{from}")))
        }
        (_, to) if to > most => {
            Err(Failure::flag("nodes", format!("at most {most} processes can be compared")))
        }
        range => Ok(range),
    }
}

/// A few sizes for the reader, and everything that does not agree.
fn table(cases: &[Case], (from, to): (u32, u32), family: &Family<'_>) -> String {
    let mut shown: Vec<u32> = [3, 5, 8, 16, 32, 64, 128, 256]
        .into_iter()
        .filter(|n| (from..=to).contains(n))
        .chain([from, to])
        .collect();
    shown.sort_unstable();
    shown.dedup();
    let mut header = vec!["algorithm", "case", "n", "formula", "expected", "measured", "judged"];
    let mut numbers = vec![2, 4, 5];
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    table.remove_style(TableComponent::HorizontalLines);
    if family.is_mutex() {
        header.extend(["delay", "hops", "measured"]);
        numbers.extend([8, 9]);
        // This many rows need no lines between them.
        table.remove_style(TableComponent::MiddleIntersections);
    }
    header.push("");
    table.set_header(header);
    for index in numbers {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut rows: Vec<&Case> =
        cases.iter().filter(|case| shown.contains(&case.nodes) || !case.agrees).collect();
    rows.sort_by_key(|case| {
        (case.algorithm, case.load.map(|load| load as u8), case.case, case.nodes)
    });
    for case in rows {
        table.add_row(row(case, family));
    }
    format!("{table}\n")
}

fn row(case: &Case, family: &Family<'_>) -> Vec<String> {
    let figure = if family.is_mutex() { to_hundredths } else { to_tenths };
    let mut row = vec![
        case.algorithm.to_owned(),
        case.case.to_owned(),
        case.nodes.to_string(),
        case.formula.to_owned(),
        figure(case.expected.value()),
        figure(case.measured.value()),
        case.expected.judged().to_owned(),
    ];
    if family.is_mutex() {
        row.extend(match &case.delay {
            Some(delay) => [
                delay.formula.to_owned(),
                figure(delay.expected.value()),
                figure(delay.measured.value()),
            ],
            None => Default::default(),
        });
    }
    row.push(match (case.agrees, case.contradicts()) {
        (true, _) => "agrees".to_owned(),
        (false, true) => "DIFFERS".to_owned(),
        (false, false) => format!("off by {:+.1} %", case.deviation_percent()),
    });
    row
}

/// A count without a fraction, a mean with one digit of it.
fn to_tenths(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

/// With two digits: a few messages an entry are told apart by less than a tenth.
fn to_hundredths(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}
