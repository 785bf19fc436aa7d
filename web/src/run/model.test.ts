import { describe, expect, test } from "vitest";
import { countsAt, cutsAt, modelOf, momentFrom, placeOf, processAt, timeAt } from "./model";
import { followNetwork, reaches } from "./network";
import type { Event } from "./recording";
import { sample, sampleRecording } from "./sample";
import { beganAt, firedAt } from "./steps";
import { eventsUntil } from "./timeline";

const bully = sample("bully");
const storm = sample("storm");
/** The step after the first event that fits. */
const after = (model: typeof bully, fits: (event: (typeof bully.events)[number]) => boolean) =>
  model.events.findIndex(fits) + 1;

describe("a process", () => {
  test("forgets its coordinator when it crashes", () => {
    expect(processAt(bully, 4, 0)).toMatchObject({ up: true, coordinator: 4 });
    const crashed = after(bully, ({ event, node }) => event === "crash" && node === 4);
    expect(processAt(bully, 4, crashed)).toMatchObject({ up: false, coordinator: null });
    expect(processAt(bully, 4, crashed - 1)).toMatchObject({ up: true });
  });

  test("follows whom the events say", () => {
    expect(processAt(bully, 2, bully.last)).toMatchObject({ coordinator: 3 });
    expect(processAt(bully, 3, bully.last)).toMatchObject({ coordinator: 3 });
  });

  test("has of the section what the events say, with the number of the entry", () => {
    expect(processAt(storm, 1, 1)).toMatchObject({ section: "inside", entry: "#1" });
    const spans = storm.spans.filter(({ what }) => what === "inside").sort((a, b) => a.from - b.from);
    expect(spans.map(({ label }) => label)).toEqual(["#1", "#2", "#3", "#4"]);
    for (const { from, to } of spans) expect(to === null || to > from).toBe(true);
  });

  test("pauses and goes on", () => {
    const paused = after(storm, ({ event }) => event === "pause");
    const resumed = after(storm, ({ event }) => event === "resume");
    expect(processAt(storm, 3, paused).paused).toBe(true);
    expect(processAt(storm, 3, resumed).paused).toBe(false);
    expect(storm.spans).toContainEqual({ node: 3, from: paused - 1, to: resumed - 1, what: "paused", label: null });
  });

  test("changes its state field by field", () => {
    const recording = sampleRecording("bully");
    const states = { 2: { phase: "Idle", asked: "3" } };
    const events = recording.events.map((event, index) =>
      index === 2 ? { ...event, state: { phase: "Waiting", asked: null, answers: "0" } } : event,
    );
    const model = modelOf({ ...recording, header: { ...recording.header, states }, events });
    expect(processAt(model, 2, 2).fields).toEqual({ phase: "Idle", asked: "3" });
    expect(processAt(model, 2, 3).fields).toEqual({ phase: "Waiting", answers: "0" });
    expect(processAt(model, 2, 3).changed).toEqual(["phase", "asked", "answers"]);
    expect(processAt(model, 2, model.last).fields).toEqual({ phase: "Waiting", answers: "0" });
    expect(processAt(model, 1, model.last).fields).toEqual({});
  });
});

test("messages are counted up to the step", () => {
  const end = Object.fromEntries(countsAt(bully, bully.last).map((count, kind) => [bully.flights.kinds[kind]!.name, count]));
  expect(end).toEqual({ ELECTION: 3, OK: 1, COORDINATOR: 2 });
  for (let step = 0; step <= storm.last; step++) {
    const sent = storm.events.slice(0, step).filter(({ event }) => event === "send").length;
    expect(countsAt(storm, step).reduce((a, b) => a + b, 0)).toBe(sent);
  }
});

test("a partition lasts until it is healed", () => {
  const parted = after(storm, (event) => event.event === "note" && event.text.startsWith("partition"));
  const healed = after(storm, (event) => event.event === "note" && event.text === "heal");
  expect(reaches(cutsAt(storm, parted), 1, 3)).toBe(false);
  expect(reaches(cutsAt(storm, parted), 1, 2)).toBe(true);
  expect(cutsAt(storm, parted - 1)).toEqual([]);
  expect(cutsAt(storm, healed)).toEqual([]);
});

