//! `bellwether algorithms`: the catalogue.

use crate::args::AlgorithmsArgs;
use bellwether_algorithms::catalogue::Catalogue;
use bellwether_core::{Channels, Timing};
use bellwether_shell::{Failure, Verdict, print};
use comfy_table::{ContentArrangement, Table, presets};
use serde_json::json;

pub(crate) fn run(args: &AlgorithmsArgs, catalogue: &Catalogue) -> Result<Verdict, Failure> {
    let text = if args.json { as_json(catalogue) } else { as_table(catalogue) };
    print(&text)?;
    Ok(Verdict::Well)
}

fn as_table(catalogue: &Catalogue) -> String {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(110);
    table.set_header(["name", "family", "cost in messages", "assumes", "source"]);
    for entry in catalogue.iter().map(|listed| &listed.entry) {
        let assumes = entry.assumes.to_string();
        table.add_row([entry.name, entry.family, entry.cost, &assumes, entry.source]);
    }
    format!(
        "{table}\nk: live processes, n: all, d: the one that detects, s: sites, m: traitors, H(k): 1 + 1/2 + ... + 1/k\n"
    )
}

fn as_json(catalogue: &Catalogue) -> String {
    let entries: Vec<_> = catalogue
        .iter()
        .map(|listed| {
            let entry = &listed.entry;
            json!({
                "name": entry.name,
                "family": entry.family,
                "title": entry.title,
                "source": entry.source,
                "cost": entry.cost,
                "topology": entry.topology.name(),
                "assumes": {
                    "timing": match entry.assumes.timing {
                        Timing::Synchronous => "synchronous",
                        Timing::Asynchronous => "asynchronous",
                    },
                    "channels": match entry.assumes.channels {
                        Channels::Any => "any",
                        Channels::Fifo => "fifo",
                        Channels::Causal => "causal",
                    },
                    "loss": entry.assumes.loss,
                    "duplication": entry.assumes.duplication,
                    "crashes": entry.assumes.crashes,
                    "recoveries": entry.assumes.recoveries,
                },
            })
        })
        .collect();
    format!("{:#}\n", serde_json::Value::from(entries))
}
