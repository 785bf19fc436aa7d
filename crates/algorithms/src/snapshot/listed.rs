//! Snapshots in the catalogue: how they are configured, prompted and judged, whatever runs below.

use super::{Auditor, Bank, Carried, Config, Input, Msg, Routes, Snapshots, bank};
use crate::catalogue::Listed;
use crate::coding::{from_bytes, to_bytes};
use crate::cost::{Cost, Kinds, Rank, Script};
use crate::definition::{Algorithm, Definition, Entry, Settings, Topology};
use crate::options::{BadOption, Opt};
use bellwether_core::{
    AnyProcess, Assumptions, Channels, Codec, Coder, Erasable, Goal, Group, NodeId,
};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

const ENTRY: Entry = Entry {
    name: "chandy-lamport",
    family: "snapshot",
    title: "Chandy-Lamport snapshots",
    source: "Chandy and Lamport, ACM TOCS 3(1), 1985",
    cost: "n(n-1) a snapshot, n on a ring",
    assumes: Assumptions::faultless(Channels::Fifo),
    topology: Topology::Mesh,
    docs: essay!("chandy_lamport.rs"),
    example: "snapshot/bank-money-on-the-way.txt",
};

/// The options that there are, whatever runs below.
const OPTIONS: &[Opt] = &[
    Opt {
        name: "over",
        value: Some("NAME"),
        help: "what snapshots are taken of: bank, or any other algorithm; bank if not given",
    },
    bank::BALANCE_OPTION,
    Opt {
        name: "channels",
        value: Some("WHICH"),
        help: "mesh: from every process to every other; ring: from each to the next, for what sends \
               nothing elsewhere; mesh if not given",
    },
];

const VERBS: &[&str] =
    &["snapshot", "work", "transfer:TO:AMOUNT", "request", "release", "suspect", "start"];

const KINDS: &[&str] = &["MARKER", "TRANSFER", "REQUEST", "TOKEN"];

/// Snapshots of the bank, or of any of these algorithms by its name.
pub fn snapshots_of_any(listed: &[Listed]) -> Definition<AnyProcess> {
    let bank = Arc::new(Bank::definition().erase());
    let below = [std::slice::from_ref(&bank), listed].concat();
    among(&below, bank).erase().options(OPTIONS).costs(costs).variants(move |settings| {
        let over = settings.options.text("over").unwrap_or(Bank::NAME);
        match below.iter().find(|subject| subject.name() == over) {
            Some(subject) => Ok(Arc::new(among(&below, subject.clone()).erase().options(OPTIONS))),
            None => {
                let names: Vec<&str> = below.iter().map(|subject| subject.name()).collect();
                let names = names.join(", ");
                let why = format!("there is no algorithm '{over}' to run below; it can be {names}");
                Err(BadOption { option: "over", why })
            }
        }
    })
}

/// A marker on every channel, whatever else is on the way.
fn costs(n: u32) -> Vec<Cost> {
    let channels = u64::from(n) * u64::from(n - 1);
    // The only one of a group of one has no other to pay.
    let hops = if n > 1 { u64::from(n) } else { 0 };
    let cost = |case, formula, (text, markers), paid, trial| {
        let parts: [(Kinds, _, _); 2] =
            [(&["MARKER"], text, markers), (&["TRANSFER"], "payments", paid)];
        Cost::sum(case, formula, &parts, [trial])
    };
    let (one, all) = (Script::of(n).ask(1, "snapshot"), ("n(n-1)", channels));
    let two = one.clone().ask(n, "snapshot");
    let paying = Script::of(n).ask_all(1..=n, "work").ask(1, "snapshot");
    let ring = one.clone().set("channels", "ring");
    vec![
        cost("one snapshot", "n(n-1)", all, 0, one).rank(Rank::Worst),
        cost("two at once", "2n(n-1)", ("2n(n-1)", 2 * channels), 0, two),
        cost("while all pay", "n^2", all, hops, paying),
        cost("one snapshot, on a ring", "n", ("n", hops), 0, ring).rank(Rank::Best),
    ]
}

/// A closure that has the subject's definition for itself.
macro_rules! of {
    ($subject:ident, $closure:expr) => {{
        let $subject = $subject.clone();
        $closure
    }};
}

/// Snapshots of an algorithm.
pub fn snapshots<P: Erasable>(subject: Arc<Definition<P>>) -> Definition<Snapshots<P>> {
    among(&[], subject)
}

