import type { Event } from "../../run/recording";
import type { Span } from "../../run/lives";
import { processName } from "../../run/words";
import type { Label } from "./labels";
import { colourNumbers, kindInk, type Palette } from "./colours";
import { type Piece, type Plan } from "./plan";
import type { Stroke, Surface } from "./surface";
import { arrowHead, cross, crown, hourglass, triangle } from "./signs";

/** What of a run is to be drawn: everything, or what bears on one event. */
export interface Choice {
  flight(number: number): boolean;
  event(index: number): boolean;
}

const ALL: Choice = { flight: () => true, event: () => true };

/** Draws what lies behind the messages: the lines of the processes, and what they are on them. */
export function paintGround(on: Surface, plan: Plan, ink: Palette, from: number, to: number) {
  const lane = Math.min(plan.lane, 60);
  const half = Math.min(7, lane * 0.24);
  const lines: number[] = [];
  for (const y of plan.y.values()) lines.push(from, y, Math.min(to, plan.end), y);
  on.lines(lines, { colour: ink.life, width: lane < 18 ? 1 : 1.6 });
  for (const span of plan.model.spans) {
    const [x1, x2] = extent(plan, span);
    if (x2 < from || x1 > to) continue;
    paintSpan(on, plan, ink, span, Math.max(x1, from - 20), Math.min(x2, to + 20), half);
  }
  paintTears(on, plan, ink, from, to);
}

/** From where to where a stretch of life is drawn. */
export function extent(plan: Plan, span: Span): [number, number] {
  const x1 = span.from < 0 ? (plan.x[0] ?? plan.end) - 26 : plan.x[span.from]!;
  return [x1, span.to === null ? plan.end : plan.x[span.to]!];
}

function paintSpan(on: Surface, plan: Plan, ink: Palette, span: Span, x1: number, x2: number, half: number) {
  const y = plan.y.get(span.node)!;
  const width = Math.max(1, x2 - x1);
  switch (span.what) {
    case "coordinates":
      on.rect(x1, y - half, width, 2 * half, ink.reign, { colour: ink.reignEdge, width: 1 }, half);
      if (span.from < 0) on.shapes([crown(x1 + 9, y - half, half)], ink.crown, { colour: ink.crownEdge, width: 1 });
      return;
    case "down":
      on.rect(x1, y - half, width, 2 * half, ink.void);
      return on.lines([x1, y, x2, y], { colour: ink.gone, width: 1.6, dash: [2, 5] });
    case "paused": {
      const hatch: number[] = [];
      for (let x = x1 - (x1 % 7); x < x2; x += 7) hatch.push(Math.max(x, x1), y + half, Math.min(x + 5, x2), y - half);
      return on.lines(hatch, { colour: ink.life, width: 1.2 });
    }
    case "waiting":
      return on.rect(x1, y + half * 0.2, width, half * 0.9, ink.waits, { colour: ink.inside, width: 0.8 });
    case "inside":
      on.rect(x1, y - half, width, 2 * half, ink.inside, { colour: ink.insideEdge, width: 1 }, 2);
      if (span.label && width > 30 && half > 5) {
        on.text(span.label, x1 + width / 2, y + 3.5, { size: 10, colour: "#06283d", bold: true, align: "middle" });
      }
  }
}

/** Two zigzag lines, as if a strip of the paper had been torn out. */
function paintTears(on: Surface, plan: Plan, ink: Palette, from: number, to: number) {
  for (const { before } of plan.model.timeline.tears) {
    const x = (plan.x[before - 1]! + plan.x[before]!) / 2;
    if (x < from - 12 || x > to + 12) continue;
    on.rect(x - 3, 0, 6, plan.height, ink.paper);
    const zigzag: number[] = [];
    for (const side of [-4, 4]) {
      for (let y = 2, turn = 1; y < plan.height; y += 6, turn = -turn) {
        zigzag.push(x + side - 2 * turn, y, x + side + 2 * turn, y + 6);
      }
    }
    on.lines(zigzag, { colour: ink.gone, width: 1 });
  }
}

