import { bySession, knots, listed, successors, type Edge, type Graph } from "./graph";

/**
 * Where the sessions of a wait-for graph are drawn, on a grid.
 *
 * 1. What does not hang together is laid out apart, circles first, then the largest, side by side
 *    while there is room.
 * 2. A cycle is drawn as a circle: down on the left and up again on the right.
 * 3. A queue, in which each waits for one and is waited for by one, is a column, folded if it is long.
 * 4. Of all else, a session that waits is below those that it waits for.
 * 5. If that needs more room than there is and everybody waits for one only, it is a list in which those
 *    who wait stand below, a little to the right.
 *
 * The same graph is always drawn in the same way.
 */

/** A place on the grid, in columns and rows; a half is between two. */
export interface Cell {
  column: number;
  row: number;
}

/** Places, and how much room they take. */
export interface Plan {
  cells: Map<string, Cell>;
  columns: number;
  rows: number;
  /** Those in a list: their edges come from the left, and their words stand on the right. */
  listed: Set<string>;
}

const emptyPlan = (): Plan => ({ cells: new Map(), columns: 0, rows: 0, listed: new Set() });

/** A queue of no more than these stands in one column. */
const COLUMN_MAX = 4;
/** How far to the right in a list, and how far below the one before. */
const INDENT = 0.25;
const STEP = 0.62;

/** Where to draw them, with this number of columns. */
export function planOf(graph: Graph, columns: number): Plan {
  const parts = apart(graph).map((part) => ({ part, plan: partPlan(part, columns) }));
  const first = ({ nodes }: Graph) => nodes[0]?.session ?? "";
  const isStuck = ({ nodes }: Graph) => nodes.some(({ inCycle }) => inCycle);
  parts.sort(({ part: one }, { part: other }) =>
    Number(isStuck(other)) - Number(isStuck(one))
    || other.nodes.length - one.nodes.length
    || bySession(first(one), first(other)));
  return shelved(parts.map(({ plan }) => plan), columns);
}

/** The parts that do not hang together. */
function apart({ nodes, edges }: Graph): Graph[] {
  const near = new Map<string, string[]>();
  for (const { from, to } of edges) {
    listed(near, from).push(to);
    listed(near, to).push(from);
  }
  const part = new Map<string, number>();
  let parts = 0;
  for (const { session } of nodes) {
    if (part.has(session)) continue;
    const open = [session];
    for (let one = open.pop(); one !== undefined; one = open.pop()) {
      if (part.has(one)) continue;
      part.set(one, parts);
      open.push(...(near.get(one) ?? []));
    }
    parts += 1;
  }
  const found = Array.from({ length: parts }, (): Graph => ({ nodes: [], edges: [] }));
  for (const node of nodes) found[part.get(node.session) ?? 0]?.nodes.push(node);
  for (const edge of edges) found[part.get(edge.from) ?? 0]?.edges.push(edge);
  return found;
}

/** Plans side by side, in rows. */
function shelved(plans: readonly Plan[], columns: number): Plan {
  const whole = emptyPlan();
  let [column, top, deep] = [0, 0, 0];
  for (const plan of plans) {
    for (const session of plan.listed) whole.listed.add(session);
    if (column > 0 && column + plan.columns > columns) [column, top, deep] = [0, top + deep, 0];
    for (const [session, cell] of plan.cells) {
      whole.cells.set(session, { column: column + cell.column, row: top + cell.row });
    }
    column += plan.columns;
    deep = Math.max(deep, plan.rows);
    whole.columns = Math.max(whole.columns, column);
    whole.rows = Math.max(whole.rows, top + deep);
  }
  return whole;
}

function partPlan(part: Graph, columns: number): Plan {
  return queuePlan(part, columns) ?? listPlan(part, columns) ?? layers(part, columns);
}

