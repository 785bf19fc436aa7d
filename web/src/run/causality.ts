import type { Model } from "./model";

/** How an event stands to the one that is looked at. */
export const Relation = { none: 0, past: 1, future: 2, self: 3 } as const;

/**
 * How every event stands to one of them, by the vector stamps: what can have caused it, what it
 * can have caused, and what is concurrent with it. A message that does not arrive bears the stamps
 * of its sending: it follows from that and causes nothing. What happens to the network bears none.
 */
export function relationsOf(model: Model, index: number): Uint8Array {
  const { events } = model;
  const relations = new Uint8Array(events.length);
  const looked = stampedBy(model, index);
  const { node: here, vector } = events[looked ?? index]!;
  if (looked !== null && here != null) {
    const own = vector[here] ?? 0;
    for (let other = 0; other < events.length; other++) {
      const stamped = stampedBy(model, other);
      if (stamped === null) continue;
      const { node, vector: theirs } = events[stamped]!;
      if (node == null) continue;
      const isDrop = stamped !== other;
      if (!isDrop && theirs[node]! <= (vector[node] ?? 0)) relations[other] = Relation.past;
      else if (looked === index && (theirs[here] ?? 0) >= own) relations[other] = Relation.future;
    }
  }
  relations[index] = Relation.self;
  return relations;
}

/** The event whose stamps an event bears: its own or, if it is a drop, that of the sending. */
function stampedBy(model: Model, index: number): number | null {
  const event = model.events[index];
  if (!event || event.event === "note") return null;
  if (event.event !== "drop") return index;
  const number = model.flights.ofEvent[index]!;
  return number < 0 ? null : model.flights.all[number]!.send;
}
