import { expect, test } from "vitest";
import { merge } from "./changes";
import type { Change } from "./wire";

const change = (term: number, to: number | null, reason: string): Change =>
  ({ seq: 1, at: "2026-01-01T00:00:00Z", from: null, to, term, reason });

test("members tell of the same change once", () => {
  const known = merge([], [change(1, 5, "alone"), change(2, 4, "suspected P5")]);
  const both = merge(known, [change(2, 4, "another member called an election"), change(3, 3, "suspected P4")]);
  expect(both.map(({ term, to, reason }) => [term, to, reason])).toEqual([
    [1, 5, "alone"], [2, 4, "suspected P5"], [3, 3, "suspected P4"],
  ]);
});

test("a mandate ends after it began and before the next one, in any order of reports", () => {
  const known = merge([], [change(2, 4, "suspected P5"), change(3, 3, "suspected P4")]);
  const both = merge(known, [change(2, null, "too few answered")]);
  expect(both.map(({ term, to }) => [term, to])).toEqual([[2, 4], [2, null], [3, 3]]);
});

test("nothing new is the same list", () => {
  const known = merge([], [change(1, 5, "alone")]);
  expect(merge(known, [])).toBe(known);
});
