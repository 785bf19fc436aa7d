//! Whether a state is as it must be.

use crate::tables::{Claim, Numbers, Tables, claims};
use crate::world::{Players, clock};
use bellwether_algorithms::referee::Breach;
use bellwether_core::{Cluster, InFlight, Invariant, Process, Shape, Validity};

/// What is wrong with a state, if anything is.
pub(crate) fn judge<P: Process>(
    tables: &mut Tables<'_, P>,
    world: &Numbers<'_, P>,
) -> Option<Breach> {
    let model = tables.plain.model;
    if !model.invariants.is_empty()
        && let Some(breach) = states(tables, world)
    {
        return Some(breach);
    }
    if model.referee.is_none() && world.witness == 0 {
        return None;
    }
    let witness = tables.witness(world.witness);
    if let Some(breach) = witness.broken() {
        return Some(breach.clone());
    }
    // Where nothing is left to happen but that time goes on, the run may be over.
    let busy = world.inboxes.iter().any(|inbox| !tables.is_empty(inbox));
    if busy || world.slots.iter().any(|slot| tables.looks(*slot).has_timers()) {
        return None;
    }
    let mut live = Vec::new();
    for (place, id) in world.slots.iter().enumerate() {
        if tables.is_up(id) {
            live.push(model.group.ring()[place]);
        }
    }
    witness.closes(&live)
}

/// Whether the invariants about states hold.
fn states<P: Process>(tables: &mut Tables<'_, P>, world: &Numbers<'_, P>) -> Option<Breach> {
    let model = tables.plain.model;
    let ring = model.group.ring();
    let mut all = Vec::new();
    for (place, id) in world.slots.iter().enumerate() {
        let claims = if model.reads_clock {
            let slot = tables.slot(*id);
            let Some(process) = slot.process() else { continue };
            let ticks = clock(&tables.rest(&world.rest), place);
            claims(model, ring[place], process, model.reading(place, ticks))
        } else {
            let looks = tables.looks(*id);
            if !looks.matters {
                continue;
            }
            looks.claims.clone()
        };
        all.push((ring[place], claims));
    }
    if all.is_empty() && !model.looks_at_whole() {
        return None;
    }
    let recovered = tables.rest(&world.rest).left.recoveries < model.faults.recoveries;
    for (index, invariant) in model.invariants.iter().enumerate() {
        if invariant.validity == Validity::UntilRecovery && recovered {
            continue;
        }
        if let Shape::Whole(holds) = &invariant.shape {
            if !whole(tables, world, &**holds) {
                let Invariant { name, text, .. } = *invariant;
                return Some(Breach { name, text, by: Vec::new() });
            }
            continue;
        }
        let mut holders: Vec<(u64, _)> = Vec::new();
        for (who, claims) in &all {
            let by = match claims[index] {
                Claim::None => continue,
                Claim::Broken => vec![*who],
                Claim::Holds(what) => {
                    let rival = holders.iter().find(|(held, _)| *held == what);
                    let rival = rival.map(|(_, rival)| *rival);
                    holders.push((what, *who));
                    let Some(rival) = rival else { continue };
                    vec![rival, *who]
                }
            };
            return Some(Breach { name: invariant.name, text: invariant.text, by });
        }
    }
    None
}

/// Whether something holds of all live processes and all messages in flight together. See
/// [`Model::invariants`](crate::Model::invariants) for what counts as in flight.
fn whole<P: Process>(
    tables: &mut Tables<'_, P>,
    world: &Numbers<'_, P>,
    holds: &(dyn Fn(&Cluster<'_, P>) -> bool + Send + Sync),
) -> bool {
    let ring = tables.plain.model.group.ring();
    let slots: Vec<_> = world.slots.iter().map(|id| tables.slot(*id)).collect();
    let inboxes: Vec<_> = world.inboxes.iter().map(|id| tables.inbox(*id)).collect();
    let live = ring.iter().zip(&slots).filter_map(|(id, slot)| Some((*id, slot.process()?)));
    let live: Vec<_> = live.collect();
    let in_flight = inboxes.iter().flat_map(|inbox| {
        inbox.flights.iter().map(|flight| InFlight {
            from: ring[usize::from(flight.from)],
            to: ring[usize::from(inbox.to)],
            msg: &flight.msg,
        })
    });
    let in_flight: Vec<_> = in_flight.collect();
    holds(&Cluster { live: &live, in_flight: &in_flight })
}
