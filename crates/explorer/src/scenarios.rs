//! The worked examples, as they are in `scenarios/`. They are in the program compressed, and are
//! unpacked when the first of them is needed.

use miniz_oxide::inflate::decompress_to_vec;
use std::sync::LazyLock;

/// The texts that `build.rs` has packed.
struct Unpacked {
    gallery: &'static str,
    scenarios: Vec<(&'static str, &'static str)>,
}

static UNPACKED: LazyLock<Unpacked> = LazyLock::new(|| {
    let packed = include_bytes!(concat!(env!("OUT_DIR"), "/scenarios.z"));
    // A test says that it can be unpacked.
    let texts = decompress_to_vec(packed).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let mut texts = texts.unwrap_or_default().leak().split_terminator('\0');
    let gallery = texts.next().unwrap_or_default();
    let scenarios = std::iter::from_fn(|| Some((texts.next()?, texts.next()?))).collect();
    Unpacked { gallery, scenarios }
});

/// All of them: the path below `scenarios/`, and the text.
pub fn scenarios() -> &'static [(&'static str, &'static str)] {
    &UNPACKED.scenarios
}

/// The text of a scenario.
pub fn scenario(path: &str) -> Option<&'static str> {
    scenarios().iter().find(|(name, _)| *name == path).map(|(_, text)| *text)
}

/// The list of the gallery.
pub(crate) fn gallery() -> &'static str {
    UNPACKED.gallery
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_are_the_files() {
        assert_eq!(gallery(), include_str!("../../../scenarios/gallery.txt"));
        let bully = include_str!("../../../scenarios/election/bully-p1-to-p4.txt");
        assert_eq!(scenario("election/bully-p1-to-p4.txt"), Some(bully));
        assert!(scenarios().len() > 100);
        for (name, text) in scenarios() {
            assert!(name.ends_with(".txt") && text.contains("cluster "), "{name}");
        }
        assert_eq!(scenario("gallery.txt"), None);
    }
}
