use super::*;
use crate::agreement::reliable;
use crate::referee::Referee;
use bellwether_core::Time;
use std::time::Duration;

fn p(number: u32) -> NodeId {
    NodeId::new(number)
}

fn settings(options: &[(&str, &str)]) -> Settings {
    let mut settings = Settings::new(Duration::from_millis(30));
    for (name, value) in options {
        settings.options.set(name, value);
    }
    settings
}

type A = Reliable<Courier>;

#[test]
fn verbs_are_words_with_parts() {
    for word in ["work", "send:3"] {
        let input = A::input(word).unwrap();
        assert_eq!(A::verb(&input), word);
        assert!(A::definition().is_work(&input));
    }
    for word in ["send", "send:", "send:x", "send:-1", "mail:3"] {
        assert_eq!(A::input(word), None, "{word}");
    }
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let group = Group::numbered(3).unwrap();
    let check = |name: &'static str, value| A::check(&settings(&[(name, value)]), &group);
    for (name, value) in [("window", "0"), ("window", "2000"), ("window", "x"), ("tries", "0")] {
        assert_eq!(check(name, value).unwrap_err().option, name);
        let config = A::config(&settings(&[(name, value)]), &group);
        assert_eq!((config.window, config.tries), (WINDOW, TRIES));
    }
    assert_eq!(check("tries", "3"), Ok(()));
    assert!(A::config(&settings(&[("bare", "")]), &group).bare);
}

/// Tells a postmaster what was said, and returns the name of what it finds broken.
fn judge(said: &[(u32, reliable::Output<Output>)]) -> Result<(), &'static str> {
    let config = A::config(&settings(&[]), &Group::numbered(3).unwrap());
    let mut judge = Postmaster::new(&config);
    for (who, output) in said {
        judge.hears(Time::ZERO, p(*who), output).map_err(|breach| breach.name)?;
    }
    judge.closes(Time::ZERO, &[]).map_err(|breach| breach.name)
}

fn wrote(number: u64) -> (u32, reliable::Output<Output>) {
    (1, reliable::Output::Process(Output::Wrote { to: p(2), number }))
}

fn got(number: u64) -> (u32, reliable::Output<Output>) {
    (2, reliable::Output::Process(Output::Got { from: p(1), number }))
}

#[test]
fn the_postmaster_finds_what_is_lost_doubled_or_out_of_order() {
    assert_eq!(judge(&[wrote(1), wrote(2), got(1), got(2)]), Ok(()));
    assert_eq!(judge(&[wrote(1), wrote(2), got(1)]), Err("delivery"));
    assert_eq!(judge(&[wrote(1), wrote(2), got(2), got(1)]), Err("order"));
    assert_eq!(judge(&[wrote(1), got(1), got(1)]), Err("once"));
    let down = (1, reliable::Output::Down { peer: p(2), dropped: 1 });
    assert_eq!(judge(&[wrote(1), down]), Err("down"));
}

#[test]
fn a_crash_excuses_what_was_under_way() {
    let config = A::config(&settings(&[]), &Group::numbered(3).unwrap());
    let mut judge = Postmaster::new(&config);
    let hear = |judge: &mut Postmaster, (who, output): (u32, reliable::Output<Output>)| {
        judge.hears(Time::ZERO, p(who), &output).map_err(|breach| breach.name)
    };
    hear(&mut judge, wrote(1)).unwrap();
    hear(&mut judge, got(1)).unwrap();
    hear(&mut judge, wrote(2)).unwrap();
    judge.crashed(Time::ZERO, p(2));
    assert_eq!(judge.closes(Time::ZERO, &[]), Ok(()));
    hear(&mut judge, (1, reliable::Output::Down { peer: p(2), dropped: 1 })).unwrap();
    hear(&mut judge, (2, reliable::Output::Back)).unwrap();
    // The next life may get what the former had got, and must get what is written now.
    hear(&mut judge, got(1)).unwrap();
    hear(&mut judge, wrote(3)).unwrap();
    assert!(judge.closes(Time::ZERO, &[]).is_err());
    hear(&mut judge, got(3)).unwrap();
    assert_eq!(judge.closes(Time::ZERO, &[]), Ok(()));
    assert_eq!(hear(&mut judge, got(3)), Err("once"));
}
