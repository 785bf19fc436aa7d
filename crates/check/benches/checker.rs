//! How fast the checker is and what a state costs it, beside stateright on the same worlds.
//!
//! Both explore the same model to its end, with the same number of threads and with the same rules
//! of what may happen; stateright plays the processes themselves. They take turns, so that a busy
//! machine slows down both, and each turn is a process of its own: the memory is the most that it
//! ever had resident, less what it had before it began. Nothing is left out of that, and nothing
//! of the turn before is in it.
//!
//! `THREADS` says how many threads each has, `TURNS` how many turns; the best of them counts.
//! `MODELS` is a list of models, separated by semicolons:
//!
//!     MODELS='bully nodes=4 crashes=2 recoveries=1 detection' cargo bench -p bellwether-check

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark looks at the clock, prints, and may panic"
)]

#[path = "../tests/common/peer.rs"]
mod peer;

use bellwether_algorithms::catalogue::{Algorithm, Settings};
use bellwether_algorithms::election::{Bully, Watched};
use bellwether_algorithms::mutex::{Guarded, RicartAgrawala, SuzukiKasami};
use bellwether_check::{Limits, Setup, Timing, Verdict, check};
use bellwether_core::Group;
use peer::Peer;
use stateright::{Checker as _, Model as _};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs};

const T: Duration = Duration::from_millis(100);

const MODELS: &str = "bully nodes=4 crashes=2 recoveries=1 detection; \
                      ricart-agrawala nodes=3 requests=3; \
                      suzuki-kasami nodes=4 requests=1";

/// Who explores.
const WHO: [&str; 3] = ["stateright", "ours", "ours, liveness"];

/// What a turn came to.
#[derive(Clone, Copy, Debug)]
struct Turn {
    states: u64,
    seconds: f64,
    bytes: u64,
}

fn main() {
    if let (Ok(who), Ok(model)) = (env::var("WHO"), env::var("MODEL")) {
        let Turn { states, seconds, bytes } = turn(&who, &model);
        println!("{states} {seconds} {bytes}");
        return;
    }
    let models = env::var("MODELS").unwrap_or_else(|_| MODELS.to_owned());
    for model in models.split(';').map(str::trim) {
        println!("\n{model}, {} threads\n", threads());
        let head = ["", "states", "seconds", "states/s", "ratio", "bytes a state"];
        line(&head.map(str::to_owned));
        let mut best = [None::<Turn>; WHO.len()];
        for _ in 0..number("TURNS").unwrap_or(3) {
            for (who, best) in WHO.iter().zip(&mut best) {
                let turn = apart(who, model);
                let seconds = best.map_or(turn.seconds, |best| best.seconds.min(turn.seconds));
                let bytes = best.map_or(turn.bytes, |best| best.bytes.max(turn.bytes));
                *best = Some(Turn { seconds, bytes, ..turn });
            }
        }
        let theirs = best[0].unwrap();
        for (who, Turn { states, seconds, bytes }) in WHO.iter().zip(best.map(Option::unwrap)) {
            // On the same world, a state more or less is a bug in one of the two.
            assert_eq!(states, theirs.states, "{who}");
            line(&[
                (*who).to_owned(),
                format!("{states}"),
                format!("{seconds:.2}"),
                format!("{:.0}", states as f64 / seconds),
                format!("{:.2}", theirs.seconds / seconds),
                format!("{:.1}", bytes as f64 / states as f64),
            ]);
        }
    }
}

fn line(columns: &[String; 6]) {
    let [who, states, seconds, rate, ratio, bytes] = columns;
    println!("{who:>14} {states:>10} {seconds:>8} {rate:>10} {ratio:>6} {bytes:>14}");
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
        bytes: next().parse().unwrap(),
    }
}

fn turn(who: &str, model: &str) -> Turn {
    let (name, options) = model.split_once(' ').unwrap_or((model, ""));
    match name {
        "bully" => explore::<Watched<Bully>>(who, options),
        "ricart-agrawala" => explore::<Guarded<RicartAgrawala>>(who, options),
        "suzuki-kasami" => explore::<Guarded<SuzukiKasami>>(who, options),
        _ => panic!("no model for {name}"),
    }
}

fn explore<A: Algorithm>(who: &str, options: &str) -> Turn {
    let mut setup = setup::<A>(options);
    setup.liveness = who == "ours, liveness";
    let mut model = setup.model::<A>();
    // Both are to find all states, and nothing else.
    model.invariants.clear();
    model.referee = None;
    let model: &'static _ = Box::leak(Box::new(model));
    let before = resident_bytes("VmRSS:");
    let start = Instant::now();
    let states = if who == "stateright" {
        let checker = Peer::new(model).checker().threads(threads()).spawn_bfs().join();
        checker.unique_state_count() as u64
    } else {
        let report = check(model, Limits { threads: threads(), ..Limits::default() }, &mut |_| {});
        assert!(!matches!(report.verdict, Verdict::Unfinished(_)), "{:?}", report.verdict);
        report.progress.states
    };
    let seconds = start.elapsed().as_secs_f64();
    Turn { states, seconds, bytes: resident_bytes("VmHWM:") - before }
}

fn setup<A: Algorithm>(options: &str) -> Setup {
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
            "views" => settings.textbook = false,
            "asynchronous" => timing = Some(Timing::Asynchronous),
            _ => panic!("no option {name}"),
        }
    }
    let mut setup = Setup::new::<A>(Group::numbered(nodes.into()).unwrap(), settings);
    setup.timing = timing.unwrap_or(setup.timing);
    Setup { requests, faults, ..setup }
}

/// What is in memory, or the most that ever was, where the system tells.
fn resident_bytes(which: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(which));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
