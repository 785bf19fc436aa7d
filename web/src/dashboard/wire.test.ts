import { expect, test } from "vitest";
import { busy, coordination, lock } from "./coordination/fakes";
import { glance } from "./fakes";
import { Misunderstood, readCoordination, readGlance, readMessages, readUp } from "./wire";

const said = (what: unknown) => JSON.stringify(what);

test("what a later version adds is no trouble", () => {
  const later = { ...glance(1, 2), more: 1 };
  expect(readGlance(said(later)).status.id).toBe(1);
});

test("what an earlier version leaves out is filled in", () => {
  const { status, members } = glance(1, null);
  expect(readGlance(said({ status, members })).changes).toEqual([]);
});

test.each([
  ["", "it is no JSON"],
  ["[]", "the answer is list instead of object"],
  [said({ members: [] }), "the answer.status is nothing instead of object"],
  [said({ ...glance(1, 2), members: [{ id: "2" }] }), "members.id is string instead of number"],
  [said({ ...glance(1, 2), changes: 3 }), "changes is number instead of list"],
])("of %j it says what is wrong", (text, message) => {
  expect(() => readGlance(text)).toThrow(new Misunderstood(message));
});

test("messages and processes are looked at, too", () => {
  expect(readMessages(said({ id: 1, messages: [] })).id).toBe(1);
  expect(() => readMessages(said({ id: 1, messages: [{}] }))).toThrow(Misunderstood);
  expect(readUp(said({ members: [], partition: [], news: [] })).members).toEqual([]);
  expect(() => readUp(said({ members: [{ id: 1 }], partition: [], news: [] }))).toThrow(Misunderstood);
});

test("the coordination state is looked at, down to who holds and who waits", () => {
  expect(readCoordination(said(busy()))).toEqual(busy());
  expect(readCoordination(said({ id: 1, term: 1, sequence: 1 })).locks).toEqual([]);
});

test.each([
  [{ ...coordination(), term: null }, "the answer.term is nothing instead of number"],
  [{ ...coordination(), roles: [{ name: "r", policy: "priority", candidates: [], history: [], leader: { session: 1 } }] }, "leader.session is number instead of string"],
  [{ ...coordination(), locks: [{ ...lock("a", []), queue: [{}] }] }, "queue.session is nothing instead of string"],
  [{ ...coordination(), waits: [{ from: "s3.1", to: "s3.2" }] }, "waits.lock is nothing instead of string"],
])("of a coordination state that makes no sense it says what is wrong: %#", (what, message) => {
  expect(() => readCoordination(said(what))).toThrow(new Misunderstood(message));
});