/** Rule 3; nothing if it is no queue. */
function queuePlan({ nodes, edges }: Graph, columns: number): Plan | null {
  const [out, into] = [new Map<string, string>(), new Map<string, string>()];
  for (const { from, to } of edges) {
    if (out.has(from) || into.has(to)) return null;
    out.set(from, to);
    into.set(to, from);
  }
  const head = nodes.find(({ session }) => !out.has(session));
  if (!head) return null;
  const tall = Math.max(COLUMN_MAX, Math.ceil(nodes.length / Math.max(1, columns)));
  const cells = new Map<string, Cell>();
  for (let one: string | undefined = head.session; one !== undefined; one = into.get(one)) {
    const [column, down] = [Math.floor(cells.size / tall), cells.size % tall];
    cells.set(one, { column, row: column % 2 === 0 ? down : tall - 1 - down });
  }
  return { ...emptyPlan(), cells, columns: Math.ceil(cells.size / tall), rows: Math.min(tall, cells.size) };
}

/** Rule 5; nothing if it is not needed or cannot be. */
function listPlan({ nodes, edges }: Graph, columns: number): Plan | null {
  const behind = new Map<string, string[]>();
  for (const { from, to } of edges) listed(behind, to).push(from);
  const heads = new Set(nodes.map(({ session }) => session));
  for (const { from } of edges) {
    // It waits for a second one.
    if (!heads.delete(from)) return null;
  }
  const [head] = heads;
  // Without a session that waits for no other it is a cycle.
  if (head === undefined) return null;
  const plan = emptyPlan();
  const generations = new Map<number, number>();
  const open = [{ session: head, column: 0, generation: 0 }];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    const { session, column, generation } = one;
    plan.cells.set(session, { column, row: plan.cells.size * STEP });
    plan.listed.add(session);
    plan.columns = Math.max(plan.columns, column + 1);
    generations.set(generation, (generations.get(generation) ?? 0) + 1);
    const next = behind.get(session) ?? [];
    for (const other of [...next].reverse()) open.push({ session: other, column: column + INDENT, generation: generation + 1 });
  }
  plan.rows = (plan.cells.size - 1) * STEP + 1;
  // Words stand beside it.
  plan.columns += 1;
  return Math.max(...generations.values()) > columns ? plan : null;
}

/** Rules 2 and 4: knots as blocks, each below all that it waits for. */
function layers({ nodes, edges }: Graph, columns: number): Plan {
  const knotOf = knots(nodes.map(({ session }) => session), edges);
  const members = new Map<number, string[]>();
  for (const { session } of nodes) listed(members, knotOf.get(session) ?? 0).push(session);
  const next = successors(edges);
  const depth = new Map<number, number>();
  // A session that is waited for has a smaller number, so its depth is known already.
  for (const [knot, sessions] of [...members].sort(([one], [other]) => one - other)) {
    const below = sessions.flatMap((session) => next.get(session) ?? []).map((to) => knotOf.get(to) ?? 0);
    const others = below.filter((other) => other !== knot);
    depth.set(knot, others.length === 0 ? 0 : 1 + Math.max(...others.map((other) => depth.get(other) ?? 0)));
  }
  const rows = new Map<number, number[]>();
  for (const knot of members.keys()) listed(rows, depth.get(knot) ?? 0).push(knot);

  const whole = emptyPlan();
  for (const [, row] of [...rows].sort(([one], [other]) => one - other)) {
    const blocks = row.map((knot) => {
      const sessions = members.get(knot) ?? [];
      const over = sessions.flatMap((session) => next.get(session) ?? []).flatMap((to) => whole.cells.get(to)?.column ?? []);
      const middle = over.length === 0 ? 0 : over.reduce((sum, column) => sum + column, 0) / over.length;
      return { plan: circle(sessions, next), middle, first: sessions[0] ?? "" };
    });
    blocks.sort((one, other) => one.middle - other.middle || bySession(one.first, other.first));
    const shelf = shelved(blocks.map(({ plan }) => plan), columns);
    // In the middle below those above, as far as there is room. Halves of columns are fine enough.
    const wanted = blocks.reduce((sum, { middle }) => sum + middle, 0) / blocks.length - (shelf.columns - 1) / 2;
    const shift = Math.max(0, Math.min(columns - shelf.columns, Math.round(2 * wanted) / 2));
    for (const [session, cell] of shelf.cells) {
      whole.cells.set(session, { column: cell.column + shift, row: cell.row + whole.rows });
    }
    whole.columns = Math.max(whole.columns, shelf.columns + shift);
    whole.rows += shelf.rows;
  }
  return whole;
}

