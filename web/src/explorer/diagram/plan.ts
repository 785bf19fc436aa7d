import type { Flight } from "../../run/flights";
import type { Model } from "../../run/model";
import { eventsUntil, LEAD } from "../../run/timeline";
import { inMs } from "../../run/words";
import { placeLabels, type Label, type Stamped } from "./labels";
import { widthOf } from "./surface";

/** How wide the pieces are that the diagram is drawn in. */
export const TILE = 512;
/** The room for the names of the processes, and what is left free around the rest. */
export const GUTTER = 52;
const PAD = { left: 14, right: 90, top: 30, bottom: 14 };
/** The room for the axis, below all. */
export const AXIS = 28;

/** Where everything in the diagram is, in pixels from its upper left corner. */
export interface Plan {
  readonly model: Model;
  /** Pixels per unit of the time line. */
  readonly scale: number;
  /** The distance between two processes. */
  readonly lane: number;
  /** The processes from top to bottom: the largest first. */
  readonly order: readonly number[];
  readonly y: ReadonlyMap<number, number>;
  /** Where each event is. */
  readonly x: Float64Array;
  /** Where each flight begins and ends, as four numbers. */
  readonly legs: Float64Array;
  readonly end: number;
  readonly width: number;
  /** Without the axis. */
  readonly height: number;
  /** The events at which a process takes itself for the coordinator and did not before. */
  readonly crowned: ReadonlySet<number>;
  /** The times that there is room for below. */
  readonly ticks: readonly Tick[];
  readonly pieces: readonly Piece[];
}

/** A time on the axis. */
export interface Tick {
  x: number;
  words: string;
}

/** What is to be drawn in one piece of the diagram. */
export interface Piece {
  flights: number[];
  events: number[];
  labels: Label[];
}

/** Lays the diagram out. */
export function layPlan(model: Model, scale: number, lane: number, stamps: Stamped = "none"): Plan {
  const { flights, timeline, header } = model;
  const order = [...header.nodes].sort((a, b) => b - a);
  const y = new Map(order.map((node, rank) => [node, PAD.top + (rank + 0.5) * lane]));
  const left = GUTTER + PAD.left + LEAD * scale;
  const x = timeline.at.map((at) => left + at * scale);
  const end = left + timeline.end * scale;
  const legs = new Float64Array(4 * flights.all.length);
  flights.all.forEach((flight, number) => {
    const from = [x[flight.send]!, y.get(flight.from)!] as const;
    const due = flight.arrive === null ? Math.max(from[0] + 0.5 * scale, end) : x[flight.arrive]!;
    const to = [due, y.get(flight.to)!] as const;
    legs.set([...from, ...endOf(flight, from, to, scale, lane)], 4 * number);
  });
  const height = PAD.top + order.length * lane + PAD.bottom;
  const crowned = new Set(model.spans.filter(({ what }) => what === "coordinates").map(({ from }) => from));
  const ticks = chooseTicks(model, x);
  const bare = { model, scale, lane, order, y, x, legs, end, width: end + PAD.right, height, crowned, ticks, pieces: [] };
  const labels = placeLabels(bare, stamps);
  const width = labels.reduce((most, { to }) => Math.max(most, to + 8), bare.width);
  const plan = { ...bare, width };
  return { ...plan, pieces: cutPieces(plan, labels) };
}

/**
 * Where the arrow of a message ends. Neither a message that the network lost nor one that is still
 * under way reaches its receiver: it gets about half of the way, and ends between the lines of two
 * processes, so that it does not seem to have reached a third one. A message that is lost at the
 * moment of its sending is drawn as if it had taken the usual time.
 */
function endOf({ why, arrive }: Flight, from: Point, to: Point, scale: number, lane: number): Point {
  if (why === "down" || (why === null && arrive !== null)) return to;
  const lanes = Math.max(1, Math.round(Math.abs(to[1] - from[1]) / lane));
  const part = (lanes % 2 === 0 ? lanes - 1 : lanes) / (2 * lanes);
  const due = why === null ? to[0] : Math.max(to[0], from[0] + scale);
  return [from[0] + (due - from[0]) * part, from[1] + (to[1] - from[1]) * part];
}

type Point = readonly [x: number, y: number];

/** At most a tenth of a millisecond: more digits than that are not for reading off an axis. */
const tickWords = (us: number) => inMs(us >= 1000 ? Math.round(us / 100) * 100 : us);

function chooseTicks({ events }: Model, x: Float64Array): Tick[] {
  const ticks: Tick[] = [];
  let free = -Infinity;
  events.forEach(({ us }, index) => {
    if (us === events[index - 1]?.us || x[index]! < free) return;
    const words = tickWords(us);
    ticks.push({ x: x[index]!, words });
    free = x[index]! + widthOf(words, 11) + 16;
  });
  return ticks;
}

function cutPieces(plan: Plan, labels: readonly Label[]): Piece[] {
  const pieces: Piece[] = Array.from({ length: Math.ceil(plan.width / TILE) }, () => ({
    flights: [],
    events: [],
    labels: [],
  }));
  const into = (from: number, to: number, put: (piece: Piece) => void) => {
    const last = Math.min(pieces.length - 1, Math.floor(to / TILE));
    for (let number = Math.max(0, Math.floor(from / TILE)); number <= last; number++) put(pieces[number]!);
  };
  for (let flight = 0; flight < plan.legs.length / 4; flight++) {
    into(plan.legs[4 * flight]! - 12, plan.legs[4 * flight + 2]! + 12, (piece) => piece.flights.push(flight));
  }
  for (let event = 0; event < plan.x.length; event++) {
    into(plan.x[event]! - 14, plan.x[event]! + 14, (piece) => piece.events.push(event));
  }
  for (const label of labels) into(label.from, label.to, (piece) => piece.labels.push(label));
  return pieces;
}

/** Where a place on the time line is. */
export const xOf = (plan: Plan, place: number) => GUTTER + PAD.left + (place + LEAD) * plan.scale;

/** How many events have happened left of a point. */
export function stepAtX(plan: Plan, x: number): number {
  return eventsUntil(plan.model.timeline, (x - GUTTER - PAD.left) / plan.scale - LEAD);
}

/** The distance at which something counts as pointed at. */
const NEAR = 9;

/** The event at a point: one that stands there or, failing that, the sending of a message that passes there. */
export function eventAt(plan: Plan, x: number, y: number): number | null {
  const piece = plan.pieces[Math.floor(x / TILE)];
  if (!piece) return null;
  let best: number | null = null;
  let nearest = NEAR;
  for (const index of piece.events) {
    const { node } = plan.model.events[index]!;
    const off = Math.hypot(plan.x[index]! - x, node == null ? 0 : (plan.y.get(node)! - y) * 0.8);
    if (off < nearest) [best, nearest] = [index, off];
  }
  if (best !== null) return best;
  nearest = NEAR / 2;
  for (const number of piece.flights) {
    const off = distance(plan.legs, 4 * number, x, y);
    if (off < nearest) [best, nearest] = [plan.model.flights.all[number]!.send, off];
  }
  return best;
}

function distance(legs: Float64Array, at: number, x: number, y: number): number {
  const [x1, y1, dx, dy] = [legs[at]!, legs[at + 1]!, legs[at + 2]! - legs[at]!, legs[at + 3]! - legs[at + 1]!];
  const along = Math.max(0, Math.min(1, ((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(x1 + along * dx - x, y1 + along * dy - y);
}
