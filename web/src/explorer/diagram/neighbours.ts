import type { Plan } from "./plan";

/** The event that an arrow key leads to: along the process, or to the one above or below. */
export function neighbour(plan: Plan, from: number, key: string): number | null {
  const { events } = plan.model;
  const here = events[from];
  if (!here) return events.length > 0 ? 0 : null;
  if (key === "ArrowLeft" || key === "ArrowRight") {
    const way = key === "ArrowLeft" ? -1 : 1;
    for (let index = from + way; events[index]; index += way) if (events[index]!.node === here.node) return index;
    return null;
  }
  const way = key === "ArrowUp" ? -1 : 1;
  const rank = here.node == null ? (way < 0 ? plan.order.length : -1) : plan.order.indexOf(here.node);
  for (let other = rank + way; plan.order[other] !== undefined; other += way) {
    const nearest = nearestOf(plan, plan.order[other]!, from);
    if (nearest !== null) return nearest;
  }
  return null;
}

/** The event of a process that is nearest in time. */
function nearestOf({ model }: Plan, node: number, from: number): number | null {
  for (let off = 0; off < model.events.length; off++) {
    for (const index of [from - off, from + off]) if (model.events[index]?.node === node) return index;
  }
  return null;
}
