import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { EVERY_MS, Pace } from "./pace";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

function pace(costMs = 0) {
  const done: number[] = [];
  const paced = new Pace<number>((what) => {
    vi.setSystemTime(Date.now() + costMs);
    vi.advanceTimersByTime(costMs);
    done.push(what);
  });
  return { done, paced };
}

test("the first comes at once, and of many the latest", () => {
  const { done, paced } = pace();
  for (const number of [1, 2, 3]) paced.take(number);
  expect(done).toEqual([1]);
  vi.advanceTimersByTime(EVERY_MS);
  expect(done).toEqual([1, 3]);
  vi.advanceTimersByTime(10 * EVERY_MS);
  expect(done).toEqual([1, 3]);
});

test("what takes long comes less often", () => {
  const { done, paced } = pace(500);
  paced.take(1);
  paced.take(2);
  vi.advanceTimersByTime(1_999);
  expect(done).toEqual([1]);
  vi.advanceTimersByTime(1);
  expect(done).toEqual([1, 2]);
});

test("what is cleared never comes", () => {
  const { done, paced } = pace();
  paced.take(1);
  paced.take(2);
  paced.clear();
  vi.advanceTimersByTime(10 * EVERY_MS);
  expect(done).toEqual([1]);
});
