import { existsSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { glance } from "../src/dashboard/fakes";
import { coordination as noCoordination } from "../src/dashboard/coordination/fakes";
import type { Coordination } from "../src/dashboard/coordination/types";

const DIST = fileURLToPath(new URL("../dist/", import.meta.url));
const VERSION = /^version = "(.*)"/m.exec(readFileSync(new URL("../../Cargo.toml", import.meta.url), "utf8"))?.[1] ?? "";
const KINDS: Record<string, string> = {
  ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
};
/** What crates/lab gives the page, so that what it forbids is noticed here, too. */
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; font-src 'self'; "
  + "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** A member lists at most this many of each kind, unless it is asked for more. */
const LIMIT = 1_000;
/** A member speaks four times a second. */
const SPEAKS_EVERY_MS = 250;

interface Options {
  /** Whether it is of a version without coordination. */
  old?: boolean;
  /** Whether the page is that of `bellwether up`, at the same address. */
  up?: boolean;
}

/** What an operator has to show. */
export const TOKEN = "0123456789abcdef0123456789abcdef";

/** What an operator asked for. */
export interface Forced {
  lock: string;
  session: string;
  by: string;
}

/**
 * The only member of a cluster that there is: it serves the page as it was built, and says what a test
 * wants it to say.
 */
export class FakeMember {
  /** The locks to force-release, in order. */
  readonly forced: Forced[] = [];
  /** Why a force-release is refused; nothing if it is not. */
  refuses: string | null = null;
  #server: Server;
  #coordination = noCoordination();
  /** Who listens to the coordination, and how much of them they want. */
  #listeners = new Map<ServerResponse, number>();
  #open = new Set<ServerResponse>();
  #timer: ReturnType<typeof setInterval> | undefined;

  private constructor(private readonly options: Options) {
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  static async start(options: Options = {}): Promise<FakeMember> {
    if (!existsSync(`${DIST}index.html`)) throw new Error("The page is not built. Run: make web");
    const member = new FakeMember(options);
    await new Promise<void>((done) => member.#server.listen(0, "127.0.0.1", done));
    member.#timer = setInterval(() => member.#speak(), SPEAKS_EVERY_MS);
    return member;
  }

  async stop() {
    clearInterval(this.#timer);
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }

  get url(): string {
    return `http://${this.#address}`;
  }

  get #address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** How many listen to the coordination. */
  get listeners(): number {
    return this.#listeners.size;
  }

  /** What the coordination are from now on. */
  say(coordination: Coordination) {
    this.#coordination = coordination;
    for (const [listener, limit] of this.#listeners) tell(listener, cut(coordination, limit));
  }

  #speak() {
    const said = glance(1, 1);
    said.status.version = VERSION;
    // The others are there and silent here: they are not to be called.
    said.members = said.members.map((member) => ({ ...member, http: member.id === 1 ? this.#address : null }));
    for (const open of this.#open) tell(open, said);
  }

  async #answer(request: IncomingMessage, response: ServerResponse) {
    const { pathname: path, searchParams } = new URL(request.url ?? "/", this.url);
    const force = /^\/v1\/locks\/([^/]+)\/force$/.exec(path);
    if (request.method === "POST" && force) return this.#force(decodeURIComponent(force[1] ?? ""), request, response);
    switch (path) {
      case "/v1/here":
        return json(response, 200, { serves: this.options.up ? "up" : "member", version: VERSION });
      case "/openapi.json":
        return json(response, 200, { paths: this.options.old ? {} : { "/v1/coordination/watch": {} } });
      case "/v1/watch":
        stream(response, this.#open);
        return this.#speak();
      case "/v1/up/watch":
        stream(response, new Set());
        return tell(response, { members: [{ id: 1, http: this.#address, pid: 1, process: "running" }], partition: [], news: [], commands: [] });
      case "/v1/messages":
        stream(response, new Set());
        return tell(response, { id: 1, messages: [], missed: 0 });
      case "/v1/coordination/watch":
        if (this.options.old) break;
        return this.#listen(response, Number(searchParams.get("limit") ?? LIMIT));
    }
    const file = path === "/" || path === "/explore" ? "index.html" : normalize(path).slice(1);
    if (path.startsWith("/v1/") || !existsSync(DIST + file)) return json(response, 404, { error: `there is nothing at ${path}` });
    response.writeHead(200, { "content-type": KINDS[extname(file)] ?? "application/octet-stream", "content-security-policy": POLICY });
    response.end(readFileSync(DIST + file));
  }

  #listen(response: ServerResponse, limit: number) {
    stream(response, new Set());
    this.#listeners.set(response, limit);
    response.on("close", () => this.#listeners.delete(response));
    tell(response, cut(this.#coordination, limit));
  }

  async #force(lock: string, request: IncomingMessage, response: ServerResponse) {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    if (request.headers.authorization !== `Bearer ${TOKEN}`) {
      return json(response, 403, { error: "only operators may do this, and the request does not carry this member's operator token", hint: null, code: "wrong-operator-token" });
    }
    if (this.refuses !== null) return json(response, 409, { error: this.refuses, hint: "look again" });
    const { session, by } = JSON.parse(text) as { session: string; by: string };
    this.forced.push({ lock, session, by });
    const locks = this.#coordination.locks.map((one) =>
      one.name === lock ? { ...one, holders: one.holders.filter((holder) => holder.session !== session) } : one);
    this.say({ ...this.#coordination, sequence: this.#coordination.sequence + 1, locks });
    json(response, 200, { lock, session, by });
  }
}

/** As much as was asked for. */
function cut({ locks, ...coordination }: Coordination, limit: number): Coordination {
  return { ...coordination, locks: locks.slice(0, limit), left_out: Math.max(0, locks.length - limit) };
}

function json(response: ServerResponse, status: number, body: unknown) {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

function stream(response: ServerResponse, listeners: Set<ServerResponse>) {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  listeners.add(response);
  response.on("close", () => listeners.delete(response));
}

const tell = (response: ServerResponse, what: unknown) => void response.write(`data: ${JSON.stringify(what)}\n\n`);
