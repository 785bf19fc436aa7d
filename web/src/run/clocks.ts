import type { Model } from "./model";

/** How far the clock of a process is ahead at a time, in microseconds; null before the first reading. */
export function aheadAt({ outcome }: Model, node: number, us: number): number | null {
  const points = outcome?.clocks?.lines[node] ?? [];
  let low = 0;
  let high = points.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle]![0]! <= us) low = middle + 1;
    else high = middle;
  }
  return (points[low - 1] ?? points[0])?.[1] ?? null;
}

/** The farthest that any clock is off, in microseconds. */
export function farthest({ outcome }: Model): number {
  const all = Object.values(outcome?.clocks?.lines ?? {}).flat();
  return all.reduce((most, [, off]) => Math.max(most, Math.abs(off!)), 1);
}

/** How far clocks are off, as people say it: `+3.2 ms`. */
export function offWords(us: number): string {
  const size = Math.abs(us);
  const words = size >= 1_000_000 ? `${(size / 1e6).toFixed(2)} s` : size >= 1000 ? `${(size / 1000).toFixed(size < 10_000 ? 2 : 1)} ms` : `${size} µs`;
  return `${us < 0 ? "−" : us > 0 ? "+" : "±"}${words}`;
}
