//! An erased definition and its processes are the typed ones in all that a driver can ask.

use crate::run::{Run, group, settings, spell_out};
use bellwether_algorithms::agreement::{Byzantine, Courier, Reliable};
use bellwether_algorithms::deadlock::{EdgeChasing, Site};
use bellwether_algorithms::definition::{About, Algorithm, Definition};
use bellwether_algorithms::election::{Bully, Watched};
use bellwether_algorithms::mutex::{Guarded, Raymond};
use bellwether_algorithms::order::Sequencer;
use bellwether_algorithms::snapshot::{Bank, snapshots};
use bellwether_algorithms::time::Berkeley;
use bellwether_core::{
    AnyProcess, Cluster, Coder, Erasable, InFlight, Invariant, NodeId, Process, Shape, Time,
};
use std::fmt::Debug;
use std::sync::Arc;

/// Encodes a value, and checks that the bytes mean it.
fn travel<T: Debug>(coder: &Coder<T>, value: &T) -> Vec<u8> {
    let bytes = coder.encode(value);
    let decoded = coder.decode(&bytes).unwrap();
    assert_eq!(format!("{decoded:?}"), format!("{value:?}"));
    let too_many = [&bytes[..], &[0]].concat();
    assert!(coder.decode(&too_many).is_err(), "{value:?} and a byte more");
    bytes
}

/// What a definition says before anything runs.
fn facts<P: Process>(definition: &Definition<P>) -> Vec<String> {
    let group = group(definition);
    let usual = settings(&group);
    let config = definition.config(&usual, &group);
    let About { entry, drift_ppm, reads_clock, nodes, options, verbs, kinds, .. } =
        &definition.about;
    let mut facts = vec![
        format!("{entry:?} {drift_ppm} {reads_clock} {nodes:?} {options:?} {verbs:?} {kinds:?}"),
        format!("{config:?} {:?}", definition.settling_time(&config, &group, 3)),
        format!("{:?} {:?}", definition.duration(&config), definition.quantity(&config, &group)),
        format!("{} {} {:?}", definition.has_section(), definition.blank(), definition.goal),
        format!("{:?}", definition.goal.as_ref().map(|goal| goal.at_rest)),
        format!("{:?}", definition.invariants),
    ];
    for option in *options {
        let mut settings = usual.clone();
        settings.options.set(option.name, "nonsense");
        facts.push(format!("{:?}", definition.check(&settings, &group)));
        facts.push(format!("{:?}", definition.config(&settings, &group)));
    }
    for verb in *verbs {
        let input = definition.input(&spell_out(verb)).unwrap();
        let written = definition.verb(&input);
        let again = definition.input(&written).unwrap();
        assert_eq!(definition.verb(&again), written);
        let bytes = travel(&definition.codec.input, &input);
        facts.push(format!("{written} {input:?} {} {bytes:?}", definition.is_work(&input)));
    }
    assert!(definition.input("juggle").is_none());
    facts
}

/// What an invariant makes of the processes of a run.
fn verdict<P: Process>(invariant: &Invariant<P>, run: &Run<'_, P>) -> String {
    let (ring, now) = (run.group.ring(), run.now(0));
    let live: Vec<(NodeId, &P)> = ring.iter().copied().zip(&run.processes).collect();
    let each = live.iter().copied();
    match &invariant.shape {
        Shape::Each(holds) => {
            format!("{:?}", each.map(|(id, process)| holds(id, process)).collect::<Vec<_>>())
        }
        Shape::AtMostOne(key) => {
            format!("{:?}", each.map(|(id, process)| key(id, process)).collect::<Vec<_>>())
        }
        Shape::AtMostOneNow(key) => {
            format!("{:?}", each.map(|(id, process)| key(id, process, now)).collect::<Vec<_>>())
        }
        Shape::Fenced(key) => {
            format!("{:?}", each.map(|(id, process)| key(id, process, now)).collect::<Vec<_>>())
        }
        Shape::Whole(holds) => {
            let sent = run.world.sent.iter();
            let in_flight: Vec<_> =
                sent.map(|(from, to, msg)| InFlight { from: ring[*from], to: *to, msg }).collect();
            holds(&Cluster { live: &live, in_flight: &in_flight }).to_string()
        }
    }
}

/// All that can be seen of a run of the algorithm.
fn story<P: Process>(definition: &Definition<P>) -> Vec<String> {
    let mut story = facts(definition);
    let run = Run::new(definition, |step, place| Time::from_micros(step * (900 + place as u64)));
    let mut referee = definition.new_referee(&run.config, &run.group);
    let (milestone, clock) = (definition.milestone_reader(), definition.clock_reader());
    let mut heard = 0;
    run.play(|run, place| {
        let Run { definition, group, processes, world, .. } = run;
        let (process, now) = (&processes[place], run.now(place));
        let durable = process.durable();
        story.push(format!("{process:?} {durable:?} {:?}", world.timers));
        story.push(format!("{:?}", travel(&definition.codec.durable, &durable)));
        if let Some((_, timer)) = world.timers.back() {
            story.push(format!("{:?}", travel(&definition.codec.timer, timer)));
        }
        for (from, to, msg) in world.sent.iter().filter(|(from, ..)| *from == place) {
            let bytes = travel(&definition.codec.msg, msg);
            story.push(format!("{from} {to} {msg} {bytes:?} {}", definition.carried_by(msg)));
        }
        for (who, output) in &world.said[heard..] {
            let means = milestone.as_ref().and_then(|milestone| milestone(output));
            let judged = referee.as_mut().map(|r| r.hears(now, group.ring()[*who], output));
            story.push(format!("{output} {output:?} {means:?} {judged:?}"));
        }
        heard = world.said.len();
        let (coordinator, members) =
            (definition.coordinator_of(process), definition.members_of(process));
        let (section, held) = (definition.section_of(process), definition.held_by(process));
        let (shown, note) = (clock(process, now), definition.note_of(process));
        story.push(format!("{coordinator:?} {members:?} {section:?} {held:?} {shown:?} {note}"));
        if run.has_begun() {
            let live = group.ring().iter().copied().zip(processes);
            story.push(definition.agreed(live).to_string());
            story.extend(definition.invariants.iter().map(|invariant| verdict(invariant, run)));
        }
    });
    if let Some(mut referee) = referee {
        let closed = referee.closes(Time::from_micros(1), &[NodeId::new(1)]);
        let (every, claims) = (referee.looks_every(), referee.claims());
        story.push(format!("{closed:?} {every:?} {claims:?} {:?}", referee.facts()));
        story.push(format!("{:?}", referee.pictures()));
    }
    story
}

