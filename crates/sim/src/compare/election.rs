//! What elections cost.
//!
//! The formulas count all messages of the algorithm, the announcement included, because only so
//! can algorithms be compared; where a text counts a kind by itself, a part of the case does too.
//! n processes are configured, k of them live, and p = n - d larger ones stand above detector d.

use super::measure::{self, Run, Setup};
use super::measure::{arrangements, ascending, bit_reversed, descending, shuffled};
use super::{Case, Claim, Expected, Rank};
use std::ops::RangeInclusive;

use Expected::{AtMost, Exact, ExactMean};

/// Up to this many processes all arrangements of a ring are tried: 720 of them.
const ENUMERATED_LIVE_MAX: u32 = 7;
/// Above, the mean is taken over this many.
const SAMPLED_RINGS: u64 = 100;
/// A bound is tried on this many random rings, besides the extreme ones.
const BOUND_RINGS: u64 = 10;

/// All cases for all these numbers of processes.
pub fn election(nodes: RangeInclusive<u32>) -> Vec<Case> {
    nodes.flat_map(cases_for).collect()
}

/// All cases for n processes. A case that makes no sense for so few is left out.
pub fn cases_for(n: u32) -> Vec<Case> {
    if n == 0 {
        return Vec::new();
    }
    let mut cases = bully(n);
    if n > 1 {
        cases.extend(ring(n));
        cases.extend(active_list(n));
    }
    cases.extend(chang_roberts(n));
    cases.extend(hirschberg_sinclair(n));
    cases.extend(peterson(n));
    cases
}

/// Holds the elections and judges them.
fn case(algorithm: &'static str, claim: Claim, setups: impl IntoIterator<Item = Setup>) -> Case {
    let runs: Vec<Run> = setups.into_iter().map(|setup| measure::run(algorithm, &setup)).collect();
    claim.judge(algorithm, &runs)
}

/// The largest, who coordinated, has died, and these notice.
fn orphaned(n: u32, starters: Vec<u32>) -> Setup {
    Setup { ring: ascending(n), dead: Some(n), starters }
}

/// Nobody is dead, and these start.
fn healthy(ring: Vec<u32>, starters: Vec<u32>) -> Setup {
    Setup { ring, dead: None, starters }
}

/// Nobody is dead, and all start.
fn all_start(ring: Vec<u32>) -> Setup {
    healthy(ring.clone(), ring)
}

fn bully(n: u32) -> Vec<Case> {
    const A: &str = "bully";
    let count = u64::from(n);
    let mut cases = Vec::new();
    if n > 1 {
        let claim = |case, rank, formula, expected, parts: [_; 3]| Claim {
            case,
            rank,
            nodes: n,
            live: n - 1,
            formula,
            expected,
            parts: Vec::from(parts),
        };
        let announced = (&["COORDINATOR"][..], "n-2", Exact(count - 2));
        let next_highest = claim(
            "next-highest detects",
            Rank::Best,
            "n-1",
            Exact(count - 1),
            [(&["ELECTION"], "1", Exact(1)), (&["OK"], "0", Exact(0)), announced],
        );
        let runs = count - 1;
        let mean = |sum| ExactMean { sum, runs };
        // The sums over p = 1..n-1 of p^2 + n-2, p(p+1)/2 and p(p-1)/2.
        let average = claim(
            "average detector",
            Rank::Average,
            "n(2n-1)/6 + n-2",
            mean(runs * count * (2 * count - 1) / 6 + runs * (count - 2)),
            [
                (&["ELECTION"], "n(n+1)/6", mean(runs * count * (count + 1) / 6)),
                (&["OK"], "n(n-2)/6", mean(runs * count * (count - 2) / 6)),
                announced,
            ],
        );
        let lowest = claim(
            "lowest detects",
            Rank::Worst,
            "n^2-n-1",
            Exact(count * count - count - 1),
            [
                (&["ELECTION"], "n(n-1)/2", Exact(count * (count - 1) / 2)),
                (&["OK"], "(n-1)(n-2)/2", Exact((count - 1) * (count - 2) / 2)),
                announced,
            ],
        );
        cases.push(case(A, next_highest, [orphaned(n, vec![n - 1])]));
        cases.push(case(A, average, (1..n).map(|detector| orphaned(n, vec![detector]))));
        cases.push(case(A, lowest, [orphaned(n, vec![1])]));
    }
    let pairs = count * (count - 1) / 2;
    let nobody_dead = Claim {
        case: "nobody dead, lowest starts",
        rank: Rank::Other,
        nodes: n,
        live: n,
        formula: "n^2-1",
        expected: Exact(count * count - 1),
        parts: vec![
            (&["ELECTION"], "n(n-1)/2", Exact(pairs)),
            (&["OK"], "n(n-1)/2", Exact(pairs)),
            (&["COORDINATOR"], "n-1", Exact(count - 1)),
        ],
    };
    cases.push(case(A, nobody_dead, [healthy(ascending(n), vec![1])]));
    cases
}

