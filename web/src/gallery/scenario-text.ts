import type { Schemas } from "../api/client";
import type { Ask, Fault, Latency, RunForm } from "./form";

/** The scenario that a form describes. */
export function scenarioText(algorithm: Schemas["Algorithm"], form: RunForm): string {
  const deeds = [
    ...form.faults.map((fault) => ({ atMs: fault.atMs, line: faultLine(fault) })),
    ...form.asks.map((ask) => ({ atMs: ask.atMs, line: askLine(ask) })),
  ];
  // The sort is stable: of what happens at the same time, faults come first, and all else as it is listed.
  deeds.sort((a, b) => a.atMs - b.atMs);
  const lines = [
    `cluster ${algorithm.name} ${ids(form)}${settings(algorithm, form)}`,
    ...deeds.map(({ atMs, line }) => `${line} at=${atMs}ms`),
    form.forMs === null ? "run" : `run for=${form.forMs}ms`,
  ];
  return lines.join("\n") + "\n";
}

function ids({ ids, nodes }: RunForm): string {
  const own = ids.replaceAll(/\s+/g, "");
  return own || (nodes === 1 ? "1" : `1..${nodes}`);
}

function settings(algorithm: Schemas["Algorithm"], form: RunForm): string {
  const given: string[] = [];
  if (form.coordinator === "none") given.push("coordinator=none");
  given.push(`latency=${latency(form.latency)}`);
  if (form.timeoutMs !== null) given.push(`timeout=${form.timeoutMs}ms`);
  if (form.detection) given.push("detection=on");
  if (algorithm.has_section) {
    if (form.textbook) given.push("textbook");
    if (form.sectionMs !== null) given.push(`section=${form.sectionMs}ms`);
  }
  if (algorithm.topology === "tree") given.push(`tree=${form.tree}`);
  if (form.loss > 0) given.push(`loss=${form.loss}`);
  if (form.reorder) given.push("reorder");
  if (form.seed !== 0) given.push(`seed=${form.seed}`);
  for (const { name, value } of algorithm.options) {
    const chosen = form.options[name];
    if (value == null && chosen === true) given.push(name);
    if (value != null && typeof chosen === "string" && chosen.trim())
      given.push(`${name}=${chosen.trim().replaceAll(/\s+/g, "")}`);
  }
  return given.map((setting) => ` ${setting}`).join("");
}

function latency({ kind, ms, toMs }: Latency): string {
  if (kind === "exp") return `exp:${ms}ms`;
  return kind === "range" && toMs > ms ? `${ms}ms..${toMs}ms` : `${ms}ms`;
}

const askLine = ({ verb, parts, who }: Ask) =>
  `${[verb.split(":")[0], ...parts.map((part) => part.trim())].join(":")} ${list(who)}`;

function faultLine({ kind, what }: Fault): string {
  if (kind === "heal") return "heal";
  const about =
    kind === "partition" || kind === "cut" ? what.replaceAll(/\s+/g, "") : kind === "clock" ? what.trim() : list(what);
  return `${kind} ${about}`;
}

/** Ids with spaces between them, however a person separates them. */
const list = (ids: string) =>
  ids
    .trim()
    .split(/[\s,]+/)
    .join(" ");

/** Where the server says that a scenario is wrong; null if it does not say where. */
export function mistakeAt(message: string): { line: number; column: number } | null {
  const found = /\bline (\d+)(?:, column (\d+))?|(?:^|[\s:])(\d+):(\d+):/.exec(message);
  if (!found) return null;
  return { line: Number(found[1] ?? found[3]), column: Number(found[2] ?? found[4] ?? 1) };
}

/** The place of a line in a text, as its first and last character. */
export function lineSpan(text: string, line: number): [number, number] {
  const lines = text.split("\n");
  const index = Math.min(Math.max(line, 1), lines.length) - 1;
  const start = lines.slice(0, index).reduce((sum, before) => sum + before.length + 1, 0);
  return [start, start + (lines[index]?.length ?? 0)];
}
