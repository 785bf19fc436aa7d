import type { Flight } from "../../run/flights";
import { stampWords } from "../panels/stamps";
import type { Plan } from "./plan";
import { widthOf } from "./surface";

/** Which stamps are written at events. */
export type Stamped = "none" | "lamport" | "vector";

/** Words in the diagram, where they do not run into each other. */
export interface Label {
  words: string;
  /** The event that they are about; for a message, its sending. */
  event: number;
  x: number;
  y: number;
  angle: number;
  /** The kind of message whose colour they have; otherwise they are about a process, or about the network. */
  kind: number | "process" | "network";
  bold: boolean;
  size: number;
  /** How far they reach to the left and to the right. */
  from: number;
  to: number;
}

const SIZE = 11;
/** Processes that are closer than this have no room for words between them. */
const CLOSEST = 17;
/** The lines above all processes. */
const NOTES = [12, 25];
/** Where along an arrow words may stand, the best place first. */
const ALONG = [0.5, 0.38, 0.62, 0.28, 0.72];

/** Finds room for words: first for what processes say, then for messages. */
export function placeLabels(plan: Plan, stamps: Stamped): Label[] {
  const room = new Room();
  const labels: Label[] = [];
  plan.model.events.forEach((event, index) => {
    if (event.event === "note") noteAt(plan, room, labels, index, shorten(event.text, 40));
  });
  if (plan.lane < CLOSEST) return labels;
  if (stamps !== "none") {
    // The events of a step stand close together: what leaves and what arrives comes first.
    for (const travels of [true, false]) {
      plan.model.events.forEach(({ event }, index) => {
        if ((event === "send" || event === "receive") === travels) stampAt(plan, room, labels, index, stamps);
      });
    }
  }
  for (const important of [true, false]) {
    plan.model.events.forEach((event, index) => {
      if (event.event !== "output" && event.event !== "input") return;
      const loud = event.event === "output" && /^(elected|enters|decides|attacks|stays|finds)/.test(event.text);
      if (loud === important) sayAt(plan, room, labels, index, shorten(event.text, 34), event.event === "output", loud);
    });
    if (important) plan.model.flights.all.forEach((flight, number) => nameFlight(plan, room, labels, flight, number));
  }
  return labels;
}

/** Stamps stand below the line of their process, where there is room. */
function stampAt(plan: Plan, room: Room, labels: Label[], index: number, stamps: "lamport" | "vector") {
  const event = plan.model.events[index]!;
  if (event.node == null || event.event === "drop" || event.event === "note") return;
  const words = stampWords(event, stamps, plan.model.header.nodes);
  const width = widthOf(words, SIZE);
  const x = plan.x[index]! - (stamps === "lamport" ? width / 2 : 2);
  const y = plan.y.get(event.node)! + 15;
  if (!room.take(x, y - 4, 0, width, SIZE)) return;
  labels.push({ words, event: index, x, y, angle: 0, kind: "process", bold: true, size: SIZE, from: x, to: x + width });
}

/** What happens to the network is written above all processes. */
function noteAt(plan: Plan, room: Room, labels: Label[], event: number, words: string) {
  const x = plan.x[event]! + 4;
  const width = widthOf(words, SIZE) * 1.06;
  const y = NOTES.find((y) => room.take(x, y - 3, 0, width, SIZE));
  if (y !== undefined) labels.push({ words, event, x, y, angle: 0, kind: "network", bold: true, size: SIZE, from: x, to: x + width });
}

/** Outputs are written above the line of their process, inputs below. */
function sayAt(plan: Plan, room: Room, labels: Label[], index: number, words: string, above: boolean, bold: boolean) {
  const x = plan.x[index]! + 8;
  const y = plan.y.get(plan.model.events[index]!.node!)! + (above ? -9 : 17);
  const width = widthOf(words, SIZE);
  if (!room.take(x, y - 4, 0, width, SIZE)) return;
  labels.push({ words, event: index, x, y, angle: 0, kind: "process", bold, size: SIZE, from: x, to: x + width });
}

/** Along its arrow: all of it or, if that is too long, what its colour does not say. */
function nameFlight(plan: Plan, room: Room, labels: Label[], flight: Flight, number: number) {
  const kind = plan.model.flights.kinds[flight.kind]!;
  const [x1, y1, x2, y2] = plan.legs.subarray(4 * number, 4 * number + 4) as unknown as [number, number, number, number];
  const length = Math.hypot(x2 - x1, y2 - y1);
  const angle = Math.atan2(y2 - y1, x2 - x1);
  const rest = flight.text.startsWith(kind.name) ? flight.text.slice(kind.name.length).trim() : "";
  const size = kind.role === "overhead" ? SIZE - 1 : SIZE;
  for (const words of rest && rest !== flight.text ? [flight.text, rest] : [flight.text]) {
    const width = widthOf(words, size);
    if (width + 22 > length) continue;
    for (const along of ALONG) {
      const start = along * length - width / 2;
      if (start < 8 || start + width > length - 12) continue;
      // A little to the side of the arrow: above it, as one reads.
      const x = x1 + Math.cos(angle) * start + Math.sin(angle) * 4;
      const y = y1 + Math.sin(angle) * start - Math.cos(angle) * 4;
      if (!room.take(x, y, angle, width, size)) continue;
      const ends = [x, x + Math.cos(angle) * width];
      const reach = { from: Math.min(...ends) - 8, to: Math.max(...ends) + 8 };
      labels.push({ words, event: flight.send, x, y, angle, kind: flight.kind, bold: false, size, ...reach });
      return;
    }
  }
}

const shorten = (words: string, max: number) => (words.length > max ? `${words.slice(0, max - 1)}…` : words);

/** Which parts of the paper have words on them already, in small squares. */
class Room {
  private static readonly CELL = 9;
  private readonly taken = new Set<number>();

  /** Takes the room of words that begin at a point and run at an angle; false if some of it is taken. */
  take(x: number, y: number, angle: number, width: number, size: number): boolean {
    const cells: number[] = [];
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    for (let along = 0; ; along += Room.CELL * 0.8) {
      const at = Math.min(along, width);
      for (const up of [-1, size - 3]) {
        const cell = this.cell(x + cos * at + sin * up, y + sin * at - cos * up);
        if (this.taken.has(cell)) return false;
        cells.push(cell);
      }
      if (along >= width) break;
    }
    for (const cell of cells) this.taken.add(cell);
    return true;
  }

  private cell(x: number, y: number): number {
    return Math.floor(x / Room.CELL) * 65_536 + Math.floor(y / Room.CELL);
  }
}
