import { describe, expect, test } from "vitest";
import { costsOf, type Cost } from "./costs";
import { modelOf } from "./model";
import type { Event } from "./recording";
import { sampleRecording } from "./sample";

const recording = sampleRecording("bully"); // ELECTION 3, OK 1, COORDINATOR 2
const part = (kind: string, value: number) => ({ kinds: [kind], formula: String(value), value });
const cost = (name: string, judged: string, kinds: [string, number][]): Cost => ({
  case: name,
  judged,
  formula: "n",
  value: kinds.reduce((sum, [, value]) => sum + value, 0),
  kinds: kinds.map(([kind, value]) => part(kind, value)),
});

function compared(costs: Cost[], events: readonly Event[] = recording.events, agreed = true) {
  const outcome = { us: 0, messages: [], agreed, goal: "", violation: null, coordinators: {}, facts: [], costs };
  return costsOf(modelOf({ ...recording, events, outcome }));
}

const names = (costs: readonly { cost: Cost }[]) => costs.map(({ cost }) => cost.case);

describe("a case of the textbook", () => {
  const same = cost("each kind", "exact", [["ELECTION", 3], ["OK", 1], ["COORDINATOR", 2]]);

  test("fits if every kind was sent as often as it says", () => {
    const { fits, others, entries } = compared([same]);
    expect(names(fits)).toEqual(["each kind"]);
    expect(fits[0]).toMatchObject({ sent: 6 });
    expect([others, entries]).toEqual([[], null]);
  });

  test("does not fit because totals agree", () => {
    const totals = cost("totals", "exact", [["ELECTION", 1], ["OK", 3], ["COORDINATOR", 2]]);
    const { fits, others } = compared([totals, same]);
    expect(names(fits)).toEqual(["each kind"]);
    expect(others.map((one) => one.case)).toEqual(["totals"]);
  });

  test("does not fit if another kind was sent, or if it is a mean", () => {
    expect(compared([cost("fewer kinds", "exact", [["ELECTION", 3]])]).fits).toEqual([]);
    expect(compared([{ ...same, judged: "mean" }]).fits).toEqual([]);
  });

  test("is a bound only for a run that came to its end, and only if nothing fits exactly", () => {
    const bound = cost("bound", "at-most", [["ELECTION", 9], ["OK", 9], ["COORDINATOR", 9]]);
    expect(names(compared([bound, same]).fits)).toEqual(["each kind"]);
    expect(names(compared([bound]).fits)).toEqual(["bound"]);
    expect(compared([bound], recording.events, false).fits).toEqual([]);
  });
});

describe("a formula for one entry", () => {
  const perEntry = cost("one asks, light load", "exact", [["ELECTION", 3 / 3], ["OK", 1 / 3], ["COORDINATOR", 2 / 3]]);

  test("is compared with the messages divided by the entries", () => {
    const enter = (entry: string, section: string) => ({ ...recording.events.at(-1)!, section, entry });
    const three = ["#1", "#2", "#3"].flatMap((entry) => [enter(entry, "inside"), enter(entry, "idle")]);
    const { fits, entries } = compared([perEntry], [...recording.events, ...three]);
    expect(entries).toBe(3);
    expect(fits[0]?.parts.map(({ sent }) => sent)).toEqual([1, 1 / 3, 2 / 3]);
  });

  test("fits no run in which there was no entry", () => {
    expect(compared([perEntry]).fits).toEqual([]);
  });
});
