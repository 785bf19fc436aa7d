import type { Event, Header, Recording } from "./recording";

/** The format that this page reads. */
export const SCHEMA = "bellwether.trace/1";

/** More than this would bring the page to a standstill. */
const LIMITS = { nodes: 256, events: 200_000 };

/** Why a file is no trace, or not one that can be shown. */
export class TraceError extends Error {}

/** A trace as far as it could be read, and what was wrong with the rest. */
export interface ReadTrace {
  recording: Recording;
  problem: string | null;
}

/**
 * Reads a saved trace. What has no right first line is refused; what breaks off later is read up to
 * there, since the beginning of a run is worth looking at, too.
 */
export function readTrace(text: string): ReadTrace {
  const lines = text.replace(/^\ufeff/, "").split("\n");
  if (lines.at(-1)?.trim() === "") lines.pop();
  const header = readHeader(lines[0] ?? "");
  const events: Event[] = [];
  let problem: string | null = null;
  for (const [index, line] of lines.entries()) {
    if (index === 0) continue;
    if (events.length === LIMITS.events) {
      problem = `The trace has more than ${LIMITS.events} events; the rest is left out.`;
      break;
    }
    const read = readEvent(header, line);
    if (typeof read === "string") {
      const cut = index === lines.length - 1 && !line.trimEnd().endsWith("}");
      problem = cut
        ? `The file breaks off in line ${index + 1}: it was cut short. What comes before is shown.`
        : `Line ${index + 1} ${read}. What comes before is shown.`;
      break;
    }
    events.push(read);
  }
  return { recording: { header, events, scenario: null, outcome: null, remarks: [] }, problem };
}

function readHeader(line: string): Header {
  const first = parse(line);
  if (!isRecord(first) || typeof first["schema"] !== "string") {
    throw new TraceError(
      line.trim() === ""
        ? "The file is empty."
        : `This is not a trace: its first line does not say "schema":"${SCHEMA}". ` +
            "Traces are written by bellwether sim, check or host with --trace json.",
    );
  }
  const schema = first["schema"];
  if (schema !== SCHEMA) {
    const other = schema.startsWith("bellwether.trace/") ? "a trace of another version" : "another format";
    throw new TraceError(`This is ${other}, ${schema}. This page reads ${SCHEMA}.`);
  }
  const { nodes } = first;
  if (!Array.isArray(nodes) || !nodes.every((node) => Number.isInteger(node)) || new Set(nodes).size < nodes.length) {
    throw new TraceError("Line 1 has no list of different nodes.");
  }
  if (nodes.length > LIMITS.nodes) {
    throw new TraceError(`This is a run of ${nodes.length} processes. This page shows up to ${LIMITS.nodes}.`);
  }
  const word = (name: string) => (typeof first[name] === "string" ? (first[name] as string) : "");
  return {
    ...first,
    schema,
    algorithm: word("algorithm"),
    title: word("title") || word("algorithm") || "A run",
    topology: word("topology") || "mesh",
    seed: typeof first["seed"] === "number" ? first["seed"] : 0,
    nodes: nodes as number[],
    coordinators: isRecord(first["coordinators"]) ? (first["coordinators"] as Header["coordinators"]) : {},
  };
}

const POSTS = new Set(["send", "receive", "drop"]);
const TEXTS = new Set(["input", "timer", "output", "note"]);
const PLAIN = new Set(["crash", "recover", "pause", "resume"]);

/** The event of a line, or what is wrong with the line. */
function readEvent(header: Header, line: string): Event | string {
  const read = parse(line);
  if (!isRecord(read)) return "is not a JSON object";
  const { us, event, node, vector, text } = read;
  if (typeof us !== "number" || us < 0) return "has no time (us)";
  if (typeof event !== "string") return "does not say what happened (event)";
  const known = (id: unknown) => typeof id === "number" && header.nodes.includes(id);
  if (event !== "note" && !known(node)) return `is about a process that is not in line 1: ${String(node)}`;
  if (!isRecord(vector)) return "has no vector stamp";
  if (POSTS.has(event)) {
    if (!known(read["from"]) || !known(read["to"])) return "is about a message between unknown processes";
    if (typeof read["id"] !== "number" || typeof read["kind"] !== "string") return "is about a message without a name";
  }
  if ((TEXTS.has(event) || POSTS.has(event)) && typeof text !== "string") return "has no text";
  if (!TEXTS.has(event) && !POSTS.has(event) && !PLAIN.has(event)) return `has an event of an unknown kind: ${event}`;
  return read as unknown as Event;
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A recording as a file: the header, then a line per event. */
export function writeTrace({ header, events }: Recording): string {
  return [header, ...events].map((line) => JSON.stringify(line) + "\n").join("");
}
