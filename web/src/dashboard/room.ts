import { batch, signal } from "@preact/signals";
import { ask, command as send, ServerError } from "../api/client";
import { CoordinationWatch, NOTHING_YET } from "./coordination/watch";
import { Ears } from "./ears";
import { Feed, type FeedState } from "./feed";
import { Flashes } from "./flashes";
import { merge } from "./changes";
import { openStream, type Stream } from "./stream";
import { Traffic } from "./traffic";
import { Misunderstood, readUp, type Change, type Here, type Messages, type Up, type UpDone } from "./wire";

/** Who served the page: a member, `bellwether up`, something without a cluster, or none any more. */
export type Host = "asking" | Here["serves"] | "gone";

/** The streams of processes are opened again after so long. */
const UP_AGAIN_AFTER_MS = 1_000;
/** The interval at which rates of messages are shown. */
const RATES_EVERY_MS = 1_000;

/** Where a member is for a browser: it may listen on all interfaces, which is no address to call. */
export function originOf(http: string, host = location.hostname): string {
  return `http://${http.replace(/^(0\.0\.0\.0|\[::\])(?=:)/, host)}`;
}

/** Everything that the dashboard knows, while the page is visible. */
export class Room {
  readonly host = signal<Host>("asking");
  readonly #feed = new Feed(openStream, (state) => this.#fed(state), originOf);
  readonly feed = signal(this.#feed.state);
  readonly changes = signal<readonly Change[]>([]);
  readonly up = signal<Up | null>(null);
  /** What is not understood of what `up` or a member's stream of messages says. */
  readonly troubles = signal<ReadonlyMap<string, string>>(new Map());
  /** What came of the last command, and whether it was carried out. */
  readonly done = signal<{ ok: boolean; text: string } | null>(null);
  /** What the coordinator does for clients, as the member that speaks here has it. */
  readonly coordination = signal(NOTHING_YET);
  /** Counts up whenever there is something new about messages. */
  readonly pulse = signal(0);
  readonly traffic = new Traffic();
  readonly flashes = new Flashes();

  readonly #ears = new Ears(openStream, (messages) => this.#heard(messages), (id, what) => this.#trouble(`Member ${id}`, what));
  readonly #coordination = new CoordinationWatch(openStream, hasCoordination, (state) => (this.coordination.value = state));
  /** Whether the coordination is visible, and more of it than a member tells by itself. */
  #looksAtCoordination: { looks: boolean; atMore: boolean } = { looks: false, atMore: false };
  #upStream: Stream | null = null;
  #timers = new Set<ReturnType<typeof setTimeout>>();
  #beat: ReturnType<typeof setInterval> | undefined;
  #left = false;

  /** Finds out what there is and begins to follow it. */
  enter() {
    this.#beat = setInterval(() => {
      this.#listen();
      this.pulse.value += 1;
    }, RATES_EVERY_MS);
    document.addEventListener("visibilitychange", this.#look);
    void this.#find();
  }

