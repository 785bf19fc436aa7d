import type { Lives } from "./lives";
import type { Item } from "./view";

/** A cut through a run: where each process passes it, and what was recorded there. */
export interface CutLine {
  name: string;
  /** For each process that has passed it, the event at which it did. */
  readonly at: ReadonlyMap<number, number>;
  /** For each process what was recorded, change by change: the event, and what there was from then on. */
  readonly recorded: ReadonlyMap<number, readonly { since: number; items: readonly Item[] }[]>;
}

/** The cuts that the processes' views speak of, in the order of their beginning. */
export function cutsOf(lives: Lives): CutLine[] {
  const cuts = new Map<string, { at: Map<number, number>; recorded: Map<number, { since: number; items: readonly Item[] }[]> }>();
  for (const [node, life] of lives) {
    for (const { since, view } of life) {
      for (const { label, shape, items = [] } of view?.rows ?? []) {
        if (shape !== "cut") continue;
        const cut = cuts.get(label) ?? { at: new Map(), recorded: new Map() };
        cuts.set(label, cut);
        if (!cut.at.has(node)) cut.at.set(node, since);
        // What was recorded stays so when the part is complete and the process has forgotten it.
        const kept = cut.recorded.get(node) ?? [];
        const what = items.filter(({ tone }) => tone !== "waits" && tone !== "good");
        if (what.length > 0) kept.push({ since, items: what });
        cut.recorded.set(node, kept);
      }
    }
  }
  return [...cuts].map(([name, { at, recorded }]) => ({ name, at, recorded }));
}

/** What a process has recorded after this number of events; null if it has not passed the cut. */
export function recordedAt({ at, recorded }: CutLine, node: number, happened: number): readonly Item[] | null {
  const since = at.get(node);
  if (since === undefined || since >= happened) return null;
  return recorded.get(node)?.findLast((part) => part.since < happened)?.items ?? [];
}

/** The sum of the amounts of these items; null if one of them has none. */
export function sumOf(items: readonly Item[]): number | null {
  let sum = 0;
  for (const { note } of items) {
    if (!note || !/^\d+$/.test(note)) return null;
    sum += Number(note);
  }
  return sum;
}
