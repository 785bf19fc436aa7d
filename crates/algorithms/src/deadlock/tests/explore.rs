//! Small groups in every order in which their messages can arrive and their requests be made.

use super::super::{
    Config, Deed, Detector, Distributed, EdgeChasing, Input, Jobs, Judge, Msg, Resource, Site,
};
use super::id;
use bellwether_core::{Context, Effect, Group, Message, Process, Role, Time, step};
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{Hash, Hasher};
use std::time::Duration;

/// A transaction that holds one resource and is to ask for another.
#[derive(Clone, Copy)]
struct Plan {
    number: u32,
    home: u32,
    holds: (u32, u32),
    wants: (u32, u32),
}

#[derive(Clone)]
struct Crowd<D: Detector> {
    sites: Vec<Site<D>>,
    channels: BTreeMap<(usize, usize), VecDeque<Msg<D::Msg>>>,
    /// Requests to come: at which place, and what.
    requests: Vec<(usize, Deed)>,
    /// How many of the detector's messages were sent.
    sent: u64,
    judge: Judge,
}

fn resource((site, name): (u32, u32)) -> Resource {
    Resource { site: id(site), name }
}

impl<D: Detector<Config = ()>> Crowd<D> {
    /// Everybody holds what it holds, and nobody has asked for more.
    fn new(sites: u32, plans: &[Plan]) -> Self {
        let mut crowd = Crowd {
            sites: vec![Site::default(); sites as usize],
            channels: BTreeMap::new(),
            requests: Vec::new(),
            sent: 0,
            judge: Judge::new(D::ONE_FINDER, Duration::ZERO, Duration::MAX),
        };
        for plan in plans {
            let hold = Input::Deed(Deed::Lock(plan.number, resource(plan.holds)));
            crowd.call(plan.home as usize - 1, |site, cx| site.on_input(hold, cx)).unwrap();
            while let Some(channel) = crowd.channels.keys().next().copied() {
                crowd.deliver(channel).unwrap();
            }
            let ask = Deed::Lock(plan.number, resource(plan.wants));
            crowd.requests.push((plan.home as usize - 1, ask));
        }
        crowd
    }

    fn call(
        &mut self,
        place: usize,
        handler: impl FnOnce(&mut Site<D>, &mut Context<'_, Site<D>>),
    ) -> Result<(), String> {
        let group = Group::numbered(self.sites.len() as u32).unwrap();
        let hold = (Duration::ZERO, Duration::ZERO);
        let jobs = Jobs { resources: 1, locks: 1, hold, patience: None };
        let config = Config { timeout: Duration::ZERO, jobs, confirm: true, detector: () };
        let site = &mut self.sites[place];
        for effect in step(&group, place, &config, |cx| handler(site, cx)) {
            match effect {
                Effect::Send(to, msg) => {
                    self.sent += u64::from(msg.kind().role == Role::Protocol);
                    let to = group.place(to).ok_or("a message to a stranger")?;
                    self.channels.entry((place, to)).or_default().push_back(msg);
                }
                Effect::Emit(output) => {
                    let heard = self.judge.hear(Time::ZERO, group.ring()[place], &output);
                    heard.map_err(|breach| format!("{}: {output}", breach.name))?;
                }
                Effect::SetTimer(..) | Effect::CancelTimer(_) => {}
            }
        }
        Ok(())
    }

    fn deliver(&mut self, (from, to): (usize, usize)) -> Result<(), String> {
        let channel = self.channels.get_mut(&(from, to)).ok_or("no such channel")?;
        let msg = channel.pop_front().ok_or("nothing is on the way")?;
        if channel.is_empty() {
            self.channels.remove(&(from, to));
        }
        self.call(to, |site, cx| site.on_message(id(from as u32 + 1), msg, cx))
    }

    /// Tries everything; says how many states there are, and how many messages the detector sent
    /// in those in which nothing is left to happen.
    fn explore(self) -> Result<(usize, BTreeSet<u64>), String> {
        let mut seen = BTreeSet::new();
        let mut costs = BTreeSet::new();
        let mut open = vec![self];
        while let Some(crowd) = open.pop() {
            if !seen.insert(crowd.fingerprint()) {
                continue;
            }
            if crowd.requests.is_empty() && crowd.channels.is_empty() {
                crowd.judge.close().map_err(|breach| breach.name.to_owned())?;
                let victims = crowd.judge.victims;
                let as_usual = (victims, crowd.judge.deadlocks.len()) == (1, 1);
                if !as_usual && crowd.judge.gave_up == 0 {
                    return Err(format!("{victims} victims"));
                }
                costs.insert(crowd.sent);
                continue;
            }
            for index in 0..crowd.requests.len() {
                // Who gives up has asked before.
                let asks = |number| {
                    let asks =
                        |deed: &Deed| matches!(deed, Deed::Lock(other, _) if *other == number);
                    crowd.requests.iter().any(|(_, deed)| asks(deed))
                };
                if matches!(crowd.requests[index].1, Deed::Abort(number) if asks(number)) {
                    continue;
                }
                let mut next = crowd.clone();
                let (place, deed) = next.requests.remove(index);
                next.call(place, |site, cx| site.on_input(Input::Deed(deed), cx))?;
                open.push(next);
            }
            for channel in crowd.channels.keys() {
                let mut next = crowd.clone();
                next.deliver(*channel)?;
                open.push(next);
            }
        }
        Ok((seen.len(), costs))
    }

    fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.sites, &self.channels, &self.requests, self.sent).hash(&mut hasher);
        let reports: Vec<u32> = self.judge.deadlocks.iter().map(|d| d.reports).collect();
        (self.judge.victims, reports).hash(&mut hasher);
        hasher.finish()
    }
}

