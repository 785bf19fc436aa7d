//! Workloads: who asks for the critical section, and when.
//!
//! How an algorithm fares depends on how many ask at the same time, so there is one load for each
//! extreme and two in between. A workload is a script of jobs like any other script: the same
//! seed gives the same jobs on every machine, by arithmetic on whole numbers only.

use crate::fault::{Action, Scheduled};
use crate::network::Network;
use crate::plan::work;
use bellwether_algorithms::definition::{Definition, Settings};
use bellwether_core::Draws;
use bellwether_core::{Group, NodeId, Process, Time, micros};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

bellwether_core::named! {
    /// How many processes want the section at the same time.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Load {
        /// One random process at a time, and the next one when it has surely left.
        #[default]
        Light = "light",
        /// All have their share of the jobs from the beginning.
        Saturated = "saturated",
        /// All ask at the same moment, and again when all have surely left.
        Bursts = "bursts",
        /// A few ask much more often than the others, at random times and about as often as the
        /// section can be had, so that queues come and go.
        Skewed = "skewed",
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text that names no load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownLoad(String);

impl fmt::Display for UnknownLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is no load; expected light, saturated, bursts or skewed", self.0)
    }
}

impl std::error::Error for UnknownLoad {}

impl FromStr for Load {
    type Err = UnknownLoad;

    fn from_str(text: &str) -> Result<Self, UnknownLoad> {
        let named = Load::ALL.into_iter().find(|load| load.name() == text);
        named.ok_or_else(|| UnknownLoad(text.to_owned()))
    }
}

/// The jobs of a workload, in the order of time: none if the algorithm knows no jobs.
///
/// From the settings it takes how long a job keeps the section, and from the network how long
/// messages take.
pub fn jobs<P: Process>(
    algorithm: &Definition<P>,
    load: Load,
    requests: u64,
    group: &Group,
    settings: &Settings,
    network: &Network,
    seed: u64,
) -> Vec<Scheduled<P::Input>> {
    let Some(job) = algorithm.input("work") else { return Vec::new() };
    let draws = Draws::keyed(seed, u64::from_be_bytes(*b"workload"), load as u64);
    let pace = Pace { n: group.len() as u64, section: settings.section, network };
    let jobs = Jobs { group, job, draws, script: Vec::new() };
    match load {
        Load::Light => jobs.light(requests, &pace),
        Load::Saturated => jobs.saturated(requests),
        Load::Bursts => jobs.bursts(requests, &pace),
        Load::Skewed => jobs.skewed(requests, &pace),
    }
}

/// How long things take.
struct Pace<'a> {
    n: u64,
    section: (Duration, Duration),
    network: &'a Network,
}

impl Pace<'_> {
    /// This many messages, one after the other, take no longer. Where a single one can take very
    /// long, it is unlikely that all do: twice the mean and one long delay cover them.
    fn hops(&self, hops: u64) -> u64 {
        let links = self.network.links.values().chain([&self.network.latency]);
        let mean = links.map(|latency| micros(latency.mean())).max().unwrap_or(0);
        let bound = micros(self.network.bound());
        let usual = mean.saturating_mul(2).saturating_mul(hops).saturating_add(bound);
        bound.saturating_mul(hops).min(usual)
    }

    /// After so long an entry is over: on a line the request goes from end to end and the token
    /// comes back, and on a ring the token may have just passed.
    fn entry(&self) -> u64 {
        self.hops(2 * self.n + 8).saturating_add(micros(self.section.1))
    }

    /// After so long all have entered once. Between two entries are a message or two; on a tree
    /// the token goes along every edge twice, after the requests have met.
    fn burst(&self) -> u64 {
        let inside = micros(self.section.1).saturating_mul(self.n);
        self.hops(4 * self.n + 8).saturating_add(inside)
    }

    /// So long after one entry there can be another, on average.
    fn turn(&self) -> u64 {
        let inside = micros(self.section.0).saturating_add(micros(self.section.1)) / 2;
        inside.saturating_add(micros(self.network.latency.mean()))
    }
}

/// Jobs in the making.
struct Jobs<'a, I> {
    group: &'a Group,
    job: I,
    draws: Draws,
    script: Vec<Scheduled<I>>,
}

