import type { Label } from "./labels";
import { TILE, type Plan } from "./plan";
import { widthOf } from "./surface";

/** What has happened already although it is drawn beyond the current moment. */
export interface Fresh {
  labels: Label[];
  /** Messages that did not arrive, by their numbers: drawn as if they had taken the usual time. */
  over: Set<number>;
  /** The beginnings of messages that are under way: as far as their words reach, so that no words stand without an arrow. */
  stubs: { kind: number; line: readonly [x1: number, y1: number, x2: number, y2: number] }[];
}

/** Finds what has happened already although it is drawn beyond a point, when a number of events have happened. */
export function freshOf(plan: Plan, happened: number, now: number): Fresh {
  const { all } = plan.model.flights;
  const here = Math.floor(now / TILE);
  const pieces = [plan.pieces[here - 1], plan.pieces[here]].filter((piece) => piece !== undefined);
  const isFresh = ({ to, event }: Label) => to >= now && event < happened;
  const labels = [...new Set(pieces.flatMap((piece) => piece.labels.filter(isFresh)))];
  const fresh: Fresh = { labels, over: new Set(), stubs: [] };
  for (const number of new Set(pieces.flatMap(({ flights }) => flights))) {
    const { send, arrive, kind } = all[number]!;
    const [x1, y1, x2, y2] = plan.legs.subarray(4 * number, 4 * number + 4) as unknown as [number, number, number, number];
    if (send >= happened || x2 <= now) continue;
    if (arrive !== null && arrive < happened) {
      fresh.over.add(number);
      continue;
    }
    const length = Math.hypot(x2 - x1, y2 - y1) || 1;
    const angle = Math.atan2(y2 - y1, x2 - x1);
    const words = labels.find((label) => label.event === send && label.kind === kind && label.angle === angle);
    const end = words ? Math.hypot(words.x - x1, words.y - y1) + widthOf(words.words, words.size) : SHORT;
    const part = Math.min(1, end / length);
    fresh.stubs.push({ kind, line: [x1, y1, x1 + (x2 - x1) * part, y1 + (y2 - y1) * part] });
  }
  return fresh;
}

/** How much is drawn of a message without words. */
const SHORT = 18;
