use super::*;

/// xorshift: good enough to choose edges.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as u32 % bound
    }
}

/// Whether `from` leads to `to` over these edges, by a search of everything.
fn leads(edges: &BTreeSet<(u32, u32)>, from: u32, to: u32) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(vertex) = open.pop() {
        for (_, next) in edges.range((vertex, 0)..=(vertex, u32::MAX)) {
            if *next == to {
                return true;
            }
            if seen.insert(*next) {
                open.push(*next);
            }
        }
    }
    false
}

fn has_cycle(edges: &BTreeSet<(u32, u32)>) -> bool {
    edges.iter().any(|(from, to)| from == to || leads(edges, *to, *from))
}

/// Every edge in order leads forward, and the books agree.
fn check(graph: &WaitForGraph<u32>, edges: &BTreeSet<(u32, u32)>) {
    assert_eq!(&graph.edges.keys().copied().collect::<BTreeSet<_>>(), edges);
    assert_eq!(graph.order.len(), graph.nodes.len());
    for (place, vertex) in &graph.order {
        assert_eq!(graph.nodes[vertex].place, *place);
    }
    let mut in_order = 0;
    for (vertex, node) in &graph.nodes {
        for next in node.out.iter() {
            assert!(node.place < graph.nodes[next].place, "{vertex} -> {next} leads back");
            assert!(graph.nodes[next].into.iter().any(|before| before == vertex));
            in_order += 1;
        }
    }
    assert_eq!(in_order + graph.closing.len(), edges.len());
    assert_eq!(graph.has_cycle(), has_cycle(edges));
}

fn is_cycle(edges: &BTreeSet<(u32, u32)>, cycle: &[u32]) -> bool {
    let distinct: BTreeSet<u32> = cycle.iter().copied().collect();
    let next = cycle.iter().cycle().skip(1);
    distinct.len() == cycle.len() && cycle.iter().zip(next).all(|(a, b)| edges.contains(&(*a, *b)))
}

#[test]
fn agrees_with_a_full_search_on_random_graphs() {
    let (mut closed, mut survived) = (0, 0);
    for seed in 1..400_u64 {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let n = 2 + random.below(14);
        let mut graph = WaitForGraph::default();
        let mut edges: BTreeSet<(u32, u32)> = BTreeSet::new();
        for _ in 0..120 {
            let edge = (random.below(n), random.below(n));
            match random.below(8) {
                0 if edges.contains(&edge) => {
                    edges.remove(&edge);
                    for cycle in graph.remove(edge.0, edge.1) {
                        assert!(is_cycle(&edges, &cycle));
                        survived += 1;
                    }
                }
                1 if random.below(4) == 0 => {
                    let touching = |(from, to): &(u32, u32)| *from == edge.0 || *to == edge.0;
                    for (from, to) in edges.iter().copied().filter(touching).collect::<Vec<_>>() {
                        edges.remove(&(from, to));
                        for cycle in graph.remove(from, to) {
                            assert!(is_cycle(&edges, &cycle));
                        }
                    }
                }
                2 if !edges.is_empty() => {
                    let index = random.below(edges.len() as u32) as usize;
                    let edge = *edges.iter().nth(index).unwrap();
                    edges.remove(&edge);
                    graph.remove(edge.0, edge.1);
                }
                _ if edges.contains(&edge) => {}
                _ => {
                    edges.insert(edge);
                    match graph.add(edge.0, edge.1) {
                        Some(cycle) => {
                            assert!(is_cycle(&edges, &cycle), "{cycle:?} in {edges:?}");
                            assert!(cycle.contains(&edge.0) && cycle.contains(&edge.1));
                            closed += 1;
                        }
                        None => assert!(edge.0 != edge.1),
                    }
                }
            }
            check(&graph, &edges);
        }
    }
    assert!(closed > 3_000 && survived > 300, "{closed} closed, {survived} survived");
}

#[test]
fn an_edge_that_is_there_twice_goes_with_the_second() {
    let mut graph = WaitForGraph::default();
    assert_eq!(graph.add(1, 2), None);
    assert_eq!(graph.add(1, 2), None);
    assert!(graph.remove(1, 2).is_empty());
    assert!(graph.contains(1, 2));
    assert_eq!(graph.add(2, 1), Some(vec![1, 2]));
    assert!(graph.remove(1, 2).is_empty());
    assert!(!graph.has_cycle() && graph.contains(2, 1));
    graph.remove(2, 1);
    assert!(graph.is_empty());
}

#[test]
fn places_are_spread_out_when_a_gap_is_used_up() {
    let mut graph = WaitForGraph::default();
    let mut edges = BTreeSet::new();
    // Each new chain must be squeezed in between the two before.
    graph.add(0, 1);
    edges.insert((0, 1));
    for vertex in 2..600 {
        for edge in [(vertex, 10_000 + vertex), (0, vertex), (vertex, vertex - 1)] {
            assert_eq!(graph.add(edge.0, edge.1), None);
            edges.insert(edge);
        }
    }
    for (vertex, node) in &graph.nodes {
        assert!(node.out.iter().all(|next| node.place < graph.nodes[next].place), "{vertex}");
    }
    assert_eq!(graph.add(1, 0).map(|cycle| cycle.len() >= 2), Some(true));
    assert_eq!(graph.edges.len(), edges.len() + 1);
}

#[test]
fn a_hundred_thousand_waiters_come_and_go_one_by_one() {
    const RESOURCE: u32 = 1_000_000;
    let n = 100_000;
    let mut graph = WaitForGraph::default();
    graph.add(RESOURCE, 0);
    for waiter in 1..n {
        assert_eq!(graph.add(waiter, RESOURCE), None);
    }
    // The holder lets go, and the next in the queue has it.
    for next in 1..2_000 {
        graph.remove(RESOURCE, next - 1);
        graph.remove(next, RESOURCE);
        assert_eq!(graph.add(RESOURCE, next), None);
    }
    assert_eq!(graph.add(1_999, n - 1).map(|cycle| cycle.len()), Some(3));
}