/// The ring with the list in the message.
fn ring(n: u32) -> Vec<Case> {
    const A: &str = "ring";
    let live = n - 1;
    let k = u64::from(live);
    let claim = |case, rank, formula, each, circuit| Claim {
        case,
        rank,
        nodes: n,
        live,
        formula,
        expected: Exact(2 * circuit),
        parts: vec![
            (&["ELECTION"], each, Exact(circuit)),
            (&["COORDINATOR"], each, Exact(circuit)),
        ],
    };
    let one = claim("one starts", Rank::Best, "2k", "k", k);
    let all = claim("all start", Rank::Worst, "2k^2", "k^2", k * k);
    vec![case(A, one, [orphaned(n, vec![1])]), case(A, all, [orphaned(n, ascending(live))])]
}

/// The ring with active lists.
fn active_list(n: u32) -> Vec<Case> {
    const A: &str = "active-list";
    let live = n - 1;
    let square = Exact(u64::from(live) * u64::from(live));
    let claim = |case, rank| Claim {
        case,
        rank,
        nodes: n,
        live,
        formula: "k^2",
        expected: square,
        parts: vec![(&["ELECT"], "k^2", square)],
    };
    vec![
        case(A, claim("one starts", Rank::Best), [orphaned(n, vec![1])]),
        case(A, claim("all start", Rank::Worst), [orphaned(n, ascending(live))]),
    ]
}

/// An election among k live processes that is a race of some kinds of message, after which
/// ELECTED goes round once.
struct Race {
    k: u32,
    kinds: &'static [&'static str],
}

