import { widthOf } from "../diagram/surface";
import type { Layout } from "./layout";

/** What a process does, in words below it. */
export interface Caption {
  lines: readonly string[];
  /** The middle of its lines, and the base line of the first. */
  x: number;
  y: number;
}

/** A place in the picture that is taken. */
export interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

const SIZE = 11;
const LINE = 12;
/** How wide a line may be. What is longer gets a second one. */
const WIDEST = 118;
const MARGIN = 4;
/** Words are bold, and a little wider than {@link widthOf} takes them for. */
const BOLD = 1.06;

/** In smaller processes, words would say more than the picture. */
const RADIUS_MIN = 17;

const wide = (words: string) => widthOf(words, SIZE) * BOLD;

/** Where the words for a process stand: below it, within the picture; null if there is no room for any. */
export function captionOf(layout: Layout, node: number, words: string): Caption | null {
  const spot = layout.spots.get(node);
  if (!spot || words === "" || layout.radius <= RADIUS_MIN) return null;
  const lines = inLines(words);
  const half = Math.max(...lines.map(wide)) / 2 + MARGIN;
  const x = Math.max(half, Math.min(spot.x, layout.width - half));
  return { lines, x, y: spot.y + layout.radius + 14 };
}

/** What it takes of the picture. */
export function boxOf({ lines, x, y }: Caption): Box {
  const half = Math.max(...lines.map(wide)) / 2;
  return { left: x - half, right: x + half, top: y - SIZE, bottom: y + (lines.length - 1) * LINE + 3 };
}

/** In one line or two, as even as words allow. */
function inLines(text: string): string[] {
  if (wide(text) <= WIDEST) return [text];
  const words = text.split(" ");
  const splits = words.slice(1).map((_, at) => [words.slice(0, at + 1).join(" "), words.slice(at + 1).join(" ")] as const);
  const longer = (pair: readonly [string, string]) => Math.max(...pair.map(wide));
  const [best] = splits.sort((one, other) => longer(one) - longer(other));
  return best ? best.map(cut) : [cut(text)];
}

function cut(line: string): string {
  let kept = line;
  while (wide(kept) > WIDEST + 30) kept = kept.slice(0, -2);
  return kept === line ? line : `${kept.trimEnd()}…`;
}
