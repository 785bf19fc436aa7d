import { describe, expect, test } from "vitest";
import { pairFlights, underWay } from "./flights";
import type { Event } from "./recording";
import { sample } from "./sample";

const post = (event: "send" | "receive" | "drop", id: number, us = 0): Event =>
  ({ us, node: 1, lamport: 1, vector: {}, event, id, from: 1, to: 2, kind: "X", role: "protocol", text: "X", why: "lost" }) as Event;

describe("messages", () => {
  test("are paired with their arrivals, also if they were doubled or dropped", () => {
    const { all, ofEvent } = pairFlights([post("send", 7), post("send", 8), post("receive", 7), post("drop", 8), post("receive", 7)]);
    expect(all.map(({ send, arrive, why }) => [send, arrive, why])).toEqual([
      [0, 2, null],
      [0, 4, null],
      [1, 3, "lost"],
    ]);
    expect([...ofEvent]).toEqual([0, 2, 0, 2, 1]);
  });

  test("that were sent before a recording began are left out", () => {
    expect(pairFlights([post("receive", 1)]).all).toEqual([]);
  });

  test("are under way from their sending until they arrive", () => {
    for (const name of ["bully", "storm"] as const) {
      const { flights, events } = sample(name);
      for (let step = 0; step <= events.length; step++) {
        const expected = flights.all.filter(({ send, arrive }) => send < step && (arrive === null || arrive >= step));
        expect(underWay(flights, step)).toEqual(expected);
      }
    }
  });

  test("are found in long runs, too", () => {
    const events: Event[] = [];
    for (let id = 0; id < 400; id++) {
      events.push(post("send", id));
      if (id >= 3) events.push(post("receive", id - 3));
      if (id % 50 === 7) events.push(post("receive", id - 4));
    }
    const flights = pairFlights(events);
    for (let step = 0; step <= events.length; step++) {
      const expected = flights.all.filter(({ send, arrive }) => send < step && (arrive === null || arrive >= step));
      expect(underWay(flights, step)).toEqual(expected);
    }
  });
});
