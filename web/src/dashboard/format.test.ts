import { expect, test } from "vitest";
import { clock, offset, perSecond, rate, span } from "./format";

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
