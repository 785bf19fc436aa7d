import type { Flight } from "../../run/flights";
import { widthOf } from "../diagram/surface";
import type { Layout, Spot } from "./layout";

/** The words of a message on its way. */
export interface Word {
  flight: Flight;
  text: string;
  x: number;
  y: number;
  anchor: "start" | "middle" | "end";
  left: number;
  right: number;
}

const SIZE = 11;
const LONGEST = 20;

/** Words beside messages, where they run into neither each other nor a process. Those at one spot share a line. */
export class Words {
  readonly all: Word[] = [];
  private readonly bySpot = new Map<string, Word>();

  constructor(private readonly layout: Layout) {}

  add(flight: Flight, spot: Spot, size: number) {
    const key = `${Math.round(spot.x / 6)} ${Math.round(spot.y / 6)}`;
    const text = flight.text.length > LONGEST ? `${flight.text.slice(0, LONGEST - 1)}…` : flight.text;
    const there = this.bySpot.get(key);
    if (there) return join(there, text);
    const word = placeWord(flight, text, spot, size);
    if (this.collides(word)) return;
    this.all.push(word);
    this.bySpot.set(key, word);
  }

  private collides({ left, right, y }: Word): boolean {
    const words = this.all.some((other) => Math.abs(other.y - y) < SIZE && other.left < right && left < other.right);
    const { spots, radius } = this.layout;
    const half = radius * 0.7;
    return words || [...spots.values()].some((node) => Math.abs(node.y - y + 4) < half && node.x - half < right && left < node.x + half);
  }
}

/** Beside the message, away from its link. */
function placeWord(flight: Flight, text: string, { x, y, outX, outY }: Spot, size: number): Word {
  const anchor = outX > 0.35 ? "start" : outX < -0.35 ? "end" : "middle";
  const [at, width] = [x + outX * (size * 0.5 + 5), widthOf(text, SIZE)];
  const left = anchor === "start" ? at : anchor === "end" ? at - width : at - width / 2;
  return { flight, text, x: at, y: y + outY * (size * 0.5 + 9) + 4, anchor, left, right: left + width };
}

function join(word: Word, text: string) {
  if (word.text.includes(text) || word.text.endsWith(" …")) return;
  word.text = word.text.length > LONGEST + 4 ? `${word.text} …` : `${word.text}, ${text}`;
}
