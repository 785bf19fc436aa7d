import { describe, expect, test } from "vitest";
import { branchLabel, commonEvents, coordinatorsOf, cutLink, messagesOf, stepAtTime, verdictOf } from "./branches";
import { modelOf } from "./model";
import { sample, sampleRecording } from "./sample";

describe("a branch", () => {
  test("is called after what is done", () => {
    const label = (command: string) => branchLabel({ parent: 0, afterUs: 20_000, command });
    expect(label("crash 3")).toBe("P3 crashes at 20ms");
    expect(label("crash 1 4")).toBe("P1, P4 crash at 20ms");
    expect(label("pause 2")).toBe("P2 pauses at 20ms");
    expect(label(cutLink(1, 2))).toBe("link P1–P2 cut at 20ms");
    expect(label("cut 1>2")).toBe("P1 cut off from P2 at 20ms");
    expect(label("partition 1,2|3,4")).toBe("partition 1,2 | 3,4 at 20ms");
    expect(label("heal")).toBe("cuts healed at 20ms");
    expect(label("heal cut 1<>2")).toBe("healed: link P1–P2 cut at 20ms");
    expect(label("suspect 2")).toBe("P2: suspect at 20ms");
    expect(label("transfer:2:50 1")).toBe("P1: transfer:2:50 at 20ms");
  });

  test("parts from its run where they first differ", () => {
    const { events } = sampleRecording("bully");
    expect(commonEvents(events, events)).toBe(events.length);
    expect(commonEvents(events, events.slice(0, 5))).toBe(5);
    const other = events.map((event, index) => (index === 7 ? { ...event, us: event.us + 1 } : event));
    expect(commonEvents(events, other)).toBe(7);
    expect(commonEvents(events, [])).toBe(0);
  });
});

describe("what came of a run", () => {
  const outcome = { us: 210_000, messages: [], agreed: true, goal: "all follow one", violation: null, coordinators: { 2: 3, 3: 3 }, facts: [], costs: [] };
  const recording = sampleRecording("bully");

  test("is good, bad, or not known", () => {
    expect(verdictOf(sample("bully")).is).toBe("open");
    expect(verdictOf(modelOf({ ...recording, outcome }))).toEqual({ is: "good", text: "all follow one" });
    expect(verdictOf(modelOf({ ...recording, outcome: { ...outcome, agreed: false } })).text).toBe("goal not reached: all follow one");
    const violation = { name: "one-inside", text: "only one is inside", us: 1500, by: [] };
    expect(verdictOf(modelOf({ ...recording, outcome: { ...outcome, violation } }))).toEqual({
      is: "bad",
      text: "one-inside violated at 1.5ms: only one is inside",
    });
  });

  test("names whom the processes follow", () => {
    expect(coordinatorsOf(modelOf({ ...recording, outcome }))).toBe("P3");
    const split = { ...outcome, coordinators: { 1: 2, 2: 2, 3: 5, 4: null } };
    expect(coordinatorsOf(modelOf({ ...recording, outcome: split }))).toBe("P2 (2), P5 (1)");
    expect(coordinatorsOf(modelOf({ ...recording, outcome: { ...outcome, coordinators: {} } }))).toBeNull();
  });

  test("counts the algorithm's own messages", () => {
    expect(messagesOf(sample("bully"))).toBe(6);
  });
});

test("a time leads to a step", () => {
  const model = sample("bully");
  expect(stepAtTime(model, 0).number).toBe(6);
  expect(stepAtTime(model, 10_000).number).toBe(11);
  expect(stepAtTime(model, 1e9).number).toBe(model.last);
});
