import { describe, expect, test } from "vitest";
import { modelOf } from "../../run/model";
import type { Event } from "../../run/recording";
import { sample, sampleRecording } from "../../run/sample";
import { Step } from "../../run/step";
import { diagramSvg } from "./export";
import { freshOf } from "./fresh";
import { neighbour } from "./neighbours";
import { eventAt, layPlan, stepAtX, xOf } from "./plan";
import { widthOf } from "./surface";

const bully = sample("bully");
const storm = sample("storm");

describe.each([bully, storm])("the plan", (model) => {
  const plan = layPlan(model, 120, 60);

  test("leads from a point to the step, and back", () => {
    model.events.forEach((_, index) => {
      expect(stepAtX(plan, plan.x[index]! + 0.001)).toBe(index + 1);
      expect(xOf(plan, model.timeline.at[index]!)).toBeCloseTo(plan.x[index]!);
    });
    expect(stepAtX(plan, 0)).toBe(0);
    expect(stepAtX(plan, plan.width)).toBe(model.events.length);
  });

  test("finds the event that is pointed at", () => {
    const wide = layPlan(model, 12_000, 60); // so wide that no two events are close to each other
    model.events.forEach(({ node, event }, index) => {
      if (node == null || event === "drop") return;
      expect(eventAt(wide, wide.x[index]!, wide.y.get(node)!)).toBe(index);
    });
    expect(eventAt(plan, plan.end + 60, 5)).toBeNull();
    expect(eventAt(plan, -5, -5)).toBeNull();
  });

  test("has every flight in every piece that it crosses, and every label in it", () => {
    plan.pieces.forEach((piece, number) => {
      model.flights.all.forEach((_, flight) => {
        const crosses = plan.legs[4 * flight + 2]! >= number * 512 && plan.legs[4 * flight]! < (number + 1) * 512;
        if (crosses) expect(piece.flights).toContain(flight);
      });
    });
    for (const { to } of plan.pieces.flatMap(({ labels }) => labels)) expect(to).toBeLessThanOrEqual(plan.width);
  });

  test("writes no words over each other on a line", () => {
    const labels = [...new Set(plan.pieces.flatMap(({ labels }) => labels))].filter(({ angle }) => angle === 0);
    for (const a of labels) {
      for (const b of labels) {
        if (a === b || Math.abs(a.y - b.y) > 6) continue;
        const overlap = Math.min(a.x + widthOf(a.words, a.size), b.x + widthOf(b.words, b.size)) - Math.max(a.x, b.x);
        expect(overlap, `${a.words} / ${b.words}`).toBeLessThan(9);
      }
    }
  });
});

test("a message that does not arrive ends between the lines of two processes", () => {
  const recording = sampleRecording("bully");
  const nodes = [1, 2, 3, 4, 5, 6, 7];
  const header = { ...recording.header, nodes };
  const stamped = { us: 0, lamport: 1, vector: {}, kind: "ASK", role: "protocol", text: "ASK" };
  const events = nodes.slice(1).flatMap((to, index) => [
    { ...stamped, event: "send", node: 1, from: 1, to, id: index },
    { ...stamped, event: "drop", node: to, from: 1, to, id: index, why: index % 2 ? "lost" : "cut" },
  ]) as Event[];
  const plan = layPlan(modelOf({ ...recording, header, events }), 120, 60);
  const crosses = plan.model.flights.all.map((_, flight) => [...plan.legs.subarray(4 * flight, 4 * flight + 4)]);
  for (const [x1, , x2, y2] of crosses) {
    for (const y of plan.y.values()) expect(Math.abs(y - y2!)).toBeGreaterThan(20);
    expect(x2! - x1!).toBeGreaterThanOrEqual(0.25 * 120);
  }
});

