import { describe, expect, test } from "vitest";
import { modelOf } from "./model";
import { followNetwork, reaches } from "./network";
import type { Event } from "./recording";
import { sample, sampleRecording } from "./sample";
import { Step } from "./step";
import { eventsUntil } from "./timeline";

const bully = sample("bully");
const storm = sample("storm");
/** The step after the first event that fits. */
const after = (model: typeof bully, fits: (event: (typeof bully.events)[number]) => boolean) =>
  model.events.findIndex(fits) + 1;

describe("a process", () => {
  test("forgets its coordinator when it crashes", () => {
    expect(Step.at(bully, 0).process(4)).toMatchObject({ up: true, coordinator: 4 });
    const crashed = after(bully, ({ event, node }) => event === "crash" && node === 4);
    expect(Step.at(bully, crashed).process(4)).toMatchObject({ up: false, coordinator: null });
    expect(Step.at(bully, crashed - 1).process(4)).toMatchObject({ up: true });
  });

  test("follows whom the events say", () => {
    expect(Step.at(bully, bully.last).process(2)).toMatchObject({ coordinator: 3 });
    expect(Step.at(bully, bully.last).process(3)).toMatchObject({ coordinator: 3 });
  });

  test("has of the section what the events say, with the number of the entry", () => {
    expect(Step.at(storm, 1).process(1)).toMatchObject({ section: "inside", entry: "#1" });
    const spans = storm.spans.filter(({ what }) => what === "inside").sort((a, b) => a.from - b.from);
    expect(spans.map(({ label }) => label)).toEqual(["#1", "#2", "#3", "#4"]);
    for (const { from, to } of spans) expect(to === null || to > from).toBe(true);
  });

  test("pauses and goes on", () => {
    const paused = after(storm, ({ event }) => event === "pause");
    const resumed = after(storm, ({ event }) => event === "resume");
    expect(Step.at(storm, paused).process(3).paused).toBe(true);
    expect(Step.at(storm, resumed).process(3).paused).toBe(false);
    expect(storm.spans).toContainEqual({ node: 3, from: paused - 1, to: resumed - 1, what: "paused", label: null });
  });

  test("changes its state field by field", () => {
    const recording = sampleRecording("bully");
    const states = { 2: { phase: "Idle", asked: "3" } };
    const events = recording.events.map((event, index) =>
      index === 2 ? { ...event, state: { phase: "Waiting", asked: null, answers: "0" } } : event,
    );
    const model = modelOf({ ...recording, header: { ...recording.header, states }, events });
    expect(Step.at(model, 2).process(2).fields).toEqual({ phase: "Idle", asked: "3" });
    expect(Step.at(model, 3).process(2).fields).toEqual({ phase: "Waiting", answers: "0" });
    expect(Step.at(model, 3).process(2).changed).toEqual(["phase", "asked", "answers"]);
    expect(Step.at(model, model.last).process(2).fields).toEqual({ phase: "Waiting", answers: "0" });
    expect(Step.at(model, model.last).process(1).fields).toEqual({});
  });
});

test("messages are counted up to the step", () => {
  const end = Object.fromEntries(Step.at(bully, bully.last).counts.map((count, kind) => [bully.flights.kinds[kind]!.name, count]));
  expect(end).toEqual({ ELECTION: 3, OK: 1, COORDINATOR: 2 });
  for (let step = 0; step <= storm.last; step++) {
    const sent = storm.events.slice(0, step).filter(({ event }) => event === "send").length;
    expect(Step.at(storm, step).counts.reduce((a, b) => a + b, 0)).toBe(sent);
  }
});

test("a partition lasts until it is healed", () => {
  const parted = after(storm, (event) => event.event === "note" && event.text.startsWith("partition"));
  const healed = after(storm, (event) => event.event === "note" && event.text === "heal");
  expect(reaches(Step.at(storm, parted).cuts, 1, 3)).toBe(false);
  expect(reaches(Step.at(storm, parted).cuts, 1, 2)).toBe(true);
  expect(Step.at(storm, parted - 1).cuts).toEqual([]);
  expect(Step.at(storm, healed).cuts).toEqual([]);
});

