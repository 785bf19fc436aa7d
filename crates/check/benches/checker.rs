//! How fast the checker is and what a state costs it, beside stateright on the same worlds.
//!
//! Both explore the same model to its end, with the same number of threads and with the same rules
//! of what may happen; stateright plays the processes themselves, without erasure. They take turns, so that a busy
//! machine slows down both, and each turn is a process of its own: the memory is the most that it
//! ever had resident, less what it had before it began. Nothing is left out of that, and nothing
//! of the turn before is in it. Beside the time that passed stands the processor time of all
//! threads: it says more where others use the processors too, and less about waiting.
//!
//! `THREADS` says how many threads each has, `TURNS` how many turns; the fastest counts, and the
//! most memory. `WHO` is a list of those that take part, separated by semicolons, and `MODELS` one of
//! models:
//!
//!     MODELS='suzuki-kasami nodes=4 requests=2' cargo bench -p bellwether-check

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark looks at the clock, prints, and may panic"
)]

#[expect(dead_code, reason = "the tests need more of it")]
#[path = "../tests/it/models.rs"]
mod models;
#[path = "../tests/it/peer.rs"]
mod peer;

use bellwether_algorithms::definition::{Algorithm, Settings};
use bellwether_algorithms::election::{Bully, Watched};
use bellwether_algorithms::mutex::{Guarded, RicartAgrawala, SuzukiKasami};
use bellwether_check::{Limits, Model, Setup, Timing, Verdict, check};
use bellwether_core::{Erasable, Group, NodeId};
use models::{listed, typed};
use peer::Peer;
use stateright::{Checker as _, Model as _};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs};

const T: Duration = Duration::from_millis(100);

const MODELS: &str = "bully nodes=4 crashes=2 recoveries=1 detection coordinator=4; \
                      ricart-agrawala nodes=3 requests=3; \
                      suzuki-kasami nodes=4 requests=2";

/// Who explores. Ours is of erased processes, unless they are to be typed.
const WHO: &str = "stateright; ours; ours, typed; ours, liveness";

/// What a turn came to.
#[derive(Clone, Copy, Debug)]
struct Turn {
    states: u64,
    seconds: f64,
    /// Of all threads together.
    processor: f64,
    bytes: u64,
}

fn main() {
    if let Ok(model) = env::var("MODEL") {
        let Turn { states, seconds, processor, bytes } = turn(&env::var("WHO").unwrap(), &model);
        println!("{states} {seconds} {processor} {bytes}");
        return;
    }
    let (who, models) = (list("WHO", WHO), list("MODELS", MODELS));
    for model in &models {
        println!("\n{model}, {} threads\n", threads());
        let head =
            ["", "states", "seconds", "states/s", "ratio", "processor", "ratio", "bytes/state"];
        line(&head.map(str::to_owned));
        let mut turns = vec![Vec::new(); who.len()];
        for _ in 0..number("TURNS").unwrap_or(3) {
            for (who, turns) in who.iter().zip(&mut turns) {
                turns.push(apart(who, model));
            }
        }
        let best: Vec<Turn> = turns.iter().map(|turns| best(turns)).collect();
        for (who, turn) in who.iter().zip(&best) {
            let Turn { states, seconds, processor, bytes } = *turn;
            // In the same world, a state more or less is a bug in one of the two.
            assert_eq!(states, best[0].states, "{who}");
            line(&[
                who.clone(),
                format!("{states}"),
                format!("{seconds:.2}"),
                format!("{:.0}", states as f64 / seconds),
                format!("{:.2}", best[0].seconds / seconds),
                format!("{processor:.2}"),
                format!("{:.2}", best[0].processor / processor),
                format!("{:.1}", bytes as f64 / states as f64),
            ]);
        }
    }
}

fn list(name: &str, usual: &str) -> Vec<String> {
    let text = env::var(name).unwrap_or_else(|_| usual.to_owned());
    text.split(';').map(|item| item.trim().to_owned()).collect()
}

fn best(turns: &[Turn]) -> Turn {
    let least = |of: fn(&Turn) -> f64| turns.iter().map(of).fold(f64::INFINITY, f64::min);
    Turn {
        states: turns[0].states,
        seconds: least(|turn| turn.seconds),
        processor: least(|turn| turn.processor),
        bytes: turns.iter().map(|turn| turn.bytes).max().unwrap(),
    }
}

