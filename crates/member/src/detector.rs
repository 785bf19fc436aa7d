//! When a coordinator has been silent for too long.
//!
//! Heartbeats come at a known pace, but a busy network or machine delays them. The detector learns
//! from the arrival times how uneven they are, and waits as long as that asks for, between a floor
//! and a ceiling: the ceiling leaves time for an election before the lease runs out.
//!
//! # Rules
//! * D1 The time-out is the average interval, four times its average deviation and one heartbeat
//!   more (after Jacobson 1988, who timed retransmissions so), kept between floor and ceiling.
//! * D2 A broken or refused connection is a hint, never proof: one and a half heartbeats later,
//!   without a heartbeat, the coordinator is suspected.
//! * D3 Who finds itself late has been standing still, and does not blame others for it: it waits
//!   one more heartbeat.

use crate::config::Config;
use bellwether_core::{Time, micros};
use std::time::Duration;

/// The watch over one coordinator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Detector {
    /// The last sign of life.
    heard: Option<Time>,
    /// Running averages of the interval and of its deviation.
    mean_us: u64,
    deviation_us: u64,
    /// When the patience ends.
    due: Time,
    /// Whether the connection broke since the last sign of life.
    broken: bool,
}

/// What to do when the patience has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Wait this much longer.
    Wait(Duration),
    /// Suspect: silent for this long, and whether the connection broke.
    Suspect(Duration, bool),
}

impl Detector {
    /// Watches another coordinator from now on.
    pub fn turn(&mut self) {
        *self = Detector::default();
    }

    /// D1: a sign of life. How long to wait for the next.
    pub fn hear(&mut self, now: Time, config: &Config) -> Duration {
        let pace = micros(config.log.leases.heartbeat);
        match self.heard {
            None => (self.mean_us, self.deviation_us) = (pace, pace / 4),
            Some(before) => {
                let interval = micros(now.since(before));
                self.deviation_us = (3 * self.deviation_us + interval.abs_diff(self.mean_us)) / 4;
                self.mean_us = (7 * self.mean_us + interval) / 8;
            }
        }
        self.heard = Some(now);
        self.broken = false;
        let wanted = self.mean_us + 4 * self.deviation_us + pace;
        let (floor, ceiling) = config.suspect_after;
        self.wait(now, Duration::from_micros(wanted).max(floor).min(ceiling))
    }

    /// D2: the connection broke. How long to wait now.
    pub fn hint(&mut self, now: Time, config: &Config) -> Duration {
        self.broken = true;
        let left = self.due.since(now);
        self.wait(now, left.min(config.log.leases.heartbeat * 3 / 2))
    }

    /// The patience seems to have ended.
    pub fn judge(&mut self, now: Time, config: &Config) -> Verdict {
        if now < self.due {
            return Verdict::Wait(self.due.since(now));
        }
        // D3.
        if now.since(self.due) > config.log.leases.heartbeat / 2 {
            return Verdict::Wait(self.wait(now, config.log.leases.heartbeat));
        }
        let silent = self.heard.map_or(Duration::ZERO, |heard| now.since(heard));
        Verdict::Suspect(silent, self.broken)
    }

    fn wait(&mut self, now: Time, span: Duration) -> Duration {
        self.due = now + span;
        span
    }

    /// The last sign of life.
    pub fn heard(&self) -> Option<Time> {
        self.heard
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::config;

    fn at(ms: u64) -> Time {
        Time::from_micros(ms * 1_000)
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Heartbeats of 100 ms, at least 300 and at most 400 ms.
    fn steady(beats: u64) -> (Detector, Duration) {
        let mut detector = Detector::default();
        let mut wait = Duration::ZERO;
        for beat in 0..beats {
            wait = detector.hear(at(beat * 100), &config());
        }
        (detector, wait)
    }

    #[test]
    fn d1_a_steady_coordinator_is_given_the_floor() {
        assert_eq!(steady(50).1, ms(300));
    }

    #[test]
    fn d1_an_uneven_one_is_given_more_but_not_more_than_the_ceiling() {
        let mut detector = Detector::default();
        let mut now = 0;
        let mut wait = Duration::ZERO;
        for beat in 0..50 {
            now += if beat % 2 == 0 { 60 } else { 140 };
            wait = detector.hear(at(now), &config());
        }
        assert!(wait > ms(320) && wait < ms(400), "{wait:?}");
        for _ in 0..10 {
            now += 350;
            detector.hear(at(now), &config());
            now += 20;
            wait = detector.hear(at(now), &config());
        }
        assert_eq!(wait, ms(400));
    }

    #[test]
    fn d1_suspects_after_the_wait() {
        let (mut detector, wait) = steady(10);
        assert_eq!(detector.judge(at(1_100), &config()), Verdict::Wait(ms(100)));
        assert_eq!(detector.judge(at(1_205), &config()), Verdict::Suspect(wait + ms(5), false));
    }

    #[test]
    fn d2_a_hint_shortens_the_wait_and_a_heartbeat_undoes_it() {
        let (mut detector, _) = steady(10);
        assert_eq!(detector.hint(at(910), &config()), ms(150));
        assert_eq!(detector.judge(at(1_060), &config()), Verdict::Suspect(ms(160), true));
        assert_eq!(detector.hear(at(1_000), &config()), ms(300));
        assert!(matches!(detector.judge(at(1_300), &config()), Verdict::Suspect(_, false)));
        let (mut late, _) = steady(10);
        assert_eq!(late.hint(at(1_150), &config()), ms(50), "never longer than before");
    }

    #[test]
    fn d3_who_was_standing_still_waits_once_more() {
        let (mut detector, _) = steady(10);
        assert_eq!(detector.judge(at(9_000), &config()), Verdict::Wait(ms(100)));
        assert!(matches!(detector.judge(at(9_101), &config()), Verdict::Suspect(..)));
    }
}
