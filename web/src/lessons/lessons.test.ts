import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { readTrace } from "../run/trace";
import { ALL } from "./all";
import { placesOf, stepOf } from "./find";
import { LESSONS } from "./list";

/** The lessons' runs, recorded by `bellwether sim runs/NAME.txt --trace json --out fixtures/NAME.jsonl`. */
function recorded(name: string) {
  const { recording, problem } = readTrace(readFileSync(new URL(`./fixtures/${name}.jsonl`, import.meta.url), "utf8"));
  expect(problem).toBeNull();
  return recording;
}

test("the gallery announces every lesson by its title, and every file is announced", () => {
  const files = readdirSync(new URL(".", import.meta.url)).filter((name) => name.endsWith(".lesson.ts"));
  expect(ALL.map(({ name }) => `${name}.lesson.ts`).sort()).toEqual(files.sort());
  expect(LESSONS.length).toBe(files.length);
  for (const { title, about } of LESSONS) expect(title && about).toBeTruthy();
});

describe.each(ALL)("the lesson $name", (lesson) => {
  const { events, header } = recorded(lesson.name);

  test("plays the algorithm that it is about", () => {
    const algorithm = lesson.algorithm ?? lesson.name;
    expect(header.algorithm).toBe(algorithm);
    expect(lesson.scenario).toMatch(new RegExp(`^cluster ${algorithm} `, "m"));
  });

  test("has three to eight stops", () => {
    expect(lesson.stops.length).toBeGreaterThanOrEqual(3);
    expect(lesson.stops.length).toBeLessThanOrEqual(8);
  });

  test.each(lesson.stops.map((stop, k) => ({ k: k + 1, stop })))("stop $k exists in the run", ({ stop }) => {
    expect(stepOf(events, stop.after), "its question").toBeGreaterThan(0);
    expect(stepOf(events, stop.until), "its answer").toBeGreaterThan(stepOf(events, stop.after));
  });

  test("comes to its stops in order", () => {
    expect(placesOf(lesson, events)).not.toBeNull();
  });

  test.each(lesson.stops.map((stop, k) => ({ k: k + 1, stop })))("stop $k names rules that fire there", ({ stop }) => {
    // Rules stand at the event that began a step, and a question may be asked in the middle of one.
    const asked = stepOf(events, stop.after);
    const began = events.slice(0, asked).findLastIndex((event) => event.node === stop.after.node && event.rules);
    const seen = events.slice(Math.max(began, 0), stepOf(events, stop.until)).flatMap((event) => event.rules ?? []);
    for (const rule of stop.rules) expect(seen).toContain(rule);
    // The production member is no algorithm of a textbook, and has no numbered rules in its runs.
    if (header.algorithm !== "member") expect(stop.rules.length).toBeGreaterThan(0);
  });

  test.each(lesson.stops.map((stop, k) => ({ k: k + 1, stop })))("stop $k speaks of messages and stamps as they are", ({ stop }) => {
    const until = events.slice(0, stepOf(events, stop.until));
    for (const [kind, count] of Object.entries(stop.sent ?? {})) {
      expect(until.filter((event) => event.event === "send" && event.kind === kind), kind).toHaveLength(count);
    }
    for (const { at, lamport, vector } of stop.stamped ?? []) {
      const event = events[stepOf(events, at) - 1]!;
      if (lamport !== undefined) expect(event.lamport).toBe(lamport);
      if (vector !== undefined) expect(event.vector).toEqual(vector);
    }
  });

  test.each(lesson.stops.map((stop, k) => ({ k: k + 1, stop })))(
    "stop $k has one right answer among others",
    ({ stop }) => {
      expect(stop.choices.length).toBeGreaterThanOrEqual(2);
      expect(stop.choices.length).toBeLessThanOrEqual(4);
      expect(stop.choices.filter((choice) => choice.right)).toHaveLength(1);
      for (const { say, because } of stop.choices) expect(say.length * because.length).toBeGreaterThan(0);
    },
  );
});

test("a run of another kind has no places for a lesson's stops", () => {
  const [bully, ring] = ALL;
  expect(placesOf(bully!, recorded(ring!.name).events)).toBeNull();
});

test("further runs of the lessons are exhibits of the gallery", () => {
  const gallery = readFileSync(new URL("../../../scenarios/gallery.txt", import.meta.url), "utf8");
  for (const { exhibit } of ALL.flatMap((lesson) => lesson.further))
    expect(gallery).toContain(`\nexhibit ${exhibit}\n`);
});