/** Rule 2; one alone is the smallest of circles. */
function circle(sessions: readonly string[], next: ReadonlyMap<string, string[]>): Plan {
  const around = roundTrip(sessions, next);
  const tall = Math.ceil(around.length / 2);
  const cells = new Map<string, Cell>();
  around.forEach((session, place) => {
    const isDown = place < tall;
    // If there is one less on the right, it stands between the rows.
    const offset = around.length % 2 === 1 && around.length > 1 ? 0.5 : 0;
    const row = isDown ? place : around.length - 1 - place + offset;
    cells.set(session, { column: isDown ? 0 : 1, row });
  });
  return { ...emptyPlan(), cells, columns: around.length > 1 ? 2 : 1, rows: tall };
}

/** The sessions of a knot in an order in which most wait for the next one. */
function roundTrip(sessions: readonly string[], next: ReadonlyMap<string, string[]>): string[] {
  const left = new Set(sessions);
  const way: string[] = [];
  let one = sessions[0];
  while (one !== undefined) {
    left.delete(one);
    way.push(one);
    one = next.get(one)?.find((other) => left.has(other)) ?? [...left][0];
  }
  return way;
}

/** A point in the picture. */
export interface Point {
  x: number;
  y: number;
}

/** The size of a node and of the cell that it stands in. */
export interface Sizes {
  node: { width: number; height: number };
  cell: { width: number; height: number };
}

/** An edge as it is drawn: a quadratic curve, and where its words go. */
export interface Curve {
  edge: Edge;
  words: string;
  from: Point;
  control: Point;
  to: Point;
  /** The middle of its words. */
  label: Point;
}

/** The edges of a picture, and the box that everything in it fits into. */
export interface Drawing {
  curves: Curve[];
  left: number;
  top: number;
  width: number;
  height: number;
}

/** The middle of a cell. */
export const middleOf = ({ column, row }: Cell, { cell }: Sizes): Point =>
  ({ x: (column + 0.5) * cell.width, y: (row + 0.5) * cell.height });

/** How far a curve may be from the straight line, in the order in which it is tried. */
const BENDS = [0, 16, -16, 34, -34, 70, -70, 110, -110];
/** Of two that wait for each other. */
const BENDS_MUTUAL = [36, 60, 110];
/** A curve may leave the columns by so much. */
const OUTSIDE = 60;
/** Where along its curve an edge's words may stand, and how far above or below it. */
const LABELS = [0, -30, 30].flatMap((beside) => [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8].map((along) => ({ along, beside })));
/** A line of words is so high, and a letter so wide. */
const LINE = 14;
const LETTER = 7.2;
const SAMPLES = 14;
const MARGIN = 8;

/** What takes room: half its width and half its height to either side of its middle. */
interface Box extends Point {
  wide: number;
  high: number;
}

const meet = (one: Box, other: Box): boolean =>
  Math.abs(one.x - other.x) < one.wide + other.wide && Math.abs(one.y - other.y) < one.high + other.high;

