import { readTrace, TraceError, type ReadTrace } from "../run/trace";

/** Larger files are refused: the page would be at a standstill for too long. */
export const FILE_MAX = 20 * 1024 * 1024;

/** Why something cannot be opened, and what to do about it. */
export class OpenError extends Error {
  constructor(
    message: string,
    readonly hint: string,
  ) {
    super(message);
  }
}

/** What was opened. */
export type Recognised = { scenario: string } | { trace: ReadTrace };

const AS_TRACE =
  "Write one with --trace json --out run.jsonl, as in: bellwether sim bully --crash 5@100ms --trace json --out run.jsonl";
const EITHER =
  "A scenario has a line that begins with “cluster”; a saved trace begins with a line of JSON, as bellwether sim --trace json writes it.";

/** Refuses a file for its size alone, before it is read. */
export function checkSize(bytes: number): void {
  if (bytes === 0)
    throw new OpenError("The file is empty.", "If a command should have written it, check whether that command failed.");
  if (bytes <= FILE_MAX) return;
  const mb = (size: number) => Math.round(size / 1024 / 1024);
  throw new OpenError(
    `The file has ${mb(bytes)} MB, and this page opens up to ${mb(FILE_MAX)} MB.`,
    "Record a shorter run (--until 2s, fewer --nodes or --requests), or open the scenario of the run instead of its trace.",
  );
}

/** The text of a file; other files than texts are refused. */
export function decode(bytes: Uint8Array): string {
  checkSize(bytes.length);
  if (bytes[0] === 0x1f && bytes[1] === 0x8b)
    throw new OpenError("The file is compressed.", "Unpack it first: gunzip FILE.");
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    if (!text.includes("\0")) return text;
  } catch {
    // No UTF-8: the same answer as for zeros in it.
  }
  throw new OpenError("This is not a text file, so it is neither a scenario nor a trace.", EITHER);
}

/** Other things that bellwether writes, by how they begin, and what they are. */
const RELATIVES: readonly [RegExp, string][] = [
  [/^\s*(<\?xml[^>]*>\s*)?<svg/, "a picture of a run (--trace svg)"],
  [/^\s*sequenceDiagram/, "a Mermaid diagram (--trace mermaid)"],
  [/^\s*@startuml/, "a PlantUML diagram (--trace plantuml)"],
  [/^\s*(di)?graph\s/, "a graph for Graphviz (--trace dot)"],
  [/^\S+ \{"\S+":\d+/, "a log for ShiViz (--trace shiviz)"],
  [/^vectors in ring order: /m, "a trace for reading (--trace text)"],
];

/** Tells a scenario from a trace, and everything else from both. */
export function recognise(text: string): Recognised {
  const plain = text.replace(/^\ufeff/, "");
  if (plain.trim() === "") throw new OpenError("The text contains only blanks.", EITHER);
  if (/^\s*\{/.test(plain)) return { trace: asTrace(plain.trimStart()) };
  const relative = RELATIVES.find(([looks]) => looks.test(plain));
  if (relative) throw new OpenError(`This is ${relative[1]}. It does not contain enough to show the run.`, AS_TRACE);
  if (/^cluster\s/m.test(plain)) return { scenario: plain.replaceAll("\r\n", "\n") };
  throw new OpenError("This is neither a scenario nor a trace.", EITHER);
}

function asTrace(text: string): ReadTrace {
  try {
    return readTrace(text);
  } catch (error) {
    if (error instanceof TraceError) throw new OpenError(error.message, AS_TRACE);
    throw error;
  }
}