impl<I: Clone> Jobs<'_, I> {
    fn light(mut self, requests: u64, pace: &Pace<'_>) -> Vec<Scheduled<I>> {
        let mut at = 0u64;
        for _ in 0..requests {
            let place = self.draws.below(pace.n) as usize;
            self.one(at, place);
            // A round or less more, so that a token on a ring is met anywhere.
            let more = self.draws.below(pace.hops(pace.n).saturating_add(1));
            at = at.saturating_add(pace.entry()).saturating_add(more);
        }
        self.script
    }

    fn saturated(mut self, requests: u64) -> Vec<Scheduled<I>> {
        let n = self.group.len() as u64;
        for _ in 0..requests / n {
            self.all(0);
        }
        self.some(0, requests % n);
        self.script
    }

    fn bursts(mut self, requests: u64, pace: &Pace<'_>) -> Vec<Scheduled<I>> {
        let mut at = 0u64;
        for _ in 0..requests / pace.n {
            self.all(at);
            at = at.saturating_add(pace.burst());
        }
        self.some(at, requests % pace.n);
        self.script
    }

    /// By Zipf's law, as words in a text: the second of a random ranking asks half as often as the
    /// first, the third a third, and so on.
    fn skewed(mut self, requests: u64, pace: &Pace<'_>) -> Vec<Scheduled<I>> {
        const FIRST: u64 = 1 << 32;
        let mut ranking: Vec<u32> = (0..self.group.len() as u32).collect();
        self.draws.shuffle(&mut ranking);
        let mut sum = 0u64;
        let shares: Vec<u64> = (1..=pace.n)
            .map(|rank| {
                sum = sum.saturating_add(FIRST / rank);
                sum
            })
            .collect();
        let mut at = 0u64;
        for _ in 0..requests {
            let lot = self.draws.below(sum);
            let rank = shares.partition_point(|share| *share <= lot);
            self.one(at, ranking[rank] as usize);
            at = at.saturating_add(self.draws.below((2 * pace.turn()).saturating_add(1)));
        }
        self.script
    }

    fn one(&mut self, at: u64, place: usize) {
        let id = self.group.ring()[place];
        let at = Time::from_micros(at);
        self.script.push(Scheduled { at, action: Action::Input(id, self.job.clone()) });
    }

    fn all(&mut self, at: u64) {
        let at = Time::from_micros(at);
        self.script.push(Scheduled { at, action: Action::InputAll(self.job.clone()) });
    }

    /// This many different processes.
    fn some(&mut self, at: u64, count: u64) {
        let mut places: Vec<usize> = (0..self.group.len()).collect();
        self.draws.shuffle(&mut places);
        places.truncate(count as usize);
        places.sort_unstable();
        for place in places {
            self.one(at, place);
        }
    }
}

/// When processes are down according to a script.
#[derive(Clone, Debug, Default)]
pub struct Downtime(BTreeMap<NodeId, Vec<(Time, Time)>>);

impl Downtime {
    /// By the crashes and recoveries of a script.
    pub fn of<I>(script: &[Scheduled<I>]) -> Self {
        let mut order: Vec<&Scheduled<I>> = script.iter().collect();
        order.sort_by_key(|scheduled| scheduled.at);
        let mut down: BTreeMap<NodeId, Vec<(Time, Time)>> = BTreeMap::new();
        for Scheduled { at, action } in order {
            match action {
                Action::Crash(id) => down.entry(*id).or_default().push((*at, Time::MAX)),
                Action::Recover(id) => {
                    if let Some(last) = down.get_mut(id).and_then(|spans| spans.last_mut()) {
                        last.1 = last.1.min(*at);
                    }
                }
                _ => {}
            }
        }
        Downtime(down)
    }

    /// Whether a process is down then.
    pub fn is_down(&self, id: NodeId, at: Time) -> bool {
        let spans = self.0.get(&id).map_or(&[][..], |spans| spans);
        spans.iter().any(|(from, to)| *from <= at && at < *to)
    }

    /// Takes those inputs out that would find their process down: a process that is not there
    /// wants nothing.
    pub fn spare<I>(&self, inputs: &mut Vec<Scheduled<I>>) {
        inputs.retain(|Scheduled { at, action }| match action {
            Action::Input(id, _) => !self.is_down(*id, *at),
            _ => true,
        });
    }