/** Draws one piece's messages, signs and words. */
export function paintPiece(on: Surface, plan: Plan, piece: Piece, ink: Palette, choice = ALL, words = true) {
  paintNotes(on, plan, piece, ink, choice);
  paintFlights(on, plan, piece, ink, choice);
  paintSigns(on, plan, piece, ink, choice);
  if (!words) return;
  const colours = colourNumbers(plan.model.flights.kinds);
  for (const label of piece.labels) if (choice.event(label.event)) paintLabel(on, ink, colours, label);
}

/** Writes the words of a message or a process. */
export function paintLabel(on: Surface, ink: Palette, colours: readonly (number | null)[], label: Label) {
  const { kind, bold } = label;
  const colour =
    kind === "network" ? ink.note : kind === "process" ? (bold ? ink.ink : ink.faint) : kindInk(ink, colours[kind]!).word;
  on.text(label.words, label.x, label.y, { size: label.size, colour, bold, angle: label.angle, halo: ink.paper });
}

/** Where more messages than this pass, they are thin and let each other shine through. */
const DENSE = 500;

/** The messages, kind by kind: a kind has one colour, so it is one stroke. */
function paintFlights(on: Surface, plan: Plan, piece: Piece, ink: Palette, choice: Choice) {
  const { kinds, all } = plan.model.flights;
  const colours = colourNumbers(kinds);
  const byKind = kinds.map(() => ({ shafts: [] as number[], heads: [] as number[][], crosses: [] as number[] }));
  const small = plan.lane < 18;
  for (const number of piece.flights) {
    if (!choice.flight(number)) continue;
    const flight = all[number]!;
    const into = byKind[flight.kind]!;
    const [x1, y1, x2, y2] = [plan.legs[4 * number]!, plan.legs[4 * number + 1]!, plan.legs[4 * number + 2]!, plan.legs[4 * number + 3]!];
    into.shafts.push(x1, y1, x2, y2);
    if (flight.why !== null) into.crosses.push(...cross(x2, y2, small ? 3 : 4.5));
    else if (flight.arrive !== null) into.heads.push(arrowHead(x1, y1, x2, y2, small ? 5 : 8));
  }
  byKind.forEach(({ shafts, heads, crosses }, kind) => {
    const overhead = kinds[kind]!.role === "overhead";
    const { line, dash } = kindInk(ink, colours[kind]!);
    const isDense = piece.flights.length > DENSE;
    const stroke: Stroke = { colour: isDense ? `${line}73` : line, width: isDense ? 0.8 : overhead || small ? 1 : 1.6 };
    if (shafts.length) on.lines(shafts, dash ? { ...stroke, dash } : stroke);
    if (heads.length) on.shapes(heads, line);
    if (crosses.length) on.lines(crosses, { ...stroke, width: stroke.width + 0.5 });
  });
}

/** What happened to the network: a line through all processes. */
function paintNotes(on: Surface, plan: Plan, piece: Piece, ink: Palette, choice: Choice) {
  for (const index of piece.events) {
    const event = plan.model.events[index]!;
    if (event.event !== "note" || !choice.event(index)) continue;
    const x = plan.x[index]!;
    on.lines([x, 16, x, plan.height - 4], { colour: ink.note, width: 1.2, dash: [6, 4] });
  }
}