describe("where the future is hidden", () => {
  test.each([bully, storm])("no words of a message stand without its arrow", (model) => {
    const plan = layPlan(model, 120, 60);
    let seen = 0;
    for (let number = 1; number <= model.last; number++) {
      const step = Step.at(model, number);
      const now = xOf(plan, step.place);
      const { labels, over, stubs } = freshOf(plan, step.happened, now);
      for (const { x, y, event, kind } of labels) {
        if (typeof kind !== "number") continue;
        seen++;
        const legs = [...stubs.map(({ line }) => line), ...[...over].map((flight) => [...plan.legs.subarray(4 * flight, 4 * flight + 4)])];
        const arrived = model.flights.all.find(({ send }) => send === event)!.arrive;
        const isDrawn = arrived !== null && plan.x[arrived]! <= now;
        const isUnder = legs.some(([x1, y1, x2, y2]) => Math.abs(offLine(x1!, y1!, x2!, y2!, x, y)) < 6 && x <= x2! + 1);
        expect(isDrawn || isUnder, `step ${number}: the words of event ${event}`).toBe(true);
      }
    }
    expect(seen).toBeGreaterThan(3);
  });

  /** How far a point is from a line. */
  const offLine = (x1: number, y1: number, x2: number, y2: number, x: number, y: number) =>
    ((x2 - x1) * (y - y1) - (y2 - y1) * (x - x1)) / (Math.hypot(x2 - x1, y2 - y1) || 1);

  test("nothing is drawn of what has not happened", () => {
    const plan = layPlan(bully, 120, 60);
    for (let number = 0; number <= bully.last; number++) {
      const step = Step.at(bully, number);
      const { labels } = freshOf(plan, step.happened, xOf(plan, step.place));
      for (const { event } of labels) expect(event).toBeLessThan(number);
    }
  });
});

describe("the arrow keys", () => {
  const plan = layPlan(bully, 120, 60);
  const at = (index: number) => bully.events[index]!;

  test("lead along a process", () => {
    const first = bully.events.findIndex(({ node }) => node === 3);
    const next = neighbour(plan, first, "ArrowRight")!;
    expect(at(next).node).toBe(3);
    expect(neighbour(plan, next, "ArrowLeft")).toBe(first);
    expect(neighbour(plan, first, "ArrowLeft")).toBeNull();
  });

  test("lead to the process above and below", () => {
    const first = bully.events.findIndex(({ node }) => node === 3);
    expect(at(neighbour(plan, first, "ArrowUp")!).node).toBe(4);
    expect(at(neighbour(plan, first, "ArrowDown")!).node).toBe(2);
  });

  test("begin somewhere, also in an empty run", () => {
    expect(neighbour(plan, -1, "ArrowRight")).toBe(0);
    const empty = layPlan(modelOf({ ...sampleRecording("bully"), events: [] }), 120, 60);
    expect(neighbour(empty, -1, "ArrowRight")).toBeNull();
  });
});

describe("the diagram as a file", () => {
  test("has every message and every process", () => {
    const svg = diagramSvg(bully);
    for (const words of ["ELECTION ×3", "OK ×1", "COORDINATOR ×2", "P1", "P4", "elected P3", "110ms"]) expect(svg).toContain(words);
    expect(svg).not.toMatch(/NaN|undefined|Infinity/);
  });

  test("is well-formed whatever a process says", () => {
    const recording = sampleRecording("bully");
    const said = '<script>alert("x & y")</script>\u0007';
    const events = recording.events.map((event) => (event.event === "output" ? { ...event, text: said } : event));
    const svg = diagramSvg(modelOf({ ...recording, events }));
    expect(svg).not.toContain("<script");
    expect(svg).not.toContain("\u0007");
    expect(svg.match(/&(?!amp;|lt;|gt;|quot;)/)).toBeNull();
    const tags = [...svg.matchAll(/<(\/?)([a-z]+)[^>]*?(\/?)>/g)];
    expect(tags.filter(([, end]) => end).length).toBe(tags.filter(([, end, , alone]) => !end && !alone).length);
  });

  test("of an empty run is a picture, too", () => {
    expect(diagramSvg(modelOf({ ...sampleRecording("bully"), events: [] }))).not.toMatch(/NaN|Infinity/);
  });
});
