//! What the flags say about time.

use super::args::{CheckArgs, TimingName};
use crate::planning::flag;
use bellwether_algorithms::catalogue::Listed;
use bellwether_check::{Ticks, Timing};
use bellwether_core as core;
use bellwether_shell::Failure;
use bellwether_sim::{Latency, Network, default_timeout, units};
use clap::ValueEnum;
use std::time::Duration;

/// The default latency of a message: only T and counterexamples depend on it.
const HOP: Duration = Duration::from_millis(10);
/// How far clocks go by default, in ticks.
const HORIZON: Ticks = 8;
/// How many ticks T may have. The spans of an algorithm are multiples of T and must fit, too.
const MOST_TICKS: u128 = 1_000;

/// What is known of time, and T.
pub(crate) fn timing(algorithm: &Listed, args: &CheckArgs) -> Result<(Timing, Duration), Failure> {
    let name = timing_name(algorithm, args)?;
    let delay = delay(args, name)?;
    let network = Network::new(Latency::Uniform(delay.0, delay.1));
    let timeout = args.cluster.timeout(default_timeout(&network))?;
    Ok((in_ticks(args, name, delay, timeout)?, timeout))
}

/// What is known of time, in a word.
fn timing_name(algorithm: &Listed, args: &CheckArgs) -> Result<TimingName, Failure> {
    let assumed = match algorithm.assumes.timing {
        core::Timing::Synchronous => TimingName::Synchronous,
        core::Timing::Asynchronous if algorithm.reads_clock => TimingName::Drifting,
        core::Timing::Asynchronous => TimingName::Asynchronous,
    };
    let name = args.timing.unwrap_or(assumed);
    if name == TimingName::Asynchronous && algorithm.reads_clock {
        let message = format!(
            "{} looks at its clock, which would stand still; give drifting with a large --apart",
            algorithm.name()
        );
        return Err(Failure::flag("timing", message));
    }
    Ok(name)
}

/// As the flag has it.
fn word(name: TimingName) -> String {
    name.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// How long messages take.
fn delay(args: &CheckArgs, name: TimingName) -> Result<(Duration, Duration), Failure> {
    match (&args.delay, name) {
        (Some(text), TimingName::Bounded) => flag("delay", units::span(text)),
        (None, TimingName::Bounded) => Err(Failure::flag(
            "timing",
            "bounded needs to know how long messages take; give --delay 10ms..20ms",
        )),
        (Some(_), _) => Err(Failure::flag(
            "delay",
            format!(
                "in {} time messages have no bounds; give --timing bounded, or leave the flag out",
                word(name)
            ),
        )),
        (None, _) => Ok((HOP, HOP)),
    }
}

fn in_ticks(
    args: &CheckArgs,
    name: TimingName,
    (low, high): (Duration, Duration),
    timeout: Duration,
) -> Result<Timing, Failure> {
    if args.apart.is_some() && name != TimingName::Drifting {
        let message = format!(
            "in {} time no two clocks differ; give --timing drifting, or leave the flag out",
            word(name)
        );
        return Err(Failure::flag("apart", message));
    }
    let usual = match name {
        TimingName::Bounded => [low, high].into_iter().fold(timeout, measure),
        _ => timeout,
    };
    let tick = match &args.tick {
        None => usual,
        Some(_) if name == TimingName::Asynchronous => {
            return Err(Failure::flag(
                "tick",
                "in asynchronous time there are no ticks; leave the flag out",
            ));
        }
        Some(text) => match flag("tick", units::duration(text))? {
            Duration::ZERO => return Err(Failure::flag("tick", "a tick must be above 0")),
            tick => tick,
        },
    };
    if name != TimingName::Asynchronous
        && timeout.as_micros().div_ceil(tick.as_micros()) > MOST_TICKS
    {
        let message = format!(
            "T is more than {MOST_TICKS} ticks of {}; give a larger one, or rounder spans",
            units::show(tick)
        );
        return Err(Failure::flag("tick", message));
    }
    Ok(match name {
        TimingName::Asynchronous => Timing::Asynchronous,
        TimingName::Synchronous => Timing::synchronous(tick),
        TimingName::Bounded => {
            let least = low.as_micros() / tick.as_micros();
            let most = high.as_micros().div_ceil(tick.as_micros());
            let ticks = |count: u128| Ticks::try_from(count).map_err(|_| too_fine("delay", tick));
            Timing::Bounded { tick, delay: (ticks(least)?, ticks(most)?) }
        }
        TimingName::Drifting => {
            let apart = args.apart.unwrap_or(1);
            if apart == 0 {
                return Err(Failure::flag(
                    "apart",
                    "clocks that are never apart could not go on; give at least 1",
                ));
            }
            let apart = Ticks::try_from(apart).map_err(|_| {
                Failure::flag("apart", format!("{apart} are too many; at most {}", Ticks::MAX))
            })?;
            Timing::Drifting { tick, apart }
        }
    })
}

/// When clocks stop.
pub(crate) fn horizon(
    algorithm: &Listed,
    args: &CheckArgs,
    timing: Timing,
) -> Result<Option<Ticks>, Failure> {
    if !algorithm.reads_clock {
        return Ok(None);
    }
    let Some(text) = &args.until else { return Ok(Some(HORIZON)) };
    let tick = timing.tick().unwrap_or(HOP);
    let span = flag("until", units::duration(text))?;
    match Ticks::try_from(span.as_micros() / tick.as_micros().max(1)) {
        Ok(0) => {
            let message = format!(
                "{text} is less than a tick, which is {}; give more, or a smaller --tick",
                units::show(tick)
            );
            Err(Failure::flag("until", message))
        }
        Ok(ticks) => Ok(Some(ticks)),
        Err(_) => Err(too_fine("until", tick)),
    }
}

fn too_fine(name: &str, tick: Duration) -> Failure {
    let message = format!(
        "that is more than {} ticks of {}; give less, or a larger --tick",
        Ticks::MAX,
        units::show(tick)
    );
    Failure::flag(name, message)
}

/// The largest span that measures both: their greatest common divisor.
fn measure(a: Duration, b: Duration) -> Duration {
    let (mut a, mut b) = (a.as_micros() as u64, b.as_micros() as u64);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    Duration::from_micros(a)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_measures_delays_and_time_outs() {
        let ms = Duration::from_millis;
        assert_eq!(measure(ms(60), ms(20)), ms(20));
        assert_eq!(measure(ms(45), ms(10)), ms(5));
        assert_eq!(measure(ms(30), Duration::ZERO), ms(30));
    }
}