impl Race {
    /// A claim with the formulas for the race and for all messages.
    fn claim(
        &self,
        case: &'static str,
        rank: Rank,
        [race, total]: [&'static str; 2],
        expected: Expected,
    ) -> Claim {
        let k = u64::from(self.k);
        let with_elected = match expected {
            Exact(count) => Exact(count + k),
            ExactMean { sum, runs } => ExactMean { sum: sum + k * runs, runs },
            AtMost(count) => AtMost(count + k),
            Expected::Mean { value, .. } => Expected::sampled(value + k as f64),
        };
        Claim {
            case,
            rank,
            nodes: self.k,
            live: self.k,
            formula: total,
            expected: with_elected,
            parts: vec![(self.kinds, race, expected), (&["ELECTED"], "k", Exact(k))],
        }
    }
}

/// A lone starter's number, or a larger one in its place, travels to the largest process, whose
/// own then makes the full round: what counts is how far before the largest the starter stands.
/// If all start, each number travels to the next larger one: one hop where every successor is
/// larger, and as far as possible where every successor is smaller.
fn chang_roberts(n: u32) -> Vec<Case> {
    const A: &str = "chang-roberts";
    let k = u64::from(n);
    let race = Race { k: n, kinds: &["ELECTION"] };
    // On the ascending ring the largest is followed by the smallest.
    let one = |starter| healthy(ascending(n), vec![starter]);
    let claim = race.claim("one starts, the largest", Rank::Best, ["k", "2k"], Exact(k));
    let best = case(A, claim, [one(n)]);
    let mean = ExactMean { sum: k * k + k * (k - 1) / 2, runs: k };
    let formulas = ["k + (k-1)/2", "2k + (k-1)/2"];
    let claim = race.claim("one starts, average", Rank::Average, formulas, mean);
    let average = case(A, claim, (1..=n).map(one));
    let farthest = Exact(2 * k - 1);
    let claim = race.claim("one starts, farthest", Rank::Worst, ["2k-1", "3k-1"], farthest);
    let worst = case(A, claim, [one(1)]);

    let ascend = Exact(2 * k - 1);
    let claim = race.claim("all start, ascending", Rank::Best, ["2k-1", "3k-1"], ascend);
    let all_best = case(A, claim, [all_start(ascending(n))]);
    let (mean, rings) = if n <= ENUMERATED_LIVE_MAX {
        let factorial: u64 = (1..=k).product();
        let sum = (1..=k).map(|term| factorial / term).sum();
        (ExactMean { sum, runs: factorial / k }, arrangements(n))
    } else {
        let harmonic: f64 = (1..=n).map(|term| 1.0 / f64::from(term)).sum();
        (Expected::sampled(f64::from(n) * harmonic), shuffled(n, SAMPLED_RINGS).collect())
    };
    let formulas = ["k H(k)", "k H(k) + k"];
    let claim = race.claim("all start, average", Rank::Average, formulas, mean);
    let all_average = case(A, claim, rings.into_iter().map(all_start));
    let descend = Exact(k * (k + 1) / 2);
    let formulas = ["k(k+1)/2", "k(k+3)/2"];
    let claim = race.claim("all start, descending", Rank::Worst, formulas, descend);
    let all_worst = case(A, claim, [all_start(descending(n))]);
    vec![best, average, worst, all_best, all_average, all_worst]
}

/// In phase i a candidate's probes and their replies make 4 * 2^i hops. All k enter phase 0; those
/// who enter phase i > 0 have beaten 2^(i-1) on each side and number at most k / (2^(i-1) + 1), so
/// that the phase costs less than 8k. The last is the first with 2^i >= k.
///
/// Phase 0 costs 3k on every ring, for each pair of neighbours exchanges two probes and one reply.
/// On a ring in order nobody but the largest goes on, and in the last phase it spends 2k.
fn hirschberg_sinclair(n: u32) -> Vec<Case> {
    const A: &str = "hirschberg-sinclair";
    let k = u64::from(n);
    let race = Race { k: n, kinds: &["PROBE", "REPLY"] };
    let least = (5 * k + 4 * u64::from(n.next_power_of_two())).saturating_sub(8);
    let in_order = ["5k + 4*2^ceil(log2 k) - 8", "6k + 4*2^ceil(log2 k) - 8"];
    let most = 4 * k + 8 * k * u64::from(n.next_power_of_two().ilog2());
    let bound = ["4k + 8k ceil(log2 k)", "5k + 8k ceil(log2 k)"];
    // Alone, a process is its own neighbour, and phase 0 is the last.
    let alone = n == 1;
    let least = Exact(if alone { 2 } else { least });
    let in_order = if alone { ["2k", "3k"] } else { in_order };
    let ascend = race.claim("all start, ascending", Rank::Best, in_order, least);
    let descend = race.claim("all start, descending", Rank::Best, in_order, least);
    let reversed = race.claim("all start, bit-reversed", Rank::Other, bound, AtMost(most));
    let random = race.claim("all start, worst of 10", Rank::Worst, bound, AtMost(most));
    vec![
        case(A, ascend, [all_start(ascending(n))]),
        case(A, descend, [all_start(descending(n))]),
        case(A, reversed, [all_start(bit_reversed(n))]),
        case(A, random, shuffled(n, BOUND_RINGS).map(all_start)),
    ]
}

/// A phase costs 2k, and those go on whose predecessor among the active held a number larger than
/// both its neighbours'. When one is left, it sends its number round for k more. At most every
/// second goes on, which the bit-reversed ring achieves in every phase; on a ring in order only
/// one does.
fn peterson(n: u32) -> Vec<Case> {
    const A: &str = "peterson";
    let k = u64::from(n);
    let race = Race { k: n, kinds: &["FIRST", "SECOND"] };
    let least = Exact(if n == 1 { 1 } else { 3 * k });
    let in_order = if n == 1 { ["k", "2k"] } else { ["3k", "4k"] };
    let most = 2 * k * u64::from(n.ilog2()) + k;
    let bound = ["2k floor(log2 k) + k", "2k floor(log2 k) + 2k"];
    let ascend = race.claim("all start, ascending", Rank::Best, in_order, least);
    let descend = race.claim("all start, descending", Rank::Best, in_order, least);
    let reversed = race.claim("all start, bit-reversed", Rank::Worst, bound, Exact(most));
    let random = race.claim("all start, worst of 10", Rank::Other, bound, AtMost(most));
    vec![
        case(A, ascend, [all_start(ascending(n))]),
        case(A, descend, [all_start(descending(n))]),
        case(A, reversed, [all_start(bit_reversed(n))]),
        case(A, random, shuffled(n, BOUND_RINGS).map(all_start)),
    ]
}
