import type { Schemas } from "../api/client";
import type { Model } from "./model";

export type Cost = Schemas["Cost"];

/** Messages of some kinds: as many as a source says, and as many as were sent. */
export interface Compared {
  kinds: readonly string[];
  formula: string;
  expected: number;
  /** Per entry into the critical section, where the formula is. */
  sent: number;
}

/** A case for which a source has a formula, and the run that it fits kind by kind. */
export interface Fit {
  cost: Cost;
  sent: number;
  parts: readonly Compared[];
}

/** What the sources say that a run costs: the cases that fit this run, and those that do not. */
export interface Costs {
  /** How many entries the messages are divided by; null where a formula is for the whole run. */
  entries: number | null;
  fits: readonly Fit[];
  others: readonly Cost[];
}

/** Compares a run with what the sources say that it costs. */
export function costsOf(model: Model): Costs {
  const costs = model.outcome?.costs ?? [];
  // Formulas of mutual exclusion are for one entry, under a light or a saturating load.
  const isPerEntry = costs.some((cost) => cost.case.endsWith(" load"));
  const entries = isPerEntry ? model.spans.filter(({ what }) => what === "inside").length : null;
  const fits = costs.flatMap((cost) => {
    const fit = fitOf(model, cost, entries ?? 1);
    return fit ? [fit] : [];
  });
  // A bound says less than a number that is met exactly.
  const exact = fits.filter(({ cost }) => cost.judged === "exact");
  const shown = exact.length > 0 ? exact : fits.slice(0, 1);
  return { entries, fits: shown, others: costs.filter((cost) => !shown.some((fit) => fit.cost === cost)) };
}

/** Null unless every kind of message was sent as often as the case says, and no other kind at all. */
function fitOf(model: Model, cost: Cost, entries: number): Fit | null {
  // A mean is about many runs; this is one.
  if (cost.judged === "mean" || entries === 0) return null;
  // What was broken off early stays below any bound.
  if (cost.judged === "at-most" && (model.outcome?.violation || !model.outcome?.agreed)) return null;
  const { kinds } = model.flights;
  const sent = (names: readonly string[]) =>
    kinds.reduce((sum, { name, sends }) => sum + (names.includes(name) ? sends.length : 0), 0) / entries;
  const parts = cost.kinds.map(({ kinds, formula, value }) => ({ kinds, formula, expected: value, sent: sent(kinds) }));
  const named = new Set(parts.flatMap(({ kinds }) => kinds));
  if (kinds.some(({ name, role }) => role === "protocol" && !named.has(name))) return null;
  const isMet = (expected: number, is: number) => (cost.judged === "at-most" ? is <= expected : is === expected);
  if (!parts.every(({ expected, sent }) => isMet(expected, sent))) return null;
  const all = parts.reduce((sum, { sent }) => sum + sent, 0);
  return isMet(cost.value, all) ? { cost, sent: all, parts } : null;
}
