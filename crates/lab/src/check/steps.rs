//! A counterexample step by step, in the words of the checker: what happens, and nothing of what
//! comes of it.

use bellwether_algorithms::catalogue::Listed;
use bellwether_check::{Action, Model, Plain, World};
use bellwether_core::{AnyProcess, NodeId};
use bellwether_sim::units;

/// The steps of a run, one after the other.
pub(crate) fn steps(
    algorithm: &Listed,
    model: &Model<AnyProcess>,
    actions: &[Action],
) -> Vec<String> {
    let mut players = Plain { model };
    let mut world = players.start();
    let mut steps = Vec::new();
    for action in actions {
        steps.push(step(algorithm, model, &world, *action));
        world.step(&mut players, *action);
    }
    steps
}

fn step(
    algorithm: &Listed,
    model: &Model<AnyProcess>,
    world: &World<Plain<'_, AnyProcess>>,
    action: Action,
) -> String {
    let id = |place: u8| model.group.ring()[usize::from(place)];
    let flight = |to: u8, at: u8| {
        let flight = world.inboxes[usize::from(to)].flights.get(usize::from(at));
        let (from, msg): (Option<NodeId>, String) = match flight {
            Some(flight) => (Some(id(flight.from)), flight.msg.to_string()),
            None => (None, String::new()),
        };
        let from = from.map_or_else(String::new, |from| from.to_string());
        format!("{from} -> {}  {msg}", id(to))
    };
    let slot = |place: u8| &world.slots[usize::from(place)];
    match action {
        Action::Deliver { to, at } if slot(to).process().is_none() => {
            format!("{} arrives, but {} is down", flight(to, at), id(to))
        }
        Action::Deliver { to, at } => format!("{} arrives", flight(to, at)),
        Action::Lose { to, at } => format!("{} is lost", flight(to, at)),
        Action::Duplicate { to, at } => format!("{} becomes two", flight(to, at)),
        Action::Fire { place, at } => match slot(place).timers.get(usize::from(at)) {
            Some(armed) => format!("{} timer {:?} fires", id(place), armed.timer),
            None => format!("{} timer fires", id(place)),
        },
        Action::Input { place } => {
            let asked = world.rest.asked[usize::from(place)];
            let input = model.inputs[usize::from(place)].get(usize::from(asked));
            let verb = input.map(|input| algorithm.verb(input)).unwrap_or_default();
            format!("{} is asked for {verb}", id(place))
        }
        Action::Crash { place } => format!("{} crashes", id(place)),
        Action::Recover { place } => format!("{} recovers", id(place)),
        Action::Tick { place } => {
            let tick = model.timing.tick().map(units::show).unwrap_or_default();
            match place {
                Some(place) => format!("{} clock goes on by {tick}", id(place)),
                None => format!("{tick} pass"),
            }
        }
    }
}
