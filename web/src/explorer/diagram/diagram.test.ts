import { describe, expect, test } from "vitest";
import { modelOf } from "../../run/model";
import { sample, sampleRecording } from "../../run/sample";
import { diagramSvg } from "./export";
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
