import type { Change } from "./wire";

/** The number of changes that are kept; older ones are forgotten. */
const KEPT = 200;

/**
 * The changes that are known together with those that a member tells. Members see the same change
 * at slightly different times and with reasons of their own; who told it first is believed. The
 * number of the mandate puts them in order, whatever the clocks say; that a mandate ended comes
 * after its beginning.
 */
export function merge(known: readonly Change[], told: readonly Change[]): readonly Change[] {
  if (told.length === 0) return known;
  const byKey = new Map<string, Change>();
  for (const change of [...known, ...told]) {
    const key = `${change.term ?? change.at} ${change.to}`;
    if (!byKey.has(key)) byKey.set(key, change);
  }
  const order = (change: Change) => (change.term ?? 0) + (change.to == null ? 0.5 : 0);
  return [...byKey.values()].sort((one, other) => order(one) - order(other)).slice(-KEPT);
}
