use super::*;

fn value(text: &str) -> Value {
    Value::new(text).unwrap()
}

#[test]
fn every_path_has_a_place_of_its_own() {
    for (n, owner, rounds) in [(1, 0, 2), (2, 1, 2), (4, 0, 2), (5, 2, 3), (7, 6, 3), (4, 3, 6)] {
        let mut tree = Tree::new(n, owner, rounds);
        let mut path = Vec::new();
        let mut filled = 0;
        for length in 1..=rounds {
            for rank in 0..tree.width(length) {
                tree.path(length, rank, &mut path);
                assert_eq!(path.len(), length);
                assert_eq!(tree.rank(&path), Some(rank), "{path:?} of {n} at {owner}");
                assert!(tree.put(&path, value("a")));
                filled += 1;
            }
        }
        assert_eq!(filled, tree.len());
        assert!(tree.values.iter().all(|value| !value.is_nil()));
    }
}

#[test]
fn a_path_that_cannot_be_has_none() {
    let mut tree = Tree::new(4, 1, 2);
    for path in [&[][..], &[1], &[4], &[0, 0], &[0, 1], &[1, 0], &[0, 2, 3], &[usize::MAX]] {
        assert!(!tree.put(path, value("a")), "{path:?}");
    }
    assert!(tree.values.iter().all(|value| value.is_nil()));
    assert!(tree.put(&[0, 2], value("a")));
    assert!(!tree.put(&[0, 2], value("b")), "the first word counts");
}

#[test]
fn a_majority_is_more_than_half() {
    let [a, b, nil] = [value("a"), value("b"), Value::NIL];
    assert_eq!(majority(a, &[]), a);
    assert_eq!(majority(a, &[b]), nil);
    assert_eq!(majority(a, &[b, a]), a);
    assert_eq!(majority(a, &[b, b]), b);
    assert_eq!(majority(a, &[b, value("c")]), nil);
    assert_eq!(majority(nil, &[nil, a]), nil);
    assert_eq!(majority(a, &[b, a, b]), nil);
    assert_eq!(majority(b, &[a, a, b, a]), a);
}

/// The book's case: three values for each process, from itself and from the two others.
#[test]
fn four_processes_vote_among_three() {
    let [a, b, c] = ["a", "b", "c"].map(value);
    let mut tree = Tree::new(4, 0, 2);
    // P2 says b, and both others confirm it; P3 says c, and no process agrees; P4 says nothing.
    for (path, told) in [
        (&[1][..], b),
        (&[1, 2], b),
        (&[1, 3], b),
        (&[2], c),
        (&[2, 1], a),
        (&[2, 3], b),
        (&[3, 1], Value::NIL),
        (&[3, 2], a),
    ] {
        tree.put(path, told);
    }
    assert_eq!(tree.vote(), [b, Value::NIL, Value::NIL]);
}

#[test]
fn paths_travel_as_lists_and_bad_ones_do_not_arrive() {
    let path = Path::of(NodeId::new(1)).by(NodeId::new(4)).unwrap();
    assert_eq!(path.to_string(), "1,4");
    assert_eq!((path.commander(), path.sender()), (NodeId::new(1), NodeId::new(4)));
    let text = serde_json::to_string(&path).unwrap();
    assert_eq!(text, "[1,4]");
    assert_eq!(serde_json::from_str::<Path>(&text).unwrap(), path);
    for text in ["[]", "[1,2,3,4,5,6,7,8]", "3"] {
        assert!(serde_json::from_str::<Path>(text).is_err(), "{text}");
    }
}