/// Snapshots of an algorithm that is one of many: to what only others know, it says so.
fn among<P: Erasable>(others: &[Listed], subject: Arc<Definition<P>>) -> Definition<Snapshots<P>> {
    let (knowing, working) = (others.to_vec(), others.to_vec());
    let config = of!(subject, move |settings: &Settings, group: &Group| Config {
        routes: routes(settings),
        below: subject.config(&below(settings), group),
    });
    let goal = Goal::new(
        "recorded",
        "every snapshot that was begun is complete, and what runs below has reached its goal",
        of!(subject, move |processes| {
            let live: Vec<(NodeId, &Snapshots<P>)> = processes.collect();
            live.iter().all(|(_, process)| process.is_complete())
                && subject.agreed(live.iter().map(|(id, process)| (*id, process.below())))
        }),
    );
    let rests = subject.goal.as_ref().is_none_or(|goal| goal.at_rest);
    let mut definition =
        Definition::<Snapshots<P>>::with_codec(ENTRY, codec(&subject.codec), config)
            .checks(of!(subject, move |settings, group| {
                check(settings, &subject.entry)?;
                subject.check(&below(settings), group)
            }))
            .verbs(
                VERBS,
                of!(subject, move |verb| match verb {
                    "snapshot" => Some(Input::Snapshot),
                    verb => subject.input(verb).map(Input::Below).or_else(|| {
                        let known = knowing.iter().any(|other| other.input(verb).is_some());
                        known.then(|| unknown(verb, &subject.entry, subject.verbs))
                    }),
                }),
                of!(subject, move |input| match input {
                    Input::Snapshot => Cow::Borrowed("snapshot"),
                    Input::Below(input) => subject.verb(input),
                    Input::Unknown { verb, .. } => Cow::Owned(verb.clone()),
                }),
            )
            .work(of!(subject, move |input| match input {
                Input::Snapshot => false,
                Input::Below(input) => subject.is_work(input),
                Input::Unknown { verb, .. } => working
                    .iter()
                    .any(|other| other.input(verb).is_some_and(|input| other.is_work(&input))),
            }))
            .kinds(KINDS)
            .goal(goal.at_rest(rests))
            // Markers go everywhere at once, or once round.
            .settles_within(of!(subject, move |config, group, work| {
                let below = subject.settling_time(&config.below, group, work);
                below.saturating_mul(2).saturating_add(Duration::from_secs(group.len() as u64))
            }))
            .lasts(of!(subject, move |config| subject.duration(&config.below)))
            .referee(of!(subject, move |config, group| {
                Box::new(Auditor::new(subject.clone(), &config.below, group))
            }))
            .coordinator(of!(subject, move |process| subject.coordinator_of(process.below())))
            .members(of!(subject, move |process| subject.members_of(process.below())))
            .clock(of!(subject, move |process, reading| {
                subject.clock.as_ref().and_then(|clock| clock(process.below(), reading))
            }))
            .view(of!(subject, move |process, config: &Config<P::Config>, scene| {
                process.view(&subject, &config.below, scene)
            }));
    definition.reads_clock = subject.reads_clock;
    definition.drift_ppm = subject.drift_ppm;
    // The rules of what runs below are those of that algorithm.
    definition.beside = &[("bank", essay!("bank.rs"))];
    // What is seen of a critical section below is shown, and not measured.
    definition.status =
        of!(subject, Some(Box::new(move |process| subject.section_of(process.below()))));
    definition
}

/// Messages and inputs of the subject travel as its own codec has them.
fn codec<P: Erasable>(subject: &Codec<P>) -> Codec<Snapshots<P>> {
    let Codec { msg, timer, input, durable } = subject.clone();
    let (msg_in, input_in) = (msg.clone(), input.clone());
    Codec {
        msg: Coder::new(
            move |value: &Msg<P::Msg>| {
                to_bytes(&match value {
                    Msg::Marker(snapshot) => Msg::Marker(*snapshot),
                    Msg::Carried(carried) => {
                        let Carried { number, stamp, body } = &**carried;
                        let (number, stamp, body) = (*number, stamp.clone(), msg.encode(body));
                        Msg::Carried(Box::new(Carried { number, stamp, body }))
                    }
                })
            },
            move |bytes| {
                Ok(match from_bytes::<Msg<Vec<u8>>>(bytes)? {
                    Msg::Marker(snapshot) => Msg::Marker(snapshot),
                    Msg::Carried(carried) => {
                        let Carried { number, stamp, body } = *carried;
                        let body = msg_in.decode(&body)?;
                        Msg::Carried(Box::new(Carried { number, stamp, body }))
                    }
                })
            },
        ),
        timer,
        input: Coder::new(
            move |value: &Input<P::Input>| {
                to_bytes(&match value {
                    Input::Snapshot => Input::Snapshot,
                    Input::Below(below) => Input::Below(input.encode(below)),
                    Input::Unknown { verb, answer } => {
                        Input::Unknown { verb: verb.clone(), answer: answer.clone() }
                    }
                })
            },
            move |bytes| {
                Ok(match from_bytes::<Input<Vec<u8>>>(bytes)? {
                    Input::Snapshot => Input::Snapshot,
                    Input::Below(below) => Input::Below(input_in.decode(&below)?),
                    Input::Unknown { verb, answer } => Input::Unknown { verb, answer },
                })
            },
        ),
        durable,
    }
}

/// A verb that this algorithm does not know.
fn unknown<I>(verb: &str, entry: &Entry, verbs: &[&str]) -> Input<I> {
    let mut answer = format!("{} does not know '{verb}'", entry.name);
    if !verbs.is_empty() {
        answer = format!("{answer}, only {}", verbs.join(", "));
    }
    Input::Unknown { verb: verb.to_owned(), answer }
}

/// Which channels the settings ask for.
fn routes(settings: &Settings) -> Routes {
    if bank::is_ring(settings) { Routes::Ring } else { Routes::Mesh }
}

/// The settings for what runs below. Acknowledgements would go round the wrong way.
fn below(settings: &Settings) -> Settings {
    let acknowledge = settings.acknowledge && !bank::is_ring(settings);
    Settings { acknowledge, ..settings.clone() }
}

/// Whether these settings can be, with an algorithm of this entry below.
fn check(settings: &Settings, entry: &Entry) -> Result<(), BadOption> {
    let refuse = |why: String| Err(BadOption { option: "channels", why });
    let circles = entry.topology == Topology::Ring || entry.name == Bank::NAME;
    match settings.options.text("channels") {
        None | Some("mesh") => Ok(()),
        Some("ring") if !circles => {
            let name = entry.name;
            refuse(format!("{name} sends messages to others than the next on the ring; use mesh"))
        }
        Some("ring") if settings.detection => {
            refuse("with detection, messages do not keep to the ring; use mesh".to_owned())
        }
        Some("ring") => Ok(()),
        Some(other) => refuse(format!("'{other}' is neither mesh nor ring")),
    }
}

#[cfg(test)]
#[path = "tests/listed.rs"]
mod tests;
