import type { Schemas } from "../api/client";

/** What is drawn of a process, as its algorithm says. */
export type View = Schemas["ProcessView"];
export type Row = Schemas["Row"];
export type Item = Schemas["Item"];
export type Mark = Schemas["Mark"];

/** What a mark says. */
export const MARKS: Readonly<Record<Mark, string>> = {
  token: "has the token",
  participant: "participant",
  passive: "passive",
  traitor: "traitor",
  victim: "victim",
  recorded: "has recorded its state",
  master: "clock master",
  decided: "has decided",
  drives: "drives the device",
};

/** The labels of the rows that are new in a view, or say something else than before. */
export function freshRows(before: View | null, now: View): Set<string> {
  const old = new Map(before?.rows?.map((row) => [row.label, JSON.stringify(row.items ?? [])]));
  const fresh = (now.rows ?? []).filter((row) => old.get(row.label) !== JSON.stringify(row.items ?? []));
  return new Set(before === null ? [] : fresh.map(({ label }) => label));
}

/** The arrows of a view to other processes. */
export function pointersOf(view: View | null): { to: number; label: string }[] {
  return (view?.rows ?? []).flatMap(({ shape, label, items }) =>
    shape === "pointer" ? (items ?? []).flatMap(({ node }) => (node == null ? [] : [{ to: node, label }])) : [],
  );
}

/** A row as words, for pictures that only write: `queue: P2 (3), P1 (4)`. */
export function rowWords({ shape, items = [] }: Row): string {
  const word = ({ text, note, to, range }: Item) => {
    if (to != null) return `${text} → ${to}${note ? ` (${note})` : ""}`;
    if (range != null) return `${text} [${range.join(", ")}] µs`;
    if (shape === "table") return `${text}: ${note ?? ""}`;
    return note ? `${text} (${note})` : text;
  };
  if (items.length === 0) return "empty";
  return items.map(word).join(shape === "queue" ? " ← " : shape === "tree" ? "; " : ", ");
}
