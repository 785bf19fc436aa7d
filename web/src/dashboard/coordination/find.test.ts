import { expect, test } from "vitest";
import { busy, crowd, lock } from "./fakes";
import { filterOf, first, textsOfDeadlock, textsOfLock, textsOfRole, textsOfSession, textsOfWait } from "./find";
import { namesOf } from "./graph";

test("of many the first are shown and the rest is counted", () => {
  const { shown, more } = first(crowd(10_000).locks);
  expect([shown.length, more, shown[0]?.name]).toEqual([200, 9_800, "job/000000"]);
});

test("a filter finds what is far behind", () => {
  const isWanted = filterOf("JOB/00999");
  const { shown, more } = first(crowd(10_000).locks, (one) => isWanted(() => textsOfLock(one)));
  expect([shown.map(({ name }) => name)[9], shown.length, more]).toEqual(["job/009999", 10, 0]);
});

test("every word must be found, anywhere", () => {
  const { locks, roles, sessions, deadlocks, waits } = busy();
  const names = namesOf(busy());
  const found = (typed: string) => {
    const isWanted = filterOf(typed);
    return [
      locks.filter((one) => isWanted(() => textsOfLock(one))).map(({ name }) => name),
      roles.filter((one) => isWanted(() => textsOfRole(one))).map(({ name }) => name),
      sessions.filter((one) => isWanted(() => textsOfSession(one))).map(({ session }) => session),
      deadlocks.filter((one) => isWanted(() => textsOfDeadlock(one))).length,
      waits.filter((one) => isWanted(() => textsOfWait(one, names))).length,
    ];
  };
  expect(found("backup report")).toEqual([["backup"], [], ["s3.2"], 0, 2]);
  expect(found("mailer")).toEqual([["upload-slots"], ["mail"], ["s3.8"], 0, 1]);
  expect(found(" ")).toEqual([["backup", "ledger/2026", "schema", "tables", "upload-slots"], ["billing", "mail", "nightly"], sessions.map(({ session }) => session), 2, 6]);
  expect(found("nothing-like-this").flat()).toEqual([0, 0]);
});

test("a filter is asked for no texts if nothing was typed", () => {
  const isWanted = filterOf("  ");
  expect(isWanted(() => { throw new Error("asked"); })).toBe(true);
  expect(filterOf("a")(() => textsOfLock(lock("a", [])))).toBe(true);
});
