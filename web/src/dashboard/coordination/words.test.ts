import { expect, test } from "vitest";
import { candidate, holder, lock, role, waiter } from "./fakes";
import type { Policy } from "./types";
import { clientWords, inTurn, kindOf, modeWords, policyWords } from "./words";

test("a lock says of what kind it is, as far as that shows", () => {
  const shared = holder("s3.1", { mode: "shared" });
  expect(kindOf(lock("a", [holder("s3.1")]))).toBe("exclusive");
  expect(kindOf(lock("a", [shared, { ...shared, session: "s3.2" }]))).toBe("shared");
  expect(kindOf(lock("a", [holder("s3.1", { mode: "permits", permits: 2 })], [], 5))).toBe("semaphore, 2 of 5 taken");
  expect(kindOf(lock("a", [], [waiter("s3.1")]))).toBe("free");
});

test("how a lock is wanted is said where it does not go without saying", () => {
  const modes = [waiter("s3.1"), waiter("s3.1", 0, { mode: "shared" }), waiter("s3.1", 0, { mode: "permits", permits: 1 })];
  expect(modes.map(modeWords)).toEqual([null, "shared", "1 permit"]);
});

test("candidates are in the order in which they would lead", () => {
  const candidates = [
    candidate("s3.1", { priority: 1 }), candidate("s3.2", { priority: 9 }), candidate("s3.3", { priority: 5, leads: true }), candidate("s3.4", { priority: 9 }),
  ];
  const turn = (policy: Policy) => inTurn(role("r", candidates, { policy })).map(({ session }) => session);
  expect(turn("first-come")).toEqual(["s3.3", "s3.1", "s3.2", "s3.4"]);
  expect(turn("priority")).toEqual(["s3.3", "s3.2", "s3.4", "s3.1"]);
});

test("what a later version calls a policy is left as it is", () => {
  expect(policyWords("lottery" as Policy)).toBe("lottery");
});

test("a client without a name is known by its session", () => {
  expect([clientWords("cron", "s3.1"), clientWords("", "s3.1")]).toEqual(["cron (s3.1)", "s3.1"]);
});
