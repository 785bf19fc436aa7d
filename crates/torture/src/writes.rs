//! What a member says of its writes to disk: whether a limit on them was felt.

use bellwether_ops::cluster::{Address, Link};
use std::time::Duration;

/// A member on a slow disk answers late.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

/// The writes of a member since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Writes {
    count: f64,
    seconds: f64,
}

impl Writes {
    /// Asks a member.
    pub(super) async fn of(at: &Address) -> Option<Writes> {
        let text = Link::new(at.clone()).get_text("/metrics", ANSWERS_WITHIN).await?;
        Some(Writes::read(&String::from_utf8_lossy(&text)))
    }

    fn read(metrics: &str) -> Writes {
        Writes {
            count: sum(metrics, "bellwether_durable_writes_total"),
            seconds: sum(metrics, "bellwether_durable_write_seconds_total"),
        }
    }

    /// How many writes there were since `before`, if it was a limit of this rate that they waited for:
    /// then they took at least half of its interval on average.
    pub(super) fn held_back(self, before: Writes, per_second: u32) -> u64 {
        // A member that has started since counts from 0.
        let before = if self.count < before.count { Writes::default() } else { before };
        let (count, seconds) = (self.count - before.count, self.seconds - before.seconds);
        let felt = count > 0.0 && seconds / count >= 0.5 / f64::from(per_second);
        if felt { count as u64 } else { 0 }
    }
}

/// The sum of a metric over its labels.
pub(super) fn sum(metrics: &str, name: &str) -> f64 {
    let of = |line: &str| {
        let rest = line.strip_prefix(name).filter(|rest| rest.starts_with(['{', ' ']))?;
        rest.rsplit(' ').next()?.parse::<f64>().ok()
    };
    metrics.lines().filter_map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_felt_if_writes_take_as_long_as_it_makes_them() {
        let at = |count: u32, seconds: f64| {
            Writes::read(&format!(
                "bellwether_durable_writes_total {count}\n\
                 bellwether_durable_write_seconds_total {seconds}\n"
            ))
        };
        // 20 in a second are 50 ms each.
        let before = at(1_000, 2.0);
        assert_eq!(at(1_040, 4.0).held_back(before, 20), 40);
        assert_eq!(at(1_040, 2.04).held_back(before, 20), 0, "1 ms each");
        assert_eq!(before.held_back(before, 20), 0, "no writes");
        assert_eq!(at(10, 1.0).held_back(before, 20), 10, "a restart in between");
    }
}
