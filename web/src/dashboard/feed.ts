import type { Open, Stream } from "./stream";
import { Misunderstood, readGlance, type Overview } from "./wire";

/** A member speaks four times a second. One that is silent for so long is stopped or cut off. */
export const SILENT_AFTER_MS = 1_200;
/** The pause after all members were tried without success. */
export const ROUND_AFTER_MS = 1_000;

/** What the page knows of the cluster, and from whom. */
export interface FeedState {
  /** Whether a member speaks, is looked for, or none was found in a whole round. */
  phase: "searching" | "live" | "lost";
  /** The latest glance, also of a member that is gone. */
  glance: Overview | null;
  /** When it came, by the page's clock. */
  at: number;
  /** Where it came from: `http://host:port`. */
  origin: string | null;
  /** Why the page talks to another member than before, in a sentence. */
  moved: string | null;
  /** What was not understood, by the address of who said it. */
  troubles: ReadonlyMap<string, string>;
}

/** Who may be asked. */
interface Candidate {
  origin: string;
  id: number | null;
}

/**
 * Follows one member of the cluster, and another one when that is gone. It learns the addresses of
 * all from the first that speaks.
 */
export class Feed {
  state: FeedState = {
    phase: "searching", glance: null, at: 0, origin: null, moved: null, troubles: new Map(),
  };
  #candidates: Candidate[] = [];
  #stream: Stream | null = null;
  #current: Candidate | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Those that failed since the last glance, and are not tried again in this round. */
  #failed = new Set<string>();
  #stopped: ReadonlySet<number> = new Set();
  /** What happened to the member that was talked to, until another is found. */
  #lostBecause = "";
  /** Whether the viewer asked for another member, and need not be told. */
  #chosen = false;

  constructor(
    private readonly open: Open,
    private readonly changed: (state: FeedState) => void,
    private readonly hostOf: (http: string) => string = (http) => `http://${http}`,
  ) {}

  /** Begins with the member at this address. */
  begin(origin: string) {
    this.#candidates.push({ origin, id: null });
    this.#next();
  }

  /** Hangs up, for good or until it is woken. */
  rest() {
    this.#hangUp();
  }

  /** Goes on where it rested, with the same member if that is still there. */
  wake() {
    if (this.#current !== null) return;
    const last = this.#candidates.find(({ origin }) => origin === this.state.origin);
    if (last) this.#connect(last);
    else if (this.#candidates.length > 0) this.#next();
  }

  /** Where members are, from one of them or from who started them. */
  learn(members: readonly { id: number; http?: string | null | undefined }[]) {
    let isNews = false;
    for (const { id, http } of members) {
      if (!http) continue;
      const origin = this.hostOf(http);
      const known = this.#candidates.find((candidate) => candidate.origin === origin);
      if (known) known.id = id;
      else this.#candidates.push({ origin, id });
      isNews ||= known === undefined;
    }
    if (isNews && this.#current === null) this.#next();
  }

  /** These members are known to be stopped, before their silence would tell. */
  avoid(ids: ReadonlySet<number>) {
    this.#stopped = ids;
    if (ids.has(this.#current?.id ?? -1)) this.#lose("was stopped");
  }

  /** Talks to this member from now on, while it answers. */
  choose(id: number) {
    const wanted = this.#candidates.find((candidate) => candidate.id === id);
    if (!wanted || wanted === this.#current) return;
    this.#failed.clear();
    this.#chosen = true;
    this.#connect(wanted);
  }

  #connect(candidate: Candidate) {
    this.#hangUp();
    this.#current = candidate;
    const ours = (act: () => void) => () => {
      if (this.#current === candidate) act();
    };
    const silent = ours(() => this.#lose("has said nothing for a while"));
    this.#timer = setTimeout(silent, SILENT_AFTER_MS);
    this.#stream = this.open(`${candidate.origin}/v1/watch`, {
      said: (text) => ours(() => {
        clearTimeout(this.#timer);
        this.#timer = setTimeout(silent, SILENT_AFTER_MS);
        this.#hear(candidate, text);
      })(),
      broke: ours(() => this.#lose("does not answer")),
    });
  }

  #hear(candidate: Candidate, text: string) {
    let glance: Overview;
    try {
      glance = readGlance(text);
      const known = this.state.glance?.status.cluster;
      if (known !== undefined && known !== glance.status.cluster) {
        throw new Misunderstood(`it belongs to the cluster ${glance.status.cluster}, not to ${known}`);
      }
    } catch (error) {
      if (!(error instanceof Misunderstood)) throw error;
      this.#trouble(candidate.origin, error.message);
      this.#lose("is not understood");
      return;
    }
    const { id } = glance.status;
    const before = this.state.glance?.status.id ?? null;
    let { moved } = this.state;
    if (before !== id) {
      moved = before === null || this.#chosen ? null : `${this.#lostBecause} Now talking to member ${id}.`;
    }
    this.#chosen = false;
    this.#failed.clear();
    candidate.id = id;
    this.#trouble(candidate.origin, null);
    this.learn(glance.members);
    this.#set({ phase: "live", glance, at: performance.now(), origin: candidate.origin, moved });
  }

  #lose(how: string) {
    const lost = this.#current;
    this.#hangUp();
    if (!lost) return;
    this.#failed.add(lost.origin);
    if (this.state.phase === "live") {
      this.#chosen = false;
      this.#lostBecause = `Member ${lost.id ?? "?"} ${how}.`;
      this.#set({ phase: "searching" });
    }
    this.#next();
  }

  /** Tries the best of those that have not failed yet: living ones first, and each in its turn. */
  #next() {
    const silent = new Set(this.#stopped);
    for (const { id, health } of this.state.glance?.members ?? []) if (health === "silent") silent.add(id);
    const last = this.#candidates.findIndex((candidate) => candidate.origin === this.state.origin);
    const count = this.#candidates.length;
    const rank = (candidate: Candidate, place: number) =>
      (silent.has(candidate.id ?? -1) ? count : 0) + (place - last - 1 + count) % count;
    const open = this.#candidates
      .map((candidate, place) => ({ candidate, rank: rank(candidate, place) }))
      .filter(({ candidate }) => !this.#failed.has(candidate.origin))
      .sort((one, other) => one.rank - other.rank);
    const best = open[0];
    if (best) return this.#connect(best.candidate);
    this.#set({ phase: "lost" });
    this.#failed.clear();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#next();
    }, ROUND_AFTER_MS);
  }

  #hangUp() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#stream?.close();
    this.#stream = null;
    this.#current = null;
  }

  #trouble(origin: string, what: string | null) {
    if ((this.state.troubles.get(origin) ?? null) === what) return;
    const troubles = new Map(this.state.troubles);
    if (what === null) troubles.delete(origin);
    else troubles.set(origin, what);
    this.#set({ troubles });
  }

  #set(change: Partial<FeedState>) {
    this.state = { ...this.state, ...change };
    this.changed(this.state);
  }
}