/** The edges as curves that keep out of the way of the nodes, with words that keep out of everybody's. */
export function drawingOf(graph: Graph, plan: Plan, sizes: Sizes, wordsOf: (edge: Edge) => string): Drawing {
  const half = { wide: sizes.node.width / 2, high: sizes.node.height / 2 };
  const nodes = new Map([...plan.cells].map(([session, cell]): [string, Box] => [session, { ...middleOf(cell, sizes), ...half }]));
  const pairs = new Set(graph.edges.map(({ from, to }) => `${from} ${to}`));
  const right = plan.columns * sizes.cell.width + OUTSIDE;
  const boxes = [...nodes.values()];
  const curves = graph.edges.flatMap((edge): Curve[] => {
    const [a, b] = [nodes.get(edge.from), nodes.get(edge.to)];
    if (!a || !b) return [];
    const words = wordsOf(edge);
    const size = { wide: (words.length * LETTER) / 2 + 2, high: LINE / 2 };
    if (plan.listed.has(edge.from)) {
      const { label, ...curve } = elbow(a, b, size);
      boxes.push(label);
      return [{ edge, words, ...curve, label }];
    }
    const others = [...nodes.values()].filter((node) => node !== a && node !== b);
    const isFree = (at: Point) =>
      at.x > -OUTSIDE && at.x < right && !others.some((node) => meet({ ...at, wide: 4, high: 4 }, node));
    // Two that wait for each other have an edge on either side.
    const bends = pairs.has(`${edge.to} ${edge.from}`) ? BENDS_MUTUAL : BENDS;
    const bend = bends.find((one) => samples(a, bent(a, b, one), b).every(isFree)) ?? bends[0] ?? 0;
    const control = bent(a, b, bend);
    const [from, to] = [rim(a, control), rim(b, control)];
    const places = LABELS.map(({ along, beside }): Box => {
      const { x, y } = on(from, control, to, along);
      return { x, y: y + beside, ...size };
    });
    const label = places.find((place) => !boxes.some((box) => meet(place, box))) ?? (places[0] as Box);
    boxes.push(label);
    return [{ edge, words, from, control, to, label }];
  });
  const points = curves.flatMap(({ from, control, to }) => samples(from, control, to).map((at): Box => ({ ...at, wide: 4, high: 4 })));
  return { curves, ...around([...boxes, ...points]) };
}

/** The control point of a curve that is so far from the straight line in its middle. */
function bent(a: Point, b: Point, bend: number): Point {
  const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
  return { x: (a.x + b.x) / 2 - (2 * bend * (b.y - a.y)) / length, y: (a.y + b.y) / 2 + (2 * bend * (b.x - a.x)) / length };
}

/** The edge of one in a list: out to the left and up to whom it waits for. Its words stand to its right. */
function elbow(a: Box, b: Box, size: { wide: number; high: number }) {
  const x = b.x - b.wide + 14;
  return {
    from: { x: a.x - a.wide, y: a.y },
    control: { x, y: a.y },
    to: { x, y: b.y + b.high + 2 },
    label: { x: a.x + a.wide + size.wide + 6, y: a.y, ...size },
  };
}

/** The box around all of these. */
function around(boxes: readonly Box[]): Omit<Drawing, "curves"> {
  const edge = (side: (box: Box) => number, best: (...all: number[]) => number) => best(...boxes.map(side));
  const left = edge(({ x, wide }) => x - wide, Math.min) - MARGIN;
  const top = edge(({ y, high }) => y - high, Math.min) - MARGIN;
  const right = edge(({ x, wide }) => x + wide, Math.max) + MARGIN;
  const bottom = edge(({ y, high }) => y + high, Math.max) + MARGIN;
  return boxes.length === 0 ? { left: 0, top: 0, width: 0, height: 0 } : { left, top, width: right - left, height: bottom - top };
}

/** A point of a quadratic curve. */
function on(from: Point, control: Point, to: Point, t: number): Point {
  const [one, two, three] = [(1 - t) ** 2, 2 * t * (1 - t), t ** 2];
  return { x: one * from.x + two * control.x + three * to.x, y: one * from.y + two * control.y + three * to.y };
}

const samples = (from: Point, control: Point, to: Point): Point[] =>
  Array.from({ length: SAMPLES - 1 }, (_, index) => on(from, control, to, (index + 1) / SAMPLES));

/** Where the way from a node's middle towards a point leaves the node. */
function rim(node: Box, towards: Point): Point {
  const [dx, dy] = [towards.x - node.x, towards.y - node.y];
  const way = Math.min(
    dx === 0 ? Infinity : (node.wide + 2) / Math.abs(dx),
    dy === 0 ? Infinity : (node.high + 2) / Math.abs(dy),
  );
  return Number.isFinite(way) ? { x: node.x + dx * way, y: node.y + dy * way } : { x: node.x, y: node.y };
}
