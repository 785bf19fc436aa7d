import { describe, expect, test } from "vitest";
import { Relation, relationsOf } from "./causality";
import type { Model } from "./model";
import { sample } from "./sample";

/** What follows from what, by the definition: along a process, and from a sending to its arrival. */
function follows(model: Model): Set<number>[] {
  const causes: Set<number>[] = [];
  const latest = new Map<number, number>();
  model.events.forEach((event, index) => {
    const mine = new Set<number>();
    const flight = model.flights.all[model.flights.ofEvent[index]!];
    const before = [event.event === "drop" ? undefined : latest.get(event.node ?? -1)];
    if (flight && event.event !== "send") before.push(flight.send);
    for (const one of before) if (one !== undefined) for (const cause of [one, ...causes[one]!]) mine.add(cause);
    causes.push(event.event === "note" ? new Set() : mine);
    if (event.node != null && event.event !== "drop") latest.set(event.node, index);
  });
  return causes;
}

describe.each(["bully", "storm"] as const)("in the run %s", (name) => {
  test("the stamps say what follows from what", () => {
    const model = sample(name);
    const causes = follows(model);
    model.events.forEach((event, index) => {
      const relations = relationsOf(model, index);
      model.events.forEach((other, at) => {
        const expected =
          at === index ? Relation.self
          : event.event === "note" || other.event === "note" ? Relation.none
          : causes[index]!.has(at) ? Relation.past
          : causes[at]!.has(index) ? Relation.future
          : Relation.none;
        expect(relations[at], `${at} seen from ${index}`).toBe(expected);
      });
    });
  });
});
