import { expect, test } from "vitest";
import { clock, count, moment, offset, perSecond, rate, span } from "./format";

test("figures for people", () => {
  expect([null, 0, 999.4, 1_250, 61_000, 3_720_000].map(span)).toEqual(["–", "0 ms", "999 ms", "1.3 s", "1 min", "1 h 2 min"]);
  expect(offset(-46, 171)).toBe("−46 ± 171 µs");
  expect(offset(200_000, 300)).toBe("+200.0 ± 0.3 ms");
  expect(offset(0, 0)).toBe("0 µs");
  expect(offset(null, null)).toBe("–");
  expect([1.5, -0.04, null].map(rate)).toEqual(["+1.5 ppm", "0.0 ppm", "–"]);
  expect([0.42, 12.3].map(perSecond)).toEqual(["0.4/s", "12/s"]);
  expect(clock("soon")).toBe("soon");
});

test("a moment of another day says which", () => {
  const now = new Date(2026, 10, 16, 12, 0, 0);
  const at = (day: number) => new Date(2026, 10, day, 9, 5, 7).toISOString();
  expect(moment(at(16), now)).toBe("09:05:07");
  expect(moment(at(5), now)).toBe("2026-11-05 09:05");
  expect(moment("soon", now)).toBe("soon");
});

test("one of something, and many", () => {
  expect([0, 1, 10_000].map((number) => count(number, "lock"))).toEqual(["0 locks", "1 lock", "10,000 locks"]);
});
