import type { Event, Header } from "./recording";
import type { View } from "./view";

/** What a process is between two changes. */
export interface Life {
  /** The index of the event that made it so; -1 for the beginning. */
  since: number;
  up: boolean;
  paused: boolean;
  /** Whom it takes for the coordinator. */
  coordinator: number | null;
  /** What it has of the critical section: `idle`, `waiting` or `inside`. */
  section: string;
  /** The number of its entry, while inside. */
  entry: string | null;
  /** Its state, field by field. */
  fields: Readonly<Record<string, string>>;
  /** The fields that this change wrote, or took away. */
  changed: readonly string[];
  /** What is drawn of it, as its algorithm says; null if that says nothing. */
  view: View | null;
  /** What was drawn of it before this change. */
  before: View | null;
}

/** A stretch of a process's life, from one event to another; null if it lasts to the end. */
export interface Span {
  node: number;
  /** -1 if it was so from the beginning. */
  from: number;
  to: number | null;
  what: "down" | "paused" | "coordinates" | "waiting" | "inside";
  label: string | null;
}

/** The lives of all processes: for each, what it was, in order. */
export type Lives = ReadonlyMap<number, readonly Life[]>;

/** Follows every process through the run. */
export function followLives(header: Header, events: readonly Event[]): Lives {
  const lives = new Map<number, Life[]>();
  for (const node of header.nodes) {
    lives.set(node, [
      {
        since: -1,
        up: true,
        paused: false,
        coordinator: header.coordinators[node] ?? null,
        section: "idle",
        entry: null,
        fields: header.states?.[node] ?? {},
        changed: [],
        view: header.views?.[node] ?? null,
        before: header.views?.[node] ?? null,
      },
    ]);
  }
  events.forEach((event, index) => {
    const life = event.node == null ? undefined : lives.get(event.node);
    const next = life && after(life.at(-1)!, event, index);
    if (next) life.push(next);
  });
  return lives;
}

/** What an event makes of a process; null if nothing. */
function after(life: Life, event: Event, index: number): Life | null {
  const next: Life = { ...life, since: index, changed: [], before: life.view };
  let differs = true;
  if (event.event === "crash") {
    Object.assign(next, { up: false, paused: false, coordinator: null, section: "idle", entry: null, view: null });
  } else if (event.event === "recover") next.up = true;
  else if (event.event === "pause") next.paused = true;
  else if (event.event === "resume") next.paused = false;
  else differs = false;
  if (event.coordinator !== undefined) {
    next.coordinator = event.coordinator;
    differs = true;
  }
  if (event.section != null) {
    next.section = event.section;
    next.entry = event.entry ?? null;
    differs = true;
  }
  if (event.view != null) {
    next.view = event.view;
    differs = true;
  }
  const changes = Object.entries(event.state ?? {});
  if (changes.length === 0) return differs ? next : null;
  const fields = { ...life.fields };
  for (const [name, value] of changes) {
    if (value === null) delete fields[name];
    else fields[name] = value;
  }
  return { ...next, fields, changed: changes.map(([name]) => name) };
}

/** What a process is when `step` events have happened. */
export function lifeAt(lives: readonly Life[], step: number): Life {
  let low = 0;
  let high = lives.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (lives[middle]!.since < step) low = middle;
    else high = middle - 1;
  }
  return lives[low]!;
}

/** The stretches worth drawing. */
export function spansOf(lives: Lives): Span[] {
  const spans: Span[] = [];
  for (const [node, life] of lives) {
    const open = new Map<Span["what"], Span>();
    for (const now of life) {
      const holds = (what: Span["what"], is: boolean, label: string | null = null) => {
        const running = open.get(what);
        if (running && (!is || running.label !== label)) {
          running.to = now.since;
          open.delete(what);
        }
        if (!is || open.has(what)) return;
        const span: Span = { node, from: now.since, to: null, what, label };
        open.set(what, span);
        spans.push(span);
      };
      holds("down", !now.up);
      holds("paused", now.paused);
      holds("coordinates", now.up && now.coordinator === node);
      holds("waiting", now.section === "waiting");
      holds("inside", now.section === "inside", now.entry);
    }
  }
  return spans;
}
