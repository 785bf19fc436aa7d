import type { Schemas } from "../api/client";

type Algorithm = Schemas["Algorithm"];

/** How long messages take. */
export interface Latency {
  kind: "fixed" | "range" | "exp";
  ms: number;
  /** The longest, of a range. */
  toMs: number;
}

/** A process is asked for something. */
export interface Ask {
  /** The verb as the catalogue has it: `start`, `transfer:TO:AMOUNT`. */
  verb: string;
  /** What stands in the place of its parts. */
  parts: string[];
  /** Ids as scenarios write them, or `all`. */
  who: string;
  atMs: number;
}

/** What can befall processes, the network and clocks. */
export type FaultKind = "crash" | "recover" | "pause" | "resume" | "partition" | "cut" | "heal" | "clock";

/** A fault. */
export interface Fault {
  kind: FaultKind;
  /** Ids, sides such as `1,2|3,4`, a direction such as `1>2`, or a clock such as `1 offset=+200ms`. */
  what: string;
  atMs: number;
}

/** All that a person can choose about a run. */
export interface RunForm {
  nodes: number;
  /** The order on the ring, or ids of one's own; empty for 1 to n. */
  ids: string;
  coordinator: "largest" | "none";
  latency: Latency;
  /** T; null for three times the longest latency. */
  timeoutMs: number | null;
  loss: number;
  reorder: boolean;
  seed: number;
  detection: boolean;
  /** Mutual exclusion just as its paper has it. */
  textbook: boolean;
  /** How long a job keeps the critical section; null for T. */
  sectionMs: number | null;
  tree: string;
  /** The algorithm's own settings: a text, or whether it is given. */
  options: Record<string, string | boolean>;
  asks: Ask[];
  faults: Fault[];
  /** How long it runs; null until it is over. */
  forMs: number | null;
}

/** What each kind of fault is about, as an example and a label. */
export const FAULTS: Record<FaultKind, { label: string; about: string; example: (nodes: number) => string }> = {
  crash: { label: "crash", about: "Process", example: (n) => String(n) },
  recover: { label: "recover", about: "Process", example: (n) => String(n) },
  pause: { label: "pause", about: "Process", example: (n) => String(n) },
  resume: { label: "resume", about: "Process", example: (n) => String(n) },
  partition: { label: "partition", about: "Sides", example: partitionInTwo },
  cut: { label: "cut one way", about: "From > to", example: () => "1>2" },
  heal: { label: "heal all cuts", about: "", example: () => "" },
  clock: { label: "set a clock", about: "Process and setting", example: () => "1 offset=+200ms" },
};

function partitionInTwo(nodes: number): string {
  const ids = Array.from({ length: nodes }, (_, k) => k + 1);
  const half = Math.floor(nodes / 2);
  return `${ids.slice(0, half).join(",")}|${ids.slice(half).join(",")}`;
}

/** The parts of a verb after its first word, as the catalogue names them. */
export const partsOf = (verb: string): string[] => verb.split(":").slice(1);

/** A verb with its parts filled in so that it makes sense. */
export function newAsk(verb: string, who: string, atMs: number): Ask {
  const examples: Record<string, string> = { TO: "2", AMOUNT: "10" };
  return { verb, parts: partsOf(verb).map((part) => examples[part] ?? part), who, atMs };
}

/** A form in which everything that is chosen makes a run worth looking at. */
export function startingForm(algorithm: Algorithm): RunForm {
  const nodes = algorithm.nodes ?? (algorithm.family === "agreement" || algorithm.family === "snapshot" ? 4 : 5);
  const plain: RunForm = {
    nodes,
    ids: "",
    coordinator: "largest",
    latency: { kind: "fixed", ms: 10, toMs: 20 },
    timeoutMs: null,
    loss: 0,
    reorder: false,
    seed: 1,
    detection: false,
    textbook: false,
    sectionMs: null,
    tree: "binary",
    options: {},
    asks: [],
    faults: [],
    forMs: null,
  };
  return { ...plain, ...worthLookingAt(algorithm, nodes) };
}

function worthLookingAt(algorithm: Algorithm, nodes: number): Partial<RunForm> {
  const ask = (word: string, who: string, atMs = 0, ...parts: string[]): Ask[] => {
    const verb = algorithm.verbs.find((known) => known.split(":")[0] === word);
    if (verb === undefined) return [];
    const made = newAsk(verb, who, atMs);
    return [parts.length > 0 ? { ...made, parts } : made];
  };
  switch (algorithm.family) {
    case "election":
      return { faults: [{ kind: "crash", what: String(nodes), atMs: 0 }], asks: ask("suspect", "2", 10) };
    case "mutex":
      return { asks: [...ask("work", "1"), ...ask("work", "3", 5), ...ask("work", "2", 10)], sectionMs: 20 };
    case "time":
      return {
        faults: [
          { kind: "clock", what: "1 offset=+200ms", atMs: 0 },
          { kind: "clock", what: "2 offset=-40ms", atMs: 0 },
        ],
        forMs: 5_000,
      };
    case "order":
      return {
        asks: [...ask("broadcast", "1"), ...ask("broadcast", "2", 5)],
        latency: { kind: "range", ms: 5, toMs: 40 },
      };
    case "deadlock":
      return {
        asks: [
          ...ask("lock", "1", 0, "T1", "S1.a"),
          ...ask("lock", "2", 0, "T2", "S2.a"),
          ...ask("lock", "1", 10, "T1", "S2.a"),
          ...ask("lock", "2", 10, "T2", "S1.a"),
          ...ask("detect", "1", 50),
        ],
      };
    case "snapshot":
      return {
        asks: [
          ...ask("transfer", "1", 0, "2", "30"),
          ...ask("transfer", "3", 0, "1", "20"),
          ...ask("snapshot", "1", 5),
        ],
      };
    case "member":
      return {
        faults: [{ kind: "crash", what: String(nodes), atMs: 2_000 }],
        forMs: 4_000,
        latency: { kind: "fixed", ms: 1, toMs: 20 },
        timeoutMs: 100,
      };
    case "agreement":
      if (algorithm.options.some(({ name }) => name === "traitors")) return { options: { traitors: "3" }, timeoutMs: 30 };
      return {
        asks: [...ask("send", "1", 0, "2"), ...ask("send", "1", 0, "2")],
        timeoutMs: 30,
        loss: algorithm.verbs.length > 0 ? 0.2 : 0,
      };
    default:
      return {};
  }
}