fn line(columns: &[String; 8]) {
    let [who, others @ ..] = columns;
    let others: String = others.iter().map(|text| format!("{text:>12}")).collect();
    println!("{who:<16}{others}");
}

fn number(name: &str) -> Option<usize> {
    env::var(name).ok().map(|text| text.parse().unwrap())
}

fn threads() -> usize {
    number("THREADS").unwrap_or(2)
}

/// A turn in a process of its own.
fn apart(who: &str, model: &str) -> Turn {
    let mut command = Command::new(env::current_exe().unwrap());
    let output = command.env("WHO", who).env("MODEL", model).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut words = text.split_whitespace();
    let mut next = || words.next().unwrap();
    Turn {
        states: next().parse().unwrap(),
        seconds: next().parse().unwrap(),
        processor: next().parse().unwrap(),
        bytes: next().parse().unwrap(),
    }
}

fn turn(who: &str, model: &str) -> Turn {
    let (name, options) = model.split_once(' ').unwrap_or((model, ""));
    let mut setup = setup(name, options);
    setup.liveness = who == "ours, liveness";
    if who == "ours" || setup.liveness {
        return measure(setup.model(), explore);
    }
    match name {
        "bully" => typed_turn::<Watched<Bully>>(who, &setup),
        "ricart-agrawala" => typed_turn::<Guarded<RicartAgrawala>>(who, &setup),
        "suzuki-kasami" => typed_turn::<Guarded<SuzukiKasami>>(who, &setup),
        _ => panic!("no typed model for {name}"),
    }
}

fn typed_turn<A: Algorithm + Erasable>(who: &str, setup: &Setup) -> Turn {
    let model = typed(setup, A::definition());
    match who {
        "stateright" => measure(model, |model| {
            let checker = Peer::new(model).checker().threads(threads()).spawn_bfs().join();
            checker.unique_state_count() as u64
        }),
        "ours, typed" => measure(model, explore),
        _ => panic!("there is no {who}"),
    }
}

fn explore<P: Erasable>(model: &Model<P>) -> u64 {
    let limits = Limits { threads: threads(), reduce: false, ..Limits::default() };
    let report = check(model, limits, &mut |_| {});
    assert!(!matches!(report.verdict, Verdict::Unfinished(_)), "{:?}", report.verdict);
    report.progress.states
}

/// What it costs to find all states.
fn measure<P: Erasable>(
    mut model: Model<P>,
    explore: impl FnOnce(&'static Model<P>) -> u64,
) -> Turn {
    // That is all they are to do.
    model.invariants.clear();
    model.referee = None;
    let model = Box::leak(Box::new(model));
    let before = resident_bytes("VmRSS:");
    let start = Instant::now();
    let states = explore(model);
    let seconds = start.elapsed().as_secs_f64();
    let bytes = resident_bytes("VmHWM:") - before;
    Turn { states, seconds, processor: processor_seconds(), bytes }
}

fn setup(name: &str, options: &str) -> Setup {
    let mut settings = Settings { textbook: true, ..Settings::new(T) };
    let (mut nodes, mut requests, mut faults, mut timing) = (3, 0, Default::default(), None);
    let bellwether_check::Faults { crashes, recoveries, losses, duplicates } = &mut faults;
    for option in options.split_whitespace() {
        let (name, value) = option.split_once('=').unwrap_or((option, "1"));
        let value: u8 = value.parse().unwrap();
        match name {
            "nodes" => nodes = value,
            "requests" => requests = value,
            "crashes" => *crashes = value,
            "recoveries" => *recoveries = value,
            "losses" => *losses = value,
            "duplicates" => *duplicates = value,
            "detection" => settings.detection = true,
            "coordinator" => settings.coordinator = Some(NodeId::new(value.into())),
            "views" => settings.textbook = false,
            "asynchronous" => timing = Some(Timing::Asynchronous),
            _ => panic!("no option {name}"),
        }
    }
    let group = Group::numbered(nodes.into()).unwrap();
    let mut setup = Setup::new(&listed(name), group, settings);
    setup.timing = timing.unwrap_or(setup.timing);
    Setup { requests, faults, ..setup }
}

/// The processor time of all threads so far, where the system tells.
fn processor_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the name, which may contain anything: in user mode and in the system's, in hundredths.
    let fields = stat.rsplit(')').next().into_iter().flat_map(str::split_whitespace);
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// What is in memory, or the most that ever was, where the system tells.
fn resident_bytes(which: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(which));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
