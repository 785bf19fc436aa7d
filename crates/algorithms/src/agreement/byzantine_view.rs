//! What is drawn of a process among traitors.

use super::{Byzantine, Config, Phase, Tree};
use crate::show::{Item, Mark, ProcessView, Scene, Shape, Tone};
use bellwether_core::NodeId;

/// More lines than this of a tree are left out.
const LINES_MAX: usize = 40;

/// Who told it what, by whom; at the end, what it has decided on. The viewer knows the traitors, the
/// others do not.
pub(super) fn view(process: &Byzantine, config: &Config, scene: &Scene<'_>) -> ProcessView {
    let lies = config.traitors.contains(&scene.me);
    let phase = match process.phase {
        Phase::Outside => "missed rounds, takes no part".to_owned(),
        Phase::Round(0) => "waits for round 1".to_owned(),
        Phase::Round(round) => format!("round {round} of {}", config.rounds()),
        Phase::Ended if lies => "is done".to_owned(),
        Phase::Ended => "has decided".to_owned(),
    };
    let me = scene.group.place(scene.me).unwrap_or(0);
    let own = config.values.get(me).filter(|_| config.commands(scene.me));
    let ended = process.phase == Phase::Ended;
    ProcessView::new(phase)
        .mark_if(lies, Mark::Traitor)
        .mark_if(ended && !lies, Mark::Decided)
        .text_of("own value", own)
        .row("was told", Shape::Tree, told(&process.tree, config, scene))
        .table("decides on", scene.each(&process.vector))
}

/// The tree of what was told, path by path. Words of traitors stand out.
fn told(tree: &Tree, config: &Config, scene: &Scene<'_>) -> Vec<Item> {
    let mut items = Vec::new();
    let ring = scene.group.ring();
    for rank in 0..tree.width(1) {
        below(tree, config, ring, (1, rank), &mut items);
    }
    let more = items.len().saturating_sub(LINES_MAX);
    items.truncate(LINES_MAX);
    if more > 0 {
        items.push(Item::new(format!("and {more} more")).tone(Tone::Faint));
    }
    items
}

/// Adds a path and those that continue it, as far as something was told.
fn below(
    tree: &Tree,
    config: &Config,
    ring: &[NodeId],
    (length, rank): (usize, usize),
    items: &mut Vec<Item>,
) {
    let mut places = Vec::new();
    tree.path(length, rank, &mut places);
    let Some(last) = places.last().and_then(|place| ring.get(*place)) else { return };
    let value = tree.value(length, rank);
    if !value.is_nil() {
        let text = if length == 1 { format!("{last} says:") } else { format!("{last} heard:") };
        let by_traitor = config.traitors.contains(last);
        let item = Item::new(text).note(value).depth(length as u32 - 1);
        items.push(item.tone_if(by_traitor, Tone::Bad));
    }
    // The paths that continue it by one more process stand side by side.
    let relays = ring.len().saturating_sub(1 + length);
    if length < tree.rounds() {
        for relay in 0..relays {
            below(tree, config, ring, (length + 1, rank * relays + relay), items);
        }
    }
}
