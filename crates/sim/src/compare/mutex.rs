//! What mutual exclusion costs: messages for an entry, and the delay between two entries.
//!
//! The formulas count all messages of the algorithm. Under a light load at most one process waits
//! at a time; under a saturated one everybody wants to enter always, and the mean is taken over
//! whole rounds.
//!
//! A saturated load means that whoever leaves and asks again is heard of by all before the next one
//! leaves. It takes sections longer than messages: where they are short and some messages are slow,
//! whoever has the token of a tree enters again before it knows that others wait, and an entry
//! costs less than the formula says.

use super::delay::SectionClaim;
use super::measure::Run;
use super::sections::{ROUNDS, Setup, all_pairs, alone, always, mixed, relay};
use super::{Case, Claim, Expected, Rank};
use crate::workload::Load;
use bellwether_algorithms::mutex::Tree;
use std::ops::RangeInclusive;

use Expected::{AtMost, Exact, ExactMean};

type Kinds = &'static [&'static str];
type Parts = Vec<(Kinds, &'static str, Expected)>;

const REQUEST: Kinds = &["REQUEST"];
const REPLY: Kinds = &["REPLY"];
const GRANTED: Kinds = &["GRANTED"];
const DENIED: Kinds = &["DENIED"];
const RELEASE: Kinds = &["RELEASE"];
const TOKEN: Kinds = &["TOKEN"];
const PRIVILEGE: Kinds = &["PRIVILEGE"];

/// All cases for all these numbers of processes, or only those under one load.
pub fn mutex(nodes: RangeInclusive<u32>, load: Option<Load>) -> Vec<Case> {
    nodes.flat_map(|n| mutex_cases_for(n, load)).collect()
}

/// All cases for n processes, or only those under one load. A case that makes no sense for so few
/// is left out.
pub fn mutex_cases_for(n: u32, load: Option<Load>) -> Vec<Case> {
    let wanted = |load_of_case| load.is_none_or(|load| load == load_of_case);
    let mut cases = Vec::new();
    if n > 0 && wanted(Load::Light) {
        cases.extend(light(n));
    }
    if n > 0 && wanted(Load::Saturated) {
        cases.extend(saturated(n));
    }
    cases
}

fn light(n: u32) -> Vec<Case> {
    let all = u64::from(n);
    let others = all - 1;
    let to_others = |kind, formula| (kind, formula, Exact(others));
    let mut cases = central_light(n);
    let claim = Lone { n, case: "one asks", rank: Rank::Average };
    let parts = vec![to_others(REQUEST, "n-1"), to_others(REPLY, "n-1"), to_others(RELEASE, "n-1")];
    let runs = alone("lamport", Setup::new(n), &[], &mixed(n));
    cases.push(claim.judge("lamport", "3(n-1)", Exact(3 * others), parts, &runs));
    let parts = vec![to_others(REQUEST, "n-1"), to_others(REPLY, "n-1")];
    let runs = alone("ricart-agrawala", Setup::new(n), &[], &mixed(n));
    cases.push(claim.judge("ricart-agrawala", "2(n-1)", Exact(2 * others), parts, &runs));
    cases.extend(token_ring_light(n));
    cases.extend(broadcast_light("ricart-agrawala-token", n));
    cases.extend(broadcast_light("suzuki-kasami", n));
    cases.extend(raymond_light(n));
    cases.extend(singhal_light(n));
    cases
}

fn saturated(n: u32) -> Vec<Case> {
    let all = u64::from(n);
    let others = all - 1;
    let everybody: Vec<u32> = (1..=n).collect();
    let full = |formula, per_entry, parts: &[(Kinds, &'static str, u64)]| Full {
        case: "all ask always",
        nodes: n,
        formula,
        messages: per_entry * all,
        parts: parts.iter().map(|(kinds, text, each)| (*kinds, *text, each * all)).collect(),
        delay: Some(("T", all)),
    };
    let to_others = |kind| (kind, "n-1", others);
    let mut cases = central_saturated(n);
    let three = [to_others(REQUEST), to_others(REPLY), to_others(RELEASE)];
    cases.push(full("3(n-1)", 3 * others, &three).judge("lamport", &everybody));
    let two = [to_others(REQUEST), to_others(REPLY)];
    cases.push(full("2(n-1)", 2 * others, &two).judge("ricart-agrawala", &everybody));
    let token = (TOKEN, "1", 1);
    if n > 1 {
        cases.push(full("1", 1, &[token]).judge("token-ring", &everybody));
        let parts = [to_others(REQUEST), token];
        cases.push(full("n", all, &parts).judge("ricart-agrawala-token", &everybody));
        cases.push(full("n", all, &parts).judge("suzuki-kasami", &everybody));
    }
    cases.extend(raymond_saturated(n));
    if n > 1 {
        let parts = [to_others(REQUEST), token];
        cases.push(full("n", all, &parts).judge("singhal", &everybody));
    }
    cases
}

/// A claim for entries one at a time.
#[derive(Clone, Copy)]
struct Lone {
    n: u32,
    case: &'static str,
    rank: Rank,
}

impl Lone {
    fn judge(
        self,
        algorithm: &'static str,
        formula: &'static str,
        expected: Expected,
        parts: Parts,
        runs: &[Run],
    ) -> Case {
        self.judge_delayed(algorithm, formula, expected, parts, None, runs)
    }

    /// The same, where each asks while another is inside.
    fn judge_delayed(
        self,
        algorithm: &'static str,
        formula: &'static str,
        expected: Expected,
        parts: Parts,
        delay: Option<(&'static str, Expected)>,
        runs: &[Run],
    ) -> Case {
        let Lone { n, case, rank } = self;
        let messages = Claim { case, rank, nodes: n, live: n, formula, expected, parts };
        SectionClaim { load: Load::Light, messages, delay }.judge(algorithm, runs)
    }
}

/// A claim for whole rounds of entries, with sums over one round.
struct Full {
    case: &'static str,
    nodes: u32,
    formula: &'static str,
    messages: u64,
    parts: Vec<(Kinds, &'static str, u64)>,
    delay: Option<(&'static str, u64)>,
}

impl Full {
    /// These want to enter always.
    fn judge(self, algorithm: &'static str, ids: &[u32]) -> Case {
        self.judge_on(algorithm, Setup::new, ids)
    }

    fn judge_on(
        self,
        algorithm: &'static str,
        setup: impl FnOnce(u32) -> Setup,
        ids: &[u32],
    ) -> Case {
        let round = ids.len() as u64;
        let mean = |sum| ExactMean { sum: ROUNDS * sum, runs: ROUNDS * round };
        let parts = self.parts.into_iter();
        let messages = Claim {
            case: self.case,
            rank: Rank::Worst,
            nodes: self.nodes,
            live: self.nodes,
            formula: self.formula,
            expected: mean(self.messages),
            parts: parts.map(|(kinds, formula, sum)| (kinds, formula, mean(sum))).collect(),
        };
        // Whoever is alone waits for nobody.
        let delay = self.delay.filter(|_| round > 1).map(|(formula, sum)| (formula, mean(sum)));
        let runs = always(algorithm, setup(self.nodes), ids);
        SectionClaim { load: Load::Saturated, messages, delay }.judge(algorithm, &runs)
    }
}

/// The paper's 3 are for a client; the coordinator asks itself, which costs nothing.
fn central_light(n: u32) -> Vec<Case> {
    const A: &str = "central";
    let clients: Vec<u32> = (1..n).collect();
    let setup = Setup::new(n);
    let one = |kind| (kind, "1", Exact(1));
    let itself = Lone { n, case: "the coordinator asks", rank: Rank::Best };
    let mut cases = vec![itself.judge(A, "0", Exact(0), vec![], &alone(A, setup, &[], &[n]))];
    let three = vec![one(REQUEST), one(GRANTED), one(RELEASE)];
    if n > 1 {
        let client = Lone { n, case: "a client asks", rank: Rank::Average };
        let runs = alone(A, setup, &[], &clients);
        cases.push(client.judge(A, "3", Exact(3), three.clone(), &runs));
    }
    if n > 2 {
        let busy = Lone { n, case: "a client asks while it is busy", rank: Rank::Other };
        let parts = [three, vec![one(DENIED)]].concat();
        let runs = relay(A, setup, &clients);
        let delay = Some(("2T", Exact(2)));
        cases.push(busy.judge_delayed(A, "3 + 1 DENIED", Exact(4), parts, delay, &runs));
    }
    cases
}

/// If the coordinator competes too, every n-th entry is its own: it costs nothing, and the way to
/// it and from it is one hop instead of two.
fn central_saturated(n: u32) -> Vec<Case> {
    const A: &str = "central";
    let (everybody, clients): (Vec<u32>, Vec<u32>) = ((1..=n).collect(), (1..n).collect());
    let others = u64::from(n) - 1;
    let three: Kinds = &["REQUEST", "GRANTED", "RELEASE"];
    let mut cases = Vec::new();
    // A lone client finds nobody inside.
    if n == 2 {
        let claim = Full {
            case: "all clients ask always",
            nodes: n,
            formula: "3",
            messages: 3,
            parts: vec![(three, "3", 3)],
            delay: None,
        };
        cases.push(claim.judge(A, &clients));
    } else if n > 2 {
        let claim = Full {
            case: "all clients ask always",
            nodes: n,
            formula: "3 + 1 DENIED",
            messages: 4 * others,
            parts: vec![(three, "3", 3 * others), (DENIED, "1", others)],
            delay: Some(("2T", 2 * others)),
        };
        cases.push(claim.judge(A, &clients));
    }
    let claim = Full {
        case: "all ask always",
        nodes: n,
        formula: "(3 + 1 DENIED)(n-1)/n",
        messages: 4 * others,
        parts: vec![(three, "3(n-1)/n", 3 * others), (DENIED, "(n-1)/n", others)],
        delay: Some(("2(n-1)/n T", 2 * others)),
    };
    let mut all = claim.judge(A, &everybody);
    all.rank = Rank::Other;
    cases.push(all);
    cases
}

/// The token is d places before the requester, for all d. Counted is the way from there: how often
/// the token went round in vain before depends on how long nobody asked.
fn token_ring_light(n: u32) -> Vec<Case> {
    const A: &str = "token-ring";
    let setup = Setup::new(n);
    if n == 1 {
        let claim = Lone { n, case: "alone on the ring", rank: Rank::Other };
        return vec![claim.judge(A, "0", Exact(0), vec![], &alone(A, setup, &[], &[1, 1]))];
    }
    // Each d places after the one before, for d = 1 to n-1.
    let places = (0..n).scan(0, |place, d| {
        *place = (*place + d) % n;
        Some(*place + 1)
    });
    let runs = relay(A, setup, &places.collect::<Vec<u32>>());
    let claim = |case, rank, formula, expected, delay, runs: &[Run]| {
        let token = vec![(TOKEN, formula, expected)];
        let delay = Some((delay, expected));
        Lone { n, case, rank }.judge_delayed(A, formula, expected, token, delay, runs)
    };
    let count = u64::from(n);
    let mean = ExactMean { sum: count * (count - 1) / 2, runs: count - 1 };
    let first = runs.len().min(1);
    let last = runs.len().saturating_sub(1);
    vec![
        claim("the next one asks", Rank::Best, "1", Exact(1), "T", &runs[..first]),
        claim("average way of the token", Rank::Average, "n/2", mean, "n/2 T", &runs),
        claim("the last one asks", Rank::Worst, "n-1", Exact(count - 1), "(n-1)T", &runs[last..]),
    ]
}

/// Whoever has no token asks all others for it.
fn broadcast_light(algorithm: &'static str, n: u32) -> Vec<Case> {
    let count = u64::from(n);
    let mut cases = vec![holder_again(algorithm, n)];
    if n > 1 {
        let parts: Parts = vec![(REQUEST, "n-1", Exact(count - 1)), (TOKEN, "1", Exact(1))];
        // Each is another than the one before.
        let ids = mixed(n);
        let runs = alone(algorithm, Setup::new(n), &ids[n as usize - 1..], &ids);
        let another = Lone { n, case: "another asks", rank: Rank::Average };
        cases.push(another.judge(algorithm, "n", Exact(count), parts, &runs));
    }
    cases
}

/// Whoever has the token enters for nothing.
fn holder_again(algorithm: &'static str, n: u32) -> Case {
    let claim = Lone { n, case: "the holder asks", rank: Rank::Best };
    let runs = mixed(n).into_iter().flat_map(|id| alone(algorithm, Setup::new(n), &[id], &[id]));
    claim.judge(algorithm, "0", Exact(0), vec![], &runs.collect::<Vec<Run>>())
}

/// The shapes of which the mean distance is known.
const TREES: [(Tree, [&str; 3]); 3] = [
    (Tree::Arity(2), ["binary tree, average", "2 x mean distance", "binary tree, all ask always"]),
    (Tree::LINE, ["line, average", "2(n^2-1)/(3n)", "line, all ask always"]),
    (Tree::Star, ["star, average", "4(n-1)^2/n^2", "star, all ask always"]),
];

/// From every holder to every requester, itself too. An edge with s processes on one side lies
/// between 2s(n-s) of these pairs, and costs a REQUEST and a PRIVILEGE each time.
fn raymond_light(n: u32) -> Vec<Case> {
    const A: &str = "raymond";
    let count = u64::from(n);
    let mut cases = Vec::new();
    for (tree, [case, formula, _]) in TREES {
        let runs = alone(A, Setup { nodes: n, tree }, &[n], &all_pairs(n));
        let distances: u64 = sizes(tree, n).iter().map(|size| 2 * size * (count - size)).sum();
        let mean = |sum| ExactMean { sum, runs: count * count };
        let one_way = mean(distances);
        let parts: Parts =
            vec![(REQUEST, "mean distance", one_way), (PRIVILEGE, "mean distance", one_way)];
        let rank = if tree == Tree::default() { Rank::Average } else { Rank::Other };
        let claim = Lone { n, case, rank };
        cases.push(claim.judge(A, formula, mean(2 * distances), parts, &runs));
        if tree == Tree::default() {
            let farthest = Lone { n, case: "binary tree, farthest", rank: Rank::Worst };
            let way = AtMost(2 * u64::from(n.ilog2()));
            let parts: Parts =
                vec![(REQUEST, "2 floor(log2 n)", way), (PRIVILEGE, "2 floor(log2 n)", way)];
            let most = AtMost(4 * u64::from(n.ilog2()));
            cases.push(farthest.judge(A, "4 floor(log2 n)", most, parts, &runs));
        }
    }
    cases
}

/// How many processes are below each edge of a tree.
fn sizes(tree: Tree, n: u32) -> Vec<u64> {
    let mut sizes = vec![1; n as usize];
    // Children have larger places than their parents.
    for place in (1..n as usize).rev() {
        if let Some(parent) = tree.parent(place) {
            sizes[parent] += sizes[place];
        }
    }
    sizes.split_off(1)
}

/// In a round the token goes along every edge and back, and each time a REQUEST calls it back.
fn raymond_saturated(n: u32) -> Vec<Case> {
    let everybody: Vec<u32> = (1..=n).collect();
    let others = u64::from(n) - 1;
    let each = TREES.into_iter().map(|(tree, [.., case])| {
        let claim = Full {
            case,
            nodes: n,
            formula: "4(n-1)/n",
            messages: 4 * others,
            parts: vec![(REQUEST, "2(n-1)/n", 2 * others), (PRIVILEGE, "2(n-1)/n", 2 * others)],
            delay: Some(("2(n-1)/n T", 2 * others)),
        };
        let mut case = claim.judge_on("raymond", |nodes| Setup { nodes, tree }, &everybody);
        case.rank = if tree == Tree::default() { Rank::Worst } else { Rank::Other };
        case
    });
    each.collect()
}

/// A requester asks those that were inside since it was so itself. Whatever happened before, there
/// is one requester for each number of them from 0 to n-1, so the mean over all is always the same.
fn singhal_light(n: u32) -> Vec<Case> {
    const A: &str = "singhal";
    let count = u64::from(n);
    let mut cases = vec![holder_again(A, n)];
    let before = mixed(n);
    let asked = |id| alone(A, Setup::new(n), &before, &[id]);
    let runs: Vec<Run> = (1..=n).flat_map(asked).collect();
    let mean = |sum| ExactMean { sum, runs: count };
    let parts: Parts = vec![
        (REQUEST, "(n-1)/2", mean(count * (count - 1) / 2)),
        (TOKEN, "1 - 1/n", mean(count - 1)),
    ];
    let average = Lone { n, case: "average requester", rank: Rank::Average };
    let sum = mean((count - 1) * (count + 2) / 2);
    cases.push(average.judge(A, "(n+1)/2 - 1/n", sum, parts, &runs));
    if n > 1 {
        // The first of those before has been away for longest.
        let parts: Parts = vec![(REQUEST, "n-1", Exact(count - 1)), (TOKEN, "1", Exact(1))];
        let longest = Lone { n, case: "longest away asks", rank: Rank::Worst };
        cases.push(longest.judge(A, "n", Exact(count), parts, &asked(before[0])));
    }
    cases
}
