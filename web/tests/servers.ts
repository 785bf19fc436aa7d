import { spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";

/** How long a server may take until it says where it is. */
const READY_WITHIN_MS = 30_000;
/** How long it may take to end when it is asked to. */
const ENDS_WITHIN_MS = 5_000;

/** The command under test: from BELLWETHER_BIN, or as cargo has built it. */
export function binary(): string {
  const named = process.env["BELLWETHER_BIN"];
  if (named) return named;
  const built = ["debug", "release"].map((profile) =>
    fileURLToPath(new URL(`../../target/${profile}/bellwether`, import.meta.url)));
  const found = built.find((path) => existsSync(path));
  if (!found) throw new Error(`There is no command to test: ${built.join(" and ")} are missing. Run: make build`);
  return found;
}

/** A command that runs, and what it has said so far. */
class Command {
  said = "";
  readonly #child: ChildProcess;

  constructor(args: readonly string[]) {
    this.#child = spawn(binary(), args, { stdio: ["pipe", "pipe", "pipe"] });
    const note = (chunk: Buffer) => (this.said += chunk.toString());
    this.#child.stdout?.on("data", note);
    this.#child.stderr?.on("data", note);
  }

  /** Waits until it has said this. */
  async until(pattern: RegExp, withinMs = READY_WITHIN_MS): Promise<RegExpExecArray> {
    const end = Date.now() + withinMs;
    for (;;) {
      const found = pattern.exec(this.said);
      if (found) return found;
      if (Date.now() > end || this.#child.exitCode !== null) throw new Error(`It never said ${pattern}:\n${this.said}`);
      await new Promise((done) => setTimeout(done, 20));
    }
  }

  /** Writes a line to its standard input. */
  tell(line: string) {
    this.#child.stdin?.write(`${line}\n`);
  }

  /** Asks it to end, and makes it end if it does not. */
  async stop(): Promise<void> {
    const child = this.#child;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise<void>((done) => child.once("exit", () => done()));
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), ENDS_WITHIN_MS);
    await ended;
    clearTimeout(timer);
  }
}

/** A server with the explorer and no cluster. */
export interface Explore {
  url: string;
  stop(): Promise<void>;
}

/** Starts `bellwether explore`; BASE_URL names a server that runs already. */
export async function startExplore(listen = "127.0.0.1:0"): Promise<Explore> {
  const running = process.env["BASE_URL"];
  if (running) return { url: running, stop: () => Promise.resolve() };
  const command = new Command(["explore", "--listen", listen]);
  const [, url] = await command.until(/(http:\/\/[\d.]+:\d+)/);
  return { url: url ?? "", stop: () => command.stop() };
}

/** What `make site` writes. */
const SITE = new URL("../../out/site/", import.meta.url);
/** Whether it was written. */
export const hasSite = existsSync(new URL("explore/index.html", SITE));
/** Where tests put it: not at the root, as many hosts do. */
const BELOW = "/course";
const TYPES: Record<string, string> = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json", ".svg": "image/svg+xml" };

/** Serves the site's files, and nothing else, as a static host does: folders have an index, unknown types are bytes. */
export async function startSite(): Promise<Explore> {
  const server = createServer(async ({ url }, answer) => {
    const { pathname } = new URL(url ?? "/", "http://host");
    const path = pathname.slice(BELOW.length + 1);
    if (path === "explore") return answer.writeHead(301, { location: `${pathname}/` }).end();
    const name = path === "" || path.endsWith("/") ? `${path}index.html` : path;
    const bytes = await readFile(new URL(name, SITE)).catch(() => null);
    if (bytes === null) return answer.writeHead(404).end();
    answer.writeHead(200, { "content-type": TYPES[extname(name)] ?? "application/octet-stream" }).end(bytes);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  const stop = () => new Promise<void>((done) => {
    server.close(() => done());
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${port}${BELOW}`, stop };
}

/** A cluster of real processes. */
export class Cluster {
  private constructor(
    private readonly command: Command,
    /** The page that can break things, with the operator token. */
    readonly dashboard: string,
    /** What operators show. */
    readonly token: string,
    /** Where each member is, by its number. */
    readonly members: ReadonlyMap<number, string>,
  ) {}

  /** Starts `bellwether up` and waits for the first coordinator. */
  static async start(): Promise<Cluster> {
    const command = new Command(["up", "--plain"]);
    const [, dashboard, token] = await command.until(/dashboard:?\s+(http:\/\/[\d.]+:\d+\/)#operator=([0-9a-f]+)/);
    await command.until(/is the coordinator in term/);
    const members = [...command.said.matchAll(/member (\d+)\s+pid \d+\s+(http:\/\/[\d.]+:\d+)/g)];
    return new Cluster(command, `${dashboard}#operator=${token}`, token ?? "", new Map(members.map(([, id, url]) => [Number(id), url ?? ""])));
  }

  /** Gives it a command as a line, and waits until it says that this was done. */
  async tell(line: string, said: RegExp) {
    const before = this.command.said.length;
    this.command.tell(line);
    const end = Date.now() + READY_WITHIN_MS;
    while (!said.test(this.command.said.slice(before))) {
      if (Date.now() > end) throw new Error(`After '${line}' it never said ${said}:\n${this.command.said}`);
      await new Promise((done) => setTimeout(done, 20));
    }
  }

  /** Who coordinates, asked of one member; null if it does not know or does not answer. */
  async coordinator(asked: number): Promise<number | null> {
    try {
      const answer = await fetch(`${this.members.get(asked)}/v1/status`, { signal: AbortSignal.timeout(500) });
      const status = (await answer.json()) as { mandate: { leader: number } | null };
      return status.mandate?.leader ?? null;
    } catch {
      return null;
    }
  }

  stop(): Promise<void> {
    return this.command.stop();
  }
}