fn same<P: Erasable>(definition: impl Fn() -> Definition<P>) {
    assert_eq!(definition().erase().assumes, P::ASSUMES);
    let (typed, erased) = (story(&definition()), story(&definition().erase()));
    for (typed, erased) in typed.iter().zip(&erased) {
        assert_eq!(typed, erased);
    }
    assert_eq!(typed.len(), erased.len());
}

#[test]
fn an_erased_algorithm_does_and_says_what_the_typed_one_does() {
    same(Watched::<Bully>::definition);
    same(Guarded::<Raymond>::definition);
    same(Berkeley::definition);
    same(Sequencer::definition);
    same(Site::<EdgeChasing>::definition);
    same(Reliable::<Courier>::definition);
    same(Byzantine::definition);
    same(Bank::definition);
}

/// What is broken for typed processes is broken for erased ones.
#[test]
fn an_erased_invariant_is_violated_where_the_typed_one_is() {
    let definition = || {
        let account = |id: NodeId, bank: &Bank| (bank.balance() > 90).then_some(id.number() / 3);
        Bank::definition()
            .invariant(Invariant::each("rich", "has 100", |_, bank: &Bank| bank.balance() >= 100))
            .invariants(vec![
                Invariant::at_most_one("one", "one is rich", move |id, bank| {
                    account(id, bank).map(u64::from)
                }),
                Invariant::at_most_one_now("now", "one is rich now", move |id, bank, _| {
                    account(id, bank).map(u64::from)
                }),
                Invariant::fenced("fence", "riches grow", |_, bank: &Bank, now| {
                    Some(u128::from(bank.balance()) + now.since(Time::ZERO).as_micros())
                })
                .until_recovery(),
                Invariant::whole("sum", "no money is lost", |cluster: &Cluster<'_, Bank>| {
                    let held: u64 = cluster.live.iter().map(|(_, bank)| bank.balance()).sum();
                    let sent: u64 = cluster.in_flight.iter().map(|sent| sent.msg.0).sum();
                    held + sent == 400
                }),
                Invariant::whole("quiet", "no money is on the way", |cluster| {
                    cluster.in_flight.is_empty()
                }),
            ])
    };
    same(definition);
    let erased = definition().erase();
    // Whether each was seen broken, and seen to hold.
    let mut seen = vec![[false; 2]; erased.invariants.len()];
    Run::new(&erased, |step, _| Time::from_micros(step)).play(|run, _| {
        for (invariant, seen) in erased.invariants.iter().zip(&mut seen) {
            if run.has_begun() {
                seen[usize::from(!verdict(invariant, run).contains("false"))] = true;
            }
        }
    });
    let [rich, .., sum, quiet] = &seen[..] else { panic!("{seen:?}") };
    assert_eq!((rich, sum, quiet), (&[true, true], &[false, true], &[true, true]));
}

#[test]
fn snapshots_of_an_erased_algorithm_are_those_of_the_typed_one() {
    fn said<P: Process>(definition: &Definition<P>) -> Vec<String> {
        let run = Run::new(definition, |step, _| Time::from_micros(step)).play(|_, _| {});
        run.world.said.iter().map(|(who, output)| format!("{who} {output}")).collect()
    }
    let typed = said(&snapshots(Arc::new(Bank::definition())));
    assert!(typed.iter().any(|line| line.contains("records its state")), "{typed:?}");
    assert_eq!(typed, said(&snapshots(Arc::new(Bank::definition().erase()))));
    assert_eq!(typed, said(&snapshots(Arc::new(Bank::definition())).erase()));
}

/// No driver mixes algorithms; if one did, nothing would happen.
#[test]
fn of_values_of_another_algorithm_there_is_nothing_to_say() {
    let (bank, bully) = (Bank::definition().erase(), Watched::<Bully>::definition().erase());
    let process = AnyProcess::new(Watched::<Bully>::default());
    assert_eq!(bank.held_by(&process), None);
    assert_eq!(bank.note_of(&process), "");
    let input = bully.input("suspect").unwrap();
    assert_eq!(bank.verb(&input), "");
    assert!(!bank.is_work(&input));
    assert!(bank.codec.input.decode(&bank.codec.input.encode(&input)).is_err());
    let group = group(&bank);
    let config = bully.config(&settings(&group), &group);
    assert_eq!(bank.quantity(&config, &group), None);
    assert!(bank.new_referee(&config, &group).is_none());
}
