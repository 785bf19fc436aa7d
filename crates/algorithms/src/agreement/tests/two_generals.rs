use super::*;
use crate::referee::Referee;
use bellwether_core::{Effect, step};

fn group() -> Group {
    Group::numbered(2).unwrap()
}

fn config(confirmations: u32) -> Config {
    Config { confirmations, timeout: Duration::from_millis(30) }
}

fn settings(confirmations: &str) -> Settings {
    let mut settings = Settings::new(Duration::from_millis(30));
    settings.options.set("confirmations", confirmations);
    settings
}

/// Lets messengers go to and fro; those whose bit is set are lost. Returns what each general does,
/// and how many messengers left.
fn night(confirmations: u32, lost: u64) -> ([bool; 2], u32) {
    let (group, config) = (group(), config(confirmations));
    let mut generals = [TwoGenerals::default(), TwoGenerals::default()];
    for (place, general) in generals.iter_mut().enumerate() {
        step(&group, place, &config, |cx| general.on_start(None, cx));
    }
    let sends = |effects: Vec<Effect<TwoGenerals>>| {
        effects.into_iter().find_map(|effect| match effect {
            Effect::Send(to, msg) => Some((to, msg)),
            _ => None,
        })
    };
    let [first, _] = &mut generals;
    let mut under_way = sends(step(&group, 0, &config, |cx| first.on_timer(Timer::Evening, cx)));
    let mut sent = 0;
    while let Some((to, msg)) = under_way.take() {
        sent += 1;
        assert_eq!(msg, Messenger(sent));
        if lost & 1 << (sent - 1) == 0 {
            let place = group.place(to).unwrap();
            let from = group.ring()[1 - place];
            let general = &mut generals[place];
            under_way = sends(step(&group, place, &config, |cx| {
                general.on_message(from, msg, cx);
            }));
        }
    }
    for (place, general) in generals.iter_mut().enumerate() {
        step(&group, place, &config, |cx| general.on_timer(Timer::Dawn, cx));
    }
    (generals.map(|general| general.attacks().unwrap()), sent)
}

/// All ways to lose messengers: exactly those go wrong in which all arrive but the last.
#[test]
fn the_last_messenger_breaks_every_number_of_confirmations() {
    for confirmations in 0..=8 {
        let messengers = confirmations + 1;
        let last = 1 << confirmations;
        let mut broken = Vec::new();
        for lost in 0..1_u64 << messengers {
            let (attacks, sent) = night(confirmations, lost);
            let arrived = lost.trailing_zeros().min(messengers);
            assert_eq!(
                sent,
                (arrived + 1).min(messengers),
                "no general answers a messenger that did not come"
            );
            if attacks[0] != attacks[1] {
                broken.push(lost);
            }
            assert_eq!(attacks == [true, true], lost == 0, "together only if all arrive");
        }
        assert_eq!(broken, [last], "K = {confirmations}");
    }
}

/// Any other rule of this form: each general attacks if at least this many messengers have come to
/// him. The second does not know of a plan before the first has come. Whatever is asked for, if
/// both attack when all messengers arrive, then one attacks alone when some do not.
#[test]
fn no_rule_is_both_safe_and_live() {
    let mut live = 0;
    for messengers in 1..=8_u32 {
        let to_first = messengers / 2;
        let to_second = messengers - to_first;
        for needs_first in 0..=to_first + 1 {
            for needs_second in 1..=to_second + 1 {
                let outcome = |arrived: u32| {
                    let second = arrived.div_ceil(2);
                    let first = arrived / 2;
                    [first >= needs_first, second >= needs_second]
                };
                let is_live = outcome(messengers) == [true, true];
                let is_safe = (0..=messengers).map(outcome).all(|attacks| attacks[0] == attacks[1]);
                assert!(!(is_live && is_safe), "{messengers} {needs_first} {needs_second}");
                live += u32::from(is_live);
            }
        }
    }
    assert!(live > 50, "there are rules that work when nothing is lost: {live}");
}

#[test]
fn g2_answers_only_the_next_messenger_of_the_other() {
    let (group, config) = (group(), config(3));
    let mut second = TwoGenerals::default();
    step(&group, 1, &config, |cx| second.on_start(None, cx));
    let [me, other, stranger] = [2, 1, 9].map(NodeId::new);
    for (from, number) in [(me, 1), (stranger, 1), (other, 0), (other, 2), (other, 3)] {
        let effects = step(&group, 1, &config, |cx| second.on_message(from, Messenger(number), cx));
        assert_eq!(effects, [], "{from} {number}");
    }
    let hears = |general: &mut TwoGenerals, number| {
        step(&group, 1, &config, |cx| general.on_message(other, Messenger(number), cx))
    };
    assert_eq!(hears(&mut second, 1), [Effect::Send(other, Messenger(2))]);
    assert_eq!(hears(&mut second, 1), [], "a messenger that comes twice");
    assert_eq!(hears(&mut second, 5), [], "there are only four");
    assert_eq!(hears(&mut second, 3), [Effect::Send(other, Messenger(4))]);
    assert_eq!(hears(&mut second, u32::MAX), []);
}

#[test]
fn only_two_can_be_generals() {
    let fine = settings("8");
    assert_eq!(TwoGenerals::check(&fine, &group()), Ok(()));
    let BadOption { option, why } =
        TwoGenerals::check(&fine, &Group::numbered(5).unwrap()).unwrap_err();
    assert_eq!((option, why.as_str()), ("nodes", "5 processes, but the generals are two; give 2"));
    for bad in ["-1", "1001", "many"] {
        let refused = TwoGenerals::check(&settings(bad), &group()).unwrap_err();
        assert_eq!(refused.option, "confirmations");
    }
    assert_eq!(TwoGenerals::config(&settings("many"), &group()).confirmations, CONFIRMATIONS);
}

#[test]
fn the_observer_says_what_each_knows() {
    let mut observer = Observer::new(&group());
    let [one, two] = [1, 2].map(NodeId::new);
    let fact = |observer: &Observer, name: &str| {
        let facts = observer.facts();
        facts.into_iter().find(|fact| fact.name == name).unwrap().text
    };
    assert_eq!(fact(&observer, "knowledge"), "P1 knows the plan; P2 knows of no plan");
    observer.hears(bellwether_core::Time::ZERO, one, &Output::Attacks { heard: 2 }).unwrap();
    observer.hears(bellwether_core::Time::ZERO, two, &Output::Stays { heard: 1 }).unwrap();
    assert_eq!(fact(&observer, "knowledge"), "P1 knows that P2 knows the plan; P2 knows the plan");
    assert_eq!(fact(&observer, "attack"), "P1 alone");
    let broken = observer.closes(bellwether_core::Time::ZERO, &[one, two]).unwrap_err();
    assert_eq!((broken.name, broken.by), ("both-or-none", vec![one]));
    observer.hears(bellwether_core::Time::ZERO, two, &Output::Attacks { heard: 9 }).unwrap();
    assert_eq!(fact(&observer, "attack"), "P1 and P2");
    assert!(fact(&observer, "knowledge").ends_with("P2 knows of the plan 9 deep"));
    assert_eq!(observer.closes(bellwether_core::Time::ZERO, &[one, two]), Ok(()));
}
