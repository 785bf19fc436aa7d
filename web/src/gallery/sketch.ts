// A scenario tells its own story, so a small picture of the run can be drawn without playing it.

/** A message of a sketch, between rows. */
export interface Arrow {
  from: number;
  to: number;
  x1: number;
  x2: number;
  /** The number of its kind, in order of appearance. */
  kind: number;
  arrives: boolean;
}

/** A stretch of a process's line. */
export interface Stretch {
  row: number;
  x1: number;
  x2: number;
}

/** A run as a thumbnail shows it; x goes from 0 to 1, rows are processes. */
export interface Sketch {
  /** Whose row is which: the largest is on top. */
  members: number[];
  arrows: Arrow[];
  down: Stretch[];
  crowned: Stretch[];
  inside: Stretch[];
  crashes: { row: number; x: number }[];
}

interface Told {
  us: number;
  text: string;
}

/** More than this is a blur at the size of a thumbnail. */
const LINES_MAX = 60;
const UNIT_US: Record<string, number> = { us: 1, ms: 1_000, s: 1_000_000 };

/** What the stories of a scenario tell, in order; empty if it has none. */
export function storyOf(scenario: string): Told[] {
  const told: Told[] = [];
  for (const paragraph of scenario.split(/\n\s*\n/)) {
    const [, story] = paragraph.split(/^---\s*$/m);
    for (const line of (story ?? "").split("\n")) {
      const found = /^([\d.]+)(us|ms|s)\s+(.*)$/.exec(line.trim());
      if (found) told.push({ us: Number(found[1]) * (UNIT_US[found[2] ?? ""] ?? 0), text: found[3] ?? "" });
    }
  }
  return told;
}

/** The members that a scenario's `cluster` line names, largest first. */
export function membersOf(scenario: string): number[] {
  const ids = /^cluster\s+\S+\s+([\d.,]+)/m.exec(scenario)?.[1] ?? "";
  const members = ids.split(",").flatMap((part) => {
    if (!/^\d+(\.\.\d+)?$/.test(part)) return [];
    const [from = 0, to] = part.split("..").map(Number);
    const last = to ?? from;
    return Array.from({ length: Math.min(Math.max(last - from + 1, 0), 64) }, (_, k) => from + k);
  });
  return members.sort((a, b) => b - a);
}

function latencyUs(scenario: string): number {
  const found = /^cluster.*\blatency=(?:exp:)?([\d.]+)(us|ms|s)/m.exec(scenario);
  return found ? Number(found[1]) * (UNIT_US[found[2] ?? ""] ?? 0) : 10_000;
}

/** Draws a scenario's story; null if it tells none that has a picture. */
export function sketch(scenario: string): Sketch | null {
  const told = storyOf(scenario).slice(0, LINES_MAX);
  const members = membersOf(scenario);
  if (told.length === 0 || members.length === 0) return null;
  const hop = latencyUs(scenario);
  const x = axis(
    told.flatMap(({ us }) => [us, us + hop]),
    hop,
  );
  const row = (id: string) => members.indexOf(Number(id));
  const drawing: Sketch = { members, arrows: [], down: [], crowned: [], inside: [], crashes: [] };
  const kinds: string[] = [];
  const since = {
    down: new Map<number, number>(),
    crowned: new Map<number, number>(),
    inside: new Map<number, number>(),
  };
  const end = (what: keyof typeof since, at: number, us: number) => {
    const from = since[what].get(at);
    if (from === undefined) return;
    drawing[what].push({ row: at, x1: x(from), x2: x(us) });
    since[what].delete(at);
  };
  for (const { us, text } of told) {
    const message = /^P(\d+) -> P(\d+)\s+([A-Z-]+)(.*)$/.exec(text);
    const deed = /^P(\d+) (.*)$/.exec(text);
    if (message) {
      const [, from = "", to = "", kind = "", rest = ""] = message;
      const undone = /\b(cut|lost)$/.test(rest);
      if (!kinds.includes(kind)) kinds.push(kind);
      if (undone) drawing.arrows.pop(); // its sending has a line of its own, right before
      if (from === to) continue;
      drawing.arrows.push({
        from: row(from),
        to: row(to),
        x1: x(us),
        x2: x(us + hop),
        kind: kinds.indexOf(kind),
        arrives: !undone,
      });
    } else if (deed) {
      const [, id = "", what = ""] = deed;
      const at = row(id);
      if (what === "crashes") {
        drawing.crashes.push({ row: at, x: x(us) });
        end("crowned", at, us);
        end("inside", at, us);
        since.down.set(at, us);
      } else if (what === "recovers") end("down", at, us);
      else if (what.startsWith("elected P")) {
        if (what !== `elected P${id}`) end("crowned", at, us);
        else if (!since.crowned.has(at)) since.crowned.set(at, us);
      } else if (what.startsWith("enters the section")) since.inside.set(at, us);
      else if (what.startsWith("leaves the section")) end("inside", at, us);
    }
  }
  const last = Math.max(...told.map(({ us }) => us)) + hop;
  for (const what of ["down", "crowned", "inside"] as const) {
    for (const at of [...since[what].keys()]) end(what, at, last);
  }
  return drawing;
}

/** Time to the right, except that long silences are made short. */
function axis(times: number[], hop: number): (us: number) => number {
  const moments = [...new Set(times)].sort((a, b) => a - b);
  const places = new Map<number, number>();
  let place = 0;
  moments.forEach((us, k) => {
    const before = moments[k - 1];
    if (before !== undefined) place += Math.min(us - before, 2 * hop);
    places.set(us, place);
  });
  return (us) => (place === 0 ? 0 : (places.get(us) ?? place) / place);
}
