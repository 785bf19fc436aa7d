//! How durations, ids and latencies are written, on the command line and in scenarios.
//!
//! Every parser says what it got, and what it would have liked.

use crate::fault::CutKind;
use crate::network::Latency;
pub use bellwether_algorithms::options::{duration, id, ids, member, show};
use bellwether_core::{Group, NodeId, Time, micros};
use std::time::Duration;

/// A point in virtual time, written as the duration since the beginning.
pub fn time(text: &str) -> Result<Time, String> {
    duration(text).map(|span| Time::ZERO + span)
}

/// `10ms`, `5ms..20ms`, `exp:10ms`, `lognormal:10ms,0.5`.
pub fn latency(text: &str) -> Result<Latency, String> {
    if let Some(mean) = text.strip_prefix("exp:") {
        return duration(mean).map(Latency::Exponential);
    }
    if let Some(rest) = text.strip_prefix("lognormal:") {
        let (median, sigma) = rest
            .split_once(',')
            .ok_or_else(|| format!("'{text}' needs a median and a sigma: lognormal:10ms,0.5"))?;
        return match sigma.parse::<f64>() {
            Ok(sigma) if (0.0..=3.0).contains(&sigma) => {
                Ok(Latency::LogNormal(duration(median)?, sigma))
            }
            _ => Err(format!("sigma '{sigma}' is not a number from 0 to 3")),
        };
    }
    if text.contains("..") {
        return span(text).map(|(low, high)| Latency::Uniform(low, high));
    }
    match text.split_once(':') {
        Some((other, _)) => Err(format!(
            "'{other}' is no latency distribution; expected 10ms, 5ms..20ms, exp:10ms or \
             lognormal:10ms,0.5"
        )),
        None => duration(text).map(Latency::Fixed),
    }
}

/// A span that is fixed, `5ms`, or drawn each time, `1ms..9ms`: from and to.
pub fn span(text: &str) -> Result<(Duration, Duration), String> {
    let Some((low, high)) = text.split_once("..") else {
        return duration(text).map(|span| (span, span));
    };
    let (low, high) = (duration(low)?, duration(high)?);
    if low > high {
        return Err(format!("'{text}' runs backwards; write {}..{}", show(high), show(low)));
    }
    Ok((low, high))
}

/// A span in the words of [`span`].
pub fn show_span((low, high): (Duration, Duration)) -> String {
    if low == high { show(low) } else { format!("{}..{}", show(low), show(high)) }
}

/// A latency in the words of [`latency`].
pub fn show_latency(latency: &Latency) -> String {
    match latency {
        Latency::Fixed(span) => show(*span),
        Latency::Uniform(low, high) => format!("{}..{}", show(*low), show(*high)),
        Latency::Exponential(mean) => format!("exp:{}", show(*mean)),
        Latency::LogNormal(median, sigma) => format!("lognormal:{},{sigma}", show(*median)),
    }
}

/// How far a clock is off, in microseconds: `+200ms`, `-5s`.
pub fn offset(text: &str) -> Result<i64, String> {
    let (sign, span) = match text.strip_prefix('-') {
        Some(span) => (-1, span),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let span = duration(span).map_err(|message| format!("{message} (with + or -)"))?;
    Ok(sign * micros(span) as i64)
}

/// How much a clock gains, in parts per million: `50ppm`, `-200ppm`.
pub fn drift(text: &str) -> Result<i64, String> {
    let number = text.strip_suffix("ppm").and_then(|number| number.parse::<i64>().ok());
    match number {
        Some(ppm) if ppm.abs() < 1_000_000 => Ok(ppm),
        _ => Err(format!("'{text}' is no drift; expected for example 50ppm or -200ppm")),
    }
}

/// A probability from 0 to 1.
pub fn probability(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=1.0).contains(&value) => Ok(value),
        _ => Err(format!("'{text}' is not a probability from 0 to 1")),
    }
}

/// `1,2|3,4,5`: the sides of a partition; members on no side form one more.
pub fn partition(text: &str, group: &Group) -> Result<CutKind, String> {
    let sides: Vec<Vec<NodeId>> =
        text.split('|').map(|side| members(side, group)).collect::<Result<_, _>>()?;
    let mut all: Vec<NodeId> = sides.concat();
    all.sort_unstable();
    if let Some(twice) = all.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("process {} is on two sides of the partition", twice[0].number()));
    }
    if sides.len() == 1 && all.len() == group.len() {
        return Err(format!("'{text}' has all processes on one side; write for example 1,2|3,4,5"));
    }
    Ok(CutKind::Partition(sides))
}

/// `1,2>3`: the first do not reach the second. `1,2<>3`: nor do the second reach the first.
pub fn cut(text: &str, group: &Group) -> Result<CutKind, String> {
    if let Some((these, those)) = text.split_once("<>") {
        return Ok(CutKind::Between(members(these, group)?, members(those, group)?));
    }
    let (from, to) = text
        .split_once('>')
        .ok_or_else(|| format!("'{text}' is no cut; write for example 1,2>3, or 1<>2 both ways"))?;
    Ok(CutKind::OneWay(members(from, group)?, members(to, group)?))
}

fn members(text: &str, group: &Group) -> Result<Vec<NodeId>, String> {
    text.split(',').map(|text| member(text.trim(), group)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn durations_are_read_with_their_units() {
        assert_eq!(duration("10ms"), Ok(10 * MS));
        assert_eq!(duration("1.5s"), Ok(1_500 * MS));
        assert_eq!(duration("0.25ms"), Ok(Duration::from_micros(250)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(duration("0"), Ok(Duration::ZERO));
        for wrong in ["", "10", "ms", "-5ms", "1.ms", ".5ms", "1..2ms", "10 ms", "10lightyears"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
        assert!(duration("10").unwrap_err().contains("no unit"));
        assert!(duration("99999999999999999999s").is_err());
        assert!(duration("9999999s").is_ok() && duration("99999999s").is_err());
    }

    #[test]
    fn what_is_shown_can_be_read_again() {
        for text in ["10ms", "5ms..20ms", "exp:10ms", "lognormal:10ms,0.5", "0.25ms"] {
            assert_eq!(show_latency(&latency(text).unwrap()), text);
        }
        assert!(latency("20ms..5ms").unwrap_err().contains("5ms..20ms"));
        assert!(latency("pareto:10ms").unwrap_err().contains("lognormal"));
    }

    #[test]
    fn ids_are_ranges_or_lists() {
        assert_eq!(ids("1..3").unwrap().len(), 3);
        assert_eq!(ids("3,5,0").unwrap()[1], NodeId::new(5));
        assert!(ids("4..1").unwrap_err().contains("1..4"));
        assert!(ids("0..4000000000").unwrap_err().contains("more than"));
        assert!(ids("1,x").unwrap_err().contains("'x'"));
    }

    #[test]
    fn partitions_name_members_once() {
        let group = Group::numbered(5).unwrap();
        assert!(partition("1,2|3,4,5", &group).is_ok());
        assert!(partition("5", &group).is_ok());
        assert!(partition("1,2|2,3", &group).unwrap_err().contains("two sides"));
        assert!(partition("1,9", &group).unwrap_err().contains("no process 9"));
        assert!(partition("1,2,3,4,5", &group).unwrap_err().contains("one side"));
        assert!(matches!(cut("1>2", &group), Ok(CutKind::OneWay(..))));
        assert!(matches!(cut("1,3<>2", &group), Ok(CutKind::Between(..))));
        assert!(cut("1-2", &group).unwrap_err().contains("1<>2"));
    }
}
