//! The worked examples, as they are in `scenarios/`.

/// All of them: the path below `scenarios/`, and the text.
pub const SCENARIOS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/scenarios.rs"));

/// The text of a scenario.
pub fn scenario(path: &str) -> Option<&'static str> {
    SCENARIOS.iter().find(|(name, _)| *name == path).map(|(_, text)| *text)
}
