//! The corrected clock, over many readings and corrections.

use super::*;

const SECOND_US: u64 = 1_000_000;

fn at(us: u64) -> Time {
    Time::from_micros(us)
}

/// A small generator, the same everywhere.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

#[test]
fn at_five_per_cent_200_ms_take_4_s() {
    let start = at(100 * SECOND_US);
    for sign in [1, -1] {
        let mut clock = Slewed::default();
        let by = Offset::from_micros(sign * 200_000);
        clock.correct(start, by, Ppm::new(50_000));
        assert_eq!(clock.shown(start), start, "nothing happens at a stroke");
        assert_eq!(clock.due(start), by.after(start));
        assert_eq!(clock.takes(start), Duration::from_secs(4));
        let half = start + Duration::from_secs(2);
        assert_eq!(clock.left(half), Offset::from_micros(sign * 100_000));
        let end = start + Duration::from_secs(4);
        assert_eq!(clock.shown(end), by.after(end));
        assert_eq!(clock.takes(end), Duration::ZERO);
        let later = end + Duration::from_secs(60);
        assert_eq!(clock.shown(later), by.after(later), "and it stays so");
    }
}

#[test]
fn a_new_correction_takes_the_place_of_what_is_left() {
    let start = at(SECOND_US);
    let mut clock = Slewed::default();
    clock.correct(start, Offset::from_micros(100_000), Ppm::new(50_000));
    let then = start + Duration::from_secs(1);
    let (shown, due) = (clock.shown(then), clock.due(then));
    assert_eq!(Offset::between(shown, then), Offset::from_micros(50_000));
    clock.correct(then, Offset::from_micros(-80_000), Ppm::new(50_000));
    assert_eq!(clock.shown(then), shown, "no jump");
    assert_eq!(clock.due(then), Offset::from_micros(-80_000).after(due));
    assert_eq!(clock.left(then), Offset::from_micros(-30_000), "50 ms were left of the old one");
    assert_eq!(clock.correction(), Offset::from_micros(20_000));
}

/// Random corrections at random times, read at every kind of step.
#[test]
fn it_never_goes_back_nor_leaves_its_rate() {
    let mut dice = Dice(5);
    let (mut backward, mut read) = (0, 0);
    for _ in 0..300 {
        let rate = Ppm::new(1 + dice.below(500_000) as u32);
        let mut clock = Slewed::default();
        let mut now = 1_000 * SECOND_US;
        let mut last = clock.shown(at(now));
        for _ in 0..200 {
            if dice.below(10) == 0 {
                let span = [10, 1_000, 1_000_000, 100_000_000][dice.below(4) as usize];
                let by = Offset::from_micros(dice.below(2 * span) as i64 - span as i64);
                backward += u32::from(by < Offset::ZERO);
                clock.correct(at(now), by, rate);
                assert_eq!(clock.shown(at(now)), last, "a correction moves nothing at once");
            }
            let most = [1, 3, 100, 5_000_000][dice.below(4) as usize];
            let step = 1 + dice.below(most);
            now += step;
            let shown = clock.shown(at(now));
            assert!(shown >= last, "it went back");
            let went = Offset::between(shown, last).as_micros() - step as i64;
            let most = rate.of(Duration::from_micros(step)).as_micros() as u64;
            assert!(went.unsigned_abs() <= most, "{went} in {step} at {rate}");
            if step > 1 {
                assert!(shown > last, "it stood still for {step}");
            }
            last = shown;
            read += 1;
        }
        let takes = clock.takes(at(now));
        let end = at(now) + takes;
        assert_eq!(clock.left(end), Offset::ZERO);
        assert_eq!(clock.shown(end), clock.due(end));
    }
    assert!(backward > 1_000 && read == 60_000);
}

/// A clock slows down to half its rate at most, so of two ticks one is shown.
#[test]
fn it_stands_still_for_one_tick_at_most() {
    for parts in [1, 999, 50_000, 333_333, 499_999, 500_000, 999_999, u32::MAX] {
        let mut clock = Slewed::default();
        clock.correct(at(7), Offset::from_micros(-4_000), Ppm::new(parts));
        for now in 7..20_000 {
            assert!(clock.shown(at(now + 1)) >= clock.shown(at(now)));
            assert!(clock.shown(at(now + 2)) > clock.shown(at(now)), "{parts} at {now}");
        }
    }
}

#[test]
fn it_reaches_no_end_of_numbers() {
    let far = Offset::between(Time::MAX, Time::ZERO);
    for by in [far, -far] {
        let mut clock = Slewed::default();
        clock.correct(Time::ZERO, by, Ppm::new(50_000));
        clock.correct(Time::MAX, by, Ppm::new(50_000));
        for reading in [Time::ZERO, at(1), Time::MAX] {
            clock.shown(reading);
            clock.due(reading);
            clock.takes(reading);
        }
    }
}

#[test]
fn rates_are_read_as_they_are_shown() {
    for (text, parts) in [("5%", 50_000), ("0.05%", 500), ("100ppm", 100), ("12.3456%", 123_456)] {
        assert_eq!(Ppm::parse(text), Ok(Ppm::new(parts)));
        let shown = Ppm::new(parts).to_string();
        assert_eq!(Ppm::parse(&shown), Ok(Ppm::new(parts)), "{shown}");
    }
    for text in ["", "5", "%", "5.%", ".%", "-1%", "+5%", "1.23456%", "9999999%", "ppm", "-3ppm"] {
        assert!(Ppm::parse(text).unwrap_err().contains("5% or 100ppm"), "{text}");
    }
    assert_eq!(Ppm::new(100).of(Duration::from_secs(10)), Duration::from_millis(1));
    assert_eq!(Ppm::new(1).of(Duration::from_micros(1)), Duration::from_micros(1), "rounded up");
}
