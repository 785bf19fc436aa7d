import { expect, test } from "vitest";
import { busy, clientOf, coordination, holder, lock, session, waiter, waits } from "./fakes";
import { bySession, entangled, graphOf, namesOf, NODES_MAX } from "./graph";

const graph = (...edges: [string, string, string][]) => graphOf(waits(...edges), new Map());
/** A queue: each waits for the one before it. */
const queue = (length: number, of = "q") =>
  Array.from({ length: length - 1 }, (_, place): [string, string, string] => [`s1.${place + 2}`, `s1.${place + 1}`, of]);

test("sessions are in the order of their beginning", () => {
  expect(["s10.1", "s3.17", "s3.9"].sort(bySession)).toEqual(["s3.9", "s3.17", "s10.1"]);
  expect(["b", "a"].sort(bySession)).toEqual(["a", "b"]);
});

test("clients have names, also those whose session is left out", () => {
  const some = coordination({ sessions: [session("s3.1")], locks: [lock("a", [holder("s3.2")], [waiter("s3.4")])] });
  expect([...namesOf(some)]).toEqual(["s3.1", "s3.2", "s3.4"].map((name) => [name, clientOf(name)]));
});

test("several locks between the same two are one edge", () => {
  const { edges } = graph(["s1.2", "s1.1", "a"], ["s1.2", "s1.1", "b"], ["s1.2", "s1.1", "a"]);
  expect(edges).toEqual([{ from: "s1.2", to: "s1.1", locks: ["a", "b"], inCycle: false }]);
});

test("a cycle is found, and a session that only waits behind it is no part of it", () => {
  const { nodes, edges } = graph(["s1.1", "s1.2", "a"], ["s1.2", "s1.3", "b"], ["s1.3", "s1.1", "c"], ["s1.4", "s1.1", "c"], ["s1.1", "s1.5", "d"]);
  expect(nodes.filter(({ inCycle }) => inCycle).map(({ session: one }) => one)).toEqual(["s1.1", "s1.2", "s1.3"]);
  expect(edges.filter(({ inCycle }) => inCycle).map(({ locks }) => locks[0])).toEqual(["a", "b", "c"]);
});

test("two circles are two, also when one waits for the other", () => {
  const { edges } = graph(["s1.1", "s1.2", "a"], ["s1.2", "s1.1", "b"], ["s1.3", "s1.4", "c"], ["s1.4", "s1.3", "d"], ["s1.2", "s1.3", "c"]);
  expect(edges.filter(({ inCycle }) => !inCycle)).toMatchObject([{ from: "s1.2", to: "s1.3" }]);
});

test("a queue of thousands is looked through", () => {
  const { nodes, edges } = graph(...queue(20_000));
  expect([nodes.length, edges.length, nodes.some(({ inCycle }) => inCycle)]).toEqual([20_000, 19_999, false]);
});

test("a small graph is shown whole", () => {
  const whole = graphOf(busy().waits, namesOf(busy()));
  expect(entangled(whole)).toEqual({ graph: whole, left: 0 });
});

test("of a large graph circles come first, with what is around them", () => {
  const whole = graph(...queue(100), ["s2.1", "s2.2", "a"], ["s2.2", "s2.1", "b"], ["s2.3", "s2.1", "b"]);
  const { graph: { nodes, edges }, left } = entangled(whole);
  expect([nodes.length, left]).toEqual([NODES_MAX, 103 - NODES_MAX]);
  const shown = nodes.map(({ session: one }) => one);
  expect(shown).toEqual(expect.arrayContaining(["s2.1", "s2.2", "s2.3"]));
  // The rest is one piece of the queue.
  expect(edges.filter(({ locks }) => locks[0] === "q")).toHaveLength(NODES_MAX - 3 - 1);
});
