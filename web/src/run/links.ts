/** What a link says about a run, besides what it is a run of. */
export interface Link {
  source: Source | null;
  /** The branches, in the order of their making. */
  branches: BranchStep[];
  /** Which run is shown: 0 for the original, k for the kth branch. */
  run: number;
  /** How many events have happened. */
  at: number;
  view: View;
}

/** What a run is a run of. */
export type Source =
  | { exhibit: string }
  | { scenario: string }
  | { trace: string }
  /** A file too large for a link: only this window knows it. */
  | { file: string };

/** Where a run went another way. */
export interface BranchStep {
  /** Of which run: 0 for the original, k for the kth branch. */
  parent: number;
  afterUs: number;
  command: string;
}

/** How a run is looked at. */
export interface View {
  /** How fast it plays. */
  speed: number;
  /** How far the diagram is stretched. */
  zoom: number;
  /** The event whose past and future are lit, as a step. */
  event: number | null;
  /** The process whose state stands first. */
  node: number | null;
}

export const PLAIN_VIEW: View = { speed: 1, zoom: 1, event: null, node: null };

/** A link as far as it could be read, and what was wrong with the rest, one sentence each. */
export interface ReadLink {
  link: Link;
  problems: string[];
}

const KNOWN = new Set(["exhibit", "s", "t", "file", "b", "run", "at", "speed", "zoom", "event", "node"]);

/** Reads the parameters of a link. */
export async function readLink(params: URLSearchParams): Promise<ReadLink> {
  const problems: string[] = [];
  const source = await readSource(params, problems);
  const branches = readBranches(params.getAll("b"), problems);
  const number = <T>(name: string, otherwise: T, from: number, to: number, whole = true): number | T => {
    const text = params.get(name);
    if (text === null) return otherwise;
    const value = Number(text);
    if (text !== "" && value >= from && value <= to && (!whole || Number.isInteger(value))) return value;
    problems.push(`The link says ${name}=${text}, which is not a number from ${from} to ${to}. It is ignored.`);
    return otherwise;
  };
  const run = number("run", 0, 0, params.getAll("b").length);
  const link: Link = {
    source,
    branches,
    run: Math.min(run, branches.length),
    at: number("at", 0, 0, Number.MAX_SAFE_INTEGER),
    view: {
      speed: number("speed", PLAIN_VIEW.speed, 0.25, 16, false),
      zoom: number("zoom", PLAIN_VIEW.zoom, 1 / 64, 16, false),
      event: number("event", null, 1, Number.MAX_SAFE_INTEGER),
      node: number("node", null, 0, Number.MAX_SAFE_INTEGER),
    },
  };
  for (const name of new Set(params.keys())) {
    if (!KNOWN.has(name)) problems.push(`The link has an unknown parameter: ${name}. It is ignored.`);
  }
  return { link, problems };
}

async function readSource(params: URLSearchParams, problems: string[]): Promise<Source | null> {
  const exhibit = params.get("exhibit");
  if (exhibit !== null) return { exhibit };
  const file = params.get("file");
  if (file !== null) return { file };
  for (const name of ["s", "t"] as const) {
    const packed = params.get(name);
    if (packed === null) continue;
    try {
      const text = await unpack(packed);
      return name === "s" ? { scenario: text } : { trace: text };
    } catch {
      const what = name === "s" ? "scenario (s)" : "trace (t)";
      problems.push(`The ${what} in the link cannot be unpacked: the link is broken, or a part of it is missing.`);
      return null;
    }
  }
  problems.push("The link does not say which run to show.");
  return null;
}

/** The branches up to the first that is broken: later ones may stand on it. */
function readBranches(texts: string[], problems: string[]): BranchStep[] {
  const branches: BranchStep[] = [];
  for (const [index, text] of texts.entries()) {
    const branch = readBranch(text, index);
    if (typeof branch === "string") {
      problems.push(`Branch ${index + 1} of the link (b) ${branch}. It and what comes after it are left out.`);
      break;
    }
    branches.push(branch);
  }
  return branches;
}

/** A branch, or what is wrong with its text. */
function readBranch(text: string, index: number): BranchStep | string {
  const parts = /^(\d+)\.(\d+)\.(.+)$/s.exec(text);
  if (!parts) return `says "${text}", where PARENT.MICROSECONDS.COMMAND was expected`;
  const parent = Number(parts[1]);
  const afterUs = Number(parts[2]);
  if (parent > index) return `comes of run ${parent}, which is not made before it`;
  if (!Number.isSafeInteger(afterUs)) return "has a time that is too large";
  const command = parts[3]!.replaceAll("_", " ").replaceAll("%5F", "_").replaceAll("%25", "%");
  return { parent, afterUs, command };
}

function writeBranch({ parent, afterUs, command }: BranchStep): string {
  const text = command.replaceAll("%", "%25").replaceAll("_", "%5F").replaceAll(" ", "_");
  return `${parent}.${afterUs}.${text}`;
}

/** The parameters of a link, given its source as {@link packSource} has it. */
export function writeLink(packed: URLSearchParams, link: Omit<Link, "source">): URLSearchParams {
  const params = new URLSearchParams(packed);
  for (const branch of link.branches) params.append("b", writeBranch(branch));
  if (link.run > 0) params.set("run", String(link.run));
  if (link.at > 0) params.set("at", String(link.at));
  const { view } = link;
  if (view.speed !== PLAIN_VIEW.speed) params.set("speed", String(view.speed));
  if (view.zoom !== PLAIN_VIEW.zoom) params.set("zoom", String(Math.round(view.zoom * 1000) / 1000));
  if (view.event !== null) params.set("event", String(view.event));
  if (view.node !== null) params.set("node", String(view.node));
  return params;
}

/** The part of a link that says what the run is a run of; it is the only part that takes time. */
export async function packSource(source: Source): Promise<URLSearchParams> {
  if ("scenario" in source) return new URLSearchParams({ s: await pack(source.scenario) });
  if ("trace" in source) return new URLSearchParams({ t: await pack(source.trace) });
  return new URLSearchParams(source);
}

/** A packed text that unpacks to more than this is a bad joke. */
const UNPACKED_MAX = 8 << 20;

/** Text, deflated, as the letters that a link may have. */
export async function pack(text: string): Promise<string> {
  const bytes = await through(new Blob([text]), new CompressionStream("deflate-raw"), Infinity);
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The text that {@link pack} packed. */
export async function unpack(packed: string): Promise<string> {
  const binary = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
  const text = await through(new Blob([bytes]), new DecompressionStream("deflate-raw"), UNPACKED_MAX);
  return new TextDecoder("utf-8", { fatal: true }).decode(text);
}

async function through(blob: Blob, stream: GenericTransformStream, max: number): Promise<Uint8Array> {
  const reader: ReadableStreamDefaultReader<Uint8Array> = blob.stream().pipeThrough(stream).getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > max) throw new Error("too much");
    chunks.push(value);
  }
  const all = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}