/// A cycle over as many sites as there are numbers: each holds the resource of one site and wants
/// that of the next. Everybody is at home where it holds something, or so many sites further on.
fn ring(numbers: &[u32], moved: u32) -> Vec<Plan> {
    let sites = numbers.len() as u32;
    let plan = |(site, number): (u32, &u32)| Plan {
        number: *number,
        home: (site - 1 + moved) % sites + 1,
        holds: (site, 0),
        wants: (site % sites + 1, 0),
    };
    (1..).zip(numbers).map(plan).collect()
}

/// Every order of ids around two and three sites.
const RINGS: [&[u32]; 3] = [&[1, 2], &[1, 2, 3], &[3, 2, 1]];

/// And around four.
const FOUR: [&[u32]; 6] =
    [&[1, 2, 3, 4], &[1, 2, 4, 3], &[1, 3, 2, 4], &[1, 3, 4, 2], &[1, 4, 2, 3], &[1, 4, 3, 2]];

/// The path of each travels until it would come to a larger one; that of the largest, to itself.
fn cost(numbers: &[u32]) -> u64 {
    let n = numbers.len();
    let travels = |from: usize| {
        let smaller = |step: &usize| numbers[(from + step) % n] < numbers[from];
        (1..n).take_while(smaller).count() as u64
    };
    (0..n).map(travels).sum()
}

#[test]
fn distributed_one_site_finds_the_cycle_in_every_order_and_at_the_same_cost() {
    let mut states = 0;
    for numbers in RINGS.into_iter().chain(FOUR) {
        for moved in 0..if numbers.len() > 3 { 1 } else { 2 } {
            let plans = ring(numbers, moved);
            let sites = numbers.len() as u32;
            let (seen, costs) = Crowd::<Distributed>::new(sites, &plans).explore().unwrap();
            assert_eq!(costs, BTreeSet::from([cost(numbers)]), "{numbers:?}, {moved}");
            states += seen;
        }
    }
    assert!(states > 2_000, "{states} states");
}

/// Whoever waits may give up at any moment: nobody is aborted for a cycle that never was, and none
/// is left.
fn gives_up<D: Detector<Config = ()>>(rings: &[(&[u32], usize)]) {
    let (mut states, mut spared) = (0, 0);
    for (numbers, quitters) in rings {
        for quitter in 0..*quitters {
            let plans = ring(numbers, 1);
            let mut crowd = Crowd::<D>::new(numbers.len() as u32, &plans);
            let Plan { number, home, .. } = plans[quitter];
            crowd.requests.push((home as usize - 1, Deed::Abort(number)));
            let (seen, costs) = crowd.explore().unwrap();
            states += seen;
            spared += usize::from(costs.len() > 1);
        }
    }
    assert!(states > 1_000 && spared > 0, "{states} states, {spared}");
}

#[test]
fn distributed_no_phantom_if_somebody_gives_up() {
    gives_up::<Distributed>(&[(&[1, 2], 2), (&[1, 2, 3], 3), (&[3, 2, 1], 3), (&[1, 4, 3, 2], 4)]);
}

#[test]
fn edge_chasing_no_phantom_if_somebody_gives_up() {
    gives_up::<EdgeChasing>(&[(&[1, 2], 2), (&[1, 2, 3], 1)]);
}

/// The textbook's two sites, with two edges at the second.
#[test]
fn distributed_the_textbooks_example_in_every_order() {
    let plans = [
        Plan { number: 2, home: 2, holds: (2, 1), wants: (1, 0) },
        Plan { number: 3, home: 1, holds: (1, 0), wants: (2, 0) },
        Plan { number: 4, home: 2, holds: (2, 0), wants: (2, 1) },
    ];
    let (_, costs) = Crowd::<Distributed>::new(2, &plans).explore().unwrap();
    assert_eq!(costs, BTreeSet::from([1]));
}

/// A cycle that comes by the first site twice.
#[test]
fn distributed_a_site_that_the_cycle_crosses_twice() {
    for numbers in [[1, 2, 3, 4], [4, 3, 2, 1], [2, 4, 1, 3], [3, 1, 4, 2]] {
        let places = [(1, 0), (2, 0), (1, 1), (2, 1)];
        let plan = |index: usize| Plan {
            number: numbers[index],
            home: places[index].0,
            holds: places[index],
            wants: places[(index + 1) % 4],
        };
        let plans: Vec<Plan> = (0..4).map(plan).collect();
        let explored = Crowd::<Distributed>::new(2, &plans).explore();
        assert!(explored.is_ok(), "{numbers:?}: {:?}", explored.err());
    }
}

#[test]
fn edge_chasing_finds_the_cycle_in_every_order() {
    let mut states = 0;
    for numbers in RINGS {
        let plans = ring(numbers, 0);
        let s = numbers.len() as u64;
        let (seen, costs) = Crowd::<EdgeChasing>::new(s as u32, &plans).explore().unwrap();
        // A search for each request and for each note, each of at most s probes.
        assert!(costs.iter().all(|cost| (s..=2 * s * s).contains(cost)), "{costs:?}");
        states += seen;
    }
    assert!(states > 1_000, "{states} states");
}