/** A sign for every event, by what it is. */
function paintSigns(on: Surface, plan: Plan, piece: Piece, ink: Palette, choice: Choice) {
  const size = Math.max(0.5, Math.min(1, plan.lane / 30));
  const dots: number[] = [];
  const circles: number[] = [];
  const learned: number[] = [];
  const risen: number[] = [];
  const fallen: number[] = [];
  const shapes: number[][] = [];
  const crowns: number[][] = [];
  for (const index of piece.events) {
    const event = plan.model.events[index]!;
    if (event.node == null || !choice.event(index)) continue;
    const [x, y] = [plan.x[index]!, plan.y.get(event.node)!];
    if (plan.crowned.has(index)) crowns.push(crown(x, y - 8 * size, 7 * size));
    else if (event.coordinator != null) learned.push(x, y, 4.5 * size);
    if (event.event === "crash") fallen.push(...cross(x, y, 6 * size));
    else if (event.event === "recover") risen.push(x, y, 5 * size);
    else if (event.event === "input") shapes.push(triangle(x, y - 6 * size, 5 * size));
    else if (event.event === "timer" && hasEffect(event)) shapes.push(...hourglass(x, y, 5 * size));
    else if (event.event === "output" && event.coordinator === undefined) circles.push(x, y, 3.6 * size);
    else if (event.event !== "drop" && event.coordinator == null) dots.push(x, y, 2.2 * size);
  }
  const edge: Stroke = { colour: ink.life, width: 1.4 * size };
  if (dots.length) on.circles(dots, ink.life);
  if (circles.length) on.circles(circles, ink.paper, edge);
  if (shapes.length) on.shapes(shapes, ink.paper, edge);
  if (learned.length) on.circles(learned, ink.crown, { colour: ink.crownEdge, width: 1 });
  if (risen.length) on.circles(risen, ink.rose, { colour: ink.paper, width: 1.2 });
  if (fallen.length) on.lines(fallen, { colour: ink.fell, width: 2.4 * size });
  if (crowns.length) on.shapes(crowns, ink.crown, { colour: ink.crownEdge, width: 1 });
}

/** A timer that changes nothing is only a dot. */
export function hasEffect(event: Event): boolean {
  return Boolean(event.rules?.length || event.coordinator !== undefined || event.section || event.state);
}

/** The cuts: a line from process to process where each passed it, as far as that has happened. */
export function paintCuts(on: Surface, plan: Plan, ink: Palette, happened = Infinity) {
  for (const { name, at } of plan.model.cuts) {
    const passed = plan.order.flatMap((node) => {
      const event = at.get(node);
      return event === undefined || event >= happened || event < 0 ? [] : [{ x: plan.x[event]!, y: plan.y.get(node)! }];
    });
    const line = passed.slice(1).flatMap((to, k) => [passed[k]!.x, passed[k]!.y, to.x, to.y]);
    on.lines(line, { colour: ink.past, width: 2.6, dash: [7, 4] });
    on.circles(passed.flatMap(({ x, y }) => [x, y, 5]), ink.past, { colour: ink.paper, width: 1.5 });
    const last = passed.at(-1);
    if (last) on.text(name, last.x + 8, last.y + 24, { size: 11, colour: ink.past, bold: true, halo: ink.paper });
  }
}

/** The names of the processes, at the left edge of what is seen. */
export function paintNames(on: Surface, plan: Plan, ink: Palette, x: number) {
  const size = Math.max(9, Math.min(13, plan.lane * 0.62));
  for (const [node, y] of plan.y) {
    const height = Math.min(24, plan.lane - 2);
    on.rect(x + 4, y - height / 2, 42, height, ink.grid, { colour: ink.gone, width: 1 }, Math.min(6, height / 3));
    on.text(processName(node), x + 25, y + size * 0.36, { size, colour: ink.ink, bold: true, align: "middle" });
  }
}

/** The axis below, between two points, with the times up to a third. */
export function paintAxis(on: Surface, plan: Plan, ink: Palette, from: number, to: number, y: number, until = Infinity) {
  on.lines([from, y, Math.min(to, plan.end), y], { colour: ink.gone, width: 1.2 });
  for (const { x, words } of plan.ticks) {
    if (x < from - 40 || x > to + 40 || x > until) continue;
    on.lines([x, y, x, y + 5], { colour: ink.gone, width: 1.2 });
    on.text(words, x, y + 18, { size: 11, colour: ink.faint, align: "middle" });
  }
}