    /// How many pieces of work of a script find their process up.
    pub fn work<P: Process>(
        &self,
        algorithm: &Definition<P>,
        script: &[Scheduled<P::Input>],
        group: &Group,
    ) -> u64 {
        let each = |Scheduled { at, action }: &Scheduled<P::Input>| {
            let asked = work(algorithm, action, group);
            let away = match action {
                Action::InputAll(_) => self.0.keys().filter(|id| self.is_down(**id, *at)).count(),
                _ => 0,
            };
            asked.saturating_sub(away as u64)
        };
        script.iter().map(each).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Latency;
    use crate::observer::Silent;
    use crate::plan::{Plan, default_timeout};
    use bellwether_algorithms::catalogue::{Listed, catalogue};
    use bellwether_algorithms::definition::Algorithm;
    use bellwether_algorithms::mutex::{Central, Guarded, Tree};
    use std::sync::LazyLock;

    type Script = Vec<Scheduled<<Guarded<Central> as Process>::Input>>;

    /// Its inputs can be compared, and erased ones cannot.
    static CENTRAL: LazyLock<Definition<Guarded<Central>>> = LazyLock::new(Guarded::definition);

    fn listed(name: &str) -> Listed {
        catalogue().get(name).unwrap().clone()
    }

    fn network() -> Network {
        Network::new(Latency::Uniform(Duration::from_millis(1), Duration::from_millis(9)))
    }

    #[test]
    fn a_chain_of_messages_is_no_slower_than_its_links_allow() {
        let chain = |latency| {
            let network = Network::new(latency);
            Pace { n: 5, section: Default::default(), network: &network }.hops(100)
        };
        let ms = Duration::from_millis;
        assert_eq!(chain(Latency::Fixed(ms(10))), 1_000_000);
        assert_eq!(chain(Latency::Uniform(ms(0), ms(10))), 1_000_000);
        assert_eq!(chain(Latency::Exponential(ms(10))), 2_200_000);
    }

    fn settings() -> Settings {
        let section = (Duration::from_millis(2), Duration::from_millis(8));
        Settings { section, tree: Tree::LINE, ..Settings::new(default_timeout(&network())) }
    }

    fn script(load: Load, requests: u64, n: u32, seed: u64) -> Script {
        let group = Group::numbered(n).unwrap();
        jobs(&CENTRAL, load, requests, &group, &settings(), &network(), seed)
    }

    /// How often each process is asked, by place.
    fn shares(script: &Script, n: u32) -> Vec<u64> {
        let mut shares = vec![0; n as usize];
        for Scheduled { action, .. } in script {
            match action {
                Action::Input(id, _) => shares[id.number() as usize - 1] += 1,
                Action::InputAll(_) => shares.iter_mut().for_each(|share| *share += 1),
                _ => panic!("no job: {action:?}"),
            }
        }
        shares
    }

    #[test]
    fn loads_are_read_as_they_are_written() {
        for load in Load::ALL {
            assert_eq!(load.to_string().parse(), Ok(load));
        }
        let error = "heavy".parse::<Load>().unwrap_err().to_string();
        assert_eq!(error, "'heavy' is no load; expected light, saturated, bursts or skewed");
        assert!("Light".parse::<Load>().is_err());
    }

    #[test]
    fn there_are_as_many_jobs_as_asked_for_and_the_same_for_the_same_seed() {
        for load in Load::ALL {
            for (requests, n) in [(0, 3), (1, 1), (1, 7), (23, 7), (28, 7), (50, 1)] {
                let group = Group::numbered(n).unwrap();
                let script = script(load, requests, n, 5);
                let count: u64 = script.iter().map(|s| work(&CENTRAL, &s.action, &group)).sum();
                assert_eq!(count, requests, "{load}, {n} processes");
                assert!(script.is_sorted_by_key(|scheduled| scheduled.at), "{load}");
                assert_eq!(script, super::tests::script(load, requests, n, 5), "{load}");
            }
            assert_ne!(script(load, 24, 7, 5), script(load, 24, 7, 6), "{load}");
        }
    }

    #[test]
    fn a_saturated_load_is_shared_out_evenly_at_once() {
        let script = script(Load::Saturated, 23, 7, 1);
        let mut shares = shares(&script, 7);
        shares.sort_unstable();
        assert_eq!(shares, [3, 3, 3, 3, 3, 4, 4]);
        assert!(script.iter().all(|scheduled| scheduled.at == Time::ZERO));
    }

    #[test]
    fn a_skewed_load_is_skewed_and_who_leads_is_random() {
        let leader = |seed| {
            let shares = shares(&script(Load::Skewed, 10_000, 8, seed), 8);
            let place = (0..8).max_by_key(|place| shares[*place]).unwrap();
            let mut sorted = shares;
            sorted.sort_unstable_by(|a, b| b.cmp(a));
            // 1 to 1/2 to ... to 1/8, which are 2.718 together.
            assert!((3_400..3_960).contains(&sorted[0]), "{sorted:?}");
            assert!((1_700..1_980).contains(&sorted[1]), "{sorted:?}");
            assert!((380..540).contains(&sorted[7]), "{sorted:?}");
            place
        };
        let leaders: std::collections::BTreeSet<usize> = (0..20).map(leader).collect();
        assert!(leaders.len() > 3, "{leaders:?}");
    }

    /// What comes of a workload among nine processes on a line or a ring.
    fn sections(name: &str, load: Load, seed: u64) -> crate::Sections {
        let algorithm = listed(name);
        let group = Group::numbered(9).unwrap();
        let (settings, network) = (settings(), network());
        let script = jobs(&algorithm, load, 45, &group, &settings, &network, seed);
        let plan = Plan { algorithm, group, settings, network, seed, script, until: None };
        let (outcome, Silent) = plan.run(Silent);
        assert_eq!(outcome.violation, None, "{}", name);
        let sections = outcome.sections.unwrap();
        assert_eq!((sections.requests, sections.entries), (45, 45), "{}", name);
        sections
    }

    #[test]
    fn under_a_light_load_no_process_waits_for_another() {
        for seed in 0..20 {
            for name in ["central", "raymond", "token-ring"] {
                let sections = sections(name, Load::Light, seed);
                // There would be a delay if a process had waited while another left.
                assert_eq!(sections.sync_delay, None, "seed {seed}: {sections:?}");
            }
        }
    }

    #[test]
    fn a_burst_begins_when_the_last_one_is_over_and_queues_form_in_a_skewed_load() {
        for seed in 0..20 {
            for name in ["central", "raymond", "token-ring"] {
                let sections = sections(name, Load::Bursts, seed);
                // Longer than in one burst no process waits, and within it a process always does.
                let group_waits = Duration::from_millis(9 * 8 + 44 * 9);
                assert!(sections.waits.max <= group_waits, "seed {seed}: {sections:?}");
                assert!(sections.sync_delay.is_some());
            }
            let skewed = sections("central", Load::Skewed, seed);
            assert!(skewed.sync_delay.is_some(), "seed {seed}: {skewed:?}");
        }
    }

    #[test]
    fn the_dead_are_given_no_jobs() {
        let ms = |ms: u64| Time::from_micros(ms * 1_000);
        let (p, q) = (NodeId::new(1), NodeId::new(2));
        let at = |at, action| Scheduled { at: ms(at), action };
        let faults =
            [at(20, Action::Recover(p)), at(10, Action::Crash(p)), at(30, Action::Crash(p))];
        let down = Downtime::of(&faults);
        for (time, is_down) in [(9, false), (10, true), (19, true), (20, false), (31, true)] {
            assert_eq!(down.is_down(p, ms(time)), is_down, "{time}");
            assert!(!down.is_down(q, ms(time)));
        }
        let job = CENTRAL.input("work").unwrap();
        let mut jobs = vec![
            at(9, Action::Input(p, job)),
            at(15, Action::Input(p, job)),
            at(15, Action::Input(q, job)),
            at(15, Action::InputAll(job)),
        ];
        down.spare(&mut jobs);
        assert_eq!(jobs.len(), 3);
        let group = Group::numbered(3).unwrap();
        assert_eq!(down.work(&CENTRAL, &jobs, &group), 4);
    }
}