  leave() {
    this.#left = true;
    this.#coordination.follow(null);
    document.removeEventListener("visibilitychange", this.#look);
    this.#feed.rest();
    this.#ears.follow([]);
    this.#upStream?.close();
    clearInterval(this.#beat);
    for (const timer of this.#timers) clearTimeout(timer);
  }

  /** Talks to another member from now on. */
  choose(id: number) {
    this.#feed.choose(id);
  }

  /** Whether the coordination is visible, or more of it than a member tells by itself. */
  lookAtCoordination(how: { looks?: boolean; atMore?: boolean }) {
    this.#looksAtCoordination = { ...this.#looksAtCoordination, ...how };
    this.#followCoordination();
  }

  /** Whether this page may have its server change something for clients: only a member's own page may. */
  get mayCommand(): boolean {
    return this.host.value === "member";
  }

  /** Force-releases a lock from the session that holds it, at once: the dialog has said what that means. Says why not, if it was not done. */
  async forceRelease(lock: string, session: string, by: string): Promise<string | null> {
    try {
      await send(`/v1/locks/${encodeURIComponent(lock)}/force`, { session, by, now: true });
      return null;
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      return inWords(error);
    }
  }

  /** Has `up` do something to the cluster. */
  async order(command: string) {
    this.done.value = null;
    try {
      const { done, up } = await send<UpDone>("/v1/up/command", { command });
      this.done.value = { ok: true, text: `${done}.` };
      this.#follow(up);
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      this.done.value = { ok: false, text: `Not done: ${inWords(error)}` };
    }
  }

  /** A browser allows few connections to one server, whatever the number of its tabs: one that is hidden needs none. */
  readonly #look = () => {
    this.#followCoordination();
    if (document.hidden) {
      this.#feed.rest();
      this.#ears.follow([]);
    } else {
      this.#feed.wake();
    }
  };

  async #find() {
    const host = await whoServes();
    if (this.#left) return;
    this.host.value = host;
    if (host === "up") this.#followUp();
    if (host === "member") this.#feed.begin(location.origin);
    if (host === "gone") this.#later(() => void this.#find(), UP_AGAIN_AFTER_MS);
  }

  #fed(state: FeedState) {
    batch(() => {
      if (state.glance && state.glance !== this.feed.value.glance) {
        this.changes.value = merge(this.changes.value, state.glance.changes);
      }
      this.feed.value = state;
    });
    this.#followCoordination();
  }

  /** The coordination are those of the member that speaks here. */
  #followCoordination() {
    const { phase, origin } = this.feed.value;
    const { looks, atMore } = this.#looksAtCoordination;
    this.#coordination.follow(looks && !document.hidden && phase === "live" ? origin : null, atMore);
  }

  #followUp() {
    this.#upStream = openStream("/v1/up/watch", {
      said: (text) => {
        try {
          this.#follow(readUp(text));
          this.#trouble("The command bellwether up", null);
        } catch (error) {
          if (!(error instanceof Misunderstood)) throw error;
          this.#trouble("The command bellwether up", error.message);
        }
      },
      broke: () => this.#later(() => this.#followUp(), UP_AGAIN_AFTER_MS),
    });
  }

  #follow(up: Up) {
    this.up.value = up;
    this.#feed.avoid(new Set(up.members.filter((member) => member.process !== "running").map(({ id }) => id)));
    this.#feed.learn(up.members);
  }

  /** Listens to the messages of all that seem to live. */
  #listen() {
    const { glance, phase, origin } = this.feed.value;
    if (!glance || phase !== "live" || document.hidden) return;
    const process = new Map(this.up.value?.members.map((member) => [member.id, member.process]));
    const living = glance.members.flatMap(({ id, http, health }) => {
      if (id === glance.status.id && origin) return [{ id, origin }];
      const runs = (process.get(id) ?? "running") === "running";
      return http && health !== "silent" && runs ? [{ id, origin: originOf(http) }] : [];
    });
    this.#ears.follow(living);
  }

  #heard(messages: Messages) {
    const now = performance.now();
    const fresh = this.traffic.add(messages, this.#ears.hears, now);
    this.flashes.add(fresh, now);
    if (fresh.some((message) => !message.overhead)) this.pulse.value += 1;
  }

  #trouble(who: string, what: string | null) {
    if ((this.troubles.value.get(who) ?? null) === what) return;
    const troubles = new Map(this.troubles.value);
    if (what === null) troubles.delete(who);
    else troubles.set(who, what);
    this.troubles.value = troubles;
  }

  #later(act: () => void, ms: number) {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      act();
    }, ms);
    this.#timers.add(timer);
  }
}

/** What went wrong and what to do about it. */
const inWords = ({ message, hint }: ServerError): string => (hint ? `${message} (${hint})` : message);

/** Whether the member at this address knows of sessions, roles and locks, by what it says it can do. */
async function hasCoordination(origin: string): Promise<boolean> {
  const { paths } = await ask<{ paths?: Record<string, unknown> }>(`${origin}/openapi.json`);
  return paths?.["/v1/coordination/watch"] !== undefined;
}

/** Asks the server of the page what it is. */
async function whoServes(): Promise<Host> {
  try {
    return (await ask<Here>("/v1/here")).serves;
  } catch (error) {
    return error instanceof ServerError && error.status === 0 ? "gone" : "explore";
  }
}