describe("moments worth a stop", () => {
  test("are elections, a coordinator, agreement, crashes", () => {
    expect(bully.moments.map(({ kind, text }) => [kind, text])).toEqual([
      ["fault", "P1 crashes"],
      ["fault", "P4 crashes"],
      ["election", "P2 starts an election"],
      ["election", "P3 starts an election"],
      ["coordinator", "P3 elected P3"],
      ["agreement", "all that are up follow P3"],
    ]);
  });

  test("end with what was broken", () => {
    const recording = sampleRecording("bully");
    const violation = { name: "one-coordinator", text: "at most one", us: 5, by: [3, 4] };
    const outcome = { us: 5, messages: [], agreed: false, goal: "", violation, coordinators: {}, facts: [], costs: [] };
    const model = modelOf({ ...recording, outcome });
    expect(model.last).toBe(recording.events.length + 1);
    expect(model.moments.at(-1)).toMatchObject({ kind: "violation", step: model.last });
    expect(placeOf(model, model.last)).toBeGreaterThan(placeOf(model, model.last - 1));
    expect(timeAt(model, model.last)).toBe(recording.events.at(-1)!.us);
  });

  test("follow each other both ways", () => {
    const forwards: number[] = [];
    for (let moment = momentFrom(storm, 0, true); moment; moment = momentFrom(storm, moment.step, true)) forwards.push(moment.step);
    const backwards: number[] = [];
    for (let moment = momentFrom(storm, storm.last + 1, false); moment; moment = momentFrom(storm, moment.step, false)) backwards.push(moment.step);
    expect(backwards.reverse()).toEqual(forwards);
    expect(forwards.length).toBeGreaterThan(5);
  });
});

describe("the time line", () => {
  test("has a place of its own for every event, in their order", () => {
    for (const model of [bully, storm]) {
      for (let step = 1; step <= model.events.length; step++) {
        expect(placeOf(model, step)).toBeGreaterThan(placeOf(model, step - 1));
        expect(eventsUntil(model.timeline, placeOf(model, step))).toBe(step);
      }
    }
  });

  test("is about as long as its messages take, and leaves long silences out", () => {
    expect(bully.timeline.tears.map(({ us }) => us)).toEqual([90_000, 90_000]);
    expect(bully.timeline.end).toBeLessThan(8);
    const { send, arrive } = bully.flights.all[0]!;
    expect(bully.timeline.at[arrive!]! - bully.timeline.at[send]!).toBeCloseTo(1, 1);
  });

  test("stays short where thousands of things happen at once", () => {
    const recording = sampleRecording("bully");
    const crowd = Array.from({ length: 5000 }, (_, index) => ({ ...recording.events[2]!, node: 1 + (index % 4), us: index * 3 }));
    const { timeline } = modelOf({ ...recording, events: [...recording.events.slice(0, 2), ...crowd] });
    expect(timeline.end).toBeLessThan(600);
  });

  test("of an empty run is a moment", () => {
    const model = modelOf({ ...sampleRecording("bully"), events: [] });
    expect(model.last).toBe(0);
    expect(placeOf(model, 0)).toBeLessThan(model.timeline.end);
    expect(timeAt(model, 0)).toBe(0);
  });
});

test("what a process sends and says belongs to what made it act", () => {
  const received = after(bully, ({ event, node }) => event === "receive" && node === 3);
  expect(firedAt(bully.events, received)).toEqual({ node: 3, rules: ["R4", "R1"] });
  expect(beganAt(bully.events, received + 3)).toBe(received - 1);
  expect(firedAt(bully.events, received + 3).rules).toEqual(["R4", "R1"]);
  expect(firedAt(bully.events, 0)).toEqual({ node: null, rules: [] });
});

test("the step that shows a violation belongs to the last event", () => {
  const { events } = bully;
  expect(beganAt(events, events.length + 1)).toBe(beganAt(events, events.length));
  expect(firedAt(events, events.length + 1)).toEqual(firedAt(events, events.length));
  expect(beganAt([], 1)).toBe(-1);
});

test("a cut is healed by its own words, and the last by none", () => {
  const note = (text: string): Event => ({ us: 0, lamport: 0, vector: {}, event: "note", text });
  const notes = ["cut 1<>2", "partition 3", "cut 2>1", "heal cut 1<>2", "heal partition 3", "heal"].map(note);
  const network = followNetwork([1, 2, 3], notes);
  const words = network.map(({ cuts }) => cuts.map((cut) => cut.words));
  expect(words.slice(3)).toEqual([["cut 1<>2", "partition 3", "cut 2>1"], ["partition 3", "cut 2>1"], ["cut 2>1"], []]);
  expect(reaches(network[1]!.cuts, 1, 2) || reaches(network[1]!.cuts, 2, 1)).toBe(false);
  expect(reaches(network[1]!.cuts, 1, 3)).toBe(true);
  expect([reaches(network[5]!.cuts, 2, 1), reaches(network[5]!.cuts, 1, 2)]).toEqual([false, true]);
});
