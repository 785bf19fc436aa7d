import { expect, test } from "vitest";
import { waits } from "./fakes";
import { graphOf, type Edge } from "./graph";
import { drawingOf, middleOf, planOf, type Plan, type Sizes } from "./layout";

type Wait = [from: string, to: string, lock: string];
const graph = (...edges: Wait[]) => graphOf(waits(...edges), new Map());
const queue = (length: number, name = "s1") =>
  Array.from({ length: length - 1 }, (_, place): Wait => [`${name}.${place + 2}`, `${name}.${place + 1}`, "q"]);
const at = ({ cells }: Plan, session: string) => {
  const { column, row } = cells.get(session) ?? { column: NaN, row: NaN };
  return [column, row];
};
const SIZES: Sizes = { node: { width: 116, height: 40 }, cell: { width: 172, height: 80 } };

const words = ({ locks }: Edge) => locks.join(", ");

/** No box covers another one, and none is outside. */
function expectRoom(plan: Plan, columns: number) {
  const cells = [...plan.cells.values()];
  for (const [place, one] of cells.entries()) {
    expect(one.column).toBeGreaterThanOrEqual(0);
    expect(one.column).toBeLessThanOrEqual(Math.max(columns, plan.columns) - 1);
    expect(one.row).toBeLessThanOrEqual(plan.rows - 1 + 1e-9);
    for (const other of cells.slice(place + 1)) {
      expect(Math.abs(one.column - other.column) >= 1 || Math.abs(one.row - other.row) > 0.6).toBe(true);
    }
  }
}

test("a short queue is a column, with the holder of the lock on top", () => {
  const plan = planOf(graph(...queue(3)), 4);
  expect(["s1.1", "s1.2", "s1.3"].map((one) => at(plan, one))).toEqual([[0, 0], [0, 1], [0, 2]]);
});

test("a long queue is folded, and neighbours stay neighbours", () => {
  const plan = planOf(graph(...queue(30)), 4);
  expect([plan.columns, plan.rows]).toEqual([4, 8]);
  for (let place = 1; place < 30; place++) {
    const [[column = 0, row = 0], [other = 0, below = 0]] = [at(plan, `s1.${place}`), at(plan, `s1.${place + 1}`)];
    expect(Math.abs(column - other) + Math.abs(row - below)).toBe(1);
  }
});

test("circles are drawn as circles", () => {
  const two = planOf(graph(["s1.1", "s1.2", "a"], ["s1.2", "s1.1", "b"]), 4);
  expect([at(two, "s1.1"), at(two, "s1.2")]).toEqual([[0, 0], [1, 0]]);
  const three = planOf(graph(["s1.1", "s1.2", "a"], ["s1.2", "s1.3", "b"], ["s1.3", "s1.1", "c"]), 4);
  expect(["s1.1", "s1.2", "s1.3"].map((one) => at(three, one))).toEqual([[0, 0], [0, 1], [1, 0.5]]);
});

test("a session that waits is below those that it waits for", () => {
  const plan = planOf(graph(["s1.3", "s1.1", "a"], ["s1.3", "s1.2", "a"], ["s1.4", "s1.3", "a"], ["s1.5", "s1.3", "b"]), 4);
  expect([1, 2, 3, 4, 5].map((one) => at(plan, `s1.${one}`)[1])).toEqual([0, 0, 1, 2, 2]);
  expectRoom(plan, 4);
});

test("what does not hang together is apart, circles first", () => {
  const plan = planOf(graph(...queue(3), ["s2.1", "s2.2", "a"], ["s2.2", "s2.1", "b"]), 4);
  expect([at(plan, "s2.1"), at(plan, "s1.1")]).toEqual([[0, 0], [2, 0]]);
  const narrow = planOf(graph(...queue(3), ["s2.1", "s2.2", "a"], ["s2.2", "s2.1", "b"]), 2);
  expect([at(narrow, "s2.1"), at(narrow, "s1.1")]).toEqual([[0, 0], [0, 1]]);
});

test.each([1, 2, 4, 8])("with %i columns everybody has room, in whatever graph", (columns) => {
  let seed = 7;
  const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
  for (let round = 0; round < 20; round++) {
    const edges = Array.from({ length: 1 + random(40) }, (): Wait => [`s1.${random(30)}`, `s2.${random(6)}`, "x"]);
    const back = Array.from({ length: random(4) }, (): Wait => [`s2.${random(6)}`, `s1.${random(30)}`, "y"]);
    const some = graph(...edges, ...back);
    const plan = planOf(some, columns);
    expect(plan.cells.size).toBe(some.nodes.length);
    expectRoom(plan, columns);
    expect(planOf(some, columns)).toEqual(plan);
  }
});

test("two that wait for each other have two curves", () => {
  const two = graph(["s1.1", "s1.2", "a"], ["s1.2", "s1.1", "b"]);
  const { curves: [one, other] } = drawingOf(two, planOf(two, 4), SIZES, words);
  expect(Math.abs((one?.label.y ?? 0) - (other?.label.y ?? 0))).toBeGreaterThan(10);
});

test("a curve goes around who stands in between, and ends at the rim", () => {
  const three = graph(["s1.3", "s1.2", "a"], ["s1.2", "s1.1", "b"], ["s1.3", "s1.1", "c"]);
  const plan = planOf(three, 1);
  const curve = drawingOf(three, plan, SIZES, words).curves.find(({ edge }) => edge.from === "s1.3" && edge.to === "s1.1");
  const middle = middleOf(plan.cells.get("s1.2") ?? { column: 0, row: 0 }, SIZES);
  expect(Math.abs((curve?.label.x ?? 0) - middle.x)).toBeGreaterThan(SIZES.node.width / 2);
  const end = middleOf(plan.cells.get("s1.1") ?? { column: 0, row: 0 }, SIZES);
  expect(Math.abs((curve?.to.y ?? 0) - end.y)).toBeLessThanOrEqual(SIZES.node.height / 2 + 2);
});

test("words of two edges to the same node stand apart", () => {
  const fan = graph(["s1.3", "s1.1", "upload-slots"], ["s1.3", "s1.2", "upload-slots"], ["s1.4", "s1.3", "x"]);
  const [one, other] = drawingOf(fan, planOf(fan, 2), SIZES, words).curves.filter(({ words: said }) => said === "upload-slots");
  if (!one || !other) throw new Error("two edges");
  const apart = Math.abs(one.label.x - other.label.x) >= 12 * 7.2 || Math.abs(one.label.y - other.label.y) >= 14;
  expect(apart).toBe(true);
});

test("a tree that is too broad is a list, and nothing crosses anything", () => {
  const tree = graph(...Array.from({ length: 12 }, (_, place): Wait => [`s1.${place + 2}`, `s1.${1 + Math.floor(place / 6)}`, "q"]));
  const plan = planOf(tree, 4);
  expect(plan.listed.size).toBe(13);
  expect([1, 2, 8, 3].map((one) => at(plan, `s1.${one}`)[0])).toEqual([0, 0.25, 0.5, 0.25]);
  const { curves, left, top, width, height } = drawingOf(tree, plan, SIZES, words);
  for (const { label, from, to } of curves) {
    for (const { x, y } of [label, from, to]) {
      expect(x > left && x < left + width && y > top && y < top + height).toBe(true);
    }
    expect(to.y).toBeLessThan(from.y);
  }
});
