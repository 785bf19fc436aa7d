import type { Flight } from "../../run/flights";
import { widthOf } from "../diagram/surface";
import type { Box } from "./captions";
import type { Layout, Spot } from "./layout";

/** The words of the messages at one spot, where they run into nothing. */
export interface Word {
  flight: Flight;
  text: string;
  /** The left end of their base line. */
  x: number;
  y: number;
  width: number;
}

const SIZE = 11;
const LONGEST = 20;
/** How far words stay away from the edges of the picture; on top, there is a line about cuts. */
const MARGIN = { side: 4, top: 28, bottom: 6 };

/** Words beside messages, where they run into neither each other, nor a process, nor the edge. Those at one spot share a line. */
export class Words {
  private readonly bySpot = new Map<string, { flight: Flight; texts: string[]; spot: Spot; size: number }>();

  /** Words also run into nothing that stands in these places. */
  constructor(
    private readonly layout: Layout,
    private readonly taken: readonly Box[] = [],
  ) {}

  add(flight: Flight, spot: Spot, size: number) {
    const key = `${Math.round(spot.x / 6)} ${Math.round(spot.y / 6)}`;
    const text = flight.text.length > LONGEST ? `${flight.text.slice(0, LONGEST - 1)}…` : flight.text;
    const there = this.bySpot.get(key);
    if (!there) this.bySpot.set(key, { flight, texts: [text], spot, size });
    else if (!there.texts.includes(text)) there.texts.push(text);
  }

  /** All words for which there is room. */
  get all(): Word[] {
    const placed: Word[] = [];
    for (const { flight, texts, spot, size } of this.bySpot.values()) {
      const text = joined(texts);
      const width = widthOf(text, SIZE);
      const free = around(spot, size, width).find(([x, y]) => this.isFree(placed, x, y, width));
      if (free) placed.push({ flight, text, x: free[0], y: free[1], width });
    }
    return placed;
  }

  private isFree(placed: readonly Word[], x: number, y: number, width: number): boolean {
    const { layout } = this;
    if (x < MARGIN.side || x + width > layout.width - MARGIN.side) return false;
    if (y < MARGIN.top || y > layout.height - MARGIN.bottom) return false;
    if (placed.some((other) => Math.abs(other.y - y) < SIZE + 1 && other.x < x + width && x < other.x + other.width)) return false;
    if (this.taken.some((box) => box.top < y && y - SIZE < box.bottom && box.left < x + width && x < box.right)) return false;
    return [...layout.spots.values()].every((node) => {
      const [nearX, nearY] = [Math.max(x, Math.min(node.x, x + width)), Math.max(y - SIZE, Math.min(node.y, y))];
      return Math.hypot(nearX - node.x, nearY - node.y) > layout.radius + 2;
    });
  }
}

function joined(texts: readonly string[]): string {
  const [first = "", ...rest] = texts;
  return rest.reduce((all, text) => (all.endsWith(" …") ? all : all.length > LONGEST + 4 ? `${all} …` : `${all}, ${text}`), first);
}

/** Where words may begin, the best place first: beside the message away from its link, across the link, right, left, above, below. */
function around({ x, y, outX, outY }: Spot, size: number, width: number): [x: number, y: number][] {
  const off = size * 0.5 + 5;
  const beside = (way: number): [number, number] => {
    const out = way * outX;
    const start = x + out * off - (out > 0.35 ? 0 : out < -0.35 ? width : width / 2);
    return [start, y + way * outY * (off + 4) + 4];
  };
  return [
    beside(1),
    beside(-1),
    [x + off, y + 4],
    [x - off - width, y + 4],
    [x - width / 2, y - off],
    [x - width / 2, y + off + SIZE - 3],
  ];
}
