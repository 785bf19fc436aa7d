//! The shape of a static tree, by arithmetic on places: no process stores it.

use std::fmt;
use std::str::FromStr;

/// A tree over the places 0 to n-1 of a group, in the order of a heap: 0 is the root, and with
/// k children each, the children of p are kp+1 to kp+k.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Tree {
    /// Every process has at most this many children, at least 1.
    Arity(u32),
    /// All others are children of the root.
    Star,
}

impl Default for Tree {
    fn default() -> Self {
        Tree::Arity(2)
    }
}

impl Tree {
    /// Each has one child.
    pub const LINE: Tree = Tree::Arity(1);

    /// The parent of the process at this place; the root has none.
    pub fn parent(self, place: usize) -> Option<usize> {
        let above = place.checked_sub(1)?;
        Some(match self {
            Tree::Arity(children) => above / children.max(1) as usize,
            Tree::Star => 0,
        })
    }

    /// The neighbour of `from` on the way to `to`; none if they are the same.
    pub fn towards(self, from: usize, to: usize) -> Option<usize> {
        if from == to {
            return None;
        }
        // Parents have smaller places than their children: climb until past `from`.
        let mut below = to;
        while below > from {
            match self.parent(below) {
                Some(above) if above == from => return Some(below),
                Some(above) => below = above,
                None => break,
            }
        }
        self.parent(from)
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tree::Arity(1) => f.write_str("line"),
            Tree::Arity(2) => f.write_str("binary"),
            Tree::Arity(children) => write!(f, "{children}"),
            Tree::Star => f.write_str("star"),
        }
    }
}

/// A text that names no tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownTree(String);

impl fmt::Display for UnknownTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "'{}' is no shape of a tree; expected line, binary, star, or the number of children \
             that each process has, at least 1",
            self.0
        )
    }
}

impl std::error::Error for UnknownTree {}

impl FromStr for Tree {
    type Err = UnknownTree;

    fn from_str(text: &str) -> Result<Self, UnknownTree> {
        match text {
            "line" => Ok(Tree::LINE),
            "binary" => Ok(Tree::Arity(2)),
            "star" => Ok(Tree::Star),
            _ => match text.parse() {
                Ok(children) if children > 0 => Ok(Tree::Arity(children)),
                _ => Err(UnknownTree(text.to_owned())),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_leads_to_its_end_along_edges() {
        for tree in [Tree::LINE, Tree::Arity(2), Tree::Arity(3), Tree::Star] {
            for from in 0..13 {
                for to in 0..13 {
                    let (mut at, mut steps) = (from, 0);
                    while let Some(next) = tree.towards(at, to) {
                        assert!(tree.parent(next) == Some(at) || tree.parent(at) == Some(next));
                        (at, steps) = (next, steps + 1);
                        assert!(steps < 13, "{tree}: from {from} to {to}");
                    }
                    assert_eq!(at, to, "{tree}: from {from}");
                }
            }
        }
    }

    #[test]
    fn shapes_are_read_as_they_are_written() {
        for tree in [Tree::LINE, Tree::Arity(2), Tree::Arity(7), Tree::Star] {
            assert_eq!(tree.to_string().parse(), Ok(tree));
        }
        for text in ["", "0", "-1", "bush", "2.5"] {
            assert_eq!(text.parse::<Tree>(), Err(UnknownTree(text.to_owned())));
        }
    }
}
