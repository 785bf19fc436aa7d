import { describe, expect, test } from "vitest";
import { aheadAt, offWords } from "./clocks";
import { cutsOf, recordedAt, sumOf } from "./cuts";
import type { Life } from "./lives";
import type { Model } from "./model";
import { freshRows, pointersOf, rowWords, type View } from "./view";

const view = (rows: View["rows"]): View => ({ rows: rows ?? [] });
const life = (since: number, now: View | null): Life => ({
  since, up: true, paused: false, coordinator: null, section: "idle", entry: null, fields: {}, changed: [], view: now, before: null,
});

describe("what is drawn of a process", () => {
  test("rows that are new or say something else are fresh", () => {
    const before = view([{ label: "clock", shape: "text", items: [{ text: "1" }] }, { label: "queue", shape: "queue" }]);
    const now = view([{ label: "clock", shape: "text", items: [{ text: "2" }] }, { label: "queue", shape: "queue" }]);
    expect([...freshRows(before, now)]).toEqual(["clock"]);
    expect(freshRows(null, now).size).toBe(0);
  });

  test("a pointer is an arrow to a process", () => {
    const turned = view([{ label: "token towards", shape: "pointer", items: [{ text: "P2", node: 2 }] }]);
    expect(pointersOf(turned)).toEqual([{ to: 2, label: "token towards" }]);
    expect(pointersOf(null)).toEqual([]);
  });

  test("a row can be written", () => {
    expect(rowWords({ label: "q", shape: "queue", items: [{ text: "P2", note: "3" }, { text: "P1", note: "4" }] })).toBe("P2 (3) ← P1 (4)");
    expect(rowWords({ label: "q", shape: "queue" })).toBe("empty");
    expect(rowWords({ label: "g", shape: "graph", items: [{ text: "T2", to: "T3", note: "S1.a" }] })).toBe("T2 → T3 (S1.a)");
  });
});

describe("a cut", () => {
  const cut = (items: { text: string; note?: string; tone?: "strong" | "waits" | "good" }[]) => view([{ label: "snapshot P1#1", shape: "cut", items }]);
  const lives = new Map([
    [1, [life(-1, view([])), life(3, cut([{ text: "here", note: "70", tone: "strong" }, { text: "marker of P2?", tone: "waits" }])), life(9, cut([{ text: "complete", tone: "good" }]))]],
    [2, [life(-1, view([])), life(6, cut([{ text: "here", note: "30", tone: "strong" }, { text: "TRANSFER(5)", note: "5" }]))]],
  ]);
  const [found] = cutsOf(lives);

  test("passes each process where its row appears", () => {
    expect(found?.name).toBe("snapshot P1#1");
    expect([...found!.at]).toEqual([[1, 3], [2, 6]]);
  });

  test("keeps what was recorded when the process has forgotten it", () => {
    expect(recordedAt(found!, 1, 3)).toBeNull();
    expect(recordedAt(found!, 1, 4)?.map(({ note }) => note)).toEqual(["70"]);
    expect(recordedAt(found!, 1, 20)?.map(({ note }) => note)).toEqual(["70"]);
  });

  test("has a sum if all amounts are known", () => {
    const all = [...recordedAt(found!, 1, 20)!, ...recordedAt(found!, 2, 20)!];
    expect(sumOf(all)).toBe(105);
    expect(sumOf([{ text: "idle" }])).toBeNull();
  });
});

describe("clocks", () => {
  const model = { outcome: { clocks: { against: "real time", lines: { 1: [[0, 500], [100, -20]] }, spread: [] } } } as unknown as Model;

  test("show what was seen last", () => {
    expect([0, 99, 100, 1000].map((us) => aheadAt(model, 1, us))).toEqual([500, 500, -20, -20]);
    expect(aheadAt(model, 2, 0)).toBeNull();
  });

  test("are off in words", () => {
    expect([0, 999, -1500, 25_000, -3_600_000_000].map(offWords)).toEqual(["±0 µs", "+999 µs", "−1.50 ms", "+25.0 ms", "−3600.00 s"]);
  });
});