describe("moments worth a stop", () => {
  test("are elections, a coordinator, agreement, crashes", () => {
    expect(bully.moments.map(({ kind, text }) => [kind, text])).toEqual([
      ["fault", "P1 crashes"],
      ["fault", "P4 crashes"],
      ["election", "P2 starts an election"],
      ["election", "P3 starts an election"],
      ["coordinator", "P3 elected P3"],
      ["agreement", "all live processes follow P3"],
    ]);
  });

  test("end with what was broken", () => {
    const [model, recording] = [violated, sampleRecording("bully")];
    expect(model.last).toBe(recording.events.length + 1);
    expect(model.moments.at(-1)).toMatchObject({ kind: "violation", step: model.last });
    expect(Step.at(model, model.last).place).toBeGreaterThan(Step.at(model, model.last - 1).place);
    expect(Step.at(model, model.last).us).toBe(recording.events.at(-1)!.us);
  });

  test("follow each other both ways", () => {
    const forwards: number[] = [];
    for (let moment = Step.at(storm, 0).moment(true); moment; moment = Step.at(storm, moment.step).moment(true)) forwards.push(moment.step);
    const backwards = [forwards.at(-1)!];
    for (let moment = Step.at(storm, backwards[0]!).moment(false); moment; moment = Step.at(storm, moment.step).moment(false)) backwards.push(moment.step);
    expect(backwards.reverse()).toEqual(forwards);
    expect(forwards.length).toBeGreaterThan(5);
  });
});

describe("the time line", () => {
  test("has a place of its own for every event, in their order", () => {
    for (const model of [bully, storm]) {
      for (let step = 1; step <= model.events.length; step++) {
        expect(Step.at(model, step).place).toBeGreaterThan(Step.at(model, step - 1).place);
        expect(eventsUntil(model.timeline, Step.at(model, step).place)).toBe(step);
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
    const model = empty;
    expect(model.last).toBe(0);
    expect(Step.at(model, 0).place).toBeLessThan(model.timeline.end);
    expect(Step.at(model, 0).us).toBe(0);
  });
});

test("what a process sends and says belongs to what made it act", () => {
  const received = after(bully, ({ event, node }) => event === "receive" && node === 3);
  expect(Step.at(bully, received).fired).toEqual({ node: 3, rules: ["R4", "R1"] });
  expect(Step.at(bully, received + 3).began).toBe(received - 1);
  expect(Step.at(bully, received + 3).fired.rules).toEqual(["R4", "R1"]);
  expect(Step.at(bully, 0).fired).toEqual({ node: null, rules: [] });
});

const violation = { name: "one-coordinator", text: "at most one", us: 5, by: [3, 4] };
const violated = modelOf({
  ...sampleRecording("bully"),
  outcome: { us: 5, messages: [], agreed: false, goal: "", violation, coordinators: {}, facts: [], costs: [] },
});
const empty = modelOf({ ...sampleRecording("bully"), events: [] });

test("the step that shows a violation belongs to the last event", () => {
  const [last, before] = [Step.last(violated), Step.at(violated, violated.last - 1)];
  expect([last.violation, before.violation]).toEqual([violation, null]);
  expect(last.event).toBe(before.event);
  expect([last.began, last.fired, last.happened]).toEqual([before.began, before.fired, before.happened]);
  expect(Step.first(empty).began).toBe(-1);
});

describe("a step", () => {
  const numbers = [-Infinity, -1, -0.5, 0, 0.5, 1, 2.9, 21, 22, 23, 24, 1e9, Infinity, NaN];

  test.each([bully, storm, violated, empty])("is always one that the run has, whatever it is made of", (model) => {
    for (const number of [...numbers, model.last, model.last + 1]) {
      const step = Step.at(model, number);
      expect(Number.isInteger(step.number) && step.number >= 0 && step.number <= model.last, `${number}`).toBe(true);
      expect(step.happened).toBeLessThanOrEqual(model.events.length);
      expect(Number.isFinite(step.place) && Number.isFinite(step.us)).toBe(true);
      expect(step.event === null).toBe(step.happened === 0);
      expect(step.counts.every(Number.isInteger)).toBe(true);
      for (const node of model.header.nodes) expect(step.process(node).fields).toBeDefined();
      for (const flight of step.flying) expect(flight.send).toBeLessThan(step.happened);
      expect([step.cuts, step.fired, step.actors(3), step.moment(true), step.moment(false)]).not.toContain(undefined);
    }
  });

  test("is no number: what looks into a run takes nothing else", () => {
    // @ts-expect-error: a number may be out of range
    const wrong: Step = 5;
    expect(wrong).not.toBeInstanceOf(Step);
    expect(Step.at(bully, 5)).toBeInstanceOf(Step);
  });
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
