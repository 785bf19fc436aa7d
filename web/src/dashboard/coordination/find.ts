import type { Deadlock, Lock, Role, Session, WaitsFor } from "./types";

/** More of a kind than these are not shown at once. */
export const SHOWN_MAX = 200;

/** The first ones of a list, and how many more there are. */
export interface Some<T> {
  shown: T[];
  more: number;
}

/** The first of those that are wanted. */
export function first<T>(all: readonly T[], isWanted: (one: T) => boolean = () => true, max = SHOWN_MAX): Some<T> {
  const shown: T[] = [];
  let more = 0;
  for (const one of all) {
    if (!isWanted(one)) continue;
    if (shown.length < max) shown.push(one);
    else more += 1;
  }
  return { shown, more };
}

/** Whether any of these texts has a word in it, for each of the words that were typed. */
export type Filter = (texts: () => Iterable<string>) => boolean;

/** What was typed, as a question that can be asked of anything with texts. */
export function filterOf(typed: string): Filter {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return () => true;
  return (texts) => {
    const all = [...texts()].map((text) => text.toLowerCase());
    return words.every((word) => all.some((text) => text.includes(word)));
  };
}

interface Client {
  session: string;
  client: string;
}

function* clients(all: readonly Client[]): Generator<string> {
  for (const { session, client } of all) {
    yield session;
    yield client;
  }
}

export function* textsOfLock({ name, holders, queue }: Lock): Generator<string> {
  yield name;
  yield* clients(holders);
  yield* clients(queue);
}

export function* textsOfRole({ name, candidates, leader }: Role): Generator<string> {
  yield name;
  if (leader) yield leader.value;
  yield* clients(candidates);
}

export function* textsOfSession({ session, client, ...does }: Session): Generator<string> {
  yield session;
  yield client;
  yield* does.holds;
  yield* does.waits_for;
  yield* does.leads;
  yield* does.campaigns_for;
}

export function* textsOfDeadlock({ cycle, text }: Deadlock): Generator<string> {
  yield text;
  for (const { lock } of cycle) yield lock;
  yield* clients(cycle);
}

/** What an edge of the graph says; sessions have names besides. */
export function* textsOfWait({ from, to, lock }: WaitsFor, names: ReadonlyMap<string, string>): Generator<string> {
  yield from;
  yield to;
  yield lock;
  yield names.get(from) ?? "";
  yield names.get(to) ?? "";
}
